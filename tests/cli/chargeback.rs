//! `audit --group-by` and `audit --format focus`.

use crate::cli::contract::DEMO;
use crate::cli::estates::{one, owned};
use crate::cli::world::World;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

type Row = BTreeMap<String, String>;

fn read(text: &str) -> (Vec<String>, Vec<Row>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> =
        reader.headers().expect("a header").iter().map(str::to_owned).collect();
    let rows = reader.deserialize().map(|row| row.expect("a row")).collect();
    (header, rows)
}

fn sum(rows: &[Row], column: &str) -> Decimal {
    rows.iter()
        .filter(|row| !row[column].is_empty())
        .map(|row| row[column].parse::<Decimal>().expect("an amount"))
        .sum()
}

pub fn audited(arguments: &[&str]) -> String {
    let outcome = World::new().run(&[&["audit", "--demo"], arguments].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.stdout
}

pub fn cents(value: &Value) -> Decimal {
    value.to_string().parse().expect("an amount")
}

#[test]
fn groups_are_the_same_in_every_format_and_sum_to_the_audit() {
    let by = ["--group-by", "tag:team,class", "--format"];
    let with = |format| audited(&[&by[..], &[format]].concat());
    let document: Value = serde_json::from_str(&with("json")).expect("JSON");
    let groups = &document["groups"];
    assert_eq!(groups["by"], json!(["tag:team", "class"]));
    assert_eq!(groups["total"]["monthly_cost"], document["summary"]["monthly_cost"]);
    assert_eq!(groups["total"]["monthly_savings"], document["summary"]["monthly_savings"]);
    let (header, rows) = read(&with("csv"));
    assert_eq!(&header[..2], ["tag:team", "class"]);
    assert_eq!(rows.len(), groups["rows"].as_array().expect("a list").len());
    for column in ["monthly_cost", "useful_cost", "idle_cost", "monthly_waste"] {
        assert_eq!(sum(&rows, column), cents(&groups["total"][column]), "{column}");
    }
    // What nobody asked for is not there.
    assert_eq!(DEMO.json().get("groups"), None);
    let mut without = document;
    without.as_object_mut().expect("an object").remove("groups");
    assert_eq!(without, DEMO.json(), "all else is as it was");
    let table = with("table");
    assert!(table.contains("COST PER MONTH BY TAG:TEAM, CLASS"));
    assert!(table.lines().all(|line| line.chars().count() <= 110), "{table}");
}

#[test]
fn what_lacks_a_tag_has_a_row_of_its_own() {
    let world = World::new();
    let path = world.estate("estate.json", &one());
    let arguments = ["audit", "--from", &path, "--group-by", "tag:team,region"];
    let outcome = world.run(&[&arguments[..], &["--format", "json"]].concat());
    let row = &outcome.json()["groups"]["rows"][0];
    assert_eq!(row["values"], json!({"tag:team": null, "region": "us-east-1"}));
    // $1.006 an hour for 730 hours, of which 15% were used.
    assert_eq!(row["monthly_cost"], json!(734.38));
    assert_eq!(row["useful_cost"], json!(110.16));
    assert_eq!(row["idle_cost"], json!(624.22));
    let (_, rows) = read(&world.run(&[&arguments[..], &["--format", "csv"]].concat()).stdout);
    assert_eq!(rows[0]["tag:team"], "(none)");
    assert!(world.run(&arguments).stdout.contains("(none)"));
}

#[test]
fn what_cannot_be_grouped_is_refused() {
    for (arguments, said) in [
        (&["--group-by", "team"][..], "`team` is not a valid key for `--group-by`"),
        (&["--group-by", "tag:"], "`tag:` is not a valid key for `--group-by`"),
        (&["--group-by", "region,"], "`` is not a valid key for `--group-by`"),
        (&["--group-by", "region,region"], "lists `region` twice"),
        (
            &["--group-by", "region", "--format", "focus"],
            "`--group-by` cannot be used with `--format focus`",
        ),
    ] {
        let outcome = World::new().run(&[&["audit", "--demo"], arguments].concat());
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("\nhint: "), "{}", outcome.stderr);
        assert!(outcome.stdout.is_empty());
    }
}

/// The columns that FOCUS 1.0 has, in the order of its samples, and ours.
#[test]
fn the_columns_are_those_of_the_specification() {
    let (header, _) = read(&audited(&["--format", "focus"]));
    let standard = header.iter().position(|name| name.starts_with("x_"));
    let (standard, own) = header.split_at(standard.expect("columns of our own"));
    assert_eq!(standard.len(), 43);
    assert!(standard.is_sorted());
    assert!(own.iter().all(|name| name.starts_with("x_")));
    let list = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/data/samples/billing/columns_v1.0.txt");
    match std::fs::read_to_string(list) {
        Ok(list) => assert_eq!(standard, list.lines().collect::<Vec<_>>()),
        Err(_) => eprintln!("skipped: the list of columns is not here"),
    }
}

/// What holds for every row by the specification.
fn check_row(row: &Row) {
    for column in [
        "BilledCost", "BillingAccountId", "BillingCurrency", "ContractedCost", "EffectiveCost",
        "InvoiceIssuerName", "ListCost", "ProviderName", "PublisherName", "ServiceName", "SkuId",
        "SkuPriceId",
    ] {
        assert!(!row[column].is_empty(), "{column}: {row:?}");
    }
    let is_unused = row["x_Classification"] == "unused";
    for column in ["ConsumedQuantity", "ConsumedUnit"] {
        assert_eq!(row[column].is_empty(), is_unused, "{column}: {row:?}");
    }
    assert_eq!(row["PricingQuantity"].is_empty(), row["PricingUnit"].is_empty());
    assert_eq!(row["ChargeCategory"], "Usage");
    assert_eq!(row["ChargeFrequency"], "Usage-Based");
    assert_eq!(row["ChargeClass"], "");
    assert_eq!(row["x_Estimate"], "estimate, not a bill");
    assert!(row["ChargeDescription"].starts_with("Estimate by gpucost: "));
    let times = ["BillingPeriodStart", "ChargePeriodStart", "ChargePeriodEnd", "BillingPeriodEnd"];
    let times = times.map(|column| {
        let text = &row[column];
        assert!(text.len() == 20 && text.ends_with('Z'), "{text}");
        text.parse::<jiff::Timestamp>().expect("a time")
    });
    assert!(times.is_sorted(), "{times:?}");
    let committed = row["PricingCategory"] == "Committed";
    for column in [
        "CommitmentDiscountCategory", "CommitmentDiscountId", "CommitmentDiscountStatus",
        "CommitmentDiscountType",
    ] {
        assert_eq!(row[column].is_empty(), !committed, "{column}");
    }
    if !row["Tags"].is_empty() {
        let tags: Value = serde_json::from_str(&row["Tags"]).expect("JSON");
        assert!(tags.is_object());
    }
    let parts = ["x_UsefulCost", "x_IdleCost", "x_UnmeasuredCost"];
    let parts: Decimal =
        parts.iter().filter_map(|column| row[*column].parse::<Decimal>().ok()).sum();
    if row["ServiceCategory"] == "Compute" && !is_unused {
        assert_eq!(parts.to_string(), row["EffectiveCost"]);
    }
}

#[test]
fn the_demo_as_a_bill_costs_what_its_hours_cost() {
    let (_, rows) = read(&audited(&["--format", "focus"]));
    rows.iter().for_each(check_row);
    let demo = DEMO.json();
    let find = |id: &str| {
        let mut rows = rows.iter();
        rows.find(|row| row["x_WorkloadId"] == id).expect("a row")
    };
    // 14 days of a p4d.24xlarge at $21.957642 an hour: 336 hours.
    let alone = find("i-09ebe1b8a05d0fbb0");
    assert_eq!(alone["PricingQuantity"], "336.00");
    assert_eq!(alone["ListUnitPrice"], "21.957642");
    assert_eq!(alone["EffectiveCost"], "7377.77");
    assert_eq!(alone["BilledCost"], "7377.77");
    // All rows are what the workloads cost a month, for 336 of 730 hours.
    let month = cents(&demo["summary"]["monthly_cost"]);
    let expected = month * Decimal::from(336) / Decimal::from(730);
    let total = sum(&rows, "EffectiveCost");
    let tolerance = Decimal::new(rows.len() as i64, 2);
    assert!((total - expected).abs() <= tolerance, "{total} and {expected}");
    assert_eq!(total, sum(&rows, "BilledCost"), "nothing is paid ahead");
}

#[test]
fn covered_hours_are_paid_by_their_commitment() {
    let world = World::new();
    let path = world.estate("owned.json", &owned());
    let outcome = world.run(&["audit", "--from", &path, "--format", "focus"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let (_, rows) = read(&outcome.stdout);
    rows.iter().for_each(check_row);
    let covered: Vec<&Row> =
        rows.iter().filter(|row| row["CommitmentDiscountStatus"] == "Used").collect();
    assert!(!covered.is_empty());
    for row in covered {
        assert_eq!(row["BilledCost"], "0.00");
        assert_eq!(row["CommitmentDiscountId"], "ri-1");
        assert_eq!(row["CommitmentDiscountType"], "Reserved Instance");
        let [list, effective] = ["ListCost", "EffectiveCost"]
            .map(|column| row[column].parse::<Decimal>().expect("an amount"));
        assert!(effective < list);
    }
}

/// Of two reserved instances at 0.63378 one is used, and the other pays for half of the
/// room for two at 1.006 an hour. Month: 2 × 462.6594 + 734.38 = 1,659.70; the window is
/// 336 of its 730 hours.
#[test]
fn what_is_paid_for_and_does_not_run_has_rows_so_that_sums_agree() {
    let world = World::new();
    let path = world.estate("owned.json", &owned());
    let audit = |format| {
        let outcome = world.run(&["audit", "--from", &path, "--format", format]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome
    };
    let month: Decimal = "1659.70".parse().expect("an amount");
    assert_eq!(cents(&audit("json").json()["summary"]["monthly_cost"]), month.normalize());
    let (_, rows) = read(&audit("csv").stdout);
    assert_eq!(sum(&rows, "monthly_cost"), month);
    let cells = |row: &Row| {
        let columns = ["id", "kind", "name", "monthly_cost", "plan_action", "committed_until"];
        columns.map(|column| row[column].clone())
    };
    let unused: Vec<_> = rows[1..].iter().map(cells).collect();
    let expected = [
        [
            "cr-1", "capacity-reservation", "2 of 2 × g5.xlarge in us-east-1a", "734.38",
            "release", "",
        ],
        [
            "ri-1", "regional-reserved-instances", "2 × g5.xlarge in us-east-1", "462.66", "",
            "2026-12-01",
        ],
    ];
    assert_eq!(unused, expected);

    let (_, rows) = read(&audit("focus").stdout);
    rows.iter().for_each(check_row);
    // 1.006 × 336 hours of one instance, and 0.63378 × 336 of the other, used and unused.
    let effective: Vec<&str> = rows.iter().map(|row| row["EffectiveCost"].as_str()).collect();
    assert_eq!(effective, ["212.95", "338.02", "212.95"]);
    let [_, room, fee] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    let cells = |row: &Row| {
        let columns = [
            "BilledCost", "ListCost", "PricingCategory", "PricingQuantity", "CommitmentDiscountId",
            "CommitmentDiscountStatus", "ResourceId", "RegionId",
        ];
        columns.map(|column| row[column].clone())
    };
    assert_eq!(
        cells(room),
        ["338.02", "338.02", "Standard", "672.00", "", "", "cr-1", "us-east-1"]
    );
    assert_eq!(
        cells(fee),
        ["0.00", "0.00", "Committed", "", "ri-1", "Unused", "ri-1", "us-east-1"]
    );
}

#[test]
fn a_workload_without_a_price_is_missed_by_name() {
    let world = World::new();
    let mut estate = one();
    estate["instances"][0]["instance_type"] = json!("p99.xlarge");
    let path = world.estate("estate.json", &estate);
    let outcome = world.run(&["audit", "--from", &path, "--format", "focus"]);
    assert_eq!(outcome.code, 0);
    assert_eq!(outcome.stdout.lines().count(), 1, "{}", outcome.stdout);
    assert!(
        outcome.stderr.contains("1 unpriced workload omitted from the document"),
        "{}",
        outcome.stderr
    );
}
