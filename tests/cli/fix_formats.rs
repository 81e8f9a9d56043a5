//! `gpucost fix --format json` and `csv`: the same steps as the runbook and the script, for
//! other programs.

use crate::cli::fix::{DEMOS, idle, of_demo, printed, trainers};
use crate::cli::hostile::{hostile, is_harmless};
use crate::cli::json_schemas::{assert_holds, closed, schema, validator};
use crate::cli::world::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().expect("a list")
}

fn as_json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Header and rows of a document.
fn table(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header");
    let header = header.iter().map(str::to_owned).collect();
    let rows = reader.records().map(|record| {
        let record = record.expect("as many cells as columns");
        record.iter().map(str::to_owned).collect()
    });
    (header, rows.collect())
}

#[test]
fn documents_hold_to_their_schema() {
    let holds = validator(&closed(schema("fix.schema.json")));
    for demo in DEMOS {
        let document = as_json(&of_demo(demo, "json"));
        assert_holds(&holds, &document, demo);
    }
    let grouped = as_json(&printed(&trainers(), &[], "json"));
    assert_holds(&holds, &grouped, "a group");
    let nothing = as_json(&printed(&idle(&["i-1"]), &["--action", "share"], "json"));
    assert_holds(&holds, &nothing, "no action");
    assert_eq!(nothing["actions"], json!([]));
    // The sum of nothing is not known to be zero dollars of any currency.
    assert_eq!(nothing["monthly_savings"], Value::Null);
    let mut wrong = as_json(&of_demo("starter", "json"));
    wrong["actions"][0]["steps"][0]["kind"] = json!("guess");
    assert!(!holds.is_valid(&wrong));
}

#[test]
fn the_steps_of_a_stop_are_those_of_its_page() {
    let demo = ["fix", "--demo", "--workload", "llm-poc-old", "--format"];
    let outcome = World::new().run(&[&demo[..], &["json"]].concat());
    let document = outcome.json();
    let action = &list(&document, "actions")[0];
    // The instance by hand: 10.49264 × 730 = 7,659.6272.
    assert_eq!(action["id"], "stop:i-0710738f7e219399e");
    assert_eq!(action["workloads"], json!(["i-0710738f7e219399e"]));
    assert_eq!(action["monthly_savings"], 7_659.63);
    assert_eq!(document["monthly_savings"], 7_659.63);
    assert_eq!(action["by_hand"], false);
    assert_eq!(action["why_by_hand"], Value::Null);
    assert_eq!(document["as_of"], "2026-11-01T00:00:00Z");
    assert_eq!(document["valid_until"], "2026-11-15T00:00:00Z");
    let kinds = list(action, "steps").iter().map(|step| &step["kind"]);
    let kinds: Vec<&str> = kinds.filter_map(Value::as_str).collect();
    let count = |kind: &str| kinds.iter().filter(|listed| **listed == kind).count();
    // Account, state, activity, reports, other use, owner and store; stop and wait; start; two
    // things to watch.
    assert_eq!([count("check"), count("change"), count("undo"), count("watch")], [7, 2, 1, 2]);
    let account = &action["steps"][0];
    assert_eq!(account["must_print"], "111122223333");
    assert_eq!(account["by_hand"], false);
    let stop = &action["steps"][7];
    assert_eq!(
        stop["command"],
        "aws ec2 stop-instances --region us-east-1 --instance-ids i-0710738f7e219399e"
    );
    let undo = &action["steps"][9];
    assert_eq!(undo["kind"], "undo");
    assert_eq!(undo["by_hand"], true);
    let why = "the script prints the way back and does not run it";
    assert_eq!(undo["why_by_hand"], why);
}

#[test]
fn every_command_is_that_of_the_runbook_and_says_who_types_it() {
    for demo in DEMOS {
        let document = as_json(&of_demo(demo, "json"));
        let runbook = of_demo(demo, "markdown");
        let script = of_demo(demo, "script");
        let mut ids = BTreeSet::new();
        for action in list(&document, "actions") {
            assert!(ids.insert(action["id"].to_string()), "{}", action["id"]);
            for step in list(action, "steps") {
                let why = &step["why_by_hand"];
                assert_eq!(step["by_hand"], json!(why.is_string()), "{step}");
                let Some(command) = step["command"].as_str() else { continue };
                assert!(runbook.contains(command), "{demo}: {command}");
                // What the script runs is what is not by hand.
                let runs = ["run", "expect", "keep"].iter().any(|what| {
                    let mut lines = script.lines();
                    lines.any(|line| line.starts_with(what) && line.ends_with(command))
                });
                if step["by_hand"] == false {
                    assert!(runs, "{demo}: {command}");
                }
            }
            let is_by_hand = action["why_by_hand"].is_string();
            assert_eq!(action["by_hand"], json!(is_by_hand), "{action}");
            let steps = list(action, "steps").iter();
            let mut changes = steps.filter(|step| step["kind"] == "change");
            let all_by_hand = changes.all(|step| step["by_hand"] == true);
            assert_eq!(all_by_hand, is_by_hand, "{action}");
        }
    }
}

#[test]
fn csv_has_the_rows_of_the_json_and_its_savings_add_up() {
    for demo in DEMOS {
        let document = as_json(&of_demo(demo, "json"));
        let (header, rows) = table(&of_demo(demo, "csv"));
        let at = |name: &str| {
            let place = header.iter().position(|column| column == name);
            place.unwrap_or_else(|| panic!("{name} is not a column"))
        };
        let actions = list(&document, "actions").iter();
        let steps = actions.flat_map(|action| {
            let steps = list(action, "steps").iter();
            steps.map(move |step| (action, step))
        });
        let steps: Vec<(&Value, &Value)> = steps.collect();
        assert_eq!(rows.len(), steps.len(), "{demo}");
        for (row, (action, step)) in rows.iter().zip(steps) {
            for (key, value) in [("id", &action["id"]), ("command", &step["command"])] {
                assert_eq!(row[at(key)], value.as_str().unwrap_or(""), "{demo}");
            }
            assert_eq!(row[at("kind")], step["kind"].as_str().expect("a word"));
            assert_eq!(row[at("step")], step["number"].to_string());
            let by_hand = step["by_hand"].to_string();
            assert_eq!(row[at("by_hand")], by_hand);
            let caveats = list(action, "caveats").iter().filter_map(Value::as_str);
            let caveats: Vec<&str> = caveats.collect();
            assert_eq!(row[at("caveats")], caveats.join("; "));
        }
        let cents = |text: &str| text.replace('.', "").parse::<i64>().expect("cents");
        let saved = rows.iter().map(|row| row[at("monthly_savings")].as_str());
        let saved: i64 = saved.filter(|cell| !cell.is_empty()).map(cents).sum();
        let total = document["monthly_savings"].as_f64().expect("an amount");
        assert_eq!(saved, (total * 100.0).round() as i64, "{demo}");
    }
}

#[test]
fn masked_steps_name_nobody() {
    // Names, owners and the account of the demo, which commands and details hold.
    let secrets = ["111122223333", "pavel", "chat-serving", "nightly-eval"];
    for format in ["json", "csv"] {
        let open = of_demo("starter", format);
        let arguments = ["fix", "--demo", "--redact", "--format", format];
        let masked = World::new().run(&arguments);
        assert_eq!(masked.code, 0, "{}", masked.stderr);
        for secret in secrets {
            assert!(open.contains(secret), "{format}: {secret}");
            assert!(!masked.stdout.contains(secret), "{format}: {secret}");
        }
        assert!(masked.stdout.contains("stop-instances"), "{format}");
    }
}

#[test]
fn no_name_drives_a_terminal_or_a_spreadsheet() {
    for name in hostile() {
        let mut estate = idle(&["i-idle"]);
        estate["instances"][0]["tags"] = json!({"Name": name, "owner": name});
        for format in ["json", "csv"] {
            let text = printed(&estate, &[], format);
            assert_eq!(text.chars().find(|c| !is_harmless(*c)), None, "{name:?}");
        }
        let document = as_json(&printed(&estate, &[], "json"));
        let shown = document["actions"][0]["name"].as_str().expect("a name");
        let is_kept = shown == name || name.trim().is_empty();
        assert!(is_kept, "{name:?} is {shown:?}");
        let (_, rows) = table(&printed(&estate, &[], "csv"));
        let cells = rows.iter().flatten();
        for cell in cells.filter(|cell| cell.len() > 1) {
            assert!(!cell.starts_with(['=', '+', '-', '@']), "{cell}");
        }
    }
}

#[test]
fn no_name_is_a_command_to_a_code_host() {
    let mut world = World::new();
    world.set("GITHUB_ACTIONS", "true");
    for name in ["::stop-commands::x", "a ##[error]forged"] {
        let mut estate = idle(&["i-idle"]);
        estate["instances"][0]["tags"] = json!({"Name": name, "owner": name});
        let path = world.estate("estate.json", &estate);
        for format in ["table", "wide", "json", "csv", "markdown", "html"] {
            let outcome = world.run(&["fix", "--from", &path, "--format", format]);
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            let mut lines = outcome.stdout.lines();
            let command =
                lines.find(|line| line.trim_start().starts_with("::") || line.contains("##["));
            assert_eq!(command, None, "{format}");
        }
        let document = world.run(&["fix", "--from", &path, "--format", "json"]);
        assert_eq!(document.json()["actions"][0]["name"], name);
    }
}
