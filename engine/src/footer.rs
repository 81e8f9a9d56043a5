//! What the footers of Parquet files say: columns, rows, and the first and the last time.

use crate::failure::{Failure, Result};
use crate::inputs::InputFile;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, SchemaRef};
use futures_util::{StreamExt, TryStreamExt};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
#[expect(deprecated, reason = "nothing in this version of Parquet replaces it")]
use parquet::arrow::async_reader::ParquetObjectReader;
use std::sync::Arc;

/// Footers that are read at once.
const READ_AT_ONCE: usize = 16;

/// What the footer of a file says of its rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Footer {
    pub rows: u64,
    /// The first and the last number of a column of times, in its own unit and rounded down.
    /// Absent where a group of rows does not say, or has rows without a time, which may be of
    /// any.
    pub times: Option<(i64, i64)>,
}

/// The columns and the footer of each file.
///
/// # Errors
/// When a file is not whole.
pub async fn read(files: &[InputFile], time: Option<&str>) -> Result<Vec<(SchemaRef, Footer)>> {
    let each = files.iter().map(|file| async move {
        #[expect(deprecated, reason = "nothing in this version of Parquet replaces it")]
        let mut reader = ParquetObjectReader::new(Arc::clone(&file.store), file.location.clone())
            .with_file_size(file.size);
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let read = ArrowReaderMetadata::load_async(&mut reader, options).await;
        let read = read.map_err(|error| {
            Failure::input(format!("{} is not a whole Parquet file", file.url))
                .caused_by(&error)
                .with_hint("it is damaged or still being written; leave it out, or wait")
        })?;
        let rows = read.metadata().file_metadata().num_rows();
        let footer = Footer {
            rows: u64::try_from(rows).unwrap_or(0),
            times: time.and_then(|time| times(&read, time)),
        };
        Ok::<_, Failure>((Arc::clone(read.schema()), footer))
    });
    futures_util::stream::iter(each).buffered(READ_AT_ONCE).try_collect().await
}

/// The first and the last number of a column, if each group of rows says them.
fn times(read: &ArrowReaderMetadata, column: &str) -> Option<(i64, i64)> {
    let groups = read.metadata().row_groups();
    let statistics = StatisticsConverter::try_new(column, read.schema(), read.parquet_schema())
        .ok()?
        .with_missing_null_counts_as_zero(false);
    let absent = statistics.row_group_null_counts(groups.iter()).ok()?;
    if absent.iter().any(|rows| rows != Some(0)) {
        return None;
    }
    let firsts = wholes(&statistics.row_group_mins(groups.iter()).ok()?)?;
    let lasts = wholes(&statistics.row_group_maxes(groups.iter()).ok()?)?;
    Some((firsts.into_iter().min()?, lasts.into_iter().max()?))
}

/// Numbers rounded down; absent unless all of them are there.
fn wholes(numbers: &ArrayRef) -> Option<Vec<i64>> {
    if numbers.data_type().is_floating() {
        let numbers = cast(numbers, &DataType::Float64).ok()?;
        let whole = |number: Option<f64>| {
            let floor = number?.floor();
            floor.is_finite().then_some(floor as i64)
        };
        return numbers.as_primitive::<Float64Type>().iter().map(whole).collect();
    }
    if !numbers.data_type().is_integer() {
        return None;
    }
    let numbers = cast(numbers, &DataType::Int64).ok()?;
    numbers.as_primitive::<Int64Type>().iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{
        Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array,
    };
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::{EnabledStatistics, WriterProperties};

    /// What the footer of a file says whose groups have two rows each.
    fn said(times: ArrayRef, statistics: EnabledStatistics) -> Option<(i64, i64)> {
        let batch = RecordBatch::try_from_iter_with_nullable([("ts", times, true)]);
        let batch = batch.expect("a column");
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(2))
            .set_statistics_enabled(statistics)
            .build();
        let file = tempfile::tempfile().expect("a file");
        let copy = file.try_clone().expect("the same file");
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties));
        let writer = writer.as_mut().expect("a writer");
        writer.write(&batch).expect("it fits");
        writer.finish().expect("a file");
        let read = ArrowReaderMetadata::load(&copy, ArrowReaderOptions::new()).expect("a footer");
        assert_eq!(read.metadata().num_row_groups(), batch.num_rows().div_ceil(2));
        super::times(&read, "ts")
    }

    #[test]
    fn times_of_a_file_are_those_of_all_its_groups() {
        let whole = EnabledStatistics::Chunk;
        let of = |times: Vec<Option<i64>>| Arc::new(Int64Array::from(times));
        let times = vec![Some(40), Some(50), Some(20), Some(30), Some(45)];
        assert_eq!(said(of(times.clone()), whole), Some((20, 50)));
        assert_eq!(said(of(times), EnabledStatistics::None), None);
        assert_eq!(said(of(vec![Some(40), Some(50), Some(20), None]), whole), None);
        assert_eq!(said(of(vec![]), whole), None);
        let texts = StringArray::from(vec!["2026-11-01T00:00:00Z"]);
        assert_eq!(said(Arc::new(texts), whole), None);
    }

    #[test]
    fn times_are_whole_numbers_rounded_down() {
        let of = |numbers: ArrayRef| wholes(&numbers);
        let day = 1_793_491_200_000_000_001;
        let nanoseconds = UInt64Array::from(vec![day, day + 1]);
        assert_eq!(of(Arc::new(nanoseconds)), Some(vec![day as i64, day as i64 + 1]));
        assert_eq!(of(Arc::new(Int32Array::from(vec![-1, 7]))), Some(vec![-1, 7]));
        let seconds = Float64Array::from(vec![-0.5, 86_399.999]);
        assert_eq!(of(Arc::new(seconds)), Some(vec![-1, 86_399]));
    }

    #[test]
    fn nothing_is_said_of_what_is_absent_or_no_number() {
        let of = |numbers: ArrayRef| wholes(&numbers);
        assert_eq!(of(Arc::new(Int32Array::from(vec![Some(1), None]))), None);
        assert_eq!(of(Arc::new(UInt64Array::from(vec![u64::MAX]))), None);
        assert_eq!(of(Arc::new(Float64Array::from(vec![1.0, f64::NAN]))), None);
        assert_eq!(of(Arc::new(StringArray::from(vec!["2026-11-01"]))), None);
    }
}
