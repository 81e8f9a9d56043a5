//! Points of some instances, as an archive has them and as gpucost keeps them.

use crate::samples::containers::Readings;
use fastrand::Rng;
use gpucost::sources::files::{History, StoredMachine, parse_estate};
use gpucost::sources::store::{BucketAccess, Place};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

pub const ACCOUNT: &str = "111122223333";
pub const REGION: &str = "us-east-1";

const DAY: i64 = 86_400;
/// 2026-11-01T00:00:00Z.
const START: i64 = 1_793_491_200;
const DAYS: i64 = 2;
const FILES: usize = 3;
const BYTES_OF_MIB: f64 = 1_048_576.0;

/// A metric, whether it is of a GPU, and the statistics and periods that are kept.
type Kept = (&'static str, bool, &'static [(&'static str, i64)]);

const METRICS: [Kept; 11] = [
    ("gpu_utilization", true, &[("average", 300), ("maximum", 300)]),
    ("gpu_memory_used", true, &[("average", 300), ("maximum", 300)]),
    ("gpu_memory_total", true, &[("maximum", DAY)]),
    ("gpu_power_draw", true, &[("average", 3_600)]),
    ("gpu_temperature", true, &[("maximum", 3_600)]),
    ("gpu_encoder_sessions", true, &[("maximum", 300)]),
    ("gpu_power_utilization", false, &[("average", 300), ("maximum", 300)]),
    ("gpu_sm_activity", true, &[("average", 300)]),
    ("cpu_utilization", false, &[("average", 300)]),
    ("network_in", false, &[("sum", 3_600)]),
    ("network_out", false, &[("sum", 3_600)]),
];

const INSTANCES: [&str; 3] = ["i-0abc", "i-'quo\"te", "on-premises/1/dc/n\u{e4}me\\z"];

#[derive(Debug, Clone)]
struct Point {
    instance: String,
    gpu: Option<i64>,
    metric: &'static str,
    second: i64,
    value: Option<f64>,
}

/// Points in no order.
pub struct Archive {
    points: Vec<Point>,
    /// Second at which the first of its days begins.
    start: i64,
    days: i64,
    instances: BTreeSet<String>,
}

impl Archive {
    /// The same for the same seed; in some, points come twice.
    pub fn new(seed: u64, comes_twice: bool) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut points = Vec::new();
        for instance in INSTANCES {
            for (metric, is_of_gpu, _) in METRICS {
                let gpus = if is_of_gpu { vec![Some(0), Some(1)] } else { vec![None] };
                for gpu in gpus {
                    series(&mut points, &mut rng, (instance, gpu, metric));
                }
            }
        }
        for minute in 0..20 {
            points.push(Point {
                instance: "i-bad".to_owned(),
                gpu: Some(0),
                metric: "gpu_utilization",
                second: START + minute * 60,
                value: Some(-5.0),
            });
        }
        if comes_twice {
            let again: Vec<Point> = points.iter().filter(|_| rng.u8(..) < 3).cloned().collect();
            assert!(!again.is_empty());
            points.extend(again);
        }
        rng.shuffle(&mut points);
        Self::of(points, START, DAYS)
    }

    /// Of the public traces of containers: utilization in percent, memory in bytes.
    pub fn of_containers(utilization: &Readings, memory: &Readings) -> Self {
        let mut points = Vec::new();
        for (metric, readings, unit) in
            [("gpu_utilization", utilization, 1.0), ("gpu_memory_used", memory, BYTES_OF_MIB)]
        {
            for (instance, of_instance) in readings {
                points.extend(of_instance.iter().map(|(second, value)| Point {
                    instance: instance.clone(),
                    gpu: Some(0),
                    metric,
                    second: *second,
                    value: Some(value / unit),
                }));
            }
        }
        let seconds = || points.iter().map(|point| point.second);
        let first = seconds().min().expect("a reading");
        let last = seconds().max().expect("a reading");
        let start = first - first.rem_euclid(DAY);
        let days = (last - start) / DAY + 1;
        Self::of(points, start, days)
    }

    fn of(points: Vec<Point>, start: i64, days: i64) -> Self {
        let instances = points.iter().map(|point| point.instance.clone());
        Self { instances: instances.collect(), points, start, days }
    }

    /// Writes the points as Parquet.
    pub fn write(&self, folder: &Path) {
        const SCHEMA: &str = "message points { required binary instance (STRING); \
            optional int64 gpu; required binary metric (STRING); required int64 ts; \
            optional double value; }";
        fs::create_dir(folder).expect("a folder");
        for (number, part) in self.points.chunks(self.points.len().div_ceil(FILES)).enumerate() {
            let schema = Arc::new(parse_message_type(SCHEMA).expect("a schema"));
            let file = File::create(folder.join(format!("{number}.parquet"))).expect("a file");
            let properties = Arc::new(WriterProperties::default());
            let mut file = SerializedFileWriter::new(file, schema, properties).expect("a file");
            let mut group = file.next_row_group().expect("a group");
            let texts = |of: fn(&Point) -> &str| -> Vec<ByteArray> {
                part.iter().map(|point| ByteArray::from(of(point))).collect()
            };
            let levels = |is_there: fn(&Point) -> bool| -> Vec<i16> {
                part.iter().map(|point| i16::from(is_there(point))).collect()
            };
            let gpus: Vec<i64> = part.iter().filter_map(|point| point.gpu).collect();
            let seconds: Vec<i64> = part.iter().map(|point| point.second).collect();
            let values: Vec<f64> = part.iter().filter_map(|point| point.value).collect();
            let mut place = 0;
            while let Some(mut column) = group.next_column().expect("a column") {
                let written = match place {
                    0 => column.typed::<ByteArrayType>().write_batch(
                        &texts(|point| &point.instance),
                        None,
                        None,
                    ),
                    1 => column.typed::<Int64Type>().write_batch(
                        &gpus,
                        Some(&levels(|point| point.gpu.is_some())),
                        None,
                    ),
                    2 => column.typed::<ByteArrayType>().write_batch(
                        &texts(|point| point.metric),
                        None,
                        None,
                    ),
                    3 => column.typed::<Int64Type>().write_batch(&seconds, None, None),
                    _ => column.typed::<DoubleType>().write_batch(
                        &values,
                        Some(&levels(|point| point.value.is_some())),
                        None,
                    ),
                };
                written.expect("it fits");
                column.close().expect("a column");
                place += 1;
            }
            group.close().expect("a group");
            file.close().expect("a file");
        }
    }

    /// Keeps what gpucost makes of the points, day by day: as an estate that is read, and as
    /// the tables of a history.
    pub fn keep(&self, folder: &Path) {
        let at = |second: i64| Timestamp::from_second(second).expect("in range");
        let date = |second: i64| at(second).to_zoned(TimeZone::UTC).date();
        let days = (date(self.start), date(self.start + (self.days - 1) * DAY));
        let now = at(self.start + 30 * DAY);
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        let (place, access) = (Place::Folder(folder.to_owned()), BucketAccess::default());
        let history = runtime.block_on(History::open(&place, &access, days, now));
        let history = history.expect("a folder");
        for day in 0..self.days {
            let start = self.start + day * DAY;
            let estate = self.estate(start);
            let estate = parse_estate(estate.to_string().as_bytes()).expect("an estate");
            let usages = estate.measured();
            let machines: Vec<StoredMachine> = usages
                .instances()
                .map(|instance| StoredMachine {
                    account: ACCOUNT.to_owned(),
                    region: REGION.to_owned(),
                    instance: instance.clone(),
                    asked: "rollup".to_owned(),
                    period_seconds: 300,
                })
                .collect();
            let kept = machines.iter().map(|machine| {
                let kept = usages.of(&machine.instance).kept();
                (machine, kept.expect("one source measured it"))
            });
            runtime.block_on(history.record(date(start), kept));
        }
        assert!(history.problems().is_empty());
    }

    /// A day of the points as an estate.
    fn estate(&self, start: i64) -> Value {
        type Key<'a> = (&'a str, Option<i64>, &'static str);
        let mut series: BTreeMap<Key<'_>, Vec<(i64, f64)>> = BTreeMap::new();
        for point in &self.points {
            if !(start..start + DAY).contains(&point.second) {
                continue;
            }
            if let Some(value) = point.value {
                let own = series.entry((&point.instance, point.gpu, point.metric)).or_default();
                own.push((point.second, value));
            }
        }
        let mut metrics = Vec::new();
        for ((instance, gpu, metric), points) in &series {
            let known = METRICS.iter().find(|(name, ..)| name == metric);
            let (_, _, kept) = known.expect("a metric that is kept");
            for (statistic, period) in *kept {
                let stamps: Vec<i64> = points.iter().map(|(second, _)| *second).collect();
                let values: Vec<Value> = points.iter().map(|(_, value)| number(*value)).collect();
                metrics.push(json!({
                    "instance": instance, "gpu": gpu, "metric": metric,
                    "statistic": statistic, "source": "prometheus",
                    "period_seconds": period, "timestamps": stamps, "values": values,
                }));
            }
        }
        let instances = self.instances.iter().map(|id| {
            json!({
                "id": id, "account": ACCOUNT, "region": REGION, "instance_type": "g5.xlarge",
                "state": "running", "launch_time": "2022-09-01T00:00:00Z",
            })
        });
        let time = |second: i64| {
            let time = Timestamp::from_second(second).expect("in range");
            time.to_string()
        };
        json!({
            "estate_version": "1",
            "as_of": time(start + DAY),
            "window_start": time(start),
            "window_end": time(start + DAY),
            "period_seconds": 300,
            "instances": instances.collect::<Vec<Value>>(),
            "metrics": metrics,
        })
    }
}

/// A value as an estate has it: what is not a number is text.
fn number(value: f64) -> Value {
    if value.is_nan() {
        json!("NaN")
    } else if value.is_infinite() {
        json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        json!(value)
    }
}

fn series(
    points: &mut Vec<Point>,
    rng: &mut Rng,
    (instance, gpu, metric): (&'static str, Option<i64>, &'static str),
) {
    let bad = [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 150.0, -0.0, 1e300, -1e-9, 100.0];
    // Off the minute in some series.
    let mut second = START + rng.i64(0..120) * 60 + rng.i64(0..2) * 7;
    while second < START + DAYS * DAY {
        let level = value(metric, rng);
        let kind = rng.u8(0..12);
        for _ in 0..rng.u8(1..40) {
            let value = match kind {
                0 => None,
                1 | 2 => Some(value(metric, rng)),
                3 => Some(bad[rng.usize(0..bad.len())]),
                _ => Some(level),
            };
            // A row without a value, or none at all.
            if second < START + DAYS * DAY && (kind > 0 || rng.bool()) {
                points.push(Point { instance: instance.to_owned(), gpu, metric, second, value });
            }
            second += 60;
        }
    }
}

fn value(metric: &str, rng: &mut Rng) -> f64 {
    if rng.u8(..) < 50 {
        return 0.0;
    }
    match (metric, rng.u8(0..4)) {
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
