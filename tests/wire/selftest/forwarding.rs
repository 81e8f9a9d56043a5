use aws_sdk_cloudwatch::error::ProvideErrorMetadata;
use serde_json::{Value, json};

use crate::wire::clients::cloudwatch;
use crate::wire::loopback::{Loopback, Moto, Operation};
use crate::wire::sdk;

#[test]
fn what_is_not_imitated_goes_to_moto() {
    let Some(moto) = Moto::start() else { return };
    let loopback = Loopback::start(Some(moto.url()));
    let calls = [
        sdk::call("sts", "eu-central-1", "get_caller_identity", json!({})),
        sdk::call("ec2", "eu-central-1", "describe_regions", json!({})),
    ];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    assert_eq!(outcomes[0]["answer"]["Account"], "123456789012");
    let regions = sdk::rows(&outcomes[1], "Regions").iter();
    let names: Vec<&str> = regions.filter_map(|region| region["RegionName"].as_str()).collect();
    assert!(names.contains(&"eu-central-1"), "{names:?}");

    let seen = |service: &str, operation: &str| Operation {
        service: service.to_owned(),
        operation: operation.to_owned(),
        region: "eu-central-1".to_owned(),
    };
    let expected = [(seen("ec2", "DescribeRegions"), 1), (seen("sts", "GetCallerIdentity"), 1)];
    assert_eq!(loopback.call_counts(), expected.into());
    assert_eq!(loopback.actions(), ["ec2:DescribeRegions", "sts:GetCallerIdentity"]);
    loopback.reset_calls();
    assert!(loopback.actions().is_empty());
}

#[test]
fn what_moto_lacks_is_refused_once() {
    let Some(moto) = Moto::start() else { return };
    let loopback = Loopback::start(Some(moto.url()));
    refused_once(&loopback, &[listings()]);
}

#[tokio::test]
async fn without_moto_the_rest_is_refused_once() {
    let loopback = Loopback::start(None);
    let request = cloudwatch(&loopback.url(), "us-east-1").describe_alarms();
    let error = request.send().await.expect_err("alarms are not imitated");
    assert_eq!(error.code(), Some("InvalidAction"));
    let identity = sdk::call("sts", "us-east-1", "get_caller_identity", json!({}));
    refused_once(&loopback, &[listings(), identity]);
}

/// What nobody implements.
fn listings() -> Value {
    sdk::call("ec2", "us-east-1", "describe_reserved_instances_listings", json!({}))
}

fn refused_once(loopback: &Loopback, calls: &[Value]) {
    let Some(outcomes) = sdk::outcomes(&loopback.url(), calls) else { return };
    for (outcome, call) in outcomes.iter().zip(calls) {
        assert_eq!(outcome["code"], "InvalidAction", "{call}");
    }
    assert_eq!(loopback.calls("ec2", "DescribeReservedInstancesListings"), 1);
}
