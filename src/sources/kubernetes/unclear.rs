//! Nodes of which pods do not tell all that is requested, and why.

use super::dra::{self, Unlisted};
use super::objects::{DeviceClaimObject, NodeObject, PodObject};
use super::pods;
use super::resources::is_foreign;
use crate::domain::{Cause, CauseKind};
use std::collections::{BTreeMap, BTreeSet};

/// Names of resources that one message has.
const MOST_NAMES: usize = 3;

/// Pods by namespace and name.
type Pods = BTreeMap<(String, String), PodObject>;
type Nodes = BTreeMap<String, NodeObject>;

/// Such nodes by name, and why: one cause of each kind.
#[derive(Debug, Default)]
pub(super) struct Unclear<'a> {
    pub nodes: BTreeSet<&'a str>,
    pub causes: Vec<Cause>,
}

impl<'a> Unclear<'a> {
    /// By claims of devices that were read, the devices among them that no slice describes,
    /// and resources that are not understood.
    pub(super) fn of(
        nodes: &'a Nodes,
        pods: &'a Pods,
        claims: &[DeviceClaimObject],
        unlisted: &[Unlisted<'_>],
    ) -> Self {
        let mut unclear = Self::default();
        if !unlisted.is_empty() {
            let count = unlisted.len().to_string();
            unclear.causes.push(Cause::of(CauseKind::DevicesNotListed, [count.as_str()]));
        }
        for device in unlisted {
            unclear.nodes.extend(nodes_of(device, nodes, pods));
        }
        let unread = unread(pods, claims);
        if !unread.is_empty() {
            let cause = Cause::of(CauseKind::ClaimsNotRead, [unread.len().to_string().as_str()]);
            unclear.causes.push(cause);
        }
        unclear.nodes.extend(unread);
        let foreign = foreign(nodes, pods);
        if !foreign.is_empty() {
            let count = foreign.len().to_string();
            let names: BTreeSet<&str> = foreign.values().flatten().copied().collect();
            let names: Vec<&str> = names.into_iter().take(MOST_NAMES).collect();
            let cause = Cause::of(CauseKind::ResourcesForeign, [&count, &names.join(", ")]);
            unclear.causes.push(cause);
        }
        unclear.nodes.extend(foreign.into_keys());
        unclear
    }
}

/// Resources that may stand for accelerators, by the nodes that offer them, or of which a
/// pod asks for them.
fn foreign<'a>(nodes: &'a Nodes, pods: &'a Pods) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut by_node: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, node) in nodes {
        let capacity = node.status.capacity.iter();
        let offered =
            capacity.filter(|(resource, amount)| amount.in_units(1) > 0 && is_foreign(resource));
        for (resource, _) in offered {
            by_node.entry(name).or_default().insert(resource);
        }
    }
    for pod in pods.values().filter(|pod| is_running(pod)) {
        for resource in pods::foreign(pod) {
            by_node.entry(&pod.spec.node_name).or_default().insert(resource);
        }
    }
    by_node
}

fn is_running(pod: &PodObject) -> bool {
    !pod.spec.node_name.is_empty() && !pods::has_ended(pod)
}

/// Where a device may be that no slice describes: on the nodes of the pods that use it, and
/// on the one that its pool is named for. On any node where neither tells.
fn nodes_of<'a>(unlisted: &Unlisted<'_>, nodes: &'a Nodes, pods: &'a Pods) -> BTreeSet<&'a str> {
    let namespace = &unlisted.claim.metadata.namespace;
    let using = dra::consumers(unlisted.claim)
        .filter_map(|pod| pods.get(&(namespace.clone(), pod.to_owned())))
        .map(|pod| pod.spec.node_name.as_str());
    let of_pool = nodes.get_key_value(unlisted.pool).map(|(name, _)| name.as_str());
    let names: BTreeSet<&str> = using.chain(of_pool).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return nodes.keys().map(String::as_str).collect();
    }
    names
}

/// Nodes with a pod that has claims of devices of which not all were read: allocated, and
/// reserved for that pod.
fn unread<'a>(pods: &'a Pods, claims: &[DeviceClaimObject]) -> BTreeSet<&'a str> {
    let mut read: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let is_allocated =
        |claim: &&DeviceClaimObject| !claim.status.allocation.devices.results.0.is_empty();
    for claim in claims.iter().filter(is_allocated) {
        for pod in dra::consumers(claim) {
            *read.entry((claim.metadata.namespace.as_str(), pod)).or_default() += 1;
        }
    }
    let is_unread = |namespace: &str, name: &str, pod: &PodObject| {
        pod.spec.resource_claims.0.len() > read.get(&(namespace, name)).copied().unwrap_or_default()
    };
    pods.iter()
        .filter(|(_, pod)| is_running(pod))
        .filter(|((namespace, name), pod)| is_unread(namespace, name, pod))
        .map(|(_, pod)| pod.spec.node_name.as_str())
        .collect()
}
