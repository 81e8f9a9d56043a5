//! Servers that want to know who asks, can work on little at a time, are asked too early or
//! do not run; machines without an exporter, and an exporter without a machine.

use super::figures::{assert_same, by_name};
use super::fleet::STRANGER;
use super::gate::Seen;
use super::proof::{
    CLOUDWATCH_PERCENT, MEASURED_TWICE, Proof, RETRY_AFTER_SECONDS, Refused, TOKEN, proof,
};
use serde_json::{Value, json};
use std::time::Duration;

/// Asserts that nothing is known of the use of any machine, that each costs what it costs,
/// and that a gap names the server.
fn assert_nothing_is_measured(proof: &Proof, refused: &Refused) {
    let (report, estate) = (refused.run.json(0), proof.by_estate.json(0));
    let expected = by_name(&estate);
    let workloads = by_name(&report);
    assert_eq!(workloads.len(), expected.len());
    for (name, workload) in workloads {
        assert_eq!(workload["utilization"], Value::Null, "{name}");
        assert_eq!(workload["gpus"], json!([]), "{name}");
        assert_eq!(workload["classification"], "insufficient-data", "{name}");
        let cost = &expected[name]["monthly_cost"];
        assert_eq!(&workload["monthly_cost"], cost, "{name}");
    }
    assert_eq!(report["findings"], json!([]));
    assert!(
        !gaps_with(&report, &refused.address).is_empty(),
        "no gap names {}: {}",
        refused.address,
        report["gaps"]
    );
}

/// The gaps that have a text in what, where or why.
fn gaps_with<'a>(report: &'a Value, text: &str) -> Vec<&'a Value> {
    let gaps = report["gaps"].as_array().expect("a list").iter();
    let has = |gap: &Value, field: &str| gap[field].as_str().expect("words").contains(text);
    gaps.filter(|gap| ["what", "where", "reason"].iter().any(|field| has(gap, field))).collect()
}

fn answered(seen: &[Seen], status: u16) -> usize {
    seen.iter().filter(|request| request.status == status).count()
}

#[test]
fn a_tenant_is_named_to_a_server_that_wants_one() {
    let Some(proof) = proof() else { return };
    assert_same(proof, &proof.with_tenant.json(0));
}

#[test]
fn a_server_that_refuses_leaves_a_gap() {
    let Some(proof) = proof() else { return };
    assert_nothing_is_measured(proof, &proof.without_tenant);
}

#[test]
fn a_token_is_what_a_command_prints_and_is_not_printed() {
    let Some(proof) = proof() else { return };
    assert_same(proof, &proof.with_token.json(0));
    for output in [&proof.with_token.stdout, &proof.with_token.stderr] {
        assert!(!output.contains(TOKEN), "{output}");
    }
}

#[test]
fn a_server_that_works_on_few_samples_is_asked_for_less_at_a_time() {
    let Some(proof) = proof() else { return };
    let (run, seen) = &proof.with_few_samples;
    assert!(answered(seen, 422) > 0, "the limit was never met");
    assert_same(proof, &run.json(0));
}

#[test]
fn a_server_that_is_asked_too_early_is_asked_again_when_it_says() {
    let Some(proof) = proof() else { return };
    let (run, seen) = &proof.throttled;
    assert_eq!(answered(seen, 429), 2);
    assert_same(proof, &run.json(0));
    let [first, later @ ..] = seen.as_slice() else {
        panic!("nothing was asked");
    };
    assert_eq!(first.status, 429);
    let is_again = |request: &&Seen| (&request.line, &request.body) == (&first.line, &first.body);
    let again = later.iter().find(is_again).expect("it was asked again");
    let waited = again.at - first.at;
    assert!(waited >= Duration::from_secs(RETRY_AFTER_SECONDS), "{waited:?}");
}

#[test]
fn a_server_that_does_not_run_is_a_gap_and_no_figure() {
    let Some(proof) = proof() else { return };
    assert_nothing_is_measured(proof, &proof.by_nobody);
}

#[test]
fn a_machine_without_an_exporter_is_a_gap_and_has_no_figure() {
    let Some(proof) = proof() else { return };
    for run in [&proof.by_prometheus, &proof.by_victoria_metrics] {
        let report = run.json(0);
        let silent = by_name(&report)["silent"];
        assert_eq!(silent["classification"], "insufficient-data");
        assert_eq!(silent["utilization"], Value::Null);
        assert!(!gaps_with(&report, &proof.ids["silent"]).is_empty());
    }
}

#[test]
fn an_exporter_of_no_machine_is_one_gap_that_names_it() {
    let Some(proof) = proof() else { return };
    for run in [&proof.by_prometheus, &proof.by_victoria_metrics] {
        let report = run.json(0);
        let gaps = gaps_with(&report, STRANGER);
        assert_eq!(gaps.len(), 1, "{gaps:?}");
        assert_eq!(by_name(&report).len(), proof.ids.len());
    }
}

#[test]
fn a_machine_that_cloudwatch_measures_too_counts_once() {
    let Some(proof) = proof() else { return };
    let (report, alone) = (proof.by_everything.json(0), proof.by_prometheus.json(0));
    let (workloads, expected) = (by_name(&report), by_name(&alone));
    assert!(workloads.keys().eq(expected.keys()), "{:?}", workloads.keys());
    for field in ["instances", "gpus", "monthly_cost"] {
        assert_eq!(report["summary"][field], alone["summary"][field], "{field}");
    }
    for (name, workload) in &workloads {
        if *name != MEASURED_TWICE {
            assert_eq!(workload["utilization"], expected[name]["utilization"], "{name}");
        }
    }
    let (twice, once) = (workloads[MEASURED_TWICE], expected[MEASURED_TWICE]);
    assert_eq!(twice["gpus"].as_array().map(Vec::len), Some(1));
    let used = &twice["utilization"];
    if used["source"] == "prometheus" {
        for field in ["mean", "p95", "p99", "max", "vram_peak_mib", "n_samples"] {
            assert_eq!(used[field], once["utilization"][field], "{field}");
        }
    } else {
        assert_eq!(used["source"], "cloudwatch-agent");
        assert_eq!(used["mean"], CLOUDWATCH_PERCENT);
        // One for every five minutes of a day.
        assert_eq!(used["n_samples"], 288);
    }
    // CloudWatch was heard: only of this machine is it known when it ran.
    let unproved = |report: &Value| {
        let gaps = gaps_with(report, &proof.ids[MEASURED_TWICE]);
        gaps.iter().any(|gap| gap["cause"] == "running-time-assumed")
    };
    assert!(unproved(&alone) && !unproved(&report));
}
