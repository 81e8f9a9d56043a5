use std::time::{Duration, Instant};

use aws_sdk_ec2::error::ProvideErrorMetadata;

use crate::wire::clients::Clients;
use crate::wire::loopback::{Fault, Loopback, Target, Times};

/// One call of each protocol; the error codes, `None` for an answer.
async fn codes(clients: &Clients) -> [Option<String>; 5] {
    fn code<T>(outcome: Result<T, impl ProvideErrorMetadata>) -> Option<String> {
        outcome.err().map(|error| error.code().unwrap_or("none").to_owned())
    }
    let answers = tokio::join!(
        clients.ec2.describe_spot_price_history().send(),
        clients.sts.get_caller_identity().send(),
        clients.cloudwatch.list_metrics().send(),
        clients.pricing.get_products().service_code("AmazonEC2").send(),
        clients.savings_plans.describe_savings_plans_offering_rates().send(),
    );
    [code(answers.0), code(answers.1), code(answers.2), code(answers.3), code(answers.4)]
}

const SERVICES: [&str; 5] = ["ec2", "sts", "cloudwatch", "pricing", "savingsplans"];

#[tokio::test]
async fn each_protocol_words_its_errors() {
    let loopback = Loopback::start(None);
    let clients = Clients::new(&loopback.url(), "us-east-1");
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
    for (fault, expected, attempts) in cases {
        loopback.clear_faults();
        loopback.reset_calls();
        for service in SERVICES {
            loopback.inject(Target::service(service), fault, Times::Always);
        }
        assert_eq!(codes(&clients).await, expected.map(|code| Some(code.to_owned())));
        for (seen, count) in loopback.call_counts() {
            assert_eq!(count, attempts, "{fault:?}: attempts of {seen:?}");
        }
    }
}

#[tokio::test]
async fn two_failures_are_retried_away() {
    for fault in [Fault::Throttle, Fault::ServerError, Fault::DropConnection] {
        let loopback = Loopback::start(None);
        let clients = Clients::new(&loopback.url(), "us-east-1");
        let target = Target::operation("cloudwatch", "ListMetrics");
        loopback.inject(target, fault, Times::Count(2));
        let outcome = clients.cloudwatch.list_metrics().send().await;
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
        let clients = Clients::with_access_key(&loopback.url(), region, access_key);
        clients.cloudwatch.list_metrics().send().await.is_err()
    };
    assert!(denied("us-east-1", "test").await);
    assert!(!denied("us-west-2", "test").await);
    assert!(denied("us-west-2", "other").await);
}

#[tokio::test]
async fn answers_come_late_or_never() {
    const LATE: Duration = Duration::from_millis(150);
    let loopback = Loopback::start(None);
    let clients = Clients::new(&loopback.url(), "us-east-1");
    let list_metrics = async || clients.cloudwatch.list_metrics().send().await.is_ok();
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
