//! Catches pods that hold several GPUs and never use some of them.
//!
//! Must not be fooled by a device that is not measured, by samples of a time before the
//! pod had its devices, or by a pod that is idle as a whole.

use super::facts::{Holding, View, cost_words, gpus};
use super::idle_claim::{confidence, contradicts_itself, least_hours};
use crate::domain::{
    ACTIVE_PERCENT, Comparator, DeviceUse, Evidence, Finding, Recommendation, Scheduler,
};
use rust_decimal::Decimal;

pub(super) const ID: &str = "oversized-claim";

pub(super) fn findings(view: &View<'_>) -> Vec<Finding> {
    view.holdings.iter().filter_map(|holding| finding(view, holding)).collect()
}

/// Whether it is about a holding at all: no metrics name tasks of ECS.
fn applies(holding: &Holding<'_>) -> bool {
    holding.scheduler == Scheduler::Kubernetes && holding.whole >= 2 && !holding.has_parts
}

/// Whether it is unknown which devices of a holding are used.
pub(super) fn is_unknown(view: &View<'_>, holding: &Holding<'_>) -> bool {
    let is_measured = holding.uses.len() as u64 >= holding.whole
        && !holding.has_predecessor()
        && !contradicts_itself(view, holding);
    applies(holding) && !is_measured
}

fn finding(view: &View<'_>, holding: &Holding<'_>) -> Option<Finding> {
    // More devices than it holds are those of a pod of the same name before it.
    let is_known = !is_unknown(view, holding) && holding.uses.len() as u64 == holding.whole;
    if !applies(holding) || !is_known {
        return None;
    }
    let (active, unused): (Vec<&DeviceUse>, Vec<&DeviceUse>) =
        holding.uses.values().copied().partition(|gpu_use| gpu_use.max_percent >= ACTIVE_PERCENT);
    if active.is_empty() || unused.is_empty() {
        return None;
    }
    let measured = unused.iter().map(|gpu_use| gpu_use.hours()).fold(f64::INFINITY, f64::min);
    let least = least_hours(view, holding, measured)?;
    let host = view.host(holding);
    let origin = format!("metrics that name pods, of {}", host.node.name);
    let indices: Vec<String> = unused.iter().map(|gpu_use| gpu_use.gpu.to_string()).collect();
    let fact = |name, observed, beside, unit| Evidence::fact(name, &origin, observed, beside, unit);
    let never = "GPUs of the pod that were never active";
    let decisive = fact(never, unused.len() as f64, (Comparator::AtLeast, 1.0), "GPUs");
    let largest = unused.iter().map(|gpu_use| gpu_use.max_percent).fold(0.0, f64::max);
    let below = (Comparator::LessThan, ACTIVE_PERCENT);
    let further = [
        fact("largest utilization of the unused GPUs", largest, below, "%"),
        fact("hours of samples of each", measured, (Comparator::AtLeast, least), "h"),
    ];
    Some(Finding {
        confidence: confidence(view, holding, measured),
        title: format!(
            "{} holds {} of node {} and never uses {} of them{}",
            holding.words(),
            gpus(holding.devices),
            host.node.name,
            unused.len(),
            cost_words(host.share(Decimal::from(unused.len())))
        ),
        // The node goes on as it is.
        monthly_savings: None,
        recommendation: Recommendation {
            action: "request fewer GPUs, or use them all".to_owned(),
            to: gpus(Decimal::from(active.len())),
            steps: vec![
                format!("unused: GPU {}", indices.join(", ")),
                "check device visibility and the launcher's process count".to_owned(),
                "the node costs the same until it is released: give the GPUs to other pods"
                    .to_owned(),
            ],
            caveats: vec!["a pod may hold GPUs for work that comes seldom".to_owned()],
        },
        ..Finding::of(ID, &holding.subject, decisive, further)
    })
}
