//! What the account has already bought: read from every region, with what holds
//! everywhere read once, and recorded as it is.

use std::fs;

use serde_json::{Value, json};

use super::account::Account;
use super::command::{Gpucost, Run};
use super::days::Days;
use crate::wire::loopback::{Fault, OwnedCapacity, OwnedPlan, OwnedReserved, Target, Times};

const RESERVED: OwnedReserved<'_> = OwnedReserved {
    id: "ri-regional",
    region: "us-east-1",
    zone: None,
    instance_type: "p4d.24xlarge",
    count: 2,
    payment: "Partial Upfront",
    upfront: "58069.0",
    hourly: "6.629",
    start: "2026-02-01T00:00:00.000Z",
    end: "2027-01-31T23:59:59.000Z",
    state: "active",
};

const CAPACITY: OwnedCapacity<'_> = OwnedCapacity {
    id: "cr-1",
    zone: "eu-west-1b",
    instance_type: "g5.48xlarge",
    total: 4,
    available: 3,
    state: "active",
    kind: "default",
    owner: None,
};

const PLAN: OwnedPlan<'_> = OwnedPlan {
    id: "sp-family",
    plan: "EC2Instance",
    pool: Some(("us-east-1", "g5")),
    hourly: "3.5",
    years: 1,
    start: "2026-02-01T00:00:00.000Z",
    end: "2027-01-31T23:59:59.000Z",
    state: "active",
};

/// The term of what is queued begins later.
const QUEUED: (&str, &str) = ("2030-01-01T00:00:00.000Z", "2030-12-31T23:59:59.000Z");

/// An audit of two regions without instances; what it says and what it records.
fn audited(account: &Account, regions: &str) -> (Run, Value) {
    let mut command = Gpucost::audit(Days::ahead())
        .of(account)
        .args(&["--region", regions, "--allow-empty", "--save", "est.json"]);
    let run = command.run();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = fs::read_to_string(command.folder().join("est.json")).expect("it was recorded");
    let estate: Value = serde_json::from_str(&text).expect("JSON");
    (run, estate["commitments"].clone())
}

const BOTH: &str = "us-east-1,eu-west-1";

fn ids(commitments: &Value) -> Vec<&str> {
    let rows = commitments.as_array().expect("a list");
    rows.iter().map(|commitment| commitment["id"].as_str().expect("an id")).collect()
}

fn gaps(run: &Run) -> Vec<Value> {
    run.json(0)["gaps"].as_array().expect("a list").clone()
}

/// As a commitment is recorded, but queued: it differs in its term alone.
fn queued(active: &Value, id: &str) -> Value {
    let mut queued = active.clone();
    queued["id"] = id.into();
    queued["start"] = "2030-01-01T00:00:00Z".into();
    queued["end"] = "2030-12-31T23:59:59Z".into();
    queued
}

/// Buys commitments of every kind in every state.
fn buy(account: &Account) {
    let loopback = &account.loopback;
    loopback.put_reserved_instances(RESERVED);
    for (id, instance_type, state) in
        [("ri-retired", "p4d.24xlarge", "retired"), ("ri-cpu", "m5.large", "active")]
    {
        loopback.put_reserved_instances(OwnedReserved { id, instance_type, state, ..RESERVED });
    }
    loopback.put_reserved_instances(OwnedReserved {
        id: "ri-queued",
        start: QUEUED.0,
        end: QUEUED.1,
        state: "queued",
        ..RESERVED
    });
    // It ends before the audit's window does.
    loopback.put_reserved_instances(OwnedReserved {
        id: "ri-zonal",
        region: "eu-west-1",
        zone: Some("eu-west-1a"),
        instance_type: "g5.xlarge",
        payment: "All Upfront",
        upfront: "5000.5",
        hourly: "0.0",
        end: "2026-12-01T00:00:00.000Z",
        ..RESERVED
    });
    loopback.put_capacity_reservation(CAPACITY);
    for (id, state, kind, owner) in [
        ("cr-block", "active", "capacity-block", Some(account.number.as_str())),
        ("cr-cancelled", "cancelled", "default", None),
        ("cr-shared", "active", "default", Some("999988887777")),
    ] {
        loopback.put_capacity_reservation(OwnedCapacity { id, state, kind, owner, ..CAPACITY });
    }
    loopback.put_savings_plan(PLAN);
    for (id, plan, state) in [
        ("sp-compute", "Compute", "active"),
        ("sp-models", "SageMaker", "active"),
        ("sp-retired", "Compute", "retired"),
    ] {
        loopback.put_savings_plan(OwnedPlan { id, plan, pool: None, state, ..PLAN });
    }
    loopback.put_savings_plan(OwnedPlan {
        id: "sp-queued",
        start: QUEUED.0,
        end: QUEUED.1,
        state: "queued",
        ..PLAN
    });
}

#[test]
fn active_and_queued_ones_are_recorded_and_the_rest_is_left_out() {
    let Some(account) = Account::open() else { return };
    buy(&account);
    let (run, recorded) = audited(&account, BOTH);
    // What was paid for a Capacity Block is in no answer.
    let gaps = gaps(&run);
    let [block] = gaps.as_slice() else { panic!("{gaps:#?}") };
    assert_eq!((&block["what"], &block["where"]), (&json!("price"), &json!("cr-block")));
    assert_eq!(
        ids(&recorded),
        [
            "ri-queued", "ri-regional", "ri-zonal", "sp-compute", "sp-family", "sp-models",
            "sp-queued", "cr-1", "cr-block"
        ]
    );
    assert_eq!(recorded[0], queued(&recorded[1], "ri-queued"));
    assert_eq!(
        recorded[1],
        json!({
            "kind": "reserved-instances", "id": "ri-regional",
            "account": account.number, "region": "us-east-1",
            "instance_type": "p4d.24xlarge", "operating_system": "linux", "tenancy": "shared",
            "count": 2, "class": "standard", "payment": "partial-upfront",
            "start": "2026-02-01T00:00:00Z", "end": "2027-01-31T23:59:59Z",
            "currency": "USD", "upfront": "58069", "recurring_hourly": "6.629",
        })
    );
    assert_eq!(recorded[2]["zone"], "eu-west-1a");
    assert_eq!(recorded[2]["upfront"], "5000.5");
    assert_eq!(recorded[3]["plan"], "compute");
    assert_eq!(recorded[3]["region"], Value::Null);
    assert_eq!(
        recorded[4],
        json!({
            "kind": "savings-plan", "id": "sp-family", "account": account.number,
            "plan": "ec2-instance",
            "region": "us-east-1", "family": "g5", "currency": "USD",
            "commitment_hourly": "3.5", "term": "1yr-no-upfront",
            "start": "2026-02-01T00:00:00Z", "end": "2027-01-31T23:59:59Z",
        })
    );
    assert_eq!(recorded[5]["plan"], "other");
    assert_eq!(recorded[6], queued(&recorded[4], "sp-queued"));
    assert_eq!(
        recorded[7],
        json!({
            "kind": "capacity-reservation", "id": "cr-1", "account": account.number,
            "region": "eu-west-1",
            "zone": "eu-west-1b", "instance_type": "g5.48xlarge", "operating_system": "linux",
            "tenancy": "shared", "total": 4, "available": 3, "capacity_block": false,
        })
    );
    assert_eq!(recorded[8]["capacity_block"], true);
    // Nobody pays for what is queued.
    let report = run.json(0);
    let unused = ids(&report["unused_commitments"]);
    assert!(unused.iter().all(|id| !id.ends_with("-queued")), "{unused:?}");
}

#[test]
fn every_page_is_read() {
    let Some(account) = Account::open() else { return };
    let loopback = &account.loopback;
    for id in ["cr-1", "cr-2", "cr-3", "cr-4", "cr-5"] {
        loopback.put_capacity_reservation(OwnedCapacity { id, ..CAPACITY });
    }
    for id in ["sp-1", "sp-2", "sp-3"] {
        loopback.put_savings_plan(OwnedPlan { id, ..PLAN });
    }
    let (_, whole) = audited(&account, BOTH);
    loopback.limit_pages(2);
    loopback.reset_calls();
    let (_, paged) = audited(&account, BOTH);
    assert_eq!(paged, whole);
    assert_eq!(ids(&paged).len(), 8);
    // Three pages in Ireland, an empty one in Virginia.
    assert_eq!(loopback.calls("ec2", "DescribeCapacityReservations"), 4);
    assert_eq!(loopback.calls("ec2", "DescribeReservedInstances"), 2);
    assert_eq!(loopback.calls("savingsplans", "DescribeSavingsPlans"), 2);
}

#[test]
fn each_denial_is_a_gap_that_names_the_action_and_hides_nothing_else() {
    let Some(account) = Account::open() else { return };
    let loopback = &account.loopback;
    loopback.put_reserved_instances(RESERVED);
    loopback.put_capacity_reservation(CAPACITY);
    loopback.put_savings_plan(PLAN);
    let cases = [
        ("ec2", "DescribeReservedInstances", "reserved instances", &["sp-family", "cr-1"][..]),
        (
            "ec2",
            "DescribeCapacityReservations",
            "capacity reservations",
            &["ri-regional", "sp-family"],
        ),
        ("savingsplans", "DescribeSavingsPlans", "savings plans", &["ri-regional", "cr-1"]),
    ];
    for (service, operation, what, left) in cases {
        loopback.clear_faults();
        let target = Target::operation(service, operation);
        loopback.inject(target, Fault::AccessDenied, Times::Always);
        let (run, recorded) = audited(&account, BOTH);
        assert_eq!(ids(&recorded), left, "{operation}");
        let gaps = gaps(&run);
        let places: Vec<&Value> = gaps.iter().map(|gap| &gap["where"]).collect();
        if service == "ec2" {
            assert_eq!(places, ["eu-west-1", "us-east-1"], "{operation}");
        } else {
            assert_eq!(places, ["account"], "{operation}");
        }
        for gap in &gaps {
            assert_eq!(gap["what"], what);
            let reason = gap["reason"].as_str().expect("words");
            let action = format!("{service}:{operation}");
            assert!(reason.starts_with(&format!("{action}: ")), "{reason}");
            assert!(reason.ends_with("; none are assumed"), "{reason}");
            let hint = gap["hint"].as_str().expect("words");
            assert!(hint.starts_with(&format!("allow {action}; ")), "{hint}");
        }
    }
}

#[test]
fn a_partition_without_savings_plans_is_not_asked_and_is_no_gap() {
    let Some(account) = Account::open() else { return };
    account.loopback.reset_calls();
    let (run, recorded) = audited(&account, "cn-north-1");
    assert_eq!(recorded, json!([]));
    assert_eq!(gaps(&run), Vec::<Value>::new());
    assert_eq!(account.loopback.calls("savingsplans", "DescribeSavingsPlans"), 0);
    assert_eq!(account.loopback.calls("ec2", "DescribeReservedInstances"), 1);
}

#[test]
fn one_that_cannot_be_read_is_a_gap_and_the_others_stay() {
    let Some(account) = Account::open() else { return };
    let loopback = &account.loopback;
    loopback.put_reserved_instances(RESERVED);
    loopback.put_reserved_instances(OwnedReserved {
        id: "ri-old",
        payment: "Heavy Utilization",
        ..RESERVED
    });
    loopback.put_savings_plan(OwnedPlan { id: "sp-odd", years: 5, ..PLAN });
    let (run, recorded) = audited(&account, BOTH);
    assert_eq!(ids(&recorded), ["ri-regional"]);
    let gaps = gaps(&run);
    let reported: Vec<(&str, &str)> = gaps
        .iter()
        .map(|gap| {
            let text = |key: &str| gap[key].as_str().expect("words");
            (text("where"), text("reason"))
        })
        .collect();
    assert_eq!(
        reported,
        [
            ("ri-old", "the response has no readable payment option; it is omitted"),
            ("sp-odd", "the response has no readable term; it is omitted"),
        ]
    );
}
