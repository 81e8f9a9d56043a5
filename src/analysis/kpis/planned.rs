//! How busy the GPUs are once the plan is carried out.

use super::hours::gpu_hours;
use crate::analysis::AuditedWorkload;
use crate::catalog;
use crate::domain::{Action, ActionKind, Policy};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// Useful of the GPU hours that the plan leaves, 0–100, over the measured instances alone: a stop
/// ends all hours of a machine, a schedule those that it turns off, and another type or number
/// has the GPUs of its own count. Absent where the plan leaves none of them.
pub(in crate::analysis) fn planned_utilization_percent(
    workloads: &[AuditedWorkload],
    policy: &Policy,
) -> Option<f64> {
    let parts = workloads.iter().filter_map(|audited| planned_hours(audited, policy));
    let (useful, left) = parts.fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    (left > 0.0).then(|| 100.0 * useful / left)
}

/// The useful GPU hours of a workload on the GPUs that it moves to, at most all hours there, and
/// all that the plan leaves it. Absent where it is not known how many GPUs it moves to.
fn planned_hours(audited: &AuditedWorkload, policy: &Policy) -> Option<(f64, f64)> {
    let workload = &audited.workload;
    let stop = action(audited, |kind| kind == ActionKind::Stop);
    let stopped = stop.and_then(|_| audited.proposals.stop());
    let working = audited.working().map(|part| &part.workload);
    let share = working_share(audited)?;
    let ratio = slower(audited);
    let (mut useful, mut left) = (0.0, 0.0);
    for (place, hours, activity) in gpu_hours(workload, policy) {
        let (Some(activity), Some(id)) = (activity, workload.instances.get(place)) else {
            continue;
        };
        let is_working = working.is_some_and(|part| part.member(id).is_some());
        let ratio = if is_working { ratio } else { 1.0 };
        useful += hours * activity.mean_percent / 100.0 * ratio;
        if stopped.is_some_and(|stop| stop.members.contains(id)) {
            continue;
        }
        left += if is_working { hours * share } else { hours };
    }
    Some((useful.min(left), left))
}

fn action(audited: &AuditedWorkload, is_meant: fn(ActionKind) -> bool) -> Option<&Action> {
    let mut actions = audited.actions.iter();
    actions.find(|action| is_meant(action.kind()))
}

/// How many hours of its new GPUs do the work of an hour today: those of the projection.
fn slower(audited: &AuditedWorkload) -> f64 {
    let resized = action(audited, |kind| kind == ActionKind::Rightsize);
    let there = resized.and_then(|_| audited.proposals.rightsize()?.projection);
    there.map_or(1.0, |there| there.ratio.value)
}

/// What the plan leaves of each GPU hour of the members that work.
fn working_share(audited: &AuditedWorkload) -> Option<f64> {
    let offered = &audited.alternatives;
    let moved = action(audited, |kind| matches!(kind, ActionKind::Rightsize | ActionKind::Share));
    let resize = moved.and_then(|moved| {
        let mut resizes = offered.resizes.iter();
        resizes.find(|offer| offer.leads_to(moved))
    });
    let scheduled = action(audited, |kind| kind == ActionKind::Schedule);
    let hours = scheduled.and(offered.schedule.as_ref()).map(|today| {
        let there = resize.and_then(|offer| offer.scheduled.as_ref());
        there.unwrap_or(&today.hours).on_share
    });
    let gpus = match moved.and_then(Action::target) {
        None => Decimal::ONE,
        Some(to) => {
            let there = catalog::shape(&to.instance_type)?.gpu.as_ref();
            let there = there.map_or(Decimal::ZERO, |gpu| gpu.share.count());
            let today = audited.working()?.workload.gpu_count()?;
            (there * Decimal::from(to.count)).checked_div(today)?
        }
    };
    (hours.unwrap_or(Decimal::ONE) * gpus).to_f64()
}
