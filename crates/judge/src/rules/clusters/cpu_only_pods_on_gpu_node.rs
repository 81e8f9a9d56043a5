//! Catches GPU nodes that only pods without GPUs keep from being removed.
//!
//! Must not be fooled by pods that go with their node (of a DaemonSet, or static), by a
//! node that has just started, or by GPUs that work without a request. What the node costs
//! is in the finding of `unallocated-gpus` about it, and is not stated twice.

use super::facts::{FIND_OUT, Host, SCHEDULER, UNASKED, View, gpus};
use super::pool::{Pool, resource_of};
use crate::domain::{Comparator, Evidence, Finding, Recommendation, counted};

pub(super) const ID: &str = "cpu-only-pods-on-gpu-node";

pub(super) fn findings(view: &View<'_>) -> Vec<Finding> {
    view.hosts.iter().filter_map(finding).collect()
}

fn finding(host: &Host<'_>) -> Option<Finding> {
    // What the inventory does not show cannot be removed, and may be gone.
    host.machine?;
    let pods = host.node.cpu_only_pods.filter(|count| *count > 0)?;
    let requested = host.devices.requested?;
    let has_gpus = host.devices.physical.is_some_and(|physical| !physical.is_zero());
    if host.is_new || !has_gpus || !requested.is_zero() {
        return None;
    }
    let physical = host.devices.physical?;
    let is_unasked = host.works_unasked();
    let decisive = Evidence::fact(
        "pods that request no GPU and do not belong to the node",
        SCHEDULER,
        f64::from(pods),
        (Comparator::GreaterThan, 0.0),
        "pods",
    );
    let none = Evidence::fact("requested GPUs", SCHEDULER, 0.0, (Comparator::Equal, 0.0), "GPUs");
    Some(Finding {
        title: format!(
            "node {}{} has {} and runs {} none{}",
            host.node.name,
            host.state(),
            gpus(physical),
            counted(pods, "pod that requests", "pods that request"),
            if is_unasked { UNASKED } else { "" }
        ),
        // Another finding about the node has it.
        monthly_savings: None,
        recommendation: Recommendation {
            action: if is_unasked {
                "find out who uses the GPUs"
            } else {
                "move the pods to nodes without GPUs"
            }
            .to_owned(),
            to: String::new(),
            steps: steps(host),
            caveats: caveats(),
        },
        ..Finding::of(ID, host.subject(), decisive, [none])
    })
}

fn steps(host: &Host<'_>) -> Vec<String> {
    let first = host.works_unasked().then(|| FIND_OUT.to_owned());
    let mut steps: Vec<String> = first.into_iter().collect();
    let values = Pool::of(host.node).and_then(|pool| pool.reserved_for(resource_of(host.node)));
    let own = [
        "taint GPU nodes, so that only pods that request GPUs tolerate them",
        "drain the node: an autoscaler removes it when no such pod is left (unallocated-gpus \
         states what that saves)",
    ];
    let [taint, drain] = own.map(str::to_owned);
    steps.push(values.map_or(taint.clone(), |values| format!("{taint}: {values}")));
    steps.push(drain);
    steps
}

fn caveats() -> Vec<String> {
    let own = [
        "other nodes must have the CPU and memory that these pods request",
        "this is one instant: pods of other hours are not seen",
    ];
    own.map(str::to_owned).into()
}
