//! `check --format table` and `wide`: what every rule came to, then what fails,
//! what is only shown, what is suppressed, and what could not be judged.

use super::brief::{settings_lines, since_baseline};
use super::caveats::Caveats;
use crate::analysis::Audit;
use crate::analysis::gate::{
    BaselineUse, CheckOutcome, GateReport, MissingData, Place, Suppressed, Violation,
};
use crate::domain::Severity;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{
    ABSENT, counted, fit, minute, money, money_or_absent, safe, wrap,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rows of a section shown before the rest is announced.
const SHOWN: usize = 20;
/// Columns before what is said about a violation.
const INDENT: usize = 16;

/// The gate's report for a terminal.
pub fn gate_table(report: &GateReport, audit: &Audit, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(report, audit, style, &mut out);
    out
}

fn draw(
    report: &GateReport,
    audit: &Audit,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    let policy = report.policy_file.as_deref().unwrap_or("no policy file");
    let title = safe(&format!("gpucost check  {policy}"));
    writeln!(out, "{}", style.heading(&title))?;
    let cost = audit
        .totals
        .monthly_cost
        .map_or("cost unknown".to_owned(), |cost| {
            format!("{} per month", money(cost))
        });
    let instances = counted(audit.totals.instances, "instance", "instances");
    let as_of = minute(audit.as_of);
    writeln!(out, "as of {as_of} · {instances} · {cost}")?;
    settings(report, style, out)?;
    writeln!(out)?;
    outcome_sections(report, &Caveats::of(audit), style, out)
}

/// Settings that decide amounts or findings, below the first lines.
fn settings(report: &GateReport, style: TableStyle, out: &mut String) -> std::fmt::Result {
    for (number, line) in settings_lines(report).iter().enumerate() {
        let indent = if number == 0 { "" } else { "  " };
        for part in wrap(line, style.width.saturating_sub(2)) {
            writeln!(out, "{indent}{part}")?;
        }
    }
    Ok(())
}

/// What every rule came to, and everything that follows from it.
fn outcome_sections(
    report: &GateReport,
    caveats: &Caveats<'_>,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    rules(report, style, out)?;
    let violations: Vec<&Violation> = report.violations.iter().collect();
    section("VIOLATIONS", &violations, caveats, style, out)?;
    // What the baseline knew is counted there.
    let mut notices: Vec<&Violation> = report.notices.iter().collect();
    notices.retain(|one| style.wide || !one.is_known());
    section("NOTICES", &notices, caveats, style, out)?;
    suppressed(&report.suppressed, style, out)?;
    missing_data(&report.missing_data, style, out)?;
    if let Some(used) = &report.baseline {
        baseline(used, style, out)?;
    }
    Ok(())
}

fn baseline(used: &BaselineUse, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let title = style.heading("BASELINE");
    let file = safe(&used.file);
    writeln!(
        out,
        "{title}  {file}: {} known, {} worse, {} new, {} gone",
        used.known, used.worse, used.new, used.gone
    )?;
    if used.known > 0 && !style.wide {
        writeln!(
            out,
            "  known violations: see `--format wide` or `--format json`"
        )?;
    }
    for caution in &used.cautions {
        for line in wrap(
            &format!("caution: {caution}"),
            style.width.saturating_sub(2),
        ) {
            writeln!(out, "  {line}")?;
        }
    }
    writeln!(out)
}

fn rules(report: &GateReport, style: TableStyle, out: &mut String) -> std::fmt::Result {
    if report.checks.is_empty() {
        return Ok(());
    }
    let counts: Vec<String> = CheckOutcome::ALL
        .iter()
        .rev()
        .map(|outcome| {
            let of_it = report.checks.iter().filter(|one| one.outcome == *outcome);
            (outcome, of_it.count())
        })
        .filter(|(_, number)| *number > 0)
        .map(|(outcome, number)| format!("{number} {outcome}"))
        .collect();
    let title = format!("RULES  {}", counts.join(", "));
    writeln!(out, "{}", style.heading(&title))?;
    let mut table = PlainTable::new(&["RESULT", "RULE", "SCOPE", "OBSERVED", "LIMIT"], []);
    let widest = if style.wide { usize::MAX } else { 34 };
    let cell = |text: &str| fit(text, widest);
    for check in &report.checks {
        table.row(vec![
            check.outcome.to_string(),
            cell(&check.rule),
            cell(&check.scope),
            cell(check.observed.as_deref().unwrap_or(ABSENT)),
            cell(&check.limit),
        ]);
    }
    out.push_str(&table.text(style));
    Ok(())
}

fn section(
    title: &str,
    violations: &[&Violation],
    caveats: &Caveats<'_>,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    if violations.is_empty() {
        return Ok(());
    }
    let title = format!("{title}  {}", violations.len());
    writeln!(out, "{}", style.heading(&title))?;
    let shown = style.shown(violations.len(), SHOWN);
    for violation in &violations[..shown] {
        one(violation, style, out)?;
        if violation.place != Place::Nowhere {
            said(&format!("at {}", violation.place), style, out)?;
        }
        if let Some(step) = violation.steps.first() {
            said(&format!("→ {step}"), style, out)?;
        }
        for caveat in caveats.about(violation) {
            said(&format!("! {caveat}"), style, out)?;
        }
    }
    style.left_out(violations.len() - shown, "row", "rows", None, out)?;
    writeln!(out)
}

fn one(violation: &Violation, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let worth = money_or_absent(violation.monthly);
    let severity = format!("{:<8}", violation.severity.name());
    let severity = match violation.severity {
        Severity::Critical => style.paint("1;31", &severity),
        Severity::Warning => style.paint("33", &severity),
        Severity::Info => severity,
    };
    let what = format!("{}  {}", violation.rule, violation.scope);
    let what = fit(&what, style.width.saturating_sub(INDENT + 9));
    writeln!(out, "{worth:>14}  {severity} {what}")?;
    said(&violation.title, style, out)?;
    match since_baseline(violation) {
        Some(since) => said(&format!("baseline: {since}"), style, out),
        None => Ok(()),
    }
}

/// A sentence below a row, wrapped.
fn said(text: &str, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let indent = " ".repeat(INDENT);
    for line in wrap(text, style.width.saturating_sub(INDENT)) {
        writeln!(out, "{indent}{line}")?;
    }
    Ok(())
}

fn suppressed(suppressed: &[Suppressed], style: TableStyle, out: &mut String) -> std::fmt::Result {
    if suppressed.is_empty() {
        return Ok(());
    }
    let title = format!("SUPPRESSED  {}", suppressed.len());
    writeln!(out, "{}", style.heading(&title))?;
    let shown = style.shown(suppressed.len(), SHOWN);
    for suppressed in &suppressed[..shown] {
        one(&suppressed.violation, style, out)?;
        let by = &suppressed.by;
        let accepted = format!("until {} by {}: {}", by.expires, by.owner, by.reason);
        said(&accepted, style, out)?;
    }
    style.left_out(suppressed.len() - shown, "row", "rows", None, out)?;
    writeln!(out)
}

fn missing_data(
    missing_data: &[MissingData],
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    if missing_data.is_empty() {
        return Ok(());
    }
    let title = format!(
        "NOT EVALUATED  {}",
        counted(missing_data.len() as u64, "missing input", "missing inputs")
    );
    writeln!(out, "{}", style.heading(&title))?;
    let width = style.width.saturating_sub(4);
    let rows = by_cause(missing_data);
    let shown = style.shown(rows.len(), SHOWN);
    for places in &rows[..shown] {
        let Some(missing_data) = places.first() else {
            continue;
        };
        let line = format!(
            "{} of {}: {}",
            missing_data.what,
            places_words(places, style),
            missing_data.reason
        );
        for (index, part) in wrap(&line, width).iter().enumerate() {
            writeln!(out, "  {}{part}", if index == 0 { "" } else { "  " })?;
        }
        let rules = format!("for: {}", missing_data.rules.join(", "));
        let hint = format!("hint: {}", missing_data.hint);
        for part in [rules, hint].iter().flat_map(|text| wrap(text, width)) {
            writeln!(out, "    {part}")?;
        }
    }
    style.left_out(rows.len() - shown, "row", "rows", None, out)?;
    writeln!(out)
}

/// What differs only by its place is one row, where the first of it would be.
fn by_cause(missing_data: &[MissingData]) -> Vec<Vec<&MissingData>> {
    let cause = |one: &MissingData| {
        (
            one.what.clone(),
            one.reason.clone(),
            one.hint.clone(),
            one.rules.clone(),
        )
    };
    let mut rows: Vec<Vec<&MissingData>> = Vec::new();
    let mut at = BTreeMap::new();
    for one in missing_data {
        let row = *at.entry(cause(one)).or_insert(rows.len());
        if row == rows.len() {
            rows.push(Vec::new());
        }
        rows[row].push(one);
    }
    rows
}

/// The places of a row: all where there is room, otherwise the first and how many others.
fn places_words(places: &[&MissingData], style: TableStyle) -> String {
    let names: Vec<&str> = places.iter().map(|one| one.place.as_str()).collect();
    match names.as_slice() {
        [first, others @ ..] if !others.is_empty() && !style.wide => {
            let others = counted(others.len() as u64, "other", "others");
            format!("{first} and {others}")
        }
        all => all.join(", "),
    }
}
