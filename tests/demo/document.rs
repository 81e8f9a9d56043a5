//! The committed document.

use super::DEMO;
use flate2::read::GzDecoder;
use gpucost::domain::EstateSource;
use gpucost::sources::files::{demo_estate, parse_estate, write_estate};
use std::io::Read;

const COMMITTED: &[u8] = include_bytes!("../../fixtures/demo/estate.json.gz");

fn committed_text() -> String {
    let mut text = String::new();
    GzDecoder::new(COMMITTED)
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
fn the_committed_document_is_what_the_generator_makes() {
    let mut generated = Vec::new();
    write_estate(&DEMO, &mut generated).expect("memory takes everything");
    let generated = String::from_utf8(generated).expect("an estate is UTF-8");
    // Not `assert_eq!`: a difference would print megabytes.
    assert!(
        without_version(&committed_text()) == without_version(&generated),
        "fixtures/demo/estate.json.gz is stale: cargo run --example generate_demo"
    );
}

#[test]
fn reading_it_gives_the_generated_estate() {
    let read = parse_estate(committed_text().as_bytes()).expect("a complete estate");
    assert!(read == *DEMO, "writing and reading changed the estate");
    let bundled = demo_estate().expect("the bundled estate is complete");
    assert!(bundled == *DEMO, "the binary carries another estate");
    assert_eq!(bundled.source, EstateSource::Demo);
}

#[test]
fn it_is_small_and_carries_neither_time_nor_name() {
    assert!(COMMITTED.len() < 900_000, "{} bytes", COMMITTED.len());
    // RFC 1952: flags in byte 3, modification time in bytes 4 to 7.
    assert_eq!(COMMITTED[3], 0, "flags: no file name, no comment");
    assert_eq!(COMMITTED[4..8], [0; 4], "modification time");
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
