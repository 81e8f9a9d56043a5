//! What the audit says about the demo, against sums done by hand.

use super::DEMO;
use gpucost::analysis::{Audit, AuditedWorkload, audit};
use gpucost::domain::{
    ActionKind, Classification, Confidence, GapSubject, KindBasis, Money, Policy, Risk, UsageState,
    WorkloadKind,
};
use std::collections::BTreeSet;
use std::sync::LazyLock;

static AUDIT: LazyLock<Audit> = LazyLock::new(|| audit(&DEMO, &Policy::default(), Risk::Medium));

fn workload(name: &str) -> &'static AuditedWorkload {
    let mut named = AUDIT.workloads.iter().filter(|w| w.workload.name == name);
    let audited = named.next().expect("a workload of this name");
    assert!(named.next().is_none(), "{name} is one workload");
    audited
}

/// The rules that fired on a workload, in order of id.
fn rules(name: &str) -> BTreeSet<&'static str> {
    let id = workload(name).workload.id();
    let own = AUDIT.findings.iter().filter(|f| f.workload() == id);
    own.map(|finding| finding.rule()).collect()
}

/// The whole plan for a workload as (kind, saving).
fn plan(name: &str) -> Vec<(ActionKind, String)> {
    let actions = workload(name).actions.iter();
    actions.map(|action| (action.kind(), cents(action.monthly_savings()))).collect()
}

fn cents(money: Money) -> String {
    format!("{:.2}", money.amount())
}

fn cost(name: &str) -> String {
    cents(workload(name).workload.monthly_cost().expect("priced"))
}

#[test]
fn every_workload_has_its_verdict() {
    use Classification::{InsufficientData, Overprovisioned, WellUtilized};
    use UsageState::{Idle, IdleHeld, MostlyIdle, Steady};
    let expected = [
        ("experiments", 8, Overprovisioned, Some(Steady)),
        ("chat-serving", 5, Overprovisioned, Some(Steady)),
        // It works in 8 of 168 hours, 4.8%.
        ("nightly-eval", 5, Overprovisioned, Some(MostlyIdle)),
        ("notebook-pavel", 1, Overprovisioned, Some(IdleHeld)),
        ("llm-poc-old", 1, Overprovisioned, Some(Idle)),
        ("video-captioning-2", 1, InsufficientData, None),
        ("speech-prototype", 1, InsufficientData, None),
        ("foundation-pretraining", 1, WellUtilized, Some(Steady)),
    ];
    assert_eq!(AUDIT.workloads.len(), expected.len());
    for (name, instances, classification, state) in expected {
        let row = workload(name);
        assert_eq!(row.workload.instances.len(), instances, "{name}");
        assert_eq!(row.verdict.classification, classification, "{name}");
        assert_eq!(row.verdict.state, state, "{name}");
        let measured = state.map(|_| Confidence::Measured);
        assert_eq!(row.verdict.confidence, measured, "{name}");
    }
}

#[test]
fn every_workload_has_its_kind() {
    use KindBasis::{Declared, Unknown};
    let expected = [
        ("experiments", WorkloadKind::Training, Declared, true),
        ("chat-serving", WorkloadKind::Serving, Declared, false),
        ("nightly-eval", WorkloadKind::Evaluation, Declared, false),
        ("notebook-pavel", WorkloadKind::Development, Declared, false),
        ("llm-poc-old", WorkloadKind::Unknown, Unknown, false),
        ("video-captioning-2", WorkloadKind::Unknown, Unknown, false),
        ("speech-prototype", WorkloadKind::Unknown, Unknown, false),
        ("foundation-pretraining", WorkloadKind::Training, Declared, false),
    ];
    for (name, kind, basis, restartable) in expected {
        let row = &workload(name).workload;
        assert_eq!((row.kind, row.kind_basis), (kind, basis), "{name}");
        assert_eq!(row.restartable, restartable, "{name}");
    }
}

#[test]
fn every_rule_fires_where_it_should_and_nowhere_else() {
    let expected: [(&str, &[&str]); 8] = [
        ("experiments", &["overprovisioned-gpu", "unused-gpus"]),
        ("chat-serving", &["overprovisioned-gpu", "shareable-gpu"]),
        ("nightly-eval", &["off-hours", "overprovisioned-gpu"]),
        ("notebook-pavel", &["idle-held-gpu"]),
        ("llm-poc-old", &["idle-gpu"]),
        ("video-captioning-2", &[]),
        ("speech-prototype", &["stopped-with-storage"]),
        // Four of its GPUs use 34,832 MiB or more of 40,960, above 85%.
        ("foundation-pretraining", &["steady-on-demand", "vram-nearly-full"]),
    ];
    for (name, ids) in expected {
        assert_eq!(rules(name), ids.iter().copied().collect(), "{name}");
    }
    assert!(AUDIT.findings.iter().all(|f| !f.evidence().is_empty()));
}

#[test]
fn running_around_the_clock_costs_730_hours() {
    // Hourly catalog price × instances × 730, rounded to cents.
    let expected = [
        ("experiments", "71481.60"),            // 8 × 12.24
        ("chat-serving", "80145.40"),           // 5 × 16 029.08, each 21.957642 × 730
        ("nightly-eval", "20702.80"),           // 5 × 5.672
        ("notebook-pavel", "1185.52"),          // 1.624
        ("llm-poc-old", "7659.63"),             // 10.49264
        ("video-captioning-2", "3359.17"),      // 4.6016
        ("foundation-pretraining", "16029.08"), // 21.957642
        ("speech-prototype", "343.68"),         // 4296 GiB × 0.08
    ];
    for (name, monthly) in expected {
        assert_eq!(cost(name), monthly, "{name}");
    }
    // 200 563.20 of compute and 343.68 of storage.
    assert_eq!(cents(AUDIT.totals.monthly_cost.expect("priced")), "200906.88");
    assert_eq!(AUDIT.totals.unpriced_instances, 0);
    assert_eq!(AUDIT.totals.instances, 23);
    assert_eq!(AUDIT.totals.stopped_instances, 1);
}

#[test]
fn experiments_move_to_one_gpu_each() {
    // p3 is no longer launched. An L40S has 864 of the V100's 900 GB/s. Each job has one GPU of
    // its machine and 0.087 Gbit/s of traffic, so that the 5 Gbit/s of a g6e.2xlarge carry it:
    // 8 × (12.24 − 2.24208) × 730 = 58 387.8528.
    let saving = "58387.85";
    assert_eq!(plan("experiments")[0], (ActionKind::Rightsize, saving.to_owned()));
    let target = workload("experiments").actions[0].target().expect("it leads to a type");
    assert_eq!((target.instance_type.as_str(), target.count), ("g6e.2xlarge", 8));
    let id = workload("experiments").workload.id();
    for finding in AUDIT.findings.iter().filter(|f| f.workload() == id) {
        let own = finding.monthly_savings.map(cents);
        assert_eq!(own.as_deref(), Some(saving), "{}", finding.rule());
        assert_eq!(finding.recommendation.to, "8 × g6e.2xlarge");
    }
    let unused = AUDIT
        .findings
        .iter()
        .find(|f| f.rule() == "unused-gpus")
        .expect("it fires on the experiments");
    assert_eq!(unused.evidence()[0].observed, 24.0, "3 of 4 on 8 instances");
}

#[test]
fn the_plan_is_what_the_arithmetic_says_line_by_line() {
    use ActionKind::{Commit, Release, Rightsize, Schedule, Share, Spot, Stop};
    let expected: [(&str, &[(ActionKind, &str)]); 8] = [
        // 8 × (12.24 − 2.24208) × 730, then spot at 1.27475 an hour: one
        // interruption a day, a checkpoint of 60 s each sqrt(2 × 60 × 86 400) =
        // 3 220 s, o = 60/3 220 + (1 610 + 300)/86 400 = 0.040740, so that an hour
        // of work costs 1.27475/(1 − 0.040740) = 1.328889:
        // 13 093.7472 − 8 × 1.328889 × 730 = 5 333.04.
        ("experiments", &[(Rightsize, "58387.85"), (Spot, "5333.04")]),
        // Two of 40 models on a card by 3g.20gb slices, 20 cards, 3 × 8 of them:
        // 80 145.40 − 48 087.24. Its part of four reservations in the pool, which
        // save 4 × (21.957642 − 13.921094) × 730 = 23 466.72: 3/4.
        ("chat-serving", &[(Share, "32058.16"), (Commit, "17600.04")]),
        // 160 of 168 hours: 20 702.80 × 160/168.
        ("nightly-eval", &[(Schedule, "19716.95")]),
        ("notebook-pavel", &[(Stop, "1185.52")]),
        ("llm-poc-old", &[(Stop, "7659.63")]),
        ("video-captioning-2", &[]),
        ("speech-prototype", &[(Release, "128.88")]),
        // The other quarter of the pool; nothing else touches the healthy node.
        ("foundation-pretraining", &[(Commit, "5866.68")]),
    ];
    for (name, actions) in expected {
        let actions: Vec<(ActionKind, String)> =
            actions.iter().map(|(kind, saving)| (*kind, (*saving).to_owned())).collect();
        assert_eq!(plan(name), actions, "{name}");
    }
    let [purchase] = &AUDIT.purchases[..] else {
        panic!("one pool: {:?}", AUDIT.purchases);
    };
    assert_eq!((purchase.key.instance_type.as_str(), purchase.count), ("p4d.24xlarge", 4));
    assert_eq!(cents(purchase.monthly_savings), "23466.72");
}

#[test]
fn the_waterfall_leads_from_todays_cost_to_the_planned_one() {
    let steps: Vec<(&str, String)> =
        AUDIT.totals.by_action.iter().map(|(kind, saved)| (kind.name(), cents(*saved))).collect();
    let expected = [
        ("stop", "8845.15"),
        ("release", "128.88"),
        ("schedule", "19716.95"),
        ("rightsize", "58387.85"),
        ("share", "32058.16"),
        ("spot", "5333.04"),
        ("commit", "23466.72"),
    ];
    assert_eq!(steps, expected.map(|(kind, saved)| (kind, saved.to_owned())));
    // 200 906.88 less all of them.
    let planned = AUDIT.totals.planned_monthly_cost.expect("priced");
    assert_eq!(cents(planned), "52970.13");
    assert_eq!(cents(AUDIT.totals.monthly_waste.expect("priced")), "8974.03");
}

#[test]
fn what_is_idle_stops_and_what_is_stopped_releases() {
    let whole = |kind, amount: &str| vec![(kind, amount.to_owned())];
    assert_eq!(plan("notebook-pavel"), whole(ActionKind::Stop, "1185.52"));
    assert_eq!(plan("llm-poc-old"), whole(ActionKind::Stop, "7659.63"));
    assert_eq!(plan("speech-prototype"), whole(ActionKind::Release, "128.88"));
}

#[test]
fn what_is_healthy_is_left_alone_apart_from_a_commitment() {
    let actions = &workload("foundation-pretraining").actions;
    assert!(actions.iter().all(|action| action.kind() == ActionKind::Commit));
}

#[test]
fn a_busy_cpu_never_stands_in_for_the_gpu() {
    let row = workload("video-captioning-2");
    assert_eq!(row.workload.utilization, None);
    assert_eq!(row.actions, vec![]);
    let id = row.workload.id();
    let own: Vec<_> = AUDIT.gaps.iter().filter(|gap| gap.place == id).collect();
    assert_eq!(own.len(), 1, "{own:?}");
    assert_eq!(own[0].what, GapSubject::GpuUtilization);
    // Everything else was seen.
    assert_eq!(AUDIT.gaps.len(), 1, "{:?}", AUDIT.gaps);
}

#[test]
fn savings_are_waste_and_optimization_and_cost_less_plan() {
    let totals = &AUDIT.totals;
    let amount = |sum: Option<Money>| sum.expect("priced").amount();
    let savings = amount(totals.monthly_savings());
    assert_eq!(savings, amount(totals.monthly_waste) + amount(totals.monthly_optimization));
    assert_eq!(savings, amount(totals.monthly_cost) - amount(totals.planned_monthly_cost));
    // 1185.52 + 7659.63 + 4296 × (0.08 − 0.05).
    assert_eq!(totals.monthly_waste.map(cents).as_deref(), Some("8974.03"));
    let rows: rust_decimal::Decimal = AUDIT
        .workloads
        .iter()
        .flat_map(|row| &row.actions)
        .map(|action| action.monthly_savings().amount())
        .sum();
    assert_eq!(rows, savings);
}

#[test]
fn the_funnel_counts_109_gpus() {
    let funnel = AUDIT.funnel;
    // 8 × 4 + 5 × 8 + 5 × 4 + 1 + 4 + 4 + 8.
    assert_eq!(funnel.total_gpus, 109);
    // The four L4 deliver nothing.
    assert_eq!(funnel.unmeasured_gpus, 4);
    // 8 of the experiments, 40 serving, 20 evaluating, 8 training.
    assert_eq!(funnel.active_gpus, 76);
    // And the notebook's, which only holds memory.
    assert_eq!(funnel.allocated_gpus, 77);
}
