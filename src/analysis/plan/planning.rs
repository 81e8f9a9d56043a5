//! From what could be done about each workload to one plan.

use super::owned::{Owned, unknown_rate};
use crate::analysis::PriceUse;
use crate::analysis::workloads::Grouped;
use crate::catalog::Prices;
use crate::domain::{Action, Cause, CauseKind, CommitmentPool, Gap, Policy, Risk, Workload};
use crate::savings::{
    Alternatives, Bought, Facts, HeldMachines, Members, Plan, Proposals, Refusal, TermOffer, Terms,
    commitment_pools, plan, propose,
};
use crate::usage::{Estate, Timeline};
use rayon::prelude::*;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What a plan is made by.
pub(in crate::analysis) struct Planner<'a> {
    pub prices: &'a Prices<'a>,
    pub policy: &'a Policy,
    pub owned: &'a Owned<'a>,
    pub estate: &'a Estate,
    pub accepted: Risk,
    pub keeps_types: bool,
    pub held: &'a HeldMachines<'a>,
}

/// What could be done about one workload.
pub(in crate::analysis) struct GroupProposals {
    /// About all of it.
    pub whole: Proposals,
    /// About each of its parts, in their order.
    pub by_part: Vec<Proposals>,
}

impl GroupProposals {
    /// Asks every lever about every part of a group.
    fn of(group: &Grouped, facts: &Facts<'_>, held: &HeldMachines<'_>) -> Self {
        let about = |part| {
            let members = Members {
                part,
                group: &group.workload,
                parts: &group.parts,
                has_working_peers: group.has_working_peers,
                held,
            };
            propose(&members, facts)
        };
        let by_part: Vec<Proposals> = group.parts.iter().map(about).collect();
        Self {
            whole: Proposals::whole(&group.workload, &group.parts, &by_part),
            by_part,
        }
    }

    /// What kept levers silent because of missing data.
    fn gaps(&self, workload: &Workload) -> Vec<Gap> {
        let refused = self.by_part.iter().flat_map(Proposals::refused);
        refused
            .filter_map(|refused| missing_data(&refused.reason, workload))
            .collect()
    }
}

/// A plan at one level of risk, with everything that it was chosen from.
pub(in crate::analysis) struct Planned {
    pub risk: Risk,
    pub proposals: Vec<GroupProposals>,
    pub alternatives: Vec<Alternatives>,
    pub plan: Plan,
    pub prices_used: PriceUse,
    pub gaps: Vec<Gap>,
}

impl Planned {
    /// Everything that it saves.
    pub fn saved(&self) -> Decimal {
        let actions = self.plan.actions.iter().flatten();
        actions
            .map(|action| action.monthly_savings().amount())
            .sum()
    }
}

impl Planner<'_> {
    /// Composes the plan, and notes the prices that its figures rest on.
    pub fn plan(&self, groups: &[Grouped]) -> Planned {
        let bought = self.owned.bought();
        let facts = Facts {
            prices: self.prices,
            policy: self.policy,
            bought,
            accepted: self.accepted,
            keeps_types: self.keeps_types,
        };
        let (proposals, (alternatives, gaps)): (Vec<_>, (Vec<_>, Vec<Vec<Gap>>)) = groups
            .par_iter()
            .map(|group| {
                let found = GroupProposals::of(group, &facts, self.held);
                let own = Alternatives::of(
                    &group.workload,
                    group.working(),
                    &found.whole,
                    bought.commitments,
                );
                let gaps = found.gaps(&group.workload);
                (found, (own, gaps))
            })
            .unzip();
        let mut prices_used = PriceUse::default();
        for (group, found) in groups.iter().zip(&proposals) {
            prices_used.record(&group.workload, &found.whole);
        }
        let pools = commitment_pools(&alternatives).into_iter();
        let sold: BTreeMap<CommitmentPool, Vec<TermOffer>> = pools
            .map(|pool| {
                let terms = bought.sold(&pool);
                (pool, terms)
            })
            .collect();
        let mut composed = plan(
            &alternatives,
            &Terms {
                accepted: self.accepted,
                hours_per_month: self.policy.hours_per_month,
                window_hours: self.window_hours(),
                sold: &sold,
            },
        );
        for purchase in &composed.purchases {
            let key = purchase.key.with_option(purchase.term.option);
            if let Ok(found) = self.prices.find(&key) {
                prices_used.insert(found);
            }
        }
        for (group, actions) in groups.iter().zip(&mut composed.actions) {
            doubt(actions, &group.workload, bought);
        }
        Planned {
            risk: self.accepted,
            proposals,
            alternatives,
            plan: composed,
            prices_used,
            gaps: gaps.into_iter().flatten().collect(),
        }
    }

    /// Whole hours of the window.
    fn window_hours(&self) -> usize {
        let window = self.estate.window;
        let empty = Timeline::new(window, self.estate.period_seconds);
        empty.activity(None, window.start).len()
    }
}

/// The gap of data without which a lever stays silent.
fn missing_data(reason: &Refusal, workload: &Workload) -> Option<Gap> {
    match reason {
        Refusal::Missing(missing) => {
            let cause = Cause::of(CauseKind::NotMeasured, [missing.name()]);
            Some(Gap::of(missing.measurement()?, workload.id(), cause))
        }
        Refusal::RateUnknown {
            plan,
            instance_type,
        } => Some(unknown_rate(plan, instance_type, workload)),
        _ => None,
    }
}

/// Marks actions on hours that a savings plan of unknown rate may pay for: it is not known
/// whether their dollars come.
fn doubt(actions: &mut [Action], workload: &Workload, bought: Bought<'_>) {
    let mut members = workload.members.iter();
    let Some(caveat) = members.find_map(|one| bought.doubt(workload, one)) else {
        return;
    };
    for action in actions {
        let caveats = [std::slice::from_ref(&caveat), action.caveats()].concat();
        *action = action.clone().with_caveats(caveats);
    }
}
