//! The practices for GPU cost: the page names what there is, and audits say what follows
//! from their own facts.

use crate::cli::contract::{DEMO, DEMO_TABLE};
use crate::cli::estates::one;
use crate::cli::pages::{assert_shows, blocks, page, quoted};
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
    let (mistakes, by_hand) = mistakes.split_once("## By hand").expect("three parts");
    assert_eq!(rows(mistakes).len(), 10);
    // Those that an audit judges.
    assert_eq!(rows(by_hand).len(), 8);
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

/// The line of practices of a table, without its heading.
fn summary(table: &str) -> String {
    let lines = table
        .lines()
        .skip_while(|line| !line.starts_with("PRACTICES"))
        .take_while(|line| !line.is_empty());
    let words: Vec<&str> = lines.map(str::trim).collect();
    let all = words.join(" ");
    all.trim_start_matches("PRACTICES").trim().to_owned()
}

/// Each practice that is not followed has a command that plans for it, and works as it
/// stands; a service among several has a name.
#[test]
fn commands_that_plan_for_practices_are_typed() {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    for (demo, service) in [
        ("starter", ""),
        ("quarter-used", ""),
        ("mixed-fleet", "speech-online"),
    ] {
        let table = world.run(&["audit", "--demo", demo]).stdout;
        let all = summary(&table);
        let (_, commands) = all.split_once("; planned by gpucost ").expect("commands");
        let (commands, _) = commands.split_once("; ").expect("what is unknown");
        assert!(commands.split(", ").count() >= 2, "{demo}: {all}");
        for command in commands.split(", ") {
            let words = command.split(' ');
            let words = words.map(|word| if word == "NAME" { service } else { word });
            let words: Vec<&str> = words.chain(["--demo", demo]).collect();
            let outcome = world.run(&words);
            assert_eq!(outcome.code, 0, "{words:?}: {}", outcome.stderr);
            assert!(!outcome.stdout.is_empty(), "{words:?}");
        }
    }
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
    // Two and six were judged, and four are not part of an audit.
    assert!(
        line.starts_with("PRACTICES  2 of 8 that were judged are followed; not: "),
        "{line}"
    );
    let all = summary(&DEMO_TABLE.stdout);
    let (not, commands) = all
        .split_once("; not: ")
        .and_then(|(_, rest)| rest.split_once("; planned by gpucost "))
        .expect("both");
    let (commands, rest) = commands.split_once("; ").expect("what is unknown");
    assert_eq!(rest, "4 are unknown: see docs/practices.md");
    assert_eq!(
        commands,
        "rightsize, share, spot, fix --action schedule, reserved, autoscale"
    );
    assert_eq!(
        commands.split(", ").count(),
        not.split(", ").count(),
        "{all}"
    );
    assert_eq!(Practice::ALL.len(), found.len());
}

/// What a workload says of a practice: whether it follows it, or that this is unknown.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    Follows,
    DoesNot,
    Unknown,
}

fn ran_in_part(workload: &Value) -> bool {
    let share = workload["running_share"].as_f64();
    share.is_some_and(|share| share < 1.0)
}

/// The same practices from what else the audit prints: tags, kinds, prices, states, and which
/// rules found something.
fn says(practice: &str, workload: &Value, found: &BTreeSet<&str>) -> Option<Says> {
    let text = |key: &str| workload[key].as_str().unwrap_or_default();
    let tag = |names: &[&str]| {
        let mut tags = workload["tags"].as_object().expect("tags").iter();
        let named = tags.find(|(key, _)| names.contains(&key.to_lowercase().as_str()));
        named.and_then(|(_, value)| value.as_str())
    };
    let (kind, option) = (text("kind"), text("purchase_option"));
    let is_unknown = text("classification") == "insufficient-data";
    let follows = |is: bool| Some(if is { Says::Follows } else { Says::DoesNot });
    match practice {
        "chargeback" => follows(tag(&["owner", "team"]).is_some()),
        "spot" => match tag(&["gpucost:restartable"]) {
            Some("true") => follows(option == "spot"),
            _ if option == "spot" => follows(true),
            None if ["training", "batch", "evaluation", "development"].contains(&kind) => {
                Some(Says::Unknown)
            }
            _ => None,
        },
        "autoscaling" if kind != "serving" => None,
        // What a group may grow to is not in the demos.
        "autoscaling" if text("id").contains("/asg:") => Some(Says::Unknown),
        "autoscaling" => follows(false),
        "sharing" if found.contains("shareable-gpu") => follows(false),
        "sharing" => is_unknown.then_some(Says::Unknown),
        "schedules" if kind == "serving" || tag(&["env"]) == Some("production") => None,
        "schedules" if found.contains("off-hours") => follows(false),
        "schedules" if ran_in_part(workload) => follows(true),
        "schedules" => is_unknown.then_some(Says::Unknown),
        "commitments" if ["reserved", "savings-plan"].contains(&option) => follows(true),
        "commitments" => {
            let actions = workload["plan"]["actions"].as_array().expect("a list");
            let commits = actions.iter().any(|action| action["action"] == "commit");
            (commits || found.contains("steady-on-demand")).then_some(Says::DoesNot)
        }
        other => panic!("{other}"),
    }
}

/// A second route over three recorded fleets of 22 to 33 machines.
#[test]
fn practices_follow_from_what_else_an_audit_says() {
    let world = World::new();
    let mut standings_seen = BTreeSet::new();
    for demo in ["starter", "quarter-used", "mixed-fleet"] {
        let asked = ["audit", "--demo", demo, "--format", "json"];
        let audit = world.run(&asked).json();
        let findings = audit["findings"].as_array().expect("a list");
        let workloads = audit["workloads"].as_array().expect("a list").iter();
        let counted: Vec<&Value> = workloads
            .filter(|one| one["running"] == true && one["ignored"].is_null())
            .collect();
        let rules_of = |id: &Value| -> BTreeSet<&str> {
            let own = findings.iter().filter(|one| one["workload"] == *id);
            own.filter_map(|one| one["rule"].as_str()).collect()
        };
        let practices = audit["practices"].as_array().expect("a list").iter();
        for practice in practices {
            let name = practice["practice"].as_str().expect("a name");
            let of_levers = ["right-sizing", "monitoring"];
            let is_judged = !practice["followed_percent"].is_null()
                || !practice["unknown_percent"].is_null()
                || practice["standing"] == "not-applicable";
            if of_levers.contains(&name) || !is_judged {
                continue;
            }
            let sum = |asked: Says| -> f64 {
                let of = counted.iter().filter(|workload| {
                    says(name, workload, &rules_of(&workload["id"])) == Some(asked)
                });
                of.map(|workload| workload["monthly_cost"].as_f64().expect("priced"))
                    .sum()
            };
            let (follows, known) = (sum(Says::Follows), sum(Says::Follows) + sum(Says::DoesNot));
            let unknown = sum(Says::Unknown);
            let standing = if unknown > known {
                "unknown"
            } else if known == 0.0 {
                "not-applicable"
            } else if follows >= 0.8 * known {
                "followed"
            } else {
                "not-followed"
            };
            assert_eq!(practice["standing"], standing, "{demo} {name}");
            let percent = |part: f64, of: f64| (of > 0.0).then(|| part / of * 100.0);
            for (key, expected) in [
                ("followed_percent", percent(follows, known)),
                ("unknown_percent", percent(unknown, known + unknown)),
            ] {
                let printed = practice[key].as_f64();
                let is_near = match (printed, expected) {
                    (Some(printed), Some(expected)) => (printed - expected).abs() <= 0.005_1,
                    (printed, expected) => printed == expected,
                };
                assert!(is_near, "{demo} {name}: {practice} and not {expected:?}");
            }
            standings_seen.insert(standing);
        }
        // GPUs of workloads whose signal is that of their GPUs.
        let gpus = |one: &Value| one["gpu"]["count"].as_f64().expect("GPUs");
        let all: f64 = counted.iter().map(|one| gpus(one)).sum();
        let are_measured = |one: &Value| one["utilization"]["signal"] == "gpu_utilization";
        let measured = counted.iter().filter(|one| are_measured(one));
        let measured: f64 = measured.map(|one| gpus(one)).sum();
        let found = standings(&audit);
        let share = found["monitoring"].1.as_f64().expect("GPUs run");
        let expected = measured / all * 100.0;
        assert!((share - expected).abs() <= 0.005_1, "{demo}: {share}");
    }
    assert_eq!(standings_seen.len(), 4, "{standings_seen:?}");
}

/// The page works the figures of the demo out by hand, and shows its line.
#[test]
fn the_page_shows_the_line_of_the_demo() {
    let text = page("practices.md");
    let shown = blocks(&text, "text").remove(0);
    let table = &DEMO_TABLE.stdout;
    let start = table.find("PRACTICES").expect("a line");
    let (printed, _) = table[start..].split_once("\n\n").expect("an empty line");
    assert_shows("docs/practices.md", &shown, &format!("{printed}\n"));
    let found = standings(&DEMO.json());
    for (practice, (_, share)) in &found {
        let Some(share) = share.as_f64() else {
            continue;
        };
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("| {practice} |")));
        let row = row.unwrap_or_else(|| panic!("{practice} by hand"));
        assert!(row.contains(&format!("{share:.2}%")), "{row}: {share}");
    }
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
