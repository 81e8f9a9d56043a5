//! A workload's part of the plan: each action on what the one before left.

use super::cost::{figure, price, share};
use super::line::{Derivation, Line, PlanState, lines};
use super::moves::{schedule, sharing, spot, stopped};
use super::purchases::commit;
use super::rightsize::rightsize;
use crate::analysis::AuditedWorkload;
use crate::domain::{Action, ActionKind, Money};
use crate::report::doc::columns;
use crate::report::shared::text::money;
use crate::savings::{Proposal, Stage};
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
        let (action, lines) = (row.action, &mut row.steps);
        basis(action, audited, by, lines);
        match action.kind() {
            ActionKind::Schedule => scheduled(&mut state, lines),
            ActionKind::Rightsize | ActionKind::Share => resized(action, &mut state, lines),
            ActionKind::Spot => spot(&mut state, lines),
            ActionKind::Commit => commit(action, &state, by, lines),
            ActionKind::Stop => stopped(action, audited, lines),
            ActionKind::Release => {
                steps! { lines;
                    "left" for (left, snapshots) in left.zip(action.snapshots()) => "{} − {} for snapshots = {}, of which {} is certain", money(left), money(snapshots), money(action.monthly_savings()), money(action.certain());
                }
            }
        }
        left = row.planned_monthly_cost;
        if let Some(target) = action.target() {
            state.instance_type.clone_from(&target.instance_type);
        }
    }
    rows
}

/// What the plan does without, with what it rests on.
pub(super) fn alternatives<'a>(
    audited: &'a AuditedWorkload,
    by: &Derivation<'_>,
) -> Vec<Planned<'a>> {
    let is_taken = |kind| audited.actions.iter().any(|action| action.kind() == kind);
    let rows = audited.proposals.actions().filter(|action| !is_taken(action.kind())).map(|action| {
        let mut steps = Vec::new();
        basis(action, audited, by, &mut steps);
        if let Some(Proposal::Commit(commitment)) = audited.proposals.offered(action.kind()) {
            steps! { steps;
                "price" for instance in &commitment.alone => "{}", price(&instance.key, &instance.quote);
            }
        }
        Planned { action, planned_monthly_cost: None, steps }
    });
    rows.collect()
}

/// What an offer rests on by itself, whatever the plan does before it.
fn basis(action: &Action, audited: &AuditedWorkload, by: &Derivation<'_>, lines: &mut Vec<Line>) {
    match (audited.proposals.offered(action.kind()), audited.working()) {
        (Some(Proposal::Schedule(scheduling)), _) => schedule(scheduling, lines),
        (Some(Proposal::Rightsize(rightsizing)), Some(part)) => {
            let answer = audited.proposals.answer(action.kind());
            rightsize(&part.workload, rightsizing, answer, by, lines);
        }
        (Some(Proposal::Share(shared)), Some(part)) => sharing(&part.workload, shared, lines),
        _ => {}
    }
}

fn scheduled(state: &mut PlanState<'_>, lines: &mut Vec<Line>) {
    let Some(offered) = &state.audited.alternatives.schedule else { return };
    let (before, on) = (state.monthly, offered.hours.on_share);
    state.hours = Some(&offered.hours);
    state.monthly = before * on;
    steps! { lines;
        "left" => "{} × (1 − {}) = {} per month", figure(before, 6), figure(Decimal::ONE - on, 10), figure(state.monthly, 6);
    }
}

/// What a new type or number costs in the hours that are left.
fn resized(action: &Action, state: &mut PlanState<'_>, lines: &mut Vec<Line>) {
    let mut resizes = state.audited.alternatives.resizes.iter();
    let Some(offer) = resizes.find(|offer| offer.leads_to(action)) else { return };
    let (before, slowdown) = (offer.monthly_at_todays_hours, offer.slowdown);
    state.monthly = offer.stage(state.hours).monthly();
    let is_longer = state.hours.is_none() && state.monthly != before;
    let scheduled = state
        .hours
        .map(|today| (offer.scheduled.as_ref().unwrap_or(today).on_share, today.on_share));
    let extended = scheduled.filter(|_| slowdown > 1.0);
    let (before, left) = (figure(before, 6), figure(state.monthly, 6));
    steps! { lines;
        "hours" for (on, today) in extended => "the work takes {slowdown:.4} times as long, so its windows are extended to whole hours: {} of the running time instead of {}", share(on), share(today);
        "left" for (on, _) in scheduled => "{before} × {} of the hours = {left} per month", figure(on, 10);
        "left" if is_longer => "the work takes {slowdown:.4} times as long; its hours increase accordingly unless it runs 24/7: {left} per month instead of {before}";
    }
}
