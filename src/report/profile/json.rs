//! A run for programs: `gpucost profile --format json`.

use super::ProfileReport;
use super::spot::{SpotView, spot_view};
use super::words::{gpu_recommendation, recommendation};
use super::work::{WorkView, work_view};
use crate::analysis::RunCost;
use crate::domain::{Confidence, Verdict};
use crate::profiling::{
    ActivityFigures, Alert, Diagnosis, GpuProfile, HostProfile, Phase, PowerFigures, RunProfile,
};
use crate::report::SCHEMA_VERSION;
use crate::report::doc::Object;
use crate::report::rightsize::candidate_object;
use crate::report::shared::gaps::GapView;
use crate::report::shared::text::{json_document, json_figure, json_money, json_rate};
use crate::usage::{Figures, Range};
use serde::Serialize;

const JOULES_PER_KWH: f64 = 3_600_000.0;
const MIB_PER_GIB: f64 = 1_024.0;

#[derive(Serialize)]
struct Document {
    schema_version: &'static str,
    gpucost_version: &'static str,
    started: String,
    elapsed_seconds: f64,
    exit_code: Option<i32>,
    hostname: Option<String>,
    instance_id: Option<String>,
    instance_type: Option<String>,
    region: Option<String>,
    driver_version: Option<String>,
    samples: SampleCountsView,
    #[serde(flatten)]
    used: UsedView,
    gpus_total: usize,
    gpus_used: Option<usize>,
    coverage: f64,
    host: HostView,
    phases: Vec<PhaseView>,
    alerts: Vec<AlertView>,
    cost: Option<CostView>,
    spot: Option<SpotView>,
    work: Option<WorkView>,
    energy_kwh: Option<f64>,
    gpus: Vec<GpuView>,
    gaps: Vec<GapView>,
}

#[derive(Serialize)]
struct SampleCountsView {
    interval_seconds: Option<f64>,
    taken: u64,
    missed: Option<u64>,
    late: Option<u64>,
    largest_delay_seconds: Option<f64>,
    wall_clock_step_seconds: f64,
}

/// The keys that the host and each GPU have in common.
#[derive(Serialize)]
struct UsedView {
    gpu_utilization_p50_pct: Option<f64>,
    gpu_utilization_p95_pct: Option<f64>,
    gpu_utilization_p99_pct: Option<f64>,
    gpu_utilization_mean_pct: Option<f64>,
    gpu_utilization_max_pct: Option<f64>,
    vram_peak_gb: Option<f64>,
    vram_p95_gb: Option<f64>,
    n_samples: u64,
    recommendation: String,
    classification: &'static str,
    confidence: Option<&'static str>,
    reason: String,
    diagnosis: DiagnosisView,
}

#[derive(Serialize)]
struct DiagnosisView {
    bottleneck: &'static str,
    tier: Option<&'static str>,
    confidence: Option<&'static str>,
    reason: String,
    evidence: Vec<SignView>,
    missing: Vec<&'static str>,
    try_next: Vec<String>,
}

#[derive(Serialize)]
struct SignView {
    figure: &'static str,
    observed: f64,
    comparator: &'static str,
    threshold: f64,
    unit: &'static str,
}

#[derive(Serialize)]
struct RangeView {
    mean: f64,
    min: f64,
    max: f64,
    n_samples: u64,
}

#[derive(Serialize)]
struct FiguresView {
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
    n_samples: u64,
}

#[derive(Serialize)]
struct HostView {
    cores: Option<u32>,
    cpu_pct: Option<FiguresView>,
    busiest_core_pct: Option<FiguresView>,
    io_wait_pct: Option<RangeView>,
    cpu_pressure_pct: Option<RangeView>,
    io_pressure_pct: Option<RangeView>,
    memory_pressure_pct: Option<RangeView>,
    memory_peak_gb: Option<f64>,
    memory_p95_gb: Option<f64>,
    memory_total_gb: Option<f64>,
    network_received_bytes_per_second: Option<RangeView>,
    network_sent_bytes_per_second: Option<RangeView>,
    disk_read_bytes_per_second: Option<RangeView>,
    disk_written_bytes_per_second: Option<RangeView>,
}

#[derive(Serialize)]
struct PhaseView {
    phase: &'static str,
    from_seconds: f64,
    to_seconds: f64,
    share: f64,
    gpu_utilization_mean_pct: Option<f64>,
    vram_gb: Option<f64>,
    host_cpu_pct: Option<f64>,
}

#[derive(Serialize)]
struct AlertView {
    alert: &'static str,
    gpu: Option<u16>,
    mig_index: Option<u16>,
    began_seconds: f64,
    ended_seconds: Option<f64>,
    episodes: u64,
    total_seconds: f64,
    worst: f64,
    threshold: Option<f64>,
    unit: &'static str,
}

#[derive(Serialize)]
struct CostView {
    currency: &'static str,
    instance_type: String,
    region: String,
    purchase_option: String,
    hourly_cost: Option<f64>,
    monthly_cost: Option<f64>,
    price_origin: &'static str,
    effective_date: Option<String>,
    run_cost: Option<f64>,
    cost_per_useful_gpu_hour: Option<f64>,
    accepted_risk: &'static str,
    left_alone: Option<String>,
    candidates: Vec<Object>,
}

#[derive(Serialize)]
struct GpuView {
    index: u16,
    mig_index: Option<u16>,
    mig_profile: Option<String>,
    uuid: Option<String>,
    name: Option<String>,
    is_used: Option<bool>,
    #[serde(flatten)]
    used: UsedView,
    vram_total_gb: Option<f64>,
    memory_utilization_pct: Option<RangeView>,
    power: Option<PowerView>,
    temperature_c: Option<RangeView>,
    sm_clock_mhz: Option<RangeView>,
    memory_clock_mhz: Option<RangeView>,
    pcie_sent_bytes_per_second: Option<RangeView>,
    pcie_received_bytes_per_second: Option<RangeView>,
    encoder_pct: Option<RangeView>,
    decoder_pct: Option<RangeView>,
    activity: ActivityView,
    throttle: Option<Vec<ThrottleView>>,
    processes: Option<Vec<ProcessView>>,
    has_more_processes: bool,
    xids: Vec<XidView>,
    xid_count: u64,
    lost: Option<LostView>,
}

#[derive(Serialize)]
struct PowerView {
    mean_w: f64,
    max_w: Option<f64>,
    mean_pct_of_limit: Option<f64>,
    energy_kwh: Option<f64>,
    basis: &'static str,
}

#[derive(Serialize)]
struct ActivityView {
    graphics_pct: Option<RangeView>,
    sm_pct: Option<RangeView>,
    occupancy_pct: Option<RangeView>,
    tensor_pct: Option<RangeView>,
    dram_pct: Option<RangeView>,
    nvlink_sent_bytes_per_second: Option<RangeView>,
    nvlink_received_bytes_per_second: Option<RangeView>,
}

#[derive(Serialize)]
struct ThrottleView {
    reason: String,
    seconds: f64,
}

#[derive(Serialize)]
struct ProcessView {
    pid: u32,
    name: Option<String>,
    vram_peak_mib: Option<u64>,
    is_of_command: bool,
}

#[derive(Serialize)]
struct XidView {
    at_seconds: f64,
    xid: u64,
}

#[derive(Serialize)]
struct LostView {
    at_seconds: f64,
    reason: String,
    samples: u64,
    is_back: bool,
}

/// A run as JSON.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn profile_json(report: &ProfileReport) -> Result<String, serde_json::Error> {
    let profile = &report.profile;
    let facts = &profile.facts;
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        gpucost_version: env!("CARGO_PKG_VERSION"),
        started: facts.started.to_string(),
        elapsed_seconds: json_figure(profile.end.elapsed_seconds),
        exit_code: profile.end.exit_code,
        hostname: facts.hostname.clone(),
        instance_id: facts.instance_id.clone(),
        instance_type: facts.instance_type.clone(),
        region: facts.region.clone(),
        driver_version: facts.driver_version.clone(),
        samples: samples(profile),
        used: of_host(report),
        gpus_total: profile.gpu_count(),
        gpus_used: profile.gpus_used(),
        coverage: json_figure(profile.coverage),
        host: host(&profile.host),
        phases: profile.phases.iter().map(phase).collect(),
        alerts: profile
            .alerts
            .iter()
            .map(|one| alert(one, profile))
            .collect(),
        cost: report.cost.as_ref().map(|found| cost(found, report)),
        spot: spot_view(report),
        work: report.work.as_ref().map(work_view),
        energy_kwh: profile
            .energy_j()
            .map(|joules| (joules / JOULES_PER_KWH * 1e6).round() / 1e6),
        gpus: profile.gpus.iter().map(gpu).collect(),
        gaps: GapView::list(&report.gaps),
    })
}

fn samples(profile: &RunProfile) -> SampleCountsView {
    let pace = profile.pace;
    // A log of another program does not say when each of its samples was due.
    let is_paced = profile.facts.interval_seconds.is_some();
    SampleCountsView {
        interval_seconds: profile.facts.interval_seconds,
        taken: profile.samples,
        missed: pace.missed,
        late: is_paced.then_some(pace.late),
        largest_delay_seconds: is_paced.then(|| json_figure(pace.largest_delay_seconds)),
        wall_clock_step_seconds: json_figure(pace.wall_clock_step_seconds),
    }
}

fn of_host(report: &ProfileReport) -> UsedView {
    let profile = &report.profile;
    let memory = || profile.gpus.iter().filter_map(|gpu| gpu.vram_used_mib);
    let peak = memory().map(|figures| figures.max).reduce(f64::max);
    let p95 = memory().map(|figures| figures.p95).reduce(f64::max);
    used(
        profile.utilization,
        (peak, p95),
        recommendation(report),
        &profile.verdict,
        &profile.diagnosis,
    )
}

/// The common keys; memory is peak and p95 in MiB.
fn used(
    utilization: Option<Figures>,
    memory: (Option<f64>, Option<f64>),
    recommendation: String,
    verdict: &Verdict,
    diagnosis: &Diagnosis,
) -> UsedView {
    let of = |pick: fn(Figures) -> f64| utilization.map(pick).map(json_figure);
    UsedView {
        gpu_utilization_p50_pct: of(|figures| figures.p50),
        gpu_utilization_p95_pct: of(|figures| figures.p95),
        gpu_utilization_p99_pct: of(|figures| figures.p99),
        gpu_utilization_mean_pct: of(|figures| figures.mean),
        gpu_utilization_max_pct: of(|figures| figures.max),
        vram_peak_gb: memory.0.map(gib),
        vram_p95_gb: memory.1.map(gib),
        n_samples: utilization.map_or(0, |figures| figures.n_samples),
        recommendation,
        classification: verdict.classification.name(),
        confidence: verdict.confidence.map(Confidence::name),
        reason: verdict.reason.clone(),
        diagnosis: diagnosed(diagnosis),
    }
}

fn gib(mib: f64) -> f64 {
    json_figure(mib / MIB_PER_GIB)
}

fn diagnosed(diagnosis: &Diagnosis) -> DiagnosisView {
    DiagnosisView {
        bottleneck: diagnosis.bottleneck.name(),
        tier: diagnosis.tier.map(|tier| tier.name()),
        confidence: diagnosis.confidence.map(Confidence::name),
        reason: diagnosis.reason.clone(),
        evidence: diagnosis
            .evidence
            .iter()
            .map(|sign| SignView {
                figure: sign.figure,
                observed: json_figure(sign.observed),
                comparator: sign.comparator.name(),
                threshold: json_figure(sign.threshold),
                unit: sign.unit,
            })
            .collect(),
        missing: diagnosis.missing.clone(),
        try_next: diagnosis.advice.clone(),
    }
}

fn range(range: Option<Range>) -> Option<RangeView> {
    range.map(|range| RangeView {
        mean: json_figure(range.mean),
        min: json_figure(range.min),
        max: json_figure(range.max),
        n_samples: range.n_samples,
    })
}

fn figures(figures: Option<Figures>) -> Option<FiguresView> {
    figures.map(|figures| FiguresView {
        mean: json_figure(figures.mean),
        p50: json_figure(figures.p50),
        p95: json_figure(figures.p95),
        p99: json_figure(figures.p99),
        max: json_figure(figures.max),
        n_samples: figures.n_samples,
    })
}

fn host(host: &HostProfile) -> HostView {
    HostView {
        cores: host.cores,
        cpu_pct: figures(host.cpu_percent),
        busiest_core_pct: figures(host.busiest_core_percent),
        io_wait_pct: range(host.io_wait_percent),
        cpu_pressure_pct: range(host.cpu_pressure_percent),
        io_pressure_pct: range(host.io_pressure_percent),
        memory_pressure_pct: range(host.memory_pressure_percent),
        memory_peak_gb: host.memory_used_mib.map(|figures| gib(figures.max)),
        memory_p95_gb: host.memory_used_mib.map(|figures| gib(figures.p95)),
        memory_total_gb: host.memory_total_mib.map(gib),
        network_received_bytes_per_second: range(host.network_received_bytes_per_second),
        network_sent_bytes_per_second: range(host.network_sent_bytes_per_second),
        disk_read_bytes_per_second: range(host.disk_read_bytes_per_second),
        disk_written_bytes_per_second: range(host.disk_written_bytes_per_second),
    }
}

fn phase(phase: &Phase) -> PhaseView {
    PhaseView {
        phase: phase.kind.name(),
        from_seconds: json_figure(phase.from_seconds),
        to_seconds: json_figure(phase.to_seconds),
        share: json_figure(phase.share),
        gpu_utilization_mean_pct: phase.utilization_percent.map(json_figure),
        vram_gb: phase.vram_mib.map(gib),
        host_cpu_pct: phase.host_cpu_percent.map(json_figure),
    }
}

fn alert(alert: &Alert, profile: &RunProfile) -> AlertView {
    let gpu = alert.gpu.and_then(|place| profile.gpus.get(place));
    AlertView {
        alert: alert.kind.name(),
        gpu: gpu.map(|gpu| gpu.identity.index),
        mig_index: gpu.and_then(|gpu| Some(gpu.identity.mig.as_ref()?.index)),
        began_seconds: json_figure(alert.began_seconds),
        ended_seconds: alert.ended_seconds.map(json_figure),
        episodes: alert.episodes,
        total_seconds: json_figure(alert.total_seconds),
        worst: json_figure(alert.worst),
        threshold: alert.kind.threshold(),
        unit: alert.kind.unit(),
    }
}

fn cost(cost: &RunCost, report: &ProfileReport) -> CostView {
    let price = cost.today.instances.first();
    let sized = cost.sizing.as_ref();
    CostView {
        currency: cost.today.hourly.currency().code(),
        instance_type: cost.shape.instance_type.clone(),
        region: cost.region.clone(),
        purchase_option: price.map_or_else(String::new, |one| one.key.option.to_string()),
        hourly_cost: json_rate(cost.today.hourly.amount()),
        monthly_cost: json_money(cost.today.compute_monthly),
        price_origin: price.map_or("", |one| one.quote.origin.name()),
        effective_date: price.map(|one| one.quote.effective_date.to_string()),
        run_cost: cost.run.and_then(json_money),
        cost_per_useful_gpu_hour: cost
            .useful_gpu_hour
            .and_then(|rate| json_rate(rate.amount())),
        accepted_risk: report.accepted.name(),
        left_alone: sized.err().cloned(),
        candidates: sized.map_or_else(
            |_| Vec::new(),
            |sized| sized.accepted().map(candidate_object).collect(),
        ),
    }
}

fn gpu(gpu: &GpuProfile) -> GpuView {
    let mig = gpu.identity.mig.as_ref();
    let memory = gpu.vram_used_mib;
    GpuView {
        index: gpu.identity.index,
        mig_index: mig.map(|slot| slot.index),
        mig_profile: mig.and_then(|slot| slot.profile.clone()),
        uuid: gpu.identity.uuid.clone(),
        name: gpu.identity.name.clone(),
        is_used: gpu.is_used,
        used: used(
            gpu.utilization,
            (
                memory.map(|figures| figures.max),
                memory.map(|figures| figures.p95),
            ),
            gpu_recommendation(gpu),
            &gpu.verdict,
            &gpu.diagnosis,
        ),
        vram_total_gb: gpu.vram_total_mib.map(gib),
        memory_utilization_pct: range(gpu.memory_utilization_percent),
        power: gpu.power.as_ref().map(power),
        temperature_c: range(gpu.temperature_c),
        sm_clock_mhz: range(gpu.sm_clock_mhz),
        memory_clock_mhz: range(gpu.memory_clock_mhz),
        pcie_sent_bytes_per_second: range(gpu.pcie_sent_bytes_per_second),
        pcie_received_bytes_per_second: range(gpu.pcie_received_bytes_per_second),
        encoder_pct: range(gpu.encoder_percent),
        decoder_pct: range(gpu.decoder_percent),
        activity: activity(&gpu.activity),
        throttle: gpu.throttle.as_ref().map(|reasons| {
            let words = |reason: &crate::profiling::ThrottleTime| ThrottleView {
                reason: reason.reason.names().join(", "),
                seconds: json_figure(reason.seconds),
            };
            reasons.iter().map(words).collect()
        }),
        processes: gpu.processes.as_ref().map(|processes| {
            let seen = |process: &crate::profiling::ProcessSeen| ProcessView {
                pid: process.pid,
                name: process.name.clone(),
                vram_peak_mib: process.vram_peak_mib,
                is_of_command: process.is_of_command,
            };
            processes.iter().map(seen).collect()
        }),
        has_more_processes: gpu.has_more_processes,
        xids: gpu
            .xids
            .iter()
            .map(|event| XidView {
                at_seconds: json_figure(event.at_seconds),
                xid: event.xid,
            })
            .collect(),
        xid_count: gpu.xid_count,
        lost: gpu.lost.as_ref().map(|lost| LostView {
            at_seconds: json_figure(lost.at_seconds),
            reason: lost.reason.clone(),
            samples: lost.samples,
            is_back: lost.is_back,
        }),
    }
}

fn power(power: &PowerFigures) -> PowerView {
    PowerView {
        mean_w: json_figure(power.mean_w),
        max_w: power.max_w.map(json_figure),
        mean_pct_of_limit: power.mean_percent.map(json_figure),
        energy_kwh: power
            .energy_j
            .map(|joules| (joules / JOULES_PER_KWH * 1e6).round() / 1e6),
        basis: power.basis.name(),
    }
}

fn activity(activity: &ActivityFigures) -> ActivityView {
    ActivityView {
        graphics_pct: range(activity.graphics_percent),
        sm_pct: range(activity.sm_percent),
        occupancy_pct: range(activity.occupancy_percent),
        tensor_pct: range(activity.tensor_percent),
        dram_pct: range(activity.dram_percent),
        nvlink_sent_bytes_per_second: range(activity.nvlink_sent_bytes_per_second),
        nvlink_received_bytes_per_second: range(activity.nvlink_received_bytes_per_second),
    }
}
