//! `gpucost history record` and `verify`, and `audit --record`.

use crate::cli::installed::installed;
use crate::cli::pages::{assert_shows, blocks, page};
use crate::cli::process::run_in;
use crate::cli::world::{Outcome, World};
use crate::support::skip::skip;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Days of the demo that had been over for six hours at the end of October: all but the last.
const DAYS: usize = 13;
/// A table for each day, one of actions, one of hours, and the file of the run.
const FILES: usize = DAYS + 3;
/// Prints the rows of each statement, or ends with 77 where DuckDB is not installed.
const STATEMENTS: &str = r"
import json, sys
try:
    import duckdb
except ImportError:
    sys.exit(77)
connection = duckdb.connect()
rows = [connection.execute(one).fetchall() for one in sys.argv[1:]]
print(json.dumps(rows, default=str))
";

/// A world with the demo recorded in its directory `nights`, and what that said.
fn recorded() -> (World, Outcome) {
    let world = World::new();
    let outcome = on(&world, &["record"], &["--demo"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    (world, outcome)
}

/// Runs an action on the directory `nights`.
fn on(world: &World, action: &[&str], arguments: &[&str]) -> Outcome {
    let place = world.path("nights");
    world.run(&[&["history"][..], action, &[place.as_str()], arguments].concat())
}

/// The files of the directory `nights` by their names below it.
fn files(world: &World) -> BTreeMap<String, Vec<u8>> {
    let top = PathBuf::from(world.path("nights"));
    let mut files = BTreeMap::new();
    let mut folders = vec![top.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&top).expect("it is below");
            let name = name.to_str().expect("UTF-8").to_owned();
            files.insert(name, fs::read(&path).expect("a file"));
        }
    }
    files
}

/// The names of the files of a table.
fn names(files: &BTreeMap<String, Vec<u8>>, table: &str) -> Vec<String> {
    let own = format!("v1/{table}/");
    let names = files.keys().filter(|name| name.starts_with(&own));
    names.cloned().collect()
}

#[test]
fn an_audit_is_kept_once() {
    let (world, first) = recorded();
    let place = world.path("nights");
    let kept = files(&world);
    assert_eq!(kept.len(), FILES, "{:?}", kept.keys());
    let runs = names(&kept, "run");
    let [run] = &runs[..] else {
        panic!("several runs: {runs:?}");
    };
    let id = run.strip_prefix("v1/run/dt=2026-11-01/");
    let id = id.and_then(|id| id.strip_suffix(".json")).expect("a name");
    assert!(id.starts_with("20261101T000000Z-"), "{id}");
    let costs: Vec<String> =
        (18..=30).map(|day| format!("v1/cost/dt=2026-10-{day}/{id}.parquet")).collect();
    assert_eq!(names(&kept, "cost"), costs);
    let action = format!("v1/action/dt=2026-11-01/{id}.parquet");
    assert_eq!(names(&kept, "action"), [action]);
    let hour = format!("v1/hour/dt=2026-11-01/{id}.parquet");
    assert_eq!(names(&kept, "hour"), [hour]);
    let said = "recorded 13 days (2026-10-18 to 2026-10-30) and ";
    assert!(first.stdout.starts_with(said), "{}", first.stdout);
    let end = format!(" as {id} in {place}\n");
    assert!(first.stdout.ends_with(&end), "{}", first.stdout);

    let second = on(&world, &["record"], &["--demo"]);
    let said = format!("{id} was recorded in {place} before; nothing was changed\n");
    assert_eq!((second.code, second.stdout), (0, said.clone()));
    // An audit keeps the same, beside its report.
    let place = format!("--record={place}");
    let audit = world.run(&["audit", "--demo", &place]);
    assert!(audit.stderr.contains(&said), "{}", audit.stderr);
    let plain = world.run(&["audit", "--demo"]);
    assert_eq!(audit.stdout, plain.stdout);
    assert_eq!(files(&world), kept);
}

#[test]
fn the_file_of_a_run_says_what_its_report_says() {
    let (world, _) = recorded();
    let report = world.run(&["audit", "--demo", "--format", "json"]).json();
    let kept = files(&world);
    let run: Value = serde_json::from_slice(&kept[&names(&kept, "run")[0]]).expect("JSON");
    assert_eq!(run["as_of"], report["as_of"]);
    assert_eq!(run["source"], report["scope"]["source"]);
    assert_eq!(run["accounts"], report["scope"]["accounts"]);
    assert_eq!(run["regions"], report["scope"]["regions"]);
    let (totals, summary) = (&run["totals"], &report["summary"]);
    assert_eq!(totals["instances"], summary["instances"]);
    assert_eq!(totals["gpus"], summary["gpus"]);
    for key in ["monthly_cost", "planned_monthly_cost", "monthly_savings", "monthly_waste"] {
        let exact: f64 = totals[key].as_str().expect("text").parse().expect(key);
        let shown = summary[key].as_f64().expect("a number");
        assert!((exact - shown).abs() < 0.005_001, "{key}: {exact} {shown}");
    }
    let gaps = report["gaps"].as_array().expect("a list").len();
    assert_eq!(run["gaps"], gaps);
    let listed = run["files"].as_object().expect("its tables");
    assert_eq!(listed.len(), FILES - 1);
}

#[test]
fn an_audit_records_where_it_is_told() {
    let world = World::new();
    let place = format!("--record={}", world.path("nights"));
    let outcome = world.run(&["audit", "--demo", &place, "--format", "json", "--quiet"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert_eq!(files(&world).len(), FILES);
    // Another scope is another run: the days of one do not stand for those of the other.
    let place = world.path("nights");
    let tagged = ["history", "record", &place, "--demo", "--tag", "team=research"];
    let outcome = world.run(&tagged);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let kept = files(&world);
    assert_eq!(names(&kept, "run").len(), 2);
    assert_eq!(names(&kept, "cost").len(), 2 * DAYS);
}

#[test]
fn what_is_wrong_with_a_file_is_named() {
    let (world, _) = recorded();
    let place = world.path("nights");
    let whole = on(&world, &["verify"], &["--strict"]);
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    assert!(whole.stdout.starts_with("checked 16 files with "));
    let end = format!(" in {place}\nevery file is as it was written\n");
    assert!(whole.stdout.ends_with(&end), "{}", whole.stdout);

    // What is not of gpucost is named, and is an error on request alone.
    let notes = Path::new(&place).join("v1/notes.txt");
    fs::write(&notes, "mine").expect("a writable folder");
    let outcome = on(&world, &["verify"], &[]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let line = format!("  {}: gpucost writes no such file\n", notes.display());
    assert!(outcome.stdout.contains(&line), "{}", outcome.stdout);
    assert_eq!(on(&world, &["verify"], &["--strict"]).code, 3);

    let kept = files(&world);
    let costs = names(&kept, "cost");
    let path = |name: &str| Path::new(&place).join(name);
    let mut flipped = kept[&costs[2]].clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    fs::write(path(&costs[2]), &flipped).expect("a writable file");
    let short = &kept[&costs[4]][..kept[&costs[4]].len() - 1];
    fs::write(path(&costs[4]), short).expect("a writable file");
    fs::copy(path(&costs[7]), path(&costs[6])).expect("a copy");
    fs::remove_file(path(&costs[8])).expect("a file");
    let outcome = on(&world, &["verify"], &[]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    for (trouble, names) in
        [("3 files damaged: ", [2, 4, 6].as_slice()), ("1 file missing: ", [8].as_slice())]
    {
        let (_, rest) = outcome.stdout.split_once(trouble).expect(trouble);
        let own = rest.split("\n\n").next().expect("its lines");
        assert_eq!(own.lines().count(), 1 + names.len(), "{own}");
        for name in names {
            let path = path(&costs[*name]);
            assert!(own.contains(&format!("  {}: ", path.display())), "{own}");
        }
    }
    let hint = "hint: restore the files from a copy";
    assert!(outcome.stderr.contains(hint), "{}", outcome.stderr);
}

#[test]
fn a_place_that_cannot_be_one_is_an_error() {
    let world = World::new();
    for (arguments, says) in [
        (&["history", "verify"][..], "history is not a directory"),
        (
            &["history", "verify", "https://bucket/nights"],
            "expected a directory, or s3://BUCKET/PREFIX",
        ),
        (&["history", "verify", "s3://"], "a bucket has 3 to 63"),
        (&["history", "verify", "s3://bucket/../x"], "a prefix has at most 512"),
        (&["audit", "--demo", "--record=s3://B"], "a bucket has 3"),
        (
            &["setup", "iam", "--history", "nights"],
            "a history in a directory takes no permissions of AWS",
        ),
    ] {
        let outcome = world.run(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    }
    let plain = world.file("plain", "a file");
    let outcome = world.run(&["history", "record", &plain, "--demo"]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains(&format!("error: {plain}/v1/run: ")));
    assert_eq!(fs::read(&plain).expect("it is there"), b"a file");
}

#[test]
fn the_permissions_of_a_bucket_are_printed_on_request() {
    let world = World::new();
    let outcome = world.run(&["setup", "iam", "--history", "s3://nights/gpu/cost"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let objects = &outcome.json()["Statement"][1]["Resource"];
    assert_eq!(objects, "arn:aws:s3:::nights/gpu/cost/v1/*");
    assert!(!world.run(&["setup", "iam"]).stdout.contains("s3:"));
}

#[test]
fn the_page_shows_what_the_commands_print() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let examples = blocks(&page("history.md"), "text");
    let examples = examples.iter();
    let examples: Vec<&str> = examples.filter_map(|text| text.strip_prefix("$ gpucost ")).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let arguments: Vec<&str> = command.split(' ').collect();
        let output = run_in(folder.path(), &arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {stderr}");
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        assert_shows("docs/history.md", shown, &printed);
    }
}

/// The rows of statements in a folder, in an order of their own; `None` where DuckDB is not
/// installed.
fn rows(folder: &Path, statements: &[String]) -> Option<Vec<Vec<Value>>> {
    let Some(python) = installed("python") else {
        skip("target/test-venv is missing");
        return None;
    };
    let output = Command::new(python)
        .args(["-c", STATEMENTS])
        .args(statements)
        .current_dir(folder)
        .output()
        .expect("Python starts");
    if output.status.code() == Some(77) {
        skip("target/test-venv has no duckdb");
        return None;
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let mut answers: Vec<Vec<Value>> = serde_json::from_slice(&output.stdout).expect("JSON");
    for rows in &mut answers {
        rows.sort_by_key(Value::to_string);
    }
    Some(answers)
}

/// The sum of a column, in cents.
fn cents(rows: &[Value], column: usize) -> f64 {
    let amounts = rows.iter().filter_map(|row| row[column].as_str());
    let sum: f64 = amounts.map(|amount| amount.parse::<f64>().expect("an amount")).sum();
    sum * 100.0
}

#[test]
fn the_statements_of_the_page_give_the_sums_of_the_commands() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let run = |arguments: &[&str]| {
        let output = run_in(folder.path(), arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        output.stdout
    };
    run(&["history", "record", "--demo"]);
    let statements: Vec<String> = blocks(&page("history.md"), "sql")
        .into_iter()
        // What CloudWatch was asked for is not in a demo, and the rest is another dialect.
        .filter(|text| !text.contains("usage_") && !text.contains("external table"))
        .collect();
    assert_eq!(statements.len(), 4);
    let Some(answers) = rows(folder.path(), &statements) else { return };
    let trend: Value =
        serde_json::from_slice(&run(&["history", "--format", "json"])).expect("a document in JSON");
    let periods = trend["periods"].as_array().expect("a list").iter();
    let spend: f64 = periods.map(|period| period["spend"].as_f64().expect("an amount")).sum();
    // The amounts of teams, in the third column after month, team and currency.
    let of_teams = cents(&answers[2], 3);
    assert!((of_teams - spend * 100.0).abs() < 1.0, "{of_teams} {spend}");
    let of_days = cents(&answers[1], 4);
    assert!(of_days > 0.0 && of_days <= of_teams, "{of_days} {of_teams}");
    let report: Value = serde_json::from_slice(&run(&["audit", "--demo", "--format", "json"]))
        .expect("a document in JSON");
    let savings = report["summary"]["monthly_savings"].as_f64();
    let savings = savings.expect("an amount") * 100.0;
    let expected = cents(&answers[3], 4);
    assert!((expected - savings).abs() < 1.0, "{expected} {savings}");
}

#[test]
fn a_later_run_of_a_tag_does_not_replace_one_of_everything_in_sql() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let output = run_in(folder.path(), &["history", "record", "--demo"]);
    assert!(output.status.success());
    let view = blocks(&page("history.md"), "sql").remove(0);
    let sum = "select sum(effective_cost) from cost where day = '2026-10-20'";
    let Some(before) = rows(folder.path(), &[view.clone(), sum.to_owned()]) else { return };
    // The same jobs of a day at half of their cost, by a run that is newer and limited by a tag.
    let id = "20261109T000000Z-00000000000000aa";
    let run = json!({
        "run_id": id,
        "tag_filters": [{"key": "team", "value": "ml", "is_excluded": false}],
    });
    let place = folder.path().join("history/v1/run/dt=2026-11-01");
    let place = place.join(format!("{id}.json"));
    fs::write(place, run.to_string()).expect("a writable folder");
    let day = "history/v1/cost/dt=2026-10-20";
    let copy = format!(
        "copy (select * replace ('{id}' as run_id, effective_cost / 2 as effective_cost) from \
         read_parquet('{day}/*.parquet', hive_partitioning = false)) to '{day}/{id}.parquet'"
    );
    let after = rows(folder.path(), &[copy, view, sum.to_owned()]).expect("it ran before");
    assert!(before[1][0][0].is_string(), "{before:?}");
    assert_eq!(after[2], before[1]);
}
