//! What the parts of resources run that services bill, by documents of a few lines.

use super::tests::{change, document, on_demand, one, read, types};
use crate::domain::{Missing, OperatingSystem, PlannedCount, PlannedInstances, Tenancy};
use serde_json::{Value, json};

/// What a resource without a configuration runs, which is its only part.
fn only(resource_type: &str, after: &Value, unknown: &Value) -> PlannedInstances {
    let address = format!("{resource_type}.a");
    let changes = [change(&address, resource_type, after, unknown)];
    one(&read(&document(&changes, &Value::Null), None), &address)
}

fn spot(count: u64) -> PlannedCount {
    PlannedCount { spot: count, ..PlannedCount::default() }
}

/// The catalog has 8 vCPUs for p3.2xlarge and 32 for p3.8xlarge.
#[test]
fn batch_starts_as_many_instances_as_have_its_vcpus() {
    let count = |resources: Value| {
        let after = json!({"compute_resources": [resources]});
        only("aws_batch_compute_environment", &after, &json!({}))
    };
    let desired = json!({"type": "SPOT", "instance_type": ["p3.2xlarge"], "min_vcpus": 0,
        "desired_vcpus": 17});
    assert_eq!(count(desired).payment, Ok(spot(3)), "17 / 8, rounded up");
    let minimum = json!({"instance_type": ["p3.2xlarge"], "min_vcpus": 16, "desired_vcpus": 8});
    assert_eq!(count(minimum).payment, on_demand(2));
    let idle = json!({"instance_type": ["p3.2xlarge", "p3.8xlarge"], "max_vcpus": 64});
    assert_eq!(count(idle).payment, on_demand(0));
    let uneven = json!({"instance_type": ["p3.2xlarge", "p3.8xlarge"], "min_vcpus": 32});
    let uneven = count(uneven);
    assert_eq!(types(&uneven), Ok(vec!["p3.2xlarge", "p3.8xlarge"]));
    let reason = "its instance types have different numbers of vCPUs".to_owned();
    assert_eq!(uneven.count, Err(Missing::Elsewhere(reason)));
}

/// Batch computes what nobody desires.
#[test]
fn batch_starts_with_its_minimum_where_the_rest_is_computed() {
    let after = json!({"compute_resources": [
        {"instance_type": ["p3.2xlarge"], "min_vcpus": 8}]});
    let unknown = json!({"compute_resources": [{"desired_vcpus": true}]});
    let environment = only("aws_batch_compute_environment", &after, &unknown);
    assert_eq!(environment.payment, on_demand(1));
    assert!(environment.assumed.is_some(), "a number may be written");
}

#[test]
fn a_reservation_has_the_system_and_the_tenancy_that_it_states() {
    let after = json!({"instance_type": "g5.xlarge", "instance_count": 3,
        "instance_platform": "Windows", "tenancy": "dedicated"});
    let reservation = only("aws_ec2_capacity_reservation", &after, &json!({}));
    assert_eq!(reservation.payment, on_demand(3));
    assert_eq!(reservation.operating_system, Ok(OperatingSystem::Windows));
    assert_eq!(reservation.tenancy, Ok(Tenancy::Dedicated));
}

/// The provider computes the groups that nobody writes.
#[test]
fn groups_of_emr_that_nobody_writes_are_no_parts() {
    let address = "aws_emr_cluster.a";
    let after = json!({"master_instance_group": [
        {"instance_type": "g4dn.xlarge", "bid_price": "0.3"}]});
    let unknown = json!({"core_instance_group": true});
    let parts = |written: Value| -> Vec<(String, PlannedInstances)> {
        let changes = [change(address, "aws_emr_cluster", &after, &unknown)];
        let configuration = json!({"root_module": {"resources": [
            {"address": address, "expressions": written}]}});
        let plan = read(&document(&changes, &configuration), None);
        let parts = plan.instances.into_iter();
        parts.map(|part| (part.address, part.after.expect("it is there"))).collect()
    };
    let unwritten = parts(json!({"master_instance_group": [{}]}));
    assert_eq!(unwritten.len(), 1);
    let (place, master) = &unwritten[0];
    assert_eq!((place.as_str(), &master.payment), (address, &Ok(spot(1))));
    assert_eq!(master.service.as_deref(), Some("fees of Amazon EMR"));
    let expression = json!({"instance_type": {"references": ["var.x"]}});
    let written =
        parts(json!({"master_instance_group": [{}], "core_instance_group": [expression]}));
    let places: Vec<&str> = written.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(
        places,
        ["aws_emr_cluster.a.core_instance_group", "aws_emr_cluster.a.master_instance_group"]
    );
    assert_eq!(types(&written[0].1), Err(Missing::AfterApply));
}
