//! What a gate's report is about, for renderers that see no audit: a Terraform plan is checked
//! without one. Each sentence that several formats show is here once.

use crate::analysis::gate::{
    Baseline, GateOutcome, GateReport, MissingData, Place, SettingChange, Suppression, Violation,
};
use crate::analysis::{Audit, PlannedTotals};
use crate::domain::{Gap, Money, Severity};
use crate::report::doc::rows;
use crate::report::shared::markdown::{NAME_WIDTH, bounded};
use crate::report::shared::next::Invocation;
use crate::report::shared::text::{count, counted, joined, money};
use crate::savings::term_totals;
use jiff::Timestamp;

/// What was checked, in short.
#[derive(Debug, Clone, PartialEq)]
pub struct GateBrief {
    /// The instant that is checked.
    pub as_of: Timestamp,
    /// What was checked, such as `3 instances`; in own words only.
    pub subject: String,
    /// Why there would be nothing to check; safe to print.
    pub nothing: String,
    /// What it costs per month; absent when that is not known.
    pub monthly_cost: Option<Money>,
    /// The cost in words, from before to now where there is a before.
    pub cost: String,
    /// What the change costs, as a headline says it; absent where nothing changes.
    pub delta: Option<String>,
    /// What is there and was not read, as a sentence; safe to print.
    pub unread: Option<String>,
    /// Rules that what was checked cannot be held against, for want of measurements.
    pub unjudged: Vec<&'static str>,
    pub gaps: Vec<Gap>,
    /// What each purchase of the plan is paid until its term ends.
    pub promises: Vec<Money>,
    /// The command that shows everything, quoted for a shell.
    pub again: String,
}

impl GateBrief {
    /// Of an audit that a command led to, and what it cost in a baseline where the sums can be
    /// compared.
    pub fn of_audit(audit: &Audit, baseline: Option<&Baseline>, invocation: &Invocation) -> Self {
        let totals = &audit.totals;
        let mut subject = counted(totals.instances, "instance", "instances");
        if totals.unpriced_instances > 0 {
            subject.push_str(&format!(", {} unpriced", count(totals.unpriced_instances)));
        }
        let comparable = baseline.filter(|baseline| baseline.has_same_sums);
        let before = comparable.and_then(|baseline| baseline.monthly_cost);
        let sums = before.zip(totals.monthly_cost).and_then(|(before, after)| {
            Some(PlannedTotals { before, after, delta: after.checked_sub(before).ok()? })
        });
        let sums: Vec<PlannedTotals> = sums.into_iter().collect();
        let waste = totals.monthly_waste.filter(|waste| !waste.amount().is_zero());
        let waste = waste.map_or(String::new(), |waste| format!(", including {waste} waste"));
        Self {
            as_of: audit.as_of,
            subject,
            nothing: "no GPU instances in scope".to_owned(),
            monthly_cost: totals.monthly_cost,
            cost: cost_words(&sums, totals.monthly_cost) + &waste,
            delta: (!sums.is_empty()).then(|| delta_words(&sums, true)),
            unread: None,
            unjudged: Vec::new(),
            gaps: audit.gaps.clone(),
            promises: term_totals(&audit.purchases),
            again: again(invocation),
        }
    }

    /// The cost in words; absent where there is nothing that could cost.
    pub(super) fn cost(&self, report: &GateReport) -> Option<&str> {
        (report.outcome != GateOutcome::Nothing).then_some(self.cost.as_str())
    }

    /// What is there and was not read, unless the verdict says so.
    pub(super) fn unread(&self, report: &GateReport) -> Option<&str> {
        let is_said = report.outcome == GateOutcome::Nothing;
        self.unread.as_deref().filter(|_| !is_said)
    }

    /// What no rule was held against, and rules that nothing was held against, as sentences
    /// below what they are.
    pub(super) fn not_checked(&self, report: &GateReport) -> Vec<(&'static str, String)> {
        let rules = self.unjudged.join(", ");
        rows! {
            for unread in self.unread(report) => ("not read", unread.to_owned());
            if !rules.is_empty() => ("not evaluated", format!("{UNJUDGED}: {rules}"));
        }
    }

    /// What a report says beside its violations and notices, settings first.
    pub(super) fn remarks<'a>(&self, report: &'a GateReport) -> Vec<Remark<'a>> {
        let settings = settings_lines(report);
        // Missing data fails the gate unless something worse does.
        let level = if report.outcome == GateOutcome::Incomplete { "error" } else { "warning" };
        let missing = report.missing_data.iter().map(|missing| Remark {
            title: format!("not evaluated: {}", missing.rules.join(", ")),
            resource: Some(&missing.place),
            ..Remark::whole(level, "", vec![missing_words(missing), missing.hint.clone()])
        });
        rows! {
            if !settings.is_empty() => Remark::whole("warning", "settings", settings);
            ..missing;
            for (title, sentence) in self.not_checked(report) => Remark::whole("note", title, vec![sentence]);
        }
    }
}

/// What code hosts show as an entry of its own.
pub(super) struct Remark<'a> {
    /// `error`, `warning` or `note`.
    pub(super) level: &'static str,
    pub(super) title: String,
    /// What is the case, then what to know and to do.
    pub(super) lines: Vec<String>,
    pub(super) place: &'a Place,
    /// What it is about where that is in no file.
    pub(super) resource: Option<&'a str>,
}

impl<'a> Remark<'a> {
    /// About the report as a whole.
    pub(super) fn whole(level: &'static str, title: &str, lines: Vec<String>) -> Self {
        Self { level, title: title.to_owned(), lines, place: &Place::Nowhere, resource: None }
    }

    pub(super) fn of(violation: &'a Violation, level: &'static str) -> Self {
        let mut lines = vec![violation.title.clone()];
        lines.extend(since_baseline(violation).map(|since| format!("baseline: {since}")));
        lines.extend(violation.steps.iter().cloned());
        Self {
            place: &violation.place,
            ..Self::whole(level, &format!("{}: {}", violation.rule, violation.scope), lines)
        }
    }

    /// The first line and the others as a list below it, each made safe.
    pub(super) fn text(&self, safe: impl Fn(&str) -> String) -> String {
        joined(self.lines.iter().map(|line| safe(line)), "\n- ")
    }
}

/// The level of what does not fail the gate: below an error.
pub(super) fn level(severity: Severity) -> &'static str {
    if severity == Severity::Info { "note" } else { "warning" }
}

/// What a plan says nothing about.
pub(super) const UNJUDGED: &str = "not evaluated because measurements are required";

/// The command that shows everything, quoted for a shell and of bounded length.
pub(in crate::report) fn again(invocation: &Invocation) -> String {
    invocation.short_command("check", "--format wide")
}

/// What a change costs. `is_known` says whether the sums have all of it.
pub(in crate::report) fn delta_words(sums: &[PlannedTotals], is_known: bool) -> String {
    let deltas: Vec<Money> = sums.iter().map(|sums| sums.delta).collect();
    if deltas.iter().all(|delta| delta.amount().is_zero()) {
        let known = if is_known { "" } else { "known " };
        return format!("no {known}cost change");
    }
    let deltas: Vec<String> = deltas.into_iter().map(Money::signed).collect();
    let known = if is_known { "" } else { " where priced" };
    format!("{} per month{known}", deltas.join(" and "))
}

/// A cost from before to after, by currency; without sums, `now`.
pub(in crate::report) fn cost_words(sums: &[PlannedTotals], now: Option<Money>) -> String {
    let changes = sums.iter().map(|sums| format!("{} → {}", sums.before, sums.after));
    match joined(changes.chain(now.filter(|_| sums.is_empty()).map(money)), " and ").as_str() {
        "" => "cost unknown".to_owned(),
        words => format!("{words} per month"),
    }
}

/// Settings that decide amounts or findings, a line each below what they are: every format
/// shows them first, because whoever may change them may open the gate. Empty without any.
pub(super) fn settings_lines(report: &GateReport) -> Vec<String> {
    let Some(used) = &report.settings else { return Vec::new() };
    let line = |change: &SettingChange| {
        let default = change.default.as_ref();
        let default = default.map_or(String::new(), |usual| format!(" ({usual} by default)"));
        format!("{} = {}{default}", change.key, bounded(&change.value, NAME_WIDTH))
    };
    let file = bounded(&used.file, NAME_WIDTH);
    let title = format!("settings of {file} that change amounts or findings:");
    std::iter::once(title).chain(used.changes.iter().map(line)).collect()
}

/// How a violation stands to the baseline, in words; absent without one.
pub(super) fn since_baseline(violation: &Violation) -> Option<String> {
    Some(format!("{}{}", violation.baseline_state?, previously(violation)))
}

/// What the baseline observed, to stand behind what is said of it.
pub(super) fn previously(violation: &Violation) -> String {
    let before = violation.before.as_ref();
    before.map_or(String::new(), |before| format!(", previously {before}"))
}

/// Who accepts a violation, until when and why.
pub(super) fn accepted_words(by: &Suppression) -> String {
    format!("until {} by {}: {}", by.expires, by.owner, by.reason)
}

/// What is missing, where and why.
pub(super) fn missing_words(missing: &MissingData) -> String {
    format!("{} of {}: {}", missing.what, missing.place, missing.reason)
}

/// The file that something is written in; what was read from a stream is none.
pub(super) fn file_of(place: &Place) -> Option<(&str, Option<usize>)> {
    let (file, line) = match place {
        Place::PolicyLine { file, line } => (file, Some(*line)),
        Place::PlanResource { file, line, .. } => (file, *line),
        Place::Nowhere => return None,
    };
    (!["-", "stdin"].contains(&file.as_str())).then_some((file, line))
}

/// How a gate ends, in a line; safe to print.
pub(super) fn verdict_words(report: &GateReport, brief: &GateBrief) -> String {
    let missing = counted(report.missing_data.len(), "missing input", "missing inputs");
    match report.outcome {
        GateOutcome::Violated => {
            let violations = counted(report.violations.len(), "violation", "violations");
            let rest =
                (!report.missing_data.is_empty()).then(|| format!("; {missing} for other rules"));
            format!("policy violated: {violations}{}", rest.unwrap_or_default())
        }
        GateOutcome::Incomplete => format!("policy not evaluated: {missing}"),
        GateOutcome::Nothing => format!("nothing to check: {}", brief.nothing),
        GateOutcome::Clean if report.policy_file.is_none() => "no policy".to_owned(),
        GateOutcome::Clean => {
            format!("policy passed: {}", counted(report.checks.len(), "rule", "rules"))
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
