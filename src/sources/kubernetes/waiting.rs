//! Pods that wait for claims of devices that are not allocated.

use super::devices::DeviceRequest;
use super::dra::driver_of_class;
use super::objects::{DeviceClaimObject, PodClaim, PodObject};
use super::pods;
use crate::domain::{Cause, CauseKind};
use std::collections::{BTreeMap, BTreeSet};

/// Names of device classes that one message has.
const MOST_NAMES: usize = 3;

/// Pods by namespace and name.
type Pods = BTreeMap<(String, String), PodObject>;

/// Devices of one driver that a pod waits for.
#[derive(Debug)]
pub(super) struct Awaited<'a> {
    pub pod: &'a PodObject,
    pub driver: &'static str,
    pub count: u32,
}

/// What pods wait for, and why of some pods that is not known.
#[derive(Debug, Default)]
pub(super) struct Waiting<'a> {
    pub devices: Vec<Awaited<'a>>,
    pub cause: Option<Cause>,
}

impl<'a> Waiting<'a> {
    /// A claim that several pods share is counted for the first of them.
    pub(super) fn of(pods: &'a Pods, claims: &'a [DeviceClaimObject]) -> Self {
        let by_name: BTreeMap<(&str, &str), &DeviceClaimObject> = claims
            .iter()
            .map(|claim| {
                let metadata = &claim.metadata;
                ((metadata.namespace.as_str(), metadata.name.as_str()), claim)
            })
            .collect();
        let mut waiting = Self::default();
        let (mut seen, mut unclear, mut classes) = (BTreeSet::new(), 0_u64, BTreeSet::new());
        for ((namespace, _), pod) in pods.iter().filter(|(_, pod)| pods::waits(pod)) {
            let mut is_unclear = false;
            let mut counts: BTreeMap<&'static str, u32> = BTreeMap::new();
            for own in &pod.spec.resource_claims.0 {
                let key = (namespace.as_str(), name_of(own, pod));
                let Some(claim) = by_name.get(&key) else {
                    is_unclear = true;
                    continue;
                };
                if !claim.status.allocation.devices.results.0.is_empty() || !seen.insert(key) {
                    continue;
                }
                for request in &claim.spec.devices.requests.0 {
                    match asked(request) {
                        RequestedDevices::Nothing => {}
                        RequestedDevices::Devices(driver, count) => {
                            let sum = counts.entry(driver).or_default();
                            *sum = sum.saturating_add(count);
                        }
                        RequestedDevices::Unclear(class) => {
                            is_unclear = true;
                            classes.insert(class);
                        }
                    }
                }
            }
            unclear += u64::from(is_unclear);
            waiting.devices.extend(counts.into_iter().map(|(driver, count)| Awaited {
                pod,
                driver,
                count,
            }));
        }
        if unclear > 0 {
            let classes: Vec<String> = classes.into_iter().take(MOST_NAMES).collect();
            let (count, classes) = (unclear.to_string(), classes.join(", "));
            waiting.cause = Some(Cause::of(CauseKind::ClaimsUnclear, [&count, &classes]));
        }
        waiting
    }
}

/// The name of a claim of a pod; empty for one that its template did not make yet.
fn name_of<'a>(own: &'a PodClaim, pod: &'a PodObject) -> &'a str {
    if !own.resource_claim_name.is_empty() {
        return &own.resource_claim_name;
    }
    let mut made = pod.status.resource_claim_statuses.0.iter();
    let made = made.find(|status| status.name == own.name);
    made.map_or("", |status| status.resource_claim_name.as_str())
}

#[derive(Debug, PartialEq, Eq)]
enum RequestedDevices {
    /// A monitor's access takes nothing away.
    Nothing,
    Devices(&'static str, u32),
    /// Of a class that is not understood, or all devices of a node.
    Unclear(String),
}

/// What a request asks for: of alternatives the fewest devices, because these are enough.
fn asked(request: &DeviceRequest) -> RequestedDevices {
    let alternatives = request.alternatives();
    if alternatives.iter().all(|alternative| alternative.admin_access) {
        return RequestedDevices::Nothing;
    }
    let known = alternatives.iter().filter_map(|alternative| {
        Some((alternative.count()?, driver_of_class(&alternative.device_class_name)?))
    });
    match known.min() {
        Some((count, driver)) => RequestedDevices::Devices(driver, count),
        None => {
            let first = alternatives.into_iter().next();
            RequestedDevices::Unclear(
                first.map_or_else(String::new, |alternative| alternative.device_class_name),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_request_asks_for_whole_cards_of_known_classes() {
        let gpu = "gpu.nvidia.com";
        let class = |name: &str| json!({"deviceClassName": name});
        let unclear = |name: &str| RequestedDevices::Unclear(name.to_owned());
        let two = json!({"deviceClassName": gpu, "allocationMode": "ExactCount", "count": 2});
        let all = json!({"deviceClassName": gpu, "allocationMode": "All"});
        let monitor = json!({"deviceClassName": gpu, "adminAccess": true});
        let rows: [(Value, RequestedDevices); 8] = [
            (json!({"exactly": class(gpu)}), RequestedDevices::Devices(gpu, 1)),
            (json!({"exactly": two}), RequestedDevices::Devices(gpu, 2)),
            // The first version of the API.
            (two.clone(), RequestedDevices::Devices(gpu, 2)),
            (
                json!({"firstAvailable": [two, class("mig.nvidia.com"), class(gpu)]}),
                RequestedDevices::Devices(gpu, 1),
            ),
            (json!({"exactly": class("mig.nvidia.com")}), unclear("mig.nvidia.com")),
            (json!({"exactly": class("big-gpus")}), unclear("big-gpus")),
            (json!({"exactly": all}), unclear(gpu)),
            (json!({"exactly": monitor}), RequestedDevices::Nothing),
        ];
        for (request, expected) in rows {
            let read: DeviceRequest = serde_json::from_value(request.clone()).expect("a request");
            assert_eq!(asked(&read), expected, "{request}");
        }
    }
}
