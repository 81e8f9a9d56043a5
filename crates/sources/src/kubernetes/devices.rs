//! Objects of dynamic resource allocation: the devices of nodes, and claims of them.

use super::values::{Parts, wire};
use serde::Deserialize;
use std::collections::BTreeMap;

wire! {
    struct SliceSpec = "the spec of a resource slice" {
        [driver: String, pool: Pool]
        node_name: String,
        devices: Parts<Device>,
    }

    struct Pool = "a pool with `name`, `generation` and `resourceSliceCount`" {
        [name: String, generation: i64, resource_slice_count: u64]
    }

    struct Device = "a device with `name` and `attributes`" {
        [name: String]
        attributes: BTreeMap<String, Attribute>,
        /// Where the first version of the API has the attributes.
        basic: BasicDevice,
    }

    struct BasicDevice = "a device with `attributes`" {
        attributes: BTreeMap<String, Attribute>,
    }

    struct Attribute = "an attribute with its type and value" {
        string: Option<String>,
    }

    struct DeviceClaimStatus = "the status of a resource claim" {
        allocation: Allocation,
        reserved_for: Parts<Consumer>,
    }

    struct Allocation = "an allocation with `devices`" {
        devices: AllocatedDevices,
    }

    struct AllocatedDevices = "allocated devices with `results`" {
        results: Parts<AllocatedDevice>,
    }

    struct AllocatedDevice = "a device with `driver`, `pool` and `device`" {
        [driver: String, pool: String, device: String]
        admin_access: bool,
    }

    struct Consumer = "a consumer with `resource` and `name`" {
        [resource: String, name: String]
    }

    /// What a claim asks for.
    struct DeviceClaimSpec = "the spec of a resource claim" {
        devices: RequestedDevices,
    }

    struct RequestedDevices = "requested devices with `requests`" {
        requests: Parts<DeviceRequest>,
    }

    struct DeviceRequest = "a request with `exactly` or `firstAvailable`" {
        exactly: Option<DeviceClassRequest>,
        first_available: Parts<DeviceClassRequest>,
        /// Where the first version of the API has what is in `exactly` since.
        device_class_name: String,
        allocation_mode: String,
        count: Option<u32>,
        admin_access: bool,
    }

    /// Devices of a class.
    #[derive(Clone, PartialEq, Eq)]
    struct DeviceClassRequest = "a request with `deviceClassName`" {
        [device_class_name: String]
        allocation_mode: String,
        count: Option<u32>,
        admin_access: bool,
    }
}

impl Device {
    /// A text that its driver says of it, whether the name has the driver's domain or not.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let mut named = self.attributes.iter().chain(&self.basic.attributes).filter(|(key, _)| {
            key.rsplit_once('/').map_or(key.as_str(), |(_, plain)| plain) == name
        });
        named.find_map(|(_, attribute)| attribute.string.as_deref())
    }
}

impl DeviceClassRequest {
    /// How many; absent for all that there are on a node.
    pub(super) fn count(&self) -> Option<u32> {
        ["", "ExactCount"].contains(&self.allocation_mode.as_str()).then(|| self.count.unwrap_or(1))
    }
}

impl DeviceRequest {
    /// Any one of these is enough.
    pub(super) fn alternatives(&self) -> Vec<DeviceClassRequest> {
        if let Some(exactly) = &self.exactly {
            return vec![exactly.clone()];
        }
        if !self.first_available.0.is_empty() {
            return self.first_available.0.clone();
        }
        vec![DeviceClassRequest {
            device_class_name: self.device_class_name.clone(),
            allocation_mode: self.allocation_mode.clone(),
            count: self.count,
            admin_access: self.admin_access,
        }]
    }
}
