//! `--format csv`: one header, one row a workload, numbers that parse, cells
//! that no spreadsheet runs.

use crate::contract::{DEMO, DEMO_CSV};
use crate::estates::one;
use crate::world::World;
use serde_json::json;
use std::collections::BTreeMap;

/// Header and rows of a document.
fn table(text: &str) -> (Vec<String>, Vec<BTreeMap<String, String>>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader
        .headers()
        .expect("a header")
        .iter()
        .map(str::to_owned)
        .collect();
    let rows = reader
        .records()
        .map(|record| {
            let record = record.expect("as many cells as columns");
            header
                .iter()
                .cloned()
                .zip(record.iter().map(str::to_owned))
                .collect()
        })
        .collect();
    (header, rows)
}

const NUMBERS: &[&str] = &[
    "gpu_count",
    "gpu_vram_mib",
    "monthly_cost",
    "hourly_cost",
    "running_share",
    "cost_per_useful_gpu_hour",
    "utilization_mean",
    "utilization_p50",
    "utilization_p95",
    "utilization_p99",
    "utilization_max",
    "utilization_idle_share",
    "utilization_vram_peak_mib",
    "utilization_n_samples",
    "utilization_coverage",
    "plan_to_count",
    "plan_monthly_savings",
    "planned_monthly_cost",
];

#[test]
fn one_header_and_one_row_a_workload_with_the_figures_of_the_json() {
    let (header, rows) = table(&DEMO_CSV.stdout);
    let mut unique = header.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), header.len(), "a column stands twice");
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
        assert_eq!(
            number("utilization_mean"),
            workload["utilization"]["mean"].as_f64()
        );
        assert_eq!(
            number("planned_monthly_cost"),
            workload["plan"]["planned_monthly_cost"].as_f64()
        );
    }
}

#[test]
fn numbers_parse_and_what_is_absent_is_empty() {
    let (_, rows) = table(&DEMO_CSV.stdout);
    for row in &rows {
        for column in NUMBERS {
            let cell = &row[*column];
            assert!(
                cell.is_empty() || cell.parse::<f64>().is_ok(),
                "{column}: {cell}"
            );
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
    assert_eq!(table(&metrics.stdout).1.len(), 105 + 1);
}

#[test]
fn hostile_cells_are_disarmed_and_stay_in_their_row() {
    for name in [
        "=cmd|' /C calc'!A0",
        "+1+1",
        "-2",
        "@SUM(A1)",
        "\t=1",
        "\r\n=1",
        "  =1",
        "a,b\"c\nd",
    ] {
        let mut estate = one();
        estate["instances"][0]["tags"] = json!({"Name": name, "gpucost:ignore": name, "=k": name});
        let world = World::new();
        let path = world.estate("estate.json", &estate);
        for command in ["audit", "inventory", "metrics"] {
            let outcome = world.run(&[command, "--from", &path, "--format", "csv"]);
            let (_, rows) = table(&outcome.stdout);
            assert_eq!(rows.len(), 1, "{command}: {}", outcome.stdout);
            for (column, cell) in &rows[0] {
                let armed = cell
                    .trim_start()
                    .starts_with(['=', '+', '-', '@', '\t', '\r']);
                assert!(!armed, "{command} {column}: {cell:?}");
                assert!(!cell.contains('\n'), "{command} {column}: {cell:?}");
            }
        }
    }
}
