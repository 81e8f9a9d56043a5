//! Commands that an answer advises under NEXT: each of them answers.

use crate::cli::world::World;
use serde_json::Value;

/// Every line of NEXT that a command prints, typed.
fn assert_next_answers(typed: &str, expected: usize) {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let arguments = shlex::split(typed).expect("words");
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.extend(["--format", "json"]);
    let outcome = world.run(&arguments);
    assert_eq!(outcome.code, 0, "{typed}: {}", outcome.stderr);
    let json = outcome.json();
    let next = json["next"].as_array().expect("a list");
    assert_eq!(next.len(), expected, "{typed}: {next:?}");
    for command in next.iter().filter_map(Value::as_str) {
        let words = shlex::split(command).expect("words");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let [program, rest @ ..] = &words[..] else {
            panic!("{typed}: an empty command");
        };
        assert_eq!(*program, "gpucost", "{typed}: {command}");
        let answered = world.run(rest);
        assert_eq!(answered.code, 0, "{typed} advises {command}: {}", answered.stderr);
    }
}

/// A p5en and types in China have no commitment with a price; a g6e has.
#[test]
fn of_select() {
    for (typed, expected) in [
        ("select --vram 40GiB", 2),
        ("select --region cn-north-1", 1),
        ("select --params 405b", 1),
        ("select --params 8b --type g6e.xlarge", 2),
        ("select --kind training --restartable --vram 40GiB --budget-monthly 1000", 3),
        ("select --rate 2/s --cpu-seconds 0.1", 1),
    ] {
        assert_next_answers(typed, expected);
    }
}

#[test]
fn of_rent_or_buy() {
    let server = "--purchase 270000 --watts 8000 --rack-monthly 1500 --staff-hours 8 \
                  --spares-percent 5 --residual-percent 10 --years 4 --utilization 80";
    for (instance_type, expected) in [("p3.2xlarge", 1), ("p5.48xlarge", 2)] {
        let typed = format!("rent-or-buy --type {instance_type} {server}");
        assert_next_answers(&typed, expected);
    }
}
