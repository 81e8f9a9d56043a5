//! `--group-by` for programs: the key `groups` of an audit's JSON.

use super::names;
use crate::analysis::{GroupRow, GroupSums, Groups};
use crate::domain::Money;
use crate::report::shared::text::json_money;
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

impl GroupsView {
    pub(in crate::report) fn of(groups: &Groups) -> Self {
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
