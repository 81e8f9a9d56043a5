//! SageMaker: machines that AWS runs itself, of endpoints, notebook instances, Studio apps,
//! HyperPod clusters and training jobs. They are in no answer of EC2, and their prices are
//! not those of EC2.

mod components;
mod inventory;
mod jobs;
mod listed;
mod machine;
mod metrics;
mod plans;

pub(super) use inventory::TAGGING;
pub(super) use listed::SAGEMAKER;

use super::prices::{TYPES_AT_ONCE, any_of, products, quotes, term};
use super::session::RegionClients;
use crate::domain::{
    Cause, CauseKind, Component, Gap, GapSubject, Gathered, PriceBook, PriceKey, PriceOption,
    PriceQuote, Provider,
};
use crate::error::or_gap;
use crate::{Connection, Outcome, PriceQuery};
use futures_util::FutureExt;
use inventory::Machines;
use jiff::Timestamp;
use jiff::civil::Date;
use jobs::TrainingJobs;
use metrics::VariantMetrics;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What SageMaker runs in a region of an account at an instant.
pub(super) fn connection(clients: RegionClients, account: &str, as_of: Timestamp) -> Connection {
    let machines = Machines::new(clients.clone(), account, as_of);
    let jobs = TrainingJobs { clients: clients.clone(), account: account.to_owned() };
    Connection {
        provider: Some(Provider::SageMaker),
        region: clients.region.clone(),
        inventory: Box::new(move || machines.clone().found().boxed_local()),
        metrics: vec![Box::new(VariantMetrics(clients.clone()))],
        jobs: Some(Box::new(move |window| jobs.clone().read(window).boxed_local())),
        prices: Some(Box::new(move |ask| prices(clients.clone(), ask).boxed_local())),
        commitments: None,
    }
}

/// What the price list calls it.
const SERVICE_CODE: &str = "AmazonSageMaker";

/// What machines cost in a region, as far as the price list tells: it has a product for each
/// type and what it is rented for.
async fn prices(clients: RegionClients, ask: PriceQuery) -> Gathered<PriceBook> {
    let place = &clients.region;
    let wanted = ask.on_demand.iter().flat_map(|query| &query.instance_types);
    let wanted: BTreeSet<&str> = wanted.map(String::as_str).collect();
    let mut book = PriceBook::default();
    let documents = documents(&clients, &wanted).await;
    let Gathered { value: documents, mut gaps } =
        or_gap(documents, GapSubject::LivePrices, place, "");
    let prices = single_prices(&documents, &wanted, place, ask.read_on);
    let is_missing = |name: &&&str| prices.keys().all(|key| key.instance_type != **name);
    let missing: Vec<&str> = wanted.iter().filter(is_missing).copied().collect();
    if gaps.is_empty() && !missing.is_empty() {
        let cause = Cause::of(CauseKind::NoSinglePriceListed, [&missing.join(", ")]);
        gaps.push(Gap::of(GapSubject::LivePrice, place, cause));
    }
    prices.into_iter().for_each(|(key, quote)| book.insert(key, quote));
    Gathered { value: book, gaps }
}

/// The products of every type, whatever they are rented for.
async fn documents(clients: &RegionClients, wanted: &BTreeSet<&str>) -> Outcome<Vec<Value>> {
    let RegionClients { session, region, .. } = clients;
    let inside = wanted.iter().filter_map(|name| Component::of_type(name));
    let names: BTreeSet<String> = inside.map(|(inside, _)| format!("ml.{inside}")).collect();
    let names: Vec<String> = names.into_iter().collect();
    let mut documents = Vec::new();
    for some in names.chunks(TYPES_AT_ONCE) {
        let filters = vec![any_of("instanceName", some), term("regionCode", region)];
        documents.extend(products(session, region, SERVICE_CODE, filters).await?);
    }
    Ok(documents)
}

/// The on-demand price of each type. Two products that claim one type at different prices
/// leave it without any: nothing says which of them is billed.
fn single_prices(
    documents: &[Value],
    wanted: &BTreeSet<&str>,
    region: &str,
    read_on: Date,
) -> BTreeMap<PriceKey, PriceQuote> {
    let mut by_key: BTreeMap<PriceKey, Vec<PriceQuote>> = BTreeMap::new();
    for document in documents {
        let name = document["product"]["attributes"]["instanceType"].as_str();
        // The list writes what a type is rented for in several cases.
        let same = |wanted: &&&str| name.is_some_and(|name| name.eq_ignore_ascii_case(wanted));
        let Some(name) = wanted.iter().find(same) else { continue };
        let key =
            PriceKey { provider: Provider::SageMaker, ..PriceKey::linux_on_demand(region, name) };
        for (key, quote) in quotes(document, &key, read_on) {
            if key.option == PriceOption::OnDemand {
                by_key.entry(key).or_default().push(quote);
            }
        }
    }
    by_key
        .into_iter()
        .filter_map(|(key, all)| {
            let mut rest = all.into_iter();
            let first = rest.next()?;
            rest.all(|other| other.rate == first.rate).then_some((key, first))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn product(instance_type: &str, hourly: &str) -> Value {
        json!({
            "product": {
                "productFamily": "ML Instance",
                "attributes": {
                    "instanceName": "ml.g5.xlarge",
                    "instanceType": instance_type,
                    "regionCode": "us-east-1",
                },
            },
            "terms": { "OnDemand": { "A.B": {
                "effectiveDate": "2026-10-01T00:00:00Z",
                "priceDimensions": { "A.B.C": {
                    "unit": "Hrs", "pricePerUnit": { "USD": hourly } } } } } },
        })
    }

    #[test]
    fn a_component_has_its_own_price_or_none() {
        let documents = [
            product("ml.g5.xlarge-Hosting", "1.4080000000"),
            product("ml.g5.xlarge-Training", "1.2570000000"),
            product("ml.g5.xlarge-notebook", "1.5000000000"),
            // Two prices of one type, of which nothing says which is billed.
            product("ml.g5.xlarge-studio-jupyterlab", "1.4000000000"),
            product("ml.g5.xlarge-Studio-JupyterLab", "1.4100000000"),
            // The same price twice is one.
            product("ml.g5.xlarge-hosting", "1.4080000000"),
            product("ml.g5.xlarge-studio-codeeditor", "0.0000000000"),
        ];
        let wanted = [
            "ml.g5.xlarge-hosting", "ml.g5.xlarge-notebook", "ml.g5.xlarge-studio-codeeditor",
            "ml.g5.xlarge-studio-jupyterlab",
        ];
        let wanted = BTreeSet::from(wanted);
        let read_on = jiff::civil::date(2026, 11, 20);
        let prices = single_prices(&documents, &wanted, "us-east-1", read_on);
        let figures: Vec<(String, String)> = prices
            .iter()
            .map(|(key, quote)| (key.to_string(), quote.rate.amount().to_string()))
            .collect();
        let expected = [
            ("sagemaker ml.g5.xlarge-hosting us-east-1 linux shared on-demand", "1.408"),
            ("sagemaker ml.g5.xlarge-notebook us-east-1 linux shared on-demand", "1.5"),
        ];
        assert_eq!(figures, expected.map(|(key, rate)| (key.to_owned(), rate.to_owned())));
    }
}
