//! Spot prices over time.

use crate::domain::Window;
use jiff::Timestamp;
use rust_decimal::Decimal;

/// Mean price over the window, each price weighted by how long it held. The
/// history gives changes only, in any order, with the last change before the
/// window in front: a price holds until the next one. Time before the first
/// known price is left out. `None` when no price holds inside the window.
pub fn time_weighted_mean(changes: &[(Timestamp, Decimal)], window: Window) -> Option<Decimal> {
    let mut ascending: Vec<(Timestamp, Decimal)> = changes
        .iter()
        .copied()
        .filter(|(time, _)| *time < window.end)
        .collect();
    ascending.sort_by_key(|(time, _)| *time);
    let mut weighted = Decimal::ZERO;
    let mut seconds = Decimal::ZERO;
    for (index, (time, price)) in ascending.iter().enumerate() {
        let until = ascending
            .get(index + 1)
            .map_or(window.end, |(next, _)| *next);
        let held = until.max(window.start).as_second() - (*time).max(window.start).as_second();
        weighted += *price * Decimal::from(held);
        seconds += Decimal::from(held);
    }
    weighted.checked_div(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    #[test]
    fn prices_are_weighted_by_how_long_they_held() {
        // 1.0 carried in for 30 s of the window, then 2.0 for 60 s, 4.0 for 10 s:
        // (30 + 120 + 40) / 100.
        let window = Window {
            start: at(100),
            end: at(200),
        };
        let changes = [
            (at(190), Decimal::from(4)),
            (at(50), Decimal::from(1)),
            (at(130), Decimal::from(2)),
            (at(250), Decimal::from(9)),
        ];
        assert_eq!(
            time_weighted_mean(&changes, window),
            Some(Decimal::new(19, 1))
        );
    }

    #[test]
    fn no_price_is_no_mean() {
        let window = Window {
            start: at(0),
            end: at(10),
        };
        assert_eq!(time_weighted_mean(&[], window), None);
        assert_eq!(time_weighted_mean(&[(at(10), Decimal::ONE)], window), None);
    }
}
