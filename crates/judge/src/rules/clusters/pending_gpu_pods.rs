//! Catches pods that wait for GPUs while others are free or idle.
//!
//! Must not be fooled by a pod that has only just been created, by devices of another
//! resource, or by a cluster that is too full of work for what a pod waits for.

use super::facts::{SCHEDULER, View, gpus, number, span};
use super::idle_claim::Use;
use crate::domain::{
    Comparator, DEVICE_DECIMALS, Evidence, Finding, FindingKind, Recommendation, counted,
};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const ID: &str = "pending-gpu-pods";

/// Schedulers and autoscalers take minutes.
pub(super) const LEAST_WAIT_MINUTES: f64 = 10.0;

/// Devices that pods could have, by resource.
#[derive(Default)]
struct Supply<'a> {
    free: BTreeMap<&'a str, Decimal>,
    idle: BTreeMap<&'a str, Decimal>,
}

/// What a pod waits for.
#[derive(Default)]
struct Waiting<'a> {
    asked: BTreeMap<&'a str, Decimal>,
    minutes: f64,
}

impl Waiting<'_> {
    fn devices(&self) -> Decimal {
        let total: Decimal = self.asked.values().sum();
        total.round_dp(DEVICE_DECIMALS)
    }
}

impl<'a> Supply<'a> {
    fn of(view: &View<'a>, uses: &[Use<'_>]) -> Self {
        let mut supply = Self::default();
        let mut held: BTreeMap<(usize, &str), Decimal> = BTreeMap::new();
        for holding in &view.holdings {
            for claim in &holding.claims {
                let key = (holding.host, claim.devices.resource.as_str());
                *held.entry(key).or_default() += claim.devices.physical();
            }
        }
        for (place, host) in view.hosts.iter().enumerate() {
            if !host.is_schedulable() || host.devices.requested.is_none() {
                continue;
            }
            for (resource, device) in &host.node.devices {
                let free = device.unit.physical(device.allocatable)
                    - held.get(&(place, resource.as_str())).copied().unwrap_or_default();
                *supply.free.entry(resource).or_default() += free.max(Decimal::ZERO);
            }
        }
        for (claim_use, holding) in uses.iter().zip(&view.holdings) {
            if !matches!(claim_use, Use::Idle(_)) {
                continue;
            }
            for claim in &holding.claims {
                let idle = supply.idle.entry(&claim.devices.resource).or_default();
                *idle += claim.devices.physical();
            }
        }
        supply
    }

    /// Whether a pod would need no further devices.
    fn suffices(&self, pod: &Waiting<'_>) -> bool {
        pod.asked.iter().all(|(name, asked)| {
            let both = [self.free.get(*name), self.idle.get(*name)];
            let there: Decimal = both.into_iter().flatten().sum();
            there.round_dp(DEVICE_DECIMALS) >= asked.round_dp(DEVICE_DECIMALS)
        })
    }
}

/// Pods that have waited for long enough.
fn waiting<'a>(view: &View<'a>) -> Vec<Waiting<'a>> {
    let mut pods: BTreeMap<(&str, &str), Waiting<'a>> = BTreeMap::new();
    for (claim, minutes) in view.pending() {
        if minutes < LEAST_WAIT_MINUTES {
            continue;
        }
        let name = claim.holder.pod.as_deref().unwrap_or_default();
        let pod = pods.entry((claim.holder.namespace.as_str(), name)).or_default();
        let asked = pod.asked.entry(&claim.devices.resource).or_default();
        *asked += claim.devices.physical();
        pod.minutes = minutes.max(pod.minutes);
    }
    pods.into_values().collect()
}

pub(super) fn findings(view: &View<'_>, uses: &[Use<'_>]) -> Option<Finding> {
    let supply = Supply::of(view, uses);
    let mut pods = waiting(view);
    pods.retain(|pod| supply.suffices(pod));
    let longest = pods.iter().map(|pod| pod.minutes).reduce(f64::max)?;
    let asked: Decimal = pods.iter().map(Waiting::devices).sum();
    let most: Decimal = pods.iter().map(Waiting::devices).max()?;
    let resources: BTreeSet<&str> = pods.iter().flat_map(|pod| pod.asked.keys().copied()).collect();
    let of = |amounts: &BTreeMap<&str, Decimal>| -> Decimal {
        let own = resources.iter().filter_map(|name| amounts.get(*name));
        own.sum::<Decimal>().round_dp(DEVICE_DECIMALS)
    };
    let (free, idle) = (of(&supply.free), of(&supply.idle));
    let fact = |name, observed, least, unit| {
        Evidence::fact(name, SCHEDULER, observed, (Comparator::AtLeast, least), unit)
    };
    let decisive = fact("longest wait", longest, LEAST_WAIT_MINUTES, "min");
    let held = "free GPUs and those that idle pods hold";
    let beside = fact(held, number(free + idle), number(most), "GPUs");
    Some(Finding {
        kind: FindingKind::Risk,
        title: format!(
            "{} for {} (longest: {}); free: {}, held by idle pods: {}",
            counted(pods.len(), "pod waits", "pods wait"),
            gpus(asked),
            span(longest / 60.0),
            gpus(free),
            gpus(idle)
        ),
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
        ..Finding::of(ID, cluster(view), decisive, [beside])
    })
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
