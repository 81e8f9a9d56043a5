//! How often a fact was sampled, and when it was not.

use crate::domain::{DAY_SECONDS, HOUR_SECONDS, Outage, Window};
use jiff::Timestamp;

/// Days on which an instance must have run in an hour of the day before that hour can be
/// missing by habit.
const LEAST_DAYS: u32 = 3;

/// What the times of its samples tell of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cadence {
    /// Periods that a sample stands for.
    pub(super) step: u32,
    pub(super) outage: Outage,
}

impl Cadence {
    /// A sample in each period.
    pub(super) const EVERY_PERIOD: Self =
        Self { step: 1, outage: Outage { last_sample: None, unseen_seconds: 0, missing_hours: 0 } };
}

/// What is missing of samples, by period of a window: whether one stands for it, and whether
/// the instance ran. What came before the first sample is not missing by habit: nobody
/// measured yet.
pub(super) fn outage(
    (window, period_seconds): (Window, u32),
    periods: impl Iterator<Item = (bool, bool)>,
) -> Outage {
    let (start, period) = (window.start.as_second(), i64::from(period_seconds.max(1)));
    let first_hour = start.div_euclid(HOUR_SECONDS);
    let length = (window.seconds().max(0) / HOUR_SECONDS + 2) as usize;
    // Seconds in which it ran, and whether it was sampled.
    let mut hours = vec![(0_i64, false); length];
    let (mut first, mut last, mut unseen_seconds) = (None, None, 0);
    for (place, (is_sampled, ran)) in (0_i64..).zip(periods) {
        let begin = start + place * period;
        let place = (begin.div_euclid(HOUR_SECONDS) - first_hour) as usize;
        let Some(hour) = hours.get_mut(place) else { break };
        hour.0 += if ran { period } else { 0 };
        if is_sampled {
            hour.1 = true;
            first = first.or(Some(place));
            last = Some((place, begin + period));
            unseen_seconds = 0;
        } else if ran {
            unseen_seconds += period;
        }
    }
    let (Some(first), Some((last, end))) = (first, last) else { return Outage::default() };
    // Days on which it ran in an hour of the day, and those of them without a sample.
    let mut days = [(0_u32, 0_u32); 24];
    for (place, (ran_seconds, is_sampled)) in hours.iter().enumerate().take(last + 1).skip(first) {
        if ran_seconds * 2 >= HOUR_SECONDS {
            let second = (first_hour + place as i64) * HOUR_SECONDS;
            let day = &mut days[(second.rem_euclid(DAY_SECONDS) / HOUR_SECONDS) as usize];
            *day = (day.0 + 1, day.1 + u32::from(!is_sampled));
        }
    }
    let is_habit = |(ran, missing): &(u32, u32)| *ran >= LEAST_DAYS && *missing * 2 >= *ran;
    let missing = (0_u32..).zip(&days).filter(|(_, day)| is_habit(day));
    Outage {
        last_sample: Timestamp::from_second(end).ok(),
        unseen_seconds,
        missing_hours: missing.map(|(hour, _)| 1 << hour).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seven days by the hour, which begin at 00:00.
    fn of(sampled: impl Fn(u32) -> bool, ran: impl Fn(u32) -> bool) -> Outage {
        let at = |hour: i64| Timestamp::from_second(hour * HOUR_SECONDS).expect("in range");
        let window = Window { start: at(0), end: at(168) };
        let periods = (0..168).map(|hour| (sampled(hour), ran(hour)));
        outage((window, 3_600), periods)
    }

    fn hours(hours: std::ops::Range<u32>) -> u32 {
        hours.map(|hour| 1 << hour).sum()
    }

    #[test]
    fn the_same_hours_missing_on_half_of_the_days_are_a_habit() {
        let blind =
            |days: u32| move |hour: u32| !((10..18).contains(&(hour % 24)) && hour / 24 < days);
        // Of the seven days, three are fewer than half, and four are not. What is missing on
        // the first days was not missing before anybody measured, which is from 00:00 on.
        assert_eq!(of(blind(3), |_| true).missing_hours, 0);
        assert_eq!(of(blind(4), |_| true).missing_hours, hours(10..18));
        // It does not run in these hours.
        let outage = of(blind(7), blind(7));
        assert_eq!((outage.missing_hours, outage.unseen_seconds), (0, 0));
    }

    #[test]
    fn the_time_that_an_instance_ran_after_its_last_sample_counts() {
        let early = |hour: u32| hour < 84;
        let outage = of(early, |_| true);
        assert_eq!(outage.unseen_seconds, 84 * 3_600);
        let last = outage.last_sample.map(|last| last.as_second());
        assert_eq!(last, Some(84 * 3_600), "its last sample ends after 84 hours");
        // It ran for two of the hours after it.
        let outage = of(early, |hour| hour < 86);
        assert_eq!(outage.unseen_seconds, 2 * 3_600);
        assert_eq!(outage.missing_hours, 0, "what follows the last sample is no habit");
        assert_eq!(of(|_| false, |_| true), Outage::default());
    }
}
