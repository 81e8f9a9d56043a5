//! The schemas in `docs/schema/`: real documents hold to them, and they say
//! nothing that the program does not do.

use crate::cli::contract::DEMO;
use crate::cli::estates::{empty, one, owned, situations};
use crate::cli::world::World;
use gpucost::config::{STARTING_POLICY, parse_policy};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A schema of the documentation.
pub fn schema(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema").join(name);
    let text = fs::read_to_string(path).expect("a schema");
    serde_json::from_str(&text).expect("JSON")
}

/// A schema that knows no more keys than it names, so that a new key of the
/// program which nobody described does not pass.
pub fn closed(mut schema: Value) -> Value {
    fn close(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.values_mut().for_each(close);
                if map.contains_key("properties") && map.contains_key("required") {
                    map.entry("additionalProperties").or_insert(json!(false));
                }
            }
            Value::Array(list) => list.iter_mut().for_each(close),
            _ => {}
        }
    }
    close(&mut schema);
    schema
}

/// What holds documents to a schema.
pub fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).expect("a valid schema")
}

/// Fails with every error of a document.
pub fn assert_holds(validator: &Validator, document: &Value, of: &str) {
    let invalid_values: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(invalid_values.is_empty(), "{of}: {invalid_values:#?}");
}

/// Fails where a document has a key or a value that its schema does not describe.
pub fn assert_described(name: &str, document: &Value) {
    let described = validator(&closed(schema(&format!("{name}.schema.json"))));
    assert_holds(&described, document, name);
}

#[test]
fn every_audit_holds_to_its_schema() {
    let audits = validator(&closed(schema("audit.schema.json")));
    assert_holds(&audits, &DEMO.json(), "the demo");
    let world = World::new();
    for (name, estate) in [("one", one()), ("owned", owned()), ("empty", empty())] {
        let path = world.estate("estate.json", &estate);
        let arguments = ["audit", "--from", &path, "--format", "json", "--allow-empty"];
        assert_holds(&audits, &world.run(&arguments).json(), name);
    }
    for path in situations() {
        let path = path.to_str().expect("UTF-8");
        let outcome = world.run(&["audit", "--from", path, "--format", "json"]);
        assert_holds(&audits, &outcome.json(), path);
    }
}

#[test]
fn a_wrong_audit_is_found() {
    let audits = validator(&schema("audit.schema.json"));
    let good = DEMO.json();
    let mut negative = good.clone();
    negative["summary"]["monthly_cost"] = json!(-1);
    let mut other = good.clone();
    other["schema_version"] = json!("1");
    let mut unknown = good.clone();
    unknown["workloads"][0]["classification"] = json!("busy");
    let mut lacking = good.clone();
    lacking.as_object_mut().expect("an object").remove("gaps");
    for bad in [negative, other, unknown, lacking] {
        assert!(!audits.is_valid(&bad));
    }
    let mut more = good;
    more["something_new"] = json!(1);
    assert!(audits.is_valid(&more), "additions are free");
}

/// A policy that states every sort of rule, and holds for few estates.
const EVERYTHING: &str = r#"
[[budget]]
monthly_limit = 10
[[budget]]
tag = "team=nobody"
monthly_limit = 10
currency = "CNY"
[waste]
monthly_limit = 0
percent_limit = 0
[utilization]
training = 99
serving = 99
unknown = 99
[coverage]
minimum_percent = 100
[tags]
required = ["no-such-tag"]
[allow]
types = ["p9.*"]
regions = ["cn-*"]
[deny]
types = ["g*"]
[prices]
max_age = "1d"
[recording]
max_age = "1d"
[[forbid]]
severity = "info"
[[suppress]]
rule = "policy/types"
workload = "*"
owner = "o"
reason = "r"
expires = 2027-01-01
[[suppress]]
rule = "policy/regions"
workload = "*"
owner = "o"
reason = "r"
expires = 2020-01-01
[[suppress]]
rule = "idle-gpu"
workload = "nothing"
owner = "o"
reason = "r"
expires = 2030-01-01
[[reject]]
workload = "*"
action = "spot"
reason = "r"
"#;

#[test]
fn every_check_holds_to_its_schema() {
    let checks = validator(&closed(schema("check.schema.json")));
    let world = World::new();
    let policy = world.file("policy.toml", EVERYTHING);
    let old = world.file("old.json", &DEMO.stdout);
    let run = |estate: &[&str]| {
        let mut arguments = vec!["check", "--format", "json", "--policy", &policy];
        arguments.extend(estate);
        world.run(&arguments).json()
    };
    let report = run(&["--demo"]);
    assert_holds(&checks, &report, "the demo");
    let rules = parse_policy(EVERYTHING, "policy.toml").expect("valid").rules();
    assert_eq!(report["checks"].as_array().map(Vec::len), Some(rules));
    assert_holds(&checks, &run(&["--demo", "--baseline", &old]), "a baseline");
    for path in situations() {
        let path = path.to_str().expect("UTF-8");
        assert_holds(&checks, &run(&["--from", path]), path);
    }
    let nothing = world.estate("empty.json", &empty());
    assert_holds(&checks, &run(&["--from", &nothing]), "nothing");
    assert!(!checks.is_valid(&json!({"schema_version": "2"})));
}

/// A policy as JSON: days become texts, as in every JSON form of TOML.
fn as_json(text: &str) -> Value {
    fn convert(value: &toml::Value) -> Value {
        match value {
            toml::Value::String(text) => json!(text),
            toml::Value::Integer(number) => json!(number),
            toml::Value::Float(number) => json!(number),
            toml::Value::Boolean(flag) => json!(flag),
            toml::Value::Datetime(day) => json!(day.to_string()),
            toml::Value::Array(list) => list.iter().map(convert).collect(),
            toml::Value::Table(table) => {
                table.iter().map(|(key, value)| (key.clone(), convert(value))).collect()
            }
        }
    }
    let table: toml::Table = toml::from_str(text).expect("TOML");
    convert(&toml::Value::Table(table))
}

#[test]
fn the_schema_and_the_reader_of_policies_agree() {
    let policies = validator(&schema("policy.schema.json"));
    for good in [STARTING_POLICY, EVERYTHING] {
        parse_policy(good, "policy.toml").expect("the reader takes it");
        assert_holds(&policies, &as_json(good), good);
    }
    for bad in [
        "[[budget]]\naccount = \"1\"\n",
        "[[budget]]\nmonthly_limit = 1\naccount = \"12345\"\n",
        "[[budget]]\nmonthly_limit = 1\nregion = \"us-east-*\"\n",
        "[deny]\ntypes = [\"G6E.12XLARGE\"]\n",
        "[deny]\nregions = [\"US-EAST-1\"]\n",
        "[[budget]]\nmonthly_limit = -1\n",
        "[[budget]]\nmonthly_limit = 1\ncurrency = \"GBP\"\n",
        "[[budget]]\nmonthly_limit = 1\nregion = \"us-east-1\"\naccount = \"111122223333\"\n",
        "[[budget]]\nmonthly_limit = 1\ntag = \"team\"\n",
        "[waste]\npercent_limit = 101\n",
        "[waste]\nlimit = 1\n",
        "[utilization]\ntrainings = 1\n",
        "[tags]\nrequired = []\n",
        "[prices]\nmax_age = \"1 year\"\n",
        "[[forbid]]\n",
        "[[forbid]]\nrule = \"idle\"\n",
        "[[forbid]]\nseverity = \"high\"\n",
        "[[forbid]]\nrule = \"idle-gpu\"\n[[suppress]]\nrule = \"idle-gpu\"\n",
        "[[forbid]]\nrule = \"idle-gpu\"\n[suppressions]\nexpired = \"no\"\n",
        "[[forbid]]\nrule = \"idle-gpu\"\n[[reject]]\naction = \"spot\"\n",
        "[[forbid]]\nrule = \"idle-gpu\"\n[[reject]]\nworkload = \"w\"\naction = \"sell\"\nreason = \"r\"\n",
        "wate = 1\n",
    ] {
        assert!(parse_policy(bad, "policy.toml").is_err(), "{bad}");
        assert!(!policies.is_valid(&as_json(bad)), "{bad}");
    }
}
