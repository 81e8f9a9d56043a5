//! Pods: what each holds, what it takes of its node, and who made it.

use super::objects::{Container, Metadata, OwnerReference, PodObject, PodSpec, Requests};
use super::resources::{is_foreign, kind_of};
use super::values::{Parts, Quantity};
use crate::domain::{InitRequest, Owner, effective_request};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// What pods take of a node beside its devices.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    pub pods: u32,
    /// Those that ask for no device and could run elsewhere.
    pub cpu_only_pods: u32,
    pub cpu_millicores: u64,
    pub memory_bytes: u64,
}

impl Taken {
    /// `is_tied` is whether the pod belongs to its node.
    pub(super) fn add(&mut self, pod: &PodObject, is_tied: bool) {
        let (cpu, memory) = host_requests(&pod.spec);
        self.pods = self.pods.saturating_add(1);
        let is_cpu_only =
            !is_tied && devices(pod).is_empty() && pod.spec.resource_claims.0.is_empty();
        self.cpu_only_pods = self.cpu_only_pods.saturating_add(u32::from(is_cpu_only));
        self.cpu_millicores = self.cpu_millicores.saturating_add(cpu);
        self.memory_bytes = self.memory_bytes.saturating_add(memory);
    }

    pub(super) fn memory_mib(self) -> u64 {
        self.memory_bytes.div_ceil(1 << 20)
    }
}

/// Whether a pod has given back what it held.
pub(super) fn has_ended(pod: &PodObject) -> bool {
    ["Succeeded", "Failed"].contains(&pod.status.phase.as_str())
}

/// Whether a pod is kept from its scheduler: it waits for something else than devices.
pub(super) fn is_held_back(pod: &PodObject) -> bool {
    pod.spec.node_name.is_empty() && !pod.spec.scheduling_gates.0.is_empty()
}

/// Whether a pod waits for its scheduler to place it.
pub(super) fn waits(pod: &PodObject) -> bool {
    pod.spec.node_name.is_empty() && !has_ended(pod) && !is_held_back(pod)
}

/// Whether a pod belongs to its node and goes with it: a DaemonSet made it, or the node
/// itself (a static pod, of which a cluster shows a mirror).
pub(super) fn is_tied(pod: &PodObject, makers: &Makers) -> bool {
    let of_node = |kind: &str| ["DaemonSet", "Node"].contains(&kind);
    let owner = makers.owner_of(&pod.metadata);
    pod.metadata.annotations.static_pod.is_some() || owner.is_some_and(|owner| of_node(&owner.kind))
}

/// Devices that a pod asks for, by resource; none of which is zero.
pub(super) fn devices(pod: &PodObject) -> BTreeMap<&str, u32> {
    let counts = requested(pod, |name| kind_of(name).is_some()).into_iter();
    counts.map(|(name, count)| (name, u32::try_from(count).unwrap_or(u32::MAX))).collect()
}

/// Resources that a pod asks for and that may stand for accelerators.
pub(super) fn foreign(pod: &PodObject) -> Vec<&str> {
    requested(pod, is_foreign).into_keys().collect()
}

/// How much a pod asks for of some resources, by their names; none of which is zero.
fn requested(pod: &PodObject, is_asked: impl Fn(&str) -> bool) -> BTreeMap<&str, u64> {
    let all_containers = pod.spec.containers.0.iter().chain(&pod.spec.init_containers.0);
    let names = all_containers.flat_map(|container| {
        let Requests { requests, limits } = &container.resources;
        requests.keys().chain(limits.keys())
    });
    names
        .map(String::as_str)
        .collect::<BTreeSet<&str>>()
        .into_iter()
        .filter(|name| is_asked(name))
        .filter_map(|name| {
            let count = effective(&pod.spec, |requests| {
                requests.get(name).map_or(0, |quantity| quantity.in_units(1))
            });
            (count > 0).then_some((name, count))
        })
        .collect()
}

/// What a pod requests beside devices: thousandths of a core, and bytes of memory.
pub(super) fn host_requests(spec: &PodSpec) -> (u64, u64) {
    let cpu_millicores = amount(spec, "cpu", |quantity| quantity.in_units(1_000));
    (cpu_millicores, amount(spec, "memory", |quantity| quantity.in_units(1)))
}

/// CPU or memory: what the pod states for all of its containers, else what they add up to,
/// with what it takes beside them.
fn amount(spec: &PodSpec, name: &str, units: impl Fn(Quantity) -> u64) -> u64 {
    let beside = spec.overhead.get(name).map_or(0, |quantity| units(*quantity));
    let of = |requests: &Requests| requests.get(name).map(&units);
    let inside = of(&spec.resources)
        .unwrap_or_else(|| effective(spec, |requests| of(requests).unwrap_or_default()));
    inside.saturating_add(beside)
}

fn effective(spec: &PodSpec, amount: impl Fn(&Requests) -> u64) -> u64 {
    let of = |container: &Container| amount(&container.resources);
    let containers: Vec<u64> = spec.containers.0.iter().map(of).collect();
    let init = spec.init_containers.0.iter().map(|container| InitRequest {
        amount: of(container),
        is_sidecar: container.restart_policy == "Always",
    });
    effective_request(&containers, &init.collect::<Vec<_>>())
}

/// Since when a pod holds what it asked for, or waits for it.
pub(super) fn since(pod: &PodObject) -> Option<Timestamp> {
    let since = pod.status.start_time.filter(|_| !pod.spec.node_name.is_empty());
    since.or(pod.metadata.creation_timestamp).map(|time| time.0)
}

/// Links of a chain that are followed; the longest that Kubernetes itself makes has two.
const MOST_LINKS: usize = 4;

/// What makes pods and is itself made by something, by kind, namespace and name.
#[derive(Debug, Default)]
pub(super) struct Makers(BTreeMap<(String, String, String), Owner>);

impl Makers {
    pub(super) fn add(&mut self, kind: &str, metadata: &Metadata) {
        if let Some(owner) = controller(&metadata.owner_references) {
            let (namespace, name) = (metadata.namespace.clone(), metadata.name.clone());
            self.0.insert((kind.to_owned(), namespace, name), owner);
        }
    }

    /// Who made an object of a namespace. A controller of a kind that is not known, such
    /// as a RayCluster, is the last one.
    pub(super) fn owner_of(&self, metadata: &Metadata) -> Option<Owner> {
        let mut owner = controller(&metadata.owner_references)?;
        for _ in 0..MOST_LINKS {
            let key = (owner.kind.clone(), metadata.namespace.clone(), owner.name.clone());
            match self.0.get(&key) {
                Some(next) => owner = next.clone(),
                None => break,
            }
        }
        Some(owner)
    }
}

fn controller(references: &Parts<OwnerReference>) -> Option<Owner> {
    let mut owners = references.0.iter();
    let one = owners.find(|owner| owner.controller)?;
    Some(Owner { kind: one.kind.clone(), name: one.name.clone() })
}

#[cfg(test)]
mod tests {
    use super::super::objects::{Document, Object};
    use super::*;
    use serde_json::{Value, json};

    fn pod(spec: &Value) -> PodObject {
        let text = json!({"kind": "Pod", "spec": spec}).to_string();
        let Document(mut objects) = serde_json::from_str(&text).expect("a pod");
        match objects.pop() {
            Some(Object::Pod(pod)) => *pod,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_limit_of_devices_is_a_request_and_init_containers_come_first() {
        let one = |count: &str| json!({"resources": {"limits": {"nvidia.com/gpu": count}}});
        let sidecar = json!({
            "restartPolicy": "Always",
            "resources": {"requests": {"nvidia.com/gpu": "1", "cpu": "1"}},
        });
        // A sidecar with one, a preparation with four beside it, two containers with one each.
        let pod = pod(&json!({
            "initContainers": [sidecar, one("4")],
            "containers": [one("1"), one("1"), {"resources": {"requests": {"cpu": "500m"}}}],
        }));
        assert_eq!(devices(&pod), BTreeMap::from([("nvidia.com/gpu", 5)]));
        let mut taken = Taken::default();
        taken.add(&pod, false);
        assert_eq!((taken.pods, taken.cpu_millicores), (1, 1_500));
    }

    #[test]
    fn pods_of_a_daemon_set_and_static_pods_belong_to_their_node() {
        let of = |metadata: Value| {
            let text = json!({"kind": "Pod", "metadata": metadata}).to_string();
            let Document(objects) = serde_json::from_str(&text).expect("a pod");
            match objects.as_slice() {
                [Object::Pod(pod)] => is_tied(pod, &Makers::default()),
                other => panic!("{other:?}"),
            }
        };
        let made = |kind: &str| {
            let owner = json!({"kind": kind, "name": "one", "controller": true});
            json!({"name": "pod", "ownerReferences": [owner]})
        };
        let mirror = json!({"annotations": {"kubernetes.io/config.mirror": "1f"}});
        assert!(of(made("DaemonSet")) && of(made("Node")) && of(mirror));
        assert!(!of(made("ReplicaSet")) && !of(json!({"name": "bare"})));
    }

    #[test]
    fn what_a_pod_states_counts_instead_of_its_containers() {
        let of = |memory: &str| json!({"resources": {"requests": {"memory": memory}}});
        let mut taken = Taken::default();
        taken.add(
            &pod(&json!({
                "containers": [of("1Gi"), of("1Gi")],
                "overhead": {"memory": "10Mi"},
            })),
            false,
        );
        assert_eq!(taken.memory_mib(), 2_058);
        taken.add(
            &pod(&json!({
                "containers": [of("1Gi"), of("1Gi")],
                "resources": {"requests": {"memory": "3Gi"}},
            })),
            true,
        );
        assert_eq!((taken.pods, taken.memory_mib()), (2, 5_130));
        // The second one belongs to its node.
        assert_eq!(taken.cpu_only_pods, 1);
        let of = |spec: &Value| {
            let mut taken = Taken::default();
            taken.add(&pod(spec), false);
            taken.cpu_only_pods
        };
        let gpu = json!({"resources": {"limits": {"nvidia.com/gpu": "1"}}});
        assert_eq!(of(&json!({"containers": [gpu]})), 0);
        let claim = json!({"name": "gpu", "resourceClaimTemplateName": "one-gpu"});
        assert_eq!(of(&json!({"resourceClaims": [claim]})), 0);
        assert_eq!(of(&json!({"containers": [{}]})), 1);
    }

    fn made(name: &str, by: &[(&str, &str, bool)]) -> Metadata {
        let reference = |(kind, name, controller): &(&str, &str, bool)| OwnerReference {
            kind: (*kind).to_owned(),
            name: (*name).to_owned(),
            controller: *controller,
        };
        let mut metadata = Metadata {
            name: name.to_owned(),
            namespace: "search".to_owned(),
            ..Metadata::default()
        };
        metadata.owner_references.0 = by.iter().map(reference).collect();
        metadata
    }

    fn owner(makers: &Makers, by: &[(&str, &str, bool)]) -> Option<String> {
        let owner = makers.owner_of(&made("pod", by))?;
        Some(format!("{} {}", owner.kind, owner.name))
    }

    #[test]
    fn a_chain_ends_with_the_last_one_that_is_known() {
        let mut makers = Makers::default();
        makers.add("ReplicaSet", &made("ranker-7d9", &[("Deployment", "ranker", true)]));
        makers.add("Job", &made("nightly-28", &[("CronJob", "nightly", true)]));
        makers.add("ReplicaSet", &made("circle", &[("ReplicaSet", "circle", true)]));
        let of = |kind, name| owner(&makers, &[("Note", "x", false), (kind, name, true)]);
        for (kind, name, expected) in [
            ("ReplicaSet", "ranker-7d9", "Deployment ranker"),
            ("Job", "nightly-28", "CronJob nightly"),
            // Not in the files, and of a kind that makes pods itself.
            ("ReplicaSet", "other-1", "ReplicaSet other-1"),
            ("RayCluster", "ray", "RayCluster ray"),
            ("ReplicaSet", "circle", "ReplicaSet circle"),
        ] {
            assert_eq!(of(kind, name).as_deref(), Some(expected));
        }
        assert_eq!(owner(&makers, &[]), None);
        assert_eq!(owner(&makers, &[("Note", "x", false)]), None);
    }
}
