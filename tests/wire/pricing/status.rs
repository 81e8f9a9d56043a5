//! What `pricing status` and the table after a refresh say.

use serde_json::{Value, json};

use super::{Cache, IRELAND, VIRGINIA, publish};
use crate::wire::loopback::Loopback;

fn status(cache: &Cache) -> Value {
    cache.command(&["pricing", "status", "--format", "json"]).run().json(0)
}

/// Source and number of the lists of the cache.
fn cached_lists(status: &Value) -> Vec<(&str, u64)> {
    let lists = status["lists"].as_array().expect("a list of lists");
    lists
        .iter()
        .filter(|list| list["origin"] == "cache")
        .map(|list| {
            assert!(list["age_days"] == 0 || list["age_days"] == 1, "{list}");
            let source = list["source"].as_str().expect("words");
            (source, list["prices"].as_u64().expect("a count"))
        })
        .collect()
}

#[test]
fn without_a_cache_the_bundled_lists_are_all_there_is() {
    let cache = Cache::none();
    let status = status(&cache);
    assert_eq!(status["cache"], Value::Null);
    assert_eq!(status["cache_path"], cache.file().to_str().expect("a plain name"));
    assert!(cached_lists(&status).is_empty());
    let lists = status["lists"].as_array().expect("a list of lists");
    assert!(lists.iter().all(|list| list["origin"] == "bundled"));
    assert!(!lists.is_empty());
    assert!(cache.names().is_empty(), "looking makes no files");
}

#[test]
fn a_cache_says_what_it_holds() {
    let loopback = Loopback::start(None);
    publish(&loopback);
    let cache = Cache::refreshed(&loopback, "us-east-1,eu-west-1");
    let status = status(&cache);
    assert_eq!(status["cache"]["regions"], json!([IRELAND, VIRGINIA]));
    assert_eq!(status["cache"]["instance_types"], 1);
    assert_eq!(status["cache"]["gaps"], json!([]));
    // In each region one price of spot, two of the list, one of a plan.
    assert_eq!(
        cached_lists(&status),
        [
            ("ec2:DescribeSpotPriceHistory, time-weighted mean, median over zones", 2),
            ("pricing:GetProducts", 4),
            ("savingsplans:DescribeSavingsPlansOfferingRates", 2),
        ]
    );
}

#[test]
fn refreshing_one_region_does_not_forget_the_others() {
    let loopback = Loopback::start(None);
    publish(&loopback);
    let cache = Cache::refreshed(&loopback, VIRGINIA);
    let run = cache.refresh(&loopback, IRELAND);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("1 type, 2 regions"), "{}", run.stdout);
    assert_eq!(status(&cache)["cache"]["regions"], json!([IRELAND, VIRGINIA]));
}
