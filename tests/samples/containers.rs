//! Right-sizing against 80 real GPU containers, as though each had an 80 GB A100
//! to itself: what moves must hold what was measured, whatever the grid of the metrics.

use crate::samples::data::book;
use crate::support::data::shared;
use flate2::read::GzDecoder;
use gpucost::analysis::{Audit, Sizing, audit, audit_types};
use gpucost::catalog::shape as listed_shape;
use gpucost::domain::{
    AcceleratorKind, ActionKind, ApiUsage, Architecture, Classification, Commitments, Currency,
    EstateSource, GpuModel, GpuOffer, GpuShare, HourlyRate, Instance, InstanceShape, InstanceState,
    JoinedBy, Kpi, KpiValue, Lifecycle, Metric, OperatingSystem, Policy, PriceBasis, PriceBook,
    PriceKey, PriceOrigin, PriceQuote, ResourceId, Risk, SeriesSource, Statistic, Tenancy, Window,
};
use gpucost::savings::{share, usable_vram_mib};
use gpucost::usage::{Estate, Points, Series};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

const TYPE: &str = "z1.container";
/// The step of the readings, CloudWatch's high resolution, its default and an hour.
const GRIDS: [u32; 4] = [57, 60, 300, 3_600];
/// The trace is 22.8 h long and the default asks for 30. The short containers have at
/// most 3 h of periods on any grid, the others more than 4.
pub(super) const MIN_HOURS: f64 = 4.0;
const GIB_MIB: f64 = 1_024.0;

/// Time and value of each container's readings.
pub type Readings = BTreeMap<String, Vec<(i64, f64)>>;

fn readings(path: &Path) -> Readings {
    let file = GzDecoder::new(File::open(path).expect("the sample opens"));
    let mut by_container = Readings::new();
    for row in csv::Reader::from_reader(file).deserialize::<BTreeMap<String, String>>() {
        let row = row.expect("a whole row");
        let number = |column: &str| row[column].parse::<f64>().expect("a number");
        by_container
            .entry(row["container_ip"].clone())
            .or_default()
            .push((number("timestamp_anon") as i64, number("value")));
    }
    by_container
}

/// Utilization in percent and memory in bytes.
pub fn both(folder: &Path) -> (Readings, Readings) {
    let of = |what: &str| readings(&folder.join(format!("pod_gpu_{what}_anon.csv.gz")));
    (of("duty_cycle"), of("memory_used_bytes"))
}

/// What one eighth of a p4de.24xlarge offers.
fn shape(model: GpuModel) -> InstanceShape {
    InstanceShape {
        instance_type: TYPE.to_owned(),
        accelerator: AcceleratorKind::Gpu,
        gpu: Some(GpuOffer { model, share: GpuShare::Whole(1), vram_mib: Some(81_920) }),
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
        id: ResourceId::named(name),
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

pub(super) fn estate(utilization: &Readings, memory: &Readings, kind: &str, grid: u32) -> Estate {
    let seconds = || utilization.values().flatten().map(|(second, _)| *second);
    let period = i64::from(grid);
    let first = seconds().min().expect("readings") / period * period;
    let last = (seconds().max().expect("readings") / period + 1) * period;
    let window = Window { start: at(first), end: at(last) };
    let mut metrics = Vec::new();
    let mut instances = Vec::new();
    for (name, values) in utilization {
        instances.push(instance(name, kind, values[0].0));
        let held: Vec<(i64, f64)> = memory[name]
            .iter()
            .map(|(second, bytes)| (*second, bytes / GIB_MIB / GIB_MIB))
            .collect();
        // Nobody measured the CPU: 5%, while the container lived.
        let cpu: Vec<(i64, f64)> = values.iter().map(|(second, _)| (*second, 5.0)).collect();
        for (metric, statistic, gpu, raw) in [
            (Metric::CpuUtilization, Statistic::Average, None, &cpu),
            (Metric::GpuUtilization, Statistic::Average, Some(0), values),
            (Metric::GpuUtilization, Statistic::Maximum, Some(0), values),
            (Metric::GpuMemoryUsed, Statistic::Average, Some(0), &held),
            (Metric::GpuMemoryUsed, Statistic::Maximum, Some(0), &held),
        ] {
            let raw = raw.iter().map(|(second, value)| (at(*second), *value));
            let (points, rejected) = Points::clean(raw, (metric, statistic), window, grid);
            metrics.push(Series {
                instance: ResourceId::named(name.as_str()),
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
        period_seconds: grid,
        instances,
        tag_filters: Vec::new(),
        out_of_scope: Vec::new(),
        scaling_groups: Vec::new(),
        opinions: Vec::new(),
        shapes: BTreeMap::from([(TYPE.to_owned(), shape(GpuModel::A100))]),
        usage: gpucost::usage::Usages::default(),
        metrics,
        profiles: Vec::new(),
        clusters: gpucost::domain::Clusters::default(),
        managed: gpucost::domain::Managed::default(),
        jobs: Vec::new(),
        prices: prices(),
        commitments: Commitments::default(),
        gaps: Vec::new(),
        api: ApiUsage::default(),
    }
}

/// Figures of a card from the catalog's own file: reported memory, bandwidth, FP16.
fn card(model: &str, memory_mib: u64) -> (f64, f64, f64) {
    let lines = book("gpu_specs.csv");
    let line = lines
        .iter()
        .find(|line| {
            line.get("gpu_model") == model && line.get("memory_mib") == memory_mib.to_string()
        })
        .unwrap_or_else(|| panic!("{model} is in the book"));
    let number = |column: &str| line.get(column).parse().expect("a number");
    (number("memory_mib_reported"), number("memory_bandwidth_gbps"), number("fp16_dense_tflops"))
}

/// What a container was measured at, from its raw readings.
struct Measured {
    hours: f64,
    raw_mean: f64,
    /// Of periods, because one with a single reading is as long as a full one.
    mean: f64,
    p95: f64,
    max: f64,
    peak_mib: f64,
    /// Whether the last reading of each period would hide the memory peak.
    peak_is_passing: bool,
}

fn measured(utilization: &[(i64, f64)], memory: &[(i64, f64)], grid: u32) -> Measured {
    let period = i64::from(grid);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let mut periods: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (second, value) in utilization {
        periods.entry(second / period).or_default().push(*value);
    }
    let mut values: Vec<f64> = periods.values().map(|readings| mean(readings)).collect();
    values.sort_by(f64::total_cmp);
    let at = (values.len() - 1) as f64 * 0.95;
    let (below, part) = (at.floor() as usize, at.fract());
    let above = values[(below + 1).min(values.len() - 1)];
    let last = memory.iter().map(|(time, bytes)| (time / period, *bytes));
    let last: Vec<f64> = BTreeMap::from_iter(last).into_values().collect();
    let held: Vec<f64> = memory.iter().map(|(_, bytes)| *bytes).collect();
    let raw: Vec<f64> = utilization.iter().map(|(_, value)| *value).collect();
    Measured {
        hours: values.len() as f64 * f64::from(grid) / 3_600.0,
        raw_mean: mean(&raw),
        mean: mean(&values),
        p95: values[below] + (above - values[below]) * part,
        max: largest(&raw),
        peak_mib: largest(&held) / GIB_MIB / GIB_MIB,
        peak_is_passing: largest(&last) < largest(&held),
    }
}

/// The class of a mean, by the borders that the manual gives.
fn class(mean: f64) -> Classification {
    match mean {
        mean if mean < 25.0 => Classification::Overprovisioned,
        mean if mean < 60.0 => Classification::Underutilized,
        _ => Classification::WellUtilized,
    }
}

pub(super) fn policy() -> Policy {
    Policy { min_hours: MIN_HOURS, ..Policy::default() }
}

fn sized(estate: &Estate) -> (Audit, Vec<Sizing>) {
    let policy = &policy();
    let audit = audit_types(estate, policy, Risk::Medium);
    let workloads = audit.workloads.iter();
    let sizings = workloads.map(|workload| Sizing::of(workload, policy)).collect();
    (audit, sizings)
}

#[test]
fn real_containers_keep_what_they_need_on_every_grid() {
    let Some(folder) = shared("right-sized containers", "samples/gpu-containers") else { return };
    let (utilization, memory) = both(&folder);
    assert_eq!(utilization.len(), 80);
    let today = shape(GpuModel::A100).gpu.expect("a GPU type");
    let (_, bandwidth, fp16) = card("A100", 81_920);
    let kinds = [("serving", 80.0), ("training", 125.0)];
    for ((kind, most), grid) in kinds.iter().flat_map(|kind| GRIDS.map(|grid| (kind, grid))) {
        let (audit, sizings) = sized(&estate(&utilization, &memory, kind, grid));
        let (mut few, mut filling, mut peaking, mut accepted) = (0, 0, 0, 0);
        for (audited, sizing) in audit.workloads.iter().zip(&sizings) {
            let name = &sizing.id;
            let summary = measured(&utilization[name], &memory[name], grid);
            let is_short = audited.verdict.classification == Classification::InsufficientData;
            assert_eq!(is_short, summary.hours < MIN_HOURS, "{name}: {}", summary.hours);
            few += u32::from(is_short);
            filling += u32::from(summary.peak_mib > 24.0 * GIB_MIB);
            peaking += u32::from(summary.max > 90.0);
            let candidates = sizing.outcome.iter().flat_map(|outcome| outcome.accepted());
            let planned = audited.actions.iter().filter_map(|action| {
                let is_move = action.kind() == ActionKind::Rightsize;
                listed_shape(&action.target().filter(|_| is_move)?.instance_type)
            });
            for to in candidates.map(|candidate| candidate.considered.shape).chain(planned) {
                accepted += 1;
                let offer = to.gpu.as_ref().expect("a GPU type");
                let to = format!("{name}: {kind}: {grid} s: {}", to.instance_type);
                let whole = matches!(offer.share, GpuShare::Whole(_));
                assert!(whole, "{to}: every container needs more");
                let usable = usable_vram_mib(&today, offer).expect("known") as f64;
                let vram = offer.vram_mib.expect("known");
                let (reported, to_bandwidth, to_fp16) = card(offer.model.name(), vram);
                assert!(usable.min(reported) >= summary.peak_mib * 1.2, "{to}");
                assert!(reported > 24.0 * GIB_MIB, "{to}: no 24 GB card holds any");
                let need = summary.p95 * (bandwidth / to_bandwidth).max(fp16 / to_fp16);
                assert!(need <= *most, "{to}: {need}");
            }
        }
        assert_eq!(few, 7, "{kind}: {grid} s");
        assert!(filling > 0 && peaking > 0 && accepted > 0);
    }
}

#[test]
fn peaks_and_classes_are_those_of_the_readings_on_every_grid() {
    let Some(folder) = shared("containers on grids", "samples/gpu-containers") else { return };
    let (utilization, memory) = both(&folder);
    // Of 80 containers so many lose their memory peak where the last reading of a
    // period stands for all. So many are in another class than the mean of their
    // readings: two lack readings while they do little, which that mean leaves out.
    let expected = [(57, 0, 0), (60, 3, 0), (300, 31, 2), (3_600, 69, 1)];
    for (grid, passing, apart) in expected {
        let estate = estate(&utilization, &memory, "serving", grid);
        let audit = audit(&estate, &policy(), Risk::Medium);
        assert_eq!(audit.workloads.len(), 80);
        let (mut found_passing, mut found_apart) = (0, 0);
        for audited in &audit.workloads {
            let name = &audited.workload.id();
            let stats = measured(&utilization[name], &memory[name], grid);
            let gpu = audited.workload.gpus().next().expect("a GPU");
            let summary = audited.workload.utilization.as_ref().expect("measured");
            // Points are single-precision: 0.002 MiB at 47 000.
            for (figure, raw) in [
                (gpu.vram.expect("measured").peak_mib, stats.peak_mib),
                (gpu.maxima.expect("measured").largest, stats.max),
                (summary.max, stats.max),
                (summary.distribution.mean, stats.mean),
            ] {
                assert!((figure - raw).abs() < 0.005, "{name}: {grid} s: {figure}");
            }
            found_passing += u32::from(stats.peak_is_passing);
            let classification = audited.verdict.classification;
            if stats.hours < MIN_HOURS {
                assert_eq!(classification, Classification::InsufficientData, "{name}: {grid} s");
            } else {
                assert_eq!(classification, class(stats.mean), "{name}: {grid} s");
                found_apart += u32::from(classification != class(stats.raw_mean));
            }
        }
        assert_eq!((found_passing, found_apart), (passing, apart), "{grid} s");
    }
}

/// GPU hours of a month from the readings: all, useful, idle and unmeasured. A container ran
/// in the periods with a reading, of the time since its first.
fn hours_of_month(utilization: &Readings, grid: u32) -> [f64; 4] {
    let period = i64::from(grid);
    let seconds = utilization.values().flatten().map(|(second, _)| *second);
    let end = (seconds.max().expect("readings") / period + 1) * period;
    let [mut total, mut useful, mut idle, mut unmeasured] = [0.0; 4];
    for values in utilization.values() {
        let mut periods: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (second, value) in values {
            periods.entry(second / period).or_default().push(*value);
        }
        let ran = periods.len() as f64 * f64::from(grid);
        let hours = 730.0 * (ran / (end - values[0].0) as f64).min(1.0);
        total += hours;
        if ran < MIN_HOURS * 3_600.0 {
            unmeasured += hours;
            continue;
        }
        let each = hours / periods.len() as f64;
        for readings in periods.values() {
            let mean = readings.iter().sum::<f64>() / readings.len() as f64;
            useful += each * mean / 100.0;
            if readings.iter().all(|value| *value < 1.0) {
                idle += each;
            }
        }
    }
    [total, useful, idle, unmeasured]
}

#[test]
fn key_figures_are_those_of_the_readings_on_every_grid() {
    let Some(folder) = shared("key figures of containers", "samples/gpu-containers") else {
        return;
    };
    let (utilization, memory) = both(&folder);
    // Used and idle percent of the measured hours, and the cost of a useful one at 3.430881:
    // the figures of docs/kpis.md. A container that was there close to the end counts as
    // there until the end, because metrics are late: at most three periods, which is much only
    // of hours.
    let expected = [
        (57, "7.3", "70", 0.001),
        (60, "7.3", "70", 0.001),
        (300, "7.4", "48", 0.001),
        (3_600, "7.3", "16", 0.04),
    ];
    for (grid, used, idle, most_apart) in expected {
        let estate = estate(&utilization, &memory, "serving", grid);
        let kpis = audit(&estate, &policy(), Risk::Medium).kpis;
        let measured = |kpi: Kpi| match kpis.get(kpi) {
            Some(KpiValue::Measured(value)) => value,
            other => panic!("{kpi:?}: {other:?}"),
        };
        let figures =
            [Kpi::GpuHours, Kpi::UsefulGpuHours, Kpi::IdleGpuHours, Kpi::UnmeasuredGpuHours]
                .map(measured);
        let raw = hours_of_month(&utilization, grid);
        for (figure, raw) in figures.into_iter().zip(raw) {
            assert!((figure / raw - 1.0).abs() < most_apart, "{grid} s: {figure}, {raw}");
        }
        let [total, _, idle_hours, unmeasured] = figures;
        let percent = measured(Kpi::Utilization);
        let idle_percent = 100.0 * idle_hours / (total - unmeasured);
        assert_eq!(
            (format!("{percent:.1}"), format!("{idle_percent:.0}")),
            (used.to_owned(), idle.to_owned()),
            "{grid} s"
        );
        let Some(KpiValue::Money(each)) = kpis.get(Kpi::CostPerUsefulGpuHour) else {
            panic!("{grid} s: a useful hour has a price");
        };
        let each: f64 = each.amount().to_string().parse().expect("a number");
        assert!((each - 343.0881 / percent).abs() < 0.01, "{grid} s: {each}");
        if grid == GRIDS[0] {
            assert!((each - 46.78).abs() < 0.01, "{each}");
        }
    }
}

/// Whether readings stand for most of the time from the first to the end of the trace.
fn is_mostly_read(values: &[(i64, f64)], end: i64) -> bool {
    let seconds = (end - values[0].0) as f64;
    values.len() as f64 * 57.0 >= seconds * 0.55
}

/// All that were there for long enough as one service, up without a pause, on H100 cards, because nobody
/// has seen the memory of the slices of an A100 of 80 GB.
fn no_card_is_too_full(risk: Risk) {
    let Some(folder) = shared("shared cards on grids", "samples/gpu-containers") else { return };
    let (mut utilization, memory) = both(&folder);
    let end = utilization.values().flatten().map(|(second, _)| *second).max().expect("readings");
    utilization.retain(|_, values| values.len() * 57 >= 4 * 3_600 && is_mostly_read(values, end));
    let offer = shape(GpuModel::H100).gpu.expect("a GPU type");
    let usable = usable_vram_mib(&offer, &offer).expect("known") as f64;
    for grid in GRIDS {
        let mut estate = estate(&utilization, &memory, "serving", grid);
        estate.shapes = BTreeMap::from([(TYPE.to_owned(), shape(GpuModel::H100))]);
        // A period without a reading is not one without the box.
        let window = estate.window;
        for series in &mut estate.metrics {
            if series.metric == Metric::CpuUtilization {
                let first = utilization[series.instance.as_str()][0].0;
                let seconds = (first..window.end.as_second()).step_by(grid as usize);
                let raw = seconds.map(|second| (at(second), 5.0));
                (series.points, _) =
                    Points::clean(raw, (series.metric, series.statistic), window, grid);
            }
        }
        for instance in &mut estate.instances {
            let tag = "gpucost:workload".to_owned();
            instance.tags.insert(tag, "service".to_owned());
        }
        let audit = audit(&estate, &policy(), risk);
        let part = audit.workloads[0].working().expect("works");
        let shared = share(&part.workload, &part.verdict, &policy(), risk);
        let shared = shared.expect("cards are freed");
        assert_eq!(shared.tenants.len(), utilization.len(), "each has one GPU: {grid} s");
        assert!(shared.tenants.len() > 40);
        for card in &shared.cards {
            let mut together = 0.0;
            for slice in &card.slices {
                let name = part.workload.usage[slice.tenant].instance.as_str();
                let needed = measured(&utilization[name], &memory[name], grid).peak_mib * 1.2;
                match &slice.placement {
                    Some((profile, _)) => {
                        let held = profile.memory_mib.expect("known") as f64;
                        assert!(held >= needed, "{name}: {grid} s: {held}, {needed}");
                    }
                    None => together += needed,
                }
            }
            assert!(together <= usable, "{grid} s: {together} of {usable} MiB");
        }
    }
}

#[test]
fn no_slice_on_any_grid_is_smaller_than_the_raw_peak() {
    no_card_is_too_full(Risk::Medium);
}

#[test]
fn no_card_shared_side_by_side_on_any_grid_is_smaller_than_the_raw_peaks() {
    no_card_is_too_full(Risk::High);
}
