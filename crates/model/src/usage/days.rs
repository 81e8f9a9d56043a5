//! What ran on each day of UTC, and how far it was busy; and how much GPUs are used in each hour
//! of the week, over a whole fleet.

use super::Timeline;
use crate::domain::{DAY_SECONDS, Window};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

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
            let slot = &self.slots[place];
            let gpu_seconds = u64::from(slot.gpus) * seconds;
            load.instance_seconds += u64::from(slot.instances) * seconds;
            load.gpu_seconds += gpu_seconds;
            if slot.gpus == 0 || !slot.counts() {
                continue;
            }
            load.measured_gpu_seconds += gpu_seconds;
            load.useful_gpu_seconds += slot.mean() / 100.0 * gpu_seconds as f64;
            if let Some(rests) = slot.rests() {
                let idle = load.idle_gpu_seconds.get_or_insert(0);
                *idle += if rests { gpu_seconds } else { 0 };
            }
        }
        load
    }
}

pub const HOURS_OF_A_WEEK: usize = 168;

/// One hour of the week.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WeekHour {
    /// Hundredths of a percent.
    sum: u64,
    /// Readings in it, one for each GPU and period; an hour that was read as one counts as
    /// each of its periods.
    pub n_samples: u64,
}

impl WeekHour {
    /// Mean over the readings, so that every GPU weighs the same, percent; absent
    /// when there is none.
    pub fn mean(&self) -> Option<f64> {
        (self.n_samples > 0).then(|| self.sum as f64 / 100.0 / self.n_samples as f64)
    }
}

/// Mean GPU utilization by hour of the week. Its size depends on the window, not
/// on the fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct WeekUsage {
    zone: String,
    /// The hour of the week in which each period of the window begins.
    hour_of_period: Arc<[u8]>,
    hours: Vec<WeekHour>,
}

impl WeekUsage {
    /// Nothing measured yet, in a time zone and by its name.
    pub fn new(window: Window, period_seconds: u32, zone: &TimeZone, name: &str) -> Self {
        let period = i64::from(period_seconds.max(1));
        let periods = window.seconds().max(0) / period;
        let hour_of_period =
            (0..periods).map(|index| hour_of_week(window.start, index * period, zone)).collect();
        Self {
            zone: name.to_owned(),
            hour_of_period,
            hours: vec![WeekHour::default(); HOURS_OF_A_WEEK],
        }
    }

    /// Adds the utilization of a timeline on the same grid: of its periods in
    /// which at least half of the running GPUs reported, as means count them.
    pub fn add(&mut self, timeline: &Timeline) {
        for (period, slot) in timeline.counted() {
            let Some(hour) = self.hour_of_period.get(period) else { continue };
            let hour = &mut self.hours[usize::from(*hour)];
            hour.sum += slot.sum;
            hour.n_samples += u64::from(slot.reported);
        }
    }

    /// Adds what another one of the same window and zone holds.
    pub fn merge(&mut self, other: &Self) {
        for (hour, added) in self.hours.iter_mut().zip(&other.hours) {
            hour.sum += added.sum;
            hour.n_samples += added.n_samples;
        }
    }

    /// The hours, from Monday 00:00 in the time zone; always 168.
    pub fn hours(&self) -> &[WeekHour] {
        &self.hours
    }

    /// Name of the time zone.
    pub fn zone(&self) -> &str {
        &self.zone
    }

    /// Whether anything was measured in any hour.
    pub fn is_measured(&self) -> bool {
        self.hours.iter().any(|hour| hour.n_samples > 0)
    }
}

fn hour_of_week(start: Timestamp, seconds: i64, zone: &TimeZone) -> u8 {
    let instant = start.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
    let local = zone.to_datetime(instant);
    let day = local.date().weekday().to_monday_zero_offset();
    day as u8 * 24 + local.hour() as u8
}

#[cfg(test)]
mod tests {
    use super::super::grid::Slot;
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
            running.slots.iter_mut().for_each(|slot| slot.instances = 1);
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
            (sampled.slots[place].gpus, sampled.slots[place].instances) = (2, 1);
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

    fn fortnight() -> Window {
        Window {
            // A Sunday.
            start: "2026-10-18T00:00:00Z".parse().expect("a time stamp"),
            end: "2026-11-01T00:00:00Z".parse().expect("a time stamp"),
        }
    }

    /// So many GPUs at a percentage in the first hours of the fortnight.
    fn of_gpus(gpus: u32, percent: u16, hours: usize) -> Timeline {
        let mut timeline = Timeline::new(fortnight(), 3_600);
        for index in 0..hours {
            for _ in 0..gpus {
                timeline.slots[index].add_average(percent * 100);
            }
            timeline.slots[index].gpus = gpus;
        }
        timeline
    }

    #[test]
    fn every_gpu_weighs_the_same() {
        let mut week = WeekUsage::new(fortnight(), 3_600, &TimeZone::UTC, "UTC");
        assert!(!week.is_measured());
        week.add(&of_gpus(1, 90, 1));
        week.add(&of_gpus(8, 0, 1));
        // Sunday is the last day of a week that begins on Monday.
        let first = week.hours()[6 * 24];
        assert_eq!(first.n_samples, 9);
        assert_eq!(first.mean(), Some(10.0));
        assert_eq!(week.hours()[0].mean(), None);
        assert!(week.is_measured());
        assert_eq!(week.hours().len(), HOURS_OF_A_WEEK);
    }

    #[test]
    fn hours_of_two_weeks_meet_in_one_cell() {
        let mut week = WeekUsage::new(fortnight(), 3_600, &TimeZone::UTC, "UTC");
        week.add(&of_gpus(1, 40, 336));
        for hour in week.hours() {
            assert_eq!((hour.n_samples, hour.mean()), (2, Some(40.0)));
        }
    }

    #[test]
    fn the_week_is_that_of_the_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(5));
        let mut week = WeekUsage::new(fortnight(), 3_600, &zone, "Asia/Karachi");
        week.add(&of_gpus(1, 50, 1));
        assert_eq!(week.hours()[6 * 24 + 5].mean(), Some(50.0));
        assert_eq!(week.zone(), "Asia/Karachi");
    }

    #[test]
    fn a_period_in_which_most_gpus_were_silent_does_not_count() {
        let mut silent = of_gpus(1, 80, 1);
        silent.slots[0].gpus = 3;
        let mut week = WeekUsage::new(fortnight(), 3_600, &TimeZone::UTC, "UTC");
        week.add(&silent);
        assert!(!week.is_measured());
    }
}
