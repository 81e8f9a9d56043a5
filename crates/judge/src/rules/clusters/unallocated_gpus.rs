//! Catches GPUs that are paid for and that no pod or task requests.
//!
//! Must not be fooled by a node that has just started, by a node whose pods were not read,
//! by GPUs that work without a request, or by the part of a device that a MIG layout leaves over on a full node.

use super::cpu_only_pods_on_gpu_node as cpu_only;
use super::facts::{Host, UNASKED, View, cost_words, gpus, lowering, number};
use super::pool::shrinking;
use crate::domain::{Comparator, Confidence, DeviceUnit, Evidence, Finding, Recommendation};
use rust_decimal::Decimal;

pub(super) const ID: &str = "unallocated-gpus";

pub(super) fn findings(view: &View<'_>) -> Vec<Finding> {
    view.hosts.iter().filter_map(finding).collect()
}

fn finding(host: &Host<'_>) -> Option<Finding> {
    // What the inventory does not show cannot be removed, and may be gone.
    host.machine?;
    let physical = host.devices.physical?;
    let requested = host.devices.requested?;
    let unallocated = host.devices.unallocated()?;
    let free = host.devices.free()?;
    let is_whole = requested.is_zero();
    // Beside requests alone: of a node without any, all is free or cannot be requested.
    let is_left_over = !is_whole && is_left_over(host, free, unallocated);
    if host.is_new || unallocated.is_zero() || is_left_over {
        return None;
    }
    let is_unasked = host.works_unasked();
    let (node, words) = (host.node, host.words());
    let fact = |name, origin, observed, (comparator, threshold)| {
        Evidence::fact(name, origin, number(observed), (comparator, number(threshold)), "GPUs")
    };
    let (allocatable, origin, none) = (host.devices.allocatable, words.origin, Decimal::ZERO);
    let decisive = fact(words.unrequested, origin, unallocated, (Comparator::GreaterThan, none));
    let above = (Comparator::GreaterThan, requested);
    let further = [
        fact("physical GPUs", words.physical_origin, physical, above),
        fact("allocatable GPUs", origin, allocatable, (Comparator::AtLeast, none)),
        fact("requested GPUs", origin, requested, (Comparator::LessThan, physical)),
    ];
    Some(Finding {
        // One instant of the cluster.
        confidence: Confidence::Derived,
        title: format!(
            "no {} requests {} of the {} of {} {}{}{}{}",
            words.pod,
            unallocated.round_dp(2).normalize(),
            gpus(physical),
            words.node,
            node.name,
            host.state(),
            if is_unasked { UNASKED } else { "" },
            cost_words(host.share(unallocated))
        ),
        monthly_savings: host.release().filter(|_| is_whole),
        recommendation: Recommendation {
            action: if is_unasked {
                "find out who uses the GPUs".to_owned()
            } else if is_whole {
                format!("remove the {}", words.node)
            } else {
                format!("give the GPUs to other {}s", words.pod)
            },
            to: String::new(),
            steps: steps(host, is_whole, (unallocated, free)),
            caveats: caveats(host, is_whole),
        },
        ..Finding::of(ID, host.subject(), decisive, further)
    })
}

/// Whether all that is not requested are parts of GPUs that pods cannot request: a MIG
/// layout leaves less than one over on each GPU that it divides.
fn is_left_over(host: &Host<'_>, free: Decimal, unallocated: Decimal) -> bool {
    let offered = host.node.devices.values();
    let is_healthy = offered.clone().all(|device| device.capacity == device.allocatable);
    let instances: u64 = offered
        .map(|device| match device.unit {
            DeviceUnit::Slice { replicas, .. } => u64::from(device.capacity / replicas.max(1)),
            DeviceUnit::Whole | DeviceUnit::Replica { .. } => 0,
        })
        .sum();
    let physical = host.devices.physical.unwrap_or_default();
    let divided = if is_healthy { physical.min(Decimal::from(instances)) } else { Decimal::ZERO };
    free.is_zero() && unallocated < divided.max(Decimal::ONE)
}

fn steps(host: &Host<'_>, is_whole: bool, (unallocated, free): (Decimal, Decimal)) -> Vec<String> {
    let (node, words) = (host.node, host.words());
    let mut steps = Vec::new();
    if free < unallocated {
        steps.push(format!(
            "{}s can request {} of the {} only: check the device plugin, the health of the \
             devices and the MIG layout",
            words.pod,
            free.round_dp(2).normalize(),
            gpus(unallocated)
        ));
    }
    if !is_whole {
        steps.push(format!(
            "the {} costs the same until it is released: {}",
            words.node, words.fill_or_empty
        ));
        return steps;
    }
    if host.works_unasked() {
        steps.push(words.find_out.to_owned());
    }
    if let Some(count) = node.cpu_only_pods.filter(|count| *count > 0) {
        steps.push(format!(
            "move the pods that request no GPU first ({count}, see {})",
            cpu_only::ID
        ));
    }
    steps.push(words.drain.to_owned());
    steps.push(match (shrinking(&[node]), &node.pool) {
        (Some(values), _) => values,
        (None, Some(pool)) => format!("lower {} {pool}, so that the machine goes", words.pool),
        (None, None) => "terminate its machine".to_owned(),
    });
    steps.extend(host.reservation().map(|reservation| lowering(reservation, 1)));
    steps
}

fn caveats(host: &Host<'_>, is_whole: bool) -> Vec<String> {
    let words = host.words();
    let mut caveats = if is_whole { host.release_caveats().to_vec() } else { Vec::new() };
    if !host.is_schedulable() {
        caveats.push(format!("it may be under repair: no {} is placed on it now", words.pod));
    }
    if is_whole {
        caveats.push(words.keeper.to_owned());
    }
    caveats.push(format!("this is one instant: {}s of other hours are not seen", words.pod));
    caveats
}
