//! `--group-by`: a section below the audit's table, a key of its JSON, or a CSV of
//! its own.

use super::plain_table::PlainTable;
use super::style::{TableStyle, left_out};
use super::text::{
    count, counted, fit, json_money, money_or_absent, rounded, safe, spreadsheet_safe,
};
use crate::analysis::{GroupRow, GroupSums, Groups};
use crate::domain::{Currency, Money};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What stands for an absent value, such as that of a tag, in tables and CSV.
pub(super) const NO_VALUE: &str = "(none)";
const SHOWN_GROUPS: usize = 20;
const VALUE_WIDTH: usize = 24;

/// The section below the table of an audit.
pub fn groups_section(groups: &Groups, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(groups, style, &mut out);
    out
}

fn names(groups: &Groups) -> Vec<String> {
    groups.keys.iter().map(ToString::to_string).collect()
}

fn draw(groups: &Groups, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let title = format!(
        "COST PER MONTH BY {}",
        safe(&names(groups).join(", ")).to_uppercase()
    );
    writeln!(out, "\n{}", style.heading(&fit(&title, style.width)))?;
    let keys: Vec<String> = groups
        .keys
        .iter()
        .map(|key| fit(&key.to_string().to_uppercase(), VALUE_WIDTH))
        .collect();
    let figures = [
        "GPUS",
        "COST",
        "USEFUL",
        "IDLE",
        "UNMEASURED",
        "STOPPED",
        "SAVINGS",
    ];
    let header: Vec<&str> = keys.iter().map(String::as_str).chain(figures).collect();
    let mut table = PlainTable::new(&header, keys.len()..header.len());
    let shown = style.shown(groups.rows.len(), SHOWN_GROUPS);
    for row in &groups.rows[..shown] {
        let values = row.values.iter().map(|value| shown_value(value.as_deref()));
        table.row(values.chain(cells(&row.sums)).collect());
    }
    let rest = &groups.rows[shown..];
    let mut total = vec![String::new(); groups.keys.len()];
    if let Some(first) = total.first_mut() {
        "total".clone_into(first);
    }
    table.row(total.into_iter().chain(cells(&groups.total)).collect());
    for line in table.lines() {
        writeln!(out, "  {line}")?;
    }
    left_out(rest.len(), "group", "groups", worth(rest), out)?;
    match unpriced_note(groups) {
        Some(note) => writeln!(out, "  {note}"),
        None => Ok(()),
    }
}

/// What the sums leave out.
pub(super) fn unpriced_note(groups: &Groups) -> Option<String> {
    let number = groups.total.unpriced_workloads;
    let workloads = counted(number, "workload is", "workloads are");
    (number > 0)
        .then(|| format!("{workloads} not in the totals: no price, or a different currency"))
}

/// What some rows cost together.
fn worth(rows: &[GroupRow]) -> Option<Money> {
    let costs = rows.iter().filter_map(|row| row.sums.monthly_cost);
    costs.reduce(|sum, part| Money::new(sum.amount() + part.amount(), sum.currency()))
}

fn shown_value(value: Option<&str>) -> String {
    match value {
        None => NO_VALUE.to_owned(),
        Some("") => "\"\"".to_owned(),
        Some(value) => fit(value, VALUE_WIDTH),
    }
}

/// Its figures for people: GPUs, cost, the four parts of it, and savings.
pub(super) fn cells(sums: &GroupSums) -> Vec<String> {
    vec![
        count(sums.gpus),
        money_or_absent(sums.monthly_cost),
        money_or_absent(sums.useful_cost),
        money_or_absent(sums.idle_cost),
        money_or_absent(sums.unmeasured_cost),
        money_or_absent(sums.stopped_cost),
        money_or_absent(sums.monthly_savings),
    ]
}

/// The key `groups` of an audit's JSON.
#[derive(Serialize)]
pub(super) struct GroupsView {
    by: Vec<String>,
    rows: Vec<RowView>,
    total: SumsView,
}

#[derive(Serialize)]
struct RowView {
    values: BTreeMap<String, Option<String>>,
    #[serde(flatten)]
    sums: SumsView,
}

#[derive(Serialize)]
struct SumsView {
    workloads: u64,
    instances: u64,
    gpus: u64,
    unpriced_workloads: u64,
    monthly_cost: Option<f64>,
    useful_cost: Option<f64>,
    idle_cost: Option<f64>,
    unmeasured_cost: Option<f64>,
    stopped_cost: Option<f64>,
    monthly_savings: Option<f64>,
    monthly_waste: Option<f64>,
}

impl GroupsView {
    pub(super) fn of(groups: &Groups) -> Self {
        let names = names(groups);
        let row = |row: &GroupRow| RowView {
            values: names.iter().cloned().zip(row.values.clone()).collect(),
            sums: SumsView::of(&row.sums),
        };
        Self {
            rows: groups.rows.iter().map(row).collect(),
            total: SumsView::of(&groups.total),
            by: names,
        }
    }
}

impl SumsView {
    fn of(sums: &GroupSums) -> Self {
        let money = |amount: Option<Money>| amount.and_then(json_money);
        Self {
            workloads: sums.workloads,
            instances: sums.instances,
            gpus: sums.gpus,
            unpriced_workloads: sums.unpriced_workloads,
            monthly_cost: money(sums.monthly_cost),
            useful_cost: money(sums.useful_cost),
            idle_cost: money(sums.idle_cost),
            unmeasured_cost: money(sums.unmeasured_cost),
            stopped_cost: money(sums.stopped_cost),
            monthly_savings: money(sums.monthly_savings),
            monthly_waste: money(sums.monthly_waste),
        }
    }
}

/// The groups as comma-separated values: a header, then one row a group, without
/// a total, so that a spreadsheet can sum them. The name of a tag is a header too
/// and is escaped as text is.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn groups_csv(groups: &Groups, currency: Currency) -> Result<String, csv::Error> {
    let figures = [
        "workloads",
        "instances",
        "gpus",
        "unpriced_workloads",
        "currency",
        "monthly_cost",
        "useful_cost",
        "idle_cost",
        "unmeasured_cost",
        "stopped_cost",
        "monthly_savings",
        "monthly_waste",
    ];
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = names(groups);
    let names = names.iter().map(|name| spreadsheet_safe(name));
    writer.write_record(names.chain(figures.map(str::to_owned)))?;
    for row in &groups.rows {
        let values = row.values.iter().map(|value| match value {
            None => NO_VALUE.to_owned(),
            Some(value) => spreadsheet_safe(value),
        });
        let sums = &row.sums;
        let counts = [
            sums.workloads,
            sums.instances,
            sums.gpus,
            sums.unpriced_workloads,
        ];
        let amounts = [
            sums.monthly_cost,
            sums.useful_cost,
            sums.idle_cost,
            sums.unmeasured_cost,
            sums.stopped_cost,
            sums.monthly_savings,
            sums.monthly_waste,
        ];
        let amounts = amounts
            .map(|amount| amount.map_or(String::new(), |amount| rounded(amount.amount(), 2)));
        let cells = values
            .chain(counts.map(|number| number.to_string()))
            .chain([currency.code().to_owned()])
            .chain(amounts);
        writer.write_record(cells)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
