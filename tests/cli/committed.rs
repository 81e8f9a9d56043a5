//! What commitments pay for, in every form of the audit. docs/commitments.md shows
//! the same estate and its arithmetic.

use crate::cli::estates::{PERIODS, one, series};
use crate::cli::pages::{blocks, page};
use crate::cli::world::World;
use serde_json::{Value, json};
use std::fs;

/// A box that runs 8 of 24 hours, an idle one, and a reservation of one.
fn shared_reservation() -> Value {
    let mut estate = one();
    let of = |id: &str, name: &str| {
        let mut machine = one()["instances"][0].clone();
        machine["id"] = json!(id);
        machine["tags"] = json!({"Name": name});
        machine
    };
    let by_day = |gpu, metric, value: f64| {
        let mut series = series("i-day", gpu, metric, "average", 0.0);
        let days = (0..14).flat_map(|_| [json!([value, 96]), json!([null, 192])]);
        series["values"] = days.collect();
        series
    };
    estate["instances"] = json!([of("i-day", "by-day"), of("i-idle", "forgotten")]);
    estate["metrics"] = json!([
        by_day(None, "cpu_utilization", 5.0),
        by_day(Some(0), "gpu_utilization", 90.0),
        series("i-idle", None, "cpu_utilization", "average", 4.0),
        series("i-idle", None, "cpu_utilization", "maximum", 4.0),
        series("i-idle", None, "network_in", "sum", 1_000.0),
        series("i-idle", None, "network_out", "sum", 1_000.0),
        series("i-idle", Some(0), "gpu_utilization", "average", 0.0),
        series("i-idle", Some(0), "gpu_utilization", "maximum", 0.0),
        series("i-idle", Some(0), "gpu_memory_used", "maximum", 10.0),
        series("i-idle", Some(0), "gpu_memory_total", "maximum", 23028.0),
    ]);
    estate["commitments"] = json!([{
        "kind": "reserved-instances",
        "id": "ri-1",
        "region": "us-east-1",
        "instance_type": "g5.xlarge",
        "count": 1,
        "payment": "no-upfront",
        "start": "2026-02-01T00:00:00Z",
        "end": "2027-02-01T00:00:00Z",
        "recurring_hourly": "0.63378",
    }]);
    assert_eq!(PERIODS, 14 * (96 + 192));
    estate
}

#[test]
fn the_page_shows_what_is_printed() {
    let world = World::new();
    let path = world.estate("estate.json", &shared_reservation());
    let examples = blocks(&page("commitments.md"), "text");
    let [derivation] = examples.as_slice() else { panic!("{examples:?}") };
    let audit = world.run(&["audit", "--from", &path, "--format", "wide"]);
    for (amount, words) in
        [("$308.44", "ri-1 until 2027-02-01"), ("$154.22", "ri-1 until 2027-02-01")]
    {
        let has_both = |line: &str| line.contains(amount) && line.contains(words);
        assert!(audit.stdout.lines().any(has_both), "{}", audit.stdout);
    }
    let explain = world.run(&["explain", "plan:i-idle", "--from", &path]);
    let printed = explain.stdout.trim_end();
    assert!(printed.ends_with(derivation.trim_end()), "{printed}");
}

#[test]
fn the_documents_say_what_is_paid_until_when_and_to_what() {
    let world = World::new();
    let path = world.estate("estate.json", &shared_reservation());
    let outcome = world.run(&["audit", "--from", &path, "--format", "json"]);
    let report = outcome.json();
    assert_eq!(report["summary"]["committed_monthly_cost"], 462.66);
    let figures = |index: usize| {
        let one = &report["workloads"][index];
        let keys = [
            "id", "purchase_option", "monthly_cost", "hourly_cost", "committed_monthly_cost",
            "committed_until", "committed_by",
        ];
        Value::from_iter(keys.map(|key| one[key].clone()))
    };
    assert_eq!(
        figures(0),
        json!(["i-idle", "mixed", 553.23, 0.757853, 308.44, "2027-02-01", ["ri-1"]])
    );
    assert_eq!(
        figures(1),
        json!(["i-day", "reserved", 154.22, 0.63378, 154.22, "2027-02-01", ["ri-1"]])
    );
    let csv = world.run(&["audit", "--from", &path, "--format", "csv"]);
    assert!(csv.stdout.contains(",308.44,2027-02-01,ri-1,,"), "{}", csv.stdout);
    // On demand nothing is committed, which is not zero of something.
    let free = world.estate("free.json", &one());
    let outcome = world.run(&["audit", "--from", &free, "--format", "json"]);
    let report = outcome.json();
    assert_eq!(report["summary"]["committed_monthly_cost"], Value::Null);
    assert_eq!(report["workloads"][0]["committed_until"], Value::Null);
    assert_eq!(report["workloads"][0]["committed_by"], json!([]));
}

#[test]
fn its_ids_are_masked() {
    let world = World::new();
    let path = world.estate("estate.json", &shared_reservation());
    for format in ["wide", "json", "csv"] {
        let outcome = world.run(&["audit", "--from", &path, "--redact", "--format", format]);
        assert!(!outcome.stdout.contains("ri-1"), "{format}");
        assert!(outcome.stdout.contains("commitment-000001"), "{format}");
    }
}

#[test]
fn nobody_is_told_to_move_what_is_paid_ahead() {
    let world = World::new();
    let mut estate = one();
    estate["commitments"] = shared_reservation()["commitments"].clone();
    let path = world.estate("estate.json", &estate);
    let outcome = world.run(&["rightsize", "--from", &path]);
    let reported = "billed as reserved: ri-1 until 2027-02-01";
    assert!(outcome.stdout.contains(reported), "{}", outcome.stdout);
    let outcome = world.run(&["spot", "--from", &path]);
    assert!(outcome.stdout.contains("billed as reserved"), "{}", outcome.stdout);
}

/// Findings about commitments, and the figures of one workload.
fn seen(world: &World, arguments: &[&str]) -> (Vec<Value>, Value) {
    let outcome = world.run(&[&["audit", "--format", "json"], arguments].concat());
    let report = outcome.json();
    let reported = report["findings"].as_array().expect("a list").iter();
    let findings = reported
        .filter(|finding| finding["workload"] == "ri-1")
        .map(|finding| finding["title"].clone())
        .collect();
    let workloads = report["workloads"].as_array().expect("a list").iter();
    let mut idle = workloads.filter(|workload| workload["id"] == "i-idle");
    (findings, idle.next().expect("it is there").clone())
}

#[test]
fn a_filter_changes_nothing_about_who_is_paid_for() {
    let world = World::new();
    let mut estate = shared_reservation();
    // Used to (336 + 112) of 672 hours by both, to half by either.
    estate["commitments"][0]["count"] = json!(2);
    let path = world.estate("two.json", &estate);
    let (findings, idle) = seen(&world, &["--from", &path]);
    assert_eq!(findings.len(), 1);
    let title = findings[0].as_str().expect("a title");
    assert!(title.contains("is 66% utilized"), "{title}");
    let filtered = ["--from", &path, "--tag", "Name=forgotten"];
    assert_eq!(seen(&world, &filtered), (findings.clone(), idle));
    // With one for both, the idle one has what the other leaves.
    let path = world.estate("one.json", &shared_reservation());
    let (findings, idle) = seen(&world, &["--from", &path]);
    assert_eq!(findings, [] as [Value; 0]);
    assert_eq!(idle["monthly_cost"], 553.23);
    let filtered = ["--from", &path, "--exclude-tag", "Name=by-day"];
    assert_eq!(seen(&world, &filtered), (findings.clone(), idle.clone()));
    // A recording gives the same again, and does not say whose the other is.
    let saved = world.path("saved.json");
    seen(&world, &[&filtered[..], &["--save", &saved]].concat());
    assert_eq!(seen(&world, &["--from", &saved]), (findings, idle));
    let text = fs::read_to_string(&saved).expect("it was saved");
    let recorded: Value = serde_json::from_str(&text).expect("JSON");
    let other = recorded["out_of_scope"][0].to_string();
    assert!(other.contains("i-day") && !other.contains("by-day"), "{text}");
    // Without a commitment nothing of it stays.
    let mut free = shared_reservation();
    free["commitments"] = json!([]);
    let path = world.estate("free.json", &free);
    let filtered = ["--from", &path, "--tag", "Name=forgotten"];
    seen(&world, &[&filtered[..], &["--save", &saved]].concat());
    let text = fs::read_to_string(&saved).expect("it was saved");
    assert!(!text.contains("i-day"), "{text}");
}
