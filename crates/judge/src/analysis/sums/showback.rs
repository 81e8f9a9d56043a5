//! Showback: what namespaces, owners and labels cost by the devices that their pods hold, and how
//! much of that was used. The cost of a node is divided among these pods, and every amount is in
//! whole cents before it is added, so that rows sum to the cost of the audit to the cent.

use super::ledger::{apportioned, share_of_percent};
use super::totals::plus;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Claim, ClaimState, Classification, Clusters, DEVICE_DECIMALS, DeviceUnit, DeviceUse,
    InstanceUsage, Money, Node, ResourceId, Signal, named_enum, named_key,
};
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

named_key! {
    /// What claims on nodes are grouped by.
    ClaimKey {
        Namespace = "namespace",
        /// What made the pod, with its namespace.
        Owner = "owner",
        Cluster = "cluster",
        /// The group of nodes.
        Pool = "pool",
        Node = "node",
    }
    /// The value of a label of the pod.
    Label = "label"
}

impl ClaimKey {
    /// Its value for a claim on a node. What no claim holds has values of the node alone.
    fn value(&self, node: &Node, claim: Option<&Claim>) -> Option<String> {
        let holder = claim.map(|claim| &claim.holder);
        match self {
            Self::Namespace => Some(holder?.namespace.clone()),
            Self::Owner => {
                let holder = holder?;
                let (kind, name) = match (&holder.owner, &holder.pod) {
                    (Some(owner), _) => (owner.kind.as_str(), &owner.name),
                    (None, Some(pod)) => ("Pod", pod),
                    (None, None) => return None,
                };
                Some(format!("{}/{kind} {name}", holder.namespace))
            }
            Self::Label(name) => holder?.labels.get(name).cloned(),
            Self::Cluster => node.cluster.clone(),
            Self::Pool => node.pool.clone(),
            Self::Node => Some(node.name.clone()),
        }
    }
}

named_enum! {
    /// Which part of the cost a row is.
    ShowbackPart {
        /// What pods hold.
        Requested = "requested",
        /// What no pod holds of nodes whose pods were read.
        Unallocated = "unallocated",
        /// Nodes whose pods were not read.
        Unknown = "unknown",
        /// Instances that are not nodes, stopped ones, and unused commitments.
        NotInCluster = "not-in-cluster",
    }
}

/// Sums of some claims. Money is absent when none of it is priced in the currency of the
/// audit's sums, and its parts where no pod holds anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShowbackSums {
    pub pods: u64,
    /// In physical devices; absent where no pod holds any.
    pub gpus_requested: Option<Decimal>,
    /// Devices times their mean utilization; absent where nothing was measured.
    pub gpus_used: Option<Decimal>,
    /// Nodes whose cost is in no sum: without a price, without an instance in the audit,
    /// or in another currency.
    pub unpriced_nodes: u64,
    pub monthly_cost: Option<Money>,
    /// Of what pods hold, cost times mean GPU utilization.
    pub used_cost: Option<Money>,
    /// Of it, the rest of what was measured.
    pub idle_cost: Option<Money>,
    /// Of it, that of devices whose utilization is not known.
    pub unmeasured_cost: Option<Money>,
}

/// What has the same values, of one part of the cost where it is divided into parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRow<P, S> {
    pub part: P,
    /// One value for each key, in their order; absent for what has none, such as what lacks the
    /// tag.
    pub values: Vec<Option<String>>,
    pub sums: S,
}

/// An audit by some keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupTable<P, S> {
    pub as_of: Timestamp,
    /// The names of the keys.
    pub keys: Vec<String>,
    /// By cost, most expensive first, unpriced last, then by part and values.
    pub rows: Vec<GroupRow<P, S>>,
    /// Over all rows; its cost is that of the audit.
    pub total: S,
}

/// The cost of an audit by who holds devices of its nodes.
pub type Showback = GroupTable<ShowbackPart, ShowbackSums>;

impl Showback {
    pub fn of(audit: &Audit, clusters: &Clusters, keys: &[ClaimKey]) -> Self {
        let mut ledger = Ledger::new(keys);
        let mut nodes = on_nodes(clusters);
        for audited in &audit.workloads {
            if audited.workload.key.running {
                ledger.add_running(audit, audited, &mut nodes);
            } else {
                for id in &audited.workload.instances {
                    nodes.remove(id);
                }
                let cost = audited.workload.monthly_cost();
                ledger.add_elsewhere(cost.filter(|cost| is_summed(audit, *cost)));
            }
        }
        let unused = audit.unused.iter().filter_map(|row| row.monthly_cost);
        for cost in unused.filter(|cost| is_summed(audit, *cost)) {
            ledger.add_elsewhere(Some(cost));
        }
        for (node, on_node) in nodes.into_values() {
            ledger.add_node(node, on_node);
        }
        ledger.close(audit.as_of)
    }
}

fn is_summed(audit: &Audit, cost: Money) -> bool {
    cost.currency() == audit.totals.currency
}

type Nodes<'a> = BTreeMap<&'a ResourceId, (&'a Node, OnNode<'a>)>;

/// Every node by its machine, with its claims. What waits for a node costs nothing.
fn on_nodes(clusters: &Clusters) -> Nodes<'_> {
    let mut nodes: Nodes<'_> = BTreeMap::new();
    for node in &clusters.nodes {
        nodes.entry(&node.machine).or_insert_with(|| (node, OnNode::default()));
    }
    for claim in &clusters.claims {
        let Some(machine) = &claim.machine else { continue };
        let is_held = claim.state == ClaimState::Running;
        if let Some((_, on_node)) = nodes.get_mut(machine).filter(|_| is_held) {
            on_node.claims.push(claim);
        }
    }
    for usage in &clusters.uses {
        if let Some((_, on_node)) = nodes.get_mut(&usage.machine) {
            on_node.uses.push(usage);
        }
    }
    nodes
}

/// Mean GPU utilization of one instance, 0–1; absent when it does not suffice for a
/// verdict on the members that behave like it.
fn mean_of(audited: &AuditedWorkload, usage: &InstanceUsage) -> Option<Decimal> {
    let mut parts = audited.parts.iter();
    let part = parts.find(|part| part.workload.instances.binary_search(&usage.instance).is_ok());
    let verdict = part.map_or(&audited.verdict, |part| &part.verdict);
    let summary = usage.summary.as_ref()?;
    let is_judged = verdict.classification != Classification::InsufficientData
        && summary.signal == Signal::GpuUtilization;
    share_of_percent(summary.distribution.mean).filter(|_| is_judged)
}

/// Rows as they grow.
struct Ledger<'a> {
    keys: &'a [ClaimKey],
    rows: BTreeMap<(ShowbackPart, Vec<Option<String>>), Tally<'a>>,
    total: Tally<'a>,
}

impl<'a> Ledger<'a> {
    fn new(keys: &'a [ClaimKey]) -> Self {
        Self { keys, rows: BTreeMap::new(), total: Tally::default() }
    }

    fn add(
        &mut self,
        part: ShowbackPart,
        values: Vec<Option<String>>,
        add: impl Fn(&mut Tally<'a>),
    ) {
        add(self.rows.entry((part, values)).or_default());
        add(&mut self.total);
    }

    fn add_elsewhere(&mut self, cost: Option<Money>) {
        let add = |tally: &mut Tally<'a>| {
            tally.sums.monthly_cost = plus(tally.sums.monthly_cost, cost);
        };
        self.add(ShowbackPart::NotInCluster, vec![None; self.keys.len()], add);
    }

    /// Notes what each of its instances that is a node costs, and how it was used. The
    /// cost of a workload is the sum of these, so nothing is divided among instances.
    fn add_running(&mut self, audit: &Audit, audited: &AuditedWorkload, nodes: &mut Nodes<'a>) {
        let workload = &audited.workload;
        let costs = workload.cost.as_ref().map(|cost| &cost.instances);
        for (place, id) in workload.instances.iter().enumerate() {
            let cost = costs
                .and_then(|costs| costs.get(place))
                .map(|cost| cost.monthly())
                .filter(|cost| is_summed(audit, *cost));
            let usage = workload.usage.get(place);
            let gpus = || usage.iter().flat_map(|usage| &usage.gpus);
            match nodes.get_mut(id) {
                Some((_, on_node)) => {
                    on_node.cost = cost;
                    on_node.uses.retain(|device_use| {
                        let mut own = gpus().filter(|gpu| u32::from(gpu.index) == device_use.gpu);
                        own.all(|gpu| gpu.contradiction.is_none())
                    });
                    on_node.mean = usage.and_then(|usage| mean_of(audited, usage));
                }
                None => self.add_elsewhere(cost),
            }
        }
    }

    fn add_node(&mut self, node: &'a Node, on_node: OnNode<'a>) {
        if node.pods.is_none() {
            let cost = on_node.cost;
            let add = |tally: &mut Tally<'a>| tally.add_cost(node, cost);
            self.add(ShowbackPart::Unknown, self.values(node, None), add);
            return;
        }
        for share in divide(node, on_node) {
            let values = self.values(node, share.claim);
            match share.claim {
                Some(claim) => {
                    let add = |tally: &mut Tally<'a>| tally.add_claim(node, claim, &share);
                    self.add(ShowbackPart::Requested, values, add);
                }
                None => {
                    let add = |tally: &mut Tally<'a>| tally.add_cost(node, share.cost);
                    self.add(ShowbackPart::Unallocated, values, add);
                }
            }
        }
    }

    fn values(&self, node: &Node, claim: Option<&Claim>) -> Vec<Option<String>> {
        self.keys.iter().map(|key| key.value(node, claim)).collect()
    }

    fn close(self, as_of: Timestamp) -> Showback {
        let mut rows: Vec<GroupRow<ShowbackPart, ShowbackSums>> = self
            .rows
            .into_iter()
            .map(|((part, values), tally)| GroupRow { part, values, sums: tally.close() })
            .collect();
        rows.sort_by_key(|row| Reverse(row.sums.monthly_cost.map(Money::amount)));
        let keys = self.keys.iter().map(ToString::to_string).collect();
        Showback { as_of, keys, rows, total: self.total.close() }
    }
}

/// Sums with what is counted once.
#[derive(Default)]
struct Tally<'a> {
    sums: ShowbackSums,
    pods: BTreeSet<(&'a ResourceId, &'a str, &'a str)>,
    unpriced: BTreeSet<&'a ResourceId>,
}

impl<'a> Tally<'a> {
    fn add_cost(&mut self, node: &'a Node, cost: Option<Money>) {
        self.sums.monthly_cost = plus(self.sums.monthly_cost, cost);
        if cost.is_none() {
            self.unpriced.insert(&node.machine);
        }
    }

    fn add_claim(&mut self, node: &'a Node, claim: &'a Claim, share: &NodeShare<'_>) {
        self.add_cost(node, share.cost);
        let holder = &claim.holder;
        if let Some(pod) = &holder.pod {
            self.pods.insert((&node.machine, &holder.namespace, pod));
        }
        let sums = &mut self.sums;
        sums.gpus_requested = Some(sums.gpus_requested.unwrap_or_default() + share.gpus);
        if let Some(mean) = share.mean {
            sums.gpus_used = Some(sums.gpus_used.unwrap_or_default() + share.gpus * mean);
        }
        let Some(cost) = share.cost else { return };
        let zero = Money::zero(cost.currency());
        let (used, idle, unmeasured) = match share.mean {
            None => (zero, zero, cost),
            Some(mean) => {
                let used = Money::new(cost.amount() * mean, cost.currency()).rounded();
                let idle = Money::new(cost.amount() - used.amount(), cost.currency());
                (used, idle, zero)
            }
        };
        for (sum, part) in [
            (&mut sums.used_cost, used),
            (&mut sums.idle_cost, idle),
            (&mut sums.unmeasured_cost, unmeasured),
        ] {
            *sum = plus(*sum, Some(part));
        }
    }

    fn close(self) -> ShowbackSums {
        let tidy = |gpus: Decimal| gpus.round_dp(DEVICE_DECIMALS).normalize();
        ShowbackSums {
            pods: self.pods.len() as u64,
            gpus_requested: self.sums.gpus_requested.map(tidy),
            gpus_used: self.sums.gpus_used.map(tidy),
            unpriced_nodes: self.unpriced.len() as u64,
            ..self.sums
        }
    }
}

/// What is known of one node beside the node itself.
#[derive(Debug, Default)]
struct OnNode<'a> {
    /// The claims that hold devices of it.
    pub claims: Vec<&'a Claim>,
    /// How pods used its devices.
    pub uses: Vec<&'a DeviceUse>,
    /// Per month, in whole cents; absent without a price.
    pub cost: Option<Money>,
    /// Mean utilization of all its GPUs, 0–1; absent unless it suffices for a verdict.
    pub mean: Option<Decimal>,
}

/// A part of a node.
#[derive(Debug)]
struct NodeShare<'a> {
    /// Who holds it; absent for what no claim holds.
    pub claim: Option<&'a Claim>,
    /// In physical devices, also where more than all are requested.
    pub gpus: Decimal,
    /// Mean utilization of what is held, 0–1.
    pub mean: Option<Decimal>,
    /// In whole cents; absent where the node has no price.
    pub cost: Option<Money>,
}

/// Divides a node by physical devices. What no claim holds is the last share, and is
/// absent where nothing is left. Where claims hold more than the node has, each has its
/// part of what is requested, so that shares always make up the whole node.
fn divide<'a>(node: &Node, mut on_node: OnNode<'a>) -> Vec<NodeShare<'a>> {
    on_node.claims.sort_by(|left, right| order(left).cmp(&order(right)));
    let claims = &on_node.claims;
    let funnel = node.funnel(claims.iter().copied());
    let devices = funnel.physical.unwrap_or(funnel.allocatable);
    let requested: Decimal = claims.iter().map(|claim| claim.devices.physical()).sum();
    let free = devices - requested;
    // Seven sevenths are not quite one.
    let is_free = free.round_dp(DEVICE_DECIMALS) > Decimal::ZERO;
    let free = if is_free { free } else { Decimal::ZERO };
    let is_of_one_pod = free.is_zero()
        && claims
            .windows(2)
            .all(|pair| pair[0].holder.pod.is_some() && is_same_pod(pair[0], pair[1]));

    let mut shares: Vec<NodeShare<'a>> = Vec::new();
    for &claim in claims {
        shares.push(NodeShare {
            claim: Some(claim),
            gpus: claim.devices.physical(),
            mean: mean_of_claim(claim, &on_node, is_of_one_pod),
            cost: None,
        });
    }
    // A node of which no device is known is free as a whole.
    let is_empty = free.is_zero() && requested.is_zero();
    if is_empty || !free.is_zero() {
        shares.push(NodeShare {
            claim: None,
            gpus: if is_empty { Decimal::ONE } else { free },
            mean: None,
            cost: None,
        });
    }
    if let Some(cost) = on_node.cost {
        let weights: Vec<Decimal> = shares.iter().map(|share| share.gpus).collect();
        for (share, part) in shares.iter_mut().zip(apportioned(cost.amount(), &weights)) {
            share.cost = Some(Money::new(part, cost.currency()));
        }
    }
    shares
}

/// A total order: claims that are equal in all of this are alike.
fn order(claim: &Claim) -> impl Ord {
    let (holder, devices) = (&claim.holder, &claim.devices);
    (
        (&holder.namespace, &holder.pod, &holder.owner),
        (&devices.resource, &devices.unit, devices.count),
        &holder.labels,
    )
}

fn is_same_pod(left: &Claim, right: &Claim) -> bool {
    let (left, right) = (&left.holder, &right.holder);
    (&left.namespace, &left.pod) == (&right.namespace, &right.pod)
}

/// Mean utilization of what a claim holds: of the devices of its pod, by their samples.
/// A shared device is measured as a whole, so its replicas have its mean. Where no metric
/// names the pod, the mean of the node counts if the pod has all of it.
fn mean_of_claim(claim: &Claim, on_node: &OnNode<'_>, is_of_one_pod: bool) -> Option<Decimal> {
    let holder = &claim.holder;
    let is_own = |usage: &&&DeviceUse| {
        usage.n_samples > 0
            && usage.namespace == holder.namespace
            && Some(&usage.pod) == holder.pod.as_ref()
    };
    let own: Vec<&DeviceUse> = on_node.uses.iter().filter(is_own).copied().collect();
    if own.is_empty() {
        return on_node.mean.filter(|_| is_of_one_pod);
    }
    let of_pod = on_node.claims.iter().filter(|other| is_same_pod(other, claim));
    let whole = of_pod.filter(|other| other.devices.unit == DeviceUnit::Whole);
    let whole: u64 = whole.map(|other| u64::from(other.devices.count)).sum();
    let measured: BTreeSet<u32> = own.iter().map(|usage| usage.gpu).collect();
    if (measured.len() as u64) < whole {
        return None;
    }
    let samples: f64 = own.iter().map(|usage| usage.n_samples as f64).sum();
    let sum: f64 = own.iter().map(|usage| usage.mean_percent * usage.n_samples as f64).sum();
    share_of_percent(sum / samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        for name in [
            "namespace", "owner", "cluster", "pool", "node", "label:team",
            "label:app.kubernetes.io/name",
        ] {
            let key = ClaimKey::from_name(name).expect("a key");
            assert_eq!(key.to_string(), name);
        }
        for name in ["", "label", "label:", "team", "Namespace", "region"] {
            assert_eq!(ClaimKey::from_name(name), None, "{name}");
        }
    }
}
