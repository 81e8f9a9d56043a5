//! `gpucost bill` beside an audit: differences by name, and idle hours at their cost.

use crate::cli::pages::assert_explains;
use crate::cli::world::{Outcome, World};
use gpucost::analysis::{audit, expected_bill};
use gpucost::domain::{Policy, Risk};
use gpucost::sources::files::Demo;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

const BILL: &str = "fixtures/bills/cur2.csv";
const LEGACY: &str = "fixtures/bills/legacy.csv";
const ESTATE: &str = "fixtures/bills/estate.json";

fn run(arguments: &[&str]) -> Outcome {
    World::new().run(&[&["bill"], arguments].concat())
}

/// The document of a bill beside an estate, by team.
fn found(bill: &str, estate: &str) -> Value {
    let team = ["--group-by", "tag:team", "--format", "json"];
    let outcome = run(&[&[bill, "--from", estate], &team[..]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

fn rows<'a>(json: &'a Value, sheet: &str) -> &'a Vec<Value> {
    json[sheet].as_array().unwrap_or_else(|| panic!("{sheet}: {json}"))
}

fn row<'a>(json: &'a Value, sheet: &str, key: &str, value: &Value) -> &'a Value {
    let mut rows = rows(json, sheet).iter();
    rows.find(|row| row[key] == *value).unwrap_or_else(|| panic!("no {value} in {sheet}: {json}"))
}

fn differences(json: &Value) -> Vec<[Value; 4]> {
    let keys = ["difference", "reason", "hours", "cost"];
    let rows = rows(json, "differences").iter();
    rows.map(|row| keys.map(|key| row[key].clone())).collect()
}

fn cents(amount: &Value) -> i64 {
    (amount.as_f64().expect("an amount") * 100.0).round() as i64
}

/// By hand, over the three hours of the estate, of which the bill has two:
///
/// | instance | seen | price | billed | bill |
/// |---|---|---|---|---|
/// | p4d on demand | 3 h | 21.957642 | 2 h | 39.5237556, negotiated |
/// | p4d under a savings plan | 3 h | 21.957642 | 2 h | 29, without the plan 39.5237556 |
/// | g6e under a reserved instance | 3 h | 1.861 | 2 h | 2.34 |
/// | g5 on spot | 1.75 h | 0.39 | 1.5 h | 0.585 |
/// | g6 | 1.5 h | 0.8048 | 0 h | 0 |
///
/// The bill has 203.8942976. The audit expects 6 × 21.957642 + 3 × 1.861 + 1.75 × 0.39 +
/// 1.5 × 0.8048 = 139.218552. In cents both differ by 203.89 − 139.22 = 64.67.
#[test]
fn differences_have_names_that_add_up() {
    let json = found(BILL, ESTATE);
    let expected = [
        // 0.25 × 0.39 + 0.5 × 0.8048 = 0.4999: the third hour is late.
        json!(["hours", "seen running, not billed", -0.75, -0.5]),
        // 2 × (39.5237556 − 2 × 21.957642) = −8.7830568.
        json!(["price", "another price", null, -8.78]),
        // 29 − 39.5237556 and 2.34 − 2 × 1.861: −11.9057556.
        json!(["commitment", "reserved instances and savings plans", null, -11.91]),
        // 0.096, rounded down so that the cents add up.
        json!(["kind", "instance without GPUs", null, 0.09]),
        json!(["kind", "unused-reservation", null, 21.96]),
        json!(["kind", "volume", null, 0.02]),
        json!(["kind", "address", null, 0.01]),
        json!(["kind", "transfer", null, 0.09]),
        json!(["kind", "commitment", null, 12.17]),
        json!(["kind", "discount", null, -1.0]),
        json!(["kind", "tax", null, 1.5]),
        json!(["kind", "credit", null, -2.0]),
        json!(["kind", "refund", null, -0.5]),
        json!(["kind", "support", null, 100.0]),
        json!(["kind", "other", null, 0.1]),
        // 2 × 21.957642 + 1.861 + 0.8048 = 46.581084.
        json!(["late", "after the last billed hour", -4.0, -46.58]),
    ];
    let shown: Vec<Value> = differences(&json).into_iter().map(|row| json!(row)).collect();
    assert_eq!(shown, expected);
    let cost = rows(&json, "differences").iter().map(|row| cents(&row["cost"]));
    assert_eq!(cost.sum::<i64>(), 6_467);
    let step = row(&json, "steps", "name", &json!("bill − audit"));
    assert_eq!(step["result"], 64.67);
    assert_eq!(
        step["arithmetic"],
        "$203.89 − $139.22 = hours -$0.50 + price -$8.78 + commitment -$11.91 + kind $132.44 + \
         late -$46.58"
    );
}

#[test]
fn each_instance_has_its_own_differences() {
    let json = found(BILL, ESTATE);
    assert_eq!(rows(&json, "compared").len(), 5);
    let of = |id: &str| row(&json, "compared", "instance", &json!(id));
    let figures = |row: &Value| -> Vec<Value> {
        let keys = [
            "billed_hours", "seen_hours", "bill_cost", "audit_cost", "hours_cost", "price_cost",
            "commitment_cost", "scope_cost", "late_cost", "unstated_cost", "difference_cost",
            "idle_cost",
        ];
        keys.iter().map(|key| row[*key].clone()).collect()
    };
    // 29 − 65.872926 = −4.3915284 − 10.5237556 − 21.957642, in cents −36.87.
    assert_eq!(
        json!(figures(of("i-0aaa000000000002b"))),
        json!([2.0, 3.0, 29.0, 65.87, 0.0, -4.39, -10.52, 0.0, -21.96, 0.0, -36.87, 0.0])
    );
    // 0.59 − 0.68 in cents. The hour that was idle costs 0.205.
    assert_eq!(
        json!(figures(of("i-0aaa000000000004d"))),
        json!([1.5, 1.75, 0.59, 0.68, -0.09, 0.0, 0.0, 0.0, 0.0, 0.0, -0.09, 0.21])
    );
    let unbilled = of("i-0aaa000000000006f");
    assert_eq!(unbilled["bill_cost"], 0.0);
    assert_eq!(unbilled["audit_cost"], 1.21);
    for row in rows(&json, "compared") {
        let parts = ["hours", "price", "commitment", "scope", "late", "unstated"];
        let sum: i64 = parts.iter().map(|part| cents(&row[format!("{part}_cost")])).sum();
        assert_eq!(sum, cents(&row["difference_cost"]), "{row}");
        let both = cents(&row["bill_cost"]) - cents(&row["audit_cost"]);
        assert_eq!(sum, both, "{row}");
    }
}

/// By hand:
///
/// | instance | hour | bill | use |
/// |---|---|---|---|
/// | p4d of search | first | 19.7618778 | idle |
/// | | second | 19.7618778 | 50% |
/// | g5 of search | first | 0.38 | 25% |
/// | | second | 0.205 | idle |
/// | p4d of research | first | 14.5 | 80% |
/// | | second | 14.5 | half of it 80%, half not measured |
/// | g6e without a team | both | 2.34 | not measured |
#[test]
fn idle_hours_have_their_cost_by_team() {
    let json = found(BILL, ESTATE);
    let of = |team: Value| {
        let row = row(&json, "used", "group", &team);
        let keys = ["effective", "useful", "spare", "idle", "unmeasured"];
        json!(keys.map(|key| row[format!("{key}_cost")].clone()))
    };
    // 9.8809389 + 0.095; 9.8809389 + 0.285; 19.7618778 + 0.205.
    assert_eq!(of(json!("search")), json!([40.11, 9.98, 10.16, 19.97, 0.0]));
    // 14.5 × 0.8 + 7.25 × 0.8; a quarter of that; 7.25.
    assert_eq!(of(json!("research")), json!([29.0, 17.4, 4.35, 0.0, 7.25]));
    assert_eq!(of(Value::Null), json!([2.34, 0.0, 0.0, 0.0, 2.34]));
    // 19.9668778 / (71.4487556 − 9.59).
    let share = row(&json, "steps", "name", &json!("idle GPU cost"));
    assert_eq!(share["result"], 32.2782);
    let headline = json["headline"].as_str().expect("text");
    let idle = ": $19.97 of the $71.45 was idle, and the use of $9.59 is not known";
    assert!(headline.ends_with(idle), "{headline}");
    // Without a key, by type.
    let outcome = run(&[BILL, "--from", ESTATE, "--format", "json"]);
    let by_type = outcome.json();
    let largest = row(&by_type, "used", "group", &json!("p4d.24xlarge"));
    assert_eq!(largest["idle_cost"], 19.76);
}

/// A bill of another month: none of its hours were measured, and an idle cost of zero would be
/// a claim.
#[test]
fn hours_that_were_not_measured_are_not_said_to_be_busy() {
    let world = World::new();
    let text = fs::read_to_string(BILL).expect("a fixture");
    let path = world.file("bill.csv", text.replace("2026-10-05T", "2026-09-05T"));
    let outcome = world.run(&["bill", &path, "--from", ESTATE, "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let json = outcome.json();
    let headline = json["headline"].as_str().expect("text");
    assert!(headline.ends_with(": how much of the $71.45 was idle is not known"), "{headline}");
    let idle: Vec<&Value> = rows(&json, "used").iter().map(|row| &row["idle_cost"]).collect();
    assert!(idle.iter().all(|cost| **cost == 0.0), "{idle:?}");
}

#[test]
fn volumes_and_addresses_are_with_their_instance() {
    let json = found(BILL, ESTATE);
    let of = |json: &Value, id: &str| {
        let row = row(json, "instances", "instance", &json!(id));
        [row["volumes_cost"].clone(), row["addresses_cost"].clone()]
    };
    let own = of(&json, "i-0aaa000000000001a");
    assert_eq!(own, [json!(0.02), json!(0.01)]);
    let none = [Value::Null, Value::Null];
    assert_eq!(of(&json, "i-0aaa000000000002b"), none);
    let alone = run(&[BILL, "--format", "json"]).json();
    assert_eq!(of(&alone, "i-0aaa000000000001a"), none);
}

#[test]
fn every_key_is_in_the_page_and_every_form_gives_the_same_comparison() {
    let json = found(BILL, ESTATE);
    assert_explains("bill.md", &json);
    let legacy = found(LEGACY, ESTATE);
    for sheet in ["differences", "compared", "used"] {
        assert_eq!(legacy[sheet], json[sheet], "{sheet}");
    }
    for format in ["table", "wide", "csv"] {
        let outcome = run(&[BILL, "--from", ESTATE, "--format", format]);
        assert_eq!(outcome.code, 0, "{format}: {}", outcome.stderr);
        let closing = "compared 5 instances; 0 gaps";
        assert!(outcome.stderr.contains(closing), "{}", outcome.stderr);
    }
}

#[test]
fn what_was_not_read_is_scope() {
    let world = World::new();
    let text = fs::read_to_string(ESTATE).expect("a fixture");
    // One of two accounts, and one hour before the bill.
    let estate = text
        .replace("\"444455556666\"", "\"777788889999\"")
        .replace("2026-10-05T0", "2026-10-04T0");
    let path = world.file("estate.json", estate);
    let json = found(BILL, &path);
    let scope: Vec<[Value; 4]> =
        differences(&json).into_iter().filter(|row| row[0] == "scope").collect();
    // Four instances of the bill, and five of the audit.
    let expected = [
        json!(["scope", "account not in the audit", 7.5, 71.45]),
        json!(["scope", "account not in the bill", -12.25, -139.22]),
    ];
    assert_eq!(json!(scope), json!(expected));
    let caveats = json["caveats"].to_string();
    assert!(caveats.contains("no hour of any instance"), "{caveats}");

    let team = ["--tag", "team=search", "--format", "json"];
    let selected = run(&[&[BILL, "--from", ESTATE], &team[..]].concat()).json();
    let left = differences(&selected).into_iter().find(|row| row[1] == "not selected by tags");
    // 29 + 2.34, in four hours.
    assert_eq!(json!(left), json!(["scope", "not selected by tags", 4.0, 31.34]));
    let region = run(&[BILL, "--from", ESTATE, "--region", "eu-west-1"]);
    assert_eq!(region.code, 4, "{}", region.stderr);
}

#[test]
fn flags_of_an_estate_need_one() {
    let world = World::new();
    let estate = world.file("estate.json", fs::read(ESTATE).expect("a fixture"));
    for (arguments, says) in [
        (vec![BILL, "--tag", "team=search"], "`--from`"),
        (vec![BILL, "--from", ESTATE, "--redact"], "cannot be used"),
        (vec![BILL, "--from", &estate, "--write-prices", &estate], "use the same file"),
    ] {
        let outcome = world.run(&[&["bill"], arguments.as_slice()].concat());
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.all());
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    }
    assert_eq!(fs::read(&estate).expect("it is there"), fs::read(ESTATE).expect("a fixture"));
    // A demo is of other accounts and another time.
    let outcome = run(&["--demo", BILL, "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let names: Vec<Value> =
        differences(&outcome.json()).into_iter().map(|[name, ..]| name).collect();
    assert!(!names.contains(&json!("price")), "{names:?}");
    assert!(names.contains(&json!("scope")), "{names:?}");
}

/// What a bill is compared with is what an audit charges, instance by instance.
#[test]
fn what_is_expected_is_what_an_audit_charges() {
    let mut compared = 0;
    for demo in Demo::ALL {
        let estate = demo.estate().expect("it is complete");
        let policy = Policy::default();
        let bill = expected_bill(&estate, &policy).expected;
        assert_eq!(bill.hours, estate.window, "whole hours");
        let per_hour = Decimal::from(bill.periods_per_hour);
        let of_id: BTreeMap<&str, _> =
            bill.instances.iter().map(|instance| (instance.id.as_str(), instance)).collect();
        for audited in &audit(&estate, &policy, Risk::Low).workloads {
            let Some(cost) = &audited.workload.cost else { continue };
            for (cost, usage) in cost.instances.iter().zip(&audited.workload.usage) {
                let expected = of_id[usage.instance.native()];
                let rate = expected.rates[0].rate.expect("a price");
                assert_eq!(rate.effective, cost.hourly.amount());
                assert_eq!(rate.price, cost.quote.rate.amount());
                if usage.running.proved {
                    let periods: u64 = expected.hours.iter().map(|hour| u64::from(hour.ran)).sum();
                    let hours = Decimal::from(periods) / per_hour;
                    // A launch inside a period is a part of it.
                    let over = hours - usage.running.hours();
                    assert!(over >= Decimal::ZERO && over < Decimal::ONE / per_hour);
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 50, "{compared} instances");
}
