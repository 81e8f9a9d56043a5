//! A workload hour by hour: what schedules and commitments are sized on.

use super::{ACTIVE_PERCENT, Signal, Timeline};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;

const HOUR_SECONDS: i64 = 3_600;

/// Share of the readings of an hour, over all GPUs that ran, that must have arrived
/// to know it: as much as a measured verdict needs of the window.
const MEASURED_SHARE_OF_AN_HOUR: f64 = 0.9;

/// One whole hour of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ActivityHour {
    /// Its first instant, a whole hour of UTC.
    pub start: Timestamp,
    /// Largest maximum over all GPUs, percent. Absent where more than a tenth of
    /// the readings is missing, unless one of the others tells of work.
    pub maximum: Option<f64>,
    /// Whether a GPU encoded, which is work without a kernel.
    pub encodes: bool,
    /// Running time of all instances together, in instance-hours.
    pub instance_hours: Decimal,
}

impl ActivityHour {
    /// Whether nothing ran in it.
    pub fn is_stopped(&self) -> bool {
        self.instance_hours.is_zero()
    }

    /// Whether a GPU is known to have worked.
    pub fn is_active(&self) -> bool {
        self.encodes
            || self
                .maximum
                .is_some_and(|maximum| maximum >= ACTIVE_PERCENT)
    }

    /// Whether no GPU worked: nothing ran, or every GPU stayed below 1%. What
    /// is not known is neither off nor active.
    pub fn is_off(&self) -> bool {
        let rests = self.maximum.is_some_and(|maximum| maximum < ACTIVE_PERCENT);
        !self.encodes && (self.is_stopped() || rests)
    }
}

/// Every whole hour of the window since a workload was first seen, ascending and
/// without a gap. A few bytes an hour, however many GPUs there are.
#[derive(Debug, Clone, PartialEq)]
pub struct HourlyActivity {
    start: Timestamp,
    periods_per_hour: u32,
    maxima: Vec<Option<f32>>,
    encodes: Vec<bool>,
    /// Periods times instances that ran in them.
    instance_periods: Vec<u32>,
}

impl HourlyActivity {
    /// The hours of a timeline that was summed over a workload, from the first
    /// whole hour after it was first seen. Only GPU utilization tells whether an
    /// hour was off; by power alone every hour is unknown. Without whole periods
    /// to the hour there are no hours.
    pub fn of(timeline: &Timeline, signal: Option<Signal>, first_seen: Timestamp) -> Self {
        let period = i64::from(timeline.period_seconds.max(1));
        let window = timeline.window;
        let from = window.starting_at(first_seen).start.as_second();
        let start = from + (-from).rem_euclid(HOUR_SECONDS);
        let skipped = start - window.start.as_second();
        let is_on_grid = HOUR_SECONDS % period == 0 && skipped % period == 0;
        let periods_per_hour = (HOUR_SECONDS / period).max(1) as usize;
        let first = if is_on_grid {
            (skipped / period) as usize
        } else {
            timeline.slots.len()
        };
        let mut hours = Self {
            start: Timestamp::from_second(start).unwrap_or(window.end),
            periods_per_hour: periods_per_hour as u32,
            maxima: Vec::new(),
            encodes: Vec::new(),
            instance_periods: Vec::new(),
        };
        let slots = timeline.slots.get(first..).unwrap_or_default();
        let gpus = timeline.running_gpus.get(first..).unwrap_or_default();
        let instances = timeline.running_instances.get(first..).unwrap_or_default();
        for ((slots, gpus), instances) in slots
            .chunks_exact(periods_per_hour)
            .zip(gpus.chunks_exact(periods_per_hour))
            .zip(instances.chunks_exact(periods_per_hour))
        {
            let expected: u32 = gpus.iter().sum();
            let delivered: u32 = slots
                .iter()
                .zip(gpus)
                .map(|(slot, running)| slot.maxima.min(*running))
                .sum();
            let is_complete =
                f64::from(delivered) >= f64::from(expected) * MEASURED_SHARE_OF_AN_HOUR;
            let largest = slots
                .iter()
                .filter_map(|slot| slot.maximum)
                .reduce(f64::max)
                .filter(|maximum| is_complete || *maximum >= ACTIVE_PERCENT)
                .filter(|_| signal == Some(Signal::GpuUtilization));
            hours.maxima.push(largest.map(|maximum| maximum as f32));
            hours.encodes.push(slots.iter().any(|slot| slot.encodes));
            hours.instance_periods.push(instances.iter().sum());
        }
        hours
    }

    /// Number of hours.
    pub fn len(&self) -> usize {
        self.maxima.len()
    }

    /// Whether there is no whole hour.
    pub fn is_empty(&self) -> bool {
        self.maxima.is_empty()
    }

    /// The hours, ascending.
    pub fn hours(&self) -> impl Iterator<Item = ActivityHour> + '_ {
        let periods_per_hour = Decimal::from(self.periods_per_hour);
        let starts = (0..).map(|index| self.start + SignedDuration::from_hours(index));
        starts
            .zip(&self.maxima)
            .zip(&self.encodes)
            .zip(&self.instance_periods)
            .map(move |(((start, maximum), encodes), periods)| ActivityHour {
                start,
                maximum: maximum.map(f64::from),
                encodes: *encodes,
                instance_hours: Decimal::from(*periods) / periods_per_hour,
            })
    }

    /// How many instances ran in each hour, in billionths: a part of an hour counts
    /// as a part.
    pub fn instances(&self) -> impl Iterator<Item = u64> + '_ {
        let per_hour = u64::from(self.periods_per_hour);
        self.instance_periods
            .iter()
            .map(move |periods| u64::from(*periods) * 1_000_000_000 / per_hour)
    }

    /// Whether any hour that ran tells what every GPU did in it.
    pub fn is_measured(&self) -> bool {
        self.maxima.iter().any(Option::is_some)
    }
}

#[cfg(test)]
#[path = "hours_tests.rs"]
mod tests;
