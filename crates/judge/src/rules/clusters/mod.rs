//! Findings about clusters, which belong to nodes, pods and groups of nodes: devices that
//! are paid for and requested by no pod, or held and not used. One rule a file. Of the tasks
//! of Amazon ECS, two rules speak.

mod cpu_only_pods_on_gpu_node;
mod facts;
mod fragmented_gpus;
mod idle_claim;
mod oversized_claim;
mod packing;
mod pending_gpu_pods;
mod pool;
mod stranded_host;
mod unallocated_gpus;

#[cfg(test)]
mod lab;
#[cfg(test)]
mod task_tests;
#[cfg(test)]
mod tests;

pub use facts::{ClusterFacts, MachineFacts, claims_by_machine};

use self::facts::{Holding, Host, View};
use self::idle_claim::Use;
use super::Silence;
use crate::domain::{Cause, CauseKind, Finding, Gap, GapSubject, Scheduler};

/// Ids of the rules, ascending.
pub const CLUSTER_RULES: [&str; 7] = [
    cpu_only_pods_on_gpu_node::ID,
    fragmented_gpus::ID,
    idle_claim::ID,
    oversized_claim::ID,
    pending_gpu_pods::ID,
    stranded_host::ID,
    unallocated_gpus::ID,
];

/// The place of what is missing of clusters.
const PLACE: &str = "cluster";

/// Every finding about clusters, in order of rule.
pub fn cluster_findings(facts: &ClusterFacts<'_>) -> Vec<Finding> {
    let view = View::of(facts);
    let uses = idle_claim::uses(&view);
    let mut findings = cpu_only_pods_on_gpu_node::findings(&view);
    findings.extend(fragmented_gpus::findings(&view));
    findings.extend(idle_claim::findings(&view, &uses));
    findings.extend(oversized_claim::findings(&view));
    findings.extend(pending_gpu_pods::findings(&view, &uses));
    findings.extend(stranded_host::findings(&view));
    findings.extend(unallocated_gpus::findings(&view));
    findings
}

/// What kept rules about clusters from speaking, one of each kind.
pub fn cluster_silences(facts: &ClusterFacts<'_>) -> Vec<Silence> {
    let view = View::of(facts);
    let unread = |scheduler: Scheduler| {
        count(&view, |host| host.node.scheduler == scheduler && host.node.pods.is_none())
    };
    let unsorted = count(&view, |host| {
        let is_of_pods = host.node.scheduler == Scheduler::Kubernetes;
        let is_unclaimed = host.devices.requested.is_some_and(|requested| requested.is_zero());
        let has_pods = host.node.pods.is_some_and(|count| count > 0);
        is_of_pods && is_unclaimed && has_pods && host.node.cpu_only_pods.is_none()
    });
    let uncounted =
        count(&view, |host| host.node.pods.is_some() && host.devices.physical.is_none());
    let uses = idle_claim::uses(&view);
    let is_idle_unknown = |claim_use: &Use<'_>| matches!(claim_use, Use::Unknown);
    let both = || uses.iter().zip(&view.holdings);
    let of_pod = |holding: &Holding<'_>| holding.scheduler == Scheduler::Kubernetes;
    let unused = both().filter(|(claim_use, holding)| {
        let is_unknown = is_idle_unknown(claim_use) || oversized_claim::is_unknown(&view, holding);
        of_pod(holding) && is_unknown
    });
    let of_tasks = both().filter(|(_, holding)| !of_pod(holding));
    let unused_by_tasks = of_tasks.filter(|(claim_use, _)| is_idle_unknown(claim_use)).count();
    let mut of_use = kept_silent(CauseKind::PodUseUnknown).to_vec();
    if !both().any(|(claim_use, holding)| of_pod(holding) && is_idle_unknown(claim_use)) {
        of_use.retain(|rule| *rule != idle_claim::ID);
    }
    let is_size_unknown = |holding: &Holding<'_>| oversized_claim::is_unknown(&view, holding);
    if !view.holdings.iter().any(is_size_unknown) {
        of_use.retain(|rule| *rule != oversized_claim::ID);
    }
    let unplaced = fragmented_gpus::unplaced(&view);
    // With the rules where these are not all that such a cause keeps from speaking.
    let silences = [
        (GapSubject::Pods, CauseKind::PodsUnknown, unread(Scheduler::Kubernetes), None),
        (GapSubject::Pods, CauseKind::PodsUnknown, unplaced, Some(vec![fragmented_gpus::ID])),
        (GapSubject::Tasks, CauseKind::TasksUnknown, unread(Scheduler::Ecs), None),
        (GapSubject::Pods, CauseKind::PodKindsUnknown, unsorted, None),
        (GapSubject::Devices, CauseKind::PhysicalUnknown, uncounted, None),
        (GapSubject::PodUse, CauseKind::PodUseUnknown, unused.count(), Some(of_use)),
        (GapSubject::Tasks, CauseKind::TaskUseUnknown, unused_by_tasks, None),
    ];
    let missing = silences.into_iter().filter(|(_, _, count, _)| *count > 0);
    let silences = missing.map(|(what, kind, count, rules)| {
        let cause = Cause::of(kind, [count.to_string().as_str(), ""]);
        let rules = rules.unwrap_or_else(|| kept_silent(kind).to_vec());
        Silence { rules, missing_data: Gap::of(what, PLACE, cause) }
    });
    silences.collect()
}

fn count(view: &View<'_>, is_silent: impl Fn(&Host<'_>) -> bool) -> usize {
    view.hosts.iter().filter(|host| is_silent(host)).count()
}

/// Whether a cause of a gap can keep a rule about clusters silent.
pub fn keeps_silent(kind: CauseKind, rule: &str) -> bool {
    kept_silent(kind).contains(&rule)
}

/// The rules that a cause of a gap can keep silent: those that need to know what it hides.
fn kept_silent(kind: CauseKind) -> &'static [&'static str] {
    match kind {
        CauseKind::PodsUnknown => &[
            cpu_only_pods_on_gpu_node::ID,
            fragmented_gpus::ID,
            pending_gpu_pods::ID,
            stranded_host::ID,
            unallocated_gpus::ID,
        ],
        CauseKind::PodKindsUnknown => &[cpu_only_pods_on_gpu_node::ID],
        CauseKind::PhysicalUnknown | CauseKind::TasksUnknown => &[unallocated_gpus::ID],
        CauseKind::PodUseUnknown => &[idle_claim::ID, oversized_claim::ID],
        CauseKind::TaskUseUnknown => &[idle_claim::ID],
        CauseKind::ClaimsUnclear => &[fragmented_gpus::ID, pending_gpu_pods::ID],
        _ => &[],
    }
}
