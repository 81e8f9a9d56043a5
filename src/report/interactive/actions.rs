//! The actions of a plan, on and off, and the choice as a policy that plans the same.

use crate::analysis::{Audit, AuditedWorkload, Choices};
use crate::domain::{Action, ActionKind, Money, RejectedAction, is_unsafe};
use crate::report::shared::text::{minute, money, money_or_absent, safe};
use crate::savings::{RejectedKinds, SkipReason};
use std::collections::{BTreeMap, BTreeSet};

/// Why an action is off that was switched off here.
const SWITCHED_OFF: &str = "switched off in the interactive audit";

/// What distinguishes one action from another: the ID of its workload, and its kind.
type ActionKey = (String, ActionKind);

/// Which actions are off, why, and what each was when it was last on.
#[derive(Debug)]
pub(super) struct Switches {
    choices: Choices,
    pub(super) off: BTreeMap<ActionKey, String>,
    last: BTreeMap<ActionKey, Action>,
    /// Rejections of the policy, each with the actions in scope that it is about.
    given: Vec<(RejectedAction, Vec<ActionKey>)>,
    /// What the plan saves per month with everything on.
    pub(super) whole_savings: Option<Money>,
}

/// An action of the plan, or one that is off.
#[derive(Debug, Clone, Copy)]
pub(super) struct Switch<'a> {
    pub kind: ActionKind,
    /// As it is, or as it was when it was last on; absent where it has not been on.
    pub action: Option<&'a Action>,
    pub is_on: bool,
}

impl Switches {
    /// The switches of an audit whose plan does without what a policy rejects.
    pub(super) fn of(audit: &mut Audit, choices: Choices, rejected: &[RejectedAction]) -> Self {
        let mut switches = Self {
            choices,
            off: BTreeMap::new(),
            last: BTreeMap::new(),
            given: Vec::new(),
            whole_savings: None,
        };
        // What the whole plan does says what the rejected actions would save.
        switches.replan(audit);
        switches.whole_savings = audit.totals.monthly_savings();
        let ids: BTreeSet<String> =
            audit.workloads.iter().map(|workload| workload.workload.id()).collect();
        for rejection in rejected {
            let mut about = Vec::new();
            for audited in &audit.workloads {
                let id = audited.workload.id();
                if rejection.is_about(&id, &audited.workload.name, &ids) {
                    let key = (id, rejection.action);
                    let reason = || rejection.reason.clone();
                    switches.off.entry(key.clone()).or_insert_with(reason);
                    about.push(key);
                }
            }
            switches.given.push((rejection.clone(), about));
        }
        switches.replan(audit);
        switches
    }

    fn rejected(&self) -> RejectedKinds {
        let mut kinds = RejectedKinds::new();
        for (id, kind) in self.off.keys() {
            kinds.entry(id.clone()).or_default().insert(*kind);
        }
        kinds
    }

    fn replan(&mut self, audit: &mut Audit) {
        audit.replan(&self.choices, &self.rejected());
        for audited in &audit.workloads {
            let id = audited.workload.id();
            for action in &audited.actions {
                self.last.insert((id.clone(), action.kind()), action.clone());
            }
        }
    }

    /// Switches an action of a workload, and plans again.
    pub(super) fn toggle(&mut self, audit: &mut Audit, id: &str, kind: ActionKind) {
        let key = (id.to_owned(), kind);
        if self.off.remove(&key).is_none() {
            self.off.insert(key, SWITCHED_OFF.to_owned());
        }
        self.replan(audit);
    }

    /// The actions of a workload in the order of the plan, those that are off among them.
    pub(super) fn of_workload<'a>(&'a self, audited: &'a AuditedWorkload) -> Vec<Switch<'a>> {
        let id = audited.workload.id();
        let on = audited.actions.iter().map(|action| Switch {
            kind: action.kind(),
            action: Some(action),
            is_on: true,
        });
        let off = audited.skipped.iter().filter(|(_, why)| **why == SkipReason::Rejected);
        let off = off.map(|(kind, _)| Switch {
            kind: *kind,
            action: self.last.get(&(id.clone(), *kind)),
            is_on: false,
        });
        let mut switches: Vec<Switch<'_>> = on.chain(off).collect();
        switches.sort_by_key(|switch| switch.kind);
        switches
    }

    /// What a policy must reject for the same plan: what was switched off, in order, and what
    /// the policy rejected before. A pattern or a name of which nothing was switched on stays as
    /// it is: it is also about workloads that are out of scope, or not there yet.
    pub(super) fn policy(&self) -> Vec<RejectedAction> {
        let is_whole = |keys: &[ActionKey]| keys.iter().all(|key| self.off.contains_key(key));
        let kept = self.given.iter().filter(|(_, keys)| is_whole(keys));
        let covered: BTreeSet<&ActionKey> = kept.clone().flat_map(|(_, keys)| keys).collect();
        let off = self.off.iter().filter(|(key, _)| !covered.contains(key));
        let off = off.map(|((id, kind), reason)| RejectedAction {
            workload: id.clone(),
            action: *kind,
            reason: reason.clone(),
        });
        off.chain(kept.map(|(rejection, _)| rejection.clone())).collect()
    }
}

/// Begins the comment above a choice.
pub const CHOICE_TITLE: &str = "# Actions that were chosen in `gpucost audit --interactive`";

/// The text of a policy file: what is accepted as comments, and a table for each action that
/// is off.
pub(super) fn policy(audit: &Audit, rejected: &[RejectedAction]) -> String {
    let head = format!(
        "{CHOICE_TITLE} for the fleet as of {}, with `--risk {}`:\n# they save {} per month. `gpucost \
         audit --policy` with this file plans the same.\n#\n# Accepted:\n",
        minute(audit.as_of),
        audit.accepted,
        money_or_absent(audit.totals.monthly_savings())
    );
    let accepted = audit.workloads.iter().flat_map(|audited| {
        let (id, name) = (safe(&audited.workload.id()), safe(&audited.workload.name));
        audited.actions.iter().map(move |action| {
            let savings = money(action.monthly_savings());
            format!("#   {} {id} ({name}): {savings} per month\n", action.kind())
        })
    });
    let off = rejected.iter().map(|rejection| {
        let RejectedAction { workload, action, reason } = rejection;
        let (workload, reason) = (quoted(workload), quoted(reason));
        format!("\n[[reject]]\nworkload = {workload}\naction = \"{action}\"\nreason = {reason}\n")
    });
    std::iter::once(head).chain(accepted).chain(off).collect()
}

/// A basic string of TOML, with everything escaped that could change a terminal or end it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_unsafe(c) => out.push_str(&format!("\\U{:08X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_is_quoted_is_read_back() {
        for text in [
            "i-1", "a \"b\" \\ c", "\u{1b}[2J\n\t\u{202e}x", "模型\u{7f}",
            "[[x]]\nworkload = \"*\"",
        ] {
            let line = format!("key = {}", quoted(text));
            let table: toml::Table = toml::from_str(&line).expect("TOML");
            assert_eq!(table["key"].as_str(), Some(text));
            assert!(!line.contains(['\n', '\u{1b}', '\u{7f}']), "{line}");
        }
    }
}
