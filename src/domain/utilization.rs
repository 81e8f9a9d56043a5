//! Utilization of an instance or workload over a window.

use super::named::named_enum;
use super::{Metric, Outage, Policy, SeriesSource, Window};

/// A GPU below this percentage at its 99th percentile was never active, and a
/// period whose maximum is below it was idle.
pub const ACTIVE_PERCENT: f64 = 1.0;

/// An hour with a mean above this percentage is close to what the GPUs can do.
pub const SATURATED_HOUR_PERCENT: f64 = 95.0;

named_enum! {
    /// What a verdict was judged on.
    Signal {
        /// GPU utilization, the signal that everybody has.
        GpuUtilization = "gpu_utilization",
        /// Power alone, where nothing better is observable.
        GpuPowerUtilization = "gpu_power_utilization",
    }
}

impl Signal {
    /// The signal that a metric is.
    pub fn of(metric: Metric) -> Option<Self> {
        match metric {
            Metric::GpuUtilization => Some(Self::GpuUtilization),
            Metric::GpuPowerUtilization => Some(Self::GpuPowerUtilization),
            _ => None,
        }
    }
}

/// The usual figures of one set of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distribution {
    pub mean: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

/// Utilization of an instance or workload over the window. Percentages are
/// 0–100, shares and coverage 0–1.
#[derive(Debug, Clone, PartialEq)]
pub struct UtilizationSummary {
    pub signal: Signal,
    pub source: SeriesSource,
    pub window: Window,
    /// What a sample stands for: the coarsest of the series behind it.
    pub period_seconds: u32,
    /// Mean and percentiles over time of the mean over all GPUs, from averages.
    pub distribution: Distribution,
    /// Largest maximum of any GPU.
    pub max: f64,
    /// Share of periods in which no GPU reached 1%; absent without maxima.
    pub idle_share: Option<f64>,
    /// 99th percentile over time of the largest maximum; absent without maxima.
    pub maximum_p99: Option<f64>,
    /// Share of the hours with data in which a GPU reached 1%, 0–1; absent without maxima.
    pub active_hours_share: Option<f64>,
    /// Periods of any seven days in which a GPU averaged at least 5%, at most.
    pub working_periods_a_week: u64,
    /// From the first period that counts to the end of the last one.
    pub observed_seconds: i64,
    /// Largest sum over all GPUs in one period, percent of one GPU, from averages.
    pub largest_sum_percent: f64,
    /// Share of hours with a mean above 95%.
    pub saturated_hours_share: f64,
    /// Periods that count.
    pub n_samples: u64,
    /// Periods in which it ran.
    pub expected_samples: u64,
    /// What is missing of them for good.
    pub outage: Outage,
}

impl UtilizationSummary {
    /// Share of the expected samples that are there, 0–1.
    pub fn coverage(&self) -> f64 {
        if self.expected_samples == 0 {
            return 0.0;
        }
        self.n_samples as f64 / self.expected_samples as f64
    }

    /// Whether it is enough for a verdict.
    pub fn suffices(&self, policy: &Policy) -> bool {
        self.sampled_hours() >= policy.min_hours
            && self.coverage() >= policy.min_coverage
            && !self.outage.forbids(policy)
    }

    pub fn sampled_hours(&self) -> f64 {
        self.n_samples as f64 * f64::from(self.period_seconds) / 3600.0
    }
}
