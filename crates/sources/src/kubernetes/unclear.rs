//! What pods do not tell plainly: nodes of which not all that is requested is known, and devices
//! that are waited for.

use super::devices::DeviceRequest;
use super::dra::{self, Unlisted, driver_of_class};
use super::objects::{DeviceClaimObject, NodeObject, PodClaim, PodObject};
use super::pods;
use super::resources::is_foreign;
use crate::domain::{Cause, CauseKind, DeviceUnit, Devices};
use std::collections::{BTreeMap, BTreeSet};

/// Names of resources, or of device classes, that one message has.
const MOST_NAMES: usize = 3;

/// Pods, and claims of devices, by namespace and name.
type Pods = BTreeMap<(String, String), PodObject>;
type Claims = BTreeMap<(String, String), DeviceClaimObject>;
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
        claims: &Claims,
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
fn unread<'a>(pods: &'a Pods, claims: &Claims) -> BTreeSet<&'a str> {
    let mut read: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let is_allocated =
        |claim: &&DeviceClaimObject| !claim.status.allocation.devices.results.0.is_empty();
    for claim in claims.values().filter(is_allocated) {
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

/// What pods wait for, and why of some pods that is not known.
#[derive(Debug, Default)]
pub(super) struct Waiting<'a> {
    /// Those of one driver, by the pod that waits for them.
    pub devices: Vec<(&'a PodObject, Devices)>,
    pub cause: Option<Cause>,
}

impl<'a> Waiting<'a> {
    /// A claim that several pods share is counted for the first of them.
    pub(super) fn of(pods: &'a Pods, claims: &Claims) -> Self {
        let mut waiting = Self::default();
        let (mut seen, mut unclear, mut classes) = (BTreeSet::new(), 0_u64, BTreeSet::new());
        for ((namespace, _), pod) in pods.iter().filter(|(_, pod)| pods::waits(pod)) {
            let mut is_unclear = false;
            let mut counts: BTreeMap<&'static str, u32> = BTreeMap::new();
            for own in &pod.spec.resource_claims.0 {
                let key = (namespace.clone(), name_of(own, pod).to_owned());
                let Some(claim) = claims.get(&key) else {
                    is_unclear = true;
                    continue;
                };
                if !claim.status.allocation.devices.results.0.is_empty() || !seen.insert(key) {
                    continue;
                }
                for request in &claim.spec.devices.requests.0 {
                    match requested(request) {
                        Ok((count, driver)) => {
                            let sum = counts.entry(driver).or_default();
                            *sum = sum.saturating_add(count);
                        }
                        Err(class) => {
                            is_unclear |= class.is_some();
                            classes.extend(class);
                        }
                    }
                }
            }
            unclear += u64::from(is_unclear);
            waiting.devices.extend(counts.into_iter().map(|(driver, count)| {
                let resource = driver.to_owned();
                (pod, Devices { resource, unit: DeviceUnit::Whole, count })
            }));
        }
        if unclear > 0 {
            let classes: Vec<String> = classes.into_iter().take(MOST_NAMES).collect();
            let (count, classes) = (unclear.to_string(), classes.join(", "));
            waiting.cause = Some(Cause::of(CauseKind::ClaimsUnclear, [&count, &classes]));
        }
        waiting
    }
}

/// The name of a claim of a pod; empty for one that its template did not make yet.
fn name_of<'a>(own: &'a PodClaim, pod: &'a PodObject) -> &'a str {
    if !own.resource_claim_name.is_empty() {
        return &own.resource_claim_name;
    }
    let mut made = pod.status.resource_claim_statuses.0.iter();
    let made = made.find(|status| status.name == own.name);
    made.map_or("", |status| status.resource_claim_name.as_str())
}

/// How many devices of which driver a request asks for: of alternatives the fewest devices,
/// because these are enough.
///
/// # Errors
/// With a class that is not understood, or of which all devices of a node are requested. Without
/// one where nothing is taken away: a monitor has access.
fn requested(request: &DeviceRequest) -> Result<(u32, &'static str), Option<String>> {
    let alternatives = request.alternatives();
    if alternatives.iter().all(|alternative| alternative.admin_access) {
        return Err(None);
    }
    let known = alternatives.iter().filter_map(|alternative| {
        Some((alternative.count()?, driver_of_class(&alternative.device_class_name)?))
    });
    let class = || alternatives.first().map(|first| first.device_class_name.clone());
    known.min().ok_or_else(|| Some(class().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_request_asks_for_whole_cards_of_known_classes() {
        let gpu = "gpu.nvidia.com";
        let class = |name: &str| json!({"deviceClassName": name});
        let unclear = |name: &str| Err(Some(name.to_owned()));
        let two = json!({"deviceClassName": gpu, "allocationMode": "ExactCount", "count": 2});
        let all = json!({"deviceClassName": gpu, "allocationMode": "All"});
        let monitor = json!({"deviceClassName": gpu, "adminAccess": true});
        type Requested = Result<(u32, &'static str), Option<String>>;
        let rows: [(Value, Requested); 8] = [
            (json!({"exactly": class(gpu)}), Ok((1, gpu))),
            (json!({"exactly": two}), Ok((2, gpu))),
            // The first version of the API.
            (two.clone(), Ok((2, gpu))),
            (json!({"firstAvailable": [two, class("mig.nvidia.com"), class(gpu)]}), Ok((1, gpu))),
            (json!({"exactly": class("mig.nvidia.com")}), unclear("mig.nvidia.com")),
            (json!({"exactly": class("big-gpus")}), unclear("big-gpus")),
            (json!({"exactly": all}), unclear(gpu)),
            (json!({"exactly": monitor}), Err(None)),
        ];
        for (request, expected) in rows {
            let read: DeviceRequest = serde_json::from_value(request.clone()).expect("a request");
            assert_eq!(requested(&read), expected, "{request}");
        }
    }
}
