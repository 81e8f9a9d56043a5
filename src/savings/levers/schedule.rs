//! Running only in the hours that are used.

use super::hold::Hold;
use super::stop::ending;
use super::{Answer, Facts, Lever, Members, Proposal, Proposals, Refusal};
use crate::domain::ActionKind;
use crate::savings::{Scheduling, off_in_unused_hours};

/// Switches a workload off in the hours in which it never works.
pub(super) struct OffHours;

impl Lever for OffHours {
    fn kind(&self) -> ActionKind {
        ActionKind::Schedule
    }

    fn propose(&self, members: &Members<'_>, facts: &Facts<'_>, _: &Proposals) -> Answer {
        scheduling(members, facts).map(Proposal::Schedule).into()
    }
}

fn scheduling(members: &Members<'_>, facts: &Facts<'_>) -> Result<Scheduling, Refusal> {
    let part = members.working()?;
    // Capacity that is held for the hours on is paid in the hours off.
    if Hold::of(&part.workload, &facts.bought) != Hold::Free {
        return Err(Refusal::HeldHours);
    }
    let ended = ending(members, facts);
    off_in_unused_hours(&part.workload, &part.verdict, facts.policy, &ended)
        .map_err(Refusal::Schedule)
}
