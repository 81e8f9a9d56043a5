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
                    match requested(request) {
                        Ok((count, driver)) => {
                            let sum = counts.entry(driver).or_default();
                            *sum = sum.saturating_add(count);
                        }
                        Err(class) => {
                            is_unclear |= class.is_some();
                            classes.extend(class);
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

/// How many devices of which driver a request asks for: of alternatives the fewest devices,
/// because these are enough.
///
/// # Errors
/// With a class that is not understood, or of which all devices of a node are requested. Without
/// one where nothing is taken away: a monitor has access.
fn requested(request: &DeviceRequest) -> Result<(u32, &'static str), Option<String>> {
    let alternatives = request.alternatives();
    if alternatives.iter().all(|alternative| alternative.admin_access) {
        return Err(None);
    }
    let known = alternatives.iter().filter_map(|alternative| {
        Some((alternative.count()?, driver_of_class(&alternative.device_class_name)?))
    });
    let class = || alternatives.first().map(|first| first.device_class_name.clone());
    known.min().ok_or_else(|| Some(class().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_request_asks_for_whole_cards_of_known_classes() {
        let gpu = "gpu.nvidia.com";
        let class = |name: &str| json!({"deviceClassName": name});
        let unclear = |name: &str| Err(Some(name.to_owned()));
        let two = json!({"deviceClassName": gpu, "allocationMode": "ExactCount", "count": 2});
        let all = json!({"deviceClassName": gpu, "allocationMode": "All"});
        let monitor = json!({"deviceClassName": gpu, "adminAccess": true});
        type Requested = Result<(u32, &'static str), Option<String>>;
        let rows: [(Value, Requested); 8] = [
            (json!({"exactly": class(gpu)}), Ok((1, gpu))),
            (json!({"exactly": two}), Ok((2, gpu))),
            // The first version of the API.
            (two.clone(), Ok((2, gpu))),
            (json!({"firstAvailable": [two, class("mig.nvidia.com"), class(gpu)]}), Ok((1, gpu))),
            (json!({"exactly": class("mig.nvidia.com")}), unclear("mig.nvidia.com")),
            (json!({"exactly": class("big-gpus")}), unclear("big-gpus")),
            (json!({"exactly": all}), unclear(gpu)),
            (json!({"exactly": monitor}), Err(None)),
        ];
        for (request, expected) in rows {
            let read: DeviceRequest = serde_json::from_value(request.clone()).expect("a request");
            assert_eq!(requested(&read), expected, "{request}");
        }
    }
}
