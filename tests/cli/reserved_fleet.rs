//! `gpucost reserved` of a fleet: pools, what is sold to them, and what is
//! committed to already.

use crate::cli::estates::{START_SECOND, empty, one, owned, series};
use crate::cli::json_schemas::assert_described;
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn fleet(estate: &Value, arguments: &[&str]) -> Outcome {
    let world = World::new();
    let path = world.estate("estate.json", estate);
    world.run(&[&["reserved", "--today", "--from", &path], arguments].concat())
}

fn figures(estate: &Value) -> Value {
    let outcome = fleet(estate, &["--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

/// So many g5.xlarge, the first around the clock, the second in 60% of the hours
/// of each ten, the third in 30%.
fn three() -> Value {
    let mut estate = one();
    let box_one = estate["instances"][0].clone();
    let mut metrics = vec![estate["metrics"][0].clone()];
    let mut instances = vec![box_one.clone()];
    for (id, hours_of_ten) in [("i-two", 6), ("i-three", 3)] {
        let mut more = box_one.clone();
        more["id"] = json!(id);
        more["tags"] = json!({"Name": id});
        instances.push(more);
        let mut cpu = series(id, None, "cpu_utilization", "average", 5.0);
        let hours =
            (0..336).map(|hour| if hour % 10 < hours_of_ten { json!(5.0) } else { Value::Null });
        cpu["values"] = hours.map(|value| json!([value, 12])).collect();
        metrics.push(cpu);
    }
    estate["instances"] = json!(instances);
    estate["metrics"] = json!(metrics);
    estate
}

fn option<'a>(pool: &'a Value, years: u64, payment: &str) -> &'a Value {
    let options = pool["options"].as_array().expect("a list");
    options
        .iter()
        .find(|offer| offer["term_years"] == years && offer["payment"] == payment)
        .expect("it is sold")
}

/// The windows end on 2026-11-01: 2028-06-01 is a year of 8,760 hours and not three later.
#[test]
fn no_term_is_sized_on_what_ends_before_it() {
    let world = World::new();
    for (until, one_year, three_years) in
        [(None, 1, 1), (Some("2028-06-01"), 1, 0), (Some("2027-01-01"), 0, 0)]
    {
        let mut estate = one();
        if let Some(until) = until {
            estate["instances"][0]["tags"]["gpucost:until"] = json!(until);
        }
        let path = world.estate("estate.json", &estate);
        let outcome = world.run(&["reserved", "--today", "--from", &path, "--format", "json"]);
        let pools = outcome.json()["reserved_pools"].clone();
        let pool = &pools[0];
        let counts = [option(pool, 1, "no-upfront"), option(pool, 3, "all-upfront")]
            .map(|option| option["count"].clone());
        assert_eq!(counts, [json!(one_year), json!(three_years)], "{until:?}: {pool}");
        let savings = option(pool, 3, "all-upfront")["monthly_savings"].as_f64();
        assert_eq!(savings.is_some_and(|saved| saved > 0.0), three_years > 0, "{until:?}");
    }
}

#[test]
fn growth_buys_more_and_says_what_it_loses() {
    let plain = figures(&three());
    let of_term = |term: &Value| -> Value {
        let pool = &plain["reserved_pools"][0];
        let options = pool["options"].as_array().expect("a list").iter();
        let mut named = options.filter(|offer| {
            let payment = offer["payment"].as_str().expect("a name");
            *term == json!(format!("{}yr-{payment}", offer["term_years"]))
        });
        named.next().expect("it is sold")["count"].clone()
    };
    let grown = |growth: &str| -> Vec<Value> {
        let outcome = fleet(&three(), &["--growth", growth, "--format", "json"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let json = outcome.json();
        assert_eq!(json["planner"], "reserved");
        json["pools"].as_array().expect("a list").clone()
    };
    let flat = grown("0%/month");
    assert!(!flat.is_empty());
    for row in &flat {
        assert_eq!(row["count_today"], of_term(&row["term"]), "{row}");
        assert_eq!(row["count_today"], row["count_grown"], "{row}");
        assert_eq!(row["lost_if_flat"], 0.0, "{row}");
    }
    let more = grown("5%/month");
    let counts = |row: &Value| (row["count_today"].as_u64(), row["count_grown"].as_u64());
    assert!(more.iter().all(|row| counts(row).0 <= counts(row).1));
    assert!(more.iter().any(|row| counts(row).0 < counts(row).1));
    for row in &more {
        let amount = |key: &str| row[key].as_f64().expect("an amount");
        assert!(amount("lost_if_flat") >= 0.0 && amount("gained_if_grown") >= 0.0);
        let lost = amount("today_saved_if_flat") - amount("saved_if_flat");
        assert!((lost - amount("lost_if_flat")).abs() < 0.005, "{row}");
    }
    for bad in ["3", "3%/year", "51%", "x%/month", "%"] {
        let outcome = fleet(&three(), &["--growth", bad]);
        assert_eq!(outcome.code, 2, "{bad}");
        assert!(outcome.stderr.contains("such as 3%/month"), "{}", outcome.stderr);
    }
}

#[test]
fn a_pool_by_hand() {
    let answer = figures(&three());
    let pools = answer["reserved_pools"].as_array().expect("a list");
    let [pool] = pools.as_slice() else { panic!("{answer}") };
    assert_eq!(pool["on_demand_hourly"], 1.006);
    assert_eq!((&pool["hours"], &pool["peak"]), (&json!(336), &json!(3)));
    assert_eq!(pool["size_flexible"], false, "g5 is excepted");
    // 336 hours are 33 tens and six: 33 × 6 + 6 = 204 with two, 33 × 3 + 3 = 102
    // with three.
    assert_eq!(
        pool["concurrency"],
        json!([
            {"from": 1, "to": 1, "share": 1.0},
            {"from": 2, "to": 2, "share": 0.6071},
            {"from": 3, "to": 3, "share": 0.3036},
        ])
    );
    // 0.63378 / 1.006 = 63.0% > 60.7%: one.
    let year = option(pool, 1, "no-upfront");
    assert_eq!(year["count"], 1);
    assert_eq!(year["effective_hourly"], 0.63378);
    assert_eq!(year["break_even_utilization"], 0.63);
    assert_eq!(year["break_even_month"], 1);
    assert_eq!(year["full_use_share"], 1.0);
    // 730 × (1.006 − 0.63378) and 8 760 × 0.63378; half of three is one in 102 of
    // 336 hours, half of two one in 204: 6 × 730 × 1.006 + 6 × 730 × 1.006 × 204 / 336
    // = 7 081.53 is more than 5 551.91.
    assert_eq!(year["monthly_savings"], 271.72);
    assert_eq!(year["committed_total"], 5551.91);
    assert_eq!(year["downside_when_halved"], 0.0);
    // The only option below 60.7% by much is that of three years.
    let three_years = option(pool, 3, "no-upfront");
    assert_eq!(three_years["count"], 2);
    // Today's usage advises nothing.
    let mut options = pool["options"].as_array().expect("a list").iter();
    assert!(options.all(|option| option["planned"] != true));
}

/// Of what ran before a box was launched nobody knows whether it ran in its place.
#[test]
fn a_pool_is_sized_on_all_hours_and_a_young_box_fills_those_before_it() {
    let mut estate = three();
    let mut other_type = estate["instances"][0].clone();
    other_type["id"] = json!("i-four");
    other_type["instance_type"] = json!("g5.2xlarge");
    let instances = estate["instances"].as_array_mut().expect("a list");
    instances.push(other_type);
    let metrics = estate["metrics"].as_array_mut().expect("a list");
    metrics.retain(|series| series["instance"] != "i-three");
    // Around the clock since they were launched, 200 and 168 hours ago.
    for (place, id, hours) in [(2, "i-three", 200), (3, "i-four", 168)] {
        let mut cpu = series(id, None, "cpu_utilization", "average", 5.0);
        cpu["values"] = json!([[null, (336 - hours) * 12], [5.0, hours * 12]]);
        estate["metrics"].as_array_mut().expect("a list").push(cpu);
        let launched = jiff::Timestamp::from_second(START_SECOND + (336 - hours) * 3_600);
        estate["instances"][place]["launch_time"] = json!(launched.expect("a time").to_string());
    }
    let answer = figures(&estate);
    let pools = answer["reserved_pools"].as_array().expect("a list");
    let pool = pools.iter().find(|pool| pool["instance_type"] == "g5.xlarge").expect("it runs");
    // The one of six hours in ten ran in 33 × 6 and the last 6 of 336. The young one ran in
    // all of its 200, and so in all of the 136 before.
    assert_eq!(pool["hours"], 336);
    assert_eq!(
        pool["concurrency"],
        json!([
            {"from": 1, "to": 2, "share": 1.0},
            {"from": 3, "to": 3, "share": 0.6071},
        ])
    );
    assert_eq!(option(pool, 1, "no-upfront")["count"], 2);
    // 1.006 × (2 + 204 / 336) + 1.212; 3 × 1.006 + 1.212.
    let family = &answer["savings_plan_pools"][0];
    assert_eq!(family["hours"], 336);
    assert_eq!(family["on_demand_mean_hourly"], 3.834786);
    assert_eq!(family["on_demand_peak_hourly"], 4.23);
}

#[test]
fn a_plan_of_one_type_commits_to_what_its_reserved_instances_cost() {
    let answer = figures(&three());
    let (pool, family) = (&answer["reserved_pools"][0], &answer["savings_plan_pools"][0]);
    assert_eq!(family["family"], "g5");
    assert_eq!(family["instance_types"], json!(["g5.xlarge"]));
    // 1.006 × (336 + 204 + 102) / 336 and 3 × 1.006.
    assert_eq!(family["on_demand_mean_hourly"], 1.922179);
    assert_eq!(family["on_demand_peak_hourly"], 3.018);
    for option_of_plan in family["options"].as_array().expect("a list") {
        let payment = option_of_plan["payment"].as_str().expect("text");
        let years = option_of_plan["term_years"].as_u64().expect("a number");
        let reserved = option(pool, years, payment);
        let near = |key: &str, slack: f64| {
            let (plan, reserved) = (option_of_plan[key].as_f64(), reserved[key].as_f64());
            let (plan, reserved) = (plan.expect("a figure"), reserved.expect("a figure"));
            assert!((plan - reserved).abs() <= slack, "{key}: {plan} {reserved}");
        };
        near("effective_hourly", 0.00001);
        near("monthly_savings", 0.02);
        near("committed_total", 0.6);
        near("downside_when_halved", 0.6);
    }
}

#[test]
fn what_is_covered_is_not_bought_again() {
    let mut estate = three();
    estate["commitments"] = owned()["commitments"].clone();
    let answer = figures(&estate);
    // Two are covered in every hour; the third box of an hour is left in 102.
    let pool = &answer["reserved_pools"][0];
    assert_eq!(pool["peak"], 1);
    assert_eq!(pool["concurrency"], json!([{"from": 1, "to": 1, "share": 0.3036}]));
    let counts: BTreeSet<u64> = pool["options"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|offer| offer["count"].as_u64())
        .collect();
    assert_eq!(counts, BTreeSet::from([0]), "nothing pays at 30%");
    // Used for 336 + 204 of 672 hours by boxes and in the other 132 by room of the capacity
    // reservation: 672 of 642 + 672 hours. It costs 2 × 0.63378 × 730 = 925.32 a month.
    let [one] = answer["commitments"].as_array().expect("a list").as_slice() else {
        panic!("{answer}")
    };
    assert_eq!(one["id"], "ri-1");
    assert_eq!(one["monthly_cost"], 925.32);
    assert_eq!(one["utilization"], 1.0);
    assert_eq!(one["coverage"], 0.5114);
    assert_eq!(one["unused_monthly"], 0.0);
    assert_eq!(one["days_to_expiry"], 30);
    // (672 − 132) / 672 of 2 × 1.006 × 730.
    let [held] = answer["capacity_reservations"].as_array().expect("a list").as_slice() else {
        panic!("{answer}")
    };
    assert_eq!((&held["id"], &held["available"]), (&json!("cr-1"), &json!(2)));
    assert_eq!(held["unused_monthly"], 1180.25);
}

#[test]
fn spot_stopped_ignored_and_new_boxes_are_in_no_pool() {
    let mut estate = one();
    estate["instances"][0]["lifecycle"] = json!("spot");
    assert_eq!(figures(&estate)["reserved_pools"], json!([]));
    let mut estate = one();
    estate["instances"][0]["state"] = json!("stopped");
    // It ran until now, and one that is stopped by day is no other box.
    assert_eq!(figures(&estate)["reserved_pools"][0]["peak"], 1);
    estate["instances"][0]["state_transition_reason"] =
        json!("User initiated (2026-10-01 08:00:00 GMT)");
    estate["metrics"] = json!([]);
    assert_eq!(figures(&estate)["reserved_pools"], json!([]));
    let mut estate = one();
    estate["instances"][0]["tags"]["gpucost:ignore"] = json!("standby");
    assert_eq!(figures(&estate)["reserved_pools"], json!([]));
    // Six days and 23 hours; a commitment is sized on seven days.
    let mut estate = one();
    let launched = START_SECOND + 7 * 86_400 + 3_600;
    let launched = jiff::Timestamp::from_second(launched).expect("a time");
    estate["instances"][0]["launch_time"] = json!(launched.to_string());
    let answer = figures(&estate);
    assert_eq!(answer["reserved_pools"], json!([]));
    let gap = answer["gaps"].as_array().expect("a list");
    let gap = gap.iter().find(|gap| gap["what"] == "usage").expect("a gap");
    assert_eq!(
        gap["reason"],
        "1 of 1 instance observed for only about 167 full hours; a commitment requires 168"
    );
}

#[test]
fn what_sells_no_commitment_says_so() {
    let mut estate = one();
    estate["instances"][0]["instance_type"] = json!("p3.2xlarge");
    let answer = figures(&estate);
    assert_eq!(answer["reserved_pools"][0]["options"], json!([]));
    let table = fleet(&estate, &[]).stdout;
    assert!(table.contains("No price of reserved instances"), "{table}");
    let csv = fleet(&estate, &["--format", "csv"]).stdout;
    assert_eq!(csv.lines().count(), 3, "a row for each pool: {csv}");
    // Nothing at all in the scope.
    let nothing = fleet(&empty(), &[]);
    assert_eq!(nothing.code, 4);
    assert!(nothing.stdout.contains("no on-demand usage"), "{}", nothing.stdout);
    assert_eq!(fleet(&empty(), &["--allow-empty"]).code, 0);
}

/// The first and the third of the boxes are one account's, the second another's, which
/// runs in 204 of 336 hours, 60.7%.
#[test]
fn without_sharing_each_account_has_pools_of_its_own() {
    let mut estate = three();
    estate["instances"][1]["account"] = json!("222233334444");
    let count = |pool: &Value, years| option(pool, years, "no-upfront")["count"].clone();
    let answer = figures(&estate);
    assert_eq!(answer["reserved_pools"].as_array().map(Vec::len), Some(1));
    let together = &answer["reserved_pools"][0];
    assert_eq!(together["account"], Value::Null);
    assert_eq!((count(together, 1), count(together, 3)), (json!(1), json!(2)));

    let alone = ["--no-commitment-sharing", "--format", "json"];
    let answer = fleet(&estate, &alone).json();
    // 63.0% of the hours pay for one year and 43.2% for three: 100% and 30.4% here, 60.7%
    // there. What saves more comes first.
    let accounts = [("111122223333", 1, 1, 2), ("222233334444", 0, 1, 1)];
    for kind in ["reserved_pools", "savings_plan_pools"] {
        let pools = answer[kind].as_array().expect("a list");
        assert_eq!(pools.len(), accounts.len(), "{answer}");
        for (pool, (account, year, three_years, peak)) in pools.iter().zip(accounts) {
            assert_eq!(pool["account"], account);
            if kind == "reserved_pools" {
                assert_eq!(pool["peak"], peak);
                assert_eq!(count(pool, 1), year);
                assert_eq!(count(pool, 3), three_years);
            }
        }
    }
    let table = fleet(&estate, &alone[..1]).stdout;
    for (account, ..) in accounts {
        let line = format!("  Buy in account {account}: it is sized on its own usage.\n");
        // For reserved instances and for a plan.
        assert_eq!(table.matches(&line).count(), 2, "{table}");
    }
}

#[test]
fn flags_of_one_type_do_not_go_with_a_fleet() {
    for (arguments, named) in [
        (&["--demo", "--type", "p4d.24xlarge"][..], "--type <TYPE>"),
        (&["--demo", "--count", "3"], "--count <N>"),
        (&["--demo", "--reserved-1yr-hourly", "1"], "--reserved-1yr-hourly <PRICE>"),
        (&["--count", "3"], "--type <TYPE>"),
        (&["--os", "linux"], "--type <TYPE>"),
        (&["--type", "p4d.24xlarge", "--lookback", "7d"], "--lookback <TIME>"),
    ] {
        let outcome = World::new().run(&[&["reserved"], arguments].concat());
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(outcome.stderr.starts_with("error: "), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(named), "{}", outcome.stderr);
    }
}

#[test]
fn the_document_is_as_the_contract_says() {
    let demo = World::new().run(&["reserved", "--demo", "--format", "json"]);
    let mut estate = three();
    estate["commitments"] = owned()["commitments"].clone();
    for document in [demo.json(), figures(&estate), figures(&one())] {
        assert_described("reserved", &document);
    }
}

#[test]
fn the_demo_of_today_by_hand() {
    let answer = World::new().run(&["reserved", "--demo", "--today", "--format", "json"]).json();
    let pools = answer["reserved_pools"].as_array().expect("a list");
    let p4d = pools.iter().find(|pool| pool["instance_type"] == "p4d.24xlarge").expect("it runs");
    // What is idle is stopped and not committed to.
    for idle in ["g6e.12xlarge", "g5.4xlarge"] {
        assert!(pools.iter().all(|pool| pool["instance_type"] != idle), "{idle}");
    }
    // Five serve and one trains, around the clock.
    assert_eq!(p4d["concurrency"], json!([{"from": 1, "to": 6, "share": 1.0}]));
    let year = option(p4d, 1, "no-upfront");
    assert_eq!(year["count"], 6);
    // 6 × (21.957642 − 13.921094) × 730 and 6 × 13.921094 × 8 760; halved three
    // are left: 730 × 21.957642 × (6 × 6 + 6 × 3) = 865 570.25 on demand.
    assert_eq!(year["monthly_savings"], 35200.08);
    assert_eq!(year["committed_total"], 731692.7);
    assert_eq!(year["downside_when_halved"], 0.0);
    // 6 × 9.374231 × 26 280 against 730 × 21.957642 × (36 + 30 × 3).
    let long = option(p4d, 3, "no-upfront");
    assert_eq!(long["downside_when_halved"], 0.0);
    assert_eq!(p4d["capacity_block_hourly"], 11.8);
    // It is about hours that the plan stops, resizes and schedules: nothing is advised.
    for pool in pools {
        assert_eq!(pool["purchases"], json!([]));
        let options = pool["options"].as_array().expect("a list");
        assert!(options.iter().all(|option| option["planned"] == false));
    }
    let table = World::new().run(&["reserved", "--demo", "--today"]).stdout;
    assert!(!table.contains('→'), "{table}");
}

#[test]
fn the_report_marks_what_the_audit_buys_and_nothing_else() {
    for risk in ["low", "medium", "high"] {
        let run = |command: &str| {
            let arguments = [command, "--demo", "--risk", risk, "--format", "json"];
            World::new().run(&arguments).json()
        };
        let (audit, answer) = (run("audit"), run("reserved"));
        assert_eq!(answer["sized_on"], "usage-after-plan");
        let pools = ["reserved_pools", "savings_plan_pools"];
        let pools = pools.map(|key| answer[key].as_array().expect("a list").clone());
        let mut marked: Vec<Value> = Vec::new();
        for pool in pools.iter().flatten() {
            let options = pool["options"].as_array().expect("a list");
            let planned = options.iter().filter(|option| option["planned"] == true);
            let planned: Vec<&Value> = planned.collect();
            let purchases = pool["purchases"].as_array().expect("a list");
            assert_eq!(planned.len(), purchases.len(), "{pool}");
            for purchase in purchases {
                // Term, number and cents of the option are those of the purchase.
                let is_own = |option: &&&Value| {
                    ["term_years", "payment"].iter().all(|key| option[key] == purchase[key])
                };
                let option = planned.iter().find(is_own).expect("the option");
                for key in ["count", "monthly_savings"] {
                    assert_eq!(option[key], purchase[key], "{risk} {key}");
                }
                assert_eq!(option["committed_total"], purchase["term_total"]);
                marked.push(purchase.clone());
            }
        }
        let order = |purchase: &Value| purchase.to_string();
        let mut bought = audit["purchases"].as_array().expect("a list").clone();
        bought.sort_by_cached_key(order);
        marked.sort_by_cached_key(order);
        assert_eq!(marked, bought, "{risk}");
    }
}

#[test]
fn the_csv_has_the_figures_of_the_json() {
    let json = figures(&three());
    let csv = fleet(&three(), &["--format", "csv"]);
    let rows: Vec<BTreeMap<String, String>> = csv::Reader::from_reader(csv.stdout.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("as many cells as columns");
    let pools = [&json["reserved_pools"][0], &json["savings_plan_pools"][0]];
    let sold: Vec<(&Value, &Value)> = pools
        .into_iter()
        .flat_map(|pool| {
            let options = pool["options"].as_array().expect("a list");
            options.iter().map(move |option| (pool, option))
        })
        .collect();
    assert_eq!(rows.len(), sold.len());
    for (row, (pool, option)) in rows.iter().zip(sold) {
        for (column, cell) in row.iter().filter(|(column, _)| *column != "offer") {
            let value = match option.get(column) {
                Some(value) => value,
                None => &pool[column.as_str()],
            };
            match value {
                Value::Null => assert_eq!(cell, "", "{column}"),
                Value::String(text) => assert_eq!(cell, text, "{column}"),
                Value::Bool(flag) => assert_eq!(cell, &flag.to_string()),
                Value::Array(list) => assert_eq!(cell.split("; ").count(), list.len(), "{column}"),
                number => assert_eq!(cell.parse().ok(), number.as_f64(), "{column}"),
            }
        }
    }
}

#[test]
fn the_table_of_the_demo_fits_the_width() {
    let outcome = World::new().run(&["reserved", "--demo", "--today"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    for line in outcome.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let wide = World::new().run(&["reserved", "--demo", "--format", "wide"]);
    assert!(wide.stdout.contains("FULL USE"), "{}", wide.stdout);
}
