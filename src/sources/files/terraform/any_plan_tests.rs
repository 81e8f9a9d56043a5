//! Whatever is read as a plan, nothing panics.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

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
