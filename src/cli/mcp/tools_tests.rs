use super::*;
use crate::cli::command::Cli;
use clap::Parser;
use rust_decimal::Decimal;
use std::path::Path;

fn roots() -> Roots {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    Roots::of(&[], &folder).expect("it exists")
}

fn server(live: bool) -> McpArgs {
    McpArgs {
        root: Vec::new(),
        config: None,
        live,
        profile: Some("-p".to_owned()),
        region: Some("eu-west-1".to_owned()),
        max_api_cost: Decimal::ONE,
    }
}

fn words(tool: &str, given: &Value, live: bool) -> Result<Vec<String>, String> {
    let tool = Tool::named(tool).expect("a tool");
    let given = given.as_object().expect("an object");
    let words = tool.command_line(given, &roots(), &server(live))?;
    let words = words.into_iter().map(|word| word.into_string());
    Ok(words.map(|word| word.expect("UTF-8")).collect())
}

#[test]
fn arguments_are_flags_of_their_command() {
    for tool in TOOLS {
        let flags = tool.arguments();
        let names: Vec<&str> = flags.iter().map(|argument| argument.name).collect();
        assert_eq!(names.join(" "), tool.arguments, "{}", tool.name);
        for Argument { name, kind, arg } in flags {
            assert_eq!(arg.is_positional(), ["id", "types"].contains(&name), "{name}");
            let takes_values = arg.get_action().takes_values();
            assert_eq!(takes_values, !matches!(kind, Kind::Switch), "{name}");
        }
    }
}

#[test]
fn values_stay_values() {
    let given = json!({
        "demo": "starter", "region": "--output=/tmp/x", "tag": ["--save", "a=b"], "redact": true,
    });
    let expected = [
        "gpucost", "audit", "--format=json", "--demo=starter", "--region=--output=/tmp/x",
        "--tag=--save", "--tag=a=b", "--redact",
    ];
    assert_eq!(words("audit", &given, false).expect("valid"), expected);
    let given = json!({"types": ["refresh", "--help", "status"], "redact": null});
    let problem = words("pricing", &given, false).expect_err("not an argument of pricing");
    assert!(problem.starts_with("error: unknown argument `redact`\nhint: "), "{problem}");
    let given = json!({"types": ["refresh", "--help", "status"], "os": "linux"});
    let command_line = words("pricing", &given, false).expect("valid");
    let expected = ["--format=json", "--os=linux", "--", "refresh", "--help", "status"];
    assert_eq!(command_line[2..], expected);
    // `refresh` is not the action that reads prices from AWS.
    let parsed = Cli::try_parse_from(command_line).expect("it parses");
    let parsed = format!("{:?}", parsed.command);
    assert!(
        parsed.contains("action: None, types: [\"refresh\", \"--help\", \"status\"]"),
        "{parsed}"
    );
}

#[test]
fn only_a_live_server_reads_the_account() {
    for tool in ["audit", "inventory"] {
        let problem = words(tool, &json!({"from": null}), false).expect_err("it names no estate");
        assert!(problem.contains("does not read an account"), "{problem}");
        let expected = ["--max-api-cost=1", "--profile=-p", "--region=eu-west-1"];
        let command_line = words(tool, &json!({}), true).expect("valid");
        assert_eq!(command_line[3..], expected);
        let given = json!({"region": "us-east-1"});
        let command_line = words(tool, &given, true).expect("valid");
        assert_eq!(command_line[3..], ["--region=us-east-1", "--max-api-cost=1", "--profile=-p"]);
        let command_line = words(tool, &json!({"demo": "starter"}), true).expect("valid");
        assert_eq!(command_line[3..], ["--demo=starter"]);
    }
    let given = json!({"id": "-x"});
    assert!(words("explain", &given, false).is_err());
    let command_line = words("explain", &given, true).expect("valid");
    assert_eq!(command_line[command_line.len() - 2..], ["--", "-x"]);
    assert_eq!(
        words("select", &json!({"params": 7}), false).map(|command_line| command_line.len()),
        Ok(4)
    );
}

#[test]
fn what_a_schema_refuses_is_refused() {
    for (tool, given) in [
        ("audit", json!({"demo": "list"})),
        ("audit", json!({"demo": 1})),
        ("audit", json!({"from": "../Cargo.toml"})),
        ("audit", json!({"from": ["a"]})),
        ("audit", json!({"demo": "starter", "tag": "a=b"})),
        ("audit", json!({"demo": "starter", "tag": [["a"]]})),
        ("audit", json!({"demo": "starter", "tag": vec!["a"; MOST_VALUES + 1]})),
        ("audit", json!({"demo": "starter", "redact": "yes"})),
        ("audit", json!({"demo": "starter", "region": "x".repeat(MOST_CHARS + 1)})),
        ("audit", json!({"demo": "starter", "output": "x"})),
        ("audit", json!({"demo": "starter", "save": "x"})),
        ("explain", json!({"demo": "starter"})),
        ("explain", json!({"demo": "starter", "id": "x", "limit": 3})),
        ("pricing", json!({"count": "8"})),
        ("select", json!({"params": "7b", "concurrency": 0})),
        ("select", json!({"params": "7b", "concurrency": 1.5})),
    ] {
        let problem = words(tool, &given, false).expect_err(tool);
        assert!(problem.starts_with("error: ") && problem.contains("\nhint: "), "{problem}");
    }
    let limited = |limit: Value| {
        let given = json!({"limit": limit});
        limit_of(&given)
    };
    assert_eq!(limited(json!(5)), Ok(5));
    assert_eq!(limited(Value::Null), Ok(USUAL_LIMIT));
    for bad in [json!(0), json!(-1), json!(1.5), json!("5"), json!(MOST_LIMIT + 1)] {
        assert!(limited(bad.clone()).is_err(), "{bad}");
    }
}

fn limit_of(given: &Value) -> Result<usize, String> {
    limit(given.as_object().expect("an object"))
}

#[test]
fn schemas_describe_every_argument() {
    for tool in TOOLS {
        let schema = Value::Object(tool.input_schema());
        let properties = schema["properties"].as_object().expect("an object");
        let has_limit = tool.output.is_some();
        assert_eq!(properties.len(), tool.arguments().len() + usize::from(has_limit));
        for (name, property) in properties {
            assert!(property["description"].is_string(), "{}: {name}", tool.name);
        }
        jsonschema::validator_for(&schema).expect("a schema");
    }
    let audit = Tool::named("audit").expect("a tool").input_schema();
    assert_eq!(audit["properties"]["risk"]["enum"], json!(["low", "medium", "high"]));
}
