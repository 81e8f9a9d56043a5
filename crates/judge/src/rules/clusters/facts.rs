//! What the rules about clusters are asked about, what each scheduler calls nodes and pods, and
//! the parts that they share.

use crate::domain::{
    Claim, ClaimState, Clusters, DeviceFunnel, DeviceUnit, DeviceUse, Holder, InstanceUsage,
    Lifecycle, Money, Node, Policy, ResourceId, Scheduler, Window, counted, floored,
};
use crate::savings::Ending;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

/// A machine that was first seen less than so many hours ago may still be filled.
const NEW_HOURS: i64 = 1;

/// What a title says of a node whose GPUs work though no pod requests any.
pub(super) const UNASKED: &str = ", but GPUs were active without a request";

/// Clusters with everything known about their machines.
#[derive(Debug)]
pub struct ClusterFacts<'a> {
    pub clusters: &'a Clusters,
    /// The machines of nodes, as far as the inventory has them.
    pub machines: BTreeMap<&'a ResourceId, MachineFacts<'a>>,
    pub policy: &'a Policy,
    /// The window of the metrics.
    pub window: Window,
    /// The instant that the audit describes.
    pub as_of: Timestamp,
}

/// The machine of a node.
#[derive(Debug)]
pub struct MachineFacts<'a> {
    pub instance_type: &'a str,
    pub price_class: Lifecycle,
    pub is_running: bool,
    /// Whether a tag takes it out of advice.
    pub is_ignored: bool,
    pub first_seen: Timestamp,
    /// Per month, unrounded; absent when it is unpriced.
    pub monthly_cost: Option<Money>,
    /// What stopping it ends.
    pub ending: Ending,
    pub usage: Option<&'a InstanceUsage>,
}

/// Claims that are on a machine, by machine.
pub fn claims_by_machine(claims: &[Claim]) -> BTreeMap<&ResourceId, Vec<&Claim>> {
    let mut by_machine: BTreeMap<&ResourceId, Vec<&Claim>> = BTreeMap::new();
    for claim in claims {
        if let Some(machine) = &claim.machine {
            by_machine.entry(machine).or_default().push(claim);
        }
    }
    by_machine
}

/// A node with everything known about it.
#[derive(Debug)]
pub(super) struct Host<'a> {
    pub node: &'a Node,
    pub machine: Option<&'a MachineFacts<'a>>,
    pub devices: DeviceFunnel,
    /// Whether it runs since so short a time that pods may still be on their way.
    pub is_new: bool,
}

impl Host<'_> {
    pub fn words(&self) -> &'static Words {
        Words::of(self.node.scheduler)
    }

    /// What findings about it are about.
    pub fn subject(&self) -> &str {
        self.node.machine.as_str()
    }

    /// What so many of its devices cost per month, rounded.
    pub fn share(&self, devices: Decimal) -> Option<Money> {
        let cost = self.machine?.monthly_cost?;
        let physical = self.devices.physical.filter(|count| !count.is_zero())?;
        let amount = cost.amount().checked_mul(devices.min(physical))?.checked_div(physical)?;
        Some(Money::new(amount, cost.currency()).rounded())
    }

    /// Whether GPUs were seen working in the window though no pod requests any.
    pub fn works_unasked(&self) -> bool {
        let is_unclaimed = self.devices.requested.is_some_and(|requested| requested.is_zero());
        let usage = self.machine.and_then(|machine| machine.usage);
        let mut gpus = usage.into_iter().flat_map(|usage| &usage.gpus);
        is_unclaimed && gpus.any(|gpu| gpu.works() == Some(true))
    }

    /// What ends per month when it is released; absent where somebody may use it.
    pub fn release(&self) -> Option<Money> {
        self.machine.filter(|_| !self.works_unasked())?.ending.monthly_savings
    }

    /// The capacity reservation to lower in the same step.
    pub fn reservation(&self) -> Option<&str> {
        self.machine?.ending.reservation.as_deref()
    }

    /// What would stop an engineer from releasing it.
    pub fn release_caveats(&self) -> &[String] {
        self.machine.map_or(&[], |machine| machine.ending.caveats.as_slice())
    }

    /// Why no pod is placed on it, after its name; empty where pods are.
    pub fn state(&self) -> &'static str {
        let words = self.words();
        match (self.node.is_cordoned, self.node.is_ready) {
            (true, Some(false)) => words.cordoned_not_ready,
            (true, _) => words.cordoned,
            (false, Some(false)) => words.not_ready,
            (false, _) => "",
        }
    }

    pub fn is_schedulable(&self) -> bool {
        !self.node.is_cordoned && self.node.is_ready != Some(false)
    }
}

/// What one pod holds of one node.
#[derive(Debug)]
pub(super) struct Holding<'a> {
    /// Namespace and pod; with the node where several of that name hold devices.
    pub subject: String,
    pub holder: &'a Holder,
    pub claims: Vec<&'a Claim>,
    pub scheduler: Scheduler,
    /// Its place among the hosts.
    pub host: usize,
    /// In physical devices.
    pub devices: Decimal,
    /// Whole devices.
    pub whole: u64,
    /// Whether it holds parts of devices.
    pub has_parts: bool,
    /// Absent where nothing tells.
    pub held_hours: Option<f64>,
    /// How it used each device.
    pub uses: BTreeMap<u32, &'a DeviceUse>,
}

impl Holding<'_> {
    /// The fewest devices that it can be on.
    pub fn least_devices(&self) -> u64 {
        (self.whole + u64::from(self.has_parts)).max(1)
    }

    /// Whether samples are of a pod of the same name before it: more time was measured than
    /// it has had its devices, and one sample.
    pub fn has_predecessor(&self) -> bool {
        let Some(held) = self.held_hours else { return false };
        let mut uses = self.uses.values();
        uses.any(|gpu_use| gpu_use.hours() > held + f64::from(gpu_use.sample_seconds) / 3_600.0)
    }

    /// The pod with what made it, such as `search/ranker-0 (Deployment ranker)`.
    pub fn words(&self) -> String {
        let owner = self.holder.owner.as_ref();
        owner.map_or(self.subject.clone(), |owner| {
            format!("{} ({} {})", self.subject, owner.kind, owner.name)
        })
    }
}

/// Clusters as the rules read them.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub facts: &'a ClusterFacts<'a>,
    /// Nodes whose machines run and are not taken out of advice.
    pub hosts: Vec<Host<'a>>,
    /// What pods hold of them, in order of namespace, pod and machine.
    pub holdings: Vec<Holding<'a>>,
}

/// Namespace, pod or the name of what allocated the devices, and machine.
type HoldingKey<'a> = (&'a str, &'a str, &'a ResourceId);

impl<'a> View<'a> {
    pub fn of(facts: &'a ClusterFacts<'a>) -> Self {
        let mut by_machine = claims_by_machine(&facts.clusters.claims);
        let mut hosts = Vec::new();
        let mut grouped: BTreeMap<HoldingKey<'a>, (usize, Vec<&'a Claim>)> = BTreeMap::new();
        for node in &facts.clusters.nodes {
            let machine = facts.machines.get(&node.machine);
            if machine.is_some_and(|instance| !instance.is_running || instance.is_ignored) {
                continue;
            }
            let claims = by_machine.remove(&node.machine).unwrap_or_default();
            for claim in &claims {
                let key = (claim.holder.namespace.as_str(), claim.holder.name(), &node.machine);
                grouped.entry(key).or_insert_with(|| (hosts.len(), Vec::new())).1.push(claim);
            }
            let age = machine.map(|instance| facts.as_of.duration_since(instance.first_seen));
            hosts.push(Host {
                node,
                machine,
                devices: node.funnel(claims),
                is_new: age.is_some_and(|age| age < SignedDuration::from_hours(NEW_HOURS)),
            });
        }
        let holdings = holdings(facts, &hosts, grouped);
        Self { facts, hosts, holdings }
    }

    pub fn host(&self, holding: &Holding<'_>) -> &Host<'a> {
        &self.hosts[holding.host]
    }

    /// Claims that wait, with how many minutes they have.
    pub fn pending(&self) -> impl Iterator<Item = (&'a Claim, f64)> {
        let facts = self.facts;
        let claims = facts.clusters.claims.iter();
        let pending = claims.filter(|claim| claim.state == ClaimState::Pending);
        pending
            .filter_map(move |claim| Some((claim, seconds_since(facts.as_of, claim.since?) / 60.0)))
    }
}

fn holdings<'a>(
    facts: &'a ClusterFacts<'a>,
    hosts: &[Host<'a>],
    grouped: BTreeMap<HoldingKey<'a>, (usize, Vec<&'a Claim>)>,
) -> Vec<Holding<'a>> {
    let mut uses: BTreeMap<HoldingKey<'a>, BTreeMap<u32, &'a DeviceUse>> = BTreeMap::new();
    for gpu_use in &facts.clusters.uses {
        let key = (gpu_use.namespace.as_str(), gpu_use.pod.as_str(), &gpu_use.machine);
        uses.entry(key).or_default().insert(gpu_use.gpu, gpu_use);
    }
    let mut named: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (namespace, pod, _) in grouped.keys() {
        *named.entry((*namespace, *pod)).or_default() += 1;
    }
    let mut holdings = Vec::with_capacity(grouped.len());
    for (key, (host, claims)) in grouped {
        let (namespace, pod, _) = key;
        let Some(first) = claims.first() else { continue };
        let mut subject = format!("{namespace}/{pod}");
        if named.get(&(namespace, pod)).is_some_and(|count| *count > 1) {
            subject = format!("{subject}@{}", hosts[host].node.name);
        }
        let whole = claims.iter().filter(|claim| claim.devices.unit == DeviceUnit::Whole);
        let since = claims.iter().filter_map(|claim| claim.since).max();
        holdings.push(Holding {
            subject,
            holder: &first.holder,
            scheduler: hosts[host].node.scheduler,
            host,
            devices: claims.iter().map(|claim| claim.devices.physical()).sum(),
            whole: whole.map(|claim| u64::from(claim.devices.count)).sum(),
            has_parts: claims.iter().any(|claim| claim.devices.unit != DeviceUnit::Whole),
            held_hours: since.map(|since| seconds_since(facts.as_of, since) / 3_600.0),
            uses: uses.remove(&key).unwrap_or_default(),
            claims,
        });
    }
    holdings
}

fn seconds_since(as_of: Timestamp, since: Timestamp) -> f64 {
    as_of.duration_since(since).as_secs_f64().max(0.0)
}

/// The step that lowers a capacity reservation with machines that leave it.
pub(super) fn lowering(reservation: &str, machines: usize) -> String {
    format!("lower the capacity reservation {reservation} by {machines} in the same step")
}

/// A number of devices as a measurement.
pub(super) fn number(devices: Decimal) -> f64 {
    devices.to_f64().unwrap_or_default()
}

/// A number of devices in words, to hundredths.
pub(super) fn gpus(devices: Decimal) -> String {
    counted(devices.round_dp(2).normalize(), "GPU", "GPUs")
}

/// A cost after a statement, such as `: USD 12.30 per month`; empty where it is not known.
pub(super) fn cost_words(cost: Option<Money>) -> String {
    cost.map_or_else(String::new, |cost| {
        format!(": {} {:.2} per month", cost.currency(), cost.amount())
    })
}

/// A time in words, never rounded up.
pub(super) fn span(hours: f64) -> String {
    if hours < 2.0 {
        counted(floored(hours * 60.0, 0), "minute", "minutes")
    } else if hours < 48.0 {
        format!("{} hours", floored(hours, 0))
    } else {
        format!("{} days", floored(hours / 24.0, 1))
    }
}

/// Where figures of Kubernetes are from.
pub(super) const SCHEDULER: &str = "Kubernetes API: nodes and pods";
/// What to do about a node of Kubernetes whose GPUs work though no pod requests any.
pub(super) const FIND_OUT: &str = "find out who uses the GPUs first: a privileged pod, a process \
     of the host, another scheduler, or a pod that has ended since";

/// The words of a scheduler.
#[derive(Debug)]
pub(super) struct Words {
    pub pod: &'static str,
    pub node: &'static str,
    /// Where its figures are from.
    pub origin: &'static str,
    /// Where the number of devices is from.
    pub physical_origin: &'static str,
    pub unrequested: &'static str,
    pub find_out: &'static str,
    /// How to use the rest of a node, or to empty it.
    pub fill_or_empty: &'static str,
    pub drain: &'static str,
    /// What a pool of nodes is, and what of it is lowered.
    pub pool: &'static str,
    /// What starts a node again that was removed.
    pub keeper: &'static str,
    /// Why no pod is placed on a node, after its name.
    pub cordoned: &'static str,
    pub not_ready: &'static str,
    pub cordoned_not_ready: &'static str,
}

const KUBERNETES: Words = Words {
    pod: "pod",
    node: "node",
    origin: SCHEDULER,
    physical_origin: "labels of the node, device plugin or instance type",
    unrequested: "GPUs that no pod requests",
    find_out: FIND_OUT,
    fill_or_empty: "place other pods on it, or move its pods away (see fragmented-gpus)",
    drain: "drain the node",
    pool: "the size of the pool",
    keeper: "a pool with a minimum size starts it again",
    cordoned: " (cordoned)",
    not_ready: " (not ready)",
    cordoned_not_ready: " (cordoned, not ready)",
};

const ECS: Words = Words {
    pod: "task",
    node: "container instance",
    origin: "Amazon ECS: container instances and tasks",
    physical_origin: "GPUs that the container instance registered",
    unrequested: "GPUs that no task requests",
    find_out: "find out who uses the GPUs first: a container without a GPU requirement, a process \
               of the host, or a task that has ended since",
    fill_or_empty: "place other tasks on it with the strategy `binpack`, or move its tasks away",
    drain: "set the container instance to DRAINING, so that its tasks are placed elsewhere",
    pool: "the Auto Scaling group of the capacity provider",
    keeper: "an Auto Scaling group or a compute environment with a minimum size starts it again",
    cordoned: " (draining)",
    not_ready: " (agent not connected)",
    cordoned_not_ready: " (draining, agent not connected)",
};

impl Words {
    pub fn of(scheduler: Scheduler) -> &'static Self {
        match scheduler {
            Scheduler::Kubernetes => &KUBERNETES,
            Scheduler::Ecs => &ECS,
        }
    }
}
