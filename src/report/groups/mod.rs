//! `--group-by`: a section below the audit's table, in its Markdown and on its page, a key of its
//! JSON, or a CSV of its own.

pub(super) mod markdown;
pub(super) mod sheet;
mod table;

pub use self::table::groups_section;

use crate::analysis::{GroupSums, Grouping, ShowbackPart, ShowbackSums};
use crate::domain::{Currency, Money};
use crate::report::doc::{Level, Object, Record, columns, csv_cell};
use crate::report::shared::csv::document;
use crate::report::shared::text::{devices_or_absent, spreadsheet_safe};
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use std::collections::BTreeMap;

/// What stands for an absent value, such as that of a tag, in tables and CSV.
const NO_VALUE: &str = "(none)";

columns! {
    fn group_sums(sums: GroupSums) {
        count "workloads", "", Data, sums.workloads, "";
        count "instances", "", Data, sums.instances, "";
        count "gpus", "GPUs", Narrow(0), sums.gpus, "";
        count "unpriced_workloads", "", Data, sums.unpriced_workloads, "";
        opt money "monthly_cost", "cost", Narrow(0), sums.monthly_cost, "";
        opt money "useful_cost", "useful", Narrow(0), sums.useful_cost, "";
        opt money "idle_cost", "idle", Narrow(0), sums.idle_cost, "";
        opt money "unmeasured_cost", "unmeasured", Narrow(0), sums.unmeasured_cost, "";
        opt money "stopped_cost", "stopped", Narrow(0), sums.stopped_cost, "";
        opt money "monthly_savings", "savings", Narrow(0), sums.monthly_savings, "";
        opt money "monthly_waste", "", Data, sums.monthly_waste, "";
    }
}

columns! {
    fn showback_sums(sums: ShowbackSums) {
        count "pods", "pods", Narrow(0), sums.pods, "";
        text "requested", "GPUs", Screen, devices_or_absent(sums.gpus_requested), "";
        opt millionths "gpus_requested", "", Data, sums.gpus_requested.and_then(|gpus| gpus.to_f64()), "";
        text "used", "GPUs used", Screen, devices_or_absent(sums.gpus_used), "";
        opt millionths "gpus_used", "", Data, sums.gpus_used.and_then(|gpus| gpus.to_f64()), "";
        count "unpriced_nodes", "", Data, sums.unpriced_nodes, "";
        opt money "monthly_cost", "cost", Narrow(0), sums.monthly_cost, "";
        opt money "used_cost", "used", Narrow(0), sums.used_cost, "";
        opt money "idle_cost", "idle", Narrow(0), sums.idle_cost, "";
        opt money "unmeasured_cost", "unmeasured", Narrow(0), sums.unmeasured_cost, "";
    }
}

/// Groups of either sort with their sums, most expensive first.
struct Summed<'a> {
    keys: Vec<String>,
    rows: Vec<SummedRow<'a>>,
    total: Record,
}

struct SummedRow<'a> {
    /// Absent for workloads.
    part: Option<ShowbackPart>,
    values: &'a [Option<String>],
    sums: Record,
    cost: Option<Money>,
}

impl<'a> Summed<'a> {
    fn of(by: &'a Grouping) -> Self {
        match by {
            Grouping::Workloads(groups) => Self {
                keys: groups.keys.iter().map(ToString::to_string).collect(),
                rows: groups
                    .rows
                    .iter()
                    .map(|row| SummedRow {
                        part: None,
                        values: &row.values,
                        sums: Record::of(group_sums(), &row.sums),
                        cost: row.sums.monthly_cost,
                    })
                    .collect(),
                total: Record::of(group_sums(), &groups.total),
            },
            Grouping::Claims(showback) => Self {
                keys: showback.keys.iter().map(ToString::to_string).collect(),
                rows: showback
                    .rows
                    .iter()
                    .map(|row| SummedRow {
                        part: Some(row.part),
                        values: &row.values,
                        sums: Record::of(showback_sums(), &row.sums),
                        cost: row.sums.monthly_cost,
                    })
                    .collect(),
                total: Record::of(showback_sums(), &showback.total),
            },
        }
    }
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

/// The key `groups` or `showback` of an audit's JSON.
#[derive(Serialize)]
pub(in crate::report) struct GroupingView {
    by: Vec<String>,
    rows: Vec<RowView>,
    total: Object,
}

#[derive(Serialize)]
struct RowView {
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'static str>,
    values: BTreeMap<String, Option<String>>,
    #[serde(flatten)]
    sums: Object,
}

impl GroupingView {
    pub(in crate::report) fn of(by: &Grouping) -> Self {
        let summed = Summed::of(by);
        let keys = &summed.keys;
        let rows = summed.rows.into_iter().map(|row| RowView {
            part: row.part.map(ShowbackPart::name),
            values: keys
                .iter()
                .cloned()
                .zip(row.values.iter().cloned())
                .collect(),
            sums: Object(row.sums),
        });
        Self {
            rows: rows.collect(),
            total: Object(summed.total),
            by: summed.keys,
        }
    }
}

/// The groups as comma-separated values: a header, then one row a group, without
/// a total, so that a spreadsheet can sum them. The name of a tag is a header too
/// and is escaped as text is.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn groups_csv(by: &Grouping, currency: Currency) -> Result<String, csv::Error> {
    let summed = Summed::of(by);
    let heads = summed.total.heads.iter().enumerate();
    let data: Vec<_> = heads
        .filter(|(_, head)| head.level != Level::Screen)
        .collect();
    let is_claims = matches!(by, Grouping::Claims(_));
    let mut header: Vec<String> = summed
        .keys
        .iter()
        .map(|key| spreadsheet_safe(key))
        .collect();
    header.extend(is_claims.then(|| "part".to_owned()));
    let mut figures: Vec<String> = data.iter().map(|(_, head)| head.path.to_string()).collect();
    // It stands before the amounts.
    let place = figures.iter().position(|name| name == "monthly_cost");
    let place = place.unwrap_or(figures.len());
    figures.insert(place, "currency".to_owned());
    header.extend(figures);
    let rows = summed.rows.iter().map(|row| {
        let absent = row.part.and_then(part_name).unwrap_or(NO_VALUE);
        let mut cells: Vec<String> = row
            .values
            .iter()
            .map(|value| value.as_deref().map_or(absent.to_owned(), spreadsheet_safe))
            .collect();
        cells.extend(row.part.map(|part| part.name().to_owned()));
        let figures = data
            .iter()
            .map(|(place, _)| csv_cell(&row.sums.values[*place]));
        let mut figures: Vec<String> = figures.collect();
        figures.insert(place, currency.code().to_owned());
        cells.extend(figures);
        cells
    });
    document(header, rows)
}
