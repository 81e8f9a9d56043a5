//! The spot market of today's type and of those that a workload could move to.

use super::hold::Hold;
use super::{Answer, Facts, Lever, Members, Proposal, Proposals, Refusal, Refused};
use crate::catalog::{bundled_interruption_band, family};
use crate::domain::{
    Action, ActionKind, HourlyRate, PriceKey, PriceOption, PurchaseOption, Target, Workload,
};
use crate::savings::{Checkpointing, SpotCase, Stage, nodes_of_job, spot_offer, spot_price};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Buys on the spot market what may be interrupted.
pub(super) struct SpotMarkets;

impl Lever for SpotMarkets {
    fn kind(&self) -> ActionKind {
        ActionKind::Spot
    }

    fn propose(&self, members: &Members<'_>, facts: &Facts<'_>, earlier: &Proposals) -> Answer {
        markets(members, facts, earlier).unwrap_or_else(Answer::from)
    }
}

/// Whether AWS launches new instances of a type, as far as the catalog knows.
pub fn is_launchable(key: &PriceKey) -> bool {
    family(key.family()).is_none_or(|facts| facts.launchable != Some(false))
}

/// A type and number that a market is asked for, with the on-demand price of one.
struct SpotQuery {
    to: Target,
    on_demand: HourlyRate,
}

/// # Errors
/// The reason why no market was evaluated.
fn markets(
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
    for SpotQuery { to, on_demand } in asked(&stage, earlier) {
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

/// The moves that the levers before offer, then today's type.
fn asked(stage: &Stage, earlier: &Proposals) -> Vec<SpotQuery> {
    let rightsize = earlier.rightsize().into_iter();
    let moved =
        rightsize.flat_map(|rightsizing| rightsizing.runner_ups.iter().chain([rightsizing]));
    let moved = moved
        .filter_map(|rightsizing| Some((&rightsizing.action, rightsizing.moved.first()?.hourly)));
    let today = stage.members.first().map(|member| member.hourly);
    let shared = earlier.share().map(|sharing| &sharing.action).zip(today);
    let to = |(action, on_demand): (&Action, HourlyRate)| {
        Some(SpotQuery { to: action.target()?.clone(), on_demand })
    };
    let moves = moved.chain(shared).filter_map(to);
    let stays = today.map(|on_demand| SpotQuery {
        to: Target { instance_type: stage.instance_type.clone(), count: stage.count },
        on_demand,
    });
    moves.chain(stays).collect()
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
