//! What an id stands for.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Clusters, Finding};
use crate::savings::UnusedCommitment;
use std::collections::BTreeSet;

/// Before the id of a workload: its part of the plan alone.
const PLAN: &str = "plan:";

/// What an id stands for.
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
}

/// Why an id stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFound {
    /// Nothing has it.
    Unknown,
    /// Several workloads have this name; their ids, ascending.
    Ambiguous(Vec<String>),
    /// It is the start, or the subject, of several ids; these, ascending.
    Several(Vec<String>),
}

type Found<T> = Result<T, NotFound>;

/// Finds what an id names: a finding, also by the name of its workload or node, or by its
/// pod, pool or cluster alone; an unused commitment; a workload, one of its instances, a
/// node, or a workload's name where only one has it; `plan:` before one of the last four
/// names the workload's part of the plan. The start of an id is enough where only one id
/// begins with it.
///
/// # Errors
/// When nothing has the id, or several have the name or the start.
pub fn find_explained<'a>(audit: &'a Audit, clusters: &Clusters, id: &str) -> Found<Explained<'a>> {
    match by_name(audit, clusters, id) {
        Err(NotFound::Unknown) => {
            let whole = only_start(audit, id)?;
            by_name(audit, clusters, &whole)
        }
        found => found,
    }
}

fn by_name<'a>(audit: &'a Audit, clusters: &Clusters, id: &str) -> Found<Explained<'a>> {
    if let Some(finding) = audit.findings.iter().find(|finding| finding.id() == id) {
        return Ok(explained(audit, finding));
    }
    if let Some(unused) = audit.unused.iter().find(|one| one.id == id) {
        return Ok(Explained::Unused(unused));
    }
    match workload_or_node(audit, clusters, id) {
        Err(NotFound::Unknown) => {
            if let Some(found) = finding_by_name(audit, clusters, id) {
                return found;
            }
            if let Some(found) = finding_by_subject(audit, id) {
                return found;
            }
            let planned = id.strip_prefix(PLAN).ok_or(NotFound::Unknown)?;
            workload_or_node(audit, clusters, planned).map(Explained::Plan)
        }
        found => found.map(Explained::Workload),
    }
}

/// A finding with the workload that it is about, where it is about one.
fn explained<'a>(audit: &'a Audit, finding: &'a Finding) -> Explained<'a> {
    let mut workloads = audit.workloads.iter();
    let audited = workloads.find(|one| one.workload.id() == finding.workload());
    Explained::Finding(finding, audited)
}

/// The only id of a finding, a workload, an instance or an unused commitment that begins
/// in a way.
fn only_start(audit: &Audit, start: &str) -> Found<String> {
    let workloads = audit.workloads.iter();
    let instances = workloads.flat_map(|one| &one.workload.instances);
    let instances = instances.map(ToString::to_string);
    let all = explainable_ids(audit).into_iter().chain(instances);
    let begun = all.filter(|id| !start.is_empty() && id.starts_with(start));
    let begun: BTreeSet<String> = begun.collect();
    one_of(begun.into_iter().collect())
}

/// The only one of some ids, which are ascending.
fn one_of(mut ids: Vec<String>) -> Found<String> {
    match ids.len() {
        0 => Err(NotFound::Unknown),
        1 => ids.pop().ok_or(NotFound::Unknown),
        _ => Err(NotFound::Several(ids)),
    }
}

/// A workload by its id, its name or one of its instances, also by the name of its node.
fn workload_or_node<'a>(
    audit: &'a Audit,
    clusters: &Clusters,
    id: &str,
) -> Found<&'a AuditedWorkload> {
    match workload(audit, id) {
        Err(NotFound::Unknown) => {
            let nodes = clusters.nodes.iter().filter(|node| node.name == id);
            let machines: BTreeSet<String> = nodes.map(|node| node.machine.to_string()).collect();
            workload(audit, &one_of(machines.into_iter().collect())?)
        }
        found => found,
    }
}

/// The finding of `RULE:NAME`, where the name is that of a workload, a node, or a pod on one
/// of several nodes; `None` where none of that name has a finding of that rule.
fn finding_by_name<'a>(
    audit: &'a Audit,
    clusters: &Clusters,
    id: &str,
) -> Option<Found<Explained<'a>>> {
    let (rule, name) = id.split_once(':')?;
    let of_node = |finding: &Finding| {
        let mut nodes = clusters.nodes.iter().filter(|node| node.name == name);
        nodes.any(|node| node.machine.as_str() == finding.workload())
    };
    let of_workload = |finding: &Finding| {
        let mut workloads = audit.workloads.iter();
        let one = workloads.find(|one| one.workload.id() == finding.workload());
        one.is_some_and(|one| one.workload.name == name)
    };
    let found: Vec<&Finding> = audit
        .findings
        .iter()
        .filter(|finding| finding.rule() == rule)
        .filter(|one| of_workload(one) || of_node(one) || is_pod_of(one, name))
        .collect();
    match found.as_slice() {
        [] => None,
        [finding] => Some(Ok(explained(audit, finding))),
        several => Some(Err(NotFound::Ambiguous(ids(several)))),
    }
}

/// The finding about a pod, a pool or a cluster; `None` where none is about it.
fn finding_by_subject<'a>(audit: &'a Audit, subject: &str) -> Option<Found<Explained<'a>>> {
    let is_about = |one: &&Finding| one.workload() == subject || is_pod_of(one, subject);
    let found: Vec<&Finding> = audit.findings.iter().filter(is_about).collect();
    match found.as_slice() {
        [] => None,
        [finding] => Some(Ok(explained(audit, finding))),
        several => Some(Err(NotFound::Several(ids(several)))),
    }
}

/// Whether a finding is about one of several pods of a name, each on a node of its own.
fn is_pod_of(finding: &Finding, pod: &str) -> bool {
    let rest = finding.workload().strip_prefix(pod);
    pod.contains('/') && rest.is_some_and(|rest| rest.starts_with('@'))
}

fn ids(findings: &[&Finding]) -> Vec<String> {
    let mut ids: Vec<String> = findings.iter().map(|finding| finding.id()).collect();
    ids.sort();
    ids
}

fn workload<'a>(audit: &'a Audit, id: &str) -> Found<&'a AuditedWorkload> {
    let holds = |one: &&AuditedWorkload| {
        let mut instances = one.workload.instances.iter();
        instances.any(|instance| instance.as_str() == id)
    };
    let mut all = audit.workloads.iter();
    let by_id = all.find(|one| one.workload.id() == id);
    if let Some(one) = by_id.or_else(|| audit.workloads.iter().find(holds)) {
        return Ok(one);
    }
    let named = |one: &&AuditedWorkload| {
        let mut instances = one.workload.instances.iter();
        one.workload.name == id || instances.any(|instance| instance.native() == id)
    };
    let named: Vec<&AuditedWorkload> = audit.workloads.iter().filter(named).collect();
    match named.as_slice() {
        [] => Err(NotFound::Unknown),
        [one] => Ok(one),
        several => {
            let mut ids: Vec<String> = several.iter().map(|one| one.workload.id()).collect();
            ids.sort();
            Err(NotFound::Ambiguous(ids))
        }
    }
}

/// Every id of a finding, a workload or an unused commitment, in the order of the report.
pub fn explainable_ids(audit: &Audit) -> Vec<String> {
    let findings = audit.findings.iter().map(Finding::id);
    let workloads = audit.workloads.iter().map(|one| one.workload.id());
    let unused = audit.unused.iter().map(|one| one.id.clone());
    findings.chain(workloads).chain(unused).collect()
}
