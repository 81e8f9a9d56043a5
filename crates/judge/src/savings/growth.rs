//! Commitments for a fleet that grows: how many pay over a whole term, and what they lose if
//! the growth does not come.

use super::calculator::months;
use super::pool::{ConcurrentUsage, PoolRates};
use crate::domain::{CommitmentTerm, Money};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// The most that a fleet may grow or shrink in a month: three years of it are a million times
/// as much.
pub const MOST_GROWTH: Decimal = Decimal::from_parts(50, 0, 0, false, 2);

/// What commitments that are bought now save over their term, in cents, with growth and
/// without it. The number of today is what pays on the usage of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrownPurchase {
    pub term: CommitmentTerm,
    pub count_today: u32,
    /// The number that saves most over the term if usage grows.
    pub count_grown: u32,
    /// Saved over the term if usage grows.
    pub today_if_grown: Money,
    pub grown_if_grown: Money,
    /// Saved over the term if usage stays as it is; below zero it is lost.
    pub today_if_flat: Money,
    pub grown_if_flat: Money,
}

impl GrownPurchase {
    /// What buying for the growth loses, beside buying for today, if it does not come: zero
    /// or more.
    pub fn lost_if_flat(&self) -> Money {
        let lost = self.today_if_flat.amount() - self.grown_if_flat.amount();
        Money::new(lost, self.today_if_flat.currency())
    }

    /// What buying for the growth saves, beside buying for today, if it comes: zero or more.
    pub fn gained_if_grown(&self) -> Money {
        let gained = self.grown_if_grown.amount() - self.today_if_grown.amount();
        Money::new(gained, self.grown_if_grown.currency())
    }
}

/// What to buy now of a commitment for usage that grows by a share every month, 0.03 for 3%:
/// the first month is as today, and the `m`-th `(1 + growth)^(m − 1)` times as much. `None`
/// beyond exact decimals, and for a growth beyond [`MOST_GROWTH`] either way.
pub fn grown_purchase(
    rates: &PoolRates,
    usage: &ConcurrentUsage,
    growth: Decimal,
    term: CommitmentTerm,
) -> Option<GrownPurchase> {
    if growth.abs() > MOST_GROWTH {
        return None;
    }
    let flat = vec![Decimal::ONE; months(term) as usize];
    let mut factor = Decimal::ONE;
    let mut grown = Vec::with_capacity(flat.len());
    for _ in 0..months(term) {
        grown.push(factor);
        // More digits than a count of instances has would only fill up.
        factor = (factor * (Decimal::ONE + growth)).round_dp(12);
    }
    let count_today = rates.best_count(usage);
    let count_grown = best_count(rates, usage, &grown)?;
    let saved =
        |count, factors: &[Decimal]| Some(saved_over(rates, usage, count, factors)?.rounded());
    Some(GrownPurchase {
        term,
        count_today,
        count_grown,
        today_if_grown: saved(count_today, &grown)?,
        grown_if_grown: saved(count_grown, &grown)?,
        today_if_flat: saved(count_today, &flat)?,
        grown_if_flat: saved(count_grown, &flat)?,
    })
}

/// What a number saves over months with so many times as many instances, unrounded.
fn saved_over(
    rates: &PoolRates,
    usage: &ConcurrentUsage,
    count: u32,
    factors: &[Decimal],
) -> Option<Money> {
    let mut months = factors.iter().map(|times| rates.saved_when_grown(usage, count, *times));
    let first = months.next()??;
    months.try_fold(first, |sum, month| sum.checked_add(month?).ok())
}

/// The largest number of which each further one saves something over the term. What one more
/// saves falls with the number, because each month's usage is used up from below.
fn best_count(rates: &PoolRates, usage: &ConcurrentUsage, factors: &[Decimal]) -> Option<u32> {
    let most = factors.iter().max()?;
    let peak = Decimal::from(usage.peak()).checked_mul(*most)?.ceil();
    let (mut low, mut high) = (0, peak.to_u32()?);
    while low < high {
        let middle = low + (high - low) / 2;
        let here = saved_over(rates, usage, middle, factors)?;
        if saved_over(rates, usage, middle + 1, factors)?.amount() > here.amount() {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Currency, HourlyRate};
    use crate::savings::INSTANCE;
    use proptest::prelude::*;

    fn rates(on_demand: i64, effective: i64) -> PoolRates {
        let rate = |thousandths| {
            HourlyRate::new(Decimal::new(thousandths, 3), Currency::Usd).expect("positive")
        };
        PoolRates::new(rate(on_demand), rate(effective)).expect("one currency")
    }

    fn usage(hourly: &[u32]) -> ConcurrentUsage {
        let hourly: Vec<u64> = hourly.iter().map(|n| u64::from(*n) * INSTANCE).collect();
        ConcurrentUsage::of(&hourly)
    }

    fn usd(text: &str) -> Money {
        Money::new(text.parse().expect("a decimal"), Currency::Usd)
    }

    const YEAR: CommitmentTerm = CommitmentTerm::ONE_YEAR_NO_UPFRONT;

    #[test]
    fn a_fleet_that_doubles_by_hand() {
        // Ten instances around the clock at $1, reserved for $0.60, and 6% more each month:
        // 10, 10.6, 11.236, … 18.98 in the twelfth. One more pays if it runs in more than 60% of
        // twelve months, 7.2. The 13th runs in 0.62 of the fifth and all of seven; the 14th in
        // 0.38 of the sixth and all of six.
        let purchase =
            grown_purchase(&rates(1_000, 600), &usage(&[10; 24]), Decimal::new(6, 2), YEAR)
                .expect("in bounds");
        assert_eq!((purchase.count_today, purchase.count_grown), (10, 13));
        // 10 × 12 × 730 × 0.40 whether it grows or not.
        assert_eq!(purchase.today_if_flat, usd("35040.00"));
        assert_eq!(purchase.today_if_grown, usd("35040.00"));
        // Three more for $0.60 that nothing uses: 3 × 12 × 730 × 0.60.
        assert_eq!(purchase.lost_if_flat(), usd("15768.00"));
        assert_eq!(purchase.grown_if_flat, usd("19272.00"));
        // Of the three, 0, 0.6, 1.236, 1.91016, 2.6247696 and seven times 3 run: 27.3709296
        // of 36 months. 730 × (27.3709296 − 0.6 × 36).
        assert_eq!(purchase.gained_if_grown(), usd("4212.78"));
    }

    #[test]
    fn without_growth_it_is_the_purchase_of_today() {
        let usage = usage(&[4, 4, 4, 4, 6, 6, 6, 6, 6, 5]);
        let purchase = grown_purchase(&rates(1_000, 590), &usage, Decimal::ZERO, YEAR);
        let purchase = purchase.expect("in bounds");
        assert_eq!((purchase.count_today, purchase.count_grown), (5, 5));
        // 12 × 1,204.50 of the pool's own test.
        assert_eq!(purchase.grown_if_flat, usd("14454.00"));
        assert_eq!(purchase.lost_if_flat(), usd("0"));
    }

    #[test]
    fn a_fleet_that_shrinks_buys_less() {
        let purchase =
            grown_purchase(&rates(1_000, 600), &usage(&[10; 24]), Decimal::new(-10, 2), YEAR)
                .expect("in bounds");
        // 10, 9, 8.1, 7.29, 6.561, 5.9049, 5.31441, 4.782969, …: the fifth runs in seven
        // months and 0.78 of the eighth, the sixth in five and 0.9049 + 0.31441.
        assert_eq!(purchase.count_grown, 5);
        let beyond = Decimal::new(51, 2);
        assert!(grown_purchase(&rates(1_000, 600), &usage(&[10]), beyond, YEAR).is_none());
    }

    proptest! {
        /// Every count, hour by hour and month by month.
        #[test]
        fn no_other_number_saves_more(
            hourly in proptest::collection::vec(0_u32..8, 1..12),
            effective in 1_i64..1_300,
            percent in -30_i64..30,
        ) {
            let growth = Decimal::new(percent, 2);
            let pool = rates(1_000, effective);
            let purchase = grown_purchase(&pool, &usage(&hourly), growth, YEAR).expect("in bounds");
            let saved = |count: u32| -> f64 {
                let mut sum = 0.0;
                for month in 0..12 {
                    let times = (1.0 + percent as f64 / 100.0).powi(month);
                    let covered = hourly.iter().map(|n| (f64::from(*n) * times).min(f64::from(count)));
                    let mean = covered.sum::<f64>() / hourly.len() as f64;
                    sum += 730.0 * (mean - f64::from(count) * effective as f64 / 1_000.0);
                }
                sum
            };
            let own = saved(purchase.count_grown);
            prop_assert!(
                (own - purchase.grown_if_grown.amount().to_f64().expect("a number")).abs() < 0.02
            );
            for count in 0..200 {
                prop_assert!(
                    saved(count) <= own + 0.01,
                    "{count} instead of {}",
                    purchase.count_grown
                );
            }
            prop_assert!(purchase.lost_if_flat().amount() >= Decimal::ZERO);
            prop_assert!(purchase.gained_if_grown().amount() >= Decimal::ZERO);
        }
    }
}
