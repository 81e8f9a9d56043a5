//! Training jobs.

use super::{Masks, Named};
use crate::domain::TrainingJob;

impl Masks {
    pub(super) fn job(&mut self, job: &mut TrainingJob) {
        let TrainingJob {
            name,
            account,
            region,
            instances,
            status: _,
            started: _,
            ended: _,
            billable_seconds: _,
            training_seconds: _,
            warm_pool_seconds: _,
            is_spot: _,
            has_checkpoints: _,
            plan,
        } = job;
        self.name(name);
        self.mask(Named::Account, account);
        self.mask(Named::Region, region);
        for (instance_type, _) in instances {
            self.mask(Named::Type, instance_type);
        }
        self.each(Named::Commitment, plan);
    }
}
