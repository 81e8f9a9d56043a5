//! A plan that is made again without some actions is the plan of an audit whose policy
//! rejects them.

use crate::rules::builder::{Machine, estate, flat};
use crate::rules::fixtures::root;
use crate::rules::properties::{fleet, machines};
use gpucost::analysis::{Audit, audit, audit_to_choose};
use gpucost::domain::{ActionKind, Money, Policy, RejectedAction, Risk};
use gpucost::savings::{RejectedKinds, SkipReason};
use gpucost::sources::files::{Keep, read_estate};
use gpucost::usage::Estate;
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// The actions of a plan, by workload.
fn actions(audit: &Audit) -> Vec<(String, ActionKind)> {
    let workloads = audit.workloads.iter();
    let pairs = workloads.flat_map(|workload| {
        let id = workload.workload.id();
        let actions = workload.actions.iter();
        actions.map(move |action| (id.clone(), action.kind()))
    });
    pairs.collect()
}

/// Rejects actions of the whole plan, one in `step` from one on, and holds the plan that is made again against
/// an audit from the start.
fn holds(estate: &Estate, accepted: Risk, (from, step): (usize, usize)) {
    let (mut again, choices) = audit_to_choose(estate, &Policy::default(), accepted);
    let whole = audit(estate, &Policy::default(), accepted);
    assert_eq!(again, whole, "nothing is rejected yet");
    let chosen: Vec<(String, ActionKind)> =
        actions(&whole).into_iter().skip(from).step_by(step).collect();
    let mut kinds = RejectedKinds::new();
    for (id, kind) in &chosen {
        kinds.entry(id.clone()).or_default().insert(*kind);
    }
    let rejected = chosen.iter().map(|(id, kind)| RejectedAction {
        workload: id.clone(),
        action: *kind,
        reason: "a test".to_owned(),
    });
    let policy = Policy { rejected: rejected.collect(), ..Policy::default() };
    let expected = audit(estate, &policy, accepted);
    again.replan(&choices, &kinds);
    assert_eq!(again.totals, expected.totals);
    assert_eq!(again.plan_risk, expected.plan_risk);
    assert_eq!(again.purchases, expected.purchases);
    for (evaluation, wanted) in again.workloads.iter().zip(&expected.workloads) {
        let id = evaluation.workload.id();
        assert_eq!(evaluation.actions, wanted.actions, "{id}");
        assert_eq!(evaluation.skipped, wanted.skipped, "{id}");
        let rejected = kinds.get(&id).cloned().unwrap_or_default();
        let mut left = evaluation.actions.iter().map(|action| action.kind());
        assert!(left.all(|kind| !rejected.contains(&kind)), "{id}");
        // What is off stays in sight, unless another level of risk offers it no more.
        let off = evaluation.skipped.iter().filter(|(_, why)| **why == SkipReason::Rejected);
        let off: BTreeSet<ActionKind> = off.map(|(kind, _)| *kind).collect();
        assert!(off.is_subset(&rejected), "{id}");
        if again.plan_risk == whole.plan_risk {
            assert_eq!(off, rejected, "{id}");
        }
        // Rows add up: cost, less what each action saves.
        if let (Some(cost), Some(planned)) =
            (evaluation.workload.monthly_cost(), evaluation.planned_monthly_cost())
        {
            let saved = evaluation.actions.iter().map(|action| action.monthly_savings().amount());
            assert_eq!(cost.amount() - saved.sum::<Decimal>(), planned.amount(), "{id}");
        }
    }
    again.replan(&choices, &RejectedKinds::new());
    assert_eq!(again, whole, "everything is on again");
}

#[test]
fn the_demo_without_some_actions_is_planned_as_under_a_policy_that_rejects_them() {
    let demo = root().join("fixtures/demo/estate.json.gz");
    let demo = read_estate(&demo, Keep::Usage).expect("the demo");
    for accepted in [Risk::Low, Risk::Medium, Risk::High] {
        let number = actions(&audit(&demo, &Policy::default(), accepted)).len();
        assert!(number > 0, "{accepted}: {number}");
        for from in 0..number {
            holds(&demo, accepted, (from, number));
        }
        holds(&demo, accepted, (0, 1));
        holds(&demo, accepted, (1, 2));
    }
}

/// A batch job on a g4dn.2xlarge around the clock: 0.752 × 730 = 548.96. Its GPU works at 15%,
/// and 3,000 MiB × 1.2 = 3,600 of its memory are needed.
fn oversized() -> Estate {
    let machine = Machine::new("i-1", "g4dn.2xlarge")
        .tag("gpucost:kind", "batch")
        .cpu(flat(20.0))
        .gpu(0, flat(15.0))
        .vram(0, 3_000.0, 15_360.0);
    estate(vec![machine])
}

#[test]
fn the_cheapest_resize_gives_way_to_one_that_a_commitment_makes_cheaper() {
    let plan = |rejected: &[ActionKind]| {
        let rejected = rejected.iter().map(|kind| RejectedAction {
            workload: "i-1".to_owned(),
            action: *kind,
            reason: "a test".to_owned(),
        });
        let policy = Policy { rejected: rejected.collect(), ..Policy::default() };
        let report = audit(&oversized(), &policy, Risk::Medium);
        let money = |money: Option<Money>| money.expect("priced").amount().to_string();
        let (today, planned) =
            (money(report.totals.monthly_cost), money(report.totals.planned_monthly_cost));
        let actions = report.workloads[0].actions.iter().map(|action| {
            let to = action.target().map(|to| to.instance_type.clone());
            (action.kind(), to, money(Some(action.monthly_savings())))
        });
        (today, actions.collect::<Vec<_>>(), planned)
    };
    let (resize, commit) = (ActionKind::Rightsize, ActionKind::Commit);
    let to = |name: &str| Some(name.to_owned());
    // A quarter of an L4 is 0.475 × 730 = 346.75, and nobody sells reservations of it.
    let saved = "202.21".to_owned();
    let alone =
        ("548.96".to_owned(), vec![(resize, to("g6f.2xlarge"), saved)], "346.75".to_owned());
    assert_eq!(plan(&[commit]), alone);
    // A g4dn.xlarge is 0.526 × 730 = 383.98, which saves 164.98; reserved for a year it is
    // 0.331 × 730 = 241.63, which saves 142.35 more.
    let (today, actions, planned) = plan(&[]);
    assert_eq!((today.as_str(), planned.as_str()), ("548.96", "241.63"));
    let [(first, target, moved), (second, _, bought)] = actions.as_slice() else {
        panic!("two actions: {actions:?}");
    };
    assert_eq!((*first, *second), (resize, commit));
    assert_eq!(*target, to("g4dn.xlarge"));
    assert_eq!((moved.as_str(), bought.as_str()), ("164.98", "142.35"));
    // Without a resize, 0.474 × 730 = 346.02 for a reserved g4dn.2xlarge.
    let (_, _, planned) = plan(&[resize]);
    assert_eq!(planned, "346.02");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_fleet_is_planned_again_as_under_a_policy(
        drafts in fleet(),
        from in 0..4_usize,
        step in 1..4_usize,
    ) {
        let estate = estate(machines(&drafts));
        holds(&estate, Risk::High, (from, step));
    }
}
