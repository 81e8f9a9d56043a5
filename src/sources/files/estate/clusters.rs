//! Nodes, claims and uses in an estate.

use super::fields::{Wire, decimal, named, time};
use super::forms::{Amount, Time};
use crate::domain::{
    Claim, ClaimState, Clusters, DeviceUnit, DeviceUse, Devices, Holder, Lifecycle, Node,
    NodeAmount, NodeDevices, Owner, Placement, PoolMaker, ResourceId, Scheduler,
};
use schemars::JsonSchema;
use serde::de;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A machine of a Kubernetes or ECS cluster.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a node object")]
pub(super) struct NodeWire {
    name: String,
    /// `kubernetes` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Scheduler>")]
    scheduler: Option<String>,
    /// Where the machine is from, in the words of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
    /// ID of its instance; one node per machine.
    machine: String,
    /// Number of physical devices, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Amount>")]
    physical: Option<String>,
    /// By resource, such as nvidia.com/gpu.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    devices: BTreeMap<String, NodeDevicesWire>,
    /// How the machine was bought; absent if no label states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Lifecycle>")]
    price_class: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pool: Option<String>,
    /// What makes the nodes of the pool; absent if no label states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PoolMaker>")]
    pool_maker: Option<String>,
    cpu_millicores: AmountWire,
    memory_mib: AmountWire,
    /// Pods on the node that have not ended; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pods: Option<u32>,
    /// Those among them that request no device and that neither a `DaemonSet` nor the node itself
    /// created; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu_only_pods: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ready: Option<bool>,
    /// Whether the scheduler is kept from placing pods on it.
    #[serde(default)]
    cordoned: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "devices with `unit`, `capacity` and `allocatable`"
)]
struct NodeDevicesWire {
    #[serde(default)]
    unit: UnitWire,
    capacity: u32,
    allocatable: u32,
}

/// What one of the devices is: without a key, a whole device.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("dependentRequired" = {
    "profile": ["slices", "of"], "slices": ["profile", "of"], "of": ["profile", "slices"],
}))]
#[serde(
    deny_unknown_fields,
    expecting = "a unit with `profile`, `slices`, `of` and `replicas`"
)]
struct UnitWire {
    /// MIG profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    profile: Option<String>,
    /// Compute slices of the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16", range(min = 1, max = 255))]
    slices: Option<u16>,
    /// Compute slices of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16", range(min = 1, max = 255))]
    of: Option<u16>,
    /// Parts that share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    replicas: Option<u32>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `capacity`, `allocatable` and `requested`"
)]
struct AmountWire {
    capacity: u64,
    allocatable: u64,
    /// By pods; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requested: Option<u64>,
}

/// Devices that a pod holds or waits for.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend(
    "if" = {"properties": {"state": {"const": "running"}}},
    "then" = {"properties": {"machine": {"type": "string"}}, "allOf": [{"required": ["machine"]}]},
    "else" = {"properties": {"machine": {"type": "null"}}}
))]
#[serde(deny_unknown_fields, expecting = "a claim object")]
pub(super) struct ClaimWire {
    namespace: String,
    /// Absent for devices that are allocated to no pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<OwnerWire>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    resource: String,
    #[serde(default)]
    unit: UnitWire,
    /// Number of such units.
    count: u32,
    #[schemars(with = "ClaimState")]
    state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>")]
    since: Option<String>,
    /// The machine of the node; required unless it is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    placement: Option<PlacementWire>,
}

/// What moving the pod takes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a placement with `cpu_millicores` and `memory_mib`"
)]
struct PlacementWire {
    /// Requested.
    cpu_millicores: u64,
    /// Requested.
    memory_mib: u64,
    /// Whether something keeps it from another node of its pool and type.
    #[serde(default)]
    bound: bool,
    /// Whether it keeps data on the disk of its node.
    #[serde(default)]
    local_data: bool,
}

/// How a pod used a device.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a use object")]
pub(super) struct UseWire {
    machine: String,
    /// Index of the device on its machine.
    gpu: u32,
    namespace: String,
    pod: String,
    n_samples: u64,
    /// Time between two samples.
    #[schemars(range(min = 1))]
    sample_seconds: u32,
    #[schemars(range(min = 0, max = 100))]
    mean_percent: f64,
    /// Not below the mean.
    #[schemars(range(min = 0, max = 100))]
    max_percent: f64,
}

/// What made the pod.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an owner with `kind` and `name`")]
struct OwnerWire {
    kind: String,
    name: String,
}

fn unit<E: de::Error>(wire: UnitWire) -> Result<DeviceUnit, E> {
    let replicas = wire.replicas.unwrap_or(1);
    let slices = wire.slices.zip(wire.of).and_then(|(slices, of)| {
        let parts = (u8::try_from(slices).ok()?, u8::try_from(of).ok()?);
        (1..=parts.1).contains(&parts.0).then_some(parts)
    });
    match (wire.profile, slices, (wire.slices, wire.of)) {
        _ if replicas == 0 => Err(E::custom("`replicas` must be at least 1")),
        (None, _, (None, None)) if wire.replicas.is_some() => Ok(DeviceUnit::Replica {
            per_device: replicas,
        }),
        (None, _, (None, None)) => Ok(DeviceUnit::Whole),
        (Some(profile), Some((slices, of)), _) => Ok(DeviceUnit::Slice {
            profile,
            slices,
            of,
            replicas,
        }),
        _ => Err(E::custom(
            "a slice needs `profile`, and `slices` of at least 1 and at most `of`",
        )),
    }
}

fn unit_wire(unit: &DeviceUnit) -> UnitWire {
    match unit {
        DeviceUnit::Whole => UnitWire::default(),
        DeviceUnit::Replica { per_device } => UnitWire {
            replicas: Some(*per_device),
            ..UnitWire::default()
        },
        DeviceUnit::Slice {
            profile,
            slices,
            of,
            replicas,
        } => UnitWire {
            profile: Some(profile.clone()),
            slices: Some(u16::from(*slices)),
            of: Some(u16::from(*of)),
            replicas: (*replicas != 1).then_some(*replicas),
        },
    }
}

fn amount(wire: AmountWire) -> NodeAmount {
    NodeAmount {
        capacity: wire.capacity,
        allocatable: wire.allocatable,
        requested: wire.requested,
    }
}

fn amount_wire(amount: NodeAmount) -> AmountWire {
    AmountWire {
        capacity: amount.capacity,
        allocatable: amount.allocatable,
        requested: amount.requested,
    }
}

impl Wire for NodeWire {
    type Value = Node;

    fn value<E: de::Error>(self) -> Result<Node, E> {
        let physical = self.physical.as_deref();
        let physical = physical.map(|text| decimal("physical", text)).transpose()?;
        if physical.is_some_and(|count| count.is_sign_negative()) {
            return Err(E::custom("`physical` is negative"));
        }
        let mut devices = BTreeMap::new();
        for (resource, wire) in self.devices {
            let offered = NodeDevices {
                unit: unit(wire.unit)?,
                capacity: wire.capacity,
                allocatable: wire.allocatable,
            };
            devices.insert(resource, offered);
        }
        let price_class = self.price_class.as_deref();
        let scheduler = self.scheduler.as_deref();
        let scheduler = scheduler.map(|name| named("scheduler", name, Scheduler::from_name));
        let pool_maker = self.pool_maker.as_deref();
        Ok(Node {
            name: self.name,
            scheduler: scheduler.transpose()?.unwrap_or(Scheduler::Kubernetes),
            provider_id: self.provider_id,
            cluster: self.cluster,
            machine: ResourceId::named(self.machine),
            physical,
            devices,
            price_class: price_class
                .map(|name| named("price class", name, Lifecycle::from_name))
                .transpose()?,
            pool: self.pool,
            pool_maker: pool_maker
                .map(|name| named("pool maker", name, PoolMaker::from_name))
                .transpose()?,
            cpu_millicores: amount(self.cpu_millicores),
            memory_mib: amount(self.memory_mib),
            pods: self.pods,
            cpu_only_pods: self.cpu_only_pods,
            is_ready: self.ready,
            is_cordoned: self.cordoned,
        })
    }
}

impl Wire for ClaimWire {
    type Value = Claim;

    fn value<E: de::Error>(self) -> Result<Claim, E> {
        let state = named("claim state", &self.state, ClaimState::from_name)?;
        if (state == ClaimState::Running) != self.machine.is_some() {
            return Err(E::custom(
                "a `running` claim has a `machine`, and a `pending` one has none",
            ));
        }
        Ok(Claim {
            holder: Holder {
                namespace: self.namespace,
                pod: self.pod,
                owner: self.owner.map(|owner| Owner {
                    kind: owner.kind,
                    name: owner.name,
                }),
                labels: self.labels,
                placement: self.placement.map(|one| Placement {
                    cpu_millicores: one.cpu_millicores,
                    memory_mib: one.memory_mib,
                    is_bound: one.bound,
                    has_local_data: one.local_data,
                }),
            },
            devices: Devices {
                resource: self.resource,
                unit: unit(self.unit)?,
                count: self.count,
            },
            state,
            since: self.since.as_deref().map(time).transpose()?,
            machine: self.machine.map(ResourceId::named),
        })
    }
}

impl Wire for UseWire {
    type Value = DeviceUse;

    fn value<E: de::Error>(self) -> Result<DeviceUse, E> {
        let percents = [self.mean_percent, self.max_percent];
        if !percents.iter().all(|one| (0.0..=100.0).contains(one)) {
            return Err(E::custom("a percentage of a use is not between 0 and 100"));
        }
        if self.mean_percent > self.max_percent {
            return Err(E::custom("`mean_percent` is larger than `max_percent`"));
        }
        if self.sample_seconds == 0 {
            return Err(E::custom("`sample_seconds` must be at least 1"));
        }
        Ok(DeviceUse {
            machine: ResourceId::named(self.machine),
            gpu: self.gpu,
            namespace: self.namespace,
            pod: self.pod,
            n_samples: self.n_samples,
            sample_seconds: self.sample_seconds,
            mean_percent: self.mean_percent,
            max_percent: self.max_percent,
        })
    }
}

pub(super) fn use_wire(one: &DeviceUse) -> UseWire {
    UseWire {
        machine: one.machine.to_string(),
        gpu: one.gpu,
        namespace: one.namespace.clone(),
        pod: one.pod.clone(),
        n_samples: one.n_samples,
        sample_seconds: one.sample_seconds,
        mean_percent: one.mean_percent,
        max_percent: one.max_percent,
    }
}

pub(super) fn node_wire(node: &Node) -> NodeWire {
    let devices = node.devices.iter().map(|(resource, offered)| {
        let wire = NodeDevicesWire {
            unit: unit_wire(&offered.unit),
            capacity: offered.capacity,
            allocatable: offered.allocatable,
        };
        (resource.clone(), wire)
    });
    let is_usual = node.scheduler == Scheduler::Kubernetes;
    NodeWire {
        name: node.name.clone(),
        scheduler: (!is_usual).then(|| node.scheduler.name().to_owned()),
        provider_id: node.provider_id.clone(),
        cluster: node.cluster.clone(),
        machine: node.machine.to_string(),
        physical: node.physical.map(|count| count.to_string()),
        devices: devices.collect(),
        price_class: node.price_class.map(|class| class.name().to_owned()),
        pool: node.pool.clone(),
        pool_maker: node.pool_maker.map(|maker| maker.name().to_owned()),
        cpu_millicores: amount_wire(node.cpu_millicores),
        memory_mib: amount_wire(node.memory_mib),
        pods: node.pods,
        cpu_only_pods: node.cpu_only_pods,
        ready: node.is_ready,
        cordoned: node.is_cordoned,
    }
}

pub(super) fn claim_wire(claim: &Claim) -> ClaimWire {
    let Holder {
        namespace,
        pod,
        owner,
        labels,
        placement,
    } = &claim.holder;
    ClaimWire {
        namespace: namespace.clone(),
        pod: pod.clone(),
        owner: owner.as_ref().map(|owner| OwnerWire {
            kind: owner.kind.clone(),
            name: owner.name.clone(),
        }),
        labels: labels.clone(),
        resource: claim.devices.resource.clone(),
        unit: unit_wire(&claim.devices.unit),
        count: claim.devices.count,
        state: claim.state.name().to_owned(),
        since: claim.since.map(|time| time.to_string()),
        machine: claim.machine.as_ref().map(ToString::to_string),
        placement: placement.map(|one| PlacementWire {
            cpu_millicores: one.cpu_millicores,
            memory_mib: one.memory_mib,
            bound: one.is_bound,
            local_data: one.has_local_data,
        }),
    }
}

/// Fails where two nodes are one machine, or somebody holds devices of a machine that
/// is not a node. Metrics may name machines whose nodes were not recorded.
pub(super) fn check<E: de::Error>(clusters: &Clusters) -> Result<(), E> {
    let mut machines = BTreeSet::new();
    for node in &clusters.nodes {
        if !machines.insert(&node.machine) {
            return Err(E::custom(format!(
                "several nodes are the machine {}",
                node.machine
            )));
        }
    }
    let mut held = clusters
        .claims
        .iter()
        .filter_map(|one| one.machine.as_ref());
    if let Some(machine) = held.find(|machine| !machines.contains(machine)) {
        return Err(E::custom(format!(
            "a claim belongs to {machine}, which is not among the nodes"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::fields::Of;
    use super::*;
    use serde_json::{Value, json};

    fn node() -> Value {
        json!({
            "name": "gpu-1",
            "provider_id": "aws:///us-east-1a/i-1",
            "cluster": "search",
            "machine": "i-1",
            "physical": "8",
            "devices": {
                "nvidia.com/gpu": {"unit": {}, "capacity": 1, "allocatable": 0},
                "nvidia.com/gpu.shared": {"unit": {"replicas": 4}, "capacity": 4, "allocatable": 4},
                "nvidia.com/mig-3g.20gb": {
                    "unit": {"profile": "3g.20gb", "slices": 3, "of": 7},
                    "capacity": 2, "allocatable": 2,
                },
            },
            "price_class": "spot",
            "pool": "trainers",
            "pool_maker": "karpenter",
            "cpu_millicores": {"capacity": 96_000, "allocatable": 95_000, "requested": 1_500},
            "memory_mib": {"capacity": 1_000, "allocatable": 900},
            "pods": 3,
            "cpu_only_pods": 2,
            "ready": true,
            "cordoned": true,
        })
    }

    fn claim() -> Value {
        json!({
            "namespace": "search",
            "pod": "ranker-0",
            "owner": {"kind": "Deployment", "name": "ranker"},
            "labels": {"team": "search"},
            "resource": "nvidia.com/mig-3g.20gb.shared",
            "unit": {"profile": "3g.20gb", "slices": 3, "of": 7, "replicas": 2},
            "count": 2,
            "state": "running",
            "since": "2026-10-01T00:00:00Z",
            "machine": "i-1",
            "placement": {
                "cpu_millicores": 4_000, "memory_mib": 16_384, "bound": true, "local_data": true,
            },
        })
    }

    fn used() -> Value {
        json!({
            "machine": "i-1",
            "gpu": 3,
            "namespace": "search",
            "pod": "ranker-0",
            "n_samples": 1_440,
            "sample_seconds": 60,
            "mean_percent": 12.5,
            "max_percent": 80.0,
        })
    }

    #[test]
    fn what_is_read_is_written_again() {
        let Of(read) = serde_json::from_value::<Of<NodeWire>>(node()).expect("a node");
        let written = serde_json::to_value(node_wire(&read)).expect("JSON");
        assert_eq!(written, node());
        let Of(read) = serde_json::from_value::<Of<ClaimWire>>(claim()).expect("a claim");
        let written = serde_json::to_value(claim_wire(&read)).expect("JSON");
        assert_eq!(written, claim());
        // Two halves of three sevenths.
        assert_eq!(read.devices.physical().round_dp(6).to_string(), "0.428571");
        let Of(read) = serde_json::from_value::<Of<UseWire>>(used()).expect("a use");
        let written = serde_json::to_value(use_wire(&read)).expect("JSON");
        assert_eq!(written, used());
    }

    #[test]
    fn percentages_of_a_use_are_in_order() {
        for (key, value, words) in [
            ("mean_percent", json!(-0.1), "between 0 and 100"),
            ("max_percent", json!(100.1), "between 0 and 100"),
            ("max_percent", json!(12.4), "larger than `max_percent`"),
            ("sample_seconds", json!(0), "at least 1"),
            ("gpu", json!(-1), "invalid value"),
        ] {
            let mut one = used();
            one[key] = value;
            let error = serde_json::from_value::<Of<UseWire>>(one).err();
            let error = error.expect("it is wrong").to_string();
            assert!(error.contains(words), "{key}: {error}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (key, value, words) in [
            ("unit", json!({"replicas": 0}), "at least 1"),
            ("unit", json!({"profile": "3g.20gb"}), "a slice needs"),
            ("unit", json!({"slices": 3, "of": 7}), "a slice needs"),
            (
                "unit",
                json!({"profile": "9g.20gb", "slices": 9, "of": 7}),
                "a slice needs",
            ),
            ("state", json!("pending"), "a `pending` one has none"),
            ("state", json!("gone"), "`gone` is not a known claim state"),
            ("extra", json!(1), "unknown field"),
        ] {
            let mut claim = claim();
            claim[key] = value;
            let error = serde_json::from_value::<Of<ClaimWire>>(claim).err();
            let error = error.expect("it is wrong").to_string();
            assert!(error.contains(words), "{key}: {error}");
        }
    }
}
