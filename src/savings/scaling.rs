//! Which settings of an Auto Scaling group an action changes, with their values: the group
//! undoes what is done to its instances alone.

use super::batch;
use crate::domain::{Member, ScalingGroup, Target, Workload, counted};

const TERMINATE: &str = "terminate each with `aws autoscaling \
                         terminate-instance-in-auto-scaling-group \
                         --should-decrement-desired-capacity`";

/// How to end all members of a workload that is in a group, so that it replaces none of them
/// and ends no others.
pub fn end_steps(name: &str, workload: &Workload) -> Vec<String> {
    let ended = workload.members.as_slice();
    let group = workload.scaling_group.as_deref();
    if let Some(batch) = group.and_then(|group| group.batch.as_ref()) {
        return batch::end_steps(batch, workload, running(ended));
    }
    let sizes = group.and_then(|group| Some((group, group.without(running(ended))?)));
    let mut steps = match sizes {
        Some((group, (desired, min))) => vec![
            if min < group.min {
                format!(
                    "set the minimum size of the Auto Scaling group {name} from {} to {min}, \
                     and adapt its scaling policies: it replaces what ends below its minimum",
                    group.min
                )
            } else {
                format!(
                    "adapt the scaling policies of the Auto Scaling group {name}; its minimum \
                     size of {min} allows {}",
                    instances(desired)
                )
            },
            format!(
                "then {TERMINATE}, which lowers the desired capacity from {} to {desired}: with \
                 a lower capacity alone, the group chooses which instances end",
                group.desired
            ),
        ],
        None => vec![
            format!(
                "lower the minimum size and the scaling policies of the Auto Scaling group \
                 {name} first: it replaces manually stopped instances"
            ),
            format!("then {TERMINATE}"),
        ],
    };
    let Some(group) = group else {
        return steps;
    };
    let is_protected = |one: &&Member| group.protected.contains(&one.id);
    let protected = ended.iter().filter(is_protected).count();
    if protected > 0 {
        steps.push(format!(
            "no scaling policy ends {protected} of them, which are protected from scale-in: \
             terminate them by their IDs"
        ));
    }
    steps.extend(warm_pool_step(group));
    if !group.suspended.is_empty() {
        steps.push(format!(
            "processes of the group are suspended ({}): it does not follow its settings until \
             they are resumed",
            group.suspended.join(", ")
        ));
    }
    steps
}

/// The same as a caveat of a stop that leaves other members.
pub(super) fn end_caveat(name: &str, workload: &Workload, ended: &[&Member]) -> String {
    let group = workload.scaling_group.as_deref();
    if let Some(batch) = group.and_then(|group| group.batch.as_ref()) {
        return batch::end_caveat(batch, workload, running(ended.iter().copied()));
    }
    let sizes = group.and_then(|group| {
        let (_, min) = group.without(running(ended.iter().copied()))?;
        Some((group.min, min))
    });
    let first = match sizes {
        Some((today, min)) if min < today => {
            format!("lower its minimum size from {today} to {min} and its scaling policies first")
        }
        Some((today, _)) => {
            format!("lower its scaling policies first; its minimum size of {today} allows it")
        }
        None => "lower its minimum size and scaling policies first".to_owned(),
    };
    format!("the Auto Scaling group {name} replaces manually stopped instances: {first}")
}

/// How a group gets another type or number of instances.
pub(super) fn resize_steps(workload: &Workload, to: &Target) -> Vec<String> {
    let Some(group) = workload.scaling_group.as_deref() else {
        return Vec::new();
    };
    let fewer = running(&workload.members).saturating_sub(to.count);
    if let Some(batch) = &group.batch {
        return batch::resize_steps(batch, workload, (to, fewer));
    }
    let (new, old) = (&to.instance_type, &workload.key.instance_type);
    let name = &group.name;
    let mut steps = Vec::new();
    if new != old {
        steps.push(match group.instance_types.as_slice() {
            [] => format!(
                "set the instance type in the launch template of the Auto Scaling group {name} \
                 to {new}, and start an instance refresh"
            ),
            types => {
                let change = if types.contains(old) {
                    format!("replace {old} by {new}")
                } else {
                    format!("add {new}")
                };
                format!(
                    "{change} in the mixed instances policy of the Auto Scaling group {name} \
                     (today {}), and start an instance refresh",
                    types.join(", ")
                )
            }
        });
    }
    let sizes = group.without(fewer).filter(|_| fewer > 0);
    if let Some((desired, min)) = sizes {
        let of_minimum = if min < group.min {
            format!(" and its minimum size from {} to {min}", group.min)
        } else {
            format!("; its minimum size of {min} allows it")
        };
        steps.push(format!(
            "set the desired capacity of the Auto Scaling group {name} from {} to \
             {desired}{of_minimum}",
            group.desired
        ));
    }
    steps
}

/// The scheduled actions of a group for some hours off; absent where its settings at the
/// hours on are not known.
pub(super) fn schedule_step(workload: &Workload) -> Option<String> {
    let group = workload.scaling_group.as_deref()?;
    if workload.stopped_now() > 0 {
        return None;
    }
    let running = running(&workload.members);
    if let Some(batch) = &group.batch {
        return Some(batch::schedule_step(batch, workload, running));
    }
    let (desired, min) = group.without(running)?;
    Some(format!(
        "add scheduled actions to the Auto Scaling group {}: minimum size {min} and desired \
         capacity {desired} when these hours begin, {} and {} when they end",
        group.name, group.min, group.desired
    ))
}

/// What keeps a group from the spot market.
pub(super) fn spot_caveats(group: &ScalingGroup) -> Vec<String> {
    if let Some(batch) = &group.batch {
        return batch::spot_caveat(batch).into_iter().collect();
    }
    let name = &group.name;
    let Some(percent) = group.on_demand_above_base_percent else {
        return vec![format!(
            "the Auto Scaling group {name} has no mixed instances policy: add one with \
             OnDemandPercentageAboveBaseCapacity 0"
        )];
    };
    let mut caveats = Vec::new();
    if percent > 0 {
        caveats.push(format!(
            "set OnDemandPercentageAboveBaseCapacity of the Auto Scaling group {name} from \
             {percent} to 0"
        ));
    }
    if let Some(base) = group.on_demand_base.filter(|base| *base > 0) {
        caveats.push(format!(
            "OnDemandBaseCapacity of the Auto Scaling group {name} keeps {} on demand until it \
             is lowered",
            instances(base)
        ));
    }
    caveats
}

/// What is to be done about the spare instances of a group.
pub fn warm_pool_step(group: &ScalingGroup) -> Option<String> {
    let pool = group.warm_pool.as_ref()?;
    let name = &group.name;
    Some(if pool.keeps_running() {
        format!(
            "the warm pool of the Auto Scaling group {name} runs and is billed like any other \
             instance: set its state to Stopped, or delete it with `aws autoscaling \
             delete-warm-pool`"
        )
    } else {
        let kept = match (pool.size, pool.min_size) {
            (Some(size), _) => instances(size),
            (None, 0) => "instances".to_owned(),
            (None, least) => format!("at least {}", instances(least)),
        };
        format!(
            "the warm pool of the Auto Scaling group {name} keeps {kept} stopped, and the storage \
             is billed: lower its minimum size, or delete it with `aws autoscaling \
             delete-warm-pool`"
        )
    })
}

fn running<'a>(members: impl IntoIterator<Item = &'a Member>) -> u32 {
    let running = members.into_iter().filter(|one| one.is_running);
    u32::try_from(running.count()).unwrap_or(u32::MAX)
}

fn instances(number: u32) -> String {
    counted(number, "instance", "instances")
}
