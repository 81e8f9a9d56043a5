//! Whether hours show what their periods would, by how many readings each has.

use crate::domain::{HOUR_SECONDS, Window};
use jiff::Timestamp;

/// Readings of a whole hour, at least: one in each of its periods of five minutes.
const LEAST_READINGS_OF_AN_HOUR: f64 = 12.0;
/// Share of the readings of the fullest hour from which an hour is whole. Where they are
/// spread evenly, a period without any would take a twelfth of them.
const WHOLE_SHARE: f64 = 0.98;
/// The same for the newest hour, whose last quarter may be delivered later.
const NEWEST_WHOLE_SHARE: f64 = 0.75;

/// Whether each hour with readings has some in each of its periods, by how many there are.
pub(super) fn are_whole(counts: &[(Timestamp, f64)], window: Window) -> bool {
    let fullest = counts.iter().map(|(_, count)| *count).fold(0.0, f64::max);
    let is_whole = |(start, count): &(Timestamp, f64)| {
        let is_newest = start.as_second() + HOUR_SECONDS >= window.end.as_second();
        let share = if is_newest { NEWEST_WHOLE_SHARE } else { WHOLE_SHARE };
        *count >= fullest * share
    };
    counts.is_empty() || fullest >= LEAST_READINGS_OF_AN_HOUR && counts.iter().all(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_with_a_hole_make_a_machine_partial() {
        let window = Window {
            start: Timestamp::from_second(0).expect("in range"),
            end: Timestamp::from_second(4 * 3_600).expect("in range"),
        };
        let at = |hour: i64| Timestamp::from_second(hour * 3_600).expect("in range");
        // 60 readings an hour: a period of five minutes without any would leave 55. The
        // newest hour may have 45.
        let counts = |found: [f64; 4]| (0..).map(at).zip(found).collect::<Vec<_>>();
        assert!(are_whole(&counts([60.0, 59.0, 60.0, 45.0]), window));
        assert!(!are_whole(&counts([60.0, 55.0, 60.0, 60.0]), window));
        assert!(!are_whole(&counts([60.0, 60.0, 60.0, 44.0]), window));
        // Four readings an hour cannot be in twelve periods.
        assert!(!are_whole(&counts([4.0; 4]), window));
        assert!(are_whole(&[], window));
    }
}
