//! Writes an archive of generated points, a file for each day, sorted by metric, instance, GPU
//! and time: `generate DIR INSTANCES GPUS DAYS`. 64 instances with 8 GPUs and 14 days are 50
//! million points of five metrics, one a minute, of which 3% are missing.

use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringBuilder};
use fastrand::Rng;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

const DAY: i64 = 86_400;
/// 2026-11-01.
const FIRST_DAY: i64 = 20_758;
const METRICS: [&str; 5] = [
    "gpu_memory_used", "gpu_power_draw", "gpu_power_utilization", "gpu_temperature",
    "gpu_utilization",
];
/// Points of a hundred that are missing.
const MISSING: u8 = 3;

/// Rows that are not written yet.
#[derive(Default)]
struct Rows {
    instances: StringBuilder,
    gpus: Vec<i64>,
    metrics: StringBuilder,
    times: Vec<i64>,
    values: Vec<f64>,
}

impl Rows {
    fn batch(&mut self) -> Result<RecordBatch, Box<dyn Error>> {
        let columns: [(&str, ArrayRef); 5] = [
            ("instance", Arc::new(self.instances.finish())),
            ("gpu", Arc::new(Int64Array::from(std::mem::take(&mut self.gpus)))),
            ("metric", Arc::new(self.metrics.finish())),
            ("ts", Arc::new(Int64Array::from(std::mem::take(&mut self.times)))),
            ("value", Arc::new(Float64Array::from(std::mem::take(&mut self.values)))),
        ];
        Ok(RecordBatch::try_from_iter(columns)?)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, instances, gpus, days] = arguments.as_slice() else {
        return Err("usage: generate DIR INSTANCES GPUS DAYS".into());
    };
    let (instances, gpus, days): (u64, i64, i64) =
        (instances.parse()?, gpus.parse()?, days.parse()?);
    let mut all = 0;
    for day in 0..days {
        all += write(Path::new(folder), instances, gpus, FIRST_DAY + day)?;
    }
    println!("{all} points");
    Ok(())
}

/// Writes a day. How many points it has.
fn write(folder: &Path, instances: u64, gpus: i64, day: i64) -> Result<u64, Box<dyn Error>> {
    let folder = folder.join(format!("day={day}"));
    std::fs::create_dir_all(&folder)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_column_dictionary_enabled("ts".into(), false)
        .set_column_encoding("ts".into(), Encoding::DELTA_BINARY_PACKED)
        .set_max_row_group_row_count(Some(1 << 20))
        .build();
    let options =
        ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut rows = Rows::default();
    let file = File::create(folder.join("points.parquet"))?;
    let empty = rows.batch()?;
    let mut writer = ArrowWriter::try_new_with_options(file, empty.schema(), options)?;
    let mut all = 0;
    for metric in METRICS {
        for instance in 0..instances {
            for gpu in 0..gpus {
                series(&mut rows, (instance, gpu, metric), day);
            }
            if rows.times.len() > 1 << 17 {
                all += rows.times.len() as u64;
                writer.write(&rows.batch()?)?;
            }
        }
    }
    all += rows.times.len() as u64;
    writer.write(&rows.batch()?)?;
    writer.close()?;
    Ok(all)
}

/// A day of a series, the same whenever it is generated: hours of work and of none, which are
/// those of its GPU.
fn series(rows: &mut Rows, (instance, gpu, metric): (u64, i64, &str), day: i64) {
    let of_gpu = instance * 1_024 + gpu as u64;
    let mut hours = Rng::with_seed(of_gpu * 100_000 + day as u64);
    let busy: [bool; 24] = std::array::from_fn(|_| hours.bool());
    let place = METRICS.iter().position(|one| *one == metric).unwrap_or(0);
    let mut rng = Rng::with_seed((of_gpu * 100_000 + day as u64) * 8 + place as u64);
    let name = format!("i-{instance:017x}");
    for minute in 0..1_440 {
        if rng.u8(0..100) < MISSING {
            continue;
        }
        let value = match (metric, busy[minute as usize / 60]) {
            ("gpu_utilization", true) => f64::from(rng.u8(30..=100)),
            ("gpu_utilization", false) => f64::from(rng.u8(0..3)),
            ("gpu_memory_used", true) => f64::from(rng.u32(20_000..81_000)),
            ("gpu_memory_used", false) => 4.0,
            ("gpu_power_draw", true) => f64::from(rng.u32(10_000..70_000)) / 100.0,
            ("gpu_power_draw", false) => f64::from(rng.u32(6_000..7_000)) / 100.0,
            ("gpu_temperature", true) => f64::from(rng.u8(50..90)),
            ("gpu_temperature", false) => f64::from(rng.u8(25..35)),
            (_, true) => f64::from(rng.u32(0..100_000_000)) / 1e6,
            (_, false) => 0.0,
        };
        rows.instances.append_value(&name);
        rows.gpus.push(gpu);
        rows.metrics.append_value(metric);
        rows.times.push(day * DAY + minute * 60);
        rows.values.push(value);
    }
}
