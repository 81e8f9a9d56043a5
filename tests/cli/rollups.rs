//! `--rollups`: an audit of what an archive was rolled up to, beside one of the points.

use crate::cli::world::{Outcome, World};
use crate::engines::fleet::{ACCOUNT, DAYS, Fleet, REGION, date};
use gpucost::report::archive_sql::ASKED;
use gpucost::sources::files::ROLLED_UP;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn audited(world: &World, estate: &Value, history: &str, more: &[&str]) -> Outcome {
    let inventory = world.estate("inventory.json", estate);
    let mut arguments = vec!["audit", "--from", &inventory, "--rollups", history];
    arguments.extend(["--format", "json"]);
    arguments.extend(more);
    world.run(&arguments)
}

/// The gaps about roll-ups, each with where it is and its reason.
fn gaps(outcome: &Outcome) -> Vec<(String, String)> {
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let report = outcome.json();
    let gaps = report["gaps"].as_array().expect("a list").iter();
    let own = gaps.filter(|gap| gap["what"] == "metrics");
    let text = |gap: &Value, key: &str| gap[key].as_str().expect("text").to_owned();
    own.map(|gap| (text(gap, "where"), text(gap, "reason"))).collect()
}

/// The file of a table and day; there is one.
fn file_of(history: &str, table: &str, day: i64) -> PathBuf {
    let folder = Path::new(history).join(format!("v1/{table}/dt={}", date(day)));
    let mut files = fs::read_dir(folder).expect("a folder");
    let only = files.next().expect("a file").expect("an entry").path();
    assert!(files.next().is_none());
    only
}

#[test]
fn the_layout_and_its_statements_have_one_name_for_a_roll_up() {
    assert_eq!(ASKED, ROLLED_UP);
}

#[test]
fn an_audit_of_roll_ups_is_that_of_the_points() {
    let fleet = Fleet::new(11);
    // With and without the account and region of the inventory.
    for (account, region) in [(ACCOUNT, REGION), (ACCOUNT, ""), ("", REGION), ("", "")] {
        let world = World::new();
        let history = world.path("history");
        fleet.keep(Path::new(&history), 0..DAYS, account, region);
        let outcome = audited(&world, &fleet.inventory(), &history, &[]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let expected = world.audit(&fleet.estate());
        assert_eq!(outcome.json(), expected, "{account}/{region}");
        // It says something: what was never used is known to be.
        let workloads = expected["workloads"].as_array().expect("a list").iter();
        let members = workloads.filter_map(|workload| workload["members"].as_array()).flatten();
        let measured = members.filter(|member| member["confidence"] == "measured");
        let measured: Vec<&str> = measured.filter_map(|member| member["id"].as_str()).collect();
        assert!(measured.contains(&"i-0bbb") && measured.contains(&"i-0ccc"), "{measured:?}");
    }
}

#[test]
fn the_window_is_that_of_the_days() {
    let (world, fleet) = (World::new(), Fleet::new(12));
    let history = world.path("history");
    fleet.keep(Path::new(&history), 1..DAYS - 1, "", "");
    let outcome = audited(&world, &fleet.inventory(), &history, &[]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    // The estate of the same points, in a window of the same days.
    let mut estate = fleet.estate();
    estate["window_start"] = json!(format!("{}T00:00:00Z", date(1)));
    estate["window_end"] = json!(format!("{}T00:00:00Z", date(DAYS - 1)));
    for series in estate["metrics"].as_array_mut().expect("a list") {
        let stamps = series["timestamps"].as_array().expect("a list").clone();
        let values = series["values"].as_array().expect("a list").clone();
        let seconds = 1_793_491_200 + 86_400..1_793_491_200 + (DAYS - 1) * 86_400;
        let own = stamps.into_iter().zip(values);
        let own = own.filter(|(stamp, _)| seconds.contains(&stamp.as_i64().expect("a number")));
        let (stamps, values): (Vec<Value>, Vec<Value>) = own.unzip();
        series["timestamps"] = Value::Array(stamps);
        series["values"] = Value::Array(values);
    }
    assert_eq!(outcome.json(), world.audit(&estate));
}

#[test]
fn what_an_estate_measured_itself_stays() {
    let (world, fleet) = (World::new(), Fleet::new(13));
    let history = world.path("history");
    // Another fleet's points under the same names: they count where the estate has none.
    Fleet::new(99).keep(Path::new(&history), 0..DAYS, "", "");
    let whole = audited(&world, &fleet.estate(), &history, &[]);
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    assert_eq!(whole.json(), world.audit(&fleet.estate()));
    // CPU of the estate, and everything else of the roll-ups.
    let history = world.path("own");
    fleet.keep(Path::new(&history), 0..DAYS, "", "");
    let mut of_cpu = fleet.estate();
    let metrics = of_cpu["metrics"].as_array_mut().expect("a list");
    metrics.retain(|series| series["metric"] == "cpu_utilization");
    assert!(!metrics.is_empty());
    let outcome = audited(&world, &of_cpu, &history, &[]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(outcome.json(), world.audit(&fleet.estate()));
}

#[test]
fn a_day_that_is_missing_or_damaged_is_a_gap() {
    let fleet = Fleet::new(14);
    let damage = |path: &Path| {
        let bytes = fs::read(path).expect("readable");
        fs::write(path, &bytes[..bytes.len() / 2]).expect("writable");
    };
    for table in ["usage_run", "usage_asked", "usage_hist"] {
        let world = World::new();
        let history = world.path("history");
        fleet.keep(Path::new(&history), 0..DAYS, "", "");
        let path = file_of(&history, table, 3);
        damage(&path);
        let outcome = audited(&world, &fleet.inventory(), &history, &[]);
        let named = gaps(&outcome);
        let [(file, reason), (region, days)] = &named[..] else {
            panic!("{table}: {named:?}");
        };
        assert_eq!((file.as_str(), region.as_str()), ("roll-ups", REGION));
        assert!(reason.contains(&path.display().to_string()), "{reason}");
        let expected = "1 day has no roll-up, the first from 2026-11-04T00:00:00Z";
        assert_eq!(days, expected, "{table}");
        let strict = audited(&world, &fleet.inventory(), &history, &["--strict"]);
        assert_eq!(strict.code, 3, "{table}");

        // Another roll-up of the day is as good as the first one.
        fleet.keep(Path::new(&history), 3..4, "", "");
        let again = audited(&world, &fleet.inventory(), &history, &[]);
        assert_eq!(gaps(&again).len(), 1, "{table}: the damaged file is still named");
        let mut report = again.json();
        let expected = world.audit(&fleet.estate());
        report["gaps"] = expected["gaps"].clone();
        assert_eq!(report, expected, "{table}");
    }
    let world = World::new();
    let history = world.path("history");
    fleet.keep(Path::new(&history), 0..2, "", "");
    fleet.keep(Path::new(&history), 4..DAYS, "", "");
    let outcome = audited(&world, &fleet.inventory(), &history, &[]);
    let days = "2 days have no roll-up, the first from 2026-11-03T00:00:00Z";
    assert_eq!(gaps(&outcome), [(REGION.to_owned(), days.to_owned())]);
}

#[test]
fn machines_that_the_inventory_does_not_have_are_named() {
    let (world, fleet) = (World::new(), Fleet::new(15));
    let history = world.path("history");
    fleet.keep(Path::new(&history), 0..DAYS, "", "");
    let mut inventory = fleet.inventory();
    let machines = inventory["instances"].as_array_mut().expect("a list");
    machines.retain(|machine| machine["id"] != "i-0ccc" && machine["id"] != "i-0ddd");
    let outcome = audited(&world, &inventory, &history, &[]);
    let words = "2 instances are not in the inventory, such as i-0ccc; omitted";
    assert_eq!(gaps(&outcome), [("roll-ups".to_owned(), words.to_owned())]);
    // Masked where names are.
    let masked = audited(&world, &inventory, &history, &["--redact"]);
    assert_eq!(masked.code, 0, "{}", masked.stderr);
    assert!(!masked.stdout.contains("i-0ccc"), "{}", masked.stdout);
}

#[test]
fn a_place_without_roll_ups_of_the_fleet_is_named() {
    let (world, fleet) = (World::new(), Fleet::new(16));
    let history = world.path("history");
    fleet.keep(Path::new(&history), 0..2, "999988887777", REGION);
    let outcome = audited(&world, &fleet.inventory(), &history, &[]);
    let words = "no instance of the inventory has a roll-up of a whole day of the window; 2 runs \
                 are of another account or region";
    assert_eq!(gaps(&outcome), [("roll-ups".to_owned(), words.to_owned())]);
    // A directory that is not there is not made.
    let absent = world.path("absent");
    let outcome = audited(&world, &fleet.inventory(), &absent, &[]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("is not a directory"), "{}", outcome.stderr);
    assert!(!Path::new(&absent).exists());
    // One that is empty has none.
    let empty = world.path("empty");
    fs::create_dir(&empty).expect("writable");
    let outcome = audited(&world, &fleet.inventory(), &empty, &[]);
    assert_eq!(gaps(&outcome).len(), 1);
    assert_eq!(fs::read_dir(&empty).expect("a folder").count(), 0);
}

#[test]
fn flags_that_roll_ups_cannot_serve_are_refused() {
    let (world, fleet) = (World::new(), Fleet::new(17));
    let history = world.path("history");
    fleet.keep(Path::new(&history), 0..1, "", "");
    for flags in [
        &["audit", "--demo", "--rollups", &history][..],
        &["audit", "--rollups", &history, "--save", "estate.json"],
        &["audit", "--rollups", &history, "--resolution", "auto"],
    ] {
        let outcome = world.run(flags);
        assert_eq!(outcome.code, 2, "{flags:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("--rollups"), "{}", outcome.stderr);
    }
    // Points by the hour are in other periods.
    let mut hourly = fleet.estate();
    hourly["period_seconds"] = json!(3_600);
    let metrics = hourly["metrics"].as_array_mut().expect("a list");
    metrics.retain(|series| series["period_seconds"] == 3_600);
    let outcome = audited(&world, &hourly, &history, &[]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    let words = "roll-ups have periods of 300 s from midnight of UTC, and the estate has others";
    assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
}

#[test]
fn tables_of_others_are_imported_whole() {
    let (world, fleet) = (World::new(), Fleet::new(18));
    let (first, second) = (world.path("first"), world.path("second"));
    fleet.keep(Path::new(&first), 0..3, ACCOUNT, REGION);
    // Below their version, the tables of a history have the form of those of an engine.
    let tables = format!("{first}/v1");
    let run = |input: &str| world.run(&["history", "import", "--input", input, "--out", &second]);
    let outcome = run(&tables);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let expected = "imported 3 days (2026-11-01 to 2026-11-03) of 6 instances, ";
    assert!(outcome.stdout.starts_with(expected), "{}", outcome.stdout);
    for table in ["usage_asked", "usage_series", "usage_grid", "usage_hist"] {
        let bytes = |history: &str| fs::read(file_of(history, table, 1)).expect("a table");
        assert_eq!(bytes(&first), bytes(&second), "{table}");
    }
    // The same again is the same run, and another directory has none.
    assert_eq!(run(&tables).code, 0);
    file_of(&second, "usage_run", 0);
    let absent = world.path("absent");
    for (input, words) in [
        (first.as_str(), "it has no files of the form usage_asked/dt="),
        (absent.as_str(), "is not a directory"),
    ] {
        let outcome = run(input);
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}
