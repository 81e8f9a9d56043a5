//! `--format csv`: one header, one row a workload, numbers that parse, cells
//! that no spreadsheet runs.

use crate::cli::contract::{DEMO, DEMO_CSV};
use crate::cli::world::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Header and rows of a document.
fn table(text: &str) -> (Vec<String>, Vec<BTreeMap<String, String>>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> =
        reader.headers().expect("a header").iter().map(str::to_owned).collect();
    let rows = reader
        .records()
        .map(|record| {
            let record = record.expect("as many cells as columns");
            header.iter().cloned().zip(record.iter().map(str::to_owned)).collect()
        })
        .collect();
    (header, rows)
}

const NUMBERS: &[&str] = &[
    "gpu_count", "gpu_vram_mib", "monthly_cost", "hourly_cost", "running_share",
    "cost_per_useful_gpu_hour", "utilization_mean", "utilization_p50", "utilization_p95",
    "utilization_p99", "utilization_max", "utilization_idle_share", "utilization_vram_peak_mib",
    "utilization_vram_p95_mib", "utilization_n_samples", "utilization_expected_samples",
    "utilization_joined_by_hostname", "utilization_coverage", "utilization_resolution_seconds",
    "plan_to_count", "plan_monthly_savings", "plan_planned_monthly_cost",
];

#[test]
fn one_header_and_one_row_a_workload_with_the_figures_of_the_json() {
    let (header, rows) = table(&DEMO_CSV.stdout);
    let mut unique = header.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), header.len(), "duplicate column");
    let audit = DEMO.json();
    let workloads = audit["workloads"].as_array().expect("a list");
    assert_eq!(rows.len(), workloads.len());
    for (row, workload) in rows.iter().zip(workloads) {
        for (column, key) in [
            ("id", "id"),
            ("name", "name"),
            ("region", "region"),
            ("instance_type", "instance_type"),
            ("kind", "kind"),
            ("classification", "classification"),
            ("purchase_option", "purchase_option"),
        ] {
            assert_eq!(row[column], workload[key].as_str().expect("text"));
        }
        let number = |column: &str| row[column].parse::<f64>().ok();
        assert_eq!(number("monthly_cost"), workload["monthly_cost"].as_f64());
        assert_eq!(number("hourly_cost"), workload["hourly_cost"].as_f64());
        assert_eq!(number("utilization_mean"), workload["utilization"]["mean"].as_f64());
        assert_eq!(
            number("plan_planned_monthly_cost"),
            workload["plan"]["planned_monthly_cost"].as_f64()
        );
    }
}

/// Every key of a value joined by underscores, and what it holds; lists are
/// leaves, and so are tags and their counts.
fn flattened(prefix: &str, value: &Value, into: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(all) if !["tags", "tagged_instances"].contains(&prefix) => {
            for (key, member) in all {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}_{key}") };
                flattened(&name, member, into);
            }
        }
        leaf => {
            into.insert(prefix.to_owned(), leaf.clone());
        }
    }
}

#[test]
fn every_key_of_a_workload_is_a_column_with_its_value() {
    let (header, rows) = table(&DEMO_CSV.stdout);
    let audit = DEMO.json();
    let workloads = audit["workloads"].as_array().expect("a list");
    let mut seen = std::collections::BTreeSet::new();
    for (row, workload) in rows.iter().zip(workloads) {
        let mut workload = workload.clone();
        let plan = &mut workload["plan"];
        // The actions share their cells.
        let actions = plan["actions"].as_array().cloned().unwrap_or_default();
        let joined = |key: &str| {
            let words = actions.iter().map(|action| action[key].as_str().expect("words"));
            words.collect::<Vec<_>>().join("; ")
        };
        if let Some(last) = actions.last() {
            let saved = actions.iter().map(|action| action["monthly_savings"].as_f64());
            let cents: f64 = saved.map(|saving| (saving.expect("money") * 100.0).round()).sum();
            let moves = actions.iter().rev().find(|action| !action["to"].is_null());
            plan["action"] = json!(joined("action"));
            plan["detail"] = json!(joined("detail"));
            plan["monthly_savings"] = json!(cents / 100.0);
            plan["to"] = moves.unwrap_or(last)["to"].clone();
            let risks = ["low", "medium", "high"].into_iter().rev();
            let highest =
                risks.into_iter().find(|risk| actions.iter().any(|action| action["risk"] == *risk));
            plan["risk"] = json!(highest);
            let caveats = actions.iter().filter_map(|action| action["caveats"].as_array());
            let caveats: Vec<&str> = caveats.flatten().filter_map(Value::as_str).collect();
            plan["caveats"] = json!(caveats.join("; "));
        }
        let mut keys = BTreeMap::new();
        flattened("", &workload, &mut keys);
        for (key, value) in keys {
            // A row has no place for these lists, and no parts of what is null.
            let is_list = ["gpus", "members", "plan_actions"].contains(&key.as_str());
            let is_whole = ["gpu", "utilization", "plan_to"].contains(&key.as_str());
            if is_list || (is_whole && value.is_null()) {
                continue;
            }
            let cell = row.get(&key).unwrap_or_else(|| panic!("no column {key}"));
            match &value {
                Value::Number(number) => {
                    assert_eq!(cell.parse::<f64>().ok(), number.as_f64(), "{key}");
                }
                Value::Null => assert_eq!(cell, "", "{key}"),
                Value::String(text) => assert_eq!(cell, text, "{key}"),
                Value::Bool(flag) => assert_eq!(cell, &flag.to_string(), "{key}"),
                Value::Array(all) => {
                    let words: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
                    assert_eq!(cell, &words.join(" "), "{key}");
                }
                Value::Object(all) => {
                    let tag = |(key, value): (&String, &Value)| match value {
                        Value::String(text) => format!("{key}={text}"),
                        other => format!("{key}={other}"),
                    };
                    let tags: Vec<String> = all.iter().map(tag).collect();
                    assert_eq!(cell, &tags.join(";"), "{key}");
                }
            }
            seen.insert(key);
        }
    }
    let own: Vec<&String> = header.iter().filter(|column| !seen.contains(*column)).collect();
    assert!(own.is_empty(), "columns that no key has: {own:?}");
}

#[test]
fn numbers_parse_and_what_is_absent_is_empty() {
    let (_, rows) = table(&DEMO_CSV.stdout);
    for row in &rows {
        for column in NUMBERS {
            let cell = &row[*column];
            assert!(cell.is_empty() || cell.parse::<f64>().is_ok(), "{column}: {cell}");
        }
    }
    let unmeasured = rows
        .iter()
        .find(|row| row["name"] == "video-captioning-2")
        .expect("the instances without GPU metrics");
    assert_eq!(unmeasured["utilization_mean"], "", "absent is not zero");
    assert_eq!(unmeasured["state"], "");
}

#[test]
fn inventory_and_metrics_have_a_row_for_each_instance_and_gpu() {
    let world = World::new();
    let inventory = world.run(&["inventory", "--demo", "--format", "csv"]);
    assert_eq!(table(&inventory.stdout).1.len(), 23);
    let metrics = world.run(&["metrics", "--demo", "--format", "csv"]);
    // One row a GPU, and one for the instance without any.
    let rows = table(&metrics.stdout).1;
    assert_eq!(rows.len(), 105 + 1);
    let document = world.run(&["metrics", "--demo", "--format", "json"]).json();
    let first = &document["instances"][0];
    for (column, figure) in [
        ("gpu_index", &first["gpus"][1]["index"]),
        ("gpu_mean", &first["gpus"][1]["mean"]),
        ("mean", &first["mean"]),
        ("coverage", &first["coverage"]),
    ] {
        let cell: f64 = rows[1][column].parse().expect("a number");
        let figure = figure.as_f64().expect("a number");
        assert!((cell - figure).abs() < 2e-4, "{column}: {cell} {figure}");
    }
}
