//! Days of UTC as numbers, and the weeks, months and quarters that they are in.

use crate::domain::named_enum;
use jiff::SignedDuration;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

named_enum! {
    /// How long a row of a trend is.
    Step {
        Day = "day",
        /// From Monday on.
        Week = "week",
        Month = "month",
    }
}

named_enum! {
    /// Until when a forecast goes.
    Horizon {
        Month = "month",
        /// Of the calendar: January, April, July and October begin one.
        Quarter = "quarter",
    }
}

/// The day of UTC that an instant is in.
pub fn date_of(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}

/// How many days a day is after another; below zero when it is before.
pub(super) fn days_from(first: Date, later: Date) -> i64 {
    first.duration_until(later).as_hours() / 24
}

/// The day so many days later, within the calendar.
pub(super) fn plus_days(day: Date, days: i64) -> Date {
    // Beyond a hundred centuries there are no days, and no overflow.
    day.saturating_add(SignedDuration::from_hours(days.clamp(-4_000_000, 4_000_000) * 24))
}

/// Days from the first to the last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub first: Date,
    pub last: Date,
}

impl Span {
    /// A single day.
    pub fn of_day(day: Date) -> Self {
        Self { first: day, last: day }
    }

    /// So many days, of which the last is given.
    pub fn ending(last: Date, days: u32) -> Self {
        Self { first: plus_days(last, 1 - i64::from(days)), last }
    }

    /// Days in it; none when its last day is before the first.
    pub fn days(self) -> u32 {
        u32::try_from(days_from(self.first, self.last) + 1).unwrap_or(0)
    }

    pub fn holds(self, day: Date) -> bool {
        self.first <= day && day <= self.last
    }

    /// Every day of it.
    pub(super) fn each(self) -> impl Iterator<Item = Date> {
        (0..i64::from(self.days())).map(move |days| plus_days(self.first, days))
    }

    /// As many days just before it.
    pub fn before(self) -> Self {
        Self::ending(plus_days(self.first, -1), self.days())
    }
}

impl Step {
    /// The days of the step that a day is in.
    pub fn around(self, day: Date) -> Span {
        match self {
            Self::Day => Span::of_day(day),
            Self::Week => {
                let left = 6 - i64::from(day.weekday().to_monday_zero_offset());
                Span::ending(plus_days(day, left), 7)
            }
            Self::Month => Span { first: day.first_of_month(), last: day.last_of_month() },
        }
    }
}

impl Horizon {
    /// The days of the month or quarter that a day is in.
    pub fn around(self, day: Date) -> Span {
        match self {
            Self::Month => Step::Month.around(day),
            Self::Quarter => {
                let first_month = (day.month() - 1) / 3 * 3 + 1;
                let of_month = |month| Date::new(day.year(), month, 1).unwrap_or(day);
                Span {
                    first: of_month(first_month),
                    last: of_month(first_month + 2).last_of_month(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn days_are_counted_over_a_leap_day() {
        assert_eq!(days_from(date(2028, 2, 28), date(2028, 3, 1)), 2);
        assert_eq!(days_from(date(2027, 2, 28), date(2027, 3, 1)), 1);
        assert_eq!(days_from(date(2027, 3, 1), date(2027, 2, 28)), -1);
        assert_eq!(plus_days(date(2028, 2, 28), 2), date(2028, 3, 1));
        assert_eq!(plus_days(Date::MAX, i64::MAX), Date::MAX);
    }

    #[test]
    fn weeks_begin_on_monday_and_quarters_with_january() {
        // 2026-11-22 is a Sunday.
        let week = Step::Week.around(date(2026, 11, 22));
        assert_eq!((week.first, week.last), (date(2026, 11, 16), date(2026, 11, 22)));
        let quarter = Horizon::Quarter.around(date(2026, 11, 22));
        assert_eq!((quarter.first, quarter.last), (date(2026, 10, 1), date(2026, 12, 31)));
        assert_eq!(quarter.days(), 92);
        assert_eq!(Horizon::Quarter.around(date(2028, 3, 31)).days(), 31 + 29 + 31);
    }

    #[test]
    fn the_span_before_is_as_long() {
        let span = Span { first: date(2026, 11, 8), last: date(2026, 11, 14) };
        let before = span.before();
        assert_eq!(
            (before.first, before.last, before.days()),
            (date(2026, 11, 1), date(2026, 11, 7), 7)
        );
        assert_eq!(span.each().count(), 7);
    }
}
