//! What a workload costs today, and what it would cost elsewhere.

use super::needs::Lack;
use super::rejection::Rejection;
use crate::catalog::Prices;
use crate::domain::{
    InstanceCost, InstanceShape, Money, PriceKey, PriceOption, PriceQuote, Workload, WorkloadCost,
};
use rust_decimal::Decimal;

/// What a workload runs on today.
#[derive(Debug, Clone, Copy)]
pub struct Today<'a> {
    /// What its type offers.
    pub shape: &'a InstanceShape,
    /// What it costs.
    pub cost: &'a WorkloadCost,
    /// The region.
    pub region: &'a str,
}

impl<'a> Today<'a> {
    /// Of a workload that runs.
    ///
    /// # Errors
    /// What is not known of it.
    pub fn of(workload: &'a Workload) -> Result<Self, Lack> {
        Ok(Self {
            shape: workload.shape.as_ref().ok_or(Lack::Shape)?,
            cost: workload.cost.as_ref().ok_or(Lack::Price)?,
            region: &workload.key.region,
        })
    }
}

/// Every instance of a workload on another type.
pub(super) struct Move {
    /// The price in place of each instance of today, in their order.
    pub(super) quotes: Vec<(PriceKey, PriceQuote)>,
    /// All of the new ones per month at today's running time, rounded to cents.
    pub(super) monthly: Money,
    /// Mean hourly rate of one.
    pub(super) per_instance: Decimal,
}

impl Move {
    pub(super) fn of(
        today: &Today<'_>,
        to: &InstanceShape,
        count: u32,
        prices: &Prices<'_>,
    ) -> Result<Self, Rejection> {
        let cost = today.cost;
        let mut quotes: Vec<(PriceKey, PriceQuote)> = Vec::with_capacity(cost.instances.len());
        let mut monthly = Money::zero(cost.hourly.currency());
        let mut previous: Option<&PriceKey> = None;
        for one in &cost.instances {
            let (key, quote) = match quotes.last() {
                Some(same) if previous == Some(&one.key) => same.clone(),
                _ => prices
                    .find(&one.key.with_type(&to.instance_type))
                    .map_err(|_| Rejection::Unpriced)?,
            };
            previous = Some(&one.key);
            if !compares(one, &key, &quote) {
                return Err(Rejection::NotComparable);
            }
            let month = quote.rate.times_hours(one.monthly_hours);
            monthly = monthly
                .checked_add(month)
                .map_err(|_| Rejection::NotComparable)?;
            quotes.push((key, quote));
        }
        let instances = Decimal::from(quotes.len().max(1));
        let rates: Decimal = quotes.iter().map(|(_, quote)| quote.rate.amount()).sum();
        // Fewer instances cost their share of what all would.
        let amount = monthly.amount() * Decimal::from(count) / instances;
        Ok(Self {
            per_instance: rates / instances,
            monthly: Money::new(amount, monthly.currency()).rounded(),
            quotes,
        })
    }
}

/// Whether the difference of two prices is a saving. List prices hold until they
/// change; spot prices move by the day and by zone, so that those of different
/// origin, date or scope tell nothing about each other.
fn compares(today: &InstanceCost, key: &PriceKey, quote: &PriceQuote) -> bool {
    key.option != PriceOption::Spot
        || (today.quote.origin == quote.origin
            && today.quote.effective_date == quote.effective_date
            && today.key.zone == key.zone)
}
