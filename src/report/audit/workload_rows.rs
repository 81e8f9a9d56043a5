//! The workloads in the table of an audit: what they cost, what the plan saves of it and at
//! which risk, and how they are used.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Action, Currency, floored};
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::sparkline::sparkline;
use crate::report::shared::style::{TableStyle, columns_left_out};
use crate::report::shared::text::{
    ABSENT, a_year, count, fit, hanging, money, money_or_absent, percent, safe,
};
use crate::report::shared::view::{Picked, View, class_of, summed};
use std::fmt::Write;

/// Rows shown before the rest is announced.
const SHOWN: usize = 12;
/// Columns of a terminal from which on there is room for a line of bars.
const ROOM_FOR_BARS: usize = 120;
/// The title of what workloads cost, where all of it is in dollars.
const DOLLARS: &str = "$/MONTH";
/// Bars of a workload.
const BARS: usize = 14;

/// Whether AWS advises anything about a workload.
pub(super) fn is_advised(audit: &Audit) -> bool {
    let mut all = audit.workloads.iter();
    all.any(|one| !one.workload.opinions.is_empty())
}

/// A column: its title, whether it has numbers, and its cell of a workload.
type Column = (&'static str, bool, fn(&AuditedWorkload) -> String);

const NARROW: [Column; 12] = [
    ("NAME", false, name),
    ("TYPE", false, instance_type),
    ("REGION", false, region),
    ("KIND", false, kind),
    ("CLASS", false, class),
    ("MEAN", true, mean),
    ("VRAM PEAK", true, vram_peak),
    (DOLLARS, true, monthly),
    ("SAVES/MONTH", true, saves_monthly),
    ("SAVES/YEAR", true, saves_yearly),
    ("RISK", false, risk),
    ("CAVEATS", true, number_of_caveats),
];
/// Which of them make room for the others, the first one first.
const SPARE: [usize; 8] = [6, 2, 3, 5, 9, 1, 11, 4];

const WIDE: [Column; 18] = [
    ("NAME", false, name),
    ("REGION", false, region),
    ("TYPE", false, instance_type),
    ("COUNT", true, number_of_instances),
    ("OPTION", false, option),
    ("KIND", false, kind),
    ("CLASS", false, class),
    ("STATE", false, state),
    ("MEAN", true, mean),
    ("P95", true, p95),
    ("VRAM PEAK", true, vram_peak),
    ("COVERAGE", true, coverage),
    (DOLLARS, true, monthly),
    ("PLANNED", true, planned),
    ("SAVES/MONTH", true, saves_monthly),
    ("SAVES/YEAR", true, saves_yearly),
    ("RISK", false, risk),
    ("CAVEATS", true, number_of_caveats),
];

/// The section WORKLOADS, with what it does not show; nothing without any workload.
pub(super) fn workloads(
    (picked, view): (&Picked<'_>, &View),
    is_advised: bool,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    if picked.kept.is_empty() && picked.left_out.is_empty() {
        return Ok(());
    }
    let order = view
        .sort
        .map_or("most expensive first".to_owned(), |key| format!("by {key}"));
    let chosen = summed(&picked.kept, "chosen").filter(|_| view.is_filtered());
    let chosen = chosen.map_or(String::new(), |chosen| format!("; {chosen}"));
    style.title(&format!("WORKLOADS  {order}{chosen}"), out)?;
    let rows = style.shown(picked.kept.len(), SHOWN);
    let (shown, hidden) = picked.kept.split_at(rows);
    let table = table(shown, is_advised, style);
    if !shown.is_empty() {
        for line in table.lines_in(style, 2) {
            writeln!(out, "  {line}")?;
        }
    }
    if let Some(rest) = summed(hidden, "more") {
        let rest = format!("and {rest}: see `--all`");
        hanging("  … ", 4, &rest, style.width, out)?;
    }
    if let Some(rest) = summed(&picked.left_out, "other") {
        let rest = format!("and {rest}, outside of the filters");
        hanging("  … ", 4, &rest, style.width, out)?;
    }
    if let Some(narrowed) = columns_left_out(&table.left_out(style, 2), style)
        && !shown.is_empty()
    {
        hanging("  ", 2, &narrowed, style.width, out)?;
    }
    writeln!(out)
}

fn table(shown: &[&AuditedWorkload], is_advised: bool, style: TableStyle) -> PlainTable {
    let columns: &[Column] = if style.wide { &WIDE } else { &NARROW };
    let mut costs = shown.iter().filter_map(|one| one.workload.monthly_cost());
    let in_dollars = costs.all(|cost| cost.currency() == Currency::Usd);
    let titles = columns.iter().map(|(title, ..)| match *title {
        DOLLARS if !in_dollars => "COST/MONTH",
        title => title,
    });
    let mut titles: Vec<&str> = titles.collect();
    let has_bars = style.width >= ROOM_FOR_BARS;
    if has_bars {
        titles.push("HOURLY PEAKS");
    }
    let says_aws = style.wide && is_advised;
    if says_aws {
        titles.push("AWS SAYS");
    }
    let numbers = columns.iter().enumerate();
    let numbers = numbers.filter_map(|(index, (_, is_number, _))| is_number.then_some(index));
    let mut table = PlainTable::new(&titles, numbers).giving(0, &SPARE);
    for audited in shown {
        let mut row: Vec<String> = columns.iter().map(|(.., cell)| cell(audited)).collect();
        if has_bars {
            row.push(bars(audited, style.ascii));
        }
        if says_aws {
            let opinion = audited.workload.aws_opinion();
            row.push(or_absent(opinion.map(|words| fit(&words, 48))));
        }
        table.row(row);
    }
    table
}

fn or_absent(value: Option<String>) -> String {
    value.unwrap_or_else(|| ABSENT.to_owned())
}

fn name(audited: &AuditedWorkload) -> String {
    fit(&audited.workload.name, 32)
}

fn instance_type(audited: &AuditedWorkload) -> String {
    safe(&audited.workload.key.instance_type)
}

fn region(audited: &AuditedWorkload) -> String {
    safe(&audited.workload.key.region)
}

fn number_of_instances(audited: &AuditedWorkload) -> String {
    count(audited.workload.instances.len() as u64)
}

fn option(audited: &AuditedWorkload) -> String {
    audited.workload.key.purchase_option.to_string()
}

fn kind(audited: &AuditedWorkload) -> String {
    audited.workload.kind.to_string()
}

fn class(audited: &AuditedWorkload) -> String {
    class_of(audited).to_owned()
}

fn state(audited: &AuditedWorkload) -> String {
    or_absent(audited.verdict.state.map(|state| state.to_string()))
}

fn mean(audited: &AuditedWorkload) -> String {
    let summary = audited.workload.utilization.as_ref();
    or_absent(summary.map(|summary| percent(summary.distribution.mean)))
}

fn p95(audited: &AuditedWorkload) -> String {
    let summary = audited.workload.utilization.as_ref();
    or_absent(summary.map(|summary| percent(summary.distribution.p95)))
}

fn vram_peak(audited: &AuditedWorkload) -> String {
    let vram = audited.workload.vram();
    or_absent(vram.map(|vram| format!("{:.1} GiB", vram.peak_mib / 1024.0)))
}

fn coverage(audited: &AuditedWorkload) -> String {
    let summary = audited.workload.utilization.as_ref();
    or_absent(summary.map(|summary| format!("{}%", floored(summary.coverage() * 100.0, 1))))
}

fn monthly(audited: &AuditedWorkload) -> String {
    money_or_absent(audited.workload.monthly_cost())
}

fn planned(audited: &AuditedWorkload) -> String {
    money_or_absent(audited.planned_monthly_cost())
}

fn saves_monthly(audited: &AuditedWorkload) -> String {
    or_absent(audited.planned_monthly_savings().map(money))
}

fn saves_yearly(audited: &AuditedWorkload) -> String {
    let monthly = audited.planned_monthly_savings();
    or_absent(monthly.map(|monthly| money(a_year(monthly))))
}

/// The highest risk of its actions.
fn risk(audited: &AuditedWorkload) -> String {
    let highest = audited.actions.iter().map(Action::risk).max();
    or_absent(highest.map(|risk| risk.to_string()))
}

/// How many caveats its actions have; the plan lists them.
fn number_of_caveats(audited: &AuditedWorkload) -> String {
    let actions = audited.actions.iter();
    match actions.map(|action| action.caveats().len()).sum::<usize>() {
        0 => ABSENT.to_owned(),
        caveats => count(caveats as u64),
    }
}

/// The largest utilization of each hour, from when it was first seen in the window on.
fn bars(audited: &AuditedWorkload, ascii: bool) -> String {
    let hours = audited.workload.activity.hours();
    let maxima: Vec<Option<f64>> = hours.map(|hour| hour.maximum).collect();
    or_absent(sparkline(&maxima, BARS, ascii))
}
