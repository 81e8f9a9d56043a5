//! The levers: what could be done about members of a workload that behave alike. Each
//! says what it offers and what it refuses, with the reason; the plan, the rules and the
//! reports read the same answers. Long ones have a file of their own.

mod commit;
mod leaving;
mod proposals;
mod rightsize;
mod spot;
mod stop;

pub use leaving::Ending;
pub use proposals::{
    Answer, Committing, Facts, Members, NOTHING_SMALLER, Proposal, Proposals, Refusal, Refused,
    Stop,
};
pub use spot::is_launchable;
pub use stop::named_members;

use super::{
    Demand, NoSchedule, NoSharing, Rejection, Today, candidates, off_in_unused_hours, released,
    share,
};
use crate::catalog::Prices;
use crate::domain::{Action, ActionKind, Part, Policy, Provider, Risk, Workload, WorkloadKey};
use leaving::Hold;

/// One way to pay less.
pub struct Lever {
    pub kind: ActionKind,
    /// What it offers about some members and what it refuses, or why it offers nothing at all. The
    /// last has the answers of the levers before it in [`LEVERS`].
    propose: fn(&Members<'_>, &Facts<'_>, &Proposals) -> Result<Answer, Refusal>,
}

/// Every lever, in the order in which a plan considers them.
pub const LEVERS: &[Lever] = &[
    Lever { kind: ActionKind::Stop, propose: stop::stopping },
    Lever { kind: ActionKind::Release, propose: releasing },
    Lever { kind: ActionKind::Schedule, propose: scheduling },
    Lever { kind: ActionKind::Rightsize, propose: rightsize::rightsizing },
    Lever { kind: ActionKind::Share, propose: sharing },
    Lever { kind: ActionKind::Spot, propose: spot::markets },
    Lever { kind: ActionKind::Commit, propose: commit::committing },
];

pub fn propose(members: &Members<'_>, facts: &Facts<'_>) -> Proposals {
    let mut proposals = Proposals::default();
    let key = &members.part.workload.key;
    for Lever { kind, propose } in LEVERS {
        if *kind == ActionKind::Commit {
            let is_sized = ruled_out(key, ActionKind::Rightsize).is_none();
            proposals.nothing_less_would_do =
                is_sized && nothing_less(members.part, facts, &proposals);
        }
        let answer = match ruled_out(key, *kind) {
            Some(reason) => Err(reason),
            None => propose(members, facts, &proposals),
        };
        proposals.insert(*kind, answer.unwrap_or_else(Answer::from));
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

/// Ends what stands while a workload is stopped, its volumes and addresses, unless it stopped so
/// lately that it may be started again.
fn releasing(members: &Members<'_>, facts: &Facts<'_>, _: &Proposals) -> Result<Answer, Refusal> {
    let workload = &members.part.workload;
    if workload.key.running {
        return Err(Refusal::Running);
    }
    if workload.stopped_within(facts.policy.idle_grace(), facts.bought.as_of) {
        return Err(Refusal::StoppedLately);
    }
    let idle_storage = &workload.idle_storage;
    let monthly = idle_storage.monthly.ok_or(Refusal::Unpriced)?;
    if monthly.amount().is_zero() {
        return Err(Refusal::NothingStands);
    }
    let saving = released(idle_storage, &workload.key.region).ok_or(Refusal::Unpriced)?;
    let mut detail = idle_storage.priced.join("; ");
    if let Some(bound) = &saving.bound {
        detail.push_str(&format!("; less snapshots of all data: {bound}"));
    }
    if !idle_storage.unpriced.is_empty() {
        let unpriced = idle_storage.unpriced.join(", ");
        detail.push_str(&format!("; unpriced and not included: {unpriced}"));
    }
    let action =
        Action::saving(ActionKind::Release, None, detail, saving.saved, monthly, Risk::Low)
            .ok_or(Refusal::OnlySnapshots)?
            .of_which_certain(saving.certain)
            .leaving_snapshots(saving.snapshots)
            .with_caveats(saving.caveat.into_iter().collect());
    Ok(Proposal::Release(action).into())
}

/// Switches a workload off in the hours in which it never works.
fn scheduling(members: &Members<'_>, facts: &Facts<'_>, _: &Proposals) -> Result<Answer, Refusal> {
    let part = members.working()?;
    // Capacity that is held for the hours on is paid in the hours off.
    if Hold::of(&part.workload, &facts.bought) != Hold::Free {
        return Err(Refusal::HeldHours);
    }
    let ended = stop::ending(members, facts);
    off_in_unused_hours(&part.workload, &part.verdict, facts.policy, &ended)
        .map(|scheduling| Proposal::Schedule(scheduling).into())
        .map_err(Refusal::Schedule)
}

/// Puts the tenants of a workload together on fewer cards.
fn sharing(members: &Members<'_>, facts: &Facts<'_>, _: &Proposals) -> Result<Answer, Refusal> {
    let part = members.working()?;
    let hold = Hold::of(&part.workload, &facts.bought);
    if hold == Hold::Fixed {
        return Err(Refusal::Held);
    }
    let mut sharing = share(&part.workload, &part.verdict, facts.policy, facts.accepted)
        .map_err(Refusal::Share)?;
    sharing.action = hold.with_lowering(sharing.action);
    Ok(Proposal::Share(sharing).into())
}

/// Whether every lever for what is used too little was weighed with all that it needs, and none of
/// them saves at any risk: smaller or fewer instances, hours off, shared cards. What could not be
/// weighed may save.
fn nothing_less(part: &Part, facts: &Facts<'_>, proposals: &Proposals) -> bool {
    let less = [ActionKind::Schedule, ActionKind::Rightsize, ActionKind::Share];
    part.workload.key.running
        && part.idle.is_none()
        && part.verdict.is_low()
        && part.verdict.is_shrinkable()
        && less.iter().all(|kind| proposals.offered(*kind).is_none())
        && no_hour_is_off(part, facts.policy)
        && no_card_is_freed(part, facts.policy)
        && no_type_is_smaller(&part.workload, facts.prices, facts.policy).unwrap_or(false)
}

fn no_hour_is_off(part: &Part, policy: &Policy) -> bool {
    matches!(
        off_in_unused_hours(&part.workload, &part.verdict, policy, &[]),
        Err(NoSchedule::NeverOff | NoSchedule::WindowsTooShort { .. } | NoSchedule::StoppedAlready)
    )
}

fn no_card_is_freed(part: &Part, policy: &Policy) -> bool {
    // Whole instances are freed: of one there is none to spare.
    part.workload.instances.len() == 1
        || matches!(
            share(&part.workload, &part.verdict, policy, Risk::High),
            Err(NoSharing::NotReplicas { .. }
                | NoSharing::NoWholeGpu
                | NoSharing::NoMig { .. }
                | NoSharing::Production { .. }
                | NoSharing::SeveralOwners { .. }
                | NoSharing::NothingFreed { .. })
        )
}

/// Absent when what the workload needs is not known.
fn no_type_is_smaller(workload: &Workload, prices: &Prices<'_>, policy: &Policy) -> Option<bool> {
    let today = Today::of(workload).ok()?;
    // What is needed of memory that was taken ahead may fit elsewhere.
    let demand = Demand::of(workload, policy).ok().filter(|demand| !demand.vram_is_reserved)?;
    let considered = candidates(&today, &demand, prices, policy, Risk::High);
    let is_priced = considered.iter().any(|candidate| candidate.monthly.is_some());
    let is_open = considered.iter().any(|candidate| {
        candidate.is_accepted() || candidate.rejection == Some(Rejection::NotComparable)
    });
    Some(is_priced && !is_open)
}
