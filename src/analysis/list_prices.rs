//! What instances cost on demand: by the public price list, and as agreed.

use crate::catalog::{Prices, bundled_quote};
use crate::domain::{
    HourlyRate, Instance, Policy, PriceBook, PriceKey, PriceOption, PriceOrigin, PriceQuote,
    ResourceId,
};
use crate::usage::Estate;
use std::collections::BTreeMap;

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
            region: instance.region.clone(),
            instance_type: instance.instance_type.clone(),
            operating_system: instance.operating_system,
            tenancy: instance.tenancy,
            option: PriceOption::OnDemand,
            zone: None,
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
            let price = OnDemandPrice::of(instance, &estate.prices, &prices);
            (instance.id.clone(), price)
        };
        Self(estate.instances.iter().map(price).collect())
    }

    pub(super) fn of_instance(&self, id: &ResourceId) -> Option<&OnDemandPrice> {
        self.0.get(id)
    }
}
