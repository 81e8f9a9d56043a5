//! `gpucost metrics`: utilization per instance and GPU with its coverage.

use super::SCHEMA_VERSION;
use super::gaps::{GapView, gap_section};
use super::next::Invocation;
use super::plain_table::PlainTable;
use super::style::TableStyle;
use super::text::{ABSENT, counted, fit, json_document, json_figure, percent, spreadsheet_safe};
use crate::analysis::Audit;
use crate::domain::{
    GpuUsage, InstanceUsage, SeriesSource, Signal, UtilizationSummary, Workload, floored,
};
use serde::Serialize;

/// Running instances with their workload, in order of the audit.
pub(super) fn instances(audit: &Audit) -> impl Iterator<Item = (&Workload, &InstanceUsage)> {
    audit
        .workloads
        .iter()
        .filter(|audited| audited.workload.key.running)
        .flat_map(|audited| {
            audited
                .workload
                .usage
                .iter()
                .map(|usage| (&audited.workload, usage))
        })
}

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
        power_mean_w: gpu.power_mean_w.map(json_figure),
        temperature_max_c: gpu.temperature_max_c.map(json_figure),
    }
}

/// Metrics as comma-separated values, one row a GPU; an instance without any
/// has one row with empty figures.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn metrics_csv(audit: &Audit) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "instance",
        "workload",
        "region",
        "instance_type",
        "signal",
        "gpu_index",
        "mean",
        "p95",
        "p99",
        "max",
        "n_samples",
        "vram_peak_mib",
        "vram_total_mib",
        "instance_coverage",
    ])?;
    let figure = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
    for (workload, usage) in instances(audit) {
        let coverage = usage.summary.as_ref().map(UtilizationSummary::coverage);
        let start = [
            spreadsheet_safe(usage.instance.as_str()),
            spreadsheet_safe(&workload.id()),
            spreadsheet_safe(&workload.key.region),
            spreadsheet_safe(&workload.key.instance_type),
            usage
                .signal
                .map_or(String::new(), |(signal, _)| signal.to_string()),
        ];
        let per_gpu: Vec<Option<&GpuUsage>> = if usage.gpus.is_empty() {
            vec![None]
        } else {
            usage.gpus.iter().map(Some).collect()
        };
        for gpu in per_gpu {
            let figures = gpu.and_then(|gpu| gpu.utilization);
            let vram = gpu.and_then(|gpu| gpu.vram);
            let rest = [
                gpu.map_or(String::new(), |gpu| gpu.index.to_string()),
                figure(figures.map(|figures| figures.mean)),
                figure(figures.map(|figures| figures.p95)),
                figure(figures.map(|figures| figures.p99)),
                figure(figures.map(|figures| figures.max)),
                gpu.map_or(String::new(), |gpu| gpu.samples.count.to_string()),
                figure(vram.map(|vram| vram.peak_mib)),
                figure(vram.and_then(|vram| vram.total_mib)),
                figure(coverage),
            ];
            writer.write_record(start.iter().chain(&rest))?;
        }
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Metrics for a terminal: one line an instance, with `wide` one a GPU as well,
/// then what could not be seen. The name comes last, because it gives way where
/// the columns end.
pub fn metrics_table(audit: &Audit, invocation: &Invocation, style: TableStyle) -> String {
    let mut table = PlainTable::new(
        &[
            "INSTANCE", "TYPE", "SIGNAL", "MEAN", "P95", "MAX", "VRAM", "COVERAGE", "NAME",
        ],
        3..8,
    );
    for (workload, usage) in instances(audit) {
        table.row(instance_row(workload, usage));
        if style.wide {
            for gpu in &usage.gpus {
                table.row(gpu_row(gpu));
            }
        }
    }
    let mut out = table.text(style);
    // Writing to a string cannot fail.
    let _ = gap_section(&audit.gaps, style, &mut out);
    out.push_str(&closing(audit, invocation));
    out
}

/// How many instances lack a signal, and what to type about it.
fn closing(audit: &Audit, invocation: &Invocation) -> String {
    let having = |wanted: Option<Signal>| {
        instances(audit)
            .filter(|(_, usage)| usage.signal.map(|(signal, _)| signal) == wanted)
            .count() as u64
    };
    let (silent, power) = (having(None), having(Some(Signal::GpuPowerUtilization)));
    let total = instances(audit).count() as u64;
    let mut text = format!(
        "{}, {silent} without any GPU signal",
        counted(total, "running instance", "running instances")
    );
    if power > 0 {
        text.push_str(&format!(", {power} with power only"));
    }
    text.push('\n');
    if silent + power > 0 {
        let command = invocation.command("metrics setup", false, "");
        text.push_str(&format!(
            "`{command}` prints the agent configuration for them\n"
        ));
    }
    text
}

fn instance_row(workload: &Workload, usage: &InstanceUsage) -> Vec<String> {
    let summary = usage.summary.as_ref();
    let or_absent = |value: Option<String>| value.unwrap_or_else(|| ABSENT.to_owned());
    let peak = usage
        .gpus
        .iter()
        .filter_map(|gpu| gpu.vram)
        .map(|vram| vram.peak_mib)
        .reduce(f64::max);
    vec![
        fit(usage.instance.as_str(), 19),
        fit(&workload.key.instance_type, 18),
        match usage.signal {
            None => "none",
            Some((Signal::GpuUtilization, SeriesSource::Profile)) => "profile",
            Some((Signal::GpuUtilization, _)) => "GPU",
            Some((Signal::GpuPowerUtilization, _)) => "power",
        }
        .to_owned(),
        or_absent(summary.map(|summary| percent(summary.distribution.mean))),
        or_absent(summary.map(|summary| percent(summary.distribution.p95))),
        or_absent(summary.map(|summary| percent(summary.max))),
        or_absent(peak.map(|mib| format!("{:.1} GiB", mib / 1024.0))),
        or_absent(summary.map(|summary| format!("{}%", floored(summary.coverage() * 100.0, 1)))),
        fit(&workload.name, 48),
    ]
}

fn gpu_row(gpu: &GpuUsage) -> Vec<String> {
    let or_absent = |value: Option<String>| value.unwrap_or_else(|| ABSENT.to_owned());
    let figures = gpu.utilization;
    vec![
        String::new(),
        format!("GPU {}", gpu.index),
        String::new(),
        or_absent(figures.map(|figures| percent(figures.mean))),
        or_absent(figures.map(|figures| percent(figures.p95))),
        or_absent(figures.map(|figures| percent(figures.max))),
        or_absent(
            gpu.vram
                .map(|vram| format!("{:.1} GiB", vram.peak_mib / 1024.0)),
        ),
        String::new(),
        String::new(),
    ]
}
