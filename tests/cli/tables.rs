//! What the tables say, derived from the JSON of the same audit.

use crate::contract::{DEMO, DEMO_TABLE};
use crate::estates::one;
use crate::world::World;
use serde_json::{Value, json};

/// An amount of the document in cents.
fn cents(value: &Value) -> i64 {
    (value.as_f64().expect("an amount") * 100.0).round() as i64
}

#[test]
fn the_headline_percentage_is_rounded() {
    let summary = &DEMO.json()["summary"];
    let (saved, cost) = (
        cents(&summary["monthly_savings"]),
        cents(&summary["monthly_cost"]),
    );
    // Tenths of a percent, half up, in whole numbers.
    let tenths = (2_000 * saved + cost) / (2 * cost);
    let expected = format!("   {}.{} % less\n", tenths / 10, tenths % 10);
    assert!(DEMO_TABLE.stdout.contains(&expected), "{expected}");
}

#[test]
fn the_cost_of_the_calls_is_rounded() {
    for (cost, shown) in [
        ("0.00839", "$0.0084"),
        ("0.00835", "$0.0084"),
        ("2", "$2.0000"),
    ] {
        let mut estate = one();
        estate["api"] = json!({"calls": 9, "retries": 0, "estimated_cost_usd": cost});
        let world = World::new();
        let path = world.estate("estate.json", &estate);
        let table = world.run(&["audit", "--from", &path]).stdout;
        let expected = format!("about {shown} of API cost");
        assert!(table.contains(&expected), "{expected}\n{table}");
    }
}
