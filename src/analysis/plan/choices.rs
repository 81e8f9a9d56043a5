//! What a plan was chosen from, so that it may be made again.

use super::planning::{Offers, saved};
use crate::domain::{Action, ActionKind, CommitmentPool, Policy, Risk};
use crate::savings::{Purchase, RejectedKinds, ScopeChange, SkipReason};
use std::collections::BTreeMap;

/// What the plan of an audit was chosen from, at every level of risk that was weighed.
#[derive(Debug, Clone)]
pub struct Choices {
    levels: BTreeMap<Risk, Offers>,
    pub(in crate::analysis) policy: Policy,
}

/// What a plan does with one workload, and what it does without.
type Chosen = (Vec<Action>, BTreeMap<ActionKind, SkipReason>);

/// A plan that was made again.
pub(in crate::analysis) struct Replanned {
    pub risk: Risk,
    /// By the ID of the workload.
    pub chosen: BTreeMap<String, Chosen>,
    pub purchases: Vec<Purchase>,
    pub scope_changes: Vec<ScopeChange>,
    pub pools: BTreeMap<CommitmentPool, Vec<u64>>,
}

impl Choices {
    pub(in crate::analysis) fn new(levels: BTreeMap<Risk, Offers>, policy: Policy) -> Self {
        Self { levels, policy }
    }

    /// The plan without some kinds of actions at a level of risk or below: the one that saves the
    /// most, and of those that save the same the one at the highest level. `None` without any
    /// level.
    pub(in crate::analysis) fn plan(
        &self,
        rejected: &RejectedKinds,
        most: Risk,
    ) -> Option<Replanned> {
        let levels = self.levels.range(..=most);
        let plans = levels.map(|(risk, offers)| (*risk, offers, offers.plan(rejected)));
        let (risk, offers, plan) = plans
            .reduce(|best, next| if saved(&next.2) >= saved(&best.2) { next } else { best })?;
        let ids = offers.alternatives.iter().map(|alternatives| alternatives.id.clone());
        let chosen = plan.actions.into_iter().zip(plan.left_out);
        Some(Replanned {
            risk,
            chosen: ids.zip(chosen).collect(),
            purchases: plan.purchases,
            scope_changes: plan.scope_changes,
            pools: plan.pools,
        })
    }
}
