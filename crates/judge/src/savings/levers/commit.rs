//! Buying ahead what goes on running.

use super::{Answer, Committing, Facts, Members, Proposal, Proposals, Refusal, Refused};
use crate::catalog::gpu_spec;
use crate::domain::{ActionKind, Classification, Part, PriceOption, PurchaseOption, Workload};
use crate::savings::{CommitAfter, one_year_no_upfront};
use rust_decimal::Decimal;
use std::sync::Arc;

/// Buys ahead for the members that stay.
///
/// # Errors
/// The reason why no member was evaluated.
pub(super) fn committing(
    members: &Members<'_>,
    facts: &Facts<'_>,
    earlier: &Proposals,
) -> Result<Answer, Refusal> {
    let part = members.working()?;
    let (workload, verdict) = (&part.workload, &part.verdict);
    let option = workload.key.purchase_option;
    if option != PurchaseOption::OnDemand {
        return Err(Refusal::Billed(option));
    }
    let is_used = verdict.classification == Classification::WellUtilized;
    let is_open = verdict.confidence.is_some() && verdict.state.is_none() && !is_used;
    if is_open || may_be_contradicted(workload) {
        return Err(Refusal::IdlenessUnknown);
    }
    // A smaller type may follow from what was not measured; a commitment would fix this one.
    if let Some(missing) = earlier.unmeasured(ActionKind::Rightsize) {
        return Err(Refusal::Missing(missing));
    }
    // What is overprovisioned shrinks first, if it can; a commitment would fix it.
    let one_year_only = !verdict.is_used() && earlier.nothing_less_would_do;
    let alone = (verdict.is_used() || one_year_only)
        .then(|| one_year_no_upfront(workload, facts.prices, facts.policy))
        .flatten()
        .filter(|_| {
            let pool = facts.bought.pool(workload, workload.price_key.clone());
            facts.bought.plan_of_unknown_rate(&pool).is_none()
        });
    let after = commit_after(part, facts, earlier);
    let (places, refused) = places(members, facts, after.is_some());
    let is_offered = alone.is_some() || !places.is_empty();
    Ok(Answer {
        offered: is_offered.then(|| {
            Arc::new(Proposal::Commit(Committing {
                alone,
                places,
                after: after.unwrap_or_default(),
                one_year_only,
            }))
        }),
        refused,
        ..Answer::default()
    })
}

/// Whether the power of a GPU that is missing, where that of others is known, may contradict what
/// is known of it: all others rest however busy they are, or it is said to do nothing.
fn may_be_contradicted(workload: &Workload) -> bool {
    let shape = workload.shape.as_ref();
    let spec = shape.and_then(|shape| gpu_spec(shape.gpu.as_ref()?));
    let Some(rest) = spec.and_then(|spec| spec.rests_up_to_watts()) else { return false };
    workload.usage.iter().any(|usage| {
        let watts = || usage.gpus.iter().filter_map(|gpu| gpu.power?.p95_w);
        let known = watts().count();
        let mut unknown = usage.gpus.iter().filter(|gpu| gpu.power.is_none());
        let is_silent = unknown.any(|gpu| gpu.works() == Some(false));
        let all_rest = known < usage.gpus.len() && watts().all(|watts| watts <= rest);
        known > 0 && (all_rest || is_silent)
    })
}

/// The members that may be committed to: each measured long enough by itself, in a
/// workload that is used well, brought to its size or its hours by another lever, or of no
/// smaller shape. A commitment on what else is overprovisioned would fix that for a year.
fn places(
    members: &Members<'_>,
    facts: &Facts<'_>,
    may_be_right_sized: bool,
) -> (Vec<usize>, Vec<Refused>) {
    let part = members.part;
    let workload = &part.workload;
    let is_priced = members.group.monthly_cost().is_some() && workload.cost.is_some();
    let reason = if !is_priced {
        Some(Refusal::Unpriced)
    } else if part.verdict.confidence.is_none() {
        Some(Refusal::NoVerdict)
    } else if !may_be_right_sized {
        Some(Refusal::StaysOversized)
    } else {
        None
    };
    if let Some(reason) = reason {
        return (Vec::new(), vec![reason.into()]);
    }
    let (mut places, mut refused) = (Vec::new(), Vec::new());
    for (place, member) in workload.members.iter().enumerate() {
        if !workload.is_committable(place, facts.policy) {
            continue;
        }
        if let Some(until) = member.until.filter(|until| until.years == 0) {
            let ends = Refused::from(Refusal::Ends(until.date));
            if !refused.contains(&ends) {
                refused.push(ends);
            }
            continue;
        }
        let key = member.price_key.with_option(PriceOption::OnDemand);
        let pool = facts.bought.pool(workload, key);
        let Some(plan) = facts.bought.plan_of_unknown_rate(&pool) else {
            places.push(place);
            continue;
        };
        let unknown = Refused::from(Refusal::RateUnknown {
            plan: plan.id.clone(),
            instance_type: pool.key.instance_type,
        });
        if !refused.contains(&unknown) {
            refused.push(unknown);
        }
    }
    if places.is_empty() && refused.is_empty() {
        refused.push(Refusal::TooShort.into());
    }
    (places, refused)
}

/// What makes the GPUs used enough within the accepted risk; `None` where nothing that is offered
/// does.
fn commit_after(part: &Part, facts: &Facts<'_>, earlier: &Proposals) -> Option<CommitAfter> {
    if part.verdict.is_used() {
        return Some(CommitAfter::Nothing);
    }
    let scheduling = earlier.schedule();
    let on_share = scheduling
        .filter(|scheduling| scheduling.action.risk() <= facts.accepted)
        .map(|scheduling| Decimal::ONE - scheduling.schedule.saved_share);
    let mean = part.workload.utilization.as_ref().map(|utilization| utilization.distribution.mean);
    let after = mean.map(|mean| CommitAfter::of(mean, on_share, facts.policy));
    if after == Some(CommitAfter::Schedule) {
        return after;
    }
    let moves = [ActionKind::Rightsize, ActionKind::Share];
    let is_moved = |kind: &ActionKind| earlier.offers_within(*kind, facts.accepted);
    let is_allowed = earlier.nothing_less_would_do || moves.iter().any(is_moved);
    is_allowed.then_some(CommitAfter::Move)
}
