//! Catches GPUs of a multi-GPU instance that are never active while others are.
//!
//! Must not be fooled by a GPU that reports nothing or little (absent is not idle), by
//! one that works for an hour now and then, or by an instance that is idle as a whole.

use super::{Need, Rule, RuleMeta, Subject};
use crate::domain::{
    ACTIVE_PERCENT, Assessment, Comparator, Evidence, Finding, FindingKind, GpuUsage, Metric,
    Observation, Samples, Severity, Statistic, counted,
};

pub struct UnusedGpus;

const META: RuleMeta = RuleMeta {
    id: "unused-gpus",
    title: "Unused GPUs next to GPUs in use",
    severity: Severity::Warning,
    needs: &[Need::Utilization, Need::PerGpuUtilization],
};

impl Rule for UnusedGpus {
    fn meta(&self) -> &'static RuleMeta {
        &META
    }

    fn applies(&self, subject: &Subject<'_>) -> bool {
        let devices = subject
            .workload
            .shape
            .as_ref()
            .and_then(|shape| shape.gpu.as_ref())
            .map(|offer| offer.share.visible_devices());
        subject.workload.key.running
            && devices.is_some_and(|devices| devices > 1)
            // Power speaks for the whole instance; it has no GPUs to compare.
            && !subject.is_judged_by_power()
    }

    fn check(&self, subject: &Subject<'_>) -> Option<Finding> {
        let unused: Vec<&GpuUsage> = subject
            .workload
            .gpus()
            .filter(|gpu| subject.workload.never_uses(gpu, subject.policy))
            .collect();
        let rarely: Vec<f64> =
            subject.workload.gpus().filter_map(GpuUsage::rarely_used_hours).collect();
        let total = subject.workload.visible_gpus()?;
        if unused.is_empty() || unused.len() as u64 == total {
            return None;
        }
        let maxima = unused.iter().filter_map(|gpu| gpu.maxima);
        let largest = maxima.clone().map(|peak| peak.largest).fold(0.0, f64::max);
        let samples = maxima.map(|peak| peak.samples).reduce(Samples::poorer)?;
        let summary = subject.utilization()?;
        let holding = unused.iter().filter(|gpu| gpu.is_allocated() == Some(true)).count();
        let decisive = Evidence {
            observation: Observation::Fact {
                name: "GPUs never active",
                origin: format!(
                    "{} utilization per GPU, every maximum < {ACTIVE_PERCENT}%",
                    summary.source
                ),
            },
            observed: unused.len() as f64,
            comparator: Comparator::AtLeast,
            threshold: 1.0,
            unit: "GPUs",
        };
        let maximum = Evidence {
            observation: Observation::Sampled {
                metric: Metric::GpuUtilization,
                statistic: Statistic::Maximum,
                figure: "maximum of the unused GPUs",
                source: summary.source,
                window: summary.window,
                n_samples: samples.count,
                coverage: samples.coverage(),
            },
            observed: largest,
            comparator: Comparator::LessThan,
            threshold: ACTIVE_PERCENT,
            unit: "%",
        };
        let judgement = Assessment {
            severity: META.severity,
            confidence: subject.confidence(),
            kind: FindingKind::Optimization,
            title: format!(
                "{} of {} of {} {} never used{}{}",
                unused.len(),
                counted(total, "GPU", "GPUs"),
                subject.members(),
                if unused.len() == 1 { "is" } else { "are" },
                if holding > 0 {
                    format!(
                        ", {holding} of which {} VRAM",
                        if holding == 1 { "holds" } else { "hold" }
                    )
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
        };
        Some(Finding::new(META.id, subject.workload.id(), judgement, decisive, vec![maximum]))
    }
}

/// GPUs that work for less than an hour in a hundred, such as `, 1 more is rarely used
/// (3.0 h)`.
fn rarely_used(hours: &[f64]) -> String {
    let Some(most) = hours.iter().copied().reduce(f64::max) else {
        return String::new();
    };
    match hours.len() {
        1 => format!(", 1 more is rarely used ({most:.1} h)"),
        many => format!(", {many} more are rarely used (at most {most:.1} h)"),
    }
}
