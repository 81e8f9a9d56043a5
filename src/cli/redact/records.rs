//! What every text of a record names.

use super::masks::{Masks, Named};
use super::vocabulary::{
    FLEET_WORDS, OPINIONS, OWNER_KINDS, is_device_resource, is_mig_profile, state_transition,
};
use crate::domain::{
    Address, AwsOpinion, BatchEnvironment, CapacityReservation, Claim, Clusters, Commitments,
    ComponentHost, Copies, DeviceUnit, DeviceUse, Devices, GpuOffer, Holder, InferenceComponent,
    Instance, InstanceShape, Managed, Node, NodeDevices, Owner, ProfiledRun, ReservedInstances,
    SavingsPlan, ScalingGroup, StorageResource, TagFilter, TrainingJob, TrainingPlan, Volume,
    WarmPool,
};
use crate::usage::{Estate, Series};

/// What names somebody.
pub(super) trait Record {
    fn mask(&mut self, masks: &mut Masks);
}

impl<T: Record> Record for Option<T> {
    fn mask(&mut self, masks: &mut Masks) {
        self.iter_mut().for_each(|record| record.mask(masks));
    }
}

impl<T: Record> Record for Vec<T> {
    fn mask(&mut self, masks: &mut Masks) {
        self.iter_mut().for_each(|record| record.mask(masks));
    }
}

/// Each type with what its texts name, what contains no name, its parts that are records, and
/// what else is done: a new field does not compile before one of these is decided.
macro_rules! records {
    ($($type:ident {
        names $($field:ident $named:ident)*;
        stays $($stays:ident)*;
        parts $($part:ident)*;
        $(|$masks:ident, $($also:ident)+| $also_do:block)?
    })+) => {$(
        impl Record for $type {
            fn mask(&mut self, masks: &mut Masks) {
                let Self { $($field,)* $($stays: _,)* $($part,)* $($($also,)+)? } = self;
                $(masks.all(Named::$named, $field);)*
                $($part.mask(masks);)*
                $(let $masks = masks; $also_do)?
            }
        }
    )+};
}

records! {
    Estate {
        names accounts Account regions Region;
        stays as_of window source period_seconds;
        parts tag_filters instances out_of_scope scaling_groups;
        // In this order, which is that of the masks.
        |masks, shapes usage metrics profiles clusters managed jobs prices commitments opinions
            gaps api| {
            scaling_groups.sort_by(|left, right| left.key().cmp(&right.key()));
            *shapes = std::mem::take(shapes)
                .into_values()
                .map(|mut shape| {
                    shape.mask(masks);
                    (shape.instance_type.clone(), shape)
                })
                .collect();
            usage.rename(|mut id| {
                masks.all(Named::Instance, &mut id);
                id
            });
            metrics.mask(masks);
            profiles.mask(masks);
            clusters.mask(masks);
            managed.mask(masks);
            managed.sort();
            jobs.mask(masks);
            *prices = masks.prices(prices);
            commitments.mask(masks);
            opinions.mask(masks);
            opinions.sort_by(|left, right| left.key().cmp(&right.key()));
            for gap in gaps {
                *gap = masks.gap(gap);
            }
            api.by_operation = std::mem::take(&mut api.by_operation)
                .into_iter()
                .map(|(operation, calls)| (masks.masked(Named::Operation, &operation), calls))
                .collect();
        }
    }
    TagFilter {
        names; stays is_excluded; parts;
        |masks, key value| {
            (*key, *value) = masks.tag(std::mem::take(key), std::mem::take(value));
        }
    }
    Instance {
        names id Instance account Account region Region zone Zone instance_type Type
            capacity_reservation_id Commitment capacity_block_id Commitment
            auto_scaling_group Name private_dns_name Host;
        stays state lifecycle operating_system tenancy launch_time attached_time;
        parts volumes addresses;
        |masks, state_transition_reason tags| {
            if let Some(reason) = state_transition_reason {
                *reason = state_transition(reason);
            }
            masks.tags(tags);
        }
    }
    Volume {
        names id Volume; stays size_gib; parts;
        |masks, volume_type| {
            masks.unless(|text| StorageResource::NAMES.contains(&text), Named::Type, volume_type);
         }
    }
    Address { names id Address; stays; parts; }
    ScalingGroup {
        names name Name account Account region Region instance_types Type;
        stays desired min max is_weighted on_demand_base on_demand_above_base_percent;
        parts batch;
        |masks, spot_allocation warm_pool suspended protected in_service| {
            masks.unless(|text| FLEET_WORDS.contain(text), Named::Value, suspended);
            suspended.sort();
            warm_pool.mask(masks);
            masks.unless(|text| FLEET_WORDS.contain(text), Named::Value, spot_allocation);
            masks.all(Named::Instance, in_service);
            in_service.iter_mut().for_each(|ids| ids.sort());
            masks.all(Named::Instance, protected);
            protected.sort();
        }
    }
    WarmPool {
        names; stays min_size size; parts;
        |masks, state| { masks.unless(|text| FLEET_WORDS.contain(text), Named::Value, state); }
    }
    BatchEnvironment {
        names name Name instance_types Type; stays min_vcpus desired_vcpus is_spot; parts;
        |masks, queues| {
            masks.all(Named::Name, queues);
            queues.iter_mut().for_each(|queue| queue.sort());
        }
    }
    InstanceShape {
        names instance_type Type;
        stays accelerator vcpu memory_mib architecture local_storage_gb efa;
        parts gpu;
    }
    GpuOffer { names model Gpu; stays share vram_mib; parts; }
    Series {
        names instance Instance;
        stays gpu metric statistic source joined_by points rejected; parts;
    }
    ProfiledRun {
        names instance Instance;
        stays start end covers_a_command samples gpu_mean_percent cpu_p95_percent memory_p95_mib;
        parts;
    }
    Clusters { names; stays; parts nodes claims uses; }
    Node {
        names name Host cluster Account machine Instance pool Name;
        stays scheduler physical price_class pool_maker cpu_millicores memory_mib pods
            cpu_only_pods is_ready is_cordoned;
        parts;
        |masks, provider_id devices| {
            // What it says of the machine is in the machine's own id, with the masks of its
            // account and its name.
            *provider_id = None;
            *devices = std::mem::take(devices)
                .into_iter()
                .map(|(mut resource, mut offered)| {
                    masks.resource(&mut resource);
                    offered.mask(masks);
                    (resource, offered)
                })
                .collect();
        }
    }
    NodeDevices { names; stays capacity allocatable; parts unit; }
    Claim { names machine Instance; stays state since; parts holder devices; }
    Devices {
        names; stays count; parts;
        |masks, resource unit| {
            masks.resource(resource);
            unit.mask(masks);
        }
    }
    Holder {
        names namespace Name pod Name; stays placement; parts owner;
        |masks, labels| { masks.tags(labels); }
    }
    Owner {
        names name Name; stays; parts;
        |masks, kind| { masks.unless(|text| OWNER_KINDS.contain(text), Named::Key, kind); }
    }
    DeviceUse {
        names machine Instance namespace Name pod Name;
        stays gpu n_samples sample_seconds mean_percent max_percent; parts;
    }
    Managed { names; stays; parts hosts plans; }
    ComponentHost {
        names account Account region Region group Name; stays; parts;
        |masks, components| {
            components.mask(masks);
            components.sort_by(|left, right| left.name.cmp(&right.name));
        }
    }
    InferenceComponent { names name Name; stays desired_copies; parts copies; }
    Copies { names instance_type Type; stays count gpus_each; parts; }
    TrainingPlan {
        names id Commitment account Account region Region instances Type;
        stays status total in_use start end duration_minutes currency upfront_fee; parts;
    }
    TrainingJob {
        names name Name account Account region Region instances Type plan Commitment;
        stays status started ended billable_seconds training_seconds warm_pool_seconds is_spot
            has_checkpoints;
        parts;
    }
    Commitments {
        names skipped_accounts Account;
        stays is_unshared; parts reserved_instances savings_plans capacity_reservations;
    }
    ReservedInstances {
        names id Commitment account Account region Region zone Zone instance_type Type;
        stays operating_system tenancy count class payment start end currency upfront
            recurring_hourly;
        parts;
    }
    SavingsPlan {
        names id Commitment account Account region Region family Family;
        stays kind currency commitment_hourly term start end; parts;
    }
    CapacityReservation {
        names id Commitment account Account region Region zone Zone instance_type Type;
        stays operating_system tenancy total available capacity_block start committed_until end;
        parts;
        |masks, tags| { masks.tags(tags); }
    }
    AwsOpinion {
        names to Type; stays monthly_savings; parts;
        |masks, instances action| {
            masks.all(Named::Instance, instances);
            instances.sort();
            masks.unless(|text| OPINIONS.contain(text), Named::Value, action);
        }
    }
}

impl Record for DeviceUnit {
    fn mask(&mut self, masks: &mut Masks) {
        if let Self::Slice { profile, .. } = self {
            masks.unless(is_mig_profile, Named::Gpu, profile);
        }
    }
}

impl Masks {
    fn resource(&mut self, resource: &mut String) {
        self.unless(is_device_resource, Named::Gpu, resource);
    }
}
