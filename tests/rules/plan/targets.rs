//! The least risky actions that save a share of the cost, worked out by hand.

use crate::rules::planned_use::fleet;
use gpucost::analysis::{Audit, audit, audit_to_choose};
use gpucost::domain::{ActionKind, Policy, RejectedAction, Risk};
use gpucost::savings::SkipReason;
use proptest::prelude::*;
use rust_decimal::Decimal;

fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

fn aimed(percent: &str, accepted: Risk, policy: &Policy) -> Audit {
    let (mut audit, choices) = audit_to_choose(&fleet(), policy, accepted);
    audit.aim(&choices, decimal(percent));
    audit
}

fn kinds(audit: &Audit) -> Vec<ActionKind> {
    let actions = audit.workloads.iter().flat_map(|workload| &workload.actions);
    let mut kinds: Vec<ActionKind> = actions.map(|action| action.kind()).collect();
    kinds.sort();
    kinds
}

fn saved(audit: &Audit) -> Decimal {
    audit.totals.monthly_savings().expect("priced").amount()
}

#[test]
fn actions_are_taken_in_their_order_until_the_target_is_reached() {
    // 730 h × (1.006 + 5.672 + 1.006) = 5,609.32. The stop saves 734.38, which is 13.09%; the
    // schedule two thirds of the same, 489.59; the move to a g5.16xlarge 730 h × 1.576.
    let taken = [ActionKind::Stop, ActionKind::Schedule, ActionKind::Rightsize];
    for (percent, number, amount) in
        [("13", 1, "734.38"), ("13.1", 2, "1223.97"), ("21.8", 2, "1223.97"), ("22", 3, "2374.45")]
    {
        for accepted in Risk::ALL {
            let audit = aimed(percent, *accepted, &Policy::default());
            let target = audit.target.expect("a target");
            assert_eq!(kinds(&audit), taken[..number], "{percent}");
            assert_eq!(saved(&audit), decimal(amount), "{percent}");
            assert_eq!((target.risk, target.missing), (Risk::Low, None), "{percent}");
        }
    }
}

#[test]
fn what_is_missing_of_a_target_is_said() {
    let audit = aimed("43", Risk::Low, &Policy::default());
    let target = audit.target.expect("a target");
    assert_eq!(target.monthly_savings.amount(), decimal("2412.0076"));
    let missing = target.missing.map(|missing| missing.amount());
    assert_eq!(missing, Some(decimal("37.5576")));
    assert_eq!(saved(&audit), decimal("2374.45"));
    let higher = aimed("43", Risk::Medium, &Policy::default());
    let target = higher.target.expect("a target");
    assert_eq!((target.risk, target.missing), (Risk::Medium, None));
}

#[test]
fn what_a_policy_rejects_is_in_no_part_of_the_plan() {
    let policy = Policy {
        rejected: vec![RejectedAction {
            workload: "i-idle".to_owned(),
            action: ActionKind::Stop,
            reason: "a test".to_owned(),
        }],
        ..Policy::default()
    };
    let audit = aimed("8", Risk::Low, &policy);
    assert_eq!(kinds(&audit), [ActionKind::Schedule]);
    let why = |name: &str| {
        let mut workloads = audit.workloads.iter();
        let workload = workloads.find(|workload| workload.workload.name == name);
        workload.expect("audited").skipped.clone()
    };
    let stop = (ActionKind::Stop, SkipReason::Rejected);
    assert!(why("i-idle").into_iter().eq([stop]));
    let resize = why("i-large").remove(&ActionKind::Rightsize);
    assert_eq!(resize, Some(SkipReason::Target));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// A reached target is saved, with no more than the whole plan; a missed one is the whole
    /// plan, and says the rest of it.
    #[test]
    fn a_target_is_saved_or_what_is_missing_is_said(percent in 1_i64..=100, place in 0_usize..3) {
        let accepted = Risk::ALL[place];
        let audit = aimed(&percent.to_string(), accepted, &Policy::default());
        let target = audit.target.expect("a target");
        let whole = self::audit(&fleet(), &Policy::default(), accepted);
        let missing = target.missing.map_or(Decimal::ZERO, |missing| missing.amount());
        prop_assert!(saved(&audit) <= saved(&whole));
        prop_assert!(saved(&audit) + missing >= target.monthly_savings.amount());
        prop_assert!(target.risk <= accepted);
        if target.missing.is_some() {
            prop_assert_eq!(saved(&audit), saved(&whole));
        }
    }
}
