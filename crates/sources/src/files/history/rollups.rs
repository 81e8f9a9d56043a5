//! Runs that an engine made of raw points. Their tables are those of every run. An archive need
//! not say the account and the region of its instances: without them, they are empty.
//!
//! They are imported from tables that the engine wrote: it has no list of checksums, its rows are
//! in any order, and one table is in several files. They become runs when they add up.

use super::columns::{Schema, TableError, unread};
use super::layout::HistoryError;
use super::table::{Each, Row, read_rows};
use super::tables::{ALL, ASKED, DayReader, StoredMachine, machine_of, midnight};
use super::{History, reached};
use crate::domain::{DAY_SECONDS, Instance, Metric, ResourceId, Statistic};
use crate::store::{BucketAccess, Place, Store, invalid};
use crate::usage::{StoredPeriod, StoredUsage, Usage};
use jiff::Timestamp;
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What such a run is said to have asked.
pub const ROLLED_UP: &str = "rollup";
/// The periods of its grid, in seconds.
pub const ROLLUP_PERIOD_SECONDS: u32 = 300;

impl History {
    /// Reads which of some machines have roll-ups of some days. What cannot be read counts as
    /// absent, and is a problem.
    pub async fn prepare_rollups(&self, days: &[Date], machines: &[Instance]) {
        let keys = machines.iter().flat_map(keys_of);
        self.load(days.iter(), keys.map(|key| key.place()).collect()).await;
    }

    /// What the newest roll-up of a day that has a machine keeps it as, of those that were
    /// read.
    pub fn rollup_of(&self, day: Date, machine: &Instance) -> Option<StoredMachine> {
        let keys = keys_of(machine).into_iter();
        let runs = keys.filter_map(|key| Some((self.run_of(day, &key)?, key)));
        // The id of a run begins with its time.
        runs.max_by(|(left, _), (right, _)| left.cmp(right)).map(|(_, key)| key)
    }

    /// Every machine that has a roll-up of those that were read.
    pub fn rolled_up(&self) -> BTreeSet<ResourceId> {
        let runs = self.runs.borrow();
        let machines = runs.values().flatten().flat_map(|run| run.machines.values());
        let rolled = machines.filter(|machine| machine.asked == ROLLED_UP);
        rolled.map(|machine| machine.instance.clone()).collect()
    }

    /// How many runs of some days are of other accounts and regions than those that were read.
    pub fn unread_runs(&self, days: &[Date]) -> usize {
        let known = self.runs.borrow();
        let runs = days.iter().flat_map(|day| {
            let runs = self.days.get(day).into_iter().flatten();
            runs.map(move |run| (*day, run.place.clone()))
        });
        runs.filter(|run| !known.contains_key(run)).count()
    }
}

/// What a roll-up can keep a machine as: the archive knows its account and region, or one of
/// both, or neither.
fn keys_of(machine: &Instance) -> [StoredMachine; 4] {
    let (account, region) = (machine.account.as_str(), machine.region.as_str());
    [(account, region), (account, ""), ("", region), ("", "")].map(|(account, region)| {
        StoredMachine {
            account: account.to_owned(),
            region: region.to_owned(),
            instance: machine.id.clone(),
            asked: ROLLED_UP.to_owned(),
            period_seconds: ROLLUP_PERIOD_SECONDS,
        }
    })
}

/// Bytes of a file that is imported.
const MOST_BYTES: u64 = 256 << 20;

/// What was imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    pub days: BTreeSet<Date>,
    pub machines: BTreeSet<ResourceId>,
    /// Rows of all tables.
    pub rows: u64,
}

/// The files of a day by table.
type Files = BTreeMap<&'static str, Vec<String>>;

/// Machines of an account and region, and what was read of them.
type Places = BTreeMap<(String, String), (BTreeSet<StoredMachine>, DayReader)>;

/// Keeps the roll-ups of some tables in a history, day by day. Nothing of a day is kept that
/// does not add up.
///
/// # Errors
/// When a place cannot be used, when a file cannot be read, and when the tables of a day are not
/// those of a roll-up.
pub async fn import_rollups(
    (tables, history): (&Place, &Place),
    access: &BucketAccess,
    now: Timestamp,
) -> Result<Imported, HistoryError> {
    let store = reached(tables, access).await?;
    let days = files(&*store, tables).await?;
    let (first, last) = (days.keys().next().copied(), days.keys().next_back().copied());
    let (Some(first), Some(last)) = (first, last) else {
        return Err(HistoryError {
            place: tables.to_string(),
            why: invalid("it has no files of the form usage_asked/dt=2026-11-22/NAME.parquet"),
        });
    };
    let into = History::open(history, access, (first, last), now).await?;
    let mut imported = Imported::default();
    for (day, files) in &days {
        let read = read_day(&*store, *day, files, &mut imported.rows).await?;
        let (machines, kept): (Vec<_>, Vec<_>) = read.into_iter().unzip();
        let written = into.write(*day, machines.iter().zip(kept)).await;
        written.map_err(|why| HistoryError { place: history.to_string(), why })?;
        imported.days.insert(*day);
        imported.machines.extend(machines.into_iter().map(|machine| machine.instance));
    }
    Ok(imported)
}

/// The files of each day. What other programs leave beside them, such as `_SUCCESS`, is not
/// read.
async fn files(store: &dyn Store, place: &Place) -> Result<BTreeMap<Date, Files>, HistoryError> {
    let mut days: BTreeMap<Date, Files> = BTreeMap::new();
    for schema in ALL {
        let listed = store.list(schema.name, None).await;
        let listed = listed.map_err(|why| HistoryError { place: place.to_string(), why })?;
        for object in listed {
            let mut parts = object.name.split('/').skip(1);
            let (part, file) = (parts.next(), parts.next().unwrap_or_default());
            let is_table = file.ends_with(".parquet") && !file.starts_with(['.', '_']);
            let day = part.and_then(|part| part.strip_prefix("dt="));
            let day = day.and_then(|day| day.parse::<Date>().ok());
            let Some(day) = day.filter(|_| is_table && parts.next().is_none()) else { continue };
            days.entry(day).or_default().entry(schema.name).or_default().push(object.name.clone());
        }
    }
    Ok(days)
}

/// Machines, and what each of them did on a day.
async fn read_day(
    store: &dyn Store,
    day: Date,
    files: &Files,
    rows: &mut u64,
) -> Result<Vec<(StoredMachine, StoredUsage)>, HistoryError> {
    let mut places = Places::new();
    let mut each = |row: &Row<'_>| -> Result<(), TableError> {
        let machine = machine_of(row)?;
        let is_rollup =
            machine.asked == ROLLED_UP && machine.period_seconds == ROLLUP_PERIOD_SECONDS;
        let place = (machine.account.clone(), machine.region.clone());
        let (machines, reader) =
            places.entry(place).or_insert_with(|| (BTreeSet::new(), DayReader::new(day)));
        reader.want(&machine);
        if !is_rollup || !machines.insert(machine) {
            return Err(TableError::NotRolledUp);
        }
        *rows += 1;
        Ok(())
    };
    read_files(store, &ASKED, files, &mut each).await?;
    for schema in ALL.into_iter().skip(1) {
        let mut each = |row: &Row<'_>| -> Result<(), TableError> {
            let place = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
            let (_, reader) = places.get_mut(&place).ok_or(TableError::NotRolledUp)?;
            if !reader.wants(row.text(2)?) {
                return Err(TableError::NotRolledUp);
            }
            *rows += 1;
            reader.take(schema, row)
        };
        read_files(store, schema, files, &mut each).await?;
    }
    let number = midnight(day) / DAY_SECONDS;
    let mut of_day = Vec::new();
    for (machines, reader) in places.into_values() {
        let mut usages = reader.finish();
        for machine in machines {
            let (_, mut kept) = usages.remove(&machine.instance).unwrap_or_default();
            in_order(&mut kept);
            let usage = Usage::of_kept(&kept, number, ROLLUP_PERIOD_SECONDS);
            if usage.is_none() || !adds_up(&kept) {
                let why = format!(
                    "the rows of {} do not add up: a file is missing, is there twice, or was \
                     written while others were",
                    machine.instance
                );
                return Err(HistoryError {
                    place: format!("{} (dt={day})", store.place("")),
                    why: invalid(&why),
                });
            }
            of_day.push((machine, kept));
        }
    }
    Ok(of_day)
}

/// Reads all files of a table of a day.
async fn read_files(
    store: &dyn Store,
    schema: &Schema,
    files: &Files,
    each: Each<'_>,
) -> Result<(), HistoryError> {
    for name in files.get(schema.name).into_iter().flatten() {
        let failed = |why: io::Error| HistoryError { place: store.place(name), why };
        let file = store.open(name, MOST_BYTES).await.map_err(failed)?;
        read_rows(file, schema, Schema::is_like, each).map_err(|error| failed(unread(error)))?;
        store.forget(name);
    }
    Ok(())
}

/// Rows as gpucost writes them.
fn in_order(kept: &mut StoredUsage) {
    kept.series.sort_by_key(|series| (series.metric, series.gpu, series.statistic));
    kept.periods.sort_by_key(|period| (period.metric, period.source, period.index));
    for series in &mut kept.series {
        series.figures.counts.sort_unstable();
    }
}

/// Whether the tables of a machine were made of the same points: each point of a series is in
/// its histogram and in its grid, once.
fn adds_up(kept: &StoredUsage) -> bool {
    let averages = |metric: Metric| {
        let of_metric = kept.series.iter().filter(|series| !series.is_empty);
        of_metric
            .filter(move |series| (series.metric, series.statistic) == (metric, Statistic::Average))
    };
    let are_in_steps = [Metric::GpuUtilization, Metric::GpuMemoryUsed, Metric::CpuUtilization]
        .into_iter()
        .flat_map(averages)
        .all(|series| {
            let steps = series.figures.counts.iter();
            let points: u64 = steps.map(|(_, count)| u64::from(*count)).sum();
            points == series.figures.count.unwrap_or(0)
        });
    let are_in_periods =
        [Metric::GpuUtilization, Metric::CpuUtilization].into_iter().all(|metric| {
            let periods = kept.periods.iter().filter(|period| period.metric == metric);
            let reported: u64 = periods.map(|period| u64::from(period.reported)).sum();
            let points = averages(metric).map(|series| series.figures.count.unwrap_or(0));
            reported == points.sum::<u64>()
        });
    let key = |period: &StoredPeriod| (period.metric, period.source, period.index);
    let are_once = kept.periods.windows(2).all(|pair| key(&pair[0]) != key(&pair[1]));
    are_in_steps && are_in_periods && are_once
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::history::tests::done;
    use std::path::Path;

    const DAY: Date = Date::constant(2026, 11, 2);

    fn open(folder: &Path, now: &str) -> History {
        let place = Place::Folder(folder.to_owned());
        let (access, now) = (BucketAccess::default(), now.parse().expect("a time stamp"));
        done(History::open(&place, &access, (DAY, DAY), now)).expect("our own folder")
    }

    fn machine(instance: &str) -> Instance {
        Instance::sample(instance, "", Timestamp::UNIX_EPOCH)
    }

    /// What a roll-up keeps `i-1` as, under an account and region.
    fn key(account: &str, region: &str) -> StoredMachine {
        StoredMachine {
            account: account.to_owned(),
            region: region.to_owned(),
            ..keys_of(&machine("i-1"))[0].clone()
        }
    }

    fn keep(folder: &Path, now: &str, machine: &StoredMachine) {
        let history = open(folder, now);
        done(history.record(DAY, std::iter::once((machine, StoredUsage::default()))));
        assert!(history.problems().is_empty());
    }

    #[test]
    fn the_newest_roll_up_counts_whatever_it_knows_of_the_machine() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let own = machine("i-1");
        let (account, region) = (own.account.as_str(), own.region.as_str());
        let places = [
            (account, region),
            ("", ""),
            (account, ""),
            ("", region),
            // Of another machine of the same name.
            ("999988887777", region),
        ];
        for (hour, (account, region)) in places.iter().enumerate() {
            let now = format!("2026-11-06T{:02}:00:00Z", 10 + hour);
            keep(folder.path(), &now, &key(account, region));
            let history = open(folder.path(), "2026-11-07T00:00:00Z");
            done(history.prepare_rollups(&[DAY], std::slice::from_ref(&own)));
            let (account, region) = places[hour.min(3)];
            assert_eq!(history.rollup_of(DAY, &own), Some(key(account, region)));
            assert_eq!(history.unread_runs(&[DAY]), usize::from(hour == 4));
        }
    }

    #[test]
    fn what_is_kept_of_the_cloud_is_no_roll_up() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let own = machine("i-1");
        let asked = StoredMachine {
            asked: "0123456789abcdef".to_owned(),
            ..key(&own.account, &own.region)
        };
        keep(folder.path(), "2026-11-06T10:00:00Z", &asked);
        let hours = StoredMachine { period_seconds: 3_600, ..key(&own.account, &own.region) };
        keep(folder.path(), "2026-11-06T11:00:00Z", &hours);
        let history = open(folder.path(), "2026-11-07T00:00:00Z");
        done(history.prepare_rollups(&[DAY], std::slice::from_ref(&own)));
        assert_eq!(history.rollup_of(DAY, &own), None);
        let other = machine("i-2");
        assert_eq!(history.rollup_of(DAY, &other), None);
    }
}
