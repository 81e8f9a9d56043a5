use aws_sdk_ec2::error::ProvideErrorMetadata;

use crate::wire::clients::Clients;
use crate::wire::loopback::{Loopback, Moto, Operation};

#[tokio::test]
async fn what_is_not_imitated_goes_to_moto() {
    let Some(moto) = Moto::start() else { return };
    let loopback = Loopback::start(Some(moto.url()));
    let clients = Clients::new(&loopback.url(), "eu-central-1");
    let identity = clients.sts.get_caller_identity().send().await.expect("moto knows STS");
    assert_eq!(identity.account(), Some("123456789012"));

    let regions = clients.ec2.describe_regions().send().await.expect("moto knows regions");
    let names: Vec<_> =
        regions.regions().iter().filter_map(|region| region.region_name()).collect();
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

#[tokio::test]
async fn what_moto_lacks_is_refused_once() {
    let Some(moto) = Moto::start() else { return };
    let loopback = Loopback::start(Some(moto.url()));
    refused_once(&loopback).await;
}

#[tokio::test]
async fn without_moto_the_rest_is_refused_once() {
    let loopback = Loopback::start(None);
    refused_once(&loopback).await;
    let clients = Clients::new(&loopback.url(), "us-east-1");
    let request = clients.sts.get_caller_identity();
    let error = request.send().await.expect_err("there is no STS");
    assert_eq!(error.code(), Some("InvalidAction"));
    let request = clients.cloudwatch.describe_alarms();
    let error = request.send().await.expect_err("alarms are not imitated");
    assert_eq!(error.code(), Some("InvalidAction"));
}

async fn refused_once(loopback: &Loopback) {
    let clients = Clients::new(&loopback.url(), "us-east-1");
    let request = clients.ec2.describe_reserved_instances_listings();
    let error = request.send().await.expect_err("nobody implements it");
    assert_eq!(error.code(), Some("InvalidAction"));
    assert_eq!(loopback.calls("ec2", "DescribeReservedInstancesListings"), 1);
}
