//! Zones of an Auto Scaling group: where they hold different numbers of instances, it starts
//! some in one zone and ends others in another, whatever these do.

use crate::domain::{ResourceId, ScalingGroup, Workload, shell_word};

/// What AWS calls the process that does so.
pub const PROCESS: &str = "AZRebalance";

/// What comes before some instances of a group end by their IDs, of which the members of a
/// workload are known by their zones; absent where the group balances no zones.
///
/// Source: <https://docs.aws.amazon.com/autoscaling/ec2/userguide/auto-scaling-benefits.html>,
/// "Rebalancing activities".
pub(super) fn suspending(
    name: &str,
    group: Option<&ScalingGroup>,
    workload: &Workload,
) -> Option<String> {
    let has_process =
        |group: &ScalingGroup| !group.suspended.iter().any(|process| process == PROCESS);
    let is_needed =
        group.is_none_or(|group| has_process(group) && !is_in_one_zone(group, workload));
    is_needed.then(|| {
        format!(
            "before any is ended, suspend the rebalancing of zones with `aws autoscaling \
             suspend-processes --auto-scaling-group-name {} --scaling-processes {PROCESS}`: where \
             zones then hold different numbers, the group ends other instances, busy ones too, \
             and resuming it does the same",
            shell_word(name)
        )
    })
}

/// Whether every instance in service is known to be in the same zone.
fn is_in_one_zone(group: &ScalingGroup, workload: &Workload) -> bool {
    let zone = |id: &ResourceId| workload.member(id)?.zone.as_deref();
    let mut zones = group.in_service.iter().flatten().map(zone);
    let first = zones.next().flatten();
    first.is_some() && zones.all(|zone| zone == first)
}
