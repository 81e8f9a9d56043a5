//! Catches GPUs of a multi-GPU instance that are never active while others are.
//!
//! Must not be fooled by a GPU that reports nothing or little (absent is not idle), by
//! one that works for an hour now and then, or by an instance that is idle as a whole.

use super::{Need, RuleMeta, Subject};
use crate::domain::{
    ACTIVE_PERCENT, Comparator, Evidence, Finding, GpuUsage, Metric, Samples, Severity, Statistic,
    counted,
};

pub(super) const META: RuleMeta = RuleMeta {
    id: "unused-gpus",
    title: "Unused GPUs next to GPUs in use",
    severity: Severity::Warning,
    needs: &[Need::Utilization, Need::PerGpuUtilization],
};

pub(super) fn applies(subject: &Subject<'_>) -> bool {
    let offer = subject.workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
    subject.workload.key.running
        && offer.is_some_and(|offer| offer.share.visible_devices() > 1)
        // Power speaks for the whole instance; it has no GPUs to compare.
        && !subject.is_judged_by_power()
}

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    let workload = subject.workload;
    let mut unused: Vec<&GpuUsage> = workload.gpus().collect();
    unused.retain(|gpu| workload.never_uses(gpu, subject.policy));
    let rarely: Vec<f64> = workload.gpus().filter_map(GpuUsage::rarely_used_hours).collect();
    let total = workload.visible_gpus()?;
    if unused.is_empty() || unused.len() as u64 == total {
        return None;
    }
    let maxima = unused.iter().filter_map(|gpu| gpu.maxima);
    let largest = maxima.clone().map(|peak| peak.largest).fold(0.0, f64::max);
    let samples = maxima.map(|peak| peak.samples).reduce(Samples::poorer)?;
    let summary = subject.utilization()?;
    let holding = unused.iter().filter(|gpu| gpu.is_allocated() == Some(true)).count();
    let decisive = Evidence::fact(
        "GPUs never active",
        &format!("{} utilization per GPU, every maximum < {ACTIVE_PERCENT}%", summary.source),
        unused.len() as f64,
        (Comparator::AtLeast, 1.0),
        "GPUs",
    );
    let maxima = (Metric::GpuUtilization, Statistic::Maximum);
    let below = (Comparator::LessThan, ACTIVE_PERCENT);
    let samples = (samples.count, samples.coverage());
    let maximum = subject.percent(maxima, "maximum of the unused GPUs", largest, below, samples)?;
    Some(Finding {
        title: format!(
            "{} of {} of {} {} never used{}{}",
            unused.len(),
            counted(total, "GPU", "GPUs"),
            subject.members(),
            if unused.len() == 1 { "is" } else { "are" },
            if holding > 0 {
                format!(", {holding} of which {} VRAM", if holding == 1 { "holds" } else { "hold" })
            } else {
                String::new()
            },
            rarely_used(&rarely)
        ),
        monthly_savings: subject.rightsizing_savings(),
        recommendation: subject.rightsizing_or(
            "use them or move to a type with fewer GPUs",
            &["check device visibility and the launcher's process count first"],
        ),
        ..subject.finding(&META, decisive, [maximum])
    })
}

/// GPUs that work for less than an hour in a hundred, such as `, 1 more is rarely used
/// (3.0 h)`.
fn rarely_used(hours: &[f64]) -> String {
    let Some(most) = hours.iter().copied().reduce(f64::max) else { return String::new() };
    match hours.len() {
        1 => format!(", 1 more is rarely used ({most:.1} h)"),
        many => format!(", {many} more are rarely used (at most {most:.1} h)"),
    }
}
