//! `gpucost check --terraform-plan`: what a plan costs, worked out by hand, and
//! what the gate makes of it.

use crate::cli::json_schemas::{assert_holds, closed, schema, validator};
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};
use std::path::Path;

/// The plan with GPUs.
pub fn fixture() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("fixtures/terraform/gpu-plan.json");
    path.into_os_string().into_string().expect("UTF-8")
}

/// A policy that allows what most plans do.
pub const OPEN: &str = "[allow]\nregions = [\"us-*\"]\n";

const STRICT: &str = r#"[[budget]]
monthly_limit = 20_000

[tags]
required = ["team"]

[deny]
types = ["p4d.*", "p9.*"]

[waste]
percent_limit = 10

[[suppress]]
rule = "policy/types"
workload = "aws_instance.instance_2"
owner = "vision@example.com"
reason = "agreed for the winter"
expires = 2026-12-31

[[suppress]]
rule = "idle-gpu"
workload = "i-1"
owner = "vision@example.com"
reason = "about what runs, not about a plan"
expires = 2025-12-31
"#;

/// Checks a plan by a policy.
pub fn check(world: &World, policy: &str, plan: &str, more: &[&str]) -> Outcome {
    let policy = world.file("gpucost-policy.toml", policy);
    let mut arguments = vec!["check", "--policy", &policy, "--offline", "--terraform-plan", plan];
    arguments.extend(more);
    world.run(&arguments)
}

/// Writes a plan into the folder, with a configuration that says nothing unless it has one.
pub fn document(world: &World, plan: &Value) -> String {
    let mut plan = plan.clone();
    if plan.get("configuration").is_none() {
        plan["configuration"] = json!({});
    }
    world.file("plan.json", plan.to_string())
}

/// Before, after and delta of a row.
pub fn figures(document: &Value, address: &str) -> [Option<f64>; 3] {
    let rows = document["plan"]["changes"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["address"] == address);
    let row = row.unwrap_or_else(|| panic!("{address} is there"));
    [
        row["before"]["monthly_cost"].as_f64(),
        row["after"]["monthly_cost"].as_f64(),
        row["monthly_delta"].as_f64(),
    ]
}

/// Hourly rates of the catalog in us-east-1: g4dn.xlarge 0.526, g5.xlarge 1.006,
/// g5.12xlarge 5.672 (spot 4.4267), g6.xlarge 0.8048, g6.12xlarge 4.6016 (spot
/// 3.64416), p3.8xlarge 12.24, p4d.24xlarge 21.957642; a month has 730 hours.
#[test]
fn the_plan_with_gpus_costs_what_a_hand_works_out() {
    let world = World::new();
    let outcome = check(&world, OPEN, &fixture(), &["--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let document = outcome.json();
    let known = |before: f64, after: f64, delta: f64| [Some(before), Some(after), Some(delta)];
    for (address, expected) in [
        // 1.006 × 730
        ("aws_instance.instance_1", known(734.38, 734.38, 0.0)),
        // 21.957642 × 730 = 16 029.07866
        ("aws_instance.instance_2", [None, Some(16_029.08), Some(16_029.08)]),
        // 5.672 × 730
        ("aws_instance.instance_counted[1]", known(734.38, 4_140.56, 3_406.18)),
        // 0.526 × 730 and 0.8048 × 730 = 587.504
        ("aws_instance.instance_named[\"test.1\"]", known(383.98, 587.50, 203.52)),
        // spot: 4.4267 × 730 = 3 231.491
        ("aws_instance.instance_named[\"test.2\"]", [None, Some(3_231.49), Some(3_231.49)]),
        // 12.24 × 730
        (
            "module.instances.aws_instance.module_instance_1",
            [Some(8_935.20), None, Some(-8_935.20)],
        ),
        ("module.instances.aws_instance.module_instance_2", [None, None, None]),
        ("module.instances.aws_instance.module_instance_counted[0]", known(734.38, 734.38, 0.0)),
        (
            "module.instances.aws_instance.module_instance_counted[1]",
            [None, Some(734.38), Some(734.38)],
        ),
        ("module.instances.aws_instance.module_instance_named[\"test.2\"]", [None, None, None]),
        // one on-demand, half of two more: (2 × 4.6016 + 3.64416) × 730 = 9 378.5728
        ("aws_autoscaling_group.node", [None, Some(9_378.57), Some(9_378.57)]),
        // 2 × 1.006 × 730, and 4 ×
        ("aws_eks_node_group.gpu", known(1_468.76, 2_937.52, 1_468.76)),
    ] {
        assert_eq!(figures(&document, address), expected, "{address}");
    }
    let plan = &document["plan"];
    assert_eq!(plan["changes"].as_array().map(Vec::len), Some(12));
    assert_eq!(
        plan["totals"],
        json!([{"currency": "USD", "monthly_before": 12_991.08, "monthly_after": 38_507.86,
                "monthly_delta": 25_516.78}])
    );
    assert_eq!((&plan["instances_before"], &plan["instances_after"]), (&json!(7), &json!(16)));
    assert_eq!(plan["unpriced"], 2);
    let gaps: Vec<(&str, &str)> = document["gaps"]
        .as_array()
        .expect("gaps")
        .iter()
        .map(|gap| (gap["where"].as_str().expect("text"), gap["reason"].as_str().expect("text")))
        .collect();
    assert_eq!(
        gaps,
        [
            ("module.instances.aws_instance.module_instance_2", "known only after apply"),
            (
                "module.instances.aws_instance.module_instance_named[\"test.2\"]",
                "p9.48xlarge is not in the bundled catalog, and appears to be accelerated"
            ),
        ]
    );
}

/// Every column adds up to its total, to the cent, and each format has the totals.
#[test]
fn rows_sum_to_the_totals() {
    let world = World::new();
    for (format, total) in [
        ("csv", "plan.totals,"),
        ("html", "$12,991.08"),
        ("table", "$12,991.08  $38,507.86  +$25,516.78"),
    ] {
        let text = check(&world, OPEN, &fixture(), &["--format", format]).stdout;
        assert!(text.contains(total), "{format}: {text}");
    }
    let document = check(&world, OPEN, &fixture(), &["--format", "json"]).json();
    let rows = document["plan"]["changes"].as_array().expect("rows");
    let cents = |value: &Value| value.as_f64().map_or(0, |value| (value * 100.0).round() as i64);
    let sum = |of: &dyn Fn(&Value) -> i64| rows.iter().map(of).sum::<i64>();
    let total = &document["plan"]["totals"][0];
    assert_eq!(sum(&|row| cents(&row["before"]["monthly_cost"])), cents(&total["monthly_before"]));
    for key in ["monthly_before", "monthly_after"] {
        assert_eq!(sum(&|row| cents(&row[key])), cents(&total[key]), "{key}");
    }
    assert_eq!(sum(&|row| cents(&row["after"]["monthly_cost"])), cents(&total["monthly_after"]));
    assert_eq!(sum(&|row| cents(&row["monthly_delta"])), cents(&total["monthly_delta"]));
}

#[test]
fn the_policy_applies_to_what_the_plan_leaves() {
    let world = World::new();
    let outcome = check(&world, STRICT, &fixture(), &["--format", "json"]);
    assert_eq!(outcome.code, 100, "{}", outcome.stderr);
    let document = outcome.json();
    let listed = |key: &str| -> Vec<(String, String)> {
        let list = document[key].as_array().expect("a list").iter();
        list.map(|row| {
            let text = |key: &str| row[key].as_str().expect("text").to_owned();
            (text("rule"), text("scope"))
        })
        .collect()
    };
    let named = |rule: &str, scope: &str| (rule.to_owned(), scope.to_owned());
    assert_eq!(
        listed("violations"),
        [
            named("policy/budget", "everything"),
            named(
                "policy/types",
                "module.instances.aws_instance.module_instance_named[\"test.2\"]"
            ),
        ]
    );
    let budget = &document["violations"][0];
    // 38 507.86 − 20 000, and 38 507.86 − 12 991.08
    assert_eq!(budget["monthly"], 18_507.86);
    let title = budget["title"].as_str().expect("a title");
    assert!(title.ends_with("the plan changes it by +$25,516.78"), "{title}");
    let address = document["violations"][1]["place"]["address"].as_str();
    assert_eq!(address, Some("module.instances.aws_instance.module_instance_named[\"test.2\"]"));
    assert_eq!(
        listed("notices"),
        [named("policy/required-tags", "aws_instance.instance_1")],
        "it lacks the tag today, and the plan leaves it alone"
    );
    assert_eq!(document["suppressed"][0]["owner"], "vision@example.com");
    assert_eq!(document["unjudged"], json!(["policy/waste"]));
    let lacking = document["missing_data"][0]["where"].as_str();
    assert_eq!(lacking, Some("module.instances.aws_instance.module_instance_2"));
}

#[test]
fn what_a_check_of_a_plan_prints() {
    let world = World::new();
    // Where the checkout lies must not decide where lines end.
    let plan = "fixtures/terraform/gpu-plan.json";
    let shown = |outcome: &Outcome| outcome.all().replace(&world.path(""), "");
    let violated = check(&world, STRICT, plan, &[]);
    insta::assert_snapshot!("plan_violated", shown(&violated));
    let wide = check(&world, OPEN, plan, &["--format", "wide"]);
    insta::assert_snapshot!("plan_clean", shown(&wide));
}

#[test]
fn a_plan_that_lowers_the_cost_never_breaks_a_budget() {
    let world = World::new();
    let side = |name: &str| json!({"instance_type": name, "availability_zone": "us-east-1a"});
    let plan = |before: &str, after: &str| {
        json!({"format_version": "1.2", "resource_changes": [{
            "address": "aws_instance.a", "mode": "managed", "type": "aws_instance",
            "provider_name": "registry.opentofu.org/hashicorp/aws",
            "change": {"actions": ["update"], "before": side(before), "after": side(after),
                       "after_unknown": {}}}]})
    };
    let policy = "[[budget]]\nmonthly_limit = 100\n";
    let path = document(&world, &plan("g5.12xlarge", "g5.xlarge"));
    let outcome = check(&world, policy, &path, &["--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(outcome.json()["notices"][0]["rule"], "policy/budget");
    let path = document(&world, &plan("g5.xlarge", "g5.12xlarge"));
    assert_eq!(check(&world, policy, &path, &[]).code, 100);
}

/// A p4d.24xlarge of which nobody knows what it becomes is no saving of $16,029.08.
#[test]
fn half_a_row_is_in_no_sum() {
    let world = World::new();
    let here = |instance_type: &str| json!({"instance_type": instance_type, "availability_zone": "us-east-1a"});
    let resource = |address: &str, change: Value| {
        json!({"address": address, "mode": "managed", "type": "aws_instance",
               "provider_name": "registry.opentofu.org/hashicorp/aws", "change": change})
    };
    let plan = json!({"format_version": "1.2", "resource_changes": [
        resource("aws_instance.a", json!({"actions": ["update"], "before": here("p4d.24xlarge"),
            "after": {"availability_zone": "us-east-1a"},
            "after_unknown": {"instance_type": true}})),
        resource("aws_instance.b", json!({"actions": ["create"], "before": null,
            "after": here("g5.xlarge"), "after_unknown": {}})),
    ]});
    let path = document(&world, &plan);
    let sums = check(&world, OPEN, &path, &["--format", "json"]).json();
    let total = &sums["plan"]["totals"][0];
    assert_eq!(total["monthly_before"], 0.0, "{total}");
    assert_eq!(total["monthly_after"], 734.38, "{total}");
    let comment = check(&world, OPEN, &path, &["--format", "markdown"]).stdout;
    let headline = comment.lines().nth(1).expect("a headline");
    assert!(headline.contains(" +\\$734.38 per month where priced; "), "{headline}");
}

/// A change of one instance in us-east-1.
fn changed(address: &str, before: &str, after: &str) -> Value {
    let side = |name: &str| json!({"instance_type": name, "availability_zone": "us-east-1a"});
    json!({"address": address, "mode": "managed", "type": "aws_instance",
        "change": {"actions": ["update"], "before": side(before), "after": side(after),
                   "after_unknown": {}}})
}

/// Hourly rates of the catalog in us-east-1: m7i.2xlarge 0.4032, m7i.4xlarge 0.8064,
/// g5.xlarge 1.006, g5.12xlarge 5.672. The catalog does not know m5.large.
#[test]
fn a_cpu_type_that_goes_or_comes_with_an_update_is_in_the_delta() {
    let world = World::new();
    let plan = json!({"format_version": "1.2", "resource_changes": [
        changed("aws_instance.up", "m7i.4xlarge", "g5.xlarge"),
        changed("aws_instance.down", "g5.12xlarge", "m7i.2xlarge"),
        changed("aws_instance.old", "m5.large", "g5.xlarge"),
        changed("aws_instance.cpu", "m7i.2xlarge", "m7i.4xlarge"),
    ]});
    let path = document(&world, &plan);
    let outcome = check(&world, OPEN, &path, &["--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let checked = outcome.json();
    // 0.8064 × 730 = 588.672; 0.4032 × 730 = 294.336
    assert_eq!(figures(&checked, "aws_instance.up"), [Some(588.67), Some(734.38), Some(145.71)]);
    assert_eq!(
        figures(&checked, "aws_instance.down"),
        [Some(4_140.56), Some(294.34), Some(-3_846.22)]
    );
    assert_eq!(figures(&checked, "aws_instance.old"), [None, Some(734.38), None], "it is not free");
    let plan = &checked["plan"];
    assert_eq!(plan["changes"].as_array().map(Vec::len), Some(3), "a CPU resource stays out");
    // 588.67 + 4 140.56, 734.38 + 294.34, and 145.71 − 3 846.22
    assert_eq!(
        plan["totals"],
        json!([{"currency": "USD", "monthly_before": 4_729.23, "monthly_after": 1_028.72,
                "monthly_delta": -3_700.51}])
    );
    assert_eq!(plan["unpriced"], 1);
    assert_eq!(checked["gaps"][0]["where"], "aws_instance.old");
    assert_eq!(checked["gaps"][0]["reason"], "m5.large is not in the bundled catalog");
    let rows = plan["changes"].as_array().expect("rows").iter();
    let has_none = |side: &Value| side["gpus"] == 0.0;
    let of_cpu = rows.filter(|row| has_none(&row["before"]) || has_none(&row["after"]));
    assert_eq!(of_cpu.count(), 3);
    let wide = check(&world, OPEN, &path, &["--format", "wide"]).stdout;
    assert!(wide.contains("m7i.4xlarge → g5.xlarge"), "{wide}");
    assert!(wide.contains("g5.12xlarge → m7i.2xlarge"), "{wide}");
}

/// What the CPU type costs counts for a budget. The rules about GPU instances neither
/// judge it nor take it for what was so before.
#[test]
fn a_cpu_type_at_one_end_is_no_gpu_instance() {
    let world = World::new();
    let plan = |before: &str, after: &str| {
        json!({"format_version": "1.2", "resource_changes": [
            changed("aws_instance.a", before, after)]})
    };
    let up = document(&world, &plan("m7i.4xlarge", "g5.xlarge"));
    let budget = "[[budget]]\nmonthly_limit = 700\n";
    let outcome = check(&world, budget, &up, &["--format", "json"]);
    assert_eq!(outcome.code, 100, "{}", outcome.stderr);
    let report = outcome.json();
    let title = report["violations"][0]["title"].as_str().expect("a title");
    assert!(title.ends_with("the plan changes it by +$145.71"), "{title}");
    // The GPU instance is new in the region and without the tag.
    let region = "[deny]\nregions = [\"us-*\"]\n";
    assert_eq!(check(&world, region, &up, &[]).code, 100);
    let tag = "[tags]\nrequired = [\"team\"]\n";
    assert_eq!(check(&world, tag, &up, &[]).code, 100);
    let down = document(&world, &plan("g5.xlarge", "m7i.4xlarge"));
    for policy in [region, tag, "[allow]\ntypes = [\"g5.*\"]\n"] {
        assert_eq!(check(&world, policy, &down, &[]).code, 0, "{policy}");
    }
}

/// A budget of an account: the plan does not say whose the instance is.
#[test]
fn what_may_belong_to_a_budget_matters_only_where_it_could_break_it() {
    let world = World::new();
    let plan = json!({"format_version": "1.2", "resource_changes": [{
        "address": "aws_instance.a", "mode": "managed", "type": "aws_instance",
        "change": {"actions": ["create"], "before": null, "after_unknown": {},
                   "after": {"instance_type": "g5.xlarge", "availability_zone": "us-east-1a"}}}]});
    let path = document(&world, &plan);
    let code = |limit: u32| {
        let policy = format!("[[budget]]\naccount = \"111122223333\"\nmonthly_limit = {limit}\n");
        check(&world, &policy, &path, &[]).code
    };
    // A g5.xlarge costs $734.38 a month.
    assert_eq!((code(735), code(734)), (0, 3));
}

#[test]
fn what_is_missing_makes_a_rule_incomplete() {
    let world = World::new();
    let plan = json!({"format_version": "1.2", "resource_changes": [{
        "address": "aws_instance.a", "mode": "managed", "type": "aws_instance",
        "change": {"actions": ["create"], "before": null,
                   "after": {"instance_type": "g5.xlarge"}, "after_unknown": {"tags_all": true}}}]});
    let path = document(&world, &plan);
    let budget = "[[budget]]\nmonthly_limit = 1000\n";
    let without = check(&world, budget, &path, &[]);
    assert_eq!(without.code, 3, "{}", without.stdout);
    assert!(without.stdout.contains("hint: set it with `--region`"), "{}", without.stdout);
    assert_eq!(check(&world, budget, &path, &["--region", "us-east-1"]).code, 0);
    assert_eq!(check(&world, budget, &path, &["--region", "all"]).code, 2);
    let policy = "[tags]\nrequired = [\"team\"]\n";
    let tags = check(&world, policy, &path, &["--format", "json"]);
    assert_eq!(tags.code, 3);
    assert!(tags.stdout.contains("the tag team is known only after apply"));
    assert_eq!(check(&world, OPEN, &path, &[]).code, 3, "its region is unknown");
}

#[test]
fn prices_of_a_plan_may_be_too_old() {
    let world = World::new();
    // The oldest is a spot price of 12 May, 192 days before 20 November.
    for (days, code) in [(192, 0), (191, 100)] {
        let policy = format!("[prices]\nmax_age = \"{days}d\"\n");
        assert_eq!(check(&world, &policy, &fixture(), &[]).code, code, "{days} days");
    }
}

/// The page shows what is printed.
#[test]
fn the_example_in_the_page_of_plans_is_what_is_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/terraform.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let block = |language: &str| {
        let (_, rest) = page.split_once(&format!("```{language}\n")).expect("a block");
        rest.split_once("```").expect("the block ends").0.to_owned()
    };
    let world = World::new();
    world.file("gpucost-policy.toml", block("toml"));
    let shown = block("text");
    let (command, _) = shown.split_once('\n').expect("a command");
    let arguments: Vec<&str> =
        command.strip_prefix("$ gpucost ").expect("a command of gpucost").split(' ').collect();
    let outcome = world.run(&arguments);
    let printed =
        format!("{command}\n{}{}$ echo $?\n{}\n", outcome.stdout, outcome.stderr, outcome.code);
    crate::cli::pages::assert_shows("docs/terraform.md", &shown, &printed);
}

#[test]
fn documents_hold_to_their_schema() {
    let holds = validator(&closed(schema("terraform-check.schema.json")));
    let world = World::new();
    for (name, policy) in [("open", OPEN), ("strict", STRICT)] {
        let document = check(&world, policy, &fixture(), &["--format", "json"]).json();
        assert_holds(&holds, &document, name);
    }
    let empty = json!({"format_version": "1.2", "resource_changes": []});
    let path = self::document(&world, &empty);
    let document = check(&world, OPEN, &path, &["--format", "json"]).json();
    assert_holds(&holds, &document, "an empty plan");
}
