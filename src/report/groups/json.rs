//! `--group-by` for programs: the keys `groups` and `showback` of an audit's JSON.

use crate::analysis::{GroupRow, GroupSums, Groups, Showback, ShowbackRow, ShowbackSums};
use crate::domain::Money;
use crate::report::shared::text::{json_money, json_rate};
use rust_decimal::Decimal;
use serde::Serialize;
use std::collections::BTreeMap;

/// The key `groups` of an audit's JSON.
#[derive(Serialize)]
pub(in crate::report) struct GroupsView {
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

/// The key `showback` of an audit's JSON.
#[derive(Serialize)]
pub(in crate::report) struct ShowbackView {
    by: Vec<String>,
    rows: Vec<ShowbackRowView>,
    total: ShowbackSumsView,
}

#[derive(Serialize)]
struct ShowbackRowView {
    part: &'static str,
    values: BTreeMap<String, Option<String>>,
    #[serde(flatten)]
    sums: ShowbackSumsView,
}

#[derive(Serialize)]
struct ShowbackSumsView {
    pods: u64,
    gpus_requested: Option<f64>,
    gpus_used: Option<f64>,
    unpriced_nodes: u64,
    monthly_cost: Option<f64>,
    used_cost: Option<f64>,
    idle_cost: Option<f64>,
    unmeasured_cost: Option<f64>,
}

impl GroupsView {
    pub(in crate::report) fn of(groups: &Groups) -> Self {
        let names: Vec<String> = groups.keys.iter().map(ToString::to_string).collect();
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

impl ShowbackView {
    pub(in crate::report) fn of(showback: &Showback) -> Self {
        let names: Vec<String> = showback.keys.iter().map(ToString::to_string).collect();
        let row = |row: &ShowbackRow| ShowbackRowView {
            part: row.part.name(),
            values: names.iter().cloned().zip(row.values.clone()).collect(),
            sums: ShowbackSumsView::of(&row.sums),
        };
        Self {
            rows: showback.rows.iter().map(row).collect(),
            total: ShowbackSumsView::of(&showback.total),
            by: names,
        }
    }
}

impl ShowbackSumsView {
    fn of(sums: &ShowbackSums) -> Self {
        let devices = |gpus: Option<Decimal>| gpus.and_then(json_rate);
        Self {
            pods: sums.pods,
            gpus_requested: devices(sums.gpus_requested),
            gpus_used: devices(sums.gpus_used),
            unpriced_nodes: sums.unpriced_nodes,
            monthly_cost: money(sums.monthly_cost),
            used_cost: money(sums.used_cost),
            idle_cost: money(sums.idle_cost),
            unmeasured_cost: money(sums.unmeasured_cost),
        }
    }
}

fn money(amount: Option<Money>) -> Option<f64> {
    amount.and_then(json_money)
}
