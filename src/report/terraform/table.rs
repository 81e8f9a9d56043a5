//! `check --terraform-plan` for a terminal: what a plan does to the cost of GPU
//! instances, then what the policy says of the result.

use super::brief::{notes, runs};
use crate::analysis::gate::GateReport;
use crate::analysis::{PlannedChange, PlannedSide};
use crate::domain::{Currency, Money};
use crate::report::gate::brief::UNJUDGED;
use crate::report::gate::caveats::Caveats;
use crate::report::gate::table::{outcome_sections, settings};
use crate::report::shared::gaps::gap_section;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{ABSENT, count, counted, fit, minute, money, safe, wrap};
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::fmt::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Rows shown before the rest is announced.
const SHOWN: usize = 30;
/// Columns of an address unless it is wide.
const ADDRESS: usize = 26;
/// Columns of what runs.
const RUNS: usize = 24;

/// A plan and the gate's report on it. `plan` is what the user calls the plan;
/// `unjudged` are rules that a plan cannot be held against.
pub fn terraform_table(
    change: &PlannedChange,
    report: &GateReport,
    unjudged: &[&str],
    plan: &str,
    as_of: Timestamp,
    style: TableStyle,
) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(change, report, unjudged, (plan, as_of), style, &mut out);
    out
}

fn draw(
    change: &PlannedChange,
    report: &GateReport,
    unjudged: &[&str],
    (plan, as_of): (&str, Timestamp),
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    let policy = report.policy_file.as_deref().unwrap_or("no policy file");
    let title = safe(&format!("gpucost check  {policy}  {plan}"));
    writeln!(out, "{}", style.heading(&title))?;
    let terraform = change
        .terraform_version
        .as_deref()
        .map_or(String::new(), |version| {
            format!(" · Terraform {}", safe(version))
        });
    writeln!(
        out,
        "as of {} · {} in the plan{terraform}",
        minute(as_of),
        counted(change.resources, "resource", "resources")
    )?;
    settings(report, style, out)?;
    writeln!(out)?;
    match change.nothing() {
        Some(nothing) => {
            for line in wrap(&nothing, style.width) {
                writeln!(out, "{line}")?;
            }
            writeln!(out)?;
        }
        None => rows(change, style, out)?,
    }
    if let Some(unread) = change.unread().filter(|_| !change.rows.is_empty()) {
        for line in wrap(&unread, style.width) {
            writeln!(out, "{line}")?;
        }
        writeln!(out)?;
    }
    gap_section(&change.gaps, style, out)?;
    outcome_sections(report, &Caveats::default(), style, out)?;
    if !unjudged.is_empty() {
        let line = format!("{UNJUDGED}: {}", unjudged.join(", "));
        for part in wrap(&line, style.width) {
            writeln!(out, "{part}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn rows(change: &PlannedChange, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let title = format!(
        "CHANGE  {} → {}",
        count(change.instances_before),
        counted(change.instances_after, "instance", "instances")
    );
    writeln!(out, "{}", style.heading(&title))?;
    let header = ["ACTION", "BEFORE", "AFTER", "DELTA", "RUNS", "ADDRESS"];
    let mut table = PlainTable::new(&header, [1, 2, 3]);
    let shown = style.shown(change.rows.len(), SHOWN);
    let columns = |most: usize| if style.wide { usize::MAX } else { most };
    for row in &change.rows[..shown] {
        let cost = |side: &Option<PlannedSide>| match side {
            None => "-".to_owned(),
            Some(side) => side
                .monthly
                .as_ref()
                .map_or(ABSENT.to_owned(), |known| money(*known)),
        };
        let runs = runs(row.before.as_ref(), row.after.as_ref());
        table.row(vec![
            row.action.to_string(),
            cost(&row.before),
            cost(&row.after),
            row.monthly_delta().map_or(ABSENT.to_owned(), Money::signed),
            fit(&runs, columns(RUNS)),
            ending(&row.address, columns(ADDRESS)),
        ]);
    }
    for (currency, sums) in &change.totals {
        table.row(vec![
            "total".to_owned(),
            money(sums.before),
            money(sums.after),
            sums.delta.signed(),
            "per month".to_owned(),
            other_currency(*currency),
        ]);
    }
    out.push_str(&table.text(style));
    let hidden: Decimal = change.rows[shown..]
        .iter()
        .filter_map(|row| row.monthly_delta())
        .map(Money::amount)
        .sum();
    if shown < change.rows.len() {
        let currency = change
            .totals
            .keys()
            .next()
            .copied()
            .filter(|_| change.totals.len() == 1);
        let worth = currency.map(|currency| Money::new(hidden, currency));
        style.left_out(change.rows.len() - shown, "row", "rows", worth, out)?;
        writeln!(out)?;
    }
    for part in notes(change)
        .iter()
        .flat_map(|note| wrap(note, style.width))
    {
        writeln!(out, "{part}")?;
    }
    writeln!(out)
}

/// A name that is safe and at most `width` columns wide: the end of an address
/// tells resources apart, so the beginning gives way.
fn ending(name: &str, width: usize) -> String {
    let shown = safe(name);
    if shown.width() <= width {
        return shown;
    }
    let mut used = 1;
    let kept = shown.char_indices().rev().take_while(|(_, c)| {
        used += c.width().unwrap_or(0);
        used <= width
    });
    let start = kept.last().map_or(shown.len(), |(at, _)| at);
    format!("…{}", &shown[start..])
}

fn other_currency(currency: Currency) -> String {
    match currency {
        Currency::Usd => String::new(),
        other => other.code().to_owned(),
    }
}
