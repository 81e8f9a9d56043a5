//! Catches GPUs that report work and do none, by their power or by the activity of their
//! multiprocessors: a hung collective, a kernel that spins on a lock, a deadlocked step.
//!
//! Must not be fooled by utilization, which reads 100% for all of them, nor by light kernels:
//! memory-bound work draws far more than an idle card. Without power and activity it is silent.

use super::classification::{STALLED_FROM_PERCENT, Standstill, stalled_below_watts, standstill};
use super::{Need, RuleMeta, Subject};
use crate::domain::{
    Classification, Comparator, Evidence, Finding, FindingKind, RESTING_SM_PERCENT, Recommendation,
    Severity, UsageState, decimals_apart,
};

pub(super) const META: RuleMeta = RuleMeta {
    id: "stalled-gpu",
    title: "GPUs that report work and do none",
    severity: Severity::Critical,
    needs: &[Need::Utilization, Need::PowerOrSm],
};

pub(super) fn applies(subject: &Subject<'_>) -> bool {
    // Less busy GPUs cannot be stalled, and power alone is no contradiction to anything.
    subject.workload.key.running
        && subject.verdict.classification == Classification::WellUtilized
        && !subject.is_judged_by_power()
        && (stalled_below_watts(subject.workload.shape.as_ref()).is_some()
            || subject.has(Need::PowerOrSm))
}

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    if subject.verdict.state != Some(UsageState::Stalled) {
        return None;
    }
    let (shape, policy) = (subject.workload.shape.as_ref(), subject.policy);
    let usage = subject.workload.usage.iter();
    let standstills = usage.filter_map(|member| standstill(&member.gpus, shape, policy));
    // Of members that different signs speak for, those of the activity are shown.
    let standstill = standstills.reduce(|left, right| if left < right { right } else { left })?;
    let mean = subject.utilization()?.distribution.mean;
    let (said, decisive) = shown(standstill);
    let at_stake = subject.workload.monthly_cost().map_or_else(String::new, |cost| {
        format!(": {} {:.2} per month at stake", cost.currency(), cost.amount())
    });
    let busy = subject.mean_evidence(Comparator::AtLeast, STALLED_FROM_PERCENT)?;
    Some(Finding {
        kind: FindingKind::Risk,
        title: format!(
            "{} is stalled: {mean:.1}% average utilization at {said}{at_stake}",
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
        ..subject.finding(&META, decisive, [busy])
    })
}

/// What shows that GPUs do no work, in words and as evidence.
fn shown(standstill: Standstill) -> (String, Evidence) {
    match standstill {
        Standstill::Power { watts, rests_up_to } => {
            let decimals = decimals_apart(watts, rests_up_to);
            let said = format!("{watts:.decimals$} W (p95), little more than the idle draw");
            let figure = "p95 of the power draw of the GPU that draws most";
            let origin = "idle draw and 15% of the way from there to the limit";
            (said, Evidence::fact(figure, origin, watts, (Comparator::AtMost, rests_up_to), "W"))
        }
        Standstill::Sm { percent } => {
            let decimals = decimals_apart(percent, RESTING_SM_PERCENT);
            let said = format!("{percent:.decimals$}% SM activity (p95)");
            let figure = "p95 of the SM activity of the busiest GPU";
            let origin = "SM activity that no work keeps below";
            let beside = (Comparator::LessThan, RESTING_SM_PERCENT);
            (said, Evidence::fact(figure, origin, percent, beside, "%"))
        }
    }
}
