//! EC2: the spot price history, and a correction to what moto understands.
//!
//! `DescribeSpotPriceHistory` is answered here, because moto knows one price
//! for everything. Imitated: change points per zone, type and product, those
//! within the time range and the last one before it, newest first, pages, the
//! empty `nextToken` on the last page. Not imitated: the 90-day horizon.
//!
//! moto compares the `instance-type` filter of `DescribeInstances` literally,
//! where EC2 knows the wildcards `*` and `?`. Before such a request is
//! forwarded, [`expand_wildcards`] replaces a wildcard by instance types
//! that it matches among those launched through this endpoint. Types changed
//! later by `ModifyInstanceAttribute` are not followed.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Data;
use super::error::ApiError;
use super::form::{Form, escape_xml};

/// Instance types seen in `RunInstances`.
pub type LaunchedTypes = BTreeSet<String>;

/// Change points per page unless the request says fewer.
const PRICES_PER_PAGE: usize = 1000;

/// What has a spot price of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Market {
    region: String,
    zone: String,
    instance_type: String,
    product: String,
}

/// Change points (epoch seconds, USD per hour), sorted by time.
#[derive(Default)]
pub struct SpotHistory(BTreeMap<Market, Vec<(i64, String)>>);

impl SpotHistory {
    pub fn put(
        &mut self,
        region: &str,
        zone: &str,
        instance_type: &str,
        product: &str,
        changes: &[(i64, &str)],
    ) {
        let market = Market {
            region: region.to_owned(),
            zone: zone.to_owned(),
            instance_type: instance_type.to_owned(),
            product: product.to_owned(),
        };
        let history = self.0.entry(market).or_default();
        history.extend(changes.iter().map(|&(time, price)| (time, price.to_owned())));
        history.sort();
    }
}

/// Answers `DescribeSpotPriceHistory`, or refuses it.
pub fn spot_price_history(data: &Data, region: &str, body: &[u8]) -> Result<Vec<u8>, ApiError> {
    let form = Form::parse(body);
    let filters = form.filters();
    let wanted = |list: &str, filter: &str, held: &str| {
        let listed = form.list(list);
        (listed.is_empty() || listed.contains(&held))
            && filters
                .iter()
                .filter(|(name, _)| *name == filter)
                .all(|(_, values)| values.iter().any(|value| wildcard_match(value, held)))
    };
    let zone = form.get("AvailabilityZone");
    let start = time(&form, "StartTime")?.unwrap_or(i64::MIN);
    let end = time(&form, "EndTime")?.unwrap_or(i64::MAX);

    let mut rows: Vec<(&Market, i64, &str)> = Vec::new();
    for (market, history) in &data.spot.0 {
        let selected = market.region == region
            && zone.is_none_or(|zone| market.zone == zone)
            && wanted("AvailabilityZone", "availability-zone", &market.zone)
            && wanted("InstanceType", "instance-type", &market.instance_type)
            && wanted("ProductDescription", "product-description", &market.product);
        if selected {
            // The price in force at the start was set by the change before it.
            let first = history.partition_point(|(time, _)| *time < start);
            let carried = first.saturating_sub(1);
            let changes = history[carried..].iter().take_while(|(time, _)| *time <= end);
            rows.extend(changes.map(|(time, price)| (market, *time, price.as_str())));
        }
    }
    rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));

    let number = |key: &str| form.get(key).and_then(|number| number.parse::<usize>().ok());
    let skip = number("NextToken").unwrap_or(0);
    let limit = number("MaxResults").unwrap_or(PRICES_PER_PAGE).min(PRICES_PER_PAGE);
    let token = match skip + limit {
        next if next < rows.len() => next.to_string(),
        _ => String::new(),
    };
    let items: String = rows.iter().skip(skip).take(limit).map(spot_item).collect();
    Ok(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <DescribeSpotPriceHistoryResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\
         <spotPriceHistorySet>{items}</spotPriceHistorySet><nextToken>{token}</nextToken>\
         </DescribeSpotPriceHistoryResponse>"
    )
    .into_bytes())
}

fn spot_item((market, time, price): &(&Market, i64, &str)) -> String {
    let time = Timestamp::from_second(*time).expect("tests put times that exist");
    format!(
        "<item><instanceType>{}</instanceType><productDescription>{}</productDescription>\
         <spotPrice>{price}</spotPrice><timestamp>{time}</timestamp>\
         <availabilityZone>{}</availabilityZone></item>",
        escape_xml(&market.instance_type),
        escape_xml(&market.product),
        escape_xml(&market.zone),
    )
}

fn time(form: &Form, key: &str) -> Result<Option<i64>, ApiError> {
    let Some(text) = form.get(key) else { return Ok(None) };
    let time: Timestamp = text
        .parse()
        .map_err(|_| ApiError::new(400, "InvalidParameterValue", format!("{key}: {text}")))?;
    Ok(Some(time.as_second()))
}

/// The instance type that a `RunInstances` request launches.
pub fn launched_type(body: &[u8]) -> Option<String> {
    Form::parse(body).get("InstanceType").map(str::to_owned)
}

/// Rewrites a `DescribeInstances` request whose `instance-type` filter has
/// wildcards; `None` when it has none. A wildcard that matches nothing stays,
/// and so goes on matching nothing.
pub fn expand_wildcards(body: &[u8], launched: &LaunchedTypes) -> Option<Vec<u8>> {
    let mut form = Form::parse(body);
    let original = Form::parse(body);
    let mut changed = false;
    for (position, (name, values)) in original.filters().into_iter().enumerate() {
        if name != "instance-type" || !values.iter().any(|value| value.contains(['*', '?'])) {
            continue;
        }
        let mut matched: Vec<&str> = launched
            .iter()
            .filter(|held| values.iter().any(|value| wildcard_match(value, held)))
            .map(String::as_str)
            .collect();
        if matched.is_empty() {
            matched = values;
        }
        form.set_filter_values(position, &matched);
        changed = true;
    }
    changed.then(|| form.encode())
}

/// EC2's filter wildcards: `*` for any text, `?` for any one character.
fn wildcard_match(pattern: &str, text: &str) -> bool {
    let mut characters = pattern.chars();
    match characters.next() {
        None => text.is_empty(),
        Some('*') => text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .any(|at| wildcard_match(characters.as_str(), &text[at..])),
        Some(expected) => {
            let mut rest = text.chars();
            rest.next().is_some_and(|c| expected == '?' || expected == c)
                && wildcard_match(characters.as_str(), rest.as_str())
        }
    }
}
