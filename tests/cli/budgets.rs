//! Budgets and other limits of `gpucost check`: what just holds and what just breaks.

use crate::cli::check::{check, check_demo, two};
use crate::cli::estates::one;
use crate::cli::world::World;
use serde_json::json;

#[test]
fn a_budget_may_be_reached_and_not_passed() {
    let world = World::new();
    for (limit, code) in [("734.38", 0), ("734.37", 100), ("0", 100)] {
        let policy = format!("[[budget]]\nmonthly_limit = {limit}\n");
        let outcome = check(&world, &policy, &one(), &[]);
        assert_eq!(outcome.code, code, "{limit}: {}", outcome.stderr);
    }
    for (scope, code) in [
        ("account = \"111122223333\"", 100),
        ("account = \"999999999999\"", 4),
        ("region = \"us-east-1\"", 100),
        ("region = \"eu-west-1\"", 4),
        ("tag = \"Name=one\"", 100),
        ("tag = \"Name=One\"", 4),
    ] {
        let policy = format!("[[budget]]\n{scope}\nmonthly_limit = 700\n");
        let outcome = check(&world, &policy, &one(), &[]);
        assert_eq!(outcome.code, code, "{scope}: {}", outcome.stderr);
        if code == 4 {
            assert!(outcome.stdout.contains("policy/empty-scope"), "{scope}");
            let (kind, name) = scope.split_once(" = ").expect("a key");
            let error = format!(
                "error: no workload matches {kind} {}, which has a budget\nhint: check the \
                 spelling at gpucost-policy.toml:1, or pass `--allow-empty`\n",
                name.trim_matches('"')
            );
            assert!(outcome.stderr.ends_with(&error), "{}", outcome.stderr);
            let allowed = check(&world, &policy, &one(), &["--allow-empty"]);
            assert_eq!(allowed.code, 0, "{scope}: {}", allowed.stderr);
        }
    }
}

/// A g5.xlarge at 734.38 beside a reservation for 8 × p5.48xlarge that nobody uses:
/// 55.04 × 730 × 8 = 321,433.60.
fn beside_unused_room() -> serde_json::Value {
    let mut estate = one();
    estate["commitments"] = json!([{
        "kind": "capacity-reservation", "id": "cr-1", "account": "111122223333",
        "region": "us-east-1", "zone": "us-east-1a", "instance_type": "p5.48xlarge",
        "total": 8, "available": 8, "tags": {"team": "b"},
    }]);
    estate
}

#[test]
fn room_that_nobody_uses_is_in_every_rule_about_money_tags_and_types() {
    let world = World::new();
    let estate = beside_unused_room();
    for (scope, most) in [
        ("", "322_167.98"),
        ("account = \"111122223333\"", "322_167.98"),
        ("region = \"us-east-1\"", "322_167.98"),
        ("tag = \"team=b\"", "321_433.60"),
    ] {
        for (limit, code) in [(most.to_owned(), 0), (format!("{most} - 0.01"), 100)] {
            let limit = limit.replace("322_167.98 - 0.01", "322_167.97");
            let limit = limit.replace("321_433.60 - 0.01", "321_433.59");
            let policy = format!("[[budget]]\n{scope}\nmonthly_limit = {limit}\n");
            let outcome = check(&world, &policy, &estate, &[]);
            assert_eq!(outcome.code, code, "{scope} {limit}: {}", outcome.stdout);
        }
    }
    for (policy, words) in [
        ("[deny]\ntypes = [\"p5*\"]\n", "p5.48xlarge"),
        ("[deny]\nregions = [\"us-east-1\"]\n", "cr-1"),
        ("[tags]\nrequired = [\"Name\"]\n", "(cr-1) is missing the required tag Name"),
    ] {
        let outcome = check(&world, policy, &estate, &["--format", "json"]);
        assert_eq!(outcome.code, 100, "{policy}: {}", outcome.stdout);
        assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
    }
}

/// What has no price may be more waste than a limit allows.
/// What was paid for a Capacity Block is in no list, and is not nothing.
#[test]
fn an_idle_block_passes_no_rule_about_money_or_types() {
    let world = World::new();
    let mut estate = beside_unused_room();
    estate["commitments"][0]["capacity_block"] = json!(true);
    estate["commitments"][0]["end"] = json!("2026-11-20T00:00:00Z");
    for (policy, code) in [
        ("[[budget]]\nmonthly_limit = 1_000\n", 3),
        ("[deny]\ntypes = [\"p5*\"]\n", 100),
        ("[allow]\ntypes = [\"g5*\"]\n", 100),
        ("[deny]\ntypes = [\"p4*\"]\n", 0),
    ] {
        let outcome = check(&world, policy, &estate, &[]);
        assert_eq!(outcome.code, code, "{policy}: {}", outcome.stdout);
    }
}

#[test]
fn waste_of_unused_room_is_open_without_its_price() {
    let world = World::new();
    let policy = "[waste]\nmonthly_limit = 1_000\n";
    for (instance_type, code) in [("p5.48xlarge", 100), ("p9.48xlarge", 3)] {
        let mut estate = beside_unused_room();
        estate["commitments"][0]["instance_type"] = json!(instance_type);
        let outcome = check(&world, policy, &estate, &[]);
        assert_eq!(outcome.code, code, "{instance_type}: {}", outcome.stdout);
    }
}

#[test]
fn every_instance_counts_by_its_own_tags() {
    let world = World::new();
    let mut estate = two();
    // One Auto Scaling group of two, of which one is of another team.
    for (place, team) in ["a", "b"].into_iter().enumerate() {
        estate["instances"][place]["auto_scaling_group"] = json!("web");
        estate["instances"][place]["tags"] = json!({"team": team});
    }
    for (team, limit, code) in [("a", "734.38", 0), ("a", "734.37", 100), ("b", "734.37", 100)] {
        let policy = format!("[[budget]]\ntag = \"team={team}\"\nmonthly_limit = {limit}\n");
        let outcome = check(&world, &policy, &estate, &[]);
        assert_eq!(outcome.code, code, "{team} {limit}: {}", outcome.stdout);
    }
    // Both have a value, and one has an owner.
    let required = |tag: &str| format!("[tags]\nrequired = [\"{tag}\"]\n");
    assert_eq!(check(&world, &required("team"), &estate, &[]).code, 0);
    estate["instances"][1]["tags"]["owner"] = json!("ann");
    let outcome = check(&world, &required("owner"), &estate, &["--format", "json"]);
    assert_eq!(outcome.code, 100);
    let words = "1 of 2 instances of web";
    assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
}

#[test]
fn a_gap_leaves_the_rules_incomplete_that_rest_on_what_it_hides() {
    let world = World::new();
    let policy = "[[budget]]\nmonthly_limit = 1_000\n[[budget]]\ntag = \"Name=one\"\n\
                  monthly_limit = 1_000\n[waste]\nmonthly_limit = 1_000\n[coverage]\n\
                  minimum_percent = 50\n[tags]\nrequired = [\"Name\"]\n[deny]\n\
                  types = [\"p5*\"]\nregions = [\"cn-*\"]\n";
    let money = ["budget/everything", "budget/tag Name=one", "waste"];
    let names = ["required-tags", "types", "regions"];
    let every_rule = [&money[..], &names[..], &["coverage"]].concat();
    let commitments = [&money[..], &names[..]].concat();
    for (what, rules) in [
        ("region", &every_rule[..]),
        ("regions", &every_rule),
        ("account", &every_rule),
        ("instance", &every_rule),
        ("nodes", &every_rule),
        ("training jobs", &every_rule),
        // Nobody knows what it is about.
        ("phase of the moon", &every_rule),
        ("tags", &["budget/tag Name=one", "required-tags"]),
        ("volumes", &money),
        ("addresses", &money),
        ("capacity reservations", &commitments),
        ("reserved instances", &commitments),
        ("savings plans", &commitments),
        ("sum", &["waste"]),
        ("spot prices", &[]),
        ("metrics", &[]),
    ] {
        let mut estate = one();
        estate["gaps"] = json!([{
            "what": what, "where": "eu-west-1", "reason": "access denied", "hint": "allow it",
        }]);
        let outcome = check(&world, policy, &estate, &["--format", "json"]);
        let report = outcome.json();
        let checks = report["checks"].as_array().expect("a list");
        let incomplete = checks.iter().filter(|check| check["outcome"] == "incomplete");
        let mut incomplete_rules: Vec<String> = incomplete
            .map(|check| {
                let rule = check["rule"].as_str().expect("an id").replace("policy/", "");
                match rule.as_str() {
                    "budget" => format!("budget/{}", check["scope"].as_str().expect("a scope")),
                    _ => rule,
                }
            })
            .collect();
        incomplete_rules.sort();
        let mut rules = rules.to_vec();
        rules.sort_unstable();
        assert_eq!(incomplete_rules, rules, "{what}");
        assert_eq!(outcome.code, if rules.is_empty() { 0 } else { 3 }, "{what}");
    }
}

#[test]
fn an_unpriced_part_never_passes_a_budget() {
    let world = World::new();
    let mut estate = one();
    estate["instances"][0]["instance_type"] = json!("g99.xlarge");
    let policy = "[[budget]]\nmonthly_limit = 1_000_000\n";
    let outcome = check(&world, policy, &estate, &[]);
    assert_eq!(outcome.code, 3, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains("price of i-one"), "{}", outcome.stdout);

    // Over its limit it is violated, whatever is missing beside.
    let mut mixed = two();
    mixed["instances"][1]["instance_type"] = json!("g99.xlarge");
    let low = "[[budget]]\nmonthly_limit = 700\n";
    assert_eq!(check(&world, low, &mixed, &[]).code, 100);
}

#[test]
fn a_region_that_was_not_read_never_passes() {
    let world = World::new();
    let mut estate = one();
    estate["gaps"] = json!([{
        "what": "region", "where": "eu-west-1", "reason": "access denied", "hint": "allow it",
    }]);
    let everything = "[[budget]]\nmonthly_limit = 1_000_000\n";
    assert_eq!(check(&world, everything, &estate, &[]).code, 3);
    let other = "[[budget]]\nregion = \"us-east-1\"\nmonthly_limit = 1_000_000\n";
    assert_eq!(check(&world, other, &estate, &[]).code, 0);
    let tags = "[tags]\nrequired = [\"Name\"]\n";
    assert_eq!(check(&world, tags, &estate, &[]).code, 3);
}

#[test]
fn limits_bite_at_the_sums_of_the_demo() {
    // An idle box, one that only holds memory, and forgotten storage, of which snapshots
    // may cost 4,296 × 0.05: 7,659.63 + 1,185.52 + 343.68 − 214.80 = 8,974.03 of
    // 200,906.88 a month, 4.4667… %.
    // Of 22 running boxes, 21 are measured: 95.45… %. The oldest price is of 21
    // January, 284 days before 1 November.
    for (rule, holds, breaks) in [
        ("[waste]\nmonthly_limit = ", "8974.03", "8974.02"),
        ("[waste]\npercent_limit = ", "4.467", "4.466"),
        ("[coverage]\nminimum_percent = ", "95.4", "95.5"),
        ("[prices]\nmax_age = ", "\"284d\"", "\"283d\""),
        ("[[budget]]\nmonthly_limit = ", "200906.88", "200906.87"),
    ] {
        for (value, is_violated) in [(holds, false), (breaks, true)] {
            let report = check_demo(&format!("{rule}{value}\n")).json();
            let violated = report["checks"][0]["outcome"] == "violated";
            assert_eq!(violated, is_violated, "{rule}{value}: {report:#}");
        }
    }
}

#[test]
fn a_limit_of_waste_holds_where_what_is_missing_could_not_break_it() {
    // Beside 8,974.03, only a g6.12xlarge at $4.6016 an hour was not measured. It wastes at most
    // 4.6016 × 730 = 3,359.17: 12,333.20 of 200,906.88 are 6.1388 %.
    for (limit, outcome) in [
        ("monthly_limit = 12333.20", "passed"),
        ("monthly_limit = 12333.10", "incomplete"),
        ("percent_limit = 6.14", "passed"),
        ("percent_limit = 6.13", "incomplete"),
        ("percent_limit = 4.4", "violated"),
    ] {
        let report = check_demo(&format!("[waste]\n{limit}\n")).json();
        assert_eq!(report["checks"][0]["outcome"], outcome, "{limit}");
        let missing = report["missing_data"].as_array().expect("a list");
        assert_eq!(missing.is_empty(), outcome != "incomplete", "{limit}");
    }
    // A machine of 734.38 without metrics, and one of which the price is not known.
    let world = World::new();
    let mut estate = one();
    estate["metrics"] = json!([]);
    let policy = "[waste]\nmonthly_limit = 734.38\n";
    assert_eq!(check(&world, policy, &estate, &[]).code, 0);
    let policy = "[waste]\nmonthly_limit = 734.37\n";
    assert_eq!(check(&world, policy, &estate, &[]).code, 3);
    estate["instances"][0]["instance_type"] = json!("g99.xlarge");
    let policy = "[waste]\nmonthly_limit = 1_000_000\n";
    assert_eq!(check(&world, policy, &estate, &[]).code, 3);
}

/// Denies that a region was read.
fn unread(mut estate: serde_json::Value) -> serde_json::Value {
    estate["gaps"] = json!([{
        "what": "region", "where": "eu-west-1", "reason": "access denied", "hint": "allow it",
    }]);
    estate
}

#[test]
fn what_is_accepted_hides_nothing_that_is_missing() {
    // 34.38 over its budget, which somebody answers for up to 100, or a baseline knew.
    let world = World::new();
    let old = world.file("old.json", world.audit(&one()).to_string());
    let budget = "[[budget]]\nmonthly_limit = 700\n";
    let accepted = format!(
        "{budget}[[suppress]]\nrule = \"policy/budget\"\nworkload = \"everything\"\nowner = \
         \"ml\"\nreason = \"a test\"\nexpires = 2026-12-31\nmonthly_limit = 100\n"
    );
    for (policy, flags) in
        [(accepted.as_str(), &[][..]), (budget, &["--baseline", old.as_str()][..])]
    {
        let code = |estate| check(&world, policy, &estate, flags).code;
        assert_eq!((code(one()), code(unread(one()))), (0, 3), "{flags:?}");
    }
    assert_eq!(check(&world, budget, &unread(one()), &[]).code, 100);
}

#[test]
fn a_kind_that_cannot_be_read_may_be_the_one_of_a_floor() {
    let world = World::new();
    let mut estate = one();
    let policy = "[utilization]\ntraining = 30\n";
    assert_eq!(check(&world, policy, &estate, &[]).code, 0);
    estate["instances"][0]["tags"]["gpucost:kind"] = json!("trainng");
    assert_eq!(check(&world, policy, &estate, &[]).code, 3);
    // 15% is below 30%.
    estate["instances"][0]["tags"]["gpucost:kind"] = json!("training");
    assert_eq!(check(&world, policy, &estate, &[]).code, 100);
}

#[test]
fn worse_than_the_baseline_begins_at_a_cent() {
    let world = World::new();
    let policy = "[[budget]]\nmonthly_limit = 700\n";
    let mut document = world.audit(&one());
    // It costs 734.38. Below its limit then, the budget is newly violated.
    for (then, code) in [(734.38, 0), (734.37, 100), (699.99, 100), (900.0, 0)] {
        document["workloads"][0]["monthly_cost"] = json!(then);
        let old = world.file("old.json", document.to_string());
        let outcome = check(&world, policy, &one(), &["--baseline", &old]);
        assert_eq!(outcome.code, code, "{then}: {}", outcome.stderr);
    }
}

#[test]
fn yuan_are_not_judged_by_a_budget_in_dollars() {
    let world = World::new();
    let mut estate = one();
    estate["instances"][0]["region"] = json!("cn-north-1");
    estate["instances"][0]["zone"] = json!("cn-north-1a");
    estate["prices"] = json!([{
        "region": "cn-north-1", "instance_type": "g5.xlarge", "option": "on-demand",
        "operating_system": "linux", "tenancy": "shared", "hourly": "10", "currency": "CNY",
        "origin": "user", "effective_date": "2026-10-01", "source": "contract",
    }]);
    let dollars = "[[budget]]\nmonthly_limit = 1_000_000\n";
    let outcome = check(&world, dollars, &estate, &[]);
    assert_eq!(outcome.code, 3, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains("costs CNY"), "{}", outcome.stdout);
    // 10 × 730 = 7,300 yuan.
    for (limit, code) in [("7300", 0), ("7299.99", 100)] {
        let both = format!("{dollars}\n[[budget]]\nmonthly_limit = {limit}\ncurrency = \"CNY\"\n");
        let outcome = check(&world, &both, &estate, &[]);
        assert_eq!(outcome.code, code, "{}{}", outcome.stdout, outcome.stderr);
    }
}
