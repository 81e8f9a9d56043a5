//! Auto Scaling groups: who starts a new instance in place of one that ended.

use super::{Instance, Provider, ResourceId};

/// Instances that a group keeps stopped, to start them faster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarmPool {
    /// The least number that it keeps.
    pub min_size: u32,
    /// The state that they are kept in, such as `Stopped`.
    pub state: Option<String>,
    /// How many there are; absent where that was not reported.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchEnvironment {
    pub name: String,
    /// vCPUs that it keeps without jobs, enabled or not.
    pub min_vcpus: u32,
    pub desired_vcpus: u32,
    /// Types and families, in its order.
    pub instance_types: Vec<String>,
    pub is_spot: bool,
    /// Names of the enabled job queues that place jobs in it, ascending; absent where they
    /// were not read.
    pub queues: Option<Vec<String>>,
}

impl BatchEnvironment {
    /// The minimum without some of its vCPUs; absent where it has fewer.
    pub fn min_without(&self, vcpus: u32) -> Option<u32> {
        let left = self.desired_vcpus.checked_sub(vcpus)?;
        Some(self.min_vcpus.min(left))
    }
}

/// An Auto Scaling group as its settings say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalingGroup {
    pub name: String,
    pub account: String,
    pub region: String,
    pub desired: u32,
    pub min: u32,
    pub max: u32,
    /// Whether its sizes count something else than instances: weights, vCPUs or memory.
    pub is_weighted: bool,
    /// The types of its mixed instances policy, in its order; empty where the launch template
    /// says the type.
    pub instance_types: Vec<String>,
    /// Instances that it buys on demand before any other; absent without a mixed instances
    /// policy, as are the next two.
    pub on_demand_base: Option<u32>,
    /// Share of the others that it buys on demand.
    pub on_demand_above_base_percent: Option<u32>,
    /// How it chooses among spot markets, such as `price-capacity-optimized`.
    pub spot_allocation: Option<String>,
    pub warm_pool: Option<WarmPool>,
    /// Processes that are suspended, such as `Launch`, ascending.
    pub suspended: Vec<String>,
    /// Instances that it does not end by itself, ascending.
    pub protected: Vec<ResourceId>,
    /// Instances in service, ascending: those that its desired capacity counts, unless it
    /// changes right now. Absent where they were not read.
    pub in_service: Option<Vec<ResourceId>>,
    /// Who set it up and sets its sizes; absent unless AWS Batch was read.
    pub batch: Option<BatchEnvironment>,
}

impl ScalingGroup {
    /// Desired capacity and minimum size without some of its instances; absent where its
    /// sizes do not count the instances that run, or it has fewer.
    pub fn without(&self, instances: u32) -> Option<(u32, u32)> {
        let pool = self.warm_pool.as_ref();
        if self.is_weighted || pool.is_some_and(WarmPool::keeps_running) {
            return None;
        }
        let desired = self.desired.checked_sub(instances)?;
        Some((desired, self.min.min(desired)))
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

#[cfg(test)]
impl ScalingGroup {
    /// A group of a test: `trainers`, which keeps six of at least four and at most eight.
    pub(crate) fn sample() -> Self {
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

    #[test]
    fn the_minimum_follows_the_capacity_and_never_rises() {
        let group = ScalingGroup::sample();
        assert_eq!(group.without(1), Some((5, 4)));
        assert_eq!(group.without(2), Some((4, 4)));
        assert_eq!(group.without(5), Some((1, 1)));
        assert_eq!(group.without(6), Some((0, 0)));
        assert_eq!(group.without(7), None);
        let weighted = ScalingGroup {
            is_weighted: true,
            ..ScalingGroup::sample()
        };
        assert_eq!(weighted.without(1), None);
        let spare = |state: &str| ScalingGroup {
            warm_pool: Some(WarmPool {
                min_size: 1,
                state: Some(state.to_owned()),
                size: None,
            }),
            ..ScalingGroup::sample()
        };
        assert_eq!(spare("Stopped").without(1), Some((5, 4)));
        assert_eq!(spare("Running").without(1), None);
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
        let found = [0, 8, 12, 24, 28].map(|vcpus| environment.min_without(vcpus));
        assert_eq!(found, [Some(16), Some(16), Some(12), Some(0), None]);
    }
}
