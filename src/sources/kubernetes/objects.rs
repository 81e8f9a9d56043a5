//! Objects of Kubernetes as its API writes them: the fields that are read, whatever else
//! an object has.

use crate::sources::files::{AtMost, InvalidJson, read_json};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::de::{DeserializeOwned, Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// Objects of one list.
pub(super) const MOST_OBJECTS: usize = 1_000_000;
/// Parts of one object, such as containers of a pod.
const MOST_PARTS: usize = 10_000;

pub(super) type Parts<T> = AtMost<T, MOST_PARTS>;
pub(super) type Amounts = BTreeMap<String, Quantity>;

/// What may be absent or `null`.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Time(pub Timestamp);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = text.parse::<Timestamp>().map_err(|error| {
            D::Error::custom(format!("`{text}` is not an RFC 3339 time: {error}"))
        })?;
        Ok(Self(time))
    }
}

/// An amount such as `500m` or `16Gi`; never negative.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantity(pub Decimal);

impl Quantity {
    fn parse(text: &str) -> Option<Self> {
        let is_of_number = |c: char| c.is_ascii_digit() || "+-.".contains(c);
        let end = text.find(|c: char| !is_of_number(c)).unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let number: Decimal = number.parse().ok()?;
        let factor = match suffix {
            "n" => Decimal::new(1, 9),
            "u" => Decimal::new(1, 6),
            "m" => Decimal::new(1, 3),
            "" => Decimal::ONE,
            "k" => power_of_ten(3)?,
            "M" => power_of_ten(6)?,
            "G" => power_of_ten(9)?,
            "T" => power_of_ten(12)?,
            "P" => power_of_ten(15)?,
            "E" => power_of_ten(18)?,
            "Ki" => Decimal::from(1_u64 << 10),
            "Mi" => Decimal::from(1_u64 << 20),
            "Gi" => Decimal::from(1_u64 << 30),
            "Ti" => Decimal::from(1_u64 << 40),
            "Pi" => Decimal::from(1_u64 << 50),
            "Ei" => Decimal::from(1_u64 << 60),
            exponent => power_of_ten(exponent.strip_prefix(['e', 'E'])?.parse().ok()?)?,
        };
        let amount = number.checked_mul(factor)?;
        (!amount.is_sign_negative()).then_some(Self(amount))
    }

    /// In units of which there are so many in one, rounded up.
    pub(super) fn in_units(self, per_one: u32) -> u64 {
        let units = self.0.checked_mul(Decimal::from(per_one));
        units.map_or(u64::MAX, |units| {
            u64::try_from(units.ceil()).unwrap_or(u64::MAX)
        })
    }
}

fn power_of_ten(power: i32) -> Option<Decimal> {
    let of = |power: i32| 10_u64.checked_pow(u32::try_from(power).ok()?);
    if power < 0 {
        Decimal::ONE.checked_div(Decimal::from(of(-power)?))
    } else {
        of(power).map(Decimal::from)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            D::Error::custom(format!("`{text}` is not a quantity such as 500m or 16Gi"))
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(
    rename_all = "camelCase",
    default,
    expecting = "the metadata of an object"
)]
pub(super) struct Metadata {
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(deserialize_with = "or_default")]
    pub labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub annotations: Annotations,
    pub creation_timestamp: Option<Time>,
    #[serde(deserialize_with = "or_default")]
    pub owner_references: Parts<OwnerReference>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "annotations as an object")]
pub(super) struct Annotations {
    #[serde(rename = "cluster.x-k8s.io/cluster-name")]
    pub cluster_name: Option<String>,
    /// Set on what a cluster shows of a static pod.
    #[serde(rename = "kubernetes.io/config.mirror")]
    pub static_pod: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "an owner with `kind` and `name`")]
pub(super) struct OwnerReference {
    pub kind: String,
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub controller: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "the spec of a node")]
pub(super) struct NodeSpec {
    #[serde(rename = "providerID", deserialize_with = "or_default")]
    pub provider_id: String,
    #[serde(deserialize_with = "or_default")]
    pub unschedulable: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "the status of a node")]
pub(super) struct NodeStatus {
    #[serde(deserialize_with = "or_default")]
    pub capacity: Amounts,
    #[serde(deserialize_with = "or_default")]
    pub allocatable: Amounts,
    #[serde(deserialize_with = "or_default")]
    pub conditions: Parts<Condition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "a condition with `type` and `status`")]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "the spec of a pod")]
pub(super) struct PodSpec {
    #[serde(deserialize_with = "or_default")]
    pub node_name: String,
    #[serde(deserialize_with = "or_default")]
    pub containers: Parts<Container>,
    #[serde(deserialize_with = "or_default")]
    pub init_containers: Parts<Container>,
    /// Devices that are allocated one by one.
    #[serde(deserialize_with = "or_default")]
    pub resource_claims: Parts<IgnoredAny>,
    /// What keeps the pod from its scheduler, such as a queue.
    #[serde(deserialize_with = "or_default")]
    pub scheduling_gates: Parts<IgnoredAny>,
    /// What the pod takes beside its containers.
    #[serde(deserialize_with = "or_default")]
    pub overhead: Amounts,
    /// CPU and memory of all containers together, where the pod states them.
    #[serde(deserialize_with = "or_default")]
    pub resources: Requests,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "a container")]
pub(super) struct Container {
    #[serde(deserialize_with = "or_default")]
    pub resources: Requests,
    #[serde(deserialize_with = "or_default")]
    pub restart_policy: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "resources with `requests` and `limits`")]
pub(super) struct Requests {
    #[serde(deserialize_with = "or_default")]
    pub requests: Amounts,
    #[serde(deserialize_with = "or_default")]
    pub limits: Amounts,
}

impl Requests {
    /// What is requested; a limit alone is a request as well.
    pub(super) fn get(&self, resource: &str) -> Option<Quantity> {
        let requested = self.requests.get(resource);
        requested.or_else(|| self.limits.get(resource)).copied()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "the status of a pod")]
pub(super) struct PodStatus {
    #[serde(deserialize_with = "or_default")]
    pub phase: String,
    pub start_time: Option<Time>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(
    rename_all = "camelCase",
    default,
    expecting = "the spec of a resource slice"
)]
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
        let all = self.attributes.iter().chain(&self.basic.attributes);
        let mut named = all.filter(|(key, _)| {
            let plain = key
                .rsplit_once('/')
                .map_or(key.as_str(), |(_, plain)| plain);
            plain == name
        });
        named.find_map(|(_, attribute)| attribute.string.as_deref())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(
    rename_all = "camelCase",
    default,
    expecting = "the status of a resource claim"
)]
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

/// An object with what it should be and what it is.
#[derive(Debug, Default)]
pub(super) struct Body<S, T> {
    pub metadata: Metadata,
    pub spec: S,
    pub status: T,
}

pub(super) type NodeObject = Body<NodeSpec, NodeStatus>;
pub(super) type PodObject = Body<PodSpec, PodStatus>;
pub(super) type SliceObject = Body<SliceSpec, ()>;
pub(super) type DeviceClaimObject = Body<(), DeviceClaimStatus>;

#[derive(Debug)]
pub(super) enum Object {
    Node(Box<NodeObject>),
    Pod(Box<PodObject>),
    /// Something that makes pods and may itself be made by something: its kind.
    Maker(&'static str, Metadata),
    Slice(SliceObject),
    DeviceClaim(DeviceClaimObject),
    Other,
}

/// An object whose kind may stand behind what its form depends on.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object of Kubernetes")]
struct ObjectWire {
    #[serde(default)]
    api_version: String,
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
}

/// An object of a list that states the kind of all of them.
#[cfg(feature = "kubernetes")]
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object of Kubernetes")]
pub(super) struct Item {
    #[serde(default)]
    metadata: Metadata,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
}

#[cfg(feature = "kubernetes")]
impl Item {
    /// # Errors
    /// Why it is not an object of its kind.
    pub(super) fn object(self, group: &str, kind: &str) -> Result<Object, String> {
        let object = ObjectWire {
            api_version: format!("{group}/"),
            kind: kind.to_owned(),
            metadata: self.metadata,
            spec: self.spec,
            status: self.status,
        };
        object.object()
    }
}

/// A list of objects, or one of them.
#[derive(Debug, Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "what `kubectl get -o json` prints, an object"
)]
struct DocumentWire {
    #[serde(default)]
    api_version: String,
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
    items: Option<AtMost<Object, MOST_OBJECTS>>,
}

impl ObjectWire {
    fn object(self) -> Result<Object, String> {
        let group = self
            .api_version
            .split_once('/')
            .map_or("", |(group, _)| group);
        let metadata = self.metadata;
        Ok(match (group, self.kind.as_str()) {
            ("", "Node") => Object::Node(Box::new(Body {
                metadata,
                spec: part("spec", self.spec)?,
                status: part("status", self.status)?,
            })),
            ("", "Pod") => Object::Pod(Box::new(Body {
                metadata,
                spec: part("spec", self.spec)?,
                status: part("status", self.status)?,
            })),
            ("apps", "ReplicaSet") => Object::Maker("ReplicaSet", metadata),
            ("batch", "Job") => Object::Maker("Job", metadata),
            ("resource.k8s.io", "ResourceSlice") => Object::Slice(Body {
                metadata,
                spec: part("spec", self.spec)?,
                status: (),
            }),
            ("resource.k8s.io", "ResourceClaim") => Object::DeviceClaim(Body {
                metadata,
                spec: (),
                status: part("status", self.status)?,
            }),
            _ => Object::Other,
        })
    }
}

/// A part of an object, whose form depends on its kind.
fn part<T: Default + DeserializeOwned>(key: &str, raw: Option<Box<RawValue>>) -> Result<T, String> {
    let Some(raw) = raw else {
        return Ok(T::default());
    };
    let text = raw.get();
    read_json(text.as_bytes(), text.len(), PhantomData::<T>).map_err(|error| {
        let place = if error.place.is_empty() {
            key.to_owned()
        } else {
            format!("{key}.{}", error.place)
        };
        match error.source {
            InvalidJson::Value(invalid) => format!("{}, at `{place}`", invalid.words()),
            // It was read as JSON before, which numbers out of range and halves of
            // surrogate pairs pass.
            InvalidJson::Text(_) => format!("invalid number or string at `{place}`"),
        }
    })
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = ObjectWire::deserialize(deserializer)?;
        wire.object().map_err(D::Error::custom)
    }
}

/// What one file holds.
#[derive(Debug)]
pub(super) struct Document(pub Vec<Object>);

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = DocumentWire::deserialize(deserializer)?;
        if let Some(items) = wire.items {
            return Ok(Self(items.0));
        }
        let one = ObjectWire {
            api_version: wire.api_version,
            kind: wire.kind,
            metadata: wire.metadata,
            spec: wire.spec,
            status: wire.status,
        };
        one.object()
            .map(|one| Self(vec![one]))
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_suffixes_of_ten_and_of_two() {
        for (text, amount) in [
            ("0", "0"),
            ("8", "8"),
            ("500m", "0.5"),
            ("1.5", "1.5"),
            ("100n", "0.0000001"),
            ("2k", "2000"),
            ("16Gi", "17179869184"),
            ("1Ki", "1024"),
            ("1E", "1000000000000000000"),
            ("12e3", "12000"),
            ("5E-1", "0.5"),
        ] {
            let found = Quantity::parse(text).map(|one| one.0.normalize().to_string());
            assert_eq!(found.as_deref(), Some(amount), "{text}");
        }
        for text in ["", "-1", "much", "1 Gi", "1Gib", "1e99", "1e", "Gi", "1i"] {
            assert!(Quantity::parse(text).is_none(), "{text}");
        }
        let units = |text: &str, per_one| Quantity::parse(text).expect("valid").in_units(per_one);
        assert_eq!(units("1500m", 1_000), 1_500);
        // A fraction of a unit takes a whole one.
        assert_eq!(units("1u", 1_000), 1);
        assert_eq!(units("79228162514264337593543950335", 1_000), u64::MAX);
    }

    #[test]
    fn an_object_or_a_list_of_several_kinds_is_read() {
        let read = |text: &str| serde_json::from_str::<Document>(text).expect("objects").0;
        let list = read(
            r#"{"apiVersion": "v1", "items": [
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": null},
                 "spec": {"providerID": "x"}, "status": {"capacity": {"cpu": "4"}}},
                {"status": {"phase": "Running"}, "spec": {"containers": [{}]}, "kind": "Pod",
                 "metadata": {"namespace": "b", "name": "c"}, "apiVersion": "v1"},
                {"apiVersion": "v1", "kind": "Secret", "data": {"a": "b"}},
                {"apiVersion": "batch.example.com/v1", "kind": "Job", "spec": "of its own"}
            ], "kind": "List", "metadata": {"resourceVersion": ""}}"#,
        );
        assert!(matches!(
            list.as_slice(),
            [
                Object::Node(_),
                Object::Pod(_),
                Object::Other,
                Object::Other
            ]
        ));
        let one =
            read(r#"{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "a"}}"#);
        assert!(matches!(one.as_slice(), [Object::Maker("ReplicaSet", _)]));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let text = r#"{"kind": "Pod", "spec": {"containers": [
            {"resources": {"requests": {"cpu": "many"}}}]}}"#;
        let error = serde_json::from_str::<Document>(text).expect_err("no quantity");
        assert!(
            error.to_string().contains(
                "`many` is not a quantity such as 500m or 16Gi, at \
                 `spec.containers[0].resources.requests.cpu`"
            ),
            "{error}"
        );
    }
}
