//! The tables of a day: what each machine did, row by row, and which machines were asked.

use super::columns::{Cell, EPOCH, Kind, Schema, TableError, table};
use super::table::{Row, TableWriter};
use crate::domain::{
    DAY_SECONDS, Fnv, JoinedBy, Metric, Rejected, ResourceId, SeriesSource, Statistic,
};
use crate::usage::{StoredFigures, StoredPeriod, StoredSeries, StoredUsage};
use jiff::civil::Date;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use std::collections::BTreeMap;

/// Steps of a histogram that one series can have in a day: one for each point.
const MOST_STEPS: usize = DAY_SECONDS as usize / 60;
/// Series that one machine can have.
const MOST_SERIES: usize = 1 << 12;
/// Machines that a run can have asked.
const MOST_MACHINES: usize = 1 << 20;
/// Rows of any other table: a day of 100,000 GPUs has two thirds in histograms.
const MOST_ROWS: usize = 1 << 27;
/// Periods of signals that one machine can have in a day.
const MOST_PERIODS: usize = 8 * DAY_SECONDS as usize / 60;

/// The account, the region and the name of a machine.
type MachineCells = [Cell; 3];
/// The same of a series, with its metric, its GPU and its statistic.
type SeriesCells = [Cell; 6];

table! {
    /// Which machines were asked for how much, those without any sample too.
    ASKED = "usage_asked", MOST_MACHINES;
    /// The cells of a row of [`ASKED`].
    fn cells_of_machine(key: &MachineCells, machine: &StoredMachine) {
        let [account, region, instance] = key.clone();
    }
    "account" Text account;
    "region" Text region;
    "instance" Text instance;
    "asked" Text text(&machine.asked);
    "period_seconds" Whole some(i64::from(machine.period_seconds));
}

table! {
    /// What each series amounted to.
    SERIES = "usage_series", MOST_ROWS;
    /// The cells of a row of [`SERIES`].
    fn cells_of_series(key: &SeriesCells, series: &StoredSeries) {
        let [account, region, instance, metric, gpu, statistic] = key.clone();
        let (figures, rejected) = (&series.figures, series.rejected);
    }
    "account" Text account;
    "region" Text region;
    "instance" Text instance;
    "metric" Text metric;
    "gpu" Whole gpu;
    "statistic" Text statistic;
    "source" Text text(series.source.name());
    "joined_by" Text text(series.joined_by.name());
    "is_empty" Whole some(i64::from(series.is_empty));
    "n" Whole Cell::Whole(figures.count.map(whole));
    "period_seconds" Whole Cell::Whole(figures.period_seconds.map(i64::from));
    "min" Real Cell::Real(figures.min);
    "max" Real Cell::Real(figures.max);
    "sum" Whole Cell::Whole(figures.sum.map(whole));
    "n_active" Whole Cell::Whole(figures.active.map(whole));
    "first" Whole Cell::Whole(figures.first);
    "last" Whole Cell::Whole(figures.last);
    "not_a_number" Whole some(whole(rejected.not_a_number));
    "negative" Whole some(whole(rejected.negative));
    "over_100" Whole some(whole(rejected.over_100));
    "duplicate" Whole some(whole(rejected.duplicate));
    "future" Whole some(whole(rejected.future));
}

table! {
    /// Signals of a machine, period by period.
    GRID = "usage_grid", MOST_ROWS;
    /// The cells of a row of [`GRID`].
    fn cells_of_period(key: &MachineCells, start: i64, period: &StoredPeriod) {
        let [account, region, instance] = key.clone();
    }
    "account" Text account;
    "region" Text region;
    "instance" Text instance;
    "metric" Text text(period.metric.name());
    "source" Text text(period.source.name());
    "period" Whole some(start);
    "n" Whole some(i64::from(period.reported));
    "sum" Whole some(whole(period.sum));
    "max" Whole Cell::Whole(period.maximum.map(i64::from));
    "n_max" Whole some(i64::from(period.maxima));
    "works" Whole some(i64::from(period.works));
}

table! {
    /// How many points of a series fell into each step.
    HIST = "usage_hist", MOST_ROWS;
    /// The cells of a row of [`HIST`].
    fn cells_of_step(key: &SeriesCells, bucket: u16, count: u32) {
        let [account, region, instance, metric, gpu, statistic] = key.clone();
    }
    "account" Text account;
    "region" Text region;
    "instance" Text instance;
    "metric" Text metric;
    "gpu" Whole gpu;
    "statistic" Text statistic;
    "bucket" Whole some(i64::from(bucket));
    "n" Whole some(i64::from(count));
}

/// Every table, in the order in which they are written and read.
pub(super) const ALL: [&Schema; 4] = [&ASKED, &SERIES, &GRID, &HIST];

/// The first second of a day.
pub(super) fn midnight(day: Date) -> i64 {
    day.duration_since(EPOCH).as_hours() / 24 * DAY_SECONDS
}

/// The tables of a day while they are written.
pub(super) struct DayWriter {
    midnight: i64,
    /// In the order of [`ALL`].
    tables: [TableWriter; 4],
}

impl DayWriter {
    pub(super) fn new(day: Date) -> Result<Self, ParquetError> {
        let [asked, series, grid, hist] = ALL.map(TableWriter::new);
        Ok(Self { midnight: midnight(day), tables: [asked?, series?, grid?, hist?] })
    }

    pub(super) fn add(
        &mut self,
        machine: &StoredMachine,
        kept: &StoredUsage,
    ) -> Result<(), TableError> {
        let StoredMachine { account, region, instance, period_seconds, .. } = machine;
        let key = [account.as_str(), region.as_str(), instance.as_str()].map(text);
        let [asked, of_series, grid, hist] = &mut self.tables;
        asked.push(cells_of_machine(&key, machine)?)?;
        for series in &kept.series {
            let [account, region, instance] = key.clone();
            let (metric, statistic) = (text(series.metric.name()), text(series.statistic.name()));
            let gpu = Cell::Whole(series.gpu.map(i64::from));
            let key = [account, region, instance, metric, gpu, statistic];
            for (bucket, count) in &series.figures.counts {
                hist.push(cells_of_step(&key, *bucket, *count)?)?;
            }
            of_series.push(cells_of_series(&key, series)?)?;
        }
        for period in &kept.periods {
            let start = self.midnight + i64::from(period.index) * i64::from(*period_seconds);
            grid.push(cells_of_period(&key, start, period)?)?;
        }
        Ok(())
    }

    /// The files, in the order of [`ALL`].
    pub(super) fn finish(self) -> Result<[Vec<u8>; 4], ParquetError> {
        let [asked, series, grid, hist] = self.tables.map(TableWriter::finish);
        Ok([asked?, series?, grid?, hist?])
    }
}

fn text(text: &str) -> Cell {
    Cell::Text(Some(ByteArray::from(text)))
}

fn some(number: i64) -> Cell {
    Cell::Whole(Some(number))
}

/// A count or a sum; one that is out of range is the largest there is.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Reads a row of [`ASKED`].
pub(super) fn machine_of(row: &Row<'_>) -> Result<StoredMachine, TableError> {
    Ok(StoredMachine {
        account: row.text(0)?.to_owned(),
        region: row.text(1)?.to_owned(),
        instance: ResourceId::named(row.text(2)?),
        asked: row.text(3)?.to_owned(),
        period_seconds: row.some(4)?,
    })
}

/// What some machines did in a day, as tables are read one after another.
pub(super) struct DayReader {
    midnight: i64,
    /// The wanted machines, each with the seconds of its periods.
    kept: BTreeMap<ResourceId, (u32, StoredUsage)>,
    /// The machine of the row before, because rows of one stand together.
    last: Option<(ResourceId, bool)>,
}

impl DayReader {
    pub(super) fn new(day: Date) -> Self {
        Self { midnight: midnight(day), kept: BTreeMap::new(), last: None }
    }

    /// Takes what a machine did, from now on.
    pub(super) fn want(&mut self, machine: &StoredMachine) {
        let kept = (machine.period_seconds, StoredUsage::default());
        self.kept.insert(machine.instance.clone(), kept);
    }

    /// Whether a machine is wanted.
    pub(super) fn wants(&self, name: &str) -> bool {
        match &self.last {
            Some((last, is_wanted)) if last.as_str() == name => *is_wanted,
            _ => self.kept.contains_key(&ResourceId::named(name)),
        }
    }

    /// What was read of each machine.
    pub(super) fn finish(self) -> BTreeMap<ResourceId, (u32, StoredUsage)> {
        self.kept
    }

    /// Takes a row of a table after that of the machines.
    ///
    /// # Errors
    /// When it has a value that is never written.
    pub(super) fn take(&mut self, schema: &Schema, row: &Row<'_>) -> Result<(), TableError> {
        let name = row.text(2)?;
        let is_same = self.last.as_ref().is_some_and(|(last, _)| last.as_str() == name);
        if !is_same {
            let id = ResourceId::named(name);
            let is_wanted = self.kept.contains_key(&id);
            self.last = Some((id, is_wanted));
        }
        let Some((id, true)) = &self.last else { return Ok(()) };
        let Some((period_seconds, kept)) = self.kept.get_mut(id) else { return Ok(()) };
        match schema.name {
            name if name == SERIES.name => take_series(kept, row),
            name if name == GRID.name => take_period(kept, row, self.midnight, *period_seconds),
            name if name == HIST.name => take_step(kept, row),
            _ => Ok(()),
        }
    }
}

fn flag(row: &Row<'_>, column: usize) -> Result<bool, TableError> {
    match row.some::<u8>(column)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(TableError::Value),
    }
}

fn take_series(kept: &mut StoredUsage, row: &Row<'_>) -> Result<(), TableError> {
    if kept.series.len() >= MOST_SERIES {
        return Err(TableError::Value);
    }
    // No more were rejected than a number of 32 bits holds, so that sums of days are safe.
    let rejected = |column| row.some::<u32>(column).map(u64::from);
    kept.series.push(StoredSeries {
        metric: row.named(3, Metric::from_name)?,
        gpu: row.whole(4)?,
        statistic: row.named(5, Statistic::from_name)?,
        source: row.named(6, SeriesSource::from_name)?,
        joined_by: row.named(7, JoinedBy::from_name)?,
        is_empty: flag(row, 8)?,
        figures: StoredFigures {
            count: row.whole(9)?,
            period_seconds: row.whole(10)?,
            counts: Vec::new(),
            min: row.real(11)?,
            max: row.real(12)?,
            sum: row.whole(13)?,
            active: row.whole(14)?,
            first: row.whole(15)?,
            last: row.whole(16)?,
        },
        rejected: Rejected {
            not_a_number: rejected(17)?,
            negative: rejected(18)?,
            over_100: rejected(19)?,
            duplicate: rejected(20)?,
            future: rejected(21)?,
        },
    });
    Ok(())
}

fn take_period(
    kept: &mut StoredUsage,
    row: &Row<'_>,
    midnight: i64,
    period_seconds: u32,
) -> Result<(), TableError> {
    let since = row.some::<i64>(5)?.checked_sub(midnight).ok_or(TableError::Value)?;
    let period = i64::from(period_seconds.max(1));
    if since % period != 0 || kept.periods.len() >= MOST_PERIODS {
        return Err(TableError::Value);
    }
    kept.periods.push(StoredPeriod {
        metric: row.named(3, Metric::from_name)?,
        source: row.named(4, SeriesSource::from_name)?,
        index: u32::try_from(since / period).map_err(|_| TableError::Value)?,
        reported: row.some(6)?,
        sum: row.some(7)?,
        maximum: row.whole(8)?,
        maxima: row.some(9)?,
        works: flag(row, 10)?,
    });
    Ok(())
}

/// Adds a step to the series that it is of; those of one series stand together.
fn take_step(kept: &mut StoredUsage, row: &Row<'_>) -> Result<(), TableError> {
    let metric = row.named(3, Metric::from_name)?;
    let gpu: Option<u16> = row.whole(4)?;
    let statistic = row.named(5, Statistic::from_name)?;
    let mut series = kept.series.iter_mut();
    let series = series
        .find(|each_series| {
            (each_series.metric, each_series.gpu, each_series.statistic) == (metric, gpu, statistic)
        })
        .ok_or(TableError::Value)?;
    let counts = &mut series.figures.counts;
    if counts.len() >= MOST_STEPS {
        return Err(TableError::Value);
    }
    counts.push((row.some(6)?, row.some(7)?));
    Ok(())
}

/// A machine, and what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredMachine {
    pub account: String,
    pub region: String,
    pub instance: ResourceId,
    /// Names the series that were asked for: other series are another name.
    pub asked: String,
    /// The grid of utilization, power and CPU.
    pub period_seconds: u32,
}

impl StoredMachine {
    /// A number for the account and region, which runs are named by.
    pub(super) fn place(&self) -> String {
        place_of(&self.account, &self.region)
    }

    /// About how many bytes of memory it takes beside its name, which it is found by.
    pub(super) fn bytes(&self) -> usize {
        let texts = [&*self.account, &*self.region, &*self.asked];
        let texts: usize = texts.iter().map(|text| text.len()).sum();
        size_of::<(ResourceId, Self)>() + texts + 2 * self.instance.as_str().len()
    }
}

/// A number for an account and region.
pub(super) fn place_of(account: &str, region: &str) -> String {
    let mut number = Fnv::default();
    number.add(account);
    number.add(region);
    number.hex()
}
