//! Resources of a plan whose attributes are not read: what names an accelerated type, or will
//! once it is applied, is a gap, and nothing else is.

use crate::cli::terraform::{check, document};
use crate::cli::terraform_services::{ROOM, checked, created, gaps, of_aws};
use crate::cli::world::World;
use serde_json::json;

/// Whoever names an accelerated type and is not known may run it.
#[test]
fn an_accelerated_type_in_an_attribute_that_nobody_knows_is_a_gap() {
    for (provider, address, after, names) in [
        (
            "aws",
            "aws_new_service.a",
            json!({"machines": [{"kind": {"size": "p7.48xlarge"}}]}),
            "p7.48xlarge",
        ),
        (
            "aws",
            "aws_elastic_beanstalk_environment.a",
            json!({"setting": [{"name": "InstanceTypes", "value": "m5.large, p3.2xlarge"}]}),
            "p3.2xlarge",
        ),
        (
            "aws",
            "aws_cloudformation_stack.a",
            json!({"template_body": "{\"InstanceType\": \"p4d.24xlarge\"}"}),
            "p4d.24xlarge",
        ),
        (
            "aws",
            "aws_cloudformation_stack.a",
            json!({"template_url": "https://example.com/template"}),
            "a template at a URL",
        ),
        ("awscc", "awscc_ec2_instance.a", json!({"instance_type": "g5.xlarge"}), "g5.xlarge"),
        (
            "azurerm",
            "azurerm_linux_virtual_machine.a",
            json!({"size": "Standard_NC24ads_A100_v4", "location": "eastus"}),
            "Standard_NC24ads_A100_v4",
        ),
        (
            "google",
            "google_compute_instance.a",
            json!({"machine_type": "n1-standard-8",
                "guest_accelerator": [{"type": "nvidia-tesla-t4", "count": 1}]}),
            "nvidia-tesla-t4",
        ),
        (
            "google",
            "google_container_node_pool.a",
            json!({"node_config": [{"machine_type": "a2-highgpu-1g"}]}),
            "a2-highgpu-1g",
        ),
        (
            "google",
            "google_workbench_instance.a",
            json!({"gce_setup": [{"machine_type": "n1-standard-4",
                "accelerator_configs": [{"type": "NVIDIA_TESLA_T4", "core_count": "1"}]}]}),
            "NVIDIA_TESLA_T4",
        ),
        (
            "azurerm",
            "azurerm_container_group.a",
            json!({"container": [{"gpu": [{"count": 4, "sku": "V100"}]}]}),
            "V100",
        ),
        (
            "azurerm",
            "azurerm_container_app_environment.a",
            json!({"workload_profile": [{"workload_profile_type": "NC24-A100"}]}),
            "NC24-A100",
        ),
        ("scaleway", "scaleway_instance_server.a", json!({"type": "L4-1-24G"}), "L4-1-24G"),
        (
            "aws",
            "aws_lightsail_instance.a",
            json!({"bundle_id": "gpu_nvidia_xl_1_0"}),
            "gpu_nvidia_xl_1_0",
        ),
        ("linode", "linode_instance.a", json!({"type": "g1-gpu-rtx6000-1"}), "g1-gpu-rtx6000-1"),
        ("ibm", "ibm_is_instance.a", json!({"profile": "gx3-16x80x1l4"}), "gx3-16x80x1l4"),
        (
            "vultr",
            "vultr_instance.a",
            json!({"plan": "vcg-a100-12c-120g-80vram"}),
            "vcg-a100-12c-120g-80vram",
        ),
        (
            "alicloud",
            "alicloud_instance.a",
            json!({"instance_type": "ecs.gn7i-c8g1.2xlarge"}),
            "ecs.gn7i-c8g1.2xlarge",
        ),
        (
            "lambdalabs",
            "lambdalabs_instance.a",
            json!({"instance_type_name": "gpu_1x_a100_sxm4"}),
            "gpu_1x_a100_sxm4",
        ),
        (
            "awscc",
            "awscc_deadline_fleet.a",
            json!({"configuration": {"service_managed_ec_2": {"instance_capabilities": {
                "accelerator_capabilities": {"selections": [{"name": "l4"}]}}}}}),
            "l4",
        ),
        (
            "nomad",
            "nomad_job.a",
            json!({"jobspec": "task \"t\" { resources { device \"nvidia/gpu\" { count = 2 } } }"}),
            "nvidia/gpu",
        ),
        (
            "nomad",
            "nomad_job.a",
            json!({"jobspec": "task \"t\" { resources { device \"gpu\" {} } }"}),
            "device \"gpu\"",
        ),
        (
            "snowflake",
            "snowflake_compute_pool.a",
            json!({"instance_family": "GPU_NV_M"}),
            "GPU_NV_M",
        ),
        (
            "castai",
            "castai_node_template.a",
            json!({"constraints": [{"instance_families": [{"include": ["p4d", "p5"]}]}]}),
            "p4d, p5",
        ),
        (
            "castai",
            "castai_node_template.a",
            json!({"constraints": [{"gpu": [{"manufacturers": ["NVIDIA"], "min_count": 1}]}]}),
            "NVIDIA",
        ),
        (
            "exoscale",
            "exoscale_sks_nodepool.a",
            json!({"instance_type": "gpua5000.small"}),
            "gpua5000.small",
        ),
        ("oci", "oci_core_instance.a", json!({"shape": "VM.GPU.A10.1"}), "VM.GPU.A10.1"),
        ("civo", "civo_instance.a", json!({"size": "an.g1.l40s.x1"}), "an.g1.l40s.x1"),
        (
            "castai",
            "castai_node_template.a",
            json!({"constraints": [{"gpu": [{"include_names": ["A100"], "min_count": 1}]}]}),
            "A100",
        ),
        (
            "kubernetes",
            "kubernetes_manifest.a",
            json!({"manifest": {"spec": {"requirements": [{
                "key": "karpenter.k8s.aws/instance-category", "operator": "In",
                "values": ["c", "g"]}]}}}),
            "g",
        ),
        (
            "kubectl",
            "kubectl_manifest.a",
            json!({"yaml_body": "- key: karpenter.k8s.aws/instance-category\n  \
                operator: In\n  values: [\"m\", \"p\"]\n"}),
            "p",
        ),
        (
            "aws",
            "aws_cloudformation_stack.a",
            json!({"template_body": "Resources: {A: {Type: AWS::CloudFormation::Stack, \
                Properties: {TemplateURL: https://example.com/template}}}"}),
            "a template at a URL",
        ),
    ] {
        let resource = created(provider, address, after);
        let outcome = checked(ROOM, std::slice::from_ref(&resource));
        assert_eq!(outcome.code, 3, "{address}: {}", outcome.stdout);
        let (resource_type, _) = address.split_once('.').expect("a type and a name");
        let reason = format!("{resource_type} is not a supported resource type, and names {names}");
        assert_eq!(gaps(&outcome.json()), [(address.to_owned(), reason)]);
        for policy in ["[deny]\ntypes = [\"x1.*\"]\n", "[tags]\nrequired = [\"team\"]\n"] {
            let outcome = checked(policy, std::slice::from_ref(&resource));
            assert_eq!(outcome.code, 3, "{address}, {policy}: {}", outcome.stdout);
        }
        // What goes costs nothing afterwards.
        let mut gone = resource;
        gone["change"]["before"] = gone["change"]["after"].take();
        gone["change"]["actions"] = json!(["delete"]);
        assert_eq!(checked(ROOM, &[gone]).code, 0, "{address}");
    }
}

#[test]
fn what_only_names_a_type_runs_nothing() {
    let changes = [
        of_aws("aws_ssm_parameter.a", json!({"value": "p4d.24xlarge"})),
        of_aws(
            "aws_s3_bucket.b",
            json!({"tags": {"for": "p4d.24xlarge"}, "bucket": "p4d.24xlarge-logs"}),
        ),
        created("null", "null_resource.c", json!({"triggers": {"type": "p4d.24xlarge"}})),
        created("example", "example_balancer.d", json!({"type": "L4"})),
        created("azurerm", "azurerm_linux_virtual_machine.e", json!({"size": "Standard_A4_v2"})),
        created(
            "kubernetes",
            "kubernetes_manifest.f",
            json!({"manifest": {"spec": {"requirements": [
                {"key": "karpenter.k8s.aws/instance-category", "operator": "NotIn",
                    "values": ["g", "p"]},
                {"key": "example.com/pool", "operator": "In", "values": ["p"]}]}}}),
        ),
    ];
    let outcome = checked(ROOM, &changes);
    assert_eq!(outcome.code, 0, "{}", outcome.stdout);
    assert!(gaps(&outcome.json()).is_empty());
}

/// Whether a resource may run accelerators, by its type and what is unknown of it.
#[test]
fn a_type_that_is_known_only_after_apply_is_a_gap_where_it_may_be_accelerated() {
    for (address, after, unknown, attribute) in [
        (
            "google_compute_instance.a",
            json!({}),
            json!({"machine_type": true}),
            Some("machine_type"),
        ),
        (
            "google_compute_instance.a",
            json!({"machine_type": "n1-standard-4"}),
            json!({"guest_accelerator": true}),
            Some("guest_accelerator"),
        ),
        (
            "google_compute_instance.a",
            json!({"guest_accelerator": [{"count": 1}]}),
            json!({"guest_accelerator": [{"type": true}]}),
            Some("guest_accelerator.type"),
        ),
        (
            "aws_sagemaker_cluster.a",
            json!({"instance_group": [{}]}),
            json!({"instance_group": [{"instance_type": true}]}),
            Some("instance_group.instance_type"),
        ),
        ("awscc_ec2_instance.a", json!({}), json!({"instance_type": true}), Some("instance_type")),
        (
            "azurerm_linux_virtual_machine.a",
            json!({}),
            json!({"size": true, "id": true}),
            Some("size"),
        ),
        (
            "openstack_compute_instance_v2.a",
            json!({}),
            json!({"flavor_name": true}),
            Some("flavor_name"),
        ),
        (
            "aws_security_group.a",
            json!({}),
            json!({"arn": true, "id": true, "tags_all": {"size": true}}),
            None,
        ),
        ("aws_s3_bucket.a", json!({}), json!({"acceleration_status": true, "arn": true}), None),
        ("aws_ebs_volume.a", json!({}), json!({"size": true, "type": true}), None),
        (
            "aws_opensearch_domain.a",
            json!({"cluster_config": [{}]}),
            json!({"cluster_config": [{"instance_type": true}]}),
            None,
        ),
        ("aws_globalaccelerator_listener.a", json!({}), json!({"accelerator_arn": true}), None),
        (
            "google_compute_instance_group_manager.a",
            json!({}),
            json!({"instance_group": true}),
            None,
        ),
        ("google_dns_record_set.a", json!({}), json!({"type": true}), None),
        ("null_resource.a", json!({}), json!({"instance_type": true}), None),
    ] {
        let (provider, _) = address.split_once('_').expect("a provider");
        let mut resource = created(provider, address, after);
        resource["change"]["after_unknown"] = unknown;
        let outcome = checked(ROOM, &[resource]);
        let code = if attribute.is_some() { 3 } else { 0 };
        assert_eq!(outcome.code, code, "{address}: {}", outcome.stdout);
        let (resource_type, _) = address.split_once('.').expect("a type and a name");
        let gap = attribute.map(|attribute| {
            let reason = format!(
                "{resource_type} is not a supported resource type, and names its {attribute} \
                 only after apply"
            );
            (address.to_owned(), reason)
        });
        assert_eq!(gaps(&outcome.json()), Vec::from_iter(gap), "{address}");
    }
}

/// What stands in settings, in a product of others or in the defaults of a domain.
#[test]
fn a_type_that_is_decided_elsewhere_is_a_gap() {
    let environment = "aws_elastic_beanstalk_environment.a";
    let spec = json!([{"instance_type": "ml.t3.medium"}]);
    for (address, after, unknown, code) in [
        (environment, json!({"setting": [{"name": "InstanceType"}]}), json!({}), 3),
        (environment, json!({"setting": [{"name": "Subnets"}]}), json!({}), 0),
        (environment, json!({}), json!({"setting": true}), 3),
        ("aws_servicecatalog_provisioned_product.a", json!({"name": "a"}), json!({}), 3),
        ("aws_sagemaker_app.a", json!({"app_type": "JupyterLab"}), json!({}), 3),
        ("aws_sagemaker_app.a", json!({"app_type": "JupyterServer"}), json!({}), 0),
        (
            "aws_sagemaker_app.a",
            json!({"app_type": "JupyterLab", "resource_spec": spec}),
            json!({}),
            0,
        ),
    ] {
        let mut resource = created("aws", address, after);
        resource["change"]["after_unknown"] = unknown;
        let outcome = checked(ROOM, std::slice::from_ref(&resource));
        assert_eq!(outcome.code, code, "{resource}: {}", outcome.stdout);
    }
}

/// A provider computes what nobody writes, and a plan lists that as unknown all the same.
#[test]
fn an_unknown_type_that_nobody_writes_is_no_gap() {
    let world = World::new();
    let address = "google_container_node_pool.a";
    let mut pool = created("google", address, json!({"node_config": [{}]}));
    pool["change"]["after_unknown"] =
        json!({"node_config": [{"machine_type": true, "guest_accelerator": true}]});
    let expression = json!({"references": ["var.x"]});
    for (written, code) in [
        (json!({}), 0),
        (json!({"disk_size_gb": expression}), 0),
        (json!({"machine_type": expression}), 3),
        (json!({"guest_accelerator": expression}), 3),
    ] {
        let resource = json!({"address": address, "expressions": {"node_config": [written]}});
        let plan = json!({"format_version": "1.2", "resource_changes": [pool],
            "configuration": {"root_module": {"resources": [resource]}}});
        let outcome = check(&world, ROOM, &document(&world, &plan), &[]);
        assert_eq!(outcome.code, code, "{written}: {}", outcome.stdout);
    }
}

/// Such a plan is cut: what else it lacks, nobody knows.
#[test]
fn a_planned_instance_without_a_change_leaves_every_rule_incomplete() {
    let value = |mode: &str, resource_type: &str, name: &str| {
        json!({"address": format!("{resource_type}.{name}"), "mode": mode,
            "type": resource_type, "values": {"instance_type": "m5.large"}})
    };
    let world = World::new();
    let here = json!({"instance_type": "m5.large", "availability_zone": "us-east-1a"});
    let changes = json!([of_aws("aws_instance.a", here)]);
    for (other, code) in [
        (value("managed", "aws_instance", "a"), 0),
        (value("managed", "random_id", "b"), 0),
        (value("data", "aws_instance", "b"), 0),
        (value("managed", "aws_s3_bucket", "b"), 3),
        (value("managed", "aws_cloudformation_stack", "b"), 3),
        (value("managed", "aws_instance", "b"), 3),
    ] {
        let planned = json!({"root_module": {"resources": [], "child_modules": [
            {"address": "module.m", "resources": [other]}]}});
        let plan = json!({"format_version": "1.2", "resource_changes": changes,
            "planned_values": planned});
        let path = document(&world, &plan);
        for policy in [ROOM, "[deny]\ntypes = [\"p4d.*\"]\n"] {
            let outcome = check(&world, policy, &path, &[]);
            assert_eq!(outcome.code, code, "{planned}: {}", outcome.stdout);
        }
    }
}

/// What resources leave to their templates stands in the configuration alone.
#[test]
fn a_plan_without_its_configuration_leaves_every_rule_incomplete() {
    let world = World::new();
    let here = json!({"instance_type": "m5.large", "availability_zone": "us-east-1a"});
    let mut plan = json!({"format_version": "1.2",
        "resource_changes": [of_aws("aws_instance.a", here)]});
    for code in [3, 0] {
        let path = world.file("plan.json", plan.to_string());
        let outcome = check(&world, ROOM, &path, &[]);
        assert_eq!(outcome.code, code, "{}", outcome.stdout);
        plan["configuration"] = json!({});
    }
}

/// That another resource runs the type does not mean that it launches from the template.
#[test]
fn a_template_that_nothing_launches_from_is_a_gap_beside_others_of_its_type() {
    let world = World::new();
    let here = json!({"instance_type": "p4d.24xlarge", "availability_zone": "us-east-1a"});
    let template = json!({"instance_type": "p4d.24xlarge", "name": "gpus"});
    let group = json!({"desired_capacity": 1, "launch_template": [{"name": "gpus"}],
        "availability_zones": ["us-east-1a"]});
    let box_and_template =
        [of_aws("aws_instance.a", here), of_aws("aws_launch_template.t", template)];
    for (more, code) in [(None, 3), (Some(of_aws("aws_autoscaling_group.g", group)), 0)] {
        let changes: Vec<_> = box_and_template.iter().cloned().chain(more).collect();
        let plan = json!({"format_version": "1.2", "resource_changes": changes});
        let outcome = check(&world, ROOM, &document(&world, &plan), &[]);
        assert_eq!(outcome.code, code, "{}", outcome.stdout);
    }
}
