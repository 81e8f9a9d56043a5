//! The rules, and running them over a workload.

use super::{Need, Rule, Subject};
use crate::domain::{Cause, CauseKind, Detail, Finding, Gap, Verdict, Workload};

/// Every rule, in order of id.
pub const RULES: &[&dyn Rule] = &[
    &super::growing_vram::GrowingVram,
    &super::hot_gpu::HotGpu,
    &super::idle_gpu::IdleGpu,
    &super::idle_held_gpu::IdleHeldGpu,
    &super::idle_so_far::IdleSoFar,
    &super::off_hours::OffHours,
    &super::overprovisioned_gpu::OverprovisionedGpu,
    &super::power_near_limit::PowerNearLimit,
    &super::saturated_gpu::SaturatedGpu,
    &super::shareable_gpu::ShareableGpu,
    &super::stalled_gpu::StalledGpu,
    &super::steady_on_demand::SteadyOnDemand,
    &super::stopped_with_storage::StoppedWithStorage,
    &super::underutilized_gpu::UnderutilizedGpu,
    &super::unreserved_gpus::UnreservedGpus,
    &super::unused_gpus::UnusedGpus,
    &super::vram_nearly_full::VramNearlyFull,
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
        let Some(cause) = missing.cause.as_deref() else {
            return missing.clone();
        };
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
    for rule in RULES.iter().filter(|rule| rule.applies(subject)) {
        let meta = rule.meta();
        match meta.needs.iter().find(|need| !subject.has(**need)) {
            None => findings.extend(rule.check(subject)),
            Some(need) => match missing.iter_mut().find(|(known, _)| known == need) {
                Some((_, rules)) => rules.push(meta.id),
                None => missing.push((*need, vec![meta.id])),
            },
        }
    }
    let silences = missing
        .into_iter()
        .map(|(need, rules)| Silence { missing_data: missing_data(subject, need), rules })
        .collect();
    (findings, silences)
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
