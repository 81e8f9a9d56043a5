//! The feed of the page of spot prices: one price of each type, region and system, in dollars.

use crate::domain::{Currency, HourlyRate, OperatingSystem, PriceKey, PriceOption};
use crate::sources::files::bounded;
use crate::sources::{Quoted, observed};
use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Read};

/// Bytes of the feed, unpacked.
const MOST_BYTES: u64 = 256 << 20;
const SOURCE: &str = "AWS spot price page";

/// Old names of regions, which the feed still has.
const OLD_NAMES: [(&str, &str); 7] = [
    ("us-east", "us-east-1"),
    ("us-west", "us-west-1"),
    ("us-west-2", "us-west-2"),
    ("eu-ireland", "eu-west-1"),
    ("apac-sin", "ap-southeast-1"),
    ("apac-syd", "ap-southeast-2"),
    ("apac-tokyo", "ap-northeast-1"),
];

#[derive(Deserialize)]
struct Feed {
    config: Config,
}

#[derive(Deserialize)]
struct Config {
    rate: String,
    regions: Vec<Region>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    region: String,
    instance_types: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    sizes: Vec<Size>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Size {
    size: String,
    value_columns: Vec<Value>,
}

#[derive(Deserialize)]
struct Value {
    name: String,
    prices: BTreeMap<String, String>,
}

/// Prices of some types by region. A type without a price in a region has `N/A*` there.
///
/// # Errors
/// Why it is not such a feed.
pub(super) fn read(
    text: impl Read,
    types: &BTreeSet<String>,
    seen_on: Date,
) -> Result<BTreeMap<String, Vec<Quoted>>, String> {
    let text = BufReader::new(bounded(text, MOST_BYTES));
    let feed: Feed = serde_json::from_reader(text).map_err(|error| error.to_string())?;
    if feed.config.rate != "perhr" {
        return Err("its prices are not by the hour".to_owned());
    }
    let mut by_region: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for listed in feed.config.regions {
        let old = OLD_NAMES.iter().find(|(old, _)| *old == listed.region);
        let region = old.map_or(listed.region.as_str(), |(_, name)| name);
        let sizes = listed.instance_types.iter().flat_map(|group| &group.sizes);
        let prices = sizes.filter(|size| types.contains(&size.size)).flat_map(|size| {
            let values = size.value_columns.iter();
            values.filter_map(move |value| price(region, &size.size, value, seen_on))
        });
        by_region.entry(region.to_owned()).or_default().extend(prices.collect::<Vec<_>>());
    }
    Ok(by_region)
}

fn price(region: &str, instance_type: &str, value: &Value, seen_on: Date) -> Option<Quoted> {
    let operating_system = match value.name.as_str() {
        "linux" => OperatingSystem::Linux,
        "mswin" => OperatingSystem::Windows,
        _ => return None,
    };
    let amount: Decimal = value.prices.get(Currency::Usd.code())?.parse().ok()?;
    // Where another currency is billed, a price in dollars is not one that is paid.
    let currency =
        Some(Currency::of_region(region)).filter(|currency| *currency == Currency::Usd)?;
    let key = PriceKey {
        operating_system,
        option: PriceOption::Spot,
        ..PriceKey::linux_on_demand(region, instance_type)
    };
    let rate = HourlyRate::new(amount.normalize(), currency)?;
    Some((key, observed(rate, None, (seen_on, seen_on), SOURCE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn prices(text: &str) -> Result<Vec<String>, String> {
        let types = BTreeSet::from(["g5.xlarge".to_owned()]);
        let prices = read(text.as_bytes(), &types, date(2026, 11, 18))?;
        let quotes = prices.into_values().flatten();
        Ok(quotes
            .map(|(key, quote)| format!("{key} {} {}", quote.rate.amount(), quote.seen_on))
            .collect())
    }

    const FEED: &str = r#"{"vers": 0.01, "config": {"rate": "perhr",
        "valueColumns": ["linux", "mswin"], "currencies": ["USD"], "regions": [
        {"region": "us-east", "instanceTypes": [{"type": "gpuInstanceCurrentGen", "sizes": [
            {"size": "g5.xlarge", "valueColumns": [
                {"name": "linux", "prices": {"USD": "0.4210"}},
                {"name": "mswin", "prices": {"USD": "N/A*"}}]},
            {"size": "m5.large", "valueColumns": [
                {"name": "linux", "prices": {"USD": "0.0410"}}]}]}]},
        {"region": "eu-west-1", "instanceTypes": [{"type": "gpuInstanceCurrentGen", "sizes": [
            {"size": "g5.xlarge", "valueColumns": [
                {"name": "linux", "prices": {"USD": "-1"}},
                {"name": "mswin", "prices": {"USD": "0.9"}}]}]}]}]}}"#;

    #[test]
    fn prices_of_what_is_wanted_are_found_under_both_names_of_a_region() {
        let prices = prices(FEED).expect("a feed");
        let expected = [
            "g5.xlarge eu-west-1 windows shared spot 0.9 2026-11-18",
            "g5.xlarge us-east-1 linux shared spot 0.421 2026-11-18",
        ];
        assert_eq!(prices, expected);
    }

    #[test]
    fn another_unit_or_another_file_is_refused() {
        let monthly = FEED.replace("perhr", "permonth");
        for text in ["", "<html></html>", "{}", &FEED[..200], monthly.as_str()] {
            assert!(prices(text).is_err(), "{text}");
        }
    }
}
