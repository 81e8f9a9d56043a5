//! Training jobs in an estate.

use super::fields::{Wire, named, time};
use super::forms::Time;
use crate::domain::{JobStatus, TrainingJob};
use crate::sources::files::shared::bounded::at_most;
use schemars::JsonSchema;
use serde::de;
use serde::{Deserialize, Serialize};

/// Types of one job.
const MOST_TYPES: usize = 1_000;

/// A training job of `SageMaker`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a training job object")]
pub(super) struct JobWire {
    name: String,
    account: String,
    region: String,
    /// By type.
    #[serde(deserialize_with = "at_most::<_, _, MOST_TYPES>")]
    #[schemars(length(max = MOST_TYPES))]
    instances: Vec<PartWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<JobStatus>")]
    status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>")]
    started: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>")]
    ended: Option<String>,
    /// What each instance is billed for; absent while the job runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    billable_seconds: Option<u32>,
    /// How long each instance trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    training_seconds: Option<u32>,
    /// What each instance is billed for in a warm pool after the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warm_pool_seconds: Option<u32>,
    /// Whether it used managed spot training.
    #[serde(default)]
    spot: bool,
    /// Whether it saved checkpoints.
    #[serde(default)]
    checkpoints: bool,
    /// The training plan that it ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    training_plan: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `instance_type` and `count`"
)]
struct PartWire {
    instance_type: String,
    count: u32,
}

impl Wire for JobWire {
    type Value = TrainingJob;

    fn value<E: de::Error>(self) -> Result<TrainingJob, E> {
        let status = self.status.as_deref();
        let status = status.map(|name| named("status", name, JobStatus::from_name));
        let instances = self.instances.into_iter();
        Ok(TrainingJob {
            name: self.name,
            account: self.account,
            region: self.region,
            instances: instances
                .map(|part| (part.instance_type, part.count))
                .collect(),
            status: status.transpose()?,
            started: self.started.as_deref().map(time).transpose()?,
            ended: self.ended.as_deref().map(time).transpose()?,
            billable_seconds: self.billable_seconds,
            training_seconds: self.training_seconds,
            warm_pool_seconds: self.warm_pool_seconds,
            is_spot: self.spot,
            has_checkpoints: self.checkpoints,
            plan: self.training_plan,
        })
    }
}

pub(super) fn job_wire(job: &TrainingJob) -> JobWire {
    let instances = job.instances.iter().map(|(name, count)| PartWire {
        instance_type: name.clone(),
        count: *count,
    });
    JobWire {
        name: job.name.clone(),
        account: job.account.clone(),
        region: job.region.clone(),
        instances: instances.collect(),
        status: job.status.map(|status| status.name().to_owned()),
        started: job.started.map(|time| time.to_string()),
        ended: job.ended.map(|time| time.to_string()),
        billable_seconds: job.billable_seconds,
        training_seconds: job.training_seconds,
        warm_pool_seconds: job.warm_pool_seconds,
        spot: job.is_spot,
        checkpoints: job.has_checkpoints,
        training_plan: job.plan.clone(),
    }
}
