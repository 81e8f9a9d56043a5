//! Catches GPUs that report work and draw hardly any power: a hung collective, a kernel that
//! spins on a lock, a deadlocked step.
//!
//! Must not be fooled by utilization, which reads 100% for all of them, nor by light kernels:
//! memory-bound work draws far more than an idle card. Without power it is silent.

use super::classification::{STALLED_FROM_PERCENT, stalled_below_watts};
use super::{Need, Rule, RuleMeta, Subject};
use crate::domain::{
    Classification, Comparator, Evidence, Finding, FindingKind, Judgement, Observation,
    Recommendation, Severity, UsageState, decimals_apart,
};

pub struct StalledGpu;

const META: RuleMeta = RuleMeta {
    id: "stalled-gpu",
    title: "GPUs that report work and draw no power for it",
    severity: Severity::Critical,
    needs: &[Need::Utilization, Need::Power],
};

impl Rule for StalledGpu {
    fn meta(&self) -> &'static RuleMeta {
        &META
    }

    fn applies(&self, subject: &Subject<'_>) -> bool {
        // Less busy GPUs cannot be stalled, and power alone is no contradiction to anything.
        subject.workload.key.running
            && subject.verdict.classification == Classification::WellUtilized
            && !subject.is_judged_by_power()
            && stalled_below_watts(subject.workload.shape.as_ref()).is_some()
    }

    fn check(&self, subject: &Subject<'_>) -> Option<Finding> {
        if subject.verdict.state != Some(UsageState::Stalled) {
            return None;
        }
        let threshold = stalled_below_watts(subject.workload.shape.as_ref())?;
        let powers = subject.workload.gpus().filter_map(|gpu| gpu.power);
        let watts = powers.filter_map(|power| power.p95_w).reduce(f64::max)?;
        let mean = subject.utilization()?.distribution.mean;
        let decimals = decimals_apart(watts, threshold);
        let at_stake = subject
            .workload
            .monthly_cost()
            .map_or_else(String::new, |cost| {
                format!(
                    ": {} {:.2} per month at stake",
                    cost.currency(),
                    cost.amount()
                )
            });
        let judgement = Judgement {
            severity: META.severity,
            confidence: subject.confidence(),
            kind: FindingKind::Risk,
            title: format!(
                "{} is stalled: {mean:.1}% average utilization at {watts:.decimals$} W (p95), \
                 little more than the idle draw{at_stake}",
                subject.members()
            ),
            // Work that should be done saves nothing by being stopped.
            monthly_savings: None,
            recommendation: Recommendation {
                action: "find out what the GPUs wait for".to_owned(),
                to: subject.idle_members(),
                steps: [
                    "check the logs of the job for steps per second or requests: they should have \
                     stopped",
                    "dump the stacks of its processes (`py-spy dump --pid PID`): a hung collective \
                     waits in the same call on all ranks but one",
                    "restart from the last checkpoint, and set a timeout for collectives",
                ]
                .map(str::to_owned)
                .into(),
                caveats: Vec::new(),
            },
        };
        let decisive = Evidence {
            observation: Observation::Fact {
                name: "p95 of the power draw of the GPU that draws most",
                origin: "idle draw and 15% of the way from there to the limit".to_owned(),
            },
            observed: watts,
            comparator: Comparator::AtMost,
            threshold,
            unit: "W",
        };
        let busy = subject.mean_evidence(Comparator::AtLeast, STALLED_FROM_PERCENT)?;
        Some(Finding::new(
            META.id,
            subject.workload.id(),
            judgement,
            decisive,
            vec![busy],
        ))
    }
}
