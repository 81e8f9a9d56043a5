//! What a plan promises is what a diff of the audits before and after it reports.

use super::apply::apply;
use crate::rules::builder::estate;
use crate::rules::fixtures::{root, sum_of_rows};
use crate::rules::properties::{fleet, machines};
use gpucost::analysis::{Audit, AuditDiff, AuditedWorkload, Ending, audit};
use gpucost::domain::{ActionKind, Money, Policy, Risk};
use gpucost::sources::files::{Keep, read_estate};
use gpucost::usage::Estate;
use proptest::prelude::*;
use rust_decimal::Decimal;

fn demo() -> Estate {
    read_estate(&root().join("fixtures/demo/estate.json.gz"), Keep::Points).expect("the demo")
}

/// The audits before and after the plan.
fn before_and_after(estate: &Estate, accepted: Risk) -> (Audit, Audit) {
    let policy = Policy::default();
    let before = audit(estate, &policy, accepted);
    let after = audit(&apply(&before, estate), &policy, accepted);
    (before, after)
}

/// What of the estate has stopped costs now, while it stands.
fn storage(before: &Audit, after: &Audit) -> Decimal {
    let stopped_by = |id: &str| {
        let mut workloads = before.workloads.iter();
        let workload = workloads.find(|workload| workload.workload.id() == id);
        workload.is_some_and(|workload| {
            let mut kinds = workload.actions.iter().map(|action| action.kind());
            kinds.any(|kind| kind == ActionKind::Stop)
        })
    };
    after
        .workloads
        .iter()
        .filter(|workload| !workload.workload.key.running && stopped_by(&workload.workload.id()))
        .filter_map(|workload| Some(workload.workload.monthly_cost()?.amount()))
        .sum()
}

#[test]
fn the_diff_of_the_demo_before_and_after_its_plan_reports_what_was_planned() {
    for accepted in [Risk::Low, Risk::Medium, Risk::High] {
        let (before, after) = before_and_after(&demo(), accepted);
        let (old, new) = (before.past(), after.past());
        let diff = AuditDiff::of(&old, &new);
        let plan = diff.plan.expect("the demo has a plan");
        assert_eq!(Some(plan.planned), before.totals.monthly_savings());
        assert_eq!(plan.storage_of_stopped.amount(), storage(&before, &after), "{accepted}");
        assert_eq!(sum_of_rows(&diff), diff.monthly_cost.change(), "{accepted}");
        // Nothing happens but the plan.
        let change = diff.monthly_cost.change().expect("both are priced");
        assert_eq!(-change.amount(), plan.saved.amount(), "{accepted}");
        // To the cent, but for what the plan says that no bill shows.
        let unseen = plan.lost_work.amount() + plan.snapshots.amount();
        let kept = plan.saved.amount() + plan.storage_of_stopped.amount() - unseen;
        // 4,296 GiB × 0.05.
        assert_eq!(plan.snapshots.amount(), Decimal::new(21_480, 2), "{accepted}");
        // At medium, 8 × 930.5675 a month on spot are 7,444.54 of the plan, and 2 cents more in their
        // own rows. At high, 4 × 5,956.1109 and 8 × 615.41701 of the committed instances are
        // 23,824.45 and 4,923.34 of the plan, and a cent less and 2 cents more.
        let rounded = match accepted {
            Risk::Low => Decimal::ZERO,
            Risk::Medium => Decimal::new(-2, 2),
            Risk::High => Decimal::new(-1, 2),
        };
        assert_eq!(kept, plan.planned.amount() + rounded, "{accepted}");
        // 8 × g6e.2xlarge for 730 hours, at $1.27475 an hour on spot and $1.328889
        // an hour of work: 7,760.71 − 7,444.54.
        let lost_work = match accepted {
            Risk::Medium => Decimal::new(31_617, 2),
            // A commitment for three years is cheaper than spot.
            Risk::Low | Risk::High => Decimal::ZERO,
        };
        assert_eq!(plan.lost_work.amount(), lost_work, "{accepted}");
        for workload in &before.workloads {
            check_workload(workload, &diff, accepted);
        }
    }
}

/// What a workload costs after its plan is what the plan said: to the cent after
/// one action, a cent for each further one and half a cent for each instance, because
/// each is rounded.
fn check_workload(workload: &AuditedWorkload, diff: &AuditDiff<'_>, accepted: Risk) {
    let mut changed = diff.changed.iter();
    let change = changed.find(|change| change.old.id == workload.workload.id());
    let Some(change) = change else {
        assert!(workload.actions.is_empty(), "{}", workload.workload.name);
        return;
    };
    let planned = workload.planned_monthly_cost().expect("a price").amount();
    let cost = change.new.monthly_cost.expect("a price").amount();
    let what = format!("{} at {accepted}: {planned} planned, {cost} found", workload.workload.name);
    // Work that is lost and done again is planned for, and no price shows it.
    let mut set_aside = workload.actions.iter().filter_map(|action| action.lost_work());
    let lost_work = set_aside.next().map_or(Decimal::ZERO, Money::amount);
    // Nor does any show the snapshots of what is released.
    let mut kept = workload.actions.iter().filter_map(|action| action.snapshots());
    let unseen = lost_work + kept.next().map_or(Decimal::ZERO, Money::amount);
    // Each instance is rounded by itself, and half a cent of eight is four.
    let further = workload.actions.len().saturating_sub(1) + workload.workload.instances.len() / 2;
    let tolerance = Decimal::new(further as i64, 2);
    assert!((planned - unseen - cost).abs() <= tolerance, "{what}");
}

#[test]
fn an_audit_beside_itself_has_no_difference() {
    let policy = Policy::default();
    let same = audit(&demo(), &policy, Risk::Medium).past();
    let diff = AuditDiff::of(&same, &same);
    assert!(diff.added.is_empty() && diff.removed.is_empty() && diff.changed.is_empty());
    assert!(diff.gone.is_empty() && diff.appeared.is_empty() && diff.caveats.is_empty());
    assert_eq!(diff.unchanged, same.workloads.len() as u64);
    assert_eq!(diff.kept, same.findings.len() as u64);
    assert_eq!(diff.saved_by_gone.map(Money::amount), Some(Decimal::ZERO));
    let change = diff.monthly_cost.change().map(Money::amount);
    assert_eq!(change, Some(Decimal::ZERO));
    // The plan is still all to be done.
    let plan = diff.plan.expect("a plan");
    assert_eq!(plan.saved.amount(), Decimal::ZERO);
}

#[test]
fn what_is_removed_takes_its_cost_and_its_findings_with_it() {
    let policy = Policy::default();
    let before = audit(&demo(), &policy, Risk::Medium);
    let mut smaller = demo();
    let idle = "i-0710738f7e219399e";
    smaller.instances.retain(|instance| instance.id.as_str() != idle);
    let after = audit(&smaller, &policy, Risk::Medium);
    let (old, new) = (before.past(), after.past());
    let diff = AuditDiff::of(&old, &new);
    let [removed] = diff.removed.as_slice() else {
        panic!("{:?}", diff.removed);
    };
    assert_eq!(removed.id, idle);
    // g6e.12xlarge: $10.49264 an hour for 730 hours.
    let cost = Decimal::new(765_963, 2);
    let change = diff.monthly_cost.change().map(Money::amount);
    assert_eq!(change, Some(-cost));
    assert_eq!(diff.saved_by_gone.map(Money::amount), Some(cost));
    assert!(diff.added.is_empty() && diff.changed.is_empty());
    assert!(!diff.gone.is_empty());
    for gone in &diff.gone {
        assert_eq!(gone.finding.workload, idle);
        assert_eq!(gone.because, Ending::Removed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rows_of_a_diff_sum_to_the_change(old in fleet(), new in fleet()) {
        let policy = Policy::default();
        let [old, new] = [old, new].map(|drafts| {
            let audit = audit(&estate(machines(&drafts)), &policy, Risk::Medium);
            audit.past()
        });
        let diff = AuditDiff::of(&old, &new);
        let all_priced = old.workloads.iter().chain(&new.workloads).all(|workload| workload.monthly_cost.is_some());
        if all_priced {
            prop_assert_eq!(sum_of_rows(&diff), diff.monthly_cost.change());
        }
        let pairs = diff.changed.len() as u64 + diff.unchanged;
        prop_assert_eq!(pairs + diff.removed.len() as u64, old.workloads.len() as u64);
        prop_assert_eq!(pairs + diff.added.len() as u64, new.workloads.len() as u64);
        prop_assert_eq!(diff.kept + diff.gone.len() as u64, old.findings.len() as u64);
    }
}
