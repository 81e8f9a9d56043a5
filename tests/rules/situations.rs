//! What each rule says about the three situations made for it. The figures are
//! computed by hand from the bundled prices of us-east-1.

use crate::rules::builder::{A10G_MIB, Machine, audited, estate, flat, judge};
use crate::rules::fixtures::{audit_of, decimal, dollars, holds, of, only, rule_ids, silence};
use gpucost::analysis::Audit;
use gpucost::domain::{
    ActionKind, Comparator, Confidence, Finding, FindingKind, GapSubject, Money, Severity,
};
use rust_decimal::Decimal;

/// What the decisive evidence must say.
struct Decisive {
    observed: f64,
    comparator: Comparator,
    threshold: f64,
    unit: &'static str,
}

fn assert_decisive(finding: &Finding, expected: &Decisive) {
    let decisive = &finding.evidence()[0];
    assert!(
        (decisive.observed - expected.observed).abs() < 1e-9,
        "observed {} instead of {}",
        decisive.observed,
        expected.observed
    );
    assert_eq!(decisive.comparator, expected.comparator);
    assert!(
        (decisive.threshold - expected.threshold).abs() < 1e-9,
        "threshold {} instead of {}",
        decisive.threshold,
        expected.threshold
    );
    assert_eq!(decisive.unit, expected.unit);
}

/// The observed percentage of each further evidence, rounded to hundredths.
fn further(finding: &Finding) -> Vec<f64> {
    finding.evidence()[1..]
        .iter()
        .map(|evidence| (evidence.observed * 100.0).round() / 100.0)
        .collect()
}

fn total(sum: Option<Money>) -> Option<Decimal> {
    sum.map(Money::amount)
}

/// The kinds of all planned actions.
fn planned(audit: &Audit) -> Vec<ActionKind> {
    audit
        .workloads
        .iter()
        .flat_map(|workload| &workload.actions)
        .map(|action| action.kind())
        .collect()
}

#[test]
fn idle_gpu_fires_and_saves_the_whole_month() {
    let audit = audit_of("idle-gpu", "fires");
    let finding = only(&audit, "idle-gpu");
    assert_decisive(
        finding,
        &Decisive { observed: 0.0, comparator: Comparator::LessThan, threshold: 1.0, unit: "%" },
    );
    // VRAM of the fullest card: 460 of 46 068 MiB.
    assert_eq!(further(finding), [1.0]);
    // g6e.12xlarge: 10.49264 × 730 = 7 659.6272.
    assert_eq!(dollars(finding), Some(decimal("7659.63")));
    assert_eq!(finding.kind, FindingKind::Waste);
    assert_eq!(finding.confidence, Confidence::Measured);
    assert_eq!(planned(&audit), [ActionKind::Stop]);
    assert_eq!(total(audit.totals.monthly_waste), Some(decimal("7659.63")));
}

#[test]
fn idle_held_gpu_fires_and_names_the_memory() {
    let audit = audit_of("idle-held-gpu", "fires");
    let finding = only(&audit, "idle-held-gpu");
    assert_decisive(
        finding,
        &Decisive { observed: 0.0, comparator: Comparator::LessThan, threshold: 1.0, unit: "%" },
    );
    // 23 034 of 46 068 MiB.
    assert_eq!(further(finding), [50.0]);
    assert_eq!(finding.evidence()[1].threshold, 5.0);
    // g6e.xlarge: 1.861 × 730.
    assert_eq!(dollars(finding), Some(decimal("1358.53")));
    assert_eq!(finding.kind, FindingKind::Waste);
    assert_eq!(planned(&audit), [ActionKind::Stop]);
}

#[test]
fn overprovisioned_gpu_fires_and_names_the_smaller_type() {
    let audit = audit_of("overprovisioned-gpu", "fires");
    let finding = only(&audit, "overprovisioned-gpu");
    assert_decisive(
        finding,
        &Decisive { observed: 12.0, comparator: Comparator::LessThan, threshold: 25.0, unit: "%" },
    );
    // The peak of 10 240 MiB × 1.2 = 12 288 fits an L4, and half of one not. vCPU:
    // 5% of 64 × 1.2 = 3.84. Host memory: 2 × 12 288 + 8 192 = 32 768 MiB, what
    // a g6.2xlarge has and a g6.xlarge has not. 12% at 600 GB/s are 24% at the
    // 300 of an L4. (4.096 − 0.9776) × 730 = 2 276.432.
    assert_eq!(finding.recommendation.to, "1 × g6.2xlarge");
    assert_eq!(finding.recommendation.action, "right-size to L4 GPUs");
    assert_eq!(dollars(finding), Some(decimal("2276.43")));
    assert_eq!(finding.kind, FindingKind::Optimization);
    // Brought to its size, it may be committed to.
    assert_eq!(planned(&audit), [ActionKind::Rightsize, ActionKind::Commit]);
    assert_eq!(total(audit.totals.monthly_waste), Some(decimal("0")));
}

#[test]
fn a_mebibyte_more_of_vram_needs_the_next_size() {
    // 10 241 × 1.2 × 2 + 8 192 = 32 770.4 MiB of host memory, more than the
    // 32 768 of a g6.2xlarge. To a g6.4xlarge: (4.096 − 1.3232) × 730.
    let judged = judge(
        Machine::new("i-1", "g5.16xlarge")
            .cpu(flat(5.0))
            .gpu(0, flat(12.0))
            .vram(0, 10_241.0, A10G_MIB),
    );
    let finding = judged.finding("overprovisioned-gpu").expect("a finding");
    assert_eq!(finding.recommendation.to, "1 × g6.4xlarge");
    assert_eq!(dollars(finding), Some(decimal("2024.14")));
}

#[test]
fn a_smaller_type_offers_the_vcpus_in_use_with_headroom() {
    // 64 vCPUs × 1.2: 20% are 15.36, which the 16 of a g6.4xlarge offer; 21%
    // are 16.128, which take a g6.8xlarge. Half an L4 in a g6f.4xlarge would take a
    // request 600 / 150 = 4 times as long, maximum which nobody said may be.
    let moved = |cpu_percent: f64| {
        let judged = judge(
            Machine::new("i-1", "g5.16xlarge")
                .cpu(flat(cpu_percent))
                .gpu(0, flat(12.0))
                .vram(0, 1_000.0, A10G_MIB),
        );
        let finding = judged.finding("overprovisioned-gpu").expect("a finding");
        finding.recommendation.to.clone()
    };
    assert_eq!(moved(20.0), "1 × g6.4xlarge");
    assert_eq!(moved(21.0), "1 × g6.8xlarge");
}

#[test]
fn a_smaller_type_offers_the_gpus_that_are_ever_active() {
    let machine =
        (0..8).fold(Machine::new("i-1", "g5.48xlarge").cpu(flat(5.0)), |machine, index| {
            let level = if index < 2 { 80.0 } else { 0.0 };
            machine.gpu(index, flat(level)).vram(index, 10.0 * level, A10G_MIB)
        });
    let judged = judge(machine);
    let finding = judged.finding("unused-gpus").expect("a finding");
    assert_eq!(finding.evidence()[0].observed, 6.0);
    // Two of eight need a type of four: (16.288 − 5.672) × 730.
    assert_eq!(finding.recommendation.to, "1 × g5.12xlarge");
    assert_eq!(dollars(finding), Some(decimal("7749.68")));
}

#[test]
fn saturated_gpu_fires_and_promises_no_dollars() {
    let audit = audit_of("saturated-gpu", "fires");
    let finding = only(&audit, "saturated-gpu");
    assert_decisive(
        finding,
        &Decisive {
            observed: 92.0,
            comparator: Comparator::GreaterThan,
            threshold: 85.0,
            unit: "%",
        },
    );
    assert_eq!(dollars(finding), None);
    assert_eq!(finding.kind, FindingKind::Risk);
}

#[test]
fn steady_on_demand_fires_above_break_even() {
    let audit = audit_of("steady-on-demand", "fires");
    let finding = only(&audit, "steady-on-demand");
    // One year, no upfront: 0.63378 instead of 1.006 an hour, so that it breaks
    // even at 0.63378 / 1.006 = 63% of the hours.
    assert_decisive(
        finding,
        &Decisive {
            observed: 100.0,
            comparator: Comparator::GreaterThan,
            threshold: 63.0,
            unit: "%",
        },
    );
    // (1.006 − 0.63378) × 730 = 271.7206.
    assert_eq!(dollars(finding), Some(decimal("271.72")));
    assert_eq!(finding.kind, FindingKind::Optimization);
    // A modelled year is never more than derived.
    assert_eq!(finding.confidence, Confidence::Derived);
    assert_eq!(planned(&audit), [ActionKind::Commit]);
}

#[test]
fn a_commitment_covers_every_instance_of_the_workload() {
    let replica = |id: &str| {
        Machine::new(id, "g5.xlarge")
            .tag("gpucost:workload", "encoder")
            .cpu(flat(30.0))
            .gpu(0, flat(75.0))
            .vram(0, 12_000.0, A10G_MIB)
    };
    let audit = audited(&estate(vec![replica("i-1"), replica("i-2")]));
    let finding = only(&audit, "steady-on-demand");
    // 2 × (734.38 − 462.6594).
    assert_eq!(dollars(finding), Some(decimal("543.44")));
}

#[test]
fn a_commitment_saves_the_same_cents_as_its_action_in_the_plan() {
    let replica = |number: u32| {
        Machine::new(&format!("i-{number}"), "g6.xlarge")
            .tag("gpucost:workload", "encoder")
            .cpu(flat(30.0))
            .gpu(0, flat(75.0))
            .vram(0, 20_000.0, 23_034.0)
    };
    let audit = audited(&estate((1..=6).map(replica).collect()));
    // 6 × (0.8048 − 0.52392) × 730 = 1 230.2544; 6 × (587.50 − 382.46) would be 1 230.24.
    let saved = Some(decimal("1230.25"));
    assert_eq!(dollars(only(&audit, "steady-on-demand")), saved);
    let [action] = audit.workloads[0].actions.as_slice() else {
        panic!("{:?}", audit.workloads[0].actions);
    };
    assert_eq!(action.kind(), ActionKind::Commit);
    assert_eq!(Some(action.monthly_savings().amount()), saved);
}

#[test]
fn off_hours_fires_and_saves_the_share_of_the_week() {
    let audit = audit_of("off-hours", "fires");
    let finding = only(&audit, "off-hours");
    // 168 hours less ten on each of five days.
    assert_decisive(
        finding,
        &Decisive { observed: 118.0, comparator: Comparator::AtLeast, threshold: 2.0, unit: "h" },
    );
    assert_eq!(further(finding), [0.0], "largest maximum in these hours");
    assert_eq!(
        finding.recommendation.to,
        "off Mon 18:00–Tue 08:00, Tue 18:00–Wed 08:00, Wed 18:00–Thu 08:00, \
         Thu 18:00–Fri 08:00, Fri 18:00–Mon 08:00"
    );
    // 1.006 × 730 = 734.38, × 118 / 168 = 515.8145…
    assert_eq!(dollars(finding), Some(decimal("515.81")));
    assert_eq!(finding.kind, FindingKind::Optimization);
    assert_eq!(finding.confidence, Confidence::Derived);
    let steps = &finding.recommendation.steps;
    let says = |words: &str| steps.iter().any(|step| step.contains(words));
    assert!(says("time zone UTC"), "{steps:?}");
    assert!(says("instance store"), "{steps:?}");
}

#[test]
fn shareable_gpu_fires_and_frees_an_instance() {
    let audit = audit_of("shareable-gpu", "fires");
    let finding = only(&audit, "shareable-gpu");
    // 24 tenants of 12 GiB and 20% × 7 / 3 = 46.7%, two a card: 12 cards on two machines, which
    // is what a service keeps.
    assert_decisive(
        finding,
        &Decisive {
            observed: 12.0,
            comparator: Comparator::LessThan,
            threshold: 24.0,
            unit: "GPUs",
        },
    );
    assert_eq!(further(finding), [40.0], "two p95 on a card");
    assert_eq!(finding.recommendation.to, "2 × p4d.24xlarge");
    // 21.957642 × 730 = 16 029.07866, twice 32 058.15732: 3 × 16 029.08 − 32 058.16.
    assert_eq!(dollars(finding), Some(decimal("16029.08")));
    assert_eq!(finding.confidence, Confidence::Derived);
    let steps = &finding.recommendation.steps;
    assert!(
        steps.iter().any(|step| step.contains("24 × 3g.20gb, at most 2 per card")),
        "{steps:?}"
    );
}

#[test]
fn stopped_with_storage_fires_and_adds_up_what_stands() {
    let audit = audit_of("stopped-with-storage", "fires");
    let finding = only(&audit, "stopped-with-storage");
    assert_decisive(
        finding,
        &Decisive {
            // Two volumes and an address.
            observed: 3.0,
            comparator: Comparator::AtLeast,
            threshold: 1.0,
            unit: "resources",
        },
    );
    assert_eq!(finding.evidence()[1].observed, 600.0);
    // 500 × 0.08 + 100 × 0.10 + 730 × 0.005 = 40 + 10 + 3.65, of which snapshots of 600 GiB
    // take at most 600 × 0.05 = 30.00.
    assert_eq!(dollars(finding), Some(decimal("23.65")));
    assert_eq!(finding.kind, FindingKind::Waste);
    assert_eq!(finding.confidence, Confidence::Measured);
    assert_eq!(planned(&audit), [ActionKind::Release]);
    assert_eq!(total(audit.totals.monthly_cost), Some(decimal("53.65")));
    assert_eq!(total(audit.totals.planned_monthly_cost), Some(decimal("30.00")));
    assert_eq!(total(audit.totals.monthly_waste), Some(decimal("23.65")));
    assert_eq!(total(audit.totals.monthly_optimization), Some(decimal("0")));
    let action = &audit.workloads[0].actions[0];
    assert_eq!(total(action.snapshots()), Some(decimal("30.00")));
    let caveats = &finding.recommendation.caveats;
    assert!(caveats[0].contains("net of $30.00 per month"), "{caveats:?}");
    assert_eq!(action.caveats(), caveats);
}

#[test]
fn underutilized_gpu_fires_between_its_two_borders() {
    let audit = audit_of("underutilized-gpu", "fires");
    let finding = only(&audit, "underutilized-gpu");
    assert_decisive(
        finding,
        &Decisive { observed: 40.0, comparator: Comparator::LessThan, threshold: 60.0, unit: "%" },
    );
    assert_eq!(further(finding), [40.0]);
    assert_eq!(finding.evidence()[1].threshold, 25.0);
    // 8 192 MiB × 1.2 = 9 830 fit the 11 444 of half an L4, and 40% of a whole
    // one are 80% of it, as much as may be. Host memory: 2 × 9 830.4 + 8 192 =
    // 27 853 of 65 536 MiB. (2.0144 − 0.95) × 730 = 777.012 are more than the
    // (2.0144 − 0.9776) × 730 = 756.864 of a g6.2xlarge, for which reserved instances are
    // sold: at about 63% of 0.9776 it costs less in the end.
    assert_eq!(finding.recommendation.to, "1 × g6.2xlarge");
    assert_eq!(dollars(finding), Some(decimal("756.86")));
}

#[test]
fn unused_gpus_fires_and_counts_them() {
    let audit = audit_of("unused-gpus", "fires");
    let finding = only(&audit, "unused-gpus");
    assert_decisive(
        finding,
        &Decisive { observed: 3.0, comparator: Comparator::AtLeast, threshold: 1.0, unit: "GPUs" },
    );
    assert_eq!(further(finding), [0.0], "largest p99 of the unused");
    // p3 is no longer launched. An L40S at 864 GB/s would be 80 × 900 / 864 =
    // 83% busy, too much for what may be a service; an RTX PRO 6000 is next:
    // (12.24 − 3.36312) × 730 = 6 480.1224.
    assert_eq!(finding.recommendation.to, "1 × g7e.2xlarge");
    assert_eq!(finding.recommendation.action, "right-size to RTX PRO 6000 GPUs");
    assert_eq!(dollars(finding), Some(decimal("6480.12")));
    assert_eq!(audit.funnel.total_gpus, 4);
    assert_eq!(audit.funnel.active_gpus, 1);
}

#[test]
fn unreserved_gpus_fires_and_states_a_share_that_is_no_saving() {
    let audit = audit_of("unreserved-gpus", "fires");
    let finding = only(&audit, "unreserved-gpus");
    // Two instances of four GPUs, of which two are reserved.
    assert_decisive(
        finding,
        &Decisive {
            observed: 6.0,
            comparator: Comparator::GreaterThan,
            threshold: 0.0,
            unit: "GPUs",
        },
    );
    assert_eq!(further(finding), [8.0, 2.0]);
    // 2 × 7 × 730 = 10,220, of which 6 of 8 are 7,665.
    assert_eq!(
        finding.title,
        "no inference component reserves 6 of the 8 GPUs of 2 × ml.g5.12xlarge-hosting: \
         USD 7665.00 per month"
    );
    assert_eq!(dollars(finding), None);
    assert_eq!(finding.kind, FindingKind::Optimization);
    assert_eq!(finding.confidence, Confidence::Derived);
    let [reserved, needed] = finding.recommendation.steps.as_slice() else {
        panic!("{:?}", finding.recommendation.steps);
    };
    assert_eq!(reserved, "reserved are guard (1 GPU), llama (1 GPU)");
    // Two GPUs are on one instance of four.
    assert!(needed.contains("at least 1 of the 2 instances"), "{needed}");
    // No dollar of it is in the plan.
    assert_eq!(planned(&audit), []);
}

#[test]
fn what_fires_has_evidence_that_holds_and_the_severity_of_its_rule() {
    for rule in gpucost::rules::RULES {
        let meta = rule.meta();
        let audit = audit_of(meta.id, "fires");
        let finding = only(&audit, meta.id);
        assert_eq!(finding.severity, meta.severity, "{}", meta.id);
        for evidence in finding.evidence() {
            assert!(holds(evidence), "{}: {evidence:?}", meta.id);
        }
        assert!(!finding.recommendation.steps.is_empty(), "{}", meta.id);
    }
    assert_eq!(only(&audit_of("idle-gpu", "fires"), "idle-gpu").severity, Severity::Critical);
}

#[test]
fn near_misses_fool_no_rule() {
    for id in rule_ids() {
        let audit = audit_of(id, "quiet");
        assert_eq!(of(&audit, id), Vec::<&Finding>::new(), "{id}");
    }
}

#[test]
fn a_rule_without_its_data_is_silent_and_says_so() {
    // What is missing, and what the gap gives as the reason.
    let expected = [
        ("growing-vram", "VRAM use", "not reported"),
        ("hot-gpu", "gpu_temperature", "not reported"),
        ("idle-gpu", "GPU utilization", "no GPU metric was reported"),
        ("idle-held-gpu", "VRAM use", "not reported"),
        // 1 612 of 4 032 samples are 39.98%.
        ("off-hours", "hourly GPU utilization maxima", "not reported"),
        ("overprovisioned-gpu", "GPU utilization", "coverage 39%"),
        ("power-near-limit", "gpu_power_draw", "not reported"),
        ("saturated-gpu", "GPU utilization", "no utilization of a whole"),
        ("shareable-gpu", "VRAM use", "not reported"),
        ("stalled-gpu", "gpu_sm_activity", "not reported"),
        ("steady-on-demand", "price", "no price for"),
        ("underutilized-gpu", "GPU utilization", "29.0 h of samples"),
        ("unreserved-gpus", "price", "no price for"),
        ("unused-gpus", "utilization per GPU", "not reported"),
        ("vram-nearly-full", "VRAM use", "not reported"),
    ];
    for (id, what, reason) in expected {
        let audit = audit_of(id, "missing");
        assert_eq!(of(&audit, id), Vec::<&Finding>::new(), "{id}");
        let gap = silence(&audit, what, id);
        assert!(gap.reason.contains(reason), "{id}: {}", gap.reason);
        assert_eq!(gap.place, audit.workloads[0].workload.id(), "{id}");
        assert!(!gap.hint.is_empty(), "{id}");
    }
}

#[test]
fn storage_of_unknown_size_has_no_dollars_and_is_named() {
    let audit = audit_of("stopped-with-storage", "missing");
    for finding in of(&audit, "stopped-with-storage") {
        assert_eq!(dollars(finding), None);
    }
    assert_eq!(planned(&audit), []);
    assert_eq!(total(audit.totals.monthly_waste), None, "not known to be 0");
    assert_eq!(audit.totals.unpriced_instances, 1);
    let gap = audit.gaps.iter().find(|gap| gap.what == GapSubject::StoragePrice).expect("a gap");
    assert!(gap.reason.contains("vol-unread"), "{}", gap.reason);
    assert!(gap.reason.contains("no price for"), "{}", gap.reason);
}
