//! What every text of a record names.

use super::masks::{Masks, Named};
use super::vocabulary::state_transition;
use crate::domain::{
    Address, AwsOpinion, BatchEnvironment, CapacityReservation, Claim, Clusters, Commitments,
    ComponentHost, Copies, DeviceUnit, DeviceUse, Devices, GpuOffer, Holder, InferenceComponent,
    Instance, InstanceShape, Managed, Node, NodeDevices, Owner, ProfiledRun, ReservedInstances,
    SavingsPlan, ScalingGroup, TagFilter, TrainingJob, TrainingPlan, Volume, WarmPool,
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

/// Each type with the kinds of its fields, in the order of the masks: what their texts name, `stays`
/// for those without a name, `tags` and `record`. Then what is done with fields of no kind, and what
/// follows. A new field does not compile before one of these is decided.
macro_rules! records {
    (@stays $masks:ident $field:ident) => { let _ = $field; };
    (@tags $masks:ident $field:ident) => { $masks.tags($field); };
    (@record $masks:ident $field:ident) => { $field.mask($masks); };
    (@$named:ident $masks:ident $field:ident) => { $masks.all(Named::$named, $field); };
    ($($type:ident {
        $($kind:ident $($field:ident)+;)*
        $(|$masks:ident, $($also:ident)+| $also_do:block)?
        $(=> $then:block)?
    })+) => {$(
        impl Record for $type {
            fn mask(&mut self, masks: &mut Masks) {
                let Self { $($($field,)+)* $($($also,)+)? } = self;
                $($(records! { @$kind masks $field })+)*
                $(let $masks = masks; $also_do)?
                $($then)?
            }
        }
    )+};
}

records! {
    Estate {
        Account accounts; Region regions;
        stays as_of window source period_seconds;
        record tag_filters instances out_of_scope scaling_groups;
        |masks, shapes usage metrics profiles clusters managed jobs prices commitments opinions
            gaps api| {
            scaling_groups.sort_by(|left, right| left.key().cmp(&right.key()));
            let mask = |mut shape: InstanceShape| {
                shape.mask(masks);
                (shape.instance_type.clone(), shape)
            };
            *shapes = std::mem::take(shapes).into_values().map(mask).collect();
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
            gaps.iter_mut().for_each(|gap| *gap = masks.gap(gap));
            let mask = |(operation, calls): (String, _)| {
                (masks.masked(Named::Operation, &operation), calls)
            };
            api.by_operation = std::mem::take(&mut api.by_operation).into_iter().map(mask).collect();
        }
    }
    TagFilter {
        stays is_excluded;
        |masks, key value| {
            (*key, *value) = masks.tag(std::mem::take(key), std::mem::take(value));
        }
    }
    Instance {
        Instance id; Account account; Region region; Zone zone; Type instance_type;
        Commitment capacity_reservation_id capacity_block_id;
        Name auto_scaling_group; Host private_dns_name;
        stays state lifecycle operating_system tenancy launch_time attached_time;
        record volumes addresses; tags tags;
        |_masks, state_transition_reason| {
            state_transition_reason.iter_mut().for_each(|reason| *reason = state_transition(reason));
        }
    }
    Volume { Volume id; stays size_gib; VolumeType volume_type; }
    Address { Address id; }
    ScalingGroup {
        Name name; Account account; Region region; Type instance_types;
        stays desired min max is_weighted on_demand_base on_demand_above_base_percent;
        record batch; FleetWord suspended; record warm_pool; FleetWord spot_allocation;
        Instance in_service protected;
        => {
            suspended.sort();
            in_service.iter_mut().for_each(|ids| ids.sort());
            protected.sort();
        }
    }
    WarmPool { stays min_size size; FleetWord state; }
    BatchEnvironment {
        Name name; Type instance_types; stays min_vcpus desired_vcpus is_spot; Name queues;
        => { queues.iter_mut().for_each(|queue| queue.sort()); }
    }
    InstanceShape {
        Type instance_type; record gpu;
        stays accelerator vcpu memory_mib architecture local_storage_gb efa;
    }
    GpuOffer { Gpu model; stays share vram_mib; }
    Series { Instance instance; stays gpu metric statistic source joined_by points rejected; }
    ProfiledRun {
        Instance instance;
        stays start end covers_a_command samples gpu_mean_percent cpu_p95_percent memory_p95_mib;
    }
    Clusters { record nodes claims uses; }
    Node {
        Host name; Account cluster; Instance machine; Name pool;
        stays scheduler physical price_class pool_maker cpu_millicores memory_mib pods
            cpu_only_pods is_ready is_cordoned;
        |masks, provider_id devices| {
            // What it says of the machine is in the machine's own id, with the masks of its
            // account and its name.
            *provider_id = None;
            let mask = |(mut resource, mut offered): (String, NodeDevices)| {
                masks.all(Named::DeviceResource, &mut resource);
                offered.mask(masks);
                (resource, offered)
            };
            *devices = std::mem::take(devices).into_iter().map(mask).collect();
        }
    }
    NodeDevices { stays capacity allocatable; record unit; }
    Claim { Instance machine; stays state since; record holder devices; }
    Devices { stays count; DeviceResource resource; record unit; }
    Holder { Name namespace pod; stays placement; record owner; tags labels; }
    Owner { Name name; OwnerKind kind; }
    DeviceUse {
        Instance machine; Name namespace pod;
        stays gpu n_samples sample_seconds mean_percent max_percent;
    }
    Managed { record hosts plans; }
    ComponentHost {
        Account account; Region region; Name group; record components;
        => { components.sort_by(|left, right| left.name.cmp(&right.name)); }
    }
    InferenceComponent { Name name; stays desired_copies; record copies; }
    Copies { Type instance_type; stays count gpus_each; }
    TrainingPlan {
        Commitment id; Account account; Region region; Type instances;
        stays status total in_use start end duration_minutes currency upfront_fee;
    }
    TrainingJob {
        Name name; Account account; Region region; Type instances; Commitment plan;
        stays status started ended billable_seconds training_seconds warm_pool_seconds is_spot
            has_checkpoints;
    }
    Commitments {
        Account skipped_accounts; stays is_unshared;
        record reserved_instances savings_plans capacity_reservations;
    }
    ReservedInstances {
        Commitment id; Account account; Region region; Zone zone; Type instance_type;
        stays operating_system tenancy count class payment start end currency upfront
            recurring_hourly;
    }
    SavingsPlan {
        Commitment id; Account account; Region region; Family family;
        stays kind currency commitment_hourly term start end;
    }
    CapacityReservation {
        Commitment id; Account account; Region region; Zone zone; Type instance_type;
        stays operating_system tenancy total available capacity_block start committed_until end;
        tags tags;
    }
    AwsOpinion {
        Type to; stays monthly_savings; Instance instances; Opinion action;
        => { instances.sort(); }
    }
}

impl Record for DeviceUnit {
    fn mask(&mut self, masks: &mut Masks) {
        if let Self::Slice { profile, .. } = self {
            masks.all(Named::MigProfile, profile);
        }
    }
}
