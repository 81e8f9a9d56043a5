//! One workload of an audit, and the findings that an action of its plan answers: both show
//! the same cents.

use crate::domain::{Action, ActionKind, Finding, Money, Part, Verdict, Workload};
use crate::rules::Silence;
use crate::savings::{Alternatives, Proposals, Purchase, SkipReason};
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
    pub skipped: BTreeMap<ActionKind, SkipReason>,
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
        self.workload.monthly_cost()?.checked_sub(self.planned_monthly_cost()?).ok()
    }

    /// The members that are neither idle nor idle so far, with what they are judged
    /// to be: what every lever but a stop is about.
    pub fn working(&self) -> Option<&Part> {
        self.parts.iter().find(|part| part.idle.is_none())
    }
}

/// The action that answers what a rule finds.
fn answering(rule: &str) -> Option<ActionKind> {
    match rule {
        "idle-gpu" | "idle-held-gpu" => Some(ActionKind::Stop),
        "stopped-with-storage" => Some(ActionKind::Release),
        "off-hours" => Some(ActionKind::Schedule),
        "overprovisioned-gpu" | "underutilized-gpu" | "unused-gpus" => Some(ActionKind::Rightsize),
        "shareable-gpu" => Some(ActionKind::Share),
        "steady-on-demand" => Some(ActionKind::Commit),
        _ => None,
    }
}

/// Whether a finding leads to what an action does: it names the same type and number, where
/// it names any.
fn leads_to(finding: &Finding, action: &Action) -> bool {
    let to = &finding.recommendation.to;
    let target = action.target();
    to.is_empty()
        || target.is_none_or(|target| *to == format!("{} × {}", target.count, target.instance_type))
}

/// Gives every finding that an action of the plan answers the saving of that action, which
/// the actions before it may have made smaller. Where several findings are about parts of what
/// one action does, each keeps its own.
pub(super) fn with_cents_of_the_plan(
    findings: &mut [Finding],
    audited: &[AuditedWorkload],
    purchases: &[Purchase],
) {
    let mut by_workload: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, finding) in findings.iter().enumerate() {
        if finding.monthly_savings.is_some() {
            by_workload.entry(finding.workload().to_owned()).or_default().push(place);
        }
    }
    for workload in audited {
        let Some(places) = by_workload.get(&workload.workload.id()) else { continue };
        for action in &workload.actions {
            let answers = |place: &&usize| {
                let finding = &findings[**place];
                answering(finding.rule()) == Some(action.kind()) && leads_to(finding, action)
            };
            let answered: Vec<usize> = places.iter().filter(answers).copied().collect();
            let is_part = action.kind() == ActionKind::Stop && answered.len() > 1;
            for place in answered.into_iter().filter(|_| !is_part) {
                findings[place].monthly_savings = Some(action.monthly_savings());
                if action.kind() == ActionKind::Commit {
                    name_purchases(&mut findings[place], action, purchases);
                }
            }
        }
    }
}

/// Makes a finding advise what the plan buys for its workload, whatever term that is.
fn name_purchases(finding: &mut Finding, action: &Action, purchases: &[Purchase]) {
    let id = finding.workload();
    let own =
        purchases.iter().filter(|purchase| purchase.shares.iter().any(|share| share.id == id));
    let mut terms: Vec<String> = own.map(|purchase| purchase.term.name.clone()).collect();
    terms.dedup();
    finding.recommendation.to = terms.join("; ");
    if let Some(first) = finding.recommendation.steps.first_mut() {
        *first = action.detail().to_owned();
    }
    finding.recommendation.caveats = action.caveats().to_vec();
}
