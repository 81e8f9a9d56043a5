//! Auto Scaling groups: who starts a new instance in place of one that ended.

use super::wire::{Parts, StatedParts};
use super::{Instance, Provider, ResourceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Instances that a group keeps stopped, to start them faster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a warm pool as an object")]
pub struct WarmPool {
    /// Minimum size.
    pub min_size: u32,
    /// The state of its instances, such as `Stopped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// How many there are; absent where that was not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
}

impl WarmPool {
    /// Whether its instances run, beside those that the group's sizes count.
    pub fn keeps_running(&self) -> bool {
        self.state.as_deref() == Some("Running")
    }
}

/// A managed compute environment of AWS Batch: it sets the sizes of its Auto Scaling group by
/// the jobs that wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a compute environment of AWS Batch as an object")]
pub struct BatchEnvironment {
    pub name: String,
    /// Minimum number of vCPUs, with jobs or without, enabled or not.
    pub min_vcpus: u32,
    pub desired_vcpus: u32,
    /// Types and families, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<String>")]
    pub instance_types: Vec<String>,
    #[serde(default, rename = "spot")]
    pub is_spot: bool,
    /// Names of the enabled job queues that place jobs in it, ascending; absent where they
    /// were not read.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "StatedParts::<String>")]
    pub queues: Option<Vec<String>>,
}

impl BatchEnvironment {
    /// The tag that instances of an environment have; it may come late.
    pub const TAG: &'static str = "aws:batch:compute-environment";
    /// What is around the name of an environment in that of its group.
    pub const AROUND_NAME: (&'static str, &'static str) = ("AWSBatch-", "-asg-");

    /// The environment once instances with some of its vCPUs have ended, and its minimum
    /// lowered where that prevents it; absent where it has fewer.
    pub fn without(&self, vcpus: u32) -> Option<Self> {
        let desired_vcpus = self.desired_vcpus.checked_sub(vcpus)?;
        Some(Self { min_vcpus: self.min_vcpus.min(desired_vcpus), desired_vcpus, ..self.clone() })
    }
}

/// An Auto Scaling group as its settings say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an Auto Scaling group as an object")]
pub struct ScalingGroup {
    pub name: String,
    pub account: String,
    pub region: String,
    pub desired: u32,
    pub min: u32,
    pub max: u32,
    /// Whether its sizes count something else than instances: weights, `vCPUs` or memory.
    #[serde(default, rename = "weighted")]
    pub is_weighted: bool,
    /// The types of its mixed instances policy, in its order; empty where the launch template
    /// says the type.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<String>")]
    pub instance_types: Vec<String>,
    /// `OnDemandBaseCapacity`; absent without a mixed instances policy, as are the next two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_demand_base: Option<u32>,
    /// `OnDemandPercentageAboveBaseCapacity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_demand_above_base_percent: Option<u32>,
    /// `SpotAllocationStrategy`, such as `price-capacity-optimized`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spot_allocation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_pool: Option<WarmPool>,
    /// Processes that are suspended, such as `Launch`, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<String>")]
    pub suspended: Vec<String>,
    /// IDs of instances that are protected from scale-in, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<ResourceId>")]
    pub protected: Vec<ResourceId>,
    /// Instances in service, ascending: those that its desired capacity counts, unless it
    /// changes right now. Absent where they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "StatedParts::<ResourceId>")]
    pub in_service: Option<Vec<ResourceId>>,
    /// The compute environment of AWS Batch that set it up and sets its sizes; absent unless AWS
    /// Batch was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchEnvironment>,
}

impl ScalingGroup {
    /// Whether its sizes count instances that run, and nothing else.
    pub fn counts_instances(&self) -> bool {
        let pool = self.warm_pool.as_ref();
        !self.is_weighted && !pool.is_some_and(WarmPool::keeps_running)
    }

    /// The group once some of its instances have ended, each with a decrement of its desired
    /// capacity, and its minimum size lowered where that prevents it. Absent where its desired
    /// capacity is not the number of instances in service, and where one that ends is not
    /// among these.
    pub fn without(&self, ended: &BTreeSet<&ResourceId>) -> Option<Self> {
        let in_service = self.in_service.as_ref().filter(|_| self.counts_instances())?;
        let stays = in_service.iter().filter(|id| !ended.contains(*id));
        let stays: Vec<ResourceId> = stays.cloned().collect();
        let is_known = u32::try_from(in_service.len()) == Ok(self.desired)
            && stays.len() + ended.len() == in_service.len();
        let desired = u32::try_from(stays.len()).ok().filter(|_| is_known)?;
        Some(Self { desired, min: self.min.min(desired), in_service: Some(stays), ..self.clone() })
    }

    /// Whether an instance is in it, as far as the instance says.
    pub fn has(&self, instance: &Instance) -> bool {
        // What other services run is in groups of their own, under names of their own.
        instance.id.provider() == Provider::Aws
            && instance.auto_scaling_group.as_ref() == Some(&self.name)
            && instance.account == self.account
            && instance.region == self.region
    }

    /// What groups are sorted by; no two have the same.
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.account, &self.region, &self.name)
    }
}

#[cfg(any(test, feature = "lab"))]
impl ScalingGroup {
    /// A group of a test: `trainers`, which keeps six of at least four and at most eight.
    pub fn sample() -> Self {
        Self {
            name: "trainers".to_owned(),
            account: "111122223333".to_owned(),
            region: "us-east-1".to_owned(),
            desired: 6,
            min: 4,
            max: 8,
            is_weighted: false,
            instance_types: Vec::new(),
            on_demand_base: None,
            on_demand_above_base_percent: None,
            spot_allocation: None,
            warm_pool: None,
            suspended: Vec::new(),
            protected: Vec::new(),
            in_service: None,
            batch: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: std::ops::RangeInclusive<u32>) -> Vec<ResourceId> {
        let names = numbers.map(|number| format!("i-{number}"));
        names.map(ResourceId::named).collect()
    }

    /// The sample with its six instances in service.
    fn group() -> ScalingGroup {
        ScalingGroup { in_service: Some(ids(1..=6)), ..ScalingGroup::sample() }
    }

    /// Desired capacity and minimum size of what is left of a group.
    fn left(group: &ScalingGroup, ended: &[ResourceId]) -> Option<(u32, u32)> {
        let left = group.without(&ended.iter().collect())?;
        Some((left.desired, left.min))
    }

    #[test]
    fn the_minimum_follows_the_capacity_and_never_rises() {
        let changed = (0..=6).map(|number| left(&group(), &ids(1..=number)));
        // 6 − n of at least min(4, 6 − n).
        let expected = [(6, 4), (5, 4), (4, 4), (3, 3), (2, 2), (1, 1), (0, 0)];
        assert_eq!(changed.collect::<Vec<_>>(), expected.map(Some));
        let after = group().without(&ids(1..=2).iter().collect());
        let twice = after.expect("a group").without(&ids(3..=4).iter().collect());
        let twice = twice.expect("what is left ends like any group");
        assert_eq!((twice.desired, twice.min), (2, 2));
        assert_eq!(twice.in_service, Some(ids(5..=6)));
    }

    #[test]
    fn sizes_that_count_something_else_are_not_calculated_with() {
        let weighted = ScalingGroup { is_weighted: true, ..group() };
        assert_eq!(left(&weighted, &ids(1..=1)), None);
        let spare = |state: &str| ScalingGroup {
            warm_pool: Some(WarmPool { min_size: 1, state: Some(state.to_owned()), size: None }),
            ..group()
        };
        assert_eq!(left(&spare("Stopped"), &ids(1..=1)), Some((5, 4)));
        assert_eq!(left(&spare("Running"), &ids(1..=1)), None);
    }

    #[test]
    fn only_instances_in_service_are_counted() {
        assert_eq!(left(&group(), &ids(6..=7)), None, "i-7 is in standby");
        assert_eq!(left(&group(), &ids(7..=7)), None);
        let unread = ScalingGroup::sample();
        assert_eq!(left(&unread, &ids(1..=1)), None);
        // It starts one, or ends two.
        for number in [5, 8] {
            let changing =
                ScalingGroup { in_service: Some(ids(1..=number)), ..ScalingGroup::sample() };
            assert_eq!(left(&changing, &ids(1..=1)), None, "{number} of 6");
        }
    }

    #[test]
    fn the_minimum_of_an_environment_follows_its_vcpus() {
        let environment = BatchEnvironment {
            name: "train".to_owned(),
            min_vcpus: 16,
            desired_vcpus: 24,
            instance_types: Vec::new(),
            is_spot: false,
            queues: None,
        };
        // 24 − 8 = 16 allows the minimum, 24 − 12 = 12 does not.
        let sizes = |left: BatchEnvironment| (left.min_vcpus, left.desired_vcpus);
        let reduced = [0, 8, 12, 24, 28].map(|vcpus| environment.without(vcpus).map(sizes));
        let left = [(16, 24), (16, 16), (12, 12), (0, 0)].map(Some);
        let expected: Vec<_> = left.into_iter().chain([None]).collect();
        assert_eq!(reduced.to_vec(), expected);
    }
}
