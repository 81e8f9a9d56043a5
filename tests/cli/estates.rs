//! Small estates as JSON, to be changed by the tests.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Periods of five minutes in a fortnight.
pub const PERIODS: u64 = 4032;
/// When the fortnight of every estate here begins.
pub const START: &str = "2026-10-18T00:00:00Z";
/// The same as seconds since the epoch.
pub const START_SECOND: i64 = 1_792_281_600;

/// A series of one value over the whole fortnight.
pub fn series(
    instance: &str,
    gpu: Option<u16>,
    metric: &str,
    statistic: &str,
    value: f64,
) -> Value {
    let mut series = json!({
        "instance": instance,
        "metric": metric,
        "statistic": statistic,
        "source": if gpu.is_some() { "cloudwatch-agent" } else { "ec2" },
        "period_seconds": 300,
        "start": START,
        "values": [[value, PERIODS]],
    });
    if let Some(gpu) = gpu {
        series["gpu"] = json!(gpu);
    }
    series
}

/// A g5.xlarge that runs all the time with its GPU at 15%.
pub fn one() -> Value {
    json!({
        "estate_version": "1",
        "as_of": "2026-11-01T00:00:00Z",
        "period_seconds": 300,
        "source": "estate",
        "instances": [{
            "id": "i-one",
            "account": "111122223333",
            "region": "us-east-1",
            "zone": "us-east-1a",
            "instance_type": "g5.xlarge",
            "state": "running",
            "launch_time": "2026-09-01T00:00:00Z",
            "tags": {"Name": "one"},
        }],
        "metrics": [
            series("i-one", None, "cpu_utilization", "average", 30.0),
            series("i-one", Some(0), "gpu_utilization", "average", 15.0),
            series("i-one", Some(0), "gpu_utilization", "maximum", 20.0),
            series("i-one", Some(0), "gpu_memory_used", "average", 8000.0),
            series("i-one", Some(0), "gpu_memory_used", "maximum", 9000.0),
            series("i-one", Some(0), "gpu_memory_total", "maximum", 23028.0),
        ],
    })
}

/// The same box under a reservation for two of them that ends in 30 days, and
/// room for two more that nobody uses.
pub fn owned() -> Value {
    let mut estate = one();
    estate["commitments"] = json!([
        {
            "kind": "reserved-instances",
            "id": "ri-1",
            "region": "us-east-1",
            "instance_type": "g5.xlarge",
            "count": 2,
            "payment": "no-upfront",
            "start": "2025-12-01T00:00:00Z",
            "end": "2026-12-01T00:00:00Z",
            "recurring_hourly": "0.63378",
        },
        {
            "kind": "capacity-reservation",
            "id": "cr-1",
            "region": "us-east-1",
            "zone": "us-east-1a",
            "instance_type": "g5.xlarge",
            "total": 2,
            "available": 2,
        },
    ]);
    estate
}

/// A valid estate without any instance.
pub fn empty() -> Value {
    json!({"estate_version": "1", "as_of": "2026-11-01T00:00:00Z", "instances": []})
}

/// The recorded situations of the rules.
pub fn situations() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("situations")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.is_dir())
        .flat_map(|folder| fs::read_dir(folder).expect("a rule's situations"))
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 24, "{paths:?}");
    paths
}

/// The box of `one`, and the same in another region and under another id.
pub fn in_two_regions() -> Value {
    let mut estate = one();
    let mut other = estate["instances"][0].clone();
    other["id"] = json!("i-two");
    other["tags"]["Name"] = json!("two");
    other["region"] = json!("us-west-2");
    other["zone"] = json!("us-west-2a");
    let instances = estate["instances"].as_array_mut().expect("a list");
    instances.push(other);
    estate
}
