use std::time::{Duration, Instant};

use aws_sdk_cloudwatch::error::ProvideErrorMetadata;
use serde_json::{Value, json};

use crate::wire::clients::{cloudwatch, cloudwatch_as};
use crate::wire::loopback::{Fault, Loopback, Target, Times};
use crate::wire::sdk;

/// One service of each protocol.
const SERVICES: [&str; 5] = ["ec2", "sts", "cloudwatch", "pricing", "savingsplans"];
/// One region for each fault.
const REGIONS: [&str; 5] = ["us-east-1", "us-east-2", "us-west-1", "us-west-2", "eu-west-1"];

/// A call of each of the services but CloudWatch.
fn calls(region: &str) -> [Value; 4] {
    [
        sdk::call("ec2", region, "describe_spot_price_history", json!({})),
        sdk::call("sts", region, "get_caller_identity", json!({})),
        sdk::call("pricing", region, "get_products", json!({ "ServiceCode": "AmazonEC2" })),
        sdk::call("savingsplans", region, "describe_savings_plans_offering_rates", json!({})),
    ]
}

#[tokio::test]
async fn each_protocol_words_its_errors() {
    let loopback = Loopback::start(None);
    let cases = [
        (
            Fault::AccessDenied,
            [
                "UnauthorizedOperation", "AccessDenied", "AccessDeniedException",
                "AccessDeniedException", "AccessDeniedException",
            ],
            1,
        ),
        (
            Fault::AuthFailure,
            [
                "AuthFailure", "InvalidClientTokenId", "InvalidClientTokenId",
                "UnrecognizedClientException", "UnrecognizedClientException",
            ],
            1,
        ),
        (
            Fault::ExpiredToken,
            [
                "RequestExpired", "ExpiredToken", "ExpiredToken", "ExpiredTokenException",
                "ExpiredTokenException",
            ],
            1,
        ),
        (
            Fault::Throttle,
            [
                "RequestLimitExceeded", "Throttling", "ThrottlingException", "ThrottlingException",
                "ThrottlingException",
            ],
            3,
        ),
        (
            Fault::ServerError,
            [
                "InternalError", "InternalFailure", "InternalServiceFault", "InternalFailure",
                "InternalServerException",
            ],
            3,
        ),
    ];
    for ((fault, ..), region) in cases.iter().zip(REGIONS) {
        for service in SERVICES {
            let target = Target::service(service).in_region(region);
            loopback.inject(target, *fault, Times::Always);
        }
    }
    let everywhere: Vec<Value> = REGIONS.into_iter().flat_map(calls).collect();
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &everywhere) else { return };
    for (((fault, expected, attempts), region), outcomes) in
        cases.into_iter().zip(REGIONS).zip(outcomes.chunks(4))
    {
        let request = cloudwatch(&loopback.url(), region).list_metrics();
        let error = request.send().await.expect_err("every attempt fails");
        let mut codes: Vec<_> = outcomes.iter().map(|outcome| outcome["code"].as_str()).collect();
        codes.insert(2, error.code());
        assert_eq!(codes, expected.map(Some), "{fault:?}");
        for (seen, count) in loopback.call_counts() {
            if seen.region == region {
                assert_eq!(count, attempts, "{fault:?}: attempts of {seen:?}");
            }
        }
    }
}

#[tokio::test]
async fn two_failures_are_retried_away() {
    for fault in [Fault::Throttle, Fault::ServerError, Fault::DropConnection] {
        let loopback = Loopback::start(None);
        let client = cloudwatch(&loopback.url(), "us-east-1");
        let target = Target::operation("cloudwatch", "ListMetrics");
        loopback.inject(target, fault, Times::Count(2));
        let outcome = client.list_metrics().send().await;
        assert!(outcome.is_ok(), "{fault:?}: {outcome:?}");
        assert_eq!(loopback.calls("cloudwatch", "ListMetrics"), 3, "{fault:?}");
    }
}

#[tokio::test]
async fn faults_befall_one_region_or_caller() {
    let loopback = Loopback::start(None);
    let here = Target::service("cloudwatch").in_region("us-east-1");
    loopback.inject(here, Fault::AccessDenied, Times::Always);
    let them = Target::service("cloudwatch").for_access_key("other");
    loopback.inject(them, Fault::AccessDenied, Times::Always);
    let denied = async |region: &str, access_key: &str| {
        let client = cloudwatch_as(&loopback.url(), region, access_key);
        client.list_metrics().send().await.is_err()
    };
    assert!(denied("us-east-1", "test").await);
    assert!(!denied("us-west-2", "test").await);
    assert!(denied("us-west-2", "other").await);
}

#[tokio::test]
async fn answers_come_late_or_never() {
    const LATE: Duration = Duration::from_millis(150);
    let loopback = Loopback::start(None);
    let client = cloudwatch(&loopback.url(), "us-east-1");
    let list_metrics = async || client.list_metrics().send().await.is_ok();
    let operation = Target::operation("cloudwatch", "ListMetrics");

    loopback.inject(operation.clone(), Fault::Delay(LATE), Times::Count(1));
    let begin = Instant::now();
    assert!(list_metrics().await && begin.elapsed() >= LATE);

    loopback.set_latency(LATE);
    let begin = Instant::now();
    assert!(list_metrics().await && begin.elapsed() >= LATE);
    loopback.set_latency(Duration::ZERO);

    loopback.inject(operation, Fault::Hang, Times::Count(1));
    let hung = tokio::time::timeout(LATE, list_metrics()).await;
    assert!(hung.is_err());
    // The next connection is served as ever.
    assert!(list_metrics().await);
}
