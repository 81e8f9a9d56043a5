//! Whether a workload that is used too little could run on less at all.

use super::{
    Demand, NoSchedule, NoSharing, Rejection, Today, candidates, off_in_unused_hours, share,
};
use crate::catalog::Prices;
use crate::domain::{Policy, Risk, Verdict, Workload};

/// Whether every lever that takes less was weighed with all that it needs, and
/// none of them saves at any risk: smaller or fewer instances, hours off, shared
/// cards. What could not be weighed may save.
pub fn nothing_less_would_do(
    workload: &Workload,
    verdict: &Verdict,
    prices: &Prices<'_>,
    policy: &Policy,
) -> bool {
    no_hour_is_off(workload, verdict, policy)
        && no_card_is_freed(workload, verdict, policy)
        && no_type_is_smaller(workload, prices, policy).unwrap_or(false)
}

fn no_hour_is_off(workload: &Workload, verdict: &Verdict, policy: &Policy) -> bool {
    matches!(
        off_in_unused_hours(workload, verdict, policy, &[]),
        Err(NoSchedule::NeverOff | NoSchedule::WindowsTooShort { .. } | NoSchedule::StoppedAlready)
    )
}

fn no_card_is_freed(workload: &Workload, verdict: &Verdict, policy: &Policy) -> bool {
    // Whole instances are freed: of one there is none to spare.
    workload.instances.len() == 1
        || matches!(
            share(workload, verdict, policy, Risk::High),
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
    let demand = Demand::of(workload, policy).ok();
    // What is needed of memory that was taken ahead may fit elsewhere.
    let demand = demand.filter(|demand| !demand.vram_is_reserved)?;
    let considered = candidates(&today, &demand, prices, policy, Risk::High);
    let is_priced = considered.iter().any(|candidate| candidate.monthly.is_some());
    let is_open = considered.iter().any(|candidate| {
        candidate.is_accepted() || candidate.rejection == Some(Rejection::NotComparable)
    });
    Some(is_priced && !is_open)
}
