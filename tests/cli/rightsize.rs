//! `gpucost rightsize`: for one type and for the fleet, and what is refused.

use crate::cli::estates::situations;
use crate::cli::json_schemas::assert_described;
use crate::cli::world::{Outcome, World};
use gpucost::analysis::{Sizing, audit, audit_types};
use gpucost::domain::{Policy, Risk};
use gpucost::savings::Considered;
use gpucost::sources::files::parse_estate;
use serde_json::{Value, json};
use std::path::Path;

fn rightsize(arguments: &[&str]) -> Outcome {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    world.run(&[&["rightsize"], arguments].concat())
}

/// One of four V100 at 60% and 8 GiB.
const V100: [&str; 6] = ["--type", "p3.8xlarge", "--util-p95", "60", "--vram-peak", "8GiB"];

fn one(arguments: &[&str]) -> Value {
    let outcome = rightsize(&[&V100, arguments, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()["workloads"][0].clone()
}

fn candidate(workload: &Value, name: &str) -> Value {
    let candidates = workload["candidates"].as_array().expect("a list");
    candidates
        .iter()
        .find(|candidate| candidate["instance_type"] == name)
        .unwrap_or_else(|| panic!("{name} was looked at"))
        .clone()
}

#[test]
fn the_example_on_the_page_is_what_is_printed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/levers/rightsizing.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (_, rest) = page.split_once("```text\n$ gpucost ").expect("an example");
    let (example, _) = rest.split_once("```").expect("it ends");
    let (command, shown) = example.split_once('\n').expect("a command line");
    let arguments: Vec<&str> = command.split(' ').collect();
    let printed = rightsize(&arguments[1..]).stdout;
    crate::cli::pages::assert_shows("docs/levers/rightsizing.md", shown, &printed);
}

#[test]
fn one_type_is_sized_by_hand_figures() {
    let answer = one(&["--kind", "training", "--gpus-used", "1", "--cpu-p95", "10"]);
    assert_eq!(answer["monthly_cost"], json!(8935.2));
    let a10g = candidate(&answer, "g5.2xlarge");
    // 60 × 125 / 70 = 107.142857: all of it, and longer; (12.24 − 1.212) × 730.
    assert_eq!(a10g["projected_p95"], json!(100.0));
    assert_eq!(a10g["slowdown"], json!(1.0714));
    assert_eq!(a10g["ratio_basis"], "compute");
    assert_eq!(a10g["monthly_savings"], json!(8050.44));
    assert_eq!(a10g["risk"], "medium");
    assert_eq!(answer["candidates"][0], a10g, "the cheapest work comes first");
    let l4 = candidate(&answer, "g6.2xlarge");
    assert_eq!((&l4["accepted"], &l4["rejected_for"]), (&json!(false), &json!("slowdown")));
    let old = candidate(&answer, "p3.2xlarge");
    assert_eq!(old["rejected_for"], "not-launchable");
    // 60 × 900 / 600.
    let by_bandwidth = ["--kind", "training", "--gpus-used", "1", "--bound", "bandwidth"];
    let a10g = candidate(&one(&by_bandwidth), "g5.2xlarge");
    assert_eq!(a10g["projected_p95"], json!(90.0));
}

#[test]
fn the_risk_that_is_accepted_decides() {
    let at = |risk: &str| one(&["--kind", "training", "--gpus-used", "1", "--risk", risk]);
    let low = at("low");
    let accepted = |answer: &Value| {
        let candidates = answer["candidates"].as_array().expect("a list").clone();
        candidates.into_iter().filter(|candidate| candidate["accepted"] == true).count()
    };
    assert_eq!(accepted(&low), 0, "another GPU model is medium risk");
    assert!(accepted(&at("medium")) > 0);
    assert_eq!(low["demand"]["cpu_p95"], Value::Null, "unknown is not zero");
}

#[test]
fn a_group_of_replicas_may_shrink() {
    let arguments = [
        "--type", "g6e.xlarge", "--kind", "serving", "--count", "10", "--util-p95", "30",
        "--vram-peak", "20GB", "--cpu-p95", "10", "--format", "json",
    ];
    let document = rightsize(&arguments).json();
    let same = candidate(&document["workloads"][0], "g6e.xlarge");
    // 10 × 30 / 80 = 3.75.
    assert_eq!(same["count"], json!(4));
    assert_eq!(same["projected_p95"], json!(75.0));
}

#[test]
fn sizes_are_read_in_every_unit() {
    let peak = |size: &str| {
        let arguments = ["--type", "p4d.24xlarge", "--util-p95", "30", "--vram-peak", size];
        let outcome = rightsize(&[&arguments[..], &["--format", "json"]].concat());
        outcome.json()["workloads"][0]["demand"]["vram_peak_mib"].clone()
    };
    for size in ["18GiB", "18GB", "18432MiB"] {
        assert_eq!(peak(size), json!(18432.0), "{size}");
    }
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let with = |arguments: &[&str]| rightsize(&[&V100, arguments].concat());
    for (outcome, said) in [
        (with(&["--cpu-p95", "-1"]), "percentage from 0 to 100"),
        (with(&["--cpu-p95=-1"]), "percentage from 0 to 100"),
        (with(&["--cpu-p95", "101"]), "percentage from 0 to 100"),
        (with(&["--memory-peak", "18"]), "expected a size"),
        (with(&["--memory-peak", "9TiB"]), "exceeds the 249856 MiB"),
        (with(&["--gpus-used", "5"]), "exceeds the 4 GPUs of p3.8xlarge"),
        (with(&["--gpus-used", "0"]), "contradicts"),
        (with(&["--count", "0"]), "0 is not in"),
        (with(&["--kind", "cooking"]), "valid values: training, serving"),
        (with(&["--bound", "gravity"]), "valid values: bandwidth"),
        (with(&["--demo"]), "cannot be used with"),
        (with(&["--region", "us-est-1"]), "did you mean us-east-1"),
        (rightsize(&["--type", "p3.8xlarge"]), "--util-p95"),
        (rightsize(&["--util-p95", "3"]), "--type"),
    ] {
        assert_eq!(outcome.code, 2, "{said}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{said}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty());
    }
    let typed = |name: &str, peak: &str| {
        rightsize(&["--type", name, "--util-p95", "3", "--vram-peak", peak])
    };
    let invalid = typed("p4d.24xlrage", "1GiB").stderr;
    assert!(invalid.contains("did you mean p4d.24xlarge"), "{invalid}");
    let cpu = typed("c7i.large", "1GiB").stderr;
    assert!(cpu.contains("has no accelerator"), "{cpu}");
    let full = typed("p3.8xlarge", "18GiB").stderr;
    assert!(full.contains("exceeds the 16384 MiB of a GPU"), "{full}");
    let unsold = typed("p5e.48xlarge", "1GiB").stderr;
    assert!(unsold.contains("has no price"), "{unsold}");
}

#[test]
fn the_demo_is_sized_in_every_format() {
    let table = rightsize(&["--demo"]);
    assert_eq!(table.code, 0, "{}", table.stderr);
    assert!(table.stdout.lines().all(|line| line.chars().count() <= 100));
    for text in [
        "8 × g6e.2xlarge",
        "NOT RESIZED",
        "$58,387.85",
        // Twelve months of it.
        "$700,654.20",
        // 58,387.85 + 14,676.66.
        "RIGHTSIZE  2 of 8 workloads would save $73,064.51 per month",
        "The plan moves 1 of 8 workloads to another type, which saves $58,387.85 per month",
    ] {
        assert!(table.stdout.contains(text), "{text}: {}", table.stdout);
    }
    let one = rightsize(&["--demo", "--workload", "experiments"]).stdout;
    for text in ["NOT SUITABLE", "not launchable", "and 7 other workloads"] {
        assert!(one.contains(text), "{text}: {one}");
    }
    let json = rightsize(&["--demo", "--format", "json"]).json();
    assert_described("rightsize", &json);
    let spread = |name: &str, to: &str| {
        let mut workloads = json["workloads"].as_array().expect("a list").iter();
        let workload = workloads.find(|workload| workload["name"] == name).expect("it is sized");
        let to = candidate(workload, to);
        (to["count"].clone(), to["spread"].clone())
    };
    // 5 × 8 services of a GPU each; one GPU in use of each of 8 machines, as it is or on 2 × 4.
    for (name, to, count, how) in [
        ("chat-serving", "g6e.2xlarge", 40, "tenants"),
        ("experiments", "g6e.2xlarge", 8, "kept"),
        ("experiments", "p3.8xlarge", 2, "tenants"),
    ] {
        assert_eq!(spread(name, to), (json!(count), json!(how)), "{name} to {to}");
    }
    let workloads = json["workloads"].as_array().expect("a list");
    let looked_at: usize = workloads
        .iter()
        .map(|workload| workload["candidates"].as_array().map_or(0, Vec::len).max(1))
        .sum();
    let csv = rightsize(&["--demo", "--format", "csv"]).stdout;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(reader.records().filter(Result::is_ok).count(), looked_at);
    // The plan of the audit is the first candidate.
    let audit = World::new().run(&["audit", "--demo", "--format", "json"]).json();
    for audited in audit["workloads"].as_array().expect("a list") {
        let actions = audited["plan"]["actions"].as_array().expect("a list");
        let words = actions.iter().map(|action| {
            let kind = action["action"].as_str().expect("a word");
            let to = &action["to"];
            match to["instance_type"].as_str() {
                Some(name) => format!("{kind} to {} × {name}", to["count"]),
                None => kind.to_owned(),
            }
        });
        let words: Vec<String> = words.collect();
        let own = workloads.iter().find(|workload| workload["id"] == audited["id"]);
        assert_eq!(own.expect("sized too")["plan"], json!(words), "{audited}");
        for action in actions {
            if action["action"] == "rightsize" {
                let first = &own.expect("sized too")["candidates"][0];
                assert_eq!(first["instance_type"], action["to"]["instance_type"]);
                assert_eq!(first["monthly_savings"], action["monthly_savings"]);
                assert_eq!(first["caveats"], action["caveats"]);
            }
        }
    }
}

#[test]
fn the_first_type_is_what_the_lever_proposes() {
    let policy = Policy::default();
    let mut proposed = 0;
    for path in situations() {
        let estate = std::fs::read(&path).expect("a situation");
        let estate = parse_estate(&estate[..]).expect("an estate");
        for accepted in Risk::ALL {
            let planned = audit(&estate, &policy, *accepted);
            let listed = audit_types(&estate, &policy, planned.plan_risk);
            for (planned, listed) in planned.workloads.iter().zip(&listed.workloads) {
                let sizing = Sizing::of(listed, &policy);
                let first = sizing.outcome.iter().find_map(|sized| sized.accepted().next());
                let lever = planned.proposals.rightsize();
                let chosen = lever.and_then(|proposal| proposal.suitable.first());
                proposed += u32::from(chosen.is_some());
                let id = &sizing.id;
                // Prices and instances of it are held once, beside it.
                let bare = first.map(|candidate| Considered {
                    moved: Vec::new(),
                    quotes: Vec::new(),
                    ..candidate.considered.as_ref().clone()
                });
                assert_eq!(bare.as_ref(), chosen, "{id}: {path:?}");
            }
        }
    }
    assert!(proposed > 0);
}

#[test]
fn what_the_plan_may_not_move_is_not_resized() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let situation = folder.join("fixtures/rules/overprovisioned-gpu/fires.json");
    let estate = std::fs::read_to_string(situation).expect("a situation");
    let mut estate: Value = serde_json::from_str(&estate).expect("JSON");
    // Of another account: it is not among the commitments.
    estate["instances"][0]["capacity_reservation_id"] = json!("cr-1");
    let world = World::new();
    let path = world.estate("held.json", &estate);
    let outcome = world.run(&["rightsize", "--from", &path, "--format", "json"]);
    let workload = outcome.json()["workloads"][0].clone();
    let reason = "runs in a capacity reservation that this account cannot lower";
    assert_eq!(workload["left_alone"], reason);
    assert_eq!(workload["candidates"], json!([]));
}

#[test]
fn that_averages_hide_peaks_is_said_once_for_the_plan_and_with_each_workload() {
    // Two machines move to another GPU, on averages of five minutes.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let situation = folder.join("fixtures/rules/overprovisioned-gpu/fires.json");
    let one = std::fs::read_to_string(situation).expect("a situation");
    let read = |text: &str| -> Value { serde_json::from_str(text).expect("JSON") };
    let (mut estate, mut other) = (read(&one), read(&one.replace("i-over", "i-other")));
    for key in ["instances", "metrics"] {
        let more = other[key].as_array_mut().expect("a list");
        estate[key].as_array_mut().expect("a list").append(more);
    }
    let world = World::new();
    let path = world.estate("two.json", &estate);
    let said =
        "peaks shorter than 5 minutes are averaged away: run `gpucost profile --duration 1h`";
    let text = |arguments: &[&str]| {
        let outcome = world.run(&[arguments, &["--from", &path]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let words: Vec<&str> = outcome.stdout.split_whitespace().collect();
        words.join(" ")
    };
    let audit = text(&["audit", "--all"]);
    assert_eq!(audit.matches(" rightsize to ").count(), 2, "{audit}");
    assert_eq!(audit.matches(said).count(), 1, "{audit}");
    assert!(audit.contains(&format!("rightsize: {said}")), "{audit}");
    let sized = text(&["rightsize"]);
    assert_eq!(sized.matches(said).count(), 1, "{sized}");
    let one = text(&["rightsize", "--workload", "i-other"]);
    assert_eq!(one.matches(said).count(), 1, "{one}");
    let runbook = text(&["fix", "--action", "rightsize", "--format", "markdown"]);
    assert!(runbook.contains("peaks shorter than 5 minutes"), "{runbook}");
    // What is stated by hand is not averaged by anybody here.
    let typed = rightsize(&V100).stdout;
    assert!(!typed.contains("averaged away"), "{typed}");
}
