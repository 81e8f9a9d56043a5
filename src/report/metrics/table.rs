//! `gpucost metrics` for people.

use super::instances;
use crate::analysis::Audit;
use crate::domain::{GpuUsage, InstanceUsage, SeriesSource, Signal, Workload, floored};
use crate::report::shared::gaps::gap_section;
use crate::report::shared::next::{Invocation, Setup};
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{ABSENT, counted, fit, percent};

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

/// How many instances have no signal, and what to type about it.
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
        let setup = Setup::of(audit.source);
        let what = match setup {
            Setup::Agent => "the agent configuration",
            Setup::Exporters => "the Helm values of exporters",
        };
        let command = setup.command(invocation);
        text.push_str(&format!(
            "to measure what has none, print {what}:\n  {command}\n"
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
        fit(usage.instance.native(), 19),
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
