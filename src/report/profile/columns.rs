//! What a profiled run, its GPUs, its phases and its work are declared by.

use super::words::{
    JOULES_PER_KWH, ProfileReport, alert_line, gib, gpu_recommendation, label, model_name,
    recommendation,
};
use crate::analysis::{Candidate, Mfu, RunCost, UnitWork};
use crate::domain::{
    Classification, Comparator, Confidence, GpuProcess, HourlyRate, Money, PriceQuote, SpotAction,
    SpotInterruption, Verdict,
};
use crate::planners::model::Dtype;
use crate::profiling::{
    Alert, AlertKind, Bottleneck, Diagnosis, GpuProfile, GpuRanges, HostProfile, LostGpu, Phase,
    PhaseKind, PowerBasis, Sign, ThrottleTime, Tier, XidEvent,
};
use crate::report::doc::{Value, columns, elapsed_words};
use crate::report::live::bytes_per_second;
use crate::report::promises::RISKS;
use crate::report::reserved::{CURRENCIES, ORIGINS};
use crate::usage::{Figures, Range};
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};

const JOULES_PER_WH: f64 = 3_600.0;

/// What the run and each GPU have in common.
pub(super) struct Used<'a> {
    pub utilization: Option<Figures>,
    pub vram_peak_mib: Option<f64>,
    pub vram_p95_mib: Option<f64>,
    pub recommendation: String,
    pub verdict: &'a Verdict,
    pub diagnosis: &'a Diagnosis,
}

impl<'a> Used<'a> {
    pub fn of_run(report: &'a ProfileReport) -> Self {
        let profile = &report.profile;
        let memory = || profile.gpus.iter().filter_map(|gpu| gpu.vram_used_mib);
        Self {
            utilization: profile.utilization,
            vram_peak_mib: memory().map(|used| used.max).reduce(f64::max),
            vram_p95_mib: memory().map(|used| used.p95).reduce(f64::max),
            recommendation: recommendation(report),
            verdict: &profile.verdict,
            diagnosis: &profile.diagnosis,
        }
    }

    pub fn of_gpu(gpu: &'a GpuProfile) -> Self {
        Self {
            utilization: gpu.utilization,
            vram_peak_mib: gpu.vram_used_mib.map(|used| used.max),
            vram_p95_mib: gpu.vram_used_mib.map(|used| used.p95),
            recommendation: gpu_recommendation(gpu),
            verdict: &gpu.verdict,
            diagnosis: &gpu.diagnosis,
        }
    }
}

columns! {
    pub(super) fn document<'a>(row: &'a ProfileReport) {
        text "gpucost_version", "", Data, env!("CARGO_PKG_VERSION").to_owned(), "";
        time "started", "", Data, row.profile.facts.started, "";
        seconds "elapsed_seconds", "", Data, row.profile.end.elapsed_seconds, "";
        opt count "exit_code", "", Data, row.profile.end.exit_code, "Of the command; null where none ran to its end.";
        opt text "hostname", "", Data, row.profile.facts.hostname.clone(), "";
        opt text "instance_id", "", Data, row.profile.facts.instance_id.clone(), "";
        opt text "instance_type", "", Data, row.profile.facts.instance_type.clone(), "";
        opt text "region", "", Data, row.profile.facts.region.clone(), "";
        opt text "driver_version", "", Data, row.profile.facts.driver_version.clone(), "";
        opt seconds "samples.interval_seconds", "", Data, row.profile.facts.interval_seconds, "";
        count "samples.taken", "", Data, row.profile.samples, "";
        opt count "samples.missed", "", Data, row.profile.pace.missed, "null where it is unknown when a sample was due.";
        opt count "samples.late", "", Data, row.paced(row.profile.pace.late), "";
        opt seconds "samples.largest_delay_seconds", "", Data, row.paced(row.profile.pace.largest_delay_seconds), "";
        cell "samples.wall_clock_step_seconds", "", Data, Value::Number(row.profile.pace.wall_clock_step_seconds, 1), "How far the wall clock was moved while the run lasted, forward positive.";
        count "gpus_total", "", Data, row.profile.gpu_count(), "";
        opt count "gpus_used", "", Data, row.profile.gpus_used(), "null where it is unknown.";
        share "coverage", "", Data, Decimal::from_f64(row.profile.coverage), "Share of the time that samples cover.";
        record[host] "host", "", Wide, &row.profile.host, "";
        word[CURRENCIES] "cost.currency", "", Data, cost(row, |cost| cost.today.hourly.currency().code()), "";
        text "cost.instance_type", "", Data, cost(row, |cost| cost.shape.instance_type.clone()), "";
        text "cost.region", "", Data, cost(row, |cost| cost.region.clone()), "";
        text "cost.purchase_option", "", Data, row.cost.as_ref().and_then(|cost| Some(cost.today.instances.first()?.key.option.to_string())), "";
        price "cost.hourly_cost", "", Data, cost(row, |cost| rate(cost.today.hourly)), "";
        money "cost.monthly_cost", "", Data, cost(row, |cost| cost.today.compute_monthly), "";
        word[ORIGINS] "cost.price_origin", "", Data, quote(row).map(|quote| quote.origin.name()), "";
        opt date "cost.effective_date", "", Data, quote(row).map(|quote| quote.effective_date), "";
        opt money "cost.run_cost", "", Data, row.cost.as_ref().and_then(|cost| cost.run), "Of this run.";
        opt price "cost.cost_per_useful_gpu_hour", "", Data, row.cost.as_ref().and_then(|cost| Some(rate(cost.useful_gpu_hour?))), "";
        word[RISKS] "cost.accepted_risk", "", Data, cost(row, |_| row.accepted.name()), "";
        opt text "cost.left_alone", "", Data, row.cost.as_ref().and_then(|cost| cost.sizing.as_ref().err().cloned()), "Why no other type is considered.";
        flag "spot.notices_read", "", Data, row.profile.end.spot.as_ref().map(|spot| !spot.is_unread), "Whether notices were read to the end of the run.";
        opt record[interruption] "spot.interruption", "", Data, row.profile.end.spot.as_ref().and_then(|spot| spot.interruption.as_ref()), "";
        opt record[mfu] "work.mfu", "", Data, row.mfu().and_then(Result::ok), "Model FLOPs utilization.";
        opt text "work.mfu_unknown", "", Data, row.mfu().and_then(|mfu| mfu.err().cloned()), "Why it is unknown.";
        opt measured[6] "energy_kwh", "", Data, row.profile.energy_j().map(|joules| joules / JOULES_PER_KWH), "Of all GPUs, in kWh; null where one did not report it.";
    }

    /// The keys that the run and each GPU have in common.
    pub(super) fn used_figures<'a>(row: Used<'a>) {
        opt utilization "gpu_utilization_mean_pct", "mean", Narrow(0), row.utilization.map(|figures| figures.mean), "";
        opt utilization "gpu_utilization_p50_pct", "p50", Narrow(4), row.utilization.map(|figures| figures.p50), "";
        opt utilization "gpu_utilization_p95_pct", "p95", Narrow(1), row.utilization.map(|figures| figures.p95), "";
        opt utilization "gpu_utilization_p99_pct", "", Data, row.utilization.map(|figures| figures.p99), "";
        opt utilization "gpu_utilization_max_pct", "max", Narrow(3), row.utilization.map(|figures| figures.max), "";
        opt measured[1] "vram_peak_gb", "VRAM GiB", Narrow(0), row.vram_peak_mib.map(gib), "In GiB.";
        opt measured[1] "vram_p95_gb", "", Data, row.vram_p95_mib.map(gib), "In GiB.";
        count "n_samples", "", Data, row.utilization.map_or(0, |figures| figures.n_samples), "";
        text "recommendation", "", Data, row.recommendation.clone(), "Begins with the class in capital letters.";
        word[Classification::NAMES] "classification", "", Data, row.verdict.classification.name(), "";
        opt word[Confidence::NAMES] "confidence", "", Data, row.verdict.confidence.map(Confidence::name), "";
        text "reason", "", Data, row.verdict.reason.clone(), "";
        word[Bottleneck::NAMES] "diagnosis.bottleneck", "", Data, row.diagnosis.bottleneck.name(), "";
        opt word[Tier::NAMES] "diagnosis.tier", "", Data, row.diagnosis.tier.map(Tier::name), "What the diagnosis rests on.";
        opt word[Confidence::NAMES] "diagnosis.confidence", "", Data, row.diagnosis.confidence.map(Confidence::name), "";
        text "diagnosis.reason", "", Data, row.diagnosis.reason.clone(), "";
        rows[sign] "diagnosis.evidence", "", Data, row.diagnosis.evidence.iter(), "";
        texts "diagnosis.missing", "", Data, row.diagnosis.missing.iter().copied().map(str::to_owned).collect::<Vec<_>>(), "What was not measured.";
        texts "diagnosis.try_next", "", Data, row.diagnosis.advice.clone(), "";
    }

    fn sign<'a>(row: &'a Sign) {
        text "figure", "", Data, row.figure.to_owned(), "";
        cell "observed", "", Data, Value::Number(row.observed, 1), "";
        word[Comparator::NAMES] "comparator", "", Data, row.comparator.name(), "";
        cell "threshold", "", Data, Value::Number(row.threshold, 1), "";
        text "unit", "", Data, row.unit.to_owned(), "";
    }

    fn range(row: Range) {
        cell "mean", "", Data, Value::Number(row.mean, 1), "";
        cell "min", "", Data, Value::Number(row.min, 1), "";
        cell "max", "", Data, Value::Number(row.max, 1), "";
        count "n_samples", "", Data, row.n_samples, "";
    }

    fn figures(row: Figures) {
        cell "mean", "", Data, Value::Number(row.mean, 1), "";
        cell "p50", "", Data, Value::Number(row.p50, 1), "";
        cell "p95", "", Data, Value::Number(row.p95, 1), "";
        cell "p99", "", Data, Value::Number(row.p99, 1), "";
        cell "max", "", Data, Value::Number(row.max, 1), "";
        count "n_samples", "", Data, row.n_samples, "";
    }

    fn host<'a>(row: &'a HostProfile) {
        opt count "cores", "", Data, row.cores, "";
        opt record[figures] "cpu_pct", "", Wide, row.cpu_percent, "0-100.";
        opt record[figures] "busiest_core_pct", "", Wide, row.busiest_core_percent, "0-100.";
        opt record[range] "io_wait_pct", "", Wide, row.io_wait_percent, "0-100.";
        opt record[range] "cpu_pressure_pct", "", Wide, row.cpu_pressure_percent, "0-100.";
        opt record[range] "io_pressure_pct", "", Wide, row.io_pressure_percent, "0-100.";
        opt record[range] "memory_pressure_pct", "", Wide, row.memory_pressure_percent, "0-100.";
        opt measured[1] "memory_peak_gb", "", Data, row.memory_used_mib.map(|used| gib(used.max)), "In GiB.";
        opt measured[1] "memory_p95_gb", "", Data, row.memory_used_mib.map(|used| gib(used.p95)), "In GiB.";
        opt measured[1] "memory_total_gb", "", Data, row.memory_total_mib.map(gib), "In GiB.";
        opt record[range] "network_received_bytes_per_second", "", Wide, row.network_received_bytes_per_second, "";
        opt record[range] "network_sent_bytes_per_second", "", Wide, row.network_sent_bytes_per_second, "";
        opt record[range] "disk_read_bytes_per_second", "", Wide, row.disk_read_bytes_per_second, "";
        opt record[range] "disk_written_bytes_per_second", "", Wide, row.disk_written_bytes_per_second, "";
    }

    fn interruption<'a>(row: &'a SpotInterruption) {
        word[SpotAction::NAMES] "action", "", Data, row.notice.action.name(), "";
        time "time", "", Data, row.notice.time, "";
        cell "action_seconds", "", Data, Value::Seconds(row.action_seconds), "Seconds into the run.";
        cell "deadline_seconds", "", Data, Value::Seconds(row.deadline_seconds), "Until which gpucost waited, in seconds into the run.";
        cell "noticed_seconds", "", Data, Value::Seconds(row.noticed_seconds), "Seconds into the run.";
        opt text "warned_by", "", Data, row.warned_by.clone(), "The signal that the command got.";
    }

    fn mfu<'a>(row: &'a Mfu) {
        utilization "mfu_pct", "", Data, row.percent, "";
        count "steps", "", Data, row.steps, "";
        measured[0] "flops_per_step", "", Data, row.flops_per_step, "In FLOP.";
        seconds "elapsed_seconds", "", Data, row.seconds, "";
        count "gpus", "", Data, row.gpus, "";
        word[Dtype::NAMES] "dtype", "", Data, row.dtype.name(), "";
        measured[1] "peak_dense_tflops", "", Data, row.peak_tflops, "Of all GPUs in use, in TFLOPS, dense.";
    }

    pub(super) fn gpu_names<'a>(row: &'a GpuProfile) {
        text "label", "GPU", Screen, label(&row.identity), "";
        text "model", "model", Screen, model_name(&row.identity), "";
        count "index", "", Data, row.identity.index, "";
        opt count "mig_index", "", Data, row.identity.mig.as_ref().map(|slot| slot.index), "null for a whole GPU.";
        opt text "mig_profile", "", Data, row.identity.mig.as_ref().and_then(|slot| slot.profile.clone()), "";
        opt text "uuid", "", Data, row.identity.uuid.clone(), "";
        opt text "name", "", Data, row.identity.name.clone(), "";
        opt flag "is_used", "", Data, row.is_used, "";
    }

    pub(super) fn gpu_figures<'a>(row: &'a GpuProfile) {
        opt measured[1] "vram_total_gb", "of", Narrow(0), row.vram_total_mib.map(gib), "In GiB.";
        measured[0] "power.mean_w", "watt", Narrow(2), row.power.map(|power| power.mean_w), "";
        opt measured[0] "power.max_w", "max W", Wide, row.power.and_then(|power| power.max_w), "";
        opt measured[1] "power.mean_pct_of_limit", "% of limit", Wide, row.power.and_then(|power| power.mean_percent), "";
        opt measured[6] "power.energy_kwh", "kWh", Wide, row.power.and_then(|power| Some(power.energy_j? / JOULES_PER_KWH)), "";
        word[PowerBasis::NAMES] "power.basis", "", Data, row.power.map(|power| power.basis.name()), "";
        opt measured[0] "hottest", "max °C", Screen, row.ranges.temperature_c.map(|range| range.max), "";
        text "limited_by", "diagnosis", Screen, limited_by(row), "";
        opt record[range] "memory_utilization_pct", "", Wide, row.ranges.memory_utilization_percent, "";
        opt record[range] "temperature_c", "", Wide, row.ranges.temperature_c, "";
        opt record[range] "sm_clock_mhz", "", Wide, row.ranges.sm_clock_mhz, "";
        opt record[range] "memory_clock_mhz", "", Wide, row.ranges.memory_clock_mhz, "";
        opt record[range] "pcie_sent_bytes_per_second", "", Wide, row.ranges.pcie_sent_bytes_per_second, "";
        opt record[range] "pcie_received_bytes_per_second", "", Wide, row.ranges.pcie_received_bytes_per_second, "";
        opt record[range] "encoder_pct", "", Wide, row.ranges.encoder_percent, "";
        opt record[range] "decoder_pct", "", Wide, row.ranges.decoder_percent, "";
        record[activity] "activity", "", Data, row.ranges, "";
        opt rows[throttle] "throttle", "", Data, row.throttle.as_deref(), "";
        opt rows[process] "processes", "", Data, row.processes.as_deref(), "";
        flag "has_more_processes", "", Data, row.has_more_processes, "";
        rows[xid] "xids", "", Data, row.xids.iter(), "";
        count "xid_count", "", Data, row.xid_count, "";
        opt record[lost] "lost", "", Data, row.lost.as_ref(), "When it no longer answered; null otherwise.";
    }

    fn activity(row: GpuRanges) {
        opt record[range] "graphics_pct", "", Data, row.graphics_percent, "";
        opt record[range] "sm_pct", "", Data, row.sm_percent, "";
        opt record[range] "occupancy_pct", "", Data, row.occupancy_percent, "";
        opt record[range] "tensor_pct", "", Data, row.tensor_percent, "";
        opt record[range] "dram_pct", "", Data, row.dram_percent, "";
        opt record[range] "nvlink_sent_bytes_per_second", "", Data, row.nvlink_sent_bytes_per_second, "";
        opt record[range] "nvlink_received_bytes_per_second", "", Data, row.nvlink_received_bytes_per_second, "";
    }

    fn throttle<'a>(row: &'a ThrottleTime) {
        text "reason", "", Data, row.reason.names().join(", "), "";
        seconds "seconds", "", Data, row.seconds, "";
    }

    fn process<'a>(row: &'a GpuProcess) {
        count "pid", "", Data, row.pid, "";
        opt text "name", "", Data, row.name.clone(), "";
        opt count "vram_peak_mib", "", Data, row.vram_mib, "";
        flag "is_of_command", "", Data, row.is_of_command, "";
    }

    fn xid<'a>(row: &'a XidEvent) {
        seconds "at_seconds", "", Data, row.at_seconds, "";
        count "xid", "", Data, row.xid, "";
    }

    fn lost<'a>(row: &'a LostGpu) {
        seconds "at_seconds", "", Data, row.at_seconds, "";
        text "reason", "", Data, row.reason.clone(), "";
        count "samples", "", Data, row.samples, "";
        flag "is_back", "", Data, row.is_back, "";
    }

    /// Counters of the multiprocessors, where the driver has any.
    pub(super) fn counters<'a>(row: &'a GpuProfile) {
        text "gpu", "GPU", Screen, label(&row.identity), "";
        opt percent "engine", "engine", Screen, row.ranges.graphics_percent.map(|range| range.mean), "";
        opt percent "sm", "SM", Screen, row.ranges.sm_percent.map(|range| range.mean), "";
        opt percent "occupancy", "occupancy", Screen, row.ranges.occupancy_percent.map(|range| range.mean), "";
        opt percent "tensor", "tensor", Screen, row.ranges.tensor_percent.map(|range| range.mean), "";
        opt percent "dram", "DRAM", Screen, row.ranges.dram_percent.map(|range| range.mean), "";
        opt text "pcie_sent", "PCIe out", Screen, row.ranges.pcie_sent_bytes_per_second.map(|range| bytes_per_second(range.mean)), "";
        opt text "pcie_received", "PCIe in", Screen, row.ranges.pcie_received_bytes_per_second.map(|range| bytes_per_second(range.mean)), "";
    }

    pub(super) fn processes<'a>(row: (&'a GpuProfile, &'a GpuProcess)) {
        text "gpu", "GPU", Screen, label(&row.0.identity), "";
        text "pid", "pid", Screen, row.1.pid.to_string(), "";
        opt text "name", "name", Screen, row.1.name.clone(), "";
        opt measured[1] "vram", "VRAM GiB", Screen, row.1.vram_mib.map(|mib| gib(mib as f64)), "";
        flag "is_of_command", "from command", Screen, row.1.is_of_command, "";
    }

    pub(super) fn phase<'a>(row: &'a Phase) {
        word[PhaseKind::NAMES] "phase", "phase", Narrow(0), row.kind.name(), "";
        seconds "from_seconds", "from", Narrow(0), row.from_seconds, "";
        seconds "to_seconds", "to", Narrow(0), row.to_seconds, "";
        share "share", "share", Narrow(0), Decimal::from_f64(row.share), "";
        opt utilization "gpu_utilization_mean_pct", "GPU", Narrow(0), row.utilization_percent, "";
        opt measured[1] "vram_gb", "VRAM GiB", Narrow(0), row.vram_mib.map(gib), "In GiB.";
        opt utilization "host_cpu_pct", "host CPU", Narrow(0), row.host_cpu_percent, "";
    }

    pub(super) fn alert<'a>(row: (&'a Alert, Option<&'a GpuProfile>)) {
        text "line", "alert", Screen, alert_line(row.0, row.1.map(|gpu| label(&gpu.identity)).as_deref()), "";
        word[AlertKind::NAMES] "alert", "", Data, row.0.kind.name(), "";
        opt count "gpu", "", Data, row.1.map(|gpu| gpu.identity.index), "null for all.";
        opt count "mig_index", "", Data, row.1.and_then(|gpu| Some(gpu.identity.mig.as_ref()?.index)), "";
        seconds "began_seconds", "", Data, row.0.began_seconds, "";
        opt seconds "ended_seconds", "", Data, row.0.ended_seconds, "null where it lasted to the end.";
        count "episodes", "", Data, row.0.episodes, "";
        seconds "total_seconds", "", Data, row.0.total_seconds, "";
        cell "worst", "", Data, Value::Number(row.0.worst, 1), "";
        opt cell "threshold", "", Data, Value::of(row.0.kind.threshold(), |threshold| Value::Number(threshold, 1)), "";
        text "unit", "", Data, row.0.kind.unit().to_owned(), "Of worst and threshold.";
    }

    pub(super) fn unit<'a>(row: &'a UnitWork) {
        text "unit", "unit", Narrow(0), row.cost.unit.clone(), "";
        opt measured[0] "count", "count", Narrow(0), row.cost.count.to_f64(), "";
        opt millionths "per_second", "", Data, row.per_second, "";
        opt measured[1] "per_hour", "per hour", Screen, row.per_second.map(|rate| rate * 3_600.0), "";
        opt word[CURRENCIES] "currency", "", Data, row.cost.price().map(|price| price.currency().code()), "";
        count[&[1, 1_000, 1_000_000]] "per", "cost of", Narrow(0), row.cost.per(), "Units that cost and energy_wh are for.";
        opt price "cost", "cost", Narrow(0), row.cost.price(), "";
        opt measured[6] "energy_wh", "Wh", Narrow(0), energy_wh(row), "Of per units, in Wh.";
    }

    /// Types that would do, for screens.
    pub(super) fn suitable<'a>(row: &'a Candidate) {
        text "type", "type", Screen, row.considered.shape.instance_type.clone(), "";
        opt percent "p95", "p95 there", Screen, row.considered.projection.map(|there| there.utilization), "";
        opt text "slower", "slower", Screen, row.considered.projection.map(|there| format!("{:.2}×", there.slowdown)), "";
        opt money "monthly", "month", Screen, row.considered.monthly, "";
        opt money "savings", "saves", Screen, row.monthly_savings, "";
        text "risk_there", "risk", Screen, row.considered.risk.to_string(), "";
    }

    /// Facts of the whole run, each with its name.
    pub(super) fn fact(row: (&'static str, String)) {
        text "name", "figure", Screen, row.0.to_owned(), "";
        text "value", "value", Screen, row.1.clone(), "";
    }
}

fn cost<'a, T>(row: &'a ProfileReport, pick: impl FnOnce(&'a RunCost) -> T) -> Option<T> {
    row.cost.as_ref().map(pick)
}

fn quote(row: &ProfileReport) -> Option<&PriceQuote> {
    Some(&row.cost.as_ref()?.today.instances.first()?.quote)
}

fn rate(rate: HourlyRate) -> Money {
    Money::new(rate.amount(), rate.currency())
}

/// In watt-hours, of as many units as the price is for.
fn energy_wh(row: &UnitWork) -> Option<f64> {
    Some(row.energy_j? * f64::from(row.cost.per()) / JOULES_PER_WH)
}

/// What holds a GPU back, or that it is lost.
fn limited_by(row: &GpuProfile) -> String {
    match &row.lost {
        Some(lost) if !lost.is_back => format!("lost after {}", elapsed_words(lost.at_seconds)),
        _ => row.diagnosis.bottleneck.to_string(),
    }
}
