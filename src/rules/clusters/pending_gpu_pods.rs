//! Catches pods that wait for GPUs while others are free or idle.
//!
//! Must not be fooled by a pod that has only just been created, or by a cluster that is
//! full of work.

use super::facts::{SCHEDULER, View, fact, gpus, number, span};
use super::idle_claim::Use;
use crate::domain::{
    Comparator, Confidence, Finding, FindingKind, Judgement, Recommendation, Severity,
};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const ID: &str = "pending-gpu-pods";

/// Schedulers and autoscalers take minutes.
pub(super) const LEAST_WAIT_MINUTES: f64 = 10.0;

pub(super) fn findings(view: &View<'_>, uses: &[Use<'_>]) -> Option<Finding> {
    let mut pods: BTreeMap<(&str, &str), (Decimal, f64)> = BTreeMap::new();
    for (claim, minutes) in view.pending() {
        if minutes < LEAST_WAIT_MINUTES {
            continue;
        }
        let name = claim.holder.pod.as_deref().unwrap_or_default();
        let (devices, longest) = pods
            .entry((claim.holder.namespace.as_str(), name))
            .or_default();
        *devices += claim.devices.physical();
        *longest = minutes.max(*longest);
    }
    let waits = pods.values().map(|(_, minutes)| *minutes);
    let longest = waits.reduce(f64::max)?;
    let asked: Decimal = pods.values().map(|(devices, _)| *devices).sum();
    let open = view.hosts.iter().filter(|host| host.is_schedulable());
    let free: Decimal = open.filter_map(|host| host.devices.free()).sum();
    let idle: Decimal = uses
        .iter()
        .map(|one| match one {
            Use::Idle(idle) => idle.holding.devices,
            Use::Other | Use::Unknown => Decimal::ZERO,
        })
        .sum();
    if (free + idle).is_zero() {
        return None;
    }
    let plural = if pods.len() == 1 {
        "pod waits"
    } else {
        "pods wait"
    };
    let judgement = Judgement {
        severity: Severity::Warning,
        confidence: Confidence::Derived,
        kind: FindingKind::Risk,
        title: format!(
            "{} {plural} for {} (longest: {}); free: {}, held by idle pods: {}",
            pods.len(),
            gpus(asked),
            span(longest / 60.0),
            gpus(free),
            gpus(idle)
        ),
        monthly_savings: None,
        recommendation: Recommendation {
            action: "find out why they are not placed".to_owned(),
            to: String::new(),
            steps: vec![
                "`kubectl describe pod` shows the reason in the events of the pod".to_owned(),
                "release idle GPUs first (see idle-claim), then those that are scattered (see \
                 fragmented-gpus)"
                    .to_owned(),
            ],
            caveats: vec![
                "node selectors, taints, quotas and queues may keep a pod from free GPUs"
                    .to_owned(),
            ],
        },
    };
    let decisive = fact(
        "longest wait",
        SCHEDULER,
        longest,
        (Comparator::AtLeast, LEAST_WAIT_MINUTES),
        "min",
    );
    let beside = fact(
        "free GPUs and those that idle pods hold",
        SCHEDULER,
        number(free + idle),
        (Comparator::GreaterThan, 0.0),
        "GPUs",
    );
    Some(Finding::new(
        ID,
        cluster(view),
        judgement,
        decisive,
        vec![beside],
    ))
}

/// The name of the only cluster. What waits is of no node, and so of no named one of
/// several.
fn cluster(view: &View<'_>) -> String {
    let nodes = view.facts.clusters.nodes.iter();
    let names: BTreeSet<&str> = nodes.filter_map(|node| node.cluster.as_deref()).collect();
    match names.first() {
        Some(name) if names.len() == 1 => (*name).to_owned(),
        _ => "cluster".to_owned(),
    }
}
