use super::*;
use crate::domain::Hidden;
use serde_json::{Value, json};

const CREATED: i64 = 1_790_000_000;
/// When the endpoint last changed, and what is audited.
const CHANGED: i64 = CREATED + 500_000;
const AS_OF: i64 = CREATED + 900_000;

fn place() -> Place {
    Place {
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        as_of: Timestamp::from_second(AS_OF).expect("in range"),
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
fn read(variants: Value, of_config: Value) -> Gathered<Vec<Instance>> {
    changed(CHANGED, variants, of_config)
}

/// The same of an endpoint that last changed at another time.
fn changed(last: i64, variants: Value, of_config: Value) -> Gathered<Vec<Instance>> {
    let endpoint = json!({
        "EndpointName": "chat",
        "EndpointArn": "arn:aws:sagemaker:us-east-1:111122223333:endpoint/chat",
        "EndpointConfigName": "chat-2",
        "EndpointStatus": IN_SERVICE,
        "CreationTime": CREATED,
        "LastModifiedTime": last,
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

/// The instances of an endpoint that can be read whole.
fn instances(variants: Value, of_config: Value) -> Vec<Instance> {
    let gathered = read(variants, of_config);
    assert_eq!(gathered.gaps, [] as [Gap; 0]);
    gathered.value
}

/// The place and the field of each gap; every one says that an instance may be missing.
fn unread(gaps: &[Gap]) -> Vec<(String, CauseKind, String)> {
    let each = gaps.iter().map(|gap| {
        assert!(gap.hides() == Hidden::Instances, "{gap:?}");
        let cause = gap.cause.as_ref().expect("it has one");
        let details = cause.details().map(|(_, text)| text);
        let details: Vec<&str> = details.collect();
        let place = gap.place.split("us-east-1/").nth(1).unwrap_or_default();
        (place.to_owned(), cause.kind(), details.join(" "))
    });
    each.collect()
}

fn not_readable(place: &str, field: &str) -> (String, CauseKind, String) {
    let kind = CauseKind::MachineNotReadable;
    (place.to_owned(), kind, field.to_owned())
}

fn figures(instances: &[Instance]) -> Vec<(&str, &str, Lifecycle)> {
    instances
        .iter()
        .map(|instance| (instance.id.native(), instance.instance_type.as_str(), instance.lifecycle))
        .collect()
}

#[test]
fn an_endpoint_has_the_instances_of_today_and_the_types_of_its_configuration() {
    let instances = instances(
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
        figures(&instances),
        [
            ("endpoint/chat/main/0", "ml.g5.xlarge-hosting", on_demand),
            ("endpoint/chat/main/1", "ml.g5.xlarge-hosting", on_demand),
        ]
    );
    // One group, which began with the last change: the configuration is older than its
    // deployment.
    for instance in &instances {
        assert_eq!(instance.auto_scaling_group.as_deref(), Some("endpoint/chat/main"));
        assert_eq!(instance.launch_time.as_second(), CHANGED);
        assert_eq!(instance.id.provider(), Provider::SageMaker);
    }
}

#[test]
fn an_endpoint_counts_from_its_last_change_on_and_never_from_after_the_audit() {
    let launched = |last: i64| {
        let gathered = changed(
            last,
            json!([{ "VariantName": "main", "CurrentInstanceCount": 1 }]),
            json!([{ "VariantName": "main", "InstanceType": "ml.g5.xlarge" }]),
        );
        assert_eq!(gathered.gaps, [] as [Gap; 0]);
        gathered.value[0].launch_time.as_second()
    };
    assert_eq!(launched(CHANGED), CHANGED);
    // It was there before it changed: an audit of an earlier instant has it.
    assert_eq!(launched(AS_OF + 60), AS_OF);
    // The configuration was made at 1,000.
    assert_eq!(launched(CREATED), CREATED + 1_000);
}

#[test]
fn pools_have_types_of_their_own_and_a_training_plan_is_paid_ahead() {
    let instances = instances(
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
        figures(&instances),
        [
            ("endpoint/chat/main/0", "ml.g5.xlarge-hosting", on_demand),
            ("endpoint/chat/main/1", "ml.g6.xlarge-hosting", on_demand),
            ("endpoint/chat/main/2", "ml.g6.xlarge-hosting", on_demand),
            ("endpoint/chat/held/0", "ml.p5.48xlarge-hosting", ahead),
        ]
    );
    // It has no hourly price, and none is made up.
    let held = instances.last().expect("there are four");
    assert_eq!(held.price_key(), None);
}

#[test]
fn the_catalog_knows_accelerators_and_else_the_name_does() {
    let types = ["g4dn.12xlarge", "inf2.xlarge", "p9.large", "m5.large", "t3.medium", "c99.large"];
    let accelerated = types.map(is_accelerated);
    assert_eq!(accelerated, [true, true, true, false, false, false]);
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
    let nodes: Vec<ClusterNode> = serde_json::from_value(json!([
        node("train", "i-1", "ml.p5.48xlarge", "Running"),
        node("cheap", "i-2", "ml.g5.xlarge", "Running"),
        node("work", "i-3", "ml.g5.xlarge", "SystemUpdating"),
        node("work", "i-4", "ml.g5.xlarge", "Pending"),
        node("work", "i-5", "ml.m5.xlarge", "Running"),
    ]))
    .expect("nodes");
    let gathered = place().of_nodes("hyper", &cluster, &nodes);
    assert_eq!(gathered.gaps, [] as [Gap; 0]);
    let instances = gathered.value;
    assert_eq!(
        figures(&instances),
        [
            ("cluster/hyper/i-1", "ml.p5.48xlarge-cluster", Lifecycle::CapacityBlock),
            ("cluster/hyper/i-2", "ml.g5.xlarge-cluster", Lifecycle::Spot),
            ("cluster/hyper/i-3", "ml.g5.xlarge-cluster", Lifecycle::OnDemand),
        ]
    );
    let work = &instances[2];
    assert_eq!(work.auto_scaling_group.as_deref(), Some("cluster/hyper/work"));
    // By which an exporter on the node is matched.
    assert_eq!(work.private_dns_name.as_deref(), Some("ip-10-0-1-10.ec2.internal"));
}

#[test]
fn instances_of_variants_that_cannot_be_read_are_gaps_and_hide_no_others() {
    let gathered = read(
        json!([
            { "VariantName": "typeless", "CurrentInstanceCount": 8 },
            { "VariantName": "other", "CurrentInstanceCount": 8 },
            { "VariantName": "countless" },
            { "VariantName": "pooled", "InstancePools": [{ "InstanceType": "ml.g5.xlarge" }] },
            { "VariantName": "odd", "CurrentInstanceCount": 1 },
            // Nothing of these is billed as an accelerator.
            { "VariantName": "none", "CurrentInstanceCount": 0 },
            { "VariantName": "text" },
            { "VariantName": "main", "CurrentInstanceCount": 1 },
        ]),
        json!([
            { "VariantName": "typeless" },
            { "VariantName": "countless", "InstanceType": "ml.g5.xlarge" },
            { "VariantName": "odd", "InstanceType": "g5.xlarge" },
            { "VariantName": "text", "InstanceType": "ml.m5.xlarge" },
            { "VariantName": "main", "InstanceType": "ml.g5.xlarge" },
        ]),
    );
    assert_eq!(gathered.value.len(), 1);
    assert_eq!(
        unread(&gathered.gaps),
        [
            not_readable("endpoint/chat/typeless", "type"),
            not_readable("endpoint/chat/other", "type"),
            not_readable("endpoint/chat/countless", "number of instances"),
            not_readable("endpoint/chat/pooled", "number of instances"),
            not_readable("endpoint/chat/odd", "type"),
        ]
    );
    for none in [json!([]), Value::Null] {
        let gathered = read(none, json!([]));
        assert_eq!(unread(&gathered.gaps), [not_readable("endpoint/chat", "variants")]);
    }
}

#[test]
fn instances_of_an_endpoint_are_bounded_and_the_others_are_a_gap() {
    let count = u16::MAX;
    let names: Vec<String> = (0..40).map(|index| format!("v{index:02}")).collect();
    let variants = names.iter();
    let variants =
        variants.map(|name| json!({ "VariantName": name, "CurrentInstanceCount": count }));
    let types = names.iter();
    let types = types.map(|name| json!({ "VariantName": name, "InstanceType": "ml.g5.xlarge" }));
    let gathered = read(variants.collect(), types.collect());
    assert_eq!(gathered.value.len(), 10_000);
    let gaps = unread(&gathered.gaps);
    assert_eq!(gaps.len(), 40);
    let first = "endpoint/chat/v00".to_owned();
    let expected = (first, CauseKind::TooManyListed, "10000".to_owned());
    assert_eq!(gaps[0], expected);
}

#[test]
fn notebooks_and_nodes_that_cannot_be_read_are_gaps() {
    let notebook = |name: &str, rest: Value| {
        let mut one = json!({
            "NotebookInstanceName": name, "NotebookInstanceStatus": IN_SERVICE,
            "InstanceType": "ml.p3.2xlarge", "CreationTime": CREATED,
        });
        for (key, value) in rest.as_object().expect("an object") {
            one[key] = value.clone();
        }
        one
    };
    let notebooks: Vec<NotebookInstance> = serde_json::from_value(json!([
        notebook("whole", json!({})),
        notebook("typeless", json!({ "InstanceType": null })),
        notebook("timeless", json!({ "CreationTime": null })),
        notebook("stateless", json!({ "NotebookInstanceStatus": null })),
        notebook("cpu", json!({ "InstanceType": "ml.t3.medium", "CreationTime": null })),
        notebook("off", json!({ "NotebookInstanceStatus": "Stopped", "InstanceType": null })),
    ]))
    .expect("notebooks");
    let gathered = place().of_notebooks(&notebooks);
    assert_eq!(gathered.value.len(), 1);
    assert_eq!(
        unread(&gathered.gaps),
        [
            not_readable("notebook/typeless", "type"),
            not_readable("notebook/timeless", "launch time"),
            not_readable("notebook/stateless", "state"),
        ]
    );

    let cluster = serde_json::from_value(json!({})).expect("a cluster");
    let nodes: Vec<ClusterNode> = serde_json::from_value(json!([{
        "InstanceGroupName": "work", "InstanceId": "i-1", "InstanceType": "ml.g5.xlarge",
        "LaunchTime": CREATED,
    }]))
    .expect("nodes");
    let gathered = place().of_nodes("hyper", &cluster, &nodes);
    assert_eq!(gathered.value, [] as [Instance; 0]);
    assert_eq!(unread(&gathered.gaps), [not_readable("cluster/hyper/i-1", "state")]);
}

#[test]
fn apps_without_a_machine_are_left_out_and_every_other_is_a_machine_or_a_gap() {
    let app = |kind: &str, name: &str, instance_type: Value| {
        json!({
            "AppName": name, "AppType": kind, "Status": IN_SERVICE, "DomainId": "d-1",
            "UserProfileName": "ann", "CreationTime": CREATED,
            "ResourceSpec": { "InstanceType": instance_type },
        })
    };
    let mut timeless = app("JupyterLab", "timeless", "ml.g5.xlarge".into());
    timeless["CreationTime"] = Value::Null;
    let mut bare = app("CodeEditor", "bare", Value::Null);
    bare["ResourceSpec"] = Value::Null;
    let apps: Vec<App> = serde_json::from_value(json!([
        app("JupyterLab", "lab", "ml.g5.xlarge".into()),
        app("RSessionGateway", "r", "ml.g5.48xlarge".into()),
        timeless,
        bare,
        app("Notable", "new", Value::Null),
        // None of these has an accelerator.
        app("JupyterServer", "default", "system".into()),
        app("Canvas", "canvas", Value::Null),
        app("RStudioServerPro", "rstudio", "ml.t3.medium".into()),
        app("KernelGateway", "cpu", "ml.m5.large".into()),
    ]))
    .expect("apps");
    let gathered = place().of_apps(&apps);
    let names: Vec<&str> = gathered.value.iter().map(|instance| instance.id.native()).collect();
    assert_eq!(names, ["app/d-1/ann/JupyterLab/lab"]);
    let unknown = "RSessionGateway".to_owned();
    let place = "app/d-1/ann/RSessionGateway/r".to_owned();
    assert_eq!(
        unread(&gathered.gaps),
        [
            (place, CauseKind::AppTypeUnknown, unknown),
            not_readable("app/d-1/ann/JupyterLab/timeless", "launch time"),
            not_readable("app/d-1/ann/CodeEditor/bare", "type"),
            not_readable("app/d-1/ann/Notable/new", "type"),
        ]
    );
}
