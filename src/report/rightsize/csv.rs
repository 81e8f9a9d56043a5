//! `gpucost rightsize` as comma-separated values.

use super::Sizings;
use super::json::{CandidateView, WorkloadView, workload};
use crate::report::shared::csv::{cell, document};
use crate::report::shared::text::spreadsheet_safe;

const CSV_HEADER: [&str; 23] = [
    "id",
    "name",
    "region",
    "from_instance_type",
    "from_instances",
    "kind",
    "currency",
    "from_monthly_cost",
    "instance_type",
    "count",
    "accepted",
    "rejected_for",
    "reason",
    "gpu_model",
    "gpu_count",
    "gpu_vram_mib",
    "projected_p95",
    "slowdown",
    "hourly_cost",
    "monthly_cost",
    "monthly_savings",
    "risk",
    "caveats",
];

/// The sizing as comma-separated values: a row for each type that was evaluated,
/// and one for each workload that was left alone, with the reason.
///
/// # Errors
/// When a value cannot be written as CSV.
pub fn rightsize_csv(sizings: &Sizings) -> Result<String, csv::Error> {
    let mut rows = Vec::new();
    for sizing in &sizings.workloads {
        let view = workload(sizing);
        if view.candidates.is_empty() {
            let mut row = of_workload(&view);
            row.resize(CSV_HEADER.len(), String::new());
            row[12] = spreadsheet_safe(view.left_alone.as_deref().unwrap_or_default());
            rows.push(row);
        }
        for candidate in &view.candidates {
            let mut row = of_workload(&view);
            row.extend(of_candidate(candidate));
            rows.push(row);
        }
    }
    document(CSV_HEADER, rows)
}

fn of_workload(view: &WorkloadView) -> Vec<String> {
    vec![
        spreadsheet_safe(&view.id),
        spreadsheet_safe(&view.name),
        spreadsheet_safe(&view.region),
        spreadsheet_safe(&view.instance_type),
        view.instances.to_string(),
        view.kind.to_owned(),
        cell(view.currency),
        cell(view.monthly_cost),
    ]
}

fn of_candidate(view: &CandidateView) -> Vec<String> {
    let gpu = view.gpu.as_ref();
    vec![
        spreadsheet_safe(&view.instance_type),
        view.count.to_string(),
        view.accepted.to_string(),
        cell(view.rejected_for),
        spreadsheet_safe(view.reason.as_deref().unwrap_or_default()),
        gpu.map_or_else(String::new, |gpu| spreadsheet_safe(&gpu.model)),
        cell(gpu.and_then(|gpu| gpu.count)),
        cell(gpu.and_then(|gpu| gpu.vram_mib)),
        cell(view.projected_p95),
        cell(view.slowdown),
        cell(view.hourly_cost),
        cell(view.monthly_cost),
        // A number may be negative: it is not a formula.
        cell(view.monthly_savings),
        view.risk.to_owned(),
        spreadsheet_safe(&view.caveats.join("; ")),
    ]
}
