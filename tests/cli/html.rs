//! `audit --format html`: one file that says what the JSON says, runs nothing that
//! an estate smuggles in, and asks no network.

use crate::cli::contract::DEMO;
use crate::cli::estates::{PERIODS, empty, one, owned, series};
use crate::cli::hostile;
use crate::cli::markup::{Element, parse, rows, section, text_of};
use crate::cli::process::run_in;
use crate::cli::world::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

static PAGE: LazyLock<String> = LazyLock::new(|| html(&["audit", "--demo"]));

fn html(arguments: &[&str]) -> String {
    let arguments = [arguments, &["--format", "html"]].concat();
    let outcome = World::new().run(&arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.stdout
}

pub fn html_of(estate: &Value) -> String {
    let world = World::new();
    let path = world.estate("estate.json", estate);
    let outcome = world.run(&["audit", "--from", &path, "--format", "html", "--allow-empty"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.stdout
}

/// Money as the page writes it.
pub fn shown(amount: &Value) -> String {
    let cents = (amount.as_f64().expect("an amount") * 100.0).round() as u64;
    let whole = (cents / 100).to_string();
    let mut separated = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            separated.push(',');
        }
        separated.push(digit);
    }
    format!("${separated}.{:02}", cents % 100)
}

pub fn cents(text: &str) -> i64 {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.parse().expect("an amount")
}

#[test]
fn the_sentences_have_the_amounts_of_the_json() {
    let summary = &DEMO.json()["summary"];
    let text = text_of(&PAGE);
    for key in ["monthly_cost", "monthly_savings", "monthly_waste", "planned_monthly_cost"] {
        assert!(text.contains(&shown(&summary[key])), "{key}");
    }
}

#[test]
fn savings_by_action_lead_from_today_to_the_plan_to_the_cent() {
    let saved: i64 = rows(section(&PAGE, "savings")).iter().map(|step| cents(&step[1])).sum();
    let summary = &DEMO.json()["summary"];
    let [today, planned] =
        ["monthly_cost", "planned_monthly_cost"].map(|key| cents(&shown(&summary[key])));
    assert_eq!(today - saved, planned);
}

#[test]
fn the_week_shows_the_mean_of_the_hours() {
    let mut estate = one();
    // One week, hour by hour: at 40% on Wednesdays from 09:00 to 10:00, else 0.
    let values: Vec<f64> = (0..4032)
        .map(|period| {
            let hour = period / 12 % 168;
            // The fortnight begins on a Sunday.
            if hour == 3 * 24 + 9 { 40.0 } else { 0.0 }
        })
        .collect();
    let mut use_of_gpu = series("i-one", Some(0), "gpu_utilization", "average", 0.0);
    use_of_gpu["values"] = json!(values);
    estate["metrics"] = json!([use_of_gpu]);
    let page = html_of(&estate);
    let days = rows(section(&page, "week"));
    assert_eq!(days.len(), 7);
    let names: Vec<&str> = days.iter().map(|day| day[0].as_str()).collect();
    assert_eq!(names, ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]);
    for (day, cells) in days.iter().enumerate() {
        for hour in 0..24 {
            let expected = if (day, hour) == (2, 9) { "40" } else { "0" };
            assert_eq!(cells[hour + 1], expected, "day {day}, hour {hour}");
        }
    }
    assert!(page.contains("Wed 09: 40.0%"));
    assert!(page.contains("Time zone UTC."));
}

#[test]
fn the_week_follows_the_zone_of_the_policy() {
    let world = World::new();
    world.file("gpucost.toml", "[policy]\ntime_zone = \"Asia/Kolkata\"\n");
    let outcome = world.run(&["audit", "--demo", "--format", "html"]);
    assert!(outcome.stdout.contains("Time zone Asia/Kolkata."));
}

#[test]
fn every_workload_finding_gap_and_action_of_the_json_is_on_the_page() {
    let audit = DEMO.json();
    let text = text_of(&PAGE);
    let list = rows(section(&PAGE, "workloads"));
    let workloads = audit["workloads"].as_array().expect("workloads");
    assert_eq!(list.len(), workloads.len());
    let mut actions = 0;
    for (row, workload) in list.iter().zip(workloads) {
        assert_eq!(row[0], workload["name"].as_str().expect("a name"));
        assert!(row.contains(&shown(&workload["monthly_cost"])), "{row:?}");
        for action in workload["plan"]["actions"].as_array().expect("actions") {
            // A workload has a part of what a purchase saves; the page has the purchase.
            if action["action"] != "commit" {
                actions += 1;
                assert!(text.contains(&shown(&action["monthly_savings"])));
            }
        }
    }
    let steps = ["do_first", "with_owner"].map(|key| rows(section(&PAGE, key)).len());
    assert_eq!(steps.iter().sum::<usize>(), actions);
    for finding in audit["findings"].as_array().expect("findings") {
        assert!(text.contains(finding["title"].as_str().expect("a title")));
        let caveats = finding["recommendation"]["caveats"].as_array();
        for caveat in caveats.expect("caveats") {
            assert!(text.contains(caveat.as_str().expect("a caveat")), "{caveat}");
        }
    }
    for gap in audit["gaps"].as_array().expect("gaps") {
        assert!(text.contains(gap["reason"].as_str().expect("a reason")));
        assert!(text.contains(gap["hint"].as_str().expect("a hint")));
    }
    let dated = audit["prices"]["oldest_effective_date"].as_str();
    assert!(text.contains(dated.expect("a date")));
}

#[test]
fn what_the_program_says_is_not_cut() {
    assert!(!PAGE.contains("more characters)"));
}

#[test]
fn each_day_costs_what_ran_on_it() {
    let mut estate = one();
    let mut second = estate["instances"][0].clone();
    second["id"] = json!("i-two");
    second["tags"]["Name"] = json!("two");
    second["launch_time"] = json!("2026-10-25T12:00:00Z");
    let instances = estate["instances"].as_array_mut().expect("a list");
    instances.push(second);
    let page = html_of(&estate);
    let figures = rows(section(&page, "days"));
    // The last day of the fortnight ended when the estate was recorded: less than six hours ago.
    assert_eq!(figures.len(), 13);
    // 24 × 1.006; then 12 hours of another; then 48 × 1.006.
    for (place, day) in figures.iter().enumerate() {
        let (cost, date) = match place {
            0..7 => ("$24.14", 18 + place),
            7 => ("$36.22", 25),
            _ => ("$48.29", 18 + place),
        };
        assert_eq!(*day, [format!("2026-10-{date}"), cost.to_owned(), "$0.00".to_owned()]);
    }
    // Of 160: 24.14 / 48.29, 36.22 / 48.29, and all of it.
    let bars = section(&page, "bars").split("<rect class=\"today\"").skip(1);
    let heights = bars.map(|bar| {
        let (_, height) = bar.split_once("height=\"").expect("a height");
        height.split_once('"').expect("its end").0
    });
    let expected = [&["79.98"; 7][..], &["120.01"], &["160.00"; 5]].concat();
    assert_eq!(heights.collect::<Vec<_>>(), expected);
}

#[test]
fn a_day_without_a_price_is_a_gap() {
    let mut estate = one();
    estate["instances"][0]["instance_type"] = json!("g99.xlarge");
    let page = html_of(&estate);
    let bars = section(&page, "bars");
    assert!(bars.contains("Nothing to plot."), "{bars}");
    assert!(bars.contains("Part of the cost is unknown on 13 days"));
    let days = rows(section(&page, "days"));
    assert!(days.iter().all(|day| day[1..].iter().all(|cell| cell == "—")));
}

/// What the page is made of; nothing else may stand in it.
const ELEMENTS: &[&str] = &[
    "b", "body", "defs", "div", "h1", "h2", "head", "header", "html", "li", "main", "meta", "p",
    "path", "pattern", "rect", "section", "style", "svg", "table", "tbody", "td", "th", "thead",
    "title", "tr", "ul",
];
const ATTRIBUTES: &[&str] = &[
    "aria-hidden", "aria-label", "charset", "class", "content", "d", "fill", "height",
    "http-equiv", "id", "lang", "name", "patternUnits", "preserveAspectRatio", "role", "scope",
    "tabindex", "title", "viewBox", "width", "x", "y",
];

/// Checks that a page is well formed, holds nothing but what it is made of, and
/// asks nothing of anybody; gives its elements.
pub fn assert_alone(page: &str) -> Vec<Element> {
    let elements = parse(page);
    let mut ids = BTreeSet::new();
    for element in &elements {
        assert!(ELEMENTS.contains(&element.name.as_str()), "{element:?}");
        for (name, value) in &element.attributes {
            assert!(ATTRIBUTES.contains(&name.as_str()), "{element:?}");
            if name == "id" {
                assert!(ids.insert(value.clone()), "twice: {value}");
            }
        }
    }
    let count = |wanted: &str| elements.iter().filter(|element| element.name == wanted).count();
    assert_eq!((count("script"), count("style"), count("h1")), (0, 1, 1));
    elements
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_else() {
    assert_alone(&PAGE);
    assert_alone(&html_of(&one()));
    assert_alone(&html_of(&owned()));
    assert_alone(&html_of(&empty()));
}

#[test]
fn headers_of_tables_say_what_they_head() {
    for element in parse(&PAGE).iter().filter(|element| element.name == "th") {
        assert!(element.attributes.iter().any(|(name, _)| name == "scope"), "{element:?}");
    }
}

#[test]
fn hostile_names_are_text_and_nothing_else() {
    let page = html_of(&hostile::fleet());
    assert_alone(&page);
    let stray = page.chars().find(|c| !hostile::is_harmless(*c));
    assert_eq!(stray, None);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("&quot;quoted&quot;, &#39;and&#39; \\ back&#96;tick&#96;"));
    assert!(page.contains("(9,920 more characters)"));
    assert!(!page.contains(&"x".repeat(1_000)), "cut");
}

#[test]
fn the_same_estate_gives_the_same_bytes() {
    assert_eq!(*PAGE, html(&["audit", "--demo"]));
}

#[test]
fn a_format_of_the_audit_alone_is_refused_elsewhere() {
    let mut world = World::new();
    let outcome = world.run(&["inventory", "--demo", "--format", "focus"]);
    assert_eq!(outcome.code, 2);
    world.set("GPUCOST_FORMAT", "html");
    for command in ["audit", "inventory", "metrics"] {
        let page = world.run(&[command, "--demo"]).stdout;
        assert!(page.starts_with("<!DOCTYPE html>"), "{command}");
    }
    world.set("GPUCOST_FORMAT", "focus");
    let outcome = world.run(&["inventory", "--demo"]);
    assert_eq!(outcome.code, 2);
    assert_eq!(
        outcome.stderr,
        "error: `focus` is not a supported format for this command\nhint: valid values: table, wide, json, csv, markdown, html, xlsx\n"
    );
}

/// A fleet of lone instances of several types, most with a utilization that changes with every
/// hour, so that nothing that is drawn repeats.
fn thousand() -> Value {
    let types = ["g4dn.xlarge", "g5.xlarge", "g6.2xlarge", "g5.12xlarge", "p4d.24xlarge"];
    let mut estate = one();
    let template = estate["instances"][0].clone();
    let (mut instances, mut metrics) = (Vec::new(), Vec::new());
    for number in 0..1_000_usize {
        let id = format!("i-{number:017x}");
        let mut instance = template.clone();
        instance["id"] = json!(id);
        instance["instance_type"] = json!(types[number % types.len()]);
        instance["tags"] = json!({
            "Name": format!("ml-platform-worker-{number:04}"),
            "team": format!("team-{}", number % 23),
            "environment": "production",
        });
        instances.push(instance);
        let level = number % 17 * 5;
        let spread = if level == 0 { 1 } else { 19 };
        let noise: Vec<Value> = (0..PERIODS as usize / 12)
            .map(|hour| json!([level + (number * 7 + hour * 37) % spread, 12]))
            .collect();
        for (metric, gpu, value) in [
            ("cpu_utilization", None, 12.0),
            ("gpu_utilization", Some(0), (level + spread - 1) as f64),
            ("gpu_memory_used", Some(0), 9_000.0),
        ] {
            for statistic in ["average", "maximum"] {
                let mut one = series(&id, gpu, metric, statistic, value);
                if (metric, statistic) == ("gpu_utilization", "average") {
                    one["values"] = json!(noise);
                }
                metrics.push(one);
            }
        }
    }
    estate["instances"] = json!(instances);
    estate["metrics"] = json!(metrics);
    estate
}

#[test]
fn a_thousand_workloads_stay_below_three_megabytes() {
    let page = html_of(&thousand());
    println!("{} bytes for 1 000 workloads", page.len());
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert_eq!(rows(section(&page, "workloads")).len(), 1_000);
}

#[test]
fn the_example_of_the_page_prints_what_it_shows() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/html.md");
    let text = std::fs::read_to_string(path).expect("a page");
    let (_, example) = text.split_once("```console\n$ gpucost ").expect("an example");
    let (command, rest) = example.split_once('\n').expect("a command line");
    let (said, _) = rest.split_once("```").expect("its end");
    let arguments: Vec<&str> = command.split(' ').collect();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let output = run_in(folder.path(), &arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), said);
    assert!(output.status.success());
    let written = std::fs::read_to_string(folder.path().join("report.html"));
    assert_eq!(written.expect("a report"), *PAGE);
}
