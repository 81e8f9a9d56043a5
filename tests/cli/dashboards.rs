//! Metrics for Prometheus, and the alerts and the dashboard of the examples: valid for the
//! programs that read them, and with the figures of the JSON report.

use crate::cli::estates::{one, owned, situations};
use crate::cli::hostile::{fleet, is_harmless};
use crate::cli::pages::{blocks, page, quoted};
use crate::cli::world::World;
use crate::prometheus::scrape::{Labels, Scraping, dashboard, only, parse, queries};
use crate::prometheus::servers::Programs;
use crate::support::http::{Reply, Server, Unanswered};
use crate::support::source::root;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::process::Stdio;

const DEMOS: [&str; 3] = ["starter", "quarter-used", "mixed-fleet"];

/// An audit as metrics and as JSON.
fn audited(scope: &[&str]) -> (String, Value) {
    let world = World::new();
    let run = |format: &str| {
        let arguments = [&["audit", "--offline"][..], scope, &["--format", format]].concat();
        let outcome = world.run(&arguments);
        assert!([0, 4].contains(&outcome.code), "{}", outcome.stderr);
        outcome
    };
    (run("openmetrics").stdout, run("json").json())
}

/// The sum of the samples of a family; `None` without any.
fn sum(families: &BTreeMap<String, Vec<(Labels, f64)>>, name: &str) -> Option<f64> {
    let samples = families.get(name)?;
    Some(samples.iter().map(|(_, value)| value).sum())
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

#[test]
fn metrics_are_the_figures_of_the_json() {
    let paths = situations();
    let files: Vec<[&str; 2]> = paths
        .iter()
        .map(|path| ["--from", path.to_str().expect("UTF-8")])
        .chain(DEMOS.map(|demo| ["--demo", demo]))
        .collect();
    for scope in &files {
        let (text, audit) = audited(scope);
        let families = parse(&text);
        let summary = &audit["summary"];
        for (name, key) in [
            ("gpucost_cost_monthly", "monthly_cost"),
            ("gpucost_planned_cost_monthly", "planned_monthly_cost"),
            ("gpucost_savings_monthly", "monthly_savings"),
            ("gpucost_waste_monthly", "monthly_waste"),
            ("gpucost_optimization_monthly", "monthly_optimization"),
            ("gpucost_committed_cost_monthly", "committed_monthly_cost"),
            ("gpucost_unused_cost_monthly", "unused_monthly_cost"),
            ("gpucost_instances", "instances"),
            ("gpucost_stopped_instances", "stopped_instances"),
            ("gpucost_unpriced_instances", "unpriced_instances"),
            ("gpucost_ignored_workloads", "ignored_workloads"),
        ] {
            assert_eq!(sum(&families, name), summary[key].as_f64(), "{scope:?} {key}");
        }
        for key in ["allocated", "active", "unmeasured", "unknown_allocation", "effective"] {
            let key = format!("{key}_gpus");
            let value = only(&families, &format!("gpucost_{key}"));
            assert_eq!(Some(value), summary["funnel"][&key].as_f64(), "{scope:?} {key}");
        }
        assert_eq!(only(&families, "gpucost_gpus"), summary["gpus"].as_f64().expect("a number"));
        let as_of: Timestamp = audit["as_of"].as_str().expect("a time").parse().expect("a time");
        assert_eq!(only(&families, "gpucost_audit_timestamp_seconds"), as_of.as_second() as f64);
        // Each workload, finding and gap once.
        let workloads = list(&audit["workloads"]);
        let ids: BTreeSet<&str> = families
            .get("gpucost_workload_gpus")
            .into_iter()
            .flatten()
            .map(|(labels, _)| labels["id"].as_str())
            .collect();
        let expected: BTreeSet<&str> =
            workloads.iter().map(|workload| workload["id"].as_str().expect("an id")).collect();
        assert_eq!(ids, expected, "{scope:?}");
        let gpus = sum(&families, "gpucost_workload_gpus").unwrap_or(0.0);
        assert_eq!(gpus, summary["gpus"].as_f64().expect("a number"), "{scope:?}");
        let findings = sum(&families, "gpucost_findings").unwrap_or(0.0);
        assert_eq!(findings, list(&audit["findings"]).len() as f64, "{scope:?}");
        let gaps = list(&audit["gaps"]).len() as f64;
        assert_eq!(only(&families, "gpucost_gaps"), gaps, "{scope:?}");
        assert_eq!(sum(&families, "gpucost_cause_gaps").unwrap_or(0.0), gaps, "{scope:?}");
        // What the page promises of their number.
        let samples: usize = families.values().map(Vec::len).sum();
        let unused = list(&audit["unused_commitments"]).len();
        assert!(samples <= 100 + 5 * workloads.len() + 2 * unused, "{scope:?}: {samples}");
    }
}

#[test]
fn the_oldest_price_is_the_one_that_a_limit_names() {
    let (text, _) = audited(&["--demo"]);
    let second = only(&parse(&text), "gpucost_oldest_price_timestamp_seconds");
    let day = Timestamp::from_second(second as i64).expect("a time");
    let refused = World::new().run(&["audit", "--demo", "--offline", "--max-price-age", "1d"]);
    let date = day.strftime("%Y-%m-%d").to_string();
    let said = format!("the oldest price is from {date}, ");
    assert!(refused.stderr.contains(&said), "{said}: {}", refused.stderr);
    assert_eq!(second as i64 % 86_400, 0);
}

#[test]
fn no_name_breaks_a_document_or_hides_a_workload() {
    let world = World::new();
    let path = world.estate("hostile.json", &fleet());
    let (text, audit) = audited(&["--from", &path]);
    assert_eq!(text.chars().find(|c| !is_harmless(*c)), None);
    assert!(text.lines().all(|line| line.len() < 8_000));
    let families = parse(&text);
    let workloads = list(&audit["workloads"]);
    assert_eq!(families["gpucost_workload_gpus"].len(), workloads.len());
    lint(&text);
}

#[test]
fn promtool_finds_nothing_to_say_about_metrics() {
    for demo in DEMOS {
        lint(&audited(&["--demo", demo]).0);
    }
}

/// Has promtool read metrics with the parser of the node exporter, and judge their names.
fn lint(text: &str) {
    let Some(programs) = Programs::find() else { return };
    let world = World::new();
    let path = world.file("metrics.prom", text);
    let output = programs
        .promtool()
        .args(["check", "metrics"])
        .stdin(Stdio::from(File::open(path).expect("our own file")))
        .output()
        .expect("promtool can be run");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    assert_eq!(String::from_utf8_lossy(&said), "");
}

#[test]
fn only_the_most_expensive_thousand_workloads_have_series() {
    let mut estate = one();
    let template = estate["instances"][0].clone();
    let instances = (0..1_003).map(|number| {
        let mut instance = template.clone();
        instance["id"] = json!(format!("i-{number:04}"));
        instance
    });
    estate["instances"] = instances.collect();
    estate["metrics"] = json!([]);
    let world = World::new();
    let path = world.estate("many.json", &estate);
    let families = parse(&audited(&["--from", &path]).0);
    assert_eq!(families["gpucost_workload_gpus"].len(), 1_000);
    assert_eq!(only(&families, "gpucost_omitted_workloads"), 3.0);
    assert_eq!(only(&families, "gpucost_instances"), 1_003.0);
}

#[test]
fn groups_are_made_in_queries() {
    let world = World::new();
    let arguments = ["audit", "--demo", "--format", "openmetrics", "--group-by", "region"];
    let outcome = world.run(&arguments);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    let said = "error: `--group-by` cannot be used with `--format openmetrics`\nhint: group in";
    assert!(outcome.stderr.starts_with(said), "{}", outcome.stderr);
}

#[test]
fn the_alerts_pass_their_tests() {
    let Some(programs) = Programs::find() else { return };
    for arguments in [["check", "rules", "rules.yml"], ["test", "rules", "rules.test.yml"]] {
        let output = programs
            .promtool()
            .args(arguments)
            .current_dir(root().join("examples/dashboards"))
            .stdin(Stdio::null())
            .output()
            .expect("promtool can be run");
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    }
}

/// The schema is written after Grafana's page on the JSON model of dashboards (schema version
/// 38), as far as this one uses it.
#[test]
fn the_dashboard_holds_to_its_schema() {
    let schema = serde_json::from_str(include_str!("dashboard.schema.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let dashboard = dashboard();
    let errors: Vec<String> =
        validator.iter_errors(&dashboard).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");

    let variables = list(&dashboard["templating"]["list"]);
    assert_eq!((variables.len(), &variables[0]["name"]), (1, &json!("datasource")));
    let panels = list(&dashboard["panels"]);
    let ids: BTreeSet<i64> = panels.iter().filter_map(|panel| panel["id"].as_i64()).collect();
    assert_eq!(ids.len(), panels.len(), "no id twice");
    let mut cells = BTreeSet::new();
    for panel in panels {
        let side = |name: &str| panel["gridPos"][name].as_u64().expect("a number");
        assert!(side("x") + side("w") <= 24, "{panel}");
        for x in side("x")..side("x") + side("w") {
            for y in side("y")..side("y") + side("h") {
                assert!(cells.insert((x, y)), "{} overlaps", panel["title"]);
            }
        }
        let targets = panel["targets"].as_array().into_iter().flatten();
        let names: Vec<&Value> = targets.map(|target| &target["refId"]).collect();
        let distinct: BTreeSet<String> = names.iter().map(ToString::to_string).collect();
        assert_eq!(distinct.len(), names.len(), "{}", panel["title"]);
    }
}

/// Serves metrics as OpenMetrics, and at `/text` as the text of Prometheus.
fn serving(text: String) -> Server {
    let text = Bytes::from(text);
    Server::start(None, move |request: Request<Incoming>| {
        let text = text.clone();
        async move {
            let kind = if request.uri().path() == "/text" {
                "text/plain; version=0.0.4; charset=utf-8"
            } else {
                "application/openmetrics-text; version=1.0.0; charset=utf-8"
            };
            let response: Reply = Response::builder()
                .header("content-type", kind)
                .body(Full::new(text).boxed())
                .expect("a response");
            Ok::<Reply, Unanswered>(response)
        }
    })
}

#[test]
fn every_query_of_the_dashboard_gives_the_figures_of_the_report() {
    let Some(programs) = Programs::find() else { return };
    let world = World::new();
    let owned = world.estate("owned.json", &owned());
    // A fleet with gaps, one with commitments, and reservations that end.
    for scope in [["--demo", "starter"], ["--demo", "mixed-fleet"], ["--from", &owned]] {
        let (text, audit) = audited(&scope);
        let price =
            parse(&text).get("gpucost_oldest_price_timestamp_seconds").map(|samples| samples[0].1);
        let server = serving(text);
        let address = server.address().to_string();
        let targets = [(address.as_str(), "/metrics"), (address.as_str(), "/text")];
        let scraping = Scraping::start(&programs, &targets);
        let counts = scraping.query("scrape_samples_scraped");
        assert_eq!(counts.len(), 2);
        assert_eq!(counts[0].1, counts[1].1, "both parsers read the same");
        for query in queries("Fleet") {
            let answer: BTreeMap<String, f64> = scraping
                .query(&query)
                .into_iter()
                .map(|(labels, value)| (key(&labels), value))
                .collect();
            let now = Timestamp::now().as_second() as f64;
            let expected = expected(&query, &audit, price, now);
            // Clocks go on between the query and its expectation.
            let tolerance = if query.contains("time()") { 60.0 } else { 0.001 };
            assert!(answer.keys().eq(expected.keys()), "{query}: {answer:?}, {expected:?}");
            for (key, value) in &answer {
                let apart = (value - expected[key]).abs();
                assert!(apart <= tolerance, "{query}: {answer:?}, {expected:?}");
            }
        }
        let rules = scraping.get("/api/v1/rules");
        let groups = list(&rules["data"]["groups"]);
        assert_eq!(groups.len(), 2, "{rules}");
    }
}

/// The labels that distinguish results of a query.
fn key(labels: &Labels) -> String {
    let names = ["action", "classification", "state", "team", "instance_type", "rule", "severity"];
    let names = names.iter().chain(&["cause", "id"]);
    let values = names.filter_map(|name| labels.get(*name));
    values.cloned().collect::<Vec<_>>().join(" ")
}

/// What a query should give, from the JSON report.
fn expected(query: &str, audit: &Value, price: Option<f64>, now: f64) -> BTreeMap<String, f64> {
    let summary = &audit["summary"];
    let one = |value: Option<f64>| -> BTreeMap<String, f64> {
        value.into_iter().map(|value| (String::new(), value)).collect()
    };
    let total = |key: &str| one(summary[key].as_f64());
    let gpus = |key: &str| one(summary["funnel"][key].as_f64());
    let sums =
        |rows: &Value, key: &dyn Fn(&Value) -> String, value: &dyn Fn(&Value) -> Option<f64>| {
            let mut sums: BTreeMap<String, f64> = BTreeMap::new();
            for row in list(rows) {
                if let Some(value) = value(row) {
                    *sums.entry(key(row)).or_default() += value;
                }
            }
            sums
        };
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let cost = |row: &Value| row["monthly_cost"].as_f64();
    let team = |row: &Value| {
        let tags = &row["tags"];
        let team = tags["team"].as_str().or(tags["owner"].as_str());
        team.unwrap_or("").to_owned()
    };
    let count = |_: &Value| Some(1.0);
    let map = |value: &Value, figure: &dyn Fn(&Value) -> Option<f64>| -> BTreeMap<String, f64> {
        let entries = value.as_object().expect("an object").iter();
        entries.filter_map(|(name, value)| Some((name.clone(), figure(value)?))).collect()
    };
    let workloads = &audit["workloads"];
    match query {
        "sum by (currency) (gpucost_cost_monthly)" => total("monthly_cost"),
        "sum by (currency) (gpucost_planned_cost_monthly)" => total("planned_monthly_cost"),
        "sum by (currency) (gpucost_savings_monthly)" => total("monthly_savings"),
        "sum by (currency) (gpucost_waste_monthly)" => total("monthly_waste"),
        "sum by (currency) (gpucost_committed_cost_monthly)" => total("committed_monthly_cost"),
        "sum by (currency) (gpucost_unused_cost_monthly)" => total("unused_monthly_cost"),
        "sum by (currency) (gpucost_savings_monthly) / sum by (currency) (gpucost_cost_monthly)" => {
            // To two decimals of a percentage.
            one(summary["savings_percent"].as_f64().map(|percent| percent / 100.0))
        }
        "sum(gpucost_effective_gpus) / (sum(gpucost_gpus) - sum(gpucost_unmeasured_gpus))" => {
            let part = |key: &str| summary["funnel"][key].as_f64().expect("a number");
            let measured = part("total_gpus") - part("unmeasured_gpus");
            one(Some(part("effective_gpus") / measured))
        }
        "sum(gpucost_gpus)" => gpus("total_gpus"),
        "sum(gpucost_allocated_gpus)" => gpus("allocated_gpus"),
        "sum(gpucost_active_gpus)" => gpus("active_gpus"),
        "sum(gpucost_effective_gpus)" => gpus("effective_gpus"),
        "sum(gpucost_unmeasured_gpus)" => gpus("unmeasured_gpus"),
        "sum(gpucost_unpriced_instances)" => total("unpriced_instances"),
        "sort_desc(sum by (action, currency) (gpucost_action_savings_monthly))" => {
            map(&summary["savings_by_action"], &Value::as_f64)
        }
        "sum by (classification, currency) (gpucost_class_cost_monthly)" => {
            map(&summary["by_classification"], &cost)
        }
        "sort_desc(sum by (state) (gpucost_workload_gpus))" => sums(
            workloads,
            &|row| match row["running"].as_bool() {
                Some(true) => row["state"].as_str().unwrap_or("unknown").to_owned(),
                _ => "stopped".to_owned(),
            },
            &|row| match row["running"].as_bool() {
                Some(true) => row["gpu"]["count"].as_f64().or(Some(0.0)),
                _ => Some(0.0),
            },
        ),
        "topk(15, sum by (team, currency) (gpucost_workload_cost_monthly))" => {
            sums(workloads, &team, &cost)
        }
        "topk(15, sum by (instance_type, currency) (gpucost_workload_cost_monthly))" => {
            sums(workloads, &|row| text(&row["instance_type"]), &cost)
        }
        "sort_desc(sum by (rule, severity) (gpucost_findings))" => sums(
            &audit["findings"],
            &|row| format!("{} {}", text(&row["rule"]), text(&row["severity"])),
            &count,
        ),
        "sort_desc(sum by (cause) (gpucost_cause_gaps))" => {
            sums(&audit["gaps"], &|row| row["cause"].as_str().unwrap_or("other").to_owned(), &count)
        }
        "topk(20, gpucost_workload_savings_monthly > 0)" => list(workloads)
            .iter()
            .filter_map(|row| {
                let actions = list(&row["plan"]["actions"]).iter();
                let saved: f64 =
                    actions.filter_map(|action| action["monthly_savings"].as_f64()).sum();
                let mut labels = Labels::new();
                for name in ["id", "instance_type", "classification"] {
                    labels.insert(name.to_owned(), text(&row[name]));
                }
                let state = match row["running"].as_bool() {
                    Some(true) => row["state"].as_str().unwrap_or("unknown"),
                    _ => "stopped",
                };
                labels.insert("state".to_owned(), state.to_owned());
                let team = team(row);
                if !team.is_empty() {
                    labels.insert("team".to_owned(), team);
                }
                (saved > 0.0).then(|| (key(&labels), saved))
            })
            .collect(),
        "time() - max(gpucost_audit_timestamp_seconds)" => {
            let as_of: Timestamp = text(&audit["as_of"]).parse().expect("a time");
            one(Some(now - as_of.as_second() as f64))
        }
        "time() - min(gpucost_oldest_price_timestamp_seconds)" => {
            one(price.map(|price| now - price))
        }
        "min(gpucost_commitment_end_timestamp_seconds) - time()" => {
            let ends = list(&audit["unused_commitments"]).iter();
            let ends =
                ends.filter_map(|row| row["committed_until"].as_str()?.parse::<Timestamp>().ok());
            let first = ends.min();
            one(first.map(|end: Timestamp| end.as_second() as f64 - now))
        }
        other => panic!("no figure is expected of {other}"),
    }
}

#[test]
fn the_lines_of_the_page_are_printed() {
    let example = blocks(&page("dashboards.md"), "text")
        .into_iter()
        .find(|block| block.starts_with("$ gpucost "))
        .expect("an example");
    let (_, shown) = example.split_once('\n').expect("a command line");
    let (printed, _) = audited(&["--demo"]);
    for line in shown.lines() {
        assert!(printed.lines().any(|own| own == line), "{line}");
    }
    assert!(shown.lines().count() > 5, "{shown}");
}

#[test]
fn the_page_names_every_metric_and_every_alert() {
    let text = page("dashboards.md");
    let quoted = quoted(&text);
    let mut names: BTreeSet<String> = BTreeSet::new();
    for file in ["audit/openmetrics.rs", "run_metrics.rs"] {
        let path = root().join("src/report").join(file);
        let source = std::fs::read_to_string(path).expect("a source");
        let words = source.split('"').skip(1).step_by(2);
        let metric_names = words.filter(|word| word.starts_with("gpucost_"));
        names.extend(metric_names.map(str::to_owned));
    }
    assert!(names.len() > 60, "{names:?}");
    let rules = std::fs::read_to_string(root().join("examples/dashboards/rules.yml"));
    let rules = rules.expect("the rules");
    let alerts = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    names.extend(alerts.map(str::to_owned));
    names.retain(|name| !quoted.contains(name.as_str()));
    assert!(names.is_empty(), "not in docs/dashboards.md: {names:?}");
}
