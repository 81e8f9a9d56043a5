//! The plan in the JSON of an audit: its steps, its sums, and what it buys.

use crate::cli::world::World;
use serde_json::Value;
use std::collections::BTreeMap;

fn cents(value: &Value) -> i64 {
    (value.as_f64().expect("money") * 100.0).round() as i64
}

fn demo(risk: &str) -> Value {
    let outcome = World::new().run(&["audit", "--demo", "--risk", risk, "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

#[test]
fn steps_add_up_to_the_waterfall_and_the_waterfall_to_the_plan() {
    for risk in ["low", "medium", "high"] {
        let report = demo(risk);
        let summary = &report["summary"];
        let mut by_action: BTreeMap<&str, i64> = BTreeMap::new();
        for workload in report["workloads"].as_array().expect("a list") {
            let mut left =
                workload["monthly_cost"].as_f64().map(|_| cents(&workload["monthly_cost"]));
            for action in workload["plan"]["actions"].as_array().expect("a list") {
                let saving = cents(&action["monthly_savings"]);
                *by_action.entry(action["action"].as_str().expect("a kind")).or_default() += saving;
                left = left.map(|left| left - saving);
                assert!(saving > 0 && left >= Some(0), "{risk}: {workload}");
            }
            let planned = &workload["plan"]["planned_monthly_cost"];
            assert_eq!(left, planned.as_f64().map(|_| cents(planned)));
        }
        let stated: BTreeMap<&str, i64> = summary["savings_by_action"]
            .as_object()
            .expect("an object")
            .iter()
            .map(|(kind, saved)| (kind.as_str(), cents(saved)))
            .collect();
        assert_eq!(stated, by_action, "{risk}");
        let saved: i64 = stated.values().sum();
        assert_eq!(
            cents(&summary["monthly_cost"]) - saved,
            cents(&summary["planned_monthly_cost"]),
            "{risk}"
        );
        let bought: i64 = report["purchases"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|purchase| cents(&purchase["monthly_savings"]))
            .sum();
        assert_eq!(bought, stated.get("commit").copied().unwrap_or(0), "{risk}");
    }
}

#[test]
fn each_risk_allows_what_its_page_says() {
    let kinds = |risk: &str| -> Vec<String> {
        let report = demo(risk);
        let stated = report["summary"]["savings_by_action"].as_object().expect("an object");
        stated.keys().cloned().collect()
    };
    assert_eq!(kinds("low"), ["release", "schedule", "stop"]);
    assert_eq!(
        kinds("medium"),
        ["commit", "release", "rightsize", "schedule", "share", "spot", "stop"]
    );
    let options = |risk: &str| -> Vec<String> {
        let report = demo(risk);
        let bought = report["purchases"].as_array().expect("a list");
        bought
            .iter()
            .map(|purchase| purchase["option"].as_str().expect("an option").to_owned())
            .collect()
    };
    assert_eq!(options("medium"), ["reserved-1yr-no-upfront"]);
    // The cheapest term that is sold of both types.
    assert_eq!(options("high"), ["reserved-3yr-all-upfront", "reserved-3yr-all-upfront"]);
    let planned = |risk| cents(&demo(risk)["summary"]["planned_monthly_cost"]);
    assert!(planned("high") < planned("medium") && planned("medium") < planned("low"));
}
