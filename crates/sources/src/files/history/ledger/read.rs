//! Reading back the audits that were kept, each row once, and the hours of instances.

use super::{
    ACTION, COST, HOUR, MOST_RUN_BYTES, Records, RunFile, action_of, ahead, day_of, hour_of, named,
};
use crate::domain::{InstanceHour, RecordedAction, RecordedRun, WorkloadDay};
use crate::files::history::columns::{Schema, TableError};
use crate::files::history::layout::{HistoryError, Named, RUN, Seal};
use crate::files::history::table::{Row, read_sealed};
use crate::store::Listed;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};

/// Files that are read at once.
const READ_AT_ONCE: usize = 16;

/// The audits that were kept.
#[derive(Debug, Default)]
pub struct Recorded {
    /// By the time that they describe; also those of a clock that is ahead, whose rows and
    /// actions are not read.
    pub runs: Vec<RecordedRun>,
    /// The ids of runs that were recorded by a clock that was ahead, which do not count.
    pub ahead: BTreeSet<String>,
    /// Of each day and scope those of the newest run alone, by day and scope.
    pub rows: Vec<WorkloadDay>,
    /// Those of every run, by run.
    pub actions: Vec<RecordedAction>,
    /// Days whose rows, of one scope at least, are in a file that cannot be used.
    pub lost: BTreeSet<Date>,
    /// Files that cannot be used, and runs without a table.
    pub problems: Vec<HistoryError>,
}

impl Records {
    /// Reads the audits that describe a day or later, or all of them, with the rows of these
    /// days. What cannot be read is a problem, and the rest counts.
    ///
    /// # Errors
    /// When the place cannot be listed.
    pub async fn read(&self, since: Option<Date>) -> Result<Recorded, HistoryError> {
        let mut recorded = Recorded::default();
        let files = self.runs(since, &mut recorded.problems).await?;
        let there = self.listed(COST.name).await?;

        let past = files.iter().filter(|file: &&RunFile| file.run.as_of <= self.latest);
        // A table that is gone holds no day, and its day may be recorded again.
        let names = past.clone().flat_map(|file| file.files.keys());
        let stored: BTreeSet<&str> = there.iter().map(|table| table.name.as_str()).collect();
        let names = names.map(String::as_str).filter(|name| stored.contains(name));
        recorded.ahead = ahead(names.filter_map(Named::of));
        let is_believed = |file: &&RunFile| !recorded.ahead.contains(&file.run.run_id);
        let believed: Vec<&RunFile> = past.filter(is_believed).collect();
        for (name, table) in unnamed(&there, &files, &recorded.problems, since) {
            recorded.lost.insert(table.day);
            let why = io::Error::new(ErrorKind::InvalidData, "no list of a run names it");
            recorded.problems.push(self.failed(name, why));
        }
        for (name, (table, seal)) in newest(&believed, since) {
            match self.rows(&COST, (name, seal), day_of).await {
                Ok(rows) => recorded.rows.extend(rows),
                Err(problem) => {
                    recorded.lost.insert(table.day);
                    recorded.problems.push(problem);
                }
            }
        }
        let advised: Wanted<'_> =
            believed.iter().flat_map(|file| of_table(file, ACTION.name)).collect();
        for (name, (_, seal)) in advised {
            match self.rows(&ACTION, (name, seal), action_of).await {
                Ok(rows) => recorded.actions.extend(rows.into_iter().map(|(.., action)| action)),
                Err(problem) => recorded.problems.push(problem),
            }
        }
        recorded.runs = files.into_iter().map(|file| file.run).collect();
        recorded.runs.retain(|run| !recorded.ahead.contains(&run.run_id));
        recorded.runs.sort_by(|left, right| order(left).cmp(&order(right)));
        recorded
            .rows
            .sort_by(|left, right| (left.day, &left.run_id).cmp(&(right.day, &right.run_id)));
        recorded.actions.sort_by_key(|action| action.first_seen);
        Ok(recorded)
    }

    /// The files of runs since a day.
    async fn runs(
        &self,
        since: Option<Date>,
        problems: &mut Vec<HistoryError>,
    ) -> Result<Vec<RunFile>, HistoryError> {
        let listed = self.listed(RUN).await?;
        let of_days = named(&listed).filter(|(_, run)| since.is_none_or(|since| run.day >= since));
        let read = of_days.map(|(name, run)| async move {
            let file = self.store().open(name, MOST_RUN_BYTES).await;
            file.and_then(|file| RunFile::read(file, run.id)).map_err(|why| self.failed(name, why))
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

    /// The rows of a table that is as it was written, each of which is one of its file.
    async fn rows<T>(
        &self,
        schema: &Schema,
        (name, seal): (&str, Seal),
        read: impl Fn(&Row<'_>) -> Result<T, TableError>,
    ) -> Result<Vec<T>, HistoryError> {
        let mut rows = Vec::new();
        let mut each = |row: &Row<'_>| -> Result<(), TableError> {
            rows.push(read(row)?);
            Ok(())
        };
        let taken = read_sealed(self.store(), (name, seal), schema, &mut each).await;
        taken.map_err(|why| self.failed(name, why))?;
        Ok(rows)
    }
}

/// What runs are ordered by.
fn order(run: &RecordedRun) -> (Timestamp, &str) {
    (run.as_of, &run.run_id)
}

/// Tables of days whose run is gone. One that was recorded again in the same scope has its rows,
/// and a run that cannot be read is a problem of its own.
fn unnamed<'a>(
    there: &'a [Listed],
    files: &[RunFile],
    problems: &[HistoryError],
    since: Option<Date>,
) -> Vec<(&'a str, Named<'a>)> {
    let key = |table: &Named<'_>| {
        let (_, scope) = table.id.split_once('-')?;
        Some((table.day, scope.to_owned()))
    };
    let tables = files.iter().flat_map(|file| of_table(file, COST.name));
    let known: BTreeSet<_> = tables.filter_map(|(_, (table, _))| key(&table)).collect();
    let is_lost = |(_, table): &(&str, Named<'_>)| {
        let is_wanted = key(table)
            .is_some_and(|key| since.is_none_or(|since| key.0 >= since) && !known.contains(&key));
        is_wanted && !problems.iter().any(|problem| problem.place.contains(table.id))
    };
    named(there).filter(is_lost).collect()
}

/// A table of a run: its name, and what that says, with the seal of the file.
type NamedTable<'a> = (&'a str, (Named<'a>, Seal));

/// Tables of runs that are wanted, by name.
type Wanted<'a> = BTreeMap<&'a str, (Named<'a>, Seal)>;

/// The files of a table of a run.
fn of_table<'a>(file: &'a RunFile, table: &'a str) -> impl Iterator<Item = NamedTable<'a>> {
    file.files.iter().filter_map(move |(name, seal)| {
        let named = Named::of(name).filter(|named| named.table == table)?;
        Some((name.as_str(), (named, *seal)))
    })
}

/// Of each day and scope the table of the newest run.
fn newest<'a>(files: &[&'a RunFile], since: Option<Date>) -> Wanted<'a> {
    let mut newest: BTreeMap<(Date, &str), (&RunFile, NamedTable<'a>)> = BTreeMap::new();
    for file in files.iter().copied() {
        for (name, (table, seal)) in of_table(file, COST.name) {
            if since.is_some_and(|since| table.day < since) {
                continue;
            }
            let key = (table.day, file.run.scope.as_str());
            let is_newer = |known: &RunFile| order(&known.run) < order(&file.run);
            if newest.get(&key).is_none_or(|(known, _)| is_newer(known)) {
                newest.insert(key, (file, (name, (table, seal))));
            }
        }
    }
    newest.into_values().map(|(_, table)| table).collect()
}

/// A run, and where the hours of its days are.
#[derive(Debug, Clone)]
pub struct HourRun {
    pub run: RecordedRun,
    table: Option<(String, Seal)>,
}

impl HourRun {
    /// Whether it is known in which hours instances ran. Versions before kept only days.
    pub fn has_hours(&self) -> bool {
        self.table.is_some() || self.run.totals.instances == 0
    }
}

impl Records {
    /// The runs that describe a day or later, or all of them, by the time that they describe,
    /// with the files that cannot be used.
    ///
    /// # Errors
    /// When the place cannot be listed.
    pub async fn hour_runs(
        &self,
        since: Option<Date>,
    ) -> Result<(Vec<HourRun>, Vec<HistoryError>), HistoryError> {
        let mut problems = Vec::new();
        let files = self.runs(since, &mut problems).await?;
        let runs = files.into_iter().map(|file| {
            let table = of_table(&file, HOUR.name).next();
            let table = table.map(|(name, (_, seal))| (name.to_owned(), seal));
            HourRun { run: file.run, table }
        });
        let mut runs: Vec<HourRun> = runs.collect();
        runs.sort_by(|left, right| order(&left.run).cmp(&order(&right.run)));
        Ok((runs, problems))
    }

    /// Reads the hours of a run.
    ///
    /// # Errors
    /// When its table cannot be read, or is not as it was written.
    pub async fn read_hours(
        &self,
        run: &HourRun,
        each: &mut dyn FnMut(InstanceHour),
    ) -> Result<(), HistoryError> {
        let Some((name, seal)) = &run.table else { return Ok(()) };
        let mut take = |row: &Row<'_>| -> Result<(), TableError> {
            each(hour_of(row)?);
            Ok(())
        };
        let read = read_sealed(self.store(), (name, *seal), &HOUR, &mut take).await;
        self.store().forget(name);
        read.map_err(|why| self.failed(name, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Currency, InstanceRate};
    use crate::files::history::tests::{at, done, run};
    use crate::store::Folder;
    use rust_decimal::Decimal;
    use std::rc::Rc;

    fn hour(begin: &str, ran_seconds: u16, rate: Option<InstanceRate>) -> InstanceHour {
        InstanceHour {
            account: "111122223333".to_owned(),
            region: "us-east-1".to_owned(),
            instance: "i-0a".to_owned(),
            instance_type: "p4d.24xlarge".to_owned(),
            hour: at(begin),
            ran_seconds,
            measured_seconds: ran_seconds / 2,
            idle_seconds: ran_seconds / 4,
            useful_seconds: Decimal::new(1_234_567, 4),
            rate,
        }
    }

    #[test]
    fn hours_are_read_back_as_they_were() {
        let place = tempfile::tempdir().expect("a folder");
        let records = Records::of(Rc::new(Folder::new(place.path().to_owned())));
        let rate = Some(InstanceRate {
            currency: Currency::Usd,
            price: Decimal::new(21_957_642, 6),
            effective: Decimal::new(145, 1),
        });
        let hours =
            [hour("2026-11-21T00:00:00Z", 3_600, rate), hour("2026-11-21T01:00:00Z", 300, None)];
        let first = run("2026-11-22T03:00:00Z", "00000000000000aa", &[21]);
        let second = run("2026-11-23T03:00:00Z", "00000000000000aa", &[22]);
        assert!(done(records.record(&first, &[], &[], &hours)).expect("writable"));
        assert!(done(records.record(&second, &[], &[], &[])).expect("writable"));
        let (runs, problems) = done(records.hour_runs(None)).expect("readable");
        assert!(problems.is_empty());
        let ids: Vec<&str> = runs.iter().map(|hour_run| hour_run.run.run_id.as_str()).collect();
        assert_eq!(ids, [&first.run_id, &second.run_id]);
        // The second one has instances and no hours, as those of versions before.
        let has: Vec<bool> = runs.iter().map(HourRun::has_hours).collect();
        assert_eq!(has, [true, false]);
        let mut read_back = Vec::new();
        for run in &runs {
            done(records.read_hours(run, &mut |hour| read_back.push(hour))).expect("readable");
        }
        assert_eq!(read_back, hours);
        let verified = done(records.verify()).expect("readable");
        assert!(verified.found.is_empty(), "{:?}", verified.found);
    }

    #[test]
    fn an_hour_that_cannot_be_is_damage() {
        let place = tempfile::tempdir().expect("a folder");
        let records = Records::of(Rc::new(Folder::new(place.path().to_owned())));
        let mut long = hour("2026-11-21T00:00:00Z", 3_600, None);
        long.ran_seconds = 3_601;
        let run = run("2026-11-22T03:00:00Z", "00000000000000aa", &[21]);
        assert!(done(records.record(&run, &[], &[], &[long])).expect("writable"));
        let (runs, _) = done(records.hour_runs(None)).expect("readable");
        let read = done(records.read_hours(&runs[0], &mut |_| {}));
        assert!(read.is_err());
        assert!(done(records.verify()).expect("readable").has_lost());
    }
}
