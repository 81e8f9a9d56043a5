//! Verdicts, sums and gaps of the fleet against those worked out by hand.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::expected::{Action, NOTHING_SMALLER, Plan, ROWS, Row};
use super::gathering::{Audited, Gathered, gathered};
use super::sums;

/// Money of a report in cents; absent when it is null.
fn cents(value: &Value) -> Option<i64> {
    value.as_f64().map(|amount| {
        let cents = amount * 100.0;
        assert!((cents - cents.round()).abs() < 1e-6, "{amount} has cents");
        cents.round() as i64
    })
}

fn workloads(report: &Value) -> BTreeMap<&str, &Value> {
    let list = report["workloads"].as_array().expect("a list of workloads");
    let by_name: BTreeMap<&str, &Value> = list
        .iter()
        .map(|workload| (workload["name"].as_str().expect("a name"), workload))
        .collect();
    assert_eq!(by_name.len(), list.len(), "no name twice");
    by_name
}

fn plan(workload: &Value) -> Vec<Action<'_>> {
    let actions = workload["plan"]["actions"].as_array().expect("a list");
    actions
        .iter()
        .map(|action| {
            let saving = cents(&action["monthly_savings"]).expect("an action saves");
            let name = action["action"].as_str().expect("a name");
            let to = &action["to"];
            let target = to["instance_type"]
                .as_str()
                .map(|name| (to["count"].as_u64().expect("a count"), name));
            (name, target, saving)
        })
        .collect()
}

fn saving(plan: Plan<'_>) -> i64 {
    plan.iter().map(|(_, _, saving)| saving).sum()
}

#[test]
fn every_workload_has_its_verdict_cost_and_plan() {
    let Some(fleet) = gathered() else { return };
    let by_name = workloads(&fleet.live.report);
    let names: BTreeSet<&str> = by_name.keys().copied().collect();
    assert_eq!(names, ROWS.iter().map(|row| row.name).collect());
    for row in ROWS {
        check(row, by_name[row.name], fleet);
    }
}

fn check(row: &Row, workload: &Value, fleet: &Gathered) {
    let name = row.name;
    let text = |field: &str| workload[field].as_str();
    assert_eq!(text("classification"), Some(row.class), "{name}");
    assert_eq!(text("state"), row.state, "{name}");
    assert_eq!(text("confidence"), row.confidence, "{name}");
    assert_eq!(text("account"), Some(fleet.account.as_str()), "{name}");
    let ids = workload["instances"].as_array().expect("a list");
    assert_eq!(ids.len() as u64, row.instances, "{name}");
    for id in ids {
        let id = id.as_str().expect("an id");
        assert_eq!(fleet.names[id], name, "{id} is of this role");
    }
    assert_eq!(workload["utilization"]["mean"].as_f64(), row.mean, "{name}");
    assert_eq!(cents(&workload["monthly_cost"]), row.monthly_cost, "{name}");
    let mut actions = plan(workload);
    for (action, expected) in actions.iter_mut().zip(row.plan) {
        // The cent that is left of a pool is of the last by id, and ids are random here.
        if action.0 == "commit" && (action.2 - expected.2).abs() == 1 {
            action.2 = expected.2;
        }
    }
    assert_eq!(actions, row.plan, "{name}");
    let planned = row.monthly_cost.map(|cost| cost - saving(&plan(workload)));
    assert_eq!(cents(&workload["plan"]["planned_monthly_cost"]), planned, "{name}");
}

/// Names of workloads by their ids.
fn names(report: &Value) -> BTreeMap<&str, &str> {
    workloads(report)
        .into_iter()
        .map(|(name, workload)| (workload["id"].as_str().expect("an id"), name))
        .collect()
}

#[test]
fn every_rule_fires_where_it_should_and_nowhere_else() {
    let Some(fleet) = gathered() else { return };
    let report = &fleet.live.report;
    let by_id = names(report);
    let mut fired: Vec<(&str, &str)> = report["findings"]
        .as_array()
        .expect("a list of findings")
        .iter()
        .map(|finding| {
            let evidence = finding["evidence"].as_array().expect("a list");
            assert!(!evidence.is_empty(), "{finding} has evidence");
            let workload = finding["workload"].as_str().expect("an id");
            (by_id[workload], finding["rule"].as_str().expect("a rule"))
        })
        .collect();
    fired.sort_unstable();
    let mut expected: Vec<(&str, &str)> =
        ROWS.iter().flat_map(|row| row.rules.iter().map(|rule| (row.name, *rule))).collect();
    expected.sort_unstable();
    assert_eq!(fired, expected);
}

#[test]
fn a_commitment_for_what_is_used_too_little_says_so_and_is_for_a_year() {
    let Some(fleet) = gathered() else { return };
    let report = &fleet.live.report;
    let by_id = names(report);
    let findings = report["findings"].as_array().expect("a list of findings");
    let words = "its GPUs are overprovisioned, but no smaller type, shared card or schedule would \
                 do: one year at most";
    let mut oversized: Vec<&str> = findings
        .iter()
        .filter(|finding| finding["rule"] == "steady-on-demand")
        .filter_map(|finding| {
            let advice = &finding["recommendation"];
            let caveats = advice["caveats"].as_array().expect("a list");
            if !caveats.contains(&json!(words)) {
                return None;
            }
            assert_eq!(advice["to"], "standard reserved instance, 1 year, no-upfront", "{finding}");
            Some(by_id[finding["workload"].as_str().expect("an id")])
        })
        .collect();
    oversized.sort_unstable();
    assert_eq!(oversized, NOTHING_SMALLER);
}

#[test]
fn the_rows_of_the_table_add_up_to_its_sums() {
    // The table above all checks itself: an error of the pen shows here.
    let cost: i64 = ROWS.iter().filter_map(|row| row.monthly_cost).sum();
    assert_eq!(cost, sums::MONTHLY_COST);
    let savings: i64 = ROWS.iter().map(|row| saving(row.plan)).sum();
    assert_eq!(savings, sums::SAVINGS);
    assert_eq!(sums::WASTE + sums::OPTIMIZATION, sums::SAVINGS);
    for (action, expected) in sums::BY_ACTION {
        let actions = ROWS.iter().flat_map(|row| row.plan);
        let of_it = actions.filter(|(name, _, _)| *name == action);
        let sum: i64 = of_it.map(|(_, _, saving)| saving).sum();
        assert_eq!(sum, expected, "{action}");
    }
    let of_actions: i64 = sums::BY_ACTION.iter().map(|(_, saving)| saving).sum();
    assert_eq!(of_actions, savings);
    assert_eq!(cost - savings, sums::PLANNED);
    let of_classes: i64 = sums::CLASSES.iter().map(|class| class.4).sum();
    assert_eq!(of_classes, cost);
}

#[test]
fn sums_are_those_of_the_rows() {
    let Some(fleet) = gathered() else { return };
    let summary = &fleet.live.report["summary"];
    for (field, expected) in [
        ("monthly_cost", sums::MONTHLY_COST),
        ("monthly_waste", sums::WASTE),
        ("monthly_optimization", sums::OPTIMIZATION),
        ("monthly_savings", sums::SAVINGS),
        ("planned_monthly_cost", sums::PLANNED),
    ] {
        assert_eq!(cents(&summary[field]), Some(expected), "{field}");
    }
    assert_eq!(summary["savings_percent"], sums::SAVINGS_PERCENT);
    let by_action = summary["savings_by_action"].as_object().expect("an object");
    let by_action: Vec<(&str, i64)> = by_action
        .iter()
        .map(|(action, saving)| (action.as_str(), cents(saving).expect("a sum")))
        .collect();
    assert_eq!(by_action, sums::BY_ACTION);
    for (field, expected) in [
        ("instances", sums::INSTANCES),
        ("stopped_instances", sums::STOPPED),
        ("gpus", sums::GPUS),
        ("unpriced_instances", sums::UNPRICED),
        ("ignored_workloads", sums::IGNORED),
    ] {
        assert_eq!(summary[field], expected, "{field}");
    }
    for (class, workloads, instances, gpus, cost) in sums::CLASSES {
        let of_class = &summary["by_classification"][class];
        let counts = [&of_class["workloads"], &of_class["instances"], &of_class["gpus"]];
        assert_eq!(counts, [workloads, instances, gpus].map(|n| json!(n)).each_ref(), "{class}");
        assert_eq!(cents(&of_class["monthly_cost"]), Some(cost), "{class}");
    }
    assert_eq!(
        summary["funnel"],
        json!({
            "total_gpus": sums::GPUS,
            "allocated_gpus": sums::ALLOCATED,
            "unknown_allocation_gpus": 0,
            "active_gpus": sums::ACTIVE,
            "effective_gpus": sums::EFFECTIVE,
            "unmeasured_gpus": sums::UNMEASURED,
        })
    );
}

#[test]
fn prices_are_of_the_account_where_it_has_them() {
    let Some(fleet) = gathered() else { return };
    let origins = &fleet.live.report["prices"]["origins"];
    assert_eq!(origins["api"], sums::PRICES_OF_THE_API);
    assert_eq!(origins["bundled"], sums::PRICES_OF_THE_BOOK);
    let oldest = &fleet.live.report["prices"]["oldest_effective_date"];
    assert_eq!(oldest, sums::OLDEST_PRICE);
    let by_name = workloads(&fleet.live.report);
    assert_eq!(by_name["idle-1"]["hourly_cost"], 0.5);
    assert_eq!(by_name["windows"]["hourly_cost"], 0.75);
    assert_eq!(by_name["fractions"]["hourly_cost"], 0.606);
    // 0.50 + 0.50 + 0.45 + 0.45.
    assert_eq!(by_name["spotty"]["hourly_cost"], 1.9);
    assert_eq!(by_name["unknown"]["hourly_cost"], Value::Null);
}

#[test]
fn what_was_not_seen_is_a_gap_and_nothing_else_is() {
    let Some(fleet) = gathered() else { return };
    let gaps = fleet.live.report["gaps"].as_array().expect("a list");
    let by_id = names(&fleet.live.report);
    let mut subjects: Vec<(&str, &str, &str)> = gaps
        .iter()
        .map(|gap| {
            let place = gap["where"].as_str().expect("a place");
            let name = fleet.names.get(place).map(String::as_str);
            let name = name.or_else(|| by_id.get(place).copied()).unwrap_or(place);
            let text = |field: &str| gap[field].as_str().expect("words");
            assert_ne!(text("hint"), "", "{gap} says what to do");
            (text("what"), name, text("reason"))
        })
        .collect();
    subjects.sort_unstable();
    let places: Vec<_> = subjects.iter().map(|gap| (gap.0, gap.1)).collect();
    let expected: Vec<_> = sums::GAPS.iter().map(|gap| (gap.0, gap.1)).collect();
    assert_eq!(places, expected, "{subjects:#?}");
    for ((what, place, reason), (_, _, words)) in subjects.iter().zip(sums::GAPS) {
        if what.starts_with("gpu_") {
            assert_eq!(reason, words, "{what} of {place}");
        } else {
            assert!(reason.contains(words), "{place}: {reason}");
        }
    }
    let said: Vec<&str> = fleet.live.stderr.lines().collect();
    // What the price list lacks is of the bundled catalog, which is old by now.
    let old = format!("warning: the oldest price is from {}, ", sums::OLDEST_PRICE);
    assert!(said[0].starts_with(&old), "{said:?}");
    // The unmeasured: windows, five silent ones and the unknown type. Gaps: 9 of
    // utilization, 1 of memory, 14 each of power and temperature, 4 of activity, 6 others.
    assert_eq!(said[2..], ["audited 55 of 62 instances; 48 gaps"]);
}

#[test]
fn series_are_joined_and_roll_ups_left_out() {
    let Some(fleet) = gathered() else { return };
    let by_name = workloads(&fleet.live.report);
    let utilization = |name: &str| &by_name[name]["utilization"];
    for (name, by_host) in [("idle-1", 0), ("idle-2", 1), ("idle-3", 1), ("speech", 6)] {
        assert_eq!(utilization(name)["joined_by_hostname"], by_host, "{name}");
    }
    // A roll-up or a series of a former type would bring 99 with it.
    assert_eq!(utilization("chat")["max"], 30.0);
    assert_eq!(utilization("pretrain")["max"], 90.0);
    assert_eq!(utilization("idle-1")["max"], 0.0);
    let gpus = by_name["pretrain"]["gpus"].as_array().expect("a list");
    assert_eq!(gpus.len(), 16, "two instances of eight");
    let power = ["power-idle", "power-busy", "power-between"];
    for name in power {
        assert_eq!(utilization(name)["signal"], "gpu_power_utilization", "{name}");
    }
    for row in ROWS.iter().filter(|row| row.mean.is_some() && !power.contains(&row.name)) {
        assert_eq!(utilization(row.name)["signal"], "gpu_utilization", "{}", row.name);
    }
}

#[test]
fn coverage_is_of_the_time_that_it_ran() {
    let Some(fleet) = gathered() else { return };
    let by_name = workloads(&fleet.live.report);
    // Samples, expected samples, coverage, share of the window that it ran.
    let cases = [
        ("chat", 4032, 4032, 1.0, 1.0),
        // 14 × 8 h of 12 periods.
        ("office", 1344, 1344, 1.0, 0.3333),
        // 30 of 4032 readings were bad.
        ("dirty", 4002, 4032, 0.9926, 1.0),
        // 403 tens of six, and 2 more.
        ("six-of-ten", 2420, 4032, 0.6002, 1.0),
        ("four-of-ten", 1614, 4032, 0.4003, 1.0),
    ];
    for (name, samples, expected, coverage, share) in cases {
        let utilization = &by_name[name]["utilization"];
        assert_eq!(utilization["n_samples"], samples, "{name}");
        assert_eq!(utilization["expected_samples"], expected, "{name}");
        assert_eq!(utilization["coverage"], coverage, "{name}");
        assert_eq!(by_name[name]["running_share"], share, "{name}");
    }
}

/// What the audit of a fleet decides, by the name of the workload.
fn decisions(report: &Value) -> BTreeMap<&str, String> {
    let decided = workloads(report).into_iter().map(|(name, workload)| {
        let words = format!(
            "{} {} {} {:?} {:?}",
            workload["classification"],
            workload["state"],
            workload["confidence"],
            cents(&workload["monthly_cost"]),
            plan(workload)
        );
        (name, words)
    });
    decided.collect()
}

#[test]
fn hours_first_decide_what_the_full_grid_decides() {
    let Some(fleet) = gathered() else { return };
    let [full, auto] = &fleet.by_resolution;
    assert_eq!(decisions(&auto.report), decisions(&full.report));
    let findings = |report: &Value| -> BTreeSet<String> {
        let list = report["findings"].as_array().expect("a list of findings");
        let subjects =
            list.iter().map(|finding| format!("{} {}", finding["rule"], finding["workload"]));
        subjects.collect()
    };
    assert_eq!(findings(&auto.report), findings(&full.report));
    let resolutions = |report: &Value| -> BTreeSet<u64> {
        let rows = workloads(report).into_values();
        let seconds =
            rows.filter_map(|workload| workload["utilization"]["resolution_seconds"].as_u64());
        seconds.collect()
    };
    assert_eq!(resolutions(&full.report), BTreeSet::from([300]));
    assert_eq!(resolutions(&auto.report), BTreeSet::from([300, 3_600]));
    // Series are discovered before either pass, in each region.
    let listed = |audited: &Audited| -> usize {
        let calls = audited.calls.iter();
        let lists = calls.filter(|(seen, _)| seen.operation == "ListMetrics");
        lists.map(|(_, count)| *count).sum()
    };
    assert_eq!(listed(full), 9);
    assert!(listed(auto) > 9, "{}", listed(auto));
}
