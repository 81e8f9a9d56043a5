//! What a spot price did over a window.

use super::Window;
use super::wire::Amount;
use jiff::Timestamp;
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures of the spot price of one type in one zone over a window. The history
/// gives changes only; each price counts by how long it held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a spot history with `now`, `min`, `max`, `p95` and `volatility_percent`"
)]
pub struct SpotHistory {
    /// The price that held at the end of the window, per hour.
    #[serde(with = "Amount")]
    pub now: Decimal,
    /// Time-weighted mean, per hour, to six decimals: the price itself, which documents state.
    #[serde(skip)]
    pub mean: Decimal,
    /// Lowest price that held in the window, per hour.
    #[serde(with = "Amount")]
    pub min: Decimal,
    /// Highest price that held in the window, per hour.
    #[serde(with = "Amount")]
    pub max: Decimal,
    /// Lowest price that, with all below it, held for at least 95% of the time.
    #[serde(with = "Amount")]
    pub p95: Decimal,
    /// Time-weighted standard deviation as a percentage of the mean, to four
    /// decimals.
    #[serde(with = "Amount")]
    pub volatility_percent: Decimal,
}

/// Each price with the seconds that it held inside the window, ascending by time.
/// The history gives changes only, in any order, with the last change before the
/// window in front: a price holds until the next one. Time before the first
/// known price is left out.
fn held(changes: &[(Timestamp, Decimal)], window: Window) -> Vec<(Decimal, Decimal)> {
    let mut ascending: Vec<(Timestamp, Decimal)> =
        changes.iter().copied().filter(|(time, _)| *time < window.end).collect();
    ascending.sort();
    let nexts = ascending.iter().skip(1).map(|(next, _)| *next);
    ascending
        .iter()
        .zip(nexts.chain([window.end]))
        .map(|((time, price), until)| {
            let seconds =
                until.max(window.start).as_second() - (*time).max(window.start).as_second();
            (*price, Decimal::from(seconds))
        })
        .filter(|(_, seconds)| *seconds > Decimal::ZERO)
        .collect()
}

fn mean(held: &[(Decimal, Decimal)]) -> Option<Decimal> {
    let weighted: Decimal = held.iter().map(|(price, seconds)| price * seconds).sum();
    weighted.checked_div(total_seconds(held))
}

fn total_seconds(held: &[(Decimal, Decimal)]) -> Decimal {
    held.iter().map(|(_, seconds)| seconds).sum()
}

/// Mean price over the window, each price weighted by how long it held; the
/// changes are as [`spot_history`] takes them. `None` when no price holds inside
/// the window.
pub fn time_weighted_mean(changes: &[(Timestamp, Decimal)], window: Window) -> Option<Decimal> {
    mean(&held(changes, window))
}

/// Figures of one zone's price over the window, from its changes in any order,
/// the last one before the window included: a price holds until the next one.
/// Time before the first known price is left out. `None` when no price holds
/// inside the window.
pub fn spot_history(changes: &[(Timestamp, Decimal)], window: Window) -> Option<SpotHistory> {
    let mut held = held(changes, window);
    let (now, _) = *held.last()?;
    let mean = mean(&held)?;
    let total = total_seconds(&held);
    let variance: Decimal = held
        .iter()
        .map(|(price, seconds)| (price - mean) * (price - mean) * seconds)
        .sum::<Decimal>()
        .checked_div(total)?;
    held.sort();
    let enough = total * Decimal::new(95, 2);
    let mut below = Decimal::ZERO;
    let p95 = held.iter().find(|(_, seconds)| {
        below += seconds;
        below >= enough
    })?;
    let volatility = variance.to_f64()?.sqrt() / mean.to_f64()?;
    Some(SpotHistory {
        now,
        mean: mean.round_dp(6),
        min: held.first()?.0,
        max: held.last()?.0,
        p95: p95.0,
        volatility_percent: Decimal::from_f64(volatility * 100.0)?.round_dp(4),
    })
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
        let window = Window { start: at(100), end: at(200) };
        let changes = [
            (at(190), Decimal::from(4)),
            (at(50), Decimal::from(1)),
            (at(130), Decimal::from(2)),
            (at(250), Decimal::from(9)),
        ];
        assert_eq!(time_weighted_mean(&changes, window), Some(Decimal::new(19, 1)));
    }

    #[test]
    fn figures_by_hand() {
        // 3 holds for 5 s, 9 for 1 s, 5 for 4 s: the mean is (15 + 9 + 20) / 10;
        // 95% of ten seconds reach into the one of the most expensive price.
        let window = Window { start: at(0), end: at(10) };
        let changes = [(at(-4), 3), (at(9), 5), (at(5), 9), (at(6), 5), (at(4), 3)]
            .map(|(time, price)| (time, Decimal::from(price)));
        let history = spot_history(&changes, window).expect("prices");
        let figures = [history.now, history.mean, history.min, history.max, history.p95];
        assert_eq!(
            figures.map(|figure| figure.normalize().to_string()),
            ["5", "4.4", "3", "9", "9"]
        );
        // 5 × 1.4² + 4.6² + 4 × 0.6² = 32.4 over 10 s: 1.8 of 4.4.
        assert_eq!(history.volatility_percent.to_string(), "40.9091");
    }

    #[test]
    fn a_short_peak_is_above_the_p95() {
        let window = Window { start: at(0), end: at(100) };
        let peak = |seconds: i64| {
            let changes = [
                (at(0), Decimal::ONE),
                (at(40), Decimal::from(7)),
                (at(40 + seconds), Decimal::ONE),
            ];
            spot_history(&changes, window).expect("prices")
        };
        assert_eq!(peak(5).p95, Decimal::ONE);
        assert_eq!(peak(6).p95, Decimal::from(7));
        assert_eq!(peak(5).max, Decimal::from(7));
        assert_eq!(peak(5).now, Decimal::ONE);
    }

    #[test]
    fn a_price_that_never_moved_has_no_volatility() {
        let window = Window { start: at(0), end: at(10) };
        let history = spot_history(&[(at(-9), Decimal::TWO)], window).expect("a price");
        assert_eq!(history.volatility_percent, Decimal::ZERO);
        assert_eq!(
            (history.min, history.max, history.now),
            (Decimal::TWO, Decimal::TWO, Decimal::TWO)
        );
        assert_eq!(spot_history(&[], window), None);
        assert_eq!(spot_history(&[(at(10), Decimal::TWO)], window), None);
    }

    #[test]
    fn no_price_is_no_mean() {
        let window = Window { start: at(0), end: at(10) };
        assert_eq!(time_weighted_mean(&[], window), None);
        assert_eq!(time_weighted_mean(&[(at(10), Decimal::ONE)], window), None);
    }
}
