//! A run for people: the sentence first, then what it rests on.

use super::ProfileReport;
use super::spot::spot_lines;
use super::words::{alert_line, elapsed_words, headline, model_name, rate_words};
use super::work;
use crate::analysis::{Candidate, RunCost};
use crate::domain::{Classification, GpuIdentity};
use crate::profiling::{
    AlertKind, Bottleneck, GpuProfile, HostProfile, PhaseKind, PowerBasis, RunProfile,
    UtilizationBasis,
};
use crate::report::shared::gaps::gap_section;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{
    ABSENT, count, counted, fit, money, money_or_absent, percent, safe, wrap,
};
use crate::usage::Range;
use std::fmt::{Result, Write};

const JOULES_PER_KWH: f64 = 3_600_000.0;
/// Types that would do, before the rest is left to JSON.
const SHOWN_TYPES: usize = 5;
const SHOWN_PROCESSES: usize = 5;
/// Columns of a model's name.
const MODEL_WIDTH: usize = 24;

/// The summary of a run for a terminal.
pub fn profile_table(report: &ProfileReport, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(report, style, &mut out);
    out
}

fn draw(report: &ProfileReport, style: TableStyle, out: &mut String) -> Result {
    let profile = &report.profile;
    writeln!(out, "{}\n", style.heading(&title(profile)))?;
    for sentence in headline(report) {
        paragraph(&sentence, "", style, out)?;
    }
    writeln!(out)?;
    gpu_table(profile, style, out);
    diagnosis(profile, style, out)?;
    counters(profile, style, out);
    phases(profile, style, out)?;
    events(profile, style, out)?;
    spot(report, style, out)?;
    processes(profile, style, out)?;
    if let Some(found) = &report.work {
        work::draw(found, style, out)?;
    }
    details(report, style, out)?;
    alternatives(report, style, out)?;
    gap_section(&report.gaps, style, out)?;
    writeln!(out, "{}", samples(profile))
}

pub(super) fn title(profile: &RunProfile) -> String {
    let facts = &profile.facts;
    let mut text = format!("{} on ", elapsed_words(profile.end.elapsed_seconds));
    text.push_str(&match &facts.hostname {
        Some(name) => safe(name),
        None => "an unnamed host".to_owned(),
    });
    let place = [&facts.instance_id, &facts.instance_type, &facts.region];
    for name in place.into_iter().flatten() {
        text.push_str(", ");
        text.push_str(&safe(name));
    }
    if let Some(version) = &facts.driver_version {
        text.push_str(&format!(", driver {}", safe(version)));
    }
    text
}

fn paragraph(text: &str, indent: &str, style: TableStyle, out: &mut String) -> Result {
    for line in wrap(text, style.width.saturating_sub(indent.len())) {
        writeln!(out, "{indent}{line}")?;
    }
    Ok(())
}

/// The row's name: `0`, and `0:1 1g.10gb` for a slice.
pub(super) fn label(identity: &GpuIdentity) -> String {
    match &identity.mig {
        None => identity.index.to_string(),
        Some(slot) => {
            let profile = slot.profile.as_deref().map(safe).unwrap_or_default();
            format!("{}:{} {profile}", identity.index, slot.index)
                .trim_end()
                .to_owned()
        }
    }
}

pub(super) fn absent() -> String {
    ABSENT.to_owned()
}

pub(super) fn gib(mib: f64) -> String {
    format!("{:.1}", mib / 1_024.0)
}

fn gpu_table(profile: &RunProfile, style: TableStyle, out: &mut String) {
    let mut table = PlainTable::new(
        &[
            "GPU",
            "MODEL",
            "MEAN",
            "P50",
            "P95",
            "MAX",
            "VRAM GIB",
            "OF",
            "WATT",
            "MAX °C",
            "DIAGNOSIS",
        ],
        2..10,
    );
    for gpu in &profile.gpus {
        let used = |pick: fn(crate::usage::Figures) -> f64| {
            gpu.utilization
                .map_or_else(absent, |figures| percent(pick(figures)))
        };
        table.row(vec![
            label(&gpu.identity),
            fit(&model_name(&gpu.identity), MODEL_WIDTH),
            used(|figures| figures.mean),
            used(|figures| figures.p50),
            used(|figures| figures.p95),
            used(|figures| figures.max),
            gpu.vram_used_mib
                .map_or_else(absent, |figures| gib(figures.max)),
            gpu.vram_total_mib.map_or_else(absent, gib),
            gpu.power
                .map_or_else(absent, |power| format!("{:.0}", power.mean_w)),
            gpu.temperature_c
                .map_or_else(absent, |range| format!("{:.0}", range.max)),
            match &gpu.lost {
                Some(lost) if !lost.is_back => {
                    format!("lost after {}", elapsed_words(lost.at_seconds))
                }
                _ => gpu.diagnosis.bottleneck.to_string(),
            },
        ]);
    }
    out.push_str(&table.text(style));
}

fn diagnosis(profile: &RunProfile, style: TableStyle, out: &mut String) -> Result {
    if profile.verdict.classification == Classification::InsufficientData {
        paragraph(&profile.verdict.reason, "", style, out)?;
        return writeln!(out);
    }
    let found = &profile.diagnosis;
    let confidence = found
        .confidence
        .map_or_else(String::new, |confidence| format!(" ({confidence})"));
    let words = match found.bottleneck {
        Bottleneck::Unknown => format!("Bottleneck unknown: {}", found.reason),
        bottleneck => format!("{bottleneck}{confidence}: {}", found.reason),
    };
    paragraph(&words, "", style, out)?;
    for advice in &found.advice {
        paragraph(&format!("try: {advice}"), "  ", style, out)?;
    }
    writeln!(out)
}

/// Counters of the multiprocessors, where the driver has any.
fn counters(profile: &RunProfile, style: TableStyle, out: &mut String) {
    let measured: Vec<&GpuProfile> = profile
        .gpus
        .iter()
        .filter(|gpu| gpu.activity.sm_percent.is_some())
        .collect();
    if measured.is_empty() {
        return;
    }
    let mut table = PlainTable::new(
        &[
            "GPU",
            "ENGINE",
            "SM",
            "OCCUPANCY",
            "TENSOR",
            "DRAM",
            "PCIE OUT",
            "PCIE IN",
        ],
        1..8,
    );
    for gpu in measured {
        let share = |range: Option<Range>| range.map_or_else(absent, |range| percent(range.mean));
        let rate =
            |range: Option<Range>| range.map_or_else(absent, |range| bytes_words(range.mean));
        table.row(vec![
            label(&gpu.identity),
            share(gpu.activity.graphics_percent),
            share(gpu.activity.sm_percent),
            share(gpu.activity.occupancy_percent),
            share(gpu.activity.tensor_percent),
            share(gpu.activity.dram_percent),
            rate(gpu.pcie_sent_bytes_per_second),
            rate(gpu.pcie_received_bytes_per_second),
        ]);
    }
    out.push_str(&table.text(style));
}

/// A rate in the unit that keeps it short.
fn bytes_words(per_second: f64) -> String {
    let units = [("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)];
    units
        .into_iter()
        .find(|(_, size)| per_second >= *size)
        .map_or_else(
            || format!("{per_second:.0} B/s"),
            |(unit, size)| format!("{:.1} {unit}", per_second / size),
        )
}

/// Only a run that was not all of one kind has phases to speak of.
fn phases(profile: &RunProfile, style: TableStyle, out: &mut String) -> Result {
    let is_plain = |kind: PhaseKind| kind != PhaseKind::Steady;
    if !profile.phases.iter().any(|phase| is_plain(phase.kind)) || profile.phases.len() < 2 {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("PHASES"))?;
    let mut table = PlainTable::new(
        &[
            "  PHASE", "FROM", "TO", "SHARE", "GPU", "VRAM GIB", "HOST CPU",
        ],
        1..7,
    );
    for phase in &profile.phases {
        let share = |value: Option<f64>| value.map_or_else(absent, percent);
        table.row(vec![
            format!("  {}", phase.kind),
            elapsed_words(phase.from_seconds),
            elapsed_words(phase.to_seconds),
            percent(phase.share * 100.0),
            share(phase.utilization_percent),
            phase.vram_mib.map_or_else(absent, gib),
            share(phase.host_cpu_percent),
        ]);
    }
    out.push_str(&table.text(style));
    Ok(())
}

/// Alerts, errors, lost GPUs and clocks held back.
pub(super) fn event_lines(profile: &RunProfile) -> Vec<String> {
    let mut lines: Vec<String> = profile
        .alerts
        .iter()
        // A lost GPU is reported below, with the reason.
        .filter(|alert| alert.kind != AlertKind::Lost)
        .map(|alert| {
            let gpu = alert.gpu.and_then(|place| profile.gpus.get(place));
            alert_line(alert, gpu.map(|gpu| label(&gpu.identity)).as_deref())
        })
        .collect();
    for gpu in &profile.gpus {
        let place = format!("GPU {}", label(&gpu.identity));
        if let Some(lost) = &gpu.lost {
            let back = if lost.is_back {
                "; responding again"
            } else {
                ""
            };
            lines.push(format!(
                "{}: {place} stopped responding after {}: {}{back}",
                AlertKind::Lost,
                elapsed_words(lost.at_seconds),
                safe(&lost.reason)
            ));
        }
        for time in gpu.throttle.iter().flatten() {
            let names = time.reason.names().join(", ");
            // Clocks that rest cost nothing.
            if names != "idle" {
                lines.push(format!(
                    "{place} clocks throttled by {names} for {}",
                    elapsed_words(time.seconds)
                ));
            }
        }
    }
    lines
}

fn events(profile: &RunProfile, style: TableStyle, out: &mut String) -> Result {
    let lines = event_lines(profile);
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("ALERTS"))?;
    for line in lines {
        paragraph(&line, "  ", style, out)?;
    }
    writeln!(out)
}

fn spot(report: &ProfileReport, style: TableStyle, out: &mut String) -> Result {
    let lines = spot_lines(report);
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("SPOT"))?;
    for line in lines {
        paragraph(&line, "  ", style, out)?;
    }
    writeln!(out)
}

fn processes(profile: &RunProfile, style: TableStyle, out: &mut String) -> Result {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for gpu in &profile.gpus {
        for process in gpu.processes.iter().flatten() {
            rows.push(vec![
                format!("  {}", label(&gpu.identity)),
                process.pid.to_string(),
                process.name.as_deref().map_or_else(absent, safe),
                process
                    .vram_peak_mib
                    .map_or_else(absent, |mib| gib(mib as f64)),
                if process.is_of_command { "yes" } else { "" }.to_owned(),
            ]);
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("PROCESSES"))?;
    let mut table = PlainTable::new(
        &["  GPU", "PID", "NAME", "VRAM GIB", "FROM COMMAND"],
        [1, 3],
    );
    let left_out = rows.len().saturating_sub(SHOWN_PROCESSES);
    for row in rows.into_iter().take(SHOWN_PROCESSES) {
        table.row(row);
    }
    let text = table.text(style);
    out.push_str(text.trim_end_matches('\n'));
    writeln!(out)?;
    if left_out > 0 {
        writeln!(out, "  … and {} more: see `--format json`", left_out)?;
    }
    writeln!(out)
}

/// Host and money, a line each.
fn details(report: &ProfileReport, style: TableStyle, out: &mut String) -> Result {
    const LABEL: usize = 10;
    let profile = &report.profile;
    let lines = [
        ("host", host_words(&profile.host)),
        ("energy", energy_words(profile)),
        ("cost", report.cost.as_ref().map(cost_words)),
    ];
    let mut is_reported = false;
    for (label, words) in lines {
        let Some(words) = words else { continue };
        is_reported = true;
        let parts = wrap(&words, style.width.saturating_sub(LABEL));
        for (index, part) in parts.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            writeln!(out, "{label:<LABEL$}{part}")?;
        }
    }
    if is_reported { writeln!(out) } else { Ok(()) }
}

pub(super) fn host_words(host: &HostProfile) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(cpu) = host.cpu_percent {
        let cores = host.cores.map_or_else(String::new, |cores| {
            format!(" of {}", counted(u64::from(cores), "CPU", "CPUs"))
        });
        parts.push(format!("{} mean{cores}", percent(cpu.mean)));
    }
    if let Some(busiest) = host.busiest_core_percent {
        parts.push(format!("busiest CPU {} at p95", percent(busiest.p95)));
    }
    if let Some(wait) = host.io_wait_percent {
        parts.push(format!("{} disk I/O wait", percent(wait.mean)));
    }
    if let Some(memory) = host.memory_used_mib {
        let total = host
            .memory_total_mib
            .map_or_else(String::new, |total| format!(" of {}", gib(total)));
        parts.push(format!("{}{total} GiB peak memory", gib(memory.max)));
    }
    for (range, what) in [
        (host.network_received_bytes_per_second, "from the network"),
        (host.disk_read_bytes_per_second, "from disks"),
    ] {
        parts.extend(range.map(|range| format!("{} {what}", bytes_words(range.mean))));
    }
    (!parts.is_empty()).then(|| parts.join(" · "))
}

pub(super) fn energy_words(profile: &RunProfile) -> Option<String> {
    let joules = profile.energy_j()?;
    let counted = profile.whole().all(|gpu| {
        gpu.power
            .is_some_and(|power| power.basis == PowerBasis::EnergyCounter)
    });
    let basis = if counted {
        "from energy counters"
    } else {
        "from power samples"
    };
    Some(format!("{:.4} kWh {basis}", joules / JOULES_PER_KWH))
}

pub(super) fn cost_words(cost: &RunCost) -> String {
    let mut parts = vec![
        format!("{} this run", money_or_absent(cost.run)),
        format!("{} per month", money(cost.today.compute_monthly)),
    ];
    parts.extend(
        cost.useful_gpu_hour
            .map(|rate| format!("{} per useful GPU-hour", rate_words(rate).replace("/h", ""))),
    );
    if let Some(one) = cost.today.instances.first() {
        parts.push(format!(
            "{} price as of {} ({})",
            one.key.option, one.quote.effective_date, one.quote.origin
        ));
    }
    parts.join(" · ")
}

fn alternatives(report: &ProfileReport, style: TableStyle, out: &mut String) -> Result {
    let Some(cost) = &report.cost else {
        return Ok(());
    };
    let Ok(sized) = &cost.sizing else {
        return Ok(());
    };
    let all: Vec<&Candidate> = sized.accepted().collect();
    let Some(first) = all.first() else {
        return Ok(());
    };
    let title = format!("SUITABLE  at `--risk {}`", report.accepted);
    writeln!(out, "{}", style.heading(&title))?;
    let mut table = PlainTable::new(
        &["  TYPE", "P95 THERE", "SLOWER", "MONTH", "SAVES", "RISK"],
        1..5,
    );
    for one in all.iter().take(SHOWN_TYPES) {
        let projection = one.considered.projection;
        table.row(vec![
            format!("  {}", one.considered.shape.instance_type),
            projection.map_or_else(absent, |found| percent(found.utilization)),
            projection.map_or_else(absent, |found| format!("{:.2}×", found.slowdown)),
            money_or_absent(one.considered.monthly),
            one.monthly_savings.map_or_else(absent, money),
            one.considered.risk.to_string(),
        ]);
    }
    out.push_str(table.text(style).trim_end_matches('\n'));
    writeln!(out)?;
    let left_out = all.len().saturating_sub(SHOWN_TYPES);
    if left_out > 0 {
        writeln!(out, "  … and {left_out} more: see `--format json`")?;
    }
    writeln!(
        out,
        "\n  before moving to {}:",
        first.considered.shape.instance_type
    )?;
    for step in &first.steps {
        for (index, part) in wrap(step, style.width.saturating_sub(6)).iter().enumerate() {
            writeln!(out, "  {} {part}", if index == 0 { "-" } else { " " })?;
        }
    }
    writeln!(out)
}

pub(super) fn samples(profile: &RunProfile) -> String {
    let pace = profile.pace;
    let missed = pace.missed.unwrap_or(0);
    let mut text = counted(profile.samples, "sample", "samples");
    if let Some(interval) = profile.facts.interval_seconds {
        text.push_str(&format!(" every {interval} s"));
    }
    // A log of another program does not say when its samples were due; only how far
    // apart they usually are tells that some are missing.
    if profile.facts.interval_seconds.is_some() {
        text.push_str(&format!(
            "; {} late, {} missed",
            count(pace.late),
            count(missed)
        ));
    } else if missed > 0 {
        text.push_str(&format!("; {} missed", count(missed)));
    }
    let fine = profile
        .gpus
        .iter()
        .any(|gpu| gpu.utilization_basis == Some(UtilizationBasis::DriverSamples));
    if fine {
        text.push_str("; utilization from the driver's own samples in between");
    }
    if pace.wall_clock_step_seconds != 0.0 {
        text.push_str(&format!(
            "; the wall clock was adjusted by {:+.1} s during the run",
            pace.wall_clock_step_seconds
        ));
    }
    text
}
