//! Bad points in a series are dropped, counted and told; the verdict rests on
//! the good ones.

use crate::cli::estates::{PERIODS, START_SECOND, one};
use crate::cli::world::World;
use serde_json::{Value, json};

/// The second of a period.
fn second(period: u64) -> i64 {
    START_SECOND + 300 * i64::try_from(period).expect("small")
}

/// The estate with the averages of its GPU as explicit points: all good ones,
/// newest first, and some more.
fn with_points(more: &[(i64, Value)]) -> Value {
    let mut estate = one();
    let mut stamps: Vec<i64> = (0..PERIODS).rev().map(second).collect();
    let mut values: Vec<Value> = vec![json!(15); stamps.len()];
    for (stamp, value) in more {
        stamps.insert(0, *stamp);
        values.insert(0, value.clone());
    }
    let series = &mut estate["metrics"][1];
    assert_eq!(series["metric"], "gpu_utilization");
    series["start"] = Value::Null;
    series["timestamps"] = json!(stamps);
    series["values"] = json!(values);
    estate
}

fn bad_points() -> Vec<(i64, Value)> {
    vec![
        (second(7), json!("NaN")),
        (second(8), json!("Infinity")),
        (second(9), json!(-5)),
        (second(10), json!(150)),
        (second(11), json!(100.5)),
        (second(12), json!(99)),
        (second(PERIODS), json!(99)),
        (second(PERIODS + 1000), json!(99)),
    ]
}

#[test]
fn unordered_points_are_no_bad_points() {
    let world = World::new();
    let (ordered, unordered) = (world.audit(&one()), world.audit(&with_points(&[])));
    assert_eq!(ordered, unordered);
    assert_eq!(ordered["gaps"], json!([]));
}

#[test]
fn bad_points_are_counted_in_one_gap_and_change_no_verdict() {
    let world = World::new();
    let clean = world.audit(&one());
    let audit = world.audit(&with_points(&bad_points()));
    for key in ["workloads", "findings", "summary"] {
        assert_eq!(audit[key], clean[key], "{key}");
    }
    let gaps = audit["gaps"].as_array().expect("a list");
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!(gaps[0]["what"], "metric points");
    assert_eq!(gaps[0]["where"], "i-one");
    assert_eq!(
        gaps[0]["reason"],
        "8 points dropped: 2 not a number, 1 negative, 2 over 100%, 1 duplicate, 2 in the future"
    );
}

#[test]
fn the_last_of_two_points_for_a_period_wins() {
    let world = World::new();
    let mut estate = with_points(&[]);
    let series = &mut estate["metrics"][1];
    // Every period again, with another value, after the first.
    let stamps: Vec<i64> = (0..PERIODS).chain(0..PERIODS).map(second).collect();
    let mut values = vec![json!(15); 4032];
    values.extend(vec![json!(90); 4032]);
    series["timestamps"] = json!(stamps);
    series["values"] = json!(values);
    let audit = world.audit(&estate);
    assert_eq!(audit["workloads"][0]["utilization"]["mean"], 90.0);
    assert_eq!(audit["gaps"][0]["reason"], "4032 points dropped: 4032 duplicate");
}

#[test]
fn a_series_of_bad_points_alone_is_no_zero() {
    let mut estate = one();
    for series in estate["metrics"].as_array_mut().expect("a list") {
        if series["metric"] == "gpu_utilization" {
            series["values"] = json!(vec!["NaN"; 4032]);
        }
    }
    let audit = World::new().audit(&estate);
    let workload = &audit["workloads"][0];
    assert_eq!(workload["classification"], "insufficient-data");
    assert_eq!(workload["utilization"], Value::Null);
    assert_eq!(workload["state"], Value::Null);
    let reported = audit["gaps"].as_array().expect("a list").iter();
    let reasons: Vec<&str> = reported.filter_map(|gap| gap["reason"].as_str()).collect();
    let expected = "8064 points dropped: 8064 not a number";
    assert!(reasons.contains(&expected), "{reasons:?}");
}
