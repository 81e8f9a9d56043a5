//! What the servers lead to, against the samples themselves and against an audit of an
//! estate with the same averages.

use super::fleet::{Card, machines};
use super::proof::{Proof, proof};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// No sample lies within the millisecond in which the windows of the two servers differ, so
/// only the rounding of a report and of single precision is left.
const ROUNDING: f64 = 0.005;
/// What one reading of five weighs in the mean of 274 periods. Where a third pod comes to a
/// card within a period, a server that adds up rows weighs its readings by their rows.
const ONE_READING: f64 = 100.0 / 5.0 / 274.0;

/// Workloads by name.
pub fn by_name(report: &Value) -> BTreeMap<&str, &Value> {
    let workloads = report["workloads"].as_array().expect("a list");
    let named: BTreeMap<&str, &Value> = workloads
        .iter()
        .map(|workload| (workload["name"].as_str().expect("a name"), workload))
        .collect();
    assert_eq!(named.len(), workloads.len(), "no name twice");
    named
}

/// Rule, name of the workload, monthly saving.
fn findings(report: &Value) -> BTreeSet<(String, String, String)> {
    let names: BTreeMap<&str, &str> = by_name(report)
        .into_iter()
        .map(|(name, workload)| (workload["id"].as_str().expect("an id"), name))
        .collect();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let findings = report["findings"].as_array().expect("a list").iter();
    findings
        .map(|finding| {
            let name = names[finding["workload"].as_str().expect("an id")];
            let saving = finding["monthly_savings"].to_string();
            (text(&finding["rule"]), name.to_owned(), saving)
        })
        .collect()
}

fn number(value: &Value, what: &str) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{what} is a number"))
}

fn assert_near(actual: f64, expected: f64, tolerance: f64, what: &str) {
    let apart = (actual - expected).abs();
    assert!(apart <= tolerance, "{what}: {actual}, expected {expected} within {tolerance}");
}

fn tolerance(name: &str) -> f64 {
    let host = machines().find(|host| host.name == name);
    if host.is_some_and(|host| host.gpus.contains('t')) { ONE_READING } else { ROUNDING }
}

/// Asserts that a report says of every machine what the samples amount to.
pub fn assert_same(proof: &Proof, report: &Value) {
    let estate = proof.by_estate.json(0);
    let (expected, actual) = (by_name(&estate), by_name(report));
    assert!(actual.keys().eq(expected.keys()), "{:?}", actual.keys());
    for (name, workload) in &actual {
        assert_same_workload(proof, name, workload, expected[name]);
    }
    assert_eq!(findings(report), findings(&estate));
    for field in ["instances", "gpus", "monthly_cost", "by_classification"] {
        assert_eq!(report["summary"][field], estate["summary"][field], "{field}");
    }
}

fn assert_same_workload(proof: &Proof, name: &str, workload: &Value, expected: &Value) {
    assert_eq!(workload["instances"], json!([proof.ids[name]]), "{name}");
    for field in ["classification", "state", "monthly_cost", "hourly_cost"] {
        assert_eq!(workload[field], expected[field], "{name}: {field}");
    }
    let (used, of_estate) = (&workload["utilization"], &expected["utilization"]);
    if of_estate.is_null() {
        assert_eq!((used, &workload["gpus"]), (&Value::Null, &json!([])), "{name}");
        return;
    }
    assert_eq!(used["source"], "prometheus", "{name}");
    assert_eq!(used["n_samples"], of_estate["n_samples"], "{name}");
    for field in ["mean", "p50", "p95", "p99"] {
        let what = format!("{name}: {field}");
        let values = [used, of_estate].map(|usage| number(&usage[field], &what));
        assert_near(values[0], values[1], tolerance(name), &what);
    }
    let cards: Vec<&Card> = proof.cards.iter().filter(|card| card.host == name).collect();
    let of_gpus = |report: &Value| report["gpus"].as_array().expect("a list").clone();
    let (gpus, gpus_of_estate) = (of_gpus(workload), of_gpus(expected));
    assert_eq!((gpus.len(), gpus_of_estate.len()), (cards.len(), cards.len()));
    for ((gpu, of_estate), card) in gpus.iter().zip(&gpus_of_estate).zip(&cards) {
        let what = format!("{name}: GPU {}", card.index);
        assert_eq!(gpu["index"], card.index, "{what}");
        let (mean, p95) = (number(&gpu["mean"], &what), number(&gpu["p95"], &what));
        let expected_p95 = number(&of_estate["p95"], &what);
        assert_near(mean, card.mean_percent(), tolerance(name), &what);
        assert_near(p95, expected_p95, tolerance(name), &what);
        assert_within(number(&gpu["vram_peak_mib"], &what), card.peak_mib(), &what);
    }
    let largest = |peak: fn(&Card) -> (f64, f64)| {
        let peaks = cards.iter().map(|card| peak(card));
        peaks.fold((0.0_f64, 0.0_f64), |most, pair| (most.0.max(pair.0), most.1.max(pair.1)))
    };
    let max = number(&used["max"], name);
    assert_within(max, largest(Card::peak_percent), &format!("{name}: max"));
    let vram = number(&used["vram_peak_mib"], name);
    assert_within(vram, largest(Card::peak_mib), &format!("{name}: VRAM"));
}

/// Between what was seen at any one time and the sum of what each part peaked at. Of a
/// card without parts both are the same.
fn assert_within(value: f64, (at_once, apart): (f64, f64), what: &str) {
    let is_within = value >= at_once - ROUNDING && value <= apart + ROUNDING;
    assert!(is_within, "{what}: {value}, expected {at_once} to {apart}");
}

#[test]
fn a_prometheus_tells_what_its_samples_amount_to() {
    let Some(proof) = proof() else { return };
    assert_same(proof, &proof.by_prometheus.json(0));
}

#[test]
fn a_victoria_metrics_tells_what_its_samples_amount_to() {
    let Some(proof) = proof() else { return };
    assert_same(proof, &proof.by_victoria_metrics.json(0));
}

#[test]
fn two_servers_with_the_same_series_count_once() {
    let Some(proof) = proof() else { return };
    assert_same(proof, &proof.by_both.json(0));
}

#[test]
fn the_loads_lead_to_verdicts_that_differ() {
    let Some(proof) = proof() else { return };
    let estate = proof.by_estate.json(0);
    let class = |name: &str| by_name(&estate)[name]["classification"].clone();
    assert_eq!(class("busy"), "well-utilized");
    assert_eq!(class("resting"), "overprovisioned");
    assert_eq!(class("silent"), "insufficient-data");
    let rules: BTreeSet<String> = findings(&estate).into_iter().map(|finding| finding.0).collect();
    assert!(rules.contains("idle-so-far"), "{rules:?}");
    assert!(rules.contains("overprovisioned-gpu"), "{rules:?}");
}
