//! Spot prices over zones, and what interruptions cost a job that saves its state now and then.

use crate::catalog::Prices;
use crate::domain::{
    HourlyRate, InterruptionBand, PriceKey, PriceOption, PriceOrigin, PriceQuote, named_enum,
};
use jiff::SignedDuration;
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

/// Hours of the month over which the interruption bands are published.
const BAND_HOURS: f64 = 730.0;
/// Longest interval that is advised, however rare interruptions are.
const LONGEST_INTERVAL_SECONDS: f64 = 3_600.0;

/// How often a job is interrupted. A job on several nodes stops when any of them
/// is interrupted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interruptions {
    /// Per node and hour, as the published band says; absent without a band.
    pub band_per_node_hour: Option<f64>,
    /// Per hour of the whole job, as a plan compute with.
    pub per_hour: f64,
    /// Whether prudence sets it, and not the band.
    pub is_prudence: bool,
}

impl Interruptions {
    /// `nodes · max(λ_band, prudence)` with `λ_band = -ln(1 - p)/730` of the
    /// band's upper edge `p`. `least_per_day` is what prudence assumes at least,
    /// a day and node.
    pub fn of(band: Option<InterruptionBand>, nodes: u32, least_per_day: f64) -> Self {
        let band_per_node_hour = band.map(|band| -(1.0 - upper_edge(band)).ln() / BAND_HOURS);
        let prudence = least_per_day / 24.0;
        let per_node_hour = band_per_node_hour.map_or(prudence, |band| band.max(prudence));
        Self {
            band_per_node_hour,
            per_hour: f64::from(nodes) * per_node_hour,
            is_prudence: band_per_node_hour.is_none_or(|band| band < prudence),
        }
    }
}

/// Share of instances interrupted in a month at the upper edge of a band, 0–1;
/// half of them where the band is open.
fn upper_edge(band: InterruptionBand) -> f64 {
    match band {
        InterruptionBand::UnderFive => 0.05,
        InterruptionBand::FiveToTen => 0.10,
        InterruptionBand::TenToFifteen => 0.15,
        InterruptionBand::FifteenToTwenty => 0.20,
        InterruptionBand::OverTwenty => 0.50,
    }
}

/// How a job saves its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpointing {
    /// Time that one checkpoint takes from the job.
    pub cost: SignedDuration,
    /// Time from an interruption to work going on.
    pub restart: SignedDuration,
    /// Time between checkpoints; the best one unless given.
    pub interval: Option<SignedDuration>,
}

impl Default for Checkpointing {
    fn default() -> Self {
        Self {
            cost: SignedDuration::from_secs(60),
            restart: SignedDuration::from_mins(5),
            interval: None,
        }
    }
}

impl Checkpointing {
    /// The interval that loses least, `sqrt(2 C/λ)` (Young 1974), to the second,
    /// from a second to an hour. `interruptions` are per hour of the job.
    pub fn best_interval(&self, interruptions: f64) -> SignedDuration {
        let seconds = (2.0 * self.cost.as_secs_f64() * 3_600.0 / interruptions).sqrt();
        let advised = seconds.round().clamp(1.0, LONGEST_INTERVAL_SECONDS);
        SignedDuration::from_secs(advised as i64)
    }

    /// The interval that the job keeps: the one given, else the best.
    pub fn kept_interval(&self, interruptions: f64) -> SignedDuration {
        self.interval.unwrap_or_else(|| self.best_interval(interruptions))
    }

    /// Share of the time that is lost, `C/τ + λ(τ/2 + R)`; 1 and more when the
    /// job gets nowhere.
    pub fn overhead(&self, interval: SignedDuration, interruptions: f64) -> f64 {
        self.saving_share(interval) + interruptions * self.lost_hours(interval)
    }

    /// Share of the time that goes into checkpoints.
    pub fn saving_share(&self, interval: SignedDuration) -> f64 {
        self.cost.as_secs_f64() / interval.as_secs_f64()
    }

    /// Hours that one interruption costs on average: half an interval of work,
    /// and the restart.
    pub fn lost_hours(&self, interval: SignedDuration) -> f64 {
        (interval.as_secs_f64() / 2.0 + self.restart.as_secs_f64()) / 3_600.0
    }

    /// Interruptions per hour at which this share of the time is lost, at a fixed
    /// interval; `None` when the checkpoints alone lose more.
    pub fn interruptions_at(&self, overhead: f64, interval: SignedDuration) -> Option<f64> {
        let rest = overhead - self.saving_share(interval);
        (rest >= 0.0).then(|| rest / self.lost_hours(interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::bundled_quote;
    use crate::domain::{Currency, PriceBook};
    use proptest::prelude::*;
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

    fn seconds(seconds: i64) -> SignedDuration {
        SignedDuration::from_secs(seconds)
    }

    #[test]
    fn bands_count_from_their_upper_edge() {
        // What is left after 730 hours at a constant hazard is what the band leaves.
        for (band, left) in InterruptionBand::ALL.iter().zip([0.95, 0.9, 0.85, 0.8, 0.5]) {
            let interruptions = Interruptions::of(Some(*band), 1, 0.0);
            let survivors = (-interruptions.per_hour * 730.0).exp();
            assert!((survivors - left).abs() < 1e-12, "{band}: {survivors}");
            assert_eq!(interruptions.band_per_node_hour, Some(interruptions.per_hour));
            assert!(!interruptions.is_prudence);
        }
    }

    #[test]
    fn prudence_outranks_every_band_and_nodes_add_up() {
        let prudent = Interruptions::of(Some(InterruptionBand::OverTwenty), 4, 1.0);
        assert!((prudent.per_hour - 1.0 / 6.0).abs() < 1e-12);
        assert!(prudent.is_prudence);
        let unknown = Interruptions::of(None, 1, 1.0);
        assert!((unknown.per_hour - 1.0 / 24.0).abs() < 1e-12);
        assert_eq!((unknown.band_per_node_hour, unknown.is_prudence), (None, true));
    }

    #[test]
    fn the_best_interval_by_hand() {
        // sqrt(2 × 60 s × 24 × 3 600 s) = 3 220 s; with four nodes half of it.
        let usual = Checkpointing::default();
        assert_eq!(usual.best_interval(1.0 / 24.0), seconds(3_220));
        assert_eq!(usual.best_interval(4.0 / 24.0), seconds(1_610));
        // Never over an hour, even where nothing is ever interrupted.
        assert_eq!(usual.best_interval(1.0 / 730.0), seconds(3_600));
        assert_eq!(usual.best_interval(0.0), seconds(3_600));
        // 60/1 610 + 1/6 × (805 + 300)/3 600.
        let overhead = usual.overhead(seconds(1_610), 1.0 / 6.0);
        assert!((overhead - 0.088_424_488).abs() < 1e-9, "{overhead}");
    }

    #[test]
    fn a_given_interval_is_kept() {
        let given = Checkpointing { interval: Some(seconds(7_200)), ..Checkpointing::default() };
        assert_eq!(given.kept_interval(1.0), seconds(7_200));
        assert_eq!(
            Checkpointing::default().kept_interval(1.0),
            Checkpointing::default().best_interval(1.0)
        );
    }

    fn checkpointing() -> impl Strategy<Value = Checkpointing> {
        (1_i64..900, 1_i64..3_600).prop_map(|(cost, restart)| Checkpointing {
            cost: seconds(cost),
            restart: seconds(restart),
            interval: None,
        })
    }

    proptest! {
        #[test]
        fn the_best_interval_beats_every_other(
            checkpointing in checkpointing(), per_hour in 0.0002_f64..8.0, other in 1_i64..3_600,
        ) {
            let best = checkpointing.best_interval(per_hour);
            let least = checkpointing.overhead(best, per_hour);
            let around = [best.as_secs() - 1, best.as_secs() + 1, other];
            for interval in around.into_iter().filter(|interval| (1..=3_600).contains(interval)) {
                let overhead = checkpointing.overhead(seconds(interval), per_hour);
                // The optimum is rounded to the second, which the neighbour may
                // win by a hair.
                prop_assert!(least <= overhead + 1e-6, "{best:?} {interval} {least} {overhead}");
            }
        }

        #[test]
        fn more_interruptions_cost_more(
            checkpointing in checkpointing(), few in 0.0_f64..4.0, more in 0.001_f64..4.0,
        ) {
            let cost = |per_hour| checkpointing.overhead(checkpointing.best_interval(per_hour), per_hour);
            prop_assert!(cost(few) <= cost(few + more) + 1e-6);
            let fixed = seconds(1_800);
            prop_assert!(
                checkpointing.overhead(fixed, few) < checkpointing.overhead(fixed, few + more)
            );
        }

        #[test]
        fn interruptions_at_an_overhead_have_that_overhead(
            checkpointing in checkpointing(), interval in 1_i64..7_200, overhead in 0.0_f64..1.0,
        ) {
            let interval = seconds(interval);
            match checkpointing.interruptions_at(overhead, interval) {
                Some(per_hour) => {
                    let actual = checkpointing.overhead(interval, per_hour);
                    prop_assert!((actual - overhead).abs() < 1e-9, "{actual} {overhead}");
                }
                None => prop_assert!(checkpointing.saving_share(interval) > overhead),
            }
        }
    }
}
