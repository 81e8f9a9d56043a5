use serde_json::{Value, json};

use crate::wire::loopback::{Loopback, Price, Reserved};
use crate::wire::sdk;

/// What singles out the price of a Linux instance among its neighbours.
const ON_DEMAND: [(&str, &str); 6] = [
    ("regionCode", "us-east-1"),
    ("operatingSystem", "Linux"),
    ("tenancy", "Shared"),
    ("preInstalledSw", "NA"),
    ("capacitystatus", "Used"),
    ("marketoption", "OnDemand"),
];

fn filter(kind: &str, field: &str, value: &str) -> Value {
    json!({ "Type": kind, "Field": field, "Value": value })
}

/// Filters that match terms exactly.
fn terms(fields: &[(&str, &str)]) -> Vec<Value> {
    fields.iter().map(|(field, value)| filter("TERM_MATCH", field, value)).collect()
}

/// A call in Virginia for all matching products.
fn products(service: &str, filters: &[Value]) -> Value {
    products_in("us-east-1", service, filters)
}

fn products_in(region: &str, service: &str, filters: &[Value]) -> Value {
    let params = json!({ "ServiceCode": service, "Filters": filters });
    sdk::paged(sdk::call("pricing", region, "get_products", params))
}

/// All documents that a call found.
fn documents(outcome: &Value) -> Vec<Value> {
    sdk::pages(outcome)
        .iter()
        .flat_map(|page| page["PriceList"].as_array().expect("a list"))
        .map(|text| text.as_str().expect("documents are texts"))
        .map(|text| serde_json::from_str(text).expect("an entry is a JSON document"))
        .collect()
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

fn endpoint() -> Loopback {
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
    loopback
}

#[test]
fn the_usual_filters_leave_one_price_per_type() {
    let loopback = endpoint();
    let mut filters = terms(&ON_DEMAND);
    filters.push(filter("ANY_OF", "instanceType", "g5.xlarge,p5.48xlarge,none.such"));
    let calls = [products("AmazonEC2", &filters)];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    let documents = documents(&outcomes[0]);
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

#[test]
fn each_filter_left_out_lets_a_wrong_product_in() {
    let loopback = endpoint();
    let forgotten = [
        ("regionCode", 2),
        ("operatingSystem", 2),
        ("tenancy", 2),
        ("preInstalledSw", 2),
        ("capacitystatus", 3),
        ("marketoption", 1),
    ];
    let (mut calls, mut cases) = (Vec::new(), Vec::new());
    for instance_type in ["g5.xlarge", "p5.48xlarge"] {
        for (forgotten, expected) in forgotten {
            let mut filters = terms(&ON_DEMAND);
            filters.retain(|filter| filter["Field"] != forgotten);
            filters.push(filter("EQUALS", "instanceType", instance_type));
            calls.push(products("AmazonEC2", &filters));
            // The p5 is here for Linux in one region only, but also as a
            // capacity block.
            let expected = match (instance_type, forgotten) {
                ("p5.48xlarge", "regionCode" | "operatingSystem") => 1,
                ("p5.48xlarge", "marketoption") => 2,
                _ => expected,
            };
            cases.push((format!("{instance_type} without {forgotten}"), expected));
        }
    }
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    for (outcome, (case, expected)) in outcomes.iter().zip(cases) {
        assert_eq!(documents(outcome).len(), expected, "{case}");
    }
}

#[test]
fn products_come_in_pages_of_a_hundred() {
    let loopback = Loopback::start(None);
    for size in 0..50 {
        let instance_type = format!("g6.{size}xlarge");
        loopback.put_price(Price::linux(&instance_type, "us-east-1", "1"));
    }
    let calls = [products("AmazonEC2", &[])];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    assert_eq!((documents(&outcomes[0]).len(), sdk::pages(&outcomes[0]).len()), (250, 3));
    assert_eq!(loopback.calls("pricing", "GetProducts"), 3);
}

#[test]
fn volumes_addresses_and_yuan_have_prices_too() {
    let loopback = Loopback::start(None);
    loopback.put_storage_price("us-east-1", "gp3", "0.08");
    loopback.put_public_ipv4_price("us-east-1", "0.005");
    loopback
        .put_price(Price { currency: "CNY", ..Price::linux("g4dn.xlarge", "cn-north-1", "5.123") });
    let china = terms(&[("regionCode", "cn-north-1")]);
    let calls = [
        products("AmazonEC2", &terms(&[("volumeApiName", "gp3")])),
        products("AmazonVPC", &terms(&[("group", "VPCPublicIPv4Address")])),
        products("AmazonEC2", &china),
        products_in("cn-northwest-1", "AmazonEC2", &china),
    ];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };

    let gp3 = documents(&outcomes[0]);
    let volume = gp3[0].to_string();
    assert_eq!(gp3.len(), 1);
    assert_eq!(gp3[0]["product"]["productFamily"], "Storage");
    assert!(volume.contains(r#""unit":"GB-Mo""#) && volume.contains(r#""USD":"0.0800000000""#));

    let addresses = documents(&outcomes[1]);
    assert_eq!(addresses.len(), 2);
    assert!(addresses[0].to_string().contains(r#""USD":"0.0050000000""#));

    assert!(documents(&outcomes[2]).is_empty(), "China has a list of its own");
    let yuan = documents(&outcomes[3]);
    assert!(yuan[0].to_string().contains(r#""CNY":"5.1230000000""#));
}

#[test]
fn only_some_regions_have_the_service() {
    let loopback = endpoint();
    let calls = [products_in("eu-west-1", "AmazonEC2", &[])];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    assert_eq!(outcomes[0]["code"], "UnknownEndpoint", "Ireland has no such endpoint");
}

#[test]
fn reserved_terms_have_their_class_and_both_of_their_payments() {
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
    let calls = [products("AmazonEC2", &terms(&ON_DEMAND))];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    let documents = documents(&outcomes[0]);
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

#[test]
fn a_capacity_block_goes_by_the_name_of_the_type() {
    let loopback = endpoint();
    loopback.put_capacity_block("p5.48xlarge", "us-east-1", "0");
    let mut filters = terms(&ON_DEMAND[..5]);
    filters.push(filter("EQUALS", "instanceType", "p5.48xlarge"));
    let by_type = products("AmazonEC2", &filters);
    filters.push(filter("TERM_MATCH", "marketoption", "OnDemand"));
    let calls = [by_type, products("AmazonEC2", &filters)];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    let prices: Vec<String> =
        documents(&outcomes[0]).iter().map(|document| hourly(document).1).collect();
    assert_eq!(prices, ["55.0400000000", "27.5200000000", "0.0000000000"]);
    assert_eq!(documents(&outcomes[1]).len(), 1);
}
