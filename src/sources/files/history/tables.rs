//! The tables of a day: what each machine did, row by row, and which machines were asked.

use super::columns::{Cell, Kind, Schema, TableError};
use super::machine::StoredMachine;
use super::table::Row;
use super::table_writer::TableWriter;
use crate::domain::{DAY_SECONDS, JoinedBy, Metric, Rejected, ResourceId, SeriesSource, Statistic};
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

/// Which machines were asked for how much, those without any sample too.
pub(super) const ASKED: Schema = Schema {
    name: "usage_asked",
    columns: &[
        ("account", Kind::Text),
        ("region", Kind::Text),
        ("instance", Kind::Text),
        ("asked", Kind::Text),
        ("period_seconds", Kind::Whole),
    ],
    most_rows: MOST_MACHINES,
};

/// What each series amounted to.
pub(super) const SERIES: Schema = Schema {
    name: "usage_series",
    columns: &[
        ("account", Kind::Text),
        ("region", Kind::Text),
        ("instance", Kind::Text),
        ("metric", Kind::Text),
        ("gpu", Kind::Whole),
        ("statistic", Kind::Text),
        ("source", Kind::Text),
        ("joined_by", Kind::Text),
        ("is_empty", Kind::Whole),
        ("n", Kind::Whole),
        ("period_seconds", Kind::Whole),
        ("min", Kind::Real),
        ("max", Kind::Real),
        ("sum", Kind::Whole),
        ("n_active", Kind::Whole),
        ("first", Kind::Whole),
        ("last", Kind::Whole),
        ("not_a_number", Kind::Whole),
        ("negative", Kind::Whole),
        ("over_100", Kind::Whole),
        ("duplicate", Kind::Whole),
        ("future", Kind::Whole),
    ],
    most_rows: MOST_ROWS,
};

/// Signals of a machine, period by period.
pub(super) const GRID: Schema = Schema {
    name: "usage_grid",
    columns: &[
        ("account", Kind::Text),
        ("region", Kind::Text),
        ("instance", Kind::Text),
        ("metric", Kind::Text),
        ("source", Kind::Text),
        ("period", Kind::Whole),
        ("n", Kind::Whole),
        ("sum", Kind::Whole),
        ("max", Kind::Whole),
        ("n_max", Kind::Whole),
        ("works", Kind::Whole),
    ],
    most_rows: MOST_ROWS,
};

/// How many points of a series fell into each step.
pub(super) const HIST: Schema = Schema {
    name: "usage_hist",
    columns: &[
        ("account", Kind::Text),
        ("region", Kind::Text),
        ("instance", Kind::Text),
        ("metric", Kind::Text),
        ("gpu", Kind::Whole),
        ("statistic", Kind::Text),
        ("bucket", Kind::Whole),
        ("n", Kind::Whole),
    ],
    most_rows: MOST_ROWS,
};

/// Every table, in the order in which they are written and read.
pub(super) const ALL: [&Schema; 4] = [&ASKED, &SERIES, &GRID, &HIST];

/// The first second of a day.
pub(super) fn midnight(day: Date) -> i64 {
    const EPOCH: Date = Date::constant(1970, 1, 1);
    let days = day.duration_since(EPOCH).as_hours() / 24;
    days * DAY_SECONDS
}

/// The tables of a day while they are written.
pub(super) struct DayWriter {
    midnight: i64,
    asked: TableWriter,
    series: TableWriter,
    grid: TableWriter,
    hist: TableWriter,
}

impl DayWriter {
    pub(super) fn new(day: Date) -> Result<Self, ParquetError> {
        Ok(Self {
            midnight: midnight(day),
            asked: TableWriter::new(&ASKED)?,
            series: TableWriter::new(&SERIES)?,
            grid: TableWriter::new(&GRID)?,
            hist: TableWriter::new(&HIST)?,
        })
    }

    pub(super) fn add(
        &mut self,
        machine: &StoredMachine,
        kept: &StoredUsage,
    ) -> Result<(), ParquetError> {
        let StoredMachine { account, region, instance, asked, period_seconds } = machine;
        let [account, region, instance] =
            [account.as_str(), region.as_str(), instance.as_str()].map(text);
        let key = [account, region, instance];
        let [account, region, instance] = key.clone();
        self.asked.push([
            account,
            region,
            instance,
            text(asked),
            some(i64::from(*period_seconds)),
        ])?;
        for series in &kept.series {
            self.add_series(key.clone(), series)?;
        }
        for period in &kept.periods {
            let start = i64::from(period.index) * i64::from(*period_seconds);
            self.add_period(key.clone(), self.midnight + start, period)?;
        }
        Ok(())
    }

    fn add_series(&mut self, key: [Cell; 3], series: &StoredSeries) -> Result<(), ParquetError> {
        let (metric, statistic) = (text(series.metric.name()), text(series.statistic.name()));
        let gpu = Cell::Whole(series.gpu.map(i64::from));
        let figures = &series.figures;
        let rejected = series.rejected;
        for (bucket, count) in &figures.counts {
            let [account, region, instance] = key.clone();
            self.hist.push([
                account,
                region,
                instance,
                metric.clone(),
                gpu.clone(),
                statistic.clone(),
                some(i64::from(*bucket)),
                some(i64::from(*count)),
            ])?;
        }
        let [account, region, instance] = key;
        self.series.push([
            account,
            region,
            instance,
            metric,
            gpu,
            statistic,
            text(series.source.name()),
            text(series.joined_by.name()),
            some(i64::from(series.is_empty)),
            Cell::Whole(figures.count.map(whole)),
            Cell::Whole(figures.period_seconds.map(i64::from)),
            Cell::Real(figures.min),
            Cell::Real(figures.max),
            Cell::Whole(figures.sum.map(whole)),
            Cell::Whole(figures.active.map(whole)),
            Cell::Whole(figures.first),
            Cell::Whole(figures.last),
            some(whole(rejected.not_a_number)),
            some(whole(rejected.negative)),
            some(whole(rejected.over_100)),
            some(whole(rejected.duplicate)),
            some(whole(rejected.future)),
        ])
    }

    fn add_period(
        &mut self,
        key: [Cell; 3],
        start: i64,
        period: &StoredPeriod,
    ) -> Result<(), ParquetError> {
        let [account, region, instance] = key;
        self.grid.push([
            account,
            region,
            instance,
            text(period.metric.name()),
            text(period.source.name()),
            some(start),
            some(i64::from(period.reported)),
            some(whole(period.sum)),
            Cell::Whole(period.maximum.map(i64::from)),
            some(i64::from(period.maxima)),
            some(i64::from(period.works)),
        ])
    }

    /// The files, in the order of [`ALL`].
    pub(super) fn finish(self) -> Result<[Vec<u8>; 4], ParquetError> {
        Ok([self.asked.finish()?, self.series.finish()?, self.grid.finish()?, self.hist.finish()?])
    }
}

fn text(text: &str) -> Cell {
    Cell::Text(ByteArray::from(text))
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
    pub(super) fn new<'a>(day: Date, wanted: impl Iterator<Item = &'a StoredMachine>) -> Self {
        let kept = wanted.map(|machine| {
            let nothing = (machine.period_seconds, StoredUsage::default());
            (machine.instance.clone(), nothing)
        });
        Self { midnight: midnight(day), kept: kept.collect(), last: None }
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
        let Some((id, true)) = &self.last else {
            return Ok(());
        };
        let Some((period_seconds, kept)) = self.kept.get_mut(id) else {
            return Ok(());
        };
        match schema.name {
            name if name == SERIES.name => take_series(kept, row),
            name if name == GRID.name => take_period(kept, row, self.midnight, *period_seconds),
            name if name == HIST.name => take_step(kept, row),
            _ => Ok(()),
        }
    }
}

fn named<T>(name: &str, of: impl Fn(&str) -> Option<T>) -> Result<T, TableError> {
    of(name).ok_or(TableError::Value)
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
        metric: named(row.text(3)?, Metric::from_name)?,
        gpu: row.whole(4)?,
        statistic: named(row.text(5)?, Statistic::from_name)?,
        source: named(row.text(6)?, SeriesSource::from_name)?,
        joined_by: named(row.text(7)?, JoinedBy::from_name)?,
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
        metric: named(row.text(3)?, Metric::from_name)?,
        source: named(row.text(4)?, SeriesSource::from_name)?,
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
    let metric = named(row.text(3)?, Metric::from_name)?;
    let gpu: Option<u16> = row.whole(4)?;
    let statistic = named(row.text(5)?, Statistic::from_name)?;
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
