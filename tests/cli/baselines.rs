//! `gpucost check --baseline`: what may be compared, and how each violation stands
//! to what was known.

use crate::cli::check::{RECORDING_AGE, check as gate, two};
use crate::cli::estates::{in_two_regions, one};
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};

/// The audit of the demo as a script reads it.
fn demo(world: &World) -> Value {
    world.run(&["audit", "--demo", "--format", "json"]).json()
}

/// Checks the demo by a policy against an earlier audit.
fn check(world: &World, policy: &str, old: &Value, format: &str) -> Outcome {
    world.file("gpucost-policy.toml", policy);
    let old = world.file("old.json", old.to_string());
    world.run(&["check", "--demo", "--baseline", &old, "--format", format])
}

const BUDGET: &str = "[[budget]]\nmonthly_limit = 100_000\n";

#[test]
fn what_has_nothing_in_common_is_no_baseline() {
    let world = World::new();
    let known = check(&world, BUDGET, &demo(&world), "table");
    assert_eq!(known.code, 0, "{}", known.stderr);
    for (key, value, said) in [
        (
            "accounts",
            json!(["999999999999"]),
            "they have no account in common: 999999999999 before, ",
        ),
        ("regions", json!(["sa-east-1"]), "they have no region in common: sa-east-1 before, "),
    ] {
        let mut old = demo(&world);
        old["scope"][key] = value;
        let outcome = check(&world, BUDGET, &old, "table");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{key}");
        assert!(
            outcome.stderr.contains("cannot be used as a baseline for this audit"),
            "{}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("hint: "), "{}", outcome.stderr);
    }
    let mut euro = demo(&world);
    euro["prices"]["currency"] = json!("EUR");
    let outcome = check(&world, BUDGET, &euro, "table");
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("its sums are in EUR and the sums of this audit in USD"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn what_the_baseline_did_not_read_is_not_known_to_it() {
    let world = World::new();
    let mut old = world.audit(&in_two_regions());
    let now = world.estate("now.json", &in_two_regions());
    let policy = "[[budget]]\nregion = \"us-east-1\"\nmonthly_limit = 700\n";
    world.file("gpucost-policy.toml", format!("{policy}{RECORDING_AGE}"));
    let check = |old: &Value, format: &str| {
        let old = world.file("old.json", old.to_string());
        let arguments = ["check", "--from", &now, "--baseline", &old, "--format", format];
        world.run(&arguments)
    };
    let known = check(&old, "json");
    assert_eq!(known.code, 0, "{}", known.stderr);
    assert_eq!(known.json()["notices"][0]["baseline_state"], "known");
    assert_eq!(known.json()["notices"][0]["before"], "$734.38 per month");
    assert_eq!(known.json()["baseline"]["cautions"], json!([]));

    // The same report of another scope, of which one region is common.
    old["scope"]["regions"] = json!(["us-west-2", "sa-east-1"]);
    let outcome = check(&old, "json");
    assert_eq!(outcome.code, 100, "{}", outcome.stderr);
    let report = outcome.json();
    assert_eq!(report["violations"][0]["baseline_state"], "new");
    assert_eq!(report["violations"][0]["before"], Value::Null);
    assert_eq!(
        report["baseline"]["cautions"],
        json!([
            "regions in scope only before: sa-east-1",
            "regions in scope only now: us-east-1",
            "only data read by both audits is compared, which excludes 1 workload before and 1 \
             workload now",
        ])
    );
    let said = "warning: limited comparability with the baseline: regions in scope only";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    for format in ["table", "markdown"] {
        let shown = check(&old, format).stdout;
        assert!(shown.contains("in scope only before: sa"), "{format}: {shown}");
    }
}

#[test]
fn each_violation_says_how_it_stands_and_what_was_before() {
    let world = World::new();
    // Another budget was over its limit by less, and an idle box was not known.
    let mut old = demo(&world);
    let idle = "idle-gpu:i-0710738f7e219399e";
    let findings = old["findings"].as_array_mut().expect("a list");
    let count = findings.len();
    findings.retain(|finding| finding["id"] != idle);
    assert_eq!(findings.len(), count - 1);
    let first = &mut old["workloads"][0];
    let cost = first["monthly_cost"].as_f64().expect("priced");
    first["monthly_cost"] = json!(((cost - 10_000.0) * 100.0).round() / 100.0);
    let policy = "[[budget]]\nmonthly_limit = 100_000\n\n[[forbid]]\nseverity = \"critical\"\n\n\
                  [tags]\nrequired = [\"no-such-tag\"]\n\n[prices]\nmax_age = \"1d\"\n";
    let outcome = check(&world, policy, &old, "json");
    assert_eq!(outcome.code, 100, "{}", outcome.stderr);
    let report = outcome.json();
    let stands: Vec<(&str, &Value, &Value)> = report["violations"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|violation| {
            let rule = violation["rule"].as_str().expect("a name");
            (rule, &violation["baseline_state"], &violation["before"])
        })
        .collect();
    let nothing = Value::Null;
    assert_eq!(
        stands,
        [
            ("policy/budget", &json!("worse"), &json!("$190,906.88 per month")),
            ("idle-gpu", &json!("new"), &nothing),
            ("policy/price-age", &nothing, &nothing),
        ]
    );
    // The age of prices is not compared, and so no news.
    assert_eq!(report["baseline"]["new"], 1);
    assert_eq!(report["baseline"]["worse"], 1);
    let known = report["baseline"]["known"].as_u64().expect("a number");
    let notices = report["notices"].as_array().expect("a list");
    let of_state = notices.iter().filter(|notice| notice["baseline_state"] == "known");
    assert_eq!(of_state.count() as u64, known);

    let wide = check(&world, policy, &old, "wide").stdout;
    for said in [
        "  worse, previously $190,906.88 per month  ",
        "  new  ",
        &format!("{known} known, 1 worse, 1 new, "),
    ] {
        assert!(wide.contains(said), "{said}: {wide}");
    }
    assert!(!wide.contains("required tag no-such-tag"), "{wide}");
    assert!(!wide.contains("NOTICES"), "{wide}");

    // 200,906.88 − 190,906.88 if the sum of the baseline says so, too.
    let mut cheaper = old.clone();
    cheaper["summary"]["monthly_cost"] = json!(190_906.88);
    let comment = check(&world, policy, &cheaper, "markdown").stdout;
    assert!(comment.contains("### ❌ +\\$10,000.00 per month; policy violated"), "{comment}");
    assert!(comment.contains("| worse, previously \\$190,906.88 per month |"), "{comment}");
    assert!(!comment.contains("NOTICES"), "{comment}");

    let sarif = check(&world, policy, &old, "sarif").json();
    let mut states: Vec<&str> = sarif["runs"][0]["results"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|result| result["baselineState"].as_str())
        .collect();
    states.sort_unstable();
    states.dedup();
    assert_eq!(states, ["new", "unchanged", "updated"]);
    let junit = check(&world, policy, &old, "junit").stdout;
    assert!(junit.contains("<skipped message=\"known in the baseline: "), "{junit}");
    assert!(junit.contains("baseline: worse, previously $190,906.88 per month"), "{junit}");
}

#[test]
fn half_a_percent_more_is_worse_on_the_first_night() {
    let world = World::new();
    // 200,906.88 − 1,000 = 199,906.88, and 1,000 ÷ 199,906.88 = 0.5%.
    let mut old = demo(&world);
    let first = &mut old["workloads"][0];
    let cost = first["monthly_cost"].as_f64().expect("priced");
    first["monthly_cost"] = json!(((cost - 1_000.0) * 100.0).round() / 100.0);
    let outcome = check(&world, BUDGET, &old, "json");
    assert_eq!(outcome.code, 100, "{}", outcome.stderr);
    let violation = &outcome.json()["violations"][0];
    assert_eq!(violation["baseline_state"], "worse");
    assert_eq!(violation["before"], "$199,906.88 per month");
}

#[test]
fn a_suppression_accepts_an_amount_and_no_more() {
    let world = World::new();
    let check = |limits: &[&str]| {
        let mut policy = BUDGET.to_owned();
        for limit in limits {
            policy.push_str(&format!(
                "\n[[suppress]]\nrule = \"policy/budget\"\nworkload = \"everything\"\n\
                 owner = \"ml@example.com\"\nreason = \"the launch\"\nexpires = 2026-12-31\n\
                 monthly_limit = {limit}\n"
            ));
        }
        world.file("gpucost-policy.toml", policy);
        world.run(&["check", "--demo", "--format", "json"])
    };
    // 200,906.88 − 100,000 over the budget.
    let accepted = check(&["100_906.88"]);
    assert_eq!(accepted.code, 0, "{}", accepted.stderr);
    let report = accepted.json();
    assert_eq!(report["suppressed"][0]["violation"]["monthly"], 100_906.88);
    let exceeded = check(&["100_906.87"]);
    assert_eq!(exceeded.code, 100, "{}", exceeded.stderr);
    let report = exceeded.json();
    assert_eq!(report["suppressed"], json!([]));
    assert_eq!(
        report["violations"][0]["steps"][0],
        "ml@example.com accepts up to $100,906.87 per month until 2026-12-31: ask for more with \
         a new `monthly_limit` in the suppression"
    );
    // It is exceeded, and so not without use.
    assert_eq!(report["notices"], json!([]));
    // Whoever accepts more may say so beside.
    assert_eq!(check(&["100_906.87", "101_000"]).code, 0);
}

#[test]
fn an_accepted_amount_is_about_no_missing_data() {
    let world = World::new();
    let check = |limit: &str| {
        world.file(
            "gpucost-policy.toml",
            format!(
                "[[forbid]]\nrule = \"idle-gpu\"\n\n[[suppress]]\nrule = \"idle-gpu\"\n\
                 workload = \"*\"\nowner = \"o\"\nreason = \"r\"\nexpires = 2026-12-31\n{limit}"
            ),
        );
        world.run(&["check", "--demo"]).code
    };
    assert_eq!(check(""), 0);
    // The idle box costs 7,659.63; of the box without metrics nothing is known.
    assert_eq!(check("monthly_limit = 7_659.63\n"), 3);
    assert_eq!(check("monthly_limit = 7_659.62\n"), 100);
}

#[test]
fn an_old_price_is_no_news_against_its_own_audit() {
    let world = World::new();
    let old = demo(&world);
    let outcome = check(&world, "[prices]\nmax_age = \"1d\"\n", &old, "table");
    assert_eq!(outcome.code, 100, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("0 known, 0 worse, 0 new, 0 gone"), "{}", outcome.stdout);
}

#[test]
fn what_the_baseline_could_not_see_either_is_accepted_unless_the_policy_refuses_it() {
    let world = World::new();
    let policy = "[[forbid]]\nrule = \"idle-gpu\"\n";
    let own = demo(&world);
    let refuses = format!("{policy}\n[gaps]\nknown = \"fail\"\n");
    let incomplete = check(&world, &refuses, &own, "json");
    assert_eq!(incomplete.code, 3, "{}", incomplete.stderr);
    let accepts = format!("{policy}\n[gaps]\nknown = \"warn\"\n");
    assert_eq!(check(&world, &accepts, &own, "json").code, 0);
    let accepted = check(&world, policy, &own, "json");
    assert_eq!(accepted.code, 0, "{}", accepted.stderr);
    let report = accepted.json();
    assert_eq!(report["checks"][0]["outcome"], "accepted");
    assert_eq!(report["missing_data"], json!([]));
    let unmeasured = json!("i-0e7464efc70add902");
    let notices = report["notices"].as_array().expect("a list");
    let of_gap = notices.iter().find(|notice| notice["scope"] == unmeasured);
    let of_gap = of_gap.expect("a notice of the instance without metrics");
    assert_eq!(of_gap["baseline_state"], "known");
    assert_eq!(of_gap["observed"], "no GPU utilization");
    // What the baseline did see is missing now, and nothing excuses that.
    let mut seen = own.clone();
    seen["gaps"] = json!([]);
    assert_eq!(check(&world, policy, &seen, "json").code, 3);
    // Without a baseline there is nothing known.
    let alone = world.run(&["check", "--demo", "--format", "json"]).json();
    assert_eq!(alone["missing_data"][0]["where"], unmeasured);
    world.file("own.json", own.to_string());
    let strict = ["check", "--demo", "--strict", "--baseline", &world.path("own.json")];
    assert_eq!(world.run(&strict).code, 3);
    let invalid = format!("{policy}\n[gaps]\nknown = \"ignore\"\n");
    let refused = check(&world, &invalid, &own, "json");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("`ignore` is not one of fail, warn"), "{}", refused.stderr);
}

#[test]
fn a_slip_in_a_denied_name_is_refused_or_shown() {
    let world = World::new();
    let check = |policy: &str| {
        world.file("gpucost-policy.toml", policy);
        world.run(&["check", "--demo"])
    };
    for (policy, meant) in [
        ("[deny]\ntypes = [\"g6e.12xlarg\"]\n", "did you mean g6e.12xlarge?"),
        ("[deny]\ntypes = [\"g6e-12xlarge\"]\n", "did you mean g6e.12xlarge?"),
        ("[deny]\nregions = [\"us-esat-1\"]\n", "did you mean us-east-1?"),
        ("[deny]\nregions = [\"US-EAST-1\"]\n", "regions are lowercase"),
    ] {
        let refused = check(policy);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{policy}");
        assert!(refused.stderr.contains("gpucost-policy.toml:2: "), "{}", refused.stderr);
        assert!(refused.stderr.contains(meant), "{}", refused.stderr);
    }
    let shown = check("[deny]\ntypes = [\"g6e.21xlarge\"]\n");
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("  policy/unlisted-name  g6e.21xlarge"), "{}", shown.stdout);
    assert!(shown.stderr.contains("1 notice"), "{}", shown.stderr);
}

#[test]
fn a_type_newer_than_the_program_is_denied() {
    let world = World::new();
    let mut estate = one();
    estate["instances"][0]["instance_type"] = json!("p9.48xlarge");
    let path = world.estate("now.json", &estate);
    world.file("gpucost-policy.toml", "[deny]\ntypes = [\"p9.*\"]\n");
    let outcome = world.run(&["check", "--from", &path, "--format", "json"]);
    assert_eq!(outcome.code, 100, "{}", outcome.stderr);
    assert!(!outcome.stdout.contains("unlisted-name"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("\"`gpucost explain i-one --from "), "{}", outcome.stdout);
}

#[test]
fn one_budget_in_another_currency_lacks_one_thing() {
    let world = World::new();
    world
        .file("gpucost-policy.toml", "[[budget]]\nmonthly_limit = 1_000_000\ncurrency = \"EUR\"\n");
    let outcome = world.run(&["check", "--demo", "--format", "json"]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let workloads = demo(&world)["workloads"].as_array().expect("a list").len();
    let missing_data = outcome.json()["missing_data"].clone();
    let missing_data = missing_data.as_array().expect("a list");
    assert_eq!(missing_data.len(), 1, "{missing_data:#?}");
    let reason = format!("{workloads} workloads cost USD but its budget is in EUR");
    assert_eq!(
        (&missing_data[0]["where"], &missing_data[0]["reason"]),
        (&json!("everything"), &json!(reason))
    );
}

/// A job that moves its baseline on every night must not accept what is added to it.
#[test]
fn more_of_what_is_denied_is_worse_than_the_baseline() {
    let world = World::new();
    let grouped = |count: usize, room: u32| {
        let mut estate = two();
        let instances = estate["instances"].as_array_mut().expect("a list");
        for instance in instances.iter_mut() {
            instance["tags"] = json!({"gpucost:workload": "w"});
        }
        instances.truncate(count);
        let metrics = estate["metrics"].as_array_mut().expect("a list");
        metrics.retain(|series| count > 1 || series["instance"] == "i-one");
        estate["commitments"] = json!([{
            "kind": "capacity-reservation", "id": "cr-1", "account": "111122223333",
            "region": "us-east-1", "zone": "us-east-1a", "instance_type": "p5.48xlarge",
            "total": room, "available": room,
        }]);
        estate
    };
    let old = world.audit(&grouped(1, 1));
    let old = world.file("old.json", old.to_string());
    for policy in [
        "[deny]\ntypes = [\"g5*\", \"p5*\"]\n", "[deny]\nregions = [\"us-*\"]\n",
        "[tags]\nrequired = [\"team\"]\n",
    ] {
        for (count, room, code) in [(1, 1, 0), (2, 1, 100), (1, 2, 100)] {
            let outcome = gate(&world, policy, &grouped(count, room), &["--baseline", &old]);
            assert_eq!(outcome.code, code, "{policy} {count} {room}: {}", outcome.stdout);
        }
    }
}

/// What had no price before excuses no more of it.
#[test]
fn more_without_a_price_is_news() {
    let world = World::new();
    let unpriced = |count: usize| {
        let mut estate = two();
        let instances = estate["instances"].as_array_mut().expect("a list");
        instances.truncate(count);
        for instance in instances {
            instance["instance_type"] = json!("p9.48xlarge");
            instance["tags"] = json!({"gpucost:workload": "w"});
        }
        let metrics = estate["metrics"].as_array_mut().expect("a list");
        metrics.retain(|series| count > 1 || series["instance"] == "i-one");
        estate
    };
    for (before, now, code) in [(1, 1, 0), (2, 2, 0), (2, 1, 0), (1, 2, 3)] {
        let old = world.audit(&unpriced(before));
        let old = world.file("old.json", old.to_string());
        let arguments = ["--baseline", old.as_str()];
        let outcome = gate(&world, BUDGET, &unpriced(now), &arguments);
        assert_eq!(outcome.code, code, "{before} {now}: {}", outcome.stdout);
    }
}

/// Of two instances one lacked a tag: that both lack it is worse.
#[test]
fn more_without_a_required_tag_are_worse_than_the_baseline() {
    let world = World::new();
    let tagged = |teams: [Option<&str>; 2]| {
        let mut estate = two();
        let instances = estate["instances"].as_array_mut().expect("a list");
        for (instance, team) in instances.iter_mut().zip(teams) {
            instance["tags"] = json!({"gpucost:workload": "w"});
            if let Some(team) = team {
                instance["tags"]["team"] = json!(team);
            }
        }
        estate
    };
    let policy = "[tags]\nrequired = [\"team\"]\n";
    let old = world.audit(&tagged([Some("a"), None]));
    assert_eq!(old["workloads"][0]["tagged_instances"], json!({"team": 1}));
    let old = world.file("old.json", old.to_string());
    for (teams, code) in [([None, Some("a")], 0), ([Some("a"), Some(" ")], 0), ([None, None], 100)]
    {
        let outcome = gate(&world, policy, &tagged(teams), &["--baseline", &old]);
        assert_eq!(outcome.code, code, "{teams:?}: {}", outcome.stdout);
    }
}

/// Members and reservations count by their own tags then as now: a budget of a team that was over
/// its limit is known, and is worse when the team's instance or its unused room costs more.
#[test]
fn a_baseline_counts_members_and_rooms_by_their_tags() {
    let world = World::new();
    let fleet = |available: u64| {
        let mut estate = two();
        let instances = estate["instances"].as_array_mut().expect("a list");
        for (instance, team) in instances.iter_mut().zip(["a", "b"]) {
            instance["tags"] = json!({"gpucost:workload": "w", "team": team});
        }
        estate["commitments"] = json!([{
            "kind": "capacity-reservation", "id": "cr-1", "account": "111122223333",
            "region": "us-east-1", "zone": "us-east-1a", "instance_type": "g6.xlarge",
            "total": 2, "available": available, "tags": {"team": "a"},
        }]);
        estate
    };
    let old = world.audit(&fleet(1));
    assert_eq!(old["workloads"][0]["members"][0]["tags"], json!({"team": "a"}));
    assert_eq!(old["unused_commitments"][0]["tags"], json!({"team": "a"}));
    let old = world.file("old.json", old.to_string());
    // Of team a 734.38 for its g5.xlarge and 587.50 for each free place of a g6.xlarge.
    for (team, available, code) in [("a", 1, 0), ("a", 2, 100), ("b", 2, 0)] {
        let policy = format!("[[budget]]\ntag = \"team={team}\"\nmonthly_limit = 700\n");
        let outcome = gate(&world, &policy, &fleet(available), &["--baseline", &old]);
        assert_eq!(outcome.code, code, "{team} {available}: {}", outcome.stdout);
    }
}

/// Fewer free places of a reservation are no growth, and one that loses a tag is new.
#[test]
fn a_reservation_is_worse_where_it_costs_more_or_loses_its_tag() {
    let world = World::new();
    let fleet = |available: u64, tags: Value| {
        let mut estate = one();
        estate["instances"][0]["tags"]["team"] = json!("a");
        estate["commitments"] = json!([{
            "kind": "capacity-reservation", "id": "cr-1", "account": "111122223333",
            "region": "us-east-1", "zone": "us-east-1a", "instance_type": "g6.xlarge",
            "total": 3, "available": available, "tags": tags,
        }]);
        estate
    };
    let policy = "[tags]\nrequired = [\"team\"]\n";
    for (then, now, code) in [
        (fleet(3, json!({})), fleet(2, json!({})), 0),
        (fleet(2, json!({})), fleet(3, json!({})), 100),
        (fleet(3, json!({"team": "a"})), fleet(3, json!({})), 100),
        (fleet(3, json!({"team": "a"})), fleet(3, json!({"team": ""})), 100),
    ] {
        let old = world.file("old.json", world.audit(&then).to_string());
        let outcome = gate(&world, policy, &now, &["--baseline", &old]);
        assert_eq!(outcome.code, code, "{now}: {}", outcome.stdout);
    }
}

/// A stopped instance may get another type: that the old one was denied too excuses nothing.
#[test]
fn another_denied_type_is_worse_than_the_baseline() {
    let world = World::new();
    let of_type = |instance_type: &str| {
        let mut estate = one();
        estate["instances"][0]["instance_type"] = json!(instance_type);
        estate
    };
    let policy = "[deny]\ntypes = [\"g5*\", \"g4dn*\"]\n";
    let old = world.audit(&of_type("g4dn.xlarge"));
    let old = world.file("old.json", old.to_string());
    for (now, code) in [("g4dn.xlarge", 0), ("g5.xlarge", 100)] {
        let outcome = gate(&world, policy, &of_type(now), &["--baseline", &old]);
        assert_eq!(outcome.code, code, "{now}: {}", outcome.stdout);
    }
}

/// A finding that saves nothing is worse when it is about more instances.
#[test]
fn more_of_a_known_risk_is_worse_than_the_baseline() {
    let world = World::new();
    let hot = |count: usize| {
        let mut estate = two();
        let instances = estate["instances"].as_array_mut().expect("a list");
        for instance in instances.iter_mut() {
            instance["tags"] = json!({"gpucost:workload": "w"});
        }
        instances.truncate(count);
        let metrics = estate["metrics"].as_array_mut().expect("a list");
        for used in metrics.iter_mut().filter(|series| series["metric"] == "gpu_memory_used") {
            used["values"][0][0] = json!(21_500.0);
        }
        metrics.retain(|series| count > 1 || series["instance"] == "i-one");
        estate
    };
    let policy = "[[forbid]]\nrule = \"vram-nearly-full\"\n";
    let old = world.audit(&hot(1));
    let old = world.file("old.json", old.to_string());
    for (now, code) in [(1, 0), (2, 100)] {
        let outcome = gate(&world, policy, &hot(now), &["--baseline", &old]);
        assert_eq!(outcome.code, code, "{now}: {}", outcome.stdout);
    }
}

/// What the baseline did not see of one workload or reservation excuses no more of it.
#[test]
fn a_known_gap_does_not_grow() {
    let world = World::new();
    let unmeasured = |count: usize, room: u32| {
        let mut estate = one();
        estate["instances"][0]["tags"] = json!({"gpucost:workload": "w"});
        let first = estate["instances"][0].clone();
        let instances = estate["instances"].as_array_mut().expect("a list");
        instances.extend((1..count).map(|place| {
            let mut other = first.clone();
            other["id"] = json!(format!("i-{place:017x}"));
            other
        }));
        estate["commitments"] = json!([{
            "kind": "capacity-reservation", "id": "cr-1", "account": "111122223333",
            "region": "us-east-1", "zone": "us-east-1a", "instance_type": "p9.48xlarge",
            "total": room, "available": room,
        }]);
        estate
    };
    let idle = "[[forbid]]\nrule = \"idle-gpu\"\n";
    for (policy, before, now, code) in [
        (idle, (3, 1), (3, 1), 0),
        (idle, (3, 1), (2, 1), 0),
        (idle, (3, 1), (4, 1), 3),
        (BUDGET, (1, 1), (1, 1), 0),
        (BUDGET, (1, 1), (1, 100), 3),
    ] {
        let old = world.audit(&unmeasured(before.0, before.1));
        let old = world.file("old.json", old.to_string());
        let estate = unmeasured(now.0, now.1);
        let outcome = gate(&world, policy, &estate, &["--baseline", &old]);
        assert_eq!(outcome.code, code, "{policy} {before:?} {now:?}: {}", outcome.stdout);
    }
}
