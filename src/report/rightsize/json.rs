//! `gpucost rightsize` for programs: JSON.

use super::Sizings;
use crate::analysis::{Candidate, Sizing};
use crate::domain::GpuOffer;
use crate::report::SCHEMA_VERSION;
use crate::report::shared::gaps::GapView;
use crate::report::shared::text::{json_document, json_figure, json_money, json_rate};
use crate::savings::Demand;
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;

#[derive(Serialize)]
struct Document {
    schema_version: &'static str,
    risk: &'static str,
    workloads: Vec<WorkloadView>,
    gaps: Vec<GapView>,
}

#[derive(Serialize)]
pub(super) struct WorkloadView {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) region: String,
    pub(super) instance_type: String,
    pub(super) instances: u32,
    pub(super) kind: &'static str,
    pub(super) currency: Option<&'static str>,
    pub(super) monthly_cost: Option<f64>,
    pub(super) left_alone: Option<String>,
    demand: Option<DemandView>,
    pub(super) candidates: Vec<CandidateView>,
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
pub(super) struct GpuView {
    pub(super) model: String,
    pub(super) count: Option<f64>,
    pub(super) vram_mib: Option<u64>,
}

#[derive(Serialize)]
pub(in crate::report) struct CandidateView {
    pub(super) instance_type: String,
    pub(super) count: u32,
    pub(super) accepted: bool,
    pub(super) rejected_for: Option<&'static str>,
    pub(super) reason: Option<String>,
    pub(super) gpu: Option<GpuView>,
    vcpu: u32,
    memory_mib: u64,
    spread: &'static str,
    pub(super) projected_p95: Option<f64>,
    pub(super) slowdown: Option<f64>,
    ratio: Option<f64>,
    ratio_basis: Option<&'static str>,
    pub(super) hourly_cost: Option<f64>,
    pub(super) monthly_cost: Option<f64>,
    pub(super) monthly_savings: Option<f64>,
    pub(super) risk: &'static str,
    pub(super) caveats: Vec<String>,
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

pub(super) fn workload(sizing: &Sizing) -> WorkloadView {
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

pub(in crate::report) fn candidate_view(candidate: &Candidate) -> CandidateView {
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
        spread: found.spread.name(),
        projected_p95: projection.map(|found| json_figure(found.utilization)),
        slowdown: projection.map(|found| json_figure(found.slowdown)),
        ratio: projection.map(|found| json_figure(found.ratio.value)),
        ratio_basis: projection.map(|found| found.ratio.basis.name()),
        hourly_cost: found.hourly.and_then(json_rate),
        monthly_cost: found.monthly.and_then(json_money),
        monthly_savings: candidate.monthly_savings.and_then(json_money),
        risk: found.risk.name(),
        caveats: candidate.caveats.clone(),
        steps: candidate.steps.clone(),
    }
}
