//! Who holds GPUs of a machine, how much of them, and how much of that is used.

use super::ResourceId;
use super::named::named_enum;
use jiff::Timestamp;
use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

named_enum! {
    ClaimState {
        /// Waits for a machine.
        Pending = "pending",
        /// Holds devices of a machine, whether it uses them already or not.
        Running = "running",
    }
}

/// What one of several alike devices, as a scheduler counts them, is of a physical one: without
/// a key, a whole device.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "UnitKeys", into = "UnitKeys")]
pub enum DeviceUnit {
    #[default]
    Whole,
    /// One of the replicas among which a device is shared.
    Replica { per_device: u32 },
    /// A MIG instance, or one of the replicas among which it is shared.
    Slice {
        /// NVIDIA's name, such as `3g.20gb`.
        profile: String,
        /// Compute slices of the profile, and of the whole device.
        slices: u8,
        of: u8,
        /// One unless it is shared.
        replicas: u32,
    },
}

impl DeviceUnit {
    /// Physical devices that so many units make up. A MIG instance counts by its compute.
    pub fn physical(&self, count: u32) -> Decimal {
        let (part, of) = match self {
            Self::Whole => (1, 1),
            Self::Replica { per_device } => (1, u64::from(*per_device)),
            Self::Slice { slices, of, replicas, .. } => {
                (u64::from(*slices), u64::from(*of) * u64::from(*replicas))
            }
        };
        Decimal::from(u64::from(count) * part) / Decimal::from(of.max(1))
    }
}

/// What one of the devices is: without a key, a whole device.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("dependentRequired" = {
    "profile": ["slices", "of"], "slices": ["profile", "of"], "of": ["profile", "slices"],
}))]
#[serde(deny_unknown_fields, expecting = "a unit with `profile`, `slices`, `of` and `replicas`")]
struct UnitKeys {
    /// MIG profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    profile: Option<String>,
    /// Compute slices of the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16", range(min = 1, max = 255))]
    slices: Option<u16>,
    /// Compute slices of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16", range(min = 1, max = 255))]
    of: Option<u16>,
    /// Parts that share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    replicas: Option<u32>,
}

impl TryFrom<UnitKeys> for DeviceUnit {
    type Error = &'static str;

    fn try_from(keys: UnitKeys) -> Result<Self, Self::Error> {
        let replicas = keys.replicas.unwrap_or(1);
        let slices = keys.slices.zip(keys.of).and_then(|(slices, of)| {
            let parts = (u8::try_from(slices).ok()?, u8::try_from(of).ok()?);
            (1..=parts.1).contains(&parts.0).then_some(parts)
        });
        match (keys.profile, slices, (keys.slices, keys.of)) {
            _ if replicas == 0 => Err("`replicas` must be at least 1"),
            (None, _, (None, None)) if keys.replicas.is_some() => {
                Ok(Self::Replica { per_device: replicas })
            }
            (None, _, (None, None)) => Ok(Self::Whole),
            (Some(profile), Some((slices, of)), _) => {
                Ok(Self::Slice { profile, slices, of, replicas })
            }
            _ => Err("a slice needs `profile`, and `slices` of at least 1 and at most `of`"),
        }
    }
}

impl From<DeviceUnit> for UnitKeys {
    fn from(unit: DeviceUnit) -> Self {
        match unit {
            DeviceUnit::Whole => Self::default(),
            DeviceUnit::Replica { per_device } => {
                Self { replicas: Some(per_device), ..Self::default() }
            }
            DeviceUnit::Slice { profile, slices, of, replicas } => Self {
                profile: Some(profile),
                slices: Some(u16::from(slices)),
                of: Some(u16::from(of)),
                replicas: (replicas != 1).then_some(replicas),
            },
        }
    }
}

/// Devices of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Devices {
    /// As it is asked for: a resource such as `nvidia.com/gpu`, or the driver of devices
    /// that are allocated one by one.
    pub resource: String,
    pub unit: DeviceUnit,
    pub count: u32,
}

impl Devices {
    pub fn physical(&self) -> Decimal {
        self.unit.physical(self.count)
    }
}

/// The kind of an owner that is a service of Amazon ECS.
pub const ECS_SERVICE: &str = "Service";
/// The kind of one that is the definition of a task that no service started.
pub const ECS_FAMILY: &str = "task family";

/// What made a pod, such as the Deployment `ranker`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an owner with `kind` and `name`")]
pub struct Owner {
    pub kind: String,
    pub name: String,
}

/// What moving a pod to another node of the same pool and type takes, beside its devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a placement with `cpu_millicores` and `memory_mib`")]
pub struct Placement {
    /// Requested CPU, in thousandths of a core.
    pub cpu_millicores: u64,
    /// Requested memory.
    pub memory_mib: u64,
    /// Whether something keeps it where it is, or from one of these nodes: a selector or an
    /// affinity that one does not meet, a taint that it does not tolerate, pods that it must
    /// be beside or apart from, a port of its node, or an annotation.
    #[serde(default, rename = "bound")]
    pub is_bound: bool,
    /// Whether it keeps data on the disk of its node, which a move leaves behind.
    #[serde(default, rename = "local_data")]
    pub has_local_data: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub namespace: String,
    /// Absent for devices that are allocated and used by no pod.
    pub pod: Option<String>,
    /// The last one of the chain that is known; absent for a pod that nothing made.
    pub owner: Option<Owner>,
    /// Those of the pod, and where it has none those of its namespace.
    pub labels: BTreeMap<String, String>,
    /// Absent where the pod was not read, and for tasks.
    pub placement: Option<Placement>,
}

impl Holder {
    /// The pod or task, else what allocated the devices.
    pub fn name(&self) -> &str {
        let made = self.owner.as_ref().map(|owner| owner.name.as_str());
        self.pod.as_deref().or(made).unwrap_or("no pod")
    }

    /// The pod with what made it, such as `search/ranker-0 (Deployment ranker)`.
    pub fn in_words(&self) -> String {
        let name = format!("{}/{}", self.namespace, self.name());
        match &self.owner {
            Some(owner) => format!("{name} ({} {})", owner.kind, owner.name),
            None => name,
        }
    }
}

/// Devices that somebody holds, or waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub holder: Holder,
    pub devices: Devices,
    pub state: ClaimState,
    /// Since when it holds them or waits for them; absent where nothing tells.
    pub since: Option<Timestamp>,
    /// Whose devices they are; absent while it waits.
    pub machine: Option<ResourceId>,
}

/// What a container asks for that runs before those of its pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitRequest {
    pub amount: u64,
    /// It goes on running beside those that come after it.
    pub is_sidecar: bool,
}

/// What a scheduler sets aside for a pod: its containers and sidecars run together, and
/// each other init container runs alone beside the sidecars that were started before it.
pub fn effective_request(containers: &[u64], init: &[InitRequest]) -> u64 {
    let (mut sidecars, mut most) = (0_u64, 0_u64);
    for container in init {
        let beside = sidecars.saturating_add(container.amount);
        if container.is_sidecar {
            sidecars = beside;
        } else {
            most = most.max(beside);
        }
    }
    let add = |sum: u64, amount: &u64| sum.saturating_add(*amount);
    containers.iter().fold(sidecars, add).max(most)
}

/// How a pod used one device that it held, from metrics that name pods.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a use object")]
pub struct DeviceUse {
    pub machine: ResourceId,
    /// Index of the device on its machine.
    pub gpu: u32,
    pub namespace: String,
    pub pod: String,
    /// Samples of GPU utilization in the window that name this pod.
    pub n_samples: u64,
    /// Time between two samples.
    #[schemars(range(min = 1))]
    pub sample_seconds: u32,
    #[schemars(range(min = 0, max = 100))]
    pub mean_percent: f64,
    /// The largest sample; not below the mean.
    #[schemars(range(min = 0, max = 100))]
    pub max_percent: f64,
}

impl DeviceUse {
    /// Hours that its samples stand for.
    pub fn hours(&self) -> f64 {
        self.n_samples as f64 * f64::from(self.sample_seconds) / 3_600.0
    }

    /// Puts uses in order of machine, device and pod. Of two of the same the one with more
    /// samples stays.
    pub fn sort(uses: &mut Vec<Self>) {
        uses.sort_by(|left, right| {
            let samples = Reverse(left.n_samples).cmp(&Reverse(right.n_samples));
            left.key()
                .cmp(&right.key())
                .then(samples)
                .then(left.sample_seconds.cmp(&right.sample_seconds))
                .then(left.max_percent.total_cmp(&right.max_percent))
                .then(left.mean_percent.total_cmp(&right.mean_percent))
        });
        uses.dedup_by(|later, kept| later.key() == kept.key());
    }

    fn key(&self) -> (&ResourceId, u32, &str, &str) {
        (&self.machine, self.gpu, &self.namespace, &self.pod)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn init(amount: u64, is_sidecar: bool) -> InitRequest {
        InitRequest { amount, is_sidecar }
    }

    #[test]
    fn init_containers_run_before_the_others_and_sidecars_beside_them() {
        assert_eq!(effective_request(&[], &[]), 0);
        // Three together.
        assert_eq!(effective_request(&[1, 2], &[]), 3);
        // A preparation with one device ends before two containers with three begin.
        assert_eq!(effective_request(&[1, 2], &[init(1, false)]), 3);
        // One with four needs more than what comes after it.
        assert_eq!(effective_request(&[1, 2], &[init(4, false)]), 4);
        // Two preparations run one after the other.
        let two = [init(2, false), init(2, false)];
        assert_eq!(effective_request(&[1], &two), 2);
        // A sidecar stays: 1 + 2.
        assert_eq!(effective_request(&[2], &[init(1, true)]), 3);
        // A preparation beside a sidecar that was started before it: 1 + 4.
        let after = [init(1, true), init(4, false)];
        assert_eq!(effective_request(&[2], &after), 5);
        // Before the sidecar: 4, and then 1 + 2.
        let before = [init(4, false), init(1, true)];
        assert_eq!(effective_request(&[2], &before), 4);
        assert_eq!(effective_request(&[u64::MAX, 1], &[]), u64::MAX);
    }

    #[test]
    fn units_are_parts_of_physical_devices() {
        let slice = |slices, replicas| DeviceUnit::Slice {
            profile: format!("{slices}g"),
            slices,
            of: 7,
            replicas,
        };
        for (unit, count, physical) in [
            (DeviceUnit::Whole, 8, "8"),
            (DeviceUnit::Replica { per_device: 10 }, 80, "8"),
            (DeviceUnit::Replica { per_device: 4 }, 3, "0.75"),
            // A count of zero would be no device at all.
            (DeviceUnit::Replica { per_device: 0 }, 3, "3"),
            (slice(1, 1), 7, "1"),
            // Two halves of a card leave a seventh that no pod can have.
            (slice(3, 1), 2, "0.857143"),
            (slice(1, 2), 7, "0.5"),
        ] {
            let devices = unit.physical(count).round_dp(6).normalize();
            assert_eq!(devices.to_string(), physical, "{count} of {unit:?}");
        }
    }

    #[test]
    fn of_two_of_the_same_the_one_with_more_samples_stays() {
        let device_use = |machine: &str, gpu, pod: &str, n_samples| DeviceUse {
            machine: ResourceId::named(machine),
            gpu,
            namespace: "search".to_owned(),
            pod: pod.to_owned(),
            n_samples,
            sample_seconds: 60,
            mean_percent: 0.0,
            max_percent: 0.0,
        };
        let mut uses = vec![
            device_use("i-2", 0, "a", 5),
            device_use("i-1", 1, "a", 3),
            device_use("i-1", 1, "a", 90),
            device_use("i-1", 0, "b", 1),
        ];
        DeviceUse::sort(&mut uses);
        let left: Vec<_> =
            uses.iter().map(|kept| (kept.machine.as_str(), kept.gpu, kept.n_samples)).collect();
        assert_eq!(left, [("i-1", 0, 1), ("i-1", 1, 90), ("i-2", 0, 5)]);
        // 90 samples of a minute.
        assert_eq!(uses[1].hours(), 1.5);
    }
}
