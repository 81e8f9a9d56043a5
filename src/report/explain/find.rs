//! What an id stands for.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::Finding;
use crate::savings::UnusedCommitment;

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
}

/// Finds what an id names: a finding, also by the name of its workload, an unused commitment, a workload, one of its
/// instances, or a workload's name where only one has it; `plan:` before one of the last three
/// names the workload's part of the plan.
///
/// # Errors
/// When nothing has the id, or several workloads have the name.
pub fn find_explained<'a>(audit: &'a Audit, id: &str) -> Result<Explained<'a>, NotFound> {
    if let Some(finding) = audit.findings.iter().find(|finding| finding.id() == id) {
        let of = finding.workload();
        let mut workloads = audit.workloads.iter();
        let audited = workloads.find(|one| one.workload.id() == of);
        return Ok(Explained::Finding(finding, audited));
    }
    if let Some(unused) = audit.unused.iter().find(|one| one.id == id) {
        return Ok(Explained::Unused(unused));
    }
    match workload(audit, id) {
        Err(NotFound::Unknown) => {
            if let Some(found) = finding_by_name(audit, id) {
                return found;
            }
            let planned = id.strip_prefix(PLAN).ok_or(NotFound::Unknown)?;
            workload(audit, planned).map(Explained::Plan)
        }
        found => found.map(Explained::Workload),
    }
}

/// The finding of `RULE:NAME`, where the name is that of a workload; `None` where no
/// workload of that name has a finding of that rule.
fn finding_by_name<'a>(audit: &'a Audit, id: &str) -> Option<Result<Explained<'a>, NotFound>> {
    let (rule, name) = id.split_once(':')?;
    let of = |finding: &Finding| {
        let mut workloads = audit.workloads.iter();
        workloads.find(|one| one.workload.id() == finding.workload())
    };
    let found: Vec<(&Finding, &AuditedWorkload)> = audit
        .findings
        .iter()
        .filter(|finding| finding.rule() == rule)
        .filter_map(|finding| Some((finding, of(finding)?)))
        .filter(|(_, one)| one.workload.name == name)
        .collect();
    match found.as_slice() {
        [] => None,
        [(finding, one)] => Some(Ok(Explained::Finding(finding, Some(one)))),
        several => {
            let mut ids: Vec<String> = several.iter().map(|(finding, _)| finding.id()).collect();
            ids.sort();
            Some(Err(NotFound::Ambiguous(ids)))
        }
    }
}

fn workload<'a>(audit: &'a Audit, id: &str) -> Result<&'a AuditedWorkload, NotFound> {
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
