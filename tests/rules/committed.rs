//! What hours under a commitment cost in an audit, how they group instances, and
//! what is left to save on them. Every figure is worked out by hand.

use crate::rules::builder::{A10G_MIB, Machine, as_of, audited, estate, flat};
use gpucost::analysis::{Audit, AuditedWorkload, assess_commitments};
use gpucost::domain::{
    ActionKind, CommitmentTerm, Currency, GapSubject, OfferingClass, OperatingSystem,
    PaymentOption, Policy, PurchaseOption, ReservedInstances, SavingsPlan, SavingsPlanKind,
    Tenancy,
};
use gpucost::usage::Estate;
use jiff::SignedDuration;
use rust_decimal::Decimal;

fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

/// So many g5.xlarge at 0.63378 an hour for another hundred days; 1.006 on
/// demand.
pub fn reserved(count: u32) -> ReservedInstances {
    ReservedInstances {
        id: "ri-1".to_owned(),
        region: "us-east-1".to_owned(),
        zone: None,
        instance_type: "g5.xlarge".to_owned(),
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        count,
        class: OfferingClass::Standard,
        payment: PaymentOption::NoUpfront,
        start: as_of() - SignedDuration::from_hours(24 * 265),
        end: as_of() + SignedDuration::from_hours(24 * 100),
        currency: Currency::Usd,
        upfront: Decimal::ZERO,
        recurring_hourly: decimal("0.63378"),
    }
}

/// A g5.xlarge at a utilization around the clock.
pub fn machine(id: &str, percent: f64) -> Machine {
    Machine::new(id, "g5.xlarge")
        .cpu(flat(4.0))
        .gpu(0, flat(percent))
        .vram(0, 200.0, A10G_MIB)
}

/// The same in 8 of 24 hours.
pub fn by_day(id: &str, percent: f64) -> Machine {
    let day = move |value: f64| move |period: u32| (period % 288 < 96).then_some(value);
    Machine::new(id, "g5.xlarge")
        .cpu(day(5.0))
        .gpu(0, day(percent))
}

pub fn owned(machines: Vec<Machine>, count: u32) -> Estate {
    let mut one = estate(machines);
    one.commitments.reserved_instances = vec![reserved(count)];
    one
}

fn of<'a>(audit: &'a Audit, id: &str) -> &'a AuditedWorkload {
    let mut all = audit.workloads.iter();
    all.find(|one| one.workload.id() == id)
        .unwrap_or_else(|| panic!("{id} is not there"))
}

fn cost(one: &AuditedWorkload) -> Decimal {
    one.workload.monthly_cost().expect("priced").amount()
}

fn committed_cost(one: &AuditedWorkload) -> Decimal {
    one.workload
        .committed_cost()
        .expect("paid upfront")
        .monthly
        .amount()
}

#[test]
fn an_hour_costs_what_pays_for_it() {
    // The first takes the reservation by day, 112 of 336 hours; the second, which
    // is idle, has it in the other 224 and costs the on-demand price in 112.
    let found = audited(&owned(vec![by_day("i-1", 90.0), machine("i-2", 0.0)], 1));
    let (first, second) = (of(&found, "i-1"), of(&found, "i-2"));
    assert_eq!(first.workload.key.purchase_option, PurchaseOption::Reserved);
    assert_eq!(second.workload.key.purchase_option, PurchaseOption::Mixed);
    // 0.63378 × 730 / 3 = 154.2198.
    assert_eq!(
        (cost(first), committed_cost(first)),
        (decimal("154.22"), decimal("154.22"))
    );
    // 0.63378 × 2/3 + 1.006 / 3 = 0.757853 an hour, of which 0.42252 is committed.
    assert_eq!(
        (cost(second), committed_cost(second)),
        (decimal("553.23"), decimal("308.44"))
    );
    // Both parts of the reservation are all of it: 0.63378 × 730 = 462.6594.
    assert_eq!(
        committed_cost(first) + committed_cost(second),
        decimal("462.66")
    );
    // Stopping ends what costs the on-demand price: 553.23 − 308.44.
    let [stop] = second.actions.as_slice() else {
        panic!("{:?}", second.actions)
    };
    assert_eq!(stop.kind(), ActionKind::Stop);
    assert_eq!(stop.monthly_savings().amount(), decimal("244.79"));
    let planned = second.planned_monthly_cost().expect("priced").amount();
    assert_eq!(planned, decimal("308.44"));
    let totals = &found.totals;
    let amount = |money: Option<gpucost::domain::Money>| money.expect("known").amount();
    assert_eq!(amount(totals.monthly_cost), decimal("707.45"));
    assert_eq!(amount(totals.monthly_waste), decimal("244.79"));
    assert_eq!(amount(totals.planned_monthly_cost), decimal("462.66"));
    assert_eq!(amount(totals.committed_monthly_cost), decimal("462.66"));
    assert!(
        found
            .gaps
            .iter()
            .all(|gap| gap.what != GapSubject::Commitments)
    );
}

#[test]
fn a_group_is_told_apart_by_what_pays() {
    let grouped = |id: &str| {
        let mut one = machine(id, 90.0);
        one.instance.auto_scaling_group = Some("web".to_owned());
        one
    };
    let fleet = || vec![grouped("i-1"), grouped("i-2"), grouped("i-3")];
    let found = audited(&owned(fleet(), 1));
    let id = |option: &str| format!("111122223333/us-east-1/g5.xlarge/{option}/asg:web");
    let (paid, open) = (of(&found, &id("reserved")), of(&found, &id("on-demand")));
    assert_eq!(paid.workload.instances.len(), 1);
    assert_eq!(cost(paid), decimal("462.66"));
    assert_eq!(open.workload.instances.len(), 2);
    // 2 × 1.006 × 730.
    assert_eq!(cost(open), decimal("1468.76"));
    assert_eq!(paid.actions, []);
    assert!(!open.actions.is_empty(), "the others may be committed to");
    // Without the reservation all three are one, and its id is the one that the
    // uncovered ones keep.
    let all = audited(&estate(fleet()));
    assert_eq!(of(&all, &id("on-demand")).workload.instances.len(), 3);
    // What a commitment is sized on are the two that are not covered.
    let advised = assess_commitments(&owned(fleet(), 1), &Policy::default());
    assert_eq!(advised.reserved[0].usage.peak(), 2);
    let bought: u32 = found.purchases.iter().map(|one| one.count).sum();
    assert_eq!(bought, 2);
}

#[test]
fn a_savings_plan_pays_for_what_it_reaches() {
    let mut one = estate(vec![machine("i-1", 20.0), machine("i-2", 20.0)]);
    let term = CommitmentTerm::ONE_YEAR_NO_UPFRONT;
    // One and a half machines at the rate of the catalog, 0.63378.
    one.commitments.savings_plans = vec![SavingsPlan {
        id: "sp-1".to_owned(),
        kind: SavingsPlanKind::Ec2Instance,
        region: Some("us-east-1".to_owned()),
        family: Some("g5".to_owned()),
        currency: Currency::Usd,
        commitment_hourly: decimal("0.95067"),
        term,
        start: as_of() - SignedDuration::from_hours(24 * 265),
        end: as_of() + SignedDuration::from_hours(24 * 100),
    }];
    let found = audited(&one);
    let (first, second) = (of(&found, "i-1"), of(&found, "i-2"));
    let option = |one: &AuditedWorkload| one.workload.key.purchase_option;
    assert_eq!(option(first), PurchaseOption::SavingsPlan);
    assert_eq!(cost(first), decimal("462.66"));
    assert_eq!(option(second), PurchaseOption::Mixed);
    // (0.63378 + 1.006) / 2 × 730 = 598.5197.
    assert_eq!(cost(second), decimal("598.52"));
    // 0.31689 × 730 = 231.3297.
    assert_eq!(committed_cost(second), decimal("231.33"));
    // What moving its other half would save is not weighed, and that is said.
    let gaps: Vec<&str> = found
        .gaps
        .iter()
        .filter(|gap| gap.what == GapSubject::Commitments)
        .map(|gap| gap.place.as_str())
        .collect();
    assert_eq!(gaps, ["i-2"]);
    assert!(found.workloads.iter().all(|one| one.actions.is_empty()));
}

#[test]
fn what_has_ended_pays_for_nothing_any_more() {
    let mut one = owned(vec![machine("i-1", 90.0)], 1);
    one.commitments.reserved_instances[0].end = as_of();
    let found = audited(&one);
    let first = of(&found, "i-1");
    assert_eq!(first.workload.key.purchase_option, PurchaseOption::OnDemand);
    assert_eq!(cost(first), decimal("734.38"));
    assert_eq!(first.workload.committed_cost(), None);
    assert_eq!(found.totals.committed_monthly_cost, None);
}
