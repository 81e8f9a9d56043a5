//! What the units of one run of instances cost, without an account.

use crate::catalog::Prices;
use crate::domain::{Money, NoPrice, PriceKey, PriceQuote, UnitCost};
use rust_decimal::Decimal;

/// A run of some instances that was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedRun {
    /// The price of one instance.
    pub key: PriceKey,
    pub instances: u32,
    /// How long each of them ran.
    pub hours: Decimal,
    /// What was done, each with its number.
    pub units: Vec<(String, Decimal)>,
}

/// A run with what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct RunKpis {
    pub run: CountedRun,
    pub quote: PriceQuote,
    /// In cents.
    pub cost: Money,
    pub unit_costs: Vec<UnitCost>,
}

impl RunKpis {
    /// Prices a run.
    ///
    /// # Errors
    /// When its type has no price there.
    pub fn of(run: CountedRun, prices: &Prices<'_>) -> Result<Self, NoPrice> {
        let quote = prices.get(&run.key)?;
        let hours = run.hours * Decimal::from(run.instances);
        let cost = quote.rate.times_hours(hours).rounded();
        let of_one = |(unit, count): &(String, Decimal)| UnitCost {
            name: run.key.instance_type.clone(),
            unit: unit.clone(),
            count: *count,
            cost: Some(cost),
        };
        let unit_costs = run.units.iter().map(of_one).collect();
        Ok(Self { run, quote, cost, unit_costs })
    }
}
