//! What a gate's report is about, for renderers that see no audit: a Terraform
//! plan is checked without one.

use crate::analysis::gate::{Baseline, GateOutcome, GateReport, Place, SettingChange, Violation};
use crate::analysis::{Audit, PlannedTotals};
use crate::domain::{Gap, Money};
use crate::report::shared::markdown::escape::{NAME_WIDTH, bounded};
use crate::report::shared::next::Invocation;
use crate::report::shared::text::{count, counted, money};
use jiff::Timestamp;

/// What a plan does to the cost of something.
#[derive(Debug, Clone, PartialEq)]
pub struct CostChange {
    /// What it is about, such as an address in a Terraform plan.
    pub address: String,
    /// What happens to it, such as `create`.
    pub action: String,
    /// What runs, such as `2 × g5.xlarge`.
    pub runs: String,
    /// Per month before; zero when it is not there then, absent when unknown.
    pub before: Option<Money>,
    /// Per month after, likewise.
    pub after: Option<Money>,
}

impl CostChange {
    /// How much more it costs afterwards; absent when that is not known.
    pub(super) fn delta(&self) -> Option<Money> {
        self.after?.checked_sub(self.before?).ok()
    }
}

/// What was checked, in short.
#[derive(Debug, Clone, PartialEq)]
pub struct GateBrief {
    /// The instant that is judged.
    pub as_of: Timestamp,
    /// What was checked, such as `3 instances`; in own words only.
    pub subject: String,
    /// Why there would be nothing to check; safe to print.
    pub nothing: String,
    /// What it costs per month; absent when that is not known.
    pub monthly_cost: Option<Money>,
    /// How much of the cost is waste; absent when that is not known.
    pub monthly_waste: Option<Money>,
    /// What changes, largest first; empty when nothing but a state was checked.
    pub changes: Vec<CostChange>,
    /// What the changes come to, by currency: what is not known is in no sum. Of an
    /// audit, what it cost in the baseline and costs now.
    pub totals: Vec<PlannedTotals>,
    /// What the figures of the changes rest on, in own words only.
    pub notes: Vec<String>,
    /// What is there and was not read, as a sentence; safe to print.
    pub unread: Option<String>,
    /// Rules that what was checked cannot be held against, for want of
    /// measurements.
    pub unjudged: Vec<&'static str>,
    pub gaps: Vec<Gap>,
    /// What the user typed to choose what is checked.
    pub invocation: Invocation,
}

impl GateBrief {
    /// Of an audit that a command led to.
    pub fn of_audit(audit: &Audit, invocation: &Invocation) -> Self {
        let totals = &audit.totals;
        let mut subject = counted(totals.instances, "instance", "instances");
        if totals.unpriced_instances > 0 {
            subject.push_str(&format!(", {} unpriced", count(totals.unpriced_instances)));
        }
        Self {
            as_of: audit.as_of,
            subject,
            nothing: "no GPU instances in scope".to_owned(),
            monthly_cost: totals.monthly_cost,
            monthly_waste: totals.monthly_waste,
            changes: Vec::new(),
            totals: Vec::new(),
            notes: Vec::new(),
            unread: None,
            unjudged: Vec::new(),
            gaps: audit.gaps.clone(),
            invocation: invocation.clone(),
        }
    }

    /// The same with what it cost in a baseline, where the sums can be compared.
    pub fn since(mut self, baseline: Option<&Baseline>) -> Self {
        let comparable = baseline.filter(|baseline| baseline.has_same_sums);
        let before = comparable.and_then(|baseline| baseline.monthly_cost);
        if let (Some(before), Some(after)) = (before, self.monthly_cost)
            && let Ok(delta) = after.checked_sub(before)
        {
            self.totals = vec![PlannedTotals {
                before,
                after,
                delta,
            }];
        }
        self
    }

    /// The command that shows everything, quoted for a shell.
    pub(super) fn again(&self) -> String {
        self.invocation.short_command("check", "--format wide")
    }

    /// The delta as a headline says it; absent when there is no before.
    pub(super) fn delta_words(&self) -> Option<String> {
        let deltas: Vec<Money> = self.totals.iter().map(|sums| sums.delta).collect();
        if deltas.is_empty() && self.changes.is_empty() {
            return None;
        }
        let is_known = self.changes.iter().all(|one| one.delta().is_some());
        if deltas.iter().any(|delta| !delta.amount().is_zero()) {
            let deltas: Vec<String> = deltas.into_iter().map(Money::signed).collect();
            let known = if is_known { "" } else { " where priced" };
            return Some(format!("{} per month{known}", deltas.join(" and ")));
        }
        let words = if is_known {
            "no cost change"
        } else {
            "no known cost change"
        };
        Some(words.to_owned())
    }

    /// The cost in words, from before to now where there is a before; absent where
    /// there is nothing that could cost.
    pub(super) fn cost_words(&self, report: &GateReport) -> Option<String> {
        if report.outcome == GateOutcome::Nothing {
            return None;
        }
        if self.totals.is_empty() {
            let known = self
                .monthly_cost
                .map(|now| format!("{} per month", money(now)));
            return Some(known.unwrap_or_else(|| "cost unknown".to_owned()));
        }
        let sums = self.totals.iter();
        let sums: Vec<String> = sums
            .map(|sums| format!("{} → {}", money(sums.before), money(sums.after)))
            .collect();
        Some(format!("{} per month", sums.join(" and ")))
    }

    /// The verdict in a line, behind what the change costs.
    pub(super) fn headline(&self, report: &GateReport, verdict: &str) -> String {
        let mark = match report.outcome {
            GateOutcome::Violated => "❌",
            GateOutcome::Incomplete => "⚠️",
            GateOutcome::Clean if report.policy_file.is_none() => "ℹ️",
            GateOutcome::Clean => "✅",
            GateOutcome::Nothing => return format!("ℹ️ {verdict}"),
        };
        match self.delta_words() {
            Some(delta) => format!("{mark} {delta}; {verdict}"),
            None => format!("{mark} GPU {verdict}"),
        }
    }

    /// What is said about rules that need measurements.
    pub(super) fn unjudged_words(&self) -> Option<String> {
        let rules = self.unjudged.join(", ");
        (!rules.is_empty()).then(|| format!("{UNJUDGED}: {rules}"))
    }

    /// What is there and was not read, unless the verdict says so.
    pub(super) fn unread(&self, report: &GateReport) -> Option<&str> {
        let is_said = report.outcome == GateOutcome::Nothing;
        self.unread.as_deref().filter(|_| !is_said)
    }
}

/// What a plan says nothing about.
pub(super) const UNJUDGED: &str = "not evaluated because measurements are required";

/// Settings that decide amounts or findings, a line each below what they are: every format
/// shows them first, because whoever may change them may open the gate. Empty without any.
pub(super) fn settings_lines(report: &GateReport) -> Vec<String> {
    let Some(used) = &report.settings else {
        return Vec::new();
    };
    let line = |one: &SettingChange| {
        let value = bounded(&one.value, NAME_WIDTH);
        match &one.default {
            Some(default) => format!("{} = {value} ({default} by default)", one.key),
            None => format!("{} = {value}", one.key),
        }
    };
    let file = bounded(&used.file, NAME_WIDTH);
    let title = format!("settings of {file} that change amounts or findings:");
    std::iter::once(title)
        .chain(used.changes.iter().map(line))
        .collect()
}

/// How a violation stands to the baseline, in words; absent without one.
pub(super) fn since_baseline(violation: &Violation) -> Option<String> {
    let state = violation.baseline_state?;
    Some(match &violation.before {
        Some(before) => format!("{state}, previously {before}"),
        None => state.to_string(),
    })
}

/// The file that something is written in; what was read from a stream is none.
pub(super) fn file_of(place: &Place) -> Option<(&str, Option<usize>)> {
    let (file, line) = match place {
        Place::PolicyLine { file, line } => (file, Some(*line)),
        Place::PlanResource { file, line, .. } => (file, *line),
        Place::Nowhere => return None,
    };
    let is_stream = ["-", "stdin"].contains(&file.as_str());
    (!is_stream).then_some((file, line))
}

/// How a gate ends, in a line; safe to print.
pub(super) fn verdict_words(report: &GateReport, brief: &GateBrief) -> String {
    let missing = counted(
        report.missing_data.len() as u64,
        "missing input",
        "missing inputs",
    );
    match report.outcome {
        GateOutcome::Violated => {
            let violations = counted(report.violations.len() as u64, "violation", "violations");
            match report.missing_data.len() {
                0 => format!("policy violated: {violations}"),
                _ => format!("policy violated: {violations}; {missing} for other rules"),
            }
        }
        GateOutcome::Incomplete => format!("policy not evaluated: {missing}"),
        GateOutcome::Nothing => format!("nothing to check: {}", brief.nothing),
        GateOutcome::Clean if report.policy_file.is_none() => "no policy".to_owned(),
        GateOutcome::Clean => {
            let rules = counted(report.checks.len() as u64, "rule", "rules");
            format!("policy passed: {rules}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;
    use rust_decimal::Decimal;

    #[test]
    fn a_stream_is_no_file() {
        let plan = |file: &str| Place::PlanResource {
            file: file.to_owned(),
            address: "aws_instance.a".to_owned(),
            line: None,
        };
        assert_eq!(file_of(&plan("-")), None);
        assert_eq!(file_of(&plan("stdin")), None);
        assert_eq!(file_of(&plan("plan.json")), Some(("plan.json", None)));
        assert_eq!(file_of(&Place::Nowhere), None);
    }

    #[test]
    fn amounts_carry_their_sign() {
        let cents = |cents| Money::new(Decimal::new(cents, 2), Currency::Usd);
        assert_eq!(cents(120_000).signed(), "+$1,200.00");
        assert_eq!(cents(-5).signed(), "-$0.05");
        assert_eq!(cents(0).signed(), "$0.00");
    }
}
