//! Key figures of an audit in JSON: every key, absent ones as null.

use crate::analysis::Audit;
use crate::domain::{Kpi, UnitCost};
use crate::report::shared::kpis::json_value;
use crate::report::shared::text::{currency_code, json_money, json_rate};
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use std::collections::BTreeMap;

/// The key figures by their names.
pub(super) fn kpis(audit: &Audit) -> BTreeMap<&'static str, Option<f64>> {
    let value = |kpi: Kpi| audit.kpis.get(kpi).and_then(json_value);
    Kpi::ALL
        .iter()
        .map(|kpi| (kpi.name(), value(*kpi)))
        .collect()
}

/// What units of the work of a workload or training job cost.
#[derive(Serialize)]
pub(super) struct UnitCostView {
    name: String,
    unit: String,
    count: Option<f64>,
    currency: Option<&'static str>,
    cost: Option<f64>,
    per: u32,
    cost_per_units: Option<f64>,
}

impl UnitCostView {
    /// Absent where nothing was counted.
    pub(super) fn list(audit: &Audit) -> Option<Vec<Self>> {
        let all = &audit.kpis.unit_costs;
        (!all.is_empty()).then(|| all.iter().map(Self::of).collect())
    }

    fn of(one: &UnitCost) -> Self {
        Self {
            name: one.name.clone(),
            unit: one.unit.clone(),
            count: one.count.to_f64(),
            currency: currency_code(one.cost),
            cost: one.cost.and_then(json_money),
            per: one.per(),
            cost_per_units: one.price().and_then(|price| json_rate(price.amount())),
        }
    }
}
