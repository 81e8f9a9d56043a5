//! Points as archives have them, the same for the same seed: episodes of work and of none,
//! holes, values that are none, and in one of the kinds points that come twice.

use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::ipc::writer::FileWriter;
use fastrand::Rng;
use parquet::arrow::ArrowWriter;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

pub const DAY: i64 = 86_400;
/// 2026-11-01: 1,793,491,200 seconds.
pub const FIRST_DAY: i64 = 20_758;

pub const METRICS: [&str; 10] = [
    "gpu_utilization", "gpu_memory_used", "gpu_memory_total", "gpu_power_draw", "gpu_temperature",
    "gpu_encoder_sessions", "gpu_power_utilization", "cpu_utilization", "network_in",
    "network_out",
];

/// A row of an archive.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub instance: String,
    pub gpu: Option<i64>,
    pub metric: &'static str,
    /// Seconds since 1970.
    pub time: i64,
    pub value: Option<f64>,
}

/// What an archive is like.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub instances: usize,
    pub gpus: i64,
    pub days: i64,
    /// Seconds between points.
    pub step: i64,
    /// Whether some points come twice.
    pub twice: bool,
}

pub const SMALL: Kind = Kind { instances: 3, gpus: 2, days: 2, step: 60, twice: false };

/// The points in no order.
pub fn points(kind: Kind, seed: u64) -> Vec<Point> {
    let mut rng = Rng::with_seed(seed);
    let mut all = Vec::new();
    for number in 0..kind.instances {
        let instance = ["i-0abc", "i-'quo\"te", "on-premises/1/dc/n\u{e4}me\\z"][number % 3];
        for metric in METRICS {
            let is_one = ["cpu_utilization", "network_in", "network_out"].contains(&metric);
            let gpus = if is_one { 0..1 } else { 0..kind.gpus };
            for gpu in gpus {
                let gpu = (!is_one && metric != "gpu_power_utilization").then_some(gpu);
                let instance = format!("{instance}{number}");
                series(&mut all, &mut rng, kind, (instance, gpu, metric));
                if metric == "gpu_power_utilization" {
                    break;
                }
            }
        }
    }
    // A series without any valid point, and a metric that no history has.
    for minute in 0..20 {
        let time = FIRST_DAY * DAY + minute * 60;
        for (instance, metric, value) in
            [("i-bad", METRICS[0], -5.0), ("i-0abc0", "sm_active", 0.5)]
        {
            all.push(Point {
                instance: instance.to_owned(),
                gpu: Some(0),
                metric,
                time,
                value: Some(value),
            });
        }
    }
    rng.shuffle(&mut all);
    all
}

fn series(
    all: &mut Vec<Point>,
    rng: &mut Rng,
    kind: Kind,
    (instance, gpu, metric): (String, Option<i64>, &'static str),
) {
    let end = (FIRST_DAY + kind.days) * DAY;
    let first = FIRST_DAY * DAY + rng.i64(0..7_200);
    let mut time = first - first % kind.step + rng.i64(0..2) * 7;
    while time < end {
        let level = value(metric, rng);
        let what = rng.u8(0..12);
        for _ in 0..rng.u8(1..40) {
            let value = match what {
                0 => None,
                1 | 2 => Some(value(metric, rng)),
                3 => Some(bad(rng)),
                _ => Some(level),
            };
            // A row without a value, or none at all.
            if time < end && (what != 0 || rng.bool()) {
                let point = Point { instance: instance.clone(), gpu, metric, time, value };
                if kind.twice && rng.u8(..) < 3 {
                    all.push(point.clone());
                }
                all.push(point);
            }
            time += kind.step;
        }
    }
}

fn bad(rng: &mut Rng) -> f64 {
    let all = [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 150.0, -0.0, 1e300, -1e-9, 100.0];
    all[rng.usize(0..all.len())]
}

fn value(metric: &str, rng: &mut Rng) -> f64 {
    if rng.u8(..) < 50 {
        return 0.0;
    }
    let which = rng.u8(0..4);
    match (metric, which) {
        ("gpu_memory_used" | "gpu_memory_total", 0) => f64::from(rng.u32(0..82_000)),
        ("gpu_memory_used" | "gpu_memory_total", 1) => f64::from(rng.u32(0..3_000)),
        ("gpu_memory_used" | "gpu_memory_total", 2) => {
            rng.u64(0..81_920 << 20) as f64 / 1_048_576.0
        }
        ("gpu_memory_used" | "gpu_memory_total", _) => rng.f64() * 200_000.0,
        ("gpu_power_draw", 0 | 1) => (rng.f64() * 70_000.0).round() / 100.0,
        ("gpu_power_draw", _) => rng.f64() * 700.0,
        ("gpu_temperature", _) => f64::from(rng.u8(20..95)),
        ("gpu_encoder_sessions", _) => f64::from(rng.u8(0..3)),
        ("network_in" | "network_out", _) => rng.u64(0..1_000_000_000_000) as f64,
        (_, 0) => f64::from(rng.u8(0..=100)),
        (_, 1) => f64::from(rng.u16(0..=10_000)) / 100.0,
        (_, 2) => rng.f64() * 100.0,
        _ => rng.f64() * 6.0,
    }
}

/// The points under the names of a history, or others.
fn batch(points: &[Point], names: [&str; 5]) -> RecordBatch {
    let instances: Vec<&str> = points.iter().map(|one| one.instance.as_str()).collect();
    let metrics: Vec<&str> = points.iter().map(|one| one.metric).collect();
    let columns: [ArrayRef; 5] = [
        Arc::new(StringArray::from(instances)),
        Arc::new(Int64Array::from_iter(points.iter().map(|one| one.gpu))),
        Arc::new(StringArray::from(metrics)),
        Arc::new(Int64Array::from_iter_values(points.iter().map(|one| one.time))),
        Arc::new(Float64Array::from_iter(points.iter().map(|one| one.value))),
    ];
    let columns = names.into_iter().zip(columns);
    let columns: Vec<(&str, ArrayRef, bool)> =
        columns.map(|(name, column)| (name, column, true)).collect();
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length")
}

pub const NAMES: [&str; 5] = ["instance", "gpu", "metric", "ts", "value"];

/// Writes points as some files of a format.
pub fn write(points: &[Point], folder: &Path, ending: &str, files: usize, names: [&str; 5]) {
    std::fs::create_dir_all(folder).expect("a folder");
    let most = points.len().div_ceil(files.max(1)).max(1);
    for (number, part) in points.chunks(most).enumerate() {
        let path = folder.join(format!("part-{number}.{ending}"));
        let file = File::create(path).expect("a file");
        let batch = batch(part, names);
        match ending {
            "parquet" => {
                let mut writer =
                    ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
                writer.write(&batch).expect("it fits");
                writer.close().expect("a file");
            }
            "csv" => {
                let mut writer = WriterBuilder::new().with_header(true).build(file);
                writer.write(&batch).expect("it fits");
            }
            _ => {
                let mut writer = FileWriter::try_new(file, &batch.schema()).expect("a writer");
                writer.write(&batch).expect("it fits");
                writer.finish().expect("a file");
            }
        }
    }
}
