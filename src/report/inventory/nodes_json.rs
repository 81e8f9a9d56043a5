//! Nodes of clusters and the claims of their pods, for programs.

use crate::analysis::ListedNode;
use crate::domain::{Claim, DeviceUnit, NodeAmount, NodeDevices};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(super) struct NodeView {
    name: String,
    scheduler: &'static str,
    cluster: Option<String>,
    instance: String,
    pool: Option<String>,
    price_class: Option<&'static str>,
    ready: Option<bool>,
    cordoned: bool,
    pods: Option<u32>,
    cpu_only_pods: Option<u32>,
    gpus: GpusView,
    devices: Vec<DevicesView>,
    cpu_millicores: AmountView,
    memory_mib: AmountView,
}

/// In physical devices.
#[derive(Serialize)]
struct GpusView {
    physical: Option<f64>,
    allocatable: Option<f64>,
    requested: Option<f64>,
    free: Option<f64>,
    unallocated: Option<f64>,
}

#[derive(Serialize)]
struct DevicesView {
    resource: String,
    profile: Option<String>,
    replicas: Option<u32>,
    capacity: u32,
    allocatable: u32,
}

#[derive(Serialize)]
struct AmountView {
    capacity: u64,
    allocatable: u64,
    requested: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct ClaimView {
    namespace: String,
    pod: Option<String>,
    owner: Option<OwnerView>,
    labels: BTreeMap<String, String>,
    resource: String,
    profile: Option<String>,
    replicas: Option<u32>,
    count: u32,
    gpus: Option<f64>,
    state: &'static str,
    since: Option<String>,
    instance: Option<String>,
}

#[derive(Serialize)]
struct OwnerView {
    kind: String,
    name: String,
}

/// A number of devices to six decimals.
fn number(devices: Decimal) -> Option<f64> {
    devices.round_dp(6).to_f64()
}

/// The MIG profile of a unit, and among how many replicas it is shared.
fn parts(unit: &DeviceUnit) -> (Option<String>, Option<u32>) {
    match unit {
        DeviceUnit::Whole => (None, None),
        DeviceUnit::Replica { per_device } => (None, Some(*per_device)),
        DeviceUnit::Slice {
            profile, replicas, ..
        } => {
            let replicas = (*replicas > 1).then_some(*replicas);
            (Some(profile.clone()), replicas)
        }
    }
}

fn amount(amount: NodeAmount) -> AmountView {
    AmountView {
        capacity: amount.capacity,
        allocatable: amount.allocatable,
        requested: amount.requested,
    }
}

fn devices_view(resource: &str, offered: &NodeDevices) -> DevicesView {
    let (profile, replicas) = parts(&offered.unit);
    DevicesView {
        resource: resource.to_owned(),
        profile,
        replicas,
        capacity: offered.capacity,
        allocatable: offered.allocatable,
    }
}

pub(super) fn node_view(listed: &ListedNode) -> NodeView {
    let ListedNode { node, devices } = listed;
    let offered = node.devices.iter();
    NodeView {
        name: node.name.clone(),
        scheduler: node.scheduler.name(),
        cluster: node.cluster.clone(),
        instance: node.machine.to_string(),
        pool: node.pool.clone(),
        price_class: node.price_class.map(|class| class.name()),
        ready: node.is_ready,
        cordoned: node.is_cordoned,
        pods: node.pods,
        cpu_only_pods: node.cpu_only_pods,
        gpus: GpusView {
            physical: devices.physical.and_then(number),
            allocatable: number(devices.allocatable),
            requested: devices.requested.and_then(number),
            free: devices.free().and_then(number),
            unallocated: devices.unallocated().and_then(number),
        },
        devices: offered
            .map(|(resource, offered)| devices_view(resource, offered))
            .collect(),
        cpu_millicores: amount(node.cpu_millicores),
        memory_mib: amount(node.memory_mib),
    }
}

pub(super) fn claim_view(claim: &Claim) -> ClaimView {
    let (holder, devices) = (&claim.holder, &claim.devices);
    let (profile, replicas) = parts(&devices.unit);
    ClaimView {
        namespace: holder.namespace.clone(),
        pod: holder.pod.clone(),
        owner: holder.owner.as_ref().map(|owner| OwnerView {
            kind: owner.kind.clone(),
            name: owner.name.clone(),
        }),
        labels: holder.labels.clone(),
        resource: devices.resource.clone(),
        profile,
        replicas,
        count: devices.count,
        gpus: number(devices.physical()),
        state: claim.state.name(),
        since: claim.since.map(|time| time.to_string()),
        instance: claim.machine.as_ref().map(ToString::to_string),
    }
}
