//! What a gate says: what violates the policy, what could not be judged, and
//! what was accepted.

use super::Suppression;
use crate::domain::{Gap, GapSubject, Money, Severity, named_enum};
use std::fmt;

named_enum! {
    /// How a gate ends.
    #[derive(Default)]
    GateOutcome {
        /// Every rule was judged and holds.
        #[default]
        Clean = "clean",
        /// There was nothing to judge.
        Nothing = "nothing",
        /// Nothing violates the policy, and a rule lacked data.
        Incomplete = "incomplete",
        /// Something violates the policy.
        Violated = "violated",
    }
}

named_enum! {
    /// What one rule of the policy came to.
    CheckOutcome {
        /// It was judged and holds.
        Passed = "passed",
        /// It does not hold, and all of that is accepted: suppressed, or known
        /// to the baseline and no worse.
        Accepted = "accepted",
        /// It lacked data, and what was seen holds.
        Incomplete = "incomplete",
        /// It does not hold.
        Violated = "violated",
    }
}

named_enum! {
    /// How a violation stands to an earlier audit.
    BaselineState {
        /// It did not know it: it fails.
        New = "new",
        /// It knew it, and it is worse now: it fails.
        Worse = "worse",
        /// It knew it, and it is no worse: it does not fail.
        Known = "known",
    }
}

/// What a policy says about an estate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GateReport {
    pub outcome: GateOutcome,
    /// The policy file, as the user named it.
    pub policy_file: Option<String>,
    /// Every rule of the policy, in order of line.
    pub checks: Vec<Check>,
    /// What fails the gate: gravest first, then most expensive, then by fingerprint.
    pub violations: Vec<Violation>,
    /// What is worth reading and does not fail it: what the baseline knew, and
    /// suppressions that cover nothing. In the same order.
    pub notices: Vec<Violation>,
    /// What somebody answers for until a day, in the same order.
    pub suppressed: Vec<Suppressed>,
    /// Why rules could not be judged, by place.
    pub missing_data: Vec<MissingData>,
    /// What an earlier audit changed; absent without one.
    pub baseline: Option<BaselineUse>,
    /// Settings beside the policy that decide amounts or findings; absent where all are
    /// the defaults.
    pub settings: Option<SettingsUse>,
}

/// Settings that decide amounts or findings and differ from the defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsUse {
    /// The file, as the user named it.
    pub file: String,
    pub changes: Vec<SettingChange>,
}

/// One setting that differs from its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    /// Such as `hours_per_month` or `discount_percent.p5`.
    pub key: String,
    pub value: String,
    /// What it would be otherwise; absent where it would be nothing.
    pub default: Option<String>,
}

/// One rule of the policy and what it came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The rule's id, as in [`Violation::rule`]; `*` for a ban on every finding.
    pub rule: String,
    /// What it is about, as in [`Violation::scope`]; `everything` for all.
    pub scope: String,
    /// What it demands, in words.
    pub limit: String,
    /// What was seen, in words; absent when nothing could be seen.
    pub observed: Option<String>,
    pub outcome: CheckOutcome,
    /// Where the policy says so.
    pub place: Place,
}

/// One thing that is not as the policy wants it.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// A stable id in kebab case: `policy/budget` and its like, or the rule of a
    /// forbidden finding, such as `idle-gpu`.
    pub rule: String,
    pub severity: Severity,
    /// What it is about: a workload's id, `everything`, `account 111122223333`,
    /// `region eu-west-1`, `tag team=ml`, or an address in a Terraform plan.
    pub scope: String,
    /// The workload, where it is about one.
    pub workload: Option<String>,
    /// One sentence with what was observed and the limit.
    pub title: String,
    /// What was observed, with its unit.
    pub observed: String,
    /// What the policy allows, with its unit.
    pub limit: String,
    /// The money it is about, per month; absent where it is about none or that
    /// is not known. These overlap and do not add up.
    pub monthly: Option<Money>,
    pub place: Place,
    /// The same across runs for the same matter.
    pub fingerprint: String,
    /// What to do about it, in order.
    pub steps: Vec<String>,
    /// How it stands to the baseline; absent without one, and for what is not
    /// compared.
    pub baseline_state: Option<BaselineState>,
    /// What the baseline observed, with its unit; absent where it did not, and
    /// where that is not a figure.
    pub before: Option<String>,
}

/// Stands in a step, after the words of a command, for the flags that lead to the estate
/// that was judged.
pub(super) const SAME_ESTATE: &str = "{estate}";

impl GateReport {
    /// Adds data that every rule needs: what passed, passed without it.
    pub fn lack(&mut self, gap: &Gap) {
        let mut rules: Vec<String> = self.checks.iter().map(|check| check.rule.clone()).collect();
        rules.sort();
        rules.dedup();
        self.missing_data.push(MissingData::of(gap, rules));
        for check in &mut self.checks {
            if check.outcome == CheckOutcome::Passed {
                check.outcome = CheckOutcome::Incomplete;
            }
        }
        if matches!(self.outcome, GateOutcome::Clean | GateOutcome::Nothing) {
            self.outcome = GateOutcome::Incomplete;
        }
    }

    /// Completes the commands of its steps with the flags that lead to the same estate,
    /// each with a blank before it.
    pub fn name_estate(&mut self, flags: &str) {
        let suppressed = self.suppressed.iter_mut().map(|row| &mut row.violation);
        for violation in self.violations.iter_mut().chain(&mut self.notices).chain(suppressed) {
            for step in &mut violation.steps {
                *step = step.replacen(SAME_ESTATE, flags, 1);
            }
        }
    }
}

impl Violation {
    /// Whether the baseline knew it and it is no worse.
    pub fn is_known(&self) -> bool {
        self.baseline_state == Some(BaselineState::Known)
    }
}

/// Where something is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Place {
    /// In the policy file.
    PolicyLine {
        /// As the user named it.
        file: String,
        /// Counted from one.
        line: usize,
    },
    /// In a Terraform plan.
    PlanResource {
        /// As the user named it.
        file: String,
        /// Such as `module.train.aws_instance.node[0]`.
        address: String,
        /// Counted from one, where it is known.
        line: Option<usize>,
    },
    #[default]
    Nowhere,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PolicyLine { file, line } => write!(f, "{file}:{line}"),
            Self::PlanResource { file, line: Some(line), .. } => write!(f, "{file}:{line}"),
            Self::PlanResource { file, address, .. } => write!(f, "{file}: {address}"),
            Self::Nowhere => Ok(()),
        }
    }
}

/// A violation that somebody answers for.
#[derive(Debug, Clone, PartialEq)]
pub struct Suppressed {
    /// What would fail the gate.
    pub violation: Violation,
    /// Who accepts it, why and until when.
    pub by: Suppression,
}

/// Data without which rules could not be judged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingData {
    /// Where: a workload's id, a region, an account.
    pub place: String,
    pub what: GapSubject,
    pub reason: String,
    pub hint: String,
    /// The rules that lacked it, in order of id.
    pub rules: Vec<String>,
}

impl MissingData {
    /// What a gap keeps from some rules.
    pub(super) fn of(gap: &Gap, rules: Vec<String>) -> Self {
        Self {
            place: gap.place.clone(),
            what: gap.what.clone(),
            reason: gap.reason.clone(),
            hint: gap.hint.clone(),
            rules,
        }
    }
}

/// What an earlier audit changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaselineUse {
    /// The file, as the user named it.
    pub file: String,
    /// What makes it hard to compare with, in words.
    pub cautions: Vec<String>,
    /// Violations that it knew and that are no worse: they do not fail.
    pub known: u64,
    /// Violations that it knew and that are worse: they fail.
    pub worse: u64,
    /// Violations that it did not know: they fail.
    pub new: u64,
    /// Findings of it that the policy forbids and that are gone.
    pub gone: u64,
}
