use aws_sdk_pricing::error::ProvideErrorMetadata;
use aws_sdk_pricing::types::{Filter, FilterType};
use serde_json::Value;

use crate::wire::clients::Clients;
use crate::wire::loopback::{Loopback, Price, Reserved};

/// What singles out the price of a Linux instance among its neighbours.
const ON_DEMAND: [(&str, &str); 6] = [
    ("regionCode", "us-east-1"),
    ("operatingSystem", "Linux"),
    ("tenancy", "Shared"),
    ("preInstalledSw", "NA"),
    ("capacitystatus", "Used"),
    ("marketoption", "OnDemand"),
];

fn filter(kind: FilterType, field: &str, value: &str) -> Filter {
    Filter::builder().r#type(kind).field(field).value(value).build().expect("all members are given")
}

/// All matching documents, and how many pages they came in.
async fn products(clients: &Clients, service: &str, filters: Vec<Filter>) -> (Vec<Value>, usize) {
    let mut pages = clients
        .pricing
        .get_products()
        .service_code(service)
        .set_filters(Some(filters))
        .into_paginator()
        .send();
    let (mut documents, mut count) = (Vec::new(), 0);
    while let Some(page) = pages.next().await {
        count += 1;
        for document in page.expect("the filters are valid").price_list() {
            documents.push(serde_json::from_str(document).expect("an entry is a JSON document"));
        }
    }
    (documents, count)
}

/// Instance type and hourly price in dollars, the way a client digs it out.
fn hourly(document: &Value) -> (String, String) {
    let first = |map: &Value| map.as_object().and_then(|map| map.values().next().cloned());
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let term = first(&document["terms"]["OnDemand"]).expect("an On-Demand term");
    let dimension = first(&term["priceDimensions"]).expect("a price dimension");
    assert_eq!(dimension["unit"], "Hrs");
    let price = text(&dimension["pricePerUnit"]["USD"]);
    (text(&document["product"]["attributes"]["instanceType"]), price)
}

fn endpoint() -> (Loopback, Clients) {
    let loopback = Loopback::start(None);
    loopback.put_price(Price::linux("g5.xlarge", "us-east-1", "1.006"));
    loopback.put_price(Price::linux("p5.48xlarge", "us-east-1", "55.04"));
    loopback.put_price(Price::linux("g6.xlarge", "us-east-1", "0.8048"));
    loopback.put_price(Price::linux("g5.xlarge", "eu-west-1", "1.123"));
    loopback.put_price(Price {
        operating_system: "Windows",
        operation: "RunInstances:0002",
        ..Price::linux("g5.xlarge", "us-east-1", "1.19")
    });
    let clients = Clients::new(&loopback.url(), "us-east-1");
    (loopback, clients)
}

#[tokio::test]
async fn the_usual_filters_leave_one_price_per_type() {
    let (_loopback, clients) = endpoint();
    let mut filters: Vec<Filter> =
        ON_DEMAND.map(|(field, value)| filter(FilterType::TermMatch, field, value)).into();
    let types = "g5.xlarge,p5.48xlarge,none.such";
    filters.push(filter(FilterType::AnyOf, "instanceType", types));
    let (documents, _) = products(&clients, "AmazonEC2", filters).await;
    let prices: Vec<(String, String)> = documents.iter().map(hourly).collect();
    let expected = [("g5.xlarge", "1.0060000000"), ("p5.48xlarge", "55.0400000000")];
    assert_eq!(prices, expected.map(|(kind, price)| (kind.to_owned(), price.to_owned())));

    let product = &documents[0];
    assert_eq!(product["product"]["productFamily"], "Compute Instance");
    assert_eq!(product["product"]["attributes"]["operation"], "RunInstances");
    let reserved = product["terms"]["Reserved"].as_object().expect("terms by code");
    let reserved = reserved.values().next().expect("one reserved term");
    assert_eq!(reserved["termAttributes"]["LeaseContractLength"], "1yr");
}

#[tokio::test]
async fn each_filter_left_out_lets_a_wrong_product_in() {
    let (_loopback, clients) = endpoint();
    let forgotten = [
        ("regionCode", 2),
        ("operatingSystem", 2),
        ("tenancy", 2),
        ("preInstalledSw", 2),
        ("capacitystatus", 3),
        ("marketoption", 1),
    ];
    for instance_type in ["g5.xlarge", "p5.48xlarge"] {
        for (forgotten, expected) in forgotten {
            let mut filters: Vec<Filter> = ON_DEMAND
                .iter()
                .filter(|(field, _)| *field != forgotten)
                .map(|(field, value)| filter(FilterType::TermMatch, field, value))
                .collect();
            filters.push(filter(FilterType::Equals, "instanceType", instance_type));
            let (documents, _) = products(&clients, "AmazonEC2", filters).await;
            // The p5 is here for Linux in one region only, but also as a
            // capacity block.
            let expected = match (instance_type, forgotten) {
                ("p5.48xlarge", "regionCode" | "operatingSystem") => 1,
                ("p5.48xlarge", "marketoption") => 2,
                _ => expected,
            };
            assert_eq!(documents.len(), expected, "{instance_type} without {forgotten}");
        }
    }
}

#[tokio::test]
async fn products_come_in_pages_of_a_hundred() {
    let loopback = Loopback::start(None);
    for size in 0..50 {
        let instance_type = format!("g6.{size}xlarge");
        loopback.put_price(Price::linux(&instance_type, "us-east-1", "1"));
    }
    let clients = Clients::new(&loopback.url(), "us-east-1");
    let (documents, pages) = products(&clients, "AmazonEC2", Vec::new()).await;
    assert_eq!((documents.len(), pages), (250, 3));
    assert_eq!(loopback.calls("pricing", "GetProducts"), 3);
}

#[tokio::test]
async fn volumes_addresses_and_yuan_have_prices_too() {
    let loopback = Loopback::start(None);
    loopback.put_storage_price("us-east-1", "gp3", "0.08");
    loopback.put_public_ipv4_price("us-east-1", "0.005");
    loopback
        .put_price(Price { currency: "CNY", ..Price::linux("g4dn.xlarge", "cn-north-1", "5.123") });
    let clients = Clients::new(&loopback.url(), "us-east-1");
    let only = |field, value| vec![filter(FilterType::TermMatch, field, value)];

    let gp3 = products(&clients, "AmazonEC2", only("volumeApiName", "gp3")).await.0;
    let volume = gp3[0].to_string();
    assert_eq!(gp3.len(), 1);
    assert_eq!(gp3[0]["product"]["productFamily"], "Storage");
    assert!(volume.contains(r#""unit":"GB-Mo""#) && volume.contains(r#""USD":"0.0800000000""#));

    let group = only("group", "VPCPublicIPv4Address");
    let addresses = products(&clients, "AmazonVPC", group).await.0;
    assert_eq!(addresses.len(), 2);
    assert!(addresses[0].to_string().contains(r#""USD":"0.0050000000""#));

    let china = only("regionCode", "cn-north-1");
    let abroad = products(&clients, "AmazonEC2", china.clone()).await.0;
    assert!(abroad.is_empty(), "China has a list of its own");
    let clients = Clients::new(&loopback.url(), "cn-northwest-1");
    let yuan = products(&clients, "AmazonEC2", china).await.0;
    assert!(yuan[0].to_string().contains(r#""CNY":"5.1230000000""#));
}

#[tokio::test]
async fn only_some_regions_have_the_service() {
    let (loopback, _) = endpoint();
    let clients = Clients::new(&loopback.url(), "eu-west-1");
    let request = clients.pricing.get_products().service_code("AmazonEC2");
    let error = request.send().await.expect_err("Ireland has no such endpoint");
    assert_eq!(error.code(), Some("UnknownEndpoint"));
}

#[tokio::test]
async fn reserved_terms_have_their_class_and_both_of_their_payments() {
    let loopback = Loopback::start(None);
    let half = Reserved {
        years: 3,
        class: "standard",
        payment: "Partial Upfront",
        upfront: "26280",
        hourly: "0.5",
    };
    loopback.put_price(Price {
        reserved: &[half, Reserved { class: "convertible", ..half }],
        ..Price::linux("g5.xlarge", "us-east-1", "1.006")
    });
    let clients = Clients::new(&loopback.url(), "us-east-1");
    let filters = ON_DEMAND.map(|(field, value)| filter(FilterType::TermMatch, field, value));
    let (documents, _) = products(&clients, "AmazonEC2", filters.into()).await;
    let terms = documents[0]["terms"]["Reserved"].as_object().expect("by code");
    assert_eq!(terms.len(), 2);
    for (code, class) in [("38NPMPTW36", "standard"), ("R5XV2EPZQZ", "convertible")] {
        let term = terms
            .values()
            .find(|term| term["offerTermCode"] == code)
            .unwrap_or_else(|| panic!("{code} is not among {terms:#?}"));
        assert_eq!(term["termAttributes"]["OfferingClass"], class);
        let text = term["priceDimensions"].to_string();
        assert!(text.contains(r#""pricePerUnit":{"USD":"0.5000000000"}"#), "{text}");
        assert!(text.contains(r#""USD":"26280.0000000000"#), "{text}");
        assert!(text.contains(r#""unit":"Quantity""#), "{text}");
    }
}

#[tokio::test]
async fn a_capacity_block_goes_by_the_name_of_the_type() {
    let (loopback, clients) = endpoint();
    loopback.put_capacity_block("p5.48xlarge", "us-east-1", "0");
    let mut filters: Vec<Filter> = ON_DEMAND[..5]
        .iter()
        .map(|(field, value)| filter(FilterType::TermMatch, field, value))
        .collect();
    filters.push(filter(FilterType::Equals, "instanceType", "p5.48xlarge"));
    let (documents, _) = products(&clients, "AmazonEC2", filters.clone()).await;
    let prices: Vec<String> = documents.iter().map(|document| hourly(document).1).collect();
    assert_eq!(prices, ["55.0400000000", "27.5200000000", "0.0000000000"]);
    filters.push(filter(FilterType::TermMatch, "marketoption", "OnDemand"));
    assert_eq!(products(&clients, "AmazonEC2", filters).await.0.len(), 1);
}
