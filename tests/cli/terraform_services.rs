//! Resources of a plan that run or reserve accelerators without launching instances
//! themselves: each has a price or is a gap, and none lets a budget pass unseen.

use crate::cli::terraform::{check, document, figures};
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A budget with room for everything here.
pub const ROOM: &str = "[[budget]]\nmonthly_limit = 1_000_000\n";

/// What makes a resource of a provider, whose type the address begins with.
pub fn created(provider: &str, address: &str, after: Value) -> Value {
    let (resource_type, _) = address.split_once('.').expect("a type and a name");
    json!({"address": address, "mode": "managed", "type": resource_type,
        "provider_name": format!("registry.terraform.io/hashicorp/{provider}"),
        "change": {"actions": ["create"], "before": null, "after": after,
                   "after_unknown": {"id": true}}})
}

pub fn of_aws(address: &str, after: Value) -> Value {
    created("aws", address, after)
}

/// What a check says of a plan with such changes in us-east-1.
pub fn checked(policy: &str, changes: &[Value]) -> Outcome {
    let world = World::new();
    let plan = json!({"format_version": "1.2", "resource_changes": changes});
    let path = document(&world, &plan);
    let more = ["--region", "us-east-1", "--format", "json"];
    check(&world, policy, &path, &more)
}

/// Where the gaps of a report are, with their reasons.
pub fn gaps(report: &Value) -> Vec<(String, String)> {
    let text = |gap: &Value, key: &str| gap[key].as_str().expect("text").to_owned();
    let list = report["gaps"].as_array().expect("a list").iter();
    list.map(|gap| (text(gap, "where"), text(gap, "reason"))).collect()
}

/// Hourly rates of the catalog in us-east-1: p4d.24xlarge 21.957642, p3.2xlarge 3.06,
/// which has 8 vCPUs.
#[test]
fn reservations_and_batch_minimums_have_a_price() {
    let changes = [
        of_aws(
            "aws_ec2_capacity_reservation.held",
            json!({"instance_type": "p4d.24xlarge", "instance_count": 2,
                "availability_zone": "us-east-1a", "instance_platform": "Linux/UNIX"}),
        ),
        of_aws(
            "aws_batch_compute_environment.queue",
            json!({"type": "MANAGED", "compute_resources": [{"type": "EC2",
                "instance_type": ["p3.2xlarge"], "min_vcpus": 32, "max_vcpus": 256}]}),
        ),
    ];
    let outcome = checked(ROOM, &changes);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let report = outcome.json();
    // 2 × 21.957642 × 730 = 32 058.15732
    let held = figures(&report, "aws_ec2_capacity_reservation.held");
    assert_eq!(held, [None, Some(32_058.16), Some(32_058.16)]);
    // 32 / 8 = 4; 4 × 3.06 × 730
    let queue = figures(&report, "aws_batch_compute_environment.queue");
    assert_eq!(queue, [None, Some(8_935.20), Some(8_935.20)]);
    assert_eq!(report["plan"]["instances_after"], 6);
    assert!(gaps(&report).is_empty());
    // 32 058.16 + 8 935.20 = 40 993.36
    let tight = "[[budget]]\nmonthly_limit = 40_993\n";
    assert_eq!(checked(tight, &changes).code, 100);
}

/// What runs in a reservation is not billed beside it, and a plan seldom says what does.
#[test]
fn instances_that_may_run_in_a_reservation_are_not_billed_twice() {
    let here = |name: &str| json!({"instance_type": name, "availability_zone": "us-east-1a"});
    let held = || {
        let held = json!({"instance_type": "p4d.24xlarge", "instance_count": 1,
            "availability_zone": "us-east-1a", "instance_platform": "Linux/UNIX"});
        of_aws("aws_ec2_capacity_reservation.held", held)
    };
    let beside = |name: &str| checked(ROOM, &[held(), of_aws("aws_instance.a", here(name))]);
    assert_eq!(beside("g5.xlarge").code, 0);
    let outcome = beside("p4d.24xlarge");
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let report = outcome.json();
    // 21.957642 × 730 = 16 029.07866, once.
    let instance = figures(&report, "aws_instance.a");
    assert_eq!(instance, [None, Some(16_029.08), Some(16_029.08)]);
    let held = figures(&report, "aws_ec2_capacity_reservation.held");
    assert_eq!(held, [None; 3]);
}

/// Hourly rates of the catalog in us-east-1: g4dn.xlarge 0.526, g4dn.12xlarge 3.912.
#[test]
fn emr_costs_its_instances_and_a_fee_that_is_a_gap() {
    let cluster = of_aws(
        "aws_emr_cluster.m",
        json!({"master_instance_group": [{"instance_type": "g4dn.xlarge", "instance_count": 1}],
            "core_instance_group": [{"instance_type": "g4dn.12xlarge", "instance_count": 4}]}),
    );
    let outcome = checked(ROOM, std::slice::from_ref(&cluster));
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let report = outcome.json();
    let master = "aws_emr_cluster.m.master_instance_group";
    let core = "aws_emr_cluster.m.core_instance_group";
    // 0.526 × 730, and 4 × 3.912 × 730: 11 807.02 together.
    assert_eq!(figures(&report, master)[1], Some(383.98));
    assert_eq!(figures(&report, core)[1], Some(11_423.04));
    assert_eq!(report["plan"]["totals"][0]["monthly_after"], 11_807.02);
    let fee = "the fees of Amazon EMR are not in the catalog".to_owned();
    assert_eq!(gaps(&report), [(core.to_owned(), fee.clone()), (master.to_owned(), fee)]);
    // What is known may be too much already.
    let tight = "[[budget]]\nmonthly_limit = 11_000\n";
    assert_eq!(checked(tight, &[cluster]).code, 100);
}

/// What a plan with one resource of a row of the table of kinds says: its cost per month, and
/// why more is not known. Hourly rates of the catalog in us-east-1: g4dn.xlarge 0.526,
/// g4dn.12xlarge 3.912, p3.2xlarge 3.06.
#[test]
fn every_kind_has_a_price_or_is_a_gap_with_its_address() {
    let appstream = "the prices of Amazon AppStream 2.0 are not in the catalog";
    let emr = "the fees of Amazon EMR are not in the catalog";
    let emr_fleet = "the fees and weighted capacities of Amazon EMR fleets are not in the catalog";
    let mut seen: BTreeSet<(String, &str)> = BTreeSet::new();
    for (place, block, after, cost, reason) in [
        (
            "aws_appstream_fleet.a",
            "",
            json!({"instance_type": "stream.graphics.g4dn.xlarge",
                "compute_capacity": [{"desired_instances": 4}]}),
            None,
            Some(appstream),
        ),
        (
            "aws_appstream_image_builder.a",
            "",
            json!({"instance_type": "stream.graphics.g4dn.xlarge"}),
            None,
            Some(appstream),
        ),
        (
            "aws_batch_compute_environment.a",
            "compute_resources",
            json!({"compute_resources": [{"instance_type": ["p3.2xlarge"], "min_vcpus": 17}]}),
            // 17 / 8, rounded up: 3 × 3.06 × 730
            Some(6_701.40),
            None,
        ),
        (
            "aws_batch_compute_environment.a",
            "compute_resources",
            json!({"compute_resources": [{"instance_type": ["p3"], "min_vcpus": 8}]}),
            None,
            Some("it may use any type of the family p3"),
        ),
        (
            "aws_ec2_capacity_block_reservation.a",
            "",
            json!({"instance_type": "p5.48xlarge", "instance_count": 1}),
            None,
            Some("a Capacity Block is prepaid per block"),
        ),
        (
            "aws_ec2_capacity_block_reservation.a",
            "",
            json!({"capacity_block_offering_id": "cb-1"}),
            None,
            Some("the plan does not specify an instance type"),
        ),
        (
            "aws_ec2_capacity_reservation.a",
            "",
            json!({"instance_type": "p3.2xlarge", "instance_count": 2,
                "instance_platform": "Linux/UNIX"}),
            // 2 × 3.06 × 730
            Some(4_467.60),
            None,
        ),
        (
            "aws_ec2_host.a",
            "",
            json!({"instance_type": "p3.2xlarge"}),
            None,
            Some("a dedicated host is billed per host"),
        ),
        (
            "aws_ec2_host.a",
            "",
            json!({"instance_family": "p3"}),
            None,
            Some("it may use any type of the family p3"),
        ),
        (
            "aws_emr_cluster.a",
            "core_instance_fleet.instance_type_configs",
            json!({"core_instance_fleet": [{"instance_type_configs":
                [{"instance_type": "g4dn.xlarge", "weighted_capacity": 1}]}]}),
            None,
            Some(emr_fleet),
        ),
        (
            "aws_emr_cluster.a",
            "core_instance_group",
            json!({"core_instance_group": [{"instance_type": "g4dn.12xlarge", "instance_count": 4}]}),
            // 4 × 3.912 × 730
            Some(11_423.04),
            Some(emr),
        ),
        (
            "aws_emr_cluster.a",
            "master_instance_fleet.instance_type_configs",
            json!({"master_instance_fleet": [{"instance_type_configs":
                [{"instance_type": "g4dn.xlarge", "weighted_capacity": 1}]}]}),
            None,
            Some(emr_fleet),
        ),
        (
            "aws_emr_cluster.a",
            "master_instance_group",
            json!({"master_instance_group": [{"instance_type": "g4dn.xlarge"}]}),
            // 0.526 × 730
            Some(383.98),
            Some(emr),
        ),
        (
            "aws_emr_instance_fleet.a",
            "instance_type_configs",
            json!({"instance_type_configs": [{"instance_type": "g4dn.xlarge"}]}),
            None,
            Some(emr_fleet),
        ),
        (
            "aws_emr_instance_group.a",
            "",
            json!({"instance_type": "g4dn.xlarge", "instance_count": 3}),
            // 3 × 0.526 × 730
            Some(1_151.94),
            Some(emr),
        ),
        (
            "aws_gamelift_fleet.a",
            "",
            json!({"ec2_instance_type": "g4dn.xlarge"}),
            None,
            Some("the prices of Amazon GameLift are not in the catalog"),
        ),
        (
            "aws_gamelift_game_server_group.a.instance_definition",
            "instance_definition",
            json!({"instance_definition": [{"instance_type": "g4dn.xlarge"},
                {"instance_type": "c5.large"}]}),
            None,
            Some("the prices of Amazon GameLift FleetIQ are not in the catalog"),
        ),
        (
            "aws_sagemaker_app.a",
            "resource_spec",
            json!({"resource_spec": [{"instance_type": "ml.g4dn.xlarge"}]}),
            None,
            Some("the prices of apps of Amazon SageMaker Studio are not in the catalog"),
        ),
        (
            "aws_sagemaker_endpoint.a",
            "",
            json!({"endpoint_config_name": "elsewhere"}),
            None,
            Some("its endpoint config name elsewhere is not in the plan"),
        ),
        (
            "aws_sagemaker_endpoint_configuration.a",
            "production_variants",
            json!({"production_variants": [{"instance_type": "ml.g5.xlarge"}]}),
            None,
            Some(
                "ml.g5.xlarge-hosting is not in the bundled catalog, and appears to be accelerated",
            ),
        ),
        (
            "aws_sagemaker_endpoint_configuration.a.shadow_production_variants",
            "shadow_production_variants",
            json!({"production_variants": [{"instance_type": "ml.m5.large"}],
                "shadow_production_variants": [{"instance_type": "ml.g5.xlarge"}]}),
            None,
            Some(
                "ml.g5.xlarge-hosting is not in the bundled catalog, and appears to be accelerated",
            ),
        ),
        (
            "aws_sagemaker_notebook_instance.a",
            "",
            json!({"instance_type": "ml.p3.2xlarge"}),
            None,
            Some(
                "ml.p3.2xlarge-notebook is not in the bundled catalog, and appears to be accelerated",
            ),
        ),
        (
            "aws_workspaces_workspace.a",
            "workspace_properties",
            json!({"workspace_properties": [{"compute_type_name": "GRAPHICSPRO_G4DN"}]}),
            None,
            Some("the prices of Amazon WorkSpaces are not in the catalog"),
        ),
    ] {
        let own = format!(".{block}");
        let address = place.strip_suffix(&own).unwrap_or(place);
        let (resource_type, _) = address.split_once('.').expect("a type and a name");
        seen.insert((resource_type.to_owned(), block));
        let outcome = checked(ROOM, &[of_aws(address, after)]);
        let code = if reason.is_some() { 3 } else { 0 };
        assert_eq!(outcome.code, code, "{place}: {}", outcome.stdout);
        let report = outcome.json();
        assert_eq!(figures(&report, place)[1], cost, "{place}");
        let gap = reason.map(|reason| (place.to_owned(), reason.to_owned()));
        assert_eq!(gaps(&report), Vec::from_iter(gap), "{place}");
    }
    let table = include_str!("../../crates/sources/src/files/terraform/kinds.rs");
    for row in table.split("    kind(\"").skip(1) {
        let mut texts = row.split('"').step_by(2);
        let (resource_type, block) = (texts.next(), texts.next());
        let row = (resource_type.expect("a type").to_owned(), block.expect("a block"));
        assert!(seen.contains(&row), "{row:?}");
    }
}

/// An endpoint runs what its configuration states, once.
#[test]
fn an_endpoint_and_its_configuration_are_one() {
    let variant = |name: &str| json!({"instance_type": name, "initial_instance_count": 2});
    let configuration = of_aws(
        "aws_sagemaker_endpoint_configuration.c",
        json!({"name": "c", "production_variants":
            [variant("ml.g5.xlarge"), variant("ml.p4d.24xlarge")]}),
    );
    let endpoint = json!({"name": "e", "endpoint_config_name": "c"});
    let endpoint = of_aws("aws_sagemaker_endpoint.e", endpoint);
    let outcome = checked(ROOM, &[configuration, endpoint]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let report = outcome.json();
    let places: Vec<String> = gaps(&report).into_iter().map(|(place, _)| place).collect();
    let variants = "aws_sagemaker_endpoint_configuration.c.production_variants";
    assert_eq!(places, [variants.to_owned(), format!("{variants}[1]")]);
    assert_eq!(report["plan"]["instances_after"], 4);
}

/// The rates of SageMaker are its own, and not those of the instances inside.
#[test]
fn an_endpoint_costs_what_a_price_of_its_component_says() {
    let world = World::new();
    world.file("gpucost.toml", "[prices]\nfile = \"own.csv\"\n");
    world.file(
        "own.csv",
        "instance_type,region,hourly,effective_date,provider\n\
         ml.g5.xlarge-hosting,us-east-1,1.408,2026-11-01,sagemaker\n",
    );
    let variant = json!({"instance_type": "ml.g5.xlarge", "initial_instance_count": 2});
    let configuration = of_aws(
        "aws_sagemaker_endpoint_configuration.c",
        json!({"name": "c", "production_variants": [variant]}),
    );
    let plan = json!({"format_version": "1.2", "resource_changes": [configuration]});
    let path = document(&world, &plan);
    let more = ["--region", "us-east-1", "--format", "json"];
    let outcome = check(&world, ROOM, &path, &more);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let report = outcome.json();
    // 2 × 1.408 × 730
    let cost = figures(&report, "aws_sagemaker_endpoint_configuration.c")[1];
    assert_eq!(cost, Some(2_055.68));
    assert!(gaps(&report).is_empty());
}

/// Two endpoints of one configuration are twice its machines, and one more endpoint adds them
/// though the configuration stays: 2 × 1.408 × 730 for each.
#[test]
fn each_endpoint_runs_what_its_configuration_states() {
    let variant = json!({"instance_type": "ml.g5.xlarge", "initial_instance_count": 2});
    let values = json!({"name": "c", "production_variants": [variant]});
    let configuration = json!({"address": "aws_sagemaker_endpoint_configuration.c",
        "mode": "managed", "type": "aws_sagemaker_endpoint_configuration",
        "provider_name": "registry.terraform.io/hashicorp/aws",
        "change": {"actions": ["no-op"], "before": values, "after": values}});
    let endpoint = |name: &str, is_there: bool| {
        let values = json!({"name": name, "endpoint_config_name": "c"});
        let before = if is_there { values.clone() } else { Value::Null };
        json!({"address": format!("aws_sagemaker_endpoint.{name}"), "mode": "managed",
            "type": "aws_sagemaker_endpoint",
            "provider_name": "registry.terraform.io/hashicorp/aws",
            "change": {"actions": [if is_there { "no-op" } else { "create" }],
                "before": before, "after": values}})
    };
    for (endpoints, costs) in [
        (vec![endpoint("e", true)], [Some(2_055.68), Some(2_055.68)]),
        (vec![endpoint("e", true), endpoint("f", false)], [Some(2_055.68), Some(4_111.36)]),
        (vec![endpoint("e", true), endpoint("f", true)], [Some(4_111.36), Some(4_111.36)]),
    ] {
        let world = World::new();
        world.file("gpucost.toml", "[prices]\nfile = \"own.csv\"\n");
        world.file(
            "own.csv",
            "instance_type,region,hourly,effective_date,provider\n\
             ml.g5.xlarge-hosting,us-east-1,1.408,2026-11-01,sagemaker\n",
        );
        let changes: Vec<Value> = [configuration.clone()].into_iter().chain(endpoints).collect();
        let plan = json!({"format_version": "1.2", "configuration": {},
            "resource_changes": changes});
        let path = document(&world, &plan);
        let more = ["--region", "us-east-1", "--format", "json"];
        let report = check(&world, ROOM, &path, &more).json();
        let stated = figures(&report, "aws_sagemaker_endpoint_configuration.c");
        assert_eq!(stated[..2], costs, "{report}");
    }
}

/// The types of a gap are still those of the rule about types.
#[test]
fn a_denied_type_is_denied_though_it_has_no_price() {
    let fleet = json!({"ec2_instance_type": "g4dn.xlarge"});
    let changes = [of_aws("aws_gamelift_fleet.f", fleet)];
    assert_eq!(checked("[deny]\ntypes = [\"g4dn.*\"]\n", &changes).code, 100);
    assert_eq!(checked("[deny]\ntypes = [\"p4d.*\"]\n", &changes).code, 0);
}

#[test]
fn services_on_cpus_are_no_gaps() {
    let changes = [
        of_aws(
            "aws_ec2_capacity_reservation.a",
            json!({"instance_type": "m5.large", "instance_count": 2}),
        ),
        of_aws(
            "aws_batch_compute_environment.b",
            json!({"compute_resources": [{"instance_type": ["optimal"], "min_vcpus": 8}]}),
        ),
        of_aws(
            "aws_batch_compute_environment.c",
            json!({"compute_resources": [{"type": "FARGATE", "max_vcpus": 8}]}),
        ),
        of_aws(
            "aws_emr_cluster.d",
            json!({"master_instance_group": [{"instance_type": "m5.xlarge"}]}),
        ),
        of_aws("aws_ec2_host.e", json!({"instance_family": "m5"})),
        of_aws(
            "aws_workspaces_workspace.f",
            json!({"workspace_properties": [{"compute_type_name": "STANDARD"}]}),
        ),
        of_aws(
            "aws_sagemaker_endpoint_configuration.g",
            json!({"production_variants": [{"instance_type": "ml.m5.large"}]}),
        ),
        of_aws(
            "aws_cloudformation_stack.h",
            json!({"template_body": "Resources: {A: {Type: AWS::S3::Bucket}}"}),
        ),
    ];
    let outcome = checked(ROOM, &changes);
    assert_eq!(outcome.code, 0, "{}", outcome.stdout);
    let report = outcome.json();
    assert_eq!(report["plan"]["nothing"], "the plan contains no GPU instances");
    assert!(gaps(&report).is_empty());
}

/// Resources may be missing in such a plan, whatever a rule is about.
#[test]
fn a_plan_that_is_not_whole_leaves_every_rule_incomplete() {
    let world = World::new();
    let here = json!({"instance_type": "g4dn.xlarge", "availability_zone": "us-east-1a"});
    let code = |policy: &str, key: &str, value: Value| {
        let mut plan = json!({"format_version": "1.2",
            "resource_changes": [of_aws("aws_instance.a", here.clone())]});
        plan[key] = value;
        let path = document(&world, &plan);
        check(&world, policy, &path, &[]).code
    };
    for policy in [
        ROOM, "[deny]\ntypes = [\"p4d.*\"]\n", "[allow]\nregions = [\"us-*\"]\n",
        "[prices]\nmax_age = \"400d\"\n",
    ] {
        assert_eq!(code(policy, "errored", json!(true)), 3, "{policy}");
        assert_eq!(code(policy, "complete", json!(false)), 3, "{policy}");
        for key in ["deferred_changes", "deferred_action_invocations"] {
            let deferred = json!([{"reason": "provider_config_unknown"}]);
            assert_eq!(code(policy, key, deferred), 3, "{key}, {policy}");
            assert_eq!(code(policy, key, json!([])), 0, "{key}, {policy}");
        }
        assert_eq!(code(policy, "complete", json!(true)), 0, "{policy}");
    }
}

#[test]
fn a_plan_without_its_changes_is_refused() {
    let world = World::new();
    let resource = json!({"address": "aws_instance.a", "mode": "managed", "type": "aws_instance",
        "values": {"instance_type": "p4d.24xlarge"}});
    let planned = json!({"root_module": {"resources": [resource]}});
    let mut plan = json!({"format_version": "1.2", "planned_values": planned});
    for changes in [None, Some(Value::Null), Some(json!([]))] {
        if let Some(changes) = changes {
            plan["resource_changes"] = changes;
        }
        let outcome = check(&world, ROOM, &document(&world, &plan), &[]);
        assert_eq!(outcome.code, 2, "{plan}: {}", outcome.stdout);
        let said = "`planned_values` lists resources, but `resource_changes` lists none";
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
}

#[test]
fn an_action_that_nobody_knows_is_a_change() {
    let world = World::new();
    let change = json!({"address": "aws_instance.a", "mode": "managed", "type": "aws_instance",
        "change": {"actions": ["provision"], "before": null,
            "after": {"instance_type": "p4d.24xlarge", "availability_zone": "us-east-1a"}}});
    let plan = json!({"format_version": "1.2", "resource_changes": [change]});
    let denied = "[deny]\ntypes = [\"p4d.*\"]\n";
    let outcome = check(&world, denied, &document(&world, &plan), &[]);
    assert_eq!(outcome.code, 100, "{}", outcome.stdout);
}

#[test]
fn a_stack_whose_template_is_known_only_after_apply_may_run_anything() {
    let world = World::new();
    for (unknown, code) in [(json!({"template_body": true}), 3), (json!({"id": true}), 0)] {
        let change = json!({"address": "aws_cloudformation_stack.a", "mode": "managed",
            "type": "aws_cloudformation_stack", "change": {"actions": ["create"],
                "before": null, "after": {"name": "s"}, "after_unknown": unknown}});
        let plan = json!({"format_version": "1.2", "resource_changes": [change]});
        let outcome = check(&world, ROOM, &document(&world, &plan), &[]);
        assert_eq!(outcome.code, code, "{plan}: {}", outcome.stdout);
    }
}

/// A parameter that somebody wrote and that is known only after apply may be the type; one of a
/// template without instances is none, and what nobody wrote the provider computes.
#[test]
fn a_parameter_that_is_known_only_after_apply_may_be_the_type() {
    let world = World::new();
    let with_instance = "Resources: {A: {Properties: {InstanceType: !Ref T}}}";
    let of_vpc = "Resources: {A: {Properties: {VpcId: !Ref T}}}";
    let (one, all) = (json!({"parameters": {"T": true}}), json!({"parameters": true}));
    for (body, unknown, is_written, code) in [
        (with_instance, &one, true, 3),
        (with_instance, &all, true, 3),
        (with_instance, &all, false, 0),
        (of_vpc, &one, true, 0),
    ] {
        let change = json!({"address": "aws_cloudformation_stack.a", "mode": "managed",
            "type": "aws_cloudformation_stack", "change": {"actions": ["create"],
                "before": null, "after": {"name": "s", "template_body": body, "parameters": {}},
                "after_unknown": unknown}});
        let mut expressions = json!({"name": {"constant_value": "s"}});
        if is_written {
            expressions["parameters"] = json!({"references": ["aws_ssm_parameter.t"]});
        }
        let resource = json!({"address": "aws_cloudformation_stack.a", "expressions": expressions});
        let plan = json!({"format_version": "1.2", "resource_changes": [change],
            "configuration": {"root_module": {"resources": [resource]}}});
        let outcome = check(&world, ROOM, &document(&world, &plan), &[]);
        assert_eq!(outcome.code, code, "{plan}: {}", outcome.stdout);
    }
}

#[test]
fn types_in_pools_that_are_known_only_after_apply_are_gaps() {
    let world = World::new();
    for (resource_type, unknown) in [
        ("digitalocean_kubernetes_cluster", json!({"node_pool": [{"size": true}]})),
        ("linode_lke_cluster", json!({"pool": [{"type": true}]})),
        ("azurerm_virtual_machine_scale_set", json!({"sku": [{"name": true}]})),
        ("ovh_cloud_project_instance", json!({"flavor": [{"flavor_id": true}]})),
        ("kubernetes_job", json!({"limits": {"nvidia.com/gpu": true}})),
    ] {
        let provider = resource_type.split('_').next().expect("a provider");
        let change = json!({"address": format!("{resource_type}.a"), "mode": "managed",
            "type": resource_type, "provider_name": format!("registry.terraform.io/x/{provider}"),
            "change": {"actions": ["create"], "before": null, "after": {},
                "after_unknown": unknown}});
        let plan = json!({"format_version": "1.2", "resource_changes": [change]});
        let outcome = check(&world, ROOM, &document(&world, &plan), &[]);
        assert_eq!(outcome.code, 3, "{plan}: {}", outcome.stdout);
    }
}

#[test]
fn instances_of_a_stack_set_run_what_its_template_states() {
    let world = World::new();
    let change = |resource_type: &str, after: &serde_json::Value| {
        json!({"address": format!("{resource_type}.a"), "mode": "managed", "type": resource_type,
            "change": {"actions": ["create"], "before": null, "after": after, "after_unknown": {}}})
    };
    let template = "Resources: {A: {Type: 'AWS::SNS::Topic'}}";
    let set =
        change("aws_cloudformation_stack_set", &json!({"name": "s", "template_body": template}));
    for kind in ["aws_cloudformation_stack_instances", "aws_cloudformation_stack_set_instance"] {
        let instance = change(kind, &json!({"stack_set_name": "s"}));
        for (changes, code) in [(json!([instance]), 3), (json!([set, instance]), 0)] {
            let plan = json!({"format_version": "1.2", "resource_changes": changes});
            let outcome = check(&world, ROOM, &document(&world, &plan), &[]);
            assert_eq!(outcome.code, code, "{plan}: {}", outcome.stdout);
        }
    }
}
