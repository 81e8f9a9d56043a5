//! What was measured, the verdict on it, and what AWS advises.

use super::line::Line;
use crate::analysis::AuditedWorkload;
use crate::domain::{
    ACTIVE_PERCENT, ActionKind, Classification, GpuUsage, Policy, UsageState, Workload, counted,
    floored,
};
use crate::report::doc::columns;
use crate::report::shared::text::{count, money, percent};

columns! {
    pub(super) fn gpus<'a>(gpu: &'a GpuUsage) {
        text "instance", "instance", Narrow(0), gpu.instance.to_string(), "";
        count "index", "GPU", Narrow(0), gpu.index, "Index on the host.";
        opt percent "mean", "mean", Narrow(0), gpu.utilization.map(|used| used.mean), "Utilization, 0-100; null where it was not measured.";
        opt percent "p95", "p95", Narrow(0), gpu.utilization.map(|used| used.p95), "";
        opt count "vram_peak_mib", "VRAM peak MiB", Narrow(0), gpu.vram.map(|vram| vram.peak_mib.ceil() as u64), "";
    }
}

pub(super) fn measurements(workload: &Workload) -> Vec<Line> {
    let (Some(summary), mut lines) = (&workload.utilization, Vec::new()) else { return Vec::new() };
    let (start, end) = (summary.window.start, summary.window.end);
    let of = &summary.distribution;
    let [mean, p50, p95, p99, max] = [of.mean, of.p50, of.p95, of.p99, summary.max].map(percent);
    let share = |part: f64| floored(part * 100.0, 1);
    let samples = counted(count(summary.expected_samples), "sample", "samples");
    steps! { lines;
        "runs" for runs in workload.rests_on_runs() => "over {runs}, because the window has too little data; time without a run counts neither as idle nor as busy";
        "metric" => "{} from {}, {start} to {end}, one value every {} s", summary.signal, summary.source, summary.period_seconds;
        "samples" => "{} of {samples}: coverage {}%", count(summary.n_samples), share(summary.coverage());
        "utilization" => "mean {mean}, p50 {p50}, p95 {p95}, p99 {p99} of the mean across GPUs; maximum {max}";
        "idle" for idle in summary.idle_share => "in {}% of the periods: no GPU reached {ACTIVE_PERCENT}%", share(idle);
    }
    lines
}

pub(super) fn verdict(audited: &AuditedWorkload, policy: &Policy) -> Vec<Line> {
    let (verdict, mut lines) = (&audited.verdict, Vec::new());
    let class = verdict.classification;
    let low = policy.overprovisioned_below_percent;
    let high = policy.underutilized_below_percent;
    let days = counted(policy.idle_min_days, "day", "days");
    let held = policy.idle_held_vram_percent;
    let is = |state| verdict.state == Some(state);
    steps! { lines;
        "verdict" => "{class}: {}", verdict.reason;
        "threshold" if class == Classification::Overprovisioned => "{class} means a mean below {low}% (policy)";
        "threshold" if class == Classification::Underutilized => "{class} means a mean from {low} to below {high}% (policy)";
        "threshold" if class == Classification::WellUtilized => "{class} means a mean of {high}% or more (policy)";
        "state" for state in verdict.state => "{state}";
        "threshold" if is(UsageState::Idle) || is(UsageState::IdleHeld) => "busiest GPU below {ACTIVE_PERCENT}% in 99% of the periods, at most one period per week at 5% or more, {days} observed (policy)";
        "threshold" if is(UsageState::Idle) => "VRAM below {held}% (policy)";
        "threshold" if is(UsageState::IdleHeld) => "VRAM of {held}% or more (policy)";
        "threshold" if is(UsageState::IdleSoFar) => "no GPU reached {ACTIVE_PERCENT}% in the observed time, which is less than {days} (policy)";
        "threshold" if is(UsageState::Stalled) => "mean of 60% or more, while no GPU draws more than its idle draw and 15% of the way from there to its limit (p95), or has an SM activity of 5% or more (p95)";
        "threshold" if is(UsageState::MostlyIdle) => "a GPU reached {ACTIVE_PERCENT}% in fewer than a tenth of the hours";
        "threshold" if is(UsageState::Saturated) => "mean above {}%, or 95% in a tenth of the hours (policy)", policy.saturated_above_percent;
        "threshold" if is(UsageState::Bursty) => "mean below {low}%, p95 of {}% or more (policy)", policy.bursty_p95_percent;
        "confidence" for confidence in verdict.confidence => "{confidence}";
    }
    lines
}

/// What AWS advises, and why it may differ from the plan; nothing where AWS was not asked, or
/// advises nothing.
pub(super) fn opinion(audited: &AuditedWorkload) -> Vec<Line> {
    let (workload, mut lines) = (&audited.workload, Vec::new());
    let word = match audited.actions.as_slice() {
        [only] if only.kind() == ActionKind::Stop => "Stop",
        [only] if only.kind() == ActionKind::Rightsize => "Rightsize",
        _ => "",
    };
    let why = if workload.committed_cost().is_some() {
        "gpucost plans nothing for hours that a commitment has paid for"
    } else if audited.verdict.confidence.is_none() {
        "without GPU metrics, gpucost gives no verdict, and AWS uses CPU, memory and network"
    } else if workload.opinions.iter().all(|opinion| opinion.action == word) {
        "gpucost plans the same kind of action"
    } else {
        "AWS uses CPU, memory and network where no GPU metric is enabled"
    };
    let estimate = workload.aws_savings().map(money);
    let estimate = estimate.map_or(String::new(), |saved| format!(", {saved} per month"));
    steps! { lines;
        "AWS" for opinion in workload.aws_opinion() => "{opinion}{estimate}: {why}";
    }
    lines
}
