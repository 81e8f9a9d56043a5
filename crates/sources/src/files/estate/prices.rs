//! Prices by key, with the amounts beside their currency.

use super::entries::Wire;
use crate::domain::{
    Amount, Currency, Day, HourlyRate, Instalments, MOST_PER_HOUR, Maybe, Money, OperatingSystem,
    Price, PriceBasis, PriceBook, PriceKey, PriceOption, PriceOrigin, PriceQuote, Provider,
    SpotHistory, StorageQuote, StorageResource, Tenancy,
};
use crate::files::shared::same_fields;
use jiff::civil::Date;
use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A price. Amounts are decimal numbers as text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("dependentRequired" = {"upfront": ["recurring_hourly"], "recurring_hourly": ["upfront"]}))]
#[serde(deny_unknown_fields, expecting = "a price object")]
pub(super) struct PriceWire {
    /// `aws` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider: Option<Provider>,
    region: String,
    /// For spot prices of one zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    instance_type: String,
    operating_system: OperatingSystem,
    tenancy: Tenancy,
    option: PriceOption,
    currency: Currency,
    /// Per hour and above zero; of a commitment, effective over its term.
    #[serde(with = "Price")]
    hourly: Decimal,
    /// What a commitment costs at its beginning; only with `recurring_hourly`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Amount>")]
    #[schemars(with = "Amount")]
    upfront: Option<Decimal>,
    /// What a commitment costs every hour; only with `upfront`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Amount>")]
    #[schemars(with = "Amount")]
    recurring_hourly: Option<Decimal>,
    origin: PriceOrigin,
    /// `observed` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    basis: Option<PriceBasis>,
    #[serde(with = "Day")]
    effective_date: Date,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spot_history: Option<SpotHistory>,
    /// The day on which it was last seen; the effective date unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Day>")]
    seen_on: Option<Date>,
    /// Free text.
    source: String,
}

/// A price of storage or of an address.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a storage price object")]
pub(super) struct StoragePriceWire {
    region: String,
    resource: StorageResource,
    currency: Currency,
    /// Per GiB-month, or per hour of an address.
    #[serde(with = "Price")]
    unit_price: Decimal,
    origin: PriceOrigin,
    #[serde(default, with = "Maybe::<Day>")]
    effective_date: Option<Date>,
    /// Free text.
    source: String,
}

impl Wire for PriceWire {
    type Value = (PriceKey, PriceQuote, Option<SpotHistory>);

    fn value(self) -> Result<Self::Value, String> {
        let key = same_fields!(self => PriceKey {
            region, instance_type, operating_system, tenancy, option, zone;
            provider: self.provider.unwrap_or(Provider::Aws),
        });
        let rate = HourlyRate::new(self.hourly, self.currency).ok_or_else(|| {
            format!("the price of {key} is not between 0 and {MOST_PER_HOUR}: {}", self.hourly)
        })?;
        if self.upfront.is_some() != self.recurring_hourly.is_some() {
            return Err(format!(
                "the price of {key} needs both `upfront` and `recurring_hourly`, or neither"
            ));
        }
        let instalments = self.upfront.zip(self.recurring_hourly);
        let quote = same_fields!(self => PriceQuote {
            origin, effective_date, source;
            rate,
            instalments: instalments.map(|(upfront, hourly)| Instalments { upfront, hourly }),
            basis: self.basis.unwrap_or(PriceBasis::Observed),
            seen_on: self.seen_on.unwrap_or(self.effective_date),
        });
        let history =
            self.spot_history.map(|history| SpotHistory { mean: rate.amount(), ..history });
        Ok((key, quote, history))
    }
}

impl Wire for StoragePriceWire {
    type Value = (String, StorageResource, StorageQuote);

    fn value(self) -> Result<Self::Value, String> {
        if HourlyRate::new(self.unit_price, self.currency).is_none() {
            return Err(format!(
                "the price of {} is not between 0 and {MOST_PER_HOUR}: {}",
                self.resource, self.unit_price
            ));
        }
        let quote = same_fields!(self => StorageQuote {
            origin, effective_date, source;
            unit_price: Money::new(self.unit_price, self.currency),
        });
        Ok((self.region, self.resource, quote))
    }
}

/// Every price by key, in order.
pub(super) fn prices(book: &PriceBook) -> Vec<PriceWire> {
    let wires = book.iter().map(|(key, quote)| PriceWire {
        provider: (key.provider != Provider::Aws).then_some(key.provider),
        region: key.region.clone(),
        zone: key.zone.clone(),
        instance_type: key.instance_type.clone(),
        operating_system: key.operating_system,
        tenancy: key.tenancy,
        option: key.option,
        currency: quote.rate.currency(),
        hourly: quote.rate.amount(),
        upfront: quote.instalments.map(|paid| paid.upfront),
        recurring_hourly: quote.instalments.map(|paid| paid.hourly),
        origin: quote.origin,
        basis: (quote.basis != PriceBasis::Observed).then_some(quote.basis),
        effective_date: quote.effective_date,
        spot_history: book.spot_history(key).cloned(),
        seen_on: (quote.seen_on != quote.effective_date).then_some(quote.seen_on),
        source: quote.source.clone(),
    });
    wires.collect()
}

/// Every price of storage, in order.
pub(super) fn storage_prices(book: &PriceBook) -> Vec<StoragePriceWire> {
    let wires = book.iter_storage().map(|(region, resource, quote)| StoragePriceWire {
        region: region.to_owned(),
        resource,
        currency: quote.unit_price.currency(),
        unit_price: quote.unit_price.amount(),
        origin: quote.origin,
        effective_date: quote.effective_date,
        source: quote.source.clone(),
    });
    wires.collect()
}
