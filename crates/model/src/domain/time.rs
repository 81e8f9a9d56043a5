//! The window that an audit reads, and how long something ran in it.

use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;

pub const HOUR_SECONDS: i64 = 3_600;
pub const DAY_SECONDS: i64 = 86_400;

/// How far ahead of now a clock of a recording machine may be.
const CLOCK_AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// The last instant that an audit is believed to describe: a later one is of a clock that is
/// ahead.
pub fn latest_believed(now: Timestamp) -> Timestamp {
    now.checked_add(CLOCK_AHEAD).unwrap_or(Timestamp::MAX)
}

/// The longest window that a document may state, in days: ten years. Memory and time grow with
/// the days and hours of a window, however few values a document has.
const MOST_DAYS: i64 = 3_660;

/// A half-open span of time, `[start, end)`; the default one is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// First instant inside.
    pub start: Timestamp,
    /// First instant after.
    pub end: Timestamp,
}

impl Window {
    /// The lookback before `as_of`, floored to the metric period so that every
    /// period in it is a whole one.
    ///
    /// # Errors
    /// When `as_of - lookback` is before the range of time stamps.
    pub fn before(
        as_of: Timestamp,
        lookback: SignedDuration,
        period_seconds: u32,
    ) -> Result<Self, jiff::Error> {
        let end = floor_to_period(as_of, period_seconds);
        let start = floor_to_period(end.checked_sub(lookback)?, period_seconds);
        Ok(Self { start, end })
    }

    /// The window that a document states.
    ///
    /// # Errors
    /// When it ends before it begins, or is longer than ten years.
    pub fn stated(start: Timestamp, end: Timestamp) -> Result<Self, String> {
        if end < start {
            return Err("the window ends before it begins".to_owned());
        }
        let window = Self { start, end };
        if window.seconds() > MOST_DAYS * DAY_SECONDS {
            let days = window.seconds() / DAY_SECONDS;
            return Err(format!("the window has {days} days; the maximum is {MOST_DAYS}"));
        }
        Ok(window)
    }

    pub fn seconds(self) -> i64 {
        self.end.as_second() - self.start.as_second()
    }

    /// The later part that begins at `start`, empty when that is after the end.
    pub fn starting_at(self, start: Timestamp) -> Self {
        Self { start: self.start.max(start).min(self.end), end: self.end }
    }
}

/// The beginning of the period that contains an instant; periods are aligned
/// to the Unix epoch, as CloudWatch aligns them.
pub fn floor_to_period(instant: Timestamp, period_seconds: u32) -> Timestamp {
    let second = instant.as_second();
    let floored = second - second.rem_euclid(i64::from(period_seconds.max(1)));
    Timestamp::from_second(floored).unwrap_or(Timestamp::MIN)
}

/// How much of the observed span something ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningTime {
    pub running_seconds: i64,
    /// Seconds it existed inside the window.
    pub observed_seconds: i64,
    /// Whether the running time was proved by CPU data points, or assumed
    /// since launch.
    pub proved: bool,
}

impl RunningTime {
    /// Share of the observed span that it ran, 0–1; `None` when nothing of the
    /// window was observed.
    pub fn share(self) -> Option<Decimal> {
        (self.observed_seconds > 0).then(|| {
            Decimal::from(self.running_seconds.min(self.observed_seconds))
                / Decimal::from(self.observed_seconds)
        })
    }

    /// Days that it existed inside the window.
    pub fn observed_days(self) -> f64 {
        self.observed_seconds as f64 / 86_400.0
    }

    pub fn hours(self) -> Decimal {
        Decimal::from(self.running_seconds) / Decimal::from(3600)
    }
}

/// A length of time such as `14d`, `12h` or `90m`.
///
/// # Errors
/// When it is not a whole positive number with one of these units.
pub fn parse_duration(text: &str) -> Result<SignedDuration, String> {
    let expected = || format!("`{text}` is not a duration such as 14d, 12h or 90m");
    let unit = text.chars().last().ok_or_else(expected)?;
    let number: i64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| expected())?;
    let seconds = match unit {
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(expected()),
    };
    number
        .checked_mul(seconds)
        .filter(|total| *total > 0)
        .map(SignedDuration::from_secs)
        .ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time stamp")
    }

    #[test]
    fn the_window_is_floored_to_the_period() {
        let window =
            Window::before(at("2026-11-20T20:13:42Z"), SignedDuration::from_hours(14 * 24), 300)
                .expect("in range");
        assert_eq!(window.start, at("2026-11-06T20:10:00Z"));
        assert_eq!(window.end, at("2026-11-20T20:10:00Z"));
        assert_eq!(window.seconds(), 14 * 86_400);
    }

    #[test]
    fn a_stated_window_has_at_most_ten_years() {
        let start = at("2016-01-01T00:00:00Z");
        // 3,660 days of 86,400 seconds.
        let end = start + SignedDuration::from_secs(316_224_000);
        assert_eq!(Window::stated(start, end).map(Window::seconds), Ok(316_224_000));
        assert_eq!(
            Window::stated(start, end + SignedDuration::from_hours(24)),
            Err("the window has 3661 days; the maximum is 3660".to_owned())
        );
        assert!(Window::stated(Timestamp::MIN, Timestamp::MAX).is_err());
        let reversed = Window::stated(end, start);
        assert_eq!(reversed, Err("the window ends before it begins".to_owned()));
    }

    #[test]
    fn eight_of_twenty_four_hours_is_a_third() {
        let running =
            RunningTime { running_seconds: 8 * 3600, observed_seconds: 24 * 3600, proved: true };
        let third = running.share().expect("observed");
        assert_eq!(third.round_dp(6).to_string(), "0.333333");
    }

    #[test]
    fn nothing_observed_is_not_zero() {
        let running = RunningTime { running_seconds: 0, observed_seconds: 0, proved: false };
        assert_eq!(running.share(), None);
    }

    #[test]
    fn lengths_of_time_have_a_unit() {
        assert_eq!(parse_duration("14d"), Ok(SignedDuration::from_hours(336)));
        assert_eq!(parse_duration("90m"), Ok(SignedDuration::from_mins(90)));
        for bad in ["14", "d", "-1d", "0h", "1.5d", "9999999999999999d", "14 d", "д"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
