//! Objects of dynamic resource allocation: the devices of nodes, and claims of them.

use super::values::{Parts, or_default};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "the spec of a resource slice")]
pub(super) struct SliceSpec {
    pub driver: String,
    #[serde(deserialize_with = "or_default")]
    pub node_name: String,
    pub pool: Pool,
    #[serde(deserialize_with = "or_default")]
    pub devices: Parts<Device>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(
    rename_all = "camelCase",
    default,
    expecting = "a pool with `name`, `generation` and `resourceSliceCount`"
)]
pub(super) struct Pool {
    pub name: String,
    pub generation: i64,
    pub resource_slice_count: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "a device with `name` and `attributes`")]
pub(super) struct Device {
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    attributes: BTreeMap<String, Attribute>,
    /// Where the first version of the API has the attributes.
    #[serde(deserialize_with = "or_default")]
    basic: BasicDevice,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "a device with `attributes`")]
struct BasicDevice {
    #[serde(deserialize_with = "or_default")]
    attributes: BTreeMap<String, Attribute>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "an attribute with its type and value")]
struct Attribute {
    string: Option<String>,
}

impl Device {
    /// A text that its driver says of it, whether the name has the driver's domain or not.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let attributes = self.attributes.iter().chain(&self.basic.attributes);
        let mut named = attributes.filter(|(key, _)| {
            let plain = key.rsplit_once('/').map_or(key.as_str(), |(_, plain)| plain);
            plain == name
        });
        named.find_map(|(_, attribute)| attribute.string.as_deref())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "the status of a resource claim")]
pub(super) struct DeviceClaimStatus {
    #[serde(deserialize_with = "or_default")]
    pub allocation: Allocation,
    #[serde(deserialize_with = "or_default")]
    pub reserved_for: Parts<Consumer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "an allocation with `devices`")]
pub(super) struct Allocation {
    #[serde(deserialize_with = "or_default")]
    pub devices: AllocatedDevices,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "allocated devices with `results`")]
pub(super) struct AllocatedDevices {
    #[serde(deserialize_with = "or_default")]
    pub results: Parts<AllocatedDevice>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(
    rename_all = "camelCase",
    default,
    expecting = "a device with `driver`, `pool` and `device`"
)]
pub(super) struct AllocatedDevice {
    pub driver: String,
    pub pool: String,
    pub device: String,
    #[serde(deserialize_with = "or_default")]
    pub admin_access: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "a consumer with `resource` and `name`")]
pub(super) struct Consumer {
    pub resource: String,
    pub name: String,
}

/// What a claim asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "the spec of a resource claim")]
pub(super) struct DeviceClaimSpec {
    #[serde(deserialize_with = "or_default")]
    pub devices: RequestedDevices,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "requested devices with `requests`")]
pub(super) struct RequestedDevices {
    #[serde(deserialize_with = "or_default")]
    pub requests: Parts<DeviceRequest>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(
    rename_all = "camelCase",
    default,
    expecting = "a request with `exactly` or `firstAvailable`"
)]
pub(super) struct DeviceRequest {
    exactly: Option<DeviceClassRequest>,
    #[serde(deserialize_with = "or_default")]
    first_available: Parts<DeviceClassRequest>,
    // Where the first version of the API has what is in `exactly` since.
    #[serde(deserialize_with = "or_default")]
    device_class_name: String,
    #[serde(deserialize_with = "or_default")]
    allocation_mode: String,
    count: Option<u32>,
    #[serde(deserialize_with = "or_default")]
    admin_access: bool,
}

/// Devices of a class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "a request with `deviceClassName`")]
pub(super) struct DeviceClassRequest {
    pub device_class_name: String,
    #[serde(deserialize_with = "or_default")]
    allocation_mode: String,
    count: Option<u32>,
    #[serde(deserialize_with = "or_default")]
    pub admin_access: bool,
}

impl DeviceClassRequest {
    /// How many; absent for all that there are on a node.
    pub(super) fn count(&self) -> Option<u32> {
        let is_counted = ["", "ExactCount"].contains(&self.allocation_mode.as_str());
        is_counted.then(|| self.count.unwrap_or(1))
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
