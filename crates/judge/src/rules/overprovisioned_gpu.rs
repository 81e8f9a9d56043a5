//! Catches workloads whose GPUs are used below a quarter on average.
//!
//! Must not be fooled by idle ones (they have rules of their own), by bursts (a
//! low mean with a p95 of 80% is said in the title), or by a peak of VRAM that
//! a smaller GPU would not hold. Without a smaller type to run on there is no finding.

pub(super) use super::subject::runs as applies;
use super::{Need, RuleMeta, Subject};
use crate::domain::{
    Classification, Comparator, Finding, Severity, Statistic, UsageState, decimals_apart, floored,
};

pub(super) const META: RuleMeta = RuleMeta {
    id: "overprovisioned-gpu",
    title: "GPUs with low average utilization",
    severity: Severity::Warning,
    needs: &[Need::Utilization],
};

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    if subject.verdict.classification != Classification::Overprovisioned
        || !subject.verdict.is_shrinkable()
        // The rules about idle GPUs say what else works there.
        || subject.verdict.is_idle()
        || subject.proposals.nothing_less_would_do
    {
        return None;
    }
    let summary = subject.utilization()?;
    let decisive = subject
        .mean_evidence(Comparator::LessThan, subject.policy.overprovisioned_below_percent)?;
    let p95 = subject.sampled(
        "p95",
        Statistic::Average,
        summary.distribution.p95,
        Comparator::LessThan,
        subject.policy.bursty_p95_percent,
    );
    let mean = summary.distribution.mean;
    let decimals = decimals_apart(mean, decisive.threshold);
    let idle_hours = summary
        .idle_share
        .filter(|share| *share >= 0.5 && subject.workload.measured().sees_every_gpu())
        .map(|share| format!(", idle {}% of the time", floored(share * 100.0, 0)));
    // The comparison is evidence only where it holds.
    let further = p95.filter(|p95| p95.observed < p95.threshold);
    Some(Finding {
        title: format!(
            "{} has {mean:.decimals$}% average utilization{}{}",
            subject.fleet(),
            idle_hours.unwrap_or_default(),
            if subject.verdict.state == Some(UsageState::Bursty) { ", in bursts" } else { "" }
        ),
        monthly_savings: subject.rightsizing_savings(),
        recommendation: if summary.idle_share.is_some_and(|share| share >= 0.5) {
            subject.shrinking_or(
                "run only during the hours of use",
                &[
                    "start before the work and stop after it, by schedule or from the \
                     job itself",
                    "consider a smaller GPU with enough VRAM for the peak",
                ],
            )
        } else {
            subject.shrinking_or(
                "consolidate or share",
                &[
                    "put several replicas or models on one GPU where VRAM allows",
                    "consider a smaller GPU with enough VRAM for the peak",
                ],
            )
        },
        ..subject.finding(&META, decisive, further)
    })
}
