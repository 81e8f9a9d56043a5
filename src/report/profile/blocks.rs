//! A run as tables without a form: what Markdown and HTML have in common. Cells are plain
//! words, which each form escapes as it needs.

use super::ProfileReport;
use super::spot::spot_lines;
use super::table::{
    absent, cost_words, energy_words, event_lines, gib, host_words, label, samples,
};
use super::words::{elapsed_words, model_name};
use super::work;
use crate::report::shared::text::{money, money_or_absent, percent};
use crate::usage::Figures;

/// A table with a title.
pub(super) struct Block {
    /// What it is called within a page.
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    /// Titles, each with whether it is of figures.
    pub(super) columns: &'static [(&'static str, bool)],
    pub(super) rows: Vec<Vec<String>>,
}

/// Every table that has rows, what matters most first.
pub(super) fn blocks(report: &ProfileReport) -> Vec<Block> {
    let all = [
        gpus(report),
        units(report),
        phases(report),
        events(report),
        notices(report),
        suitable(report),
        processes(report),
        gaps(report),
    ];
    let all = all.into_iter();
    all.filter(|block| !block.rows.is_empty()).collect()
}

/// Figures of the whole run, each with its name.
pub(super) fn facts(report: &ProfileReport) -> Vec<(&'static str, String)> {
    let profile = &report.profile;
    let facts = [
        ("cost", report.cost.as_ref().map(cost_words)),
        (
            "model FLOPs",
            report.work.as_ref().and_then(work::mfu_words),
        ),
        ("diagnosis", Some(profile.diagnosis.reason.clone())),
        ("host", host_words(&profile.host)),
        ("energy", energy_words(profile)),
        ("samples", Some(samples(profile))),
    ];
    let known = facts
        .into_iter()
        .filter_map(|(name, words)| Some((name, words?)));
    known.collect()
}

fn gpus(report: &ProfileReport) -> Block {
    let row = |gpu: &crate::profiling::GpuProfile| {
        let used = |pick: fn(Figures) -> f64| {
            let figure = gpu.utilization.map(pick);
            figure.map_or_else(absent, percent)
        };
        vec![
            label(&gpu.identity),
            model_name(&gpu.identity),
            used(|figures| figures.mean),
            used(|figures| figures.p95),
            used(|figures| figures.max),
            gpu.vram_used_mib.map_or_else(absent, |used| gib(used.max)),
            gpu.vram_total_mib.map_or_else(absent, gib),
            gpu.power
                .map_or_else(absent, |power| format!("{:.0}", power.mean_w)),
            gpu.temperature_c
                .map_or_else(absent, |range| format!("{:.0}", range.max)),
            gpu.diagnosis.bottleneck.to_string(),
        ]
    };
    Block {
        key: "gpus",
        title: "GPUs",
        columns: &[
            ("GPU", false),
            ("model", false),
            ("mean", true),
            ("p95", true),
            ("max", true),
            ("peak VRAM, GiB", true),
            ("of", true),
            ("mean W", true),
            ("max °C", true),
            ("diagnosis", false),
        ],
        rows: report.profile.gpus.iter().map(row).collect(),
    }
}

fn units(report: &ProfileReport) -> Block {
    let rows = report.work.iter().flat_map(work::rows);
    let row = |row: work::WorkRow| vec![row.unit, row.count, row.per_hour, row.cost, row.energy_wh];
    Block {
        key: "work",
        title: "Work",
        columns: &[
            ("unit", false),
            ("count", true),
            ("per hour", true),
            ("cost of one", true),
            ("Wh of one", true),
        ],
        rows: rows.map(row).collect(),
    }
}

fn phases(report: &ProfileReport) -> Block {
    let share = |value: Option<f64>| value.map_or_else(absent, percent);
    let row = |phase: &crate::profiling::Phase| {
        vec![
            phase.kind.to_string(),
            elapsed_words(phase.from_seconds),
            elapsed_words(phase.to_seconds),
            percent(phase.share * 100.0),
            share(phase.utilization_percent),
            phase.vram_mib.map_or_else(absent, gib),
            share(phase.host_cpu_percent),
        ]
    };
    Block {
        key: "phases",
        title: "Phases",
        columns: &[
            ("phase", false),
            ("from", true),
            ("to", true),
            ("share", true),
            ("GPU", true),
            ("VRAM GiB", true),
            ("host CPU", true),
        ],
        rows: report.profile.phases.iter().map(row).collect(),
    }
}

fn events(report: &ProfileReport) -> Block {
    let lines = event_lines(&report.profile).into_iter();
    Block {
        key: "alerts",
        title: "Alerts",
        columns: &[("alert", false)],
        rows: lines.map(|line| vec![line]).collect(),
    }
}

fn notices(report: &ProfileReport) -> Block {
    let lines = spot_lines(report).into_iter();
    Block {
        key: "spot",
        title: "Spot",
        columns: &[("notice", false)],
        rows: lines.map(|line| vec![line]).collect(),
    }
}

fn suitable(report: &ProfileReport) -> Block {
    let sized = report
        .cost
        .as_ref()
        .and_then(|cost| cost.sizing.as_ref().ok());
    let accepted = sized.into_iter().flat_map(|sized| sized.accepted());
    let row = |one: &crate::analysis::Candidate| {
        let projection = one.considered.projection;
        vec![
            one.considered.shape.instance_type.clone(),
            projection.map_or_else(absent, |found| percent(found.utilization)),
            projection.map_or_else(absent, |found| format!("{:.2}×", found.slowdown)),
            money_or_absent(one.considered.monthly),
            one.monthly_savings.map_or_else(absent, money),
            one.considered.risk.to_string(),
        ]
    };
    Block {
        key: "suitable",
        title: "Suitable types",
        columns: &[
            ("type", false),
            ("p95 there", true),
            ("slower", true),
            ("month", true),
            ("saves", true),
            ("risk", false),
        ],
        rows: accepted.map(row).collect(),
    }
}

fn processes(report: &ProfileReport) -> Block {
    let mut rows = Vec::new();
    for gpu in &report.profile.gpus {
        for process in gpu.processes.iter().flatten() {
            rows.push(vec![
                label(&gpu.identity),
                process.pid.to_string(),
                process.name.clone().unwrap_or_else(absent),
                process
                    .vram_peak_mib
                    .map_or_else(absent, |mib| gib(mib as f64)),
                if process.is_of_command { "yes" } else { "" }.to_owned(),
            ]);
        }
    }
    Block {
        key: "processes",
        title: "Processes",
        columns: &[
            ("GPU", false),
            ("pid", true),
            ("name", false),
            ("peak VRAM, GiB", true),
            ("from command", false),
        ],
        rows,
    }
}

fn gaps(report: &ProfileReport) -> Block {
    let row = |gap: &crate::domain::Gap| {
        vec![
            gap.what.name().into_owned(),
            gap.place.clone(),
            gap.reason.clone(),
            gap.hint.clone(),
        ]
    };
    Block {
        key: "gaps",
        title: "Missing data",
        columns: &[
            ("what", false),
            ("where", false),
            ("why", false),
            ("how to fix", false),
        ],
        rows: report.gaps.iter().map(row).collect(),
    }
}
