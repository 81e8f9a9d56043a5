//! What stopping one machine ends, whatever it computes.

use super::hold::UNLESS_LOWERED;
use crate::domain::{Money, Provider, Workload, WorkloadCost};
use crate::savings::ExistingCommitments;

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
