//! From what could be done about each workload to one plan.

use super::owned::{Owned, unknown_rate};
use crate::analysis::PriceUse;
use crate::analysis::workloads::Grouped;
use crate::catalog::Prices;
use crate::domain::{
    ActionKind, Cause, CauseKind, CommitmentPool, Gap, Money, Policy, Risk, WORK, WorkUnit,
    Workload,
};
use crate::savings::{
    Alternatives, Bought, Existing, Facts, HeldMachines, Members, Plan, Proposals, Refusal,
    RejectedKinds, TermOffer, Terms, commitment_pools, plan, propose,
};
use crate::usage::{Estate, Timeline};
use rayon::prelude::*;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

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

    /// Each action saves what it drops by itself of the cost of a fleet with commitments.
    fn save_alone(&mut self, alone: &BTreeMap<ActionKind, Decimal>, group: &Workload) {
        for (kind, saved) in alone {
            let list = self
                .whole
                .action(*kind)
                .map(|action| action.monthly_savings().amount());
            let Some(list) = list.filter(|list| list != saved) else {
                continue;
            };
            let most = group
                .monthly_cost()
                .map_or(*saved, |cost| saved.min(&cost.amount()).to_owned());
            for proposals in self.by_part.iter_mut().chain([&mut self.whole]) {
                proposals.scale(*kind, most.max(Decimal::ZERO), list);
            }
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
    pub offers: Offers,
    pub plan: Plan,
    pub prices_used: PriceUse,
    pub gaps: Vec<Gap>,
}

impl Planned {
    /// Everything that it saves.
    pub fn saved(&self) -> Decimal {
        saved(&self.plan)
    }
}

/// Everything that a plan saves.
pub(super) fn saved(plan: &Plan) -> Decimal {
    let actions = plan.actions.iter().flatten();
    actions
        .map(|action| action.monthly_savings().amount())
        .sum()
}

/// What a plan at one level of risk is chosen from.
#[derive(Debug, Clone)]
pub(in crate::analysis) struct Offers {
    /// Of each workload.
    pub alternatives: Vec<Alternatives>,
    /// Why it is not known whether the dollars of its actions come, of each workload.
    doubts: Vec<Option<String>>,
    sold: BTreeMap<CommitmentPool, Vec<TermOffer>>,
    existing: Existing,
    accepted: Risk,
    hours_per_month: Decimal,
    window_hours: usize,
}

impl Offers {
    /// The plan without some kinds of actions.
    pub(super) fn plan(&self, rejected: &RejectedKinds) -> Plan {
        let mut composed = plan(
            &self.alternatives,
            &Terms {
                accepted: self.accepted,
                hours_per_month: self.hours_per_month,
                window_hours: self.window_hours,
                sold: &self.sold,
                rejected,
                existing: &self.existing,
            },
        );
        for (doubt, actions) in self.doubts.iter().zip(&mut composed.actions) {
            let Some(caveat) = doubt else {
                continue;
            };
            for action in actions {
                let caveats = [std::slice::from_ref(caveat), action.caveats()].concat();
                *action = action.clone().with_caveats(caveats);
            }
        }
        composed
    }
}

impl Planner<'_> {
    /// Composes the plan of workloads at list price, each with what it is billed per month, and
    /// notes the prices that its figures rest on.
    pub fn plan(&self, groups: &[Grouped], billed: &[Option<Money>]) -> Planned {
        let bought = self.owned.bought();
        let facts = Facts {
            prices: self.prices,
            policy: self.policy,
            bought,
            accepted: self.accepted,
            keeps_types: self.keeps_types,
        };
        let number = Some(groups.len() as u64);
        let _work = WORK.begin("planning workloads".to_owned(), number, WorkUnit::Things);
        let (mut proposals, (alternatives, gaps)): (Vec<_>, (Vec<_>, Vec<Vec<Gap>>)) = groups
            .par_iter()
            .zip(billed)
            .map(|(group, billed)| {
                let found = GroupProposals::of(group, &facts, self.held);
                let own = Alternatives::of(
                    &group.workload,
                    group.working(),
                    *billed,
                    &found.whole,
                    bought.commitments,
                );
                let gaps = found.gaps(&group.workload);
                WORK.advance(1);
                (found, (own, gaps))
            })
            .unzip();
        let mut prices_used = PriceUse::default();
        for (group, found) in groups.iter().zip(&proposals) {
            prices_used.record(&group.workload, &found.whole);
        }
        let pools = commitment_pools(&alternatives);
        let existing = self.owned.existing(&pools);
        let sold: BTreeMap<CommitmentPool, Vec<TermOffer>> = pools
            .into_iter()
            .map(|pool| {
                let terms = bought.sold(&pool);
                (pool, terms)
            })
            .collect();
        let doubts = groups.iter().map(|group| doubt(&group.workload, bought));
        let offers = Offers {
            doubts: doubts.collect(),
            alternatives,
            sold,
            existing,
            accepted: self.accepted,
            hours_per_month: self.policy.hours_per_month,
            window_hours: self.window_hours(),
        };
        let composed = offers.plan(&self.rejected(groups));
        for ((proposals, alone), group) in proposals.iter_mut().zip(&composed.alone).zip(groups) {
            proposals.save_alone(alone, &group.workload);
        }
        for purchase in &composed.purchases {
            let key = purchase.key.with_option(purchase.term.option);
            if let Ok(found) = self.prices.find(&key) {
                prices_used.insert(found);
            }
        }
        Planned {
            risk: self.accepted,
            proposals,
            offers,
            plan: composed,
            prices_used,
            gaps: gaps.into_iter().flatten().collect(),
        }
    }

    /// What the policy rejects of these.
    fn rejected(&self, groups: &[Grouped]) -> RejectedKinds {
        let mut rejected = RejectedKinds::new();
        if self.policy.rejected.is_empty() {
            return rejected;
        }
        let ids: BTreeSet<String> = groups.iter().map(|one| one.workload.id()).collect();
        for group in groups {
            let (id, name) = (group.workload.id(), &group.workload.name);
            let own = self.policy.rejected.iter();
            let own = own.filter(|one| one.is_about(&id, name, &ids));
            let kinds: BTreeSet<ActionKind> = own.map(|one| one.action).collect();
            if !kinds.is_empty() {
                rejected.insert(id, kinds);
            }
        }
        rejected
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

/// The caveat of actions on hours that a savings plan of unknown rate may pay for: it is not
/// known whether their dollars come.
fn doubt(workload: &Workload, bought: Bought<'_>) -> Option<String> {
    let mut members = workload.members.iter();
    members.find_map(|one| bought.doubt(workload, one))
}
