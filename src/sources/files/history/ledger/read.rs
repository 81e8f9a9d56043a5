//! Reading back the audits that were kept, each row once.

use super::{ACTION, COST, CompactFile, MOST_RUN_BYTES, Records, RunFile, action_of, day_of};
use crate::domain::{RecordedAction, RecordedRun, WorkloadDay};
use crate::sources::files::history::columns::{Schema, TableError};
use crate::sources::files::history::layout::{COMPACT, HistoryError, Named, RUN, name_of};
use crate::sources::files::history::seal::Seal;
use crate::sources::files::history::table::{Row, read_table};
use futures_util::{StreamExt, stream};
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, ErrorKind};

/// Files that are read at once.
const READ_AT_ONCE: usize = 16;

/// The audits that were kept.
#[derive(Debug, Default)]
pub struct Recorded {
    /// By the time that they describe; also those of a clock that is ahead, whose rows and
    /// actions are not read.
    pub runs: Vec<RecordedRun>,
    /// Of each day and scope those of the newest run alone, by day and scope.
    pub rows: Vec<WorkloadDay>,
    /// Those of every run, by run.
    pub actions: Vec<RecordedAction>,
    /// Days whose rows, of one scope at least, are in a file that cannot be used.
    pub lost: BTreeSet<Date>,
    /// Files that cannot be used, and runs without a table.
    pub problems: Vec<HistoryError>,
}

/// Tables of runs that are wanted, by name.
type Wanted = BTreeMap<String, Seal>;

impl Records {
    /// Reads the audits that describe a day or later, or all of them, with the rows of these
    /// days. What cannot be read is a problem, and the rest counts.
    ///
    /// # Errors
    /// When the place cannot be listed.
    pub async fn read(&self, since: Option<Date>) -> Result<Recorded, HistoryError> {
        let mut found = Recorded::default();
        let files = self.runs(since, &mut found.problems).await?;
        let mut there = BTreeSet::new();
        for table in [COST.name, ACTION.name] {
            there.extend(self.listed(table).await?.into_iter().map(super::name));
        }
        let lists = self.lists(&mut found.problems).await?;

        let believed: Vec<&RunFile> = files
            .iter()
            .filter(|file| file.run.as_of <= self.latest)
            .collect();
        let of_days = newest(&believed, since);
        let (costs, nowhere) = sorted(of_days, &there, &lists);
        for name in nowhere {
            found.lost.extend(Named::of(&name).map(|named| named.day));
            let why = ErrorKind::NotFound.into();
            found.problems.push(self.failed(&name, why));
        }
        for name in unnamed(&there, &files, &found.problems, since) {
            found.lost.extend(Named::of(name).map(|named| named.day));
            let why = io::Error::new(ErrorKind::InvalidData, "no list of a run names it");
            found.problems.push(self.failed(name, why));
        }
        for (source, wanted) in costs {
            let rows = self.rows(&source, &wanted).await;
            match rows {
                Ok(rows) => found.rows.extend(rows),
                Err(problem) => {
                    // What was put together has the rows of many days.
                    let days = wanted.iter().filter_map(|name| Named::of(name));
                    found.lost.extend(days.map(|named| named.day));
                    found.problems.push(problem);
                }
            }
        }
        let advised = believed.iter();
        let advised = advised.flat_map(|file| of_table(file, ACTION.name));
        let (advised, nowhere) = sorted(advised.collect(), &there, &lists);
        let nowhere = nowhere.iter();
        let nowhere = nowhere.map(|name| self.failed(name, ErrorKind::NotFound.into()));
        found.problems.extend(nowhere);
        for (source, wanted) in advised {
            match self.actions(&source, &wanted).await {
                Ok(actions) => found.actions.extend(actions),
                Err(problem) => found.problems.push(problem),
            }
        }
        found.runs = files.into_iter().map(|file| file.run).collect();
        found
            .runs
            .sort_by(|left, right| (left.as_of, &left.run_id).cmp(&(right.as_of, &right.run_id)));
        found
            .rows
            .sort_by(|left, right| (left.day, &left.run_id).cmp(&(right.day, &right.run_id)));
        found.actions.sort_by_key(|one| one.first_seen);
        Ok(found)
    }

    /// The files of runs since a day.
    pub(super) async fn runs(
        &self,
        since: Option<Date>,
        problems: &mut Vec<HistoryError>,
    ) -> Result<Vec<RunFile>, HistoryError> {
        let listed = self.listed(RUN).await?.into_iter();
        let names: Vec<String> = listed.map(super::name).collect();
        let of_days = names.iter().filter(|name| {
            let day = Named::of(name).map(|named| named.day);
            since.is_none() || day >= since
        });
        let read = of_days.map(|name| async move {
            let id = super::id_of(name).unwrap_or_default();
            let file = self.store().open(name, MOST_RUN_BYTES).await;
            let run = file.and_then(|file| RunFile::read(file, id));
            run.map_err(|why| self.failed(name, why))
        });
        let read: Vec<_> = stream::iter(read).buffered(READ_AT_ONCE).collect().await;
        let mut runs = Vec::new();
        for run in read {
            match run {
                Ok(run) => runs.push(run),
                Err(problem) => problems.push(problem),
            }
        }
        Ok(runs)
    }

    /// The lists of what was put together.
    async fn lists(
        &self,
        problems: &mut Vec<HistoryError>,
    ) -> Result<Vec<CompactFile>, HistoryError> {
        let mut lists = Vec::new();
        for one in self.listed(COMPACT).await? {
            match self.list(&one.name).await {
                Ok(list) => lists.push(list),
                Err(problem) => problems.push(problem),
            }
        }
        Ok(lists)
    }

    async fn rows(
        &self,
        source: &Source,
        wanted: &BTreeSet<String>,
    ) -> Result<Vec<WorkloadDay>, HistoryError> {
        let mut rows = Vec::new();
        let mut each = |row: &Row<'_>| -> Result<(), TableError> {
            let row = day_of(row)?;
            if wanted.contains(&name_of(COST.name, row.day, &row.run_id)) {
                rows.push(row);
            }
            Ok(())
        };
        let read = self.read_whole(source, &COST, &mut each).await;
        read.map_err(|why| self.failed(&source.name, why))?;
        Ok(rows)
    }

    async fn actions(
        &self,
        source: &Source,
        wanted: &BTreeSet<String>,
    ) -> Result<Vec<RecordedAction>, HistoryError> {
        let mut actions = Vec::new();
        let mut each = |row: &Row<'_>| -> Result<(), TableError> {
            let (run_id, on, action) = action_of(row)?;
            if wanted.contains(&name_of(ACTION.name, on, &run_id)) {
                actions.push(action);
            }
            Ok(())
        };
        let read = self.read_whole(source, &ACTION, &mut each).await;
        read.map_err(|why| self.failed(&source.name, why))?;
        Ok(actions)
    }

    /// Reads a table that is as it was written.
    async fn read_whole(
        &self,
        source: &Source,
        schema: &Schema,
        each: &mut dyn FnMut(&Row<'_>) -> Result<(), TableError>,
    ) -> io::Result<()> {
        let bytes = source.seal.bytes()?;
        let file: File = self.store().open(&source.name, bytes).await?;
        let file = source.seal.checked(file)?;
        read_table(file, schema, each)
            .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }
}

/// Tables by the file that they are read from: their own where it is there, else the first
/// that holds them; with the names of those that are nowhere.
fn sorted(
    wanted: Wanted,
    there: &BTreeSet<String>,
    lists: &[CompactFile],
) -> (Sources, Vec<String>) {
    let (mut sources, mut nowhere) = (Sources::new(), Vec::new());
    for (name, seal) in wanted {
        let source = if there.contains(&name) {
            Some(Source::new(&name, seal))
        } else {
            let mut lists = lists.iter();
            let list = lists.find(|list| list.of.contains(&name));
            list.map(|list| Source::new(&list.name, list.seal))
        };
        match source {
            Some(source) => {
                sources.entry(source).or_default().insert(name);
            }
            None => nowhere.push(name),
        }
    }
    (sources, nowhere)
}

/// Tables of days whose run is gone. One that was recorded again in the same scope has its rows,
/// and a run that cannot be read is a problem of its own.
fn unnamed<'a>(
    there: &'a BTreeSet<String>,
    files: &[RunFile],
    problems: &[HistoryError],
    since: Option<Date>,
) -> Vec<&'a str> {
    let key = |name: &str| {
        let named = Named::of(name)?;
        // What was put together has a month in place of the instant.
        let (instant, scope) = named.id.split_once('-')?;
        let is_of_run = named.table == COST.name && instant.contains('T');
        is_of_run.then(|| (named.day, scope.to_owned()))
    };
    let named = files.iter().flat_map(|file| of_table(file, COST.name));
    let known: BTreeSet<_> = named.filter_map(|(name, _)| key(&name)).collect();
    let is_lost = |name: &&str| {
        let is_wanted = key(name)
            .is_some_and(|key| since.is_none_or(|since| key.0 >= since) && !known.contains(&key));
        let id = super::id_of(name).unwrap_or_default();
        is_wanted && !problems.iter().any(|one| one.place.contains(id))
    };
    there.iter().map(String::as_str).filter(is_lost).collect()
}

/// Names of tables by the file that has their rows.
type Sources = BTreeMap<Source, BTreeSet<String>>;

/// A file that tables are read from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    name: String,
    seal: Seal,
}

impl Source {
    fn new(name: &str, seal: Seal) -> Self {
        Self {
            name: name.to_owned(),
            seal,
        }
    }
}

/// The files of a table of a run.
pub(super) fn of_table<'a>(
    file: &'a RunFile,
    table: &'a str,
) -> impl Iterator<Item = (String, Seal)> + 'a {
    let files = file.files.iter();
    let own = files.filter(move |(name, _)| {
        let named = Named::of(name);
        named.is_some_and(|named| named.table == table)
    });
    own.map(|(name, seal)| (name.clone(), *seal))
}

/// Of each day and scope the table of the newest run.
fn newest(files: &[&RunFile], since: Option<Date>) -> Wanted {
    let mut newest: BTreeMap<(Date, &str), (&RunFile, String, Seal)> = BTreeMap::new();
    for file in files.iter().copied() {
        for (name, seal) in of_table(file, COST.name) {
            let Some(day) = Named::of(&name).map(|named| named.day) else {
                continue;
            };
            if since.is_some_and(|since| day < since) {
                continue;
            }
            let order = |file: &RunFile| (file.run.as_of, file.run.run_id.clone());
            let key = (day, file.run.scope.as_str());
            let is_newer = |known: &RunFile| order(known) < order(file);
            if newest.get(&key).is_none_or(|(known, ..)| is_newer(known)) {
                newest.insert(key, (file, name, seal));
            }
        }
    }
    let tables = newest.into_values();
    tables.map(|(_, name, seal)| (name, seal)).collect()
}
