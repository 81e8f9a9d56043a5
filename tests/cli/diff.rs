//! `gpucost diff`: reports are read back as they were written or refused, and what
//! differs is said in every format.

use crate::cli::contract::DEMO;
use crate::cli::estates::{in_two_regions, one, owned, series};
use crate::cli::world::World;
use flate2::Compression;
use flate2::write::GzEncoder;
use gpucost::analysis::audit;
use gpucost::domain::{Policy, Risk};
use gpucost::sources::files::{REPORT_VERSIONS, demo_estate, read_report};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

#[test]
fn a_report_is_read_back_as_it_was_written() {
    let world = World::new();
    let path = world.file("report.json", &DEMO.stdout);
    let read = read_report(Path::new(&path)).expect("a report");
    let estate = demo_estate().expect("the demo");
    let mut expected = audit(&estate, &Policy::default(), Risk::Medium).past();
    // The JSON has four decimals of it.
    for workload in &mut expected.workloads {
        workload.mean_percent = workload.mean_percent.map(|mean| (mean * 1e4).round() / 1e4);
    }
    assert_eq!(read, expected);
    assert_eq!(REPORT_VERSIONS.last(), Some(&gpucost::report::SCHEMA_VERSION));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(DEMO.stdout.as_bytes()).expect("memory");
    let packed = world.file("report.json.gz", encoder.finish().expect("memory"));
    assert_eq!(read_report(Path::new(&packed)).expect("a report"), expected);
}

#[test]
fn what_an_older_or_later_program_leaves_out_or_adds_is_fine() {
    let mut report = DEMO.json();
    report["later"] = json!({"key": [1, 2]});
    for key in ["gpucost_version", "gaps", "api", "purchases", "kpis"] {
        report.as_object_mut().expect("an object").remove(key);
    }
    for workload in report["workloads"].as_array_mut().expect("a list") {
        let workload = workload.as_object_mut().expect("an object");
        for key in ["kind", "running", "tags", "currency", "plan", "utilization", "gpus"] {
            workload.remove(key);
        }
        workload.insert("classification".to_owned(), json!("a-class-of-tomorrow"));
    }
    let world = World::new();
    let old = world.file("old.json", DEMO.stdout.as_bytes());
    let new = world.file("new.json", report.to_string());
    let outcome = world.run(&["diff", &old, &new, "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let diff = outcome.json();
    assert_eq!(diff["summary"]["monthly_cost"]["change"], 0.0);
    assert_eq!(diff["summary"]["workloads_added"], 0);
}

#[test]
fn what_is_no_report_of_this_version_is_refused() {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut report = DEMO.json();
        change(&mut report);
        report.to_string()
    };
    let inventory = World::new().run(&["inventory", "--demo", "--format", "json"]);
    let cases = [
        (
            changed(&|report| report["schema_version"] = json!("3")),
            "has schema version 3; this program reads versions 1 and 2",
        ),
        (
            changed(&|report| report["schema_version"] = json!(1)),
            "invalid type: integer `1`, expected a string",
        ),
        (
            changed(&|report| report["prices"]["currency"] = json!("XTS")),
            "`XTS` is not a supported currency",
        ),
        (
            changed(&|report| report["workloads"][0]["currency"] = json!("XTS")),
            "`XTS` is not a supported currency",
        ),
        (
            changed(&|report| report["findings"][0]["currency"] = json!("XTS")),
            "`XTS` is not a supported currency",
        ),
        (
            changed(&|report| report["workloads"][0]["monthly_cost"] = json!(-1)),
            "-1 is not a valid amount",
        ),
        (
            changed(&|report| report["summary"]["monthly_cost"] = json!(1e300)),
            "1e+300 is not a valid amount",
        ),
        (changed(&|report| report["as_of"] = json!("yesterday")), "is not an audit report"),
        (inventory.stdout, "is not an audit report"),
        (DEMO.stdout[..1_000].to_owned(), "is not an audit report"),
        ("{}".to_owned(), "missing field `schema_version`"),
        ("[]".to_owned(), "is not an audit report"),
        (String::new(), "is not an audit report"),
    ];
    let world = World::new();
    let good = world.file("good.json", &DEMO.stdout);
    for (text, said) in cases {
        let bad = world.file("bad.json", &text);
        let outcome = world.run(&["diff", &good, &bad]);
        assert_eq!(outcome.code, 2, "{said}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty());
        assert!(outcome.stderr.contains(said), "{said}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("bad.json"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("\nhint: "), "{}", outcome.stderr);
    }
    let outcome = world.run(&["diff", &good, &world.path("nowhere.json")]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("cannot read the report"));
    let outcome = world.run(&["diff", &good, &good, "--output", &good]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("use the same file"));
}

#[test]
fn an_estate_is_audited_first() {
    let world = World::new();
    let estate = world.estate("estate.json", &one());
    let report = world.path("report.json");
    let written = world.run(&["audit", "--from", &estate, "--format", "json", "--output", &report]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    let diff = world.run(&["diff", &report, &estate, "--format", "json"]);
    assert_eq!(diff.code, 0, "{}", diff.stderr);
    let summary = &diff.json()["summary"];
    assert_eq!(summary["workloads_unchanged"], 1);
    assert_eq!(summary["findings_new"], 0);
    assert_eq!(summary["monthly_cost"]["change"], 0.0);
}

/// The estate of `one` with another type, and one more instance.
fn grown() -> Value {
    let mut estate = one();
    estate["instances"][0]["instance_type"] = json!("g6.xlarge");
    let mut more = estate["instances"][0].clone();
    more["id"] = json!("i-two");
    more["tags"] = json!({"Name": "two"});
    estate["instances"].as_array_mut().expect("a list").push(more);
    let metrics = estate["metrics"].as_array_mut().expect("a list");
    metrics.push(series("i-two", None, "cpu_utilization", "average", 30.0));
    estate
}

#[test]
fn money_adds_up_and_every_change_is_named() {
    let world = World::new();
    let old = world.estate("old.json", &one());
    let new = world.estate("new.json", &grown());
    let diff = world.run(&["diff", &old, &new, "--format", "json"]).json();
    // $1.006 and $0.8048 an hour for 730 hours.
    assert_eq!(
        diff["summary"]["monthly_cost"],
        json!({"old": 734.38, "new": 1175.0, "change": 440.62})
    );
    let change = &diff["changed"][0];
    assert_eq!(change["currency"], "USD");
    assert_eq!(diff["added"][0]["currency"], "USD");
    assert_eq!(change["monthly_cost"]["change"], json!(-146.88));
    assert_eq!(
        change["fields"][0],
        json!({"field": "instance_type", "old": "g5.xlarge", "new": "g6.xlarge"})
    );
    assert_eq!(diff["added"][0]["id"], "i-two");
    assert_eq!(diff["added"][0]["monthly_cost"], json!(587.5));
    assert_eq!(diff["removed"], json!([]));
    let back = world.run(&["diff", &new, &old, "--format", "json"]).json();
    assert_eq!(back["summary"]["monthly_cost"]["change"], json!(-440.62));
    assert_eq!(back["removed"][0]["id"], "i-two");
}

#[test]
fn findings_of_a_diff_say_whose_they_are() {
    let mut idle = one();
    let template = idle["instances"][0].clone();
    let (mut instances, mut metrics) = (Vec::new(), Vec::new());
    for name in ["alpha", "beta"] {
        let id = format!("i-{name}");
        let mut instance = template.clone();
        instance["id"] = json!(id);
        instance["tags"] = json!({"Name": name});
        instances.push(instance);
        for (gpu, metric, statistic) in [
            (None, "cpu_utilization", "average"),
            (Some(0), "gpu_utilization", "average"),
            (Some(0), "gpu_utilization", "maximum"),
            (Some(0), "gpu_memory_used", "average"),
            (Some(0), "gpu_memory_used", "maximum"),
        ] {
            metrics.push(series(&id, gpu, metric, statistic, 0.0));
        }
    }
    idle["instances"] = json!(instances);
    idle["metrics"] = json!(metrics);
    let world = World::new();
    let busy = world.estate("busy.json", &one());
    let idle = world.estate("idle.json", &idle);
    for (pair, list, because) in [
        ([&idle, &busy], "findings_gone", json!("removed")),
        ([&busy, &idle], "findings_new", Value::Null),
    ] {
        let of = |format: &str| world.run(&["diff", pair[0], pair[1], "--format", format]);
        let document = of("json").json();
        let [table, markdown, csv] = ["table", "markdown", "csv"].map(|format| of(format).stdout);
        let rows = document[list].as_array().expect("a list");
        assert!(rows.len() >= 2, "{document}");
        for (row, name) in rows.iter().zip(["alpha", "beta"]) {
            assert_eq!(row["monthly_savings"], 734.38);
            assert_eq!(row["because"], because);
            // The workload that is gone costs all of it less.
            let saved = &row["workload_monthly_saved"];
            assert!(because.is_null() || *saved == 734.38, "{row}");
            let has_name =
                |line: &str| line.starts_with(&format!("{name} ")) && line.contains("idle-gpu");
            assert!(table.lines().any(has_name), "{table}");
            let line = format!("| {name} | idle-gpu | critical | \\$734.38 | ");
            assert!(markdown.contains(&line), "{markdown}");
            let id = row["id"].as_str().expect("an id");
            let has_id = |line: &str| line.starts_with(list) && line.contains(id);
            assert!(csv.lines().any(has_id), "{csv}");
        }
    }
}

#[test]
fn what_makes_audits_hard_to_compare_is_said() {
    let world = World::new();
    let report = world.audit(&one());
    let old = world.file("old.json", report.to_string());
    let mut other = report;
    other["scope"]["regions"] = json!(["us-east-1", "cn-north-1"]);
    other["scope"]["window_start"] = json!("2026-10-25T00:00:00Z");
    other["prices"]["currency"] = json!("CNY");
    other["as_of"] = json!("2026-10-30T00:00:00Z");
    other["gpucost_version"] = json!("99.0.0");
    other["summary"]["unpriced_instances"] = json!(3);
    let new = world.file("new.json", other.to_string());
    let outcome = world.run(&["diff", &old, &new, "--format", "json"]);
    let diff = outcome.json();
    assert_eq!(diff["summary"]["monthly_cost"]["change"], Value::Null);
    let caveats: Vec<&str> =
        diff["caveats"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(
        caveats,
        [
            "sums are in USD before and in CNY now: no difference can be computed",
            "regions in scope only now: cn-north-1",
            "the audit windows are 14 d and 7 d long",
            "the second audit covers an earlier time than the first",
            "gpucost 0.1.0 created the first audit and 99.0.0 the second: rules may differ",
            "instances without a price, excluded from the sums: 0 before, 3 now",
        ]
    );
    for format in ["table", "markdown"] {
        let text = world.run(&["diff", &old, &new, "--format", format]).stdout;
        assert!(text.contains("14 d and 7 d"), "{format}: {text}");
    }
}

#[test]
fn what_only_one_audit_read_is_neither_removed_nor_saved() {
    let world = World::new();
    let both = world.estate("both.json", &in_two_regions());
    let mut denied = one();
    denied["regions"] = json!(["us-east-1", "us-west-2"]);
    denied["gaps"] = json!([{
        "what": "region", "where": "us-west-2", "reason": "denied", "hint": "allow it",
    }]);
    let denied = world.estate("denied.json", &denied);
    let mut spoilt = in_two_regions();
    spoilt["instances"].as_array_mut().expect("a list").pop();
    spoilt["regions"] = json!(["us-east-1", "us-west-2"]);
    spoilt["gaps"] = json!([{
        "what": "instance", "where": "i-two", "reason": "no readable state", "hint": "report it",
        "cause": {"kind": "instance-not-readable", "details": ["state"]},
    }]);
    let spoilt = world.estate("spoilt.json", &spoilt);
    let narrow = world.estate("narrow.json", &one());
    for (less, caveats) in [
        (&denied, vec!["could not be read WHEN: us-west-2", LEFT_OUT]),
        (&spoilt, vec!["could not be read WHEN: i-two", LEFT_OUT]),
        (&narrow, vec!["regions in scope only OTHER: us-west-2", LEFT_OUT]),
    ] {
        for (pair, when, other, counts) in [
            ([&both, less], "now", "before", ["1 workload", "0 workloads"]),
            ([less, &both], "before", "now", ["0 workloads", "1 workload"]),
        ] {
            for audited in [false, true] {
                // As reports and as estates.
                let pair = pair.map(|path| {
                    if !audited {
                        return path.clone();
                    }
                    let report = format!("{path}.report.json");
                    let arguments = ["audit", "--from", path, "--format", "json"];
                    let text = world.run(&arguments).stdout;
                    std::fs::write(&report, text).expect("a scratch folder");
                    report
                });
                let outcome = world.run(&["diff", &pair[0], &pair[1], "--format", "json"]);
                assert_eq!(outcome.code, 0, "{}", outcome.stderr);
                let diff = outcome.json();
                // $1.006 for 730 hours, of the instance that both have read.
                let cost = json!({"old": 734.38, "new": 734.38, "change": 0.0});
                assert_eq!(diff["summary"]["monthly_cost"], cost);
                for side in ["added", "removed", "findings_gone", "findings_new"] {
                    assert_eq!(diff[side], json!([]), "{side}");
                }
                assert_eq!(diff["summary"]["workloads_unchanged"], 1);
                let expected: Vec<String> = caveats
                    .iter()
                    .map(|words| words.replace("WHEN", when).replace("OTHER", other))
                    .map(|words| words.replace("THEN", counts[0]).replace("NOW", counts[1]))
                    .collect();
                assert_eq!(diff["caveats"], json!(expected));
                assert_eq!(
                    [&diff["old"], &diff["new"]].map(|side| side["workloads_left_out"].clone()),
                    counts.map(|count| json!(u64::from(count.starts_with('1'))))
                );
            }
        }
    }
}

#[test]
fn a_scope_that_holds_nothing_costs_nothing() {
    let world = World::new();
    let mut west = in_two_regions();
    west["regions"] = json!(["us-east-1", "us-west-2"]);
    west["metrics"] = json!([]);
    west["instances"].as_array_mut().expect("a list").remove(0);
    let mut denied = west.clone();
    denied["instances"] = json!([]);
    denied["gaps"] = json!([{
        "what": "region", "where": "us-west-2", "reason": "denied", "hint": "allow it",
    }]);
    let west = world.estate("west.json", &west);
    let denied = world.estate("denied.json", &denied);
    let diff = world.run(&["diff", &west, &denied, "--format", "json"]);
    assert_eq!(diff.code, 0, "{}", diff.stderr);
    let diff = diff.json();
    let nothing = json!({"old": 0.0, "new": 0.0, "change": 0.0});
    assert_eq!(diff["summary"]["monthly_cost"], nothing);
    assert_eq!(diff["summary"]["monthly_savings"], nothing);
    assert_eq!(diff["old"]["workloads_left_out"], 1);
    // What was certain waste is known of the whole alone.
    assert_eq!(diff["summary"]["monthly_waste"]["old"], Value::Null);
    assert_eq!(diff["removed"], json!([]));
}

const LEFT_OUT: &str =
    "only data read by both audits is compared, which excludes THEN before and NOW now";

#[test]
fn audits_of_different_tags_or_places_are_not_compared() {
    let world = World::new();
    let estate = world.estate("estate.json", &in_two_regions());
    let audited = |name: &str, flags: &[&str]| {
        let path = world.path(name);
        let mut arguments = vec!["audit", "--from", &estate, "--format", "json"];
        arguments.extend(["--output", &path]);
        arguments.extend(flags);
        let outcome = world.run(&arguments);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        path
    };
    let whole = audited("all.json", &[]);
    let east = audited("east.json", &["--region", "us-east-1"]);
    let west = audited("west.json", &["--region", "us-west-2"]);
    let tagged = audited("tagged.json", &["--exclude-tag", "Name=two"]);
    for (pair, said) in [
        (
            [&whole, &tagged],
            "they use different tag filters: none before, `--exclude-tag Name=two` now",
        ),
        ([&east, &west], "they have no region in common: us-east-1 before, us-west-2 now"),
    ] {
        let outcome = world.run(&["diff", pair[0], pair[1]]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("\nhint: "), "{}", outcome.stderr);
    }
    let again = audited("again.json", &["--exclude-tag", "Name=two"]);
    assert_eq!(world.run(&["diff", &tagged, &again]).code, 0);
    // A recorded estate keeps the tags that it was recorded with.
    let saved = world.path("saved.json");
    audited("other.json", &["--exclude-tag", "Name=two", "--save", &saved]);
    assert_eq!(world.run(&["diff", &tagged, &saved]).code, 0);
    assert_eq!(world.run(&["diff", &whole, &saved]).code, 2);
    // A gate does not take such a baseline either.
    world.file("gpucost-policy.toml", "[[budget]]\nmonthly_limit = 1\n");
    let outcome = world.run(&["check", "--from", &estate, "--baseline", &tagged]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("they use different tag filters"), "{}", outcome.stderr);
}

#[test]
fn a_setting_for_other_commands_is_no_format_here() {
    let world = World::new();
    let old = world.estate("old.json", &one());
    world.file("gpucost.toml", "format = \"sarif\"\n");
    let outcome = world.run(&["diff", &old, &old]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("table, wide, json, csv, markdown, html, xlsx"));
    assert_eq!(world.run(&["diff", &old, &old, "--format", "table"]).code, 0);
}

#[test]
fn unused_room_that_is_gone_is_a_row() {
    // The room of the scenario by hand in its page: 40,179.20 a month, of 50,469.68 that
    // its plan promises.
    let world = World::new();
    let estate = world.path("estate.json");
    let saved = world.run(&["audit", "--demo", "mixed-fleet", "--save", &estate, "-q"]);
    assert_eq!(saved.code, 0, "{}", saved.stderr);
    let text = std::fs::read_to_string(&estate).expect("it is there");
    let mut less: Value = serde_json::from_str(&text).expect("JSON");
    let bought = less["commitments"].as_array_mut().expect("a list");
    bought.retain(|commitment| commitment["kind"] != "capacity-reservation");
    let less = world.estate("less.json", &less);
    let diff = world.run(&["diff", &estate, &less, "--format", "json"]);
    assert_eq!(diff.code, 0, "{}", diff.stderr);
    let diff = diff.json();
    let unused = &diff["unused_commitments"];
    let change = |row: &Value| row["monthly_cost"]["change"].as_f64().expect("a number");
    assert_eq!(unused.as_array().map(Vec::len), Some(1), "{unused}");
    assert_eq!(change(&unused[0]), -40_179.20);
    assert_eq!(change(&diff["summary"]), -40_179.20);
    let plan = &diff["summary"]["plan"];
    assert_eq!(plan["planned_monthly_savings"], 50_469.68);
    assert_eq!(plan["monthly_saved"], 40_179.20);
    for (format, words) in
        [("table", "PAID FOR BUT NOT RUNNING"), ("markdown", "**PAID FOR BUT NOT RUNNING")]
    {
        let shown = world.run(&["diff", &estate, &less, "--format", format]).stdout;
        assert!(
            shown.contains(words) && shown.replace('\\', "").contains("-$40,179.20"),
            "{shown}"
        );
    }
}

/// An amount in cents.
fn cents(amount: &Value) -> i64 {
    (amount.as_f64().expect("an amount") * 100.0).round() as i64
}

#[test]
fn a_diff_begins_and_ends_at_the_headlines_of_its_audits() {
    let world = World::new();
    let demo = world.path("demo.json");
    let saved = world.run(&["audit", "--demo", "--save", &demo, "-q"]);
    assert_eq!(saved.code, 0, "{}", saved.stderr);
    let text = std::fs::read_to_string(&demo).expect("it is there");
    let mut fewer: Value = serde_json::from_str(&text).expect("JSON");
    let instances = fewer["instances"].as_array_mut().expect("a list");
    let gone = instances.remove(0);
    let series = fewer["metrics"].as_array_mut().expect("a list");
    series.retain(|metric| metric["instance"] != gone["id"]);
    // Unused room, an unused reservation, and a volume of what is stopped.
    let mut full = owned();
    let mut stopped = full["instances"][0].clone();
    stopped["id"] = json!("i-two");
    stopped["state"] = json!("stopped");
    stopped["tags"] = json!({"Name": "two"});
    stopped["volumes"] = json!([{"id": "vol-1", "volume_type": "gp3", "size_gib": 100}]);
    let instances = full["instances"].as_array_mut().expect("a list");
    instances.push(stopped);
    let fewer = world.estate("fewer.json", &fewer);
    let full = world.estate("full.json", &full);
    let bare = world.estate("bare.json", &one());
    let headline = |path: &str| {
        let audit = world.run(&["audit", "--from", path, "--format", "json"]);
        audit.json()["summary"]["monthly_cost"].clone()
    };
    // 730 hours of 1.006 reserved room, of two reservations at 0.63378, and 100 GiB at 0.08.
    assert_eq!(headline(&full), json!(1667.7));
    for (old, new) in [(&demo, &fewer), (&fewer, &demo), (&full, &bare), (&bare, &full)] {
        let diff = world.run(&["diff", old, new, "--format", "json"]).json();
        let total = &diff["summary"]["monthly_cost"];
        assert_eq!(total["old"], headline(old), "{old} {new}");
        assert_eq!(total["new"], headline(new), "{old} {new}");
        assert_ne!(total["old"], total["new"], "{old} {new}");
        let rows = |list: &str, amount: &str| -> i64 {
            let rows = diff[list].as_array().expect("a list").iter();
            rows.map(|row| cents(row.pointer(amount).expect("it has one"))).sum()
        };
        let change = rows("added", "/monthly_cost") - rows("removed", "/monthly_cost")
            + rows("changed", "/monthly_cost/change")
            + rows("unused_commitments", "/monthly_cost/change");
        assert_eq!(change, cents(&total["change"]), "{old} {new}");
    }
}
