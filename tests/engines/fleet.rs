//! A fleet with its raw points: as an archive has them, as an estate has them, and as gpucost
//! keeps them of each day.

use fastrand::Rng;
use gpucost::sources::files::{History, ROLLED_UP, StoredMachine, parse_estate};
use gpucost::sources::store::{BucketAccess, Place};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

pub const ACCOUNT: &str = "111122223333";
pub const REGION: &str = "us-east-1";
pub const DAYS: i64 = 9;

const DAY: i64 = 86_400;
/// 2026-11-01T00:00:00Z.
const START: i64 = 1_793_491_200;
/// Two readings in each five minutes.
const STEP: i64 = 150;

/// Metrics of a GPU, with the statistics and periods that are kept.
const OF_GPU: [(&str, &[(&str, i64)]); 5] = [
    ("gpu_utilization", &[("average", 300), ("maximum", 300)]),
    ("gpu_memory_used", &[("average", 300), ("maximum", 300)]),
    ("gpu_memory_total", &[("maximum", DAY)]),
    ("gpu_power_draw", &[("average", 3_600)]),
    ("gpu_temperature", &[("maximum", 3_600)]),
];
const OF_CPU: (&str, &[(&str, i64)]) = ("cpu_utilization", &[("average", 300)]);

/// How a machine is used.
#[derive(Debug, Clone, Copy)]
enum Load {
    Never,
    OfficeHours,
    Always,
    /// Readings that are invalid between others.
    Broken,
}

struct Machine {
    id: &'static str,
    instance_type: &'static str,
    gpus: i64,
    has_cpu: bool,
    load: Load,
    /// The days on which it has points.
    days: Range<i64>,
    state: &'static str,
    reason: Option<&'static str>,
}

const fn machine(id: &'static str, instance_type: &'static str, gpus: i64, load: Load) -> Machine {
    Machine {
        id,
        instance_type,
        gpus,
        has_cpu: false,
        load,
        days: 0..DAYS,
        state: "running",
        reason: None,
    }
}

const MACHINES: [Machine; 7] = [
    machine("i-0aaa", "g5.12xlarge", 4, Load::Never),
    Machine { has_cpu: true, ..machine("i-0bbb", "g5.xlarge", 1, Load::OfficeHours) },
    machine("i-0ccc", "g5.xlarge", 1, Load::Always),
    Machine { has_cpu: true, ..machine("i-0ddd", "g4dn.xlarge", 1, Load::Broken) },
    // Stopped at the end of the fifth day.
    Machine {
        days: 0..5,
        state: "stopped",
        reason: Some("User initiated (2026-11-06 00:00:00 GMT)"),
        ..machine("i-0eee", "g5.xlarge", 1, Load::OfficeHours)
    },
    // Without any point.
    Machine { days: 0..0, ..machine("i-0fff", "g5.xlarge", 1, Load::Never) },
    machine("i-0abc", "g5.xlarge", 1, Load::OfficeHours),
];

type Key = (&'static str, Option<i64>, &'static str);

/// Points of each series, in order of time.
pub struct Fleet(BTreeMap<Key, Vec<(i64, f64)>>);

impl Fleet {
    /// The same for the same seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut series = BTreeMap::new();
        for machine in &MACHINES {
            let of_gpu = OF_GPU.iter().map(|(metric, _)| *metric);
            let of_gpu =
                of_gpu.flat_map(|metric| (0..machine.gpus).map(move |gpu| (Some(gpu), metric)));
            let of_cpu = machine.has_cpu.then_some((None, OF_CPU.0));
            for (gpu, metric) in of_gpu.chain(of_cpu) {
                let seconds = START + machine.days.start * DAY..START + machine.days.end * DAY;
                let seconds = seconds.step_by(STEP as usize);
                let points =
                    seconds.map(|second| (second, value(metric, machine.load, second, &mut rng)));
                let points: Vec<(i64, f64)> = points.collect();
                if !points.is_empty() {
                    series.insert((machine.id, gpu, metric), points);
                }
            }
        }
        Self(series)
    }

    /// The points as a table, all values with decimals: engines infer types from the first rows.
    pub fn csv(&self) -> String {
        let mut text = "instance,gpu,metric,ts,value\n".to_owned();
        for ((instance, gpu, metric), points) in &self.0 {
            let gpu = gpu.map(|gpu| gpu.to_string()).unwrap_or_default();
            for (second, value) in points {
                text.push_str(&format!("{instance},{gpu},{metric},{second},{value:.2}\n"));
            }
        }
        text
    }

    /// The estate with its points.
    pub fn estate(&self) -> Value {
        self.between(0..DAYS)
    }

    /// The estate without any point.
    pub fn inventory(&self) -> Value {
        let mut estate = self.between(0..0);
        estate["window_start"] = json!(time(0));
        estate["window_end"] = json!(time(DAYS));
        estate
    }

    /// Keeps some days as roll-ups, under an account and region or none.
    pub fn keep(&self, folder: &Path, days: Range<i64>, account: &str, region: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        let (place, access) = (Place::Folder(folder.to_owned()), BucketAccess::default());
        let now = at(DAYS + days.start);
        let history = History::open(&place, &access, (date(0), date(DAYS)), now);
        let history = runtime.block_on(history).expect("a folder");
        for day in days {
            let estate = self.between(day..day + 1).to_string();
            let estate = parse_estate(estate.as_bytes()).expect("an estate");
            let usages = estate.measured();
            let machines: Vec<StoredMachine> = usages
                .instances()
                .map(|instance| StoredMachine {
                    account: account.to_owned(),
                    region: region.to_owned(),
                    instance: instance.clone(),
                    asked: ROLLED_UP.to_owned(),
                    period_seconds: 300,
                })
                .collect();
            let kept = machines.iter().map(|machine| {
                let kept = usages.of(&machine.instance).kept();
                (machine, kept.expect("one source measured it"))
            });
            runtime.block_on(history.record(date(day), kept));
        }
        assert!(history.problems().is_empty());
    }

    /// The estate in a window of some days.
    fn between(&self, days: Range<i64>) -> Value {
        let seconds = START + days.start * DAY..START + days.end * DAY;
        let mut metrics = Vec::new();
        for ((instance, gpu, metric), points) in &self.0 {
            let own = points.iter().filter(|(second, _)| seconds.contains(second));
            let (stamps, values): (Vec<i64>, Vec<f64>) = own.copied().unzip();
            let known = OF_GPU.iter().chain([&OF_CPU]);
            let kept = known.filter(|(name, _)| name == metric).map(|(_, kept)| *kept);
            for (statistic, period) in kept.flatten().filter(|_| !stamps.is_empty()) {
                metrics.push(json!({
                    "instance": instance, "gpu": gpu, "metric": metric,
                    "statistic": statistic, "source": "prometheus",
                    "period_seconds": period, "timestamps": stamps, "values": values,
                }));
            }
        }
        let instances = MACHINES.iter().map(|machine| {
            let mut instance = json!({
                "id": machine.id, "account": ACCOUNT, "region": REGION,
                "instance_type": machine.instance_type, "state": machine.state,
                "launch_time": "2026-09-01T00:00:00Z",
            });
            if let Some(reason) = machine.reason {
                instance["state_transition_reason"] = json!(reason);
            }
            instance
        });
        let prices = [("g5.12xlarge", "5.672"), ("g5.xlarge", "1.006"), ("g4dn.xlarge", "0.526")];
        let prices = prices.map(|(instance_type, hourly)| {
            json!({
                "region": REGION, "instance_type": instance_type,
                "operating_system": "linux", "tenancy": "shared", "option": "on-demand",
                "currency": "USD", "hourly": hourly, "origin": "api",
                "effective_date": "2026-10-30", "source": "pricing:GetProducts",
            })
        });
        json!({
            "estate_version": "1",
            "as_of": time(DAYS),
            "window_start": time(days.start),
            "window_end": time(days.end),
            "period_seconds": 300,
            "instances": instances.collect::<Vec<Value>>(),
            "prices": prices,
            "metrics": metrics,
        })
    }
}

fn at(day: i64) -> Timestamp {
    Timestamp::from_second(START + day * DAY).expect("in range")
}

fn time(day: i64) -> String {
    at(day).to_string()
}

pub fn date(day: i64) -> Date {
    at(day).to_zoned(TimeZone::UTC).date()
}

/// A reading with at most two decimals.
fn value(metric: &str, load: Load, second: i64, rng: &mut Rng) -> f64 {
    let hour = second.rem_euclid(DAY) / 3_600;
    let is_busy = match load {
        Load::Never => false,
        Load::OfficeHours => (8..18).contains(&hour),
        Load::Always | Load::Broken => true,
    };
    let busy = if is_busy { rng.i64(3_000..10_000) } else { 0 };
    let invalid = matches!(load, Load::Broken) && rng.u8(..) < 10;
    match metric {
        _ if invalid => -1.0,
        "gpu_utilization" | "cpu_utilization" => busy as f64 / 100.0,
        "gpu_memory_used" => (500 + busy) as f64,
        "gpu_memory_total" => 23_028.0,
        "gpu_power_draw" => (30 + busy / 50) as f64,
        _ => (40 + busy / 300) as f64,
    }
}
