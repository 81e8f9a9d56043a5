//! Auto Scaling groups, and what AWS advises.

use super::{Masks, Named};
use crate::domain::{AwsOpinion, BatchEnvironment, ScalingGroup, WarmPool};

/// What AWS calls processes, states of warm pools, and ways to choose among spot markets.
const WORDS: &[&str] = &[
    "AZRebalance",
    "AddToLoadBalancer",
    "AlarmNotification",
    "HealthCheck",
    "Hibernated",
    "InstanceRefresh",
    "Launch",
    "ReplaceUnhealthy",
    "Running",
    "ScheduledActions",
    "Stopped",
    "Terminate",
    "capacity-optimized",
    "capacity-optimized-prioritized",
    "lowest-price",
    "price-capacity-optimized",
];

/// What AWS calls its recommendations.
const ACTIONS: &[&str] = &[
    "Delete",
    "MigrateToGraviton",
    "Rightsize",
    "ScaleIn",
    "Stop",
    "Upgrade",
];

impl Masks {
    pub(super) fn opinion(&mut self, opinion: &mut AwsOpinion) {
        let AwsOpinion {
            instances,
            action,
            to,
            monthly_savings: _,
        } = opinion;
        for instance in instances.iter_mut() {
            self.instance_id(instance);
        }
        instances.sort();
        if !ACTIONS.contains(&action.as_str()) {
            self.mask(Named::Value, action);
        }
        self.each(Named::Type, to);
    }

    pub(super) fn scaling_group(&mut self, group: &mut ScalingGroup) {
        let ScalingGroup {
            name,
            account,
            region,
            desired: _,
            min: _,
            max: _,
            is_weighted: _,
            instance_types,
            on_demand_base: _,
            on_demand_above_base_percent: _,
            spot_allocation,
            warm_pool,
            suspended,
            protected,
            in_service,
            batch,
        } = group;
        self.name(name);
        self.mask(Named::Account, account);
        self.mask(Named::Region, region);
        for instance_type in instance_types {
            self.mask(Named::Type, instance_type);
        }
        let state = warm_pool.as_mut().and_then(|pool| {
            let WarmPool {
                min_size: _,
                state,
                size: _,
            } = pool;
            state.as_mut()
        });
        for word in suspended.iter_mut().chain(state).chain(spot_allocation) {
            if !WORDS.contains(&word.as_str()) {
                self.mask(Named::Value, word);
            }
        }
        suspended.sort();
        for instances in in_service.iter_mut().chain([protected]) {
            for instance in instances.iter_mut() {
                self.instance_id(instance);
            }
            instances.sort();
        }
        if let Some(batch) = batch {
            self.environment(batch);
        }
    }

    fn environment(&mut self, environment: &mut BatchEnvironment) {
        let BatchEnvironment {
            name,
            min_vcpus: _,
            desired_vcpus: _,
            instance_types,
            is_spot: _,
            queues,
        } = environment;
        self.name(name);
        for instance_type in instance_types {
            self.mask(Named::Type, instance_type);
        }
        for queue in queues.iter_mut().flatten() {
            self.name(queue);
        }
        queues.iter_mut().for_each(|all| all.sort());
    }
}
