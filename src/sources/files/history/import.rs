//! Tables of roll-ups that another engine wrote: it has no list of checksums, its rows are in
//! any order, and one table is in several files. They become runs when they add up.

use super::History;
use super::columns::{Schema, TableError, unread};
use super::layout::HistoryError;
use super::reached;
use super::rollups::{ROLLED_UP, ROLLUP_PERIOD_SECONDS};
use super::table::{Row, read_table_of_others};
use super::tables::{ALL, ASKED, DayReader, StoredMachine, machine_of, midnight};
use crate::domain::{DAY_SECONDS, Metric, ResourceId, Statistic};
use crate::sources::store::{BucketAccess, Place, Store, invalid};
use crate::usage::{StoredPeriod, StoredUsage, Usage};
use jiff::Timestamp;
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Bytes of a file.
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
type Places = BTreeMap<(String, String), (Vec<StoredMachine>, DayReader)>;

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
        let (machines, kept) = read_day(&*store, *day, files, &mut imported.rows).await?;
        let written = into.write(*day, machines.iter().zip(kept)).await;
        written.map_err(|why| HistoryError { place: history.to_string(), why })?;
        imported.days.insert(*day);
        let machines = machines.into_iter().map(|machine| machine.instance);
        imported.machines.extend(machines);
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
) -> Result<(Vec<StoredMachine>, Vec<StoredUsage>), HistoryError> {
    let mut places: BTreeMap<(String, String), Vec<StoredMachine>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut each = |row: &Row<'_>| -> Result<(), TableError> {
        let machine = machine_of(row)?;
        let is_rollup =
            machine.asked == ROLLED_UP && machine.period_seconds == ROLLUP_PERIOD_SECONDS;
        if !is_rollup || !seen.insert(machine.clone()) {
            return Err(TableError::NotRolledUp);
        }
        places.entry((machine.account.clone(), machine.region.clone())).or_default().push(machine);
        *rows += 1;
        Ok(())
    };
    read_files(store, &ASKED, files, &mut each).await?;
    let mut readers: Places = places
        .into_iter()
        .map(|(place, machines)| {
            let reader = DayReader::new(day, machines.iter());
            (place, (machines, reader))
        })
        .collect();
    for schema in ALL.into_iter().skip(1) {
        let mut each = |row: &Row<'_>| -> Result<(), TableError> {
            let place = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
            let (_, reader) = readers.get_mut(&place).ok_or(TableError::NotRolledUp)?;
            if !reader.wants(row.text(2)?) {
                return Err(TableError::NotRolledUp);
            }
            *rows += 1;
            reader.take(schema, row)
        };
        read_files(store, schema, files, &mut each).await?;
    }
    let number = midnight(day) / DAY_SECONDS;
    let mut of_day = (Vec::new(), Vec::new());
    for (mut machines, reader) in readers.into_values() {
        machines.sort();
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
            of_day.0.push(machine);
            of_day.1.push(kept);
        }
    }
    Ok(of_day)
}

/// Reads all files of a table of a day.
async fn read_files(
    store: &dyn Store,
    schema: &Schema,
    files: &Files,
    each: &mut dyn FnMut(&Row<'_>) -> Result<(), TableError>,
) -> Result<(), HistoryError> {
    for name in files.get(schema.name).into_iter().flatten() {
        let failed = |why: io::Error| HistoryError { place: store.place(name), why };
        let file = store.open(name, MOST_BYTES).await.map_err(failed)?;
        read_table_of_others(file, schema, each).map_err(|error| failed(unread(error)))?;
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
