use super::*;
use crate::sources::aws::ecs::listed::{ContainerInstances, Tasks};
use serde_json::{Value, json};

const CLUSTER: &str = "arn:aws:ecs:us-east-1:111122223333:cluster/serving";

fn set(ids: &[&str]) -> Value {
    json!({
        "name": "GPU", "type": "STRINGSET", "doubleValue": 0.0, "longValue": 0,
        "integerValue": 0, "stringSetValue": ids,
    })
}

/// A container instance as ECS describes it: 8 vCPUs, 30 GiB.
fn described(arn: &str, registered: &[&str], remaining: &[&str]) -> Value {
    json!({
        "containerInstanceArn": arn, "ec2InstanceId": "i-1", "status": "ACTIVE",
        "agentConnected": true, "runningTasksCount": 1, "pendingTasksCount": 0,
        "registeredAt": 1_790_000_000.0,
        "registeredResources": [
            { "name": "CPU", "type": "INTEGER", "integerValue": 8_192 },
            { "name": "MEMORY", "type": "INTEGER", "integerValue": 30_720 },
            { "name": "PORTS", "type": "STRINGSET", "stringSetValue": ["22"] },
            set(registered),
        ],
        "remainingResources": [
            { "name": "CPU", "type": "INTEGER", "integerValue": 1_024 },
            set(remaining),
        ],
    })
}

fn host(described: Value) -> Option<Host> {
    let answer = json!({ "containerInstances": [described], "failures": [] });
    let mut answer: ContainerInstances = serde_json::from_value(answer).expect("an answer");
    let instance = answer.container_instances.remove(0);
    Host::of(instance, CLUSTER, &ResourceId::named("i-1"))
}

fn task(id: &str, group: &str, gpus: &[&[&str]]) -> Value {
    let containers = gpus.iter().map(|ids| json!({ "name": "c", "gpuIds": ids }));
    json!({
        "taskArn": format!("arn:aws:ecs:us-east-1:111122223333:task/serving/{id}"),
        "taskDefinitionArn": "arn:aws:ecs:us-east-1:111122223333:task-definition/ranker:7",
        "group": group, "lastStatus": "RUNNING", "desiredStatus": "RUNNING",
        "createdAt": 1_790_000_000.5, "startedAt": 1_790_000_060.25,
        "containers": containers.collect::<Vec<_>>(),
    })
}

fn tasks(tasks: &[Value]) -> Vec<Task> {
    let answer: Tasks = serde_json::from_value(json!({ "tasks": tasks })).expect("an answer");
    answer.tasks
}

/// Physical, requested and free GPUs of the only node.
fn funnel(host: Host) -> [Option<String>; 3] {
    let clusters = joined(vec![host]);
    let funnel = clusters.nodes[0].funnel(&clusters.claims);
    let shown = |count: Option<Decimal>| count.map(|gpus| gpus.to_string());
    [shown(funnel.physical), shown(funnel.requested), shown(funnel.free())]
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_task_holds_the_gpus_of_all_its_containers() {
    let mut own = host(described("ci-1", &["a", "b", "c", "d"], &["d"])).expect("a host");
    own.add(tasks(&[
        task("1a2b", "service:ranker", &[&["a"], &["b"]]),
        task("3c4d", "family:ranker", &[&["c"]]),
        task("5e6f", "service:logs", &[&[]]),
    ]));
    let clusters = joined(vec![own]);
    let node = &clusters.nodes[0];
    assert_eq!(node.pods, Some(3));
    assert_eq!(node.cluster.as_deref(), Some("serving"));
    assert_eq!(node.scheduler, Scheduler::Ecs);
    // 8,192 of 1,024 units a core; in MiB.
    assert_eq!(node.cpu_millicores.capacity, 8_000);
    assert_eq!(node.memory_mib.capacity, 30_720);
    let held: Vec<(&str, Option<&str>, String, u32)> = clusters
        .claims
        .iter()
        .map(|claim| {
            let holder = &claim.holder;
            let owner = holder.owner.as_ref().expect("an owner");
            let owner = format!("{} {}", owner.kind, owner.name);
            let pod = holder.pod.as_deref();
            (holder.namespace.as_str(), pod, owner, claim.devices.count)
        })
        .collect();
    let expected = [
        ("serving", Some("1a2b"), "Service ranker".to_owned(), 2),
        ("serving", Some("3c4d"), "task family ranker".to_owned(), 1),
    ];
    assert_eq!(held, expected);
    let since = clusters.claims[0].since.map(Timestamp::as_second);
    assert_eq!(since, Some(1_790_000_060));
    let funnel = node.funnel(&clusters.claims);
    assert_eq!(funnel.requested, Some(Decimal::from(3)));
    assert_eq!(funnel.free(), Some(Decimal::ONE));
}

#[test]
fn a_gpu_that_no_task_explains_is_not_free() {
    let own = || host(described("ci-1", &["a", "b"], &["b"])).expect("a host");
    // Its tasks were not read.
    assert_eq!(funnel(own()), [text("2"), None, None]);
    // A task that stops still holds `a`, and is not among those that are to run.
    let mut stopping = own();
    stopping.add(Vec::new());
    assert_eq!(funnel(stopping), [text("2"), None, None]);
    let mut ended = own();
    let mut task = task("1a2b", "service:ranker", &[&["a"]]);
    task["lastStatus"] = "STOPPED".into();
    ended.add(tasks(&[task]));
    assert_eq!(funnel(ended), [text("2"), None, None]);
    let mut empty = host(described("ci-1", &["a", "b"], &["a", "b"])).expect("a host");
    empty.add(Vec::new());
    assert_eq!(funnel(empty), [text("2"), text("0"), text("2")]);
}

#[test]
fn tasks_that_share_a_gpu_hold_parts_of_it() {
    let mut own = host(described("ci-1", &["a", "b", "c"], &["c"])).expect("a host");
    own.add(tasks(&[
        task("1", "service:x", &[&["a"]]),
        task("2", "service:x", &[&["a", "b"]]),
        task("3", "service:x", &[&["a"]]),
    ]));
    let claims = own.claims.iter();
    let units: Vec<(DeviceUnit, u32)> =
        claims.map(|claim| (claim.devices.unit.clone(), claim.devices.count)).collect();
    let third = DeviceUnit::Replica { per_device: 3 };
    let expected = [(third.clone(), 1), (DeviceUnit::Whole, 1), (third.clone(), 1), (third, 1)];
    assert_eq!(units, expected);
    // 3 × 1/3 + 1 = 2 of 3.
    assert_eq!(funnel(own), [text("3"), text("2"), text("1")]);
}

#[test]
fn what_gives_away_no_gpus_is_no_node() {
    assert!(host(described("ci-1", &[], &[])).is_none());
    let mut gone = described("ci-1", &["a"], &["a"]);
    gone["status"] = "INACTIVE".into();
    assert!(host(gone).is_none());
    let mut draining = described("ci-1", &["a"], &["a"]);
    draining["status"] = "DRAINING".into();
    draining["agentConnected"] = false.into();
    let node = host(draining).expect("a host").node;
    assert_eq!((node.is_cordoned, node.is_ready), (true, Some(false)));
}

#[test]
fn a_machine_of_two_clusters_is_the_node_whose_agent_is_connected() {
    let mut lost = described("ci-1", &["a"], &[]);
    lost["agentConnected"] = false.into();
    let mut lost = host(lost).expect("a host");
    lost.add(tasks(&[task("1", "service:old", &[&["a"]])]));
    let mut own = host(described("ci-2", &["a"], &["a"])).expect("a host");
    own.add(Vec::new());
    let clusters = joined(vec![lost, own]);
    assert_eq!((clusters.nodes.len(), clusters.claims.len()), (1, 0));
    assert_eq!(clusters.nodes[0].is_ready, Some(true));
}
