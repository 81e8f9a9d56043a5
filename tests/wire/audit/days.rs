//! The window that these tests audit.
//!
//! moto's launch time is always now, and what was launched within the week is
//! never called idle. So the audits sample from 15 days ahead over 14 days: the
//! window begins a day after the launch, and the metrics lie in the future.
//!
//! It begins at the same minute of an hour every time, because the hours of the
//! week that are seen whole twice depend on it.

use jiff::{SignedDuration, Timestamp};

/// Periods in the window: 14 days of 288.
pub const PERIODS: i64 = 4032;
/// Periods in a day.
pub const PERIODS_A_DAY: i64 = 288;
/// Periods in an hour.
pub const PERIODS_AN_HOUR: i64 = 12;

const PERIOD_SECONDS: i64 = 300;
const HOUR_SECONDS: i64 = 3_600;
const DAY_SECONDS: i64 = 86_400;
/// Inside an hour, so that neither the first hour of the window nor its last is
/// whole.
const PAST_THE_HOUR_SECONDS: i64 = 20 * 60;

/// A window of 14 days in periods of five minutes.
#[derive(Clone, Copy, Debug)]
pub struct Days {
    start: i64,
}

impl Days {
    /// From a day ahead to 15 days ahead, 20 minutes past the hour.
    pub fn ahead() -> Self {
        let now = Timestamp::now().as_second();
        let tomorrow = now - now.rem_euclid(HOUR_SECONDS) + 86_400;
        Self { start: tomorrow + PAST_THE_HOUR_SECONDS }
    }

    /// From 16 days ago to two days ago, at 10:20 UTC: every day in it is over.
    pub fn past() -> Self {
        let now = Timestamp::now().as_second();
        let first = now - now.rem_euclid(DAY_SECONDS) - 16 * DAY_SECONDS;
        Self { start: first + 10 * HOUR_SECONDS + PAST_THE_HOUR_SECONDS }
    }

    /// Ten days before the window.
    pub fn long_before(self) -> Timestamp {
        Timestamp::from_second(self.start - 10 * DAY_SECONDS).expect("it was")
    }

    /// For `--as-of`, a day before the window ends.
    pub fn the_day_before(self) -> String {
        let start = Timestamp::from_second(self.start).expect("it was");
        (start + SignedDuration::from_hours(13 * 24)).to_string()
    }

    /// For `--as-of`.
    pub fn as_of(self) -> String {
        let start = Timestamp::from_second(self.start).expect("tomorrow exists");
        let end = start + SignedDuration::from_hours(14 * 24);
        end.to_string()
    }

    /// The last whole hour before that.
    pub fn on_the_hour(self) -> String {
        let start = self.start - PAST_THE_HOUR_SECONDS;
        let start = Timestamp::from_second(start).expect("tomorrow exists");
        (start + SignedDuration::from_hours(14 * 24)).to_string()
    }

    /// The beginning of a period, in epoch seconds; negative periods lie
    /// before the window.
    pub fn at(self, period: i64) -> i64 {
        self.start + period * PERIOD_SECONDS
    }

    /// One datum in each period that has a value, a minute into it.
    pub fn datums(self, value: impl Fn(i64) -> Option<f64>) -> impl Iterator<Item = (i64, f64)> {
        (0..PERIODS).filter_map(move |period| Some((self.at(period) + 60, value(period)?)))
    }
}
