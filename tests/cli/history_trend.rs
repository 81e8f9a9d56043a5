//! `gpucost history`: what kept audits add up to.

use crate::cli::world::{Outcome, World, with_program};
use gpucost::cli::{self, ExitCode, Io};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A world with the demo in its directory `nights`: the thirteen days of October that had been
/// over for six hours.
fn recorded() -> World {
    let world = World::new();
    let place = world.path("nights");
    let outcome = world.run(&["history", "record", &place, "--demo"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    world
}

fn history(world: &World, arguments: &[&str]) -> Outcome {
    let place = world.path("nights");
    world.run(&[&["history", "--history", &place], arguments].concat())
}

fn cents(value: &Value) -> i64 {
    (value.as_f64().expect("an amount") * 100.0).round() as i64
}

#[test]
fn a_night_of_the_demo_is_a_trend() {
    let world = recorded();
    let outcome = history(&world, &["--forecast", "month", "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let trend = outcome.json();
    assert_eq!(trend["planner"], "history");
    let period = &trend["periods"][0];
    assert_eq!(period["first_day"], "2026-10-18");
    assert_eq!(period["recorded_days"], 13);
    // What changed is between the ends of what is shown, 6 of 13 days each, as from the first day on.
    let change = trend["change"].as_array().expect("a list");
    assert_eq!(change[0]["meaning"], "2026-10-18 to 2026-10-23");
    assert_eq!(change.last().expect("the last")["meaning"], "2026-10-25 to 2026-10-30");
    let since = history(&world, &["--since", "2026-10-18", "--format", "json"]).json();
    assert_eq!(since["change"], trend["change"]);
    // Each share is rounded by itself.
    let shares = trend["shares"].as_array().expect("a list");
    let sum: i64 = shares.iter().map(|share| cents(&share["spend"])).sum();
    assert!((sum - cents(&period["spend"])).abs() <= shares.len() as i64);
    // Nothing was done since, because no day came after it.
    let actions = trend["actions"].as_array().expect("a list");
    assert!(!actions.is_empty());
    for action in actions {
        assert_eq!(action["status"], "not done", "{action}");
        assert_eq!(action["saved"], Value::Null, "{action}");
    }
    // Spent, committed and running are the total.
    let steps = trend["steps"].as_array().expect("a list");
    let amounts: Vec<i64> = steps.iter().map(|step| cents(&step["result"])).collect();
    assert_eq!(amounts[0] + amounts[1] + amounts[2], amounts[3]);
    assert_eq!(amounts[0], cents(&period["spend"]));
}

#[test]
fn every_format_and_breakdown_is_printed() {
    let world = recorded();
    for by in ["workload", "team", "account", "type"] {
        for format in ["table", "wide", "csv", "markdown", "html"] {
            let outcome = history(&world, &["--by", by, "--step", "week", "--format", format]);
            assert_eq!(outcome.code, 0, "{by} {format}: {}", outcome.stderr);
            assert!(!outcome.stdout.is_empty());
        }
    }
    let outcome = history(&world, &["--step", "day", "--format", "csv"]);
    assert_eq!(outcome.stdout.lines().count(), 14);
}

#[test]
fn a_damaged_day_is_not_one_without_costs() {
    let world = recorded();
    let place = world.path("nights");
    let folder = Path::new(&place).join("v1/cost/dt=2026-10-20");
    for file in fs::read_dir(folder).expect("a day") {
        let path = file.expect("a file").path();
        fs::write(path, "damaged").expect("a writable file");
    }
    let outcome = history(&world, &["--format", "json"]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let trend = outcome.json();
    assert_eq!(trend["periods"][0]["recorded_days"], 12);
    assert_eq!(trend["missing"][0]["what"], "1 day without a record");
    assert!(outcome.stderr.contains("gpucost history verify"), "{}", outcome.stderr);
}

#[test]
fn a_night_of_a_clock_a_month_ahead_is_not_recorded_and_does_not_count() {
    let world = recorded();
    let before = history(&world, &["--format", "json"]).json();
    let estate = json!({
        "estate_version": "1", "as_of": "2026-12-20T07:00:00Z",
        "window_start": "2026-12-06T00:00:00Z", "window_end": "2026-12-20T00:00:00Z",
        "accounts": ["111122223333"], "regions": ["us-east-1"], "instances": [],
    });
    let estate = world.estate("estate.json", &estate);
    let nights = world.path("nights");
    let record = format!("--record={nights}");
    for arguments in [
        &["history", "record", &nights, "--from", &estate][..],
        &["audit", "--from", &estate, &record],
    ] {
        let refused = world.run(&[arguments, &["--offline", "--allow-empty"]].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
        assert!(refused.stderr.contains("which is ahead of now"), "{}", refused.stderr);
    }
    // The machine whose clock is ahead takes it.
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let arguments = ["history", "record", &nights, "--from", &estate];
    let arguments = [&arguments[..], &["--offline", "--allow-empty"]].concat();
    let code = cli::main(
        with_program(&arguments),
        &mut Io {
            stdout: &mut stdout,
            stderr: &mut stderr,
            env: Default::default(),
            unreadable: Vec::new(),
            now: "2026-12-20T12:00:00Z".parse().expect("a time stamp"),
            folder: Path::new(&nights).to_owned(),
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            ends_at_signals: false,
        },
    );
    assert_eq!(code, ExitCode::Done, "{}", String::from_utf8_lossy(&stderr));
    let after = history(&world, &["--format", "json"]);
    let warning = "warning: the run 20261220T070000Z-";
    assert!(
        after.stderr.contains(warning) && after.stderr.contains(" and does not count"),
        "{}",
        after.stderr
    );
    assert_eq!(after.json()["periods"], before["periods"]);
}

#[test]
fn a_fleet_that_is_gone_costs_nothing_and_is_not_unknown() {
    let world = World::new();
    let place = world.path("nights");
    let instance = json!({
        "id": "i-0a", "account": "111122223333", "region": "us-east-1",
        "instance_type": "g5.xlarge", "state": "running",
        "launch_time": "2026-09-01T00:00:00Z", "tags": {},
    });
    for (as_of, start, end, instances) in [
        ("2026-11-01T07", "2026-10-18", "2026-11-01", vec![instance]),
        ("2026-11-04T07", "2026-10-21", "2026-11-04", Vec::new()),
    ] {
        let estate = json!({
            "estate_version": "1",
            "as_of": format!("{as_of}:00:00Z"),
            "window_start": format!("{start}T00:00:00Z"),
            "window_end": format!("{end}T00:00:00Z"),
            "accounts": ["111122223333"],
            "regions": ["us-east-1"],
            "instances": instances,
        });
        let estate = world.estate("estate.json", &estate);
        let arguments = ["history", "record", &place, "--from", &estate, "--offline"];
        let outcome = world.run(&[&arguments[..], &["--allow-empty"]].concat());
        assert!(outcome.stdout.starts_with("recorded "), "{}", outcome.all());
    }
    let outcome = history(&world, &["--forecast", "month", "--format", "json"]);
    let trend = outcome.json();
    let periods = trend["periods"].as_array().expect("a list");
    let months: Vec<_> = periods
        .iter()
        .map(|period| (period["recorded_days"].clone(), cents(&period["spend"])))
        .collect();
    // 14 days of 24 hours at $1.006, and three on which nothing ran.
    assert_eq!(months, [(json!(14), 33_802), (json!(3), 0)]);
    let steps = trend["steps"].as_array().expect("a list");
    let total = steps.iter().find(|step| step["name"] == "total");
    assert_eq!(total.map(|step| cents(&step["result"])), Some(0));
}

#[test]
fn what_is_not_there_is_said() {
    let world = World::new();
    for (arguments, says) in [
        (&["history", "--history", "nowhere"][..], "is not a directory"),
        (&["history", "--anomaly-percent", "-1"], "--anomaly-percent"),
        (&["history", "--since", "soon"], "such as 2026-10-01"),
    ] {
        let outcome = world.run(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}");
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    }
    let world = recorded();
    let outcome = history(&world, &["--since", "2030-01-01"]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    let units = world.file("units.csv", "date,name,unit,count\n2026-10-20,no-such-job,jobs,1\n");
    let outcome = history(&world, &["--units", &units]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("`no-such-job`"), "{}", outcome.stderr);
}

#[test]
fn a_forecast_over_a_history_that_is_not_whole_passes_nothing() {
    let policy = "[[budget]]\nbasis = \"forecast\"\nmonthly_limit = 1_000_000_000\n";
    type Damage = fn(&std::path::Path);
    let gone: Damage = |path| fs::remove_file(path).expect("a file");
    let damages: [(&str, &str, Damage); 5] = [
        ("cost", "text", |path| fs::write(path, "damaged").expect("a writable file")),
        ("cost", "empty", |path| fs::write(path, "").expect("a writable file")),
        ("cost", "cut", |path| {
            let bytes = fs::read(path).expect("a readable file");
            fs::write(path, &bytes[..bytes.len() / 2]).expect("a writable file");
        }),
        ("cost", "gone", gone),
        ("run", "gone", gone),
    ];
    for (table, what, damage) in damages {
        let world = recorded();
        world.file("gpucost-policy.toml", policy);
        let nights = world.path("nights");
        let days = files_of(&nights, table);
        damage(&days[days.len() / 2]);
        for more in [&[][..], &["-q"], &["--strict"]] {
            let check = ["check", "--demo", "--recorded-audits", &nights];
            let outcome = world.run(&[&check[..], more].concat());
            assert_eq!(outcome.code, 3, "{table} {what} {more:?}: {}", outcome.stderr);
        }
    }
}

fn files_of(nights: &str, table: &str) -> Vec<std::path::PathBuf> {
    let folder = std::path::Path::new(nights).join("v1").join(table);
    let days = fs::read_dir(folder).expect("days");
    let files = days.flat_map(|day| fs::read_dir(day.expect("a day").path()).expect("files"));
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files
}

#[test]
fn a_forecast_budget_without_recorded_days_is_incomplete() {
    let world = World::new();
    let policy = "[[budget]]\nbasis = \"forecast\"\nmonthly_limit = 1_000_000_000\n";
    world.file("gpucost-policy.toml", policy);
    let outcome = world.run(&["check", "--demo", "--format", "json"]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let report = outcome.json();
    assert_eq!(report["checks"][0]["rule"], "policy/budget-forecast");
    assert_eq!(report["checks"][0]["outcome"], json!("incomplete"));
    assert!(outcome.stdout.contains("no recorded days were read"));
    // With those of one run, which saw 14 days, beside an estate that is a file.
    let world = recorded();
    world.file("gpucost-policy.toml", policy);
    let nights = world.path("nights");
    let check = ["check", "--demo", "--recorded-audits", &nights, "--format", "json"];
    let outcome = world.run(&check);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(outcome.json()["checks"][0]["outcome"], json!("passed"));
    world.file("gpucost-policy.toml", policy.replace("1_000_000_000", "1"));
    let outcome = world.run(&check);
    let step = format!("`gpucost history --history {nights} --forecast month` shows");
    let steps = &outcome.json()["violations"][0]["steps"];
    let first = steps[0].as_str().expect("a step");
    assert!(first.starts_with(&step), "{first}");
}
