//! The levers: what could be done about members of a workload that behave alike. Each
//! says what it offers and what it refuses, with the reason; the plan, the rules and the
//! reports read the same answers.

mod commit;
mod ending;
mod hold;
mod lever;
mod proposals;
mod release;
mod rightsize;
mod schedule;
mod share;
mod spot;
mod stop;

pub use ending::Ending;
pub use lever::{Facts, Lever, Members};
pub use proposals::{
    Answer, Committing, NOTHING_SMALLER, Proposal, Proposals, Refusal, Refused, Stop,
};
pub use spot::is_launchable;
pub use stop::NamedMembers;

use super::nothing_less_would_do;
use crate::domain::{ActionKind, Part, Provider, WorkloadKey};

/// Every lever, in the order in which a plan considers them.
pub const LEVERS: &[&dyn Lever] = &[
    &stop::StopIdle,
    &release::ReleaseStorage,
    &schedule::OffHours,
    &rightsize::OtherTypes,
    &share::SharedCards,
    &spot::SpotMarkets,
    &commit::BuyAhead,
];

pub fn propose(members: &Members<'_>, facts: &Facts<'_>) -> Proposals {
    let mut proposals = Proposals::default();
    let key = &members.part.workload.key;
    for lever in LEVERS {
        if lever.kind() == ActionKind::Commit {
            let is_sized = ruled_out(key, ActionKind::Rightsize).is_none();
            proposals.nothing_less_would_do =
                is_sized && nothing_less(members.part, facts, &proposals);
        }
        let answer = match ruled_out(key, lever.kind()) {
            Some(reason) => reason.into(),
            None => lever.propose(members, facts, &proposals),
        };
        proposals.insert(lever.kind(), answer);
    }
    proposals
}

/// Why a lever cannot be for what a provider rents out, whatever was measured.
fn ruled_out(key: &WorkloadKey, kind: ActionKind) -> Option<Refusal> {
    match (key.provider, kind) {
        (Provider::OnPremises, _) => Some(Refusal::OwnHardware),
        (Provider::SageMaker, ActionKind::Schedule) if key.is_never_stopped() => {
            Some(Refusal::NoPause)
        }
        (Provider::SageMaker, ActionKind::Rightsize) => Some(Refusal::TypesNotCompared),
        (Provider::SageMaker, ActionKind::Share) => Some(Refusal::ManagedHost),
        (Provider::SageMaker, ActionKind::Spot) => Some(Refusal::NoSpotMarket),
        (Provider::SageMaker, ActionKind::Commit) => Some(Refusal::OtherCommitments),
        _ => None,
    }
}

/// Whether no lever for what is used too little saves, at this risk or another.
fn nothing_less(part: &Part, facts: &Facts<'_>, proposals: &Proposals) -> bool {
    let less = [ActionKind::Schedule, ActionKind::Rightsize, ActionKind::Share];
    part.workload.key.running
        && part.idle.is_none()
        && part.verdict.is_low()
        && part.verdict.is_shrinkable()
        && less.iter().all(|kind| proposals.offered(*kind).is_none())
        && nothing_less_would_do(&part.workload, &part.verdict, facts.prices, facts.policy)
}
