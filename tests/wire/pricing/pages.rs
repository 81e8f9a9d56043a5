//! Answers in several pages, and how many calls a refresh makes.

use super::{Cache, IN_IRELAND, IN_VIRGINIA, IRELAND, LISTS_A_REGION, VIRGINIA, dollars, publish};
use crate::wire::loopback::{Loopback, PlanRate, Price};

const RATES: (&str, &str) = ("savingsplans", "DescribeSavingsPlansOfferingRates");

#[test]
fn a_list_of_three_pages_is_read_to_the_end() {
    let loopback = Loopback::start(None);
    // All five are asked for in one call.
    let types = [
        ("p2.xlarge", "0.9"),
        ("p3.2xlarge", "3.06"),
        ("p4d.24xlarge", "22"),
        ("p5.48xlarge", "55.04"),
        ("trn1.32xlarge", "21.5"),
    ];
    for (instance_type, hourly) in types {
        loopback.put_price(Price::linux(instance_type, VIRGINIA, hourly));
    }
    let whole = Cache::refreshed(&loopback, VIRGINIA);
    assert_eq!(loopback.calls("pricing", "GetProducts"), LISTS_A_REGION);

    loopback.reset_calls();
    loopback.limit_pages(2);
    let paged = Cache::refreshed(&loopback, VIRGINIA);
    assert_eq!(loopback.calls("pricing", "GetProducts"), LISTS_A_REGION + 2);
    for (instance_type, hourly) in types {
        let name = format!("{VIRGINIA} {instance_type} on-demand");
        assert_eq!(paged.prices().get(&name), dollars(&[(&name, hourly)]).get(&name));
    }
    assert_eq!(paged.prices(), whole.prices());
}

#[test]
fn rates_of_three_pages_are_read_to_the_end() {
    let loopback = Loopback::start(None);
    for (years, payment, hourly) in [
        (1, "No Upfront", "0.8"),
        (1, "Partial Upfront", "0.7"),
        (1, "All Upfront", "0.6"),
        (3, "No Upfront", "0.5"),
        (3, "Partial Upfront", "0.4"),
        (3, "All Upfront", "0.3"),
    ] {
        loopback.put_plan_rate(PlanRate {
            plan: "Compute",
            years,
            payment,
            instance_type: "g5.xlarge",
            region: IRELAND,
            hourly,
        });
    }
    // Each rate has a neighbour that passes the same filters: twelve in all.
    loopback.limit_pages(5);
    let cache = Cache::refreshed(&loopback, IRELAND);
    assert_eq!(loopback.calls(RATES.0, RATES.1), 3);
    let name = |term: &str| format!("eu-west-1 g5.xlarge compute-savings-plan-{term}");
    let expected = [
        ("1yr-no-upfront", "0.8"),
        ("1yr-partial-upfront", "0.7"),
        ("1yr-all-upfront", "0.6"),
        ("3yr-no-upfront", "0.5"),
        ("3yr-partial-upfront", "0.4"),
        ("3yr-all-upfront", "0.3"),
    ]
    .map(|(term, amount)| (name(term), amount));
    let expected: Vec<(&str, &str)> =
        expected.iter().map(|(name, amount)| (name.as_str(), *amount)).collect();
    assert_eq!(cache.prices(), dollars(&expected));
}

#[test]
fn a_region_takes_five_calls_and_no_other_region_is_asked() {
    let loopback = Loopback::start(None);
    publish(&loopback);
    let cache = Cache::none();
    let run = cache.refresh(&loopback, "us-east-1,eu-west-1");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.ends_with("refreshed 2 regions; 0 gaps\n"), "{}", run.stderr);
    let calls: Vec<(String, usize)> = loopback
        .call_counts()
        .into_iter()
        .map(|(seen, count)| {
            let name = format!("{}:{} {}", seen.service, seen.operation, seen.region);
            (name, count)
        })
        .collect();
    let expected = [
        ("ec2:DescribeSpotPriceHistory eu-west-1", 1),
        ("ec2:DescribeSpotPriceHistory us-east-1", 1),
        ("pricing:GetProducts us-east-1", 2 * LISTS_A_REGION),
        ("savingsplans:DescribeSavingsPlansOfferingRates us-east-1", 2),
    ];
    assert_eq!(calls, expected.map(|(name, count)| (name.to_owned(), count)));
    assert_eq!(cache.prices(), dollars(&[IN_VIRGINIA, IN_IRELAND].concat()));
}
