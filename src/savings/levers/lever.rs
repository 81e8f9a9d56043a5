//! What a lever is, and what it is asked about.

use super::{Answer, Proposals, Refusal};
use crate::catalog::Prices;
use crate::domain::{ActionKind, Part, Policy, Risk, Workload};
use crate::savings::{ExistingCommitments, HeldMachines};

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
    /// Who holds their devices.
    pub held: &'a HeldMachines<'a>,
}

impl<'a> Members<'a> {
    /// The members, if they work: what every lever but stop and release is about.
    pub(super) fn working(&self) -> Result<&'a Part, Refusal> {
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
    pub prices: &'a Prices<'a>,
    pub policy: &'a Policy,
    pub bought: ExistingCommitments<'a>,
    pub accepted: Risk,
    /// Whether right-sizing keeps every type that it evaluated, and not the nearest alone.
    pub keeps_types: bool,
}

/// One way to pay less.
pub trait Lever: Sync {
    fn kind(&self) -> ActionKind;

    /// What it offers about some members, and what it refuses. `earlier` holds the
    /// answers of the levers before it in [`LEVERS`](super::LEVERS).
    fn propose(&self, members: &Members<'_>, facts: &Facts<'_>, earlier: &Proposals) -> Answer;
}
