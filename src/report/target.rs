//! The savings that a plan was to reach.

use super::doc::columns;
use crate::domain::Risk;
use crate::savings::SavingsTarget;

columns! {
    pub(in crate::report) fn target(of: SavingsTarget) {
        quantity "percent", "", Json, of.percent, "Of the cost today.";
        money "monthly_savings", "", Json, of.monthly_savings.rounded(), "The same per month.";
        word[Risk::NAMES] "risk", "", Json, of.risk.name(), "The lowest risk whose plan reaches it, or the accepted one.";
        flag "reached", "", Json, of.missing.is_none(), "";
        opt money "missing_monthly_savings", "", Json, of.missing.map(|missing| missing.rounded()), "How much less the plan saves; null where it reaches the target.";
    }
}

/// Whether a plan reaches its target, in words.
pub(in crate::report) fn target_in_words(of: &SavingsTarget) -> String {
    let (percent, wanted, risk) = (of.percent.normalize(), of.monthly_savings, of.risk);
    let more = match risk {
        Risk::High => "",
        Risk::Low => "; `--risk medium` allows more",
        Risk::Medium => "; `--risk high` allows more",
    };
    let how = of.missing.map_or_else(
        || format!("the least risky actions that reach it, at risk {risk}"),
        |missing| format!("the whole plan at risk {risk} saves {missing} less{more}"),
    );
    format!("Target {percent}%, {wanted} per month: {how}")
}
