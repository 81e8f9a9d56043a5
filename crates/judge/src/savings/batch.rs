//! Which settings of a compute environment of AWS Batch an action changes, with their values:
//! Batch sets those of its Auto Scaling group, and undoes other changes.

use crate::domain::{BatchEnvironment, Group, Provider, Target, Workload, counted};

const UPDATE: &str = "with `aws batch update-compute-environment`";
/// `jobExecutionTimeoutMinutes` in the API reference of Batch, `UpdatePolicy`: 30 by default.
const LONG_JOBS: &str = "such an update ends jobs that run for more than 30 minutes after it \
                         begins, unless `--update-policy jobExecutionTimeoutMinutes=MINUTES` \
                         allows them longer: set it to the length of the longest job, or add \
                         another environment to the job queue and let this one run empty";

/// Whether an environment sets the sizes of the group of a workload, read or not.
pub(super) fn keeps(workload: &Workload) -> bool {
    Environment::of(workload).is_some()
}

/// How many vCPUs some instances of a workload have; absent where its type is unknown.
fn vcpus(workload: &Workload, instances: u32) -> Option<u32> {
    workload.shape.as_ref()?.vcpu.checked_mul(instances)
}

/// The environment that a workload is in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Environment<'a> {
    Read(&'a BatchEnvironment),
    /// Its settings have no values. The group is the name of its Auto Scaling group.
    Unread {
        name: &'a str,
        group: &'a str,
    },
}

impl<'a> Environment<'a> {
    /// One that was not read is told by the tag of the instances, else by the name of their
    /// group.
    pub fn of(workload: &'a Workload) -> Option<Self> {
        let read = workload.scaling_group.as_deref().and_then(|group| group.batch.as_ref());
        if let Some(batch) = read {
            return Some(Self::Read(batch));
        }
        let Group::AutoScaling(group) = &workload.key.group else { return None };
        if workload.key.provider != Provider::Aws {
            return None;
        }
        let name = workload.tags.get(BatchEnvironment::TAG).map(String::as_str).or_else(|| {
            let (before, after) = BatchEnvironment::AROUND_NAME;
            let (name, _) = group.strip_prefix(before)?.rsplit_once(after)?;
            Some(name)
        })?;
        Some(Self::Unread { name, group })
    }

    /// How to end so many members, so that none is started in their place. Their number is
    /// absent where others of the environment may end too.
    pub fn end_steps(self, workload: &Workload, ended: Option<u32>) -> Vec<String> {
        match self {
            Self::Read(batch) => end_steps(batch, ended.and_then(|ended| vcpus(workload, ended))),
            Self::Unread { name, group } => unread_steps(name, group, "lower minvCpus"),
        }
    }

    /// The same as a caveat of a stop that leaves other members.
    pub fn end_caveat(self, workload: &Workload, ended: Option<u32>) -> String {
        let (name, first) = match self {
            Self::Read(batch) => {
                let today = batch.min_vcpus;
                let ended = ended.and_then(|ended| vcpus(workload, ended));
                let first = match least_without(batch, ended) {
                    Some(least) if least < today => {
                        format!("lower its minvCpus from {today} to {least}")
                    }
                    None if today > 0 => format!("lower its minvCpus (today {today})"),
                    _ => format!("its minvCpus of {today} allows it"),
                };
                (batch.name.as_str(), first)
            }
            Self::Unread { name, .. } => (name, "lower its minvCpus first".to_owned()),
        };
        format!("the Batch compute environment {name} replaces manually stopped instances: {first}")
    }

    /// What keeps it from the spot market, or may do so.
    pub fn spot_caveat(self) -> Option<String> {
        match self {
            Self::Read(batch) => (!batch.is_spot).then(|| {
                format!(
                    "the Batch compute environment {} buys on demand: set its type to SPOT \
                     {UPDATE}, or add one of that type to its job queues",
                    batch.name
                )
            }),
            Self::Unread { name, .. } => Some(format!(
                "if the Batch compute environment {name} buys on demand, set its type to SPOT \
                 {UPDATE}, or add one of that type to its job queues"
            )),
        }
    }
}

/// What is done in an environment that was not read instead of in its group, such as `lower
/// minvCpus`.
pub(super) fn unread_steps(name: &str, group: &str, change: &str) -> Vec<String> {
    vec![
        format!(
            "{change} of the Batch compute environment {name} {UPDATE}: AWS Batch sets the sizes \
             of its Auto Scaling group {group} and does not support changes of it"
        ),
        "audit with `--services ec2,batch` for the values, which needs the permissions \
         `batch:DescribeComputeEnvironments` and `batch:DescribeJobQueues`"
            .to_owned(),
    ]
}

fn end_steps(batch: &BatchEnvironment, ended: Option<u32>) -> Vec<String> {
    let mut steps = vec![lowering(batch, ended)];
    steps.push(format!(
        "AWS Batch then ends instances that run no job, and lowers desiredvCpus (today {}) by \
         itself: it does not support changes of its Auto Scaling group",
        batch.desired_vcpus
    ));
    match batch.queues.as_deref() {
        Some([]) => steps.push(format!(
            "no enabled job queue places jobs in {}: then disable and delete it",
            batch.name
        )),
        Some(queues) => steps.push(format!(
            "ask the owners of the job queues first: jobs of {} then wait for an instance to \
             start",
            queues.join(", ")
        )),
        None => {}
    }
    steps
}

/// What is the least that may be kept without some vCPUs.
fn least_without(batch: &BatchEnvironment, vcpus: Option<u32>) -> Option<u32> {
    batch.without(vcpus?).map(|left| left.min_vcpus)
}

/// How to keep fewer vCPUs without jobs; by how many is absent where that is not known.
fn lowering(batch: &BatchEnvironment, vcpus: Option<u32>) -> String {
    let (name, today) = (&batch.name, batch.min_vcpus);
    match least_without(batch, vcpus) {
        Some(least) if least < today => format!(
            "set minvCpus of the Batch compute environment {name} from {today} to {least} \
             {UPDATE}: it keeps so many without jobs, disabled or not"
        ),
        None if today > 0 => format!(
            "lower minvCpus of the Batch compute environment {name} (today {today}) {UPDATE}: it \
             keeps so many without jobs, disabled or not"
        ),
        _ => format!(
            "find the jobs that hold them: minvCpus of the Batch compute environment {name} is \
             {today} and allows fewer"
        ),
    }
}

/// Members of an environment when an action on them begins.
pub(super) struct Share<'a> {
    part: &'a Workload,
    today: &'a BatchEnvironment,
    /// The environment then, once others have ended; absent where its settings then are not
    /// known, or are for instances that the action is not about.
    then: Option<BatchEnvironment>,
    /// Others that end before.
    ended: u32,
}

impl<'a> Share<'a> {
    /// The share of a part of a workload, once so many others of its members have ended. It may
    /// be all that then runs in the environment.
    pub fn of(today: &'a BatchEnvironment, part: &'a Workload, ended: u32, is_whole: bool) -> Self {
        let left = vcpus(part, ended).and_then(|vcpus| today.without(vcpus));
        Self { part, today, then: left.filter(|_| is_whole), ended }
    }

    /// What comes before settings with values: these are what a stop leaves.
    fn after(&self) -> Option<String> {
        (self.ended > 0 && self.then.is_some()).then(|| {
            format!(
                "first end the {} of the environment as advised: the settings here are for those \
                 that remain",
                counted(self.ended, "idle instance", "idle instances")
            )
        })
    }

    /// How they get another type, or become fewer.
    pub fn resize_steps(&self, to: &Target, fewer: u32) -> Vec<String> {
        let (new, old) = (&to.instance_type, &self.part.key.instance_type);
        let name = &self.today.name;
        let mut steps: Vec<String> = self.after().into_iter().collect();
        if new != old {
            let types = &self.today.instance_types;
            let change = if types.contains(old) {
                format!("replace {old} by {new}")
            } else {
                format!("add {new} and remove what stands for {old}")
            };
            steps.push(format!(
                "{change} in the instance types of the Batch compute environment {name} (today \
                 {}) {UPDATE}, which replaces its instances",
                types.join(", ")
            ));
            steps.push(LONG_JOBS.to_owned());
            steps.extend(self.adapting(new));
        } else if fewer > 0 {
            steps.push(match &self.then {
                Some(then) => lowering(then, vcpus(self.part, fewer)),
                None => lowering(self.today, None),
            });
        }
        steps
    }

    /// What becomes of the minimum with another type.
    fn adapting(&self, new: &str) -> Option<String> {
        let (when, minimum) = match &self.then {
            Some(then) if self.ended > 0 => ("then", then.min_vcpus),
            _ => ("today", self.today.min_vcpus),
        };
        (minimum > 0)
            .then(|| format!("adapt its minvCpus ({when} {minimum}) to the vCPUs of {new}"))
    }

    /// How they run only in some hours.
    pub fn schedule_steps(&self, running: u32) -> Vec<String> {
        let (name, today) = (&self.today.name, self.today.min_vcpus);
        let mut steps: Vec<String> = self.after().into_iter().collect();
        let then = self.then.as_ref();
        let minimum = then.map_or(today, |then| then.min_vcpus);
        let least = then.and_then(|then| least_without(then, vcpus(self.part, running)));
        steps.push(match least {
            Some(least) if least < minimum => format!(
                "set minvCpus of the Batch compute environment {name} to {least} when these hours \
                 begin, and to {minimum} when they end, with EventBridge Scheduler"
            ),
            None if minimum > 0 => format!(
                "lower minvCpus of the Batch compute environment {name} (today {today}) by the \
                 vCPUs of these instances when these hours begin, as far as it prevents their \
                 end, and raise it by as many when they end, with EventBridge Scheduler: other \
                 actions may change it too"
            ),
            _ => format!(
                "disable the job queues of the Batch compute environment {name} when these hours \
                 begin, and enable them when they end: its minvCpus of {minimum} keeps so many \
                 vCPUs without jobs"
            ),
        });
        steps
    }
}
