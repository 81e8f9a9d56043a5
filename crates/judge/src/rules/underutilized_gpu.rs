//! Catches workloads whose GPUs are used between a quarter and 60% on average.
//!
//! Must not be fooled by saturation in part of the hours: those peaks need the
//! capacity, and the title says so. Without a smaller type to run on there is no finding.

pub(super) use super::subject::runs as applies;
use super::{Need, RuleMeta, Subject};
use crate::domain::{Classification, Comparator, Finding, Severity, UsageState, decimals_apart};

pub(super) const META: RuleMeta = RuleMeta {
    id: "underutilized-gpu",
    title: "GPUs with moderate average utilization",
    severity: Severity::Info,
    needs: &[Need::Utilization],
};

const PROFILE: &str = "profile a run: check input pipeline, batch size and transfers first";
const SHARE: &str = "share the GPU with a second workload where VRAM allows";

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    if subject.verdict.classification != Classification::Underutilized
        || subject.proposals.nothing_less_would_do
    {
        return None;
    }
    let mean = subject.utilization()?.distribution.mean;
    let decisive =
        subject.mean_evidence(Comparator::LessThan, subject.policy.underutilized_below_percent)?;
    let decimals = decimals_apart(mean, decisive.threshold);
    let lower =
        subject.mean_evidence(Comparator::AtLeast, subject.policy.overprovisioned_below_percent);
    let saturated = subject.verdict.state == Some(UsageState::Saturated);
    // A managed service shares no host.
    let steps: &[&str] =
        if subject.workload.key.component().is_some() { &[PROFILE] } else { &[PROFILE, SHARE] };
    Some(Finding {
        title: format!(
            "{} has {mean:.decimals$}% average utilization{}",
            subject.fleet(),
            if saturated { ", with saturated hours" } else { "" }
        ),
        monthly_savings: subject.rightsizing_savings(),
        recommendation: subject.rightsizing_or("find the bottleneck before buying more", steps),
        ..subject.finding(&META, decisive, lower)
    })
}
