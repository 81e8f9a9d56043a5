//! Figures per period over all GPUs of an instance or workload.

use super::grid::{Slot, outage};
#[cfg(any(test, feature = "lab"))]
use super::histogram::hundredths;
use super::histogram::percent;
use super::{distribution, quantile};
use crate::domain::{
    ACTIVE_PERCENT, HOUR_SECONDS, HourCell, HourlyActivity, Outage, SATURATED_HOUR_PERCENT,
    SeriesSource, Signal, UtilizationSummary, Window,
};
use jiff::{SignedDuration, Timestamp};

/// Share of the readings of an hour, over all GPUs that ran, that must have arrived
/// to know it: as much as a measured verdict needs of the window.
pub(super) const MEASURED_SHARE_OF_AN_HOUR: f64 = 0.9;

/// What ran in one period, and how far it was busy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeriodLoad {
    pub gpus: u32,
    pub instances: u32,
    /// Mean utilization of the GPUs that ran times their number, zero where none ran;
    /// absent where fewer than half of them reported.
    pub busy_gpus: Option<f64>,
}

/// Figures per period over all GPUs of an instance or workload, with the
/// periods in which it ran. Its size depends on the window, not on the number
/// of GPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    pub(super) window: Window,
    pub(super) period_seconds: u32,
    pub(super) slots: Vec<Slot>,
    /// How many periods a sample stands for: more than one where a series was asked for
    /// on a coarser grid. Of several series the most.
    pub(super) step: u32,
}

impl Timeline {
    /// No data yet, on the grid of a window.
    pub fn new(window: Window, period_seconds: u32) -> Self {
        let length = window.seconds().max(0) as usize / period_seconds.max(1) as usize;
        Self { window, period_seconds, slots: vec![Slot::default(); length], step: 1 }
    }

    /// A timeline of one GPU of one instance, from whether it ran and its maximum
    /// in each period.
    #[cfg(any(test, feature = "lab"))]
    pub fn of_maxima(
        window: Window,
        period_seconds: u32,
        periods: impl Iterator<Item = (u32, Option<f64>)>,
    ) -> Self {
        let mut timeline = Self::new(window, period_seconds);
        for (index, (running, maximum)) in periods.enumerate() {
            let slot = &mut timeline.slots[index];
            (slot.gpus, slot.instances) = (running, running);
            if let Some(maximum) = maximum {
                slot.add_maximum(hundredths(maximum));
                slot.maxima = 1;
            }
        }
        timeline
    }

    /// Adds the figures of another timeline on the same grid.
    pub fn add(&mut self, other: &Self) {
        for (slot, added) in self.slots.iter_mut().zip(&other.slots) {
            slot.add(added);
        }
        self.step = self.step.max(other.step);
    }

    /// Adds the running time of another timeline but not its figures, which
    /// are of another signal.
    pub fn add_running_only(&mut self, other: &Self) {
        for (slot, added) in self.slots.iter_mut().zip(&other.slots) {
            slot.add_running(added);
        }
    }

    /// The periods that count: at least half of the running GPUs reported.
    pub(super) fn counted(&self) -> impl DoubleEndedIterator<Item = (usize, &Slot)> {
        self.slots.iter().enumerate().filter(|(_, slot)| slot.counts())
    }

    /// The mean over the GPUs in every period that counts, as (period index,
    /// percent), ascending.
    pub fn means(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.counted().map(|(index, slot)| (index, slot.mean()))
    }

    /// What ran in each period, and how many GPUs of it were busy.
    pub fn loads(&self) -> impl Iterator<Item = PeriodLoad> + '_ {
        self.slots.iter().map(|slot| {
            let Slot { gpus, instances, .. } = *slot;
            let busy = slot.counts().then(|| slot.mean() / 100.0 * f64::from(gpus));
            PeriodLoad { gpus, instances, busy_gpus: if gpus == 0 { Some(0.0) } else { busy } }
        })
    }

    /// Whether anything ran, period by period.
    pub fn ran(&self) -> impl Iterator<Item = bool> + '_ {
        self.slots.iter().map(|slot| slot.gpus > 0)
    }

    /// The end of the last period in which anything ran.
    pub fn last_ran(&self) -> Option<Timestamp> {
        let last = self.slots.iter().rposition(|slot| slot.gpus > 0)?;
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

    /// How long after a launch inside the window a GPU first worked: until the first period
    /// with a maximum of at least 1%, an average of work, or an encoder session. Zero where
    /// the launch is inside that period. `None` where no period shows work, and by power
    /// alone.
    pub fn first_work(
        &self,
        signal: Option<Signal>,
        launched: Timestamp,
    ) -> Option<SignedDuration> {
        let is_inside = launched > self.window.start && launched < self.window.end;
        if !is_inside || signal != Some(Signal::GpuUtilization) {
            return None;
        }
        let period = i64::from(self.period_seconds.max(1));
        let waited = launched.as_second() - self.window.start.as_second();
        let first = usize::try_from(waited / period).ok()?;
        let works = |slot: &Slot| {
            let reached = slot.maximum.is_some_and(|most| percent(most) >= ACTIVE_PERCENT);
            reached || slot.works || slot.encodes
        };
        let after = self.slots.get(first..)?.iter().position(works)?;
        let begin = (first + after) as i64 * period;
        Some(SignedDuration::from_secs((begin - waited).max(0)))
    }

    /// The statistics of the whole timeline; `None` when no period counts.
    pub fn summary(&self, signal: Signal, source: SeriesSource) -> Option<UtilizationSummary> {
        let means: Vec<f64> = self.means().map(|(_, value)| value).collect();
        let periods = means.len();
        let distribution = distribution(means)?;
        // A GPU whose maximum is missing may have worked for less than its average shows.
        let complete = |slot: &Slot| slot.maximum.filter(|_| slot.maxima >= slot.reported);
        let mut maxima: Vec<u16> = self.counted().filter_map(|(_, slot)| complete(slot)).collect();
        maxima.sort_unstable();
        let maxima: Vec<f64> = maxima.into_iter().map(percent).collect();
        let maxima_complete = maxima.len() == periods;
        let expected = self.ran().filter(|ran| *ran).count().max(periods);
        let samples = |periods: u64| periods.div_ceil(u64::from(self.step.max(1)));
        Some(UtilizationSummary {
            signal,
            source,
            window: self.window,
            period_seconds: self.period_seconds * self.step.max(1),
            max: self.largest_maximum().unwrap_or(distribution.max),
            idle_share: maxima_complete.then(|| {
                let idle = maxima.iter().filter(|value| **value < ACTIVE_PERCENT);
                idle.count() as f64 / periods as f64
            }),
            maximum_p99: if maxima_complete { quantile(&maxima, 0.99) } else { None },
            active_hours_share: maxima_complete.then(|| self.active_hours_share()),
            working_periods_a_week: samples(self.most_working_a_week()),
            observed_seconds: self.observed_seconds(),
            largest_sum_percent: self.largest_sum_percent(),
            saturated_hours_share: self.share_of_hours_above(SATURATED_HOUR_PERCENT),
            distribution,
            n_samples: samples(periods as u64),
            expected_samples: samples(expected as u64),
            outage: self.outage(),
        })
    }

    /// The largest maximum of any GPU, percent.
    fn largest_maximum(&self) -> Option<f64> {
        let maxima = self.counted().filter_map(|(_, slot)| slot.maximum);
        maxima.max().map(percent)
    }

    /// What is missing of the periods that count.
    fn outage(&self) -> Outage {
        let periods = self.slots.iter().map(|slot| (slot.counts(), slot.gpus > 0));
        outage((self.window, self.period_seconds), periods)
    }

    /// The whole hours from the first after it was first seen. Only GPU utilization
    /// tells whether an hour was off; by power alone every hour is unknown. Without
    /// whole periods to the hour there are no hours.
    pub fn activity(&self, signal: Option<Signal>, first_seen: Timestamp) -> HourlyActivity {
        let period = i64::from(self.period_seconds.max(1));
        let from = self.window.starting_at(first_seen).start.as_second();
        let start = from + (-from).rem_euclid(HOUR_SECONDS);
        let skipped = start - self.window.start.as_second();
        let is_on_grid = HOUR_SECONDS % period == 0 && skipped % period == 0;
        let periods_per_hour = (HOUR_SECONDS / period).max(1) as usize;
        let first = if is_on_grid { (skipped / period) as usize } else { self.slots.len() };
        let slots = self.slots.get(first..).unwrap_or_default();
        let hours = slots.chunks_exact(periods_per_hour).map(|slots| HourCell {
            maximum: maximum_of_hour(slots).filter(|_| signal == Some(Signal::GpuUtilization)),
            encodes: slots.iter().any(|slot| slot.encodes),
            instance_periods: slots.iter().map(|slot| slot.instances).sum(),
        });
        HourlyActivity::new(
            Timestamp::from_second(start).unwrap_or(self.window.end),
            periods_per_hour as u32,
            hours.collect(),
        )
    }

    /// In how many periods of any seven days a GPU's average was that of work, at most.
    fn most_working_a_week(&self) -> u64 {
        let week = 604_800 / self.period_seconds.max(1) as usize;
        let working: Vec<usize> =
            self.counted().filter(|(_, slot)| slot.works).map(|(index, _)| index).collect();
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
        let sums =
            self.counted().map(|(_, slot)| slot.mean() * f64::from(slot.gpus.max(slot.reported)));
        sums.fold(0.0, f64::max)
    }

    /// Share (0–1) of the hours with data whose mean is above a percentage.
    pub fn share_of_hours_above(&self, percent: f64) -> f64 {
        self.share_of_hours(self.means(), |hour| {
            let sum: f64 = hour.iter().map(|(_, mean)| mean).sum();
            sum / hour.len() as f64 > percent
        })
    }

    /// Share (0–1) of the hours with data in which a GPU reached 1%, by the maxima.
    fn active_hours_share(&self) -> f64 {
        let maxima = self.counted().filter_map(|(index, slot)| {
            let maximum = slot.maximum.map(percent)?;
            Some((index, maximum))
        });
        let is_active = |(_, maximum): &(usize, f64)| *maximum >= ACTIVE_PERCENT;
        self.share_of_hours(maxima, |hour| hour.iter().any(is_active))
    }

    /// Share (0–1) of the hours with values, each with the index of its period, that a test
    /// holds for.
    fn share_of_hours(
        &self,
        values: impl Iterator<Item = (usize, f64)>,
        holds: impl Fn(&[(usize, f64)]) -> bool,
    ) -> f64 {
        let per_hour = (3600 / self.period_seconds.max(1)).max(1) as usize;
        let offset = self.window.start.as_second().rem_euclid(3600) as usize
            / self.period_seconds.max(1) as usize;
        let values: Vec<(usize, f64)> =
            values.map(|(index, value)| ((index + offset) / per_hour, value)).collect();
        let hours = values.chunk_by(|left, right| left.0 == right.0);
        let (number, held) = hours.fold((0_u32, 0_u32), |(number, held), hour| {
            (number + 1, held + u32::from(holds(hour)))
        });
        if number == 0 {
            return 0.0;
        }
        f64::from(held) / f64::from(number)
    }
}

/// The largest maximum of an hour in hundredths, where it is known: nearly every GPU
/// that ran delivered its own, or one of them shows work.
fn maximum_of_hour(slots: &[Slot]) -> Option<u16> {
    let expected: u32 = slots.iter().map(|slot| slot.gpus).sum();
    let delivered: u32 = slots.iter().map(|slot| slot.maxima.min(slot.gpus)).sum();
    let is_complete = f64::from(delivered) >= f64::from(expected) * MEASURED_SHARE_OF_AN_HOUR;
    let largest = slots.iter().filter_map(|slot| slot.maximum).max();
    largest.filter(|maximum| is_complete || percent(*maximum) >= ACTIVE_PERCENT)
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
