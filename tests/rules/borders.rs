//! The classification on its borders, and what must not shift it.

use crate::rules::builder::{
    A10G_MIB, Machine, PERIODS, audited, estate, flat, g5, judge, last, split,
};
use gpucost::domain::{ActionKind, Confidence, Metric, ReservedInstances, Statistic};

/// Periods in an hour.
const HOUR: u32 = 12;
/// Periods in a day.
const DAY: u32 = 24 * HOUR;

/// A g5.xlarge with 40% of its memory in use and the given utilization.
fn at(level: impl Fn(u32) -> Option<f64> + Copy) -> Machine {
    g5("i-1").gpu(0, level).vram(0, 9_211.2, A10G_MIB)
}

/// A g5.xlarge that computes nothing and holds 2% of its memory.
fn idle() -> Machine {
    g5("i-1").gpu(0, flat(0.0)).vram(0, 460.56, A10G_MIB)
}

#[test]
fn a_mean_of_exactly_a_quarter_is_underutilized() {
    assert_eq!(judge(at(flat(25.0))).verdict(), "underutilized/steady");
    // Half of the time 20 and half 30 is 25 as well.
    let halves = split(PERIODS / 2, 20.0, 30.0);
    assert_eq!(judge(at(halves)).verdict(), "underutilized/steady");
}

#[test]
fn a_hundredth_below_a_quarter_is_overprovisioned() {
    assert_eq!(judge(at(flat(24.99))).verdict(), "overprovisioned/steady");
}

#[test]
fn a_mean_of_exactly_sixty_percent_is_well_utilized() {
    assert_eq!(judge(at(flat(60.0))).verdict(), "well-utilized/steady");
    assert_eq!(judge(at(flat(59.99))).verdict(), "underutilized/steady");
}

#[test]
fn thirty_hours_of_samples_are_enough_and_a_period_less_is_not() {
    let young = |periods: u32| {
        judge(
            Machine::new("i-1", "g5.xlarge")
                .launched_hours_ago(30)
                .cpu(last(periods, 5.0))
                .gpu(0, last(periods, 40.0)),
        )
    };
    assert_eq!(young(30 * HOUR).verdict(), "underutilized/steady");
    let short = young(30 * HOUR - 1);
    assert_eq!(short.verdict(), "insufficient-data/-");
    assert!(short.has_gap("GPU utilization"));
    assert!(
        short.workload().verdict.reason.contains("29.9 h of samples"),
        "{}",
        short.workload().verdict.reason
    );
}

#[test]
fn half_of_the_expected_samples_are_enough_and_one_less_is_not() {
    let covered = |periods: u32| judge(at(last(periods, 40.0)));
    let half = covered(PERIODS / 2);
    assert_eq!(half.verdict(), "underutilized/steady");
    assert_eq!(half.workload().verdict.confidence, Some(Confidence::Derived));
    // 2 012 of 4 032 is 49.9%.
    assert_eq!(covered(2_012).verdict(), "insufficient-data/-");
    assert_eq!(covered(PERIODS / 2 - 1).verdict(), "insufficient-data/-");
}

#[test]
fn ninety_percent_of_the_samples_make_it_measured() {
    let confidence = |periods| judge(at(last(periods, 40.0))).workload().verdict.confidence;
    // 90% of 4 032 is 3 628.8.
    assert_eq!(confidence(3_629), Some(Confidence::Measured));
    assert_eq!(confidence(3_628), Some(Confidence::Derived));
}

#[test]
fn coverage_counts_only_the_time_it_ran() {
    // Eight hours a day for a fortnight, sampled throughout them.
    let office = |value: f64| move |period: u32| (period % DAY < 8 * HOUR).then_some(value);
    let machine = Machine::new("i-1", "g5.xlarge").cpu(office(5.0)).gpu(0, office(40.0));
    let judged = judge(machine);
    assert_eq!(judged.verdict(), "underutilized/steady");
    assert_eq!(judged.workload().verdict.confidence, Some(Confidence::Measured));
}

#[test]
fn seven_days_of_samples_are_needed_to_call_it_idle() {
    let watched = |periods: u32| {
        judge(
            Machine::new("i-1", "g5.xlarge")
                .launched_hours_ago(8 * 24)
                .cpu(last(8 * DAY, 5.0))
                .gpu(0, last(periods, 0.0))
                .vram(0, 460.56, A10G_MIB),
        )
    };
    assert_eq!(watched(7 * DAY).verdict(), "overprovisioned/idle");
    let short = watched(7 * DAY - 29); // 6.9 days
    assert_eq!(short.verdict(), "overprovisioned/idle-so-far");
    assert!(!short.actions().contains(&ActionKind::Stop));
    // A period at either end of a window may be cut off.
    assert_eq!(watched(7 * DAY - 2).verdict(), "overprovisioned/idle");
    assert_eq!(watched(7 * DAY - 3).verdict(), "overprovisioned/idle-so-far");
}

#[test]
fn a_box_first_seen_within_the_week_is_not_idle() {
    let started = |hours: i64| judge(idle().launched_hours_ago(hours));
    assert_eq!(started(6 * 24).verdict(), "overprovisioned/idle-so-far");
    assert_eq!(
        started(7 * 24).verdict(),
        "overprovisioned/idle-so-far",
        "over seven days ago, not seven"
    );
    // A restart makes nothing young.
    let restarted = judge(idle().launched_hours_ago(6 * 24).seen_before());
    assert_eq!(restarted.verdict(), "overprovisioned/idle");
    assert_eq!(started(7 * 24 + 1).verdict(), "overprovisioned/idle");
}

#[test]
fn memory_decides_between_idle_and_idle_held() {
    let holding =
        |used_mib: f64| judge(g5("i-1").gpu(0, flat(0.0)).vram(0, used_mib, 20_000.0)).verdict();
    assert_eq!(holding(999.0), "overprovisioned/idle");
    assert_eq!(holding(1_000.0), "overprovisioned/idle-held");
}

#[test]
fn without_memory_idle_and_idle_held_cannot_be_told_apart() {
    let judged = judge(g5("i-1").gpu(0, flat(0.0)));
    assert_eq!(judged.verdict(), "overprovisioned/-");
    assert_eq!(judged.finding("idle-gpu"), None);
    assert_eq!(judged.finding("idle-held-gpu"), None);
    assert!(judged.has_gap("VRAM use"));
    assert!(!judged.actions().contains(&ActionKind::Stop));
}

#[test]
fn without_maxima_nothing_is_called_idle() {
    let machine = g5("i-1")
        .series(Metric::GpuUtilization, Statistic::Average, Some(0), flat(0.0))
        .vram(0, 460.56, A10G_MIB);
    let judged = judge(machine);
    assert_eq!(judged.verdict(), "overprovisioned/-");
    assert!(judged.has_gap("GPU utilization maxima"));
    assert_eq!(judged.actions(), []);
}

#[test]
fn idleness_needs_the_maximum_of_every_gpu() {
    // The fourth of four A10G is at 3% in the mean of each period, and its peaks are missing.
    let three = (0..3).fold(Machine::new("i-1", "g5.12xlarge").cpu(flat(2.0)), |machine, gpu| {
        machine.gpu(gpu, flat(0.0))
    });
    let fourth = |machine: Machine, statistic, level| {
        machine.series(Metric::GpuUtilization, statistic, Some(3), flat(level))
    };
    let four = fourth(three, Statistic::Average, 3.0);
    let four = (0..4).fold(four, |machine, gpu| machine.vram(gpu, 460.0, A10G_MIB));
    let audit = audited(&estate(vec![four]));
    let waste = audit.totals.monthly_waste.expect("priced").amount();
    assert!(waste.is_zero(), "{waste}");
    assert_eq!(audit.workloads[0].verdict.state, None);
    let mut actions = audit.workloads[0].actions.iter();
    assert!(actions.all(|action| action.kind() != ActionKind::Stop));
    assert!(audit.purchases.is_empty(), "{:?}", audit.purchases);
}

#[test]
fn nothing_is_bought_while_idleness_is_unknown() {
    // Nothing is smaller than a g5.xlarge of which 20 GiB are in use: only a commitment is left.
    let of = |level: f64| {
        let (average, metric) = (Statistic::Average, Metric::GpuUtilization);
        let machine = g5("i-1").cpu(flat(60.0)).series(metric, average, Some(0), flat(level));
        audited(&estate(vec![machine.vram(0, 20_480.0, A10G_MIB)])).purchases.len()
    };
    assert_eq!((of(0.0), of(20.0)), (0, 1));
}

#[test]
fn averages_of_work_need_no_maxima() {
    let averages = |level: f64| {
        judge(
            g5("i-1")
                .series(Metric::GpuUtilization, Statistic::Average, Some(0), flat(level))
                .vram(0, 460.56, A10G_MIB),
        )
    };
    assert_eq!(averages(0.99).verdict(), "overprovisioned/-");
    for (level, verdict) in [(1.0, "overprovisioned/steady"), (92.0, "well-utilized/saturated")] {
        let judged = averages(level);
        assert_eq!(judged.verdict(), verdict);
        assert!(!judged.has_gap("GPU utilization maxima"), "{level}");
    }
}

#[test]
fn a_maximum_of_one_percent_at_p99_is_activity() {
    let busiest = |value: f64| {
        judge(
            g5("i-1")
                .series(Metric::GpuUtilization, Statistic::Average, Some(0), flat(0.0))
                .series(Metric::GpuUtilization, Statistic::Maximum, Some(0), flat(value))
                .vram(0, 460.56, A10G_MIB),
        )
        .verdict()
    };
    assert_eq!(busiest(0.99), "overprovisioned/idle");
    assert_eq!(busiest(1.0), "overprovisioned/steady");
}

#[test]
fn two_periods_of_five_percent_in_a_week_spare_it() {
    let blips = |apart: u32, value: f64| {
        judge(
            g5("i-1")
                .gpu(0, move |period| {
                    let active = period == 2_000 || period == 2_000 + apart;
                    Some(if active { value } else { 0.0 })
                })
                .vram(0, 460.56, A10G_MIB),
        )
        .verdict()
    };
    assert_eq!(blips(1, 5.0), "overprovisioned/mostly-idle");
    assert_eq!(blips(1, 4.99), "overprovisioned/idle");
    assert_eq!(blips(2, 6.0), "overprovisioned/mostly-idle");
    assert_eq!(blips(7 * DAY - 1, 6.0), "overprovisioned/mostly-idle");
    assert_eq!(blips(7 * DAY, 6.0), "overprovisioned/idle");
}

#[test]
fn saturated_by_its_mean_only_above_eighty_five_percent() {
    assert_eq!(judge(at(flat(85.0))).verdict(), "well-utilized/steady");
    assert_eq!(judge(at(flat(85.5))).verdict(), "well-utilized/saturated");
}

#[test]
fn saturated_by_a_tenth_of_its_hours() {
    // 34 of 336 hours are 10.1%, 33 are 9.8%.
    let hours = |count: u32| judge(at(split(count * HOUR, 100.0, 30.0)));
    let saturated = hours(34);
    assert_eq!(saturated.verdict(), "underutilized/saturated");
    assert_eq!(saturated.finding("saturated-gpu"), None, "a risk for serving only");
    assert_eq!(hours(33).verdict(), "underutilized/steady");
    // A mean of exactly 95% is not above it.
    let edge = judge(at(split(34 * HOUR, 95.0, 30.0)));
    assert_eq!(edge.verdict(), "underutilized/steady");
}

#[test]
fn serving_with_saturated_hours_is_a_risk_by_its_hours() {
    let machine = at(split(34 * HOUR, 100.0, 30.0)).tag("gpucost:kind", "serving");
    let judged = judge(machine);
    let finding = judged.finding("saturated-gpu").expect("a finding");
    let decisive = &finding.evidence()[0];
    assert!((decisive.observed - 34.0 / 336.0 * 100.0).abs() < 1e-9);
    assert_eq!(decisive.threshold, 10.0);
    assert_eq!(finding.monthly_savings, None);
}

#[test]
fn work_in_under_a_tenth_of_the_hours_is_mostly_idle_and_never_stopped() {
    // Of 336 hours, 33 are 9.8% and 34 are 10.1%.
    for peak in [1.0, 40.0, 100.0] {
        let judged = judge(at(split(33 * HOUR, peak, 0.0)));
        assert_eq!(judged.verdict(), "overprovisioned/mostly-idle", "{peak}");
        assert!(!judged.actions().contains(&ActionKind::Stop), "{peak}");
    }
    let judged = judge(at(split(34 * HOUR, 40.0, 0.0)));
    assert_eq!(judged.verdict(), "overprovisioned/steady");
    // Work in one period makes an hour active.
    let first_of_three_hours =
        |period: u32| Some(if period.is_multiple_of(36) { 2.0 } else { 0.0 });
    assert_eq!(judge(at(first_of_three_hours)).verdict(), "overprovisioned/steady");
}

#[test]
fn bursts_are_a_low_mean_with_a_high_p95() {
    // One period of ten at the peak, spread out: no hour is saturated.
    let bursts =
        |peak: f64| move |period: u32| Some(if period.is_multiple_of(10) { peak } else { 10.0 });
    assert_eq!(judge(at(bursts(90.0))).verdict(), "overprovisioned/bursty");
    assert_eq!(judge(at(bursts(80.0))).verdict(), "overprovisioned/bursty");
    assert_eq!(judge(at(bursts(79.0))).verdict(), "overprovisioned/steady");
}

#[test]
fn bursts_are_said_in_the_title_and_never_as_evidence() {
    let bursts = |period: u32| Some(if period.is_multiple_of(10) { 90.0 } else { 10.0 });
    let on = |instance_type: &str| Machine::new("i-1", instance_type).cpu(flat(5.0)).gpu(0, bursts);
    let judged = judge(on("g5.16xlarge").vram(0, 9_211.2, A10G_MIB));
    let finding = judged.finding("overprovisioned-gpu").expect("a finding");
    assert!(finding.title.contains("bursts"), "{}", finding.title);
    assert_eq!(finding.evidence().len(), 1);
    // No GPU is smaller or cheaper than that of a g5.xlarge and holds its peaks:
    // there is nothing to do about it, as long as its memory is known.
    let judged = judge(on("g5.xlarge").vram(0, 9_211.2, A10G_MIB));
    assert_eq!(judged.verdict(), "overprovisioned/bursty");
    assert!(judged.finding("overprovisioned-gpu").is_none());
    let judged = judge(on("g5.xlarge"));
    let finding = judged.finding("overprovisioned-gpu").expect("a finding");
    assert_eq!(finding.monthly_savings, None);
    // A reservation does not change what it will do when that ends.
    for (instance_type, reported) in [("g5.xlarge", false), ("g5.16xlarge", true)] {
        let machine = on(instance_type).vram(0, 9_211.2, A10G_MIB);
        let mut fleet = estate(vec![machine]);
        fleet.commitments.reserved_instances = vec![ReservedInstances {
            instance_type: instance_type.to_owned(),
            ..crate::rules::committed::reserved(1)
        }];
        let audit = audited(&fleet);
        assert!(audit.totals.committed_monthly_cost.is_some());
        let findings: Vec<_> = audit.findings.iter().map(|fired| fired.rule()).collect();
        assert_eq!(findings.contains(&"overprovisioned-gpu"), reported, "{findings:?}");
        assert!(audit.findings.iter().all(|fired| fired.monthly_savings.is_none()));
    }
}

/// A g5.xlarge that reports nothing but power. An A10G draws 57 W of 300 W, 19%
/// of its limit, with its driver loaded and no work.
fn powered(level: impl Fn(u32) -> Option<f64>) -> crate::rules::builder::Judged {
    judge(g5("i-1").power(level))
}

#[test]
fn power_near_the_idle_draw_is_idle_and_never_a_stop() {
    for percent in [19.0, 24.0] {
        let judged = powered(flat(percent));
        assert_eq!(judged.verdict(), "overprovisioned/idle", "{percent}");
        let verdict = &judged.workload().verdict;
        assert_eq!(verdict.confidence, Some(Confidence::Derived));
        assert_eq!(verdict.idle_power_percent, Some(19.0));
        assert_eq!(judged.actions(), [], "{percent}");
        let finding = judged.finding("idle-gpu").expect("a finding");
        assert_eq!(finding.monthly_savings, None);
        assert_eq!(finding.evidence()[0].threshold, 24.0);
    }
}

#[test]
fn power_a_little_above_the_idle_draw_says_nothing() {
    assert_eq!(powered(flat(24.1)).verdict(), "insufficient-data/-");
    assert_eq!(powered(flat(60.0)).verdict(), "insufficient-data/-");
}

#[test]
fn power_above_sixty_percent_is_work() {
    let judged = powered(flat(62.0));
    assert_eq!(judged.verdict(), "well-utilized/-");
    assert_eq!(judged.workload().verdict.confidence, Some(Confidence::Derived));
}

#[test]
fn power_of_a_card_with_unknown_idle_draw_says_nothing() {
    let machine = Machine::new("i-1", "p3.2xlarge").cpu(flat(5.0)).power(flat(10.0));
    assert_eq!(judge(machine).verdict(), "insufficient-data/-");
}

#[test]
fn memory_without_utilization_is_not_idle() {
    // What a card in MIG mode delivers.
    let judged = judge(Machine::new("i-1", "p4d.24xlarge").cpu(flat(5.0)).vram(0, 300.0, 40_960.0));
    assert_eq!(judged.verdict(), "insufficient-data/-");
    assert_eq!(judged.actions(), []);
    assert!(judged.has_gap("GPU utilization"));
}

#[test]
fn memory_of_slices_is_allocated_in_the_funnel() {
    // A card in MIG mode reports no utilization. 2,048 of 40,960 MiB are 5%.
    let machine = Machine::new("i-1", "p4d.24xlarge").cpu(flat(5.0));
    let held = [20_000.0, 9_000.0, 2_048.0, 2_047.0, 0.0, 0.0, 0.0, 0.0];
    let machine =
        (0..).zip(held).fold(machine, |machine, (gpu, used)| machine.vram(gpu, used, 40_960.0));
    let funnel = audited(&estate(vec![machine])).funnel;
    let (total, allocated) = (funnel.total_gpus, funnel.allocated_gpus);
    assert_eq!((total, allocated, funnel.unmeasured_gpus), (8, 3, 8));
    assert_eq!((funnel.active_gpus, funnel.effective_gpus), (0, 0.0));
    assert_eq!(funnel.unknown_allocation_gpus, 0);
}

#[test]
fn a_silent_cpu_never_makes_a_busy_gpu_idle() {
    let machine = Machine::new("i-1", "g5.xlarge")
        .cpu(flat(0.0))
        .series(Metric::NetworkIn, Statistic::Sum, None, flat(0.0))
        .series(Metric::NetworkOut, Statistic::Sum, None, flat(0.0))
        .gpu(0, flat(70.0))
        .vram(0, 9_211.2, A10G_MIB);
    assert_eq!(judge(machine).verdict(), "well-utilized/steady");
}

#[test]
fn a_busy_cpu_never_hides_an_idle_gpu_and_forbids_its_stop() {
    let machine = Machine::new("i-1", "g5.xlarge")
        .cpu(flat(100.0))
        .series(Metric::NetworkIn, Statistic::Sum, None, flat(1e9))
        .gpu(0, flat(0.0))
        .vram(0, 460.56, A10G_MIB);
    let judged = judge(machine);
    assert_eq!(judged.verdict(), "overprovisioned/idle");
    assert_eq!(judged.actions(), [ActionKind::Rightsize]);
}

#[test]
fn without_any_gpu_series_a_silent_cpu_proves_nothing() {
    let judged = judge(Machine::new("i-1", "g5.xlarge").cpu(flat(0.0)));
    assert_eq!(judged.verdict(), "insufficient-data/-");
    assert_eq!(judged.actions(), []);
}

#[test]
fn the_class_is_the_mean_over_all_gpus_and_idleness_the_busiest() {
    // One of four GPUs at 80%: a mean of 20%, and not idle.
    let busy = (1..4).fold(
        Machine::new("i-1", "g5.12xlarge").cpu(flat(5.0)).gpu(0, flat(80.0)),
        |machine, index| machine.gpu(index, flat(0.0)),
    );
    assert_eq!(judge(busy).verdict(), "overprovisioned/steady");
}

#[test]
fn a_period_counts_when_half_of_the_gpus_reported() {
    let reporting = |gpus: u16| {
        judge(
            (0..gpus).fold(Machine::new("i-1", "g5.12xlarge").cpu(flat(5.0)), |machine, index| {
                machine.gpu(index, flat(40.0))
            }),
        )
        .verdict()
    };
    assert_eq!(reporting(2), "underutilized/steady");
    assert_eq!(reporting(1), "insufficient-data/-");
}

#[test]
fn too_few_gpus_is_another_reason_than_no_metric() {
    let reason = |machine: Machine| judge(machine).workload().verdict.reason.clone();
    let four = || Machine::new("i-1", "g5.12xlarge").cpu(flat(5.0));
    assert_eq!(reason(four()), "no GPU metric was reported");
    assert_eq!(
        reason(four().gpu(0, flat(40.0))),
        "fewer than half of the GPUs reported utilization at any time"
    );
}

#[test]
fn a_week_of_samples_is_needed_to_advise_a_commitment() {
    let young = |periods: u32| {
        judge(
            Machine::new("i-1", "g5.xlarge")
                .launched_hours_ago(7 * 24)
                .cpu(last(periods, 5.0))
                .gpu(0, last(periods, 70.0))
                .vram(0, 9_211.2, A10G_MIB),
        )
    };
    let week = young(7 * DAY);
    assert!(week.finding("steady-on-demand").is_some());
    assert_eq!(week.actions(), [ActionKind::Commit]);
    let short = judge(
        Machine::new("i-1", "g5.xlarge")
            .launched_hours_ago(7 * 24 - 2)
            .cpu(last(7 * DAY - 24, 5.0))
            .gpu(0, last(7 * DAY - 24, 70.0))
            .vram(0, 9_211.2, A10G_MIB),
    );
    assert_eq!(short.verdict(), "well-utilized/steady");
    assert_eq!(short.finding("steady-on-demand"), None);
    assert!(!short.has_gap("price"), "nomissing input but time");
}
