//! Every figure that a refresh may get wrong, and every row that it may take for
//! a price.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Cache, IRELAND, LISTS_A_REGION, Prices, VIRGINIA, decimal, dollars};
use crate::wire::loopback::{Loopback, PlanRate, Price, Reserved};

const HOUR: i64 = 3_600;

const fn reserved(
    years: u8,
    payment: &'static str,
    (upfront, hourly): (&'static str, &'static str),
) -> Reserved<'static> {
    Reserved { years, class: "standard", payment, upfront, hourly }
}

const fn convertible(term: Reserved<'static>) -> Reserved<'static> {
    Reserved { class: "convertible", upfront: "1", hourly: "0.01", ..term }
}

const ONE_YEAR: [Reserved<'_>; 3] = [
    reserved(1, "No Upfront", ("0", "7")),
    reserved(1, "Partial Upfront", ("26280", "3")),
    reserved(1, "All Upfront", ("48180", "0")),
];
const THREE_YEARS: [Reserved<'_>; 3] = [
    reserved(3, "No Upfront", ("0", "5")),
    reserved(3, "Partial Upfront", ("52560", "2.1")),
    reserved(3, "All Upfront", ("100000", "0")),
];
/// Each standard term with its convertible neighbour, which costs next to
/// nothing and would be noticed.
const TERMS: [Reserved<'_>; 12] = [
    ONE_YEAR[0],
    convertible(ONE_YEAR[0]),
    convertible(ONE_YEAR[1]),
    ONE_YEAR[1],
    ONE_YEAR[2],
    convertible(ONE_YEAR[2]),
    convertible(THREE_YEARS[0]),
    THREE_YEARS[0],
    THREE_YEARS[1],
    convertible(THREE_YEARS[1]),
    THREE_YEARS[2],
    convertible(THREE_YEARS[2]),
];

/// A year is 8,760 hours: 26,280 / 8,760 + 3 = 6; 48,180 / 8,760 = 5.5;
/// 52,560 / 26,280 + 2.1 = 4.1; 100,000 / 26,280 = 3.805175 038….
const P4D: [(&str, &str); 7] = [
    ("us-east-1 p4d.24xlarge on-demand", "22"),
    ("us-east-1 p4d.24xlarge reserved-1yr-no-upfront", "7"),
    ("us-east-1 p4d.24xlarge reserved-1yr-partial-upfront", "6"),
    ("us-east-1 p4d.24xlarge reserved-1yr-all-upfront", "5.5"),
    ("us-east-1 p4d.24xlarge reserved-3yr-no-upfront", "5"),
    ("us-east-1 p4d.24xlarge reserved-3yr-partial-upfront", "4.1"),
    ("us-east-1 p4d.24xlarge reserved-3yr-all-upfront", "3.805175"),
];

#[test]
fn every_reserved_term_is_spread_over_its_hours_and_no_other_row_is_a_price() {
    let loopback = Loopback::start(None);
    let p4d = Price { reserved: &TERMS, ..Price::linux("p4d.24xlarge", VIRGINIA, "22.00") };
    // The same type at zero before and after, and in blocks at zero and at 3.
    loopback.put_price(Price::linux("p4d.24xlarge", VIRGINIA, "0"));
    loopback.put_price(p4d);
    loopback.put_price(Price::linux("p4d.24xlarge", VIRGINIA, "0"));
    loopback.put_capacity_block("p4d.24xlarge", VIRGINIA, "0");
    loopback.put_capacity_block("p4d.24xlarge", VIRGINIA, "3");
    // Sold in blocks only, at zero only, under Windows only, without a GPU.
    loopback.put_capacity_block("p5e.48xlarge", VIRGINIA, "39.80");
    loopback.put_price(Price::linux("g6.xlarge", VIRGINIA, "0"));
    loopback.put_price(Price {
        operating_system: "Windows",
        operation: "RunInstances:0002",
        ..Price::linux("g5.xlarge", VIRGINIA, "1.19")
    });
    loopback.put_price(Price::linux("c5.xlarge", VIRGINIA, "0.17"));
    // In a region that is not requested.
    loopback.put_price(Price::linux("p4d.24xlarge", IRELAND, "25.00"));

    let cache = Cache::refreshed(&loopback, VIRGINIA);
    assert_eq!(cache.prices(), dollars(&P4D));
}

#[test]
fn a_look_up_shows_what_is_paid_when() {
    let loopback = Loopback::start(None);
    loopback
        .put_price(Price { reserved: &TERMS, ..Price::linux("p4d.24xlarge", VIRGINIA, "22.00") });
    let cache = Cache::refreshed(&loopback, VIRGINIA);
    let rows = cache.look_up("p4d.24xlarge", VIRGINIA);
    let [row] = rows.as_array().expect("a list").as_slice() else {
        panic!("one type in one region is one row: {rows:#}");
    };
    assert_eq!(row["on_demand_hourly"], 22.0);
    // 22 × 730 hours.
    assert_eq!(row["on_demand_monthly"], 16_060.0);
    assert_eq!(row["origin"], "cache");
    assert_eq!(row["effective_date"], "2026-11-01");
    assert_eq!(row["source"], "pricing:GetProducts");
    let paid: Vec<Value> = row["reserved"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|term| {
            assert_eq!(term["class"], "standard");
            assert_eq!(term["basis"], "observed");
            assert_eq!(term["origin"], "cache");
            json!([
                term["term_years"], term["payment"], term["upfront"], term["hourly"],
                term["effective_hourly"]
            ])
        })
        .collect();
    let expected = json!([
        [1, "no-upfront", 0.0, 7.0, 7.0],
        [1, "partial-upfront", 26_280.0, 3.0, 6.0],
        [1, "all-upfront", 48_180.0, 0.0, 5.5],
        [3, "no-upfront", 0.0, 5.0, 5.0],
        [3, "partial-upfront", 52_560.0, 2.1, 4.1],
        [3, "all-upfront", 100_000.0, 0.0, 3.805175],
    ]);
    assert_eq!(Value::from(paid), expected);
}

#[test]
fn china_has_a_list_and_a_currency_of_its_own() {
    let loopback = Loopback::start(None);
    let terms =
        [reserved(1, "No Upfront", ("0", "40.5")), reserved(3, "All Upfront", ("525600", "0"))];
    for region in ["cn-north-1", "cn-northwest-1"] {
        loopback.put_price(Price {
            currency: "CNY",
            reserved: &terms,
            ..Price::linux("p3.8xlarge", region, "144.25")
        });
    }
    let zone = "cn-north-1a";
    loopback.put_spot_prices("cn-north-1", zone, "p3.8xlarge", "Linux/UNIX", &[(0, "60.5")]);
    let cache = Cache::none();
    let run = cache.refresh(&loopback, "cn-north-1,cn-northwest-1");
    assert_eq!(run.code, 0, "{}", run.stderr);
    // 525,600 / 26,280 = 20.
    let mut expected = Prices::new();
    for region in ["cn-north-1", "cn-northwest-1"] {
        for (option, amount) in [
            ("on-demand", "144.25"),
            ("reserved-1yr-no-upfront", "40.5"),
            ("reserved-3yr-all-upfront", "20"),
        ] {
            let name = format!("{region} p3.8xlarge {option}");
            expected.insert(name, (decimal(amount), "CNY".to_owned()));
        }
    }
    let spot = "cn-north-1 p3.8xlarge spot".to_owned();
    expected.insert(spot, (decimal("60.5"), "CNY".to_owned()));
    assert_eq!(cache.prices(), expected);

    // China's endpoint was asked and no other, and plans are not sold there.
    let lists: Vec<(String, usize)> = loopback
        .call_counts()
        .into_iter()
        .filter(|(seen, _)| seen.service == "pricing")
        .map(|(seen, count)| (seen.region, count))
        .collect();
    assert_eq!(lists, [("cn-northwest-1".to_owned(), 2 * LISTS_A_REGION)]);
    assert_eq!(loopback.calls("savingsplans", "DescribeSavingsPlansOfferingRates"), 0);
    assert!(run.stderr.contains("refreshed 2 regions; 2 gaps"), "{}", run.stderr);
    let rows = cache.look_up("p3.8xlarge", "cn-north-1");
    assert_eq!(rows[0]["currency"], "CNY");
    assert_eq!(rows[0]["on_demand_hourly"], 144.25);
}

#[test]
fn spot_is_the_median_over_zones_of_what_each_cost_over_a_day() {
    let loopback = Loopback::start(None);
    let now = Timestamp::now().as_second();
    let put = |instance_type: &str, zone: &str, changes: &[(i64, &str)]| {
        loopback.put_spot_prices(VIRGINIA, zone, instance_type, "Linux/UNIX", changes);
    };
    // 0.60 for six hours of every 24 and 0.20 for the rest, so that any window of
    // a day has the same mean, whenever it ends: (6 × 0.60 + 18 × 0.20) / 24.
    let daily = [
        (now - 30 * HOUR, "0.60"),
        (now - 24 * HOUR, "0.20"),
        (now - 6 * HOUR, "0.60"),
        (now, "0.20"),
    ];
    put("g5.xlarge", "us-east-1a", &daily);
    put("g5.xlarge", "us-east-1b", &[(now - 90 * HOUR, "0.10")]);
    put("g5.xlarge", "us-east-1c", &[(now - 90 * HOUR, "0.90")]);
    // Of an even number of zones, halfway: (0.30 + 0.45) / 2.
    put("g6.xlarge", "us-east-1a", &daily);
    put("g6.xlarge", "us-east-1b", &[(now - 90 * HOUR, "0.10")]);
    put("g6.xlarge", "us-east-1c", &[(now - 90 * HOUR, "0.45")]);
    put("g6.xlarge", "us-east-1d", &[(now - 90 * HOUR, "0.90")]);
    // Nobody's business: another system, another region, no GPU.
    let cheap = [(now - 90 * HOUR, "0.01")];
    loopback.put_spot_prices(VIRGINIA, "us-east-1e", "g5.xlarge", "Windows", &cheap);
    loopback.put_spot_prices(IRELAND, "eu-west-1a", "g5.xlarge", "Linux/UNIX", &cheap);
    loopback.put_spot_prices(VIRGINIA, "us-east-1a", "c5.xlarge", "Linux/UNIX", &cheap);

    let cache = Cache::refreshed(&loopback, VIRGINIA);
    let expected = [("us-east-1 g5.xlarge spot", "0.30"), ("us-east-1 g6.xlarge spot", "0.375")];
    assert_eq!(cache.prices(), dollars(&expected));
    let rows = cache.look_up("g6.xlarge", VIRGINIA);
    assert_eq!(rows[0]["spot_hourly"], 0.375);
    assert_eq!(rows[0]["spot_origin"], "cache");
}

#[test]
fn both_plans_have_rates_and_their_neighbours_none() {
    let loopback = Loopback::start(None);
    let rates = [
        ("EC2Instance", 1, "No Upfront", "g5.xlarge", "0.704"),
        ("EC2Instance", 3, "All Upfront", "g5.xlarge", "0.4375"),
        ("Compute", 1, "Partial Upfront", "g5.xlarge", "0.812"),
        // Rounded to six decimals.
        ("Compute", 3, "No Upfront", "p4d.24xlarge", "12.2512347"),
        ("EC2Instance", 3, "Partial Upfront", "p4d.24xlarge", "9.5"),
        ("Compute", 1, "No Upfront", "c5.xlarge", "0.12"),
    ];
    for (plan, years, payment, instance_type, hourly) in rates {
        for (region, hourly) in [(VIRGINIA, hourly), (IRELAND, "0.33")] {
            loopback.put_plan_rate(PlanRate {
                plan,
                years,
                payment,
                instance_type,
                region,
                hourly,
            });
        }
    }
    let cache = Cache::refreshed(&loopback, VIRGINIA);
    let plan = |name: &str| format!("us-east-1 {name}");
    let expected = [
        ("g5.xlarge ec2-instance-savings-plan-1yr-no-upfront", "0.704"),
        ("g5.xlarge ec2-instance-savings-plan-3yr-all-upfront", "0.4375"),
        ("g5.xlarge compute-savings-plan-1yr-partial-upfront", "0.812"),
        ("p4d.24xlarge compute-savings-plan-3yr-no-upfront", "12.251235"),
        ("p4d.24xlarge ec2-instance-savings-plan-3yr-partial-upfront", "9.5"),
    ];
    let expected = expected.map(|(name, amount)| (plan(name), amount));
    let expected: Vec<(&str, &str)> =
        expected.iter().map(|(name, amount)| (name.as_str(), *amount)).collect();
    assert_eq!(cache.prices(), dollars(&expected));

    let rows = cache.look_up("g5.xlarge", VIRGINIA);
    let plans = rows[0]["savings_plans"].as_array().expect("a list");
    let cached: Vec<Value> = plans
        .iter()
        .filter(|plan| plan["origin"] == "cache")
        .map(|plan| json!([plan["plan"], plan["term_years"], plan["payment"], plan["hourly"]]))
        .collect();
    let expected = json!([
        ["ec2-instance", 1, "no-upfront", 0.704],
        ["ec2-instance", 3, "all-upfront", 0.4375],
        ["compute", 1, "partial-upfront", 0.812],
    ]);
    assert_eq!(Value::from(cached), expected);
}
