//! The spot market of today's type and of those that a workload could move to.

use super::leaving::Hold;
use super::{Answer, Facts, Members, Proposal, Proposals, Refusal, Refused};
use crate::catalog::{bundled_interruption_band, family};
use crate::domain::{Action, HourlyRate, PriceKey, PriceOption, PurchaseOption, Target, Workload};
use crate::savings::{Checkpointing, SpotCase, Stage, nodes_of_job, spot_offer, spot_price};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whether AWS launches new instances of a type, as far as the catalog knows.
pub fn is_launchable(key: &PriceKey) -> bool {
    family(key.family()).is_none_or(|facts| facts.launchable != Some(false))
}

/// Buys on the spot market what may be interrupted.
///
/// # Errors
/// The reason why no market was evaluated.
pub(super) fn markets(
    members: &Members<'_>,
    facts: &Facts<'_>,
    earlier: &Proposals,
) -> Result<Answer, Refusal> {
    let workload = &members.working()?.workload;
    members.group.monthly_cost().ok_or(Refusal::Unpriced)?;
    let stage = Stage::of(workload).ok_or(Refusal::Unpriced)?;
    let option = workload.key.purchase_option;
    if option != PurchaseOption::OnDemand {
        return Err(Refusal::Billed(option));
    }
    if Hold::of(workload, &facts.bought) == Hold::Fixed {
        return Err(Refusal::Held);
    }
    // Members of several systems or tenancies have several markets.
    let mut keys = workload.members.iter().map(|member| &member.price_key);
    if keys.any(|key| *key != workload.price_key) {
        return Err(Refusal::SeveralMarkets);
    }
    let mut offers = BTreeMap::new();
    let mut refused = Vec::new();
    for (to, on_demand) in asked(&stage, earlier) {
        match spot_offer(&case_of(workload, &to, on_demand, facts)) {
            Ok(offer) => {
                offers.insert(to.instance_type, offer);
            }
            Err(reason) => {
                refused.push(Refused { candidate: Some(to), reason: Refusal::Spot(reason) })
            }
        }
    }
    Ok(Answer {
        offered: (!offers.is_empty()).then(|| Arc::new(Proposal::Spot(offers))),
        refused,
        ..Answer::default()
    })
}

/// The moves that the levers before offer, then today's type, each with the on-demand price of one.
fn asked(stage: &Stage, earlier: &Proposals) -> Vec<(Target, HourlyRate)> {
    let rightsize = earlier.rightsize().into_iter();
    let moved = rightsize
        .flat_map(|rightsizing| rightsizing.runner_ups.iter().chain([rightsizing]))
        .filter_map(|rightsizing| Some((&rightsizing.action, rightsizing.moved.first()?.hourly)));
    let today = stage.members.first().map(|member| member.hourly);
    let shared = earlier.share().map(|sharing| &sharing.action).zip(today);
    let to =
        |(action, on_demand): (&Action, HourlyRate)| Some((action.target()?.clone(), on_demand));
    let stays = Target { instance_type: stage.instance_type.clone(), count: stage.count };
    moved.chain(shared).filter_map(to).chain(today.map(|on_demand| (stays, on_demand))).collect()
}

fn case_of(workload: &Workload, to: &Target, on_demand: HourlyRate, facts: &Facts<'_>) -> SpotCase {
    let key = workload.price_key.with_type(&to.instance_type).with_option(PriceOption::Spot);
    let kind = workload.declared_kind();
    let is_alone = workload.runs_on_one_gpu(facts.policy);
    SpotCase {
        on_demand,
        spot: spot_price(facts.prices, &key),
        is_launchable: is_launchable(&key),
        band: bundled_interruption_band(&key).map(|(band, _)| band),
        nodes: nodes_of_job(kind, to.count as usize, is_alone),
        kind,
        restartable: workload.restartable,
        accepted: facts.accepted,
        checkpointing: Checkpointing::default(),
        least_interruptions_per_day: facts.policy.spot_interruptions_per_day,
    }
}
