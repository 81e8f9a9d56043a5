//! Inference components and training plans.

use super::{Masks, Named};
use crate::domain::{ComponentHost, Copies, InferenceComponent, Managed, TrainingPlan};

impl Masks {
    pub(super) fn managed(&mut self, managed: &mut Managed) {
        let Managed { hosts, plans } = managed;
        for host in hosts {
            self.host(host);
        }
        for plan in plans {
            self.plan(plan);
        }
        managed.sort();
    }

    fn host(&mut self, host: &mut ComponentHost) {
        let ComponentHost {
            account,
            region,
            group,
            components,
        } = host;
        self.mask(Named::Account, account);
        self.mask(Named::Region, region);
        self.name(group);
        for one in components.iter_mut() {
            let InferenceComponent {
                name,
                desired_copies: _,
                copies,
            } = one;
            self.name(name);
            for one in copies {
                let Copies {
                    instance_type,
                    count: _,
                    gpus_each: _,
                } = one;
                self.each(Named::Type, instance_type);
            }
        }
        components.sort_by(|left, right| left.name.cmp(&right.name));
    }

    fn plan(&mut self, plan: &mut TrainingPlan) {
        let TrainingPlan {
            id,
            account,
            region,
            status: _,
            instances,
            total: _,
            in_use: _,
            start: _,
            end: _,
            duration_minutes: _,
            upfront_fee: _,
        } = plan;
        self.mask(Named::Commitment, id);
        self.mask(Named::Account, account);
        self.mask(Named::Region, region);
        for (instance_type, _) in instances {
            self.mask(Named::Type, instance_type);
        }
    }
}
