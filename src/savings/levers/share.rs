//! Several tenants on one card.

use super::hold::Hold;
use super::{Answer, Facts, Lever, Members, Proposal, Proposals, Refusal};
use crate::domain::ActionKind;
use crate::savings::{Sharing, share};

/// Puts the tenants of a workload together on fewer cards.
pub(super) struct SharedCards;

impl Lever for SharedCards {
    fn kind(&self) -> ActionKind {
        ActionKind::Share
    }

    fn propose(&self, members: &Members<'_>, facts: &Facts<'_>, _: &Proposals) -> Answer {
        sharing(members, facts).map(Proposal::Share).into()
    }
}

fn sharing(members: &Members<'_>, facts: &Facts<'_>) -> Result<Sharing, Refusal> {
    let part = members.working()?;
    let hold = Hold::of(&part.workload, &facts.bought);
    if hold == Hold::Fixed {
        return Err(Refusal::Held);
    }
    let answer = share(&part.workload, &part.verdict, facts.policy, facts.accepted);
    let mut sharing = answer.map_err(Refusal::Share)?;
    sharing.action = hold.with_lowering(sharing.action);
    Ok(sharing)
}
