//! Findings that an action of the plan answers: both show the same cents.

use super::AuditedWorkload;
use crate::domain::{Action, ActionKind, Finding};
use crate::savings::Purchase;
use std::collections::BTreeMap;

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
            let own = by_workload.entry(finding.workload().to_owned());
            own.or_default().push(place);
        }
    }
    for workload in audited {
        let Some(places) = by_workload.get(&workload.workload.id()) else {
            continue;
        };
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
