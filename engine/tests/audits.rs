//! What gpucost makes of a roll-up, beside what it makes of the points: an audit of each. It is
//! built apart: `cargo build` in the folder above makes it.

use crate::generated::{self, DAY, FIRST_DAY, Kind, NAMES, Point, SMALL, points};
use crate::outcome::{done, gpucost};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Statistics and periods that gpucost keeps of each metric.
const KEPT: [(&str, &[(&str, i64)]); 10] = [
    ("gpu_utilization", &[("average", 300), ("maximum", 300)]),
    ("gpu_memory_used", &[("average", 300), ("maximum", 300)]),
    ("gpu_memory_total", &[("maximum", DAY)]),
    ("gpu_power_draw", &[("average", 3_600)]),
    ("gpu_temperature", &[("maximum", 3_600)]),
    ("gpu_encoder_sessions", &[("maximum", 300)]),
    ("gpu_power_utilization", &[("average", 300), ("maximum", 300)]),
    ("cpu_utilization", &[("average", 300)]),
    ("network_in", &[("sum", 3_600)]),
    ("network_out", &[("sum", 3_600)]),
];

/// A value as an estate has it: what is not a number is text.
fn number(value: f64) -> Value {
    if value.is_nan() {
        json!("NaN")
    } else if value.is_infinite() {
        json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        json!(value)
    }
}

/// An estate in a window of so many days, with some points.
fn estate(points: &[Point], days: i64, with_points: bool) -> Value {
    let mut series: BTreeMap<(&str, Option<i64>, &str), Vec<(i64, f64)>> = BTreeMap::new();
    for point in points {
        if let Some(value) = point.value {
            let key = (point.instance.as_str(), point.gpu, point.metric);
            series.entry(key).or_default().push((point.time, value));
        }
    }
    let mut metrics = Vec::new();
    for ((instance, gpu, metric), own) in &mut series {
        own.sort_by_key(|(time, _)| *time);
        let stamps: Vec<i64> = own.iter().map(|(time, _)| *time).collect();
        let values: Vec<Value> = own.iter().map(|(_, value)| number(*value)).collect();
        let kept = KEPT.iter().filter(|(name, _)| name == metric);
        for (statistic, period) in kept.flat_map(|(_, kept)| *kept) {
            metrics.push(json!({
                "instance": instance, "gpu": gpu, "metric": metric,
                "statistic": statistic, "source": "prometheus",
                "period_seconds": period, "timestamps": stamps, "values": values,
            }));
        }
    }
    let names: BTreeSet<&str> = points.iter().map(|one| one.instance.as_str()).collect();
    let instances = names.into_iter().map(|id| {
        json!({
            "id": id, "account": "111122223333", "region": "us-east-1",
            "instance_type": "g5.12xlarge", "state": "running",
            "launch_time": "2026-09-01T00:00:00Z",
        })
    });
    // From 2026-11-01 on.
    let end = format!("2026-11-{:02}T00:00:00Z", 1 + days);
    json!({
        "estate_version": "1",
        "as_of": end,
        "window_start": "2026-11-01T00:00:00Z",
        "window_end": end,
        "period_seconds": 300,
        "instances": instances.collect::<Vec<Value>>(),
        "metrics": if with_points { metrics } else { Vec::new() },
    })
}

#[test]
fn an_audit_of_a_roll_up_is_that_of_the_points() {
    let Some(gpucost) = gpucost() else {
        eprintln!("SKIPPED: an_audit_of_a_roll_up_is_that_of_the_points: gpucost is not built");
        return;
    };
    assert_eq!(FIRST_DAY * DAY, 1_793_491_200);
    let kind = Kind { days: 8, ..SMALL };
    let points = points(kind, 21);
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    generated::write(&points, &folder.path().join("lake"), "parquet", 3, NAMES);
    done(&["rollup", "--input", &path("lake"), "--out", &path("history")]);
    let audit = |estate: &Value, more: &[&str]| -> Value {
        let file = path("estate.json");
        std::fs::write(&file, estate.to_string()).expect("writable");
        let output = Command::new(&gpucost)
            .args(["audit", "--format", "json", "--from", &file])
            .args(more)
            .output()
            .expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let found = audit(&estate(&points, kind.days, false), &["--rollups", &path("history")]);
    let expected = audit(&estate(&points, kind.days, true), &[]);
    assert_ne!(audit(&estate(&points, kind.days, false), &[]), expected);
    assert_eq!(found, expected);
    let verified = Command::new(&gpucost)
        .args(["history", "verify", &path("history")])
        .output()
        .expect("it starts");
    let verified = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert!(!verified.contains("damaged"), "{verified}");
}
