//! The user's price cache behind the API and before the bundled catalog: whoever
//! read a price last, tells it.

use serde_json::Value;

use super::{Office, VIRGINIA, gap, gaps, workload};
use crate::wire::loopback::{Fault, Loopback, Price, Target, Times};
use crate::wire::pricing::Cache;

/// A cache that has `g5.xlarge` at 1.05; the API has it at 1.10, the bundled catalog
/// at 1.006.
fn cache() -> Cache {
    let loopback = Loopback::start(None);
    loopback.put_price(Price::linux("g5.xlarge", "us-east-1", "1.05"));
    Cache::refreshed(&loopback, "us-east-1")
}

fn without_the_price_list(office: &Office) {
    let target = Target::operation("pricing", "GetProducts");
    let loopback = &office.account.loopback;
    loopback.inject(target, Fault::AccessDenied, Times::Always);
}

/// What instance costs an hour, and where every price that the report rests
/// on came from.
fn rests_on(report: &Value, office: &Office) -> (f64, String) {
    let hourly = workload(report, &office.ids[0])["hourly_cost"].as_f64();
    let origins = report["prices"]["origins"].as_object().expect("a map");
    let used: Vec<&str> = origins
        .iter()
        .filter(|(_, count)| **count != 0)
        .map(|(origin, _)| origin.as_str())
        .collect();
    (hourly.expect("it is priced"), used.join(" "))
}

#[test]
fn each_price_is_of_the_freshest_that_knows_it() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let cache = cache();
    let audit = || office.audit().cache_in(cache.folder()).run().json(0);
    assert_eq!(rests_on(&audit(), &office), (1.10, "api".to_owned()));

    without_the_price_list(&office);
    let report = audit();
    assert_eq!(rests_on(&report, &office), (1.05, "cache".to_owned()));
    let (_, reason, _) = gap(&report, "live prices");
    assert!(
        reason.ends_with("; the price cache, or else the bundled price catalog, is used where a price is available"),
        "{reason}"
    );

    let bundled = office.audit().run().json(0);
    assert_eq!(rests_on(&bundled, &office), (1.006, "bundled".to_owned()));
}

#[test]
fn a_cache_older_than_the_bundled_book_is_not_used() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let cache = cache();
    let mut document = cache.document();
    for price in document["prices"].as_array_mut().expect("a list") {
        price["effective_date"] = "2020-01-01".into();
        price["seen_on"] = "2020-01-01".into();
    }
    cache.replace(&document);
    without_the_price_list(&office);
    let report = office.audit().cache_in(cache.folder()).run().json(0);
    assert_eq!(rests_on(&report, &office), (1.006, "bundled".to_owned()));
}

#[test]
fn offline_it_is_not_asked_either() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let cache = cache();
    let audit = office.audit().args(&["--offline"]);
    let report = audit.cache_in(cache.folder()).run().json(0);
    assert_eq!(rests_on(&report, &office), (1.006, "bundled".to_owned()));
}

#[test]
fn one_that_cannot_be_read_is_a_gap() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let cache = cache();
    let whole = std::fs::read(cache.file()).expect("it is there");
    std::fs::write(cache.file(), &whole[..whole.len() / 2]).expect("our own folder");
    let audit = || office.audit().cache_in(cache.folder()).run().json(0);
    let report = audit();
    assert_eq!(gaps(&report), ["price cache"]);
    let (place, reason, hint) = gap(&report, "price cache");
    assert_eq!(place, "this machine");
    let path = cache.file().display().to_string();
    assert!(reason.starts_with(&format!("{path} is not a complete estate: ")), "{reason}");
    assert_eq!(hint, "run `gpucost pricing refresh` to recreate it");
    assert_eq!(rests_on(&report, &office), (1.10, "api".to_owned()));

    without_the_price_list(&office);
    assert_eq!(rests_on(&audit(), &office), (1.006, "bundled".to_owned()));
}
