//! A price cache that cannot be read: prices are refused rather than taken from
//! half of it, and the bundled catalog stays at hand.

use crate::cli::json_schemas::assert_described;
use crate::cli::world::World;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;

const FILE: &str = "prices.json.gz";

fn world() -> World {
    let mut world = World::new();
    let folder = world.path("");
    world.set("GPUCOST_CACHE_DIR", &folder);
    world
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}

/// A cache with one price, above the bundled one of 1.006.
fn cache(seen_on: &str) -> Value {
    json!({
        "estate_version": "1",
        "as_of": "2026-11-10T00:00:00Z",
        "period_seconds": 300,
        "source": "aws",
        "regions": ["us-east-1"],
        "instances": [],
        "metrics": [],
        "prices": [{
            "region": "us-east-1",
            "instance_type": "g5.xlarge",
            "operating_system": "linux",
            "tenancy": "shared",
            "option": "on-demand",
            "hourly": "1.25",
            "currency": "USD",
            "origin": "api",
            "effective_date": seen_on,
            "source": "AWS Price List"
        }],
    })
}

fn price(world: &World, more: &[&str]) -> Value {
    let outcome = world.run(&[&["pricing", "g5.xlarge", "--format", "json"], more].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let offer = &outcome.json()["prices"][0];
    json!([offer["on_demand_hourly"], offer["origin"]])
}

/// What is in the cache's place is refused by what needs it, says why, and is not
/// in the way of the bundled catalog.
fn assert_unreadable(world: &World, says: &str) {
    for command in [
        &["pricing", "g5.xlarge", "--format", "json"][..],
        &["pricing", "--gpu", "H100"],
        &["pricing", "status"],
        &["pricing", "status", "--format", "json"],
    ] {
        let outcome = world.run(command);
        let stderr = &outcome.stderr;
        assert_eq!(outcome.code, 2, "{command:?}: {stderr}");
        assert_eq!(outcome.stdout, "", "{command:?}");
        assert!(stderr.starts_with("error: "), "{command:?}: {stderr}");
        assert!(stderr.contains(FILE), "{command:?}: {stderr}");
        assert!(stderr.contains(says), "{command:?}: {stderr}");
        let hint = stderr.lines().find(|line| line.starts_with("hint: "));
        let hint = hint.unwrap_or_else(|| panic!("{command:?}: {stderr}"));
        assert!(hint.contains("`gpucost pricing refresh`"), "{hint}");
    }
    assert_eq!(price(world, &["--offline"]), json!([1.006, "bundled"]));
}

#[test]
fn a_cache_that_is_newer_than_the_book_is_preferred() {
    let world = world();
    assert_eq!(price(&world, &[]), json!([1.006, "bundled"]));
    world.file(FILE, packed(&cache("2026-11-10").to_string()));
    assert_eq!(price(&world, &[]), json!([1.25, "cache"]));
    assert_eq!(price(&world, &["--offline"]), json!([1.006, "bundled"]));
    // The catalog is of 2026-07-20.
    world.file(FILE, packed(&cache("2026-07-19").to_string()));
    assert_eq!(price(&world, &[]), json!([1.006, "bundled"]));
}

#[test]
fn a_cache_of_a_newer_program_is_refused() {
    let world = world();
    let mut newer = cache("2026-11-10");
    newer["estate_version"] = json!("2");
    world.file(FILE, packed(&newer.to_string()));
    assert_unreadable(&world, "has estate version 2; this program reads version 1");
}

#[test]
fn a_cache_that_ends_early_is_refused() {
    let world = world();
    let whole = packed(&cache("2026-11-10").to_string());
    for length in [0, 1, 12, whole.len() / 2, whole.len() - 9] {
        world.file(FILE, &whole[..length]);
        assert_unreadable(&world, "is not a complete estate");
    }
}

#[test]
fn garbage_is_refused() {
    let world = world();
    for garbage in [&b"not a cache\n"[..], b"\x1f\x8bgarbage", b"\0\0\0\0", b"[]"] {
        world.file(FILE, garbage);
        assert_unreadable(&world, "  caused by: ");
    }
}

#[test]
fn a_wrong_price_in_a_cache_is_named_by_its_key() {
    let world = world();
    for (hourly, currency) in [("0", "USD"), ("-1.25", "USD"), ("1.25", "XXX")] {
        let mut wrong = cache("2026-11-10");
        wrong["prices"][0]["hourly"] = json!(hourly);
        wrong["prices"][0]["currency"] = json!(currency);
        world.file(FILE, packed(&wrong.to_string()));
        let says = format!("invalid estate {} at `prices", world.path(FILE));
        assert_unreadable(&world, &says);
    }
}

#[test]
fn a_folder_in_its_place_is_refused() {
    let world = world();
    std::fs::create_dir(world.path(FILE)).expect("a folder");
    assert_unreadable(&world, "\n  caused by: ");
    // A recorded estate has its own prices.
    let demo = world.run(&["audit", "--demo"]);
    assert_eq!(demo.code, 0, "{}", demo.stderr);
}

#[test]
fn status_says_that_there_is_no_cache_yet() {
    let world = world();
    let status = world.run(&["pricing", "status", "--format", "json"]);
    assert_eq!(status.code, 0, "{}", status.stderr);
    assert_eq!(status.json()["cache"], Value::Null);
    world.file(FILE, packed(&cache("2026-11-10").to_string()));
    let status = world.run(&["pricing", "status", "--format", "json"]).json();
    assert_described("pricing-status", &status);
    assert_eq!(status["cache"]["refreshed_at"], "2026-11-10T00:00:00Z");
    assert_eq!(status["cache"]["age_days"], 10);
    assert_eq!(status["lists"][0]["origin"], "cache");
}
