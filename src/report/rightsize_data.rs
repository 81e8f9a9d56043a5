//! `gpucost rightsize` for programs: JSON and CSV.

use super::SCHEMA_VERSION;
use super::gaps::GapView;
use super::text::{json_document, json_figure, json_money, json_rate, spreadsheet_safe};
use crate::analysis::{Candidate, Sizing};
use crate::domain::{Gap, GpuOffer, Risk};
use crate::savings::Demand;
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;

/// Workloads with every type that they could move to.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizings {
    /// The accepted risk.
    pub accepted: Risk,
    /// The workloads, in order of the audit.
    pub workloads: Vec<Sizing>,
    /// What could not be seen.
    pub gaps: Vec<Gap>,
}

#[derive(Serialize)]
struct Document {
    schema_version: &'static str,
    risk: &'static str,
    workloads: Vec<WorkloadView>,
    gaps: Vec<GapView>,
}

#[derive(Serialize)]
struct WorkloadView {
    id: String,
    name: String,
    region: String,
    instance_type: String,
    instances: u32,
    kind: &'static str,
    currency: Option<&'static str>,
    monthly_cost: Option<f64>,
    left_alone: Option<String>,
    demand: Option<DemandView>,
    candidates: Vec<CandidateView>,
}

#[derive(Serialize)]
struct DemandView {
    gpus_active: u16,
    gpus_held: u16,
    gpu_peak: Option<f64>,
    vram_peak_mib: f64,
    cpu_p95: Option<f64>,
    memory_p95_mib: Option<f64>,
    bound: &'static str,
    least_instances: u32,
}

#[derive(Serialize)]
struct GpuView {
    model: String,
    count: Option<f64>,
    vram_mib: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct CandidateView {
    instance_type: String,
    count: u32,
    accepted: bool,
    rejected_for: Option<&'static str>,
    reason: Option<String>,
    gpu: Option<GpuView>,
    vcpu: u32,
    memory_mib: u64,
    projected_p95: Option<f64>,
    slowdown: Option<f64>,
    ratio: Option<f64>,
    ratio_basis: Option<&'static str>,
    hourly_cost: Option<f64>,
    monthly_cost: Option<f64>,
    monthly_savings: Option<f64>,
    risk: &'static str,
    steps: Vec<String>,
}

/// The sizing as JSON.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn rightsize_json(sizings: &Sizings) -> Result<String, serde_json::Error> {
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        risk: sizings.accepted.name(),
        workloads: sizings.workloads.iter().map(workload).collect(),
        gaps: GapView::list(&sizings.gaps),
    })
}

fn workload(sizing: &Sizing) -> WorkloadView {
    let sized = sizing.outcome.as_ref();
    WorkloadView {
        id: sizing.id.clone(),
        name: sizing.name.clone(),
        region: sizing.region.clone(),
        instance_type: sizing.instance_type.clone(),
        instances: sizing.instances,
        kind: sizing.kind.name(),
        currency: sizing.monthly.map(|monthly| monthly.currency().code()),
        monthly_cost: sizing.monthly.and_then(json_money),
        left_alone: sized.err().cloned(),
        demand: sized.ok().map(|sized| demand(&sized.demand)),
        candidates: sized.map_or_else(
            |_| Vec::new(),
            |sized| sized.candidates.iter().map(candidate_view).collect(),
        ),
    }
}

fn demand(demand: &Demand) -> DemandView {
    DemandView {
        gpus_active: demand.gpus_active,
        gpus_held: demand.gpus_held,
        gpu_peak: demand.gpu_peak.map(json_figure),
        vram_peak_mib: json_figure(demand.vram_peak_mib),
        cpu_p95: demand.cpu_p95.map(json_figure),
        memory_p95_mib: demand.memory_p95_mib.map(json_figure),
        bound: demand.bound.name(),
        least_instances: demand.least_instances,
    }
}

fn gpu(offer: &GpuOffer) -> GpuView {
    GpuView {
        model: offer.model.name().to_owned(),
        count: offer.share.count().to_f64(),
        vram_mib: offer.vram_mib,
    }
}

pub(super) fn candidate_view(candidate: &Candidate) -> CandidateView {
    let found = &candidate.considered;
    let projection = found.projection;
    CandidateView {
        instance_type: found.shape.instance_type.clone(),
        count: found.count,
        accepted: found.is_accepted(),
        rejected_for: found.rejection.as_ref().map(|reason| reason.name()),
        reason: found.rejection.as_ref().map(ToString::to_string),
        gpu: found.shape.gpu.as_ref().map(gpu),
        vcpu: found.shape.vcpu,
        memory_mib: found.shape.memory_mib,
        projected_p95: projection.map(|found| json_figure(found.utilization)),
        slowdown: projection.map(|found| json_figure(found.slowdown)),
        ratio: projection.map(|found| json_figure(found.ratio.value)),
        ratio_basis: projection.map(|found| found.ratio.basis.name()),
        hourly_cost: found.hourly.and_then(json_rate),
        monthly_cost: found.monthly.and_then(json_money),
        monthly_savings: candidate.monthly_savings.and_then(json_money),
        risk: found.risk.name(),
        steps: candidate.steps.clone(),
    }
}

const CSV_HEADER: [&str; 22] = [
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
];

/// The sizing as comma-separated values: a row for each type that was evaluated,
/// and one for each workload that was left alone, with the reason.
///
/// # Errors
/// When a value cannot be written as CSV.
pub fn rightsize_csv(sizings: &Sizings) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(CSV_HEADER)?;
    for sizing in &sizings.workloads {
        let view = workload(sizing);
        if view.candidates.is_empty() {
            let mut row = of_workload(&view);
            row.resize(CSV_HEADER.len(), String::new());
            row[12] = spreadsheet_safe(view.left_alone.as_deref().unwrap_or_default());
            writer.write_record(row)?;
        }
        for candidate in &view.candidates {
            let mut row = of_workload(&view);
            row.extend(of_candidate(candidate));
            writer.write_record(row)?;
        }
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn cell(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
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
        // A number may be negative: it is no formula.
        cell(view.monthly_savings),
        view.risk.to_owned(),
    ]
}
