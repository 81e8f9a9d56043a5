//! Which settings of an Auto Scaling group an action changes, with their values: the group
//! undoes what is done to its instances alone.

use super::batch::{self, Environment};
use super::keeper::{Place, REBALANCING, suspending_rebalancing};
use crate::domain::{Member, ResourceId, ScalingGroup, UsageState, Workload, counted};
use std::collections::BTreeSet;

/// Ends one instance, and the group starts none in its place.
pub(super) const END: &str = "`aws autoscaling terminate-instance-in-auto-scaling-group \
                              --should-decrement-desired-capacity`";

/// Sizes of a group that are set together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupSizes {
    pub desired: u32,
    pub min: u32,
}

/// What the steps of ending some members of a group set in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupEnd {
    /// Its sizes afterwards.
    pub sizes: GroupSizes,
    /// Whether the rebalancing of its zones is suspended before any ends.
    pub suspends_rebalancing: bool,
}

/// What is known of a group once some of its members have ended.
#[derive(Debug, Clone, Copy)]
enum Left<'a> {
    /// Its sizes: none of its other instances ends.
    Sizes { today: &'a ScalingGroup, desired: u32, min: u32 },
    /// That it is smaller: others may end too, so each counts for itself.
    Fewer(&'a ScalingGroup),
    /// Nothing: its desired capacity is not the number of instances in service, which is this.
    Changing(&'a ScalingGroup, usize),
    /// Nothing: so many of those that end are not in service.
    Outside(&'a ScalingGroup, usize),
    /// Nothing: it was not read which instances are in service.
    Unlisted(&'a ScalingGroup),
    /// Nothing: it was not read, or its sizes count something else.
    Unknown,
}

impl<'a> Left<'a> {
    /// What is left of the group of a workload, of which some members end.
    fn of(workload: &'a Workload, ended: &[&Member]) -> Self {
        let group = workload.scaling_group.as_deref();
        let Some(group) = group.filter(|group| group.counts_instances()) else {
            return Self::Unknown;
        };
        let Some(in_service) = group.in_service.as_deref() else { return Self::Unlisted(group) };
        let ids = running_ids(ended.iter().copied());
        let is_outside = |id: &&&ResourceId| in_service.binary_search(id).is_err();
        let outside = ids.iter().filter(is_outside).count();
        if outside > 0 {
            return Self::Outside(group, outside);
        }
        let Some(left) = group.without(&ids) else {
            return Self::Changing(group, in_service.len());
        };
        if left.in_service.iter().flatten().all(|id| goes_on(workload, id)) {
            return Self::Sizes { today: group, desired: left.desired, min: left.min };
        }
        Self::Fewer(group)
    }

    /// How to end the members, in order.
    fn steps(self, place: Place<'_>) -> Vec<String> {
        match self {
            Self::Sizes { today, desired, min } => steps_with_values(place, today, (desired, min)),
            Self::Fewer(today) => vec![
                format!(
                    "lower the minimum size of {place} (today {}) if it prevents this, and adapt \
                     its scaling policies: it replaces what ends below its minimum",
                    today.min
                ),
                format!(
                    "then terminate each with {END}, which lowers the desired capacity by 1 each \
                     (today {}): with a lower capacity alone, the group chooses which instances \
                     end",
                    today.desired
                ),
            ],
            Self::Changing(today, in_service) => vec![format!(
                "run the audit again before any is ended, when the desired capacity of {place} \
                 ({}) is the number of its instances in service ({in_service}): the group is \
                 changing",
                today.desired
            )],
            Self::Outside(today, outside) => vec![format!(
                "check the state of each with `aws autoscaling describe-auto-scaling-instances` \
                 before any is ended: {} not in service in {place}, but for example in standby, \
                 so that its desired capacity of {} may not count them and a decrement ends others",
                counted(outside, "of them is", "of them are"),
                today.desired
            )],
            Self::Unlisted(today) => {
                let check = format!(
                    "check that each is in service in {place}: its desired capacity of {} does \
                     not count instances in standby, and a decrement for these ends others",
                    today.desired
                );
                [vec![check], Self::Unknown.steps(place)].concat()
            }
            Self::Unknown => vec![
                format!(
                    "lower the minimum size and the scaling policies of {place} first: it \
                     replaces manually stopped instances"
                ),
                format!("then terminate each with {END}"),
            ],
        }
    }

    /// Whether its steps end the members.
    fn is_ended(self) -> bool {
        !matches!(self, Self::Changing(..) | Self::Outside(..))
    }

    /// Whether its steps end some members, and others may stay.
    fn is_part_ended(self) -> bool {
        self.is_ended() && !matches!(self, Self::Sizes { desired: 0, .. })
    }
}

/// How to end members that leave a desired capacity and a minimum size.
fn steps_with_values(
    place: Place<'_>,
    today: &ScalingGroup,
    (desired, min): (u32, u32),
) -> Vec<String> {
    let minimum = if min < today.min {
        format!(
            "set the minimum size of {place} from {} to {min}, and adapt its scaling policies: it \
             replaces what ends below its minimum",
            today.min
        )
    } else {
        format!(
            "adapt the scaling policies of {place}; its minimum size of {min} allows {}",
            instances(desired)
        )
    };
    let ending = format!(
        "then terminate each with {END}, which lowers the desired capacity from {} to {desired}: \
         with a lower capacity alone, the group chooses which instances end",
        today.desired
    );
    vec![minimum, ending]
}

/// Whether an instance is a member of a workload that no stop is about.
fn goes_on(workload: &Workload, id: &ResourceId) -> bool {
    workload.member(id).is_some_and(|known| {
        let is_stopped = known.rest().is_some_and(UsageState::is_idle);
        !is_stopped || known.ignored.is_some()
    })
}

/// How many of some members run that end; absent where others in service may end too.
fn only_these(workload: &Workload, ended: &[&Member]) -> Option<u32> {
    let ids = running_ids(ended.iter().copied());
    let group = workload.scaling_group.as_deref()?;
    let mut others = group.in_service.as_ref()?.iter().filter(|id| !ids.contains(*id));
    others.all(|id| goes_on(workload, id)).then(|| running(ended.iter().copied()))
}

/// How to end some members of a workload that is in a group, so that it replaces none of them
/// and ends no others.
pub fn end_steps(name: &str, workload: &Workload, ended: &[&Member]) -> Vec<String> {
    if let Some(environment) = Environment::of(workload) {
        return environment.end_steps(workload, only_these(workload, ended));
    }
    let group = workload.scaling_group.as_deref();
    let left = Left::of(workload, ended);
    let place = Place::of(name, workload);
    let first = place.first_step().filter(|_| left.is_ended());
    let mut steps: Vec<String> = first.into_iter().collect();
    steps.extend(suspending(name, workload, left));
    steps.extend(left.steps(place));
    let Some(group) = group else { return steps };
    let protected = protected(group, ended.iter().copied());
    if protected > 0 && left.is_ended() {
        steps.push(format!(
            "no scaling policy ends {protected} of them, which are protected from scale-in: \
             terminate them by their IDs"
        ));
    }
    steps.extend(warm_pool_step(group));
    steps.extend(suspended_step(group));
    steps
}

/// What comes before the steps of an end that others of the group may outlive.
fn suspending(name: &str, workload: &Workload, left: Left<'_>) -> Option<String> {
    if !left.is_part_ended() {
        return None;
    }
    suspending_rebalancing(name, workload.scaling_group.as_deref(), workload)
}

/// The values that the steps of ending some members name; absent where they name none, where
/// another service sets them, and where more is to be done about the group than to set them.
pub fn group_end(name: &str, workload: &Workload, ended: &[&Member]) -> Option<GroupEnd> {
    let group = workload.scaling_group.as_deref()?;
    let is_kept = batch::keeps(workload) || Place::of(name, workload).is_kept();
    let needs_more = warm_pool_step(group).is_some() || suspended_step(group).is_some();
    if is_kept || needs_more {
        return None;
    }
    let left = Left::of(workload, ended);
    match left {
        Left::Sizes { desired, min, .. } => Some(GroupEnd {
            sizes: GroupSizes { desired, min },
            suspends_rebalancing: suspending(name, workload, left).is_some(),
        }),
        Left::Fewer(_)
        | Left::Changing(..)
        | Left::Outside(..)
        | Left::Unlisted(_)
        | Left::Unknown => None,
    }
}

/// The same as a caveat of a stop that leaves other members.
pub(super) fn end_caveat(name: &str, workload: &Workload, ended: &[&Member]) -> String {
    if let Some(environment) = Environment::of(workload) {
        return environment.end_caveat(workload, only_these(workload, ended));
    }
    let first = match Left::of(workload, ended) {
        Left::Sizes { today, min, .. } if min < today.min => format!(
            "lower its minimum size from {} to {min} and its scaling policies first",
            today.min
        ),
        Left::Sizes { min, .. } => {
            format!("lower its scaling policies first; its minimum size of {min} allows it")
        }
        Left::Changing(..) | Left::Outside(..) => {
            "first check which of its instances are in service".to_owned()
        }
        Left::Fewer(_) | Left::Unlisted(_) | Left::Unknown => {
            "lower its minimum size and scaling policies first".to_owned()
        }
    };
    let place = Place::of(name, workload);
    format!("{place} replaces manually stopped instances: {first}")
}

/// What keeps a group from ending some members at a lower capacity, or from replacing them.
pub(super) fn protected_step(group: &ScalingGroup, members: &[Member]) -> Option<String> {
    let protected = protected(group, members);
    (protected > 0).then(|| {
        format!(
            "{} protected from scale-in, and neither a lower capacity nor an instance refresh \
             ends them: remove that first, for new instances too, with `aws autoscaling \
             set-instance-protection --no-protected-from-scale-in` and `aws autoscaling \
             update-auto-scaling-group --no-new-instances-protected-from-scale-in`",
            counted(protected, "of them is", "of them are")
        )
    })
}

/// What keeps a group from following its settings at all.
pub(super) fn suspended_step(group: &ScalingGroup) -> Option<String> {
    // To resume the rebalancing of zones may end busy instances.
    let suspended = group.suspended.iter().map(String::as_str);
    let suspended: Vec<&str> = suspended.filter(|process| *process != REBALANCING).collect();
    (!suspended.is_empty()).then(|| {
        format!(
            "processes of the group are suspended ({}): it does not follow its settings until \
             they are resumed",
            suspended.join(", ")
        )
    })
}

fn protected<'a>(group: &ScalingGroup, members: impl IntoIterator<Item = &'a Member>) -> usize {
    members.into_iter().filter(|member| group.protected.binary_search(&member.id).is_ok()).count()
}

/// What keeps a group from the spot market.
pub(super) fn spot_caveats(workload: &Workload) -> Vec<String> {
    if let Some(environment) = Environment::of(workload) {
        return environment.spot_caveat().into_iter().collect();
    }
    let Some(group) = workload.scaling_group.as_deref() else { return Vec::new() };
    let name = &group.name;
    let place = Place::of(name, workload);
    if let Some(caveat) = place.instead("capacity type", "the capacity type SPOT") {
        return vec![caveat];
    }
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

/// Those that run of some members.
pub(super) fn running_ids<'a>(
    members: impl IntoIterator<Item = &'a Member>,
) -> BTreeSet<&'a ResourceId> {
    members.into_iter().filter(|member| member.is_running).map(|member| &member.id).collect()
}

/// How many of some members run.
pub(super) fn running<'a>(members: impl IntoIterator<Item = &'a Member>) -> u32 {
    let running = members.into_iter().filter(|member| member.is_running);
    u32::try_from(running.count()).unwrap_or(u32::MAX)
}

pub(super) fn instances(number: u32) -> String {
    counted(number, "instance", "instances")
}
