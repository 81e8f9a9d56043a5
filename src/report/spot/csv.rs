//! `gpucost spot` as comma-separated values.

use super::json::view;
use crate::analysis::{SpotAssessment, SpotReport};
use crate::report::shared::csv::{document, of_json};

/// Spot for one type as CSV: one row. Prices by zone are in the JSON only.
///
/// # Errors
/// When the row cannot be written.
pub fn spot_type_csv(found: &SpotAssessment) -> Result<String, csv::Error> {
    rows(std::iter::once(found))
}

/// Spot for a fleet as CSV: one row a workload. Prices by zone are in the JSON
/// only.
///
/// # Errors
/// When a row cannot be written.
pub fn spot_fleet_csv(report: &SpotReport) -> Result<String, csv::Error> {
    rows(report.assessments.iter())
}

fn rows<'a>(found: impl Iterator<Item = &'a SpotAssessment>) -> Result<String, csv::Error> {
    let rows: Vec<_> = found.map(csv_row).collect::<Result<_, _>>()?;
    document(CSV_HEADER, rows)
}

const CSV_HEADER: &[&str] = &[
    "id",
    "name",
    "account",
    "purchase_option",
    "monthly_cost",
    "region",
    "instance_type",
    "instances",
    "operating_system",
    "kind",
    "restartable",
    "nodes",
    "currency",
    "on_demand_hourly",
    "on_demand_date",
    "spot_hourly",
    "spot_basis",
    "spot_date",
    "interruption_band",
    "interruption_band_date",
    "band_interruptions_per_node_hour",
    "interruptions_per_hour",
    "interruptions_basis",
    "checkpoint_cost_seconds",
    "restart_cost_seconds",
    "checkpoint_interval_seconds",
    "checkpoint_interval_basis",
    "lost_seconds_per_interruption",
    "checkpoint_share_percent",
    "overhead_percent",
    "effective_hourly",
    "naive_savings_percent",
    "effective_savings_percent",
    "naive_monthly_savings",
    "effective_monthly_savings",
    "break_even_interruptions_per_hour",
    "eligible",
    "reason",
    "risk",
    "caveats",
];

/// The cells of a row, under the names that the JSON has.
fn csv_row(found: &SpotAssessment) -> Result<Vec<String>, csv::Error> {
    let view = serde_json::to_value(view(found)).map_err(std::io::Error::from)?;
    let cells = CSV_HEADER.iter().map(|name| of_json(&view[*name]));
    Ok(cells.collect())
}
