//! Which files of a folder, or below a prefix of a bucket, are the bill: of every billing period
//! the latest reading alone.
//!
//! An export is written again several times a day until its invoice is final. Where earlier
//! readings are kept, each has a folder of its own below that of its period, and a manifest
//! names the files of the latest one. Manifests of version 2 of the Cost and Usage Report,
//! and of FOCUS from AWS, are below `metadata`; those of the version before are beside the
//! folders of the readings.

use super::error::BillError;
use crate::sources::files::shared::bounded::read_written;
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

/// # Errors
/// When a folder cannot be read, has no bill, or does not say which reading is the latest.
pub(super) fn files_of(paths: &[PathBuf]) -> Result<Files, BillError> {
    let mut files = Files::default();
    for path in paths {
        files.add(files_in(path)?);
    }
    check_twice(&files.read)?;
    Ok(files)
}

impl Files {
    pub(super) fn add(&mut self, other: Self) {
        self.read.extend(other.read);
        self.superseded += other.superseded;
    }
}

/// The file itself, or those of a folder that count.
pub(super) fn files_in(path: &Path) -> Result<Files, BillError> {
    if !path.is_dir() {
        return Ok(Files { read: vec![path.to_owned()], superseded: 0 });
    }
    let (root, mut leading) = based(path);
    let mut names = Vec::new();
    walk(path, &mut leading, &mut names)?;
    latest(Tree { given: path, root: &root, names }, &|names| read_written(&path_of(&root, names)))
}

/// # Errors
/// When a file is among others twice.
pub(super) fn check_twice(paths: &[PathBuf]) -> Result<(), BillError> {
    let mut seen = BTreeSet::new();
    for path in paths {
        // A pipe has no other name.
        let name = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let is_named_once = path.is_file() || path.starts_with(IN_BUCKETS);
        if is_named_once && !seen.insert(name) {
            return Err(BillError::Alike { path: path.clone(), earlier: path.clone() });
        }
    }
    Ok(())
}

/// A file below a folder, by the names that lead to it from there.
pub(super) type Names = Vec<String>;

/// What lies below a folder, or a prefix of a bucket.
pub(super) struct Tree<'a> {
    /// As it was named.
    pub(super) given: &'a Path,
    /// Where the names lead from.
    pub(super) root: &'a Path,
    /// Files of bills, and manifests.
    pub(super) names: Vec<Names>,
}

/// The files of a tree that count; `read` gives a manifest.
///
/// # Errors
/// As of [`files_of`].
pub(super) fn latest(
    tree: Tree<'_>,
    read: &dyn Fn(&[String]) -> io::Result<Vec<u8>>,
) -> Result<Files, BillError> {
    let (given, folder) = (tree.given, tree.root);
    let mut names = tree.names;
    names.sort();
    let (manifests, files): (Vec<Names>, Vec<Names>) =
        names.into_iter().partition(|names| last(names).to_lowercase().ends_with(MANIFEST));
    let mut listed: BTreeMap<String, Vec<Listed>> = BTreeMap::new();
    for names in manifests.iter().filter(|names| is_of_period(names)) {
        add_manifest(folder, names, read, &mut listed)?;
    }
    let mut periods: BTreeMap<Names, Vec<Names>> = BTreeMap::new();
    let mut chosen = Files::default();
    for names in files {
        match place_of_period(&names) {
            Some(place) => {
                periods.entry(names[..=place].to_vec()).or_default().push(names);
            }
            None => chosen.read.push(path_of(folder, &names)),
        }
    }
    for (period, files) in periods {
        let readings = Readings { folder, period };
        let (read, superseded) = readings.latest(files, &listed)?;
        chosen.read.extend(read);
        chosen.superseded += superseded;
    }
    if chosen.read.is_empty() {
        return Err(BillError::Form {
            path: given.to_owned(),
            message: "it contains no files of a bill".to_owned(),
        });
    }
    chosen.read.sort();
    Ok(chosen)
}

/// Where the names of the files of a folder begin: above it where it is itself that of a
/// billing period, and at it elsewhere.
fn based(folder: &Path) -> (PathBuf, Names) {
    let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let name = whole.file_name().and_then(|name| name.to_str());
    match (whole.parent(), name) {
        (Some(above), Some(name)) if is_period(name) => (above.to_owned(), vec![name.to_owned()]),
        _ => (folder.to_owned(), Vec::new()),
    }
}

fn walk(folder: &Path, names: &mut Names, into: &mut Vec<Names>) -> Result<(), BillError> {
    let failed = |source| BillError::Io { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // Names that are no text are of no bill.
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_passed(&name) {
            continue;
        }
        let kind = entry.file_type().map_err(failed)?;
        names.push(name);
        if kind.is_dir() && names.len() < DEEPEST {
            walk(&entry.path(), names, into)?;
        } else if !kind.is_dir() && is_of_bill(last(names)) {
            into.push(names.clone());
        }
        names.pop();
        if into.len() > MOST_FILES {
            return Err(failed(too_many()));
        }
    }
    Ok(())
}

/// What does not belong to a bill. Beside bills for Athena, there is a table of how far their
/// delivery is.
fn is_passed(name: &str) -> bool {
    name.starts_with(['.', '_']) || name == "cost_and_usage_data_status"
}

fn too_many() -> io::Error {
    io::Error::other(format!("more than {MOST_FILES} files"))
}

/// The names of objects below a prefix that are of a bill; `below` counts the parts that the
/// prefix has.
///
/// # Errors
/// When there are more than are read.
pub(super) fn names_of(
    objects: impl Iterator<Item = String>,
    below: usize,
) -> io::Result<Vec<Names>> {
    let mut files = Vec::new();
    for object in objects {
        let names: Names = object.split('/').map(str::to_owned).collect();
        let own = names.get(below..).unwrap_or_default();
        let is_read = own.len() <= DEEPEST && !own.iter().any(|name| is_passed(name));
        if is_read && is_of_bill(last(&names)) {
            files.push(names);
        }
        if files.len() > MOST_FILES {
            return Err(too_many());
        }
    }
    Ok(files)
}

/// Whether a name is that of a single file of a bill.
pub(super) fn is_file_name(name: &str) -> bool {
    is_of_bill(name) && !name.to_lowercase().ends_with(MANIFEST)
}

/// Whether it is a manifest that lies in the folder of its period itself. Copies for each reading
/// lie below it.
pub(super) fn is_of_period(names: &[String]) -> bool {
    let is_manifest = last(names).to_lowercase().ends_with(MANIFEST);
    is_manifest && place_of_period(names).is_some_and(|place| place + 2 == names.len())
}

fn last(names: &[String]) -> &str {
    names.last().map_or("", String::as_str)
}

fn is_of_bill(name: &str) -> bool {
    let name = name.to_lowercase();
    name.ends_with(MANIFEST) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

pub(super) fn path_of(folder: &Path, names: &[String]) -> PathBuf {
    names.iter().fold(folder.to_owned(), |path, name| path.join(name))
}

/// Which of the names is that of a billing period: `BILLING_PERIOD=2026-10`, or
/// `20261001-20261101`.
fn place_of_period(names: &[String]) -> Option<usize> {
    names.get(..names.len().saturating_sub(1))?.iter().rposition(|name| is_period(name))
}

fn is_period(name: &str) -> bool {
    let lower = name.to_lowercase();
    if lower.starts_with("billing_period=") {
        return true;
    }
    let is_day = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    name.split_once('-').is_some_and(|(first, last)| is_day(first) && is_day(last))
}

/// The files that a manifest lists, by their names from the period on.
struct Listed {
    manifest: PathBuf,
    /// The names that lead to the folder that it lies in, which is that of a period.
    period: Names,
    files: BTreeSet<String>,
}

impl Listed {
    /// Whether it is the manifest of the export that has a folder of a period: it lies there,
    /// or in the folder of that name below `metadata` where the files are below `data`.
    fn is_of(&self, period: &[String]) -> bool {
        let is_beside = |own: &str, other: &str| own == "metadata" && other == "data";
        self.period.len() == period.len()
            && self
                .period
                .iter()
                .zip(period)
                .all(|(own, other)| own == other || is_beside(own, other))
    }
}

/// Takes in a manifest of a period.
fn add_manifest(
    folder: &Path,
    names: &[String],
    read: &dyn Fn(&[String]) -> io::Result<Vec<u8>>,
    listed: &mut BTreeMap<String, Vec<Listed>>,
) -> Result<(), BillError> {
    let Some(place) = place_of_period(names) else { return Ok(()) };
    let path = path_of(folder, names);
    let bytes = read(names).map_err(|source| BillError::Io { path: path.clone(), source })?;
    let document: Value = serde_json::from_slice(&bytes)
        .map_err(|error| BillError::Form { path: path.clone(), message: error.to_string() })?;
    let lists = LISTS.iter().filter_map(|list| document.get(list)?.as_array());
    let named = lists.flatten().filter_map(Value::as_str);
    let from_period = |file: &str| -> Option<String> {
        let parts: Vec<String> = file.split('/').map(str::to_owned).collect();
        let place = place_of_period(&parts)?;
        Some(parts[place..].join("/"))
    };
    let manifest = Listed {
        files: named.filter_map(from_period).collect(),
        manifest: path,
        period: names[..=place].to_vec(),
    };
    listed.entry(names[place].clone()).or_default().push(manifest);
    Ok(())
}

/// What a folder has of a billing period.
struct Readings<'a> {
    folder: &'a Path,
    /// The names that lead to it.
    period: Names,
}

impl Readings<'_> {
    /// The files of the latest reading, and how many are of others.
    fn latest(
        &self,
        files: Vec<Names>,
        listed: &BTreeMap<String, Vec<Listed>>,
    ) -> Result<(Vec<PathBuf>, u64), BillError> {
        let period = last(&self.period);
        let tail = |names: &Names| names[self.period.len() - 1..].join("/");
        let paths = |files: &[&Names]| -> Vec<PathBuf> {
            files.iter().map(|names| path_of(self.folder, names)).collect()
        };
        // Another export in the folder has manifests of the same period, with other files.
        for listed in listed.get(period).into_iter().flatten() {
            let is_named = |names: &&Names| listed.files.contains(&tail(names));
            let named: Vec<&Names> = files.iter().filter(is_named).collect();
            if !named.is_empty() {
                self.check_whole(&named, listed)?;
                return Ok((paths(&named), (files.len() - named.len()) as u64));
            }
        }
        // Of the reading that its own manifest lists, nothing is here: an earlier one would pass
        // for the latest.
        let mut of_period = listed.get(period).into_iter().flatten();
        let own =
            of_period.find(|manifest| !manifest.files.is_empty() && manifest.is_of(&self.period));
        if let Some(own) = own {
            self.check_whole(&[], own)?;
        }
        // A reading has a folder of its own, whose name begins with its time.
        let mut readings: BTreeMap<&str, Vec<&Names>> = BTreeMap::new();
        for names in &files {
            let below = &names[self.period.len()..];
            let reading = below.split_last().and_then(|(_, folders)| folders.first());
            readings.entry(reading.map_or("", String::as_str)).or_default().push(names);
        }
        let are_timed = readings.keys().all(|name| is_timed(name));
        if readings.len() > 1 && !are_timed {
            return Err(BillError::Ambiguous {
                path: path_of(self.folder, &self.period),
                period: period.to_owned(),
                readings: readings.len(),
            });
        }
        let newest = readings.pop_last().map_or(Vec::new(), |(_, files)| files);
        Ok((paths(&newest), readings.values().map(Vec::len).sum::<usize>() as u64))
    }

    /// # Errors
    /// When files that a manifest names are not here: half a bill would pass for a whole one.
    fn check_whole(&self, named: &[&Names], listed: &Listed) -> Result<(), BillError> {
        let here: BTreeSet<String> =
            named.iter().map(|names| names[self.period.len() - 1..].join("/")).collect();
        let mut missing = listed.files.difference(&here);
        match missing.next() {
            None => Ok(()),
            Some(first) => Err(BillError::Damaged {
                path: listed.manifest.clone(),
                message: format!(
                    "it names {} of {} files that are not here, such as {first}",
                    missing.count() + 1,
                    listed.files.len()
                ),
            }),
        }
    }
}

/// Whether a name begins with a time, such as `2026-10-03T05:12:44.201Z-9f0c`, or
/// `20261003T051244Z`, which reports before version 2 have.
fn is_timed(name: &str) -> bool {
    let is_date =
        |date: Option<&str>| date.unwrap_or_default().parse::<jiff::civil::Date>().is_ok();
    let is_short = name.get(8..9) == Some("T");
    is_date(name.get(..10)) || (is_short && is_date(name.get(..8)))
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
