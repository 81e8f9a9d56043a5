//! Machines of a cluster, as its scheduler sees them.

use super::claim::{Claim, DeviceUnit, Holder};
use super::named::named_enum;
use super::wire::{Amount, Maybe};
use super::{DeviceUse, Lifecycle, ResourceId};
use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Decimals of a number of devices: sums of sevenths are whole again.
pub const DEVICE_DECIMALS: u32 = 6;

/// Devices that a node offers under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "devices with `unit`, `capacity` and `allocatable`")]
pub struct NodeDevices {
    #[serde(default)]
    pub unit: DeviceUnit,
    pub capacity: u32,
    /// Less than the capacity where devices are unhealthy or reserved.
    pub allocatable: u32,
}

/// CPU or memory of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `capacity`, `allocatable` and `requested`"
)]
pub struct NodeAmount {
    pub capacity: u64,
    pub allocatable: u64,
    /// By pods; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<u64>,
}

named_enum! {
    /// Who gives away the devices of a machine.
    Scheduler {
        Kubernetes = "kubernetes",
        /// Amazon ECS, whose nodes are container instances, and whose pods are tasks.
        Ecs = "ecs",
    }
}

named_enum! {
    /// What adds and removes the nodes of a pool of Kubernetes.
    PoolMaker {
        Karpenter = "karpenter",
        EksNodeGroup = "eks-node-group",
        Eksctl = "eksctl",
        Gke = "gke",
        Aks = "aks",
    }
}

fn kubernetes() -> Scheduler {
    Scheduler::Kubernetes
}

fn kubernetes_unless_stated<'de, D: Deserializer<'de>>(from: D) -> Result<Scheduler, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_else(kubernetes))
}

fn is_kubernetes(scheduler: &Scheduler) -> bool {
    *scheduler == Scheduler::Kubernetes
}

/// A machine with accelerators that belongs to a Kubernetes or ECS cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a node object")]
pub struct Node {
    pub name: String,
    /// `kubernetes` unless said otherwise.
    #[serde(
        default = "kubernetes",
        deserialize_with = "kubernetes_unless_stated",
        skip_serializing_if = "is_kubernetes"
    )]
    #[schemars(with = "Option<Scheduler>")]
    pub scheduler: Scheduler,
    /// Where the machine is from, in the words of the cluster, such as
    /// `aws:///us-east-1a/i-0123456789abcdef0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// ID of its instance, which is what pays for it; one node per machine.
    pub machine: ResourceId,
    /// Number of physical devices, shared and divided or not.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Amount>")]
    pub physical: Option<Decimal>,
    /// By resource, such as nvidia.com/gpu; each device under one name only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub devices: BTreeMap<String, NodeDevices>,
    /// How the machine was bought; absent if no label states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_class: Option<Lifecycle>,
    /// The group of nodes that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// What makes the nodes of the pool; absent if no label states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_maker: Option<PoolMaker>,
    /// In thousandths of a core.
    pub cpu_millicores: NodeAmount,
    pub memory_mib: NodeAmount,
    /// Pods on the node that have not ended; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<u32>,
    /// Those among them that request no device and that neither a `DaemonSet` nor the node itself
    /// created: they keep the node from being removed. Absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_only_pods: Option<u32>,
    /// Absent if not known.
    #[serde(default, rename = "ready", skip_serializing_if = "Option::is_none")]
    pub is_ready: Option<bool>,
    /// Whether the scheduler is kept from placing pods on it.
    #[serde(default, rename = "cordoned")]
    pub is_cordoned: bool,
}

/// How far the devices of a node are given away, in physical devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceFunnel {
    /// Absent where nothing tells.
    pub physical: Option<Decimal>,
    pub allocatable: Decimal,
    /// Absent where nothing tells.
    pub requested: Option<Decimal>,
}

impl DeviceFunnel {
    /// What the scheduler can still give away.
    pub fn free(&self) -> Option<Decimal> {
        Some((self.allocatable - self.requested?).max(Decimal::ZERO))
    }

    /// What is there and not requested, whether it can be given away or not.
    pub fn unallocated(&self) -> Option<Decimal> {
        Some((self.physical? - self.requested?).max(Decimal::ZERO))
    }
}

impl Node {
    /// Its devices, with claims among which are all of its own.
    pub fn funnel<'a>(&self, claims: impl IntoIterator<Item = &'a Claim>) -> DeviceFunnel {
        let offered = self.devices.values();
        let allocatable: Decimal =
            offered.map(|device| device.unit.physical(device.allocatable)).sum();
        let own = claims.into_iter().filter(|claim| claim.machine.as_ref() == Some(&self.machine));
        let requested: Decimal = own.map(|claim| claim.devices.physical()).sum();
        DeviceFunnel {
            physical: self.physical,
            allocatable: allocatable.round_dp(DEVICE_DECIMALS).normalize(),
            requested: self.pods.map(|_| requested.round_dp(DEVICE_DECIMALS).normalize()),
        }
    }
}

/// What schedulers know of machines and of who holds their devices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Clusters {
    /// Nodes with accelerators.
    pub nodes: Vec<Node>,
    pub claims: Vec<Claim>,
    /// How pods used devices, as far as metrics name pods.
    pub uses: Vec<DeviceUse>,
}

impl Clusters {
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.claims.is_empty() && self.uses.is_empty()
    }

    /// MIG instances that the nodes of each machine offer.
    pub fn mig_instances(&self) -> BTreeMap<ResourceId, u32> {
        let mut offered = BTreeMap::new();
        for node in &self.nodes {
            for devices in node.devices.values() {
                if let DeviceUnit::Slice { replicas, .. } = &devices.unit {
                    let instances = devices.capacity / (*replicas).max(1);
                    *offered.entry(node.machine.clone()).or_insert(0) += instances;
                }
            }
        }
        offered
    }

    /// Whether a part of it is of Kubernetes, and not all of it of Amazon ECS.
    pub fn has_kubernetes(&self) -> bool {
        let (own, of_tasks): (Vec<&Node>, Vec<&Node>) =
            self.nodes.iter().partition(|node| node.scheduler == Scheduler::Kubernetes);
        let of_tasks: BTreeSet<&ResourceId> = of_tasks.iter().map(|node| &node.machine).collect();
        let is_of_pod =
            |claim: &Claim| claim.machine.as_ref().is_none_or(|id| !of_tasks.contains(id));
        !own.is_empty() || self.claims.iter().any(is_of_pod)
    }

    /// Adds what another place knows.
    pub fn add(&mut self, other: Self) {
        self.nodes.extend(other.nodes);
        self.claims.extend(other.claims);
        self.uses.extend(other.uses);
    }

    /// Puts nodes in order of name, claims in order of their holders, and uses in order of
    /// their devices.
    pub fn sort(&mut self) {
        self.nodes
            .sort_by(|left, right| (&left.name, &left.machine).cmp(&(&right.name, &right.machine)));
        self.claims.sort_by_cached_key(|claim| {
            let Holder { namespace, pod, owner, labels: _, placement: _ } = claim.holder.clone();
            let devices = claim.devices.clone();
            (namespace, pod, owner, devices.resource, devices.unit)
        });
        DeviceUse::sort(&mut self.uses);
    }
}

#[cfg(test)]
mod tests {
    use super::super::claim::{ClaimState, Devices};
    use super::*;

    fn machine(name: &str) -> ResourceId {
        ResourceId::named(name)
    }

    fn node(physical: u32, devices: &[(&str, DeviceUnit, u32)]) -> Node {
        let offered = |unit: &DeviceUnit, count| NodeDevices {
            unit: unit.clone(),
            capacity: count,
            allocatable: count,
        };
        let devices = devices.iter();
        Node {
            name: "node".to_owned(),
            scheduler: Scheduler::Kubernetes,
            provider_id: None,
            cluster: None,
            machine: machine("i-1"),
            physical: Some(Decimal::from(physical)),
            devices: devices
                .map(|(name, unit, count)| ((*name).to_owned(), offered(unit, *count)))
                .collect(),
            price_class: None,
            pool: None,
            pool_maker: None,
            cpu_millicores: NodeAmount::default(),
            memory_mib: NodeAmount::default(),
            pods: Some(1),
            cpu_only_pods: None,
            is_ready: None,
            is_cordoned: false,
        }
    }

    fn claim(unit: &DeviceUnit, count: u32, on: Option<&str>) -> Claim {
        Claim {
            holder: Holder {
                namespace: "default".to_owned(),
                pod: Some("pod".to_owned()),
                owner: None,
                labels: BTreeMap::new(),
                placement: None,
            },
            devices: Devices { resource: "nvidia.com/gpu".to_owned(), unit: unit.clone(), count },
            state: ClaimState::Running,
            since: None,
            machine: on.map(machine),
        }
    }

    fn shown(funnel: &DeviceFunnel) -> [String; 4] {
        let text =
            |value: Option<Decimal>| value.map_or("?".to_owned(), |number| number.to_string());
        [
            text(Some(funnel.allocatable)),
            text(funnel.requested),
            text(funnel.free()),
            text(funnel.unallocated()),
        ]
    }

    #[test]
    fn shared_and_divided_devices_are_counted_as_parts() {
        let replica = DeviceUnit::Replica { per_device: 10 };
        let shared = node(8, &[("nvidia.com/gpu", replica.clone(), 80)]);
        let claims = [
            claim(&replica, 3, Some("i-1")),
            // On another machine, and on none.
            claim(&replica, 5, Some("i-2")),
            claim(&replica, 7, None),
        ];
        let funnel = shared.funnel(&claims);
        assert_eq!(shown(&funnel), ["8", "0.3", "7.7", "7.7"]);

        let slice =
            |slices| DeviceUnit::Slice { profile: String::new(), slices, of: 7, replicas: 1 };
        // A card in seven, and one of 3 + 2 slices: 12/7 of 2 can be given away.
        let devices = [("a", slice(1), 7), ("b", slice(3), 1), ("c", slice(2), 1)];
        let divided = node(2, &devices);
        let claims = [claim(&slice(1), 7, Some("i-1")), claim(&slice(3), 1, Some("i-1"))];
        let funnel = divided.funnel(&claims);
        assert_eq!(shown(&funnel), ["1.714286", "1.428571", "0.285715", "0.571429"]);
    }

    #[test]
    fn container_instances_and_their_tasks_are_no_kubernetes() {
        let whole = DeviceUnit::Whole;
        let of = |scheduler| Node { scheduler, ..node(1, &[]) };
        let has_kubernetes = |nodes: &[Node], claims: &[Claim]| {
            let clusters =
                Clusters { nodes: nodes.to_vec(), claims: claims.to_vec(), uses: Vec::new() };
            clusters.has_kubernetes()
        };
        let task_host = of(Scheduler::Ecs);
        let task = claim(&whole, 1, Some("i-1"));
        assert!(!has_kubernetes(&[], &[]));
        assert!(!has_kubernetes(std::slice::from_ref(&task_host), std::slice::from_ref(&task)));
        let waiting = claim(&whole, 1, None);
        assert!(has_kubernetes(std::slice::from_ref(&task_host), &[task, waiting]));
        assert!(has_kubernetes(&[task_host, of(Scheduler::Kubernetes)], &[]));
    }

    #[test]
    fn what_was_not_read_is_not_zero() {
        let mut unread = node(4, &[("nvidia.com/gpu", DeviceUnit::Whole, 4)]);
        unread.pods = None;
        assert_eq!(shown(&unread.funnel(&[])), ["4", "?", "?", "?"]);
        unread.pods = Some(0);
        assert_eq!(shown(&unread.funnel(&[])), ["4", "0", "4", "4"]);
        unread.physical = None;
        assert_eq!(shown(&unread.funnel(&[])), ["4", "0", "4", "?"]);
        // A driver that was removed after pods had been started.
        unread.devices.clear();
        let held = [claim(&DeviceUnit::Whole, 2, Some("i-1"))];
        assert_eq!(shown(&unread.funnel(&held)), ["0", "2", "0", "?"]);
    }
}
