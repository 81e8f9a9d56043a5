//! What a purchase binds whoever signs it to.

use super::Purchase;
use super::calculator::BILLED_HOURS_PER_MONTH;
use crate::domain::{CommitmentTerm, Instalments, Money, PriceOption};
use rust_decimal::Decimal;

/// A purchase as the promise that it is, all its units together.
#[derive(Debug, Clone, PartialEq)]
pub struct Promise {
    /// `standard-reserved-instance` or `ec2-instance-savings-plan`.
    pub kind: &'static str,
    pub term: CommitmentTerm,
    /// Paid at once, in cents.
    pub upfront: Money,
    /// Paid in each month of 730 hours beside that, used or not, in cents.
    pub monthly: Money,
    /// Everything that is paid until the term ends, in cents.
    pub term_total: Money,
    /// Share of the hours from which on it pays, 0–100.
    pub break_even_percent: Decimal,
    /// Days for which every machine was observed that it was sized by.
    pub evidence_days: Decimal,
}

/// What each purchase is paid until its term ends, in cents and in their order.
pub fn term_totals(purchases: &[Purchase]) -> Vec<Money> {
    let promises = purchases.iter().filter_map(Purchase::promise);
    promises.map(|promise| promise.term_total).collect()
}

impl Purchase {
    /// What it binds to; `None` for what has no term.
    pub fn promise(&self) -> Option<Promise> {
        let (kind, term) = match self.term.option {
            PriceOption::Reserved(term) => ("standard-reserved-instance", term),
            PriceOption::Ec2InstanceSavingsPlan(term) => ("ec2-instance-savings-plan", term),
            PriceOption::OnDemand
            | PriceOption::Spot
            | PriceOption::ComputeSavingsPlan(_)
            | PriceOption::CapacityBlock => return None,
        };
        let Instalments { upfront, hourly } = self.term.instalments;
        let currency = self.monthly_savings.currency();
        let of_all = |each: Decimal| {
            let total = each * Decimal::from(self.count);
            Money::new(total, currency).rounded()
        };
        let effective = self.term.effective_hourly.amount();
        Some(Promise {
            kind,
            term,
            upfront: of_all(upfront),
            monthly: of_all(hourly * Decimal::from(BILLED_HOURS_PER_MONTH)),
            term_total: of_all(upfront + hourly * Decimal::from(term.hours())),
            break_even_percent: Decimal::ONE_HUNDRED * effective / self.on_demand_hourly.amount(),
            evidence_days: Decimal::from(self.evidence_hours) / Decimal::from(24),
        })
    }
}
