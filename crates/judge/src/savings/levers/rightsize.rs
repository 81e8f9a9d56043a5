//! Another type, or fewer instances.

use super::leaving::Hold;
use super::stop::ending;
use super::{Answer, Facts, Members, Proposal, Proposals, Refusal, Refused};
use crate::domain::{PriceOption, Target, Workload};
use crate::savings::group_share::resized;
use crate::savings::{
    Considered, Demand, NEAREST, Rightsizing, Today, best, candidates, spot_price,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::sync::Arc;

/// Moves a workload to the type and number that do its work for the least money.
///
/// # Errors
/// The reason why no type was evaluated.
pub(super) fn rightsizing(
    members: &Members<'_>,
    facts: &Facts<'_>,
    _: &Proposals,
) -> Result<Answer, Refusal> {
    let part = members.working()?;
    let (workload, accepted) = (&part.workload, facts.accepted);
    if !part.verdict.is_shrinkable() {
        return Err(Refusal::NoVerdict);
    }
    let demand = Demand::of(workload, facts.policy).map_err(Refusal::Missing)?;
    let hold = Hold::of(workload, &facts.bought);
    if hold == Hold::Fixed {
        return Err(Refusal::Held);
    }
    let today = Today::of(workload).map_err(Refusal::Missing)?;
    let considered = candidates(&today, &demand, facts.prices, facts.policy, accepted);
    let types = considered.iter().filter(|_| facts.keeps_types).cloned().map(Arc::new).collect();
    let (suitable, rejected): (Vec<Considered>, Vec<Considered>) =
        considered.into_iter().partition(Considered::is_accepted);
    let mut refused: Vec<Refused> = rejected.into_iter().filter_map(rejection_of).collect();
    let complete = |rightsizing: &mut Rightsizing| {
        rightsizing.action = hold.with_lowering(rightsizing.action.clone());
        let to = rightsizing.action.target();
        let in_group = to.map(|to| resized(workload, to, &ending(members, facts)));
        if let Some(advice) = in_group {
            let caveats = [advice.caveats, rightsizing.action.caveats().to_vec()].concat();
            rightsizing.action = rightsizing.action.clone().with_caveats(caveats);
            rightsizing.steps.extend(advice.steps);
        }
    };
    let on_spot = cheapest_on_spot(workload, &suitable, facts);
    let is_tried = |name: &str| {
        on_spot.as_deref() == Some(name) || facts.bought.has_reserved(&workload.key.region, name)
    };
    let offered = best(&today, &demand, suitable, accepted, is_tried).map(|mut rightsizing| {
        complete(&mut rightsizing);
        rightsizing.runner_ups.iter_mut().for_each(complete);
        Arc::new(Proposal::Rightsize(rightsizing))
    });
    if offered.is_none() && refused.is_empty() {
        refused.push(Refusal::SavesNothing.into());
    }
    let refused_count = refused.len();
    // One reason against all of them is a reason against the lever.
    if offered.is_none()
        && let Some(first) = refused.first().cloned()
        && refused.iter().all(|refusal| refusal.reason == first.reason)
    {
        return Ok(Answer { refused: vec![first], types, ..Answer::default() });
    }
    let refused = nearest(refused);
    Ok(Answer { offered, more_refused: refused_count - refused.len(), refused, types })
}

/// Of the types that do the work of what may be interrupted, the cheapest on the spot market.
fn cheapest_on_spot(
    workload: &Workload,
    suitable: &[Considered],
    facts: &Facts<'_>,
) -> Option<String> {
    let on_spot = suitable.iter().filter(|_| workload.restartable).filter_map(|candidate| {
        let name = &candidate.shape.instance_type;
        let key = workload.price_key.with_type(name);
        let price = spot_price(facts.prices, &key.with_option(PriceOption::Spot))?;
        let slower = Decimal::from_f64(candidate.slowdown())?;
        let cost = price.rate.amount() * Decimal::from(candidate.count) * slower;
        Some((cost, name.clone()))
    });
    on_spot.min().map(|(_, name)| name)
}

/// The nearest of them, and of those farther away the nearest for each other reason.
fn nearest(refused: Vec<Refused>) -> Vec<Refused> {
    let mut kept: Vec<Refused> = Vec::with_capacity(NEAREST);
    for refusal in refused {
        let is_new = |known: &Refused| !known.reason.is_like(&refusal.reason);
        if kept.len() < NEAREST || kept.iter().all(is_new) {
            kept.push(refusal);
        }
    }
    kept.shrink_to_fit();
    kept
}

fn rejection_of(candidate: Considered) -> Option<Refused> {
    Some(Refused {
        candidate: Some(Target {
            instance_type: candidate.shape.instance_type.clone(),
            count: candidate.count,
        }),
        reason: Refusal::Type(candidate.rejection?),
    })
}
