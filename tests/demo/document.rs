//! The committed documents.

use super::DEMO;
use super::generate_demo::scenarios::{SCENARIOS, Scenario};
use flate2::read::GzDecoder;
use gpucost::domain::EstateSource;
use gpucost::sources::files::{Demo, demo_estate, parse_estate, write_estate};
use std::io::Read;
use std::path::Path;

fn committed(scenario: &Scenario) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    std::fs::read(folder.join(scenario.file())).expect("a committed file")
}

fn committed_text(scenario: &Scenario) -> String {
    let mut text = String::new();
    GzDecoder::new(committed(scenario).as_slice())
        .read_to_string(&mut text)
        .expect("the committed file is gzip of UTF-8");
    text
}

/// The document from `as_of` on: a new version of the program does not make the
/// committed one stale.
fn without_version(document: &str) -> &str {
    let start = document.find("\"as_of\"").expect("an estate has a time");
    &document[start..]
}

#[test]
fn the_committed_documents_are_what_the_generator_makes() {
    for scenario in SCENARIOS {
        let mut generated = Vec::new();
        write_estate(&(scenario.estate)(), &mut generated).expect("memory takes everything");
        let generated = String::from_utf8(generated).expect("an estate is UTF-8");
        // Not `assert_eq!`: a difference would print megabytes.
        assert!(
            without_version(&committed_text(scenario)) == without_version(&generated),
            "fixtures/demo/{} is stale: cargo run --example generate_demo",
            scenario.file()
        );
    }
}

#[test]
fn reading_them_gives_the_generated_estates() {
    for scenario in SCENARIOS {
        let made = (scenario.estate)();
        let read = parse_estate(committed_text(scenario).as_bytes()).expect("a complete estate");
        assert!(read == made, "writing and reading changed the estate");
        let bundled = scenario.demo.estate().expect("it is complete");
        assert!(bundled == made, "the binary carries another estate");
        assert_eq!(bundled.source, EstateSource::Demo);
    }
    assert!(demo_estate().expect("it is complete") == *DEMO);
}

#[test]
fn they_are_small_and_carry_neither_time_nor_name() {
    for scenario in SCENARIOS {
        let document = committed(scenario);
        let most = if scenario.demo == Demo::Starter { 900_000 } else { 400_000 };
        let (file, bytes) = (scenario.file(), document.len());
        assert!(bytes < most, "{file}: {bytes} bytes");
        // RFC 1952: flags in byte 3, modification time in bytes 4 to 7.
        assert_eq!(document[3], 0, "{file}: no file name, no comment");
        assert_eq!(document[4..8], [0; 4], "{file}: no modification time");
    }
}

#[test]
fn the_inventory_is_plausible() {
    let mut ids: Vec<&str> = DEMO.instances.iter().map(|i| i.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 23, "23 instances, each with an id of its own");
    let mut hosts: Vec<_> = DEMO.instances.iter().map(|i| &i.private_dns_name).collect();
    hosts.sort_unstable();
    hosts.dedup();
    assert_eq!(hosts.len(), 23, "each with a host name of its own");
    for instance in &DEMO.instances {
        let digits = instance.id.as_str().strip_prefix("i-").expect("an EC2 id");
        assert_eq!(digits.len(), 17);
        assert!(digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        for key in ["Name", "team", "owner", "env"] {
            assert!(instance.tags.contains_key(key), "{} {key}", instance.id);
        }
        assert!(instance.first_seen() < DEMO.window.start);
    }
    assert!(DEMO.prices.iter().next().is_none());
    assert!(DEMO.shapes.is_empty());
}
