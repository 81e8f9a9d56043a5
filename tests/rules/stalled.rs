//! GPUs that report work and do none.

use crate::rules::builder::{A10G_MIB, Judged, Machine, audited, estate, flat, g5, judge};
use crate::rules::fixtures::{audit_of, dollars, only};
use gpucost::domain::{ActionKind, FindingKind, Metric, Statistic};

/// A machine whose GPUs are busy and draw so many watts.
fn drawing(machine: Machine, gpus: u16, percent: f64, watts: f64) -> Machine {
    (0..gpus).fold(machine, |machine, gpu| {
        let draw = Metric::GpuPowerDraw;
        machine.gpu(gpu, flat(percent)).vram(gpu, 12_000.0, A10G_MIB).series(
            draw,
            Statistic::Average,
            Some(gpu),
            flat(watts),
        )
    })
}

fn judged(percent: f64, watts: f64) -> Judged {
    judge(drawing(g5("i-1"), 1, percent, watts))
}

#[test]
fn busy_gpus_at_the_idle_draw_are_stalled_and_cost_their_hours() {
    let audit = audit_of("stalled-gpu", "fires");
    let finding = only(&audit, "stalled-gpu");
    // An A10G idles at 57 W and may draw 300: 57 + 0.15 × 243 = 93.45.
    let decisive = &finding.evidence()[0];
    assert_eq!(decisive.observed, 62.0);
    assert_eq!(decisive.threshold, 93.45);
    assert_eq!(finding.kind, FindingKind::Risk);
    assert_eq!(dollars(finding), None);
    // 1.006 × 730 = 734.38.
    let at_stake = "at 62.0 W (p95), little more than the idle draw: USD 734.38 per month at stake";
    assert!(finding.title.contains(at_stake), "{}", finding.title);
    assert!(audit.workloads[0].actions.is_empty());
    assert!(audit.purchases.is_empty());
}

#[test]
fn power_and_utilization_have_each_a_border() {
    for (percent, watts, verdict) in [
        (98.0, 62.0, "well-utilized/stalled"),
        (98.0, 93.0, "well-utilized/stalled"),
        (98.0, 94.0, "well-utilized/saturated"),
        (98.0, 280.0, "well-utilized/saturated"),
        (60.0, 62.0, "well-utilized/stalled"),
        (59.9, 62.0, "underutilized/steady"),
    ] {
        assert_eq!(judged(percent, watts).verdict(), verdict, "{percent}% at {watts} W");
    }
}

#[test]
fn every_gpu_must_draw_little() {
    let four = || Machine::new("i-1", "g5.12xlarge").cpu(flat(4.0));
    let machine = drawing(four(), 4, 98.0, 62.0);
    assert_eq!(judge(machine.clone()).verdict(), "well-utilized/stalled");
    let is_last =
        |gpu: Option<u16>, metric: Metric| gpu == Some(3) && metric == Metric::GpuPowerDraw;
    let mut unmeasured = machine;
    unmeasured.series.retain(|series| !is_last(series.gpu, series.metric));
    assert_eq!(judge(unmeasured).verdict(), "well-utilized/saturated");
}

/// The same with so much SM activity and no power.
fn active(machine: Machine, gpus: u16, percent: f64, sm: f64) -> Machine {
    (0..gpus).fold(machine, |machine, gpu| {
        let metric = Metric::GpuSmActivity;
        machine.gpu(gpu, flat(percent)).vram(gpu, 12_000.0, A10G_MIB).series(
            metric,
            Statistic::Average,
            Some(gpu),
            flat(sm),
        )
    })
}

/// Whether a gap says that the rule needs the power draw or the SM activity.
fn misses_a_sign(machine: Machine) -> bool {
    let audit = audited(&estate(vec![machine]));
    let mut gaps = audit.gaps.iter();
    gaps.any(|gap| gap.what.name() == "gpu_sm_activity" && gap.reason.contains("stalled-gpu"))
}

#[test]
fn busy_gpus_whose_multiprocessors_do_nothing_are_stalled() {
    for (percent, sm, verdict) in [
        (98.0, 0.0, "well-utilized/stalled"),
        (98.0, 4.9, "well-utilized/stalled"),
        (98.0, 5.0, "well-utilized/saturated"),
        (60.0, 4.9, "well-utilized/stalled"),
        (59.9, 4.9, "underutilized/steady"),
    ] {
        let machine = active(g5("i-1"), 1, percent, sm);
        assert_eq!(judge(machine.clone()).verdict(), verdict, "{percent}% at {sm}%");
        assert!(!misses_a_sign(machine), "{percent}% at {sm}%");
    }
    // Of 4,032 periods 201 are 4.99%: the 95th percentile is in the others.
    let mostly = |period: u32| Some(if period < 201 { 90.0 } else { 2.0 });
    let silent = |machine: Machine| {
        let working = machine.gpu(0, flat(98.0)).vram(0, 12_000.0, A10G_MIB);
        working.series(Metric::GpuSmActivity, Statistic::Average, Some(0), mostly)
    };
    let judged = judge(silent(g5("i-1")));
    assert_eq!(judged.verdict(), "well-utilized/stalled");
    let finding = judged.finding("stalled-gpu").expect("a finding");
    let decisive = &finding.evidence()[0];
    assert_eq!((decisive.observed, decisive.threshold), (2.0, 5.0));
    // 1.006 × 730 = 734.38.
    let title =
        "98.0% average utilization at 2.0% SM activity (p95): USD 734.38 per month at stake";
    assert!(finding.title.ends_with(title), "{}", finding.title);
    assert_eq!((dollars(finding), judged.actions().len()), (None, 0));
    // The idle draw of a V100 is not known, and the activity does not need it.
    let unknown = active(Machine::new("i-1", "p3.2xlarge").cpu(flat(4.0)), 1, 98.0, 2.0);
    assert_eq!(judge(unknown).verdict(), "well-utilized/stalled");
}

#[test]
fn either_sign_is_enough_and_each_is_of_every_gpu() {
    let both = |watts: f64, sm: f64| {
        let metric = Metric::GpuSmActivity;
        let machine = drawing(g5("i-1"), 1, 98.0, watts);
        judge(machine.series(metric, Statistic::Average, Some(0), flat(sm))).verdict()
    };
    assert_eq!(both(280.0, 2.0), "well-utilized/stalled");
    assert_eq!(both(62.0, 80.0), "well-utilized/stalled");
    assert_eq!(both(280.0, 80.0), "well-utilized/saturated");
    let mut four = active(Machine::new("i-1", "g5.12xlarge").cpu(flat(4.0)), 4, 98.0, 2.0);
    assert_eq!(judge(four.clone()).verdict(), "well-utilized/stalled");
    let is_last =
        |gpu: Option<u16>, metric: Metric| gpu == Some(3) && metric == Metric::GpuSmActivity;
    four.series.retain(|series| !is_last(series.gpu, series.metric));
    assert_eq!(judge(four.clone()).verdict(), "well-utilized/saturated");
    assert!(misses_a_sign(four));
}

#[test]
fn nothing_is_bought_for_what_is_stalled_and_its_peer_is_judged_by_itself() {
    let member =
        |id: &str, watts: f64| drawing(g5(id), 1, 75.0, watts).tag("gpucost:workload", "team");
    let audit = audited(&estate(vec![member("i-1", 62.0), member("i-2", 280.0)]));
    let finding = only(&audit, "stalled-gpu");
    assert_eq!(finding.recommendation.to, "i-1");
    assert!(finding.title.starts_with("1 of 2 × g5.xlarge is stalled"));
    let kinds = |audit: &gpucost::analysis::Audit| -> Vec<ActionKind> {
        let actions = audit.workloads[0].actions.iter();
        actions.map(|action| action.kind()).collect()
    };
    assert_eq!(kinds(&audit), [ActionKind::Commit]);
    let bought: u32 = audit.purchases.iter().map(|purchase| purchase.count).sum();
    assert_eq!(bought, 1);
    let both = audited(&estate(vec![member("i-1", 280.0), member("i-2", 280.0)]));
    let bought: u32 = both.purchases.iter().map(|purchase| purchase.count).sum();
    assert_eq!(bought, 2);
}

#[test]
fn nothing_is_bought_where_the_power_of_one_gpu_is_missing_and_the_others_rest() {
    // 98% on each of four; the watts of the first three at the idle draw, or at work.
    let bought = |watts: f64, fourth: bool| {
        let four = drawing(Machine::new("i-1", "g5.12xlarge").cpu(flat(60.0)), 4, 98.0, watts);
        let mut estate = estate(vec![four]);
        let is_fourth = |gpu: Option<u16>| gpu == Some(3);
        estate.metrics.retain(|series| {
            series.metric != Metric::GpuPowerDraw || fourth || !is_fourth(series.gpu)
        });
        audited(&estate).purchases.len()
    };
    assert_eq!((bought(62.0, true), bought(62.0, false)), (0, 0));
    assert_eq!((bought(280.0, true), bought(280.0, false)), (1, 1));
}
