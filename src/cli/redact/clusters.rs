//! Nodes, pods and who made them.

use super::vocabulary::{is_device_resource, is_mig_profile, is_owner_kind};
use super::{Masks, Named};
use crate::domain::{
    Claim, Clusters, DeviceUnit, DeviceUse, Devices, Holder, Node, NodeDevices, Owner,
};

impl Masks {
    pub(super) fn clusters(&mut self, clusters: &mut Clusters) {
        let Clusters {
            nodes,
            claims,
            uses,
        } = clusters;
        for node in nodes {
            self.node(node);
        }
        for claim in claims {
            let Claim {
                holder,
                devices,
                state: _,
                since: _,
                machine,
            } = claim;
            self.holder(holder);
            let Devices {
                resource,
                unit,
                count: _,
            } = devices;
            self.resource(resource);
            self.unit(unit);
            if let Some(machine) = machine {
                self.instance_id(machine);
            }
        }
        for one in uses {
            let DeviceUse {
                machine,
                gpu: _,
                namespace,
                pod,
                n_samples: _,
                sample_seconds: _,
                mean_percent: _,
                max_percent: _,
            } = one;
            self.instance_id(machine);
            self.name(namespace);
            self.name(pod);
        }
    }

    fn node(&mut self, node: &mut Node) {
        let Node {
            name,
            scheduler: _,
            provider_id,
            cluster,
            machine,
            physical: _,
            devices,
            price_class: _,
            pool,
            pool_maker: _,
            cpu_millicores: _,
            memory_mib: _,
            pods: _,
            cpu_only_pods: _,
            is_ready: _,
            is_cordoned: _,
        } = node;
        self.mask(Named::Host, name);
        // What it says of the machine is in the machine's own id, with the masks of its
        // account and its name.
        *provider_id = None;
        self.each(Named::Account, cluster);
        self.instance_id(machine);
        if let Some(pool) = pool {
            self.name(pool);
        }
        *devices = std::mem::take(devices)
            .into_iter()
            .map(|(mut resource, mut offered)| {
                let NodeDevices {
                    unit,
                    capacity: _,
                    allocatable: _,
                } = &mut offered;
                self.resource(&mut resource);
                self.unit(unit);
                (resource, offered)
            })
            .collect();
    }

    fn holder(&mut self, holder: &mut Holder) {
        let Holder {
            namespace,
            pod,
            owner,
            labels,
            placement: _,
        } = holder;
        self.name(namespace);
        if let Some(pod) = pod {
            self.name(pod);
        }
        if let Some(Owner { kind, name }) = owner {
            if !is_owner_kind(kind) {
                self.mask(Named::Key, kind);
            }
            self.name(name);
        }
        *labels = std::mem::take(labels)
            .into_iter()
            .map(|(key, value)| self.tag(key, value))
            .collect();
    }

    fn resource(&mut self, resource: &mut String) {
        if !is_device_resource(resource) {
            self.mask(Named::Gpu, resource);
        }
    }

    fn unit(&mut self, unit: &mut DeviceUnit) {
        if let DeviceUnit::Slice { profile, .. } = unit
            && !is_mig_profile(profile)
        {
            self.mask(Named::Gpu, profile);
        }
    }
}
