//! Findings in the table of an audit: those of a rule that advise the same for several
//! workloads are one, with the largest of them in full.

use crate::analysis::Audit;
use crate::domain::{Evidence, Finding, Money, Observation, Severity, decimals_apart, floored};
use crate::report::shared::style::{TableStyle, outside_of_filters};
use crate::report::shared::text::{counted, hanging, money, safe, some_of, wrap};
use crate::report::shared::view::Picked;
use std::collections::BTreeMap;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Rows shown before the rest is announced.
const SHOWN: usize = 12;
/// Findings from which on equal ones are one.
const MANY: usize = 3;
/// Workloads that a group names.
pub(super) const NAMED: usize = 3;
/// Columns before what a finding says.
const INDENT: usize = 16;

fn severity(severity: Severity, style: TableStyle) -> String {
    let padded = format!("{:<8}", severity.name());
    match severity {
        Severity::Critical => style.paint("1;31", &padded),
        Severity::Warning => style.paint("33", &padded),
        Severity::Info => padded,
    }
}

/// Findings of one rule that advise the same, as one group where they are many, in the order
/// of the first of each; `apart` leaves each on its own.
pub(super) fn alike<'a>(findings: &[&'a Finding], apart: bool) -> Vec<Vec<&'a Finding>> {
    let key = |one: &Finding| {
        let action = one.recommendation.action.clone();
        // Amounts of one currency compare, and none of them with what has no estimate.
        let currency = one.monthly_savings.map(|saved| saved.currency().code());
        (one.rule(), one.severity, one.confidence, action, currency)
    };
    let mut numbers = BTreeMap::new();
    for one in findings {
        *numbers.entry(key(one)).or_insert(0_usize) += 1;
    }
    let mut groups: Vec<Vec<&'a Finding>> = Vec::new();
    let mut places = BTreeMap::new();
    for one in findings {
        let key = key(one);
        let is_one_of_many = numbers.get(&key).is_some_and(|number| *number >= MANY);
        let place = if apart || !is_one_of_many {
            groups.len()
        } else {
            *places.entry(key).or_insert(groups.len())
        };
        match groups.get_mut(place) {
            Some(group) => group.push(*one),
            None => groups.push(vec![*one]),
        }
    }
    groups
}

/// The least and the most that a member of a group saves by itself; absent where that is the
/// same for all.
pub(super) fn span_of_savings(group: &[&Finding]) -> Option<(Money, Money)> {
    let mut savings: Vec<Money> = group.iter().filter_map(|one| one.monthly_savings).collect();
    savings.sort_by_key(|saved| saved.amount());
    let (least, most) = (*savings.first()?, *savings.last()?);
    (least != most).then_some((least, most))
}

/// The names of workloads by their IDs.
pub(super) fn names(audit: &Audit) -> BTreeMap<String, &str> {
    let workloads = audit.workloads.iter();
    workloads
        .map(|audited| (audited.workload.id(), audited.workload.name.as_str()))
        .collect()
}

/// The section FINDINGS.
pub(super) fn findings(
    audit: &Audit,
    picked: &Picked<'_>,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    if audit.findings.is_empty() {
        return writeln!(out, "{}\n", style.heading("FINDINGS  none"));
    }
    style.title(
        "FINDINGS  savings are per finding; they overlap and do not add up",
        out,
    )?;
    let all = audit.findings.iter();
    let (kept, outside): (Vec<&Finding>, Vec<&Finding>) =
        all.partition(|one| picked.keeps(one.workload()));
    let names = names(audit);
    let groups = alike(&kept, style.lists_members());
    let (shown, hidden) = groups.split_at(style.shown(groups.len(), SHOWN));
    for group in shown {
        finding(&names, group, style, out)?;
    }
    let hidden: usize = hidden.iter().map(Vec::len).sum();
    style.left_out(hidden, "finding", "findings", None, out)?;
    outside_of_filters(outside.len(), "finding", "findings", None, out)?;
    writeln!(out)
}

/// A finding, or a group of them with the largest one in full.
fn finding(
    names: &BTreeMap<String, &str>,
    group: &[&Finding],
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    let Some(finding) = group.first() else {
        return Ok(());
    };
    let saving = finding
        .monthly_savings
        .map_or("no estimate".to_owned(), money);
    let members = group.iter().map(|one| {
        let name = names.get(one.workload()).copied();
        name.unwrap_or(one.workload())
    });
    let members = some_of(members, NAMED);
    let rule = finding.rule();
    let what = match group.len() {
        1 => format!("{rule}  {members}"),
        number => {
            let number = counted(number as u64, "workload", "workloads");
            format!("{rule}  {number}: {members}")
        }
    };
    let first = format!("{saving:>14}  {} ", severity(finding.severity, style));
    if what.width() + 25 <= style.width {
        writeln!(out, "{first}{what}")?;
    } else {
        hanging(&first, 25, &what, style.width, out)?;
    }
    let indent = " ".repeat(INDENT);
    if let Some((least, most)) = span_of_savings(group) {
        let (least, most) = (money(least), money(most));
        let each = format!("from {least} to {most} each; the largest:");
        hanging(&indent, INDENT, &each, style.width, out)?;
    }
    hanging(&indent, INDENT, &finding.title, style.width, out)?;
    if let Some(decisive) = finding.evidence().first() {
        let why = format!("{} ({})", evidence(decisive), finding.confidence);
        hanging(&indent, INDENT, &why, style.width, out)?;
    }
    let to = if finding.recommendation.to.is_empty() {
        String::new()
    } else {
        format!(": {}", finding.recommendation.to)
    };
    let what = format!("→ {}{to}", finding.recommendation.action);
    hanging(&indent, INDENT, &what, style.width, out)?;
    caveats(&finding.recommendation.caveats, INDENT, style, out)
}

pub(in crate::report) fn evidence(evidence: &Evidence) -> String {
    let decimals = decimals_apart(evidence.observed, evidence.threshold);
    // Parts of GPUs are rounded as in titles.
    let decimals = match evidence.unit {
        "GPUs" => decimals.max(2),
        _ => decimals,
    };
    let number = |value: f64| {
        if value.fract() == 0.0 {
            format!("{value:.0}")
        } else {
            format!("{value:.decimals$}")
        }
    };
    // The unit of a count is in its name.
    let unit = match evidence.unit {
        "%" => "%",
        _ => "",
    };
    let comparator = evidence.comparator.sign();
    let judged = format!(
        "{}{unit} {comparator} {}{unit}",
        number(evidence.observed),
        number(evidence.threshold),
    );
    match &evidence.observation {
        Observation::Sampled {
            metric,
            figure,
            n_samples,
            coverage,
            ..
        } => format!(
            "{figure} of {metric} {judged}; {}, coverage {}%",
            counted(*n_samples, "sample", "samples"),
            floored(coverage * 100.0, 0)
        ),
        Observation::Fact { name, .. } => format!("{name}: {judged}"),
    }
}

/// What would stop an engineer, one line each.
pub(super) fn caveats(
    caveats: &[String],
    indent: usize,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    for caveat in caveats {
        let width = style.width.saturating_sub(indent + 2);
        for (index, line) in wrap(&safe(caveat), width).iter().enumerate() {
            let sign = if index == 0 { "!" } else { " " };
            writeln!(out, "{:indent$}{sign} {line}", "")?;
        }
    }
    Ok(())
}
