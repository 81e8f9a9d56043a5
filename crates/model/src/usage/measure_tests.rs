use super::*;
use crate::domain::{
    GpuModel, GpuShare, GpuUsage, InstanceState, Metric, ResourceId, SeriesSource, Signal,
    Statistic,
};
use crate::usage::Points;
use jiff::Timestamp;

const HOUR: i64 = 3600;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("in range")
}

fn window() -> Window {
    Window { start: at(0), end: at(10 * HOUR) }
}

fn instance(state: InstanceState, launched: i64) -> Instance {
    Instance { state, ..Instance::sample("i-1", "g5.12xlarge", at(launched)) }
}

fn offer(devices: u16) -> GpuOffer {
    GpuOffer { model: GpuModel::A10g, share: GpuShare::Whole(devices), vram_mib: Some(24_576) }
}

fn series(
    metric: Metric,
    statistic: Statistic,
    gpu: Option<u16>,
    values: impl IntoIterator<Item = (i64, f64)>,
) -> Series {
    let raw = values.into_iter().map(|(period, value)| (at(period * 300), value));
    let (points, rejected) = Points::clean(raw, (metric, statistic), window(), 300);
    Series {
        instance: ResourceId::named("i-1"),
        gpu,
        metric,
        statistic,
        source: SeriesSource::Generated,
        joined_by: JoinedBy::InstanceId,
        points,
        rejected,
    }
}

fn measure(devices: u16, state: InstanceState, launched: i64, records: &[Series]) -> InstanceUsage {
    let records: Vec<&Series> = records.iter().collect();
    let (instance, offer) = (instance(state, launched), offer(devices));
    measure_series(&instance, Some(&offer), &records, (window(), 300)).0
}

#[test]
fn unused_gpus_count_in_the_mean_and_not_in_the_maximum() {
    let mut records = Vec::new();
    for gpu in 0..4 {
        let level = if gpu == 0 { 80.0 } else { 0.0 };
        let points: Vec<_> = (0..120).map(|period| (period, level)).collect();
        records.push(series(Metric::GpuUtilization, Statistic::Average, Some(gpu), points.clone()));
        records.push(series(Metric::GpuUtilization, Statistic::Maximum, Some(gpu), points));
    }
    let usage = measure(4, InstanceState::Running, 0, &records);
    let summary = usage.summary.expect("data");
    assert_eq!(summary.distribution.mean, 20.0);
    assert_eq!(summary.max, 80.0);
    assert_eq!(summary.idle_share, Some(0.0));
    assert_eq!(summary.coverage(), 1.0);
    assert_eq!(summary.working_periods_a_week, 120);
    assert_eq!(summary.largest_sum_percent, 80.0);
    let active: Vec<_> = usage.gpus.iter().map(GpuUsage::is_active).collect();
    assert_eq!(active, [Some(true), Some(false), Some(false), Some(false)]);
}

#[test]
fn a_period_counts_when_half_of_the_gpus_reported() {
    // Two of four GPUs report in the first hour, one of four afterwards.
    let records = [
        series(Metric::GpuUtilization, Statistic::Average, Some(0), (0..120).map(|p| (p, 50.0))),
        series(Metric::GpuUtilization, Statistic::Average, Some(1), (0..12).map(|p| (p, 30.0))),
    ];
    let usage = measure(4, InstanceState::Running, 0, &records);
    let summary = usage.summary.expect("data");
    assert_eq!(summary.n_samples, 12);
    assert_eq!(summary.expected_samples, 120);
    assert_eq!(summary.distribution.mean, 40.0);
    assert_eq!(summary.idle_share, None, "no maximum was delivered");
}

#[test]
fn cpu_points_prove_eight_of_ten_hours_and_bound_what_is_expected() {
    let records = [
        series(Metric::CpuUtilization, Statistic::Average, None, (0..96).map(|p| (p, 3.0))),
        series(Metric::GpuUtilization, Statistic::Average, Some(0), (0..48).map(|p| (p, 9.0))),
    ];
    let usage = measure(1, InstanceState::Stopped, 0, &records);
    assert_eq!(usage.running.running_seconds, 8 * HOUR);
    assert_eq!(usage.running.observed_seconds, 10 * HOUR);
    let summary = usage.summary.expect("data");
    assert_eq!(summary.coverage(), 0.5);
}

#[test]
fn a_running_instance_is_not_charged_less_for_points_still_under_way() {
    let records =
        [series(Metric::CpuUtilization, Statistic::Average, None, (0..118).map(|p| (p, 3.0)))];
    let usage = measure(1, InstanceState::Running, 0, &records);
    assert_eq!(usage.running.running_seconds, 10 * HOUR);
    assert!(usage.running.proved);
}

#[test]
fn without_cpu_points_it_ran_since_launch() {
    let usage = measure(1, InstanceState::Running, 6 * HOUR + 100, &[]);
    assert_eq!(usage.running.running_seconds, 4 * HOUR - 100);
    assert_eq!(usage.running.observed_seconds, 4 * HOUR - 100);
    assert!(!usage.running.proved);
    assert_eq!(usage.signal, None);
}

#[test]
fn power_of_the_whole_instance_stands_for_all_its_gpus() {
    let records = [series(
        Metric::GpuPowerUtilization,
        Statistic::Average,
        None,
        (0..120).map(|p| (p, 62.0)),
    )];
    let usage = measure(8, InstanceState::Running, 0, &records);
    assert_eq!(usage.signal, Some((Signal::GpuPowerUtilization, SeriesSource::Generated)));
    let summary = usage.summary.expect("data");
    assert_eq!(summary.distribution.mean, 62.0);
}

/// Counters that stand still on each of two GPUs, beside the power of the machine.
fn silent_beside(percent: f64, busy: f64) -> InstanceUsage {
    let level =
        |metric, gpu, level| series(metric, Statistic::Average, gpu, (0..120).map(|p| (p, level)));
    let records = [
        level(Metric::GpuUtilization, Some(0), busy),
        level(Metric::GpuUtilization, Some(1), 0.0),
        level(Metric::GpuPowerUtilization, None, percent),
    ];
    let records: Vec<&Series> = records.iter().collect();
    let offer = GpuOffer { vram_mib: Some(22_888), ..offer(2) };
    let instance = instance(InstanceState::Running, 0);
    measure_series(&instance, Some(&offer), &records, (window(), 300)).0
}

#[test]
fn the_power_of_a_machine_contradicts_counters_that_all_stand_still() {
    // An A10G of 300 W rests at up to 57 + 15% of (300 - 57) = 93.45 W, which is 31.15%.
    let reason = silent_beside(62.0, 0.0).contradiction().map(str::to_owned).expect("a reason");
    assert!(reason.contains("mean power of 186 of 300 W"), "{reason}");
    assert_eq!(silent_beside(31.0, 0.0).contradiction(), None);
    assert!(silent_beside(32.0, 0.0).contradiction().is_some());
    assert_eq!(silent_beside(62.0, 90.0).contradiction(), None, "the other GPU draws it");
}

#[test]
fn vram_peak_comes_from_maxima_and_the_drivers_total_is_preferred() {
    let records = [
        series(Metric::GpuMemoryUsed, Statistic::Average, Some(0), [(0, 100.0), (1, 200.0)]),
        series(Metric::GpuMemoryUsed, Statistic::Maximum, Some(0), [(0, 110.0), (1, 900.0)]),
        series(Metric::GpuMemoryTotal, Statistic::Maximum, Some(0), [(0, 23_028.0)]),
    ];
    let usage = measure(1, InstanceState::Running, 0, &records);
    let vram = usage.gpus[0].vram.expect("measured");
    assert_eq!(vram.peak_mib, 900.0);
    assert_eq!(vram.p95_mib, Some(195.0));
    assert_eq!(vram.total_mib, Some(23_028.0));
}

#[test]
fn hours_above_ninety_five_percent_are_counted_by_hour() {
    // One hour of ten is saturated; a single high period elsewhere is not.
    let level = |p: i64| {
        if (12..24).contains(&p) || p == 50 { 99.0 } else { 10.0 }
    };
    let records = [series(
        Metric::GpuUtilization,
        Statistic::Average,
        Some(0),
        (0..120).map(|p| (p, level(p))),
    )];
    let usage = measure(1, InstanceState::Running, 0, &records);
    let summary = usage.summary.expect("data");
    assert!((summary.saturated_hours_share - 0.1).abs() < 1e-12);
}

#[test]
fn every_period_at_five_percent_counts_as_working() {
    let records = [series(
        Metric::GpuUtilization,
        Statistic::Average,
        Some(0),
        (0..120).map(|p| (p, if p % 10 == 0 { 6.0 } else { 0.0 })),
    )];
    let usage = measure(1, InstanceState::Running, 0, &records);
    let summary = usage.summary.expect("data");
    assert_eq!(summary.working_periods_a_week, 12);
}

#[test]
fn what_an_inactive_gpu_holds_is_unknown_without_memory() {
    let level = |percent: f64| {
        series(
            Metric::GpuUtilization,
            Statistic::Average,
            Some(0),
            (0..120).map(move |period| (period, percent)),
        )
    };
    let holding = |mib: f64| series(Metric::GpuMemoryUsed, Statistic::Maximum, Some(0), [(0, mib)]);
    let allocated = |records: &[Series]| {
        let usage = measure(1, InstanceState::Running, 0, records);
        usage.gpus[0].is_allocated()
    };
    assert_eq!(allocated(&[level(0.0)]), None);
    assert_eq!(allocated(&[level(7.0)]), Some(true));
    // 5% of 24 576 MiB are 1 228.8.
    assert_eq!(allocated(&[level(0.0), holding(1_228.0)]), Some(false));
    assert_eq!(allocated(&[level(0.0), holding(1_229.0)]), Some(true));
    assert_eq!(allocated(&[holding(1_228.0)]), None);
}

#[test]
fn network_is_counted_by_the_day_and_only_in_both_directions() {
    let sum = |metric, bytes: f64, periods: i64| {
        series(metric, Statistic::Sum, None, (0..periods).map(move |period| (period, bytes)))
    };
    let both = [
        sum(Metric::NetworkIn, 1_000.0, 120),
        // Half of the points are missing, not half of the traffic.
        sum(Metric::NetworkOut, 500.0, 60),
    ];
    let usage = measure(1, InstanceState::Running, 0, &both);
    // 288 periods a day: 288 × 1 000 + 288 × 500.
    assert_eq!(usage.network_bytes_per_day, Some(432_000.0));
    let usage = measure(1, InstanceState::Running, 0, &both[..1]);
    assert_eq!(usage.network_bytes_per_day, None);
}

#[test]
fn an_encoder_session_is_activity() {
    let records = [
        series(
            Metric::GpuUtilization,
            Statistic::Average,
            Some(0),
            (0..120).map(|period| (period, 0.0)),
        ),
        series(
            Metric::GpuEncoderSessions,
            Statistic::Maximum,
            Some(0),
            [(0, 0.0), (1, 2.0), (2, 0.0)],
        ),
    ];
    let usage = measure(1, InstanceState::Running, 0, &records);
    assert_eq!(usage.gpus[0].encoder_sessions_max, Some(2.0));
    assert_eq!(usage.gpus[0].is_active(), Some(true));
    let usage = measure(1, InstanceState::Running, 0, &records[..1]);
    assert_eq!(usage.gpus[0].encoder_sessions_max, None);
    assert_eq!(usage.gpus[0].is_active(), Some(false));
}
