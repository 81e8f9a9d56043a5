//! What to know before a policy is applied.

use super::words::hours_of;
use crate::domain::{PurchaseOption, WorkloadKind};
use crate::planners::autoscale::{Autoscale, AutoscaleAsk, Held};
use crate::report::shared::text::{counted, percent};
use crate::savings::WEEK_HOURS;
use rust_decimal::prelude::ToPrimitive;

/// The gravest first.
pub(super) fn caveats(found: &Autoscale) -> Vec<String> {
    let ask = &found.ask;
    let (demand, policy) = (&ask.demand, &ask.policy);
    let mut caveats = Vec::new();
    caveats.extend(kind_caveat(found));
    caveats.extend(memory_caveat(&found.ask));
    match demand.saturated_periods {
        Some(0) => {}
        Some(saturated) => caveats.push(format!(
            "In {saturated} of {} periods, 95% or more of the GPUs that ran were busy. Demand \
             may have been higher than what was measured, and so may what waits or fails.",
            demand.periods()
        )),
        None => caveats.push(
            "It is unknown how many GPUs ran, and so whether they limited the demand that was \
             measured. What waits or fails is a lower bound."
                .to_owned(),
        ),
    }
    if found.cheapest.is_none() {
        caveats.push(format!(
            "No target that was compared keeps what waits or fails within {}. A window of \
             `--schedule` or a higher `--min` starts instances before demand rises.",
            percent(ask.max_unserved_percent)
        ));
    }
    if let Some(risk) = &found.risk {
        caveats.push(spot_caveat(found, risk.expected, risk.lost_gpu_hours));
        if risk.rate.is_prudence {
            caveats.push(
                "The rate of interruptions is that of the policy, spot_interruptions_per_day, \
                 which is above the published band."
                    .to_owned(),
            );
        }
    }
    let option = ask.subject.purchase_option;
    if let Some(option) = option.filter(|option| is_committed(*option)) {
        caveats.push(format!(
            "Today it is billed as {option}. Here every hour has the on-demand price: hours \
             that a commitment pays for save nothing until it ends."
        ));
    }
    if policy.min == 0 {
        caveats.push(
            "At zero no GPU reports utilization. A metric of requests must start the first \
             instance, and the first requests wait for it."
                .to_owned(),
        );
    }
    if demand.hours() < WEEK_HOURS as f64 {
        let month_hours = ask.hours_per_month.to_f64().unwrap_or_default();
        caveats.push(format!(
            "MONTH repeats the {} h of the record {:.1} times, as if all days were like them.",
            hours_of(demand.hours()),
            month_hours / demand.hours()
        ));
    }
    if demand.unknown_periods > 0 {
        caveats.push(format!(
            "{} without samples count as the period before.",
            counted(demand.unknown_periods as u64, "period", "periods")
        ));
    }
    caveats.push(
        "Every launch finds capacity, and the policy decides once a period. Requests are \
         divisible: how long one waits inside a period is a question of queueing."
            .to_owned(),
    );
    caveats
}

/// What is not known to serve requests may have nothing that a policy can divide.
fn kind_caveat(found: &Autoscale) -> Option<String> {
    let subject = &found.ask.subject;
    let name = &subject.name;
    match subject.kind? {
        WorkloadKind::Serving => None,
        WorkloadKind::Unknown => Some(format!(
            "No tag declares what {name} does. Only work that is divided over all of its \
             instances can be scaled by their utilization: declare it with the tag gpucost:kind."
        )),
        kind => Some(format!(
            "{name} is {kind}: a policy ends instances by utilization, whatever their jobs still \
             need. Only jobs that are taken from a queue, one after the other, can be scaled so."
        )),
    }
}

/// An instance serves the models that it holds, and no others.
fn memory_caveat(ask: &AutoscaleAsk) -> Option<String> {
    let (gpus, min) = (ask.gpus_per_instance, ask.policy.min);
    let models = match ask.held {
        Held::Copies => return None,
        Held::Models(models) => models,
        Held::Unknown => {
            return Some(
                "What its GPUs hold is unknown. An instance serves the models that it holds: with \
                 several models, the least instances must hold all of them (`--min`)."
                    .to_owned(),
            );
        }
    };
    let least = models.instances(gpus);
    if models.models < 2 || least < 2 {
        return None;
    }
    let instances = counted(least.into(), "instance", "instances");
    Some(if min >= least {
        format!(
            "Each of {} GPUs may hold a model of its own, and it takes {instances} to hold them \
             all. If they hold copies of one model, pass `--min 1`.",
            models.models
        )
    } else {
        format!(
            "Each of {} GPUs may hold a model of its own, and it takes {instances} to hold them \
             all: with fewer, a request may find no GPU that holds its model.",
            models.models
        )
    })
}

pub(super) fn is_committed(option: PurchaseOption) -> bool {
    !matches!(option, PurchaseOption::OnDemand | PurchaseOption::Spot)
}

fn spot_caveat(found: &Autoscale, expected: f64, lost_gpu_hours: f64) -> String {
    let replay = &found.replay;
    let all = replay.demand_gpu_seconds / 3_600.0;
    let share = if all > 0.0 {
        lost_gpu_hours / all * 100.0
    } else {
        0.0
    };
    let without = replay.unserved_without_spot_percent().unwrap_or_default();
    format!(
        "Spot: about {expected:.1} interruptions over the record, which leave at most {} more \
         of the demand without a GPU. If all spot instances end at the same time, {} of the \
         demand is above what is on demand.",
        percent(share),
        percent(without)
    )
}
