//! Evaluation: classification and one rule a file. A rule is arithmetic on
//! summaries; it stays silent without the data it needs, and the registry
//! turns that silence, here, into one gap.

mod classification;
mod clusters;
mod commitments;
mod device_alert;
mod subject;

mod growing_vram;
mod hot_gpu;
mod idle_gpu;
mod idle_held_gpu;
mod idle_so_far;
mod off_hours;
mod overprovisioned_gpu;
mod power_near_limit;
mod saturated_gpu;
mod shareable_gpu;
mod stalled_gpu;
mod steady_on_demand;
mod stopped_with_storage;
mod underutilized_gpu;
mod unreserved_gpus;
mod unused_gpus;
mod vram_nearly_full;

pub use classification::classify;
pub use clusters::{
    CLUSTER_RULES, ClusterFacts, MachineFacts, claims_by_machine, cluster_findings,
    cluster_silences, keeps_silent,
};
pub use commitments::{COMMITMENT_RULES, commitment_findings};
pub use subject::{Need, RuleMeta, Subject};

use crate::domain::{Cause, CauseKind, Detail, Finding, Gap, Verdict, Workload};

/// A rule about workloads. One that has nothing to say about a workload of this sort, data or
/// not, does not apply, and leaves no gap.
#[derive(Debug)]
pub struct Rule {
    meta: RuleMeta,
    applies: fn(&Subject<'_>) -> bool,
    /// The finding, if it fires. Called only with the data that it needs.
    check: fn(&Subject<'_>) -> Option<Finding>,
}

impl Rule {
    pub fn meta(&self) -> &RuleMeta {
        &self.meta
    }
}

macro_rules! rules {
    ($($file:ident),*) => {
        [$(Rule {
            meta: $file::META,
            applies: $file::applies,
            check: $file::check,
        }),*]
    };
}

/// Every rule, in order of id.
pub const RULES: &[Rule] = &rules![
    growing_vram, hot_gpu, idle_gpu, idle_held_gpu, idle_so_far, off_hours, overprovisioned_gpu,
    power_near_limit, saturated_gpu, shareable_gpu, stalled_gpu, steady_on_demand,
    stopped_with_storage, underutilized_gpu, unreserved_gpus, unused_gpus, vram_nearly_full
];

/// Rules that could not speak about a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// Their ids, in order.
    pub rules: Vec<&'static str>,
    /// What they lacked, without their names.
    pub missing_data: Gap,
}

impl Silence {
    /// What they lacked, with their names.
    pub fn gap(&self) -> Gap {
        let missing = &self.missing_data;
        let Some(cause) = missing.cause.as_deref() else { return missing.clone() };
        let cause = cause.map(|detail, text| match detail {
            Detail::Rules => self.rules.join(", "),
            _ => text.to_owned(),
        });
        Gap::of(missing.what.clone(), missing.place.as_str(), cause)
    }
}

/// Runs every rule over a workload: what fired, and one silence for each kind of
/// data that kept rules from speaking.
pub fn run(subject: &Subject<'_>) -> (Vec<Finding>, Vec<Silence>) {
    let mut findings = Vec::new();
    let mut missing: Vec<(Need, Vec<&'static str>)> = Vec::new();
    for rule in RULES.iter().filter(|rule| (rule.applies)(subject)) {
        let meta = &rule.meta;
        match meta.needs.iter().find(|need| !subject.has(**need)) {
            None => findings.extend((rule.check)(subject)),
            Some(need) => match missing.iter_mut().find(|(known, _)| known == need) {
                Some((_, rules)) => rules.push(meta.id),
                None => missing.push((*need, vec![meta.id])),
            },
        }
    }
    let silences = missing.into_iter();
    let silences =
        silences.map(|(need, rules)| Silence { missing_data: missing_data(subject, need), rules });
    (findings, silences.collect())
}

/// Why a workload has too little data for a verdict. Where its metrics contradict each other,
/// more of them would not help.
pub fn no_verdict(workload: &Workload, verdict: &Verdict) -> Cause {
    let mut contradictions = workload.usage.iter().map(|usage| usage.contradiction());
    let kind = if contradictions.any(|contradiction| contradiction == Some(verdict.reason.as_str()))
    {
        CauseKind::MetricsContradict
    } else {
        CauseKind::NoVerdict
    };
    Cause::of(kind, [&verdict.reason, ""])
}

/// What kept rules silent about a workload.
fn missing_data(subject: &Subject<'_>, need: Need) -> Gap {
    let unpriced = subject.workload.unpriced.as_ref();
    let cause = match (need, unpriced) {
        (Need::Utilization, _) => no_verdict(subject.workload, subject.verdict),
        (Need::Price, Some(unpriced)) => unpriced.cause.clone(),
        _ => need.unreported(),
    };
    Gap::of(need.subject(), subject.workload.id(), cause)
}
