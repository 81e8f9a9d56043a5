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
    let outcome = world.run(&[
        "audit",
        "--from",
        &path,
        "--format",
        "html",
        "--allow-empty",
    ]);
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
fn the_headline_is_that_of_the_json() {
    let summary = &DEMO.json()["summary"];
    let (_, tiles) = PAGE.split_once("class=\"tiles\"").expect("tiles");
    let (tiles, _) = tiles.split_once("</section>").expect("their end");
    for key in [
        "monthly_cost",
        "planned_monthly_cost",
        "monthly_savings",
        "monthly_waste",
        "monthly_optimization",
    ] {
        let figure = format!("<p class=\"figure\">{}</p>", shown(&summary[key]));
        assert!(tiles.contains(&figure), "{key}: {figure}");
    }
    for key in ["instances", "gpus"] {
        let figure = format!("<p class=\"figure\">{}</p>", summary[key]);
        assert!(tiles.contains(&figure), "{key}: {figure}");
    }
}

#[test]
fn the_waterfall_leads_from_today_to_the_plan_to_the_cent() {
    let steps = rows(section(&PAGE, "waterfall"));
    let (first, last) = (&steps[0], &steps[steps.len() - 1]);
    let saved: i64 = steps[1..steps.len() - 1]
        .iter()
        .map(|step| cents(&step[2]))
        .sum();
    assert!(steps.len() > 4, "{steps:?}");
    assert_eq!(cents(&first[2]) - saved, cents(&last[2]));
    let summary = &DEMO.json()["summary"];
    assert_eq!(first[2], shown(&summary["monthly_cost"]));
    assert_eq!(last[2], shown(&summary["planned_monthly_cost"]));
}

#[test]
fn every_breakdown_adds_up_to_the_total() {
    let summary = &DEMO.json()["summary"];
    let costs = section(&PAGE, "costs");
    let panels: Vec<&str> = costs.split("<table").skip(1).collect();
    assert_eq!(panels.len(), 6, "class, type, region and three tags");
    for panel in panels {
        let parts = rows(panel);
        for (column, key) in [(2, "monthly_cost"), (3, "planned_monthly_cost")] {
            let sum: i64 = parts
                .iter()
                .filter(|part| part[column] != "—")
                .map(|part| cents(&part[column]))
                .sum();
            assert_eq!(sum, cents(&shown(&summary[key])), "{panel}");
        }
    }
}

#[test]
fn a_long_tail_of_parts_is_one_row_that_keeps_the_sum() {
    let mut estate = one();
    let template = estate["instances"][0].clone();
    let instances: Vec<Value> = (0..12)
        .map(|number| {
            let mut instance = template.clone();
            instance["id"] = json!(format!("i-{number}"));
            instance["tags"] = if number == 11 {
                json!({})
            } else {
                json!({"team": format!("team {number:02}")})
            };
            instance
        })
        .collect();
    estate["instances"] = json!(instances);
    estate["metrics"] = json!([]);
    let page = html_of(&estate);
    let (_, panel) = page.split_once("By tag team").expect("a tag");
    let parts = rows(panel);
    assert_eq!(parts.len(), 9, "{parts:?}");
    assert_eq!(parts[0][0], "untagged");
    assert_eq!(parts[8][0], "4 others");
    let sum: i64 = parts.iter().map(|part| cents(&part[2])).sum();
    // g5.xlarge: 1.006 USD an hour, 730 hours, 12 of them.
    assert_eq!(sum, 12 * 73_438);
    assert_eq!(parts[8][2], "$2,937.52");
    // The row of the rest is the longest bar, and no bar leaves its frame.
    let widths: Vec<f64> = panel
        .split("class=\"today\" x=\"0.0\" width=\"")
        .skip(1)
        .map(|rest| rest.split_once('"').expect("a width").0)
        .map(|width| width.parse().expect("a number"))
        .collect();
    assert_eq!(widths, [vec![25.0; 8], vec![100.0]].concat());
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
    assert!(page.contains("Wed 09:00: 40.0% over 24 samples"));
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
fn without_any_metric_the_week_says_so() {
    let mut estate = one();
    estate["metrics"] = json!([]);
    assert!(section(&html_of(&estate), "week").contains("No GPU utilization was measured."));
}

#[test]
fn every_workload_finding_gap_and_action_of_the_json_is_on_the_page() {
    let audit = DEMO.json();
    let text = text_of(&PAGE);
    let list = rows(section(&PAGE, "workloads"));
    let workloads = audit["workloads"].as_array().expect("workloads");
    assert_eq!(list.len(), workloads.len());
    for (row, workload) in list.iter().zip(workloads) {
        assert_eq!(row[0], workload["name"].as_str().expect("a name"));
        assert_eq!(row[2], shown(&workload["monthly_cost"]));
        assert!(text.contains(workload["reason"].as_str().expect("a reason")));
        for action in workload["plan"]["actions"].as_array().expect("actions") {
            assert!(text.contains(action["detail"].as_str().expect("a detail")));
            assert!(text.contains(&shown(&action["monthly_savings"])));
        }
    }
    for finding in audit["findings"].as_array().expect("findings") {
        let steps = finding["recommendation"]["steps"].as_array();
        for step in steps.expect("steps") {
            assert!(text.contains(step.as_str().expect("a step")), "{step}");
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
fn the_line_of_a_finding_names_its_workload_in_the_order_of_the_json() {
    let audit = DEMO.json();
    let all = |key: &str| audit[key].as_array().expect("a list").clone();
    let name_of = |id: &Value| {
        let workloads = all("workloads");
        let of = workloads.iter().find(|one| one["id"] == *id);
        of.expect("a workload")["name"].clone()
    };
    let expected: Vec<String> = all("findings")
        .iter()
        .map(|one| {
            let saving = match &one["monthly_savings"] {
                Value::Null => "no estimate".to_owned(),
                amount => shown(amount),
            };
            let words = [&one["severity"], &name_of(&one["workload"]), &one["title"]]
                .map(|word| word.as_str().expect("a word").to_owned());
            format!("{} {} {saving} {}", words[0], words[1], words[2])
        })
        .collect();
    let findings = section(&PAGE, "findings");
    let lines: Vec<String> = findings
        .split("<summary>")
        .skip(1)
        .map(|rest| text_of(rest.split_once("</summary>").expect("its end").0))
        .collect();
    assert_eq!(lines, expected);
    assert!(findings.contains("Largest savings first."));
}

#[test]
fn a_finding_shows_its_caveats() {
    let blocks = section(&PAGE, "findings").split("<summary>").skip(1);
    let shown: Vec<String> = blocks.map(text_of).collect();
    let audit = DEMO.json();
    let findings = audit["findings"].as_array().expect("findings");
    assert_eq!(shown.len(), findings.len());
    for (text, finding) in shown.iter().zip(findings) {
        let caveats = finding["recommendation"]["caveats"].as_array();
        let caveats = caveats.expect("a list");
        assert_eq!(text.matches("Caveat: ").count(), caveats.len(), "{text}");
        for caveat in caveats {
            let caveat = format!("Caveat: {}", caveat.as_str().expect("text"));
            assert!(text.contains(&caveat), "{caveat}: {text}");
        }
    }
    let page = html_of(&owned());
    let caveat = "<p>Caveat: capacity of this type may not be available again</p>";
    assert_eq!(section(&page, "findings").matches(caveat).count(), 1);
}

#[test]
fn what_the_program_says_is_not_cut() {
    assert!(PAGE.contains("because neither a tag nor the policy sets a time zone"));
    assert!(!PAGE.contains("more characters)"));
}

#[test]
fn a_row_is_found_by_account_tag_and_instance() {
    let also: Vec<String> = parse(&PAGE)
        .iter()
        .flat_map(|element| element.attributes.clone())
        .filter(|(name, _)| name == "data-also")
        .map(|(_, value)| value)
        .collect();
    let audit = DEMO.json();
    let workloads = audit["workloads"].as_array().expect("workloads");
    assert_eq!(also.len(), workloads.len());
    for (also, workload) in also.iter().zip(workloads) {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let tags = workload["tags"].as_object().expect("tags").iter();
        let tags = tags.map(|(key, value)| format!("{key}={}", text(value)));
        let instances = workload["instances"].as_array().expect("instances");
        let words: Vec<String> = std::iter::once(text(&workload["account"]))
            .chain(tags)
            .chain(instances.iter().map(text))
            .collect();
        assert_eq!(*also, words.join(" "));
    }
}

/// What the page is made of; nothing else may stand in it.
const ELEMENTS: &[&str] = &[
    "a", "b", "body", "br", "caption", "code", "dd", "defs", "details", "div", "dl", "dt", "h1",
    "h2", "h3", "head", "header", "html", "i", "input", "label", "li", "main", "meta", "nav", "ol",
    "option", "output", "p", "path", "pattern", "pre", "rect", "script", "section", "select",
    "span", "style", "summary", "svg", "table", "tbody", "td", "th", "thead", "time", "title",
    "tr", "ul",
];
const ATTRIBUTES: &[&str] = &[
    "aria-hidden",
    "aria-label",
    "aria-live",
    "charset",
    "class",
    "content",
    "d",
    "data-also",
    "fill",
    "height",
    "hidden",
    "href",
    "http-equiv",
    "id",
    "lang",
    "name",
    "patternUnits",
    "preserveAspectRatio",
    "role",
    "scope",
    "stroke",
    "tabindex",
    "title",
    "type",
    "value",
    "viewBox",
    "width",
    "x",
    "y",
];

/// Checks that a page is well formed, holds nothing but what it is made of, and
/// asks nothing of anybody; gives its elements.
fn assert_alone(page: &str) -> Vec<Element> {
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
    for element in &elements {
        for (name, value) in &element.attributes {
            if name == "href" {
                let target = value.strip_prefix('#').expect("a place in the page");
                assert!(ids.contains(target), "leads nowhere: {value}");
            }
        }
    }
    let count = |wanted: &str| elements.iter().filter(|one| one.name == wanted).count();
    assert_eq!((count("script"), count("style"), count("h1")), (1, 1, 1));
    elements
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_else() {
    let elements = assert_alone(&PAGE);
    assert!(elements.len() > 500, "{}", elements.len());
    assert_alone(&html_of(&owned()));
    let page = html_of(&empty());
    assert_alone(&page);
    assert!(text_of(&page).contains("No workloads in scope."));
}

#[test]
fn headers_of_tables_say_what_they_head() {
    for element in parse(&PAGE).iter().filter(|one| one.name == "th") {
        assert!(
            element.attributes.iter().any(|(name, _)| name == "scope"),
            "{element:?}"
        );
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
    let types = [
        "g4dn.xlarge",
        "g5.xlarge",
        "g6.2xlarge",
        "g5.12xlarge",
        "p4d.24xlarge",
    ];
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
    let mut estate = thousand();
    let page = html_of(&estate);
    println!("{} bytes for 1 000 workloads", page.len());
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert!(page.matches("<details id").count() > 1_500);

    // The most expensive have pictures, and the page says how many have none.
    let drawn = page.matches("<svg class=\"course\"").count();
    println!("{drawn} of 1 000 workloads have pictures");
    assert!((80..1_000).contains(&drawn), "{drawn}");
    let left_out = 1_000 - drawn;
    let left_out =
        format!("The page has no room for pictures of {left_out} less expensive workloads.");
    assert!(page.contains(&left_out), "{left_out}");
    let (before, _) = page
        .rsplit_once("<svg class=\"course\"")
        .expect("a picture");
    let (_, plan) = before
        .split_once("<section id=\"plan\">")
        .expect("the plan");
    assert_eq!(plan.matches("<details id=\"workload-").count(), drawn);

    // More tags than there is room for: 600 characters are the share of each.
    for instance in estate["instances"].as_array_mut().expect("a list") {
        for number in 0..40 {
            instance["tags"][format!("key-{number}")] = json!("x".repeat(30));
        }
    }
    let page = html_of(&estate);
    let longest = page.split("data-also=\"").skip(1).map(|rest| {
        let (also, _) = rest.split_once('"').expect("its end");
        assert!(also.starts_with("111122223333 "), "{also}");
        also.len()
    });
    let longest = longest.max().expect("rows");
    assert!((560..=600).contains(&longest), "{longest}");
}

#[test]
fn the_example_of_the_page_prints_what_it_shows() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/html.md");
    let text = std::fs::read_to_string(path).expect("a page");
    let (_, example) = text
        .split_once("```console\n$ gpucost ")
        .expect("an example");
    let (command, rest) = example.split_once('\n').expect("a command line");
    let (said, _) = rest.split_once("```").expect("its end");
    let arguments: Vec<&str> = command.split(' ').collect();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let output = run_in(folder.path(), &arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), said);
    assert!(output.status.success());
    let written = std::fs::read_to_string(folder.path().join("report.html"));
    assert_eq!(written.expect("a report"), *PAGE);
    let (_, link) = text.split_once("report.html#").expect("a link");
    let (place, _) = link.split_once('`').expect("its end");
    assert!(
        PAGE.contains(&format!("<details id=\"{place}\">")),
        "{place}"
    );
}
