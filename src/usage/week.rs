//! How much GPUs are used in each hour of the week, over a whole fleet.

use super::Timeline;
use crate::domain::Window;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

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
    use super::*;

    fn fortnight() -> Window {
        Window {
            // A Sunday.
            start: "2026-10-18T00:00:00Z".parse().expect("a time stamp"),
            end: "2026-11-01T00:00:00Z".parse().expect("a time stamp"),
        }
    }

    /// So many GPUs at a percentage in the first hours of the fortnight.
    fn timeline(gpus: u32, percent: u16, hours: usize) -> Timeline {
        let mut timeline = Timeline::new(fortnight(), 3_600);
        for index in 0..hours {
            for _ in 0..gpus {
                timeline.slots[index].add_average(percent * 100);
            }
            timeline.running_gpus[index] = gpus;
        }
        timeline
    }

    #[test]
    fn every_gpu_weighs_the_same() {
        let mut week = WeekUsage::new(fortnight(), 3_600, &TimeZone::UTC, "UTC");
        assert!(!week.is_measured());
        week.add(&timeline(1, 90, 1));
        week.add(&timeline(8, 0, 1));
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
        week.add(&timeline(1, 40, 336));
        for hour in week.hours() {
            assert_eq!((hour.n_samples, hour.mean()), (2, Some(40.0)));
        }
    }

    #[test]
    fn the_week_is_that_of_the_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(5));
        let mut week = WeekUsage::new(fortnight(), 3_600, &zone, "Asia/Karachi");
        week.add(&timeline(1, 50, 1));
        assert_eq!(week.hours()[6 * 24 + 5].mean(), Some(50.0));
        assert_eq!(week.zone(), "Asia/Karachi");
    }

    #[test]
    fn a_period_in_which_most_gpus_were_silent_does_not_count() {
        let mut silent = timeline(1, 80, 1);
        silent.running_gpus[0] = 3;
        let mut week = WeekUsage::new(fortnight(), 3_600, &TimeZone::UTC, "UTC");
        week.add(&silent);
        assert!(!week.is_measured());
    }
}
