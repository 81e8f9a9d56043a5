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
    "monthly_cost",
    "useful_cost",
    "idle_cost",
    "unmeasured_cost",
    "stopped_cost",
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
    let mut found = rows(section(&page, "groups"));
    let planned: Vec<String> = found
        .iter_mut()
        .map(|row| row.pop().expect("a cell"))
        .collect();
    let mut in_page = expected.clone();
    in_page.push(total.clone());
    assert_eq!(found, in_page);
    // Of the team research, $72,667.12 − 53,936.84 − 8,602.37 − 1,185.52.
    assert_eq!(planned[1], "$8,942.39");
    let summary = &document["summary"];
    assert_eq!(
        planned.last().expect("a total"),
        &shown(&summary["planned_monthly_cost"])
    );
    assert!(page.contains("<a href=\"#groups\">"));
    assert!(!audited(&["--format", "html"]).contains("groups"));

    let comment = with("markdown");
    let (_, table) = comment
        .split_once("<summary>Monthly cost by group</summary>\n\n")
        .expect("a section");
    let lines: Vec<Vec<&str>> = table
        .lines()
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(lines[0][..3], ["`tag:team`", "`class`", "GPUs"]);
    "**total**".clone_into(&mut total[0]);
    assert_eq!(lines[2], total);
    let of_rows = expected.iter().map(|cells| {
        let names = cells[..2].iter().map(|name| format!("`{name}`"));
        names.chain(cells[2..].iter().cloned()).collect::<Vec<_>>()
    });
    assert_eq!(lines[3..], of_rows.collect::<Vec<_>>());
    assert!(!audited(&["--format", "markdown"]).contains("by group"));
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
    let shown = comment.matches("\n| `team ").count() as u64;
    let left = comment
        .lines()
        .find(|line| line.contains("more groups"))
        .expect("the rest is counted");
    let digits = |text: &str| -> u64 {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    };
    let (number, rest) = left.split_once("more groups, worth").expect("its worth");
    let (worth, again) = rest.split_once(" per month: run ").expect("a command");
    assert_eq!(shown + digits(number), 1_000);
    // $1.006 an hour for 730 hours.
    assert_eq!(digits(worth), digits(number) * 73_438);
    assert!(
        again.contains("--group-by tag:team --format wide"),
        "{again}"
    );
    assert!(comment.contains("| **total** | 1,000 | $734,380.00 |"));
}
