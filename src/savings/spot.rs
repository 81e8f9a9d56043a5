//! Spot prices over zones.

use crate::catalog::Prices;
use crate::domain::{HourlyRate, PriceKey, PriceOption, PriceOrigin, PriceQuote, named_enum};
use jiff::civil::Date;
use rust_decimal::Decimal;

named_enum! {
    /// What a region's spot price is.
    SpotBasis {
        /// Median over zones of what was read of each.
        ZonesMedian = "zones-median",
        /// Read for the region as a whole, by a refresh or a recording.
        RegionMedian = "region-median",
        /// The average of the bundled catalog: offline, of an earlier day.
        CatalogAverage = "catalog-average",
        OwnPrice = "own-price",
    }
}

/// What an hour on the spot market of a region costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpotPrice {
    pub rate: HourlyRate,
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
    let (lower, upper) = (&quotes[(quotes.len() - 1) / 2].1, &quotes[quotes.len() / 2].1);
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
            let price = spot_price(&Prices::new(book, &none), &key).expect("a price");
            (price.rate.amount().to_string(), price.basis, price.quotes.len())
        };
        let average = bundled(&key).rate.amount().to_string();
        assert_eq!(basis(&book), (average, SpotBasis::CatalogAverage, 1));
        let add = |book: &mut PriceBook, zone: Option<&str>, amount: i64, origin| {
            let rate = HourlyRate::new(Decimal::new(amount, 1), Currency::Usd).expect("positive");
            let quote = PriceQuote { rate, origin, ..bundled(&key) };
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
}
