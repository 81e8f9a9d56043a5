//! Small estates as JSON, to be changed by the tests.

use crate::cli::pages::{blocks, page};
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
            series("i-one", Some(0), "gpu_power_draw", "average", 90.0),
            series("i-one", Some(0), "gpu_temperature", "maximum", 50.0),
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

/// The same box with every key that an instance may have, and one of everything else that an
/// estate may hold.
pub fn every_key() -> Value {
    let mut estate = one();
    let instance = &mut estate["instances"][0];
    instance["volumes"] = json!([{"id": "vol-1", "volume_type": "gp3", "size_gib": 1}]);
    instance["addresses"] = json!([{"id": "eipalloc-1"}]);
    for key in [
        "capacity_reservation_id", "attached_time", "state_transition_reason",
        "auto_scaling_group", "private_dns_name",
    ] {
        instance[key] = json!("2026-09-01T00:00:00Z");
    }
    estate["metrics"][0]["rejected"] = json!({"future": 1});
    estate["commitments"] =
        serde_json::from_str(&blocks(&page("estate.md"), "json")[1]).expect("JSON");
    estate["profiles"] = json!([{
        "instance": "i-one",
        "start": "2026-10-20T00:00:00Z",
        "end": "2026-10-20T01:00:00Z",
        "covers_a_command": true,
        "gpu_mean_percent": 1.0,
        "cpu_p95_percent": 1.0,
        "memory_p95_mib": 1.0,
    }]);
    let slice = json!({"profile": "1g.5gb", "slices": 1, "of": 7, "replicas": 2});
    let amount = json!({"capacity": 1, "allocatable": 1, "requested": 1});
    estate["nodes"] = json!([{
        "name": "gpu-1",
        "scheduler": "ecs",
        "provider_id": "aws:///us-east-1a/i-one",
        "cluster": "search",
        "machine": "i-one",
        "physical": "1",
        // A resource's name is free; a key of the page stands for it.
        "devices": {"resource": {"unit": slice, "capacity": 1, "allocatable": 1}},
        "price_class": "spot",
        "pool": "trainers",
        "pool_maker": "karpenter",
        "cpu_millicores": amount,
        "memory_mib": amount,
        "pods": 1,
        "cpu_only_pods": 1,
        "ready": true,
        "cordoned": true,
    }]);
    estate["scaling_groups"] = json!([{
        // The group of the instance above.
        "name": "2026-09-01T00:00:00Z",
        "account": "111122223333",
        "region": "us-east-1",
        "desired": 1,
        "min": 1,
        "max": 2,
        "instance_types": ["g5.xlarge"],
        "on_demand_base": 1,
        "on_demand_above_base_percent": 0,
        "spot_allocation": "lowest-price",
        "warm_pool": {"min_size": 0, "state": "Stopped", "size": 0},
        "suspended": ["Launch"],
        "protected": ["i-one"],
        "in_service": ["i-one"],
        "batch": {"name": "nightly", "min_vcpus": 4, "desired_vcpus": 4,
                  "instance_types": ["g5"], "spot": true, "queues": ["a"]},
    }]);
    estate["opinions"] = json!([
        {"instance": "i-one", "action": "Stop", "monthly_savings": "7.00"},
        {"instances": ["i-one", "i-two"], "action": "Rightsize", "to": "g6.xlarge"},
    ]);
    estate["component_hosts"] = json!([{
        "account": "111122223333",
        "region": "us-east-1",
        "group": "endpoint/chat/main",
        "components": [{
            "name": "llama",
            "desired_copies": 1,
            "copies": [{
                "instance_type": "ml.g5.12xlarge-hosting", "count": 1, "gpus_each": "1",
            }],
        }],
    }]);
    estate["training_plans"] = json!([{
        "id": "plan",
        "account": "111122223333",
        "region": "us-east-1",
        "status": "active",
        "instances": [{"instance_type": "ml.p5.48xlarge", "count": 1}],
        "total": 1,
        "in_use": 1,
        "start": "2026-10-20T00:00:00Z",
        "end": "2026-10-21T00:00:00Z",
        "duration_minutes": 1440,
        "currency": "USD",
        "upfront_fee": "100",
    }]);
    estate["jobs"] = json!([{
        "name": "ranker-7",
        "account": "111122223333",
        "region": "us-east-1",
        "instances": [{"instance_type": "ml.g5.xlarge-training", "count": 1}],
        "status": "completed",
        "started": "2026-10-20T00:00:00Z",
        "ended": "2026-10-20T01:00:00Z",
        "billable_seconds": 1,
        "training_seconds": 1,
        "warm_pool_seconds": 1,
        "spot": true,
        "checkpoints": true,
        "training_plan": "plan",
    }]);
    estate["claims"] = json!([{
        "namespace": "search",
        "pod": "ranker-0",
        "owner": {"kind": "Deployment", "name": "ranker"},
        "labels": {"team": "search"},
        "resource": "nvidia.com/mig-1g.5gb.shared",
        "unit": slice,
        "count": 1,
        "state": "running",
        "since": "2026-10-01T00:00:00Z",
        "machine": "i-one",
        "placement": {
            "cpu_millicores": 1, "memory_mib": 1, "bound": true, "local_data": true,
        },
    }]);
    estate["uses"] = json!([{
        "machine": "i-one",
        "gpu": 0,
        "namespace": "search",
        "pod": "ranker-0",
        "n_samples": 1,
        "sample_seconds": 60,
        "mean_percent": 1.0,
        "max_percent": 1.0,
    }]);
    estate
}
