//! How many reserved instances a pool should hold, judged by how many of its
//! instances ran at the same time in each hour.
//!
//! With `N(t)` instances in hour `t`, a reserved rate `r` and an on-demand rate
//! `d`, the `k`-th reserved instance costs `r` in every hour and saves `d` in the
//! hours with `N(t) ≥ k`. It pays exactly when their share exceeds `r/d`. That
//! share falls with `k`, so the best number is the largest `k` that pays.

use super::calculator::{BILLED_HOURS_PER_MONTH, MONTHS_BEFORE_HALVING, months};
use crate::domain::{CommitmentTerm, Currency, CurrencyMismatch, HourlyRate, Money};
use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};

/// One instance throughout an hour, in billionths: hours are added up as whole
/// numbers, so that nothing depends on their order.
pub const INSTANCE: u64 = 1_000_000_000;

/// Billionths of instance-hours as a number.
pub fn instances(billionths: u64) -> Decimal {
    Decimal::from(billionths) / Decimal::from(INSTANCE)
}

/// Concurrent usage of a pool: for every number of instances, the time in which
/// at least as many ran. Of an hour in which two and a half ran, the third unit was
/// used for half.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConcurrentUsage {
    hours: u64,
    /// At `k - 1`: hours with at least `k`, in billionths.
    at_least: Vec<u64>,
}

impl ConcurrentUsage {
    /// From the instances that ran in each hour of a window, in billionths.
    pub fn of(hourly: &[u64]) -> Self {
        let peak = hourly.iter().max().map_or(0, |peak| peak.div_ceil(INSTANCE));
        // How many hours end at a unit, whole or in part.
        let mut whole = vec![0_u64; peak as usize + 1];
        let mut at_least = vec![0_u64; peak as usize];
        for running in hourly {
            let full = (running / INSTANCE) as usize;
            whole[full] += 1;
            if let Some(partly) = at_least.get_mut(full) {
                *partly += running % INSTANCE;
            }
        }
        let mut above = 0;
        for k in (0..at_least.len()).rev() {
            above += whole[k + 1];
            at_least[k] += above * INSTANCE;
        }
        Self { hours: hourly.len() as u64, at_least }
    }

    /// Hours of the window.
    pub fn hours(&self) -> u64 {
        self.hours
    }

    /// The most instances that ran at once, one in part counting as one.
    pub fn peak(&self) -> u32 {
        u32::try_from(self.at_least.len()).unwrap_or(u32::MAX)
    }

    /// Hours in which at least `k` instances ran, those in which the last of them ran
    /// in part counting in part: `Σ clamp(N(t) − k + 1, 0, 1)`.
    pub fn hours_with_at_least(&self, k: u32) -> Decimal {
        match k.checked_sub(1) {
            None => Decimal::from(self.hours),
            Some(index) => instances(self.at_least.get(index as usize).copied().unwrap_or(0)),
        }
    }

    /// Instance-hours in the window that `count` reserved instances cover: the
    /// sum of `min(N(t), count)`.
    pub fn covered_hours(&self, count: u32) -> Decimal {
        instances(self.at_least.iter().take(count as usize).sum())
    }

    /// The same of a number that is not whole: of `x` instances `Σ min(N(t), x)`.
    fn covered_by(&self, count: Decimal) -> Decimal {
        let whole = count.trunc().to_u32().unwrap_or(u32::MAX);
        let next = self.hours_with_at_least(whole.saturating_add(1));
        self.covered_hours(whole) + count.fract() * next
    }

    /// The same when half of the instances, rounded down, had run: at least `k`
    /// of them are left where `2·k` ran.
    fn covered_hours_when_halved(&self, count: u32) -> Decimal {
        let halved = self.at_least.iter().skip(1).step_by(2);
        instances(halved.take(count as usize).sum())
    }

    /// Instance-hours in the window.
    pub fn total_hours(&self) -> Decimal {
        instances(self.at_least.iter().sum())
    }
}

/// The rates of a pool: what one instance costs per hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolRates {
    on_demand: Decimal,
    effective: Decimal,
    currency: Currency,
}

impl PoolRates {
    /// The on-demand rate, and that of the commitment with its upfront spread
    /// over the term.
    ///
    /// # Errors
    /// When the currencies differ.
    pub fn new(on_demand: HourlyRate, effective: HourlyRate) -> Result<Self, CurrencyMismatch> {
        if on_demand.currency() != effective.currency() {
            return Err(CurrencyMismatch {
                left: on_demand.currency(),
                right: effective.currency(),
            });
        }
        Ok(Self {
            on_demand: on_demand.amount(),
            effective: effective.amount(),
            currency: on_demand.currency(),
        })
    }

    /// The share of the hours, 0–1, that a reserved instance must be used in to
    /// pay; above 1 when none ever does.
    pub fn break_even_utilization(&self) -> Decimal {
        self.effective / self.on_demand
    }

    /// `K*`: the largest `k` such that the share of hours with `N(t) ≥ k` exceeds
    /// the break-even; zero when not even the first pays.
    pub fn best_count(&self, usage: &ConcurrentUsage) -> u32 {
        let needed = self.effective * Decimal::from(usage.hours);
        let paying =
            usage.at_least.partition_point(|hours| self.on_demand * instances(*hours) > needed);
        u32::try_from(paying).unwrap_or(u32::MAX)
    }

    /// What the pool costs per month with `count` reserved instances, unrounded:
    /// `hours_per_month/hours · (r·count·hours + d·Σ max(0, N(t) − count))`.
    /// Nothing for an empty window.
    pub fn monthly_cost(
        &self,
        usage: &ConcurrentUsage,
        count: u32,
        hours_per_month: Decimal,
    ) -> Money {
        let uncovered = usage.total_hours() - usage.covered_hours(count);
        let reserved = Decimal::from(count) * Decimal::from(usage.hours);
        let cost = self.effective * reserved + self.on_demand * uncovered;
        self.money(per_hour(cost * hours_per_month, usage.hours))
    }

    /// What `count` reserved instances save per month, unrounded; below zero for
    /// too many of them.
    pub fn monthly_savings(
        &self,
        usage: &ConcurrentUsage,
        count: u32,
        hours_per_month: Decimal,
    ) -> Money {
        let on_demand = self.monthly_cost(usage, 0, hours_per_month).amount();
        self.money(on_demand - self.monthly_cost(usage, count, hours_per_month).amount())
    }

    /// What `count` reserved instances save in a month in which so many times as many
    /// instances run, unrounded; below zero where they cost more than they replace. `None`
    /// where that is beyond exact decimals.
    pub fn saved_when_grown(
        &self,
        usage: &ConcurrentUsage,
        count: u32,
        times: Decimal,
    ) -> Option<Money> {
        let month = Decimal::from(BILLED_HOURS_PER_MONTH);
        let count = Decimal::from(count);
        // Of `times · N(t)` as much is covered as of `N(t)` by `count / times`.
        let covered = usage.covered_by(count.checked_div(times)?).checked_mul(times)?;
        let replaced = self.on_demand.checked_mul(covered)?.checked_mul(month)?;
        let fees = self.effective * count * month;
        Some(self.money(per_hour(replaced, usage.hours) - fees))
    }

    /// What `count` reserved instances cost over a term, used or not, unrounded.
    pub fn committed(&self, count: u32, term: CommitmentTerm) -> Money {
        self.money(self.effective * Decimal::from(count) * Decimal::from(term.hours()))
    }

    /// What `count` reserved instances lose over a term when usage stays as it
    /// was for six months and is `floor(N(t)/2)` from the seventh on: what they
    /// cost less the on-demand hours they replace, unrounded; zero when they save
    /// even so.
    pub fn downside_when_halved(
        &self,
        usage: &ConcurrentUsage,
        count: u32,
        term: CommitmentTerm,
    ) -> Money {
        let full = Decimal::from(MONTHS_BEFORE_HALVING);
        let halved = Decimal::from(months(term) - MONTHS_BEFORE_HALVING);
        let covered =
            full * usage.covered_hours(count) + halved * usage.covered_hours_when_halved(count);
        let month = Decimal::from(BILLED_HOURS_PER_MONTH);
        let replaced = per_hour(self.on_demand * covered * month, usage.hours);
        let loss = self.committed(count, term).amount() - replaced;
        self.money(loss.max(Decimal::ZERO))
    }

    fn money(&self, amount: Decimal) -> Money {
        Money::new(amount, self.currency)
    }
}

fn per_hour(sum: Decimal, hours: u64) -> Decimal {
    sum.checked_div(Decimal::from(hours)).unwrap_or_default()
}

/// Splits a saving in whole cents by weight, in proportion rounded half-up; the
/// last row with a weight takes the cents that remain, and a row gets no more than the rows
/// before it left. So no part is negative and the parts sum to the saving.
/// Negative weights count as zero; without a positive one the last row takes
/// all. The saving is rounded to cents first; one that is not above zero gives
/// nothing to any row.
pub fn allocate(saving: Money, weights: &[Decimal]) -> Vec<Money> {
    let currency = saving.currency();
    let mut left = saving.rounded().amount().max(Decimal::ZERO);
    let total = left;
    let weight = |weight: &Decimal| (*weight).max(Decimal::ZERO);
    let sum: Decimal = weights.iter().map(weight).sum();
    let weighted = weights.iter().rposition(|row| *row > Decimal::ZERO);
    let last = weighted.unwrap_or(weights.len().saturating_sub(1));
    weights
        .iter()
        .enumerate()
        .map(|(index, row)| {
            let share = if index == last {
                left
            } else {
                (total * weight(row))
                    .checked_div(sum)
                    .unwrap_or_default()
                    .round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero)
                    .min(left)
            };
            left -= share;
            Money::new(share, currency)
        })
        .collect()
}

/// Rounded half-up to cents.
pub(super) fn cents(amount: Decimal) -> Decimal {
    amount.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn rate(millis: i64) -> HourlyRate {
        HourlyRate::new(Decimal::new(millis, 3), Currency::Usd).expect("positive")
    }

    fn rates(on_demand: i64, effective: i64) -> PoolRates {
        PoolRates::new(rate(on_demand), rate(effective)).expect("one currency")
    }

    fn usage_of(hourly: &[u32]) -> ConcurrentUsage {
        let billionths: Vec<u64> = hourly.iter().map(|n| u64::from(*n) * INSTANCE).collect();
        ConcurrentUsage::of(&billionths)
    }

    #[test]
    fn an_hour_in_part_counts_in_part() {
        // 2.5, 1 and 0.25 instances: the first unit ran for 1 + 1 + 0.25 hours, the
        // second for 1, the third for a half.
        let usage = ConcurrentUsage::of(&[INSTANCE * 5 / 2, INSTANCE, INSTANCE / 4]);
        let hours = |k| usage.hours_with_at_least(k).normalize().to_string();
        assert_eq!([hours(1), hours(2), hours(3), hours(4)], ["2.25", "1", "0.5", "0"]);
        assert_eq!(usage.peak(), 3);
        assert_eq!(usage.total_hours(), Decimal::new(375, 2));
    }

    /// Four boxes at night, six in the working hours of a ten-hour day.
    const DAY: [u32; 10] = [4, 4, 4, 4, 6, 6, 6, 6, 6, 5];

    #[test]
    fn a_day_by_hand() {
        let usage = usage_of(&DAY);
        // Hours with at least 4, 5, 6 boxes: 10, 6, 5 of 10.
        assert_eq!(usage.peak(), 6);
        for (k, hours) in [(0, 10), (1, 10), (4, 10), (5, 6), (6, 5), (7, 0)] {
            assert_eq!(usage.hours_with_at_least(k), Decimal::from(hours), "{k}");
        }
        let count = |effective| rates(1_000, effective).best_count(&usage);
        assert_eq!(count(590), 5, "60% > 59%");
        assert_eq!(count(600), 4, "60% is not more than 60%");
        assert_eq!(count(499), 6);
        assert_eq!(count(1_000), 0, "as dear as on demand");
        // Five at 0.59 and the sixth for five hours: 29.5 + 5 of 51 in ten hours.
        let pool = rates(1_000, 590);
        let month = Decimal::from(730);
        let cost = |count| pool.monthly_cost(&usage, count, month).amount();
        assert_eq!(cost(5), Decimal::new(25_185, 1));
        assert_eq!(cost(0), Decimal::from(3_723));
        assert_eq!(pool.monthly_savings(&usage, 5, month).amount(), Decimal::new(12_045, 1));
    }

    #[test]
    fn the_downside_by_hand() {
        let usage = usage_of(&DAY);
        let pool = rates(1_000, 590);
        let one_year = CommitmentTerm::ONE_YEAR_NO_UPFRONT;
        // 5 × 0.59 × 8 760 = 25 842. Covered are 46 of every 10 hours for six
        // months; halved, two or three boxes run, 4 × 2 + 5 × 3 + 2 = 25 of every
        // 10. 730 × 6 × (4.6 + 2.5) = 31 098 on demand: no loss.
        assert_eq!(pool.committed(5, one_year).amount(), Decimal::from(25_842));
        let downside = |count, term| pool.downside_when_halved(&usage, count, term).amount();
        assert_eq!(downside(5, one_year), Decimal::ZERO);
        // Three years: 77 526 against 730 × (6 × 4.6 + 30 × 2.5) = 74 898.
        let three_years = CommitmentTerm::THREE_YEARS_NO_UPFRONT;
        assert_eq!(downside(5, three_years), Decimal::from(2_628));
        assert_eq!(downside(0, three_years), Decimal::ZERO);
    }

    #[test]
    fn an_empty_window_buys_nothing() {
        for hourly in [&[][..], &[0, 0]] {
            let usage = usage_of(hourly);
            let pool = rates(1_000, 1);
            assert_eq!(pool.best_count(&usage), 0);
            let cost = pool.monthly_cost(&usage, 0, Decimal::from(730));
            assert_eq!(cost.amount(), Decimal::ZERO);
        }
    }

    #[test]
    fn currencies_are_not_mixed() {
        let yuan = HourlyRate::new(Decimal::ONE, Currency::Cny).expect("positive");
        assert!(PoolRates::new(rate(1_000), yuan).is_err());
    }

    #[test]
    fn the_last_row_takes_the_cent() {
        let split = |cents: i64, weights: &[i64]| -> Vec<String> {
            let weights: Vec<Decimal> = weights.iter().copied().map(Decimal::from).collect();
            let saving = Money::new(Decimal::new(cents, 2), Currency::Usd);
            allocate(saving, &weights).into_iter().map(|part| part.amount().to_string()).collect()
        };
        assert_eq!(split(10_000, &[1, 1, 1]), ["33.33", "33.33", "33.34"]);
        assert_eq!(split(2, &[1, 1, 1]), ["0.01", "0.01", "0.00"]);
        assert_eq!(split(1_000, &[3, 1]), ["7.50", "2.50"]);
        assert_eq!(split(500, &[0, -1]), ["0", "5.00"]);
        assert!(split(500, &[]).is_empty());
    }

    /// The cost of a window in thousandths, hour by hour.
    fn brute_force_cost(hourly: &[u32], count: u32, on_demand: i64, effective: i64) -> i64 {
        hourly
            .iter()
            .map(|running| {
                let uncovered = i64::from(running.saturating_sub(count));
                i64::from(count) * effective + uncovered * on_demand
            })
            .sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_best_count_is_the_cheapest_of_all(
            hourly in vec(0_u32..12, 1..400),
            on_demand in 1_i64..5_000,
            effective in 1_i64..6_000,
        ) {
            let usage = usage_of(&hourly);
            let pool = rates(on_demand, effective);
            let month = Decimal::from(730);
            let scale = month / Decimal::from(hourly.len());
            let mut cheapest = 0;
            for count in 0..=13 {
                let cost = brute_force_cost(&hourly, count, on_demand, effective);
                if cost < brute_force_cost(&hourly, cheapest, on_demand, effective) {
                    cheapest = count;
                }
                let expected = Decimal::new(cost, 3) * scale;
                let monthly_cost = pool.monthly_cost(&usage, count, month).amount();
                prop_assert!(
                    (monthly_cost - expected).abs() < Decimal::new(1, 9),
                    "{monthly_cost} {expected}"
                );
            }
            // Among equally cheap ones the smallest: the next does not exceed its
            // break-even.
            prop_assert_eq!(pool.best_count(&usage), cheapest);
        }

        #[test]
        fn the_downside_is_that_of_a_walk_through_the_term(
            hourly in vec(0_u32..9, 1..60),
            count in 0_u32..9,
            effective in 1_i64..1_500,
            three_years in any::<bool>(),
        ) {
            let term = CommitmentTerm::ALL[if three_years { 3 } else { 0 }];
            let pool = rates(1_000, effective);
            let halved: Vec<u32> = hourly.iter().map(|running| running / 2).collect();
            let mut balance = Decimal::ZERO;
            for month in 1..=12 * u32::from(term.years) {
                let running = if month < 7 { &hourly } else { &halved };
                let saved: i64 = brute_force_cost(running, 0, 1_000, effective)
                    - brute_force_cost(running, count, 1_000, effective);
                balance += Decimal::new(saved, 3) * Decimal::from(730)
                    / Decimal::from(hourly.len());
            }
            let usage = usage_of(&hourly);
            let downside = pool.downside_when_halved(&usage, count, term).amount();
            let expected = (-balance).max(Decimal::ZERO);
            prop_assert!((downside - expected).abs() < Decimal::new(1, 9), "{downside} {expected}");
        }

        #[test]
        fn parts_sum_to_the_cent_and_none_is_negative(
            cents in 0_i64..10_000_000,
            weights in vec(0_i64..1_000, 1..40),
        ) {
            let saving = Money::new(Decimal::new(cents, 2), Currency::Usd);
            let sum: i64 = weights.iter().sum();
            let weights: Vec<Decimal> = weights.into_iter().map(Decimal::from).collect();
            let parts = allocate(saving, &weights);
            prop_assert_eq!(parts.len(), weights.len());
            let total: Decimal = parts.iter().map(|part| part.amount()).sum();
            prop_assert_eq!(total, saving.amount());
            for (part, weight) in parts.iter().zip(&weights) {
                prop_assert!(part.amount() >= Decimal::ZERO);
                prop_assert_eq!(part.amount(), part.amount().round_dp(2));
                if sum > 0 {
                    let exact = saving.amount() * *weight / Decimal::from(sum);
                    let cents_off = (part.amount() - exact).abs() * Decimal::ONE_HUNDRED;
                    prop_assert!(cents_off <= Decimal::from(weights.len()), "{cents_off}");
                }
            }
        }
    }
}
