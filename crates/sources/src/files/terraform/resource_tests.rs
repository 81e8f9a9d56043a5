//! What the parts of resources run that services bill; that what is not known of a resource leaves
//! what is known as it is; and that nothing panics, whatever is read as a plan.

use super::tests::{change, document, on_demand, one, read, types};
use super::{KINDS, LAUNCH_TEMPLATE, RUNNING, read_terraform_plan};
use crate::domain::{Missing, OperatingSystem, PlannedCount, PlannedInstances, Tenancy};
use proptest::prelude::*;
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

/// One of each sort that is not known, beside what is.
#[test]
fn what_is_unknown_leaves_the_rest_as_it_is() {
    let after = json!({"instance_type": "p4d.24xlarge", "tags": {"team": "a"},
        "availability_zone": "us-east-1a"});
    let known = |unknown: Value, written: Value| {
        let changes = [change("aws_instance.a", "aws_instance", &after, &unknown)];
        let configuration = json!({"root_module": {"resources": [
            {"address": "aws_instance.a", "expressions": written}]}});
        one(&read(&document(&changes, &configuration), None), "aws_instance.a")
    };
    let expression = json!({"references": ["var.x"]});
    for (key, unknown) in [
        ("tenancy", json!({"tenancy": true})),
        ("instance_market_options", json!({"instance_market_options": true})),
        ("tag_specifications", json!({"tag_specifications": true})),
        ("launch_template", json!({"launch_template": true})),
    ] {
        let mut written = json!({});
        written[key] = expression.clone();
        let planned = known(unknown, written);
        assert_eq!(types(&planned), Ok(vec!["p4d.24xlarge"]), "{key}");
        assert_eq!(planned.count, Ok(1), "{key}");
        assert_eq!(planned.region.as_deref(), Ok("us-east-1"), "{key}");
        assert_eq!(planned.tags["team"].as_deref(), Some("a"), "{key}");
        let after_apply = Err(Missing::AfterApply);
        assert_eq!(planned.tenancy == Err(Missing::AfterApply), key == "tenancy");
        let is_market_open = planned.payment == after_apply;
        assert_eq!(is_market_open, key == "instance_market_options");
        assert_eq!(planned.assumed.is_some(), key == "launch_template");
        assert_eq!(planned.more_tags, !["tenancy", "instance_market_options"].contains(&key));
    }
}

/// A resource of which all is known only after apply is there all the same.
#[test]
fn a_resource_that_is_wholly_unknown_is_there() {
    let changes = [change("aws_instance.a", "aws_instance", &Value::Null, &json!(true))];
    let plan = read(&document(&changes, &Value::Null), None);
    let planned = one(&plan, "aws_instance.a");
    assert_eq!(types(&planned), Err(Missing::AfterApply));
    assert!(planned.more_tags);
}

/// Without the configuration nobody sees whether somebody wrote a tenancy.
#[test]
fn computed_attributes_are_the_usual_ones_where_nobody_can_tell() {
    let changes = [
        change(
            "aws_instance.a",
            "aws_instance",
            &json!({"instance_type": "g5.xlarge"}),
            &json!({"tenancy": true, "instance_market_options": true}),
        ),
        change(
            "aws_eks_node_group.b",
            "aws_eks_node_group",
            &json!({"instance_types": ["g5.xlarge"], "scaling_config": [{"desired_size": 2}]}),
            &json!({"capacity_type": true, "ami_type": true}),
        ),
        change(
            "aws_instance.c",
            "aws_instance",
            &json!({"instance_type": "g5.xlarge", "tenancy": "default"}),
            &json!({"id": true}),
        ),
    ];
    let plan = read(&document(&changes, &Value::Null), None);
    for (address, count, is_assumed) in [
        ("aws_instance.a", 1, true),
        ("aws_eks_node_group.b", 2, true),
        ("aws_instance.c", 1, false),
    ] {
        let planned = one(&plan, address);
        assert_eq!(types(&planned), Ok(vec!["g5.xlarge"]), "{address}");
        assert_eq!(planned.payment, on_demand(count), "{address}");
        assert_eq!(planned.tenancy, Ok(Tenancy::Shared), "{address}");
        assert_eq!(planned.operating_system, Ok(OperatingSystem::Linux));
        assert_eq!(planned.assumed.is_some(), is_assumed, "{address}");
    }
}

/// What a group or fleet may launch is named beside what is not known.
#[test]
fn types_that_are_named_stand_beside_unknown_ones() {
    let mixed = |overrides: Value| {
        json!({"desired_capacity": 3, "mixed_instances_policy": [{"launch_template": [{
            "launch_template_specification": [{"launch_template_id": "lt-elsewhere"}],
            "override": overrides}]}]})
    };
    let changes = [
        change(
            "aws_autoscaling_group.one_open",
            "aws_autoscaling_group",
            &mixed(json!([{"instance_type": "p4d.24xlarge"}, {"weighted_capacity": "1"}])),
            &json!({}),
        ),
        change(
            "aws_autoscaling_group.named",
            "aws_autoscaling_group",
            &mixed(json!([{"instance_type": "p4d.24xlarge"}])),
            &json!({}),
        ),
        change(
            "aws_ec2_fleet.weights",
            "aws_ec2_fleet",
            &json!({"target_capacity_specification": [{"total_target_capacity": 4}],
                "launch_template_config": [{"override": [{"instance_type": "p4d.24xlarge"}]}]}),
            &json!({"launch_template_config": [{"override": [{"weighted_capacity": true}]}]}),
        ),
    ];
    let plan = read(&document(&changes, &Value::Null), None);
    let elsewhere =
        Missing::Elsewhere("its launch template lt-elsewhere is not in the plan".to_owned());
    let open = one(&plan, "aws_autoscaling_group.one_open");
    assert_eq!(open.types, ["p4d.24xlarge"]);
    assert_eq!(open.more_types, Some(elsewhere.clone()));
    assert_eq!(open.count, Ok(3));
    let named = one(&plan, "aws_autoscaling_group.named");
    assert_eq!(types(&named), Ok(vec!["p4d.24xlarge"]));
    assert_eq!(named.payment, on_demand(3));
    assert_eq!(named.assumed, Some(elsewhere));
    let weights = one(&plan, "aws_ec2_fleet.weights");
    assert_eq!(types(&weights), Ok(vec!["p4d.24xlarge"]));
    assert_eq!(weights.count, Err(Missing::AfterApply));
}

/// The provider computes how a group is divided where nobody writes it.
#[test]
fn what_nobody_writes_of_a_mixed_group_is_on_demand() {
    let policy = |more: Value| {
        let mut policy = json!({"launch_template": [
            {"launch_template_specification": [{"launch_template_id": "lt-elsewhere"}],
             "override": [{"instance_type": "p4d.24xlarge"}]}]});
        if let Some(distribution) = more.as_object().filter(|fields| !fields.is_empty()) {
            policy["instances_distribution"] = json!([distribution]);
        }
        json!({"desired_capacity": 4, "mixed_instances_policy": [policy]})
    };
    let read_with = |after: Value, unknown: Value, written: Value| {
        let address = "aws_autoscaling_group.g";
        let unknown = json!({"mixed_instances_policy": [unknown]});
        let changes = [change(address, "aws_autoscaling_group", &after, &unknown)];
        let configuration = json!({"root_module": {"resources": [
            {"address": address, "expressions": {"mixed_instances_policy": [written]}}]}});
        one(&read(&document(&changes, &configuration), None), address)
    };
    let open = json!({"instances_distribution": true});
    let planned = read_with(policy(json!({})), open.clone(), json!({"launch_template": [{}]}));
    assert_eq!(planned.payment, on_demand(4));
    // Written, it is known only after apply.
    let reference = json!({"references": ["var.x"]});
    let written = json!({"instances_distribution": [{"on_demand_base_capacity": reference}]});
    let planned = read_with(policy(json!({})), open, written.clone());
    assert_eq!(planned.payment, Err(Missing::AfterApply));
    let base = json!({"instances_distribution": [{"on_demand_base_capacity": true}]});
    let strategy = json!({"spot_allocation_strategy": "lowest-price"});
    let planned = read_with(policy(strategy.clone()), base.clone(), written);
    assert_eq!(planned.payment, Err(Missing::AfterApply));
    let other = json!({"instances_distribution": [{"spot_allocation_strategy": {}}]});
    let planned = read_with(policy(strategy), base, other);
    assert_eq!(planned.payment, on_demand(4));
}

/// An element of a list that is known only after apply has no value in the plan.
#[test]
fn a_type_of_a_node_group_that_is_not_known_is_not_left_out() {
    let types_of = |types: Value, unknown: Value| {
        let address = "aws_eks_node_group.g";
        let after = json!({"instance_types": types, "scaling_config": [{"desired_size": 2}]});
        let unknown = json!({"instance_types": unknown});
        let changes = [change(address, "aws_eks_node_group", &after, &unknown)];
        let planned = one(&read(&document(&changes, &Value::Null), None), address);
        (planned.types, planned.more_types)
    };
    let open = Some(Missing::AfterApply);
    let answer = types_of(json!(["g5.xlarge", null]), json!([false, true]));
    assert_eq!(answer, (vec!["g5.xlarge".to_owned()], open.clone()));
    assert_eq!(types_of(json!([null]), json!([true])), (vec![], open));
    let known = types_of(json!(["g5.xlarge"]), json!([false]));
    assert_eq!(known, (vec!["g5.xlarge".to_owned()], None));
    // What nobody writes is the default of EKS.
    let unwritten = types_of(Value::Null, json!(false));
    assert_eq!(unwritten, (vec!["t3.medium".to_owned()], None));
}

/// A plan's configuration leaves `dynamic` blocks out: what is missing there may be
/// written all the same.
#[test]
fn dynamic_blocks_are_not_known() {
    let read_with = |template: Value, group: Value| {
        let changes = [
            change(
                "aws_launch_template.t",
                "aws_launch_template",
                &json!({"name": "t", "instance_type": "g5.xlarge",
                    "placement": [{"group_name": "near"}]}),
                &template,
            ),
            change(
                "aws_autoscaling_group.g",
                "aws_autoscaling_group",
                &json!({"desired_capacity": 1, "launch_template": [{"name": "t"}],
                    "tag": [{"key": "team", "value": "ml", "propagate_at_launch": true},
                            {"value": "2"}, {"key": "stage", "value": "test"}]}),
                &group,
            ),
        ];
        let configuration = json!({"root_module": {"resources": [
            {"address": "aws_launch_template.t",
             "expressions": {"name": {"constant_value": "t"}}},
            {"address": "aws_autoscaling_group.g", "expressions": {}}]}});
        one(&read(&document(&changes, &configuration), None), "aws_autoscaling_group.g")
    };
    let known = read_with(json!({}), json!({}));
    assert_eq!(known.tenancy, Ok(Tenancy::Shared));
    assert_eq!(known.payment, on_demand(1));
    assert_eq!(known.tags["team"].as_deref(), Some("ml"));
    assert!(!known.tags.contains_key("stage") && !known.more_tags);

    let after_apply = Missing::AfterApply;
    let placed = read_with(json!({"placement": [{"tenancy": true}]}), json!({}));
    assert_eq!(placed.tenancy, Err(after_apply.clone()));
    let bought = read_with(json!({"instance_market_options": true}), json!({}));
    assert_eq!(bought.payment, Err(after_apply));
    let tagged = read_with(json!({"tag_specifications": true}), json!({}));
    assert!(tagged.more_tags);
    let named = read_with(json!({}), json!({"tag": [{}, {"key": true}, {}]}));
    assert!(named.more_tags);
    let passed_on = read_with(json!({}), json!({"tag": [{}, {}, {"propagate_at_launch": true}]}));
    assert_eq!(passed_on.tags["stage"], None, "it may be there");
}

/// Updates repeat the number that a group has today, and tools mask values in plans.
#[test]
fn a_group_has_its_minimum_and_a_masked_type_may_be_any() {
    let plan = |address: &str, resource_type: &str, after: Value| {
        change(address, resource_type, &after, &json!({}))
    };
    let changes = [
        plan(
            "aws_autoscaling_group.g",
            "aws_autoscaling_group",
            json!({"desired_capacity": 0, "min_size": 10, "launch_configuration": "c"}),
        ),
        plan(
            "aws_launch_configuration.c",
            "aws_launch_configuration",
            json!({"name": "c", "instance_type": "p4d.24xlarge"}),
        ),
        plan(
            "aws_eks_node_group.n",
            "aws_eks_node_group",
            json!({"instance_types": ["p4d.24xlarge"],
                "scaling_config": [{"desired_size": 1, "min_size": 4}]}),
        ),
        plan("aws_instance.m", "aws_instance", json!({"instance_type": "REDACTED_SENSITIVE"})),
    ];
    let terraform_plan = read(&document(&changes, &Value::Null), None);
    assert_eq!(one(&terraform_plan, "aws_autoscaling_group.g").count, Ok(10));
    assert_eq!(one(&terraform_plan, "aws_eks_node_group.n").count, Ok(4));
    let masked = one(&terraform_plan, "aws_instance.m");
    assert!(masked.types.is_empty() && masked.more_types.is_some());
}

/// Any JSON, with many of the keys that are searched for.
fn any_json() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "actions", "address", "after", "after_unknown", "before", "change", "instance_type",
        "launch_template", "launch_template_specification", "launch_template_config", "id", "name",
        "mixed_instances_policy", "override", "instances_distribution", "tags", "tags_all", "tag",
        "desired_capacity", "min_size", "scaling_config", "desired_size", "instance_types",
        "target_capacity_specification", "total_target_capacity", "availability_zone", "arn",
        "compute_resources", "core_instance_group", "endpoint_config_name", "instance_count",
        "instance_platform", "instance_type_configs", "master_instance_fleet", "min_vcpus",
        "production_variants", "template_url", "version", "weighted_capacity", "references",
        "expressions", "placement", "region",
    ]);
    let texts = prop::sample::select(vec![
        "g5.xlarge", "us-east-1a", "-", "arn:aws::::", "$Latest", "", "[\"", "99999999999",
        "create", "aws_launch_template.t", "spot", "\u{202e}|`<script>",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        texts.prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_makes_it_panic(
        changes in prop::collection::vec((any_json(), 0..RUNNING.len() + KINDS.len() + 3), 0..4),
        configuration in any_json(),
        bare in any_json(),
    ) {
        let text = bare.to_string();
        let _ = read_terraform_plan(text.as_bytes(), "any", None);
        let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.resource_type).collect();
        let others = [LAUNCH_TEMPLATE, "aws_launch_configuration", "aws_sagemaker_endpoint"];
        let types = [&RUNNING[..], &others[..], &kinds[..]].concat();
        let changes: Vec<Value> = changes
            .into_iter()
            .map(|(values, sort)| {
                let change = match values.clone() {
                    Value::Object(mut change) => {
                        change.insert("actions".to_owned(), json!(["update"]));
                        Value::Object(change)
                    }
                    values => json!({"actions": ["create"], "before": values, "after": {}}),
                };
                let mut element = json!({"change": change});
                if let Value::Object(values) = values {
                    element["other"] = Value::Object(values);
                }
                element["type"] = json!(types[sort]);
                element["address"] = json!("module.a.aws_launch_template.t");
                element
            })
            .collect();
        let document = json!({
            "format_version": "1.2",
            "resource_changes": changes,
            "configuration": {"root_module": configuration.clone()},
            "variables": configuration,
        });
        let plan = read_terraform_plan(document.to_string().as_bytes(), "any", None);
        prop_assert!(plan.is_ok());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_terraform_plan(bytes.as_slice(), "any", None);
    }
}
