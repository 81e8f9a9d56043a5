//! Fleets whose advice was computed by hand from the page on money and verdicts,
//! the price list and the specifications of the cards: what must be advised, and
//! beside it the nearest fleet for which it must not.

mod caveats;
mod facts;
mod kinds;
mod linked;
mod shrinking;

use crate::rules::builder::{Machine, flat};
use gpucost::analysis::{Audit, AuditedWorkload, audit};
use gpucost::catalog::Prices;
use gpucost::domain::{Action, ActionKind, Metric, Policy, Risk, Statistic};
use gpucost::savings::{Considered, Demand, Rejection, Today, candidates};
use gpucost::usage::Estate;
use rust_decimal::Decimal;

/// The audit at a risk, with the default policy.
fn at(estate: &Estate, accepted: Risk) -> Audit {
    audit(estate, &Policy::default(), accepted)
}

/// The only workload.
fn sole(audit: &Audit) -> &AuditedWorkload {
    let [only] = audit.workloads.as_slice() else {
        panic!("{} workloads", audit.workloads.len());
    };
    only
}

/// What the plan at a risk does of a kind with the only workload.
fn act(estate: &Estate, accepted: Risk, kind: ActionKind) -> Option<Action> {
    let audit = at(estate, accepted);
    let mut actions = sole(&audit).actions.iter();
    actions.find(|action| action.kind() == kind).cloned()
}

/// Type, number and dollars of the move that the plan at a risk makes.
fn moved(estate: &Estate, accepted: Risk) -> Option<(String, u32, Decimal)> {
    let action = act(estate, accepted, ActionKind::Rightsize)?;
    let target = action.target().expect("a type");
    let saved = action.monthly_savings().amount();
    Some((target.instance_type.clone(), target.count, saved))
}

/// The same as it is expected.
fn to(instance_type: &str, count: u32, saved: &str) -> Option<(String, u32, Decimal)> {
    let saved = saved.parse().expect("a decimal");
    Some((instance_type.to_owned(), count, saved))
}

/// Every type that was considered for the only workload.
fn considered(estate: &Estate, accepted: Risk) -> Vec<Considered> {
    let policy = Policy::default();
    let audit = at(estate, accepted);
    let workload = &sole(&audit).workload;
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let today = Today::of(workload).expect("a price");
    let demand = Demand::of(workload, &policy).expect("it is measured");
    candidates(&today, &demand, &prices, &policy, accepted)
}

/// Why a type will not do, by name; absent where it will.
fn why_not(candidates: &[Considered], instance_type: &str) -> Option<&'static str> {
    let mut named = candidates.iter();
    let candidate = named.find(|candidate| candidate.shape.instance_type == instance_type);
    let candidate = candidate.unwrap_or_else(|| panic!("{instance_type} was not considered"));
    candidate.rejection.as_ref().map(Rejection::name)
}

/// All that the plan at a risk saves.
fn saved(estate: &Estate, accepted: Risk) -> Decimal {
    let savings = at(estate, accepted).totals.monthly_savings();
    savings.expect("it is priced").amount()
}

/// Accepting more never saves less.
fn assert_more_risk_saves_no_less(estate: &Estate) {
    let [low, medium, high] = [Risk::Low, Risk::Medium, Risk::High].map(|risk| saved(estate, risk));
    assert!(low <= medium, "{low} at low, {medium} at medium");
    assert!(medium <= high, "{medium} at medium, {high} at high");
}

/// One value in some hours of each day, UTC, and another in the others.
fn daily((from, until): (u32, u32), busy: f64, rest: f64) -> impl Fn(u32) -> Option<f64> + Copy {
    move |period| {
        let hour = period / 12 % 24;
        Some(if (from..until).contains(&hour) { busy } else { rest })
    }
}

/// A value in some hours of each day, UTC, and no point in the others.
fn only_daily((from, until): (u32, u32), value: f64) -> impl Fn(u32) -> Option<f64> + Copy {
    move |period| (from..until).contains(&(period / 12 % 24)).then_some(value)
}

/// Memory of one GPU where it is not reported throughout.
fn vram_when(machine: Machine, total: f64, used: impl Fn(u32) -> Option<f64> + Copy) -> Machine {
    let metric = Metric::GpuMemoryUsed;
    machine
        .series(metric, Statistic::Average, Some(0), used)
        .series(metric, Statistic::Maximum, Some(0), used)
        .series(Metric::GpuMemoryTotal, Statistic::Maximum, Some(0), flat(total))
}

/// Bytes of a period of five minutes at a rate.
fn bytes(gbps: f64) -> f64 {
    gbps * 1e9 / 8.0 * 300.0
}

/// Sent at a rate by period, and received at a tenth of a gigabit.
fn sending(machine: Machine, gbps: impl Fn(u32) -> f64) -> Machine {
    machine.series(Metric::NetworkIn, Statistic::Sum, None, flat(bytes(0.1))).series(
        Metric::NetworkOut,
        Statistic::Sum,
        None,
        |period| Some(bytes(gbps(period))),
    )
}
