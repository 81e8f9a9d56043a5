//! How the cost of one node is divided among the pods that hold its devices.

use super::ledger::apportioned;
use super::split::share_of_percent;
use crate::domain::{Claim, DEVICE_DECIMALS, DeviceUnit, DeviceUse, Money, Node};
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// What is known of one node beside the node itself.
#[derive(Debug, Default)]
pub(super) struct OnNode<'a> {
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
pub(super) struct NodeShare<'a> {
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
pub(super) fn divide<'a>(node: &Node, mut on_node: OnNode<'a>) -> Vec<NodeShare<'a>> {
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
            mean: mean_of(claim, &on_node, is_of_one_pod),
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
fn mean_of(claim: &Claim, on_node: &OnNode<'_>, is_of_one_pod: bool) -> Option<Decimal> {
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
