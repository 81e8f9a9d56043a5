//! What capacity reservations do to moving a workload.

use crate::domain::{Action, Workload};
use crate::savings::ExistingCommitments;
use std::collections::BTreeMap;

/// What is to be said of leaving a capacity reservation that can be lowered.
pub(super) const UNLESS_LOWERED: &str = "the cost continues as unused capacity unless the \
     capacity reservation is lowered in the same step";

/// What capacity reservations do to moving a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hold {
    /// It runs in none.
    Free,
    /// They can be lowered in the same step, in these words.
    Lowerable(String),
    /// They cannot: whatever leaves them goes on being paid.
    Fixed,
}

impl Hold {
    pub(super) fn of(workload: &Workload, bought: &ExistingCommitments<'_>) -> Self {
        let mut lowered: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for member in &workload.members {
            let Some(id) = &member.capacity_reservation else { continue };
            let Some(reservation) = bought.lowerable(id) else { return Self::Fixed };
            lowered.entry(id).or_insert((reservation.total, 0)).1 += 1;
        }
        if lowered.is_empty() {
            return Self::Free;
        }
        let words = lowered.iter().map(|(id, (total, less))| {
            format!("lower the capacity reservation {id} by {less} of {total} in the same step")
        });
        Self::Lowerable(words.collect::<Vec<_>>().join("; "))
    }

    /// A move out of the reservations: one action that says both.
    pub(super) fn with_lowering(&self, action: Action) -> Action {
        let Self::Lowerable(words) = self else { return action };
        let mut caveats = action.caveats().to_vec();
        caveats.push(UNLESS_LOWERED.to_owned());
        action.and_also(words).with_caveats(caveats)
    }
}
