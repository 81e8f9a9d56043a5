//! `gpucost bill --history`: a bill beside audits that were recorded.

use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::Path;

const HEADER: &str = "bill_payer_account_id,bill_billing_period_start_date,\
                      line_item_usage_account_id,line_item_line_item_type,\
                      line_item_usage_start_date,line_item_usage_end_date,\
                      line_item_product_code,line_item_usage_type,line_item_operation,\
                      line_item_resource_id,line_item_usage_amount,line_item_currency_code,\
                      line_item_unblended_cost,pricing_public_on_demand_cost,pricing_unit,\
                      product_instance_type,product_region_code,resource_tags";

/// Cents that an amount may have of the others, so that all of them add up.
const ROUNDED: u64 = 1;

/// A line of a bill of October: what for, of which day and hour, at which cost, of which team.
fn line(
    text: &mut String,
    kind: &str,
    (day, hour): (u8, u8),
    (id, of_type): (&str, &str),
    cost: &str,
) {
    let usage = if of_type.is_empty() { String::new() } else { format!("BoxUsage:{of_type}") };
    let team = if of_type.starts_with("p4d") { "search" } else { "web" };
    let _ = writeln!(
        text,
        "111122223333,2026-10-01T00:00:00Z,111122223333,{kind},2026-10-{day}T{hour:02}:00:00Z,\
         2026-10-{day}T{hour:02}:59:59Z,AmazonEC2,{usage},RunInstances,{id},1,USD,{cost},{cost},\
         Hrs,{of_type},us-east-1,\"{{\"\"user_team\"\": \"\"{team}\"\"}}\""
    );
}

/// A day of an instance of the demo at 20 an hour, an hour of another at its price, one of an
/// instance that the demo does not have, and tax.
fn bill(world: &World) -> String {
    let mut text = format!("{HEADER}\n");
    for hour in 0..24 {
        let instance = ("i-0c4858308e5949c49", "p4d.24xlarge");
        line(&mut text, "Usage", (20, hour), instance, "20");
    }
    let instance = ("i-08107abdbcb48f182", "g5.12xlarge");
    line(&mut text, "Usage", (21, 0), instance, "5.672");
    let instance = ("i-0ffffffffffffffff", "g5.xlarge");
    line(&mut text, "Usage", (20, 5), instance, "1");
    line(&mut text, "Tax", (20, 0), ("", ""), "3");
    world.file("bill.csv", text)
}

/// A world with the demo recorded in its directory `nights`.
fn recorded() -> World {
    let world = World::new();
    let place = world.path("nights");
    let outcome = world.run(&["history", "record", &place, "--demo"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    world
}

fn compared(world: &World, flags: &[&str]) -> Outcome {
    let path = bill(world);
    let common = ["--group-by", "tag:team", "--format", "json"];
    world.run(&[&["bill", path.as_str()][..], &common, flags].concat())
}

/// Cents of an amount.
fn cents(amount: &Value) -> i64 {
    (amount.as_f64().expect("an amount") * 100.0).round() as i64
}

fn difference<'a>(json: &'a Value, reason: &str) -> &'a Value {
    let mut rows = json["differences"].as_array().expect("a sheet").iter();
    let row = rows.find(|row| row["reason"] == reason);
    row.unwrap_or_else(|| panic!("no {reason}: {json}"))
}

/// The estate of the demo has 14 days, and what was recorded of it 13: the rest is the same.
#[test]
fn recorded_hours_differ_from_a_bill_as_their_estate_does() {
    let world = recorded();
    let place = world.path("nights");
    let (estate, history) =
        (compared(&world, &["--demo"]).json(), compared(&world, &["--history", &place]).json());
    assert_eq!(history["used"], estate["used"]);
    // By hand: 24 × 20 of search, of which the use is known in part; 5.672 of an hour that was
    // idle, and 1 of an instance that was not seen.
    let web = json!([6.67, 0.0, 0.0, 5.67, 1.0]);
    let keys = ["effective_cost", "useful_cost", "spare_cost", "idle_cost", "unmeasured_cost"];
    let figures = keys.map(|key| history["used"][0][key].clone());
    assert_eq!((history["used"][0]["group"].as_str(), json!(figures)), (Some("web"), web));
    let rows = |json: &Value| json["compared"].as_array().expect("a sheet").clone();
    let (ours, theirs) = (rows(&history), rows(&estate));
    assert_eq!(ours.len(), theirs.len());
    for own in &ours {
        let mut others = theirs.iter();
        let other = others.find(|other| other["instance"] == own["instance"]);
        let other = other.expect("the same instances");
        for key in ["account", "region", "instance_type", "billed_hours"] {
            assert_eq!(own[key], other[key], "{key}: {own} {other}");
        }
        for name in ["bill", "hours", "price", "commitment", "scope", "unstated", "idle"] {
            let [ours, theirs] = [own, other].map(|row| cents(&row[format!("{name}_cost")]));
            assert!(ours.abs_diff(theirs) <= ROUNDED, "{name}: {own} {other}");
        }
    }
    // 24 × (20 − 21.957642).
    let price = cents(&difference(&history, "another price")["cost"]);
    assert!(price.abs_diff(-4_698) <= ROUNDED, "{price}");
    for reason in ["seen running, not billed", "before the bill begins", "tax"] {
        let rows = [&history, &estate].map(|json| difference(json, reason));
        let [ours, theirs] = rows.map(|row| cents(&row["cost"]));
        assert_eq!(rows[0]["hours"], rows[1]["hours"], "{reason}");
        assert!(ours.abs_diff(theirs) <= ROUNDED, "{reason}: {ours} {theirs}");
    }
    // Every instance ran all of the time: the audit of 13 days is 13/14 of that of 14, and the
    // 14th day is what is less late.
    let day =
        |json: &Value| -> i64 { rows(json).iter().map(|row| cents(&row["audit_cost"])).sum() };
    let (whole, kept) = (day(&estate), day(&history));
    assert!((whole * 13 - kept * 14).abs() <= 14 * 23, "{whole} {kept}");
    let late = |json| cents(&difference(json, "after the last billed hour")["cost"]);
    assert!((late(&history) - late(&estate) - whole / 14).abs() <= 3);
    // The names add up to the cent.
    let differences = history["differences"].as_array().expect("a sheet").iter();
    let named: i64 = differences.map(|row| cents(&row["cost"])).sum();
    let mut steps = history["steps"].as_array().expect("steps").iter();
    let step = steps.find(|step| step["name"] == "bill − audit");
    assert_eq!(named, cents(&step.expect("a step")["result"]));
    for row in &ours {
        let names = ["hours", "price", "commitment", "scope", "late", "unstated"];
        let parts = names.map(|name| cents(&row[format!("{name}_cost")]));
        assert_eq!(parts.iter().sum::<i64>(), cents(&row["difference_cost"]), "{row}");
    }
}

#[test]
fn only_some_days_can_be_compared() {
    let world = recorded();
    let place = world.path("nights");
    let days = ["--as-of", "2026-10-21T00:00:00Z", "--lookback", "1d"];
    let flags = [&["--history", place.as_str()][..], &days].concat();
    let json = compared(&world, &flags).json();
    let mut given = json["given"].as_array().expect("a sheet").iter();
    let hours = given.find(|row| row["key"] == "audit_hours");
    let hours = hours.expect("the hours");
    assert_eq!(hours["value"], "2026-10-20 00:00 UTC to 2026-10-21 00:00 UTC");
    // The hour of the 21st.
    let outside = difference(&json, "outside the hours of the audit");
    assert_eq!(outside["hours"], 1.0);
    assert!(cents(&outside["cost"]).abs_diff(567) <= ROUNDED);
    let none = ["--as-of", "2026-10-01T00:00:00Z"];
    let flags = [&["--history", place.as_str()][..], &none].concat();
    let outcome = compared(&world, &flags);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    let says = "error: no run of the history kept hours of instances on these days\n";
    assert!(outcome.stderr.starts_with(says), "{}", outcome.stderr);
}

/// A run that tags limit counts for no day that another one has.
#[test]
fn a_limited_run_beside_a_whole_one_changes_nothing() {
    let world = recorded();
    let place = world.path("nights");
    let flags = ["--history", place.as_str()];
    let before = compared(&world, &flags).json();
    let tagged = ["history", "record", &place, "--demo", "--tag", "team=research"];
    assert_eq!(world.run(&tagged).code, 0);
    assert_eq!(compared(&world, &flags).json(), before);
}

#[test]
fn a_damaged_table_of_hours_is_named() {
    let world = recorded();
    let place = world.path("nights");
    let folder = Path::new(&place).join("v1/hour/dt=2026-11-01");
    let mut entries = fs::read_dir(folder).expect("a folder");
    let path = entries.next().expect("a file").expect("an entry").path();
    let mut bytes = fs::read(&path).expect("a table");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).expect("writable");
    let outcome = compared(&world, &["--history", &place]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    let says = "its checksum is not the one that was written";
    assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("`gpucost history verify "));
    let missing = compared(&world, &["--history", &world.path("nowhere")]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("nowhere is not a directory"));
}
