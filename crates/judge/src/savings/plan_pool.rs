//! How many dollars an hour an EC2 Instance Savings Plan should commit to for one
//! family in one region.
//!
//! A plan covers usage at plan rates. In every hour it is spent on the types with
//! the largest discount first, and what is not spent is lost. A dollar of it
//! replaces `on-demand rate / plan rate` dollars, less from one type to the next,
//! so the total cost is convex in the commitment and bends only where the plan
//! cost of some hour's usage, cut off after one of its types, is reached: the
//! best commitment is one of these levels.

use super::calculator::{BILLED_HOURS_PER_MONTH, MONTHS_BEFORE_HALVING, months};
use super::pool::instances;
use crate::domain::{CommitmentTerm, Currency, CurrencyMismatch, HourlyRate, Money};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Usage of one type of a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeUsage {
    /// Plan rate of one instance.
    pub plan: HourlyRate,
    /// On-demand rate of one instance.
    pub on_demand: HourlyRate,
    /// Instances that ran in each hour of the window, in billionths.
    pub hourly: Vec<u64>,
}

/// Usage that is covered by the part of a commitment between two levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Band {
    /// In money per hour at plan rates.
    from: Decimal,
    to: Decimal,
    /// On-demand money that one unit of plan money replaces.
    worth: Decimal,
}

/// Usage of a savings plan pool: a region and a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanPool {
    currency: Currency,
    hours: u64,
    /// How many hours have such a band.
    bands: BTreeMap<Band, u64>,
    /// On-demand money for the whole window.
    on_demand: Decimal,
}

impl PlanPool {
    /// The usage of all types of the family, hour by hour; a type whose usage
    /// ends early did not run in the hours that it lacks. `None` without types.
    ///
    /// # Errors
    /// When two rates are in different currencies.
    pub fn new(types: &[TypeUsage]) -> Result<Option<Self>, CurrencyMismatch> {
        let Some(first) = types.first() else { return Ok(None) };
        let currency = first.plan.currency();
        let rates = types.iter().flat_map(|used| [used.plan, used.on_demand]);
        for right in rates.map(HourlyRate::currency) {
            if right != currency {
                let left = currency;
                return Err(CurrencyMismatch { left, right });
            }
        }
        let worth = |used: &TypeUsage| used.on_demand.amount() / used.plan.amount();
        let mut by_discount: Vec<&TypeUsage> = types.iter().collect();
        by_discount.sort_by_key(|used| std::cmp::Reverse(worth(used)));
        let hours = types.iter().map(|used| used.hourly.len()).max().unwrap_or_default();
        let mut bands = BTreeMap::new();
        let mut on_demand = Decimal::ZERO;
        for hour in 0..hours {
            let mut from = Decimal::ZERO;
            for used in &by_discount {
                let count = used.hourly.get(hour).copied().unwrap_or(0);
                if count == 0 {
                    continue;
                }
                let to = from + used.plan.amount() * instances(count);
                let worth = worth(used);
                *bands.entry(Band { from, to, worth }).or_insert(0) += 1;
                on_demand += used.on_demand.amount() * instances(count);
                from = to;
            }
        }
        Ok(Some(Self { currency, hours: hours as u64, bands, on_demand }))
    }

    /// The cheapest commitment in money per hour, the smallest of equals; zero
    /// when none pays.
    pub fn best_commitment(&self) -> Decimal {
        // What one more unit per hour saves over the window, from a level on.
        let mut changes: BTreeMap<Decimal, Decimal> = BTreeMap::new();
        for (band, hours) in &self.bands {
            let gain = band.worth * Decimal::from(*hours);
            *changes.entry(band.from).or_default() += gain;
            *changes.entry(band.to).or_default() -= gain;
        }
        let mut gain = -Decimal::from(self.hours);
        for (level, change) in changes {
            gain += change;
            if gain <= Decimal::ZERO {
                return level;
            }
        }
        Decimal::ZERO
    }

    /// What the pool costs per month under a commitment, unrounded; nothing for
    /// an empty window.
    pub fn monthly_cost(&self, commitment: Decimal, hours_per_month: Decimal) -> Money {
        let uncovered = self.on_demand - self.replaced(commitment);
        let cost = commitment * Decimal::from(self.hours) + uncovered;
        Money::new(self.per_hour(cost * hours_per_month), self.currency)
    }

    /// What a commitment loses over a term when usage is as in this pool for six
    /// months and as in `halved` from the seventh on: what is committed less the
    /// on-demand money it replaces, unrounded; zero when it saves even so.
    pub fn downside(&self, halved: &Self, commitment: Decimal, term: CommitmentTerm) -> Money {
        let full = Decimal::from(MONTHS_BEFORE_HALVING);
        let rest = Decimal::from(months(term) - MONTHS_BEFORE_HALVING);
        let replaced = full * self.per_hour(self.replaced(commitment))
            + rest * halved.per_hour(halved.replaced(commitment));
        let committed = commitment * Decimal::from(term.hours());
        let loss = committed - replaced * Decimal::from(BILLED_HOURS_PER_MONTH);
        Money::new(loss.max(Decimal::ZERO), self.currency)
    }

    /// On-demand money of the window that a commitment replaces.
    fn replaced(&self, commitment: Decimal) -> Decimal {
        self.bands
            .iter()
            .map(|(band, hours)| {
                let spent = commitment.min(band.to) - band.from;
                spent.max(Decimal::ZERO) * band.worth * Decimal::from(*hours)
            })
            .sum()
    }

    fn per_hour(&self, sum: Decimal) -> Decimal {
        sum.checked_div(Decimal::from(self.hours)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::pool::INSTANCE;
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn rate(millis: i64) -> HourlyRate {
        HourlyRate::new(Decimal::new(millis, 3), Currency::Usd).expect("positive")
    }

    fn usage(plan: i64, on_demand: i64, hourly: &[u32]) -> TypeUsage {
        TypeUsage {
            plan: rate(plan),
            on_demand: rate(on_demand),
            hourly: hourly.iter().map(|n| u64::from(*n) * INSTANCE).collect(),
        }
    }

    fn pool(types: &[TypeUsage]) -> PlanPool {
        PlanPool::new(types).expect("one currency").expect("at least one type")
    }

    #[test]
    fn two_types_by_hand() {
        // The second type saves half, the first a quarter, so the plan is spent on
        // the second first. A dollar replaces 2, and then 1.333.
        let large = usage(3_000, 4_000, &[1, 1, 1, 1]);
        let small = usage(1_000, 2_000, &[2, 2, 0, 0]);
        let pooled = pool(&[large, small]);
        // Levels: 2 and 5 in two hours, 3 in the others. Of four hours, the gain
        // of a dollar is 2·2 + 2·1.333 − 4 > 0 up to 2, then 4·1.333 − 4 > 0 up to
        // 3, then 2·1.333 − 4 < 0.
        assert_eq!(pooled.best_commitment(), Decimal::from(3));
        // Four hours at 3; on demand 4 × 4 + 2 × 4 = 24, of which 2·(4 + 4/3) and
        // 2·4 are replaced: 12 + 24 − 18.667 = 17.333 in four hours.
        let cost = pooled.monthly_cost(Decimal::from(3), Decimal::from(730));
        assert_eq!(cost.rounded().amount(), Decimal::new(316_333, 2));
        let on_demand = pooled.monthly_cost(Decimal::ZERO, Decimal::from(730));
        assert_eq!(on_demand.amount(), Decimal::from(4_380));
    }

    #[test]
    fn the_downside_by_hand() {
        let full = pool(&[usage(1_000, 2_000, &[4, 4])]);
        let halved = pool(&[usage(1_000, 2_000, &[1, 1])]);
        let four = Decimal::from(4);
        let one_year = CommitmentTerm::ONE_YEAR_NO_UPFRONT;
        // 4 × 8 760 = 35 040; replaced 730 × (6 × 8 + 6 × 2) = 43 800.
        assert_eq!(full.downside(&halved, four, one_year).amount(), Decimal::ZERO);
        // 105 120 against 730 × (6 × 8 + 30 × 2) = 78 840.
        let three_years = CommitmentTerm::THREE_YEARS_NO_UPFRONT;
        assert_eq!(full.downside(&halved, four, three_years).amount(), Decimal::from(26_280));
    }

    #[test]
    fn nothing_that_pays_is_no_commitment() {
        assert_eq!(PlanPool::new(&[]), Ok(None));
        let more_expensive = pool(&[usage(2_000, 2_000, &[3, 3])]);
        assert_eq!(more_expensive.best_commitment(), Decimal::ZERO);
        let idle = pool(&[usage(1_000, 2_000, &[0, 0])]);
        assert_eq!(idle.best_commitment(), Decimal::ZERO);
        let rare = pool(&[usage(1_000, 2_000, &[1, 0, 0])]);
        assert_eq!(rare.best_commitment(), Decimal::ZERO);
        let yuan = HourlyRate::new(Decimal::ONE, Currency::Cny).expect("positive");
        let mixed = TypeUsage { on_demand: yuan, ..usage(1_000, 2_000, &[1]) };
        assert!(PlanPool::new(&[mixed]).is_err());
    }

    /// A window instance by instance: the plan pays for those with the largest
    /// discount first, the last perhaps in part.
    fn brute_force_cost(types: &[TypeUsage], hours: usize, commitment: Decimal) -> Decimal {
        let mut cost = Decimal::ZERO;
        for hour in 0..hours {
            let mut running: Vec<(Decimal, Decimal)> = types
                .iter()
                .flat_map(|used| {
                    let rates = (used.plan.amount(), used.on_demand.amount());
                    std::iter::repeat_n(rates, (used.hourly[hour] / INSTANCE) as usize)
                })
                .collect();
            running.sort_by_key(|(plan, on_demand)| *plan / *on_demand);
            cost += commitment;
            let mut left = commitment;
            for (plan, on_demand) in running {
                let paid = left.min(plan);
                left -= paid;
                cost += on_demand * (plan - paid) / plan;
            }
        }
        cost
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_best_commitment_is_the_cheapest_of_all_levels_and_between_them(
            rates in vec((100_i64..3_000, 100_i64..4_000), 1..4),
            hours in 1_usize..40,
            counts in vec(0_u32..4, 120),
            between in vec(0_i64..30_000, 20),
        ) {
            let types: Vec<TypeUsage> = rates
                .iter()
                .enumerate()
                .map(|(index, (plan, on_demand))| {
                    usage(*plan, *on_demand, &counts[index * 40..index * 40 + hours])
                })
                .collect();
            let pooled = pool(&types);
            let best = pooled.best_commitment();
            let lowest = brute_force_cost(&types, hours, best);
            let month = Decimal::from(hours);
            let slack = Decimal::new(1, 12);
            let reported = pooled.monthly_cost(best, month).amount();
            prop_assert!((reported - lowest).abs() < slack, "{reported} {lowest}");
            // The levels of every hour: what its types cost, in each order of them.
            let mut levels: Vec<Decimal> = between.iter().map(|x| Decimal::new(*x, 3)).collect();
            levels.push(Decimal::ZERO);
            for hour in 0..hours {
                for chosen in 0..1_u32 << types.len() {
                    levels.push(
                        types
                            .iter()
                            .enumerate()
                            .filter(|(index, _)| chosen & (1 << index) != 0)
                            .map(|(_, used)| used.plan.amount() * instances(used.hourly[hour]))
                            .sum(),
                    );
                }
            }
            prop_assert!(levels.contains(&best), "{best} is no level");
            for level in levels {
                let cost = brute_force_cost(&types, hours, level);
                prop_assert!(cost + slack >= lowest, "{level}: {cost} < {best}: {lowest}");
            }
        }
    }
}
