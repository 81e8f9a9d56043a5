//! Container instances as nodes, and GPUs of tasks as claims.

use super::listed::{ContainerInstance, GPU, Task, amount, gpus, last_of};
use crate::domain::{
    Claim, ClaimState, Clusters, DeviceUnit, Devices, ECS_FAMILY, ECS_SERVICE, Holder, Node,
    NodeAmount, NodeDevices, Owner, ResourceId, Scheduler,
};
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// Thousandths of a core, of which ECS counts 1,024 parts.
const MILLICORES: u64 = 1_000;
const CPU_UNITS: u64 = 1_024;

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
#[path = "claims_tests.rs"]
mod tests;
