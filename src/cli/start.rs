//! `gpucost` alone on a terminal: what is there to read, and what to type next. Only names of
//! files and profiles are read: nothing is asked over the network, no program is run, and
//! no key is read into anything that is shown.

use super::doctor::DRIVER_NODE;
use super::{Io, Outcome, cache, kubernetes, output};
use crate::domain::{counted, safe, shell_word, shown};
use crate::report::text::fit;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Bytes of a file of profiles, and of the beginning of what may be an estate.
const MOST_OF_PROFILES: u64 = 1 << 20;
const START_OF_ESTATE: u64 = 4_096;
/// Entries of the current directory that are checked.
const MOST_ENTRIES: usize = 1_000;
const PROFILES_NAMED: usize = 5;
const LONGEST_NAME: usize = 40;
/// What stands before what was found, and before what a command does.
const LABEL_WIDTH: usize = 12;

/// What was found, in lines, and what to type, each with what it does.
#[derive(Default)]
struct Start {
    found: Vec<(&'static str, String)>,
    next: Vec<(String, &'static str)>,
}

impl Start {
    fn find(&mut self, label: &'static str, words: impl Into<String>) {
        self.found.push((label, words.into()));
    }

    fn propose(&mut self, command: impl Into<String>, what: &'static str) {
        self.next.push((command.into(), what));
    }
}

pub(super) fn run(io: &mut Io<'_>) -> Outcome {
    let mut start = Start::default();
    recorded(&mut start, io);
    aws(&mut start, io);
    cluster(&mut start, io);
    gpus(&mut start);
    start.propose("gpucost audit --demo", "a report of a built-in estate");
    output::print(text(&start).as_bytes(), io)
}

fn text(start: &Start) -> String {
    let mut lines = vec![
        "gpucost: what GPU instances cost, what is wasted, and why".to_owned(),
        String::new(),
        "FOUND  without asking anything over the network".to_owned(),
    ];
    for (label, words) in &start.found {
        lines.push(format!("  {label:LABEL_WIDTH$}{words}"));
    }
    lines.extend([String::new(), "NEXT".to_owned()]);
    let widths = start.next.iter().map(|(command, _)| command.chars().count());
    let width = widths.filter(|width| *width <= 2 * LONGEST_NAME).max().unwrap_or_default();
    for (command, what) in &start.next {
        lines.push(format!("  {command:width$}  {what}"));
    }
    lines.extend([String::new(), "`gpucost --help` lists all commands.".to_owned()]);
    lines.join("\n") + "\n"
}

/// Credentials of AWS by where they are.
fn aws(start: &mut Start, io: &Io<'_>) {
    const AUDIT: &str = "costs, waste and a plan, read-only";
    const DOCTOR: &str = "whether the account can be read, with each fix";
    let chosen = ["GPUCOST_PROFILE", "AWS_PROFILE"].iter().find_map(|name| io.variable(name));
    let variables = [
        "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ];
    let variable = variables.iter().find(|name| io.variable(name).is_some());
    let profiles = profiles(io);
    let mut parts = Vec::new();
    parts.extend(chosen.map(|name| format!("profile {} is chosen", fit(name, LONGEST_NAME))));
    parts.extend(variable.map(|name| format!("{name} is set")));
    if !profiles.is_empty() {
        let named = profiles.iter().take(PROFILES_NAMED);
        let named: Vec<String> = named.map(|name| fit(name, LONGEST_NAME)).collect();
        let more = match profiles.len().saturating_sub(PROFILES_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let plural = if profiles.len() == 1 { "" } else { "s" };
        parts.push(format!("profile{plural} {}{more}", named.join(", ")));
    }
    if parts.is_empty() {
        return start.find("AWS", "no credentials in the environment, and no profile");
    }
    start.find("AWS", parts.join("; "));
    let is_usual = chosen.is_some() || variable.is_some() || profiles.contains("default");
    let flag = match profiles.first().filter(|_| !is_usual) {
        // Apart from its flag it would be taken for one.
        Some(name) if name.starts_with('-') => format!(" --profile={}", shell_word(name)),
        Some(name) => format!(" --profile {}", shell_word(name)),
        None => String::new(),
    };
    start.propose(format!("gpucost doctor{flag}"), DOCTOR);
    start.propose(format!("gpucost audit{flag}"), AUDIT);
}

/// The names of the profiles in the files of the AWS CLI.
fn profiles(io: &Io<'_>) -> BTreeSet<String> {
    let home = io.variable("HOME").or_else(|| io.variable("USERPROFILE"));
    let usual = |name: &str| Some(Path::new(home?).join(".aws").join(name));
    let file = |variable: &str, name: &str| {
        io.variable(variable).map(PathBuf::from).or_else(|| usual(name))
    };
    let config = file("AWS_CONFIG_FILE", "config");
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    let mut names = BTreeSet::new();
    for (path, is_config) in [(config, true), (credentials, false)] {
        let text = path.and_then(|path| beginning(&path, MOST_OF_PROFILES)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        names.extend(text.lines().filter_map(|line| profile_of(line, is_config)));
    }
    names
}

/// The profile that a line begins. Sections of other kinds, such as `sso-session`, are none.
fn profile_of(line: &str, is_config: bool) -> Option<String> {
    let (section, _) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let section = section.trim();
    let name = match section.strip_prefix("profile") {
        Some(rest) if rest.starts_with(char::is_whitespace) && is_config => rest.trim(),
        _ if is_config && section != "default" => return None,
        _ => section,
    };
    let name = name.trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

fn cluster(start: &mut Start, io: &Io<'_>) {
    let files = kubernetes::kubeconfig(io);
    if let Some(file) = files.iter().find(|file| file.is_file()) {
        start.find("Kubernetes", format!("kubeconfig {}", shown(file)));
    } else if io.variable("KUBERNETES_SERVICE_HOST").is_some() {
        start.find("Kubernetes", "this is a pod of a cluster");
    } else {
        return start.find("Kubernetes", "no kubeconfig");
    }
    let what = "GPUs of the cluster: who holds them, and which are idle";
    start.propose("gpucost audit --kubernetes", what);
}

/// GPUs by what the driver of NVIDIA makes of them: `/dev/nvidia0` and so on.
fn gpus(start: &mut Start) {
    let driver = Path::new(DRIVER_NODE);
    if !driver.exists() {
        return start.find("GPUs", "none of NVIDIA on this host");
    }
    let is_number = |name: &str| !name.is_empty() && name.bytes().all(|c| c.is_ascii_digit());
    let nodes = driver.parent().and_then(|folder| fs::read_dir(folder).ok());
    let nodes = nodes.into_iter().flatten().flatten();
    let names = nodes.filter_map(|entry| entry.file_name().into_string().ok());
    let gpus = names.filter(|name| name.strip_prefix("nvidia").is_some_and(is_number));
    let gpus = counted(gpus.count(), "GPU", "GPUs");
    start.find("GPUs", format!("{gpus} on this host"));
    let what = "how busy they are for a minute, and what would suit";
    start.propose("gpucost profile --duration 1m", what);
}

/// Estates of the current directory and of the last audit, and audits that were kept.
fn recorded(start: &mut Start, io: &Io<'_>) {
    let here = newest_estate(&io.folder);
    if let Some(name) = &here {
        let shown = fit(name, LONGEST_NAME);
        start.find("Estate", format!("{shown} in this directory"));
        start.propose(from(name), "the recorded estate, offline");
    }
    let last = cache::path(cache::LAST_ESTATE, io).filter(|path| path.is_file());
    if let Some(path) = last.as_ref().and_then(|path| path.to_str()) {
        start.find("Last audit", safe(path));
        if here.is_none() {
            start.propose(from(path), "the last audit again, offline");
        }
    }
    if io.folder.join("history").join("v1").join("run").is_dir() {
        start.find("History", "audits are kept in the directory history");
        start.propose("gpucost history", "trend, realized savings and forecast");
    }
}

fn from(name: &str) -> String {
    // Apart from its flag it would be taken for one.
    let before = if name.starts_with('-') { "./" } else { "" };
    format!("gpucost audit --from {}", shell_word(&format!("{before}{name}")))
}

/// The estate of a directory that was written last.
fn newest_estate(folder: &Path) -> Option<String> {
    let entries = fs::read_dir(folder).ok()?.flatten().take(MOST_ENTRIES);
    let mut estates: Vec<(SystemTime, String)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let about = entry.metadata().ok()?;
            let is_named = name.ends_with(".json") || name.ends_with(".json.gz");
            let is_one = is_named && about.is_file() && is_estate(&entry.path());
            is_one.then(|| Some((about.modified().ok()?, name)))?
        })
        .collect();
    estates.sort();
    estates.pop().map(|(_, name)| name)
}

/// Whether a file begins as an estate does, which names its version first.
fn is_estate(path: &Path) -> bool {
    let Some(mut text) = beginning(path, START_OF_ESTATE) else { return false };
    if path.extension() == Some(OsStr::new("gz")) {
        let packed = std::mem::take(&mut text);
        let decoder = flate2::read::GzDecoder::new(packed.as_slice());
        // The end of what was read is not the end of the file.
        let _ = decoder.take(START_OF_ESTATE).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).contains("\"estate_version\"")
}

fn beginning(path: &Path, most: u64) -> Option<Vec<u8>> {
    // A pipe would be waited for.
    if !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_told_from_other_sections() {
        for (line, of_config, of_credentials) in [
            ("[default]", Some("default"), Some("default")),
            ("[profile lab]", Some("lab"), Some("profile lab")),
            ("  [ profile \"a b\" ] # x", Some("a b"), Some("profile \"a b")),
            ("[lab]", None, Some("lab")),
            ("[sso-session lab]", None, Some("sso-session lab")),
            ("[profile]", None, Some("profile")),
            ("[]", None, None),
            ("aws_secret_access_key = [x]", None, None),
            ("[broken", None, None),
        ] {
            assert_eq!(profile_of(line, true).as_deref(), of_config, "{line}");
            assert_eq!(profile_of(line, false).as_deref(), of_credentials, "{line}");
        }
    }

    #[test]
    fn a_file_named_like_a_flag_is_not_taken_for_one() {
        assert_eq!(from("-x.json"), "gpucost audit --from ./-x.json");
        assert_eq!(from("a b.json"), "gpucost audit --from 'a b.json'");
    }
}
