//! Which files of a folder, or below a prefix of a bucket, are the bill: of every billing period
//! the latest reading alone.
//!
//! An export is written again several times a day until its invoice is final. Where earlier
//! readings are kept, each has a folder of its own below that of its period, and a manifest
//! names the files of the latest one. Manifests of version 2 of the Cost and Usage Report,
//! and of FOCUS from AWS, are below `metadata`; those of the version before are beside the
//! folders of the readings.

use super::BillError;
use crate::files::shared::bounded::read_written;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders below one another.
const DEEPEST: usize = 16;
/// Files of a folder.
const MOST_FILES: usize = 100_000;
/// How the names of files of a bill end.
const ENDINGS: [&str; 4] = [".csv", ".gz", ".parquet", ".zip"];
/// How the paths of objects begin.
const IN_BUCKETS: &str = "s3:";
const MANIFEST: &str = "manifest.json";
/// Keys under which manifests list files.
const LISTS: [&str; 2] = ["reportKeys", "dataFiles"];

/// The files of a bill.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Files {
    pub(super) read: Vec<PathBuf>,
    /// Files of earlier readings, which are left out.
    pub(super) superseded: u64,
}

impl Files {
    pub(super) fn add(&mut self, other: Self) {
        self.read.extend(other.read);
        self.superseded += other.superseded;
    }
}

/// The file itself, or those of a folder that count.
///
/// # Errors
/// When a folder cannot be read, has no bill, or does not say which reading is the latest.
pub(super) fn files_in(given: &Path) -> Result<Files, BillError> {
    if !given.is_dir() {
        return Ok(Files { read: vec![given.to_owned()], superseded: 0 });
    }
    // Names begin above a folder that is itself that of a billing period.
    let whole = fs::canonicalize(given).unwrap_or_else(|_| given.to_owned());
    let period = whole.file_name().and_then(|name| name.to_str()).filter(|name| is_period(name));
    let (root, leading) = match (whole.parent(), period) {
        (Some(above), Some(period)) => (above.to_owned(), format!("{period}/")),
        _ => (given.to_owned(), String::new()),
    };
    let mut names = Vec::new();
    walk(given, &leading, &mut names)?;
    let manifest = |name: &String| {
        let path = path_of(&root, name);
        let bytes = read_written(&path).map_err(|source| BillError::Io { path, source })?;
        Ok((name.clone(), bytes))
    };
    let manifests = names.iter().filter(|name| is_of_period(name)).map(manifest);
    let manifests = manifests.collect::<Result<_, _>>()?;
    latest(Tree { given, root, names, manifests })
}

/// # Errors
/// When a file is among others twice.
pub(super) fn check_twice(paths: &[PathBuf]) -> Result<(), BillError> {
    let mut seen = BTreeSet::new();
    for path in paths {
        // A pipe has no other name.
        let name = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        if (path.is_file() || path.starts_with(IN_BUCKETS)) && !seen.insert(name) {
            return Err(BillError::Alike { path: path.clone(), earlier: path.clone() });
        }
    }
    Ok(())
}

/// Adds the files of bills in a folder and below by their names, which begin in the same way.
fn walk(folder: &Path, leading: &str, into: &mut Vec<String>) -> Result<(), BillError> {
    let failed = |source| BillError::Io { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // Names that are no text are of no bill.
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_passed(&name) {
            continue;
        }
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        let name = format!("{leading}{name}");
        if is_folder && name.split('/').count() < DEEPEST {
            walk(&entry.path(), &format!("{name}/"), into)?;
        } else if !is_folder && is_of_bill(&name) {
            into.push(name);
        }
        check_number(into.len()).map_err(failed)?;
    }
    Ok(())
}

/// # Errors
/// When there are more files than are read.
pub(super) fn check_number(files: usize) -> io::Result<()> {
    if files > MOST_FILES {
        return Err(io::Error::other(format!("more than {MOST_FILES} files")));
    }
    Ok(())
}

/// What does not belong to a bill. Beside bills for Athena, there is a table of how far their
/// delivery is.
fn is_passed(name: &str) -> bool {
    name.starts_with(['.', '_']) || name == "cost_and_usage_data_status"
}

/// Whether the name of an object below a prefix of so many parts is of a bill.
pub(super) fn is_read(name: &str, prefix_parts: usize) -> bool {
    let mut own = name.split('/').skip(prefix_parts);
    own.clone().count() <= DEEPEST && !own.any(is_passed) && is_of_bill(name)
}

fn is_of_bill(name: &str) -> bool {
    let name = name.to_lowercase();
    name.ends_with(MANIFEST) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn is_manifest(name: &str) -> bool {
    name.to_lowercase().ends_with(MANIFEST)
}

/// Whether a name is that of a single file of a bill.
pub(super) fn is_file_name(name: &str) -> bool {
    is_of_bill(name) && !is_manifest(name)
}

/// Whether it is a manifest that lies in the folder of its period itself. Copies for each reading
/// lie below it.
pub(super) fn is_of_period(name: &str) -> bool {
    is_manifest(name) && period_of(name).is_some_and(|(_, rest)| !rest.contains('/'))
}

pub(super) fn path_of(root: &Path, name: &str) -> PathBuf {
    name.split('/').fold(root.to_owned(), |path, part| path.join(part))
}

/// The last part of a name.
fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

/// The folder of the billing period that a file is in or below, and its name from there.
fn period_of(name: &str) -> Option<(&str, &str)> {
    let mut slashes = name.rmatch_indices('/');
    let (slash, _) = slashes.find(|(slash, _)| is_period(last(&name[..*slash])))?;
    Some((&name[..slash], &name[slash + 1..]))
}

/// The name of a file from that of its billing period on.
fn from_period(name: &str) -> Option<&str> {
    let (period, _) = period_of(name)?;
    Some(&name[period.len() - last(period).len()..])
}

/// Whether a name is that of a billing period: `BILLING_PERIOD=2026-10`, or `20261001-20261101`.
fn is_period(name: &str) -> bool {
    let is_day = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    name.to_lowercase().starts_with("billing_period=")
        || name.split_once('-').is_some_and(|(first, last)| is_day(first) && is_day(last))
}

/// What lies below a folder, or a prefix of a bucket. Names have slashes between their parts.
pub(super) struct Tree<'a> {
    /// As it was named.
    pub(super) given: &'a Path,
    /// Where the names lead from.
    pub(super) root: PathBuf,
    /// Files of bills, and manifests.
    pub(super) names: Vec<String>,
    /// Those manifests that lie in the folder of a period, with what they hold.
    pub(super) manifests: Vec<(String, Vec<u8>)>,
}

/// The files of a tree that count.
///
/// # Errors
/// As of [`files_in`].
pub(super) fn latest(mut tree: Tree<'_>) -> Result<Files, BillError> {
    tree.manifests.sort();
    let listed = tree.manifests.iter().map(|(name, text)| Listed::read(&tree.root, name, text));
    let listed: Vec<Listed> = listed.collect::<Result<_, _>>()?;
    let mut periods: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut chosen = Files::default();
    for name in tree.names.iter().filter(|name| !is_manifest(name)) {
        match period_of(name) {
            Some((period, _)) => periods.entry(period).or_default().push(name),
            None => chosen.read.push(path_of(&tree.root, name)),
        }
    }
    for (period, files) in periods {
        chosen.add(latest_of(&tree.root, period, &files, &listed)?);
    }
    if chosen.read.is_empty() {
        return Err(BillError::Form {
            path: tree.given.to_owned(),
            message: "it contains no files of a bill".to_owned(),
        });
    }
    chosen.read.sort();
    Ok(chosen)
}

/// The files that a manifest lists, by their names from the period on.
struct Listed<'a> {
    manifest: PathBuf,
    /// The folder that it lies in, which is that of a period.
    period: &'a str,
    files: BTreeSet<String>,
}

impl<'a> Listed<'a> {
    fn read(root: &Path, name: &'a str, text: &[u8]) -> Result<Self, BillError> {
        let manifest = path_of(root, name);
        let document: Value = serde_json::from_slice(text).map_err(|error| BillError::Form {
            path: manifest.clone(),
            message: error.to_string(),
        })?;
        let lists = LISTS.iter().filter_map(|list| document.get(list)?.as_array());
        let named = lists.flatten().filter_map(Value::as_str);
        let files = named.filter_map(from_period).map(str::to_owned).collect();
        let (period, _) = name.rsplit_once('/').unwrap_or_default();
        Ok(Self { manifest, period, files })
    }

    /// Whether it is the manifest of the export that has a folder of a period: it lies there,
    /// or in the folder of that name below `metadata` where the files are below `data`.
    fn is_of(&self, period: &str) -> bool {
        let (own, other) = (self.period.split('/'), period.split('/'));
        let is_alike = |(own, other)| own == other || (own, other) == ("metadata", "data");
        own.clone().count() == other.clone().count() && own.zip(other).all(is_alike)
    }

    /// # Errors
    /// When files that it names are not here: half a bill would pass for a whole one.
    fn check_whole(&self, here: &[&str]) -> Result<(), BillError> {
        let here: BTreeSet<&str> = here.iter().filter_map(|name| from_period(name)).collect();
        let mut missing = self.files.iter().filter(|file| !here.contains(file.as_str()));
        let Some(first) = missing.next() else { return Ok(()) };
        let (missing, all) = (missing.count() + 1, self.files.len());
        Err(BillError::Damaged {
            path: self.manifest.clone(),
            message: format!(
                "it names {missing} of {all} files that are not here, such as {first}"
            ),
        })
    }
}

/// Of the files of a billing period those of the latest reading, and how many are of others.
fn latest_of(
    root: &Path,
    period: &str,
    files: &[&str],
    listed: &[Listed<'_>],
) -> Result<Files, BillError> {
    let chosen = |read: &[&str]| Files {
        read: read.iter().map(|name| path_of(root, name)).collect(),
        superseded: (files.len() - read.len()) as u64,
    };
    let of_period = || listed.iter().filter(|listed| last(listed.period) == last(period));
    // Another export in the folder has manifests of the same period, with other files.
    for listed in of_period() {
        let is_named =
            |name: &&str| from_period(name).is_some_and(|file| listed.files.contains(file));
        let named: Vec<&str> = files.iter().copied().filter(is_named).collect();
        if !named.is_empty() {
            listed.check_whole(&named)?;
            return Ok(chosen(&named));
        }
    }
    // Of the reading that its own manifest lists, nothing is here: an earlier one would pass
    // for the latest.
    let is_own = |listed: &&Listed<'_>| !listed.files.is_empty() && listed.is_of(period);
    if let Some(own) = of_period().find(is_own) {
        own.check_whole(&[])?;
    }
    // A reading has a folder of its own, whose name begins with its time.
    let mut readings: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in files {
        let (reading, _) = name[period.len() + 1..].split_once('/').unwrap_or_default();
        readings.entry(reading).or_default().push(name);
    }
    if readings.len() > 1 && !readings.keys().all(|name| is_timed(name)) {
        return Err(BillError::Ambiguous {
            path: path_of(root, period),
            period: last(period).to_owned(),
            readings: readings.len(),
        });
    }
    Ok(chosen(&readings.pop_last().map_or(Vec::new(), |(_, files)| files)))
}

/// Whether a name begins with a time, such as `2026-10-03T05:12:44.201Z-9f0c`, or
/// `20261003T051244Z`, which reports before version 2 have.
fn is_timed(name: &str) -> bool {
    let is_date =
        |date: Option<&str>| date.unwrap_or_default().parse::<jiff::civil::Date>().is_ok();
    is_date(name.get(..10)) || (name.get(8..9) == Some("T") && is_date(name.get(..8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_named_by_its_time() {
        for name in ["2026-10-03T05:12:44.201Z-9f0c", "2026-10-03", "20261003T051244Z"] {
            assert!(is_timed(name), "{name}");
        }
        for name in ["", "9f0c", "20261003", "20261303T051244Z", "2026-13-03T05:12:44Z", "data"] {
            assert!(!is_timed(name), "{name}");
        }
    }
}
