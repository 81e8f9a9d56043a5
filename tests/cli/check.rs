//! `gpucost check`: what each outcome prints and ends with, what is refused, and
//! the arithmetic behind the verdicts.

use crate::cli::estates::{empty, one, series};
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};

const POLICY: &str = "gpucost-policy.toml";

/// The estates end on 1 November, and tests run on the 20th.
pub const RECORDING_AGE: &str = "\n[recording]\nmax_age = \"20d\"\n";

/// Checks an estate by a policy that lies in the folder, however old the estate is.
pub fn check(world: &World, policy: &str, estate: &Value, more: &[&str]) -> Outcome {
    world.file(POLICY, format!("{policy}{RECORDING_AGE}"));
    let path = world.estate("now.json", estate);
    let mut arguments = vec!["check", "--from", &path];
    arguments.extend(more);
    world.run(&arguments)
}

/// Everything that a check leaves behind, without the name of the folder.
fn shown(world: &World, outcome: &Outcome) -> String {
    outcome.all().replace(&world.path(""), "")
}

/// Writes the audit of an estate as a baseline.
fn baseline(world: &World, estate: &Value) -> String {
    let document = world.audit(estate);
    world.file("old.json", document.to_string())
}

/// The box of `one` and another like it.
pub fn two() -> Value {
    let mut estate = one();
    let mut second = estate["instances"][0].clone();
    second["id"] = json!("i-two");
    second["tags"] = json!({"Name": "two"});
    let instances = estate["instances"].as_array_mut().expect("a list");
    instances.push(second);
    let mut of_second = estate["metrics"].clone();
    for series in of_second.as_array_mut().expect("a list") {
        series["instance"] = json!("i-two");
    }
    let metrics = estate["metrics"].as_array_mut().expect("a list");
    metrics.extend(of_second.as_array().expect("a list").clone());
    estate
}

/// The box of `one` without any GPU metric.
fn unmeasured() -> Value {
    let mut estate = one();
    estate["metrics"] = json!([series("i-one", None, "cpu_utilization", "average", 30.0)]);
    estate
}

// A g5.xlarge costs $1.006 an hour in us-east-1: 1.006 × 730 = $734.38 a month.
const KEPT: &str = r#"[[budget]]
monthly_limit = 734.38

[utilization]
unknown = 15

[coverage]
minimum_percent = 100

[tags]
required = ["Name"]

[allow]
types = ["g5.*"]
regions = ["us-*"]
"#;

const BROKEN: &str = r#"[[budget]]
region = "us-east-1"
monthly_limit = 700

[waste]
percent_limit = 0

[utilization]
unknown = 20

[tags]
required = ["team"]

[allow]
regions = ["eu-*"]

[deny]
types = ["g5.*"]

[[forbid]]
rule = "overprovisioned-gpu"
"#;

#[test]
fn clean() {
    let world = World::new();
    let outcome = check(&world, KEPT, &one(), &[]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    insta::assert_snapshot!(shown(&world, &outcome));
}

#[test]
fn violated() {
    let world = World::new();
    let outcome = check(&world, BROKEN, &one(), &[]);
    assert_eq!(outcome.code, 100, "{}", outcome.stderr);
    insta::assert_snapshot!(shown(&world, &outcome));
}

#[test]
fn incomplete() {
    let world = World::new();
    let policy = "[utilization]\nunknown = 10\n\n[[forbid]]\nrule = \"idle-gpu\"\n";
    let outcome = check(&world, policy, &unmeasured(), &[]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    insta::assert_snapshot!(shown(&world, &outcome));
}

#[test]
fn data_that_is_missing_for_one_reason_is_one_row() {
    let world = World::new();
    let mut estate = two();
    estate["metrics"] = json!([]);
    let policy = "[utilization]\nunknown = 10\n";
    let table = check(&world, policy, &estate, &[]).stdout;
    assert!(table.contains("NOT EVALUATED  2 missing inputs\n"), "{table}");
    let wide = check(&world, policy, &estate, &["--format", "wide"]).stdout;
    assert_eq!(wide.matches("  i-one, i-two  ").count(), 1, "{wide}");
    let report = check(&world, policy, &estate, &["--format", "json"]).json();
    assert_eq!(report["missing_data"].as_array().map(Vec::len), Some(2));
    let log = check(&world, policy, &estate, &["--format", "sarif"]).json();
    let said = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    for (number, id) in ["i-one", "i-two"].iter().enumerate() {
        let place = &said[number]["locations"][0]["logicalLocations"][0];
        assert_eq!(place["fullyQualifiedName"], *id, "{said}");
    }
}

/// Tests run on 20 November; a suppression holds through its last day.
fn suppressing(expires: &str, workload: &str) -> String {
    format!(
        "[tags]\nrequired = [\"team\"]\n\n[[suppress]]\nrule = \"policy/required-tags\"\n\
         workload = \"{workload}\"\nowner = \"ml@example.com\"\nreason = \"until the move\"\n\
         expires = {expires}\n"
    )
}

#[test]
fn suppressed() {
    let world = World::new();
    let outcome = check(&world, &suppressing("2026-11-20", "i-o*"), &one(), &[]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    insta::assert_snapshot!(shown(&world, &outcome));
}

#[test]
fn expired_suppression() {
    let world = World::new();
    let outcome = check(&world, &suppressing("2026-11-19", "i-one"), &one(), &[]);
    assert_eq!(outcome.code, 100, "{}", outcome.stderr);
    insta::assert_snapshot!(shown(&world, &outcome));
}

#[test]
fn unmatched_suppression() {
    let world = World::new();
    let policy = KEPT.to_owned()
        + &suppressing("2027-01-01", "i-nine").replacen("[tags]\nrequired = [\"team\"]\n", "", 1);
    let outcome = check(&world, &policy, &one(), &[]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    insta::assert_snapshot!(shown(&world, &outcome));

    let refused = policy + "\n[suppressions]\nunmatched = \"fail\"\n";
    assert_eq!(check(&world, &refused, &one(), &[]).code, 100);
}

#[test]
fn baseline_better() {
    let world = World::new();
    let old = baseline(&world, &two());
    let outcome = check(&world, BROKEN, &one(), &["--baseline", &old]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    insta::assert_snapshot!(shown(&world, &outcome));
}

#[test]
fn baseline_worse() {
    let world = World::new();
    let old = baseline(&world, &one());
    let outcome = check(&world, BROKEN, &two(), &["--baseline", &old]);
    assert_eq!(outcome.code, 100, "{}", outcome.stderr);
    insta::assert_snapshot!(shown(&world, &outcome));
}

#[test]
fn bad_policy() {
    let world = World::new();
    let policy = "[[budget]]\nmonthly_limits = 100\n\n[tags]\nrequired = \"team\"\n\n\
                  [[forbid]]\nrule = \"idle\"\nseverity = \"high\"\n";
    let outcome = check(&world, policy, &one(), &[]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    insta::assert_snapshot!(shown(&world, &outcome));
}

#[test]
fn an_empty_scope_passes_only_where_that_is_allowed() {
    let world = World::new();
    let said = "nothing to check: no GPU instances in scope";
    for (estate, more) in
        [(empty(), &[][..]), (one(), &["--tag", "team=typo"]), (one(), &["--region", "us-esat-1"])]
    {
        let outcome = check(&world, KEPT, &estate, more);
        assert_eq!(outcome.code, 4, "{more:?}: {}", outcome.stderr);
        let error = format!(
            "error: {said}\nhint: check `--region`, `--tag` and the account, or pass \
             `--allow-empty`\n"
        );
        assert!(outcome.stderr.ends_with(&error), "{}", outcome.stderr);
        assert!(outcome.stdout.contains("0 instances"), "{}", outcome.stdout);
        let allowed = check(&world, KEPT, &estate, &[more, &["--allow-empty"]].concat());
        assert_eq!(allowed.code, 0, "{more:?}: {}", allowed.stderr);
        assert!(allowed.stderr.contains(said), "{}", allowed.stderr);
    }
    // One name that matches does not answer for one that does not.
    for (flag, names, missing, near) in [
        ("--region", "us-east-1,us-esat-1", "us-esat-1", "us-east-1"),
        ("--account", "111122223333,111122223334", "111122223334", "111122223333"),
    ] {
        let outcome = check(&world, KEPT, &one(), &[flag, names]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
        let error = format!(
            "error: `{flag} {missing}`: nothing was read of it\nhint: did you mean {near}? \
             `--allow-empty` accepts that nothing was read of it\n"
        );
        assert!(outcome.stderr.ends_with(&error), "{}", outcome.stderr);
        let allowed = check(&world, KEPT, &one(), &[flag, names, "--allow-empty"]);
        assert_eq!(allowed.code, 0, "{}", allowed.stderr);
    }
    // A kind that cannot be is an error in the policy.
    let outcome = check(&world, "[utilization]\ntrainng = 10\n", &one(), &[]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("training"), "{}", outcome.stderr);
}

#[test]
fn a_recording_older_than_a_week_is_incomplete() {
    let world = World::new();
    let path = world.estate("now.json", &one());
    let kept = "[tags]\nrequired = [\"Name\"]\n";
    let run = |more: &str, format: &str| {
        world.file(POLICY, format!("{kept}{more}"));
        world.run(&["check", "--from", &path, "--format", format])
    };
    // From 1 November 0:00 to 20 November 12:00 are 19.5 days, 468 hours.
    let of_age = |age: &str| format!("[recording]\nmax_age = \"{age}\"\n");
    for (more, code) in [(String::new(), 3), (of_age("467h"), 3), (of_age("468h"), 0)] {
        assert_eq!(run(&more, "table").code, code, "{more}");
    }
    let outcome = run("", "json");
    let report = outcome.json();
    assert_eq!(report["outcome"], "incomplete");
    assert_eq!(report["checks"][0]["outcome"], "incomplete");
    let missing = &report["missing_data"][0];
    assert_eq!(missing["what"], "recent recording");
    assert_eq!(
        missing["reason"],
        "it describes 2026-11-01 00:00 UTC, 19 days ago; the policy allows 7 days"
    );
    let hint = missing["hint"].as_str().expect("a hint");
    assert!(hint.starts_with("`gpucost audit --save "), "{hint}");
    assert_eq!(missing["rules"], json!(["policy/required-tags"]));
    // A recording of the future would never grow old: this one is 36 hours ahead.
    let mut ahead = one();
    ahead["as_of"] = json!("2026-11-22T00:00:00Z");
    let later = world.estate("ahead.json", &ahead);
    world.file(POLICY, kept);
    let outcome = world.run(&["check", "--from", &later, "--format", "json"]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let missing = &outcome.json()["missing_data"][0];
    assert_eq!(missing["reason"], "it describes 2026-11-22 00:00 UTC, which is in the future");
    // What is violated stays so, and a demo is of no day.
    world.file(POLICY, "[tags]\nrequired = [\"team\"]\n");
    assert_eq!(world.run(&["check", "--from", &path]).code, 100);
    world.file(POLICY, "[[budget]]\nmonthly_limit = 900_000_000\n");
    assert_eq!(world.run(&["check", "--demo"]).code, 0);
}

#[test]
fn budgets_of_nothing_are_counted_beside_each_other() {
    let world = World::new();
    let policy = "[[budget]]\ntag = \"team=Search\"\nmonthly_limit = 1\n\n\
                  [[budget]]\ntag = \"team=Ads\"\nmonthly_limit = 1\n";
    let outcome = check(&world, policy, &one(), &[]);
    assert_eq!(outcome.code, 4, "{}", outcome.stderr);
    let said = "which has a budget; the same of 1 other budget\n";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    // What is violated or not known counts before what is not there.
    let violated = format!("{policy}\n[[budget]]\nmonthly_limit = 1\n");
    assert_eq!(check(&world, &violated, &one(), &[]).code, 100);
    let incomplete = format!("{policy}\n[utilization]\nunknown = 10\n");
    assert_eq!(check(&world, &incomplete, &unmeasured(), &[]).code, 3);
}

#[test]
fn without_a_policy_nothing_passes() {
    let world = World::new();
    let outcome = world.run(&["check", "--demo"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("`gpucost check init`"), "{}", outcome.stderr);
    let named = world.run(&["check", "--demo", "--policy", "missing.toml"]);
    assert_eq!(named.code, 2);
    assert!(named.stderr.contains("cannot read missing.toml"), "{}", named.stderr);
}

#[test]
fn what_is_missing_can_be_suppressed_like_what_is_violated() {
    let world = World::new();
    // By id, by name and by pattern; of another workload it covers nothing.
    for (workload, covers) in [("i-one", true), ("one", true), ("on?", true), ("two", false)] {
        let policy = format!(
            "[utilization]\nunknown = 10\n\n[[suppress]]\nrule = \"policy/utilization\"\n\
             workload = \"{workload}\"\nowner = \"ml@example.com\"\nreason = \"no agent yet\"\n\
             expires = \"2026-12-01\"\n"
        );
        let outcome = check(&world, &policy, &unmeasured(), &["--format", "json"]);
        let code = if covers { 0 } else { 3 };
        assert_eq!(outcome.code, code, "{workload}: {}", outcome.stderr);
        let report = outcome.json();
        if covers {
            assert_eq!(report["outcome"], "clean");
            assert_eq!(report["missing_data"], json!([]));
            assert_eq!(report["suppressed"][0]["owner"], "ml@example.com");
            assert_eq!(report["checks"][0]["outcome"], "accepted");
        } else {
            assert_eq!(report["suppressed"], json!([]));
        }
    }
}

#[test]
fn the_baseline_is_refused_unless_it_is_an_audit_of_this_version() {
    let world = World::new();
    let newer = world.file("newer.json", "{\"schema_version\": \"3\", \"summary\": {}}");
    let estate = world.estate("estate.json", &one());
    let broken = world.file("broken.json", "{\"schema_version\": \"1\",");
    for (path, said) in [
        (newer.as_str(), "newer.json has schema version 3; this program reads versions 1 and 2"),
        (estate.as_str(), "is an estate, not an audit report"),
        (broken.as_str(), "is not an audit report"),
        ("missing.json", "cannot read the report missing.json"),
    ] {
        let outcome = check(&world, KEPT, &one(), &["--baseline", path]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{path}");
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
}

#[test]
fn what_is_read_is_never_written_over() {
    let world = World::new();
    let policy = world.path(POLICY);
    let outcome = check(&world, KEPT, &one(), &["--output", &policy]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("use the same file"), "{}", outcome.stderr);
    let left = std::fs::read_to_string(&policy).expect("the policy");
    assert_eq!(left, format!("{KEPT}{RECORDING_AGE}"));
}

#[test]
fn the_starting_policy_is_written_once_and_works() {
    let world = World::new();
    let first = world.run(&["check", "init"]);
    assert_eq!((first.code, first.stdout.as_str()), (0, ""));
    assert!(first.stderr.contains("wrote gpucost-policy.toml"), "{}", first.stderr);
    let checked = world.run(&["check", "--demo"]);
    assert!([0, 3, 100].contains(&checked.code), "{}", checked.stderr);
    assert_eq!(world.listing(), [POLICY]);

    world.file(POLICY, "mine");
    let second = world.run(&["check", "init"]);
    assert_eq!(second.code, 2);
    assert!(second.stderr.contains("already exists"), "{}", second.stderr);
    let left = std::fs::read_to_string(world.path(POLICY)).expect("the policy");
    assert_eq!(left, "mine");

    let printed = world.run(&["check", "init", "--output", "-"]);
    assert_eq!(printed.code, 0);
    assert!(printed.stdout.contains("[[forbid]]"));
    let lost = world.run(&["check", "init", "--output", &world.path("no/such")]);
    assert_eq!(lost.code, 1, "{}", lost.stderr);
}

#[test]
fn strict_asks_for_more_than_the_policy_does() {
    let world = World::new();
    let policy = "[tags]\nrequired = [\"Name\"]\n";
    assert_eq!(check(&world, policy, &unmeasured(), &[]).code, 0);
    let strict = check(&world, policy, &unmeasured(), &["--strict"]);
    assert_eq!(strict.code, 3, "{}", strict.stderr);
}

#[test]
fn names_that_could_hurt_are_shown_and_never_run() {
    let world = World::new();
    let mut estate = one();
    let hostile = "x\u{1b}[2J\u{202e}<script>|`\n::error::".to_owned() + &"y".repeat(10_000);
    estate["instances"][0]["tags"] = json!({"Name": hostile});
    for format in ["table", "wide", "json"] {
        let outcome = check(&world, BROKEN, &estate, &["--format", format]);
        assert_eq!(outcome.code, 100, "{}", outcome.stderr);
        let text = outcome.stdout + &outcome.stderr;
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{format}");
        assert!(!text.lines().any(|line| line.starts_with("::")), "{format}");
    }
}

#[test]
fn masked_names_are_not_judged() {
    let world = World::new();
    let outcome = check(&world, KEPT, &one(), &["--redact"]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
}

#[test]
fn the_example_in_the_page_is_what_is_printed() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/check.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let block = |language: &str| {
        let (_, rest) = page.split_once(&format!("```{language}\n")).expect("a block");
        rest.split_once("```").expect("the block ends").0.to_owned()
    };
    let world = World::new();
    world.file(POLICY, block("toml"));
    let outcome = world.run(&["check", "--demo"]);
    let shown = format!(
        "$ gpucost check --demo\n{}{}$ echo $?\n{}\n",
        outcome.stdout, outcome.stderr, outcome.code
    );
    crate::cli::pages::assert_shows("docs/check.md", &block("text"), &shown);
}

/// Checks the demo by a policy.
pub fn check_demo(policy: &str) -> Outcome {
    let world = World::new();
    world.file(POLICY, policy);
    world.run(&["check", "--demo", "--format", "json"])
}

#[test]
fn a_finding_that_two_bans_forbid_is_one_violation() {
    let policy = "[[forbid]]\nrule = \"idle-gpu\"\n\n[[forbid]]\nseverity = \"critical\"\n";
    let report = check_demo(policy).json();
    let rules: Vec<&str> = report["violations"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|violation| violation["rule"].as_str().expect("a name"))
        .collect();
    assert_eq!(rules, ["idle-gpu", "idle-held-gpu"]);
    for check in report["checks"].as_array().expect("a list") {
        assert_eq!(check["outcome"], "violated");
    }
}

#[test]
fn a_forbidden_finding_is_shown_with_its_caveats() {
    let path = "fixtures/rules/cpu-only-pods-on-gpu-node/fires.json";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(path).expect("a recording");
    let estate: Value = serde_json::from_str(&text).expect("JSON");
    let policy = "[[forbid]]\nrule = \"cpu-only-pods-on-gpu-node\"\n";
    let caveat = "this is one instant: pods of other hours are not seen";
    let world = World::new();
    let report = check(&world, policy, &estate, &["--format", "json"]).json();
    assert_eq!(report["violations"][0]["caveats"][1], caveat, "{report:#}");
    let wide = check(&world, policy, &estate, &["--format", "wide"]).stdout;
    assert!(wide.contains(caveat), "{wide}");
}

#[test]
fn a_suppression_may_name_a_workload_by_its_name() {
    let policy = "[[forbid]]\nrule = \"idle-gpu\"\n\n[[suppress]]\nrule = \"idle-gpu\"\n\
                  workload = \"llm-poc-*\"\nowner = \"o\"\nreason = \"r\"\nexpires = 2026-11-01\n";
    let report = check_demo(policy).json();
    assert_eq!(report["violations"], json!([]));
    assert_eq!(report["suppressed"][0]["violation"]["monthly"], 7659.63);
    // The box without metrics could be idle as well.
    assert_eq!(report["outcome"], "incomplete");
}

#[test]
fn an_expired_suppression_may_be_shown_only() {
    let world = World::new();
    let policy = KEPT.to_owned()
        + &suppressing("2026-01-01", "i-one").replacen("[tags]\nrequired = [\"team\"]\n", "", 1)
        + "\n[suppressions]\nexpired = \"warn\"\n";
    let outcome = check(&world, &policy, &one(), &["--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("policy/expired-suppression"));
}

#[test]
fn a_workload_that_a_tag_ignores_is_named() {
    let world = World::new();
    let mut estate = one();
    estate["instances"][0]["tags"]["gpucost:ignore"] = json!("spare");
    let policy = "[utilization]\nunknown = 90\n\n[tags]\nrequired = [\"team\"]\n";
    let outcome = check(&world, policy, &estate, &["--format", "json"]);
    assert_eq!(outcome.code, 100, "{}", outcome.stderr);
    let report = outcome.json();
    assert_eq!(report["violations"][0]["rule"], "policy/required-tags");
    assert_eq!(report["violations"].as_array().expect("a list").len(), 1);
    assert_eq!(report["notices"][0]["rule"], "policy/ignored-workload");
}

#[test]
fn an_instance_that_could_not_be_read_leaves_rules_incomplete() {
    let policy = "[[forbid]]\nrule = \"idle-gpu\"\n";
    let with = |cause: Option<Value>| {
        let mut estate = one();
        let mut gap = json!({
            "what": "instance", "where": "i-two", "reason": "ec2:DescribeInstances", "hint": "",
        });
        if let Some(cause) = cause {
            gap["cause"] = cause;
        }
        estate["gaps"] = json!([gap]);
        let world = World::new();
        check(&world, policy, &estate, &["--format", "json"])
    };
    // One answer in many that cannot be read, one field of it, and an earlier recording
    // that does not state its cause.
    for cause in [
        Some(json!({
            "kind": "call-failed",
            "details": ["ec2:DescribeInstances", "unsupported", "", "", "it is omitted"],
        })),
        Some(json!({"kind": "instance-not-readable", "details": ["state"]})),
        None,
    ] {
        let outcome = with(cause);
        assert_eq!(outcome.code, 3, "{}", outcome.stderr);
        let missing = &outcome.json()["missing_data"];
        assert_eq!(missing[0]["where"], "i-two", "{missing}");
    }
    // What came after the audited instant costs as well: perhaps a clock is behind.
    let later = json!({"kind": "instance-later", "details": ["2026-11-02T00:00:00Z"]});
    assert_eq!(with(Some(later)).code, 3);
    let ending = json!({"kind": "instance-ending", "details": []});
    assert_eq!(with(Some(ending)).code, 0);
}

/// The box of `one` beside an instance of an endpoint at $1.408 an hour, with tags or without
/// a word about them.
fn beside_sagemaker(tags: Option<Value>) -> Value {
    let mut estate = one();
    let mut machine = json!({
        "id": "sagemaker/111122223333/us-east-1/endpoint/chat/main/0",
        "account": "111122223333",
        "region": "us-east-1",
        "instance_type": "ml.g5.xlarge-hosting",
        "state": "running",
        "launch_time": "2026-09-01T00:00:00Z",
    });
    if let Some(tags) = tags {
        machine["tags"] = tags;
    }
    let instances = estate["instances"].as_array_mut().expect("a list");
    instances.push(machine);
    estate["shapes"] = json!([{
        "instance_type": "ml.g5.xlarge-hosting", "accelerator": "gpu",
        "gpu": {"model": "A10G", "count": "1", "vram_mib": 23028},
        "vcpu": 4, "memory_mib": 16384,
    }]);
    estate["prices"] = json!([{
        "provider": "sagemaker", "region": "us-east-1", "instance_type": "ml.g5.xlarge-hosting",
        "operating_system": "linux", "tenancy": "shared", "option": "on-demand",
        "currency": "USD", "hourly": "1.408", "origin": "api",
        "effective_date": "2026-10-30", "source": "pricing:GetProducts",
    }]);
    estate
}

#[test]
fn machines_of_which_the_tags_are_unknown_leave_what_selects_by_tag_incomplete() {
    let code = |policy: &str, tags: Option<Value>, more: &[&str]| {
        let more = [&["--format", "json"][..], more].concat();
        let outcome = check(&World::new(), policy, &beside_sagemaker(tags), &more);
        if outcome.code == 3 {
            let report = outcome.json();
            let missing = &report["missing_data"][0];
            assert_eq!(
                (&missing["what"], &missing["where"]),
                (&json!("tags"), &json!("us-east-1")),
                "{report}"
            );
            assert_eq!(report["violations"], json!([]), "{report}");
        }
        outcome.code
    };
    let none = || Some(json!({}));
    let ml = || Some(json!({"team": "ml", "Name": "chat"}));

    // 1.408 × 730 = 1,027.84.
    let budget = "[[budget]]\ntag = \"team=ml\"\nmonthly_limit = 1027.83\n";
    let codes = [None, none(), ml()].map(|tags| code(budget, tags, &[]));
    assert_eq!(codes, [3, 4, 100]);

    let required = "[tags]\nrequired = [\"Name\"]\n";
    let codes = [None, none(), ml()].map(|tags| code(required, tags, &[]));
    assert_eq!(codes, [3, 100, 0]);

    // A filter by tag may drop the machine from any rule.
    let total_budget = "[[budget]]\nmonthly_limit = 10000\n";
    let codes = [None, none(), ml()].map(|tags| code(total_budget, tags, &["--tag", "team=ml"]));
    assert_eq!(codes, [3, 4, 0]);
    // No rule depends on tags.
    assert_eq!(code(total_budget, None, &[]), 0);

    // Tags that were denied when the estate was recorded.
    let mut denied = beside_sagemaker(none());
    denied["gaps"] = json!([{
        "what": "tags", "where": "us-east-1", "reason": "tag:GetResources", "hint": "",
    }]);
    let outcome = check(&World::new(), budget, &denied, &[]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
}
