//! Devices that are allocated one by one (dynamic resource allocation): what a node has,
//! and who holds which of them.

use super::devices::Device;
use super::objects::{DeviceClaimObject, SliceObject};
use super::resources::{model_of_product, slices_of, slices_of_card};
use crate::domain::{DeviceUnit, Devices, GpuModel};
use std::collections::{BTreeMap, BTreeSet};

/// Drivers of accelerators.
const DRIVERS: [&str; 3] = ["gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com"];

/// Driver, pool and name of a device.
type Key = (String, String, String);

#[derive(Debug)]
struct Known {
    node: String,
    unit: DeviceUnit,
}

/// What slices say of the devices of nodes.
#[derive(Debug, Default)]
pub(super) struct Listed {
    devices: BTreeMap<Key, Known>,
    nodes: BTreeMap<String, NodeCards>,
}

/// The cards of a node.
#[derive(Debug)]
pub(super) struct NodeCards {
    pub driver: String,
    /// By unique id: a driver may list a card and its MIG instances side by side.
    cards: BTreeSet<String>,
    pub model: Option<GpuModel>,
}

impl NodeCards {
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.cards.len()).unwrap_or(u32::MAX)
    }
}

impl Listed {
    /// Of every pool its newest generation, unless slices of that are missing.
    pub(super) fn of<'a>(slices: impl Iterator<Item = &'a SliceObject>) -> Self {
        let mut pools: BTreeMap<(&str, &str), Vec<&SliceObject>> = BTreeMap::new();
        for slice in slices.filter(|slice| is_accelerator(&slice.spec.driver)) {
            let key = (slice.spec.driver.as_str(), slice.spec.pool.name.as_str());
            pools.entry(key).or_default().push(slice);
        }
        let mut listed = Self::default();
        for all in pools.into_values() {
            let newest = all.iter().map(|slice| slice.spec.pool.generation).max();
            let of_newest = |slice: &&&SliceObject| Some(slice.spec.pool.generation) == newest;
            let newest: Vec<&SliceObject> = all.iter().filter(of_newest).copied().collect();
            let whole = newest.first().map(|slice| slice.spec.pool.resource_slice_count);
            if whole.is_some_and(|whole| newest.len() as u64 >= whole) {
                newest.into_iter().for_each(|slice| listed.add(slice));
            }
        }
        listed
    }

    fn add(&mut self, slice: &SliceObject) {
        let (spec, pool) = (&slice.spec, &slice.spec.pool.name);
        for device in &spec.devices.0 {
            let node = spec.node_name.clone();
            let model = device.attribute("productName").map(model_of_product);
            let Some(unit) = unit_of(device, model.as_ref()) else { continue };
            let own = || format!("{pool}/{}", device.name);
            let card = device.attribute("parentUUID").or_else(|| device.attribute("uuid"));
            let card = card.map_or_else(own, str::to_owned);
            let cards = self.nodes.entry(node.clone()).or_insert_with(|| NodeCards {
                driver: spec.driver.clone(),
                cards: BTreeSet::new(),
                model: None,
            });
            cards.cards.insert(card);
            cards.model = cards.model.take().or(model);
            let key = (spec.driver.clone(), pool.clone(), device.name.clone());
            self.devices.insert(key, Known { node, unit });
        }
    }

    pub(super) fn on(&self, node: &str) -> Option<&NodeCards> {
        self.nodes.get(node)
    }
}

fn is_accelerator(driver: &str) -> bool {
    DRIVERS.contains(&driver)
}

/// The driver whose whole cards are those of a device class: it installs one of its name.
pub(super) fn driver_of_class(class: &str) -> Option<&'static str> {
    DRIVERS.into_iter().find(|driver| *driver == class)
}

/// What a device is; `None` for one that stands for a whole card in another form.
fn unit_of(device: &Device, model: Option<&GpuModel>) -> Option<DeviceUnit> {
    match device.attribute("type") {
        Some("mig") => {
            let profile = device.attribute("profile").unwrap_or_default();
            let slices = slices_of(profile)?;
            Some(DeviceUnit::Slice {
                profile: profile.to_owned(),
                slices,
                of: slices_of_card(model).max(slices),
                replicas: 1,
            })
        }
        Some("vfio") => None,
        _ => Some(DeviceUnit::Whole),
    }
}

/// Devices of one kind on one node that one claim holds.
#[derive(Debug)]
pub(super) struct Held<'a> {
    pub claim: &'a DeviceClaimObject,
    pub node: &'a str,
    pub devices: Devices,
}

/// A device that a claim holds, and that no slice describes.
#[derive(Debug)]
pub(super) struct Unlisted<'a> {
    pub claim: &'a DeviceClaimObject,
    pub pool: &'a str,
}

/// Pods that use what a claim holds, by name; they are in its namespace.
pub(super) fn consumers(claim: &DeviceClaimObject) -> impl Iterator<Item = &str> {
    let pods = claim.status.reserved_for.0.iter().filter(|user| user.resource == "pods");
    pods.map(|user| user.name.as_str())
}

/// What claims hold, and the devices that they hold and no slice describes.
pub(super) fn held<'a>(
    claims: impl Iterator<Item = &'a DeviceClaimObject> + Clone,
    listed: &'a Listed,
) -> (Vec<Held<'a>>, Vec<Unlisted<'a>>) {
    let results = |claim: &'a DeviceClaimObject| {
        let devices = claim.status.allocation.devices.results.0.iter();
        devices.filter(|device| is_accelerator(&device.driver) && !device.admin_access)
    };
    let key = |driver: &str, pool: &str, device: &str| -> Key {
        (driver.to_owned(), pool.to_owned(), device.to_owned())
    };
    let mut sharers: BTreeMap<Key, u32> = BTreeMap::new();
    for device in claims.clone().flat_map(results) {
        *sharers.entry(key(&device.driver, &device.pool, &device.device)).or_default() += 1;
    }
    let (mut held, mut unlisted) = (Vec::new(), Vec::new());
    for claim in claims {
        let mut counts: BTreeMap<(&str, &str, DeviceUnit), u32> = BTreeMap::new();
        for device in results(claim) {
            let key = key(&device.driver, &device.pool, &device.device);
            let Some(known) = listed.devices.get(&key) else {
                unlisted.push(Unlisted { claim, pool: device.pool.as_str() });
                continue;
            };
            let unit = shared(&known.unit, sharers[&key]);
            *counts.entry((known.node.as_str(), device.driver.as_str(), unit)).or_default() += 1;
        }
        held.extend(counts.into_iter().map(|((node, driver, unit), count)| {
            let devices = Devices { resource: driver.to_owned(), unit, count };
            Held { claim, node, devices }
        }));
    }
    (held, unlisted)
}

/// What one of several claims of a device has of it.
fn shared(unit: &DeviceUnit, claims: u32) -> DeviceUnit {
    match unit {
        DeviceUnit::Slice { profile, slices, of, replicas: _ } => DeviceUnit::Slice {
            profile: profile.clone(),
            slices: *slices,
            of: *of,
            replicas: claims,
        },
        _ if claims > 1 => DeviceUnit::Replica { per_device: claims },
        whole => whole.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::objects::{Document, Object};
    use super::*;
    use serde_json::{Value, json};

    fn objects(items: &Value) -> (Vec<SliceObject>, Vec<DeviceClaimObject>) {
        let list = json!({"kind": "List", "items": items}).to_string();
        let Document(objects) = serde_json::from_str(&list).expect("objects");
        let (mut slices, mut claims) = (Vec::new(), Vec::new());
        for object in objects {
            match object {
                Object::Slice(slice) => slices.push(slice),
                Object::DeviceClaim(claim) => claims.push(claim),
                other => panic!("{other:?}"),
            }
        }
        (slices, claims)
    }

    fn slice(generation: u32, of: u32, devices: Value) -> Value {
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {
                "driver": "gpu.nvidia.com", "nodeName": "n",
                "pool": {"name": "p", "generation": generation, "resourceSliceCount": of},
                "devices": devices,
            },
        })
    }

    fn claim(devices: &[(&str, bool)]) -> Value {
        let results = devices.iter().map(|(device, admin)| {
            json!({"driver": "gpu.nvidia.com", "pool": "p", "device": device, "adminAccess": admin})
        });
        let results: Vec<Value> = results.collect();
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "search"},
            "status": {"allocation": {"devices": {"results": results}}},
        })
    }

    fn gpu(name: &str) -> Value {
        let product = json!({"string": "NVIDIA A100-SXM4-40GB"});
        json!({"name": name, "attributes": {
            "type": {"string": "gpu"}, "uuid": {"string": name}, "productName": product,
        }})
    }

    fn mig(name: &str, parent: &str) -> Value {
        json!({"name": name, "basic": {"attributes": {
            "gpu.nvidia.com/type": {"string": "mig"}, "profile": {"string": "3g.20gb"},
            "parentUUID": {"string": parent}, "index": {"int": 0},
        }}})
    }

    #[test]
    fn cards_are_counted_by_their_ids_not_by_devices() {
        // Two cards, of which one is listed whole and in two parts.
        let devices = json!([gpu("a"), gpu("b"), mig("b-0", "b"), mig("b-1", "b")]);
        let (slices, _) = objects(&json!([slice(2, 1, devices), slice(1, 1, json!([gpu("old")]))]));
        let listed = Listed::of(slices.iter());
        let node = listed.on("n").expect("cards");
        assert_eq!((node.count(), &node.model), (2, &Some(GpuModel::A100)));
        // The second slice of the generation was not recorded.
        let (slices, _) = objects(&json!([slice(3, 2, json!([gpu("a")]))]));
        assert!(Listed::of(slices.iter()).on("n").is_none());
    }

    #[test]
    fn a_device_of_two_claims_is_held_by_halves() {
        let devices = json!([gpu("a"), gpu("b"), mig("c-0", "c")]);
        let (slices, claims) = objects(&json!([
            slice(1, 1, devices),
            claim(&[("a", false), ("c-0", false), ("gone", false)]),
            claim(&[("a", false), ("b", true)]),
        ]));
        let listed = Listed::of(slices.iter());
        let (held, unlisted) = held(claims.iter(), &listed);
        let pools: Vec<&str> = unlisted.iter().map(|device| device.pool).collect();
        assert_eq!(pools, ["p"]);
        let physical: Vec<(String, u32)> = held
            .iter()
            .map(|Held { devices, .. }| {
                let physical = devices.unit.physical(devices.count).round_dp(6).normalize();
                (physical.to_string(), devices.count)
            })
            .collect();
        let expected = [("0.5", 1), ("0.428571", 1), ("0.5", 1)];
        let expected = expected.map(|(physical, count)| (physical.to_owned(), count));
        // A monitor's access takes nothing away.
        assert_eq!(physical, expected);
    }
}
