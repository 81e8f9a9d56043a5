//! Claims in an estate, and what nodes and claims say of each other.

use super::fields::Wire;
use crate::domain::{
    Claim, ClaimState, Clusters, DeviceUnit, Devices, Holder, Maybe, Owner, Placement, ResourceId,
    Time,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::de;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Devices that a pod holds or waits for.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend(
    "if" = {"properties": {"state": {"const": "running"}}},
    "then" = {"properties": {"machine": {"type": "string"}}, "allOf": [{"required": ["machine"]}]},
    "else" = {"properties": {"machine": {"type": "null"}}}
))]
#[serde(deny_unknown_fields, expecting = "a claim object")]
pub(super) struct ClaimWire {
    namespace: String,
    /// Absent for devices that are allocated to no pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<Owner>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    resource: String,
    #[serde(default)]
    unit: DeviceUnit,
    /// Number of such units.
    count: u32,
    state: ClaimState,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    since: Option<Timestamp>,
    /// The machine of the node; required unless it is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<ResourceId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    placement: Option<Placement>,
}

impl Wire for ClaimWire {
    type Value = Claim;

    fn value<E: de::Error>(self) -> Result<Claim, E> {
        if (self.state == ClaimState::Running) != self.machine.is_some() {
            return Err(E::custom(
                "a `running` claim has a `machine`, and a `pending` one has none",
            ));
        }
        Ok(Claim {
            holder: Holder {
                namespace: self.namespace,
                pod: self.pod,
                owner: self.owner,
                labels: self.labels,
                placement: self.placement,
            },
            devices: Devices { resource: self.resource, unit: self.unit, count: self.count },
            state: self.state,
            since: self.since,
            machine: self.machine,
        })
    }
}

pub(super) fn claim_wire(claim: &Claim) -> ClaimWire {
    let Claim { holder, devices, state, since, machine } = claim.clone();
    ClaimWire {
        namespace: holder.namespace,
        pod: holder.pod,
        owner: holder.owner,
        labels: holder.labels,
        resource: devices.resource,
        unit: devices.unit,
        count: devices.count,
        state,
        since,
        machine,
        placement: holder.placement,
    }
}

/// Fails where two nodes are one machine, or somebody holds devices of a machine that
/// is not a node. Metrics may name machines whose nodes were not recorded.
pub(super) fn check<E: de::Error>(clusters: &Clusters) -> Result<(), E> {
    let mut machines = BTreeSet::new();
    for node in &clusters.nodes {
        if !machines.insert(&node.machine) {
            return Err(E::custom(format!("several nodes are the machine {}", node.machine)));
        }
    }
    let mut held = clusters.claims.iter().filter_map(|claim| claim.machine.as_ref());
    if let Some(machine) = held.find(|machine| !machines.contains(machine)) {
        return Err(E::custom(format!(
            "a claim belongs to {machine}, which is not among the nodes"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::fields::Of;
    use super::*;
    use crate::domain::{DeviceUse, Node};
    use serde_json::{Value, json};

    fn node() -> Value {
        json!({
            "name": "gpu-1",
            "provider_id": "aws:///us-east-1a/i-1",
            "cluster": "search",
            "machine": "i-1",
            "physical": "8",
            "devices": {
                "nvidia.com/gpu": {"unit": {}, "capacity": 1, "allocatable": 0},
                "nvidia.com/gpu.shared": {"unit": {"replicas": 4}, "capacity": 4, "allocatable": 4},
                "nvidia.com/mig-3g.20gb": {
                    "unit": {"profile": "3g.20gb", "slices": 3, "of": 7},
                    "capacity": 2, "allocatable": 2,
                },
            },
            "price_class": "spot",
            "pool": "trainers",
            "pool_maker": "karpenter",
            "cpu_millicores": {"capacity": 96_000, "allocatable": 95_000, "requested": 1_500},
            "memory_mib": {"capacity": 1_000, "allocatable": 900},
            "pods": 3,
            "cpu_only_pods": 2,
            "ready": true,
            "cordoned": true,
        })
    }

    fn claim() -> Value {
        json!({
            "namespace": "search",
            "pod": "ranker-0",
            "owner": {"kind": "Deployment", "name": "ranker"},
            "labels": {"team": "search"},
            "resource": "nvidia.com/mig-3g.20gb.shared",
            "unit": {"profile": "3g.20gb", "slices": 3, "of": 7, "replicas": 2},
            "count": 2,
            "state": "running",
            "since": "2026-10-01T00:00:00Z",
            "machine": "i-1",
            "placement": {
                "cpu_millicores": 4_000, "memory_mib": 16_384, "bound": true, "local_data": true,
            },
        })
    }

    fn used() -> Value {
        json!({
            "machine": "i-1",
            "gpu": 3,
            "namespace": "search",
            "pod": "ranker-0",
            "n_samples": 1_440,
            "sample_seconds": 60,
            "mean_percent": 12.5,
            "max_percent": 80.0,
        })
    }

    #[test]
    fn what_is_read_is_written_again() {
        let read = serde_json::from_value::<Node>(node()).expect("a node");
        let written = serde_json::to_value(&read).expect("JSON");
        assert_eq!(written, node());
        let Of(read) = serde_json::from_value::<Of<ClaimWire>>(claim()).expect("a claim");
        let written = serde_json::to_value(claim_wire(&read)).expect("JSON");
        assert_eq!(written, claim());
        // Two halves of three sevenths.
        assert_eq!(read.devices.physical().round_dp(6).to_string(), "0.428571");
        let Of(read) = serde_json::from_value::<Of<DeviceUse>>(used()).expect("a use");
        let written = serde_json::to_value(&read).expect("JSON");
        assert_eq!(written, used());
    }

    #[test]
    fn percentages_of_a_use_are_in_order() {
        for (key, value, words) in [
            ("mean_percent", json!(-0.1), "between 0 and 100"),
            ("max_percent", json!(100.1), "between 0 and 100"),
            ("max_percent", json!(12.4), "larger than `max_percent`"),
            ("sample_seconds", json!(0), "at least 1"),
            ("gpu", json!(-1), "invalid value"),
        ] {
            let mut one = used();
            one[key] = value;
            let error = serde_json::from_value::<Of<DeviceUse>>(one).err();
            let error = error.expect("it is wrong").to_string();
            assert!(error.contains(words), "{key}: {error}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (key, value, words) in [
            ("unit", json!({"replicas": 0}), "at least 1"),
            ("unit", json!({"profile": "3g.20gb"}), "a slice needs"),
            ("unit", json!({"slices": 3, "of": 7}), "a slice needs"),
            ("unit", json!({"profile": "9g.20gb", "slices": 9, "of": 7}), "a slice needs"),
            ("state", json!("pending"), "a `pending` one has none"),
            ("state", json!("gone"), "`gone` is not a known claim state"),
            ("extra", json!(1), "unknown field"),
        ] {
            let mut claim = claim();
            claim[key] = value;
            let error = serde_json::from_value::<Of<ClaimWire>>(claim).err();
            let error = error.expect("it is wrong").to_string();
            assert!(error.contains(words), "{key}: {error}");
        }
    }
}
