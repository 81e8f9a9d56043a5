//! `fix --format csv`: a row for each step.

use super::planned::{FixItem, FixPlan};
use super::steps::{ListedStep, listed};
use crate::report::shared::csv::{cell, document, money};
use crate::report::shared::text::{spreadsheet_safe as text, yes_or_no};

const COLUMNS: &[&str] = &[
    "id",
    "action",
    "name",
    "workloads",
    "account",
    "region",
    "to",
    "risk",
    "currency",
    "monthly_savings",
    "step",
    "kind",
    "about",
    "command",
    "must_print",
    "keeps",
    "by_hand",
    "why_by_hand",
    "caveats",
];

/// The steps of the actions of a plan as comma-separated values. The saving of an action is in
/// its first row alone, so that the column adds up.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn fix_csv(plan: &FixPlan<'_>) -> Result<String, csv::Error> {
    let rows = plan.items.iter().flat_map(|item| {
        let steps = listed(item).into_iter().enumerate();
        steps.map(move |(at, one)| row(item, at + 1, &one))
    });
    document(COLUMNS, rows)
}

fn row(item: &FixItem<'_>, number: usize, step: &ListedStep<'_>) -> Vec<String> {
    let fix = &item.fix;
    let (account, region) = item.place();
    let saved = (number == 1).then_some(fix.monthly_savings);
    vec![
        text(&item.id()),
        fix.kind.to_string(),
        text(item.name()),
        text(&fix.workloads().join("; ")),
        text(account),
        text(region),
        text(&item.to()),
        fix.risk.to_string(),
        fix.monthly_savings.currency().code().to_owned(),
        money(saved),
        number.to_string(),
        step.kind.to_owned(),
        text(step.about),
        text(step.command.as_deref().unwrap_or("")),
        text(step.must_print.unwrap_or("")),
        cell(step.keeps),
        yes_or_no(step.by_hand.is_some()).to_owned(),
        cell(step.by_hand),
        text(&fix.caveats.join("; ")),
    ]
}
