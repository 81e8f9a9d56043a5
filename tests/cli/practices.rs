//! The practices for GPU cost: the page names what there is, and audits say what follows
//! from their own facts.

use crate::cli::contract::{DEMO, DEMO_TABLE};
use crate::cli::estates::one;
use crate::cli::pages::{page, quoted};
use crate::cli::world::World;
use gpucost::analysis::Practice;
use gpucost::cli;
use gpucost::rules::{CLUSTER_RULES, COMMITMENT_RULES, RULES};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn rules() -> BTreeSet<&'static str> {
    let of_workloads = RULES.iter().map(|rule| rule.meta().id);
    let others = COMMITMENT_RULES.into_iter().chain(CLUSTER_RULES);
    of_workloads.chain(others).collect()
}

#[test]
fn every_rule_is_on_the_page_and_everything_on_it_exists() {
    let text = page("practices.md");
    let names = quoted(&text);
    let rules = rules();
    let missing: Vec<&&str> = rules.iter().filter(|id| !names.contains(**id)).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
    let command = cli::command();
    let commands: Vec<&str> = names
        .iter()
        .filter_map(|name| name.strip_prefix("gpucost "))
        .collect();
    assert!(commands.len() >= 8, "{commands:?}");
    for words in commands {
        let mut words = words.split(' ');
        let name = words.next().expect("a command");
        let found = command.find_subcommand(name);
        let found = found.unwrap_or_else(|| panic!("`{name}` is not a command"));
        for flag in words.filter_map(|word| word.strip_prefix("--")) {
            let mut known = found.get_arguments().filter_map(|one| one.get_long());
            assert!(known.any(|long| long == flag), "{name} has no --{flag}");
        }
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let links = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    let mut levers = 0;
    for (link, _) in links {
        let file = link.split('#').next().expect("a file");
        assert!(docs.join(file).is_file(), "{file} is not a page");
        levers += usize::from(file.starts_with("levers/"));
    }
    assert!(levers >= 6, "{levers} links to levers");
}

#[test]
fn the_page_has_twelve_practices_and_ten_mistakes() {
    let text = page("practices.md");
    let (practices, mistakes) = text.split_once("## Ten mistakes").expect("two parts");
    let rows = |part: &str| -> Vec<String> {
        let rows = part.lines().filter(|line| line.starts_with("| "));
        let cells = rows.filter_map(|row| Some(row.split(" | ").next()?.to_owned()));
        let names = cells.map(|cell| cell.trim_matches(['|', ' ', '`']).to_owned());
        names.skip(1).collect()
    };
    let names: Vec<&str> = Practice::ALL.iter().map(|one| one.name()).collect();
    assert_eq!(rows(practices), names);
    assert_eq!(names.len(), 12);
    assert_eq!(rows(mistakes).len(), 10);
}

fn standings(audit: &Value) -> BTreeMap<String, (String, Value)> {
    let all = audit["practices"].as_array().expect("a list").iter();
    let one = |one: &Value| {
        let text = |key: &str| one[key].as_str().expect("text").to_owned();
        (
            text("practice"),
            (text("standing"), one["followed_percent"].clone()),
        )
    };
    all.map(one).collect()
}

/// What costs what in the demo is in `tests/demo`: experiments $71,481.60, chat-serving
/// $80,145.40, nightly-eval $20,702.80, foundation-pretraining $16,029.08, llm-poc-old
/// $7,659.63, video-captioning-2 $3,359.17, notebook-pavel $1,185.52.
#[test]
fn the_demo_follows_two_practices() {
    let found = standings(&DEMO.json());
    let of = |name: &str| (found[name].0.as_str(), &found[name].1);
    // Experiments restart and run on demand.
    assert_eq!(of("spot"), ("not-followed", &json!(0.0)));
    assert_eq!(of("sharing"), ("not-followed", &json!(0.0)));
    assert_eq!(of("schedules"), ("not-followed", &json!(0.0)));
    assert_eq!(of("commitments"), ("not-followed", &json!(0.0)));
    // All but four of 109 GPUs: 105 ÷ 109.
    assert_eq!(of("monitoring"), ("followed", &json!(96.33)));
    assert_eq!(of("chargeback"), ("followed", &json!(100.0)));
    for name in ["batching", "quantization", "queueing", "rent-or-buy"] {
        assert_eq!(of(name), ("unknown", &Value::Null), "{name}");
    }
    let line = DEMO_TABLE
        .stdout
        .lines()
        .find(|line| line.starts_with("PRACTICES"))
        .expect("a line");
    assert!(line.contains("that apply are followed; not: "), "{line}");
    // Each practice that is not followed has the command that plans for it.
    let lines: Vec<&str> = DEMO_TABLE
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with("PRACTICES"))
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect();
    let all = lines.join(" ");
    let (not, commands) = all
        .split_once("; not: ")
        .and_then(|(_, rest)| rest.split_once("; planned by gpucost "))
        .expect("both");
    let (commands, _) = commands.split_once(": see ").expect("the page");
    let commands: Vec<&str> = commands.split(", ").collect();
    assert_eq!(commands.len(), not.split(", ").count(), "{all}");
    let known = cli::command();
    for command in commands {
        assert!(known.find_subcommand(command).is_some(), "{command}");
    }
    assert_eq!(Practice::ALL.len(), found.len());
}

#[test]
fn a_practice_follows_from_tags_and_figures() {
    let world = World::new();
    let tagged = |tags: Value| {
        let mut estate = one();
        estate["instances"][0]["tags"] = tags;
        standings(&world.audit(&estate))
    };
    let found = tagged(json!({"Name": "one"}));
    assert_eq!(found["chargeback"].0, "not-followed");
    assert_eq!(found["monitoring"].0, "followed");
    // Nothing says what it is: neither a service nor work that may wait.
    assert_eq!(found["spot"].0, "not-applicable");
    assert_eq!(found["autoscaling"].0, "not-applicable");
    let training = json!({"Name": "one", "gpucost:kind": "training", "Team": "vision"});
    let found = tagged(training);
    assert_eq!(found["chargeback"].0, "followed");
    // No tag says whether it may be interrupted.
    assert_eq!(found["spot"], ("unknown".to_owned(), Value::Null));
    let may_restart = json!({"gpucost:kind": "training", "gpucost:restartable": "true"});
    let found = tagged(may_restart);
    assert_eq!(found["spot"], ("not-followed".to_owned(), json!(0.0)));
    let may_not = json!({"gpucost:kind": "training", "gpucost:restartable": "false"});
    assert_eq!(tagged(may_not)["spot"].0, "not-applicable");
    let serving = json!({"Name": "one", "gpucost:kind": "serving"});
    let found = tagged(serving);
    assert_eq!(found["autoscaling"].0, "not-followed");
    // An empty fleet follows nothing, and says nothing.
    let mut estate = one();
    estate["instances"] = json!([]);
    estate["metrics"] = json!([]);
    let path = world.estate("empty.json", &estate);
    let outcome = world.run(&["audit", "--from", &path, "--allow-empty"]);
    assert!(!outcome.stdout.contains("PRACTICES"), "{}", outcome.stdout);
}
