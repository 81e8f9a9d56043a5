//! `fix --format table`: what would be done, in order.

use super::planned::FixPlan;
use crate::analysis::FixTarget;
use crate::report::promises::promised;
use crate::report::shared::next::Invocation;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{fit, minute, money, money_or_absent, safe, wrap};
use std::fmt::Write;

/// Columns of a name, of which long ones are wrapped.
const NAME_WIDTH: usize = 64;

/// The actions as a table, with the commands that print how they are carried out.
pub fn fix_table(plan: &FixPlan<'_>, invocation: &Invocation, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(plan, invocation, style, &mut out);
    out
}

fn draw(
    plan: &FixPlan<'_>,
    invocation: &Invocation,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    let number = plan.number();
    let heading = format!(
        "{number} of the plan of {} at risk {}: {} per month",
        minute(plan.as_of),
        plan.risk,
        money_or_absent(plan.monthly_savings())
    );
    for line in wrap(&heading, style.width) {
        writeln!(out, "{}", style.heading(&line))?;
    }
    writeln!(out)?;
    if plan.items.is_empty() {
        return Ok(());
    }
    let mut header = vec!["#", "SAVES", "ACTION", "WHAT", "RISK", "BY", "TO"];
    if style.wide {
        header.push("DETAIL");
    }
    let mut table = PlainTable::new(&header, [0, 1]);
    for (index, item) in plan.items.iter().enumerate() {
        let mut row = vec![
            (index + 1).to_string(),
            money(item.fix.monthly_savings),
            item.fix.kind.to_string(),
            fit(item.name(), NAME_WIDTH),
            item.fix.risk.to_string(),
            item.by().to_owned(),
            safe(&item.to()),
        ];
        if style.wide {
            row.push(safe(&item.fix.detail));
        }
        table.row(row);
    }
    out.push_str(&table.wrapped(style));
    let numbers = plan.items.iter().enumerate();
    let numbers = numbers.filter(|(_, item)| item.saves_at_most());
    let numbers: Vec<String> = numbers.map(|(at, _)| (at + 1).to_string()).collect();
    let mut notes = Vec::new();
    if !numbers.is_empty() {
        notes.push(format!(
            "{} saves at most this: snapshots that keep the data are billed, as the runbook says",
            numbers.join(", ")
        ));
    }
    for (at, item) in plan.items.iter().enumerate() {
        if let FixTarget::Purchase(one) = &item.fix.target {
            let promised = promised(one);
            notes.extend(promised.map(|promised| format!("{} promises {promised}", at + 1)));
        }
    }
    for line in notes.iter().flat_map(|note| wrap(note, style.width)) {
        writeln!(out, "{line}")?;
    }
    if !notes.is_empty() {
        writeln!(out)?;
    }
    writeln!(out, "{}", style.heading("NEXT"))?;
    for (format, what) in [
        (
            "markdown",
            "the runbook: checks, steps, ways back, what to watch",
        ),
        (
            "script",
            "the commands; they run only when the script gets --yes",
        ),
    ] {
        let command = invocation.command("fix", true, &format!("--format {format}"));
        writeln!(out, "  {command}\n      {what}")?;
    }
    Ok(())
}
