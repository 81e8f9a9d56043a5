//! `audit --group-by` on a page and in a comment.

use crate::cli::chargeback::{audited, cents};
use crate::cli::estates::one;
use crate::cli::markup::{rows, section};
use crate::cli::world::World;
use serde_json::{Value, json};

/// Money as reports write it.
fn shown(amount: &Value) -> String {
    let text = format!("{:.2}", cents(amount));
    let (whole, rest) = text.split_once('.').expect("two decimals");
    let mut separated = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            separated.push(',');
        }
        separated.push(digit);
    }
    format!("${separated}.{rest}")
}

const FIGURES: [&str; 6] = [
    "monthly_cost", "useful_cost", "idle_cost", "unmeasured_cost", "stopped_cost",
    "monthly_savings",
];

#[test]
fn a_page_and_a_comment_show_the_groups_with_their_total() {
    let by = ["--group-by", "tag:team,class", "--format"];
    let with = |format| audited(&[&by[..], &[format]].concat());
    let document: Value = serde_json::from_str(&with("json")).expect("JSON");
    let groups = &document["groups"];
    let mut expected: Vec<Vec<String>> = Vec::new();
    for row in groups["rows"].as_array().expect("rows") {
        let names = ["tag:team", "class"].map(|key| row["values"][key].as_str().expect("a name"));
        let mut cells: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        cells.push(row["gpus"].to_string());
        cells.extend(FIGURES.map(|figure| shown(&row[figure])));
        expected.push(cells);
    }
    let mut total = vec!["total".to_owned(), String::new()];
    total.push(groups["total"]["gpus"].to_string());
    total.extend(FIGURES.map(|figure| shown(&groups["total"][figure])));

    let page = with("html");
    let mut shown_rows = rows(section(&page, "groups"));
    let planned: Vec<String> =
        shown_rows.iter_mut().map(|row| row.pop().expect("a cell")).collect();
    let mut in_page = vec![total];
    in_page.extend(expected.iter().cloned());
    assert_eq!(shown_rows, in_page);
    // Of the team research, $72,667.12 − 58,387.85 − 5,333.04 − 1,185.52.
    assert_eq!(planned[2], "$7,760.71");
    let summary = &document["summary"];
    assert_eq!(planned[0], shown(&summary["planned_monthly_cost"]));
    assert!(!audited(&["--format", "html"]).contains("id=\"groups\""));

    let comment = with("markdown");
    let (_, table) =
        comment.split_once("**COST PER MONTH BY TAG:TEAM, CLASS**\n\n").expect("a section");
    let lines: Vec<Vec<String>> = table
        .lines()
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let line = line.replace('\\', "");
            let cells = line.trim_matches('|').split('|');
            let mut cells: Vec<String> = cells.map(|cell| cell.trim().to_owned()).collect();
            // What is left after the plan.
            cells.pop();
            cells
        })
        .collect();
    assert_eq!(lines[0][..3], ["tag:team", "class", "GPUs"]);
    assert_eq!(lines[2..], in_page);
    assert!(!audited(&["--format", "markdown"]).contains("COST PER MONTH BY"));
}

#[test]
fn groups_that_do_not_fit_a_comment_are_counted_with_their_cost() {
    let mut estate = one();
    let template = estate["instances"][0].clone();
    let instances: Vec<Value> = (0..1_000)
        .map(|number| {
            let mut instance = template.clone();
            instance["id"] = json!(format!("i-{number}"));
            instance["tags"] = json!({"team": format!("team {number}")});
            instance
        })
        .collect();
    estate["instances"] = json!(instances);
    estate["metrics"] = json!([]);
    let world = World::new();
    let path = world.estate("estate.json", &estate);
    let arguments = ["audit", "--from", &path, "--group-by", "tag:team"];
    let comment = world.run(&[&arguments[..], &["--format", "markdown"]].concat());
    let comment = comment.stdout;
    assert!(comment.len() <= 65_536, "{}", comment.len());
    let shown = comment.matches("\n| team ").count();
    let left = format!("… and {} more groups worth ", 1_000 - shown);
    let (_, worth) = comment.split_once(&left).expect("the rest is counted");
    let (worth, _) = worth.split_once(':').expect("its worth");
    let digits: String = worth.chars().filter(char::is_ascii_digit).collect();
    // $1.006 an hour for 730 hours.
    assert_eq!(digits.parse(), Ok((1_000 - shown) * 73_438));
    assert!(comment.contains("| total | 1,000 | \\$734,380.00 |"));
}
