//! What a row of a bill becomes.

use super::fields::Moment;
use crate::domain::{BillLine, Window};

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

/// The period between two times; absent where it has none.
pub(super) fn period(start: Moment, end: Moment) -> Option<Window> {
    match (start, end) {
        (Moment::At(start), Moment::At(end)) if start <= end => Some(Window { start, end }),
        _ => None,
    }
}
