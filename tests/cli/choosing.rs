//! What is shown and planned of an estate: states, accounts of a recording, and the part of a plan
//! that reaches a target.

use crate::cli::estates::one;
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};

fn demo(arguments: &[&str]) -> Outcome {
    let outcome = World::new().run(&[arguments, &["--demo"]].concat());
    assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
    outcome
}

#[test]
fn states_choose_workloads_as_classes_do() {
    let shown = |class: &str| demo(&["audit", "--all", "--class", class]).stdout;
    let (idle, mostly) = (shown("idle"), shown("mostly-idle"));
    let names = |text: &str| {
        let rows = text.split("WORKLOADS").nth(1).unwrap_or_default();
        let workloads = ["llm-poc-old", "nightly-eval", "notebook-pavel", "experiments"];
        let listed = rows.split("\n\n").next().unwrap_or_default().to_owned();
        workloads.map(|name| listed.contains(name))
    };
    assert_eq!(names(&idle), [true, false, false, false], "{idle}");
    assert_eq!(names(&mostly), [false, true, false, false], "{mostly}");
    let both = shown("idle,mostly-idle,idle-held");
    assert_eq!(names(&both), [true, true, true, false], "{both}");
}

/// Two accounts with one instance each.
fn accounts() -> Value {
    let mut estate = one();
    let mut other = estate["instances"][0].clone();
    other["id"] = json!("i-other");
    other["account"] = json!("444455556666");
    other["instance_type"] = json!("g5.2xlarge");
    estate["instances"] = json!([estate["instances"][0], other]);
    estate["accounts"] = json!(["111122223333", "444455556666"]);
    estate
}

#[test]
fn accounts_choose_in_a_recording() {
    let world = World::new();
    let path = world.estate("estate.json", &accounts());
    let audit = |accounts: &str| {
        let arguments = ["audit", "--from", &path, "--format", "json"];
        world.run(&[&arguments[..], &["--account", accounts]].concat())
    };
    for (account, number, instance_type) in [
        ("111122223333", 1, "g5.xlarge"),
        ("444455556666", 1, "g5.2xlarge"),
        ("444455556666,111122223333", 2, "g5.2xlarge"),
    ] {
        let report = audit(account).json();
        let workloads = report["workloads"].as_array().expect("a list");
        assert_eq!(workloads.len(), number, "{account}");
        assert_eq!(workloads[0]["instance_type"], instance_type);
        let scope = report["scope"]["accounts"].as_array().expect("a list");
        assert_eq!(scope.len(), number, "{account}");
    }
    assert_eq!(audit("777788889999").code, 4);
}

/// Three reservations of 0.60 an hour over two machines: each account has what its machine uses,
/// and the owner what nobody uses, so that the parts are the whole.
#[test]
fn what_an_account_out_of_scope_does_not_use_is_no_cost_of_others() {
    let world = World::new();
    let mut estate = accounts();
    estate["instances"][1]["instance_type"] = json!("g5.xlarge");
    estate["commitments"] = json!([{
        "kind": "reserved-instances", "id": "ri-1", "account": "444455556666",
        "region": "us-east-1", "instance_type": "g5.xlarge", "count": 3, "payment": "no-upfront",
        "start": "2026-02-01T00:00:00Z", "end": "2027-02-01T00:00:00Z", "recurring_hourly": "0.60",
    }]);
    let path = world.estate("estate.json", &estate);
    let cost = |from: &str, more: &[&str]| {
        let report = world.run(&[&["audit", "--from", from, "--format", "json"], more].concat());
        let summary = &report.json()["summary"];
        [&summary["monthly_cost"], &summary["unused_monthly_cost"]].map(Value::clone)
    };
    // 0.60 × 730 = 438.00 a reservation.
    assert_eq!(cost(&path, &[]), [json!(1314.0), json!(438.0)]);
    let [mine, theirs] = ["111122223333", "444455556666"];
    let used = [json!(438.0), Value::Null];
    assert_eq!(cost(&path, &["--account", mine]), used);
    let owned = [json!(876.0), json!(438.0)];
    assert_eq!(cost(&path, &["--account", theirs]), owned);
    // It holds for what is saved of it, masked or not.
    let saved = world.path("saved.json");
    for masks in [&[][..], &["--redact"]] {
        let arguments = ["--account", mine, "--save", &saved];
        assert_eq!(cost(&path, &[&arguments[..], masks].concat())[0], 438.0);
        assert_eq!(cost(&saved, &[]), used);
        std::fs::remove_file(&saved).expect("it was written");
    }
}

#[test]
fn the_total_ends_with_the_utilization_today_and_after_the_plan() {
    let text = demo(&["audit"]).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // 15,202.5 useful of 76,650 measured GPU hours; the plan leaves 24, 8, 20 × 8 / 168 and 8 GPUs
    // of 730 h, which are 29,895, and some 3,992 of the useful ones take 900 / 864 of the time.
    let said = "; GPUs 19.8% busy today → 51.4% after, 4 unmeasured excluded";
    assert!(text.ends_with(said), "{text}");
}

/// At low, three workloads have what medium allows: 80,145.40 + 71,481.60 + 16,029.08. Of the mixed
/// fleet, hours that are committed save nothing at any risk.
#[test]
fn what_takes_a_higher_risk_is_said_of_what_is_offered() {
    let words = "what could be done takes a higher `--risk`";
    let said = |arguments: &[&str]| {
        let text = demo(&[&["audit", "--risk", "low"], arguments].concat()).stdout;
        let line = text.lines().find(|line| line.contains(words));
        line.map(|line| line.trim().to_owned())
    };
    let of_demo = format!("3 workloads, $167,656.08 per month: {words}");
    assert_eq!(said(&[]), Some(of_demo));
    let world = World::new();
    let text = world.run(&["audit", "--risk", "low", "--demo", "mixed-fleet"]).stdout;
    assert!(!text.contains("$175,736.64 per month: what"), "{text}");
}

#[test]
fn a_target_leaves_the_least_risky_actions() {
    let whole = demo(&["audit", "--format", "json"]).json();
    assert_eq!(whole.get("target"), None);
    let report = demo(&["audit", "--target", "5%", "--format", "json"]).json();
    let target = &report["target"];
    // Of $200,906.88.
    assert_eq!(target["monthly_savings"], 10_045.34);
    assert_eq!(target["risk"], "low");
    assert_eq!(target["reached"], true);
    assert_eq!(target["missing_monthly_savings"], Value::Null);
    // Stops and releases save $8,974.03, which is less: the schedule is taken too.
    assert_eq!(report["summary"]["monthly_savings"], 28_690.98);
    let actions = report["workloads"].as_array().expect("a list").iter();
    let actions = actions.flat_map(|workload| workload["plan"]["actions"].as_array().cloned());
    let mut kinds: Vec<Value> = actions.flatten().map(|action| action["action"].clone()).collect();
    kinds.retain(|kind| kind != "none");
    kinds.sort_by_key(Value::to_string);
    assert_eq!(kinds, ["release", "schedule", "stop", "stop"]);
    let text = demo(&["audit", "--target", "5"]).stdout;
    assert!(text.contains("less risky actions reach the target"), "{text}");
    assert!(text.contains("Target 5%, $10,045.34 per month"), "{text}");
}

#[test]
fn a_target_out_of_reach_says_what_is_missing() {
    let text = demo(&["audit", "--target", "95%"]).stdout;
    // 95% of $200,906.88 are $190,861.54; the plan saves $147,936.75.
    let said = "the whole plan at risk medium saves $42,924.79 less; `--risk high` allows more";
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(said), "{text}");
    let low = demo(&["fix", "--target", "4%", "--format", "json"]).json();
    assert_eq!(low["target"]["reached"], true);
    let actions = low["actions"].as_array().expect("a list");
    assert!(actions.iter().all(|action| action["risk"] == "low"), "{low}");
    for bad in ["0", "101%", "x"] {
        let outcome = World::new().run(&["audit", "--demo", "--target", bad]);
        assert_eq!(outcome.code, 2, "{bad}");
    }
}
