//! Resource types that run or reserve accelerators beside those that launch instances of
//! EC2 themselves, each with where it names its instances and who bills them.
//!
//! Types and attributes are those of the Terraform provider `hashicorp/aws`
//! (registry.terraform.io/providers/hashicorp/aws/latest/docs), version 6.

use crate::catalog::{family, is_accelerated, is_accelerated_category};
use crate::domain::Component;

/// A sort of resource, or of block of one, that runs or reserves machines of one kind.
#[derive(Debug, PartialEq)]
pub(super) struct Kind {
    pub(super) resource_type: &'static str,
    /// The path of the blocks that state machines, each its own; empty where the resource
    /// itself does.
    pub(super) block: &'static str,
    /// Attributes that name the type, of which the first that is set counts.
    pub(super) types: &'static [&'static str],
    pub(super) count: Count,
    pub(super) bill: Bill,
}

/// Where a kind states how many machines it starts with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Count {
    One,
    /// An attribute beside the type; one where it is not set.
    Beside(&'static str),
    /// An attribute of another block of the resource.
    In(&'static str, &'static str),
    /// As many as have the vCPUs that Batch keeps or starts with.
    Vcpus,
}

/// Who bills the machines of a kind, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bill {
    /// EC2, by the hour.
    Hours,
    /// EC2 at the same rates, whether anything runs in the reservation or not.
    Reservation,
    /// EC2, in advance.
    CapacityBlock,
    /// EC2, by the host.
    Host,
    /// SageMaker, at the rates of a component.
    Component(Component),
    /// EC2 by the hour, and a service beside it at prices that no list here has.
    Fee(&'static str),
    /// A service in place of EC2, at prices that no list here has.
    Service(&'static str),
}

const EMR_FEE: Bill = Bill::Fee("fees of Amazon EMR");
const EMR_FLEET: Bill = Bill::Service("fees and weighted capacities of Amazon EMR fleets");
const APPSTREAM: Bill = Bill::Service("prices of Amazon AppStream 2.0");
const HOSTING: Bill = Bill::Component(Component::Hosting);

const fn kind(
    resource_type: &'static str,
    block: &'static str,
    types: &'static [&'static str],
    count: Count,
    bill: Bill,
) -> Kind {
    Kind { resource_type, block, types, count, bill }
}

#[rustfmt::skip]
pub(super) const KINDS: &[Kind] = &[
    kind("aws_appstream_fleet", "", &["instance_type"],
        Count::In("compute_capacity", "desired_instances"), APPSTREAM),
    kind("aws_appstream_image_builder", "", &["instance_type"], Count::One, APPSTREAM),
    kind("aws_batch_compute_environment", "compute_resources", &["instance_type"],
        Count::Vcpus, Bill::Hours),
    kind("aws_ec2_capacity_block_reservation", "", &["instance_type"],
        Count::Beside("instance_count"), Bill::CapacityBlock),
    kind("aws_ec2_capacity_reservation", "", &["instance_type"],
        Count::Beside("instance_count"), Bill::Reservation),
    kind("aws_ec2_host", "", &["instance_type", "instance_family"], Count::One, Bill::Host),
    kind("aws_emr_cluster", "core_instance_fleet.instance_type_configs", &["instance_type"],
        Count::One, EMR_FLEET),
    kind("aws_emr_cluster", "core_instance_group", &["instance_type"],
        Count::Beside("instance_count"), EMR_FEE),
    kind("aws_emr_cluster", "master_instance_fleet.instance_type_configs", &["instance_type"],
        Count::One, EMR_FLEET),
    kind("aws_emr_cluster", "master_instance_group", &["instance_type"],
        Count::Beside("instance_count"), EMR_FEE),
    kind("aws_emr_instance_fleet", "instance_type_configs", &["instance_type"],
        Count::One, EMR_FLEET),
    kind("aws_emr_instance_group", "", &["instance_type"],
        Count::Beside("instance_count"), EMR_FEE),
    kind("aws_gamelift_fleet", "", &["ec2_instance_type"], Count::One,
        Bill::Service("prices of Amazon GameLift")),
    kind("aws_gamelift_game_server_group", "instance_definition", &["instance_type"],
        Count::One, Bill::Service("prices of Amazon GameLift FleetIQ")),
    kind(STUDIO_APP, "resource_spec", &["instance_type"], Count::One,
        Bill::Service("prices of apps of Amazon SageMaker Studio")),
    kind("aws_sagemaker_endpoint_configuration", "production_variants", &["instance_type"],
        Count::Beside("initial_instance_count"), HOSTING),
    kind("aws_sagemaker_endpoint_configuration", "shadow_production_variants",
        &["instance_type"], Count::Beside("initial_instance_count"), HOSTING),
    kind("aws_sagemaker_notebook_instance", "", &["instance_type"], Count::One,
        Bill::Component(Component::Notebook)),
    kind("aws_workspaces_workspace", "workspace_properties", &["compute_type_name"],
        Count::One, Bill::Service("prices of Amazon WorkSpaces")),
];

/// What runs on the default of its domain or user where it states no type.
pub(super) const STUDIO_APP: &str = "aws_sagemaker_app";

/// What runs the instances of an endpoint configuration.
pub(super) const ENDPOINT: &str = "aws_sagemaker_endpoint";
pub(super) const ENDPOINT_CONFIGURATION: &str = "aws_sagemaker_endpoint_configuration";

/// Resource types whose types of machines run nothing by themselves: alarms, budgets,
/// dashboards, rules, values, and defaults of what others start.
pub(super) const ONLY_NAMES: [&str; 14] = [
    "aws_budgets_budget", "aws_cloudwatch_dashboard", "aws_cloudwatch_event_rule",
    "aws_cloudwatch_metric_alarm", "aws_config_config_rule", "aws_ec2_tag", "aws_sagemaker_domain",
    "aws_sagemaker_space", "aws_sagemaker_user_profile", "aws_ssm_parameter", "datadog_dashboard",
    "datadog_monitor", "github_actions_variable", "grafana_dashboard",
];

/// Keys that are kept, in order.
pub(super) const KEPT: &[&str] = &[
    "actions", "address", "after", "after_unknown", "ami_type", "app_type", "arn",
    "availability_zone", "availability_zones", "before", "bid_price", "capacity_type", "change",
    "compute_capacity", "compute_resources", "compute_type_name", "constant_value",
    "core_instance_fleet", "core_instance_group", "default_target_capacity_type",
    "default_version", "deposed", "desired_capacity", "desired_instances", "desired_size",
    "desired_vcpus", "ec2_instance_type", "endpoint_config_name", "expressions", "id",
    "initial_instance_count", "instance_count", "instance_definition", "instance_family",
    "instance_market_options", "instance_platform", "instance_requirements", "instance_type",
    "instance_type_configs", "instance_types", "instances_distribution", "key", "latest_version",
    "launch_configuration", "launch_specification", "launch_template", "launch_template_config",
    "launch_template_id", "launch_template_name", "launch_template_specification", "market_type",
    "master_instance_fleet", "master_instance_group", "max_group_prepared_capacity", "max_size",
    "min_size", "min_vcpus", "mixed_instances_policy", "mode", "module", "module_calls", "name",
    "on_demand_base_capacity", "on_demand_percentage_above_base_capacity",
    "on_demand_target_capacity", "override", "overrides", "placement", "placement_tenancy",
    "pool_state", "production_variants", "propagate_at_launch", "provider_config",
    "provider_config_key", "provider_name", "references", "region", "resource_spec",
    "resource_type", "resources", "root_module", "scaling_config", "setting",
    "shadow_production_variants", "spot_price", "spot_target_capacity", "stack_set_name", "tag",
    "tag_specifications", "tags", "tags_all", "target_capacity", "target_capacity_specification",
    "template_body", "template_url", "tenancy", "total_target_capacity", "type", "value",
    "version", "warm_pool", "weighted_capacity", "workspace_properties",
];

/// Keys below which the names are the user's own, so that all of them count.
pub(super) const NAMED_BY_USERS: [&str; 5] =
    ["module_calls", "provider_config", "tags", "tags_all", "variables"];

/// Keys whose texts only describe or permit: a type in them runs nothing, unless it names a `sku`.
pub(super) const WITHOUT_TYPES: [&str; 13] = [
    "assume_role_policy", "content", "description", "id", "inline_policy", "labels", "name",
    "policy", "tag", "tags", "tags_all", "user_data", "user_data_base64",
];

/// Attributes that name a type of machine or of card wherever they stand.
pub(super) const TYPE_KEYS: [&str; 32] = [
    "accelerator", "accelerator_config", "accelerator_configs", "accelerator_type",
    "accelerator_types", "accelerators", "ec2_instance_type", "flavor", "gpu", "gpu_type",
    "guest_accelerator", "guest_accelerators", "instance_family", "instance_group",
    "instance_groups", "instance_shape", "instance_shape_name", "instance_type",
    "instance_type_name", "instance_types", "machine_type", "node_shape", "node_size_family",
    "node_type", "node_type_id", "platform_id", "server_type", "sku_name", "virtual_machine_size",
    "vm_size", "workload_profile_type", "workload_type",
];

/// Attributes that name the type of what is a machine itself, and anything elsewhere.
pub(super) const MACHINE_KEYS: [&str; 10] = [
    "bundle_id", "flavor_id", "flavor_name", "plan", "platform", "profile", "shape", "size", "sku",
    "type",
];

/// What a stack fills its template with.
pub(super) const PARAMETERS: &str = "parameters";

/// Ends of the resource types of machines and groups of them, before a version.
const MACHINES: [&str; 9] = [
    "_capacity_reservation", "_droplet", "_instance", "_k8s_pool", "_machine", "_node_pool",
    "_scale_set", "_server", "_vm",
];

/// Words in the resource types of databases, caches, brokers, disks and builds, whose machines
/// have no accelerators.
const WITHOUT_ACCELERATORS: [&str; 30] = [
    "alloydb", "cache", "cloudbuild", "database", "dax", "db", "disk", "dms", "docdb", "ebs",
    "elasticache", "elasticsearch", "kafka", "memorydb", "mongodb", "mq", "msk", "mssql", "mysql",
    "neptune", "opensearch", "postgresql", "rdb", "rds", "redis", "redshift", "snapshot", "sql",
    "storage", "volume",
];

/// Attributes that are a number of accelerators, with what a container requests them by.
pub(super) const COUNTS: [&str; 8] = [
    "accelerator_count", "accelerator_total_memory_mib", "amd.com/gpu", "aws.amazon.com/neuron",
    "gpu.intel.com/i915", "gpu_count", "google.com/tpu", "nvidia.com/gpu",
];

/// What a job of Nomad requests devices by; one where it states no number.
const NOMAD_DEVICES: [&str; 5] =
    ["\"amd/gpu", "\"google/tpu", "\"intel/gpu", "\"nvidia/gpu", "device \"gpu\""];

/// The key of requirements of Karpenter that name categories of types.
pub(super) const CATEGORY: &str = "/instance-category";

/// What of accelerated types a manifest in a text asks for: a category or a family that a
/// requirement of Karpenter lists, its number of GPUs, or a number that a container requests.
pub(super) fn requested(manifest: &str) -> Option<&str> {
    const FAMILY: &str = "/instance-family";
    let listed = |key: &str, is_accelerated: fn(&str) -> bool| {
        let mut requirements = manifest.split(key).skip(1).map(|requirement| {
            let words = requirement.split(|c: char| !c.is_ascii_alphanumeric());
            words.take_while(|word| !["key", "NotIn"].contains(word))
        });
        requirements.find_map(|mut words| words.find(|word| is_accelerated(word)))
    };
    let is_family = |word: &str| is_accelerated(word) && family(word).is_some();
    let gpus = ["instance-gpu-count", "instance-gpu-name"].into_iter();
    let mut gpus = gpus.filter(|key| manifest.contains(&format!("karpenter.k8s.aws/{key}")));
    let is_count = |key: &&str| {
        key.contains('/')
            && manifest.split(*key).skip(1).any(|rest| {
                let value = rest.trim_start_matches(['"', '\'', '\\', ':', ' ']);
                rest.contains(':') && value.starts_with(|c: char| ('1'..='9').contains(&c))
            })
    };
    listed(CATEGORY, is_accelerated_category)
        .or_else(|| listed(FAMILY, is_family))
        .or_else(|| gpus.next())
        .or_else(|| COUNTS.iter().copied().find(is_count))
        .or_else(|| NOMAD_DEVICES.into_iter().find(|device| manifest.contains(device)))
        .map(|name| name.trim_start_matches('"'))
}

/// Whether an attribute of a resource that nobody reads may name an accelerated type.
pub(super) fn may_name_accelerator(resource_type: &str, attribute: &str) -> bool {
    let mut words = resource_type.split('_');
    if words.any(|word| WITHOUT_ACCELERATORS.contains(&word)) {
        return false;
    }
    let name = resource_type.trim_end_matches("_v2");
    match attribute {
        // Elsewhere it is the address of a group.
        "instance_group" => name.starts_with("aws"),
        "sku.name" => MACHINES.iter().any(|end| name.ends_with(end)),
        PARAMETERS => name.contains("cloudformation_stack"),
        _ if MACHINE_KEYS.contains(&attribute) => MACHINES.iter().any(|end| name.ends_with(end)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_in_order_and_once() {
        let places: Vec<_> = KINDS.iter().map(|kind| (kind.resource_type, kind.block)).collect();
        assert!(places.is_sorted_by(|left, right| left < right));
        assert!(ONLY_NAMES.is_sorted() && KEPT.is_sorted());
        assert!(TYPE_KEYS.is_sorted() && MACHINE_KEYS.is_sorted());
        assert!(WITHOUT_ACCELERATORS.is_sorted());
    }
}
