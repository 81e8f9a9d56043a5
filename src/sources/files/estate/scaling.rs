//! Auto Scaling groups in an estate.

use super::fields::Wire;
use super::wire::MOST_PARTS;
use crate::domain::{BatchEnvironment, ResourceId, ScalingGroup, WarmPool};
use crate::sources::files::shared::bounded::at_most;
use schemars::JsonSchema;
use serde::de;
use serde::{Deserialize, Deserializer, Serialize};

/// An Auto Scaling group.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an Auto Scaling group as an object")]
pub(super) struct ScalingGroupWire {
    name: String,
    account: String,
    region: String,
    /// Desired capacity.
    desired: u32,
    /// Minimum size.
    min: u32,
    /// Maximum size.
    max: u32,
    /// Whether these count something else than instances: weights, `vCPUs` or memory.
    #[serde(default)]
    weighted: bool,
    /// Types of the mixed instances policy, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, MOST_PARTS>")]
    #[schemars(length(max = MOST_PARTS))]
    instance_types: Vec<String>,
    /// `OnDemandBaseCapacity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_demand_base: Option<u32>,
    /// `OnDemandPercentageAboveBaseCapacity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_demand_above_base_percent: Option<u32>,
    /// `SpotAllocationStrategy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spot_allocation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warm_pool: Option<WarmPoolWire>,
    /// Processes that are suspended, such as Launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, MOST_PARTS>")]
    #[schemars(length(max = MOST_PARTS))]
    suspended: Vec<String>,
    /// IDs of instances that are protected from scale-in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, MOST_PARTS>")]
    #[schemars(length(max = MOST_PARTS))]
    protected: Vec<String>,
    /// IDs of the instances that are in service; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "some_names")]
    #[schemars(with = "Vec<String>", length(max = MOST_PARTS))]
    in_service: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch: Option<BatchWire>,
}

/// The compute environment of AWS Batch that set the group up.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a compute environment of AWS Batch as an object"
)]
struct BatchWire {
    name: String,
    min_vcpus: u32,
    desired_vcpus: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, MOST_PARTS>")]
    #[schemars(length(max = MOST_PARTS))]
    instance_types: Vec<String>,
    #[serde(default)]
    spot: bool,
    /// Its enabled queues; absent if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "some_names")]
    #[schemars(with = "Vec<String>", length(max = MOST_PARTS))]
    queues: Option<Vec<String>>,
}

fn some_names<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    at_most::<_, _, MOST_PARTS>(from).map(Some)
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a warm pool as an object")]
struct WarmPoolWire {
    min_size: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
}

fn names(ids: &[ResourceId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// Named resources, ascending.
fn ids(names: Vec<String>) -> Vec<ResourceId> {
    let mut ids: Vec<ResourceId> = names.into_iter().map(ResourceId::named).collect();
    ids.sort();
    ids
}

pub(super) fn to_wire(group: &ScalingGroup) -> ScalingGroupWire {
    ScalingGroupWire {
        name: group.name.clone(),
        account: group.account.clone(),
        region: group.region.clone(),
        desired: group.desired,
        min: group.min,
        max: group.max,
        weighted: group.is_weighted,
        instance_types: group.instance_types.clone(),
        on_demand_base: group.on_demand_base,
        on_demand_above_base_percent: group.on_demand_above_base_percent,
        spot_allocation: group.spot_allocation.clone(),
        warm_pool: group.warm_pool.as_ref().map(|pool| WarmPoolWire {
            min_size: pool.min_size,
            state: pool.state.clone(),
            size: pool.size,
        }),
        suspended: group.suspended.clone(),
        protected: names(&group.protected),
        in_service: group.in_service.as_deref().map(names),
        batch: group.batch.as_ref().map(|batch| BatchWire {
            name: batch.name.clone(),
            min_vcpus: batch.min_vcpus,
            desired_vcpus: batch.desired_vcpus,
            instance_types: batch.instance_types.clone(),
            spot: batch.is_spot,
            queues: batch.queues.clone(),
        }),
    }
}

impl Wire for ScalingGroupWire {
    type Value = ScalingGroup;

    fn value<E: de::Error>(mut self) -> Result<ScalingGroup, E> {
        if self.min > self.max {
            return Err(E::custom(format!(
                "`min` of {} is {}, more than its `max` of {}",
                self.name, self.min, self.max
            )));
        }
        self.suspended.sort();
        Ok(ScalingGroup {
            name: self.name,
            account: self.account,
            region: self.region,
            desired: self.desired,
            min: self.min,
            max: self.max,
            is_weighted: self.weighted,
            instance_types: self.instance_types,
            on_demand_base: self.on_demand_base,
            on_demand_above_base_percent: self.on_demand_above_base_percent,
            spot_allocation: self.spot_allocation,
            warm_pool: self.warm_pool.map(|pool| WarmPool {
                min_size: pool.min_size,
                state: pool.state,
                size: pool.size,
            }),
            suspended: self.suspended,
            protected: ids(self.protected),
            in_service: self.in_service.map(ids),
            batch: self.batch.map(|batch| BatchEnvironment {
                name: batch.name,
                min_vcpus: batch.min_vcpus,
                desired_vcpus: batch.desired_vcpus,
                instance_types: batch.instance_types,
                is_spot: batch.spot,
                queues: batch.queues.map(|mut queues| {
                    queues.sort();
                    queues
                }),
            }),
        })
    }
}

/// The groups in order.
///
/// # Errors
/// When one is there twice.
pub(super) fn sorted<E: de::Error>(mut groups: Vec<ScalingGroup>) -> Result<Vec<ScalingGroup>, E> {
    groups.sort_by(|left, right| left.key().cmp(&right.key()));
    let mut pairs = groups.windows(2);
    match pairs.find(|pair| pair[0].key() == pair[1].key()) {
        Some(pair) => Err(E::custom(format!(
            "duplicate Auto Scaling group {}",
            pair[0].name
        ))),
        None => Ok(groups),
    }
}
