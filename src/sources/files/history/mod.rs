//! A folder that keeps what machines did on days that are over. Files are written once and
//! not changed; a listing of the folder is the truth. The layout is in `docs/history.md`.

mod machine;
mod manifest;
mod pages;
mod table;
mod tables;

pub use machine::KeptMachine;

use super::shared::write::write_once;
use crate::domain::{DAY_SECONDS, Fnv, ResourceId, safe, shown};
use crate::usage::{KeptUsage, Usage, Usages};
use jiff::Timestamp;
use jiff::civil::Date;
use manifest::{Manifest, damaged};
use std::cell::{Cell, RefCell};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use table::{TableError, read_table};
use tables::{ALL, ASKED, DayReader, DayWriter, machine_of, midnight};

/// The version of the layout.
const VERSION: &str = "v1";
/// Lists of the tables of a run.
const RUNS: &str = "usage_run";
/// Runs of a day that are read of a region of an account, the newest first.
const MOST_RUNS: usize = 1_000;
/// Bytes of the machines of all runs that are read: five million usual ones.
const MOST_INDEX_BYTES: usize = 1 << 30;

/// A file of a history that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", shown(path), safe(&why.to_string()))]
pub struct HistoryError {
    pub path: PathBuf,
    pub why: io::Error,
}

/// A run that kept a day of a region of an account.
#[derive(Debug)]
struct Run {
    id: String,
    machines: BTreeMap<ResourceId, KeptMachine>,
}

/// A folder of days that are over.
#[derive(Debug)]
pub struct History {
    folder: PathBuf,
    /// When this run began.
    now: Timestamp,
    /// The names of the runs that kept each day, the newest first.
    days: BTreeMap<Date, Vec<RunName>>,
    /// The runs of each day and place that was asked for.
    runs: RefCell<BTreeMap<(Date, String), Vec<Run>>>,
    /// Bytes of machines that may still be read.
    room: Cell<usize>,
    problems: RefCell<Vec<HistoryError>>,
}

impl History {
    /// Opens a folder, which is made where it is absent, and finds out which runs kept some
    /// days. What cannot be read of it counts as not kept, and is a problem.
    ///
    /// # Errors
    /// When the folder cannot be made or listed.
    pub fn open(
        folder: &Path,
        (first, last): (Date, Date),
        now: Timestamp,
    ) -> Result<Self, HistoryError> {
        let runs = folder.join(VERSION).join(RUNS);
        let failed = |why| HistoryError {
            path: runs.clone(),
            why,
        };
        std::fs::create_dir_all(&runs).map_err(failed)?;
        let mut history = Self {
            folder: folder.to_owned(),
            now,
            days: BTreeMap::new(),
            runs: RefCell::default(),
            room: Cell::new(MOST_INDEX_BYTES),
            problems: RefCell::default(),
        };
        for name in names_in(&runs).map_err(failed)? {
            let day = name
                .strip_prefix("dt=")
                .and_then(|day| day.parse::<Date>().ok());
            if let Some(day) = day.filter(|day| (first..=last).contains(day)) {
                history.open_day(day);
            }
        }
        Ok(history)
    }

    fn open_day(&mut self, day: Date) {
        let folder = self.folder_of(RUNS, day);
        let names = match names_in(&folder) {
            Ok(names) => names,
            Err(error) => return self.note(folder, error),
        };
        let names = names.iter().rev().filter_map(|name| RunName::of(name));
        self.days.insert(day, names.collect());
    }

    /// The runs that kept a day of a place, the newest first. Those of other places, which may
    /// be many, are not opened.
    fn runs_of(&self, day: Date, place: &str) -> Vec<Run> {
        let names = self.days.get(&day).into_iter().flatten();
        let own = names.filter(|name| name.place == place).take(MOST_RUNS);
        let runs = own.filter_map(|name| match self.machines(day, &name.id) {
            Ok(machines) => Some(Run {
                id: name.id.clone(),
                machines,
            }),
            Err(problem) => {
                self.problems.borrow_mut().push(problem);
                None
            }
        });
        runs.collect()
    }

    /// The machines that a run asked, if all of its tables are whole.
    fn machines(
        &self,
        day: Date,
        id: &str,
    ) -> Result<BTreeMap<ResourceId, KeptMachine>, HistoryError> {
        let list = self.file_of(RUNS, day, id);
        let manifest = Manifest::read(&list).map_err(|why| HistoryError {
            path: list.clone(),
            why,
        })?;
        let mut machines = BTreeMap::new();
        let mut room = self.room.get();
        for schema in ALL {
            let path = self.file_of(schema.name, day, id);
            let read = manifest.open(schema.name, &path).and_then(|file| {
                if schema.name != ASKED.name {
                    return Ok(());
                }
                let mut each = |row: &table::Row<'_>| -> Result<(), TableError> {
                    let found = machine_of(row)?;
                    let left = room.checked_sub(found.bytes());
                    room = left.ok_or(TableError::Machines)?;
                    machines.insert(found.instance.clone(), found);
                    Ok(())
                };
                read_table(file, schema, &mut each).map_err(unread)
            });
            read.map_err(|why| HistoryError { path, why })?;
        }
        self.room.set(room);
        Ok(machines)
    }

    /// When this run began.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether it is known what a machine did on a day: what was asked of it then is what
    /// would be asked now.
    pub fn holds(&self, day: Date, machine: &KeptMachine) -> bool {
        self.run_of(day, machine).is_some()
    }

    /// The newest run that asked this.
    fn run_of(&self, day: Date, machine: &KeptMachine) -> Option<String> {
        let place = machine.place();
        let mut all = self.runs.borrow_mut();
        let runs = all
            .entry((day, place.clone()))
            .or_insert_with(|| self.runs_of(day, &place));
        let mut runs = runs.iter();
        let run = runs.find(|run| run.machines.get(&machine.instance) == Some(machine))?;
        Some(run.id.clone())
    }

    /// What machines that it holds did on a day.
    ///
    /// # Errors
    /// When a table cannot be read, or has figures that no day has.
    pub fn read(&self, day: Date, wanted: &[KeptMachine]) -> Result<Usages, HistoryError> {
        let mut by_run: BTreeMap<String, Vec<&KeptMachine>> = BTreeMap::new();
        for machine in wanted {
            if let Some(id) = self.run_of(day, machine) {
                by_run.entry(id).or_default().push(machine);
            }
        }
        let mut found = Usages::default();
        for (id, machines) in &by_run {
            let list = self.file_of(RUNS, day, id);
            let manifest = Manifest::read(&list).map_err(|why| HistoryError {
                path: list.clone(),
                why,
            })?;
            let mut reader = DayReader::new(day, machines.iter().copied());
            for schema in ALL.into_iter().skip(1) {
                let path = self.file_of(schema.name, day, id);
                let read = manifest.open(schema.name, &path).and_then(|file| {
                    let mut each = |row: &table::Row<'_>| reader.take(schema, row);
                    read_table(file, schema, &mut each).map_err(unread)
                });
                read.map_err(|why| HistoryError { path, why })?;
            }
            let number = midnight(day) / DAY_SECONDS;
            for (instance, (period_seconds, kept)) in reader.finish() {
                let usage = Usage::of_kept(&kept, number, period_seconds);
                let usage = usage.ok_or_else(|| HistoryError {
                    path: list.clone(),
                    why: damaged("its tables have figures that no day has"),
                })?;
                if !kept.series.is_empty() {
                    found.insert(instance, usage);
                }
            }
        }
        Ok(found)
    }

    /// Keeps what machines did on a day. That it cannot be written is a problem, and no error:
    /// what was read is known all the same.
    pub fn record<'a>(
        &self,
        day: Date,
        machines: impl Iterator<Item = (&'a KeptMachine, KeptUsage)>,
    ) {
        if let Err(error) = self.write(day, machines) {
            self.note(self.folder_of(RUNS, day), error);
        }
    }

    fn write<'a>(
        &self,
        day: Date,
        machines: impl Iterator<Item = (&'a KeptMachine, KeptUsage)>,
    ) -> io::Result<()> {
        // A run of each place, so that an audit of one opens no files of the others.
        let mut places: BTreeMap<String, (DayWriter, Fnv)> = BTreeMap::new();
        for (machine, kept) in machines {
            let (writer, scope) = match places.entry(machine.place()) {
                Entry::Occupied(place) => place.into_mut(),
                Entry::Vacant(place) => {
                    let writer = DayWriter::new(day).map_err(io::Error::other)?;
                    place.insert((writer, Fnv::default()))
                }
            };
            writer.add(machine, &kept).map_err(io::Error::other)?;
            scope.add(machine.instance.as_str());
            scope.add(&machine.asked);
        }
        let (time, milliseconds) = (
            self.now.strftime("%Y%m%dT%H%M%S"),
            self.now.subsec_millisecond(),
        );
        for (place, (writer, scope)) in places {
            let id = format!("{time}{milliseconds:03}Z-{place}-{}", scope.hex());
            self.write_run(day, &id, writer)?;
        }
        Ok(())
    }

    fn write_run(&self, day: Date, id: &str, writer: DayWriter) -> io::Result<()> {
        let files = writer.finish().map_err(io::Error::other)?;
        let manifest = Manifest::of(&files).text()?;
        let files = ALL.iter().map(|schema| schema.name).zip(&files);
        // The list comes last: without it, nothing of the run counts.
        for (name, bytes) in files.chain([(RUNS, &manifest)]) {
            let path = self.file_of(name, day, id);
            std::fs::create_dir_all(self.folder_of(name, day))?;
            write_once(&path, |out| out.write_all(bytes))?;
        }
        Ok(())
    }

    fn folder_of(&self, table: &str, day: Date) -> PathBuf {
        let version = self.folder.join(VERSION);
        version.join(table).join(format!("dt={day}"))
    }

    fn file_of(&self, table: &str, day: Date, id: &str) -> PathBuf {
        let ending = if table == RUNS { "json" } else { "parquet" };
        self.folder_of(table, day).join(format!("{id}.{ending}"))
    }

    fn note(&self, path: PathBuf, why: io::Error) {
        let problem = HistoryError { path, why };
        self.problems.borrow_mut().push(problem);
    }

    /// What could not be read or written since this was asked last.
    pub fn problems(&self) -> Vec<HistoryError> {
        self.problems.take()
    }
}

/// What the name of the list of a run says: when it began, a number for the region and
/// account, and one for what it asked.
#[derive(Debug)]
struct RunName {
    id: String,
    place: String,
}

impl RunName {
    fn of(file: &str) -> Option<Self> {
        let id = file.strip_suffix(".json")?;
        let parts: Vec<&str> = id.split('-').collect();
        let [time, place, scope] = parts[..] else {
            return None;
        };
        let is_plain = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric());
        let is_run = time.starts_with(|c: char| c.is_ascii_digit())
            && [time, place, scope].into_iter().all(is_plain);
        is_run.then(|| Self {
            id: id.to_owned(),
            place: place.to_owned(),
        })
    }
}

/// Names of what lies in a folder, ascending.
fn names_in(folder: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        // A name that is not UTF-8 is none of ours.
        names.extend(entry?.file_name().into_string().ok());
    }
    Ok(names)
}

fn unread(error: TableError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests;
