//! What leaving a machine does: what stopping it ends, whatever it computes, and what capacity
//! reservations do to moving a workload.

use crate::domain::{Action, Money, Provider, Workload, WorkloadCost};
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

/// What stopping one machine ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// Per month, in whole cents; absent where nothing ends, and without a price.
    pub monthly_savings: Option<Money>,
    /// The capacity reservation to lower in the same step.
    pub reservation: Option<String>,
    /// What would stop an engineer.
    pub caveats: Vec<String>,
}

impl Ending {
    /// That of the member of a workload at a place.
    pub fn of(workload: &Workload, place: usize, bought: &ExistingCommitments<'_>) -> Self {
        let mut ending = Self::default();
        let Some(member) = workload.members.get(place) else { return ending };
        // Own hardware costs the same whether it is used or not.
        if workload.key.provider == Provider::OnPremises {
            return ending;
        }
        if let Some(id) = &member.capacity_reservation {
            if bought.lowerable(id).is_none() {
                ending.caveats.push(
                    "it runs in a capacity reservation that this account cannot lower: stopping \
                     saves nothing"
                        .to_owned(),
                );
                return ending;
            }
            ending.reservation = Some(id.clone());
            ending.caveats.push(UNLESS_LOWERED.to_owned());
        }
        let costs = workload.cost.as_ref().map(|cost| &cost.instances);
        let Some(cost) = costs.and_then(|costs| costs.get(place)) else { return ending };
        ending.caveats.extend(bought.doubt(workload, member));
        let alone = WorkloadCost::of(vec![cost.clone()]);
        if let Some(committed) = alone.and_then(|alone| alone.committed_cost()) {
            ending.caveats.push(format!(
                "what is committed by {} remains: stopping frees those hours for other instances",
                committed.in_words()
            ));
        }
        let saved = cost.monthly().checked_sub(cost.committed_monthly()).ok();
        ending.monthly_savings = saved.filter(|saved| {
            let amount = saved.amount();
            amount.is_sign_positive() && !amount.is_zero()
        });
        ending
    }
}
