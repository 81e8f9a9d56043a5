//! Compares the roll-ups of an archive with what a program makes of its points one by one:
//! `compare HISTORY ARCHIVE [PARTS]`. The archive is one of `generate`. A day is compared at a
//! time, and its instances in so many parts, because every point of a part is held in memory.

#[path = "../tests/brute.rs"]
mod brute;
#[allow(dead_code, reason = "tests generate other points")]
#[path = "../tests/generated.rs"]
mod generated;
#[allow(dead_code, reason = "tests read more")]
#[path = "../tests/read.rs"]
mod read;

use brute::Tables;
use datafusion::arrow::array::{Array, Float64Array, Int64Array, StringArray};
use generated::{METRICS, Point};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::error::Error;
use std::fs::File;
use std::path::Path;

/// The place of the instance in every table.
const INSTANCE: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (history, archive, parts) = match arguments.as_slice() {
        [history, archive] => (history, archive, 1),
        [history, archive, parts] => (history, archive, parts.parse::<u64>()?),
        _ => return Err("usage: compare HISTORY ARCHIVE [PARTS]".into()),
    };
    let (history, archive) = (Path::new(history), Path::new(archive));
    let (mut rows, mut bad) = (0, 0);
    for file in read::files(archive) {
        for part in 0..parts {
            let is_own = |instance: &str| number(instance) % parts == part;
            let points = points(&archive.join(&file), is_own)?;
            let Some(first) = points.first() else { continue };
            let date = brute::date(first.time.div_euclid(generated::DAY));
            let expected = brute::tables(&points);
            let found = of_day(history, &date, is_own);
            for (table, own) in &expected {
                let other = found.get(table).map(Vec::as_slice).unwrap_or_default();
                rows += own.len();
                let differ = own.iter().zip(other).filter(|(one, other)| one != other);
                let differ = differ.count() + own.len().abs_diff(other.len());
                if differ > 0 {
                    println!("{date} {table}: {differ} of {} rows differ", own.len());
                    bad += differ;
                }
            }
        }
    }
    println!("{rows} rows compared, {bad} differ");
    if bad > 0 {
        return Err("the roll-ups are not those of the points".into());
    }
    Ok(())
}

/// The rows of some instances on a day.
fn of_day(history: &Path, date: &str, is_own: impl Fn(&str) -> bool) -> Tables {
    let mut all = Tables::new();
    for table in ["usage_asked", "usage_series", "usage_grid", "usage_hist"] {
        let folder = history.join("v1").join(table).join(format!("dt={date}"));
        let rows: &mut Vec<Vec<String>> = all.entry(table.to_owned()).or_default();
        for file in read::files(&folder) {
            for mut row in read::rows_of(&folder.join(file)) {
                if is_own(&row[INSTANCE]) {
                    row.push(date.to_owned());
                    rows.push(row);
                }
            }
        }
        rows.sort();
    }
    all
}

/// The number in the name of a generated instance.
fn number(instance: &str) -> u64 {
    let digits = instance.strip_prefix("i-").unwrap_or(instance);
    u64::from_str_radix(digits, 16).unwrap_or(0)
}

fn points(path: &Path, is_own: impl Fn(&str) -> bool) -> Result<Vec<Point>, Box<dyn Error>> {
    let mut all = Vec::new();
    for batch in ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.build()? {
        let batch = batch?;
        let texts = |column: usize| batch.column(column).as_any().downcast_ref::<StringArray>();
        let wholes = |column: usize| batch.column(column).as_any().downcast_ref::<Int64Array>();
        let values = batch.column(4).as_any().downcast_ref::<Float64Array>();
        let (Some(instances), Some(gpus), Some(metrics), Some(times), Some(values)) =
            (texts(0), wholes(1), texts(2), wholes(3), values)
        else {
            return Err("not an archive of `generate`".into());
        };
        for row in 0..batch.num_rows() {
            let mut known = METRICS.into_iter();
            let known = known.find(|name| *name == metrics.value(row));
            if let Some(metric) = known.filter(|_| is_own(instances.value(row))) {
                all.push(Point {
                    instance: instances.value(row).to_owned(),
                    gpu: Some(gpus.value(row)),
                    metric,
                    time: times.value(row),
                    value: Some(values.value(row)),
                });
            }
        }
    }
    Ok(all)
}
