//! Catches free GPUs that no pod can have, because the CPU or the memory of their node is
//! given away.
//!
//! Must not be fooled by a node on which no pod is placed anyway, or by less than a whole
//! free device.

use super::facts::{Host, SCHEDULER, View, cost_words, gpus, number};
use super::pool::Pool;
use crate::domain::{Comparator, Evidence, Finding, NodeAmount, Recommendation, floored};
use rust_decimal::Decimal;

pub(super) const ID: &str = "stranded-host";

/// Share of the CPU or memory from which hardly a pod with a GPU fits, percent.
const FULL_PERCENT: f64 = 90.0;

pub(super) fn findings(view: &View<'_>) -> Vec<Finding> {
    view.hosts.iter().filter_map(finding).collect()
}

fn percent(amount: NodeAmount) -> Option<f64> {
    let requested = amount.requested? as f64;
    (amount.allocatable > 0).then(|| requested / amount.allocatable as f64 * 100.0)
}

fn finding(host: &Host<'_>) -> Option<Finding> {
    let free = host.devices.free()?;
    if host.is_new || !host.is_schedulable() || free < Decimal::ONE {
        return None;
    }
    let amounts =
        [("CPU", percent(host.node.cpu_millicores)), ("memory", percent(host.node.memory_mib))];
    let known = amounts.into_iter().filter_map(|(name, percent)| Some((name, percent?)));
    let (name, most) = known.max_by(|left, right| left.1.total_cmp(&right.1))?;
    if most < FULL_PERCENT {
        return None;
    }
    let pool = Pool::of(host.node).zip(host.machine.map(|machine| machine.instance_type));
    let values = pool.and_then(|(pool, own)| pool.with_more(name, own));
    let another = format!("choose a type with more {name} per GPU for this pool");
    let decisive = Evidence::fact(
        "largest requested share of CPU and memory",
        SCHEDULER,
        most,
        (Comparator::AtLeast, FULL_PERCENT),
        "%",
    );
    let further =
        Evidence::fact("free GPUs", SCHEDULER, number(free), (Comparator::AtLeast, 1.0), "GPUs");
    Some(Finding {
        title: format!(
            "{} of node {} stay free because pods request {}% of its {name}{}",
            gpus(free),
            host.node.name,
            floored(most, 1),
            cost_words(host.share(free))
        ),
        // The node goes on as it is.
        monthly_savings: None,
        recommendation: Recommendation {
            action: format!("free {name} for pods with GPUs"),
            to: String::new(),
            steps: vec![
                format!("lower requests for {name} that pods of the node do not use"),
                "move pods that request no GPU to nodes without GPUs".to_owned(),
                values.map_or(another.clone(), |values| format!("{another}: {values}")),
            ],
            caveats: vec!["this is one instant: pods of other hours are not seen".to_owned()],
        },
        ..Finding::of(ID, host.subject(), decisive, [further])
    })
}
