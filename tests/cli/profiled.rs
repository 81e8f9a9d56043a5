//! Runs of `gpucost profile` in the documents: told as what they are.

use crate::cli::estates::one;
use crate::cli::world::World;
use serde_json::{Value, json};
use std::fs;

/// A box whose GPU nobody but a profiled run of two hours has seen, at 15%.
fn profiled() -> Value {
    let mut estate = one();
    estate["instances"][0]["instance_type"] = json!("g5.4xlarge");
    let series = |metric: &str, statistic: &str, value: f64| {
        json!({
            "instance": "i-one", "gpu": 0, "metric": metric, "statistic": statistic,
            "source": "profile", "joined_by": "hostname", "period_seconds": 300,
            "start": "2026-10-25T08:00:00Z", "values": [[value, 24]],
        })
    };
    estate["metrics"] = json!([
        series("gpu_utilization", "average", 15.0),
        series("gpu_utilization", "maximum", 20.0),
        series("gpu_memory_used", "average", 8000.0),
        series("gpu_memory_used", "maximum", 9000.0),
    ]);
    estate["profiles"] = json!([{
        "instance": "i-one",
        "start": "2026-10-25T08:00:00Z",
        "end": "2026-10-25T10:00:00Z",
        "covers_a_command": true,
        "samples": {"reported": 7200, "taken": 7200, "missed": 0},
        "gpu_mean_percent": 15.0,
        "cpu_p95_percent": 10.0,
        "memory_p95_mib": 8000.0,
    }]);
    estate
}

/// A text without the line breaks that its width asks for.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_document_says_that_a_run_was_judged() {
    let world = World::new();
    let path = world.estate("profiled.json", &profiled());
    let audit = world.run(&["audit", "--from", &path, "--format", "json"]);
    assert_eq!(audit.code, 0, "{}", audit.stderr);
    let audit = audit.json();
    let workload = &audit["workloads"][0];
    assert_eq!(workload["classification"], "overprovisioned");
    assert_eq!(workload["state"], Value::Null);
    assert_eq!(workload["utilization"]["source"], "profile");
    assert_eq!(workload["utilization"]["joined_by_hostname"], 1);
    assert_eq!(workload["utilization"]["n_samples"], 24);
    let finding = audit["findings"]
        .as_array()
        .and_then(|findings| {
            findings.iter().find(|finding| finding["rule"] == "overprovisioned-gpu")
        })
        .expect("a finding");
    assert_eq!(finding["confidence"], "derived");
    let decisive = &finding["evidence"][0];
    assert_eq!(decisive["origin"], "profile");
    assert_eq!(decisive["window_start"], "2026-10-25T08:00:00Z");
    assert_eq!(decisive["window_end"], "2026-10-25T10:00:00Z");

    let table = world.run(&["audit", "--from", &path]);
    let reported = in_one_line(&table.stdout);
    assert!(reported.contains("in one run of 2.0 h has 15.0% average utilization"), "{reported}");
    let metrics = world.run(&["metrics", "--from", &path]);
    let row = metrics.stdout.lines().find(|line| line.contains("i-one"));
    assert!(row.is_some_and(|row| row.contains("profile")), "{row:?}");

    let explained = world.run(&["explain", "i-one", "--from", &path]);
    for line in [
        "over one run of 2.0 h, because the window has too little data",
        "gpu_utilization from profile, 2026-10-25T08:00:00Z to 2026-10-25T10:00:00Z",
        "overprovisioned: mean GPU utilization 15.0% (< 25%) over one run of 2.0 h",
        "confidence derived",
        "vCPU from profiled runs, because no other source reports it",
        "host memory p95 8000 MiB in profiled runs × 1.2",
    ] {
        let reported = in_one_line(&explained.stdout);
        assert!(reported.contains(line), "{line}: {reported}");
    }
}

#[test]
fn scope_recording_and_masking_take_runs_along() {
    let world = World::new();
    let mut estate = profiled();
    estate["gaps"] = json!([{
        "what": "profile data",
        "where": "/home/mallory/falcon.jsonl",
        "reason": "the host name falcon-7 matches no audited instance, no instance ID is \
                   given, and no file that has one covers all of its GPUs",
        "hint": "",
    }]);
    let path = world.estate("profiled.json", &estate);
    let saved = world.path("saved.json");
    let arguments = ["audit", "--from", &path, "--redact", "--save", &saved];
    let masked = world.run(&arguments);
    assert_eq!(masked.code, 0, "{}", masked.stderr);
    let text = fs::read_to_string(&saved).expect("it was saved");
    for secret in ["mallory", "falcon"] {
        assert!(!text.contains(secret) && !masked.stdout.contains(secret));
    }
    let saved: Value = serde_json::from_str(&text).expect("JSON");
    let mut profiles = estate["profiles"].clone();
    profiles[0]["instance"] = saved["instances"][0]["id"].clone();
    assert_eq!(saved["profiles"], profiles);

    let emptied = world.path("emptied.json");
    let arguments = [
        "audit", "--from", &path, "--exclude-tag", "Name=one", "--allow-empty", "--save", &emptied,
    ];
    let emptied_run = world.run(&arguments);
    assert_eq!(emptied_run.code, 0, "{}", emptied_run.stderr);
    let text = fs::read_to_string(&emptied).expect("it was saved");
    assert!(!text.contains("profiles"), "{text}");
}

#[test]
fn a_file_of_samples_is_read_only_and_must_be_readable() {
    let world = World::new();
    let path = world.estate("profiled.json", &profiled());
    let missing = world.path("nowhere.jsonl");
    let outcome = world.run(&["audit", "--from", &path, "--profile-data", &missing]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("nowhere.jsonl"), "{}", outcome.stderr);
    let twice = world.run(&["audit", "--from", &path, "--profile-data", &path]);
    assert_eq!(twice.code, 2);
    assert!(
        twice.stderr.contains("`--profile-data` and `--from` use the same file: "),
        "{}",
        twice.stderr
    );
}
