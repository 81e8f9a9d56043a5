//! Training jobs of an estate, with costs worked out by hand.

use crate::cli::world::World;
use serde_json::{Value, json};

fn job(name: &str, region: &str, instances: Value, billable_seconds: Value) -> Value {
    json!({
        "name": name, "account": "111122223333", "region": region, "instances": instances,
        "status": "completed", "billable_seconds": billable_seconds,
    })
}

fn of_type(name: &str, count: u32) -> Value {
    json!([{ "instance_type": format!("{name}-training"), "count": count }])
}

fn price(provider: &str, instance_type: &str, hourly: &str) -> Value {
    json!({
        "provider": provider, "region": "us-east-1", "instance_type": instance_type,
        "operating_system": "linux", "tenancy": "shared", "option": "on-demand",
        "currency": "USD", "hourly": hourly, "origin": "api",
        "effective_date": "2026-10-30", "source": "pricing:GetProducts",
    })
}

fn estate() -> Value {
    let here = "us-east-1";
    let mut warm = job("warm", here, of_type("ml.g5.xlarge", 1), json!(1_800));
    warm["warm_pool_seconds"] = json!(7_200);
    json!({
        "estate_version": "1",
        "as_of": "2026-11-01T00:00:00Z",
        "jobs": [
            job("b", here, of_type("ml.g5.xlarge", 2), json!(3_600)),
            job("a", here, of_type("ml.g5.xlarge", 2), json!(3_600)),
            warm,
            job("spare", here, of_type("ml.g6.xlarge", 1), json!(3_600)),
            job("far", "eu-west-1", of_type("ml.g5.xlarge", 1), json!(3_600)),
        ],
        "prices": [
            price("sagemaker", "ml.g5.xlarge-training", "1.41"),
            // The price of EC2 never stands in.
            price("aws", "g6.xlarge", "0.8048"),
        ],
    })
}

fn listed(world: &World, path: &str, further: &[&str]) -> Value {
    let command = ["inventory", "--from", path, "--allow-empty", "--format", "json"];
    let outcome = world.run(&[&command[..], further].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).expect("JSON")
}

fn costs(document: &Value) -> Vec<Value> {
    let jobs = document["training_jobs"].as_array().expect("a list").iter();
    let cells = jobs.map(|job| json!([job["name"], job["cost"], job["warm_pool_cost"]]));
    cells.collect()
}

#[test]
fn the_most_expensive_job_is_first_and_a_warm_pool_counts() {
    let world = World::new();
    let path = world.estate("estate.json", &estate());
    let document = listed(&world, &path, &[]);
    let expected = [
        // 0.5 h × 1.41 = 0.705, and 2 h × 1.41 in the warm pool: 3.53 together.
        json!(["warm", 0.71, 2.82]),
        // 2 × 1.41; equal costs are in order of name.
        json!(["a", 2.82, null]),
        json!(["b", 2.82, null]),
        // By region: there is a price for us-east-1 alone.
        json!(["far", null, null]),
        json!(["spare", null, null]),
    ];
    assert_eq!(costs(&document), expected);
    let gaps = document["gaps"].as_array().expect("a list");
    let gaps: Vec<(&Value, &Value)> =
        gaps.iter().map(|gap| (&gap["what"], &gap["where"])).collect();
    let what = json!("price");
    let regions = [json!("eu-west-1"), json!("us-east-1")];
    assert_eq!(gaps, [(&what, &regions[0]), (&what, &regions[1])]);

    let far = listed(&world, &path, &["--region", "eu-west-1"]);
    assert_eq!(costs(&far), [json!(["far", null, null])]);
    let without = listed(&world, &path, &["--region", "eu-north-1"]);
    assert_eq!(without.get("training_jobs"), None);
}

#[test]
fn a_job_that_cannot_be_read_is_an_error_with_its_place() {
    let world = World::new();
    for (key, value, words) in [
        ("status", json!("done"), "`done` is not a known status"),
        ("billable_seconds", json!(-1), "billable_seconds"),
        ("started", json!("yesterday"), "not an RFC 3339 time"),
        ("color", json!("red"), "color"),
    ] {
        let mut estate = estate();
        estate["jobs"][0][key] = value;
        let path = world.estate("estate.json", &estate);
        let outcome = world.run(&["inventory", "--from", &path, "--allow-empty"]);
        assert_eq!(outcome.code, 2, "{key}");
        assert!(outcome.stderr.contains(words), "{key}: {}", outcome.stderr);
    }
}
