//! `--group-by`: a section of an audit's screens, a key of its JSON, or a CSV of its own.

use super::doc::{Column, Doc, Head, Kind, Table, Value, column, columns};
use super::shared::text::{counted, minute, spreadsheet_safe};
use crate::analysis::{
    GroupRow, GroupSums, GroupTable, Grouping, Groups, Showback, ShowbackPart, ShowbackSums,
};
use crate::domain::Currency;
use std::borrow::Cow;

/// What stands for an absent value, such as that of a tag.
const NO_VALUE: &str = "(none)";

/// The sums of what has the same value for each key.
pub(in crate::report) struct Line<'a, S> {
    names: &'a [String],
    values: &'a [Option<String>],
    part: Option<ShowbackPart>,
    sums: &'a S,
    currency: &'static str,
}

columns! {
    /// The key `groups` of an audit.
    pub(in crate::report) fn groups<'a>(by: &'a Groups) {
        texts "by", "", Json, by.keys.clone(), "";
        rows[group_rows] "rows", "", Json, lines(by, |()| None, Currency::Usd), "";
        record[group_sums] "total", "", Json, total(by), "";
    }

    /// The key `showback` of an audit.
    pub(in crate::report) fn showback<'a>(by: &'a Showback) {
        texts "by", "", Json, by.keys.clone(), "";
        rows[claim_rows] "rows", "", Json, lines(by, Some, Currency::Usd), "";
        record[claim_sums] "total", "", Json, total(by), "";
    }

    fn group_sums<'a>(line: Line<'a, GroupSums>) {
        count "workloads", "", Data, line.sums.workloads, "";
        count "instances", "", Data, line.sums.instances, "";
        count "gpus", "GPUs", Narrow(3), line.sums.gpus, "Of running instances.";
        count "unpriced_workloads", "", Data, line.sums.unpriced_workloads, "No amount includes them.";
        text "currency", "", Flat, line.currency.to_owned(), "";
        opt cost "monthly_cost", "cost", Narrow(0), line.sums.monthly_cost, "The sum of the four below.";
        opt cost "useful_cost", "useful", Narrow(0), line.sums.useful_cost, "Cost times mean GPU utilization.";
        opt cost "idle_cost", "idle", Narrow(0), line.sums.idle_cost, "The rest of what was measured.";
        opt cost "unmeasured_cost", "unmeasured", Narrow(1), line.sums.unmeasured_cost, "";
        opt cost "stopped_cost", "stopped", Narrow(2), line.sums.stopped_cost, "Volumes and addresses of stopped instances.";
        opt money "monthly_savings", "savings", Narrow(0), line.sums.monthly_savings, "";
        opt money "monthly_waste", "", Data, line.sums.monthly_waste, "What of the savings is certain.";
        opt money "planned", "planned", Spare(4), line.sums.planned_monthly_cost(), "";
    }

    fn claim_sums<'a>(line: Line<'a, ShowbackSums>) {
        count "pods", "pods", Narrow(3), line.sums.pods, "";
        opt quantity "gpus_requested", "GPUs", Narrow(2), line.sums.gpus_requested, "Physical devices.";
        opt quantity "gpus_used", "GPUs used", Narrow(1), line.sums.gpus_used, "Devices times their mean utilization.";
        count "unpriced_nodes", "", Data, line.sums.unpriced_nodes, "No amount includes them.";
        text "currency", "", Flat, line.currency.to_owned(), "";
        opt cost "monthly_cost", "cost", Narrow(0), line.sums.monthly_cost, "";
        opt cost "used_cost", "used", Narrow(0), line.sums.used_cost, "Of what pods hold, cost times mean GPU utilization.";
        opt cost "idle_cost", "idle", Narrow(0), line.sums.idle_cost, "The rest of what was measured.";
        opt cost "unmeasured_cost", "unmeasured", Narrow(0), line.sums.unmeasured_cost, "";
    }

    fn group_values<'a>(line: Line<'a, GroupSums>) {
        map[Kind::Text] "values", "", Json, pairs(line), "By key; null for what has none.";
    }

    fn claim_values<'a>(line: Line<'a, ShowbackSums>) {
        map[Kind::Text] "values", "", Json, pairs(line), "By key; null for what has none.";
        opt word[ShowbackPart::NAMES] "part", "", Data, line.part.map(ShowbackPart::name), "Which part of the cost it is.";
    }
}

fn group_rows<'a>() -> Vec<Column<Line<'a, GroupSums>>> {
    group_values().into_iter().chain(group_sums()).collect()
}

fn claim_rows<'a>() -> Vec<Column<Line<'a, ShowbackSums>>> {
    claim_values().into_iter().chain(claim_sums()).collect()
}

/// The groups as comma-separated values: without a total, so that a spreadsheet can sum them.
pub fn groups_doc(by: &Grouping, currency: Currency) -> Doc {
    Doc { tables: vec![grouped(by, currency, false)], ..Doc::default() }
}

/// The groups for a screen, below their total.
pub(in crate::report) fn groups_table(by: &Grouping) -> Table {
    let mut table = grouped(by, Currency::Usd, true);
    let (split, number, unpriced) = match by {
        Grouping::Workloads(by) => {
            let number = by.total.unpriced_workloads;
            let split = "Cost is split into useful (cost times mean GPU utilization), idle, \
                         unmeasured and stopped.";
            (split.to_owned(), number, counted(number, "workload is", "workloads are"))
        }
        Grouping::Claims(by) => {
            let number = by.total.unpriced_nodes;
            let split = format!(
                "The cost of what pods hold is split into used (cost times mean GPU utilization), \
                 idle and unmeasured, by the GPUs that pods held at {}; pods that ended before \
                 are not included.",
                minute(by.as_of)
            );
            (split, number, counted(number, "node is", "nodes are"))
        }
    };
    table.notes.push(split);
    if number > 0 {
        let why = "no price, or a different currency";
        table.notes.push(format!("{unpriced} not in the totals: {why}."));
    }
    table
}

/// A row for each group; on a screen, the total stands above them.
fn grouped(by: &Grouping, currency: Currency, is_screen: bool) -> Table {
    match by {
        Grouping::Workloads(by) => {
            let lines = lines(by, |()| None, currency);
            table(is_screen.then(|| total(by)), group_rows(), &by.keys, lines)
        }
        Grouping::Claims(by) => {
            table(is_screen.then(|| total(by)), claim_rows(), &by.keys, lines(by, Some, currency))
        }
    }
}

/// A screen has a total.
fn table<'a, S: 'a>(
    total: Option<Line<'a, S>>,
    columns: Vec<Column<Line<'a, S>>>,
    names: &[String],
    lines: impl Iterator<Item = Line<'a, S>>,
) -> Table {
    let is_screen = total.is_some();
    let lines: Vec<Line<'a, S>> = total.into_iter().chain(lines).collect();
    let mut keys: Vec<Vec<Value>> = lines.iter().map(|line| line.keys(is_screen)).collect();
    keys.iter_mut().for_each(|keys| keys.resize(names.len(), Value::text("")));
    let title = format!("COST PER MONTH BY {}", names.join(", ").to_uppercase());
    let mut table = Table::of("groups", title, ("group", "groups"), columns, lines);
    for (row, keys) in table.rows.iter_mut().zip(keys) {
        row.splice(0..0, keys);
    }
    let heads = names.iter().map(|name| Head {
        path: Cow::Owned(format!("|{}", spreadsheet_safe(name))),
        title: Cow::Owned(name.clone()),
        kind: Kind::Text,
        is_optional: false,
        ..column("", "")
    });
    table.columns.splice(0..0, heads);
    table.summed = &["monthly_cost"];
    table
}

impl<S> Line<'_, S> {
    /// The value of each key; the part of the cost stands where one is absent, and on a screen
    /// else beside the last one.
    fn keys(&self, is_screen: bool) -> Vec<Value> {
        if self.values.is_empty() {
            return vec![Value::text("total")];
        }
        let part = self.part.and_then(part_name);
        let is_said = self.values.contains(&None);
        let last = self.values.len() - 1;
        let key = |(place, value): (usize, &Option<String>)| match value.as_deref() {
            None => Value::text(part.unwrap_or(NO_VALUE)),
            Some(value) if !is_screen => Value::text(value),
            Some(value) => {
                let value = if value.is_empty() { "\"\"" } else { value };
                match part.filter(|_| place == last && !is_said) {
                    Some(part) => Value::text(format!("{value} {part}")),
                    None => Value::text(value),
                }
            }
        };
        self.values.iter().enumerate().map(key).collect()
    }
}

/// Values by the names of their keys.
fn pairs<S>(line: &Line<'_, S>) -> Vec<(String, Value)> {
    line.names.iter().cloned().zip(line.values.iter().cloned().map(Value::make_text)).collect()
}

fn lines<'a, P: Copy, S>(
    by: &'a GroupTable<P, S>,
    part: fn(P) -> Option<ShowbackPart>,
    currency: Currency,
) -> impl Iterator<Item = Line<'a, S>> {
    let (names, currency) = (&by.keys, currency.code());
    by.rows.iter().map(move |GroupRow { part: of_row, values, sums }| Line {
        names,
        values,
        part: part(*of_row),
        sums,
        currency,
    })
}

/// A line of all rows.
fn total<P, S>(by: &GroupTable<P, S>) -> Line<'_, S> {
    Line { names: &by.keys, values: &[], part: None, sums: &by.total, currency: "" }
}

/// In own words; what pods hold needs none.
fn part_name(part: ShowbackPart) -> Option<&'static str> {
    match part {
        ShowbackPart::Requested => None,
        ShowbackPart::Unallocated => Some("(unallocated)"),
        ShowbackPart::Unknown => Some("(unknown)"),
        ShowbackPart::NotInCluster => Some("(not in a cluster)"),
    }
}
