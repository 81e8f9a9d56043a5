//! The golden corpus: the output of every command for every input in every format, as values.
//!
//! `commands.txt` has what is typed: first, in order, what writes files that others read, then
//! everything else. `INPUT` stands for the flags of each input, `EACH` for each value that the
//! command accepts; a command without `--format` runs in each of its formats. Paths are
//! relative to the package, so that no line of a table is longer elsewhere. `corpus.tsv` has
//! the exit code of each run, and hashes of stdout and stderr in their normal form; `text/` has
//! the whole tables of the demo. `UPDATE_DOCS=1` rewrites both. `GOLDEN_RECORD=DIR` writes the
//! output of every run to that directory, so that `diff -r` compares two versions.

mod normal;

use crate::cli::world::World;
use flate2::read::GzDecoder;
use gpucost::cli;
use normal::{hash, normal};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const COMMANDS: &str = include_str!("commands.txt");
/// Commands that no run has, each with its reason.
const NOT_RUN: [(&str, &str); 1] = [("mcp", "its requests come from the stdin of the process")];

/// Where commands and this test write.
const SCRATCH: &str = "target/golden";
/// The estates of the program with their files.
pub const DEMOS: [(&str, &str); 3] =
    [("starter", "estate"), ("quarter-used", "quarter-used"), ("mixed-fleet", "mixed-fleet")];
const CLUSTER: &str =
    "--from-kubectl fixtures/kubernetes/nodes.json,fixtures/kubernetes/objects.json";

/// Estates with the flags that name them.
pub fn inputs() -> Vec<(String, String)> {
    let bills = "--from fixtures/bills/estate.json";
    let own = [("bills", bills), ("cluster", CLUSTER)];
    let mut inputs = Vec::from(own.map(|(name, flags)| (name.to_owned(), flags.to_owned())));
    for (name, _) in DEMOS {
        inputs.push((name.to_owned(), format!("--demo={name}")));
        let file = format!("--from {SCRATCH}/{name}.json");
        inputs.push((format!("{name} by the hour"), file));
    }
    for rule in fs::read_dir("fixtures/rules").expect("the fixtures") {
        let rule = rule.expect("an entry").file_name();
        let rule = rule.to_str().expect("UTF-8");
        for situation in ["fires", "quiet", "missing"] {
            let path = format!("fixtures/rules/{rule}/{situation}.json");
            if Path::new(&path).is_file() {
                inputs.push((format!("{rule}/{situation}"), format!("--from {path}")));
            }
        }
    }
    inputs
}

/// Whether a command is run for an input in a format. A debug build takes one to two seconds
/// to read a demo, and a fifth of that with a twelfth of the points.
fn is_run(input: &str, command: &str, format: &str) -> bool {
    let is_audit = command == "audit INPUT" && ["table", "json"].contains(&format);
    match input {
        "bills" | "cluster" => true,
        "starter" => is_audit || ["", "table"].contains(&format),
        _ => is_audit || input.ends_with(" by the hour"),
    }
}

/// A demo with a point for each hour.
pub fn by_the_hour(file: &str) -> String {
    let packed = fs::read(format!("fixtures/demo/{file}.json.gz")).expect("a demo");
    let mut text = String::new();
    let mut reader = GzDecoder::new(&packed[..]);
    reader.read_to_string(&mut text).expect("packed text");
    let mut estate: Value = serde_json::from_str(&text).expect("an estate");
    estate["period_seconds"] = json!(3_600);
    let metrics = estate["metrics"].as_array_mut().expect("a list").iter_mut();
    for series in metrics.filter(|series| series["period_seconds"] == 300) {
        let values = series["values"].as_array().expect("a list").iter();
        let points = values.flat_map(|value| match value {
            Value::Array(run) => vec![run[0].clone(); run[1].as_u64().expect("a number") as usize],
            point => vec![point.clone()],
        });
        let hours: Value = points.step_by(12).collect();
        series["values"] = hours;
        series["period_seconds"] = json!(3_600);
    }
    estate.to_string()
}

/// What a run leaves, in its normal form.
struct Output {
    code: u8,
    stdout: String,
    stderr: String,
}

/// Runs what is typed: words, behind variables of the environment.
fn run(typed: &str) -> Output {
    let mut world = World::new();
    let mut arguments = Vec::new();
    for word in typed.split(' ') {
        match word.split_once('=') {
            Some((name, value)) if arguments.is_empty() => world.set(name, value),
            _ => arguments.push(word),
        }
    }
    let (code, stdout, stderr) = world.bytes(&arguments);
    Output { code, stdout: normal(&stdout), stderr: normal(&stderr) }
}

/// The values that an argument accepts.
fn values(argument: Option<&clap::Arg>) -> Vec<String> {
    let values = argument.map(clap::Arg::get_possible_values);
    let names = values.into_iter().flatten();
    names.map(|value| value.get_name().to_owned()).collect()
}

/// The command of some words.
fn command_of(words: &str) -> clap::Command {
    let mut command = cli::command();
    for word in words.split(' ').filter(|word| !word.contains('=')) {
        let Some(subcommand) = command.find_subcommand(word) else { break };
        command = subcommand.clone();
    }
    command
}

/// The formats in which words are run; an empty one where the command has none.
fn formats(words: &str) -> Vec<String> {
    if let Some((_, format)) = words.split_once("--format ") {
        let format = format.split(' ').next();
        return format.into_iter().map(str::to_owned).collect();
    }
    let command = command_of(words);
    let mut flags = command.get_arguments();
    let mut formats = values(flags.find(|flag| flag.get_long() == Some("format")));
    if formats.is_empty() {
        formats.push(String::new());
    }
    formats
}

/// Words with each value of the positional argument, or with each command, for `EACH`.
fn each(words: &str) -> Vec<String> {
    if !words.contains("EACH") {
        return vec![words.to_owned()];
    }
    let mut named = values(command_of(words).get_positionals().next());
    if named.is_empty() {
        let program = cli::command();
        let names = program.get_subcommands().map(clap::Command::get_name);
        named.extend(names.map(str::to_owned));
    }
    let words = named.iter().map(|name| words.replace("EACH", name));
    words.collect()
}

/// Every run of some commands: input, command and format, which name it, and what is typed.
fn cases(commands: &str) -> Vec<(String, String)> {
    let inputs = inputs();
    let none = [("-".to_owned(), String::new())];
    let mut cases = Vec::new();
    for words in commands.lines().flat_map(each) {
        let takes_input = words.contains("INPUT");
        let inputs = if takes_input { &inputs[..] } else { &none[..] };
        for format in formats(&words) {
            let flag = if format.is_empty() || words.contains("--format") {
                String::new()
            } else {
                format!(" --format {format}")
            };
            for (input, flags) in inputs {
                if !takes_input || is_run(input, &words, &format) {
                    let typed = words.replace("INPUT", flags) + &flag;
                    cases.push((format!("{input}\t{words}\t{format}"), typed));
                }
            }
        }
    }
    cases
}

/// What is typed for each command that reads an estate, in each of its formats.
pub fn typed_for(flags: &str) -> Vec<(String, String)> {
    let reads = |words: &&str| words.contains("INPUT") && !words.starts_with("COLUMNS");
    let mut typed = Vec::new();
    for words in COMMANDS.lines().filter(reads) {
        for format in formats(words) {
            let flag = (!format.is_empty() && !words.contains("--format"))
                .then(|| format!(" --format {format}"));
            let words = words.replace("INPUT", flags) + &flag.unwrap_or_default();
            typed.push((format, words));
        }
    }
    typed
}

/// Runs everything: what writes files in its order, the rest on every core.
fn outputs() -> BTreeMap<String, Output> {
    // It is not there at the first time.
    let _ = fs::remove_dir_all(SCRATCH);
    fs::create_dir_all(SCRATCH).expect("a folder");
    let save = |name: &str, text: String| {
        fs::write(format!("{SCRATCH}/{name}.json"), text).expect("a file that can be written");
    };
    for (name, file) in DEMOS {
        save(name, by_the_hour(file));
    }
    // The idle GPU of its rule, a week later.
    let idle = fs::read_to_string("fixtures/rules/idle-gpu/fires.json").expect("a fixture");
    let later = idle.replace("2026-11-01", "2026-11-08");
    save("later", later.replace("2026-10-18", "2026-10-25"));
    let (first, rest) = COMMANDS.split_once("\n\n").expect("two parts");
    let mut outputs = BTreeMap::new();
    for (key, typed) in cases(first) {
        outputs.insert(key, run(&typed));
    }
    let cases = cases(rest);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((key, typed)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((key.clone(), run(typed)));
        }
        done
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            outputs.extend(worker.join().expect("no run panics"));
        }
    });
    outputs
}

/// Whether `text/` has the whole output of a run.
fn is_whole(key: &str) -> bool {
    key.starts_with("starter\t") && (key.ends_with("\ttable") || key.ends_with('\t'))
}

/// Writes the output of a run to a file of its own in a folder.
fn write(folder: &Path, key: &str, output: &Output) {
    let is_other = |c: char| !(c.is_ascii_alphanumeric() || ".=-".contains(c));
    let (input, rest) = key.split_once('\t').expect("three columns");
    let [input, rest] = [input, rest].map(|text| text.replace(is_other, "_"));
    let path = folder.join(input).join(format!("{rest}.txt"));
    let text = format!(
        "exit code {}\n--- stdout\n{}\n--- stderr\n{}",
        output.code, output.stdout, output.stderr
    );
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file that can be written");
}

/// The runs of an index by their first three columns.
fn runs(index: &str) -> BTreeMap<&str, &str> {
    let lines = index.lines().skip(1);
    let places = lines.filter_map(|line| Some((line, line.match_indices('\t').nth(2)?.0)));
    places.map(|(line, place)| line.split_at(place)).collect()
}

#[test]
fn every_output_is_as_recorded() {
    let outputs = outputs();
    let mut index = "input\tcommand\tformat\texit code\tstdout\tstderr\n".to_owned();
    for (key, output) in &outputs {
        let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| hash(text));
        index.push_str(&format!("{key}\t{}\t{stdout}\t{stderr}\n", output.code));
    }
    if let Some(folder) = std::env::var_os("GOLDEN_RECORD").map(PathBuf::from) {
        let recorded = outputs.iter();
        recorded.for_each(|(key, output)| write(&folder, key, output));
    }
    let golden = Path::new("tests/golden");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(golden.join("corpus.tsv"), &index).expect("the index can be written");
        let _ = fs::remove_dir_all(golden.join("text"));
        let whole = outputs.iter().filter(|(key, _)| is_whole(key));
        whole.for_each(|(key, output)| write(&golden.join("text"), key, output));
        return;
    }
    let recorded = fs::read_to_string(golden.join("corpus.tsv")).unwrap_or_default();
    let (recorded, printed) = (runs(&recorded), runs(&index));
    // Whether the host has GPUs is among the checks of `doctor`.
    let has_gpus = Path::new("/dev/nvidiactl").exists();
    let keys: BTreeSet<&str> = recorded.keys().chain(printed.keys()).copied().collect();
    let mut differences = Vec::new();
    for key in keys {
        let what = match (recorded.get(key), printed.get(key)) {
            (Some(old), Some(new)) if old == new => continue,
            (Some(_), Some(_)) if has_gpus && key.contains(" doctor\t") => continue,
            (Some(_), Some(_)) => "changed",
            (None, _) => "new",
            (_, None) => "gone",
        };
        if let Some(output) = outputs.get(key) {
            write(Path::new("target/golden/changed"), key, output);
        }
        differences.push(format!("{what}: {}", key.replace('\t', " | ")));
    }
    assert!(
        differences.is_empty(),
        "{} of {} runs differ from tests/golden/corpus.tsv, and target/golden/changed has their output. \
         `GOLDEN_RECORD=DIR` records every output for `diff -r`; `UPDATE_DOCS=1` accepts.\n{}",
        differences.len(),
        printed.len(),
        differences.join("\n")
    );
}

#[test]
fn every_command_is_run_or_has_a_reason() {
    let first = |line: &'static str| line.split(' ').find(|word| !word.contains('='));
    let run = COMMANDS.lines().filter_map(first);
    let run: BTreeSet<&str> = run.chain(NOT_RUN.map(|(name, _)| name)).collect();
    let program = cli::command();
    let names = program.get_subcommands().map(clap::Command::get_name);
    let missing: Vec<&str> = names.filter(|name| !run.contains(name)).collect();
    assert!(missing.is_empty(), "not in the golden corpus: {missing:?}");
}
