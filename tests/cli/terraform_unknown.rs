//! What a plan does not say leaves what it says as it is: a denied type is
//! denied, whatever else is known only after apply.

use crate::cli::terraform::{check, document, fixture};
use crate::cli::world::World;
use serde_json::{Value, json};

const DENIED: &str = "[deny]\ntypes = [\"p4d.*\"]\n";

/// An instance of a denied type of which one thing is written as an expression.
fn with_unknown(key: &str) -> Value {
    json!({"format_version": "1.2",
    "resource_changes": [{
        "address": "aws_instance.a", "mode": "managed", "type": "aws_instance",
        "change": {"actions": ["create"], "before": null,
            "after": {"instance_type": "p4d.24xlarge", "availability_zone": "us-east-1a"},
            "after_unknown": {key: true, "id": true}}}],
    "configuration": {"root_module": {"resources": [{
        "address": "aws_instance.a", "expressions": {
            "instance_type": {"constant_value": "p4d.24xlarge"},
            key: {"references": ["var.x"]}}}]}}})
}

#[test]
fn a_denied_type_fails_whatever_else_is_unknown() {
    for (key, unknown, monthly) in [
        ("tenancy", json!(["tenancy"]), None),
        ("instance_market_options", json!(["market"]), None),
        // 21.957642 × 730: neither tags nor such a template change the price.
        ("tag_specifications", json!(["tags"]), Some(16_029.08)),
        ("launch_template", json!(["tags"]), Some(16_029.08)),
    ] {
        let world = World::new();
        let path = document(&world, &with_unknown(key));
        let outcome = check(&world, DENIED, &path, &["--format", "json"]);
        assert_eq!(outcome.code, 100, "{key}: {}", outcome.stderr);
        let document = outcome.json();
        assert_eq!(document["violations"][0]["rule"], "policy/types", "{key}");
        assert_eq!(document["missing_data"], json!([]), "{key}");
        let after = &document["plan"]["changes"][0]["after"];
        assert_eq!(after["instance_types"], json!(["p4d.24xlarge"]), "{key}");
        assert_eq!((&after["count"], &after["gpus"]), (&json!(1), &json!(8.0)));
        assert_eq!(after["region"], "us-east-1", "{key}");
        assert_eq!(after["unknown"], unknown, "{key}");
        assert_eq!(after["monthly_cost"].as_f64(), monthly, "{key}");
        assert_eq!(
            document["gaps"].as_array().map(Vec::len),
            Some(usize::from(key != "tag_specifications")),
            "{key}: unpriced, or priced as what is usual"
        );
    }
}

/// A budget, though, needs the price.
#[test]
fn an_unknown_tenancy_leaves_a_budget_open() {
    let world = World::new();
    let path = document(&world, &with_unknown("tenancy"));
    let policy = "[[budget]]\nmonthly_limit = 100_000\n";
    let outcome = check(&world, policy, &path, &[]);
    assert_eq!(outcome.code, 3, "{}", outcome.stdout);
    let said = "tenancy of aws_instance.a: known only after apply";
    assert!(outcome.stdout.contains(said), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("p4d.24xlarge"), "{}", outcome.stdout);
}

/// What a resource costs after the plan is unknown: it does not go.
#[test]
fn a_row_that_is_half_known_pays_for_no_other() {
    let resource = |address: &str, before: Value, after: Value, unknown: Value| {
        json!({"address": address, "mode": "managed", "type": "aws_instance",
            "change": {"actions": ["update"], "before": before, "after": after,
                "after_unknown": unknown}})
    };
    let of = |name: &str| json!({"instance_type": name, "availability_zone": "us-east-1a"});
    let policy = "[[budget]]\nmonthly_limit = 1_000\n";
    let checked = |changes: Value| {
        let world = World::new();
        let plan = json!({"format_version": "1.2", "resource_changes": changes});
        let path = document(&world, &plan);
        let outcome = check(&world, policy, &path, &["--format", "json"]);
        (outcome.code, outcome.json())
    };
    let open = json!({"availability_zone": "us-east-1a"});
    let unknown = json!({"instance_type": true});
    let (code, report) = checked(json!([
        resource("aws_instance.a", of("p4d.24xlarge"), open, unknown),
        resource("aws_instance.b", Value::Null, of("g5.12xlarge"), json!({})),
    ]));
    assert_eq!(code, 100, "{report}");
    // 5.672 × 730, and not less 21.957642 × 730.
    assert_eq!(report["plan"]["unpriced"], 1);
    let title = report["violations"][0]["title"].as_str().expect("text");
    assert!(title.ends_with("the plan changes it by +$4,140.56"), "{title}");
    assert_eq!(report["plan"]["totals"][0]["monthly_delta"], 4_140.56);

    // What it cost before is unknown: nobody can say that it costs no more.
    let (code, report) = checked(json!([resource(
        "aws_instance.a",
        of("p99.48xlarge"),
        of("g5.12xlarge"),
        json!({})
    ),]));
    assert_eq!(code, 3, "{report}");
    assert_eq!(report["violations"], json!([]));
    assert_eq!(report["missing_data"].as_array().map(Vec::len), Some(1), "{report}");
}

/// What is usual to strip secrets: `jq 'del(.configuration)'`.
#[test]
fn a_plan_without_its_configuration_keeps_its_types_and_its_cost() {
    let world = World::new();
    let text = std::fs::read_to_string(fixture()).expect("the fixture");
    let mut plan: Value = serde_json::from_str(&text).expect("JSON");
    plan.as_object_mut().expect("an object").remove("configuration");
    let path = document(&world, &plan);
    let more = ["--region", "us-east-1", "--format", "json"];
    let outcome = check(&world, DENIED, &path, &more);
    assert_eq!(outcome.code, 100, "{}", outcome.stderr);
    let document = outcome.json();
    assert_eq!(document["violations"][0]["scope"], "aws_instance.instance_2");
    // The same as with it; by hand in tests/cli/terraform.rs.
    let totals = &document["plan"]["totals"][0];
    assert_eq!(totals["monthly_before"], 12_991.08);
    assert_eq!(totals["monthly_after"], 38_507.86);
    let gaps = document["gaps"].as_array().expect("gaps").iter();
    let assumed: Vec<&str> = gaps
        .filter(|gap| gap["what"] == "market, system and tenancy")
        .map(|gap| gap["where"].as_str().expect("text"))
        .collect();
    assert_eq!(
        assumed,
        [
            "aws_autoscaling_group.node", "aws_instance.instance_2",
            "aws_instance.instance_named[\"test.2\"]",
            "module.instances.aws_instance.module_instance_counted[1]",
        ],
        "what is made: nobody sees what was written"
    );
    // Spot, Windows or dedicated hosts would have another cost: no budget is sure to hold.
    let budget = "[[budget]]\nmonthly_limit = 100_000\n";
    let outcome = check(&world, budget, &path, &more);
    assert_eq!(outcome.code, 3, "{}", outcome.stdout);
    let document = outcome.json();
    let missing = document["missing_data"].as_array().expect("a list").iter();
    let missing: Vec<&str> = missing
        .filter(|gap| gap["what"] == "market, system and tenancy")
        .map(|gap| gap["where"].as_str().expect("text"))
        .collect();
    assert_eq!(missing, assumed);
}

#[test]
fn what_could_not_be_judged_is_not_counted_as_allowed() {
    let world = World::new();
    let policy = format!("{DENIED}[tags]\nrequired = [\"team\"]\n");
    let change = json!({"address": "aws_instance.a", "mode": "managed", "type": "aws_instance",
        "change": {"actions": ["create"], "before": null,
            "after": {"availability_zone": "us-east-1a"},
            "after_unknown": {"instance_type": true, "tags_all": true}}});
    let plan = json!({"format_version": "1.2", "resource_changes": [change]});
    let path = document(&world, &plan);
    let outcome = check(&world, &policy, &path, &["--format", "json"]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let document = outcome.json();
    let observed = |at: usize| document["checks"][at]["observed"].clone();
    assert_eq!(observed(0), "0 of 1 allowed, 1 unknown");
    assert_eq!(observed(1), "0 of 1 with it, 1 unknown");
}

/// A group outside of the plan launches what its template says.
#[test]
fn a_template_with_another_type_leaves_rules_open_without_its_group() {
    let policy = format!("{DENIED}[[budget]]\nmonthly_limit = 1\n");
    let typed = |name: &str| json!({"id": "lt-1", "instance_type": name});
    let chosen = json!({"id": "lt-1", "instance_requirements": [{"vcpu_count": [{"min": 4}]}]});
    let open = json!({"instance_type": true});
    for (before, after, unknown, code) in [
        (typed("g5.xlarge"), typed("p4d.24xlarge"), Value::Null, 3),
        (Value::Null, typed("p4d.24xlarge"), Value::Null, 3),
        (typed("p4d.24xlarge"), typed("p4d.24xlarge"), Value::Null, 0),
        (typed("m5.large"), typed("m5.xlarge"), Value::Null, 0),
        // What chooses the type at launch, and a type that is known only after apply.
        (typed("m5.large"), chosen.clone(), Value::Null, 3),
        (chosen.clone(), chosen, Value::Null, 0),
        (typed("m5.large"), json!({"id": "lt-1"}), open, 3),
        // A template without a type: what launches from it has one.
        (Value::Null, json!({"id": "lt-1"}), Value::Null, 0),
    ] {
        for kind in ["aws_launch_template", "aws_launch_configuration"] {
            let world = World::new();
            let change = json!({"address": format!("{kind}.t"), "mode": "managed",
            "type": kind, "change": {"actions": ["update"],
                "before": before, "after": after, "after_unknown": unknown}});
            let plan = json!({"format_version": "1.2", "resource_changes": [change]});
            let path = document(&world, &plan);
            let outcome = check(&world, &policy, &path, &["--format", "json"]);
            assert_eq!(outcome.code, code, "{before} {after}: {}", outcome.stdout);
            let rules: &[&str] = match code {
                3 => &["policy/budget", "policy/types"],
                _ => &[],
            };
            let document = outcome.json();
            let missing = document["missing_data"].as_array().expect("a list");
            let named = missing.iter().flat_map(|gap| gap["rules"].as_array().expect("rules"));
            let mut named: Vec<&str> = named.map(|rule| rule.as_str().expect("text")).collect();
            named.sort_unstable();
            assert_eq!(named, rules, "{before} {after}");
        }
    }
}
