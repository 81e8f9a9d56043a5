//! Fleets computed by hand: boxes that share a tag, a pool, a capacity reservation or a
//! commitment. Every figure is worked out in a comment beside it, from the prices of
//! the catalog in us-east-1 (Linux, shared, USD an hour):
//!
//! | type | on demand | a month of 730 h | 1 year, no upfront | a month |
//! |---|---|---|---|---|
//! | g5.xlarge | 1.006 | 734.38 | 0.63378 | 462.6594 |
//! | g5.2xlarge | 1.212 | 884.76 | 0.76356 | 557.3988 |
//! | g6.xlarge | 0.8048 | 587.504 | 0.52392 | 382.4616 |
//!
//! So a reserved g5.xlarge saves 271.7206 a month of one that runs around the clock, and
//! pays from 63% of the hours on.

mod accounts;
mod batch_share;
mod capacity;
mod group_share;
mod held;
mod keepers;
mod members;
mod pools;
mod promises;
mod running;
mod sampling;
mod scaling;
mod zones;

use crate::rules::builder::{A10G_MIB, Machine, as_of};
use crate::rules::fixtures::decimal;
use gpucost::analysis::{Audit, AuditedWorkload};
use gpucost::domain::{
    Action, ActionKind, CapacityReservation, Metric, Money, OperatingSystem, Policy, Statistic,
    Tenancy,
};
use jiff::SignedDuration;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// A share that is used and not too much: well-utilized and steady.
const WORKS: f64 = 70.0;
/// VRAM that a driver takes for itself, 0.9% of the card.
const FREE_MIB: f64 = 200.0;
/// VRAM that somebody holds, 39% of the card.
const HELD_MIB: f64 = 9_000.0;

/// A g5.xlarge that ran in some periods, in all of them alike.
fn box_in(id: &str, percent: f64, held_mib: f64, ran: impl Fn(u32) -> bool + Copy) -> Machine {
    let level = move |value: f64| move |period: u32| ran(period).then_some(value);
    let (used, total) = (Metric::GpuMemoryUsed, Metric::GpuMemoryTotal);
    Machine::new(id, "g5.xlarge")
        .cpu(level(4.0))
        .gpu(0, level(percent))
        .series(used, Statistic::Average, Some(0), level(held_mib))
        .series(used, Statistic::Maximum, Some(0), level(held_mib))
        .series(total, Statistic::Maximum, Some(0), level(A10G_MIB))
}

/// A g5.xlarge that works around the clock.
fn working(id: &str) -> Machine {
    box_in(id, WORKS, HELD_MIB, |_| true)
}

/// A g5.xlarge that is up around the clock, computes nothing and holds nothing.
fn idle(id: &str) -> Machine {
    box_in(id, 0.0, FREE_MIB, |_| true)
}

/// The same with memory held.
fn holding(id: &str) -> Machine {
    box_in(id, 0.0, HELD_MIB, |_| true)
}

/// A g5.xlarge that was launched so many hours ago and is up since.
fn young(id: &str, hours: u32, percent: f64) -> Machine {
    let begins = crate::rules::builder::PERIODS - hours * 12;
    box_in(id, percent, HELD_MIB, move |period| period >= begins)
        .launched_hours_ago(i64::from(hours))
}

/// A g5.xlarge that works in the second half of every day, and so runs now.
fn late_half(id: &str) -> Machine {
    box_in(id, WORKS, HELD_MIB, |period| period % 288 >= 144)
}

/// One that works in the first half of every day: it stopped at noon.
fn early_half(id: &str) -> Machine {
    stopped_for(box_in(id, WORKS, HELD_MIB, |period| period % 288 < 144), 12)
}

/// A machine that stopped so many hours ago, as EC2 words it.
fn stopped_for(mut machine: Machine, hours: i64) -> Machine {
    let when = as_of() - SignedDuration::from_hours(hours);
    machine.instance.state = gpucost::domain::InstanceState::Stopped;
    machine.instance.state_transition_reason =
        Some(format!("User initiated ({})", when.strftime("%Y-%m-%d %H:%M:%S GMT")));
    machine
}

/// Machines under one value of the workload tag.
fn tagged(machines: Vec<Machine>, name: &str) -> Vec<Machine> {
    let members = machines.into_iter();
    members.map(|machine| machine.tag("gpucost:workload", name)).collect()
}

/// Machines that a tag says the kind of.
fn declared(machines: Vec<Machine>, kind: &str) -> Vec<Machine> {
    let members = machines.into_iter();
    members.map(|machine| machine.tag("gpucost:kind", kind)).collect()
}

/// Machines of one Auto Scaling group.
fn scaled(mut machines: Vec<Machine>, name: &str) -> Vec<Machine> {
    for machine in &mut machines {
        machine.instance.auto_scaling_group = Some(name.to_owned());
    }
    machines
}

fn of_type(mut machine: Machine, instance_type: &str) -> Machine {
    machine.instance.instance_type = instance_type.to_owned();
    machine
}

/// The same under Windows: a g5.xlarge costs 1.19 an hour, 868.70 a month.
fn windows(mut machine: Machine) -> Machine {
    machine.instance.operating_system = OperatingSystem::Windows;
    machine
}

fn in_zone(mut machine: Machine, zone: &str) -> Machine {
    machine.instance.zone = Some(zone.to_owned());
    machine
}

/// The same in the capacity reservation `cr-1`.
fn inside(mut machine: Machine) -> Machine {
    machine.instance.capacity_reservation_id = Some("cr-1".to_owned());
    machine
}

/// A capacity reservation for g5.xlarge that can be lowered any day.
pub fn capacity(total: u32, available: u32) -> CapacityReservation {
    CapacityReservation {
        id: "cr-1".to_owned(),
        account: None,
        region: "us-east-1".to_owned(),
        zone: "us-east-1a".to_owned(),
        instance_type: "g5.xlarge".to_owned(),
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        total,
        available,
        capacity_block: false,
        start: None,
        committed_until: None,
        end: None,
        tags: BTreeMap::new(),
    }
}

/// The same for another month at least.
fn committed(total: u32, available: u32) -> CapacityReservation {
    CapacityReservation {
        committed_until: Some(as_of() + SignedDuration::from_hours(30 * 24)),
        ..capacity(total, available)
    }
}

/// Cost and planned cost, waste and optimization: what the plan leaves is what it does
/// not save, and at least the fees of what it buys.
#[track_caller]
fn assert_totals(audit: &Audit, expected: [&str; 4]) {
    let totals = &audit.totals;
    let sums = [
        totals.monthly_cost, totals.planned_monthly_cost, totals.monthly_waste,
        totals.monthly_optimization,
    ]
    .map(|money| money.map(Money::amount).expect("priced"));
    assert_eq!(sums, expected.map(decimal));
    let [cost, planned, waste, optimization] = sums;
    assert_eq!(cost - planned, waste + optimization);
    assert!(planned >= fees(audit), "{planned} < {}", fees(audit));
}

/// What everything that the plan buys costs a month.
fn fees(audit: &Audit) -> Decimal {
    let month = Policy::default().hours_per_month;
    let purchases = audit.purchases.iter();
    purchases.map(|purchase| purchase.monthly_fee(month).amount()).sum()
}

/// How many reserved instances the plan buys.
fn bought(audit: &Audit) -> u32 {
    audit.purchases.iter().map(|purchase| purchase.count).sum()
}

#[track_caller]
fn only_workload(audit: &Audit) -> &AuditedWorkload {
    let [only] = audit.workloads.as_slice() else {
        panic!("{} workloads", audit.workloads.len());
    };
    only
}

/// The kinds of all actions, those on what is paid for and does not run last.
fn kinds(audit: &Audit) -> Vec<ActionKind> {
    let of_workloads = audit.workloads.iter().flat_map(|workload| &workload.actions);
    let of_unused = audit.unused.iter().flat_map(|commitment| &commitment.actions);
    of_workloads.chain(of_unused).map(Action::kind).collect()
}

/// The only stop of an audit.
#[track_caller]
fn only_stop(audit: &Audit) -> &Action {
    let actions = audit.workloads.iter().flat_map(|workload| &workload.actions);
    let stops: Vec<&Action> = actions.filter(|action| action.kind() == ActionKind::Stop).collect();
    assert_eq!(stops.len(), 1, "one stop: {stops:?}");
    stops[0]
}

/// Whether a caveat of an action holds some words.
fn warns(action: &Action, words: &str) -> bool {
    action.caveats().iter().any(|caveat| caveat.contains(words))
}

fn has_gap(audit: &Audit, what: &str) -> bool {
    audit.gaps.iter().any(|gap| gap.what.name() == what)
}
