//! Spot prices over time and over zones.

use crate::catalog::Prices;
use crate::domain::{
    HourlyRate, PriceKey, PriceOption, PriceOrigin, PriceQuote, SpotHistory, Window, named_enum,
};
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};

/// Each price with the seconds that it held inside the window, ascending by time.
/// The history gives changes only, in any order, with the last change before the
/// window in front: a price holds until the next one. Time before the first
/// known price is left out.
fn held(changes: &[(Timestamp, Decimal)], window: Window) -> Vec<(Decimal, Decimal)> {
    let mut ascending: Vec<(Timestamp, Decimal)> = changes
        .iter()
        .copied()
        .filter(|(time, _)| *time < window.end)
        .collect();
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

named_enum! {
    /// What a region's spot price is.
    SpotBasis {
        /// Median over zones of what was read of each.
        ZonesMedian = "zones-median",
        /// Read for the region as a whole, by a refresh or a recording.
        RegionMedian = "region-median",
        /// The average of the bundled catalog: offline, of an earlier day.
        CatalogAverage = "catalog-average",
        /// The user's own.
        OwnPrice = "own-price",
    }
}

/// What an hour on the spot market of a region costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpotPrice {
    /// The price.
    pub rate: HourlyRate,
    /// What it is.
    pub basis: SpotBasis,
    /// The oldest day on which a price behind it was seen.
    pub seen_on: Date,
    /// The prices behind it, by zone; or one for the region.
    pub quotes: Vec<(PriceKey, PriceQuote)>,
}

/// The spot price of a type in a region: the median over its zones, each a
/// time-weighted mean; else what is known of the region as a whole. `None` when
/// no source has one. The key's own offer and zone do not matter.
pub fn spot_price(prices: &Prices<'_>, key: &PriceKey) -> Option<SpotPrice> {
    let key = key.with_option(PriceOption::Spot);
    let mut quotes = prices.by_zone(&key);
    if quotes.is_empty() {
        let quote = prices.get(&key).ok()?;
        return Some(SpotPrice {
            rate: quote.rate,
            basis: match quote.origin {
                PriceOrigin::Bundled => SpotBasis::CatalogAverage,
                PriceOrigin::Cache | PriceOrigin::Api => SpotBasis::RegionMedian,
                PriceOrigin::User => SpotBasis::OwnPrice,
            },
            seen_on: quote.seen_on,
            quotes: vec![(key, quote)],
        });
    }
    quotes.sort_by_key(|(_, quote)| quote.rate.amount());
    let (lower, upper) = (
        &quotes[(quotes.len() - 1) / 2].1,
        &quotes[quotes.len() / 2].1,
    );
    let median = (lower.rate.amount() + upper.rate.amount()) / Decimal::TWO;
    let rate = HourlyRate::new(median.round_dp(6).normalize(), lower.rate.currency())?;
    quotes.sort_by(|left, right| left.0.cmp(&right.0));
    Some(SpotPrice {
        rate,
        basis: SpotBasis::ZonesMedian,
        seen_on: quotes.iter().map(|(_, quote)| quote.seen_on).min()?,
        quotes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::bundled_quote;
    use crate::domain::{Currency, PriceBook};
    use std::collections::BTreeMap;

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
    fn figures_by_hand() {
        // 3 holds for 5 s, 9 for 1 s, 5 for 4 s: the mean is (15 + 9 + 20) / 10;
        // 95% of ten seconds reach into the one of the most expensive price.
        let window = Window {
            start: at(0),
            end: at(10),
        };
        let changes = [(at(-4), 3), (at(9), 5), (at(5), 9), (at(6), 5), (at(4), 3)]
            .map(|(time, price)| (time, Decimal::from(price)));
        let found = spot_history(&changes, window).expect("prices");
        let figures = [found.now, found.mean, found.min, found.max, found.p95];
        assert_eq!(
            figures.map(|figure| figure.normalize().to_string()),
            ["5", "4.4", "3", "9", "9"]
        );
        // 5 × 1.4² + 4.6² + 4 × 0.6² = 32.4 over 10 s: 1.8 of 4.4.
        assert_eq!(found.volatility_percent.to_string(), "40.9091");
    }

    #[test]
    fn a_short_peak_is_above_the_p95() {
        let window = Window {
            start: at(0),
            end: at(100),
        };
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
        let window = Window {
            start: at(0),
            end: at(10),
        };
        let found = spot_history(&[(at(-9), Decimal::TWO)], window).expect("a price");
        assert_eq!(found.volatility_percent, Decimal::ZERO);
        assert_eq!(
            (found.min, found.max, found.now),
            (Decimal::TWO, Decimal::TWO, Decimal::TWO)
        );
        assert_eq!(spot_history(&[], window), None);
        assert_eq!(spot_history(&[(at(10), Decimal::TWO)], window), None);
    }

    #[test]
    fn a_region_costs_the_median_of_its_zones() {
        let key = PriceKey::linux_on_demand("us-east-1", "g5.xlarge");
        let bundled = |key: &PriceKey| {
            let quote = bundled_quote(&key.with_option(PriceOption::Spot));
            quote.expect("the catalog has it")
        };
        let none = BTreeMap::new();
        let mut book = PriceBook::default();
        let basis = |book: &PriceBook| {
            let found = spot_price(&Prices::new(book, &none), &key).expect("a price");
            (
                found.rate.amount().to_string(),
                found.basis,
                found.quotes.len(),
            )
        };
        let average = bundled(&key).rate.amount().to_string();
        assert_eq!(basis(&book), (average, SpotBasis::CatalogAverage, 1));
        let add = |book: &mut PriceBook, zone: Option<&str>, amount: i64, origin| {
            let rate = HourlyRate::new(Decimal::new(amount, 1), Currency::Usd).expect("positive");
            let quote = PriceQuote {
                rate,
                origin,
                ..bundled(&key)
            };
            book.insert(key.with_option(PriceOption::Spot).in_zone(zone), quote);
        };
        add(&mut book, None, 8, PriceOrigin::Cache);
        assert_eq!(basis(&book), ("0.8".to_owned(), SpotBasis::RegionMedian, 1));
        for (zone, amount) in [("us-east-1a", 9), ("us-east-1b", 3), ("us-east-1c", 4)] {
            add(&mut book, Some(zone), amount, PriceOrigin::Api);
        }
        assert_eq!(basis(&book), ("0.4".to_owned(), SpotBasis::ZonesMedian, 3));
        add(&mut book, Some("us-east-1d"), 5, PriceOrigin::Api);
        assert_eq!(basis(&book), ("0.45".to_owned(), SpotBasis::ZonesMedian, 4));
        add(&mut book, None, 7, PriceOrigin::User);
        assert_eq!(basis(&book), ("0.7".to_owned(), SpotBasis::OwnPrice, 1));
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
