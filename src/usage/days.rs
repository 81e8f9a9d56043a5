//! What ran on each day of UTC, and how far it was busy.

use super::histogram::percent;
use super::timeline::{Slot, Timeline};
use crate::domain::{ACTIVE_PERCENT, DAY_SECONDS};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// One day of an instance or workload, in GPU seconds: seconds times GPUs that ran in them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DayLoad {
    pub day: Date,
    /// Seconds times instances that ran in them.
    pub instance_seconds: u64,
    pub gpu_seconds: u64,
    /// Those of periods of which at least half of the GPUs reported.
    pub measured_gpu_seconds: u64,
    /// The measured ones, each times the mean utilization of its period, 0–1.
    pub useful_gpu_seconds: f64,
    /// The measured ones in which no GPU reached 1%; absent where no period has the maxima
    /// of all GPUs.
    pub idle_gpu_seconds: Option<u64>,
}

impl Timeline {
    /// The days that lie in the window as a whole, ascending. None where a period lies on two
    /// days.
    pub fn days(&self) -> Vec<DayLoad> {
        let period = i64::from(self.period_seconds.max(1));
        let start = self.window.start.as_second();
        let skipped = (-start).rem_euclid(DAY_SECONDS);
        if DAY_SECONDS % period != 0 || skipped % period != 0 {
            return Vec::new();
        }
        let (first, length) = ((skipped / period) as usize, (DAY_SECONDS / period) as usize);
        let last = self.slots.len().saturating_sub(first) / length;
        let day = |index: usize| {
            let from = first + index * length;
            let begin = start + skipped + index as i64 * DAY_SECONDS;
            let begin = Timestamp::from_second(begin).ok()?;
            let date = begin.to_zoned(TimeZone::UTC).date();
            Some(self.day(date, from..from + length))
        };
        (0..last).filter_map(day).collect()
    }

    /// Every day of the window, ascending, also the first and the last where it has a part of
    /// them only. A period counts for the day on which it begins.
    pub fn every_day(&self) -> Vec<DayLoad> {
        let period = i64::from(self.period_seconds.max(1));
        let start = self.window.start.as_second();
        let mut days = Vec::new();
        let mut from = 0;
        while from < self.slots.len() {
            let begin = start + from as i64 * period;
            let left = DAY_SECONDS - begin.rem_euclid(DAY_SECONDS);
            let length = (left + period - 1) / period;
            let until = self.slots.len().min(from + length as usize);
            if let Ok(begin) = Timestamp::from_second(begin) {
                let date = begin.to_zoned(TimeZone::UTC).date();
                days.push(self.day(date, from..until));
            }
            from = until;
        }
        days
    }

    fn day(&self, day: Date, places: std::ops::Range<usize>) -> DayLoad {
        let seconds = u64::from(self.period_seconds.max(1));
        let mut load = DayLoad {
            day,
            instance_seconds: 0,
            gpu_seconds: 0,
            measured_gpu_seconds: 0,
            useful_gpu_seconds: 0.0,
            idle_gpu_seconds: None,
        };
        for place in places {
            let (slot, running) = (&self.slots[place], self.running_gpus[place]);
            let gpu_seconds = u64::from(running) * seconds;
            load.instance_seconds += u64::from(self.running_instances[place]) * seconds;
            load.gpu_seconds += gpu_seconds;
            if running == 0 || !slot.counts(running) {
                continue;
            }
            load.measured_gpu_seconds += gpu_seconds;
            load.useful_gpu_seconds += slot.mean() / 100.0 * gpu_seconds as f64;
            if let Some(rests) = slot.rests(running) {
                let idle = load.idle_gpu_seconds.get_or_insert(0);
                *idle += if rests { gpu_seconds } else { 0 };
            }
        }
        load
    }
}

impl Slot {
    /// Whether no GPU of so many that ran worked; `None` where the maximum of one is missing.
    fn rests(&self, running: u32) -> Option<bool> {
        let is_whole = self.maxima >= running;
        let maximum = self.maximum.filter(|_| is_whole)?;
        Some(!self.encodes && percent(maximum) < ACTIVE_PERCENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Window;
    use jiff::SignedDuration;

    fn timeline(start: &str, hours: i64, period_seconds: u32) -> Timeline {
        let start: Timestamp = start.parse().expect("a time");
        let end = start + SignedDuration::from_hours(hours);
        Timeline::new(Window { start, end }, period_seconds)
    }

    #[test]
    fn only_whole_days_of_the_window_count() {
        let days = |start: &str, hours: i64, period: u32| -> Vec<String> {
            let days = timeline(start, hours, period).days();
            days.iter().map(|day| day.day.to_string()).collect()
        };
        let expected = ["2026-11-21", "2026-11-22"];
        assert_eq!(days("2026-11-20T10:20:00Z", 72, 300), expected);
        assert_eq!(days("2026-11-21T00:00:00Z", 48, 300), expected);
        assert_eq!(days("2026-11-20T10:00:00Z", 72, 3_600), expected);
        assert!(days("2026-11-21T00:00:00Z", 23, 300).is_empty());
        assert!(days("2026-11-20T10:20:00Z", 13, 300).is_empty());
        // A period of an hour from 10:20 on lies on two days.
        assert!(days("2026-11-20T10:20:00Z", 72, 3_600).is_empty());
    }

    #[test]
    fn every_day_has_the_periods_that_begin_on_it() {
        let seconds = |start: &str, hours: i64, period: u32| -> Vec<(String, u64)> {
            let mut running = timeline(start, hours, period);
            running.running_instances.fill(1);
            let days = running.every_day();
            let of = |day: &DayLoad| (day.day.to_string(), day.instance_seconds);
            days.iter().map(of).collect()
        };
        let expected = |days: &[(&str, u64)]| -> Vec<(String, u64)> {
            let own = |(day, hours): &(&str, u64)| ((*day).to_owned(), hours * 3_600);
            days.iter().map(own).collect()
        };
        // 48 hours from 18:00: 6, 24 and 18 of them.
        assert_eq!(
            seconds("2026-11-20T18:00:00Z", 48, 300),
            expected(&[("2026-11-20", 6), ("2026-11-21", 24), ("2026-11-22", 18)])
        );
        // Whole hours from 22:20: those of 22:20 and 23:20 begin before midnight.
        assert_eq!(
            seconds("2026-11-20T22:20:00Z", 5, 3_600),
            expected(&[("2026-11-20", 2), ("2026-11-21", 3)])
        );
        assert_eq!(seconds("2026-11-21T00:00:00Z", 24, 300), expected(&[("2026-11-21", 24)]));
        assert!(seconds("2026-11-21T00:00:00Z", 0, 300).is_empty());
    }

    #[test]
    fn a_day_is_the_sum_of_its_periods() {
        let mut sampled = timeline("2026-11-20T22:00:00Z", 30, 3_600);
        // Two hours of the day before, which do not count; then from midnight on: an hour at
        // 50% on both GPUs; one at 0% on one GPU of which the other did not report; one that
        // nobody measured; one of which the maxima say that nothing worked.
        let measured = |averages: &[u16], maxima: &[u16]| {
            let mut slot = Slot::default();
            for average in averages {
                slot.add_average(*average);
            }
            for maximum in maxima {
                slot.add_maximum(*maximum);
                slot.maxima += 1;
            }
            slot
        };
        sampled.slots[0] = measured(&[10_000, 10_000], &[10_000, 10_000]);
        sampled.slots[2] = measured(&[5_000, 5_000], &[9_000, 5_000]);
        sampled.slots[3] = measured(&[0], &[0]);
        sampled.slots[5] = measured(&[0, 0], &[99, 0]);
        for place in [0, 2, 3, 4, 5] {
            sampled.running_gpus[place] = 2;
            sampled.running_instances[place] = 1;
        }
        let days = sampled.days();
        let [day] = &days[..] else {
            panic!("{days:?}");
        };
        assert_eq!(day.day, Date::constant(2026, 11, 21));
        assert_eq!((day.instance_seconds, day.gpu_seconds), (4 * 3_600, 8 * 3_600));
        assert_eq!(day.measured_gpu_seconds, 6 * 3_600);
        // One hour of both at a half.
        assert_eq!(day.useful_gpu_seconds, 3_600.0);
        // Of the hour with one maximum of two nobody knows; 0.99% is below 1%.
        assert_eq!(day.idle_gpu_seconds, Some(2 * 3_600));
    }
}
