//! Commitments in an estate, and those of a payer account in a file of their
//! own: read, written, masked, and refused with the place of what is wrong.

use crate::cli::estates::one;
use crate::cli::world::World;
use gpucost::sources::files::{Keep, read_commitments, read_estate};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The list that docs/estate.md shows.
fn example() -> Value {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/estate.md");
    let page = fs::read_to_string(page).expect("a page");
    let (_, section) = page.split_once("### `commitments`").expect("a section");
    let (_, rest) = section.split_once("```json\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    serde_json::from_str(example).expect("JSON")
}

/// What a run leaves in the estate that it saves.
fn saved(world: &World, arguments: &[&str]) -> Value {
    let path = world.path("saved.json");
    let arguments = [&["inventory", "--save", &path], arguments].concat();
    let outcome = world.run(&arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let text = fs::read_to_string(&path).expect("it was saved");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn an_estate_keeps_them_and_states_every_default() {
    let world = World::new();
    let mut estate = one();
    estate["commitments"] = example();
    let path = world.estate("estate.json", &estate);
    let first = saved(&world, &["--from", &path])["commitments"].clone();
    assert_eq!(
        first[0],
        json!({
            "kind": "reserved-instances",
            "id": "4fa7bd2e-4a5c-4b8e-9d7e-2f1c0a9b8d11",
            "region": "us-east-1",
            "instance_type": "p4d.24xlarge",
            "operating_system": "linux",
            "tenancy": "shared",
            "count": 2,
            "class": "standard",
            "payment": "no-upfront",
            "start": "2026-02-01T00:00:00Z",
            "end": "2027-02-01T00:00:00Z",
            "currency": "USD",
            "upfront": "0",
            "recurring_hourly": "13.921094",
        })
    );
    assert_eq!(first[1]["plan"], "ec2-instance");
    assert_eq!(first[2]["capacity_block"], false);
    estate["commitments"] = first.clone();
    let again = world.estate("again.json", &estate);
    assert_eq!(saved(&world, &["--from", &again])["commitments"], first);
}

#[test]
fn a_file_adds_and_replaces_and_is_recorded() {
    let world = World::new();
    let mut estate = one();
    let mut mine = example();
    mine[0]["count"] = json!(7);
    mine.as_array_mut().expect("a list").truncate(1);
    estate["commitments"] = mine;
    let path = world.estate("estate.json", &estate);
    let file = world.file("payer.json", example().to_string());
    let recorded = saved(&world, &["--from", &path, "--commitments", &file]);
    let commitments = recorded["commitments"].as_array().expect("a list").clone();
    let ids: Vec<&Value> = commitments.iter().map(|commitment| &commitment["kind"]).collect();
    assert_eq!(ids, ["reserved-instances", "savings-plan", "capacity-reservation"]);
    assert_eq!(commitments[0]["count"], 2, "the file's");
}

#[test]
fn regions_out_of_scope_go_and_plans_for_everywhere_stay() {
    let world = World::new();
    let mut estate = one();
    let mut commitments = example();
    commitments[2]["region"] = json!("eu-west-1");
    let mut compute = commitments[1].clone();
    compute["id"] = json!("everywhere");
    compute["plan"] = json!("compute");
    for key in ["region", "family"] {
        compute.as_object_mut().expect("an object").remove(key);
    }
    commitments.as_array_mut().expect("a list").push(compute);
    estate["commitments"] = commitments;
    let path = world.estate("estate.json", &estate);
    let recorded = saved(&world, &["--from", &path, "--region", "us-east-1"]);
    let kept: Vec<&str> = recorded["commitments"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|commitment| commitment["plan"].as_str().unwrap_or("no plan"))
        .collect();
    assert_eq!(kept, ["no plan", "ec2-instance", "compute"]);
}

#[test]
fn their_ids_are_masked_and_what_runs_in_one_still_does() {
    let world = World::new();
    let mut estate = one();
    let mut commitments = example();
    commitments[0]["id"] = json!("arn:aws:ec2:us-east-1:444455556666:reserved-instances/mallory");
    estate["commitments"] = commitments;
    estate["instances"][0]["capacity_reservation_id"] = json!("cr-0123456789abcdef0");
    let path = world.estate("estate.json", &estate);
    let recorded = saved(&world, &["--from", &path, "--redact"]);
    let text = recorded.to_string();
    for secret in ["444455556666", "mallory", "cr-0123", "0c5b1f9e"] {
        assert!(!text.contains(secret), "{secret}");
    }
    let masked = &recorded["commitments"][2]["id"];
    assert_eq!(masked, "commitment-000003");
    assert_eq!(
        &recorded["instances"][0]["capacity_reservation_id"], masked,
        "it runs in that reservation"
    );
    assert_eq!(recorded["commitments"][0]["id"], "commitment-000002");
}

/// A change to the list, and the words about it.
type InvalidValue = (fn(&mut Value), &'static str);

const SLIPS: &[InvalidValue] = &[
    (|commitments| commitments[0]["kind"] = json!("gift"), "unknown variant `gift`, expected "),
    (|commitments| commitments[0]["colour"] = json!("red"), "unknown field `colour`, expected "),
    (
        |commitments| commitments[0]["count"] = json!("two"),
        "invalid type: string \"two\", expected",
    ),
    (|commitments| commitments[0]["count"] = json!(0), "`count` of 4fa7bd2e"),
    (
        |commitments| commitments[0]["class"] = json!("first"),
        "`first` is not a known offering class",
    ),
    (|commitments| commitments[0]["payment"] = json!("later"), "`later` is not a known payment"),
    (
        |commitments| commitments[0]["end"] = json!("2026-01-01T00:00:00Z"),
        "is not after its `start`",
    ),
    (|commitments| commitments[0]["start"] = json!("soon"), "`soon` is not an RFC 3339 time"),
    (|commitments| commitments[0]["upfront"] = json!("-1"), "`upfront`: `-1` is negative"),
    (|commitments| commitments[0]["currency"] = json!("XAU"), "`XAU` is not a known currency"),
    (
        |commitments| commitments[1]["commitment_hourly"] = json!("79228162514264337593543950335"),
        "`commitment_hourly` is not between 0 and 1000000",
    ),
    (|commitments| commitments[1]["term"] = json!("2yr-no-upfront"), "is not a known term"),
    (|commitments| commitments[1]["family"] = Value::Null, "needs `region` and `family`"),
    (|commitments| commitments[2]["available"] = json!(5), "more than its total of 4"),
    (|commitments| commitments[2]["id"] = commitments[1]["id"].clone(), "duplicate commitment"),
    (
        |commitments| {
            commitments[2].as_object_mut().expect("an object").remove("zone");
        },
        "missing field `zone`",
    ),
];

#[test]
fn slips_are_named_in_the_file_and_in_the_estate() {
    let world = World::new();
    for (invalid, words) in SLIPS {
        let mut commitments = example();
        invalid(&mut commitments);
        let file = world.file("payer.json", commitments.to_string());
        let outcome = world.run(&["audit", "--demo", "--commitments", &file]);
        assert_eq!(outcome.code, 2, "{words}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty());
        assert!(outcome.stderr.contains(words), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("invalid commitments file "), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("hint: see docs/estate.md for the fields of each commitment"),
            "{}",
            outcome.stderr
        );
        let mut estate = one();
        estate["commitments"] = commitments;
        let path = world.estate("estate.json", &estate);
        let outcome = world.run(&["audit", "--from", &path]);
        assert_eq!(outcome.code, 2, "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("at `commitments"), "{}", outcome.stderr);
    }
}

#[test]
fn a_file_that_is_not_there_ends_early_or_is_something_else() {
    let world = World::new();
    let run = |path: &str| {
        let outcome = world.run(&["audit", "--demo", "--commitments", path]);
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        outcome.stderr
    };
    let missing = run(&world.path("nowhere.json"));
    assert!(missing.contains("error: cannot read the commitments file"), "{missing}");
    assert!(missing.contains("check the path passed to `--commitments`"), "{missing}");
    let half = run(&world.file("half.json", "[{\"kind\": "));
    assert!(half.contains("is not a complete list of commitments"), "{half}");
    let other = run(&world.file("other.json", "{\"commitments\": []}"));
    assert!(other.contains("invalid type: map, expected a list"), "{other}");
}

#[test]
fn every_piece_of_a_list_is_read_or_refused_never_a_panic() {
    let world = World::new();
    let whole = example().to_string();
    for end in (0..whole.len()).step_by(7) {
        let path = world.file("piece.json", &whole[..end]);
        assert!(read_commitments(Path::new(&path)).is_err(), "{end}");
    }
    let path = world.file("whole.json", &whole);
    let commitments = read_commitments(Path::new(&path)).expect("it is whole");
    assert_eq!(commitments.ids().count(), 3);
    let mut estate = one();
    estate["commitments"] = example();
    let path = world.estate("estate.json", &estate);
    let read = read_estate(Path::new(&path), Keep::Points).expect("an estate");
    assert_eq!(read.commitments, commitments);
}
