//! Sums of the amounts of lines, with how many lines stated none.

use crate::domain::{BillCosts, sums};
use rust_decimal::Decimal;

/// A sum of amounts, exact as long as it stays below 79 billion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    sum: Decimal,
    /// Amounts in the sum.
    stated: u64,
    /// Lines without one.
    absent: u64,
}

impl Tally {
    pub(super) fn add(&mut self, amount: Option<Decimal>) {
        match amount {
            Some(amount) => {
                self.sum += amount;
                self.stated += 1;
            }
            None => self.absent += 1,
        }
    }

    /// The sum; absent where no line stated an amount.
    pub fn sum(&self) -> Option<Decimal> {
        (self.stated > 0).then_some(self.sum)
    }

    /// The sum where every line stated an amount, and there was a line.
    pub fn whole(&self) -> Option<Decimal> {
        self.sum().filter(|_| self.absent == 0)
    }

    /// Lines without an amount.
    pub fn absent(&self) -> u64 {
        self.absent
    }
}

/// Sums of each kind of amount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CostSums {
    pub list: Tally,
    pub contracted: Tally,
    pub effective: Tally,
    pub billed: Tally,
}

impl CostSums {
    pub(super) fn add(&mut self, costs: &BillCosts) {
        self.list.add(costs.list);
        self.contracted.add(costs.contracted);
        self.effective.add(costs.effective);
        self.billed.add(costs.billed);
    }

    /// What is saved against the list price, percent of it; absent unless every line states
    /// both.
    pub fn savings_percent(&self) -> Option<Decimal> {
        share(self.list.whole()? - self.effective.whole()?, self.list.whole()?)
    }
}

sums! {
    Tally { sum, stated, absent }
    CostSums { list, contracted, effective, billed }
}

/// A part of a whole, percent; absent where the whole is not above zero, and where the part is
/// so much larger that a decimal does not hold the share.
pub(super) fn share(part: Decimal, whole: Decimal) -> Option<Decimal> {
    percent_of(part, Some(whole).filter(|whole| *whole > Decimal::ZERO)?)
}

/// `part / whole`, percent; absent where the whole is zero, or where a decimal does not hold
/// the share.
pub fn percent_of(part: Decimal, whole: Decimal) -> Option<Decimal> {
    Some(part.checked_div(whole)?.checked_mul(Decimal::ONE_HUNDRED)?.round_dp(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().expect("a decimal")
    }

    #[test]
    fn what_is_absent_is_counted_and_not_zero() {
        let mut tally = Tally::default();
        assert_eq!((tally.sum(), tally.whole()), (None, None));
        tally.add(None);
        assert_eq!((tally.sum(), tally.absent()), (None, 1));
        tally.add(Some(decimal("0.1")));
        tally.add(Some(decimal("0.2")));
        assert_eq!(tally.sum(), Some(decimal("0.3")));
        assert_eq!(tally.whole(), None);
    }

    #[test]
    fn a_saving_needs_both_amounts_of_every_line() {
        let costs = |list: Option<&str>, effective: Option<&str>| BillCosts {
            currency: crate::domain::Currency::Usd,
            list: list.map(decimal),
            contracted: None,
            effective: effective.map(decimal),
            billed: None,
        };
        let mut sums = CostSums::default();
        sums.add(&costs(Some("8"), Some("6")));
        assert_eq!(sums.savings_percent(), Some(decimal("25")));
        sums.add(&costs(None, Some("1")));
        assert_eq!(sums.savings_percent(), None);
    }

    #[test]
    fn a_share_that_no_decimal_holds_is_absent() {
        let [most, least] = ["10000000000", "0.000000000000000001"].map(decimal);
        // 10^10 / 10^-18 is 10^28, and 10^30 percent; a decimal holds less than 7.93 * 10^28.
        assert_eq!(share(most, least), None);
        assert_eq!(percent_of(most, -least), None);
        assert_eq!(percent_of(most, Decimal::ZERO), None);
        assert_eq!(share(most, -most), None);
        assert_eq!(percent_of(-most, most), Some(decimal("-100")));
        assert_eq!(share(least, most), Some(Decimal::ZERO));
        // 1 / 3 is 33.33333…%.
        assert_eq!(share(Decimal::ONE, decimal("3")), Some(decimal("33.3333")));
    }
}
