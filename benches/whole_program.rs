//! Times the released program as users run it: whole processes, several runs,
//! wall time and peak memory; beside them arithmetic that grows with a fleet.
//! `cargo bench` prints a table for `docs/BENCHMARKS.md`; without `--bench` (as
//! under `cargo test`) it does nothing, because timings are not tests.

use gpucost::catalog::{Prices, shape};
use gpucost::domain::{
    Currency, HourlyRate, InstanceCost, JoinedBy, Metric, Policy, PriceBook, PriceKey, ResourceId,
    Risk, SeriesSource, Statistic, Window, WorkloadCost, WorkloadKind,
};
use gpucost::savings::{Bound, ConcurrentUsage, Demand, INSTANCE, PoolRates, Today, candidates};
use gpucost::usage::{Points, Series, UsageBuilder};
use jiff::{SignedDuration, Timestamp};
use nix::sys::resource::{UsageWho, getrusage};
use rust_decimal::Decimal;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_gpucost");
const WARM_UP: usize = 2;
const INSTANCES: usize = 1_000;
const PERIODS: usize = 4_032;
const POOLS: usize = 1_000;
const HOURS: usize = 8_760;
const WORKLOADS: usize = 1_000;

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let estate = folder.join("thousand.json");
    let figures = write_estate(&estate).expect("the scratch folder is writable");
    println!(
        "{INSTANCES} instances, {} GPUs, {} series, {} points, {:.0} MB of JSON\n",
        figures.gpus,
        figures.series,
        figures.points,
        figures.bytes as f64 / 1e6
    );
    println!("| what | runs | wall min | wall median | wall max | peak memory |");
    println!("|---|---|---|---|---|---|");
    let estate = estate.to_str().expect("a scratch path is UTF-8");
    // In order of memory: the system reports the largest of all children.
    run("`--version`", 30, &["--version"]);
    run("`pricing p4d.24xlarge`", 30, &["pricing", "p4d.24xlarge", "-q"]);
    run("`pricing --gpu A100`", 30, &["pricing", "--gpu", "A100", "-q"]);
    run(
        "`pricing --region all --provider all`",
        15,
        &["pricing", "--region", "all", "--provider", "all", "-q"],
    );
    run("`audit --demo`", 15, &["audit", "--demo", "-q"]);
    run("`audit --demo --format json`", 15, &["audit", "--demo", "-q", "--format", "json"]);
    run("`audit --from` 1 000 instances", 7, &["audit", "--from", estate, "-q"]);
    run(
        "`audit --from` 1 000 instances `--format html`",
        7,
        &["audit", "--from", estate, "-q", "--format", "html"],
    );
    reduction();
    rightsizing();
    commitments();
}

/// Series of noise that are in memory already, to what they amount to, on one core.
fn reduction() {
    const GPUS: u16 = 1_000;
    let start: Timestamp = "2026-10-18T00:00:00Z".parse().expect("a time stamp");
    let window = Window { start, end: start + SignedDuration::from_secs(300 * PERIODS as i64) };
    let mut noise = Noise(20_261_104);
    let metrics = [(Metric::GpuUtilization, 30.0, 10.0), (Metric::GpuMemoryUsed, 9_000.0, 400.0)];
    let mut series = Vec::new();
    for gpu in 0..GPUS {
        for (metric, base, spread) in metrics {
            for statistic in [Statistic::Average, Statistic::Maximum] {
                let values = (0..PERIODS).map(|_| (Some(noise.near(base, spread)), 1));
                let what = (metric, statistic);
                let (points, rejected) = Points::regular(start, values, what, window, 300);
                series.push(Series {
                    instance: ResourceId::named(format!("i-{}", gpu / 4)),
                    gpu: Some(gpu % 4),
                    metric,
                    statistic,
                    source: SeriesSource::Generated,
                    joined_by: JoinedBy::InstanceId,
                    points,
                    rejected,
                });
            }
        }
    }
    let walls = timed(15, || {
        let mut usage = UsageBuilder::new(window, 300);
        series.iter().for_each(|one| usage.add(one));
        assert!(!black_box(usage.finish()).is_empty());
    });
    let label = format!("usage of {} series × {PERIODS} points", series.len());
    row(&label, &walls, "—");
}

/// Every type of the catalog weighed for every workload.
fn rightsizing() {
    let (book, terms) = (PriceBook::default(), BTreeMap::new());
    let (prices, policy) = (Prices::new(&book, &terms), Policy::default());
    let mut noise = Noise(20_261_103);
    let workloads: Vec<(&str, WorkloadCost, Demand)> = (0..WORKLOADS)
        .map(|number| {
            let (instance_type, gpus) = MIX[number % MIX.len()];
            let instances = 1 + number as u32 / 10 % 4;
            (
                instance_type,
                cost(&prices, instance_type, instances),
                demand(&mut noise, gpus as u16, instances),
            )
        })
        .collect();
    let walls = timed(15, || {
        for (instance_type, cost, demand) in &workloads {
            let today = Today {
                shape: shape(instance_type).expect("a type of the book"),
                cost,
                region: "us-east-1",
                activity: None,
            };
            let found = candidates(&today, demand, &prices, &policy, Risk::High);
            assert!(black_box(found.len()) > 50);
        }
    });
    row("right-sizing of 1 000 workloads × all types", &walls, "—");
}

/// What instances of a type cost that run all month.
fn cost(prices: &Prices<'_>, instance_type: &str, instances: u32) -> WorkloadCost {
    let key = PriceKey::linux_on_demand("us-east-1", instance_type);
    let quote = prices.get(&key).expect("a type of the book");
    let monthly_hours = Decimal::from(730);
    let all = quote.rate.amount() * Decimal::from(instances);
    let hourly = HourlyRate::new(all, Currency::Usd).expect("a price");
    WorkloadCost {
        instances: vec![
            InstanceCost {
                key,
                committed: None,
                hourly: quote.rate,
                quote,
                monthly_hours,
            };
            instances as usize
        ],
        hourly,
        compute_monthly: hourly.times_hours(monthly_hours).rounded(),
    }
}

/// A workload that uses some of its GPUs; one in five uses none, so that CPU types
/// are weighed too.
fn demand(noise: &mut Noise, gpus: u16, instances: u32) -> Demand {
    let gpus_unused = noise.near(50.0, 100.0) < 20.0;
    let gpus_active = if gpus_unused { 0 } else { gpus.div_ceil(2) };
    let gpu_peak = if gpus_unused { 0.0 } else { noise.near(35.0, 60.0) };
    let cpu_p95 = noise.near(15.0, 20.0);
    let all = f64::from(instances);
    Demand {
        kind: WorkloadKind::Serving,
        bound: Bound::Unknown,
        instances,
        least_instances: instances.min(2),
        averaged_seconds: None,
        least_machines: 2,
        gpus_active,
        gpus_held: gpus_active,
        gpus_active_in_all: u64::from(gpus_active) * u64::from(instances),
        tenants: Some(u64::from(gpus_active) * u64::from(instances)),
        gpu_peak_largest: Some(gpu_peak),
        gpu_peak: Some(gpu_peak),
        gpu_sum: Some(gpu_peak * f64::from(gpus_active) * all),
        gpus_unused,
        never_worked: gpus_unused,
        needs_fp64: false,
        encodes: false,
        gpus_linked: Some(gpus_active > 1),
        may_share_gpus: false,
        vram_is_reserved: false,
        vram_peak_mib: if gpus_unused { 0.0 } else { noise.near(10_000.0, 8_000.0) },
        cpu_p95: Some(cpu_p95),
        cpu_p95_sum: Some(cpu_p95 * all),
        memory_p95_mib: None,
        network_gbps: Some(0.5),
        network_gbps_sum: Some(0.5 * all),
        nodes_talk: false,
        runs: None,
    }
}

/// The best number of reserved instances of every pool from a year of hours.
fn commitments() {
    let mut noise = Noise(20_261_102);
    let pools: Vec<Vec<u64>> = (0..POOLS)
        .map(|number| {
            let level = 2.0 + (number % 50) as f64;
            let count = |_| noise.near(level, level) as u64 * INSTANCE;
            (0..HOURS).map(count).collect()
        })
        .collect();
    let rate = |millis| HourlyRate::new(Decimal::new(millis, 3), Currency::Usd);
    let rates = PoolRates::new(rate(3_060).expect("a price"), rate(1_820).expect("a price"))
        .expect("one currency");
    let walls = timed(15, || {
        let bought: u32 =
            pools.iter().map(|hourly| rates.best_count(&ConcurrentUsage::of(hourly))).sum();
        assert!(black_box(bought) > 0);
    });
    row("commitments of 1 000 pools × 8 760 hours", &walls, "—");
}

fn run(label: &str, runs: usize, arguments: &[&str]) {
    let walls = timed(runs, || {
        let status = Command::new(PROGRAM)
            .args(arguments)
            .env_clear()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("the program starts");
        assert!(status.success(), "{label} ended with {status}");
    });
    let peak_kib = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system counts").max_rss();
    row(label, &walls, &format!("{:.1} MiB", peak_kib as f64 / 1024.0));
}

/// Wall times of some runs after the first few, ascending.
fn timed(runs: usize, mut work: impl FnMut()) -> Vec<Duration> {
    let mut walls: Vec<Duration> = (0..WARM_UP + runs)
        .map(|_| {
            let started = Instant::now();
            work();
            started.elapsed()
        })
        .collect();
    let mut walls = walls.split_off(WARM_UP);
    walls.sort();
    walls
}

fn row(label: &str, walls: &[Duration], peak_memory: &str) {
    let ms = |wall: Duration| format!("{:.1} ms", wall.as_secs_f64() * 1e3);
    println!(
        "| {label} | {} | {} | {} | {} | {peak_memory} |",
        walls.len(),
        ms(walls[0]),
        ms(walls[walls.len() / 2]),
        ms(walls[walls.len() - 1]),
    );
}

struct Figures {
    gpus: usize,
    series: usize,
    points: usize,
    bytes: u64,
}

/// Types by how often they occur among ten instances.
const MIX: [(&str, usize); 10] = [
    ("g4dn.xlarge", 1),
    ("g5.xlarge", 1),
    ("g5.2xlarge", 1),
    ("g6.xlarge", 1),
    ("g6.2xlarge", 1),
    ("g6e.xlarge", 1),
    ("g5.12xlarge", 4),
    ("g6.12xlarge", 4),
    ("p3.8xlarge", 4),
    ("p4d.24xlarge", 8),
];

/// An estate with noisy series, written line by line: noise defeats the
/// repetition of the file format, which idle machines would enjoy.
fn write_estate(path: &Path) -> std::io::Result<Figures> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut figures = Figures { gpus: 0, series: 0, points: 0, bytes: 0 };
    write!(
        out,
        r#"{{"estate_version":"1","as_of":"2026-11-01T00:00:00Z","window_start":"2026-10-18T00:00:00Z","window_end":"2026-11-01T00:00:00Z","period_seconds":300,"instances":["#
    )?;
    for number in 0..INSTANCES {
        let (instance_type, _) = MIX[number % MIX.len()];
        let comma = if number > 0 { "," } else { "" };
        write!(
            out,
            r#"{comma}{{"id":"i-{number:017x}","account":"111122223333","region":"us-east-1","instance_type":"{instance_type}","state":"running","launch_time":"2026-09-01T00:00:00Z"}}"#
        )?;
    }
    write!(out, r#"],"metrics":["#)?;
    let mut noise = Noise(20_261_101);
    for number in 0..INSTANCES {
        let (_, gpus) = MIX[number % MIX.len()];
        figures.gpus += gpus;
        let level = 5.0 + (number % 17) as f64 * 5.0;
        for gpu in 0..gpus {
            for (metric, base, spread) in
                [("gpu_utilization", level, 10.0), ("gpu_memory_used", 9_000.0, 400.0)]
            {
                for statistic in ["average", "maximum"] {
                    let head =
                        format!(r#""gpu":{gpu},"metric":"{metric}","statistic":"{statistic}""#);
                    write_series(&mut out, &mut figures, number, &head, || {
                        noise.near(base, spread)
                    })?;
                }
            }
        }
        let head = r#""metric":"cpu_utilization","statistic":"average""#;
        write_series(&mut out, &mut figures, number, head, || noise.near(12.0, 8.0))?;
    }
    write!(out, "]}}")?;
    out.flush()?;
    figures.bytes = fs::metadata(path)?.len();
    Ok(figures)
}

fn write_series(
    out: &mut impl Write,
    figures: &mut Figures,
    number: usize,
    head: &str,
    mut value: impl FnMut() -> f64,
) -> std::io::Result<()> {
    let comma = if figures.series > 0 { "," } else { "" };
    write!(
        out,
        r#"{comma}{{"instance":"i-{number:017x}",{head},"source":"cloudwatch-agent","period_seconds":300,"start":"2026-10-18T00:00:00Z","values":["#
    )?;
    for period in 0..PERIODS {
        let comma = if period > 0 { "," } else { "" };
        write!(out, "{comma}{}", value())?;
    }
    figures.series += 1;
    figures.points += PERIODS;
    write!(out, "]}}")
}

/// SplitMix64 (Steele, Lea and Flood 2014): the same estate on every machine.
struct Noise(u64);

impl Noise {
    fn near(&mut self, base: f64, spread: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let share = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
        ((base + (share - 0.5) * spread).max(0.0) * 10.0).round() / 10.0
    }
}
