//! Time-weighted spot means against a recorded history: irregular steps, zones
//! interleaved, newest first.

use crate::data::folder;
use gpucost::domain::Window;
use gpucost::savings::time_weighted_mean;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

#[test]
fn means_of_p3_2xlarge_by_zone() {
    let Some(folder) = folder("spot means", "samples/aws-api/spot-price-history") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("us-east-1.p3.2xlarge.json"))
        .expect("the history is there");
    let history: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut zones: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for change in history["SpotPriceHistory"].as_array().expect("a list") {
        let field = |name: &str| change[name].as_str().expect("a text").to_owned();
        zones.entry(field("AvailabilityZone")).or_default().push((
            field("Timestamp").parse().expect("a time"),
            field("SpotPrice").parse::<Decimal>().expect("a price"),
        ));
    }
    let window = Window {
        start: "2019-12-24T00:00:00Z".parse().expect("a time"),
        end: "2020-02-20T00:00:00Z".parse().expect("a time"),
    };
    // Worked out apart from this program by whoever published the samples' index.
    for (zone, expected) in [
        ("us-east-1b", "1.019785"),
        ("us-east-1c", "0.932820"),
        ("us-east-1d", "0.939882"),
        ("us-east-1f", "0.928515"),
    ] {
        let mean = time_weighted_mean(&zones[zone], window).expect("prices in the window");
        assert_eq!(mean.round_dp(6).to_string(), expected, "{zone}");
    }
}
