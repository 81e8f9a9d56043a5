//! Warns about serving fleets that have no room left.
//!
//! Must not be fooled by training and batch, where a full GPU is the aim.

use super::classification::SATURATED_HOURS_SHARE;
use super::{Need, RuleMeta, Subject};
use crate::domain::{
    Comparator, Confidence, Finding, FindingKind, KindBasis, Recommendation, Severity, Statistic,
    UsageState, WorkloadKind, decimals_apart, floored,
};

pub(super) const META: RuleMeta = RuleMeta {
    id: "saturated-gpu",
    title: "Serving without headroom",
    severity: Severity::Warning,
    needs: &[Need::Utilization],
};

pub(super) fn applies(subject: &Subject<'_>) -> bool {
    // Only where somebody waits for an answer.
    subject.workload.key.running && subject.workload.kind == WorkloadKind::Serving
}

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    if subject.verdict.state != Some(UsageState::Saturated) {
        return None;
    }
    let summary = subject.utilization()?;
    let mean =
        subject.mean_evidence(Comparator::GreaterThan, subject.policy.saturated_above_percent)?;
    let hours = subject.sampled(
        "share of hours above 95%",
        Statistic::Average,
        summary.saturated_hours_share * 100.0,
        Comparator::AtLeast,
        SATURATED_HOURS_SHARE * 100.0,
    )?;
    let decimals = decimals_apart(mean.observed, mean.threshold);
    let decisive = if mean.observed > mean.threshold { mean } else { hours };
    Some(Finding {
        // That it serves is known from a tag at best.
        confidence: subject.confidence().min(match subject.workload.kind_basis {
            KindBasis::Declared => Confidence::Derived,
            KindBasis::Guessed | KindBasis::Unknown => Confidence::Heuristic,
        }),
        kind: FindingKind::Risk,
        title: format!(
            "{} serves at {:.decimals$}% on average, above 95% in {}% of the hours",
            subject.fleet(),
            summary.distribution.mean,
            floored(summary.saturated_hours_share * 100.0, 0)
        ),
        recommendation: Recommendation {
            action: "scale out before downsizing".to_owned(),
            steps: vec![
                "compare latency in saturated hours with other hours".to_owned(),
                "add a replica or raise the scaling limit".to_owned(),
            ],
            ..Recommendation::default()
        },
        ..subject.finding(&META, decisive, [])
    })
}
