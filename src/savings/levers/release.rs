//! Releasing what stands while a workload is stopped.

use super::{Answer, Facts, Lever, Members, Proposal, Proposals, Refusal};
use crate::domain::{Action, ActionKind, Risk};
use crate::savings::released;

/// Ends the volumes and addresses of what is stopped.
pub(super) struct ReleaseStorage;

impl Lever for ReleaseStorage {
    fn kind(&self) -> ActionKind {
        ActionKind::Release
    }

    fn propose(&self, members: &Members<'_>, facts: &Facts<'_>, _: &Proposals) -> Answer {
        release(members, facts).map(Proposal::Release).into()
    }
}

/// Ends what stands while a workload is stopped, unless it stopped so lately that it may
/// be started again.
fn release(members: &Members<'_>, facts: &Facts<'_>) -> Result<Action, Refusal> {
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
        Action::saving(ActionKind::Release, None, detail, saving.saved, monthly, Risk::Low);
    let action = action.ok_or(Refusal::OnlySnapshots)?;
    Ok(action
        .of_which_certain(saving.certain)
        .leaving_snapshots(saving.snapshots)
        .with_caveats(saving.caveat.into_iter().collect()))
}
