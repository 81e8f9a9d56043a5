//! Showback: what namespaces, owners and labels cost by the devices that their pods hold,
//! and how much of that was used. Every amount is in whole cents before it is added, so
//! that rows sum to the cost of the audit to the cent.

use super::node_shares::{NodeShare, OnNode, divide};
use super::split::share_of_percent;
use super::totals::plus;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Claim, ClaimState, Classification, Clusters, DEVICE_DECIMALS, InstanceUsage, Money, Node,
    ResourceId, Signal, named_enum, named_key,
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
