//! `gpucost metrics` for programs: JSON.

use super::instances;
use crate::analysis::Audit;
use crate::domain::{GpuUsage, InstanceUsage, UtilizationSummary, Workload};
use crate::report::SCHEMA_VERSION;
use crate::report::shared::gaps::GapView;
use crate::report::shared::text::{json_document, json_figure};
use serde::Serialize;

#[derive(Serialize)]
struct Document {
    schema_version: &'static str,
    as_of: String,
    window_start: String,
    window_end: String,
    period_seconds: u32,
    instances: Vec<InstanceView>,
    gaps: Vec<GapView>,
}

#[derive(Serialize)]
struct InstanceView {
    instance: String,
    workload: String,
    region: String,
    instance_type: String,
    signal: Option<&'static str>,
    source: Option<&'static str>,
    joined_by_hostname: bool,
    mean: Option<f64>,
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
    idle_share: Option<f64>,
    n_samples: u64,
    expected_samples: Option<u64>,
    coverage: Option<f64>,
    resolution_seconds: Option<u32>,
    dropped_points: u64,
    gpus: Vec<GpuView>,
}

#[derive(Serialize)]
struct GpuView {
    index: u16,
    mean: Option<f64>,
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
    n_samples: u64,
    vram_peak_mib: Option<f64>,
    vram_p95_mib: Option<f64>,
    vram_total_mib: Option<f64>,
    power_mean_w: Option<f64>,
    temperature_max_c: Option<f64>,
}

/// Metrics as a JSON document.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn metrics_json(audit: &Audit, period_seconds: u32) -> Result<String, serde_json::Error> {
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        as_of: audit.as_of.to_string(),
        window_start: audit.window.start.to_string(),
        window_end: audit.window.end.to_string(),
        period_seconds,
        instances: instances(audit)
            .map(|(workload, usage)| instance_view(workload, usage))
            .collect(),
        gaps: GapView::list(&audit.gaps),
    })
}

fn instance_view(workload: &Workload, usage: &InstanceUsage) -> InstanceView {
    let summary = usage.summary.as_ref();
    let figure =
        |pick: fn(&UtilizationSummary) -> f64| summary.map(|summary| json_figure(pick(summary)));
    InstanceView {
        instance: usage.instance.to_string(),
        workload: workload.id(),
        region: workload.key.region.clone(),
        instance_type: workload.key.instance_type.clone(),
        signal: usage.signal.map(|(signal, _)| signal.name()),
        source: usage.signal.map(|(_, source)| source.name()),
        joined_by_hostname: usage.joined_by_hostname,
        mean: figure(|summary| summary.distribution.mean),
        p50: figure(|summary| summary.distribution.p50),
        p95: figure(|summary| summary.distribution.p95),
        p99: figure(|summary| summary.distribution.p99),
        max: figure(|summary| summary.max),
        idle_share: summary
            .and_then(|summary| summary.idle_share)
            .map(json_figure),
        n_samples: summary.map_or(0, |summary| summary.n_samples),
        expected_samples: summary.map(|summary| summary.expected_samples),
        coverage: figure(UtilizationSummary::coverage),
        resolution_seconds: summary.map(|summary| summary.period_seconds),
        dropped_points: usage.rejected.total(),
        gpus: usage.gpus.iter().map(gpu_view).collect(),
    }
}

fn gpu_view(gpu: &GpuUsage) -> GpuView {
    let figures = gpu.utilization;
    GpuView {
        index: gpu.index,
        mean: figures.map(|figures| json_figure(figures.mean)),
        p50: figures.map(|figures| json_figure(figures.p50)),
        p95: figures.map(|figures| json_figure(figures.p95)),
        p99: figures.map(|figures| json_figure(figures.p99)),
        max: figures.map(|figures| json_figure(figures.max)),
        n_samples: gpu.samples.count,
        vram_peak_mib: gpu.vram.map(|vram| json_figure(vram.peak_mib)),
        vram_p95_mib: gpu.vram.and_then(|vram| vram.p95_mib).map(json_figure),
        vram_total_mib: gpu.vram.and_then(|vram| vram.total_mib).map(json_figure),
        power_mean_w: gpu.power.map(|power| json_figure(power.mean_w)),
        temperature_max_c: gpu.temperature_max_c.map(json_figure),
    }
}
