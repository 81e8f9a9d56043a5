use super::*;

const CREATED: i64 = 1_790_000_000;

fn place() -> Place {
    Place {
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
    }
}

fn summary() -> EndpointSummary {
    EndpointSummary {
        endpoint_name: "chat".to_owned(),
        endpoint_status: IN_SERVICE.to_owned(),
        creation_time: CREATED as f64,
    }
}

/// As botocore describes the answers of DescribeEndpoint and DescribeEndpointConfig.
fn instances(variants: serde_json::Value, of_config: serde_json::Value) -> Vec<Instance> {
    let endpoint = json!({
        "EndpointName": "chat",
        "EndpointArn": "arn:aws:sagemaker:us-east-1:111122223333:endpoint/chat",
        "EndpointConfigName": "chat-2",
        "EndpointStatus": IN_SERVICE,
        "CreationTime": CREATED,
        "LastModifiedTime": CREATED + 500_000,
        "ProductionVariants": variants,
    });
    let config = json!({
        "EndpointConfigName": "chat-2",
        "CreationTime": CREATED + 1_000,
        "ProductionVariants": of_config,
    });
    let endpoint = serde_json::from_value(endpoint).expect("an endpoint");
    let config = serde_json::from_value(config).expect("a configuration");
    place().of_variants(&summary(), &endpoint, &config)
}

fn figures(instances: &[Instance]) -> Vec<(&str, &str, Lifecycle)> {
    instances
        .iter()
        .map(|one| (one.id.native(), one.instance_type.as_str(), one.lifecycle))
        .collect()
}

#[test]
fn an_endpoint_has_the_instances_of_today_and_the_types_of_its_configuration() {
    let found = instances(
        json!([
            { "VariantName": "main", "CurrentInstanceCount": 2, "DesiredInstanceCount": 5 },
            { "VariantName": "text", "CurrentInstanceCount": 3 },
            { "VariantName": "lazy", "CurrentServerlessConfig": { "MemorySizeInMB": 2048 } },
        ]),
        json!([
            // Ten at first: the number of today counts.
            { "VariantName": "main", "InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 10 },
            // No accelerator.
            { "VariantName": "text", "InstanceType": "ml.m5.xlarge", "InitialInstanceCount": 3 },
            { "VariantName": "lazy", "ServerlessConfig": { "MemorySizeInMB": 2048 } },
        ]),
    );
    let on_demand = Lifecycle::OnDemand;
    assert_eq!(
        figures(&found),
        [
            ("endpoint/chat/main/0", "ml.g5.xlarge-hosting", on_demand),
            ("endpoint/chat/main/1", "ml.g5.xlarge-hosting", on_demand),
        ]
    );
    // One group, which began with its configuration and not with the endpoint.
    for one in &found {
        assert_eq!(
            one.auto_scaling_group.as_deref(),
            Some("endpoint/chat/main")
        );
        assert_eq!(one.launch_time.as_second(), CREATED + 1_000);
        assert_eq!(one.id.provider(), Provider::SageMaker);
    }
    let shapes = shapes(&found);
    let shape = &shapes["ml.g5.xlarge-hosting"];
    assert_eq!(shape.instance_type, "ml.g5.xlarge-hosting");
    assert_eq!((shape.vcpu, shapes.len()), (4, 1));
}

#[test]
fn pools_have_types_of_their_own_and_a_training_plan_is_paid_ahead() {
    let found = instances(
        json!([
            { "VariantName": "main", "CurrentInstanceCount": 3, "InstancePools": [
                { "InstanceType": "ml.g5.xlarge", "CurrentInstanceCount": 1 },
                { "InstanceType": "ml.g6.xlarge", "CurrentInstanceCount": 2 },
            ] },
            { "VariantName": "held", "CurrentInstanceCount": 1, "CapacityReservationConfig": {
                "MlReservationArn": "arn:aws:sagemaker:us-east-1:111122223333:training-plan/p",
                "CapacityReservationPreference": "capacity-reservations-only",
            } },
        ]),
        json!([
            { "VariantName": "main" },
            { "VariantName": "held", "InstanceType": "ml.p5.48xlarge" },
        ]),
    );
    let (on_demand, ahead) = (Lifecycle::OnDemand, Lifecycle::CapacityBlock);
    assert_eq!(
        figures(&found),
        [
            ("endpoint/chat/main/0", "ml.g5.xlarge-hosting", on_demand),
            ("endpoint/chat/main/1", "ml.g6.xlarge-hosting", on_demand),
            ("endpoint/chat/main/2", "ml.g6.xlarge-hosting", on_demand),
            ("endpoint/chat/held/0", "ml.p5.48xlarge-hosting", ahead),
        ]
    );
    // It has no hourly price, and none is made up.
    let held = found.last().expect("there are four");
    assert_eq!(held.price_key(), None);
}

#[test]
fn the_catalog_knows_accelerators_and_else_the_name_does() {
    let types = [
        "g4dn.12xlarge",
        "inf2.xlarge",
        "p9.large",
        "m5.large",
        "t3.medium",
        "c99.large",
    ];
    let found = types.map(is_accelerated);
    assert_eq!(found, [true, true, true, false, false, false]);
}

#[test]
fn nodes_of_a_cluster_are_paid_for_as_their_group_is() {
    let cluster = serde_json::from_value(json!({
        "ClusterName": "hyper",
        "InstanceGroups": [
            { "InstanceGroupName": "train", "InstanceType": "ml.p5.48xlarge",
              "TrainingPlanArn": "arn:aws:sagemaker:us-east-1:111122223333:training-plan/p" },
            { "InstanceGroupName": "cheap", "CapacityRequirements": { "Spot": {} } },
            { "InstanceGroupName": "work", "CapacityRequirements": { "OnDemand": {} } },
        ],
    }))
    .expect("a cluster");
    let node = |group: &str, id: &str, instance_type: &str, status: &str| {
        json!({
            "InstanceGroupName": group, "InstanceId": id, "InstanceType": instance_type,
            "LaunchTime": CREATED, "InstanceStatus": { "Status": status },
            "PrivateDnsHostname": "ip-10-0-1-10.ec2.internal",
        })
    };
    let nodes = serde_json::from_value(json!([
        node("train", "i-1", "ml.p5.48xlarge", "Running"),
        node("cheap", "i-2", "ml.g5.xlarge", "Running"),
        node("work", "i-3", "ml.g5.xlarge", "SystemUpdating"),
        node("work", "i-4", "ml.g5.xlarge", "Pending"),
        node("work", "i-5", "ml.m5.xlarge", "Running"),
    ]))
    .expect("nodes");
    let found = place().of_nodes("hyper", &cluster, nodes);
    assert_eq!(
        figures(&found),
        [
            (
                "cluster/hyper/i-1",
                "ml.p5.48xlarge-cluster",
                Lifecycle::CapacityBlock
            ),
            ("cluster/hyper/i-2", "ml.g5.xlarge-cluster", Lifecycle::Spot),
            (
                "cluster/hyper/i-3",
                "ml.g5.xlarge-cluster",
                Lifecycle::OnDemand
            ),
        ]
    );
    let work = &found[2];
    assert_eq!(
        work.auto_scaling_group.as_deref(),
        Some("cluster/hyper/work")
    );
    // By which an exporter on the node is matched.
    assert_eq!(
        work.private_dns_name.as_deref(),
        Some("ip-10-0-1-10.ec2.internal")
    );
}
