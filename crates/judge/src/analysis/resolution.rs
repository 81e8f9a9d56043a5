//! Of which machines hours tell what a finer grid would. An hour has the same maximum
//! and, where its readings are spread evenly, the same mean as its periods; of percentiles
//! it has no more than bounds. So what is never used is known by the hour, and everything else
//! needs the grid, because a lever sizes by percentiles.

use super::workloads::{self, Grouped};
use crate::catalog::Prices;
use crate::domain::{
    ACTIVE_PERCENT, HOUR_SECONDS, Member, Outage, Policy, ResourceId, Samples, Signal,
    UtilizationSummary, Workload,
};
use crate::usage::Estate;
use std::collections::BTreeSet;

/// How far the mean of hours may be from that of their periods, in points. Without
/// 2% of its readings, an hour may be off by 2.05; without a quarter of them, the newest of
/// [`LEAST_HOURS`] by 34.
const MEAN_MARGIN_POINTS: f64 = 2.5;
/// How far coverage by the hour may be from that by periods: three of them may be
/// missing in the newest hour.
const COVERAGE_MARGIN: f64 = 0.01;
/// Hours without which the newest one, which may not be whole, weighs too much.
const LEAST_HOURS: f64 = 168.0;

/// The machines of an estate, measured by the hour, whose verdict or levers may depend on
/// a finer grid: those of which an hour is not whole, and all members of each workload of
/// which hours do not tell enough.
pub fn needs_fine_grid(
    estate: &Estate,
    policy: &Policy,
    partial: &BTreeSet<ResourceId>,
) -> BTreeSet<ResourceId> {
    let usage = estate.measured();
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let (groups, _, _) = workloads::group((estate, &usage), &prices, policy);
    let by_hours = ByHours { policy, partial };
    let open = groups.iter().filter(|group| !by_hours.tell_enough(group));
    let mut fine = partial.clone();
    fine.extend(open.flat_map(|group| group.workload.instances.iter().cloned()));
    fine
}

struct ByHours<'a> {
    policy: &'a Policy,
    partial: &'a BTreeSet<ResourceId>,
}

impl ByHours<'_> {
    fn tell_enough(&self, group: &Grouped) -> bool {
        let workload = &*group.workload;
        let is_whole = workload.key.running
            && workload.profile.is_none()
            && !workload.instances.iter().any(|id| self.partial.contains(id))
            && workload.usage.iter().all(|usage| usage.rejected.total() == 0);
        // Without any GPU signal, neither a verdict nor a lever that sizes is possible.
        let is_unmeasured = workload.usage.iter().all(|usage| usage.signal.is_none());
        is_whole && (is_unmeasured || self.is_seen(workload) && self.rests(workload))
    }

    /// Whether so much was seen that a few periods more or less change nothing.
    fn suffices(&self, hours: f64, coverage: f64) -> bool {
        let policy = self.policy;
        hours >= LEAST_HOURS.max(policy.min_hours + 1.0)
            && coverage >= policy.measured_coverage.max(policy.min_coverage) + COVERAGE_MARGIN
    }

    /// Whether the last sample is so new that it is not stale, wherever in its hour it was.
    fn is_fresh(&self, outage: Outage) -> bool {
        let latest = Outage { unseen_seconds: outage.unseen_seconds + HOUR_SECONDS, ..outage };
        !latest.is_stale(self.policy)
    }

    fn is_seen(&self, workload: &Workload) -> bool {
        let of_samples = |samples: Samples| {
            self.suffices(samples.hours(), samples.coverage()) && self.is_fresh(samples.outage)
        };
        let of_summary = |summary: &UtilizationSummary| {
            summary.signal == Signal::GpuUtilization
                && self.suffices(summary.sampled_hours(), summary.coverage())
                && self.is_fresh(summary.outage)
        };
        let is_seen = |summary: Option<&UtilizationSummary>| summary.is_some_and(of_summary);
        is_seen(workload.utilization.as_ref())
            && workload.usage.iter().all(|usage| is_seen(usage.summary.as_ref()))
            && workload.visible_gpus() == Some(workload.gpus().count() as u64)
            && workload.gpus().all(|gpu| {
                of_samples(gpu.samples)
                    && gpu.maxima.is_some_and(|maxima| of_samples(maxima.samples))
            })
    }

    /// Whether no GPU of it reached 1% in any hour, and so in any period.
    fn rests(&self, workload: &Workload) -> bool {
        let is_old = |seconds: i64| self.policy.is_long_enough(seconds - HOUR_SECONDS, 0);
        let never_worked = workload.gpus().all(|gpu| {
            gpu.maxima.is_some_and(|maxima| {
                maxima.largest < ACTIVE_PERCENT && is_old(maxima.observed_seconds)
            }) && !gpu.encodes()
        });
        let holds = workload.gpus().all(|gpu| {
            let samples = gpu.vram.map(|vram| vram.samples);
            samples.is_some_and(|samples| self.suffices(samples.hours(), samples.coverage()))
        });
        let summaries = workload.usage.iter().filter_map(|usage| usage.summary.as_ref());
        never_worked
            && holds
            && workload.members.iter().all(Member::is_idle)
            && summaries.chain(&workload.utilization).all(|summary| {
                is_old(summary.observed_seconds) && self.is_clear(summary.distribution.mean)
            })
    }

    /// Whether a mean is on the same side of every border at either end of its margin.
    fn is_clear(&self, mean: f64) -> bool {
        let policy = self.policy;
        [
            policy.overprovisioned_below_percent, policy.underutilized_below_percent,
            policy.saturated_above_percent,
        ]
        .into_iter()
        .all(|border| (mean - border).abs() > MEAN_MARGIN_POINTS)
    }
}
