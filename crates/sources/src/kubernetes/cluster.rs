//! A cluster put together: nodes with what they are, and pods with what they hold of them.

use super::dra::{self, Held, Listed};
use super::holders::Holders;
use super::nodes::{Described, described};
use super::objects::{DeviceClaimObject, Metadata, NodeObject, Object, PodObject, SliceObject};
use super::pods::{self, Makers, Taken};
use super::resources::{Labels, unit_by_name};
use super::unclear::{Unclear, Waiting};
use crate::Found;
use crate::domain::{
    Cause, CauseKind, Claim, ClaimState, DeviceUnit, Devices, Gap, GapSubject, Gathered, GpuOffer,
    Holder,
};
use std::collections::{BTreeMap, BTreeSet};

/// The namespace of what every node runs: where no pod of it is known, pods are missing.
const SYSTEM: &str = "kube-system";
/// OpenShift has namespaces of its own for that.
const SYSTEM_OF_OPENSHIFT: &str = "openshift-";

/// Namespace and name.
type Name = (String, String);

/// Objects of a cluster by kind, each once.
#[derive(Debug, Default)]
struct Objects {
    nodes: BTreeMap<String, NodeObject>,
    pods: BTreeMap<Name, PodObject>,
    makers: Makers,
    slices: BTreeMap<String, SliceObject>,
    device_claims: BTreeMap<Name, DeviceClaimObject>,
    /// Labels of namespaces by name.
    namespaces: BTreeMap<String, Labels>,
}

impl Objects {
    fn of(listed: Vec<Object>) -> Self {
        let mut objects = Self::default();
        let full_name = |metadata: &Metadata| (metadata.namespace.clone(), metadata.name.clone());
        for object in listed {
            match object {
                Object::Node(node) => {
                    objects.nodes.insert(node.metadata.name.clone(), *node);
                }
                Object::Pod(pod) => {
                    objects.pods.insert(full_name(&pod.metadata), *pod);
                }
                Object::Maker(kind, metadata) => objects.makers.add(kind, &metadata),
                Object::Slice(slice) => {
                    objects.slices.insert(slice.metadata.name.clone(), slice);
                }
                Object::DeviceClaim(claim) => {
                    objects.device_claims.insert(full_name(&claim.metadata), claim);
                }
                Object::Namespace(metadata) => {
                    objects.namespaces.insert(metadata.name, metadata.labels);
                }
                Object::Other => {}
            }
        }
        objects
    }
}

/// How far the pods among some objects are those of their cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PodList {
    /// All of them, unless their namespaces tell that others are missing.
    Recorded,
    /// All of them: the server listed those of every namespace.
    #[cfg(feature = "kubernetes")]
    Whole,
    /// There are none, for a reason that is given elsewhere.
    #[cfg(feature = "kubernetes")]
    Absent,
}

/// What objects of one cluster say of its machines and of who holds their devices.
pub(super) fn found(objects: Vec<Object>, pods: PodList) -> Gathered<Found> {
    let objects = Objects::of(objects);
    let listed = Listed::of(objects.slices.values());
    let mut gaps = Vec::new();
    let mut nodes: BTreeMap<&str, Described> = BTreeMap::new();
    for (name, object) in &objects.nodes {
        match described(object, listed.on(name)) {
            Some(node) => {
                nodes.insert(name, node);
            }
            None => {
                let cause = Cause::of(CauseKind::NodeNotReadable, ["launch time"]);
                gaps.push(Gap::of(GapSubject::Instance, name, cause));
            }
        }
    }
    let (held, unlisted) = dra::held(objects.device_claims.values(), &listed);
    let unclear = Unclear::of(&objects.nodes, &objects.pods, &objects.device_claims, &unlisted);
    let waiting = Waiting::of(&objects.pods, &objects.device_claims);
    let causes = unclear.causes.iter().chain(&waiting.cause).cloned();
    gaps.extend(causes.map(|cause| Gap::of(GapSubject::Devices, PLACE, cause)));
    let (claims, missing) = claims(&objects, &nodes, &held, &waiting);
    gaps.extend(missing.into_iter().map(|name| {
        Gap::of(GapSubject::Instance, name, Cause::of(CauseKind::NodeNotRecorded, []))
    }));
    gaps.extend(count_pods(&objects, pods, &unclear.nodes, &mut nodes));

    let holding: BTreeSet<_> = claims.iter().filter_map(|claim| claim.machine.clone()).collect();
    let mut nodes: Vec<Described> = nodes.into_values().collect();
    nodes.retain(|described| described.is_accelerated || holding.contains(&described.node.machine));
    gaps.extend(remove_repeated(&mut nodes));
    tell_types_apart(&mut nodes);
    let mut value = Found::default();
    value.clusters.claims = claims;
    for described in nodes {
        value.shapes.extend(described.named_shape());
        value.instances.push(described.instance);
        value.clusters.nodes.push(described.node);
    }
    Gathered { value, gaps }
}

/// The place of what is missing of a cluster as a whole.
pub(super) const PLACE: &str = "cluster";

/// Who holds or waits for devices, and the nodes of such devices that are not known.
fn claims<'a>(
    objects: &'a Objects,
    nodes: &BTreeMap<&str, Described>,
    held: &[Held<'a>],
    waiting: &Waiting<'_>,
) -> (Vec<Claim>, BTreeSet<&'a str>) {
    let Objects { makers, namespaces, .. } = objects;
    let mut holders = Holders::of(makers, namespaces, &objects.nodes);
    let (mut claims, mut missing, mut allocated) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    // Whoever has no node waits.
    let claim = |holder, devices, node: Option<&Described>, since| Claim {
        holder,
        devices,
        state: if node.is_some() { ClaimState::Running } else { ClaimState::Pending },
        since,
        machine: node.map(|described| described.node.machine.clone()),
    };
    for Held { claim: object, node, devices } in held {
        let Some(described) = nodes.get(node) else {
            missing.insert(*node);
            continue;
        };
        let (holder, pod) = holder_of(object, objects, &mut holders);
        if let Some(pod) = &holder.pod {
            allocated.insert((holder.namespace.clone(), pod.clone()));
        }
        let created = object.metadata.creation_timestamp.map(|time| time.0);
        let since = pod.and_then(pods::since).or(created);
        claims.push(claim(holder, devices.clone(), Some(described), since));
    }
    for (name, pod) in &objects.pods {
        if pods::has_ended(pod) || pods::is_held_back(pod) {
            continue;
        }
        let on = pod.spec.node_name.as_str();
        let node = nodes.get(on);
        for (resource, count) in pods::devices(pod) {
            // A driver serves such requests too: they are claims of their own then.
            if allocated.contains(name) && node.is_none_or(|node| !node.offers(resource)) {
                continue;
            }
            if !on.is_empty() && node.is_none() {
                missing.insert(on);
                continue;
            }
            let unit = node.map_or_else(|| usual_unit(resource, nodes), |node| node.unit(resource));
            let devices = Devices { resource: resource.to_owned(), unit, count };
            claims.push(claim(holders.pod(pod), devices, node, pods::since(pod)));
        }
    }
    for (pod, devices) in &waiting.devices {
        claims.push(claim(holders.pod(pod), devices.clone(), None, pods::since(pod)));
    }
    (claims, missing)
}

/// What a pod that waits asks for: what the first node has that offers it.
fn usual_unit(resource: &str, nodes: &BTreeMap<&str, Described>) -> DeviceUnit {
    let mut offering = nodes.values().filter(|node| node.offers(resource));
    offering.next().map_or_else(|| unit_by_name(resource), |node| node.unit(resource))
}

/// The first of the pods that use what a claim holds, and its object where it is known.
fn holder_of<'a>(
    claim: &DeviceClaimObject,
    objects: &'a Objects,
    holders: &mut Holders<'a>,
) -> (Holder, Option<&'a PodObject>) {
    let metadata = &claim.metadata;
    let first = dra::consumers(claim).min();
    let name = first.map(|name| (metadata.namespace.clone(), name.to_owned()));
    let pod = name.as_ref().and_then(|name| objects.pods.get(name));
    let holder = match pod {
        Some(pod) => holders.pod(pod),
        None => holders.claim(claim, first),
    };
    (holder, pod)
}

/// Adds up what pods take of their nodes, but for those of which that is not known; a gap
/// where pods are missing.
fn count_pods(
    objects: &Objects,
    pods: PodList,
    unclear: &BTreeSet<&str>,
    nodes: &mut BTreeMap<&str, Described>,
) -> Option<Gap> {
    match pods {
        PodList::Recorded if !has_all_namespaces(objects) => {
            let cause = Cause::of(CauseKind::PodsNotRecorded, []);
            return Some(Gap::of(GapSubject::Pods, PLACE, cause));
        }
        PodList::Recorded => {}
        #[cfg(feature = "kubernetes")]
        PodList::Whole => {}
        #[cfg(feature = "kubernetes")]
        PodList::Absent => return None,
    }
    let mut taken: BTreeMap<&str, Taken> = BTreeMap::new();
    for pod in objects.pods.values().filter(|pod| !pods::has_ended(pod)) {
        taken.entry(&pod.spec.node_name).or_default().add(pod, pods::is_tied(pod, &objects.makers));
    }
    for (name, described) in nodes {
        if unclear.contains(name) {
            continue;
        }
        let taken = taken.get(name).copied().unwrap_or_default();
        let node = &mut described.node;
        node.pods = Some(taken.pods);
        node.cpu_only_pods = Some(taken.cpu_only_pods);
        node.cpu_millicores.requested = Some(taken.cpu_millicores);
        node.memory_mib.requested = Some(taken.memory_mib());
    }
    None
}

/// Whether pods are those of every namespace, as far as the namespaces tell: one of the
/// system is among them, and another. `kubectl get` without `--all-namespaces` prints the
/// pods of one, which may be that of the system.
fn has_all_namespaces(objects: &Objects) -> bool {
    let names = objects.pods.keys();
    let namespaces: BTreeSet<&str> = names.map(|(namespace, _)| namespace.as_str()).collect();
    let mut listed = namespaces.iter();
    namespaces.len() > 1
        && listed
            .any(|namespace| *namespace == SYSTEM || namespace.starts_with(SYSTEM_OF_OPENSHIFT))
}

/// Leaves one node of a machine: it is paid for once.
fn remove_repeated(nodes: &mut Vec<Described>) -> Vec<Gap> {
    let (mut machines, mut gaps) = (BTreeSet::new(), Vec::new());
    nodes.retain(|described| {
        let machine = &described.node.machine;
        let is_first = machines.insert(machine.clone());
        if !is_first {
            let cause = Cause::of(CauseKind::NodeRepeated, [machine.as_str()]);
            gaps.push(Gap::of(GapSubject::Instance, &described.node.name, cause));
        }
        is_first
    });
    gaps
}

/// Machines of one name for their types that differ in their devices are not of one type.
fn tell_types_apart(nodes: &mut [Described]) {
    let mut offers: BTreeMap<String, Option<GpuOffer>> = BTreeMap::new();
    let mut several = BTreeSet::new();
    for described in nodes.iter() {
        let Some((name, shape)) = described.named_shape() else { continue };
        let first = offers.entry(name.clone()).or_insert_with(|| shape.gpu.clone());
        if *first != shape.gpu {
            several.insert(name);
        }
    }
    for described in nodes {
        if several.contains(&described.instance.instance_type) {
            described.name_type_by_devices();
        }
    }
}
