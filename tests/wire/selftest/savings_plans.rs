use serde_json::{Value, json};

use crate::wire::loopback::{Loopback, PlanRate};
use crate::wire::sdk;

const RATE: PlanRate<'_> = PlanRate {
    plan: "EC2Instance",
    years: 1,
    payment: "No Upfront",
    instance_type: "g5.xlarge",
    region: "us-east-1",
    hourly: "0.634",
};

/// Two types in two regions under two plans, each with three neighbours.
fn endpoint() -> Loopback {
    let loopback = Loopback::start(None);
    for plan in ["EC2Instance", "Compute"] {
        for region in ["us-east-1", "eu-west-1"] {
            for instance_type in ["g5.xlarge", "p4d.24xlarge"] {
                loopback.put_plan_rate(PlanRate { plan, region, instance_type, ..RATE });
            }
        }
    }
    loopback
}

/// A call for everything that passes.
fn rates(plans: &[&str], filters: &[(&str, &str)]) -> Value {
    let filters = filters.iter().map(|(name, value)| json!({ "name": name, "values": [value] }));
    let filters: Vec<Value> = filters.collect();
    let params = json!({ "savingsPlanTypes": plans, "filters": filters });
    let operation = "describe_savings_plans_offering_rates";
    sdk::paged(sdk::call("savingsplans", "us-east-1", operation, params))
}

/// Usage type and rate of everything that was listed, and in how many pages.
fn listed(outcome: &Value) -> (Vec<(&str, &str)>, usize) {
    let pages = sdk::pages(outcome);
    let listed = pages
        .iter()
        .flat_map(|page| page["searchResults"].as_array().expect("a list"))
        .map(|rate| {
            let text = |name: &str| rate[name].as_str().expect("a text");
            (text("usageType"), text("rate"))
        })
        .collect();
    (listed, pages.len())
}

const ALL: [(&str, &str); 4] = [
    ("region", "eu-west-1"),
    ("instanceType", "g5.xlarge"),
    ("productDescription", "Linux/UNIX"),
    ("tenancy", "shared"),
];

#[test]
fn all_filters_leave_a_rate_and_the_one_of_unused_capacity() {
    let loopback = endpoint();
    let calls = [rates(&["Compute"], &ALL)];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    let expected = [("EU-BoxUsage:g5.xlarge", "0.634"), ("EU-UnusedBox:g5.xlarge", "1.634")];
    assert_eq!(listed(&outcomes[0]).0, expected);
}

#[test]
fn each_filter_left_out_lets_others_in() {
    let loopback = endpoint();
    let without = |skipped: usize| {
        let mut filters = ALL.to_vec();
        filters.remove(skipped);
        rates(&["Compute"], &filters)
    };
    let cases = [
        // Twice as many regions and types; Windows beside; dedicated beside.
        (without(0), 4),
        (without(1), 4),
        (without(2), 3),
        (without(3), 3),
        // Under either plan.
        (rates(&[], &ALL), 4),
        // Everything.
        (rates(&[], &[]), 32),
    ];
    let calls = cases.clone().map(|(call, _)| call);
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    for (outcome, (call, expected)) in outcomes.iter().zip(cases) {
        assert_eq!(listed(outcome).0.len(), expected, "{call}");
    }
}

#[test]
fn pages_hold_as_many_as_the_test_says() {
    let loopback = endpoint();
    let calls = [rates(&[], &[])];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    let (whole, pages) = listed(&outcomes[0]);
    assert_eq!(pages, 1);
    loopback.limit_pages(15);
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    let (paged, pages) = listed(&outcomes[0]);
    assert_eq!(pages, 3);
    assert_eq!(paged, whole);
    assert_eq!(loopback.calls("savingsplans", "DescribeSavingsPlansOfferingRates"), 4);
}

#[test]
fn other_regions_have_no_endpoint() {
    let loopback = endpoint();
    let operation = "describe_savings_plans_offering_rates";
    let calls = [sdk::call("savingsplans", "eu-west-1", operation, json!({}))];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    assert_eq!(outcomes[0]["code"], "SignatureDoesNotMatch");
}
