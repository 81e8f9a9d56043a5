//! What goes wrong while prices are read: what was known before stays, whole and
//! usable.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Cache, IN_IRELAND, IN_VIRGINIA, IRELAND, LISTS_A_REGION, VIRGINIA, dollars, publish};
use crate::wire::audit::command::Run;
use crate::wire::loopback::{Fault, Loopback, PlanRate, Price, Target, Times};

const BOTH: &str = "us-east-1,eu-west-1";
const RATES: (&str, &str) = ("savingsplans", "DescribeSavingsPlansOfferingRates");

fn lists() -> Target {
    Target::operation("pricing", "GetProducts")
}

fn rates() -> Target {
    Target::operation(RATES.0, RATES.1)
}

/// An AWS whose prices have all changed: on-demand 2.00, reserved 63% of it,
/// spot 0.70, the plan 1.50.
fn later() -> Loopback {
    let loopback = Loopback::start(None);
    for (region, zone) in [(VIRGINIA, "us-east-1a"), (IRELAND, "eu-west-1a")] {
        loopback.put_price(Price::linux("g5.xlarge", region, "2.00"));
        loopback.put_spot_prices(region, zone, "g5.xlarge", "Linux/UNIX", &[(0, "0.70")]);
        loopback.put_plan_rate(PlanRate {
            plan: "Compute",
            years: 1,
            payment: "No Upfront",
            instance_type: "g5.xlarge",
            region,
            hourly: "1.50",
        });
    }
    loopback
}

const LATER_IN_VIRGINIA: [(&str, &str); 4] = [
    ("us-east-1 g5.xlarge on-demand", "2.00"),
    ("us-east-1 g5.xlarge reserved-1yr-no-upfront", "1.26"),
    ("us-east-1 g5.xlarge spot", "0.70"),
    ("us-east-1 g5.xlarge compute-savings-plan-1yr-no-upfront", "1.50"),
];

/// The cache of both regions before the bad day.
fn before() -> Cache {
    let loopback = Loopback::start(None);
    publish(&loopback);
    Cache::refreshed(&loopback, BOTH)
}

/// The gaps of the last refresh: what, where, reason.
fn gaps(cache: &Cache) -> Vec<(String, String, String)> {
    let run = cache.command(&["pricing", "status", "--format", "json"]).run();
    let status = run.json(0);
    let gaps = status["cache"]["gaps"].as_array().expect("a list");
    let text = |gap: &Value, field: &str| gap[field].as_str().expect("words").to_owned();
    gaps.iter().map(|gap| (text(gap, "what"), text(gap, "where"), text(gap, "reason"))).collect()
}

#[test]
fn without_the_savings_plans_the_rest_is_read() {
    let cache = before();
    let loopback = later();
    loopback.inject(rates(), Fault::AccessDenied, Times::Always);
    let run = cache.refresh(&loopback, VIRGINIA);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.ends_with("refreshed 1 region; 1 gap\n"), "{}", run.stderr);
    // The rate of before stays beside what is new.
    let mut expected = LATER_IN_VIRGINIA.to_vec();
    expected[3] = IN_VIRGINIA[3];
    expected.extend(IN_IRELAND);
    assert_eq!(cache.prices(), dollars(&expected));

    let [(what, place, reason)] = gaps(&cache).try_into().expect("one gap");
    assert_eq!((what.as_str(), place.as_str()), ("savings plan rates", VIRGINIA));
    assert_eq!(
        reason,
        "savingsplans:DescribeSavingsPlansOfferingRates: AccessDeniedException: User is not \
         authorized to perform: savingsplans:DescribeSavingsPlansOfferingRates; previous \
         prices are kept"
    );
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "not read: savings plan rates of us-east-1: ",
        "; hint: allow savingsplans:DescribeSavingsPlansOfferingRates",
    ] {
        assert!(said.contains(words), "`{words}` is not in\n{}", run.stdout);
    }
}

#[test]
fn without_any_price_list_the_cache_is_not_touched() {
    let cache = before();
    let untouched = cache.bytes();
    let loopback = later();
    loopback.inject(lists(), Fault::AccessDenied, Times::Always);
    let run = cache.refresh(&loopback, BOTH);
    assert_eq!(
        run.error(1),
        "error: no region could be read (2 tried)\n  \
         caused by: pricing:GetProducts: AccessDeniedException: User is not authorized to \
         perform: pricing:GetProducts\n\
         hint: allow pricing:GetProducts; `gpucost setup iam` prints the full policy\n"
    );
    assert_eq!(cache.bytes(), untouched);
    assert_eq!(cache.names(), ["prices.json.gz"]);
}

#[test]
fn a_region_that_fails_keeps_its_last_prices() {
    let cache = before();
    let loopback = later();
    let of_ireland = lists().asking_for(IRELAND);
    loopback.inject(of_ireland, Fault::AccessDenied, Times::Always);
    let spot = Target::operation("ec2", "DescribeSpotPriceHistory").in_region(IRELAND);
    loopback.inject(spot, Fault::AuthFailure, Times::Always);
    loopback.inject(rates().asking_for(IRELAND), Fault::AccessDenied, Times::Always);
    let run = cache.refresh(&loopback, BOTH);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(cache.prices(), dollars(&[LATER_IN_VIRGINIA, IN_IRELAND].concat()));
    let gaps = gaps(&cache);
    let parts: Vec<(&str, &str)> =
        gaps.iter().map(|(what, place, _)| (what.as_str(), place.as_str())).collect();
    let expected = ["live prices", "savings plan rates", "spot prices"];
    assert_eq!(parts, expected.map(|what| (what, IRELAND)));
    let rows = cache.look_up("g5.xlarge", IRELAND);
    assert_eq!(rows[0]["on_demand_hourly"], 1.2);
    assert_eq!(rows[0]["origin"], "cache");
}

#[test]
fn one_throttle_of_each_is_waited_out() {
    let loopback = Loopback::start(None);
    publish(&loopback);
    let spot = Target::operation("ec2", "DescribeSpotPriceHistory");
    for target in [lists(), rates(), spot] {
        loopback.inject(target, Fault::Throttle, Times::Count(1));
    }
    let cache = Cache::none();
    let run = cache.refresh(&loopback, VIRGINIA);
    assert!(run.stderr.ends_with("refreshed 1 region; 0 gaps\n"), "{}", run.stderr);
    assert_eq!(cache.prices(), dollars(&IN_VIRGINIA));
    assert_eq!(loopback.calls("pricing", "GetProducts"), LISTS_A_REGION + 1);
    assert_eq!(loopback.calls(RATES.0, RATES.1), 2);
    assert_eq!(loopback.calls("ec2", "DescribeSpotPriceHistory"), 2);
}

#[test]
fn a_refresh_that_is_killed_leaves_the_last_one() {
    let cache = before();
    let untouched = cache.bytes();
    let loopback = later();
    // Held back at the end: everything else has been answered by then.
    loopback.inject(rates(), Fault::Hang, Times::Count(1));
    let mut command = cache.refresh_command(&loopback, VIRGINIA);
    let mut child = command.start();
    let begin = Instant::now();
    while loopback.calls("pricing", "GetProducts") < LISTS_A_REGION
        || loopback.calls(RATES.0, RATES.1) == 0
    {
        assert!(begin.elapsed() < Duration::from_secs(20), "not all was asked for");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("our own child can be killed");
    let ended = child.wait().expect("our own child can be asked");
    assert_eq!(ended.code(), None, "it was killed and did not end by itself");
    assert_eq!(cache.bytes(), untouched);
    assert_eq!(cache.names(), ["prices.json.gz"]);
    assert_eq!(cache.look_up("g5.xlarge", VIRGINIA)[0]["on_demand_hourly"], 1.1);

    // As if it had been killed while it wrote.
    for number in 0..3 {
        let left = format!(".prices.json.gz.{}.{number}.tmp", child.id());
        std::fs::write(cache.folder().join(left), b"half").expect("our own folder");
    }
    let run = cache.refresh(&loopback, VIRGINIA);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(cache.prices(), dollars(&[LATER_IN_VIRGINIA, IN_IRELAND].concat()));
}

#[test]
fn of_two_at_once_one_whole_cache_is_left() {
    for _ in 0..3 {
        let loopback = Loopback::start(None);
        publish(&loopback);
        loopback.set_latency(Duration::from_millis(30));
        let cache = Cache::none();
        let mut commands =
            [VIRGINIA, IRELAND].map(|region| cache.refresh_command(&loopback, region));
        let children = commands.each_mut().map(|command| command.start());
        for run in children.map(Run::of) {
            assert_eq!(run.code, 0, "{}", run.stderr);
        }
        assert_eq!(cache.names(), ["prices.json.gz"]);
        let left = cache.prices();
        // Either alone, or what was read later on top of what was read before.
        let possible = [
            dollars(&IN_VIRGINIA),
            dollars(&IN_IRELAND),
            dollars(&[IN_VIRGINIA, IN_IRELAND].concat()),
        ];
        assert!(possible.contains(&left), "{left:#?}");
    }
}
