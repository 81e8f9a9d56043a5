//! Catches pods and tasks that hold GPUs and compute nothing.
//!
//! Must not be fooled by a pod that has just started, by samples of a time before that, by
//! devices of which nothing is
//! measured (absent is not idle), by another pod that works on the same node, or by a GPU
//! that only encodes.

use super::facts::{Holding, View, cost_words, gpus, span};
use crate::domain::{
    ACTIVE_PERCENT, Comparator, Confidence, ECS_SERVICE, Evidence, Finding, GpuUsage, Holder,
    Maxima, Recommendation, Scheduler, counted,
};
use rust_decimal::Decimal;

pub(super) const ID: &str = "idle-claim";

/// So many hours of samples are enough for any pod.
const LEAST_HOURS: f64 = 24.0;
/// A pod that has run for less is enough if it was measured since its start, and for so
/// many hours.
const LEAST_HOURS_OF_NEW: f64 = 2.0;

/// How a pod used what it holds.
pub(super) enum Use<'a> {
    Idle(IdleUse<'a>),
    /// It computes, or it has not run for long enough to say.
    Other,
    /// Nothing tells.
    Unknown,
}

pub(super) struct IdleUse<'a> {
    pub holding: &'a Holding<'a>,
    /// Hours that samples stand for, and how many are needed.
    measured_hours: f64,
    least_hours: f64,
    largest_percent: f64,
    confidence: Confidence,
    origin: String,
}

/// Hours of samples that are needed of a holding that was measured for so many hours;
/// absent where they do not suffice.
pub(super) fn least_hours(view: &View<'_>, holding: &Holding<'_>, measured: f64) -> Option<f64> {
    let policy = view.facts.policy;
    if measured < expected_hours(view, holding) * policy.min_coverage {
        return None;
    }
    if measured >= LEAST_HOURS {
        return Some(LEAST_HOURS);
    }
    let held = holding.held_hours?;
    let is_whole = measured >= held * policy.measured_coverage;
    (is_whole && measured >= LEAST_HOURS_OF_NEW).then_some(LEAST_HOURS_OF_NEW)
}

/// Hours in which it could have been measured.
fn expected_hours(view: &View<'_>, holding: &Holding<'_>) -> f64 {
    let window = view.facts.window.seconds() as f64 / 3_600.0;
    holding.held_hours.map_or(window, |held| held.min(window))
}

/// How sure samples of so many hours make a finding.
pub(super) fn confidence(view: &View<'_>, holding: &Holding<'_>, measured: f64) -> Confidence {
    if measured >= expected_hours(view, holding) * view.facts.policy.measured_coverage {
        Confidence::Measured
    } else {
        Confidence::Derived
    }
}

/// What was measured of a device of the node of a holding.
fn gpu_usage<'a>(view: &'a View<'_>, holding: &Holding<'_>, gpu: u32) -> Option<&'a GpuUsage> {
    view.host(holding).machine?.usage?.gpus.iter().find(|measured| u32::from(measured.index) == gpu)
}

/// How each pod used what it holds, in order.
pub(super) fn uses<'a>(view: &'a View<'a>) -> Vec<Use<'a>> {
    view.holdings.iter().map(|holding| use_of(view, holding)).collect()
}

fn use_of<'a>(view: &'a View<'a>, holding: &'a Holding<'a>) -> Use<'a> {
    let is_new = holding.held_hours.is_some_and(|held| held < LEAST_HOURS_OF_NEW);
    if is_new {
        return Use::Other;
    }
    if holding.has_predecessor() || contradicts_itself(view, holding) {
        return Use::Unknown;
    }
    if holding.uses.len() as u64 >= holding.least_devices() {
        return by_pod(view, holding);
    }
    by_machine(view, holding)
}

/// Whether a GPU of its node draws the power of work while its counters stand still.
pub(super) fn contradicts_itself(view: &View<'_>, holding: &Holding<'_>) -> bool {
    let usage = view.host(holding).machine.and_then(|machine| machine.usage);
    usage.is_some_and(|usage| usage.contradiction().is_some())
}

fn by_pod<'a>(view: &'a View<'a>, holding: &'a Holding<'a>) -> Use<'a> {
    let uses = holding.uses.values();
    let largest_percent = uses.clone().map(|gpu_use| gpu_use.max_percent).fold(0.0, f64::max);
    let encodes = holding.uses.keys().any(|gpu| {
        let usage = gpu_usage(view, holding, *gpu);
        usage.is_some_and(GpuUsage::encodes)
    });
    if largest_percent >= ACTIVE_PERCENT || encodes {
        return Use::Other;
    }
    let measured_hours = uses.clone().map(|gpu_use| gpu_use.hours()).fold(f64::INFINITY, f64::min);
    let origin = format!(
        "metrics that name pods, {} of {}",
        counted(uses.len(), "device", "devices"),
        view.host(holding).node.name
    );
    idle(view, holding, (measured_hours, largest_percent), origin)
}

/// Without metrics that name pods, only a node on which no GPU is active tells that its
/// pods are idle.
fn by_machine<'a>(view: &'a View<'a>, holding: &'a Holding<'a>) -> Use<'a> {
    let host = view.host(holding);
    let (Some(physical), Some(usage)) =
        (host.devices.physical, host.machine.and_then(|machine| machine.usage))
    else {
        return Use::Unknown;
    };
    let maxima: Vec<_> = usage.gpus.iter().filter_map(|gpu| gpu.maxima).collect();
    let is_blind = |peak: &Maxima| peak.samples.outage.forbids(view.facts.policy);
    if Decimal::from(maxima.len()) < physical || maxima.is_empty() || maxima.iter().any(is_blind) {
        return Use::Unknown;
    }
    let largest_percent = maxima.iter().map(|peak| peak.largest).fold(0.0, f64::max);
    if largest_percent >= ACTIVE_PERCENT || usage.gpus.iter().any(GpuUsage::encodes) {
        return if holding.devices >= physical { Use::Other } else { Use::Unknown };
    }
    let sampled_hours = maxima.iter().map(|peak| peak.samples.hours());
    let sampled_hours = sampled_hours.fold(f64::INFINITY, f64::min);
    // Which hours have no samples is not known: in the worst case all are its own.
    let own_hours = expected_hours(view, holding);
    let existed_hours = usage.running.observed_seconds as f64 / 3_600.0;
    let unmeasured_hours = (existed_hours.max(own_hours) - sampled_hours).max(0.0);
    let origin = format!("maxima of every GPU of {}", host.node.name);
    idle(view, holding, ((own_hours - unmeasured_hours).max(0.0), largest_percent), origin)
}

fn idle<'a>(
    view: &'a View<'a>,
    holding: &'a Holding<'a>,
    (measured_hours, largest_percent): (f64, f64),
    origin: String,
) -> Use<'a> {
    match least_hours(view, holding, measured_hours) {
        Some(least_hours) => Use::Idle(IdleUse {
            holding,
            measured_hours,
            least_hours,
            largest_percent,
            confidence: confidence(view, holding, measured_hours),
            origin,
        }),
        None => Use::Unknown,
    }
}

pub(super) fn findings(view: &View<'_>, uses: &[Use<'_>]) -> Vec<Finding> {
    let idle = uses.iter().filter_map(|claim_use| match claim_use {
        Use::Idle(idle) => Some(finding(view, idle)),
        Use::Other | Use::Unknown => None,
    });
    idle.collect()
}

fn finding(view: &View<'_>, idle: &IdleUse<'_>) -> Finding {
    let holding = idle.holding;
    let host = view.host(holding);
    let idle_hours = idle.measured_hours.min(expected_hours(view, holding));
    let mut steps = Vec::new();
    if let Some(memory_mib) = held_memory_mib(view, holding) {
        steps.push(format!(
            "up to {:.1} GiB of GPU memory is in use: save what it holds first",
            memory_mib / 1_024.0
        ));
    }
    steps.push(end_step(holding));
    let words = host.words();
    steps.push(format!(
        "the {} costs the same until it is released: give the GPUs to other {}s",
        words.node, words.pod
    ));
    let decisive = Evidence::fact(
        "largest GPU utilization",
        &idle.origin,
        idle.largest_percent,
        (Comparator::LessThan, ACTIVE_PERCENT),
        "%",
    );
    let measured = Evidence::fact(
        "hours of samples",
        &idle.origin,
        idle.measured_hours,
        (Comparator::AtLeast, idle.least_hours),
        "h",
    );
    Finding {
        confidence: idle.confidence,
        title: format!(
            "{} holds {} of {} {} and has been idle for {}{}",
            holding.words(),
            gpus(holding.devices),
            words.node,
            host.node.name,
            span(idle_hours),
            cost_words(host.share(holding.devices))
        ),
        // The node goes on without it.
        monthly_savings: None,
        recommendation: Recommendation {
            action: "release the GPUs".to_owned(),
            to: String::new(),
            steps,
            caveats: vec!["a service may wait for requests that come seldom".to_owned()],
        },
        ..Finding::of(ID, &holding.subject, decisive, [measured])
    }
}

/// How to end what holds the devices, so that nothing starts it again.
fn end_step(holding: &Holding<'_>) -> String {
    let Holder { namespace, owner, .. } = holding.holder;
    match (holding.scheduler, owner) {
        (Scheduler::Kubernetes, Some(owner)) => format!(
            "ask the owners of namespace {namespace}, then scale {} {} down or delete it",
            owner.kind, owner.name
        ),
        (Scheduler::Kubernetes, None) => {
            format!("ask the owners of namespace {namespace}, then delete the pod")
        }
        (Scheduler::Ecs, Some(owner)) if owner.kind == ECS_SERVICE => format!(
            "ask the owners of cluster {namespace}, then lower the desired count of service {}",
            owner.name
        ),
        (Scheduler::Ecs, _) => {
            format!("ask the owners of cluster {namespace}, then stop the task")
        }
    }
}

/// The most memory that is in use on a device of a holding, where more is than a driver
/// takes; absent where the devices are not known one by one.
fn held_memory_mib(view: &View<'_>, holding: &Holding<'_>) -> Option<f64> {
    let least = view.facts.policy.idle_held_vram_percent;
    let of = holding.uses.keys().filter_map(|gpu| gpu_usage(view, holding, *gpu)?.vram);
    let held = of.filter(|vram| vram.peak_percent().is_some_and(|percent| percent >= least));
    held.map(|vram| vram.peak_mib).reduce(f64::max)
}
