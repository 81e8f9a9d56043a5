//! Which settings of a compute environment of AWS Batch an action changes, with their values:
//! Batch sets those of its Auto Scaling group, and undoes other changes.

use crate::domain::{BatchEnvironment, Group, Provider, Target, Workload};

/// The tag that instances of an environment have; it may come late.
const TAG: &str = "aws:batch:compute-environment";
/// What is around the name of an environment in that of its group.
const AROUND_NAME: (&str, &str) = ("AWSBatch-", "-asg-");

const UPDATE: &str = "with `aws batch update-compute-environment`";

/// How many vCPUs some instances of a workload have; absent where its type is unknown.
fn vcpus(workload: &Workload, instances: u32) -> Option<u32> {
    workload.shape.as_ref()?.vcpu.checked_mul(instances)
}

/// An environment that was not read: its settings have no values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unread<'a> {
    name: &'a str,
    /// Its Auto Scaling group.
    group: &'a str,
}

impl<'a> Unread<'a> {
    /// The environment that a workload is in, by the tag of its instances, else by the name of
    /// their group; absent where it is in none, and where it was read.
    pub fn of(workload: &'a Workload) -> Option<Self> {
        let Group::AutoScaling(group) = &workload.key.group else {
            return None;
        };
        let group = group.as_str();
        let read = workload.scaling_group.as_deref();
        let is_read = read.is_some_and(|group| group.batch.is_some());
        if workload.key.provider != Provider::Aws || is_read {
            return None;
        }
        let tagged = workload.tags.get(TAG).map(String::as_str);
        let name = tagged.or_else(|| {
            let (before, after) = AROUND_NAME;
            let (name, _) = group.strip_prefix(before)?.rsplit_once(after)?;
            Some(name)
        })?;
        Some(Self { name, group })
    }

    /// What is done in it instead of in its group, such as `lower minvCpus`.
    pub fn steps(self, change: &str) -> Vec<String> {
        let Self { name, group } = self;
        vec![
            format!(
                "{change} of the Batch compute environment {name} {UPDATE}: AWS Batch sets the \
                 sizes of its Auto Scaling group {group} and does not support changes of it"
            ),
            "audit with `--services ec2,batch` for the values, which needs the permissions \
             `batch:DescribeComputeEnvironments` and `batch:DescribeJobQueues`"
                .to_owned(),
        ]
    }

    /// The same as a caveat of a stop that leaves other members.
    pub fn end_caveat(self) -> String {
        format!(
            "the Batch compute environment {} replaces manually stopped instances: lower its \
             minvCpus first",
            self.name
        )
    }

    /// What may keep it from the spot market.
    pub fn spot_caveat(self) -> String {
        format!(
            "if the Batch compute environment {} buys on demand, set its type to SPOT {UPDATE}, \
             or add one of that type to its job queues",
            self.name
        )
    }
}

/// How to end some members, so that none is started in their place.
pub(super) fn end_steps(batch: &BatchEnvironment, workload: &Workload, ended: u32) -> Vec<String> {
    let mut steps = vec![lowering(batch, vcpus(workload, ended))];
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

/// How to keep fewer vCPUs without jobs; by how many is absent where that is not known.
fn lowering(batch: &BatchEnvironment, vcpus: Option<u32>) -> String {
    let (name, today) = (&batch.name, batch.min_vcpus);
    match vcpus.and_then(|vcpus| batch.min_without(vcpus)) {
        Some(least) if least < today => format!(
            "set minvCpus of the Batch compute environment {name} from {today} to {least} \
             {UPDATE}: it keeps so many without jobs, disabled or not"
        ),
        Some(_) => format!(
            "find the jobs that hold them: minvCpus of the Batch compute environment {name} is \
             {today} and allows fewer"
        ),
        None => format!(
            "lower minvCpus of the Batch compute environment {name} (today {today}) {UPDATE}: it \
             keeps so many without jobs, disabled or not"
        ),
    }
}

/// The same as a caveat of a stop that leaves other members.
pub(super) fn end_caveat(batch: &BatchEnvironment, workload: &Workload, ended: u32) -> String {
    let least = vcpus(workload, ended).and_then(|vcpus| batch.min_without(vcpus));
    let first = match least {
        Some(least) if least < batch.min_vcpus => {
            format!("lower its minvCpus from {} to {least}", batch.min_vcpus)
        }
        Some(_) => format!("its minvCpus of {} allows it", batch.min_vcpus),
        None => format!("lower its minvCpus (today {})", batch.min_vcpus),
    };
    format!(
        "the Batch compute environment {} replaces manually stopped instances: {first}",
        batch.name
    )
}

/// How an environment gets another type or number of instances.
pub(super) fn resize_steps(
    batch: &BatchEnvironment,
    workload: &Workload,
    (to, fewer): (&Target, u32),
) -> Vec<String> {
    let (new, old) = (&to.instance_type, &workload.key.instance_type);
    let name = &batch.name;
    let mut steps = Vec::new();
    if new != old {
        let change = if batch.instance_types.contains(old) {
            format!("replace {old} by {new}")
        } else {
            format!("add {new} and remove what stands for {old}")
        };
        steps.push(format!(
            "{change} in the instance types of the Batch compute environment {name} (today {}) \
             {UPDATE}, which replaces its instances",
            batch.instance_types.join(", ")
        ));
        if batch.min_vcpus > 0 {
            steps.push(format!(
                "adapt its minvCpus (today {}) to the vCPUs of {new}",
                batch.min_vcpus
            ));
        }
    } else if fewer > 0 {
        steps.push(lowering(batch, vcpus(workload, fewer)));
    }
    steps
}

/// How an environment keeps no instances of a workload in some hours.
pub(super) fn schedule_step(batch: &BatchEnvironment, workload: &Workload, running: u32) -> String {
    let name = &batch.name;
    let least = vcpus(workload, running).and_then(|vcpus| batch.min_without(vcpus));
    match least {
        Some(least) if least < batch.min_vcpus => format!(
            "set minvCpus of the Batch compute environment {name} to {least} when these hours \
             begin, and to {} when they end, with EventBridge Scheduler",
            batch.min_vcpus
        ),
        _ => format!(
            "disable the job queues of the Batch compute environment {name} when these hours \
             begin, and enable them when they end: minvCpus (today {}) keeps so many vCPUs \
             without jobs",
            batch.min_vcpus
        ),
    }
}

/// What keeps an environment from the spot market.
pub(super) fn spot_caveat(batch: &BatchEnvironment) -> Option<String> {
    (!batch.is_spot).then(|| {
        format!(
            "the Batch compute environment {} buys on demand: set its type to SPOT {UPDATE}, or \
             add one of that type to its job queues",
            batch.name
        )
    })
}
