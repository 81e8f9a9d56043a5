//! `gpucost diff` for a terminal: money first, then workloads, then findings.

use super::words::{
    described, differences, from_to, gained, gone_title, headlines, kpi_rows, outcome,
    signed_or_absent, tally,
};
use crate::analysis::AuditDiff;
use crate::domain::{Money, PastWorkload};
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{
    ABSENT, count, counted, fit, minute, money, money_or_absent, safe, wrap,
};
use std::fmt::Write;

/// Rows shown before the rest is announced.
const SHOWN: usize = 20;
const NAME_WIDTH: usize = 32;
const KPI_WIDTH: usize = 48;

/// Two audits beside each other for a terminal.
pub fn diff_table(diff: &AuditDiff<'_>, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(diff, style, &mut out);
    out
}

fn draw(diff: &AuditDiff<'_>, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let title = format!(
        "GPU audit of {} compared with {}",
        minute(diff.new.as_of),
        minute(diff.old.as_of)
    );
    writeln!(out, "{}\n", style.heading(&title))?;
    for (label, delta) in headlines(diff) {
        let change = delta.change();
        writeln!(
            out,
            "  {label:<16}{:>36}   {}",
            from_to(delta),
            signed_or_absent(change)
        )?;
    }
    writeln!(out, "  {:<16}{}\n", "Workloads", tally(diff))?;
    for caveat in &diff.caveats {
        for (index, line) in wrap(caveat, style.width - 4).iter().enumerate() {
            writeln!(out, "{}{line}", if index == 0 { "  ! " } else { "    " })?;
        }
    }
    if !diff.caveats.is_empty() {
        writeln!(out)?;
    }
    if let Some(plan) = &diff.plan {
        for line in wrap(&outcome(plan), style.width - 2) {
            writeln!(out, "  {line}")?;
        }
        writeln!(out)?;
    }
    kpis(diff, style, out)?;
    workloads("ADDED", &diff.added, true, style, out)?;
    workloads("REMOVED", &diff.removed, false, style, out)?;
    changed(diff, style, out)?;
    unused(diff, style, out)?;
    gone(diff, style, out)?;
    appeared(diff, style, out)
}

fn section(
    table: &PlainTable,
    style: TableStyle,
    rest: usize,
    out: &mut String,
) -> std::fmt::Result {
    for line in table.lines() {
        writeln!(out, "  {}", fit(&line, style.width - 2))?;
    }
    if rest > 0 {
        writeln!(
            out,
            "  … and {}: see `--format json`",
            counted(rest as u64, "more row", "more rows")
        )?;
    }
    writeln!(out)
}

fn kpis(diff: &AuditDiff<'_>, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let rows = kpi_rows(diff);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("KPIS"))?;
    let mut table = PlainTable::new(&["KPI", "BEFORE", "NOW", "CHANGE"], 1..4);
    let most = style.shown(rows.len(), SHOWN);
    for row in &rows[..most] {
        let name = fit(&row.name, KPI_WIDTH);
        table.row(vec![
            name,
            row.old.clone(),
            row.new.clone(),
            row.change.clone(),
        ]);
    }
    section(&table, style, rows.len() - most, out)
}

fn workloads(
    title: &str,
    all: &[&PastWorkload],
    is_gain: bool,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading(title))?;
    let mut table = PlainTable::new(&["NAME", "MONTHLY", "WHAT"], [1]);
    let shown = style.shown(all.len(), SHOWN);
    for one in &all[..shown] {
        table.row(vec![
            fit(&one.name, NAME_WIDTH),
            signed_or_absent(gained(one, is_gain)),
            safe(&described(one)),
        ]);
    }
    section(&table, style, all.len() - shown, out)
}

fn changed(diff: &AuditDiff<'_>, style: TableStyle, out: &mut String) -> std::fmt::Result {
    if diff.changed.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("CHANGED"))?;
    let mut table = PlainTable::new(&["NAME", "MONTHLY", "NOW", "WHAT"], [1, 2]);
    let shown = style.shown(diff.changed.len(), SHOWN);
    for one in &diff.changed[..shown] {
        table.row(vec![
            fit(&one.new.name, NAME_WIDTH),
            signed_or_absent(one.monthly_cost().change()),
            money_or_absent(one.new.monthly_cost),
            safe(&differences(one)),
        ]);
    }
    section(&table, style, diff.changed.len() - shown, out)
}

fn unused(diff: &AuditDiff<'_>, style: TableStyle, out: &mut String) -> std::fmt::Result {
    if diff.unused.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("PAID FOR BUT NOT RUNNING"))?;
    let mut table = PlainTable::new(&["COMMITMENT", "MONTHLY", "NOW", "WHAT"], [1, 2]);
    let shown = style.shown(diff.unused.len(), SHOWN);
    for one in &diff.unused[..shown] {
        table.row(vec![
            fit(&one.one.id, NAME_WIDTH),
            signed_or_absent(one.monthly_cost.change()),
            money_or_absent(one.monthly_cost.new),
            safe(&one.one.name),
        ]);
    }
    section(&table, style, diff.unused.len() - shown, out)
}

fn gone(diff: &AuditDiff<'_>, style: TableStyle, out: &mut String) -> std::fmt::Result {
    if diff.gone.is_empty() {
        return Ok(());
    }
    let title = format!("GONE  {}", gone_title(diff));
    writeln!(out, "{}", style.heading(&title))?;
    let mut table = PlainTable::new(
        &[
            "WORKLOAD",
            "RULE",
            "PROMISED",
            "COST CHANGE",
            "WHY",
            "FINDING",
        ],
        [2, 3],
    );
    let names = diff.old.names();
    let shown = style.shown(diff.gone.len(), SHOWN);
    for one in &diff.gone[..shown] {
        let cost = one
            .workload_saved
            .map(|saved| Money::new(-saved.amount(), saved.currency()));
        table.row(vec![
            fit(one.finding.about(&names), NAME_WIDTH),
            safe(&one.finding.rule),
            promised(one.finding.monthly_savings),
            signed_or_absent(cost),
            one.because.name().to_owned(),
            safe(&one.finding.title),
        ]);
    }
    section(&table, style, diff.gone.len() - shown, out)
}

fn appeared(diff: &AuditDiff<'_>, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let title = format!(
        "NEW  {}; {} unchanged",
        counted(diff.appeared.len() as u64, "finding", "findings"),
        count(diff.kept)
    );
    writeln!(out, "{}", style.heading(&title))?;
    if diff.appeared.is_empty() {
        return Ok(());
    }
    let mut table = PlainTable::new(
        &["WORKLOAD", "RULE", "COULD SAVE", "SEVERITY", "FINDING"],
        [2],
    );
    let names = diff.new.names();
    let shown = style.shown(diff.appeared.len(), SHOWN);
    for one in &diff.appeared[..shown] {
        table.row(vec![
            fit(one.about(&names), NAME_WIDTH),
            safe(&one.rule),
            promised(one.monthly_savings),
            safe(&one.severity),
            safe(&one.title),
        ]);
    }
    for line in table.lines() {
        writeln!(out, "  {}", fit(&line, style.width - 2))?;
    }
    let rest = diff.appeared.len() - shown;
    if rest > 0 {
        let rest = counted(rest as u64, "more row", "more rows");
        writeln!(out, "  … and {rest}: see `--format json`")?;
    }
    Ok(())
}

fn promised(savings: Option<Money>) -> String {
    savings.map_or_else(|| ABSENT.to_owned(), money)
}
