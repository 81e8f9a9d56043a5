//! What AWS advises about a workload, and why it differs from the plan.

use super::page::Page;
use crate::analysis::AuditedWorkload;
use crate::domain::{ActionKind, Money};
use crate::report::shared::text::money;

impl Page {
    /// One line; none where AWS was not asked, or advises nothing.
    pub(super) fn opinion(&mut self, audited: &AuditedWorkload) {
        let Some(opinion) = audited.workload.aws_opinion() else {
            return;
        };
        let estimate = audited.workload.aws_savings();
        let estimate = estimate.map_or(String::new(), |saved| format!(", {}", money(saved)));
        self.heading("AWS");
        self.line(&format!(
            "AWS: {opinion}{estimate}; gpucost: {}: {}",
            own(audited),
            difference(audited)
        ));
    }
}

/// The plan with its savings.
fn own(audited: &AuditedWorkload) -> String {
    let actions = &audited.actions;
    if actions.is_empty() {
        return "no action".to_owned();
    }
    let kinds: Vec<&str> = actions.iter().map(|one| one.kind().name()).collect();
    let saved = actions.iter().map(|one| Some(one.monthly_savings()));
    let saved: Option<Money> = saved
        .reduce(|sum, next| sum?.checked_add(next?).ok())
        .flatten();
    let saved = saved.map_or(String::new(), |saved| format!(", {}", money(saved)));
    format!("{}{saved}", kinds.join(" and "))
}

/// Why the two may differ.
fn difference(audited: &AuditedWorkload) -> &'static str {
    if audited.workload.committed_cost().is_some() {
        return "gpucost plans nothing for hours that a commitment has paid for";
    }
    if audited.verdict.confidence.is_none() {
        return "without GPU metrics, gpucost gives no verdict, and AWS judges by CPU, memory and \
                network";
    }
    let opinions = &audited.workload.opinions;
    let is_same = |one: &ActionKind| {
        let word = match one {
            ActionKind::Stop => "Stop",
            ActionKind::Rightsize => "Rightsize",
            _ => return false,
        };
        opinions.iter().all(|opinion| opinion.action == word)
    };
    let kinds: Vec<ActionKind> = audited.actions.iter().map(|one| one.kind()).collect();
    match kinds.as_slice() {
        [only] if is_same(only) => "both advise the same kind of action",
        _ => "AWS judges by CPU, memory and network where no GPU metric is enabled",
    }
}
