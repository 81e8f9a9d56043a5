//! What some members are of their Auto Scaling group: its settings are those of all its
//! instances, and at a lower capacity it chooses which end. A schedule and another type or
//! number are set there only for all of it.

use super::batch::{self, Environment, unread_steps};
use super::keeper::{Place, suspending_rebalancing};
use super::scaling::{
    END, GroupSizes, instances, protected_step, running, running_ids, suspended_step,
};
use crate::domain::{
    BatchEnvironment, Group, Member, ResourceId, ScalingGroup, Target, Workload, counted,
};

/// What an action on members of a group needs there.
#[derive(Debug, Default)]
pub(super) struct GroupAdvice {
    pub steps: Vec<String>,
    /// What would stop an engineer, the gravest first.
    pub caveats: Vec<String>,
}

/// What some members are of their group when an action on them begins.
#[derive(Debug, Clone, Copy)]
enum GroupShare {
    /// All of it, with the sizes that it then has.
    Whole {
        desired: u32,
        min: u32,
    },
    /// A part, beside so many others in service.
    Part(u32),
    Unknown,
}

impl GroupShare {
    /// The share of a part of a workload, once others of its members have ended.
    fn of(group: &ScalingGroup, part: &Workload, ended: &[&Member]) -> Self {
        // With members that are stopped now, its sizes are not those of every hour.
        if part.stopped_now() > 0 {
            return Self::Unknown;
        }
        let then = group.without(&running_ids(ended.iter().copied()));
        let others = then.as_ref().and_then(|then| then.without(&running_ids(&part.members)));
        match (then, others.map(|others| others.desired)) {
            (Some(then), Some(0)) => Self::Whole { desired: then.desired, min: then.min },
            (_, Some(others)) => Self::Part(others),
            (_, None) => Self::Unknown,
        }
    }

    /// What comes before the settings with values: these are what a stop leaves.
    fn after(self, ended: &[&Member]) -> Option<String> {
        let ended = running(ended.iter().copied());
        (ended > 0 && matches!(self, Self::Whole { .. })).then(|| {
            format!(
                "first end the {} of the group as advised: the settings here are for those that \
                 remain",
                counted(ended, "idle instance", "idle instances")
            )
        })
    }

    /// What keeps the group from following its settings.
    fn obstacles(self, group: &ScalingGroup, part: &Workload) -> Vec<String> {
        // A part is ended by its IDs, which protection from scale-in does not prevent.
        let is_part = matches!(self, Self::Part(_));
        let protected = protected_step(group, &part.members).filter(|_| !is_part);
        protected.into_iter().chain(suspended_step(group)).collect()
    }
}

/// What a part of a workload is of its environment, once others of its members have ended.
fn batch_share<'a>(
    batch: &'a BatchEnvironment,
    part: &'a Workload,
    ended: &[&Member],
) -> batch::Share<'a> {
    let group = part.scaling_group.as_deref();
    let in_service = group.and_then(|group| group.in_service.as_deref());
    let ids = running_ids(ended.iter().copied());
    let is_own = |id: &ResourceId| ids.contains(id) || part.member(id).is_some();
    let is_whole = in_service.is_some_and(|served| served.iter().all(is_own));
    batch::Share::of(batch, part, running(ended.iter().copied()), is_whole)
}

/// The sizes of a group from which the settings of its members start, once others of their
/// workload have ended: those that the steps of a schedule and of another number name. Absent
/// where the members are not all of it, where something keeps it from following its settings,
/// and where another service sets them.
pub fn whole_sizes(part: &Workload, ended: &[&Member]) -> Option<GroupSizes> {
    let group = part.scaling_group.as_deref()?;
    if batch::keeps(part) || Place::of(&group.name, part).is_kept() {
        return None;
    }
    let share = GroupShare::of(group, part, ended);
    match share {
        GroupShare::Whole { desired, min } if share.obstacles(group, part).is_empty() => {
            Some(GroupSizes { desired, min })
        }
        GroupShare::Whole { .. } | GroupShare::Part(_) | GroupShare::Unknown => None,
    }
}

/// How members of a group run only in some hours, once others of their workload have ended;
/// absent for members of none.
pub(super) fn scheduled(part: &Workload, ended: &[&Member]) -> Option<GroupAdvice> {
    let Group::AutoScaling(name) = &part.key.group else { return None };
    let group = part.scaling_group.as_deref();
    let mut advice = GroupAdvice::default();
    if let Some(environment) = Environment::of(part) {
        advice.steps = match environment {
            Environment::Read(batch) => {
                batch_share(batch, part, ended).schedule_steps(running(&part.members))
            }
            Environment::Unread { name, group } => {
                unread_steps(name, group, "by EventBridge Scheduler, change minvCpus")
            }
        };
        return Some(advice);
    }
    let place = Place::of(name, part);
    let share = group.map_or(GroupShare::Unknown, |group| GroupShare::of(group, part, ended));
    advice.steps.extend(place.first_step());
    advice.steps.extend(share.after(ended));
    match share {
        GroupShare::Whole { desired, min } => advice.steps.push(format!(
            "{}: minimum size 0 and desired capacity 0 when these hours begin, {min} and \
             {desired} when they end",
            place.schedule()
        )),
        GroupShare::Part(others) => {
            let others = other_instances(others);
            advice.steps.extend(suspending_rebalancing(name, group, part));
            advice.steps.push(format!(
                "move these instances to a group of their own, and add scheduled actions for \
                 these hours to that: {place} has {others}, and at a lower capacity it chooses \
                 which end"
            ));
            advice.caveats.push(format!(
                "{place} has {others} and chooses which end: hours off need a group of their own"
            ));
        }
        GroupShare::Unknown => {
            advice.steps.push(format!(
                "{} for these hours if it has no other instances: at a lower capacity, it \
                 chooses which end",
                place.schedule()
            ));
            advice
                .caveats
                .push(format!("check that {place} has no other instances: it chooses which end"));
        }
    }
    // A part moves to a group of its own.
    if let Some(group) = group.filter(|_| !matches!(share, GroupShare::Part(_))) {
        advice.steps.extend(share.obstacles(group, part));
    }
    Some(advice)
}

/// How members of a group get another type or number, once others of their workload have
/// ended; nothing where the group was not read.
pub(super) fn resized(part: &Workload, to: &Target, ended: &[&Member]) -> GroupAdvice {
    let mut advice = GroupAdvice::default();
    let fewer = running(&part.members).saturating_sub(to.count);
    if let Some(environment) = Environment::of(part) {
        let is_same_type = to.instance_type == part.key.instance_type;
        let change =
            if is_same_type { "lower minvCpus" } else { "change instance types and minvCpus" };
        advice.steps = match environment {
            Environment::Read(batch) => batch_share(batch, part, ended).resize_steps(to, fewer),
            Environment::Unread { name, group } => unread_steps(name, group, change),
        };
        return advice;
    }
    let Some(group) = part.scaling_group.as_deref() else { return advice };
    let share = GroupShare::of(group, part, ended);
    let resize = Resize { group, place: Place::of(&group.name, part), share, part, to, fewer };
    if let Some(step) = resize.elsewhere() {
        if !matches!(share, GroupShare::Whole { .. }) {
            advice.steps.extend(resize.suspending());
        }
        advice.steps.push(step);
        return advice;
    }
    advice.steps.extend(resize.place.first_step());
    advice.steps.extend(share.after(ended));
    if fewer > 0 && matches!(share, GroupShare::Part(_)) {
        advice.steps.extend(resize.suspending());
    }
    advice.steps.extend(resize.type_step());
    advice.steps.extend(resize.number_step());
    advice.steps.extend(share.obstacles(group, part));
    advice.caveats.extend(resize.caveat());
    advice
}

/// Another type or number for members of a group.
struct Resize<'a> {
    group: &'a ScalingGroup,
    place: Place<'a>,
    share: GroupShare,
    part: &'a Workload,
    to: &'a Target,
    /// By how many they become fewer.
    fewer: u32,
}

impl Resize<'_> {
    /// The type that they have.
    fn today(&self) -> &str {
        &self.part.key.instance_type
    }

    fn changes_type(&self) -> bool {
        self.to.instance_type != self.today()
    }

    /// What comes before members end with a decrement beside others.
    fn suspending(&self) -> Option<String> {
        suspending_rebalancing(&self.group.name, Some(self.group), self.part)
    }

    /// How members get another type in another group, where theirs keeps its types.
    fn elsewhere(&self) -> Option<String> {
        let to = format!("{} × {}", self.to.count, self.to.instance_type);
        let kept = "instance types unless they are in its launch template";
        let create = self.place.instead(kept, &to).filter(|_| self.changes_type())?;
        Some(match self.share {
            GroupShare::Whole { .. } => {
                format!("{create}, move the pods there, and delete the old one")
            }
            GroupShare::Part(_) | GroupShare::Unknown => format!(
                "{create}, move the pods of these there, and end each with {END} once the \
                 minimum size (today {}) allows it",
                self.group.min
            ),
        })
    }

    fn type_step(&self) -> Option<String> {
        if !self.changes_type() {
            return None;
        }
        let (place, new) = (self.place, &self.to.instance_type);
        let setting = match self.group.instance_types.as_slice() {
            [] => format!("set the instance type in the launch template of {place} to {new}"),
            types => {
                let change = if types.iter().any(|instance_type| instance_type == self.today()) {
                    format!("replace {} by {new}", self.today())
                } else {
                    format!("add {new}")
                };
                format!(
                    "{change} in the mixed instances policy of {place} (today {})",
                    types.join(", ")
                )
            }
        };
        // New capacity comes before anything of today ends.
        let setting = match self.more() {
            None => setting,
            Some(more) => format!(
                "{setting}; raise the desired capacity of {place} by {more} (today {}), its minimum \
                 size likewise, in scheduled actions too, and its maximum size if that is lower; \
                 wait until these serve",
                self.group.desired
            ),
        };
        Some(match self.share {
            GroupShare::Whole { .. } => format!(
                "{setting}, and start an instance refresh, which replaces every instance of the \
                 group"
            ),
            GroupShare::Unknown => format!(
                "{setting}, and start an instance refresh if the group has no other instances: \
                 it replaces every one"
            ),
            GroupShare::Part(others) => {
                let which = match self.fewer {
                    0 => "each".to_owned(),
                    _ => self.to.count.to_string(),
                };
                format!(
                    "{setting}, and end {which} of these with `aws autoscaling \
                     terminate-instance-in-auto-scaling-group \
                     --no-should-decrement-desired-capacity`, which starts one in its place: an \
                     instance refresh replaces {} too",
                    other_instances(others)
                )
            }
        })
    }

    /// By how much the capacity of the group rises, in what it counts.
    fn more(&self) -> Option<String> {
        let more = self.to.count.saturating_sub(running(&self.part.members));
        (more > 0).then(|| self.in_its_units(more))
    }

    /// A number of instances in what the group counts.
    fn in_its_units(&self, number: u32) -> String {
        match self.group.counts_instances() {
            true => number.to_string(),
            false => format!("what {} count for", instances(number)),
        }
    }

    fn number_step(&self) -> Option<String> {
        let (place, fewer) = (self.place, self.fewer);
        if fewer == 0 {
            return None;
        }
        Some(match self.share {
            GroupShare::Whole { desired, min } => {
                let count = self.to.count;
                if min > count {
                    format!(
                        "set the desired capacity of {place} from {desired} to {count} and its \
                         minimum size from {min} to {count}, in scheduled actions too"
                    )
                } else {
                    format!(
                        "set the desired capacity of {place} from {desired} to {count}, in \
                         scheduled actions too; its minimum size of {min} allows it"
                    )
                }
            }
            GroupShare::Part(_) => {
                let which = if self.changes_type() {
                    format!("the other {fewer}")
                } else {
                    format!("{fewer} of these")
                };
                format!(
                    "lower the minimum size of {place} (today {}) if it prevents this, and end \
                     {which} with {END}, which lowers the desired capacity by 1 each (today {})",
                    self.group.min, self.group.desired
                )
            }
            GroupShare::Unknown => {
                format!(
                    "lower the desired capacity and the minimum size of {place} by {} if the \
                     group has no other instances: it chooses which end",
                    self.in_its_units(fewer)
                )
            }
        })
    }

    fn caveat(&self) -> Option<String> {
        let place = self.place;
        match self.share {
            GroupShare::Whole { .. } => None,
            GroupShare::Part(others) => Some(format!(
                "{place} has {}, which get the same settings",
                other_instances(others)
            )),
            GroupShare::Unknown => Some(format!(
                "check that {place} has no other instances: they get the same settings"
            )),
        }
    }
}

fn other_instances(number: u32) -> String {
    counted(number, "other instance", "other instances")
}
