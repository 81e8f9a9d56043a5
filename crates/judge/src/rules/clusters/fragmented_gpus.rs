//! Catches free GPUs that are scattered over nodes: no waiting pod can have them together,
//! and pods that share fewer nodes would leave whole ones to be released.
//!
//! Must not be fooled by pods that go with their node, by pods that nothing would create
//! again, by pods that are kept where they are, by nodes without the CPU or memory for more,
//! by a pod that has only just been created or that no repacking would help, or by
//! nodes of other types, pools and price classes.

use super::facts::{Holding, Host, SCHEDULER, View, lowering};
use super::packing::{Bin, Packing, Size, can_gather, pack};
use super::pending_gpu_pods::LEAST_WAIT_MINUTES;
use super::pool::shrinking;
use crate::domain::{
    Comparator, DeviceUnit, Evidence, Finding, Lifecycle, Money, Node, Placement, Recommendation,
    Scheduler, counted, first_names,
};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const ID: &str = "fragmented-gpus";

/// Controllers that replace a pod elsewhere without loss of work.
const REPLACING: [&str; 3] = ["Deployment", "ReplicaSet", "StatefulSet"];

/// Nodes that can stand in for each other: what is interruptible cannot for what is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey<'a> {
    cluster: Option<&'a str>,
    pool: Option<&'a str>,
    instance_type: &'a str,
    price_class: Lifecycle,
}

impl GroupKey<'_> {
    /// The price class in words; absent for the usual one.
    fn special_class(&self) -> Option<&'static str> {
        let is_special = self.price_class != Lifecycle::OnDemand;
        is_special.then(|| self.price_class.name())
    }

    fn subject(&self) -> String {
        let parts = [self.cluster, self.pool, Some(self.instance_type), self.special_class()];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        parts.join("/")
    }
}

/// A node that gives away whole devices alone.
struct Spot<'a> {
    host: &'a Host<'a>,
    bin: Bin,
    /// Each pod that can move.
    movable: Vec<Movable<'a>>,
    /// Devices that are free.
    free: u64,
    is_claimed: bool,
}

/// A pod that can move: the kind of what made it, and what moving it takes.
struct Movable<'a> {
    maker: &'a str,
    placement: Placement,
}

pub(super) fn findings(view: &View<'_>) -> Vec<Finding> {
    let mut groups: BTreeMap<GroupKey<'_>, Vec<Spot<'_>>> = BTreeMap::new();
    let mut by_host: Vec<Vec<&Holding<'_>>> = vec![Vec::new(); view.hosts.len()];
    for holding in &view.holdings {
        by_host[holding.host].push(holding);
    }
    for (host, own) in view.hosts.iter().zip(&by_host) {
        // What the inventory does not show cannot be removed, and may be gone.
        let Some((machine, spot)) = host.machine.zip(spot(host, own)) else { continue };
        let node = host.node;
        let key = GroupKey {
            cluster: node.cluster.as_deref(),
            pool: node.pool.as_deref(),
            instance_type: machine.instance_type,
            price_class: machine.price_class,
        };
        groups.entry(key).or_default().push(spot);
    }
    let waiting = waiting(view, |resource| {
        let spots = groups.values().flatten();
        spots.filter(|spot| spot.offers(resource)).map(|spot| spot.free).max().unwrap_or_default()
    });
    groups.iter().filter_map(|(key, spots)| finding(*key, spots, &waiting)).collect()
}

impl Spot<'_> {
    fn offers(&self, resource: &str) -> bool {
        self.host.node.devices.contains_key(resource)
    }
}

/// A node that pods are placed on, if it has room for what is on it.
fn spot<'a>(host: &'a Host<'a>, holdings: &[&'a Holding<'a>]) -> Option<Spot<'a>> {
    let devices = host.node.devices.values();
    let is_whole = devices.clone().all(|device| device.unit == DeviceUnit::Whole);
    if host.node.scheduler != Scheduler::Kubernetes {
        return None;
    }
    // What works without a request is not free.
    if host.is_new || !host.is_schedulable() || !is_whole || host.works_unasked() {
        return None;
    }
    host.devices.requested?;
    let (cpu, memory) = (host.node.cpu_millicores, host.node.memory_mib);
    let mut devices: u64 = devices.map(|device| u64::from(device.allocatable)).sum();
    let mut pinned_devices = 0;
    let (mut movable, mut sizes) = (Vec::new(), Vec::new());
    for holding in holdings {
        if holding.has_parts {
            return None;
        }
        let owner = holding.holder.owner.as_ref();
        if owner.is_some_and(|owner| owner.kind == "DaemonSet") {
            devices = devices.checked_sub(holding.whole)?;
            continue;
        }
        let placement = holding.holder.placement.filter(|placement| !placement.is_bound);
        match maker(holding).zip(placement) {
            Some((maker, placement)) => {
                movable.push(Movable { maker, placement });
                sizes.push(size(holding.whole, placement));
            }
            None => pinned_devices += holding.whole,
        }
    }
    let moving = Size::sum(&sizes);
    Some(Spot {
        host,
        // More is held than there is where a device has failed.
        free: devices.checked_sub(moving.devices + pinned_devices)?,
        bin: Bin {
            capacity: Size {
                devices,
                cpu_millicores: cpu.allocatable,
                memory_mib: memory.allocatable,
            },
            // Whatever else is on the node stays.
            pinned: Size {
                devices: pinned_devices,
                cpu_millicores: cpu.requested?.saturating_sub(moving.cpu_millicores),
                memory_mib: memory.requested?.saturating_sub(moving.memory_mib),
            },
            movable: sizes,
        },
        movable,
        is_claimed: !holdings.is_empty(),
    })
}

fn size(devices: u64, placement: Placement) -> Size {
    Size { devices, cpu_millicores: placement.cpu_millicores, memory_mib: placement.memory_mib }
}

/// The kind of what would create a pod again on another node; absent where nothing would.
fn maker<'a>(holding: &Holding<'a>) -> Option<&'a str> {
    let holder = holding.holder;
    let kind = holder.owner.as_ref()?.kind.as_str();
    let goes_with_node = ["DaemonSet", "Node"].contains(&kind);
    (holder.pod.is_some() && !goes_with_node).then_some(kind)
}

/// Nodes of Kubernetes with a pod that something would create again, and whose other places
/// are unknown.
pub(super) fn unplaced(view: &View<'_>) -> usize {
    let own = view.holdings.iter().filter(|holding| holding.scheduler == Scheduler::Kubernetes);
    let unknown = own.filter(|holding| {
        let is_read = view.host(holding).node.pods.is_some();
        is_read && maker(holding).is_some() && holding.holder.placement.is_none()
    });
    let hosts: BTreeSet<usize> = unknown.map(|holding| holding.host).collect();
    hosts.len()
}

/// Whole devices that a pod has waited for long enough, where that is more than any node has free, by
/// resource.
fn waiting<'a>(view: &View<'a>, largest: impl Fn(&str) -> u64) -> BTreeSet<(&'a str, Size)> {
    let mut pods: BTreeMap<(&str, &str, &'a str), Size> = BTreeMap::new();
    for (claim, _) in view.pending().filter(|(_, minutes)| *minutes >= LEAST_WAIT_MINUTES) {
        let (holder, devices) = (&claim.holder, &claim.devices);
        if devices.unit == DeviceUnit::Whole {
            let pod = holder.pod.as_deref().unwrap_or_default();
            let key = (holder.namespace.as_str(), pod, devices.resource.as_str());
            // Its CPU and memory are those of the pod, whatever else it waits for.
            let pod = pods.entry(key).or_default();
            let count = pod.devices + u64::from(devices.count);
            *pod = size(count, holder.placement.unwrap_or_default());
        }
    }
    let asked = pods.into_iter().map(|((_, _, resource), size)| (resource, size));
    asked.filter(|(resource, size)| size.devices > largest(resource)).collect()
}

fn finding(
    key: GroupKey<'_>,
    spots: &[Spot<'_>],
    waiting: &BTreeSet<(&str, Size)>,
) -> Option<Finding> {
    let claimed: Vec<&Spot<'_>> = spots.iter().filter(|spot| spot.is_claimed).collect();
    let bins: Vec<Bin> = claimed.iter().map(|spot| spot.bin.clone()).collect();
    let packing = pack(&bins);
    let free: u64 = spots.iter().map(|spot| spot.free).sum();
    let is_scattered = |resource: &str, size: Size| {
        let own = spots.iter().filter(|spot| spot.offers(resource));
        let bins: Vec<Bin> = own.map(|spot| spot.bin.clone()).collect();
        can_gather(&bins, size)
    };
    let blocked = waiting.iter().find(|(name, size)| is_scattered(name, *size));
    let blocked = blocked.map(|(_, size)| size.devices);
    if packing.freed.is_empty() && blocked.is_none() {
        return None;
    }
    let mut evidence: Vec<Evidence> = Vec::new();
    if !packing.freed.is_empty() {
        evidence.push(Evidence::fact(
            "nodes that fewer nodes could stand in for",
            SCHEDULER,
            packing.freed.len() as f64,
            (Comparator::AtLeast, 1.0),
            "nodes",
        ));
    }
    if let Some(count) = blocked {
        evidence.push(Evidence::fact(
            "free GPUs on nodes that have fewer each than a pod waits for",
            SCHEDULER,
            free as f64,
            (Comparator::AtLeast, count as f64),
            "GPUs",
        ));
    }
    let further = evidence.split_off(1);
    let decisive = evidence.pop()?;
    Some(Finding {
        title: title(key, spots, (claimed.len(), packing.freed.len()), blocked),
        monthly_savings: savings(&claimed, &packing),
        recommendation: advice(&claimed, &packing),
        ..Finding::of(ID, key.subject(), decisive, further)
    })
}

fn title(
    key: GroupKey<'_>,
    spots: &[Spot<'_>],
    (claimed, freed): (usize, usize),
    blocked: Option<u64>,
) -> String {
    let free: u64 = spots.iter().map(|spot| spot.free).sum();
    let scattered = spots.iter().filter(|spot| spot.free > 0).count();
    let class = key.special_class();
    let class = class.map_or_else(String::new, |class| format!(" ({class})"));
    let of = key.pool.map_or_else(String::new, |pool| format!(" of pool {pool}"));
    let mut title = format!(
        "{} on {scattered} of {} × {}{class}{of}",
        counted(free, "free GPU", "free GPUs"),
        spots.len(),
        key.instance_type
    );
    if let Some(count) = blocked {
        title.push_str(&format!(", and no node has the {count} that a pod waits for"));
    }
    if freed > 0 {
        title.push_str(&format!(": the pods of {claimed} nodes fit on {}", claimed - freed));
    }
    title
}

/// What ends with the nodes that are freed; absent as soon as that of one is not known.
fn savings(claimed: &[&Spot<'_>], packing: &Packing) -> Option<Money> {
    let mut freed = packing.freed.iter().map(|place| claimed[*place].host.release());
    let first = freed.next()??;
    freed.try_fold(first, |sum, next| sum.checked_add(next?).ok())
}

fn advice(claimed: &[&Spot<'_>], packing: &Packing) -> Recommendation {
    let freed: Vec<&Node> = packing.freed.iter().map(|place| claimed[*place].host.node).collect();
    let mut steps = Vec::new();
    if !freed.is_empty() {
        let pods = counted(packing.moves.len(), "pod moves", "pods move");
        let named: Vec<&str> = freed.iter().map(|node| node.name.as_str()).collect();
        steps.push(format!("cordon and drain {}: {pods}", first_names(&named)));
        let plain = || "lower the size of the pool by as many nodes".to_owned();
        steps.push(shrinking(&freed).unwrap_or_else(plain));
        let mut lowered: BTreeMap<&str, usize> = BTreeMap::new();
        let freed = packing.freed.iter().map(|place| claimed[*place].host);
        for id in freed.filter_map(Host::reservation) {
            *lowered.entry(id).or_default() += 1;
        }
        steps.extend(lowered.into_iter().map(|(id, count)| lowering(id, count)));
    }
    steps.push(
        "let the scheduler fill nodes instead of spreading: `NodeResourcesFit` with the strategy \
         `MostAllocated`"
            .to_owned(),
    );
    Recommendation {
        action: if freed.is_empty() {
            "move pods together".to_owned()
        } else {
            "repack the pods and release nodes".to_owned()
        },
        to: String::new(),
        steps,
        caveats: caveats(claimed, packing),
    }
}

fn caveats(claimed: &[&Spot<'_>], packing: &Packing) -> Vec<String> {
    let released = packing.freed.iter().flat_map(|place| claimed[*place].host.release_caveats());
    // Many nodes share them.
    let released: BTreeSet<&String> = released.collect();
    let mut caveats: Vec<String> = released.into_iter().cloned().collect();
    let moving = packing.moves.iter();
    let moving = moving.map(|relocation| &claimed[relocation.from].movable[relocation.pod]);
    let makers = moving.clone().map(|pod| pod.maker);
    let losing: BTreeSet<&str> = makers.filter(|kind| !REPLACING.contains(kind)).collect();
    if !losing.is_empty() {
        let kinds: Vec<&str> = losing.into_iter().collect();
        caveats.push(format!(
            "pods of {} are among those that move: they lose work since their last checkpoint",
            kinds.join(", ")
        ));
    }
    let local = moving.filter(|pod| pod.placement.has_local_data).count();
    if local > 0 {
        let pods = counted(local, "pod that moves keeps", "pods that move keep");
        caveats.push(format!(
            "{pods} data on the disk of the node (emptyDir or hostPath), which stays behind"
        ));
    }
    let beside = packing.freed.iter().filter_map(|place| claimed[*place].host.node.cpu_only_pods);
    let beside: u64 = beside.map(u64::from).sum();
    if beside > 0 {
        let pods = counted(beside, "pod", "pods");
        caveats.push(format!("{pods} without GPUs on the released nodes must fit elsewhere too"));
    }
    caveats.push("disruption budgets and the zones of volumes are not checked".to_owned());
    caveats
}
