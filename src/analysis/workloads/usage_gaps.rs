//! What is not known of the time and the metrics of a workload.

use crate::domain::{Cause, CauseKind, Gap, GapSubject, InstanceUsage, POINT_REJECTIONS, Rejected};

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
    let rejected = usage
        .iter()
        .fold(Rejected::default(), |sum, usage| sum.plus(usage.rejected));
    if rejected.total() > 0 {
        let counts = [
            rejected.not_a_number,
            rejected.negative,
            rejected.over_100,
            rejected.duplicate,
            rejected.future,
        ];
        let parts: Vec<String> = counts
            .iter()
            .zip(POINT_REJECTIONS)
            .filter(|(count, _)| **count > 0)
            .map(|(count, reason)| format!("{count} {reason}"))
            .collect();
        let cause = Cause::of(
            CauseKind::PointsDropped,
            [&rejected.total().to_string(), &parts.join(", ")],
        );
        gaps.push(Gap::of(GapSubject::MetricPoints, id, cause));
    }
}
