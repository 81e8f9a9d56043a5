//! What the checks of an archive say, and whether it can be added up.

use crate::failure::{Failure, Result};
use crate::inputs::Inputs;
use crate::progress::separated;
use crate::sql::{Points, Table};
use datafusion::arrow::array::{Array, Float64Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use std::ops::Range;

const DAY_SECONDS: f64 = 86_400.0;
/// GPUs of an instance that gpucost reads.
const MOST_GPUS: i64 = 256;
/// Names of metrics that a message lists.
const MOST_NAMED: usize = 10;

/// The rows of an archive.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// All of them.
    pub rows: u64,
    /// Without an instance, a metric or a time.
    pub unplaced: u64,
    /// Without a value.
    pub absent: u64,
    /// Those that are added up, valid or not.
    pub points: u64,
    /// Seconds of the first and the last.
    ends: Option<(f64, f64)>,
    /// The metrics of the archive, those with the most rows first.
    metrics: Vec<(String, u64)>,
}

/// Reads the result of [`crate::sql::rows_statement`].
///
/// # Errors
/// When it is none.
pub fn seen(batches: &[RecordBatch]) -> Result<Seen> {
    let mut seen = Seen::default();
    for batch in batches {
        let metric = cast(column(batch, "metric")?, &DataType::Utf8)?;
        let metric = metric.as_any().downcast_ref::<StringArray>();
        let (n, unplaced, absent, points) = (
            wholes(batch, "n")?,
            wholes(batch, "unplaced")?,
            wholes(batch, "absent")?,
            wholes(batch, "points")?,
        );
        let (earliest, latest) = (reals(batch, "earliest")?, reals(batch, "latest")?);
        for row in 0..batch.num_rows() {
            let rows = count(&n, row);
            seen.rows += rows;
            seen.unplaced += count(&unplaced, row);
            seen.absent += count(&absent, row);
            seen.points += count(&points, row);
            if let (false, Some(metric)) = (metric.is_none_or(|one| one.is_null(row)), metric) {
                seen.metrics.push((metric.value(row).to_owned(), rows));
            }
            if earliest.is_valid(row) && latest.is_valid(row) && count(&points, row) > 0 {
                let own = (earliest.value(row), latest.value(row));
                seen.ends =
                    Some(seen.ends.map_or(own, |ends| (ends.0.min(own.0), ends.1.max(own.1))));
            }
        }
    }
    seen.metrics.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    Ok(seen)
}

impl Seen {
    /// # Errors
    /// When the archive is not what the flags say, or rows are missing.
    pub fn check(&self, inputs: &Inputs, points: &Points) -> Result<()> {
        if let Some(rows) = inputs.rows().filter(|rows| *rows != self.rows) {
            return Err(Failure::unexpected(format!(
                "{} rows were read, and the footers of the files say {}",
                separated(self.rows),
                separated(rows)
            ))
            .with_hint("a file changed or went while it was read; run it again"));
        }
        if self.unplaced > 0 {
            return Err(Failure::input(format!(
                "{} rows have no instance, metric or time",
                separated(self.unplaced)
            ))
            .with_hint("map other columns with `--columns`, or leave such files out"));
        }
        if self.points == 0 {
            let wanted: Vec<&str> = points.measures.iter().map(|one| one.name.as_str()).collect();
            let known = self.metrics.iter().take(MOST_NAMED);
            let known: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
            let found = match known.as_slice() {
                [] => "it has no rows".to_owned(),
                known => format!("its metrics are {}", known.join(", ")),
            };
            return Err(Failure::input(format!(
                "the archive has no points of {} in these days",
                wanted.join(", ")
            ))
            .with_hint(format!("{found}; map them with `--metric-map`")));
        }
        Ok(())
    }

    /// What is added up, and what is not.
    pub fn line(&self) -> String {
        let others = self.rows - self.points - self.absent.min(self.rows - self.points);
        format!(
            "{} points; {} rows without a value, {} of other metrics or days",
            separated(self.points),
            separated(self.absent),
            separated(others)
        )
    }

    /// The days that have points, of those that were asked for.
    pub fn days(&self, asked: Option<&Range<i64>>) -> Option<Range<i64>> {
        let (first, last) = self.ends?;
        let day = |second: f64| (second / DAY_SECONDS).floor() as i64;
        let all = day(first)..day(last) + 1;
        let days = match asked {
            Some(asked) => all.start.max(asked.start)..all.end.min(asked.end),
            None => all,
        };
        (!days.is_empty()).then_some(days)
    }
}

/// What periods add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    pub valid: u64,
    pub dropped: u64,
    pub duplicate: u64,
    /// Periods in which points may have come twice.
    pub crowded: u64,
}

impl Totals {
    pub fn points(self) -> u64 {
        self.valid + self.dropped + self.duplicate
    }
}

/// # Errors
/// When it is not a result of sums of periods.
pub fn totals(batches: &[RecordBatch]) -> Result<Totals> {
    Ok(Totals {
        valid: first(batches, "n")?,
        dropped: first(batches, "dropped")?,
        duplicate: first(batches, "duplicate")?,
        crowded: first(batches, "crowded")?,
    })
}

/// Points of a series with the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duplicates {
    pub duplicates: u64,
    pub conflicts: u64,
}

/// # Errors
/// When it is not a result of [`crate::sql::duplicates_statement`].
pub fn duplicates(batches: &[RecordBatch]) -> Result<Duplicates> {
    Ok(Duplicates {
        duplicates: first(batches, "duplicates")?,
        conflicts: first(batches, "conflicts")?,
    })
}

/// # Errors
/// When a row names a GPU that gpucost does not read.
pub fn check_gpus(table: Table, rows: &RecordBatch) -> Result<()> {
    if !table.columns().iter().any(|(name, _)| *name == "gpu") {
        return Ok(());
    }
    let gpus = wholes(rows, "gpu")?;
    let other = gpus.iter().flatten().find(|gpu| !(0..MOST_GPUS).contains(gpu));
    match other {
        None => Ok(()),
        Some(gpu) => Err(Failure::input(format!("{gpu} is not the index of a GPU on its host"))
            .with_hint("map a column of indexes from 0 to 255 with `--columns gpu=…`")),
    }
}

/// A count of the only row; absent is none.
pub fn first(batches: &[RecordBatch], name: &str) -> Result<u64> {
    let Some(batch) = batches.iter().find(|batch| batch.num_rows() > 0) else { return Ok(0) };
    Ok(count(&wholes(batch, name)?, 0))
}

fn count(numbers: &Int64Array, row: usize) -> u64 {
    if numbers.is_null(row) {
        return 0;
    }
    u64::try_from(numbers.value(row)).unwrap_or(0)
}

fn column<'a>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a datafusion::arrow::array::ArrayRef> {
    batch
        .column_by_name(name)
        .ok_or_else(|| Failure::unexpected(format!("a result has no column `{name}`")))
}

fn wholes(batch: &RecordBatch, name: &str) -> Result<Int64Array> {
    let numbers = cast(column(batch, name)?, &DataType::Int64)?;
    let numbers = numbers.as_any().downcast_ref::<Int64Array>().cloned();
    numbers.ok_or_else(|| Failure::unexpected(format!("`{name}` of a result is not a number")))
}

fn reals(batch: &RecordBatch, name: &str) -> Result<Float64Array> {
    let numbers = cast(column(batch, name)?, &DataType::Float64)?;
    let numbers = numbers.as_any().downcast_ref::<Float64Array>().cloned();
    numbers.ok_or_else(|| Failure::unexpected(format!("`{name}` of a result is not a number")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::ArrayRef;
    use std::sync::Arc;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter(columns).expect("columns of one length")
    }

    #[test]
    fn rows_of_all_metrics_add_up() {
        let whole = |numbers: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(numbers)) };
        let real = |numbers: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(numbers)) };
        let names: ArrayRef = Arc::new(StringArray::from(vec!["util", "other"]));
        let found = seen(&[batch(vec![
            ("metric", names),
            ("n", whole(vec![100, 900])),
            ("unplaced", whole(vec![0, 0])),
            ("absent", whole(vec![10, 0])),
            ("points", whole(vec![90, 0])),
            // The other metric is a day longer, and does not count.
            ("earliest", real(vec![86_400.0, 0.0])),
            ("latest", real(vec![172_799.5, 259_200.0])),
        ])])
        .expect("a result");
        assert_eq!((found.rows, found.points, found.absent), (1_000, 90, 10));
        assert_eq!(found.metrics[0], ("other".to_owned(), 900));
        assert_eq!(found.days(None), Some(1..2));
        assert_eq!(found.days(Some(&(2..3))), None);
        assert_eq!(
            found.line(),
            "90 points; 10 rows without a value, 900 of other metrics or days"
        );
    }
}
