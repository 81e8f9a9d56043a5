//! How the work of today's machines lies on machines of another type, and what that costs.

use super::needs::MissingData;
use super::rejection::Rejection;
use crate::catalog::Prices;
use crate::domain::{
    Currency, HourlyActivity, HourlyRate, InstanceCost, InstanceShape, Money, Policy, PriceKey,
    PriceOption, PriceQuote, Workload, WorkloadCost, named_enum,
};
use crate::savings::Fewer;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;

named_enum! {
    /// How machines of a type take over the work.
    Spread {
        /// One machine in place of each.
        Kept = "kept",
        /// Replicas that answer for each other: as many as their load takes.
        Replicas = "replicas",
        /// Each GPU in use moves on its own, to whichever machine.
        Tenants = "tenants",
    }
}

/// How many machines, how the work lies on them, and how many of today's GPUs share one there.
pub(super) type Layout = (u32, Spread, u16);

impl Spread {
    /// What so many machines run of today's hours; `None` where each runs as long as the one
    /// that it replaces.
    pub fn hours(self, activity: &HourlyActivity, machines: (u32, u32)) -> Option<Fewer> {
        let (today, count) = machines;
        match self {
            Self::Kept => None,
            Self::Replicas if count < today => Fewer::at_most(activity, count),
            Self::Replicas | Self::Tenants => Fewer::together(activity, count),
        }
    }

    /// Whether each machine has one in its place.
    pub fn keeps_machines(self) -> bool {
        self == Self::Kept
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Today<'a> {
    pub shape: &'a InstanceShape,
    pub cost: &'a WorkloadCost,
    pub region: &'a str,
    /// When its instances ran; absent for what is stated.
    pub activity: Option<&'a HourlyActivity>,
}

impl<'a> Today<'a> {
    /// Of a workload that runs.
    ///
    /// # Errors
    /// What is not known of it.
    pub fn of(workload: &'a Workload) -> Result<Self, MissingData> {
        Ok(Self {
            shape: workload.shape.as_ref().ok_or(MissingData::Shape)?,
            cost: workload.cost.as_ref().ok_or(MissingData::Price)?,
            region: &workload.key.region,
            activity: Some(&workload.activity),
        })
    }
}

/// What takes the place of one of today's instances; of fewer, a share of one.
#[derive(Debug, Clone, PartialEq)]
pub struct MovedInstance {
    pub hourly: HourlyRate,
    /// Per month at today's running time, unrounded.
    pub monthly_at_todays_hours: Decimal,
    /// Per month with the hours that slower work takes more, unrounded.
    pub monthly: Decimal,
}

/// Every instance of a workload on another type.
pub(super) struct Move {
    /// The price in place of each instance of today, in their order.
    pub(super) quotes: Vec<(PriceKey, PriceQuote)>,
    /// Mean hourly rate of one.
    pub(super) per_instance: Decimal,
    /// What is left of today's running time: less than all of it where fewer do the work.
    scale: Decimal,
    currency: Currency,
}

impl Move {
    pub(super) fn of(
        today: &Today<'_>,
        to: &InstanceShape,
        (count, spread): (u32, Spread),
        prices: &Prices<'_>,
    ) -> Result<Self, Rejection> {
        let cost = today.cost;
        let currency = cost.hourly.currency();
        let mut quotes: Vec<(PriceKey, PriceQuote)> = Vec::with_capacity(cost.instances.len());
        let mut previous: Option<&PriceKey> = None;
        for instance in &cost.instances {
            let (key, quote) = match quotes.last() {
                Some(same) if previous == Some(&instance.key) => same.clone(),
                _ => prices
                    .find(&instance.key.with_type(&to.instance_type))
                    .map_err(|_| Rejection::Unpriced)?,
            };
            previous = Some(&instance.key);
            if !compares(instance, &key, &quote) || quote.rate.currency() != currency {
                return Err(Rejection::NotComparable);
            }
            quotes.push((key, quote));
        }
        let instances = Decimal::from(quotes.len().max(1));
        let rates: Decimal = quotes.iter().map(|(_, quote)| quote.rate.amount()).sum();
        Ok(Self {
            per_instance: rates / instances,
            scale: if spread.keeps_machines() {
                Decimal::ONE
            } else {
                let machines = (quotes.len() as u32, count);
                let hours = today.activity.and_then(|hours| spread.hours(hours, machines));
                hours.map_or(Decimal::from(count) / instances, |hours| hours.share)
            },
            currency,
            quotes,
        })
    }

    /// What takes the place of each instance where the work takes so many times as
    /// long: as many hours more, up to all of a month. Fewer instances cost their share
    /// of what all would.
    pub(super) fn instances(
        &self,
        today: &Today<'_>,
        slowdown: f64,
        policy: &Policy,
    ) -> Vec<MovedInstance> {
        let slowdown = Decimal::from_f64(slowdown).unwrap_or(Decimal::ONE);
        let month = policy.hours_per_month;
        let pairs = self.quotes.iter().zip(&today.cost.instances);
        pairs
            .map(|((_, quote), instance)| {
                let hours = instance.monthly_hours;
                let longer = (hours * slowdown).min(month).max(hours);
                let rate = quote.rate.amount() * self.scale;
                MovedInstance {
                    hourly: quote.rate,
                    monthly_at_todays_hours: rate * hours,
                    monthly: rate * longer,
                }
            })
            .collect()
    }

    /// All of them per month, rounded to cents.
    pub(super) fn monthly(&self, moved: &[MovedInstance]) -> Money {
        let amount = moved.iter().map(|instance| instance.monthly).sum();
        Money::new(amount, self.currency).rounded()
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
