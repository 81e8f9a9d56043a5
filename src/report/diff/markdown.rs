//! `gpucost diff --format markdown`: short enough for a comment, the money first.

use super::words::{
    KpiRow, described, differences, from_to, gained, gone_title, headlines, kpi_rows, outcome,
    signed_or_absent, tally,
};
use crate::analysis::AuditDiff;
use crate::domain::{PastFinding, PastWorkload};
use crate::report::shared::markdown::escape::{code, text};
use crate::report::shared::text::{count, counted, fit, money_or_absent};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rows of a section before the rest is announced. Five full sections of the widest
/// cells stay below the 65,536 characters that a comment may have.
const SHOWN: usize = 12;
const NAME_WIDTH: usize = 40;
const SENTENCE_WIDTH: usize = 100;

/// Two audits beside each other as GitHub-flavoured Markdown.
pub fn diff_markdown(diff: &AuditDiff<'_>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(diff, &mut out);
    out
}

/// Words from outside, shorter than in a report. Marks that combine take no
/// column: characters are bounded too.
fn short(words: &str, width: usize) -> String {
    fit(words, width).chars().take(width).collect()
}

/// A name from outside.
fn name(name: &str) -> String {
    code(&short(name, NAME_WIDTH))
}

/// A sentence with words from outside.
fn sentence(words: &str) -> String {
    text(&short(words, SENTENCE_WIDTH))
}

fn draw(diff: &AuditDiff<'_>, out: &mut String) -> std::fmt::Result {
    let headline = diff.monthly_cost.change().map_or_else(
        || "GPU cost: totals not comparable".to_owned(),
        |change| format!("GPU cost: {} per month", change.signed()),
    );
    writeln!(out, "### {headline}\n")?;
    writeln!(out, "| | before → now | change |\n|---|--:|--:|")?;
    for (label, delta) in headlines(diff) {
        let change = signed_or_absent(delta.change());
        writeln!(out, "| {label} | {} | {change} |", from_to(delta))?;
    }
    writeln!(out, "\nWorkloads: {}.", tally(diff))?;
    if let Some(plan) = &diff.plan {
        writeln!(out, "\nPlan: {}.", outcome(plan))?;
    }
    for caveat in &diff.caveats {
        writeln!(out, "\n> Caution: {}", sentence(caveat))?;
    }
    kpis(diff, out)?;
    workloads("Added", &diff.added, true, out)?;
    workloads("Removed", &diff.removed, false, out)?;
    changed(diff, out)?;
    unused(diff, out)?;
    let gone: Vec<&PastFinding> = diff.gone.iter().map(|one| one.finding).collect();
    let title = format!("Gone: {}", gone_title(diff));
    findings(&title, "promised", &gone, &diff.old.names(), out)?;
    let title = format!(
        "New: {}; {} unchanged",
        counted(diff.appeared.len() as u64, "finding", "findings"),
        count(diff.kept)
    );
    findings(
        &title,
        "potential savings",
        &diff.appeared,
        &diff.new.names(),
        out,
    )
}

fn kpis(diff: &AuditDiff<'_>, out: &mut String) -> std::fmt::Result {
    let line = |row: &KpiRow| {
        let name = sentence(&row.name);
        format!("| {name} | {} | {} | {} |", row.old, row.new, row.change)
    };
    let lines: Vec<String> = kpi_rows(diff).iter().map(line).collect();
    let number = counted(lines.len() as u64, "key figure", "key figures");
    folded(
        &format!("Changed: {number}"),
        "| key figure | before | now | change |\n|---|--:|--:|--:|",
        &lines,
        out,
    )
}

fn unused(diff: &AuditDiff<'_>, out: &mut String) -> std::fmt::Result {
    let lines: Vec<String> = diff
        .unused
        .iter()
        .map(|one| {
            format!(
                "| {} | {} | {} | {} |",
                name(&one.one.id),
                signed_or_absent(one.monthly_cost.change()),
                money_or_absent(one.monthly_cost.new),
                sentence(&one.one.name)
            )
        })
        .collect();
    let count = counted(diff.unused.len() as u64, "commitment", "commitments");
    folded(
        &format!("Paid for but not running: {count}"),
        "| commitment | monthly change | now | details |\n|---|--:|--:|---|",
        &lines,
        out,
    )
}

/// A folded section; `lines` are rows of a table.
fn folded(title: &str, header: &str, lines: &[String], out: &mut String) -> std::fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n<details><summary>{title}</summary>\n\n{header}")?;
    for line in lines.iter().take(SHOWN) {
        writeln!(out, "{line}")?;
    }
    if let Some(rest) = lines.len().checked_sub(SHOWN).filter(|rest| *rest > 0) {
        let rest = counted(rest as u64, "more", "more");
        writeln!(out, "\n… and {rest}: see `--format json`")?;
    }
    writeln!(out, "\n</details>")
}

fn workloads(
    title: &str,
    all: &[&PastWorkload],
    is_gain: bool,
    out: &mut String,
) -> std::fmt::Result {
    let lines: Vec<String> = all
        .iter()
        .map(|one| {
            format!(
                "| {} | {} | {} |",
                name(&one.name),
                signed_or_absent(gained(one, is_gain)),
                sentence(&described(one))
            )
        })
        .collect();
    let title = format!(
        "{title}: {}",
        counted(all.len() as u64, "workload", "workloads")
    );
    folded(
        &title,
        "| workload | monthly change | details |\n|---|--:|---|",
        &lines,
        out,
    )
}

fn changed(diff: &AuditDiff<'_>, out: &mut String) -> std::fmt::Result {
    let lines: Vec<String> = diff
        .changed
        .iter()
        .map(|one| {
            format!(
                "| {} | {} | {} | {} |",
                name(&one.new.name),
                signed_or_absent(one.monthly_cost().change()),
                money_or_absent(one.new.monthly_cost),
                sentence(&differences(one))
            )
        })
        .collect();
    let title = format!(
        "Changed: {}",
        counted(diff.changed.len() as u64, "workload", "workloads")
    );
    let header = "| workload | monthly change | now | details |\n|---|--:|--:|---|";
    folded(&title, header, &lines, out)
}

fn findings(
    title: &str,
    worth: &str,
    all: &[&PastFinding],
    names: &BTreeMap<&str, &str>,
    out: &mut String,
) -> std::fmt::Result {
    let lines: Vec<String> = all
        .iter()
        .map(|one| {
            format!(
                "| {} | {} | {} | {} |",
                name(one.about(names)),
                name(&one.rule),
                money_or_absent(one.monthly_savings),
                sentence(&one.title)
            )
        })
        .collect();
    let header = format!("| workload | rule | {worth} per month | finding |\n|---|---|--:|---|");
    folded(title, &header, &lines, out)
}
