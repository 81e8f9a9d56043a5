//! What instances cost on demand, by the public price list and as agreed, and what an audit
//! expects of a bill: the hours in which it saw instances run, and what an hour of each costs.

use super::plan::EstateCommitments;
use super::workloads::instance_shape;
use crate::billing::{Expected, ExpectedInstance, RateSince};
use crate::catalog::{Prices, bundled_quote};
use crate::domain::{
    CommittedHours, HOUR_SECONDS, HourlyRate, Instance, InstanceRate, Policy, PriceBook, PriceKey,
    PriceOrigin, PriceQuote, Provider, ResourceId,
};
use crate::usage::{Estate, whole_hours};
use jiff::civil::Date;
use std::collections::BTreeMap;

/// What is compared with a bill.
#[derive(Debug, Clone)]
pub struct ExpectedBill {
    pub expected: Expected,
    /// Instances of other providers than AWS, and of SageMaker: a bill does not name them as
    /// an estate does.
    pub skipped: u64,
    /// The oldest day on which a price was seen.
    pub oldest_price: Option<Date>,
}

/// The instances of an estate at the prices of its audit: commitments are spread over the
/// hours that each ran. An instance that has ended since has the price that it would have.
pub fn expected_bill(estate: &Estate, policy: &Policy) -> ExpectedBill {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let (_, _, owned) = EstateCommitments::groups(estate, &prices, policy);
    let paid = owned.paid_hours();
    let usage = estate.measured();
    let grid = (estate.window, estate.period_seconds);
    let mut oldest_price: Option<Date> = None;
    let mut instances = Vec::new();
    let of_aws = |instance: &&Instance| instance.id.provider() == Provider::Aws;
    for instance in estate.instances.iter().filter(of_aws) {
        let shape = instance_shape(estate, &instance.instance_type);
        let offer = shape.and_then(|shape| shape.gpu.as_ref());
        let price = instance.price_key().and_then(|key| prices.get(&key).ok());
        let seen_on = price.as_ref().map(|quote| quote.seen_on);
        oldest_price = oldest_price.into_iter().chain(seen_on).min();
        instances.push(ExpectedInstance {
            account: instance.account.clone(),
            id: instance.id.native().to_owned(),
            region: instance.region.clone(),
            instance_type: instance.instance_type.clone(),
            rates: vec![RateSince {
                hour: 0,
                rate: price.and_then(|quote| rate(instance, &quote, &paid)),
            }],
            hours: usage.of(&instance.id).hour_uses(instance, offer, grid),
            volumes: instance.volumes.iter().map(|volume| volume.id.clone()).collect(),
            addresses: instance.addresses.iter().map(|address| address.id.clone()).collect(),
        });
    }
    let skipped = estate.instances.len() - instances.len();
    let per_hour = HOUR_SECONDS / i64::from(estate.period_seconds.max(1));
    ExpectedBill {
        expected: Expected {
            hours: whole_hours(estate.window, estate.period_seconds),
            periods_per_hour: u16::try_from(per_hour).unwrap_or(1),
            accounts: estate.accounts.iter().cloned().collect(),
            regions: estate.regions.iter().cloned().collect(),
            unread: BTreeMap::new(),
            is_selection: !estate.tag_filters.is_empty(),
            instances,
        },
        skipped: skipped as u64,
        oldest_price,
    }
}

/// What an hour costs, as an audit prices it; absent where that is not a price in one
/// currency.
fn rate(
    instance: &Instance,
    quote: &PriceQuote,
    paid: &BTreeMap<ResourceId, CommittedHours>,
) -> Option<InstanceRate> {
    let effective =
        if let Some(paid) = paid.get(&instance.id) { paid.hourly(quote.rate)? } else { quote.rate };
    Some(InstanceRate {
        currency: quote.rate.currency(),
        price: quote.rate.amount(),
        effective: effective.amount(),
    })
}

/// What an hour of an instance costs on demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OnDemandPrice {
    /// The public price; absent when it is unknown.
    pub list: Option<PriceQuote>,
    /// The price that was negotiated, or else the public one; absent when it is unknown.
    pub contracted: Option<HourlyRate>,
}

impl OnDemandPrice {
    pub(super) fn of(instance: &Instance, book: &PriceBook, prices: &Prices<'_>) -> Self {
        let on_demand = PriceKey {
            provider: instance.id.provider(),
            operating_system: instance.operating_system,
            tenancy: instance.tenancy,
            ..PriceKey::linux_on_demand(&instance.region, &instance.instance_type)
        };
        // What the user states in place of a public price is none.
        let gathered = book.get(&on_demand).ok();
        let gathered = gathered.filter(|quote| quote.origin != PriceOrigin::User);
        Self {
            list: gathered.cloned().or_else(|| bundled_quote(&on_demand)),
            contracted: prices.get(&on_demand).ok().map(|quote| quote.rate),
        }
    }
}

/// What the instances of an estate cost on demand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListPrices(BTreeMap<ResourceId, OnDemandPrice>);

impl ListPrices {
    /// Of an estate that is about to be audited.
    pub fn of(estate: &Estate, policy: &Policy) -> Self {
        let prices = Prices::new(&estate.prices, &policy.discount_percent);
        let price = |instance: &Instance| {
            (instance.id.clone(), OnDemandPrice::of(instance, &estate.prices, &prices))
        };
        Self(estate.instances.iter().map(price).collect())
    }

    pub(super) fn of_instance(&self, id: &ResourceId) -> Option<&OnDemandPrice> {
        self.0.get(id)
    }
}
