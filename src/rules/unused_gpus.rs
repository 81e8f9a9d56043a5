//! Catches GPUs of a multi-GPU instance that are never active while others are.
//!
//! Must not be fooled by a GPU that reports nothing (absent is not idle), or by
//! an instance that is idle as a whole.

use super::subject::coverage;
use super::{Need, Rule, RuleMeta, Subject};
use crate::domain::{
    ACTIVE_PERCENT, Comparator, Evidence, Finding, FindingKind, GpuUsage, Judgement, Metric,
    Observation, Severity, Statistic,
};

/// The rule.
pub struct UnusedGpus;

const META: RuleMeta = RuleMeta {
    id: "unused-gpus",
    title: "GPUs that are never used beside others that are",
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
            .filter(|gpu| gpu.is_active() == Some(false))
            .collect();
        let total = subject.workload.visible_gpus()?;
        if unused.is_empty() || unused.len() as u64 == total {
            return None;
        }
        let busiest_unused = unused
            .iter()
            .filter_map(|gpu| gpu.utilization)
            .map(|utilization| utilization.p99)
            .fold(0.0, f64::max);
        let summary = subject.utilization()?;
        let fewest_samples = unused.iter().map(|gpu| gpu.n_samples).min()?;
        let holding = unused
            .iter()
            .filter(|gpu| gpu.is_allocated() == Some(true))
            .count();
        let decisive = Evidence {
            observation: Observation::Fact {
                name: "GPUs never active",
                origin: format!("{} utilization per GPU, p99 < 1 %", summary.source),
            },
            observed: unused.len() as f64,
            comparator: Comparator::AtLeast,
            threshold: 1.0,
            unit: "GPUs",
        };
        let p99 = Evidence {
            observation: Observation::Sampled {
                metric: Metric::GpuUtilization,
                statistic: Statistic::Average,
                figure: "largest p99 of the unused",
                source: summary.source,
                window: summary.window,
                n_samples: fewest_samples,
                coverage: coverage(fewest_samples, summary),
            },
            observed: busiest_unused,
            comparator: Comparator::LessThan,
            threshold: ACTIVE_PERCENT,
            unit: "%",
        };
        let judgement = Judgement {
            severity: META.severity,
            confidence: subject.confidence(),
            kind: FindingKind::Optimization,
            title: format!(
                "{} of {total} GPUs of {} are never used{}",
                unused.len(),
                subject.fleet(),
                if holding > 0 {
                    format!(", {holding} of them hold VRAM")
                } else {
                    String::new()
                }
            ),
            monthly_savings: subject
                .offers
                .rightsize
                .as_ref()
                .map(|found| found.action.monthly_savings()),
            recommendation: subject.rightsizing_or(
                "use them or move to a type with fewer",
                &["check device visibility and the launcher's process count first"],
            ),
        };
        Some(Finding::new(
            META.id,
            subject.workload.id(),
            judgement,
            decisive,
            vec![p99],
        ))
    }
}
