//! Amounts in whole cents, what rows of a history add up to, and the ratios that finance asks for.

use super::ledger::Ledger;
use crate::domain::{CostKind, PurchaseOption, WorkloadDay};
use rust_decimal::{Decimal, RoundingStrategy};

/// Sums over rows, unrounded, in the currency of their history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// Effective cost of everything that is priced.
    pub spend: Decimal,
    /// What of it did nothing: compute by the share of its GPU hours without work, unused
    /// commitments, and storage of what is stopped.
    pub waste: Decimal,
    pub gpu_hours: Decimal,
    pub useful_gpu_hours: Decimal,
    pub unmeasured_gpu_hours: Decimal,
    /// Hours of instances without a price.
    pub unpriced_hours: Decimal,
    /// Cost of the measured GPU hours with a price, and the useful ones among them.
    measured_spend: Decimal,
    measured_useful: Decimal,
    /// Public on-demand price of the hours that have one, and what those cost, with unused
    /// commitments.
    list: Decimal,
    listed_spend: Decimal,
    /// The same price of the hours that a commitment may cover, and of those that one did.
    eligible_list: Decimal,
    committed_list: Decimal,
    /// Cost of the commitments, by whether anything ran.
    used_commitments: Decimal,
    unused_commitments: Decimal,
}

/// Whether hours were paid for by a commitment.
pub(super) fn is_committed(option: PurchaseOption) -> bool {
    matches!(
        option,
        PurchaseOption::Reserved | PurchaseOption::SavingsPlan | PurchaseOption::CapacityBlock
    )
}

impl Sums {
    /// Sums over some rows of a history.
    pub fn of<'a>(ledger: &Ledger, rows: impl IntoIterator<Item = &'a WorkloadDay>) -> Self {
        let mut sums = Self::default();
        for row in rows {
            sums.add(ledger, row);
        }
        sums
    }

    pub(super) fn add(&mut self, ledger: &Ledger, row: &WorkloadDay) {
        let effective = ledger.amount(row.effective);
        match row.kind {
            CostKind::Compute => self.add_compute(row, effective, ledger.amount(row.list)),
            CostKind::Unused | CostKind::IdleStorage => self.waste += effective.unwrap_or_default(),
        }
        self.spend += effective.unwrap_or_default();
        if row.kind == CostKind::Unused && is_committed(row.option) {
            self.listed_spend += effective.unwrap_or_default();
            self.unused_commitments += effective.unwrap_or_default();
        }
    }

    fn add_compute(
        &mut self,
        row: &WorkloadDay,
        effective: Option<Decimal>,
        list: Option<Decimal>,
    ) {
        if effective.is_none() {
            self.unpriced_hours += row.hours;
        }
        let (spent, gpu_hours) = (effective.unwrap_or_default(), row.gpu_hours);
        self.gpu_hours += gpu_hours.unwrap_or_default();
        self.useful_gpu_hours += row.useful_gpu_hours.unwrap_or_default();
        self.unmeasured_gpu_hours += row.unmeasured_gpu_hours.unwrap_or_default();
        if let Some((gpu_hours, idle)) = gpu_hours.zip(row.idle_gpu_hours) {
            self.waste += share(spent, idle.min(gpu_hours), gpu_hours).unwrap_or_default();
        }
        if let (Some(gpu_hours), Some(useful), Some(_)) =
            (gpu_hours, row.useful_gpu_hours, effective)
        {
            let measured = gpu_hours - row.unmeasured_gpu_hours.unwrap_or_default();
            let measured = measured.max(Decimal::ZERO);
            self.measured_spend += share(spent, measured, gpu_hours).unwrap_or_default();
            self.measured_useful += useful;
        }
        if let (Some(list), Some(_)) = (list, effective) {
            self.list += list;
            self.listed_spend += spent;
            let is_covered = is_committed(row.option);
            if is_covered || row.option == PurchaseOption::OnDemand {
                self.eligible_list += list;
            }
            if is_covered {
                self.committed_list += list;
            }
        }
        if is_committed(row.option) {
            self.used_commitments += spent;
        }
    }

    /// Cost of measured GPU hours over the useful ones; absent where none was useful.
    pub fn cost_per_useful_gpu_hour(&self) -> Option<Decimal> {
        let is_known = self.measured_useful > Decimal::ZERO;
        self.measured_spend.checked_div(self.measured_useful).filter(|_| is_known)
    }

    /// `1 − Σ effective / Σ list` in percent, unused commitments included: what all discounts
    /// together take off the public price. Absent where no hour has a public price.
    pub fn effective_savings_rate_percent(&self) -> Option<Decimal> {
        percent(self.list - self.listed_spend, self.list)
    }

    /// Σ list of committed hours / Σ list of hours that a commitment may cover, in percent.
    pub fn commitment_coverage_percent(&self) -> Option<Decimal> {
        percent(self.committed_list, self.eligible_list)
    }

    /// What of the cost of commitments something ran on, in percent; absent without one.
    pub fn commitment_utilization_percent(&self) -> Option<Decimal> {
        percent(self.used_commitments, self.used_commitments + self.unused_commitments)
    }

    /// Useful of the measured GPU hours, in percent.
    pub fn gpu_utilization_percent(&self) -> Option<Decimal> {
        percent(self.useful_gpu_hours, self.gpu_hours - self.unmeasured_gpu_hours)
    }
}

fn percent(part: Decimal, whole: Decimal) -> Option<Decimal> {
    let is_known = whole > Decimal::ZERO;
    share(Decimal::ONE_HUNDRED, part, whole).filter(|_| is_known)
}

/// An amount in whole cents, half a cent away from zero.
pub(super) fn cents(amount: Decimal) -> Decimal {
    amount.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero)
}

/// Rounds parts to cents so that they add up to a total that is in cents: what rounding
/// leaves goes to the largest part, of equals to the first.
pub(super) fn add_up(parts: &mut [Decimal], total: Decimal) {
    for part in parts.iter_mut() {
        *part = cents(*part);
    }
    let left = total - parts.iter().sum::<Decimal>();
    if let Some(place) = (0..parts.len()).rev().max_by_key(|place| parts[*place].abs()) {
        parts[place] += left;
    }
}

/// `amount × part / whole`; `None` of nothing, and where the figures are beyond exact
/// decimals.
pub(super) fn share(amount: Decimal, part: Decimal, whole: Decimal) -> Option<Decimal> {
    match amount.checked_mul(part) {
        Some(product) => product.checked_div(whole),
        None => amount.checked_div(whole)?.checked_mul(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().expect("a decimal")
    }

    #[test]
    fn the_largest_part_takes_what_rounding_leaves() {
        // Thirds of a dollar are 0.33 each, and the first takes the cent.
        let third = Decimal::ONE / Decimal::from(3);
        let mut parts = [third; 3];
        add_up(&mut parts, Decimal::ONE);
        assert_eq!(parts, ["0.34", "0.33", "0.33"].map(decimal));
        let mut parts = ["-7.004", "0.004", "0.004"].map(decimal);
        add_up(&mut parts, decimal("-7.00"));
        assert_eq!(parts, ["-7.00", "0.00", "0.00"].map(decimal));
        add_up(&mut [], Decimal::ZERO);
    }

    #[test]
    fn a_share_of_nothing_is_unknown_and_a_large_one_is_not() {
        assert_eq!(share(Decimal::ONE, Decimal::ONE, Decimal::ZERO), None);
        // The product has 31 digits; the quotient first has not.
        let large = decimal("10000000000000000");
        assert_eq!(share(large, large, large), Some(large));
        assert_eq!(share(Decimal::MAX, Decimal::TEN, Decimal::ONE), None);
    }

    proptest! {
        #[test]
        fn parts_add_up_whatever_they_are(
            millis in proptest::collection::vec(-1_000_000_i64..1_000_000, 1..9),
        ) {
            let mut parts: Vec<Decimal> =
                millis.iter().map(|milli| Decimal::new(*milli, 4)).collect();
            let exact: Decimal = parts.iter().sum();
            add_up(&mut parts, cents(exact));
            prop_assert_eq!(parts.iter().sum::<Decimal>(), cents(exact));
            let moved = parts.iter().zip(&millis);
            for (part, milli) in moved {
                // Half a cent of its own, and at most half a cent of each of the others.
                let most = Decimal::new(5 * (millis.len() as i64 + 2), 3);
                prop_assert!((*part - Decimal::new(*milli, 4)).abs() <= most);
            }
        }
    }
}
