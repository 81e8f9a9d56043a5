//! One workload of an audit.

use crate::domain::{Action, ActionKind, Money, Part, Verdict, Workload};
use crate::rules::Silence;
use crate::savings::{Alternatives, Proposals, SkipReason};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One workload with its verdict and its part of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditedWorkload {
    pub workload: Arc<Workload>,
    pub verdict: Verdict,
    /// Its members apart by how each behaves, those that work last; those that a tag
    /// takes out of advice are in none.
    pub parts: Vec<Part>,
    /// What every lever says about it, each on its own; empty where a tag takes all of it
    /// out of advice.
    pub proposals: Proposals,
    /// What the plan chose from.
    pub alternatives: Alternatives,
    /// What the plan does with it: at most one action of each kind, each on what
    /// the one before left, so that no dollar is counted twice.
    pub actions: Vec<Action>,
    /// What the plan does without of all that is offered.
    pub left_out: BTreeMap<ActionKind, SkipReason>,
    /// Rules that lacked data about it.
    pub silent: Vec<Silence>,
}

impl AuditedWorkload {
    /// Per month after the plan; absent when it is unpriced.
    pub fn planned_monthly_cost(&self) -> Option<Money> {
        let cost = self.workload.monthly_cost()?;
        self.actions
            .iter()
            .try_fold(cost, |rest, action| rest.checked_sub(action.monthly_savings()).ok())
    }

    /// What its part of the plan saves per month, zero without an action; absent
    /// when it is unpriced.
    pub fn planned_monthly_savings(&self) -> Option<Money> {
        let cost = self.workload.monthly_cost()?;
        cost.checked_sub(self.planned_monthly_cost()?).ok()
    }

    /// The members that are neither idle nor idle so far, with what they are judged
    /// to be: what every lever but a stop is about.
    pub fn working(&self) -> Option<&Part> {
        self.parts.iter().find(|part| part.idle.is_none())
    }
}
