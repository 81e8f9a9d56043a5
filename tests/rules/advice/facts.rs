//! What a lever may rest on: enough samples of each fact, and readings inside one
//! period combined by their statistic.

use super::{act, at, bytes, considered, moved, sending, sole, to, vram_when, why_not};
use crate::rules::builder::{
    A10G_MIB, Machine, PERIOD_SECONDS, PERIODS, estate, flat, judge, last, window,
};
use crate::rules::fixtures::{decimal, dollars, of, only};
use gpucost::domain::{ActionKind, GapSubject, JoinedBy, Metric, Risk, SeriesSource, Statistic};
use gpucost::usage::{Estate, Points, Series};
use jiff::{SignedDuration, Timestamp};

/// Four GPUs of eight at 45%, and four at rest as far as they report.
fn half_used(rest: impl Fn(u32) -> Option<f64> + Copy) -> Estate {
    let machine = Machine::new("i-1", "g5.48xlarge").cpu(flat(5.0));
    let machine = (0..4).fold(machine, |machine, index| {
        machine.gpu(index, flat(45.0)).vram(index, 9_000.0, A10G_MIB)
    });
    let machine =
        (4..8).fold(machine, |machine, index| machine.gpu(index, rest).vram(index, 3.0, A10G_MIB));
    estate(vec![machine])
}

#[test]
fn twelve_samples_of_four_thousand_do_not_say_never_used() {
    let fleet = half_used(last(12, 0.0));
    let audit = at(&fleet, Risk::High);
    assert_eq!(of(&audit, "unused-gpus").len(), 0);
    assert_eq!(moved(&fleet, Risk::High), None);
    let mut gaps = audit.gaps.iter();
    assert!(gaps.any(|gap| gap.what == GapSubject::UtilizationPerGpu), "{:#?}", audit.gaps);
}

#[test]
fn four_of_eight_that_rest_for_a_fortnight_are_never_used() {
    // Four A10G are a g5.12xlarge: (16.288 − 5.672) × 730 = 7 749.68. On four L4
    // 45% would be 90%.
    let fleet = half_used(flat(0.0));
    let audit = at(&fleet, Risk::Medium);
    let finding = only(&audit, "unused-gpus");
    assert!(finding.title.starts_with("4 of 8 GPUs"), "{finding:?}");
    assert!(!finding.title.contains("rarely"), "{}", finding.title);
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g5.12xlarge", 1, "7749.68"));
    assert_eq!(dollars(finding), Some(decimal("7749.68")));
    // One GPU fewer than are used will not do.
    let candidates = considered(&fleet, Risk::Medium);
    assert_eq!(why_not(&candidates, "g5.16xlarge"), Some("gpus"));
    assert_eq!(why_not(&candidates, "g6.12xlarge"), Some("utilization"));
}

/// A g5.4xlarge at 12% whose memory is reported by a function.
fn with_memory(used: impl Fn(u32) -> Option<f64> + Copy) -> Machine {
    let machine = Machine::new("i-1", "g5.4xlarge").cpu(flat(5.0));
    vram_when(machine.gpu(0, flat(12.0)), A10G_MIB, used)
}

#[test]
fn an_hour_of_memory_sizes_nothing() {
    let judged = judge(with_memory(last(12, 1_000.0)));
    assert!(judged.has_gap("VRAM use"));
    assert!(!judged.actions().contains(&ActionKind::Rightsize));
    let finding = judged.finding("overprovisioned-gpu");
    assert_eq!(finding.and_then(dollars), None);
    assert_eq!(judged.verdict(), "overprovisioned/steady");
}

#[test]
fn a_fortnight_of_memory_sizes_and_an_unmeasured_network_is_a_step() {
    // 12% of an A10G are 24% of an L4. (1.624 − 0.8048) × 730 = 1 185.52 − 587.50.
    let fleet = estate(vec![with_memory(flat(1_000.0))]);
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 1, "598.02"));
    let audit = at(&fleet, Risk::Medium);
    assert!(!audit.gaps.iter().any(|gap| gap.what == GapSubject::VramUse));
    // 10 Gbit/s today and 2.5 there: at low nothing moves.
    let steps = &only(&audit, "overprovisioned-gpu").recommendation.steps;
    let steps = steps.join("\n");
    assert!(steps.contains("verify network"), "{steps}");
    assert_eq!(moved(&fleet, Risk::Low), None);
    // Where it was measured there is nothing to verify.
    let measured = estate(vec![sending(with_memory(flat(1_000.0)), |_| 0.2)]);
    let target = moved(&measured, Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 1, "598.02"));
    let audit = at(&measured, Risk::Medium);
    let steps = &only(&audit, "overprovisioned-gpu").recommendation.steps;
    assert!(!steps.join("\n").contains("verify network"), "{steps:?}");
}

/// A g5.12xlarge with its first GPU at 50%, the second as given and two at rest.
fn second_gpu(level: impl Fn(u32) -> Option<f64> + Copy) -> Estate {
    let machine = Machine::new("i-1", "g5.12xlarge")
        .cpu(flat(5.0))
        .gpu(0, flat(50.0))
        .vram(0, 3_000.0, A10G_MIB)
        .gpu(1, level)
        .vram(1, 3.0, A10G_MIB);
    let machine = (2..4)
        .fold(machine, |machine, index| machine.gpu(index, flat(0.0)).vram(index, 3.0, A10G_MIB));
    estate(vec![machine])
}

#[test]
fn three_hours_at_95_percent_in_a_fortnight_are_rare_and_count_as_needed() {
    // 36 of 4 032 periods are 0.9%, below the p99. Two GPUs are needed; A10G come by
    // one, four or eight. On L4 (50 + 95) × 2 / 2 would be 145%.
    let fleet = second_gpu(|period| Some(if period < 36 { 95.0 } else { 0.0 }));
    let audit = at(&fleet, Risk::Medium);
    let finding = only(&audit, "unused-gpus");
    assert!(finding.title.starts_with("2 of 4 GPUs"), "{finding:?}");
    assert!(finding.title.contains("rarely used"), "{}", finding.title);
    assert!(finding.title.contains("3.0 h"), "{}", finding.title);
    assert_eq!(dollars(finding), None);
    for risk in [Risk::Low, Risk::Medium] {
        assert_eq!(moved(&fleet, risk), None, "{risk}");
    }
    // All the work fits on one RTX PRO 6000 of three times the bandwidth, 2,455.08 of 4,140.56:
    // no commitment keeps the four A10G instead.
    assert_eq!(moved(&fleet, Risk::High), to("g7e.2xlarge", 1, "1685.48"));
    let candidates = considered(&fleet, Risk::Medium);
    assert_eq!(why_not(&candidates, "g5.xlarge"), Some("gpus"));
    assert_eq!(why_not(&candidates, "g6.12xlarge"), Some("utilization"));
}

#[test]
fn without_these_three_hours_one_gpu_is_needed() {
    // (5.672 − 1.006) × 730 = 4 140.56 − 734.38. On an L4 50% would be 100%. Memory:
    // 2 × 3 600 + 8 192 = 15 392 MiB of 16 384; 5% of 48 vCPUs × 1.2 = 2.88 of 4.
    let fleet = second_gpu(flat(0.0));
    let finding = only(&at(&fleet, Risk::Medium), "unused-gpus").clone();
    assert!(finding.title.starts_with("3 of 4 GPUs"), "{finding:?}");
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g5.xlarge", 1, "3406.18"));
}

#[test]
fn cpu_below_coverage_silences_right_sizing_with_a_gap() {
    let with_cpu = |periods: u32| {
        Machine::new("i-1", "g5.4xlarge")
            .cpu(last(periods, 5.0))
            .gpu(0, flat(12.0))
            .vram(0, 1_000.0, A10G_MIB)
    };
    // 1 600 of 4 032 are 39.7%; the GPU's samples show that it ran throughout.
    let few = judge(with_cpu(1_600));
    assert!(few.has_gap("CPU utilization"));
    assert!(!few.actions().contains(&ActionKind::Rightsize));
    let finding = few.finding("overprovisioned-gpu");
    assert_eq!(finding.and_then(dollars), None);
    // 2 100 are 52.1%.
    let enough = judge(with_cpu(2_100));
    assert!(!enough.has_gap("CPU utilization"));
    assert!(enough.actions().contains(&ActionKind::Rightsize));
}

/// Seconds between two readings of an agent that keeps no even minutes: 21 222 in a
/// fortnight, six or five a period, 64 or 63 an hour.
const READING_SECONDS: i64 = 57;
const READINGS: u32 = 21_222;

fn reading_at(reading: u32) -> Timestamp {
    window().start + SignedDuration::from_secs(i64::from(reading) * READING_SECONDS)
}

/// Adds raw readings, as a source would deliver them.
fn raw(
    mut machine: Machine,
    (metric, statistic): (Metric, Statistic),
    gpu: Option<u16>,
    readings: impl IntoIterator<Item = (Timestamp, f64)>,
) -> Machine {
    let what = (metric, statistic);
    let (points, rejected) = Points::clean(readings, what, window(), PERIOD_SECONDS);
    machine.series.push(Series {
        instance: machine.instance.id.clone(),
        gpu,
        metric,
        statistic,
        source: SeriesSource::Generated,
        joined_by: JoinedBy::InstanceId,
        points,
        rejected,
    });
    machine
}

/// One reading each 57 seconds.
fn readings(level: impl Fn(u32) -> f64) -> impl Iterator<Item = (Timestamp, f64)> {
    (0..READINGS).map(move |reading| (reading_at(reading), level(reading)))
}

/// A g5.4xlarge at 12% with raw readings of the largest memory in use.
fn with_raw_memory(readings: impl IntoIterator<Item = (Timestamp, f64)>) -> Estate {
    let total = (Metric::GpuMemoryTotal, Statistic::Maximum);
    let used = (Metric::GpuMemoryUsed, Statistic::Maximum);
    let machine = Machine::new("i-1", "g5.4xlarge").cpu(flat(5.0)).gpu(0, flat(12.0)).series(
        total.0,
        total.1,
        Some(0),
        flat(A10G_MIB),
    );
    estate(vec![raw(machine, used, Some(0), readings)])
}

#[test]
fn readings_of_57_seconds_fill_the_grid_by_their_statistic() {
    // The first period has the readings 0 to 5, the second 6 to 10.
    let of = |statistic| {
        let what = (Metric::GpuMemoryUsed, statistic);
        let (points, rejected) = Points::clean(readings(f64::from), what, window(), PERIOD_SECONDS);
        assert_eq!(rejected.total(), 0);
        assert_eq!(points.len(), PERIODS as usize);
        points.values().take(2).collect::<Vec<_>>()
    };
    assert_eq!(of(Statistic::Average), [2.5, 8.0], "15 / 6 and 40 / 5");
    assert_eq!(of(Statistic::Maximum), [5.0, 10.0]);
    assert_eq!(of(Statistic::Sum), [15.0, 40.0]);
}

#[test]
fn a_peak_of_memory_in_the_middle_of_a_period_counts() {
    // Reading 1 001 is the second of six in its period. 20 000 × 1.2 = 24 000 MiB are
    // more than an A10G (23 028) or an L4 (23 034) has.
    let peak = |reading: u32| if reading == 1_001 { 20_000.0 } else { 1_000.0 };
    let fleet = with_raw_memory(readings(peak));
    let audit = at(&fleet, Risk::Medium);
    let vram = sole(&audit).workload.vram().expect("memory");
    assert_eq!(vram.peak_mib, 20_000.0);
    assert_eq!(moved(&fleet, Risk::Medium), None);
    let candidates = considered(&fleet, Risk::Medium);
    assert_eq!(why_not(&candidates, "g6.xlarge"), Some("vram"));
    let without = with_raw_memory(readings(|_| 1_000.0));
    let target = moved(&without, Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 1, "598.02"));
}

#[test]
fn of_two_readings_of_one_instant_the_last_wins() {
    let twice = |former: f64, latter: f64| {
        let once = readings(|_| 1_000.0).filter(|(time, _)| *time != reading_at(1_001));
        with_raw_memory(once.chain([(reading_at(1_001), former), (reading_at(1_001), latter)]))
    };
    let corrected = twice(20_000.0, 1_000.0);
    let target = moved(&corrected, Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 1, "598.02"));
    let raised = twice(1_000.0, 20_000.0);
    assert_eq!(moved(&raised, Risk::Medium), None);
    for fleet in [corrected, raised] {
        let duplicates = fleet.metrics.iter().map(|series| series.rejected.duplicate);
        assert_eq!(duplicates.sum::<u64>(), 1);
    }
}

#[test]
fn averages_inside_a_period_are_averaged() {
    // Every other reading is 60: a mean of 30%, 24 to 36% a period. Neither the last
    // reading of a period nor its largest is that.
    let other = |reading: u32| [60.0, 0.0][reading as usize % 2];
    let of = |statistic| (Metric::GpuUtilization, statistic);
    let machine = Machine::new("i-1", "g5.4xlarge").cpu(flat(5.0));
    let machine = raw(machine, of(Statistic::Average), Some(0), readings(other));
    let machine = raw(machine, of(Statistic::Maximum), Some(0), readings(other));
    let fleet = estate(vec![machine.vram(0, 1_000.0, A10G_MIB)]);
    let audit = at(&fleet, Risk::Medium);
    let workload = &sole(&audit).workload;
    let figures = workload.utilization.as_ref().expect("measured");
    let mean = figures.distribution.mean;
    assert!((mean - 30.0).abs() < 0.01, "{mean}");
    assert_eq!(figures.max, 60.0);
    assert_eq!(sole(&audit).verdict.classification.name(), "underutilized");
    // 36% of an A10G are 72% of an L4: it moves.
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 1, "598.02"));
}

#[test]
fn bytes_inside_a_period_are_added_up() {
    // The busiest hour has 64 readings: 2.1 × 64 × 57 / 3 600 × 1.2 = 2.554 Gbit/s,
    // more than the 2.5 of a g6.xlarge; 1.9 makes 2.310. One reading of a period would
    // be a fifth of it. A g6.2xlarge has 5: (1.624 − 0.9776) × 730 = 1 185.52 − 713.65.
    let at_rate = |gbps: f64| {
        let reading = bytes(gbps) / 300.0 * READING_SECONDS as f64;
        let sums = |metric| (metric, Statistic::Sum);
        let machine = with_memory(flat(1_000.0));
        let machine = raw(machine, sums(Metric::NetworkIn), None, readings(|_| 1e6));
        let sent = readings(move |_| reading);
        estate(vec![raw(machine, sums(Metric::NetworkOut), None, sent)])
    };
    let fast = at_rate(2.1);
    let target = moved(&fast, Risk::Medium);
    assert_eq!(target, to("g6.2xlarge", 1, "471.87"));
    let candidates = considered(&fast, Risk::Medium);
    assert_eq!(why_not(&candidates, "g6.xlarge"), Some("network"));
    let target = moved(&at_rate(1.9), Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 1, "598.02"));
    assert_eq!(act(&fast, Risk::Medium, ActionKind::Stop), None);
}

/// A g5.4xlarge at 12% in periods of so many seconds.
fn in_periods_of(seconds: u32) -> Estate {
    let machine = Machine::new("i-1", "g5.4xlarge").with_period(seconds).cpu(flat(5.0));
    let machine = vram_when(machine.gpu(0, flat(12.0)), A10G_MIB, flat(1_000.0));
    estate(vec![machine])
}

#[test]
fn averages_of_more_than_a_minute_hide_peaks_from_another_gpu() {
    let said = |fleet: &Estate, rule: &str| {
        let audit = at(fleet, Risk::Medium);
        let steps = only(&audit, rule).recommendation.steps.join("\n");
        assert!(steps.contains("check the vCPU quota"), "{steps}");
        let (_, rest) = steps.split_once("peaks shorter than ")?;
        let (period, command) = rest.split_once(" are averaged away: run ")?;
        assert!(command.starts_with("`gpucost profile --duration 1h` "));
        Some(period.to_owned())
    };
    for (seconds, period) in [(60, None), (300, Some("5 minutes")), (3_600, Some("1 hour"))] {
        let fleet = in_periods_of(seconds);
        let target = moved(&fleet, Risk::Medium);
        assert_eq!(target, to("g6.xlarge", 1, "598.02"), "{seconds}");
        assert_eq!(said(&fleet, "overprovisioned-gpu").as_deref(), period);
    }
    // On the same GPU a peak is as high as today: four of eight A10G stay four A10G.
    assert_eq!(said(&half_used(flat(0.0)), "unused-gpus"), None);
}
