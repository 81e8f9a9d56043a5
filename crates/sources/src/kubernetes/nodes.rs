//! Nodes as machines: what each has, what it is called where it is paid for, and what its
//! scheduler can give away.

use super::dra::NodeCards;
use super::objects::NodeObject;
use super::resources::{Labelled, Labels, is_second_name, kind_of, label, offered_devices};
use super::values::{Amounts, Quantity};
use crate::catalog::shape;
use crate::domain::{
    AcceleratorKind, Architecture, Component, DeviceUnit, GpuModel, GpuOffer, GpuShare, Instance,
    InstanceShape, Lifecycle, Node, NodeAmount, NodeDevices, OperatingSystem, PoolMaker, Provider,
    ResourceId, Scheduler,
};
use crate::provider_id::Place;
use jiff::Timestamp;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

const CLUSTER: &[&str] = &["alpha.eksctl.io/cluster-name", "kubernetes.azure.com/cluster"];
/// What kind of reservation a node of Karpenter's class `reserved` is in.
const RESERVATION_TYPE: &str = "karpenter.sh/capacity-reservation-type";
const TYPE: &[&str] = &["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"];
const REGION: &[&str] =
    &["topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"];
const ZONE: &[&str] = &["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];
const POOL: &[(&str, PoolMaker)] = &[
    ("karpenter.sh/nodepool", PoolMaker::Karpenter),
    ("eks.amazonaws.com/nodegroup", PoolMaker::EksNodeGroup),
    ("alpha.eksctl.io/nodegroup-name", PoolMaker::Eksctl),
    ("cloud.google.com/gke-nodepool", PoolMaker::Gke),
    ("kubernetes.azure.com/agentpool", PoolMaker::Aks),
    ("agentpool", PoolMaker::Aks),
];
/// Labels without a domain that say nothing about whose a node is.
const OF_PROVIDERS: &[&str] = &["agentpool", "storageprofile", "storagetier"];
/// Where a label begins that stands for a tag: labels have no colons.
const OWN: (&str, &str) = ("gpucost/", "gpucost:");

/// Pool and type of a node, as its labels name them.
pub(super) fn kind_of_node(labels: &Labels) -> (Option<&str>, Option<&str>) {
    (pool(labels).map(|(name, _)| name), label(labels, TYPE))
}

/// The pool of a node, and what makes its nodes.
fn pool(labels: &Labels) -> Option<(&str, PoolMaker)> {
    let mut known = POOL.iter();
    known.find_map(|(name, maker)| Some((label(labels, &[*name])?, *maker)))
}

/// A node, and the machine that it is.
#[derive(Debug)]
pub(super) struct Described {
    pub node: Node,
    pub instance: Instance,
    /// What its type offers, where the catalog does not say it; without its name.
    pub shape: Option<InstanceShape>,
    /// Whether it has accelerators, offered or not.
    pub is_accelerated: bool,
    labels: Labels,
    known: Labelled,
    capacity: Amounts,
}

impl Described {
    /// What one unit of a resource is on this node.
    pub(super) fn unit(&self, resource: &str) -> DeviceUnit {
        self.known.unit(resource, &self.labels, &self.capacity, self.node.physical)
    }

    /// What its type offers, by the name of the type; `None` where the catalog says it.
    pub(super) fn named_shape(&self) -> Option<(String, InstanceShape)> {
        let instance_type = &self.instance.instance_type;
        let shape = InstanceShape { instance_type: instance_type.clone(), ..self.shape.clone()? };
        Some((instance_type.clone(), shape))
    }

    /// Names its type by its devices, where several machines of one name differ in them.
    pub(super) fn name_type_by_devices(&mut self) {
        if let Some(shape) = &self.shape {
            self.instance.instance_type = type_of(shape, &self.known);
        }
    }

    pub(super) fn offers(&self, resource: &str) -> bool {
        self.capacity.get(resource).is_some_and(|amount| amount.in_units(1) > 0)
    }
}

/// A node by its object and the cards that a driver lists on it; `None` without a time of
/// creation, which every node has that a server wrote.
pub(super) fn described(object: &NodeObject, cards: Option<&NodeCards>) -> Option<Described> {
    let labels = &object.metadata.labels;
    let created = object.metadata.creation_timestamp?;
    let (provider, cluster, mut instance) = instance(object, created.0);
    let known = Labelled::of(labels);
    // A name that AWS gives is not the type of anything else.
    let is_of_aws = provider == Provider::Aws;
    let type_label = label(labels, TYPE).filter(|name| is_of_aws || shape(name).is_none());
    let listed = type_label.filter(|_| is_of_aws).and_then(shape);
    let stated = listed
        .and_then(|shape| shape.gpu.as_ref())
        .map(|offer| offer.share.count())
        .or(known.count.map(Decimal::from))
        .or(cards.map(|cards| Decimal::from(cards.count())));
    let capacity = &object.status.capacity;
    let devices = devices(object, &known, cards, stated);
    let physical = stated.or_else(|| offered_devices(&devices));
    let kind = devices.keys().find_map(|name| kind_of(name));
    let own = match (listed, physical) {
        (None, Some(physical)) => Some(own_shape(object, &known, cards, physical, kind)),
        _ => None,
    };
    let is_of_catalog = listed.is_some_and(|shape| shape.accelerator != AcceleratorKind::Cpu);
    instance.instance_type = match (type_label, &own) {
        (Some(name), _) if provider == Provider::SageMaker => of_cluster(name),
        (Some(name), _) => name.to_owned(),
        (None, Some(shape)) => type_of(shape, &known),
        (None, None) => "unknown".to_owned(),
    };
    let node = Node {
        name: object.metadata.name.clone(),
        scheduler: Scheduler::Kubernetes,
        provider_id: Some(object.spec.provider_id.clone()).filter(|id| !id.is_empty()),
        cluster,
        machine: instance.id.clone(),
        physical,
        price_class: price_class(labels),
        pool: pool(labels).map(|(name, _)| name.to_owned()),
        pool_maker: pool(labels).map(|(_, maker)| maker),
        cpu_millicores: amount(object, "cpu", |quantity| quantity.in_units(1_000)),
        memory_mib: amount(object, "memory", |quantity| quantity.in_units(1) >> 20),
        pods: None,
        cpu_only_pods: None,
        is_ready: is_ready(object),
        is_cordoned: object.spec.unschedulable,
        devices,
    };
    Some(Described {
        is_accelerated: is_of_catalog || physical.is_some() || !node.devices.is_empty(),
        instance,
        shape: own,
        labels: labels.clone(),
        capacity: capacity.clone(),
        known,
        node,
    })
}

/// A type such as `ml.g5.xlarge` as nodes of a cluster are paid for.
fn of_cluster(name: &str) -> String {
    match name.strip_prefix("ml.") {
        Some(inside) => Component::Cluster.type_name(inside),
        None => name.to_owned(),
    }
}

/// Who shows a node as a machine, its cluster, and the machine without its type.
fn instance(object: &NodeObject, launch_time: Timestamp) -> (Provider, Option<String>, Instance) {
    let labels = &object.metadata.labels;
    let cluster = label(labels, CLUSTER);
    let of_annotation = object.metadata.annotations.cluster_name.as_deref();
    let cluster = cluster.or(of_annotation.filter(|name| !name.is_empty()));
    let place = Place::of(&object.spec.provider_id);
    let own = || cluster.unwrap_or(Provider::OnPremises.name()).to_owned();
    let of_place = place.as_ref().and_then(|place| place.region.clone());
    let region = label(labels, REGION).map(str::to_owned).or(of_place).unwrap_or_else(own);
    let (provider, id, account) = match &place {
        Some(place) => (place.provider, place.id(&region), place.account.clone()),
        None => {
            let name = &object.metadata.name;
            let machine = ResourceId::new(Provider::OnPremises, &own(), &region, name);
            (Provider::OnPremises, machine, own())
        }
    };
    let is_windows = label(labels, &["kubernetes.io/os"]) == Some("windows");
    let instance = Instance {
        zone: label(labels, ZONE).map(str::to_owned).or(place.and_then(|place| place.zone)),
        lifecycle: price_class(labels).unwrap_or(Lifecycle::OnDemand),
        operating_system: if is_windows {
            OperatingSystem::Windows
        } else {
            OperatingSystem::Linux
        },
        tags: tags(&object.metadata.name, labels),
        private_dns_name: Some(object.metadata.name.clone()),
        ..Instance::running(id, (&account, &region), String::new(), launch_time)
    };
    (provider, cluster.map(str::to_owned), instance)
}

/// Labels that people gave a node, and its name.
fn tags(name: &str, labels: &Labels) -> BTreeMap<String, String> {
    let given = labels.iter().filter_map(|(key, value)| {
        let key = match key.strip_prefix(OWN.0) {
            Some(own) => format!("{}{own}", OWN.1),
            None if key.contains('/') || OF_PROVIDERS.contains(&key.as_str()) => return None,
            None => key.clone(),
        };
        Some((key, value.clone()))
    });
    given.chain([("Name".to_owned(), name.to_owned())]).collect()
}

/// How a node was bought, in the words of those who add nodes.
fn price_class(labels: &Labels) -> Option<Lifecycle> {
    let of = |name: &str| label(labels, &[name]).map(str::to_ascii_lowercase);
    let named = ["karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType"];
    let named = named.iter().find_map(|name| of(name));
    let of_azure = || of("kubernetes.azure.com/scalesetpriority");
    let of_google = || of("cloud.google.com/gke-provisioning");
    match named.or_else(of_azure).or_else(of_google).as_deref() {
        Some("spot" | "preemptible") => return Some(Lifecycle::Spot),
        Some("capacity_block") => return Some(Lifecycle::CapacityBlock),
        Some("reserved") if of(RESERVATION_TYPE).as_deref() == Some("capacity-block") => {
            return Some(Lifecycle::CapacityBlock);
        }
        // An hour in a capacity reservation costs what any other does.
        Some("on-demand" | "on_demand" | "reserved" | "regular" | "standard") => {
            return Some(Lifecycle::OnDemand);
        }
        _ => {}
    }
    let spot = ["cloud.google.com/gke-spot", "cloud.google.com/gke-preemptible"];
    spot.iter().any(|name| of(name).as_deref() == Some("true")).then_some(Lifecycle::Spot)
}

fn is_ready(object: &NodeObject) -> Option<bool> {
    let mut conditions = object.status.conditions.0.iter();
    Some(conditions.find(|condition| condition.kind == "Ready")?.status == "True")
}

fn amount(object: &NodeObject, name: &str, units: impl Fn(Quantity) -> u64) -> NodeAmount {
    let of = |all: &Amounts| all.get(name).map_or(0, |quantity| units(*quantity));
    NodeAmount {
        capacity: of(&object.status.capacity),
        allocatable: of(&object.status.allocatable),
        requested: None,
    }
}

/// What the scheduler can give away: what device plugins offer, else what drivers list.
fn devices(
    object: &NodeObject,
    known: &Labelled,
    cards: Option<&NodeCards>,
    physical: Option<Decimal>,
) -> BTreeMap<String, NodeDevices> {
    let capacity = &object.status.capacity;
    let count = |all: &Amounts, name: &str| {
        u32::try_from(all.get(name).map_or(0, |amount| amount.in_units(1))).unwrap_or(u32::MAX)
    };
    let names =
        capacity.keys().filter(|name| kind_of(name).is_some() && !is_second_name(name, capacity));
    let offered: BTreeMap<String, NodeDevices> = names
        .map(|name| {
            let one = NodeDevices {
                unit: known.unit(name, &object.metadata.labels, capacity, physical),
                capacity: count(capacity, name),
                allocatable: count(&object.status.allocatable, name),
            };
            (name.clone(), one)
        })
        .filter(|(_, devices)| devices.capacity > 0)
        .collect();
    let offered = match physical {
        Some(physical) => without_stale(offered, physical),
        None => offered,
    };
    match cards {
        Some(cards) if offered.is_empty() => {
            let one = NodeDevices {
                unit: DeviceUnit::Whole,
                capacity: cards.count(),
                allocatable: cards.count(),
            };
            BTreeMap::from([(cards.driver.clone(), one)])
        }
        _ => offered,
    }
}

/// Without whole devices for which MIG instances leave no card: a plugin offered them before
/// their cards were divided, and a node forgets a resource only when it joins again.
fn without_stale(
    mut offered: BTreeMap<String, NodeDevices>,
    physical: Decimal,
) -> BTreeMap<String, NodeDevices> {
    let is_slice = |devices: &&NodeDevices| matches!(devices.unit, DeviceUnit::Slice { .. });
    let slices = offered.values().filter(is_slice);
    let divided: Decimal = slices.map(|devices| devices.unit.physical(devices.capacity)).sum();
    if !divided.is_zero() {
        let room = (physical - divided).floor().to_u32().unwrap_or(0);
        for devices in offered.values_mut().filter(|devices| devices.unit == DeviceUnit::Whole) {
            devices.capacity = devices.capacity.min(room);
            devices.allocatable = devices.allocatable.min(room);
        }
    }
    offered.retain(|_, devices| devices.capacity > 0);
    offered
}

/// What a machine offers whose type the catalog does not have.
fn own_shape(
    object: &NodeObject,
    known: &Labelled,
    cards: Option<&NodeCards>,
    physical: Decimal,
    kind: Option<AcceleratorKind>,
) -> InstanceShape {
    let of_driver = || cards.and_then(|cards| cards.model.clone());
    let model = known.model.clone().or_else(of_driver);
    let gpu = GpuShare::from_count(physical).map(|share| GpuOffer {
        model: model.unwrap_or_else(|| GpuModel::Other("unknown model".to_owned())),
        share,
        vram_mib: known.vram_mib,
    });
    let labels = &object.metadata.labels;
    let cores = amount(object, "cpu", |quantity| quantity.in_units(1));
    InstanceShape {
        instance_type: String::new(),
        accelerator: kind.unwrap_or(AcceleratorKind::Gpu),
        gpu,
        vcpu: u32::try_from(cores.capacity).unwrap_or(u32::MAX),
        memory_mib: amount(object, "memory", |quantity| quantity.in_units(1) >> 20).capacity,
        architecture: match label(labels, &["kubernetes.io/arch"]) {
            Some("amd64") => Some(Architecture::X86_64),
            Some("arm64") => Some(Architecture::Arm64),
            _ => None,
        },
        local_storage_gb: None,
        efa: None,
    }
}

/// A name for machines that have no name for their type, such as
/// `8x-NVIDIA-H100-80GB-HBM3`.
fn type_of(shape: &InstanceShape, known: &Labelled) -> String {
    let Some(offer) = &shape.gpu else { return "unknown".to_owned() };
    let plain = || offer.model.name().replace(' ', "-");
    let product = known.product.clone().unwrap_or_else(plain);
    format!("{}x-{product}", offer.share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_tell_how_a_node_was_bought() {
        let class = |labels: &[(&str, &str)]| {
            let labels = labels.iter();
            let labels = labels.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            price_class(&labels.collect())
        };
        let karpenter = ("karpenter.sh/capacity-type", "reserved");
        let block = ("karpenter.sh/capacity-reservation-type", "capacity-block");
        let on_demand = ("karpenter.sh/capacity-reservation-type", "default");
        for (labels, expected) in [
            (vec![karpenter], Some(Lifecycle::OnDemand)),
            (vec![karpenter, on_demand], Some(Lifecycle::OnDemand)),
            (vec![karpenter, block], Some(Lifecycle::CapacityBlock)),
            (
                vec![("eks.amazonaws.com/capacityType", "CAPACITY_BLOCK")],
                Some(Lifecycle::CapacityBlock),
            ),
            (vec![("cloud.google.com/gke-spot", "true")], Some(Lifecycle::Spot)),
            (vec![("cloud.google.com/gke-spot", "false")], None),
            // Without the class it says nothing.
            (vec![block], None),
        ] {
            assert_eq!(class(&labels), expected, "{labels:?}");
        }
    }

    #[test]
    fn whole_devices_beside_slices_that_fill_the_cards_are_stale() {
        let offered = |whole: u32, sevenths: u32| {
            let slice =
                DeviceUnit::Slice { profile: "1g.10gb".to_owned(), slices: 1, of: 7, replicas: 1 };
            let one = |unit, count| NodeDevices { unit, capacity: count, allocatable: count };
            BTreeMap::from([
                ("nvidia.com/gpu".to_owned(), one(DeviceUnit::Whole, whole)),
                ("nvidia.com/mig-1g.10gb".to_owned(), one(slice, sevenths)),
            ])
        };
        let whole = |whole, sevenths, physical: u32| {
            let left = without_stale(offered(whole, sevenths), Decimal::from(physical));
            left.get("nvidia.com/gpu").map(|devices| devices.allocatable)
        };
        // Fourteen sevenths are both cards, and eight leave no whole one.
        assert_eq!(whole(2, 14, 2), None);
        assert_eq!(whole(2, 8, 2), None);
        // Seven are one of two cards; none is divided.
        assert_eq!(whole(2, 7, 2), Some(1));
        assert_eq!(whole(1, 7, 2), Some(1));
        assert_eq!(whole(2, 0, 2), Some(2));
        // Without a label, nothing tells whether the whole ones are there.
        assert_eq!(offered_devices(&offered(2, 14)), None);
        assert_eq!(
            offered_devices(&without_stale(offered(2, 14), Decimal::TWO)),
            Some(Decimal::TWO)
        );
    }
}
