//! Container instances as nodes, and GPUs of tasks as claims.

use crate::aws::answers::answers;
use crate::domain::{
    Claim, ClaimState, Clusters, DeviceUnit, Devices, ECS_FAMILY, ECS_SERVICE, Holder, Node,
    NodeAmount, NodeDevices, Owner, ResourceId, Scheduler,
};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// What resources of the kind are called.
const GPU: &str = "GPU";
/// Thousandths of a core, of which ECS counts 1,024 parts.
const MILLICORES: u64 = 1_000;
const CPU_UNITS: u64 = 1_024;

answers! { "camelCase":
    pub(super) struct ContainerInstance {
        pub container_instance_arn: String,
        /// Of Systems Manager where it is a machine outside of AWS.
        pub ec2_instance_id: Option<String>,
        pub capacity_provider_name: Option<String>,
        pub status: Option<String>,
        pub agent_connected: Option<bool>,
        #[serde(default)]
        pub registered_resources: Vec<Resource>,
        /// Those among them that no task holds.
        #[serde(default)]
        pub remaining_resources: Vec<Resource>,
    }

    pub(super) struct Resource {
        name: Option<String>,
        integer_value: Option<i64>,
        /// IDs of devices.
        #[serde(default)]
        string_set_value: Vec<String>,
    }

    pub(super) struct Task {
        pub task_arn: String,
        /// `service:NAME` of a service, else `family:NAME` unless it was started with another.
        pub group: Option<String>,
        pub task_definition_arn: Option<String>,
        pub last_status: Option<String>,
        pub created_at: Option<f64>,
        pub started_at: Option<f64>,
        #[serde(default)]
        pub containers: Vec<Container>,
    }

    pub(super) struct Container {
        #[serde(default)]
        gpu_ids: Vec<String>,
    }
}

/// The IDs of the GPUs among resources.
fn gpus(resources: &[Resource]) -> BTreeSet<String> {
    let own = resources.iter().filter(|resource| resource.name.as_deref() == Some(GPU));
    own.flat_map(|resource| resource.string_set_value.iter().cloned()).collect()
}

/// A resource that is an amount, such as `CPU`.
fn amount(resources: &[Resource], name: &str) -> Option<u64> {
    let mut listed = resources.iter();
    let resource = listed.find(|resource| resource.name.as_deref() == Some(name))?;
    u64::try_from(resource.integer_value?).ok()
}

impl Task {
    /// The IDs of the GPUs that its containers hold, each once.
    pub fn gpus(&self) -> BTreeSet<&str> {
        let has_ended = self.last_status.as_deref() == Some("STOPPED");
        let containers = self.containers.iter().filter(|_| !has_ended);
        containers.flat_map(|container| &container.gpu_ids).map(String::as_str).collect()
    }
}

/// What ends an ARN, which is the name or the ID alone.
pub(super) fn last_of(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or(arn)
}

/// A container instance with GPUs.
#[derive(Debug)]
pub(super) struct Host {
    /// The ARN of its cluster.
    pub cluster: String,
    pub arn: String,
    node: Node,
    claims: Vec<Claim>,
    /// IDs of its GPUs, and of those among them that are given away.
    registered: BTreeSet<String>,
    held: BTreeSet<String>,
}

impl Host {
    /// A container instance that tasks are placed on, or were; absent without GPUs that
    /// tasks can be given: who uses them is not known.
    pub fn of(found: ContainerInstance, cluster: &str, machine: &ResourceId) -> Option<Self> {
        let status = found.status.as_deref();
        if !matches!(status, Some("ACTIVE" | "DRAINING")) {
            return None;
        }
        let registered = gpus(&found.registered_resources);
        let count = u32::try_from(registered.len()).ok().filter(|n| *n > 0)?;
        let remaining = gpus(&found.remaining_resources);
        let offered = NodeDevices { unit: DeviceUnit::Whole, capacity: count, allocatable: count };
        let whole = |name: &str| amount(&found.registered_resources, name).unwrap_or_default();
        let node = Node {
            name: machine.native().to_owned(),
            scheduler: Scheduler::Ecs,
            provider_id: None,
            cluster: Some(last_of(cluster).to_owned()),
            machine: machine.clone(),
            physical: Some(Decimal::from(count)),
            devices: BTreeMap::from([(GPU.to_owned(), offered)]),
            price_class: None,
            pool: found.capacity_provider_name,
            pool_maker: None,
            cpu_millicores: registered_amount(whole("CPU").saturating_mul(MILLICORES) / CPU_UNITS),
            memory_mib: registered_amount(whole("MEMORY")),
            pods: None,
            cpu_only_pods: None,
            is_ready: found.agent_connected,
            is_cordoned: status == Some("DRAINING"),
        };
        Some(Self {
            cluster: cluster.to_owned(),
            arn: found.container_instance_arn,
            node,
            claims: Vec::new(),
            held: registered.difference(&remaining).cloned().collect(),
            registered,
        })
    }

    /// Adds its tasks. Where GPUs are given away that none of them holds, as those of a task
    /// that is stopping, its tasks stay unknown: such a GPU is not free.
    pub fn add(&mut self, tasks: Vec<Task>) {
        let mut sharers: BTreeMap<&str, u32> = BTreeMap::new();
        let own = |id: &&str| self.registered.contains(*id);
        for task in &tasks {
            for id in task.gpus().into_iter().filter(own) {
                *sharers.entry(id).or_default() += 1;
            }
        }
        let mut claims = Vec::new();
        for task in &tasks {
            let mut shares: BTreeMap<u32, u32> = BTreeMap::new();
            for id in task.gpus() {
                if let Some(tasks) = sharers.get(id) {
                    *shares.entry(*tasks).or_default() += 1;
                }
            }
            for (tasks, count) in shares {
                claims.push(self.claim(task, tasks, count));
            }
        }
        let is_whole = self.held.iter().all(|id| sharers.contains_key(id.as_str()));
        self.claims = claims;
        self.node.pods = u32::try_from(tasks.len()).ok().filter(|_| is_whole);
    }

    /// So many GPUs of a task, each of which so many tasks share.
    fn claim(&self, task: &Task, tasks: u32, count: u32) -> Claim {
        let since = task.started_at.or(task.created_at);
        Claim {
            holder: Holder {
                namespace: last_of(&self.cluster).to_owned(),
                pod: Some(last_of(&task.task_arn).to_owned()),
                owner: owner(task),
                labels: BTreeMap::new(),
                placement: None,
            },
            devices: Devices {
                resource: GPU.to_owned(),
                unit: match tasks {
                    1 => DeviceUnit::Whole,
                    per_device => DeviceUnit::Replica { per_device },
                },
                count,
            },
            state: ClaimState::Running,
            since: since.and_then(|seconds| Timestamp::from_second(seconds as i64).ok()),
            machine: Some(self.node.machine.clone()),
        }
    }
}

/// An amount as it was registered: what tasks request of it is not read.
fn registered_amount(capacity: u64) -> NodeAmount {
    NodeAmount { capacity, allocatable: capacity, requested: None }
}

/// The service of a task, else the family of its definition.
fn owner(task: &Task) -> Option<Owner> {
    let service = task.group.as_deref();
    let service = service.and_then(|group| group.strip_prefix("service:"));
    let of = |kind: &str, name: &str| Owner { kind: kind.to_owned(), name: name.to_owned() };
    if let Some(name) = service {
        return Some(of(ECS_SERVICE, name));
    }
    let definition = last_of(task.task_definition_arn.as_deref()?);
    let family = definition.rsplit_once(':');
    Some(of(ECS_FAMILY, family.map_or(definition, |(family, _revision)| family)))
}

/// Nodes and claims. A machine that is registered twice, as after it has changed its cluster,
/// is one node: the one whose agent is connected.
pub(super) fn joined(mut hosts: Vec<Host>) -> Clusters {
    let order = |host: &Host| {
        (host.node.machine.clone(), host.node.is_ready != Some(true), host.arn.clone())
    };
    hosts.sort_by_cached_key(order);
    hosts.dedup_by(|later, first| later.node.machine == first.node.machine);
    let mut clusters = Clusters::default();
    for host in hosts {
        clusters.nodes.push(host.node);
        clusters.claims.extend(host.claims);
    }
    clusters
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let instance = serde_json::from_value(described).expect("an instance");
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
        serde_json::from_value(json!(tasks)).expect("tasks")
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
}
