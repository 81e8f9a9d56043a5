//! `gpucost check` beside a settings file: what of it changes money is said first.

use crate::cli::check::check;
use crate::cli::estates::one;
use crate::cli::json_schemas::{assert_holds, closed, schema, validator};
use crate::cli::terraform;
use crate::cli::world::World;
use serde_json::{Value, json};

/// A month of an hour: a g5.xlarge of $1.006 an hour costs a dollar, and without the discount
/// no less.
const OPEN: &str =
    "[prices]\ndiscount_percent = { g5 = 99, p5 = 0 }\n\n[policy]\nhours_per_month = 1\n";
const BUDGET: &str = "[[budget]]\nmonthly_limit = 2\n";

#[test]
fn settings_that_change_money_are_in_the_first_lines_of_every_format() {
    let world = World::new();
    assert_eq!(check(&world, BUDGET, &one(), &[]).code, 100);
    world.file("gpucost.toml", OPEN);
    for format in ["table", "wide", "markdown", "html", "github", "sarif", "junit", "slack"] {
        let outcome = check(&world, BUDGET, &one(), &["--format", format]);
        assert_eq!(outcome.code, 0, "{format}: {}", outcome.stderr);
        // Markdown escapes underscores, and a heading of a page begins with a capital.
        let text = outcome.stdout.replace('\\', "");
        let text = text.replace("<h2>Settings", "<h2>settings");
        for said in [
            "settings of gpucost.toml that change amounts or findings:",
            "hours_per_month = 1 (730 by default)", "discount_percent.g5 = 99 (0 by default)",
        ] {
            assert!(text.contains(said), "{format}: {text}");
        }
        assert!(!text.contains("discount_percent.p5"), "{format}: {text}");
    }
    let rows = check(&world, BUDGET, &one(), &["--format", "csv"]).stdout;
    let first = rows.lines().nth(1).expect("a row");
    assert!(first.starts_with("settings.changes,hours_per_month,1,730,"), "{rows}");
    let table = check(&world, BUDGET, &one(), &[]).stdout;
    let lines: Vec<&str> = table.lines().collect();
    let first = lines.iter().position(|line| line.is_empty());
    let first = first.expect("the headline ends") + 1;
    assert_eq!(
        lines[first..first + 4],
        [
            "settings of gpucost.toml that change amounts or findings:",
            "  hours_per_month = 1 (730 by default)", "  discount_percent.g5 = 99 (0 by default)",
            "",
        ]
    );
    let report = check(&world, BUDGET, &one(), &["--format", "json"]).json();
    assert_eq!(
        report["settings"],
        json!({
            "file": "gpucost.toml",
            "changes": [
                {"key": "hours_per_month", "value": "1", "default": "730"},
                {"key": "discount_percent.g5", "value": "99", "default": "0"},
            ],
        })
    );
    assert_holds(&validator(&closed(schema("check.schema.json"))), &report, "with settings");
}

#[test]
fn every_setting_of_the_policy_is_said_and_no_default_is() {
    let world = World::new();
    let run = |settings: &str| {
        world.file("gpucost.toml", settings);
        let report = check(&world, BUDGET, &one(), &["--format", "json"]).json();
        report["settings"].clone()
    };
    let own = "[policy]\nhours_per_month = 720\noverprovisioned_below_percent = 20\n\
               underutilized_below_percent = 50\nmin_hours = 20\nmin_coverage_percent = 29\n\
               idle_min_days = 8\ncommit_min_days = 8\nworks_cpu_percent = 12\n\
               saturated_above_percent = 90\nbursty_p95_percent = 70\nvram_headroom = 1.1\n\
               vcpu_headroom = 1.1\nspot_interruptions_per_day = 2\nserving_target_percent = 70\n\
               slowdown_limit = 1.5\nmax_latency_ratio = 2\nmin_replicas = 3\n\
               ended_after_hours = 48\nstale_after_hours = 12\nworkload_tag = \"job\"\n\
               time_zone = \"Europe/Berlin\"\n";
    let settings = run(own);
    let changes = settings["changes"].as_array().expect("a list").iter();
    let lines: Vec<String> = changes
        .map(|change| {
            let text = |key: &str| change[key].as_str().expect("a text").to_owned();
            let value = text("value");
            match value.parse::<f64>() {
                Ok(_) => format!("{} = {value}", text("key")),
                Err(_) => format!("{} = \"{value}\"", text("key")),
            }
        })
        .collect();
    let expected: Vec<&str> = own.lines().skip(1).collect();
    assert_eq!(lines, expected);
    assert_eq!(run(""), Value::Null);
    let defaults = "[policy]\nhours_per_month = 730.0\nmin_coverage_percent = 50\n\
                    time_zone = \"UTC\"\n";
    assert_eq!(run(defaults), Value::Null);
}

/// A region without machines, or another account, would pass every rule.
#[test]
fn settings_that_narrow_what_is_read_are_said() {
    let world = World::new();
    let own = "profile = \"empty\"\nregion = \"eu-north-1\"\nlookback = \"1h\"\n\
               metrics_namespace = \"Other\"\n\
               [prometheus.metric_map.lab_busy]\nquantity = \"utilization\"\nscale = 100\n";
    world.file("gpucost.toml", own);
    let outcome = check(&world, BUDGET, &one(), &["--format", "json"]);
    let said = |key: &str, value: &str| json!({"key": key, "value": value, "default": null});
    assert_eq!(
        outcome.json()["settings"]["changes"],
        json!([
            said("profile", "empty"),
            said("region", "eu-north-1"),
            said("lookback", "1h"),
            said("metrics_namespace", "Other"),
            said("prometheus.metric_map", "lab_busy"),
        ])
    );
}

#[test]
fn a_plan_says_the_settings_too() {
    let world = World::new();
    world.file("gpucost.toml", OPEN);
    let plan = terraform::fixture();
    let run = |format| terraform::check(&world, terraform::OPEN, &plan, &["--format", format]);
    let table = run("table").stdout;
    let said = "that change amounts or findings:\n  hours_per_month = 1 (730 by default)\n";
    assert!(table.contains(said), "{table}");
    let report = run("json").json();
    assert_eq!(report["settings"]["changes"][0]["key"], "hours_per_month");
    assert_holds(
        &validator(&closed(schema("terraform-check.schema.json"))),
        &report,
        "with settings",
    );
}
