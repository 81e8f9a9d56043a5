//! What the tables say, derived from the JSON of the same audit.

use crate::cli::contract::{DEMO, DEMO_TABLE};
use crate::cli::estates::one;
use crate::cli::world::World;
use serde_json::{Value, json};
use std::process::Command;

/// An amount of the document in cents.
fn cents(value: &Value) -> i64 {
    (value.as_f64().expect("an amount") * 100.0).round() as i64
}

#[test]
fn the_headline_percentage_is_rounded() {
    let summary = &DEMO.json()["summary"];
    let (saved, cost) = (cents(&summary["monthly_savings"]), cents(&summary["monthly_cost"]));
    // Tenths of a percent, half up, in whole numbers.
    let tenths = (2_000 * saved + cost) / (2 * cost);
    let expected = format!("can be saved ({}.{}%)", tenths / 10, tenths % 10);
    assert!(DEMO_TABLE.stdout.contains(&expected), "{expected}");
}

#[test]
fn the_cost_of_the_calls_is_rounded() {
    for (cost, shown) in [("0.00839", "$0.0084"), ("0.00835", "$0.0084"), ("2", "$2.0000")] {
        let mut estate = one();
        estate["api"] = json!({"calls": 9, "retries": 0, "estimated_cost_usd": cost});
        let world = World::new();
        let path = world.estate("estate.json", &estate);
        let table = world.run(&["audit", "--from", &path, "--all"]).stdout;
        let expected = format!("9 API calls, about {shown}.");
        assert!(table.contains(&expected), "{expected}\n{table}");
    }
}

/// The commands that a report advises, as a shell reads them, without `gpucost`.
fn advised(table: &str) -> Vec<Vec<String>> {
    let (_, next) = table.split_once("\nNEXT\n").expect("a section NEXT");
    let commands = next.lines().take_while(|line| line.starts_with("  gpucost "));
    commands
        .map(|line| {
            let command = line.trim();
            let output = Command::new("bash")
                .args(["-c", &format!("printf '%s\\0' {command}")])
                .output()
                .expect("a shell");
            let words = String::from_utf8(output.stdout).expect("UTF-8");
            let words = words.trim_end_matches('\0').split('\0');
            words.skip(1).map(str::to_owned).collect()
        })
        .collect()
}

fn run(world: &World, words: &[String]) -> crate::cli::world::Outcome {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    world.run(&words)
}

#[test]
fn next_names_commands_for_the_same_scope() {
    let world = World::new();
    let mut estate = one();
    estate["instances"][0]["tags"] = json!({"Name": "one", "team": "R&D; it's\u{1b}[2J"});
    estate["metrics"] = json!([]);
    let path = world.estate("the team's estate.json", &estate);
    let typed = [
        "audit", "--from", &path, "--region", "us-east-1", "--tag", "team=R&D; it's\u{1b}[2J",
        "--exclude-tag=-x=1", "--risk", "high", "--all",
    ];
    let outcome = world.run(&typed);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let commands = advised(&outcome.stdout);
    assert_eq!(commands.len(), 3, "{}", outcome.stdout);
    for command in &commands[..2] {
        for word in &typed[1..typed.len() - 1] {
            assert!(command.iter().any(|given| given == word), "{word:?} is not in {command:?}");
        }
    }
    let wide = run(&world, &commands[0]);
    assert!(wide.stdout.contains("\nWORKLOADS"), "{}", wide.stdout);
    let json = run(&world, &commands[1]).json();
    assert_eq!(json["scope"]["source"], "estate");
    assert_eq!(json["summary"]["instances"], 1);
    let setup = run(&world, &commands[2]);
    assert_eq!(setup.code, 0, "{}", setup.stderr);
    assert!(setup.stderr.contains("i-one"), "{}", setup.stderr);
}

#[test]
fn next_does_not_tell_what_was_typed_when_the_report_is_redacted() {
    let world = World::new();
    let path = world.estate("falcon.json", &one());
    let arguments = ["audit", "--from", &path, "--tag", "Name=one", "--redact", "--all"];
    let table = world.run(&arguments).stdout;
    let (_, next) = table.split_once("\nNEXT\n").expect("a section NEXT");
    assert!(next.contains("gpucost audit --from FILE --tag K=V --redact --format wide"), "{next}");
    assert!(!table.contains("falcon") && !table.contains("Name=one"));
}

/// Stopped instances that keep a volume of 101 GiB, 102 GiB and so on.
fn stopped(number: u64) -> Value {
    let mut estate = one();
    let instance = estate["instances"][0].clone();
    let stopped = (1..=number).map(|index| {
        let mut one = instance.clone();
        one["id"] = json!(format!("i-{index:02}"));
        one["state"] = json!("stopped");
        one["tags"] = json!({"Name": format!("old-{index:02}")});
        one["volumes"] = json!([{"id": "vol", "volume_type": "gp3", "size_gib": 100 + index}]);
        one
    });
    estate["instances"] = stopped.collect();
    estate["metrics"] = json!([]);
    estate
}

#[test]
fn a_long_plan_is_cut_in_the_table_and_whole_in_wide() {
    let world = World::new();
    let path = world.estate("estate.json", &stopped(15));
    let run = |format: &str| world.run(&["audit", "--from", &path, "--format", format]);
    let document = run("json").json();
    let mut savings: Vec<i64> = document["workloads"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|workload| cents(&workload["plan"]["actions"][0]["monthly_savings"]))
        .collect();
    savings.sort_unstable();
    assert_eq!(savings.len(), 15);
    let rest: i64 = savings[..12].iter().sum();
    let line = format!(
        "  … and 12 more actions worth ${}.{:02}: see `--format wide`\n",
        rest / 100,
        rest % 100
    );
    let rows = |table: &str| table.matches("  release").count();
    let table = run("table").stdout;
    assert!(table.contains(&line), "{line}\n{table}");
    assert_eq!(rows(&table), 3);
    let wide = run("wide").stdout;
    assert_eq!(rows(&wide), 15);
    assert!(!wide.contains('…'), "{wide}");
}

#[test]
fn ignored_workloads_are_shown_with_their_reason() {
    let world = World::new();
    let mut estate = one();
    estate["instances"][0]["tags"]["gpucost:ignore"] = json!("standby until March");
    let path = world.estate("estate.json", &estate);
    let run = |format: &str| world.run(&["audit", "--from", &path, "--format", format]).stdout;
    assert!(run("table").contains("a tag takes it out of advice"));
    let wide = run("wide");
    let has_both = |line: &str| line.contains("one") && line.contains("standby until March");
    assert!(wide.lines().any(has_both), "{wide}");
    assert!(!DEMO_TABLE.stdout.contains("out of advice"));
}
