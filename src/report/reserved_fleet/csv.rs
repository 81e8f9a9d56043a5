//! `gpucost reserved` of a fleet as comma-separated values.

use super::json::{family, reserved};
use crate::analysis::ReservedFleet;
use crate::report::shared::csv::{document, of_json};
use serde_json::Value;

/// Columns of a pool, then those of an option, under the names that JSON has.
const POOL_COLUMNS: &[&str] = &[
    "account",
    "region",
    "family",
    "instance_type",
    "operating_system",
    "tenancy",
    "currency",
    "hours",
    "peak",
    "on_demand_hourly",
    "on_demand_date",
    "on_demand_peak_hourly",
    "on_demand_mean_hourly",
    "capacity_block_hourly",
];
const OPTION_COLUMNS: &[&str] = &[
    "term_years",
    "payment",
    "planned",
    "count",
    "commitment_hourly",
    "effective_hourly",
    "upfront_total",
    "break_even_utilization",
    "break_even_month",
    "full_use_share",
    "monthly_savings",
    "committed_total",
    "downside_when_halved",
    "basis",
    "date",
    "origin",
];

/// The pools of a fleet as CSV: a row for each pool and what is sold to it, and
/// one without an offer where nothing is. What is committed to already is in the
/// JSON only.
///
/// # Errors
/// When a row cannot be written.
pub fn reserved_fleet_csv(fleet: &ReservedFleet) -> Result<String, csv::Error> {
    let mut rows = Vec::new();
    let reserved = fleet.reserved.iter().map(|pool| {
        let pool = serde_json::to_value(reserved(pool));
        ("reserved", pool)
    });
    let families = fleet.families.iter().map(|pool| {
        let pool = serde_json::to_value(family(pool));
        ("ec2-instance-savings-plan", pool)
    });
    for (offer, pool) in reserved.chain(families) {
        let pool = pool.map_err(std::io::Error::from)?;
        let sold = pool["options"].as_array().cloned().unwrap_or_default();
        let sold = if sold.is_empty() {
            vec![Value::Null]
        } else {
            sold
        };
        for option in sold {
            let mut row = vec![offer.to_owned()];
            row.extend(POOL_COLUMNS.iter().map(|name| of_json(&pool[*name])));
            row.extend(OPTION_COLUMNS.iter().map(|name| of_json(&option[*name])));
            rows.push(row);
        }
    }
    let header = ["offer"].iter().chain(POOL_COLUMNS).chain(OPTION_COLUMNS);
    document(header, rows)
}
