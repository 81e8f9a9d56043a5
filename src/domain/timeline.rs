//! Figures per period over all GPUs of an instance or workload.

use super::instance::named_enum;
use super::{Distribution, Policy, SeriesSource, Window, quantile};
use jiff::{SignedDuration, Timestamp};

/// A GPU below this percentage at its 99th percentile was never active, and a
/// period whose maximum is below it was idle.
pub const ACTIVE_PERCENT: f64 = 1.0;

/// Average of a period from which a GPU worked in it.
const WORKING_PERCENT: f64 = 5.0;

named_enum! {
    /// What a verdict was judged on.
    Signal {
        /// GPU utilization, the signal that everybody has.
        GpuUtilization = "gpu_utilization",
        /// Power alone, where nothing better is observable.
        GpuPowerUtilization = "gpu_power_utilization",
    }
}

/// One period of one instance or workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slot {
    /// Sum over the GPUs that reported, percent.
    pub(super) sum_average: f64,
    /// How many GPUs reported.
    pub(super) reported: u32,
    /// Largest average over them, percent.
    max_average: f64,
    /// Largest maximum over them; absent when no maximum was delivered.
    pub(super) maximum: Option<f64>,
    /// How many GPUs delivered a maximum of their own.
    pub(super) maxima: u32,
    /// Whether any of them encoded: media work is work, though no kernel runs.
    pub(super) encodes: bool,
}

impl Slot {
    const EMPTY: Self = Self {
        sum_average: 0.0,
        reported: 0,
        max_average: 0.0,
        maximum: None,
        maxima: 0,
        encodes: false,
    };

    pub(super) fn add_average(&mut self, value: f64) {
        self.sum_average += value;
        self.reported += 1;
        self.max_average = self.max_average.max(value);
    }

    pub(super) fn add_maximum(&mut self, value: f64) {
        self.maximum = Some(self.maximum.map_or(value, |known| known.max(value)));
    }

    fn add(&mut self, other: &Self) {
        self.sum_average += other.sum_average;
        self.reported += other.reported;
        self.max_average = self.max_average.max(other.max_average);
        if let Some(value) = other.maximum {
            self.add_maximum(value);
        }
        self.maxima += other.maxima;
        self.encodes |= other.encodes;
    }
}

/// Figures per period over all GPUs of an instance or workload, with the
/// periods in which it ran. Its size depends on the window, not on the number
/// of GPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    pub(super) window: Window,
    pub(super) period_seconds: u32,
    pub(super) slots: Vec<Slot>,
    /// How many GPUs ran in each period.
    pub(super) running_gpus: Vec<u32>,
    /// How many instances ran in each period.
    pub(super) running_instances: Vec<u32>,
}

impl Timeline {
    /// No data yet, on the grid of a window.
    pub fn new(window: Window, period_seconds: u32) -> Self {
        let length = window.seconds().max(0) as usize / period_seconds.max(1) as usize;
        Self {
            window,
            period_seconds,
            slots: vec![Slot::EMPTY; length],
            running_gpus: vec![0; length],
            running_instances: vec![0; length],
        }
    }

    /// A timeline of one GPU of one instance, from whether it ran and its maximum
    /// in each period.
    #[cfg(test)]
    pub(crate) fn of_maxima(
        window: Window,
        period_seconds: u32,
        periods: impl Iterator<Item = (u32, Option<f64>)>,
    ) -> Self {
        let mut timeline = Self::new(window, period_seconds);
        for (index, (running, maximum)) in periods.enumerate() {
            timeline.running_gpus[index] = running;
            timeline.running_instances[index] = running;
            if let Some(maximum) = maximum {
                timeline.slots[index].add_maximum(maximum);
                timeline.slots[index].maxima = 1;
            }
        }
        timeline
    }

    /// Adds the figures of another timeline on the same grid.
    pub fn add(&mut self, other: &Self) {
        for (slot, added) in self.slots.iter_mut().zip(&other.slots) {
            slot.add(added);
        }
        self.add_running_only(other);
    }

    /// Adds the running time of another timeline but not its figures, which
    /// are of another signal.
    pub fn add_running_only(&mut self, other: &Self) {
        for (running, added) in self.running_gpus.iter_mut().zip(&other.running_gpus) {
            *running += added;
        }
        let others = other.running_instances.iter();
        for (running, added) in self.running_instances.iter_mut().zip(others) {
            *running += added;
        }
    }

    /// The periods that count: at least half of the running GPUs reported.
    pub(super) fn counted(&self) -> impl DoubleEndedIterator<Item = (usize, &Slot)> {
        self.slots
            .iter()
            .zip(&self.running_gpus)
            .enumerate()
            .filter(|(_, (slot, running))| slot.reported > 0 && slot.reported * 2 >= **running)
            .map(|(index, (slot, _))| (index, slot))
    }

    /// The mean over the GPUs in every period that counts, as (period index,
    /// percent), ascending.
    pub fn means(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.counted()
            .map(|(index, slot)| (index, slot.sum_average / f64::from(slot.reported)))
    }

    /// Whether anything ran, period by period.
    pub fn ran(&self) -> impl Iterator<Item = bool> + '_ {
        self.running_gpus.iter().map(|gpus| *gpus > 0)
    }

    /// The end of the last period in which anything ran.
    pub fn last_ran(&self) -> Option<Timestamp> {
        let last = self.running_gpus.iter().rposition(|gpus| *gpus > 0)?;
        let seconds = (last as i64 + 1) * i64::from(self.period_seconds);
        Some(self.window.start + SignedDuration::from_secs(seconds))
    }

    /// The longest stretch, in seconds, in which nothing ran before it ran again.
    pub fn longest_stop_seconds(&self) -> i64 {
        let (mut longest, mut stopped) = (0, 0);
        for ran in self.ran() {
            if ran {
                longest = longest.max(stopped);
                stopped = 0;
            } else {
                stopped += i64::from(self.period_seconds);
            }
        }
        longest
    }

    /// Number of periods in which anything ran.
    fn expected_samples(&self) -> usize {
        self.running_gpus.iter().filter(|gpus| **gpus > 0).count()
    }

    /// The statistics of the whole timeline; `None` when no period counts.
    pub fn summary(&self, signal: Signal, source: SeriesSource) -> Option<UtilizationSummary> {
        let means: Vec<f64> = self.means().map(|(_, value)| value).collect();
        let n_samples = means.len();
        let distribution = Distribution::of(means)?;
        let mut maxima: Vec<f64> = self
            .counted()
            .filter_map(|(_, slot)| slot.maximum)
            .collect();
        maxima.sort_by(f64::total_cmp);
        let maxima_complete = maxima.len() == n_samples;
        let expected_samples = self.expected_samples().max(n_samples);
        Some(UtilizationSummary {
            signal,
            source,
            window: self.window,
            period_seconds: self.period_seconds,
            max: maxima.last().copied().unwrap_or(distribution.max),
            idle_share: maxima_complete.then(|| {
                let idle = maxima.iter().filter(|value| **value < ACTIVE_PERCENT);
                idle.count() as f64 / n_samples as f64
            }),
            maximum_p99: if maxima_complete {
                quantile(&maxima, 0.99)
            } else {
                None
            },
            working_periods_a_week: self.most_a_week_at_least(WORKING_PERCENT),
            observed_seconds: self.observed_seconds(),
            largest_sum_percent: self.largest_sum_percent(),
            saturated_hours_share: self.share_of_hours_above(95.0),
            distribution,
            n_samples: n_samples as u64,
            expected_samples: expected_samples as u64,
        })
    }

    /// In how many periods of any seven days a GPU's average was at or above a
    /// percentage, at most.
    fn most_a_week_at_least(&self, percent: f64) -> u64 {
        let week = 604_800 / self.period_seconds.max(1) as usize;
        let working: Vec<usize> = self
            .counted()
            .filter(|(_, slot)| slot.max_average >= percent)
            .map(|(index, _)| index)
            .collect();
        let mut first = 0;
        let mut most = 0;
        for (last, index) in working.iter().enumerate() {
            while index - working[first] >= week {
                first += 1;
            }
            most = most.max(last - first + 1);
        }
        most as u64
    }

    /// From the first period that counts to the end of the last one.
    fn observed_seconds(&self) -> i64 {
        let mut counted = self.counted().map(|(index, _)| index);
        let first = counted.next().unwrap_or(0);
        let last = counted.next_back().unwrap_or(first);
        (last - first + 1) as i64 * i64::from(self.period_seconds)
    }

    /// The largest sum over all GPUs that ran in a period, percent of one GPU; those
    /// that did not report count as the mean of the others.
    fn largest_sum_percent(&self) -> f64 {
        self.counted()
            .map(|(index, slot)| {
                let running = self.running_gpus[index].max(slot.reported);
                slot.sum_average / f64::from(slot.reported) * f64::from(running)
            })
            .fold(0.0, f64::max)
    }

    /// Share (0–1) of the hours with data whose mean is above a percentage.
    fn share_of_hours_above(&self, percent: f64) -> f64 {
        let per_hour = (3600 / self.period_seconds.max(1)).max(1) as usize;
        let offset = self.window.start.as_second().rem_euclid(3600) as usize
            / self.period_seconds.max(1) as usize;
        let mut hours: Vec<(usize, f64, u32)> = Vec::new();
        for (index, value) in self.means() {
            let hour = (index + offset) / per_hour;
            match hours.last_mut() {
                Some((last, sum, count)) if *last == hour => {
                    *sum += value;
                    *count += 1;
                }
                _ => hours.push((hour, value, 1)),
            }
        }
        if hours.is_empty() {
            return 0.0;
        }
        let above = hours
            .iter()
            .filter(|(_, sum, count)| sum / f64::from(*count) > percent)
            .count();
        above as f64 / hours.len() as f64
    }
}

/// Utilization of an instance or workload over the window. Percentages are
/// 0–100, shares and coverage 0–1.
#[derive(Debug, Clone, PartialEq)]
pub struct UtilizationSummary {
    /// What was measured.
    pub signal: Signal,
    /// Who measured.
    pub source: SeriesSource,
    /// The window.
    pub window: Window,
    /// Length of a period.
    pub period_seconds: u32,
    /// Mean and percentiles over time of the mean over all GPUs, from averages.
    pub distribution: Distribution,
    /// Largest maximum of any GPU.
    pub max: f64,
    /// Share of periods in which no GPU reached 1%; absent without maxima.
    pub idle_share: Option<f64>,
    /// 99th percentile over time of the largest maximum; absent without maxima.
    pub maximum_p99: Option<f64>,
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
        self.sampled_hours() >= policy.min_hours && self.coverage() >= policy.min_coverage
    }

    /// Hours of samples.
    pub fn sampled_hours(&self) -> f64 {
        self.n_samples as f64 * f64::from(self.period_seconds) / 3600.0
    }
}
