//! Thresholds. Every verdict names the ones it was judged by.

use super::RejectedAction;
use jiff::SignedDuration;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// The thresholds of an audit. Percentages are 0–100, shares 0–1.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Hours in a month, for every monthly figure.
    pub hours_per_month: Decimal,
    /// Mean GPU utilization below which a workload is overprovisioned.
    pub overprovisioned_below_percent: f64,
    /// Mean GPU utilization below which a workload is underutilized.
    pub underutilized_below_percent: f64,
    /// Hours of samples without which there is no verdict.
    pub min_hours: f64,
    /// Coverage without which there is no verdict, 0–1.
    pub min_coverage: f64,
    /// Coverage from which a verdict counts as measured, 0–1.
    pub measured_coverage: f64,
    /// Days of samples without which nothing is called idle, and days since a stop
    /// without which no storage is called forgotten.
    pub idle_min_days: f64,
    /// Days of samples without which no commitment is advised.
    pub commit_min_days: f64,
    /// p95 of CPU utilization from which an instance with idle GPUs works on something
    /// else and is not stopped.
    pub works_cpu_percent: f64,
    /// VRAM use from which an idle workload counts as holding memory.
    pub idle_held_vram_percent: f64,
    /// Mean above which a workload is saturated.
    pub saturated_above_percent: f64,
    /// p95 from which a workload with a low mean is bursty.
    pub bursty_p95_percent: f64,
    /// Factor on the VRAM peak that a smaller GPU must hold.
    pub vram_headroom: f64,
    /// Factor on the CPU p95 that a smaller type must offer.
    pub vcpu_headroom: f64,
    /// Interruptions a day and node that a plan on the spot market assumes at
    /// least, whatever the published band: prudence, not a measurement.
    pub spot_interruptions_per_day: f64,
    /// Projected GPU utilization that a serving workload may reach elsewhere.
    pub serving_target_percent: f64,
    /// How many times as long work without a deadline may take elsewhere.
    pub slowdown_limit: f64,
    /// How many times as long a request may take on a slower card or slice below
    /// `--risk high`.
    pub max_latency_ratio: f64,
    /// Replicas below which no service shrinks.
    pub min_replicas: u32,
    /// Hours after which a stopped instance has ended, unless it was stopped for
    /// half as long before.
    pub ended_after_hours: f64,
    /// Hours that an instance may have run after the last sample of a fact on which an action
    /// rests.
    pub stale_after_hours: f64,
    /// Tag whose value groups instances into a workload.
    pub workload_tag: String,
    /// Time zone of the week of workloads without a tag for it, by its name in the
    /// IANA database; UTC when absent.
    pub time_zone: Option<String>,
    /// Negotiated discount on on-demand list prices by family, 0–100.
    pub discount_percent: BTreeMap<String, Decimal>,
    /// Actions that the plan does without.
    pub rejected: Vec<RejectedAction>,
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

impl Default for Policy {
    fn default() -> Self {
        Self {
            hours_per_month: Decimal::from(730),
            overprovisioned_below_percent: 25.0,
            underutilized_below_percent: 60.0,
            min_hours: 30.0,
            min_coverage: 0.5,
            measured_coverage: 0.9,
            idle_min_days: 7.0,
            commit_min_days: 7.0,
            works_cpu_percent: 10.0,
            idle_held_vram_percent: 5.0,
            saturated_above_percent: 85.0,
            bursty_p95_percent: 80.0,
            vram_headroom: 1.2,
            vcpu_headroom: 1.2,
            spot_interruptions_per_day: 1.0,
            serving_target_percent: 80.0,
            slowdown_limit: 1.25,
            max_latency_ratio: 2.5,
            min_replicas: 2,
            ended_after_hours: 72.0,
            stale_after_hours: 24.0,
            workload_tag: "gpucost:workload".to_owned(),
            time_zone: None,
            discount_percent: BTreeMap::new(),
            rejected: Vec::new(),
        }
    }
}
