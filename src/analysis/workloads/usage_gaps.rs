//! What is not known of the time and the metrics of a workload.

use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, InstanceUsage, Metric, Outage, POINT_REJECTIONS, Policy,
    Rejected, Samples, UtilizationSummary,
};
use jiff::Timestamp;

/// Notes the facts of instances on which no action may rest, up to the end of a window. What a
/// verdict cannot rest on is the reason of that verdict.
pub(super) fn outage_gaps(
    (id, usage): (&str, &[InstanceUsage]),
    utilization: Option<&UtilizationSummary>,
    (policy, end): (&Policy, Timestamp),
    gaps: &mut Vec<Gap>,
) {
    let is_said = utilization.is_some_and(|summary| summary.outage.forbids(policy));
    let of_gpus = |samples: fn(&InstanceUsage) -> Vec<Samples>| -> Outage {
        let outages = usage.iter().flat_map(samples).map(|samples| samples.outage);
        outages.filter(|outage| outage.forbids(policy)).fold(Outage::default(), Outage::plus)
    };
    let utilization = of_gpus(|instance| {
        let gpus = instance.gpus.iter();
        gpus.flat_map(|gpu| [Some(gpu.samples), gpu.maxima.map(|maxima| maxima.samples)])
            .flatten()
            .collect()
    });
    let vram = of_gpus(|instance| {
        instance.gpus.iter().filter_map(|gpu| Some(gpu.vram?.samples)).collect()
    });
    let cpu = of_gpus(|instance| instance.cpu_samples.into_iter().collect());
    let network =
        of_gpus(|instance| instance.network.iter().map(|network| network.samples).collect());
    let facts = [
        (GapSubject::GpuUtilization, utilization),
        (GapSubject::VramUse, vram),
        (GapSubject::CpuUtilization, cpu),
        (GapSubject::Metric(Metric::NetworkIn), network),
    ];
    for (subject, outage) in facts {
        let is_reason = subject == GapSubject::GpuUtilization && is_said;
        if let Some(words) = outage.in_words(policy, end).filter(|_| !is_reason) {
            gaps.push(Gap::of(subject, id, Cause::of(CauseKind::SamplesOutage, [&words])));
        }
    }
}

/// Notes the gaps of a workload, whose instances were used like this.
pub(super) fn usage_gaps(id: &str, usage: &[InstanceUsage], gaps: &mut Vec<Gap>) {
    let total = usage.len();
    let some = |kind, part: usize| Cause::of(kind, [&part.to_string(), &total.to_string()]);
    let unproved = usage.iter().filter(|usage| !usage.running.proved).count();
    if unproved > 0 {
        let cause = some(CauseKind::RunningTimeAssumed, unproved);
        gaps.push(Gap::of(GapSubject::RunningTime, id, cause));
    }
    let unmeasured = usage.iter().filter(|usage| usage.signal.is_none()).count();
    if unmeasured > 0 && unmeasured < total {
        let cause = some(CauseKind::GpuMetricsPartial, unmeasured);
        gaps.push(Gap::of(GapSubject::GpuUtilization, id, cause));
    }
    let rejected = usage.iter().fold(Rejected::default(), |sum, usage| sum.plus(usage.rejected));
    if rejected.total() > 0 {
        let counts = [
            rejected.not_a_number, rejected.negative, rejected.over_100, rejected.duplicate,
            rejected.future,
        ];
        let parts = counts.iter().zip(POINT_REJECTIONS).filter(|(count, _)| **count > 0);
        let parts: Vec<String> = parts.map(|(count, reason)| format!("{count} {reason}")).collect();
        let cause =
            Cause::of(CauseKind::PointsDropped, [&rejected.total().to_string(), &parts.join(", ")]);
        gaps.push(Gap::of(GapSubject::MetricPoints, id, cause));
    }
}
