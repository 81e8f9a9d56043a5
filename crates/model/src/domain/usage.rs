//! The figures that verdicts are made of.

use super::named::named_enum;
use super::{
    Metric, Outage, Policy, Rejected, ResourceId, RunningTime, Samples, SeriesSource, Window,
};

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

/// Share of its VRAM from which something is allocated on a GPU, percent: less
/// is what a driver takes for itself.
const ALLOCATED_VRAM_PERCENT: f64 = 5.0;

/// Share of its VRAM from which an engine may have taken all that it could, percent.
const RESERVED_VRAM_PERCENT: f64 = 85.0;
/// VRAM in use that differs by less than this share of its peak is flat, percent.
const FLAT_VRAM_PERCENT: f64 = 2.0;

/// VRAM figures, per GPU in MiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VramSummary {
    /// Largest maximum.
    pub peak_mib: f64,
    /// 95th percentile of averages; absent without averages.
    pub p95_mib: Option<f64>,
    /// Samples behind the peak.
    pub samples: Samples,
    /// Size of the card: as the driver reports it, else as the type offers it.
    pub total_mib: Option<f64>,
    /// Whether it is what an engine took ahead, so that it says nothing about the need.
    pub is_reserved: bool,
}

impl VramSummary {
    /// Whether memory in use between two bounds, on a card of a size, was taken ahead: nearly
    /// all of the card, and always the same.
    pub fn says_reserved(least_mib: f64, peak_mib: f64, card_mib: f64) -> bool {
        card_mib > 0.0
            && peak_mib * 100.0 >= card_mib * RESERVED_VRAM_PERCENT
            && (peak_mib - least_mib) * 100.0 < peak_mib * FLAT_VRAM_PERCENT
    }

    /// What tells that a card of a size is in use and not only its driver, MiB.
    pub fn in_use_from_mib(card_mib: f64) -> f64 {
        card_mib * ALLOCATED_VRAM_PERCENT / 100.0
    }

    /// Peak as a percentage of the card; absent when its size is unknown.
    pub fn peak_percent(&self) -> Option<f64> {
        let total = self.total_mib.filter(|total| *total > 0.0)?;
        Some(self.peak_mib / total * 100.0)
    }
}

/// Share of its VRAM above which a GPU may run out, percent.
pub const NEARLY_FULL_VRAM_PERCENT: f64 = 85.0;

/// Power draw of one GPU, in watts, from averages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerSummary {
    pub mean_w: f64,
    /// 95th percentile; absent where readings were kept by their sum alone.
    pub p95_w: Option<f64>,
    pub samples: Samples,
}

/// Activity of the multiprocessors below which a GPU does no work, p95 in percent.
pub const RESTING_SM_PERCENT: f64 = 5.0;

/// Activity of the multiprocessors of one GPU, from averages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmSummary {
    /// 95th percentile, 0–100.
    pub p95_percent: f64,
    pub samples: Samples,
}

/// Maxima of the utilization of one GPU: what tells work that averages hide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Maxima {
    /// The largest, percent.
    pub largest: f64,
    /// Time in periods whose maximum reached 1%.
    pub active_seconds: u64,
    /// From the first sample to the end of the last one.
    pub observed_seconds: i64,
    pub samples: Samples,
}

/// Traffic of one instance, as far as both directions were measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkUse {
    /// Received in the busiest hour, Gbit/s.
    pub received_gbps: f64,
    /// Sent in the busiest hour, Gbit/s.
    pub sent_gbps: f64,
    /// How much was seen of the direction with fewer samples.
    pub samples: Samples,
}

impl NetworkUse {
    /// The busier direction in its busiest hour, Gbit/s.
    pub fn busiest_gbps(self) -> f64 {
        self.received_gbps.max(self.sent_gbps)
    }
}

/// One day of UTC of one GPU, in hundredths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuDay {
    /// Days since the Unix epoch.
    pub day: i32,
    /// Mean of its averages.
    pub mean: u16,
    /// Largest of its averages.
    pub largest: u16,
}

/// One GPU of one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuUsage {
    pub instance: ResourceId,
    /// Index on the host.
    pub index: u16,
    /// Utilization from averages; absent when it was not measured.
    pub utilization: Option<Distribution>,
    /// Why what was measured of its utilization cannot be right, so that it counts as not
    /// measured.
    pub contradiction: Option<String>,
    pub samples: Samples,
    /// What a service must have room for, percent: the larger of the 99.5th
    /// percentile of the averages (as AWS Compute Optimizer) and the median of their
    /// daily maxima, so that an hour of every day counts.
    pub demand_peak: Option<f64>,
    /// Its maxima; absent when none was delivered.
    pub maxima: Option<Maxima>,
    /// Memory; absent when it was not measured.
    pub vram: Option<VramSummary>,
    /// Time in samples whose average is above 85% of the card; absent without averages, and
    /// where the size of the card is unknown.
    pub vram_nearly_full_seconds: Option<u64>,
    /// Largest VRAM of each day of UTC, counted from the Unix epoch, in MiB, ascending.
    pub vram_days: Vec<(i64, f64)>,
    /// Power draw; absent when it was not measured.
    pub power: Option<PowerSummary>,
    /// Activity of its multiprocessors; absent when it was not measured.
    pub sm: Option<SmSummary>,
    pub temperature_max_c: Option<f64>,
    /// Most encoder sessions at once; absent when they were not measured.
    pub encoder_sessions_max: Option<f64>,
    /// Samples of them; absent likewise.
    pub encoder_samples: Option<Samples>,
    /// Its utilization by day, ascending; a day without an average is left out.
    pub days: Vec<GpuDay>,
}

impl GpuUsage {
    /// Takes its utilization for not measured.
    pub fn doubt(&mut self, contradiction: String) {
        self.contradiction = Some(contradiction);
        self.samples.count = 0;
        (self.utilization, self.demand_peak, self.maxima) = (None, None, None);
        self.days.clear();
    }

    /// Whether it ever encoded: media work is work, though no kernel runs.
    pub fn encodes(&self) -> bool {
        self.encoder_sessions_max.is_some_and(|sessions| sessions > 0.0)
    }

    /// Whether it was ever active (p99 at or above 1%, or an encoder session);
    /// absent when it was not measured.
    pub fn is_active(&self) -> Option<bool> {
        if self.encodes() {
            return Some(true);
        }
        self.utilization.map(|utilization| utilization.p99 >= ACTIVE_PERCENT)
    }

    /// Whether it was seen working: by a maximum, or an average where there is none.
    /// Absent when it was not measured.
    pub fn works(&self) -> Option<bool> {
        if self.encodes() {
            return Some(true);
        }
        let largest = self.maxima.map(|maxima| maxima.largest);
        let largest = largest.or(self.utilization.map(|figures| figures.max));
        largest.map(|largest| largest >= ACTIVE_PERCENT)
    }

    /// Whether it is known never to have worked: its maximum stayed below 1% in every
    /// period, over as many days as idleness takes, with hardly a sample missing.
    pub fn is_never_used(&self, policy: &Policy) -> bool {
        let Some(maxima) = self.maxima.filter(|_| !self.encodes()) else { return false };
        maxima.largest < ACTIVE_PERCENT
            && maxima.samples.coverage() >= policy.measured_coverage
            && !maxima.samples.outage.forbids(policy)
            && policy.is_long_enough(maxima.observed_seconds, maxima.samples.period_seconds)
    }

    /// Hours in which it worked, where these are less than one in a hundred: it is
    /// rarely used. Absent for what is never used or used more.
    pub fn rarely_used_hours(&self) -> Option<f64> {
        let maxima = self.maxima?;
        let share = maxima.active_seconds as f64 / maxima.observed_seconds.max(1) as f64;
        let is_rare = self.is_active() == Some(false) && share > 0.0 && share <= 0.01;
        is_rare.then(|| maxima.active_seconds as f64 / 3600.0)
    }

    /// Whether something was allocated on it: VRAM at or above 5%, or active.
    /// Absent when what was measured does not tell.
    pub fn is_allocated(&self) -> Option<bool> {
        let held = self
            .vram
            .and_then(|vram| vram.peak_percent())
            .map(|percent| percent >= ALLOCATED_VRAM_PERCENT);
        match (self.is_active(), held) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            (None, _) | (_, None) => None,
        }
    }
}

/// Everything measured about one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceUsage {
    pub instance: ResourceId,
    pub running: RunningTime,
    /// What was measured; absent when no GPU signal arrived.
    pub signal: Option<(Signal, SeriesSource)>,
    /// Over its GPUs; absent when no period counts.
    pub summary: Option<UtilizationSummary>,
    /// Per GPU, by index.
    pub gpus: Vec<GpuUsage>,
    /// Mean correlation of the utilization of each two GPUs in use, −1 to 1; absent of fewer than
    /// two, and where none of it varies.
    pub gpus_correlation: Option<f64>,
    /// Largest correlation of the hourly means of any two of them; absent likewise.
    pub pairs_correlation: Option<f64>,
    /// 95th percentile of CPU utilization, percent.
    pub cpu_p95: Option<f64>,
    /// Samples behind that percentile; absent where profiled runs reported it.
    pub cpu_samples: Option<Samples>,
    /// Largest CPU utilization, percent, of maxima and averages over a period: without maxima it
    /// was at least that.
    pub cpu_max: Option<f64>,
    /// Samples of the maxima; absent where only averages were recorded.
    pub cpu_max_samples: Option<Samples>,
    /// 95th percentile of memory of the host in MiB; only profiled runs tell.
    pub memory_p95_mib: Option<f64>,
    /// Whether the percentile of its CPU is of profiled runs too.
    pub cpu_is_of_runs: bool,
    /// Bytes received and sent in a day, as far as both were measured.
    pub network_bytes_per_day: Option<f64>,
    /// Its traffic in the busiest hours; absent unless both directions were measured.
    pub network: Option<NetworkUse>,
    /// Whether any series was matched by the name or the address of its host.
    pub joined_by_hostname: bool,
    /// Points dropped on reading, over all series.
    pub rejected: Rejected,
}

impl InstanceUsage {
    /// Why what was measured of the utilization of one of its GPUs cannot be right.
    pub fn contradiction(&self) -> Option<&str> {
        self.gpus.iter().find_map(|gpu| gpu.contradiction.as_deref())
    }

    /// Whether each of a number of GPUs delivered its own utilization in at
    /// least half of the periods in which the instance ran.
    pub fn measures_every_gpu(&self, visible_gpus: usize) -> bool {
        let is_seen = |gpu: &&GpuUsage| {
            gpu.utilization.is_some() && gpu.samples.count * 2 >= gpu.samples.expected
        };
        let measured = self.gpus.iter().filter(is_seen).count();
        measured >= visible_gpus.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_is_nearly_all_of_a_card_and_flat() {
        let is_reserved = VramSummary::says_reserved;
        // Of 20 700, 2% are 414; 85% of 23 028 are 19 573.8.
        assert!(is_reserved(20_300.0, 20_700.0, 23_028.0));
        assert!(!is_reserved(20_286.0, 20_700.0, 23_028.0));
        assert!(is_reserved(19_574.0, 19_574.0, 23_028.0));
        assert!(!is_reserved(19_573.0, 19_573.0, 23_028.0));
        assert!(!is_reserved(0.0, 0.0, 0.0));
    }
}
