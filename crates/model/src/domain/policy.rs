//! Thresholds, and actions that a plan does without. Every verdict names the thresholds that it was
//! judged by.

use super::named::with_defaults;
use super::{ActionKind, matches_pattern};
use jiff::SignedDuration;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

with_defaults! {
    /// The thresholds of an audit. Percentages are 0–100, shares 0–1.
    #[derive(Debug, Clone, PartialEq)]
    Policy {
        /// Hours in a month, for every monthly figure.
        hours_per_month: Decimal = Decimal::from(730),
        /// Mean GPU utilization below which a workload is overprovisioned.
        overprovisioned_below_percent: f64 = 25.0,
        /// Mean GPU utilization below which a workload is underutilized.
        underutilized_below_percent: f64 = 60.0,
        /// Hours of samples without which there is no verdict.
        min_hours: f64 = 30.0,
        /// Coverage without which there is no verdict, 0–1.
        min_coverage: f64 = 0.5,
        /// Coverage from which a verdict counts as measured, 0–1.
        measured_coverage: f64 = 0.9,
        /// Days of samples without which nothing is called idle, and days since a stop
        /// without which no storage is called forgotten.
        idle_min_days: f64 = 7.0,
        /// Days of samples without which no commitment is advised.
        commit_min_days: f64 = 7.0,
        /// p95 of CPU utilization from which an instance with idle GPUs works on something
        /// else and is not stopped.
        works_cpu_percent: f64 = 10.0,
        /// VRAM use from which an idle workload counts as holding memory.
        idle_held_vram_percent: f64 = 5.0,
        /// Mean above which a workload is saturated.
        saturated_above_percent: f64 = 85.0,
        /// p95 from which a workload with a low mean is bursty.
        bursty_p95_percent: f64 = 80.0,
        /// Factor on the VRAM peak that a smaller GPU must hold.
        vram_headroom: f64 = 1.2,
        /// Factor on the CPU p95 that a smaller type must offer.
        vcpu_headroom: f64 = 1.2,
        /// Interruptions a day and node that a plan on the spot market assumes at
        /// least, whatever the published band: prudence, not a measurement.
        spot_interruptions_per_day: f64 = 1.0,
        /// Projected GPU utilization that a serving workload may reach elsewhere.
        serving_target_percent: f64 = 80.0,
        /// How many times as long work without a deadline may take elsewhere.
        slowdown_limit: f64 = 1.25,
        /// How many times as long a request may take on a slower card or slice below
        /// `--risk high`.
        max_latency_ratio: f64 = 2.5,
        /// Replicas below which no service shrinks.
        min_replicas: u32 = 2,
        /// Hours after which a stopped instance has ended, unless it was stopped for
        /// half as long before.
        ended_after_hours: f64 = 72.0,
        /// Hours that an instance may have run after the last sample of a fact on which an action
        /// rests.
        stale_after_hours: f64 = 24.0,
        /// Tag whose value groups instances into a workload.
        workload_tag: String = "gpucost:workload".to_owned(),
        /// Time zone of the week of workloads without a tag for it, by its name in the
        /// IANA database; UTC when absent.
        time_zone: Option<String> = None,
        /// Negotiated discount on on-demand list prices by family, 0–100.
        discount_percent: BTreeMap<String, Decimal> = BTreeMap::new(),
        /// Actions that the plan does without.
        rejected: Vec<RejectedAction> = Vec::new(),
    }
}

impl Policy {
    /// How long something must have been idle or stopped before anybody calls it
    /// forgotten: [`Self::idle_min_days`].
    pub fn idle_grace(&self) -> SignedDuration {
        SignedDuration::from_secs((self.idle_min_days * 86_400.0) as i64)
    }

    /// Whether something was observed for as many days as idleness takes, less a
    /// period at either end, which a window may cut off.
    pub fn is_long_enough(&self, observed_seconds: i64, period_seconds: u32) -> bool {
        let observed = observed_seconds + 2 * i64::from(period_seconds);
        observed as f64 >= self.idle_min_days * 86_400.0
    }
}

/// An action that a person decided against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedAction {
    /// The ID or name of a workload, in which `*` stands for anything.
    pub workload: String,
    pub action: ActionKind,
    pub reason: String,
}

impl RejectedAction {
    /// Whether it is about the workload of this ID and name; `ids` are those of all workloads in
    /// scope. What is the ID of one of them is about that one alone: whoever may tag an instance
    /// chooses its name, and names of groups, which IDs end with, may have a `*`.
    pub fn is_about(&self, id: &str, name: &str, ids: &BTreeSet<String>) -> bool {
        if ids.contains(&self.workload) {
            return id == self.workload;
        }
        let mut names = [id, name].into_iter();
        names.any(|called| called == self.workload || matches_pattern(&self.workload, called))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(workload: &str) -> RejectedAction {
        RejectedAction {
            workload: workload.to_owned(),
            action: ActionKind::Spot,
            reason: "the queue cannot wait".to_owned(),
        }
    }

    #[test]
    fn a_rejection_is_about_an_id_a_name_or_a_pattern() {
        let ids = BTreeSet::from(["i-1".to_owned()]);
        assert!(of("i-1").is_about("i-1", "web", &ids));
        assert!(of("web").is_about("i-1", "web", &ids));
        assert!(of("w*").is_about("i-1", "web", &ids));
        assert!(!of("we").is_about("i-1", "web", &ids));
        // A name may have an asterisk of its own.
        assert!(of("a*b*").is_about("i-1", "a*b*", &ids));
    }

    #[test]
    fn an_id_is_about_its_workload_alone() {
        let ids = ["i-1", "i-2", "a/tag:*", "a/tag:x"].map(str::to_owned);
        let ids = BTreeSet::from(ids);
        // Another instance bears it as its name.
        assert!(!of("i-1").is_about("i-2", "i-1", &ids));
        assert!(of("i-1").is_about("i-1", "web", &ids));
        // A group is called `*`.
        assert!(of("a/tag:*").is_about("a/tag:*", "*", &ids));
        assert!(!of("a/tag:*").is_about("a/tag:x", "x", &ids));
        // No ID is that, so that it is a pattern.
        assert!(of("a/*").is_about("a/tag:x", "x", &ids));
    }
}
