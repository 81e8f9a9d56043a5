//! What is read of plans, by documents of a few lines.

use super::*;
use crate::domain::{PlannedCount, PlannedInstances, Tenancy};
use serde_json::{Value, json};

pub(super) fn read(document: &Value, region: Option<&str>) -> TerraformPlan {
    let text = document.to_string();
    read_terraform_plan(text.as_bytes(), "plan.json", region).expect("a plan")
}

/// A plan of some changes, with a configuration.
pub(super) fn document(changes: &[Value], configuration: &Value) -> Value {
    json!({
        "format_version": "1.2",
        "terraform_version": "1.9.0",
        "resource_changes": changes,
        "configuration": configuration,
    })
}

pub(super) fn change(address: &str, resource_type: &str, after: &Value, unknown: &Value) -> Value {
    json!({
        "address": address, "mode": "managed", "type": resource_type,
        "provider_name": "registry.terraform.io/hashicorp/aws",
        "change": {"actions": ["create"], "before": null, "after": after, "after_unknown": unknown},
    })
}

pub(super) fn one(plan: &TerraformPlan, address: &str) -> PlannedInstances {
    let resource = plan.instances.iter().find(|resource| resource.address == address);
    resource.and_then(|resource| resource.after.clone()).expect("it is there")
}

pub(super) fn on_demand(count: u64) -> Planned<PlannedCount> {
    Ok(PlannedCount { on_demand: count, ..PlannedCount::default() })
}

/// All types, where they are known.
pub(super) fn types(instances: &PlannedInstances) -> Planned<Vec<&str>> {
    match &instances.more_types {
        Some(missing) => Err(missing.clone()),
        None => Ok(instances.types.iter().map(String::as_str).collect()),
    }
}

#[test]
fn regions_come_from_the_resource_then_its_provider_then_the_user() {
    let box_with = |address: &str, more: Value| {
        let mut after = json!({"instance_type": "g5.xlarge"});
        let more = more.as_object().expect("an object").clone();
        after.as_object_mut().expect("an object").extend(more);
        change(address, "aws_instance", &after, &json!({}))
    };
    let changes = [
        box_with(
            "aws_instance.own",
            json!({"region": "eu-west-3", "availability_zone": "us-east-1a"}),
        ),
        box_with("aws_instance.zone", json!({"availability_zone": "ap-south-1b"})),
        box_with("aws_instance.local", json!({"availability_zone": "us-west-2-lax-1a"})),
        box_with("aws_instance.plain", json!({})),
        box_with("module.west.aws_instance.aliased", json!({})),
        box_with("aws_instance.computed", json!({})),
        box_with("aws_instance.environment", json!({})),
    ];
    let resource = |address: &str, key: &str| json!({"address": address, "provider_config_key": key, "expressions": {}});
    let configuration = json!({
        "provider_config": {
            "aws": {"name": "aws", "expressions": {"region": {"references": ["var.place"]}}},
            "aws.west": {"name": "aws", "expressions": {"region": {"constant_value": "us-west-1"}}},
            "aws.odd": {"name": "aws", "expressions": {"region": {"references": ["local.place"]}}},
            "aws.bare": {"name": "aws"},
        },
        "root_module": {
            "resources": [
                resource("aws_instance.plain", "aws"),
                resource("aws_instance.computed", "aws.odd"),
                resource("aws_instance.environment", "aws.bare"),
            ],
            "module_calls": {"west": {"module": {
                "resources": [resource("aws_instance.aliased", "aws.west")]}}},
        },
    });
    let mut plan = document(&changes, &configuration);
    plan["variables"] = json!({"place": {"value": "eu-central-1"}});
    let regions = |fallback: Option<&str>| -> Vec<(String, Option<String>)> {
        let resources = read(&plan, fallback).instances.into_iter();
        resources
            .map(|planned| (planned.address, planned.after.expect("created").region.ok()))
            .collect()
    };
    let expected = |open: Option<&str>| -> Vec<(String, Option<String>)> {
        [
            ("aws_instance.computed", open),
            ("aws_instance.environment", open),
            ("aws_instance.local", Some("us-west-2")),
            ("aws_instance.own", Some("eu-west-3")),
            ("aws_instance.plain", Some("eu-central-1")),
            ("aws_instance.zone", Some("ap-south-1")),
            ("module.west.aws_instance.aliased", Some("us-west-1")),
        ]
        .map(|(address, region)| (address.to_owned(), region.map(str::to_owned)))
        .to_vec()
    };
    assert_eq!(regions(None), expected(None));
    assert_eq!(regions(Some("sa-east-1")), expected(Some("sa-east-1")));
}

/// Two templates by for_each, and a group for each.
#[test]
fn groups_launch_from_the_template_of_their_own_key() {
    let template = |key: &str, name: &str| {
        let after = json!({"name": key, "instance_type": name,
            "placement": [{"tenancy": "dedicated"}],
            "tag_specifications": [
                {"resource_type": "volume", "tags": {"a": "1"}},
                {"resource_type": "instance", "tags": {"b": "2"}}]});
        let address = format!("aws_launch_template.t[\"{key}\"]");
        change(&address, "aws_launch_template", &after, &json!({"id": true}))
    };
    let group = |key: &str| {
        let after = json!({"min_size": 2, "max_size": 5, "desired_capacity": null,
            "launch_template": [{"version": "$Latest"}],
            "tag": [{"key": "c", "value": "3", "propagate_at_launch": true},
                    {"key": "d", "value": "4", "propagate_at_launch": false}]});
        let unknown = json!({"desired_capacity": true, "launch_template": [{"id": true}]});
        let address = format!("aws_autoscaling_group.g[\"{key}\"]");
        change(&address, "aws_autoscaling_group", &after, &unknown)
    };
    let configuration = json!({"root_module": {"resources": [
        {"address": "aws_autoscaling_group.g", "provider_config_key": "aws", "expressions": {
            "launch_template": [{"id": {"references": [
                "aws_launch_template.t[each.key].id", "aws_launch_template.t", "each.key"]}}]}}]}});
    let changes = [
        template("x", "g5.xlarge"),
        template("y", "p5.48xlarge"),
        group("x"),
        group("y"),
        group("z"),
    ];
    let plan = read(&document(&changes, &configuration), Some("us-east-1"));
    let of_y = one(&plan, "aws_autoscaling_group.g[\"y\"]");
    assert_eq!(types(&of_y), Ok(vec!["p5.48xlarge"]));
    assert_eq!(of_y.payment, on_demand(2), "min_size, where nothing is desired");
    assert_eq!(of_y.most, Some(5));
    assert_eq!(of_y.tenancy, Ok(Tenancy::Dedicated));
    let tags: Vec<&str> = of_y.tags.keys().map(String::as_str).collect();
    assert_eq!(tags, ["b", "c"], "what instances get");
    let of_x = one(&plan, "aws_autoscaling_group.g[\"x\"]");
    assert_eq!(types(&of_x), Ok(vec!["g5.xlarge"]));
    let of_z = one(&plan, "aws_autoscaling_group.g[\"z\"]");
    assert!(types(&of_z).is_err(), "no template has that key");
}

#[test]
fn what_is_known_only_after_apply_is_named_and_not_guessed() {
    let changes = [
        change(
            "aws_instance.chosen",
            "aws_instance",
            &json!({"tags": {"a": "1"}}),
            &json!({"instance_type": true, "tenancy": true, "tags": {"b": true}}),
        ),
        change(
            "aws_instance.usual",
            "aws_instance",
            &json!({"instance_type": "g5.xlarge"}),
            &json!({"tenancy": true, "tags_all": true}),
        ),
    ];
    let configuration = json!({"root_module": {"resources": [
        {"address": "aws_instance.chosen", "expressions": {
            "instance_type": {"references": ["local.x"]}, "tenancy": {"references": ["local.y"]}}},
        {"address": "aws_instance.usual", "expressions": {
            "instance_type": {"constant_value": "g5.xlarge"}}}]}});
    let plan = read(&document(&changes, &configuration), None);
    let chosen = one(&plan, "aws_instance.chosen");
    assert_eq!(types(&chosen), Err(Missing::AfterApply));
    let usual = one(&plan, "aws_instance.usual");
    assert_eq!(usual.tenancy, Ok(Tenancy::Shared), "no other tenancy is configured");
    assert!(usual.more_tags, "the provider may add some");
    assert!(usual.region.is_err());
}

#[test]
fn a_group_changes_with_the_template_that_it_launches_from() {
    let template = json!({"name": "t", "id": "lt-1", "latest_version": 3,
        "instance_type": "g5.xlarge"});
    let mut newer = template.clone();
    newer["instance_type"] = json!("g5.12xlarge");
    newer["latest_version"] = json!(null);
    let group = |version: &str| {
        json!({"arn": "arn:aws:autoscaling:us-east-1:111122223333:x", "desired_capacity": 2,
            "launch_template": [{"id": "lt-1", "version": version}]})
    };
    let kept = |address: &str, version: &str| {
        json!({"address": address, "mode": "managed", "type": "aws_autoscaling_group",
            "provider_name": "aws",
            "change": {"actions": ["no-op"], "before": group(version), "after": group(version),
                       "after_unknown": {}}})
    };
    let changes = [
        json!({"address": "aws_launch_template.t", "mode": "managed",
            "type": "aws_launch_template", "provider_name": "aws",
            "change": {"actions": ["update"], "before": template, "after": newer,
                       "after_unknown": {"latest_version": true}}}),
        kept("aws_autoscaling_group.latest", "$Latest"),
        kept("aws_autoscaling_group.old", "2"),
    ];
    let plan = read(&document(&changes, &json!({})), None);
    let latest = &plan.instances[0];
    assert_eq!(latest.action, PlanAction::Update);
    let (before, after) = (latest.before.clone(), latest.after.clone());
    assert_eq!(types(&before.expect("there")), Ok(vec!["g5.xlarge"]));
    let after = after.expect("there");
    assert_eq!(types(&after), Ok(vec!["g5.12xlarge"]));
    assert_eq!(after.account.as_deref(), Some("111122223333"));
    let old = plan.instances[1].before.clone().expect("there");
    let Some(Missing::Elsewhere(reason)) = old.more_types else {
        panic!("version 2 is not in the plan: {:?}", old.types);
    };
    assert!(reason.contains("version 2") && reason.contains("version 3"), "{reason}");
}

/// The group keeps the first version, or the default one, which the update leaves as it is.
#[test]
fn a_version_that_the_plan_does_not_show_is_a_gap() {
    for (version, default, update, is_known) in [
        (Some("1"), 1, false, false),
        (None, 1, false, false),
        (Some("$Default"), 1, false, false),
        (Some("$Latest"), 1, false, true),
        // The default moves along.
        (Some("$Default"), 1, true, true),
    ] {
        let template = |name: &str, latest: Value, default: Value| {
            json!({"name": "t", "id": "lt-1", "instance_type": name, "latest_version": latest,
                "default_version": default})
        };
        let default_after = if update { Value::Null } else { json!(default) };
        let group = json!({"desired_capacity": 2, "availability_zones": ["us-east-1a"],
            "launch_template": [{"id": "lt-1", "version": version}]});
        let changes = [
            json!({"address": "aws_launch_template.t", "mode": "managed",
                "type": "aws_launch_template", "provider_name": "aws",
                "change": {"actions": ["update"],
                    "before": template("p4d.24xlarge", json!(1), json!(1)),
                    "after": template("g5.xlarge", Value::Null, default_after),
                    "after_unknown": {"latest_version": true, "default_version": update}}}),
            json!({"address": "aws_autoscaling_group.g", "mode": "managed",
                "type": "aws_autoscaling_group", "provider_name": "aws",
                "change": {"actions": ["no-op"], "before": group, "after": group,
                    "after_unknown": {}}}),
        ];
        let plan = read(&document(&changes, &json!({})), None);
        let after = one(&plan, "aws_autoscaling_group.g");
        assert_eq!(after.more_types.is_none(), is_known, "{version:?}: {after:?}");
    }
}

/// `destroy = false`: the old machine goes on beside the new one.
#[test]
fn what_a_replacement_forgets_goes_on() {
    for actions in [["create", "forget"], ["forget", "create"]] {
        let of = |name: &str| json!({"instance_type": name, "availability_zone": "us-east-1a"});
        let change = json!({"address": "aws_instance.a", "mode": "managed", "type": "aws_instance",
            "provider_name": "aws", "change": {"actions": actions, "before": of("p5.48xlarge"),
                "after": of("g5.xlarge"), "after_unknown": {}}});
        let plan = read(&document(&[change], &json!({})), None);
        let after: Vec<String> = (plan.instances.iter())
            .flat_map(|resource| resource.after.iter().flat_map(|after| after.types.clone()))
            .collect();
        assert_eq!(after, ["g5.xlarge", "p5.48xlarge"]);
        let before = plan.instances.iter().filter(|resource| resource.before.is_some());
        assert_eq!(before.count(), 1);
    }
}

#[test]
fn fleets_divide_their_capacity() {
    let changes = [
        change(
            "aws_ec2_fleet.mixed",
            "aws_ec2_fleet",
            &json!({"target_capacity_specification": [{"total_target_capacity": 10,
                "on_demand_target_capacity": 3, "default_target_capacity_type": "spot"}],
                "launch_template_config": [{"override": [{"instance_type": "g5.xlarge"}]}]}),
            &json!({}),
        ),
        change(
            "aws_spot_fleet_request.weighted",
            "aws_spot_fleet_request",
            &json!({"target_capacity": 9, "launch_specification": [
                {"instance_type": "g5.xlarge", "weighted_capacity": "4"}]}),
            &json!({}),
        ),
        change(
            "aws_spot_fleet_request.uneven",
            "aws_spot_fleet_request",
            &json!({"target_capacity": 9, "launch_specification": [
                {"instance_type": "g5.xlarge", "weighted_capacity": "4"},
                {"instance_type": "g5.2xlarge", "weighted_capacity": "8"}]}),
            &json!({}),
        ),
        change(
            "aws_spot_fleet_request.on_demand",
            "aws_spot_fleet_request",
            &json!({"target_capacity": 4, "on_demand_target_capacity": 3,
                "launch_specification": [{"instance_type": "g5.xlarge"}]}),
            &json!({}),
        ),
        change(
            "aws_spot_instance_request.one",
            "aws_spot_instance_request",
            &json!({"instance_type": "g5.xlarge"}),
            &json!({}),
        ),
    ];
    let plan = read(&document(&changes, &json!({})), None);
    let payment = |address: &str| one(&plan, address).payment;
    assert_eq!(
        payment("aws_ec2_fleet.mixed"),
        Ok(PlannedCount { on_demand: 3, spot: 7, capacity_block: 0 })
    );
    let spot = |spot: u64| Ok(PlannedCount { spot, ..PlannedCount::default() });
    assert_eq!(payment("aws_spot_fleet_request.weighted"), spot(3), "9 / 4, rounded up");
    let uneven = one(&plan, "aws_spot_fleet_request.uneven");
    assert!(uneven.count.is_err() && uneven.payment.is_err());
    assert_eq!(types(&uneven), Ok(vec!["g5.xlarge", "g5.2xlarge"]));
    assert_eq!(payment("aws_spot_instance_request.one"), spot(1));
    let split = PlannedCount { on_demand: 3, spot: 1, capacity_block: 0 };
    assert_eq!(payment("aws_spot_fleet_request.on_demand"), Ok(split));
}

#[test]
fn a_warm_pool_that_runs_counts() {
    let size = |pool: Value| {
        let group = json!({"desired_capacity": 1, "min_size": 0, "max_size": 6,
            "warm_pool": [pool], "launch_template": []});
        let address = "aws_autoscaling_group.g";
        let changes = [change(address, "aws_autoscaling_group", &group, &json!({}))];
        one(&read(&document(&changes, &json!({})), None), address).count
    };
    // The group itself, beside a pool up to its maximum, up to what it prepares for, and of eight.
    assert_eq!(size(json!({"pool_state": "Running"})), Ok(6));
    let prepared = json!({"pool_state": "Running", "max_group_prepared_capacity": 3});
    assert_eq!(size(prepared), Ok(3));
    assert_eq!(size(json!({"pool_state": "Running", "min_size": 8})), Ok(9));
    assert_eq!(size(json!({"pool_state": "Stopped", "min_size": 8})), Ok(1));
    assert_eq!(size(json!({"min_size": 8})), Ok(1), "stopped, unless it says otherwise");
}

#[test]
fn forgotten_instances_go_on_and_deposed_ones_end() {
    let before = json!({"instance_type": "g5.xlarge", "availability_zone": "us-east-1a"});
    let mut forgotten = change("aws_instance.a", "aws_instance", &Value::Null, &json!({}));
    forgotten["change"]["actions"] = json!(["forget"]);
    forgotten["change"]["before"] = before.clone();
    let mut deposed = change("aws_instance.a", "aws_instance", &Value::Null, &json!({}));
    deposed["change"]["actions"] = json!(["delete"]);
    deposed["change"]["before"] = before;
    deposed["deposed"] = json!("cafe");
    let plan = read(&document(&[forgotten, deposed], &json!({})), None);
    assert_eq!(plan.instances[0].action, PlanAction::Forget);
    assert_eq!(plan.instances[0].before, plan.instances[0].after);
    assert_eq!(plan.instances[1].address, "aws_instance.a (deposed cafe)");
    assert_eq!(plan.instances[1].after, None);
}

#[test]
fn other_files_are_refused_by_what_they_are() {
    let refusal = |bytes: &[u8]| {
        let error = read_terraform_plan(bytes, "f", None).expect_err("no plan");
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        format!("{error}{}", source.unwrap_or_default())
    };
    for (bytes, words) in [
        (&b""[..], "f is empty"),
        (b"PK\x03\x04", "binary Terraform plan file"),
        (b"\xff\xfe{\x00", "UTF-16"),
        (b"{\"format_version\":\"1.0\",\"values\":{}}", "a Terraform state"),
        (b"{}", "a different JSON document"),
        (b"[]", "expected a plan object"),
        (b"{\"format_version\":\"2.0\"}", "format version 2.0 is newer"),
        (b"{\"format_version\":1,\"planned_values\":{}}", "is not a valid version"),
        (b"{\"format_version\":\"1.0\",\"resource_changes\":{}}", "expected `resource_changes`"),
        (b"{\"format_version\":\"1.0\",\"resource_changes\":[", "EOF"),
        (b"{\"format_version\":\"1.0\",\"planned_values\":{}} x", "trailing"),
    ] {
        let said = refusal(bytes);
        assert!(said.contains(words), "{said} does not contain {words}");
    }
    // An element that says nothing may hide anything.
    let whole = json!({"address": "aws_instance.a", "type": "aws_instance", "mode": "managed",
        "change": {"actions": ["create"], "after": {"instance_type": "p5.48xlarge"}}});
    let with = |path: &str, value: Value| {
        let mut element = whole.clone();
        *element.pointer_mut(path).expect("a part of it") = value;
        document(&[element], &Value::Null).to_string()
    };
    assert!(read_terraform_plan(with("/mode", json!("managed")).as_bytes(), "f", None).is_ok());
    for path in ["", "/address", "/type", "/change", "/change/actions", "/change/after"] {
        let said = refusal(with(path, Value::Null).as_bytes());
        assert!(said.contains("an element of `resource_changes` lacks"), "{path}: {said}");
    }
    let deep = format!("{{\"format_version\":\"1.0\",\"resource_changes\":{}", "[".repeat(10_000));
    assert!(refusal(deep.as_bytes()).contains("recursion"));
}

/// PowerShell writes a byte order mark; pipelines keep artifacts compressed.
#[test]
fn a_plan_may_be_marked_or_compressed() {
    let text = document(&[], &json!({})).to_string();
    let marked = format!("\u{feff}{text}");
    let mut compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut compressed, marked.as_bytes()).expect("room");
    let compressed = compressed.finish().expect("room");
    for bytes in [marked.as_bytes(), &compressed] {
        let plan = read_terraform_plan(bytes, "f", None).expect("a plan");
        assert_eq!(plan.terraform_version.as_deref(), Some("1.9.0"));
    }
    let cut = read_terraform_plan(&compressed[..compressed.len() - 12], "f", None);
    assert!(matches!(cut, Err(TerraformError::Io { .. })), "{cut:?}");
}
