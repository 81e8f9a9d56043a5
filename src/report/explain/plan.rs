//! A workload's part of the plan: each action on what the one before left, and how many of a pool
//! pay to be bought ahead.

use super::cost::{figure, price, share};
use super::line::{Derivation, Line, PlanState, lines};
use super::moves::{rightsize, schedule, sharing, spot, stopped};
use crate::analysis::AuditedWorkload;
use crate::domain::{Action, ActionKind, Money};
use crate::report::doc::{columns, rows};
use crate::report::promises::promised;
use crate::report::shared::text::money;
use crate::savings::{Proposal, Purchase, PurchaseShare, Stage};
use rust_decimal::Decimal;

/// An action with its arithmetic.
pub(super) struct Planned<'a> {
    action: &'a Action,
    /// What it leaves; absent outside of the plan.
    pub planned_monthly_cost: Option<Money>,
    steps: Vec<Line>,
}

columns! {
    pub(super) fn actions<'a>(row: Planned<'a>) {
        text "action", "", Narrow(0), row.action.kind().name().to_owned(), "Its lever.";
        opt text "target", "", Screen, row.action.target().map(|to| format!("to {to}")), "";
        opt text "to.instance_type", "", Data, row.action.target().map(|to| to.instance_type.clone()), "";
        opt count "to.count", "", Data, row.action.target().map(|to| to.count), "";
        money "monthly_savings", "saved per month", Narrow(0), row.action.monthly_savings(), "";
        text "risk", "", Data, row.action.risk().to_string(), "";
        text "at_risk", "", Screen, format!("risk {}", row.action.risk()), "";
        opt money "planned_monthly_cost", "left", Narrow(0), row.planned_monthly_cost, "Per month after it and the actions before it; null outside of the plan.";
        text "detail", "", Data, row.action.detail().to_owned(), "";
        texts "caveats", "", Data, row.action.caveats().to_vec(), "What to know before acting on it, the most serious first.";
        texts "notes", "", Screen, std::iter::once(row.action.detail().to_owned()).chain(row.action.caveats().iter().map(|caveat| format!("caveat: {caveat}"))).collect::<Vec<_>>(), "";
        rows[lines] "steps", "", Narrow(0), row.steps.clone(), "Its arithmetic.";
    }
}

/// Actions with what each leaves of a cost.
pub(super) fn balance(actions: &[Action], cost: Option<Money>) -> Vec<Planned<'_>> {
    let rows = actions.iter().scan(cost, |left, action| {
        let saved = action.monthly_savings().amount();
        *left = left.map(|left| Money::new(left.amount() - saved, left.currency()));
        Some(Planned { action, planned_monthly_cost: *left, steps: Vec::new() })
    });
    rows.collect()
}

pub(super) fn planned<'a>(audited: &'a AuditedWorkload, by: &Derivation<'_>) -> Vec<Planned<'a>> {
    let mut left = audited.workload.monthly_cost();
    let today = audited.alternatives.today.as_ref().map(Stage::monthly);
    let monthly = today.or(left.map(Money::amount)).unwrap_or_default();
    let instance_type = audited.workload.key.instance_type.clone();
    let mut state = PlanState { audited, monthly, hours: None, instance_type };
    let mut rows = balance(&audited.actions, left);
    for row in &mut rows {
        let action = row.action;
        row.steps = basis(action, audited, by);
        row.steps.extend(match action.kind() {
            ActionKind::Schedule => scheduled(&mut state),
            ActionKind::Rightsize | ActionKind::Share => resized(action, &mut state),
            ActionKind::Spot => spot(&mut state),
            ActionKind::Commit => commit(action, &state, by),
            ActionKind::Stop => stopped(action, audited),
            ActionKind::Release => {
                rows! {
                    for (left, snapshots) in left.zip(action.snapshots()) => ("left", format!("{} − {} for snapshots = {}, of which {} is certain", money(left), money(snapshots), money(action.monthly_savings()), money(action.certain())));
                }
            }
        });
        left = row.planned_monthly_cost;
        if let Some(target) = action.target() {
            state.instance_type.clone_from(&target.instance_type);
        }
    }
    rows
}

/// What the plan does without, with what it rests on.
pub fn alternatives<'a>(audited: &'a AuditedWorkload, by: &Derivation<'_>) -> Vec<Planned<'a>> {
    let is_taken = |kind| audited.actions.iter().any(|action| action.kind() == kind);
    let rows = audited.proposals.actions().filter(|action| !is_taken(action.kind())).map(|action| {
        let mut steps = basis(action, audited, by);
        if let Some(Proposal::Commit(commitment)) = audited.proposals.offered(action.kind()) {
            steps.extend(rows! {
                for instance in &commitment.alone => ("price", price(&instance.key, &instance.quote));
            });
        }
        Planned { action, planned_monthly_cost: None, steps }
    });
    rows.collect()
}

/// What an offer rests on by itself, whatever the plan does before it.
fn basis(action: &Action, audited: &AuditedWorkload, by: &Derivation<'_>) -> Vec<Line> {
    match (audited.proposals.offered(action.kind()), audited.working()) {
        (Some(Proposal::Schedule(scheduling)), _) => schedule(scheduling),
        (Some(Proposal::Rightsize(rightsizing)), Some(part)) => {
            let answer = audited.proposals.answer(action.kind());
            rightsize(&part.workload, rightsizing, answer, by)
        }
        (Some(Proposal::Share(shared)), Some(part)) => sharing(&part.workload, shared),
        _ => Vec::new(),
    }
}

fn scheduled(state: &mut PlanState<'_>) -> Vec<Line> {
    let Some(offered) = &state.audited.alternatives.schedule else { return Vec::new() };
    let (before, on) = (state.monthly, offered.hours.on_share);
    state.hours = Some(&offered.hours);
    state.monthly = before * on;
    rows! {
        ("left", format!("{} × (1 − {}) = {} per month", figure(before, 6), figure(Decimal::ONE - on, 10), figure(state.monthly, 6)));
    }
}

/// What a new type or number costs in the hours that are left.
fn resized(action: &Action, state: &mut PlanState<'_>) -> Vec<Line> {
    let mut resizes = state.audited.alternatives.resizes.iter();
    let offer = resizes.find(|offer| offer.leads_to(action));
    let Some(offer) = offer else { return Vec::new() };
    let (before, slowdown) = (offer.monthly_at_todays_hours, offer.slowdown);
    state.monthly = offer.stage(state.hours).monthly();
    let is_longer = state.hours.is_none() && state.monthly != before;
    let scheduled = state
        .hours
        .map(|today| (offer.scheduled.as_ref().unwrap_or(today).on_share, today.on_share));
    let extended = scheduled.filter(|_| slowdown > 1.0);
    let (before, left) = (figure(before, 6), figure(state.monthly, 6));
    rows! {
        for (on, today) in extended => ("hours", format!("the work takes {slowdown:.4} times as long, so its windows are extended to whole hours: {} of the running time instead of {}", share(on), share(today)));
        for (on, _) in scheduled => ("left", format!("{before} × {} of the hours = {left} per month", figure(on, 10)));
        if is_longer => ("left", format!("the work takes {slowdown:.4} times as long; its hours increase accordingly unless it runs 24/7: {left} per month instead of {before}"));
    }
}

fn commit(action: &Action, state: &PlanState<'_>, by: &Derivation<'_>) -> Vec<Line> {
    let id = state.audited.workload.id();
    let bought = by.audit.purchases.iter().flat_map(|bought| {
        let own = bought.shares.iter().find(|share| share.id == id);
        own.map(|own| [purchase(bought, by), split(bought, own)].concat()).unwrap_or_default()
    });
    rows! {
        ..bought;
        ("saved", format!("{} here", money(action.monthly_savings())));
    }
}

/// A pool with the fees that it pays and the hours that these replace.
fn purchase(bought: &Purchase, by: &Derivation<'_>) -> Vec<Line> {
    let (usage, count, month) = (&bought.usage, bought.count, by.policy.hours_per_month);
    let (on_demand, effective) =
        (bought.on_demand_hourly.amount(), bought.term.effective_hourly.amount());
    let [listed, fee] = [on_demand, effective].map(|rate| figure(rate, 6));
    let term = bought.key.with_option(bought.term.option);
    let quote = by.audit.prices.quote(&term);
    let paid = quote.as_ref().and_then(|quote| quote.instalments);
    let break_even = effective / on_demand;
    let young: u32 = bought.shares.iter().map(|share| share.young).sum();
    let (hours, total) = (usage.hours(), usage.total_hours());
    let all_hours = Decimal::from(hours.max(1));
    let mut units = vec![1, count, count + 1];
    units.dedup();
    let units = units.into_iter().map(|k| {
        let with = usage.hours_with_at_least(k);
        let pays = match (with / all_hours > break_even, k <= count) {
            (true, true) => "pays",
            (true, false) => "does not pay: the GPUs rest in too many of them",
            (false, _) => "does not pay",
        };
        (k, figure(with, 4), share(with / all_hours), pays)
    });
    let above = total - usage.covered_hours(count);
    let fees = effective * Decimal::from(count) * month;
    let (before, rest) =
        (on_demand * total * month / all_hours, on_demand * above * month / all_hours);
    let saved = figure(before - fees - rest, 6);
    let [before, fees, rest] = [before, fees, rest].map(|amount| figure(amount, 6));
    let [total, above] = [total, above].map(|hours| figure(hours, 4));
    rows! {
        ("pool", bought.key.to_string());
        for account in &bought.account => ("account", format!("bought in {account}, without commitment sharing: the usage is its own"));
        for quote in quote => ("price", format!("{fee}/h {}", price(&term, quote)));
        for paid in paid => ("price", format!("of which {} upfront and {}/h", paid.upfront.normalize(), paid.hourly.normalize()));
        ("break-even", format!("{fee} / {listed} = {}: a unit pays if used in a larger share of the hours", share(break_even)));
        if young > 0 => ("pool", format!("first seen within the window: {young} of its instances; before that, each is assumed to have run for its own share of the hours, where the rest of the pool is largest"));
        for (k, used, part, pays) in units => ("use", format!("unit {k} is used in {used} of {hours} hours, {part}: {pays}"));
        ("today", format!("{total} instance-hours × {listed} × {month} / {hours} = {before} per month"));
        ("planned", format!("fees {count} × {fee} × {month} h = {fees}, plus {above} uncovered hours × {listed} × {month} / {hours} = {rest}"));
        ("savings", format!("{before} − {fees} − {rest} = {saved} per month"));
        for promise in promised(bought) => ("promise", promise.to_string());
        for step in &bought.steps => ("step", step.to_string());
        for caveat in &bought.caveats => ("caveat", caveat.to_string());
    }
}

/// The saving goes to the workloads of the pool by what their instances in it cost.
fn split(bought: &Purchase, own: &PurchaseShare) -> Vec<Line> {
    let workloads = bought.shares.len();
    let pool_cost: Decimal = bought.shares.iter().map(|share| share.monthly).sum();
    let (saved, pool_cost, cost) =
        (money(bought.monthly_savings), figure(pool_cost, 6), figure(own.monthly, 6));
    rows! {
        if workloads < 2 => ("share", "the pool has no other workload: all savings are assigned to it".to_owned());
        if workloads > 1 => ("share", format!("{saved} × {cost} of the {pool_cost} cost of its {workloads} workloads = {}, in whole cents, remainder to the last one", money(own.monthly_savings)));
    }
}
