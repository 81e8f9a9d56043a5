//! Traps that the figures must not fall into: evidence that does not hold,
//! absence read as a value, order and precision that change a verdict.

use crate::rules::builder::{
    A10G_MIB, Machine, PERIODS, audited, estate, first, flat, g5, judge, last, split,
};
use crate::rules::fixtures::{audit_of, holds, of, silence};
use gpucost::analysis::audit;
use gpucost::domain::{
    Address, Classification, Confidence, GapSubject, InstanceState, Metric, Money, Policy, Risk,
    Statistic,
};

#[test]
fn saturated_hours_under_a_low_mean_are_no_evidence_of_a_low_p95() {
    let machine =
        g5("i-1").gpu(0, split(PERIODS * 12 / 100, 100.0, 0.0)).vram(0, 9_211.2, A10G_MIB);
    let judged = judge(machine);
    let finding = judged.finding("overprovisioned-gpu").expect("a finding");
    for evidence in finding.evidence() {
        assert!(holds(evidence), "{evidence:?}");
    }
}

#[test]
fn commitment_evidence_holds_for_instances_of_different_age() {
    let old = Machine::new("i-a", "g5.xlarge")
        .tag("gpucost:workload", "x")
        .cpu(first(PERIODS / 2, 5.0))
        .gpu(0, first(PERIODS / 2, 70.0));
    let young = Machine::new("i-b", "g5.xlarge")
        .tag("gpucost:workload", "x")
        .launched_hours_ago(24)
        .cpu(last(288, 5.0))
        .gpu(0, last(288, 70.0));
    let audit = audited(&estate(vec![old, young]));
    for finding in of(&audit, "steady-on-demand") {
        assert!(holds(&finding.evidence()[0]), "{finding:?}");
    }
}

#[test]
fn power_of_two_days_calls_nothing_idle() {
    let judged = judge(
        Machine::new("i-1", "g5.xlarge")
            .launched_hours_ago(48)
            .cpu(last(576, 5.0))
            .power(last(576, 19.0)),
    );
    assert_eq!(judged.finding("idle-gpu"), None);
}

#[test]
fn evidence_of_an_address_alone_holds() {
    let mut machine = Machine::new("i-1", "g5.xlarge");
    machine.instance.state = InstanceState::Stopped;
    machine.instance.addresses.push(Address { id: "eipalloc-1".to_owned() });
    let judged = judge(machine);
    let finding = judged.finding("stopped-with-storage").expect("a finding");
    assert!(holds(&finding.evidence()[0]), "{:?}", finding.evidence());
}

#[test]
fn storage_of_unknown_size_is_a_gap_and_no_finding_of_zero_gib() {
    let audit = audit_of("stopped-with-storage", "missing");
    for finding in of(&audit, "stopped-with-storage") {
        assert!(holds(&finding.evidence()[0]), "{}", finding.title);
    }
}

#[test]
fn an_unknown_cpu_need_names_no_smaller_type() {
    let judged =
        judge(Machine::new("i-1", "g5.16xlarge").gpu(0, flat(12.0)).vram(0, 1_000.0, A10G_MIB));
    assert_eq!(judged.actions(), []);
}

#[test]
fn at_low_risk_unmeasured_host_memory_stays() {
    let machine = Machine::new("i-1", "g5.16xlarge")
        .cpu(flat(5.0))
        .gpu(0, flat(12.0))
        .vram(0, 1_000.0, A10G_MIB);
    let audit = audit(&estate(vec![machine]), &Policy::default(), Risk::Low);
    assert_eq!(audit.workloads[0].actions, []);
}

#[test]
fn decimal_readings_stay_exact() {
    let halves = judge(g5("i-1").gpu(0, split(PERIODS / 2, 9.7, 40.3)));
    assert_eq!(halves.verdict(), "underutilized/steady");
    let observed = |percent: f64| {
        let judged = judge(g5("i-1").gpu(0, flat(percent)));
        judged.finding("overprovisioned-gpu").expect("a finding").evidence()[0].observed
    };
    assert!((observed(24.99) - 24.99).abs() < 1e-9, "{}", observed(24.99));
}

#[test]
fn the_order_of_series_with_decimals_changes_nothing() {
    let machine =
        (0..4).fold(Machine::new("i-1", "g5.12xlarge").cpu(flat(5.0)), |machine, index| {
            machine.gpu(index, move |period| {
                Some(f64::from((period * 37 + u32::from(index) * 613) % 1_000) / 10.0)
            })
        });
    let fleet = estate(vec![machine]);
    let mut reversed = fleet.clone();
    reversed.metrics.reverse();
    assert!(audited(&fleet) == audited(&reversed));
}

#[test]
fn a_guessed_kind_is_a_heuristic_and_a_declared_one_derived() {
    let serving = |name: &str, value: &str| {
        let machine = g5("i-1").tag(name, value).gpu(0, flat(92.0)).vram(0, 9_211.2, A10G_MIB);
        let judged = judge(machine);
        judged.finding("saturated-gpu").expect("a finding").confidence
    };
    assert_eq!(serving("Name", "chat-serving"), Confidence::Heuristic);
    assert_eq!(serving("gpucost:kind", "serving"), Confidence::Derived);
}

#[test]
fn two_series_of_one_gpu_are_one_gpu() {
    // One of four GPUs reports, twice: less than half of them.
    let machine =
        Machine::new("i-1", "g5.12xlarge").cpu(flat(5.0)).gpu(0, flat(80.0)).gpu(0, flat(80.0));
    assert_eq!(judge(machine).verdict(), "insufficient-data/-");
}

#[test]
fn gpus_that_report_nothing_are_not_idle() {
    let machine = (0..2)
        .fold(Machine::new("i-1", "g5.12xlarge").cpu(flat(90.0)), |machine, index| {
            machine.gpu(index, flat(0.0)).vram(index, 3.0, A10G_MIB)
        });
    assert_eq!(judge(machine).actions(), []);
}

#[test]
fn the_gap_about_maxima_names_the_idle_rules() {
    let machine = g5("i-1")
        .series(Metric::GpuUtilization, Statistic::Average, Some(0), flat(0.0))
        .vram(0, 460.56, A10G_MIB);
    let audit = audited(&estate(vec![machine]));
    for rule in ["idle-gpu", "idle-held-gpu"] {
        silence(&audit, "GPU utilization maxima", rule);
    }
}

#[test]
fn the_gap_about_memory_names_the_idle_rule_too() {
    let audit = audit_of("idle-held-gpu", "missing");
    silence(&audit, "VRAM use", "idle-gpu");
}

#[test]
fn gpus_of_unknown_allocation_are_counted_as_such() {
    let machine = (1..4).fold(
        Machine::new("i-1", "g5.12xlarge").cpu(flat(5.0)).gpu(0, flat(40.0)),
        |machine, gpu| machine.gpu(gpu, flat(0.0)),
    );
    let funnel = audited(&estate(vec![machine.vram(1, 3.0, A10G_MIB)])).funnel;
    assert_eq!(funnel.total_gpus, 4);
    // GPU 0 works, GPU 1 is empty, of 2 and 3 only idleness is known.
    assert_eq!(funnel.allocated_gpus, 1);
    assert_eq!(funnel.unknown_allocation_gpus, 2);
}

#[test]
fn sums_without_any_price_are_absent_and_not_zero() {
    let unpriced = |id: &str| {
        let mut machine = g5(id).gpu(0, flat(70.0)).vram(0, 9_211.2, A10G_MIB);
        machine.instance.region = "mars-1".to_owned();
        machine
    };
    let totals = audited(&estate(vec![unpriced("i-1")])).totals;
    assert_eq!(totals.monthly_cost, None);
    assert_eq!(totals.planned_monthly_cost, None);
    assert_eq!(totals.monthly_savings(), None);
    assert_eq!(totals.savings_percent(), None);
    let well = Classification::WellUtilized;
    assert_eq!(totals.by_classification[&well].monthly_cost, None);
    assert_eq!(totals.unpriced_instances, 1);

    // A price elsewhere gives the sum a value, and leaves the class without.
    let idle = g5("i-2").gpu(0, flat(0.0)).vram(0, 3.0, A10G_MIB);
    let totals = audited(&estate(vec![unpriced("i-1"), idle])).totals;
    let amount = |sum: Option<Money>| sum.map(|sum| sum.amount().to_string());
    assert_eq!(amount(totals.monthly_cost).as_deref(), Some("734.38"));
    assert_eq!(amount(totals.monthly_waste).as_deref(), Some("734.38"));
    assert_eq!(totals.by_classification[&well].monthly_cost, None);

    // Nothing at all costs nothing.
    let nothing = audited(&estate(Vec::new())).totals;
    assert_eq!(amount(nothing.monthly_cost).as_deref(), Some("0"));
}

#[test]
fn running_workloads_are_summed_apart_from_stopped_ones() {
    // Unmeasured and unpriced beside stopped and free: both lack data, and what
    // the running one costs is unknown.
    let mut running = Machine::new("i-1", "g5.xlarge").cpu(flat(5.0));
    running.instance.region = "mars-1".to_owned();
    let mut stopped = Machine::new("i-2", "g5.xlarge");
    stopped.instance.state = InstanceState::Stopped;
    let totals = audited(&estate(vec![running, stopped])).totals;
    let class = Classification::InsufficientData;
    assert_eq!(totals.running_by_classification[&class].monthly_cost, None);
    let free = totals.stopped.monthly_cost.expect("known");
    assert!(free.amount().is_zero());
    assert_eq!(totals.by_classification[&class].workloads, 2);
}

#[test]
fn an_unpriced_workload_is_one_gap_with_a_hint_that_applies() {
    let in_region = |mut machine: Machine| {
        machine.instance.region = "mars-1".to_owned();
        machine
    };
    let busy = || g5("i-1").gpu(0, flat(70.0)).vram(0, 9_211.2, A10G_MIB);
    for (machine, silences) in [
        (in_region(busy()), true),
        // No utilization, so that the price is not what silences the rule.
        (in_region(g5("i-1")), false),
        (in_region(busy().tag("gpucost:ignore", "demo")), false),
    ] {
        let audit = audited(&estate(vec![machine]));
        let prices: Vec<_> = audit.gaps.iter().filter(|g| g.what == GapSubject::Price).collect();
        let [gap] = prices.as_slice() else {
            panic!("one gap: {prices:?}");
        };
        let reason = "no price for g5.xlarge mars-1 linux shared on-demand: unpriced";
        let silent = if silences { "; silent: off-hours, steady-on-demand" } else { "" };
        assert_eq!(gap.reason, format!("{reason}{silent}"));
        // The estate was recorded: nobody can be asked any more.
        assert!(!gap.hint.contains("--offline"), "{}", gap.hint);
    }
}
