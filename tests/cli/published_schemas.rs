//! The schemas that `gpucost setup schema` prints: those of `docs/schema`, each with what it describes;
//! those of prices and settings against the program itself.

use crate::cli::contract::DEMO;
use crate::cli::estates::one;
use crate::cli::json_schemas::{assert_holds, closed, schema, validator};
use crate::cli::pages::{assert_shows, blocks, page};
use crate::cli::world::World;
use gpucost::config::parse_policy;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Files of `docs/schema`, ascending.
fn files() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| {
            let name = entry.expect("a readable entry").file_name();
            name.into_string().expect("UTF-8")
        })
        .collect()
}

#[test]
fn every_schema_is_printed_by_its_name() {
    let world = World::new();
    let listed = world.run(&["setup", "schema"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (0, ""));
    let names: Vec<&str> = listed
        .stdout
        .lines()
        .map(|line| line.split_once("  ").expect("a name and what it is").0)
        .collect();
    let of_files: BTreeSet<String> =
        names.iter().map(|name| format!("{name}.schema.json")).collect();
    assert_eq!(of_files, files());
    for name in names {
        let printed = world.run(&["setup", "schema", name]);
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
        let file = format!("schema/{name}.schema.json");
        assert_shows(&format!("docs/{file}"), &page(&file), &printed.stdout);
        let expected = printed.json();
        assert_eq!(expected["$id"], format!("urn:gpucost:schema:{name}:1"));
        jsonschema::meta::validate(&expected).expect("a schema");
    }
    assert_eq!(world.run(&["setup", "schema", "nothing"]).code, 2);
}

#[test]
fn every_price_holds_to_its_schema() {
    let prices = validator(&closed(schema("pricing.schema.json")));
    let world = World::new();
    for arguments in [
        &["--region", "all", "--provider", "all"][..],
        &["--gpu", "H100", "--region", "us-*"],
        &["g5.xlarge", "--os", "windows"],
        &["--limit", "0"],
    ] {
        let arguments = [&["pricing", "--format", "json"][..], arguments].concat();
        let document = world.run(&arguments).json();
        assert_holds(&prices, &document, &arguments.join(" "));
    }
    let good = world.run(&["pricing", "g5.xlarge", "--format", "json"]).json();
    for (key, bad) in [
        ("on_demand_hourly", json!(-1)),
        ("on_demand_hourly", json!("1.006")),
        ("seen_on", json!("today")),
        ("origin", json!("elsewhere")),
        ("reserved", json!([{"term_years": 2}])),
        ("more", json!(1)),
    ] {
        let mut wrong = good.clone();
        wrong["prices"][0][key] = bad;
        assert!(!prices.is_valid(&wrong), "{key}");
    }
    assert!(!prices.is_valid(&DEMO.json()));
}

/// Settings as JSON.
fn as_json(text: &str) -> Value {
    let table: toml::Table = toml::from_str(text).expect("TOML");
    serde_json::to_value(table).expect("JSON")
}

#[test]
fn the_schema_and_the_reader_of_settings_agree() {
    let settings = validator(&schema("settings.schema.json"));
    let world = World::new();
    let estate = world.estate("one.json", &one());
    let is_read = |text: &str| {
        world.file("gpucost.toml", text);
        let outcome = world.run(&["audit", "--from", &estate]);
        assert!([0, 2].contains(&outcome.code), "{text}: {}", outcome.stderr);
        outcome.code == 0
    };
    let example = blocks(&page("configuration.md"), "toml").remove(0);
    assert_holds(&settings, &as_json(&example), "the example of the page");
    for good in [
        "",
        "lookback = \"036h\"\n",
        "risk = \"high\"\nformat = \"html\"\nmax_api_cost = 0\n",
        "[prices]\nmax_age = \"9999d\"\ndiscount_percent = { p5 = 99.5 }\n",
        "[policy]\nmin_replicas = 1\ntime_zone = \"Europe/Berlin\"\n",
        "[prometheus.metric_map.a]\nquantity = \"power\"\n",
        "[prometheus.metric_map.a]\nquantity = \"utilization\"\nscale = 1\n",
    ] {
        assert!(is_read(good), "{good}");
        assert_holds(&settings, &as_json(good), good);
    }
    for bad in [
        "profil = \"x\"\n",
        "profile = \"\"\n",
        "profile = 1\n",
        "lookback = \"0d\"\n",
        "lookback = \"2 weeks\"\n",
        "risk = \"none\"\n",
        "format = \"pdf\"\n",
        "max_api_cost = -1\n",
        "prices = 1\n",
        "[prices]\nfiles = \"x\"\n",
        "[prices]\nmax_age = 90\n",
        "[prices]\ndiscount_percent = { p5 = 100 }\n",
        "[prices]\ndiscount_percent = { p5 = -1 }\n",
        "[policy]\nhours_per_month = 745\n",
        "[policy]\nvram_headroom = 0.9\n",
        "[policy]\nidle_min_days = 0\n",
        "[policy]\nworkload_tag = 1\n",
        "[policy]\nthreshold = 1\n",
        "[prometheus]\nurl = \"x\"\n",
        "[prometheus.metric_map.a]\nscale = 1\n",
        "[prometheus.metric_map.a]\nquantity = \"utilization\"\n",
        "[prometheus.metric_map.a]\nquantity = \"speed\"\n",
        "[prometheus.metric_map.a]\nquantity = \"power\"\nscale = 0\n",
    ] {
        assert!(!is_read(bad), "{bad}");
        assert!(!settings.is_valid(&as_json(bad)), "{bad}");
    }
}

#[test]
fn a_policy_names_its_schema_on_request() {
    let world = World::new();
    let outcome = world.run(&["check", "init", "--schema"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let beside = "gpucost-policy.schema.json";
    assert_eq!(world.listing(), [beside, "gpucost-policy.toml"]);
    let text = fs::read_to_string(world.path("gpucost-policy.toml")).expect("the policy");
    assert!(text.starts_with(&format!("#:schema ./{beside}\n")), "{text}");
    parse_policy(&text, "gpucost-policy.toml").expect("the reader takes it");
    let written = fs::read_to_string(world.path(beside)).expect("the schema");
    assert_eq!(written, world.run(&["setup", "schema", "policy"]).stdout);
    // A name that would end the comment does not.
    let odd = world.path("odd\nname = 1.toml");
    assert_eq!(world.run(&["check", "init", "--schema", "--output", &odd]).code, 0);
    let text = fs::read_to_string(&odd).expect("the policy");
    parse_policy(&text, "odd.toml").expect("the reader takes it");

    let refused = world.run(&["check", "init", "--schema", "--output", "-"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(refused.stderr.contains("`gpucost setup schema policy`"), "{}", refused.stderr);
}
