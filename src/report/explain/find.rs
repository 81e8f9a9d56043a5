//! What an ID stands for.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Clusters, Finding};
use crate::savings::{CommitmentUse, UnusedCommitment};
use std::collections::BTreeMap;

/// Before the ID of a workload: its part of the plan alone.
const PLAN: &str = "plan:";

/// What an ID stands for.
#[derive(Debug, Clone, Copy)]
pub enum Explained<'a> {
    /// A finding, `RULE:WORKLOAD`, with its workload.
    Finding(&'a Finding, Option<&'a AuditedWorkload>),
    /// A workload: its verdict, its cost and its part of the plan.
    Workload(&'a AuditedWorkload),
    /// A workload's part of the plan.
    Plan(&'a AuditedWorkload),
    /// What of a commitment is paid for and does not run.
    Unused(&'a UnusedCommitment),
    /// A reserved instance or a savings plan.
    Commitment(&'a CommitmentUse),
}

/// Why an ID stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFound {
    /// Nothing has it.
    Unknown,
    /// Several workloads have this name; their IDs, ascending.
    Ambiguous(Vec<String>),
    /// It is the start, or the subject, of several IDs; these, ascending.
    Several(Vec<String>),
}

type Found<T> = Result<T, NotFound>;

/// Finds what an ID names: a finding, also by the name of its workload or node, or by its
/// pod, pool or cluster alone; a commitment; a workload, one of its instances, a node, or a
/// workload's name where only one has it; `plan:` before one of the last four names the
/// workload's part of the plan. The start of an ID is enough where only one ID begins with it.
///
/// # Errors
/// When nothing has the ID, or several have the name or the start.
pub fn find_explained<'a>(audit: &'a Audit, clusters: &Clusters, id: &str) -> Found<Explained<'a>> {
    by_name(audit, clusters, id).unwrap_or_else(|| {
        let instances = audit.workloads.iter().flat_map(|workload| &workload.workload.instances);
        let ids = explainable_ids(audit).into_iter().chain(instances.map(ToString::to_string));
        let begun = ids.filter(|known| !id.is_empty() && known.starts_with(id));
        let begun = begun.map(|id| (id.clone(), id));
        let whole = only(begun, NotFound::Several).ok_or(NotFound::Unknown)??;
        by_name(audit, clusters, &whole).ok_or(NotFound::Unknown)?
    })
}

fn by_name<'a>(audit: &'a Audit, clusters: &Clusters, id: &str) -> Option<Found<Explained<'a>>> {
    let workload = |id: &str| workload_or_node(audit, clusters, id);
    let known = audit.findings.iter().find(|finding| finding.id() == id);
    let used = || audit.commitments.iter().find(|commitment| commitment.id == id);
    let unused = || audit.unused.iter().find(|commitment| commitment.id == id);
    let known = known.map(|finding| explained(audit, finding));
    let known = known.or_else(|| used().map(Explained::Commitment));
    let known = known.or_else(|| unused().map(Explained::Unused)).map(Ok);
    let known = known.or_else(|| Some(workload(id)?.map(Explained::Workload)));
    if known.is_some() {
        return known;
    }
    let is_about = |finding: &Finding, name: &str| {
        let subject = finding.workload();
        let pod = subject.strip_prefix(name).is_some_and(|rest| rest.starts_with('@'));
        // One of several pods of a name, each on a node of its own.
        subject == name || (pod && name.contains('/'))
    };
    let has_name = |finding: &Finding, name: &str| {
        let subject = finding.workload();
        let mut nodes = clusters.nodes.iter();
        let mut workloads = audit.workloads.iter();
        nodes.any(|node| node.name == name && node.machine.as_str() == subject)
            || workloads
                .any(|audited| audited.workload.name == name && audited.workload.id() == subject)
    };
    let by_rule = id.split_once(':').and_then(|(rule, name)| {
        let of_rule = |finding: &Finding| {
            finding.rule() == rule && (has_name(finding, name) || is_about(finding, name))
        };
        finding(audit, of_rule, NotFound::Ambiguous)
    });
    by_rule
        .or_else(|| finding(audit, |finding| is_about(finding, id), NotFound::Several))
        .or_else(|| Some(workload(id.strip_prefix(PLAN)?)?.map(Explained::Plan)))
}

/// The only one of some things with their IDs; `None` of none, and `several` of more IDs.
fn only<T>(
    things: impl Iterator<Item = (String, T)>,
    several: fn(Vec<String>) -> NotFound,
) -> Option<Found<T>> {
    let mut first: BTreeMap<String, T> = BTreeMap::new();
    for (id, thing) in things {
        first.entry(id).or_insert(thing);
    }
    match first.len() {
        0 | 1 => first.pop_first().map(|(_, thing)| Ok(thing)),
        _ => Some(Err(several(first.into_keys().collect()))),
    }
}

/// The only finding of a kind.
fn finding<'a>(
    audit: &'a Audit,
    is_meant: impl Fn(&Finding) -> bool,
    several: fn(Vec<String>) -> NotFound,
) -> Option<Found<Explained<'a>>> {
    let meant = audit.findings.iter().filter(|finding| is_meant(finding));
    let meant = only(meant.map(|finding| (finding.id(), finding)), several)?;
    Some(meant.map(|finding| explained(audit, finding)))
}

/// A finding with the workload that it is about, where it is about one.
fn explained<'a>(audit: &'a Audit, finding: &'a Finding) -> Explained<'a> {
    let mut workloads = audit.workloads.iter();
    let audited = workloads.find(|workload| workload.workload.id() == finding.workload());
    Explained::Finding(finding, audited)
}

/// A workload by its ID, its name or one of its instances, also by the name of its node.
fn workload_or_node<'a>(
    audit: &'a Audit,
    clusters: &Clusters,
    id: &str,
) -> Option<Found<&'a AuditedWorkload>> {
    workload(audit, id).or_else(|| {
        let nodes = clusters.nodes.iter().filter(|node| node.name == id);
        let machines = nodes.map(|node| (node.machine.to_string(), &node.machine));
        match only(machines, NotFound::Several)? {
            Ok(machine) => workload(audit, machine.as_str()),
            Err(several) => Some(Err(several)),
        }
    })
}

fn workload<'a>(audit: &'a Audit, id: &str) -> Option<Found<&'a AuditedWorkload>> {
    let workloads = || audit.workloads.iter();
    let has_instance = |workload: &&AuditedWorkload| {
        workload.workload.instances.iter().any(|instance| instance.as_str() == id)
    };
    let by_id = workloads().find(|workload| workload.workload.id() == id);
    if let Some(workload) = by_id.or_else(|| workloads().find(has_instance)) {
        return Some(Ok(workload));
    }
    let named = workloads().filter(|workload: &&AuditedWorkload| {
        let mut instances = workload.workload.instances.iter();
        workload.workload.name == id || instances.any(|instance| instance.native() == id)
    });
    only(named.map(|workload| (workload.workload.id(), workload)), NotFound::Ambiguous)
}

/// Every ID of a finding, a workload, a commitment or an unused reservation, in the order of the
/// report.
pub fn explainable_ids(audit: &Audit) -> Vec<String> {
    let findings = audit.findings.iter().map(Finding::id);
    let workloads = audit.workloads.iter().map(|workload| workload.workload.id());
    let commitments = audit.commitments.iter().map(|commitment| commitment.id.clone());
    let unused = audit.unused.iter().map(|commitment| commitment.id.clone());
    findings.chain(workloads).chain(commitments).chain(unused).collect()
}
