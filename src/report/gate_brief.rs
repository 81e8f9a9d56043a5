//! What a gate's report is about, for renderers that see no audit: a Terraform
//! plan is checked without one.

use super::next::Invocation;
use super::text::{count, counted, money};
use crate::analysis::Audit;
use crate::analysis::gate::{Baseline, GateOutcome, GateReport, Place, Violation};
use crate::domain::{Gap, Money};
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
    /// What it costs per month; absent when that is not known.
    pub monthly_cost: Option<Money>,
    /// What it cost before a change; absent when there is no before.
    pub previous_monthly_cost: Option<Money>,
    /// How much of the cost is waste; absent when that is not known.
    pub monthly_waste: Option<Money>,
    /// What changes, largest first; empty when nothing but a state was checked.
    pub changes: Vec<CostChange>,
    /// What could not be seen.
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
            monthly_cost: totals.monthly_cost,
            previous_monthly_cost: None,
            monthly_waste: totals.monthly_waste,
            changes: Vec::new(),
            gaps: audit.gaps.clone(),
            invocation: invocation.clone(),
        }
    }

    /// The same with what it cost in a baseline, where the sums can be compared.
    pub fn since(mut self, baseline: Option<&Baseline>) -> Self {
        let comparable = baseline.filter(|baseline| baseline.has_same_sums);
        self.previous_monthly_cost = comparable.and_then(|baseline| baseline.monthly_cost);
        self
    }

    /// The command that shows everything, quoted for a shell.
    pub(super) fn again(&self) -> String {
        self.invocation.short_command("check", "--format wide")
    }

    /// How much more it costs than before.
    pub(super) fn delta(&self) -> Option<Money> {
        let cost = self.monthly_cost?;
        cost.checked_sub(self.previous_monthly_cost?).ok()
    }

    /// The delta as a headline says it; absent when there is no before.
    pub(super) fn delta_words(&self) -> Option<String> {
        let delta = self.delta()?;
        Some(if delta.amount().is_zero() {
            "no change of cost".to_owned()
        } else {
            format!("{} a month", signed(delta))
        })
    }

    /// The cost in words, from before to now where there is a before.
    pub(super) fn cost_words(&self) -> String {
        match (self.previous_monthly_cost, self.monthly_cost) {
            (Some(before), Some(now)) => {
                format!("{} → {} a month", money(before), money(now))
            }
            (None, Some(now)) => format!("{} a month", money(now)),
            (_, None) => "cost unknown".to_owned(),
        }
    }
}

/// An amount with its sign, also when it is above zero.
pub(super) fn signed(delta: Money) -> String {
    let rounded = delta.rounded().amount();
    if rounded.is_sign_positive() && !rounded.is_zero() {
        format!("+{}", money(delta))
    } else {
        money(delta)
    }
}

/// How a violation stands to the baseline, in words; absent without one.
pub(super) fn since_baseline(violation: &Violation) -> Option<String> {
    let state = violation.baseline_state?;
    Some(match &violation.before {
        Some(before) => format!("{state}, {before} before"),
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

/// How a gate ends, in a line.
pub(super) fn verdict_words(report: &GateReport) -> String {
    let missing = counted(
        report.lacks.len() as u64,
        "thing is missing",
        "things are missing",
    );
    match report.outcome {
        GateOutcome::Violated => {
            let violations = counted(report.violations.len() as u64, "violation", "violations");
            match report.lacks.len() {
                0 => format!("policy violated: {violations}"),
                _ => format!("policy violated: {violations}; {missing} to judge the rest by"),
            }
        }
        GateOutcome::Incomplete => format!("policy not judged: {missing}"),
        GateOutcome::Nothing => "nothing to check: no GPU in the scope".to_owned(),
        GateOutcome::Clean => {
            let rules = counted(report.checks.len() as u64, "rule", "rules");
            format!("policy kept: {rules}")
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
        assert_eq!(signed(cents(120_000)), "+$1,200.00");
        assert_eq!(signed(cents(-5)), "-$0.05");
        assert_eq!(signed(cents(0)), "$0.00");
    }
}
