//! What a row of a bill becomes.

use super::fields::Moment;
use crate::domain::{BillLine, Window};
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// A row that was read.
pub(super) enum Read {
    Line {
        line: Box<BillLine>,
        /// Whether its times, where it has some, are times.
        is_timed: bool,
        /// Whether it is an estimate of gpucost's own, and was never billed.
        is_estimate: bool,
    },
    /// In a currency that gpucost has no amounts in, by its code.
    OtherCurrency(String),
}

/// The first day of the month of UTC in which a time is; absent where there is none.
pub(super) fn month(moment: Moment) -> Option<Date> {
    match moment {
        Moment::At(at) => Some(at.to_zoned(TimeZone::UTC).date().first_of_month()),
        Moment::Absent | Moment::Invalid => None,
    }
}

/// The period between two times; absent where it has none.
pub(super) fn period(start: Moment, end: Moment) -> Option<Window> {
    match (start, end) {
        (Moment::At(start), Moment::At(end)) if start <= end => Some(Window { start, end }),
        _ => None,
    }
}
