//! The actions of a plan.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Action, ActionKind, Finding, Risk};
use crate::report::doc::columns;
use crate::report::reserved::CURRENCIES;
use crate::report::shared::text::json_account;
use crate::report::shared::view::{Picked, View};
use crate::savings::UnusedCommitment;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// An action with what it is about: a workload, or what is paid for and does not run.
#[derive(Clone)]
pub(super) struct Step<'a> {
    pub action: Cow<'a, Action>,
    id: String,
    name: &'a str,
    account: Option<String>,
    region: Option<&'a str>,
    instance_type: Option<&'a str>,
    /// What shows that it is right, in words.
    why: String,
}

columns! {
    pub(super) fn actions<'a>(step: Step<'a>) {
        money "saves", "saves/month", Screen, step.action.monthly_savings(), "";
        text "workload", "", Flat, step.id.clone(), "Its ID.";
        text "name", "workload", Spare(0), step.name.to_owned(), "";
        text "name", "", Flat, step.name.to_owned(), "";
        opt text "account", "", Flat, step.account.clone(), "";
        opt text "region", "", Flat, step.region.map(str::to_owned), "";
        opt text "instance_type", "", Flat, step.instance_type.map(str::to_owned), "";
        text "what", "action", Screen, step.what(), "";
        text "risk", "risk", Spare(1), step.action.risk().name().to_owned(), "";
        word[ActionKind::NAMES] "action", "", Data, step.action.kind().name(), "";
        opt text "to.instance_type", "", Data, step.action.target().map(|to| to.instance_type.clone()), "";
        opt count "to.count", "", Data, step.action.target().map(|to| to.count), "";
        text "detail", "", Data, step.action.detail().to_owned(), "In words, with its arithmetic.";
        word[Risk::NAMES] "risk", "", Data, step.action.risk().name(), "";
        word[CURRENCIES] "currency", "", Flat, step.action.monthly_savings().currency().code(), "";
        money "monthly_savings", "", Data, step.action.monthly_savings(), "After the actions before it.";
        money "waste_monthly_savings", "", Data, step.action.certain(), "What of the saving is certain.";
        opt cost "lost_work_monthly_cost", "", Data, step.action.lost_work(), "The saving is net of it.";
        opt cost "snapshots_monthly_cost", "", Json, step.action.snapshots(), "The saving is net of it.";
        texts "caveats", "", Data, step.action.caveats().to_vec(), "";
        text "why", "why", Below, step.why(), "";
    }
}

impl<'a> Step<'a> {
    /// The actions of a workload, in the order of its plan.
    pub fn of(audited: &'a AuditedWorkload) -> impl Iterator<Item = Self> {
        let workload = &audited.workload;
        audited.actions.iter().map(move |action| Step {
            action: Cow::Borrowed(action),
            id: workload.id(),
            name: &workload.name,
            account: json_account(&workload.key.account),
            region: Some(&workload.key.region),
            instance_type: Some(&workload.key.instance_type),
            why: String::new(),
        })
    }

    pub fn of_unused(unused: &'a UnusedCommitment) -> impl Iterator<Item = Self> {
        unused.actions.iter().map(move |action| Step {
            action: Cow::Borrowed(action),
            id: unused.id.clone(),
            name: &unused.name,
            account: unused.account.clone(),
            region: unused.region.as_deref(),
            instance_type: None,
            why: unused.detail.clone(),
        })
    }

    /// Every action of an audit, in its order and then of each plan.
    pub fn all(audit: &'a Audit) -> impl Iterator<Item = Self> {
        let of_workloads = audit.workloads.iter().flat_map(Self::of);
        of_workloads.chain(audit.unused.iter().flat_map(Self::of_unused))
    }

    /// Those that a view shows, in the order in which to carry them out; and those that its
    /// filters hide. What is paid for and does not run is outside of every filter, and what is
    /// bought is a promise instead.
    pub fn in_order(audit: &'a Audit, picked: &Picked<'a>, view: &View) -> (Vec<Self>, Vec<Self>) {
        let mut findings: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
        for finding in &audit.findings {
            findings.entry(finding.workload()).or_default().push(finding);
        }
        let unused = || audit.unused.iter().flat_map(Self::of_unused);
        let is_filtered = view.is_filtered();
        let covered = audit.covered_by_existing(false);
        let sorted = |workloads: &[&'a AuditedWorkload], with_unused: bool| -> Vec<Self> {
            let steps = workloads.iter().flat_map(|audited| {
                let answers = findings.get(audited.workload.id().as_str());
                let covered = &covered;
                let steps = Self::of(audited).filter_map(move |step| match step.action.kind() {
                    ActionKind::Commit => {
                        Some(Self { action: Cow::Owned(covered.get(&step.id)?.clone()), ..step })
                    }
                    _ => Some(step),
                });
                steps.map(move |step| Self {
                    why: evidence(answers.map_or(&[][..], Vec::as_slice), audited, &step.action),
                    ..step
                })
            });
            let mut steps: Vec<Self> = steps.chain(unused().filter(|_| with_unused)).collect();
            steps.sort_by_cached_key(|step| {
                let saved = step.action.monthly_savings().amount();
                (step.action.kind().stage(), Reverse(saved), step.id.clone())
            });
            steps
        };
        (sorted(&picked.kept, !is_filtered), sorted(&picked.skipped, is_filtered))
    }

    /// Whether no running work is at risk: what ends does nothing, by every sign.
    pub fn is_harmless(&self) -> bool {
        let ends = matches!(self.action.kind(), ActionKind::Stop | ActionKind::Release);
        ends && self.action.risk() == Risk::Low
    }

    fn what(&self) -> String {
        let (kind, to) = (self.action.kind(), self.action.target());
        to.map_or_else(|| kind.to_string(), |to| format!("{kind} to {to}"))
    }

    /// The evidence, what would stop an engineer, and how much work it is.
    fn why(&self) -> String {
        let effort = match self.action.kind() {
            ActionKind::Stop | ActionKind::Release | ActionKind::Schedule => "low effort",
            ActionKind::Rightsize | ActionKind::Spot | ActionKind::Commit => "medium effort",
            ActionKind::Share => "high effort",
        };
        let mut caveats = self.action.caveats().iter().map(String::as_str);
        let evidence = Some(self.why.as_str()).filter(|why| !why.is_empty());
        let mut parts: Vec<&str> = evidence.into_iter().chain(caveats.next()).collect();
        parts.push(effort);
        parts.extend(caveats);
        parts.join("; ")
    }
}

/// What shows that an action is right: the finding that it answers has the same saving.
fn evidence(findings: &[&Finding], audited: &AuditedWorkload, action: &Action) -> String {
    let saving = Some(action.monthly_savings());
    match findings.iter().find(|finding| finding.monthly_savings == saving) {
        Some(finding) => finding.title.clone(),
        None if matches!(action.kind(), ActionKind::Spot | ActionKind::Commit) => {
            action.detail().to_owned()
        }
        None => audited.verdict.reason.clone(),
    }
}
