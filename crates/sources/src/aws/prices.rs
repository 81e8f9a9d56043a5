//! Live prices: the price list, whose documents are one JSON text a product, and the spot history.

use super::answers::{PASCAL_CASE, owned, value};
use super::error::NO_ENDPOINT;
use super::service::{EC2, Protocol, Service, field, numbered};
use super::session::{RegionClients, Session};
use crate::domain::{
    CommitmentTerm, Currency, FailureKind, HourlyRate, Instalments, Money, OperatingSystem,
    PriceKey, PriceOption, PriceOrigin, PriceQuote, SpotHistory, StorageQuote, StorageResource,
    Tenancy, Window, partition, spot_history,
};
use crate::{Outcome, Quoted, SourceError, WantedPrices, commitment_term, observed};
use jiff::Timestamp;
use jiff::civil::Date;
use roxmltree::Node;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Types in one `ANY_OF` filter.
pub(super) const TYPES_AT_ONCE: usize = 40;

/// The region whose endpoint serves the price list of a region; `None` where
/// the partition has none.
pub(super) fn endpoint_of(region: &str) -> Option<&'static str> {
    match partition(region) {
        "aws" => Some("us-east-1"),
        "aws-cn" => Some("cn-northwest-1"),
        "aws-eusc" => Some("eusc-de-east-1"),
        _ => None,
    }
}

pub(super) const PRICING: Service = Service {
    signing_name: "pricing",
    sdk_id: "Pricing",
    host: "api.pricing.{region}",
    protocol: Protocol::Json("AWSPriceListService"),
    id: "pricing",
    paging: PASCAL_CASE,
};

/// A filter that a value passes.
pub(super) fn term(field: &str, value: &str) -> Value {
    json!({ "Type": "TERM_MATCH", "Field": field, "Value": value })
}

/// A filter that each of some values passes.
pub(super) fn any_of(field: &str, values: &[String]) -> Value {
    json!({ "Type": "ANY_OF", "Field": field, "Value": values.join(",") })
}

/// On-demand and reserved prices, with as few calls as the filters allow. They
/// avoid the rows that share a type's name but not its price: Capacity Blocks,
/// unused reservations at zero, images with licensed software.
///
/// # Errors
/// When the price list refuses or does not answer, or the partition has none.
pub async fn on_demand_prices(
    session: &Session,
    wanted: &WantedPrices,
    read_on: Date,
) -> Outcome<Vec<Quoted>> {
    let operating_system = match wanted.operating_system {
        OperatingSystem::Linux => "Linux",
        OperatingSystem::Windows => "Windows",
        OperatingSystem::Rhel => "RHEL",
        OperatingSystem::Sles => "SUSE",
        OperatingSystem::UbuntuPro => "Ubuntu Pro",
        OperatingSystem::OtherLicensed => return Ok(Vec::new()),
    };
    let tenancy = match wanted.tenancy {
        Tenancy::Shared => "Shared",
        Tenancy::Dedicated => "Dedicated",
        // A dedicated host is billed by the host, not by the instance.
        Tenancy::Host => return Ok(Vec::new()),
    };
    let mut prices = Vec::new();
    for types in wanted.instance_types.chunks(TYPES_AT_ONCE) {
        let filters = vec![
            any_of("instanceType", types),
            term("regionCode", &wanted.region),
            term("operatingSystem", operating_system),
            term("tenancy", tenancy),
            term("preInstalledSw", "NA"),
            term("capacitystatus", "Used"),
            term("marketoption", "OnDemand"),
        ];
        for product in products(session, &wanted.region, "AmazonEC2", filters).await? {
            let Some(name) = product["product"]["attributes"]["instanceType"].as_str() else {
                continue;
            };
            let key = PriceKey {
                operating_system: wanted.operating_system,
                tenancy: wanted.tenancy,
                ..PriceKey::linux_on_demand(&wanted.region, name)
            };
            prices.extend(quotes(&product, &key, read_on));
        }
    }
    Ok(prices)
}

/// Prices of volume types and public addresses in a region.
///
/// # Errors
/// When the price list refuses or does not answer, or the partition has none.
pub async fn storage_prices(
    session: &Session,
    region: &str,
    resources: &[StorageResource],
) -> Outcome<Vec<(StorageResource, StorageQuote)>> {
    let mut prices = Vec::new();
    for resource in resources {
        let (service, filters) = match resource {
            StorageResource::PublicIpv4 => (
                "AmazonVPC",
                vec![term("regionCode", region), term("group", "VPCPublicIPv4Address")],
            ),
            volume => (
                "AmazonEC2",
                vec![
                    term("regionCode", region),
                    term("productFamily", "Storage"),
                    term("volumeApiName", volume.name()),
                ],
            ),
        };
        let products = products(session, region, service, filters).await?;
        if let Some((amount, currency, effective_date)) = products.iter().find_map(unit_price) {
            let quote = StorageQuote {
                unit_price: Money::new(amount, currency),
                origin: PriceOrigin::Api,
                effective_date,
                source: "pricing:GetProducts".to_owned(),
            };
            prices.push((*resource, quote));
        }
    }
    Ok(prices)
}

const PRODUCTS: &str = "pricing:GetProducts";

/// Every product of a service that passes filters.
pub(super) async fn products(
    session: &Session,
    region: &str,
    service: &str,
    filters: Vec<Value>,
) -> Outcome<Vec<Value>> {
    let endpoint = endpoint_of(region).ok_or_else(|| {
        SourceError::own(PRODUCTS, FailureKind::Unsupported, NO_ENDPOINT, region.to_owned())
    })?;
    let body = json!({ "ServiceCode": service, "FormatVersion": "aws_v1", "Filters": filters });
    let clients = session.in_region(endpoint);
    let listed: Vec<String> = clients.ask_list(&PRICING, "GetProducts", "PriceList", body).await?;
    Ok(listed.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
}

/// Time-weighted mean spot price of each type and zone over the window, and what
/// the price did in it.
///
/// # Errors
/// When EC2 refuses or does not answer.
pub async fn spot_prices(
    clients: &RegionClients,
    operating_system: OperatingSystem,
    types: &[String],
    window: Window,
) -> Outcome<Vec<(PriceKey, PriceQuote, SpotHistory)>> {
    let description = match operating_system {
        OperatingSystem::Linux | OperatingSystem::UbuntuPro => "Linux/UNIX",
        OperatingSystem::Windows => "Windows",
        OperatingSystem::Rhel => "Red Hat Enterprise Linux",
        OperatingSystem::Sles => "SUSE Linux",
        OperatingSystem::OtherLicensed => return Ok(Vec::new()),
    };
    let fields = [
        numbered("InstanceType", types),
        numbered("ProductDescription", &[description]),
        field("StartTime", &window.start.to_string()),
        field("EndTime", &window.end.to_string()),
    ]
    .concat();
    let read = |change: Node<'_, '_>| {
        let place = owned(change, &["instanceType"]).zip(owned(change, &["availabilityZone"]));
        let price = value::<Decimal>(change, &["spotPrice"]);
        Ok(place.zip(value::<Timestamp>(change, &["timestamp"]).zip(price)))
    };
    let list = (fields, "spotPriceHistorySet");
    let listed = clients.ask_members(&EC2, "DescribeSpotPriceHistory", list, read).await?;
    let mut changes: BTreeMap<(String, String), Vec<(Timestamp, Decimal)>> = BTreeMap::new();
    for (key, change) in listed.into_iter().flatten() {
        changes.entry(key).or_default().push(change);
    }
    let seen_on = window.end.to_zoned(jiff::tz::TimeZone::UTC).date();
    Ok(changes
        .into_iter()
        .filter_map(|((name, zone), changes)| {
            let history = spot_history(&changes, window)?;
            let key = PriceKey {
                operating_system,
                option: PriceOption::Spot,
                zone: Some(zone),
                ..PriceKey::linux_on_demand(&clients.region, &name)
            };
            let rate = HourlyRate::new(history.mean, Currency::of_region(&clients.region))?;
            let source = "ec2:DescribeSpotPriceHistory, time-weighted mean";
            Some((key, observed(rate, None, (seen_on, seen_on), source), history))
        })
        .collect())
}

/// On-demand and standard reserved prices of one product under a key, each
/// with its effective date (`read_on` where the document has none).
pub(super) fn quotes(product: &Value, key: &PriceKey, read_on: Date) -> Vec<Quoted> {
    let mut quotes = Vec::new();
    for term in terms(product, "OnDemand") {
        let rate = term_dimensions(term)
            .find(|dimension| dimension["unit"] == "Hrs")
            .and_then(price_per_unit)
            .and_then(|(amount, currency)| HourlyRate::new(amount, currency));
        if let Some(rate) = rate {
            quotes.push((key.clone(), quote(rate, None, term, read_on)));
        }
    }
    for term in terms(product, "Reserved") {
        if let Some((sold, instalments, currency)) = reserved(term)
            && let Some(rate) = HourlyRate::new(instalments.effective_hourly(sold), currency)
        {
            let key = key.with_option(PriceOption::Reserved(sold));
            quotes.push((key, quote(rate, Some(instalments), term, read_on)));
        }
    }
    quotes
}

fn quote(
    rate: HourlyRate,
    instalments: Option<Instalments>,
    term: &Value,
    read_on: Date,
) -> PriceQuote {
    let effective_date = effective_date(term).unwrap_or(read_on);
    observed(rate, instalments, (effective_date, read_on), "pricing:GetProducts")
}

/// Since when a term holds, where the document says so.
fn effective_date(term: &Value) -> Option<Date> {
    term["effectiveDate"].as_str()?.get(..10)?.parse().ok()
}

fn terms<'a>(product: &'a Value, kind: &str) -> impl Iterator<Item = &'a Value> {
    product["terms"][kind].as_object().into_iter().flat_map(|terms| terms.values())
}

fn term_dimensions(term: &Value) -> impl Iterator<Item = &Value> {
    term["priceDimensions"].as_object().into_iter().flat_map(|dimensions| dimensions.values())
}

/// The amount of one price dimension in a known currency.
fn price_per_unit(dimension: &Value) -> Option<(Decimal, Currency)> {
    dimension["pricePerUnit"].as_object()?.iter().find_map(|(code, amount)| {
        Some((amount.as_str()?.parse::<Decimal>().ok()?.normalize(), Currency::from_name(code)?))
    })
}

/// The first on-demand price of a product in a unit.
fn unit_price(product: &Value) -> Option<(Decimal, Currency, Option<Date>)> {
    terms(product, "OnDemand").find_map(|term| {
        let (amount, currency) = term_dimensions(term).find_map(price_per_unit)?;
        (amount > Decimal::ZERO).then_some((amount, currency, effective_date(term)))
    })
}

/// A standard reserved term and how it is paid.
fn reserved(term: &Value) -> Option<(CommitmentTerm, Instalments, Currency)> {
    let attributes = &term["termAttributes"];
    if attributes["OfferingClass"] != "standard" {
        return None;
    }
    let length = attributes["LeaseContractLength"].as_str()?;
    let sold = commitment_term(length, attributes["PurchaseOption"].as_str()?)?;
    let mut upfront = Decimal::ZERO;
    let mut hourly = Decimal::ZERO;
    let mut currency = None;
    for dimension in term_dimensions(term) {
        let (amount, code) = price_per_unit(dimension)?;
        if currency.is_some_and(|known| known != code) {
            return None;
        }
        currency = Some(code);
        match dimension["unit"].as_str()? {
            "Hrs" => hourly += amount,
            "Quantity" => upfront += amount,
            _ => return None,
        }
    }
    Some((sold, Instalments { upfront, hourly }, currency?))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Regions of `api.pricing` in `endpoints.json` of botocore 1.43.11. Those of isolated
    // partitions are not asked.
    #[test]
    fn each_partition_has_its_price_list() {
        for (region, endpoint) in [
            ("eu-west-1", Some("us-east-1")),
            ("cn-north-1", Some("cn-northwest-1")),
            ("eusc-de-east-1", Some("eusc-de-east-1")),
            ("us-gov-west-1", None),
            ("us-iso-east-1", None),
            ("eu-isoe-west-1", None),
        ] {
            assert_eq!(endpoint_of(region), endpoint, "{region}");
        }
    }

    fn product() -> Value {
        json!({ "terms": {
            "OnDemand": { "A.B": {
                "effectiveDate": "2026-07-01T00:00:00Z",
                "priceDimensions": { "A.B.C": {
                    "unit": "Hrs", "pricePerUnit": { "USD": "3.0600000000" } } } } },
            "Reserved": {
                "A.R1": {
                    "termAttributes": { "LeaseContractLength": "1yr",
                        "OfferingClass": "standard", "PurchaseOption": "Partial Upfront" },
                    "priceDimensions": {
                        "x": { "unit": "Hrs", "pricePerUnit": { "USD": "1.0000000000" } },
                        "y": { "unit": "Quantity", "pricePerUnit": { "USD": "8760" } } } },
                "A.R2": {
                    "termAttributes": { "LeaseContractLength": "3yr",
                        "OfferingClass": "convertible", "PurchaseOption": "No Upfront" },
                    "priceDimensions": {
                        "x": { "unit": "Hrs", "pricePerUnit": { "USD": "1" } } } } }
        } })
    }

    #[test]
    fn upfront_is_spread_over_the_term_and_convertible_left_out() {
        let key = PriceKey::linux_on_demand("us-east-1", "p3.2xlarge");
        let read_on = jiff::civil::date(2026, 11, 20);
        let quotes = quotes(&product(), &key, read_on);
        let figures: Vec<(String, String)> = quotes
            .iter()
            .map(|(key, quote)| (key.option.to_string(), quote.rate.amount().to_string()))
            .collect();
        let expected = [("on-demand", "3.06"), ("reserved-1yr-partial-upfront", "2")];
        assert_eq!(figures, expected.map(|(option, rate)| (option.to_owned(), rate.to_owned())));
        assert_eq!(quotes[0].1.effective_date, jiff::civil::date(2026, 7, 1));
        assert_eq!(quotes[1].1.effective_date, read_on);
        assert_eq!(quotes[0].1.instalments, None);
        let instalments = Instalments { upfront: Decimal::from(8_760), hourly: Decimal::ONE };
        assert_eq!(quotes[1].1.instalments, Some(instalments));
    }

    #[test]
    fn a_price_of_zero_is_no_price() {
        let mut product = product();
        product["terms"]["OnDemand"]["A.B"]["priceDimensions"]["A.B.C"]["pricePerUnit"]["USD"] =
            json!("0.0000000000");
        let key = PriceKey::linux_on_demand("us-east-1", "p3.2xlarge");
        let quotes = quotes(&product, &key, jiff::civil::date(2026, 11, 20));
        assert!(quotes.iter().all(|(key, _)| key.option != PriceOption::OnDemand));
    }
}
