//! The levers: what could be done about members of a workload that behave alike. Each
//! says what it offers and what it refuses, with the reason; the plan, the rules and the
//! reports read the same answers.

mod commit;
mod hold;
mod proposals;
mod release;
mod rightsize;
mod schedule;
mod share;
mod spot;
mod stop;

pub use commit::Committing;
pub use proposals::{Answer, Proposal, Proposals, Refusal, Refused};
pub use spot::is_launchable;
pub use stop::{NamedMembers, Stop};

use super::{Bought, nothing_less_would_do};
use crate::catalog::Prices;
use crate::domain::{ActionKind, Part, Policy, Risk, Workload};

/// Members of a workload that behave alike, with what they are a part of.
#[derive(Debug, Clone, Copy)]
pub struct Members<'a> {
    /// The members, and what they are judged to be.
    pub part: &'a Part,
    /// All of the workload.
    pub group: &'a Workload,
    /// Every part of it, this one included.
    pub parts: &'a [Part],
    /// Whether any member of the same Auto Scaling group or tag works, here or in a
    /// workload of another type or purchase option.
    pub has_working_peers: bool,
}

impl<'a> Members<'a> {
    /// The members, if they work at hours that nothing has paid for: what every lever
    /// but stop and release is about.
    fn working(&self) -> Result<&'a Part, Refusal> {
        let part = self.part;
        if !part.workload.key.running {
            return Err(Refusal::Stopped);
        }
        if let Some(state) = part.idle {
            return Err(Refusal::Resting(state));
        }
        if part.workload.committed_cost().is_some() {
            return Err(Refusal::Committed);
        }
        Ok(part)
    }
}

/// What levers go by beside the members.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// What is sold, at which price.
    pub prices: &'a Prices<'a>,
    /// The thresholds.
    pub policy: &'a Policy,
    /// What the account has bought already.
    pub bought: Bought<'a>,
    /// The risk that is accepted.
    pub accepted: Risk,
}

/// One way to pay less.
pub trait Lever: Sync {
    /// What its actions are.
    fn kind(&self) -> ActionKind;

    /// What it offers about some members, and what it refuses. `earlier` holds the
    /// answers of the levers before it in [`LEVERS`].
    fn propose(&self, members: &Members<'_>, facts: &Facts<'_>, earlier: &Proposals) -> Answer;
}

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

/// Asks every lever about some members.
pub fn propose(members: &Members<'_>, facts: &Facts<'_>) -> Proposals {
    let mut found = Proposals::default();
    for lever in LEVERS {
        let answer = lever.propose(members, facts, &found);
        found.insert(lever.kind(), answer);
    }
    found.nothing_less_would_do = nothing_less(members.part, facts, &found);
    found
}

/// Whether no lever for what is used too little saves, at this risk or another.
fn nothing_less(part: &Part, facts: &Facts<'_>, found: &Proposals) -> bool {
    let less = [
        ActionKind::Schedule,
        ActionKind::Rightsize,
        ActionKind::Share,
    ];
    part.workload.key.running
        && part.idle.is_none()
        && part.verdict.is_shrinkable()
        && less.iter().all(|kind| found.offered(*kind).is_none())
        && nothing_less_would_do(&part.workload, &part.verdict, facts.prices, facts.policy)
}
