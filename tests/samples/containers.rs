//! Right-sizing against 80 real GPU containers, as though each had an 80 GB A100
//! to itself: what moves must hold what was measured.

use crate::data::{book, folder};
use flate2::read::GzDecoder;
use gpucost::analysis::{Audit, Sizing, audit};
use gpucost::catalog::Prices;
use gpucost::domain::{
    AcceleratorKind, ApiUsage, Architecture, Classification, Commitments, Currency, Estate,
    EstateSource, GpuModel, GpuOffer, GpuShare, HourlyRate, Instance, InstanceId, InstanceShape,
    InstanceState, JoinedBy, Lifecycle, Metric, OperatingSystem, Points, Policy, PriceBasis,
    PriceBook, PriceKey, PriceOrigin, PriceQuote, Risk, Series, SeriesSource, Statistic, Tenancy,
    Window,
};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

const TYPE: &str = "z1.container";
const PERIOD_SECONDS: u32 = 60;
const GIB_MIB: f64 = 1_024.0;

/// Time and value of each container's readings.
type Readings = BTreeMap<String, Vec<(i64, f64)>>;

fn readings(path: &Path) -> Readings {
    let file = GzDecoder::new(File::open(path).expect("the sample opens"));
    let mut found = Readings::new();
    for row in csv::Reader::from_reader(file).deserialize::<BTreeMap<String, String>>() {
        let row = row.expect("a whole row");
        let number = |column: &str| row[column].parse::<f64>().expect("a number");
        found
            .entry(row["container_ip"].clone())
            .or_default()
            .push((number("timestamp_anon") as i64, number("value")));
    }
    found
}

/// What one eighth of a p4de.24xlarge offers.
fn shape() -> InstanceShape {
    InstanceShape {
        instance_type: TYPE.to_owned(),
        accelerator: AcceleratorKind::Gpu,
        gpu: Some(GpuOffer {
            model: GpuModel::A100,
            share: GpuShare::Whole(1),
            vram_mib: Some(81_920),
        }),
        vcpu: 12,
        memory_mib: 147_456,
        architecture: Some(Architecture::X86_64),
        local_storage_gb: None,
        efa: Some(false),
    }
}

fn prices() -> PriceBook {
    let day = jiff::civil::date(2022, 9, 12);
    let mut prices = PriceBook::default();
    prices.insert(
        PriceKey::linux_on_demand("us-east-1", TYPE),
        PriceQuote {
            // 27.44705 / 8.
            rate: HourlyRate::new("3.430881".parse().expect("a decimal"), Currency::Usd)
                .expect("positive"),
            instalments: None,
            origin: PriceOrigin::User,
            basis: PriceBasis::Derived,
            effective_date: day,
            seen_on: day,
            source: "test".to_owned(),
        },
    );
    prices
}

fn instance(name: &str, kind: &str, launch: i64) -> Instance {
    Instance {
        id: InstanceId::new(name),
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        zone: Some("us-east-1a".to_owned()),
        instance_type: TYPE.to_owned(),
        state: InstanceState::Running,
        lifecycle: Lifecycle::OnDemand,
        capacity_reservation_id: None,
        capacity_block_id: None,
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        launch_time: at(launch),
        attached_time: None,
        state_transition_reason: None,
        tags: BTreeMap::from([("gpucost:kind".to_owned(), kind.to_owned())]),
        auto_scaling_group: None,
        private_dns_name: None,
        volumes: Vec::new(),
        addresses: Vec::new(),
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn estate(utilization: &Readings, memory: &Readings, kind: &str) -> Estate {
    let seconds = || utilization.values().flatten().map(|(second, _)| *second);
    let minute = i64::from(PERIOD_SECONDS);
    let first = seconds().min().expect("readings") / minute * minute;
    let last = (seconds().max().expect("readings") / minute + 1) * minute;
    let window = Window {
        start: at(first),
        end: at(last),
    };
    let mut metrics = Vec::new();
    let mut instances = Vec::new();
    for (name, values) in utilization {
        instances.push(instance(name, kind, values[0].0));
        let held: Vec<(i64, f64)> = memory[name]
            .iter()
            .map(|(second, bytes)| (*second, bytes / GIB_MIB / GIB_MIB))
            .collect();
        // Nobody measured the CPU: 5 %, while the container lived.
        let cpu: Vec<(i64, f64)> = values.iter().map(|(second, _)| (*second, 5.0)).collect();
        for (metric, statistic, gpu, raw) in [
            (Metric::CpuUtilization, Statistic::Average, None, &cpu),
            (Metric::GpuUtilization, Statistic::Average, Some(0), values),
            (Metric::GpuUtilization, Statistic::Maximum, Some(0), values),
            (Metric::GpuMemoryUsed, Statistic::Average, Some(0), &held),
            (Metric::GpuMemoryUsed, Statistic::Maximum, Some(0), &held),
        ] {
            let raw = raw.iter().map(|(second, value)| (at(*second), *value));
            let (points, rejected) = Points::clean(raw, metric, window, PERIOD_SECONDS);
            metrics.push(Series {
                instance: InstanceId::new(name),
                gpu,
                metric,
                statistic,
                source: SeriesSource::Generated,
                joined_by: JoinedBy::InstanceId,
                points,
                rejected,
            });
        }
    }
    Estate {
        as_of: at(last),
        window,
        source: EstateSource::Estate,
        accounts: vec!["111122223333".to_owned()],
        regions: vec!["us-east-1".to_owned()],
        period_seconds: PERIOD_SECONDS,
        instances,
        out_of_scope: Vec::new(),
        shapes: BTreeMap::from([(TYPE.to_owned(), shape())]),
        metrics,
        profiles: Vec::new(),
        prices: prices(),
        commitments: Commitments::default(),
        gaps: Vec::new(),
        api: ApiUsage::default(),
    }
}

/// Figures of a card from the book's own file: reported memory, bandwidth, FP16.
fn card(model: &str, memory_mib: u64) -> (f64, f64, f64) {
    let lines = book("gpu_specs.csv");
    let line = lines
        .iter()
        .find(|line| {
            line.get("gpu_model") == model && line.get("memory_mib") == memory_mib.to_string()
        })
        .unwrap_or_else(|| panic!("{model} is in the book"));
    let number = |column: &str| line.get(column).parse().expect("a number");
    (
        number("memory_mib_reported"),
        number("memory_bandwidth_gbps"),
        number("fp16_dense_tflops"),
    )
}

/// What a container was measured at, from its raw readings.
struct Measured {
    minutes: usize,
    peak_mib: f64,
    p95: f64,
    max: f64,
}

fn measured(utilization: &[(i64, f64)], memory: &[(i64, f64)]) -> Measured {
    // As the grid keeps them: the last reading of a minute.
    let minutes: BTreeMap<i64, f64> = utilization
        .iter()
        .map(|(second, value)| (second / 60, *value))
        .collect();
    let mut values: Vec<f64> = minutes.values().copied().collect();
    values.sort_by(f64::total_cmp);
    let at = (values.len() - 1) as f64 * 0.95;
    let (below, part) = (at.floor() as usize, at.fract());
    let above = values[(below + 1).min(values.len() - 1)];
    // The last of a minute here too.
    let held: BTreeMap<i64, f64> = memory
        .iter()
        .map(|(second, bytes)| (second / 60, bytes / GIB_MIB / GIB_MIB))
        .collect();
    Measured {
        minutes: values.len(),
        peak_mib: held.values().copied().fold(0.0, f64::max),
        p95: values[below] + (above - values[below]) * part,
        max: values.last().copied().expect("a reading"),
    }
}

fn sized(estate: &Estate, policy: &Policy) -> (Audit, Vec<Sizing>) {
    let audit = audit(estate, policy, Risk::Medium);
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let sizings = audit
        .workloads
        .iter()
        .map(|one| Sizing::of(one, &prices, policy, Risk::Medium))
        .collect();
    (audit, sizings)
}

#[test]
fn real_containers_keep_what_they_need() {
    let Some(folder) = folder("right-sized containers", "samples/gpu-containers") else {
        return;
    };
    let utilization = readings(&folder.join("pod_gpu_duty_cycle_anon.csv.gz"));
    let memory = readings(&folder.join("pod_gpu_memory_used_bytes_anon.csv.gz"));
    assert_eq!(utilization.len(), 80);
    let policy = Policy {
        min_hours: 12.0,
        ..Policy::default()
    };
    let (_, bandwidth, fp16) = card("A100", 81_920);
    for kind in ["serving", "training"] {
        let (audit, sizings) = sized(&estate(&utilization, &memory, kind), &policy);
        let (mut few, mut filling, mut peaking, mut accepted) = (0, 0, 0, 0);
        let (mut moved, mut peaking_moved) = (BTreeMap::<&str, u32>::new(), 0);
        for (audited, sizing) in audit.workloads.iter().zip(&sizings) {
            let name = &sizing.id;
            let one = measured(&utilization[name], &memory[name]);
            let is_short = audited.verdict.classification == Classification::InsufficientData;
            assert_eq!(is_short, one.minutes < 12 * 60, "{name}: {}", one.minutes);
            few += u32::from(is_short);
            filling += u32::from(one.peak_mib > 24.0 * GIB_MIB);
            peaking += u32::from(one.max > 90.0);
            let Ok(found) = &sizing.outcome else {
                continue;
            };
            for (index, candidate) in found.accepted().enumerate() {
                accepted += 1;
                let to = &candidate.considered.shape;
                let offer = to.gpu.as_ref().expect("a GPU type");
                let to_name = &to.instance_type;
                let whole = matches!(offer.share, GpuShare::Whole(_));
                assert!(whole, "{name}: {to_name}: every container needs more");
                let vram = offer.vram_mib.expect("known");
                let (reported, to_bandwidth, to_fp16) = card(offer.model.name(), vram);
                assert!(reported >= one.peak_mib * 1.2, "{name}: {to_name}");
                let is_24_gb = reported <= 24.0 * GIB_MIB;
                assert!(
                    !(is_24_gb && one.peak_mib > 24.0 * GIB_MIB),
                    "{name}: {to_name}"
                );
                let need = one.p95 * (bandwidth / to_bandwidth).max(fp16 / to_fp16);
                let most = if kind == "serving" { 80.0 } else { 125.0 };
                assert!(need <= most, "{name}: {to_name}: {need}");
                if index == 0 {
                    *moved.entry(to_name.as_str()).or_insert(0) += 1;
                    peaking_moved += u32::from(one.max > 90.0);
                }
            }
        }
        println!(
            "{kind}: 80 containers, {few} with too few samples, {filling} above 24 GiB, {peaking} \
             above 90 %; moved {moved:?}, {peaking_moved} of them peak above 90 %; {accepted} \
             candidates accepted"
        );
        assert!(few > 0 && filling > 0 && peaking > 0 && accepted > 0);
        let named: BTreeSet<&str> = moved.keys().copied().collect();
        assert!(
            !named
                .iter()
                .any(|name| name.starts_with("g5.") || name.starts_with("g6."))
        );
    }
}
