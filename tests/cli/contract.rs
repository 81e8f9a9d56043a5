//! `audit --format json`: the keys, their types and ranges, the sums and the
//! orders that scripts rely on.

use crate::cli::estates::{one, owned, situations};
use crate::cli::schema::Shape::{
    Count, Date, Figure, Flag, Money, Name, Object, Percent, Rate, Share, Text, Time, Word,
};
use crate::cli::schema::{Shape, list, map, maybe, problems};
use crate::cli::world::{Outcome, World};
use gpucost::rules::{CLUSTER_RULES, COMMITMENT_RULES, RULES};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The demo's audit as JSON.
pub static DEMO: LazyLock<Outcome> = LazyLock::new(|| audit_demo("json"));
/// The same for the other formats.
pub static DEMO_TABLE: LazyLock<Outcome> = LazyLock::new(|| audit_demo("table"));
pub static DEMO_WIDE: LazyLock<Outcome> = LazyLock::new(|| audit_demo("wide"));
pub static DEMO_CSV: LazyLock<Outcome> = LazyLock::new(|| audit_demo("csv"));

fn audit_demo(format: &str) -> Outcome {
    let outcome = World::new().run(&["audit", "--demo", "--format", format]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome
}

fn demo_documents() -> [(&'static str, &'static Outcome); 4] {
    [("table", &DEMO_TABLE), ("wide", &DEMO_WIDE), ("json", &DEMO), ("csv", &DEMO_CSV)]
}

/// The name of the audit whose estate has bought ahead.
const OWNED: &str = "owned";
/// The ids of what it bought.
const BOUGHT: [&str; 2] = ["cr-1", "ri-1"];

const CLASSES: &[&str] =
    &["overprovisioned", "underutilized", "well-utilized", "insufficient-data"];
const STATES: &[&str] = &[
    "idle", "idle-so-far", "idle-held", "mostly-idle", "stalled", "saturated", "bursty", "steady",
];
const KINDS: &[&str] = &["training", "serving", "batch", "evaluation", "development", "unknown"];
const OPTIONS: &[&str] =
    &["on-demand", "spot", "reserved", "savings-plan", "capacity-block", "mixed"];
const ACTIONS: &[&str] =
    &["stop", "release", "schedule", "rightsize", "share", "spot", "commit", "none"];
const RISKS: &[&str] = &["low", "medium", "high"];
const CURRENCIES: &[&str] = &["USD", "CNY"];
const SEVERITIES: &[&str] = &["info", "warning", "critical"];
const CONFIDENCES: &[&str] = &["heuristic", "derived", "measured"];

fn document() -> Shape {
    Object(vec![
        ("schema_version", Word(&["2"])),
        ("gpucost_version", Word(&[env!("CARGO_PKG_VERSION")])),
        ("as_of", Time),
        (
            "scope",
            Object(vec![
                ("accounts", list(Name)),
                ("regions", list(Name)),
                ("window_start", Time),
                ("window_end", Time),
                ("source", Word(&["aws", "kubernetes", "estate", "demo"])),
            ]),
        ),
        (
            "prices",
            Object(vec![
                ("currency", Word(CURRENCIES)),
                ("origins", Object(vec![("bundled", Count), ("api", Count), ("user", Count)])),
                ("oldest_effective_date", maybe(Date)),
            ]),
        ),
        ("summary", summary()),
        ("kpis", kpis()),
        ("workloads", list(workload())),
        ("findings", list(finding())),
        (
            "gaps",
            list(Object(vec![("what", Name), ("where", Name), ("reason", Name), ("hint", Name)])),
        ),
        (
            "api",
            Object(vec![
                ("calls", Count),
                ("retries", Count),
                ("estimated_cost_usd", Figure),
                ("by_operation", map(Count)),
            ]),
        ),
    ])
}

fn kpis() -> Shape {
    Object(vec![
        ("gpu_hours_monthly", maybe(Figure)),
        ("useful_gpu_hours_monthly", maybe(Figure)),
        ("idle_gpu_hours_monthly", maybe(Figure)),
        ("unmeasured_gpu_hours_monthly", maybe(Figure)),
        ("utilization_percent", maybe(Percent)),
        ("utilization_by_cost_percent", maybe(Percent)),
        ("cost_per_useful_gpu_hour", maybe(Rate)),
        ("training_jobs", maybe(Figure)),
        ("cost_per_training_job", maybe(Money)),
        ("cost_per_completed_training_job", maybe(Money)),
        ("time_to_first_work_hours", maybe(Figure)),
    ])
}

fn summary() -> Shape {
    let class = || {
        Object(vec![
            ("workloads", Count),
            ("instances", Count),
            ("gpus", Count),
            ("monthly_cost", maybe(Money)),
        ])
    };
    Object(vec![
        ("instances", Count),
        ("stopped_instances", Count),
        ("gpus", Count),
        ("monthly_cost", maybe(Money)),
        ("planned_monthly_cost", maybe(Money)),
        ("monthly_savings", maybe(Money)),
        ("monthly_waste", maybe(Money)),
        ("monthly_optimization", maybe(Money)),
        ("annual_savings", maybe(Money)),
        ("unused_monthly_cost", maybe(Money)),
        ("plan_risk", Word(RISKS)),
        ("savings_percent", maybe(Percent)),
        ("by_classification", Object(CLASSES.iter().map(|name| (*name, class())).collect())),
        (
            "funnel",
            Object(vec![
                ("total_gpus", Count),
                ("allocated_gpus", Count),
                ("unknown_allocation_gpus", Count),
                ("active_gpus", Count),
                ("effective_gpus", Figure),
                ("unmeasured_gpus", Count),
            ]),
        ),
        ("unpriced_instances", Count),
        ("ignored_workloads", Count),
    ])
}

fn workload() -> Shape {
    Object(vec![
        ("id", Name),
        ("name", Name),
        ("account", Name),
        ("region", Name),
        ("kind", Word(KINDS)),
        ("kind_basis", Word(&["declared", "guessed", "unknown"])),
        ("instances", list(Name)),
        ("instance_type", Name),
        (
            "gpu",
            maybe(Object(vec![("model", Name), ("count", Figure), ("vram_mib", maybe(Count))])),
        ),
        ("running", Flag),
        ("purchase_option", Word(OPTIONS)),
        ("tags", map(Text)),
        ("currency", maybe(Word(CURRENCIES))),
        ("monthly_cost", maybe(Money)),
        ("hourly_cost", maybe(Rate)),
        ("aws_opinion", maybe(Name)),
        ("aws_opinion_monthly_savings", maybe(Money)),
        ("running_share", maybe(Share)),
        ("cost_per_useful_gpu_hour", maybe(Rate)),
        ("classification", Word(CLASSES)),
        ("state", maybe(Word(STATES))),
        ("confidence", maybe(Word(CONFIDENCES))),
        ("reason", Name),
        ("ignored", maybe(Name)),
        ("utilization", maybe(utilization())),
        (
            "gpus",
            list(Object(vec![
                ("instance", Name),
                ("index", Count),
                ("mean", maybe(Percent)),
                ("p95", maybe(Percent)),
                ("vram_peak_mib", maybe(Figure)),
            ])),
        ),
        (
            "plan",
            Object(vec![
                (
                    "actions",
                    list(Object(vec![
                        ("action", Word(ACTIONS)),
                        ("to", maybe(Object(vec![("instance_type", Name), ("count", Count)]))),
                        ("detail", Name),
                        ("monthly_savings", Money),
                        ("waste_monthly_savings", Money),
                        ("risk", Word(RISKS)),
                        ("caveats", list(Name)),
                    ])),
                ),
                ("planned_monthly_cost", maybe(Money)),
            ]),
        ),
    ])
}

fn utilization() -> Shape {
    Object(vec![
        ("signal", Word(&["gpu_utilization", "gpu_power_utilization"])),
        ("effective", maybe(Percent)),
        ("mean", Percent),
        ("p50", Percent),
        ("p95", Percent),
        ("p99", Percent),
        ("max", Percent),
        ("idle_share", maybe(Share)),
        ("vram_peak_mib", maybe(Figure)),
        ("vram_p95_mib", maybe(Figure)),
        ("n_samples", Count),
        ("expected_samples", Count),
        ("coverage", Share),
        ("source", Word(&["cloudwatch-agent", "prometheus", "ec2", "sagemaker", "generated"])),
        ("joined_by_hostname", Count),
    ])
}

fn finding() -> Shape {
    Object(vec![
        ("id", Name),
        ("rule", Name),
        ("workload", Name),
        ("severity", Word(SEVERITIES)),
        ("confidence", Word(CONFIDENCES)),
        ("title", Name),
        ("currency", maybe(Word(CURRENCIES))),
        ("monthly_savings", maybe(Money)),
        ("kind", Word(&["waste", "optimization", "risk"])),
        (
            "evidence",
            list(Object(vec![
                ("metric", Name),
                ("statistic", maybe(Word(&["average", "maximum", "sum"]))),
                ("figure", maybe(Name)),
                ("observed", Figure),
                ("comparator", Word(&["<", "<=", ">", ">=", "="])),
                ("threshold", Figure),
                ("unit", Name),
                ("window_start", maybe(Time)),
                ("window_end", maybe(Time)),
                ("n_samples", maybe(Count)),
                ("coverage", maybe(Share)),
                ("origin", Name),
            ])),
        ),
        (
            "recommendation",
            Object(vec![
                ("action", Name),
                ("to", Text),
                ("steps", list(Name)),
                ("caveats", list(Name)),
            ]),
        ),
    ])
}

/// The elements of a list.
fn all<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().expect("a list")
}

/// An amount in cents; absent stays absent.
fn cents(value: &Value) -> Option<i64> {
    value.as_f64().map(|amount| (amount * 100.0).round() as i64)
}

fn sum<'a>(values: impl IntoIterator<Item = &'a Value>) -> i64 {
    values.into_iter().filter_map(cents).sum()
}

/// Every audit at hand: the demo, an estate that has bought ahead, and the
/// situations of the rules, at every risk.
fn audits() -> Vec<(String, Value)> {
    let mut audits = vec![("demo".to_owned(), DEMO.json())];
    let world = World::new();
    audits.push((OWNED.to_owned(), world.audit(&owned())));
    for path in situations() {
        let path = path.to_str().expect("UTF-8").to_owned();
        for risk in RISKS {
            let arguments = ["audit", "--from", &path, "--format", "json", "--risk", risk];
            let outcome = world.run(&arguments);
            assert_eq!(outcome.code, 0, "{path}: {}", outcome.stderr);
            audits.push((format!("{path} at {risk}"), outcome.json()));
        }
    }
    audits
}

#[test]
fn every_key_has_its_type_and_range() {
    let shape = document();
    for (name, audit) in audits() {
        let problems = problems(&shape, &audit);
        assert!(problems.is_empty(), "{name}:\n{}", problems.join("\n"));
    }
}

#[test]
fn sums_are_those_of_the_rows_to_the_cent() {
    for (name, audit) in audits() {
        let (summary, workloads) = (&audit["summary"], all(&audit, "workloads"));
        // Where workloads are and none is priced, no sum is known.
        let unused = all(&audit, "unused_commitments");
        let rows = || workloads.iter().chain(unused);
        let priced = rows().any(|row| !row["monthly_cost"].is_null());
        let total = |key: &str| {
            let sum = cents(&summary[key]);
            assert_eq!(sum.is_some(), priced || rows().next().is_none(), "{name}: {key}");
            sum.unwrap_or(0)
        };
        let cost = total("monthly_cost");
        assert_eq!(cost, sum(rows().map(|row| &row["monthly_cost"])), "{name}");
        let unused_cost = sum(unused.iter().map(|row| &row["monthly_cost"]));
        assert_eq!(cents(&summary["unused_monthly_cost"]).unwrap_or(0), unused_cost, "{name}");
        let savings = total("monthly_savings");
        assert_eq!(savings, total("monthly_waste") + total("monthly_optimization"), "{name}");
        assert_eq!(savings, cost - total("planned_monthly_cost"), "{name}");
        let actions = rows().flat_map(|row| all(&row["plan"], "actions"));
        assert_eq!(
            total("monthly_waste"),
            sum(actions.clone().map(|a| &a["waste_monthly_savings"])),
            "{name}"
        );
        assert_eq!(cents(&summary["annual_savings"]), priced.then_some(12 * savings), "{name}");
        assert_eq!(savings, sum(actions.map(|a| &a["monthly_savings"])), "{name}");
        for workload in rows() {
            let plan = &workload["plan"];
            let saved = sum(all(plan, "actions").iter().map(|a| &a["monthly_savings"]));
            let planned = cents(&workload["monthly_cost"]).map(|cost| cost - saved);
            assert_eq!(cents(&plan["planned_monthly_cost"]), planned, "{name}");
        }
        let classes = summary["by_classification"].as_object().expect("an object");
        assert_eq!(
            cost - unused_cost,
            sum(classes.values().map(|class| &class["monthly_cost"])),
            "{name}"
        );
        for (key, whole) in [
            ("workloads", workloads.len() as u64),
            ("instances", summary["instances"].as_u64().expect("a count")),
            ("gpus", summary["gpus"].as_u64().expect("a count")),
        ] {
            let parts: u64 = classes.values().filter_map(|class| class[key].as_u64()).sum();
            assert_eq!(parts, whole, "{name}: {key}");
        }
        let instances: usize = workloads.iter().map(|w| all(w, "instances").len()).sum();
        assert_eq!(summary["instances"], instances, "{name}");
        if cost > 0 {
            let percent = summary["savings_percent"].as_f64().expect("a percentage");
            let expected = savings as f64 / cost as f64 * 100.0;
            assert!((percent - expected).abs() <= 0.005_000_1, "{name}: {percent}");
        }
    }
}

#[test]
fn every_row_with_money_names_its_currency() {
    for (name, audit) in audits() {
        for (key, amount) in [
            ("workloads", "monthly_cost"),
            ("findings", "monthly_savings"),
            ("purchases", "monthly_savings"),
        ] {
            for row in all(&audit, key) {
                let is_priced = !row[amount].is_null();
                assert_eq!(row["currency"].is_string(), is_priced, "{name}: {row}");
            }
        }
    }
}

/// The sums are in dollars, and leave the yuan out.
#[test]
fn a_row_in_another_currency_than_the_sums_says_so() {
    let mut estate = one();
    let mut china = estate["instances"][0].clone();
    for (key, value) in [
        ("id", "i-cn"),
        ("region", "cn-north-1"),
        ("zone", "cn-north-1a"),
        ("instance_type", "g4dn.xlarge"),
    ] {
        china[key] = value.into();
    }
    let instances = estate["instances"].as_array_mut().expect("a list");
    instances.push(china);
    let world = World::new();
    let audit = world.audit(&estate);
    let row = |id: &str| {
        let rows = all(&audit, "workloads");
        rows.iter().find(|row| row["id"] == id).expect("a row")
    };
    // 5.223 × 730 and 1.006 × 730.
    for (id, currency, cost) in [("i-cn", "CNY", 3_812.79), ("i-one", "USD", 734.38)] {
        assert_eq!(row(id)["currency"], currency, "{id}");
        assert_eq!(row(id)["monthly_cost"], cost, "{id}");
    }
    assert_eq!(audit["prices"]["currency"], "USD");
    assert_eq!(audit["summary"]["monthly_cost"], 734.38);

    let mut alone = one();
    alone["regions"] = serde_json::json!(["cn-north-1", "us-east-1"]);
    let old = world.estate("old.json", &alone);
    let new = world.estate("new.json", &estate);
    let run = |arguments: &[&str]| {
        let outcome = world.run(&[arguments, &["--format", "json"]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.json()
    };
    let diff = run(&["diff", &old, &new]);
    assert_eq!(diff["added"][0]["currency"], "CNY");
    let report = world.file("report.json", audit.to_string());
    let back = run(&["diff", &report, &new]);
    assert_eq!(back["summary"]["workloads_unchanged"], 2);
    for (command, key) in [("inventory", "instances"), ("spot", "workloads")] {
        let document = run(&[command, "--from", &new]);
        let currencies: BTreeSet<&str> =
            all(&document, key).iter().filter_map(|row| row["currency"].as_str()).collect();
        assert_eq!(currencies, BTreeSet::from(["CNY", "USD"]), "{command}");
    }
}

#[test]
fn the_demo_costs_what_its_invoice_would_say() {
    let audit = DEMO.json();
    let cost = audit["summary"]["monthly_cost"].as_f64().expect("money");
    assert!((cost - 200_000.0).abs() <= 2_000.0, "{cost}");
}

#[test]
fn lists_are_in_their_stated_order() {
    let rank = |words: &[&str], value: &Value| {
        let word = value.as_str().expect("a word");
        words.iter().position(|known| *known == word)
    };
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    for (name, audit) in audits() {
        let workloads: Vec<_> = all(&audit, "workloads")
            .iter()
            .map(|w| (Reverse(cents(&w["monthly_cost"])), text(&w["id"])))
            .collect();
        assert!(workloads.is_sorted_by(|left, right| left < right), "{name}: {workloads:?}");
        let findings: Vec<_> = all(&audit, "findings")
            .iter()
            .map(|f| {
                let severity = rank(SEVERITIES, &f["severity"]);
                (Reverse(cents(&f["monthly_savings"])), Reverse(severity), text(&f["id"]))
            })
            .collect();
        assert!(findings.is_sorted_by(|left, right| left < right), "{name}: {findings:?}");
        let gaps: Vec<_> = all(&audit, "gaps")
            .iter()
            .map(|g| ["what", "where", "reason", "hint"].map(|key| text(&g[key])))
            .collect();
        assert!(gaps.is_sorted_by(|left, right| left < right), "{name}: {gaps:?}");
        for workload in all(&audit, "workloads") {
            let instances: Vec<_> = all(workload, "instances").iter().map(text).collect();
            assert!(instances.is_sorted_by(|left, right| left < right), "{name}");
            let gpus: Vec<_> = all(workload, "gpus")
                .iter()
                .map(|gpu| (text(&gpu["instance"]), gpu["index"].as_u64()))
                .collect();
            assert!(gpus.is_sorted_by(|left, right| left < right), "{name}: {gpus:?}");
        }
        for key in ["accounts", "regions"] {
            let names: Vec<_> = all(&audit["scope"], key).iter().map(text).collect();
            assert!(names.is_sorted_by(|left, right| left < right), "{name}: {names:?}");
        }
    }
}

#[test]
fn findings_name_their_rule_and_workload_and_carry_evidence() {
    let of_workloads: BTreeSet<&str> = RULES.iter().map(|rule| rule.meta().id).collect();
    let mut about_bought = 0;
    for (name, audit) in audits() {
        let workloads: BTreeSet<&str> = all(&audit, "workloads")
            .iter()
            .filter_map(|workload| workload["id"].as_str())
            .collect();
        assert_eq!(workloads.len(), all(&audit, "workloads").len(), "{name}: an id twice");
        for finding in all(&audit, "findings") {
            let of = |key: &str| finding[key].as_str().expect("text");
            // A commitment stands where a workload would.
            if name == OWNED && BOUGHT.contains(&of("workload")) {
                assert!(COMMITMENT_RULES.contains(&of("rule")), "{finding}");
                about_bought += 1;
            } else if CLUSTER_RULES.contains(&of("rule")) {
                // About a node, a pod or a pool, which need not be a workload.
                assert_ne!(of("workload"), "", "{finding}");
            } else {
                assert!(of_workloads.contains(of("rule")), "{name}: {finding}");
                assert!(workloads.contains(of("workload")), "{name}: {finding}");
            }
            assert!(of("id").contains(of("rule")) && of("id").contains(of("workload")), "{name}");
            assert!(!all(finding, "evidence").is_empty(), "{name}: {finding}");
        }
    }
    // The second reservation pays for one of two places of the room, so it is not half used.
    assert_eq!(about_bought, 2, "idle room, and the reservations end soon");
}

#[test]
fn percentiles_do_not_cross() {
    for (name, audit) in audits() {
        for workload in all(&audit, "workloads") {
            let Some(figures) = workload["utilization"].as_object() else { continue };
            let of = |key: &str| figures[key].as_f64().expect("a figure");
            assert!(of("p50") <= of("p95") && of("p95") <= of("p99"), "{name}");
            assert!(of("p99") <= of("max"), "{name}");
            assert!(figures["n_samples"].as_u64() <= figures["expected_samples"].as_u64());
        }
    }
}

#[test]
fn the_same_estate_gives_the_same_bytes() {
    for (format, first) in [("table", &*DEMO_TABLE), ("json", &*DEMO)] {
        let second = audit_demo(format);
        assert_eq!(first.all(), second.all(), "{format}");
    }
    for (format, first) in demo_documents() {
        let text = &first.stdout;
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{format}");
    }
}

#[test]
fn the_order_of_the_instances_in_the_file_does_not_matter() {
    let mut estate = one();
    for number in 0..5 {
        let mut instance = estate["instances"][0].clone();
        instance["id"] = format!("i-{number}").into();
        instance["instance_type"] = ["g5.xlarge", "g6.xlarge"][number % 2].into();
        estate["instances"].as_array_mut().expect("a list").push(instance);
        let mut series = estate["metrics"].as_array().expect("a list")[..6].to_vec();
        series.iter_mut().for_each(|metric| metric["instance"] = format!("i-{number}").into());
        estate["metrics"].as_array_mut().expect("a list").extend(series);
    }
    let world = World::new();
    let forward = world.audit(&estate);
    for key in ["instances", "metrics"] {
        estate[key].as_array_mut().expect("a list").reverse();
    }
    assert_eq!(forward, world.audit(&estate));
    assert_eq!(all(&forward, "workloads").len(), 6);
}

#[test]
fn no_control_character_leaves_in_a_document() {
    for (format, outcome) in demo_documents() {
        let stray = outcome.stdout.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(stray, None, "{format}");
    }
}

#[test]
fn json_of_inventory_and_metrics_has_its_version_and_a_row_for_each_instance() {
    let world = World::new();
    let inventory = world.run(&["inventory", "--demo", "--format", "json"]).json();
    assert_eq!(inventory["schema_version"], "2");
    assert_eq!(all(&inventory, "instances").len(), 23);
    let rate = |row: &Value| problems(&maybe(Rate), &row["hourly_cost"]);
    assert!(all(&inventory, "instances").iter().all(|row| rate(row).is_empty()));
    let metrics = world.run(&["metrics", "--demo", "--format", "json"]).json();
    assert_eq!(metrics["schema_version"], "2");
    assert_eq!(all(&metrics, "instances").len(), 22, "the running ones");
    for row in all(&metrics, "instances") {
        assert_eq!(problems(&maybe(Percent), &row["mean"]), [""; 0]);
        assert_eq!(problems(&maybe(Share), &row["coverage"]), [""; 0]);
    }
}
