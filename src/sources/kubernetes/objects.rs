//! Objects of Kubernetes as its API writes them: the fields that are read, whatever else
//! an object has.

use super::devices::{DeviceClaimSpec, DeviceClaimStatus, SliceSpec};
use super::placement::{Affinity, SpreadConstraint, Taint, Toleration, Volume};
use super::values::{Amounts, Parts, Quantity, Time, or_default};
use crate::sources::files::{AtMost, InvalidJson, read_json};
use serde::de::{DeserializeOwned, Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// Objects of one list.
pub(super) const MOST_OBJECTS: usize = 1_000_000;
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "the metadata of an object")]
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
    /// Of a page of a list, where the next one begins; empty on the last page.
    #[serde(rename = "continue", deserialize_with = "or_default")]
    pub next: String,
    /// Of a page of a list, how many objects follow it.
    #[serde(deserialize_with = "or_default")]
    pub remaining_item_count: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "annotations as an object")]
pub(super) struct Annotations {
    #[serde(rename = "cluster.x-k8s.io/cluster-name")]
    pub cluster_name: Option<String>,
    /// Set on what a cluster shows of a static pod.
    #[serde(rename = "kubernetes.io/config.mirror")]
    pub static_pod: Option<String>,
    /// `false` keeps the cluster autoscaler from moving a pod.
    #[serde(rename = "cluster-autoscaler.kubernetes.io/safe-to-evict")]
    pub safe_to_evict: Option<String>,
    /// `true` keeps Karpenter from moving a pod.
    #[serde(rename = "karpenter.sh/do-not-disrupt")]
    pub do_not_disrupt: Option<String>,
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
    #[serde(deserialize_with = "or_default")]
    pub taints: Parts<Taint>,
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
    pub resource_claims: Parts<PodClaim>,
    /// Labels that its node must have.
    #[serde(deserialize_with = "or_default")]
    pub node_selector: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub affinity: Affinity,
    #[serde(deserialize_with = "or_default")]
    pub tolerations: Parts<Toleration>,
    #[serde(deserialize_with = "or_default")]
    pub topology_spread_constraints: Parts<SpreadConstraint>,
    #[serde(deserialize_with = "or_default")]
    pub volumes: Parts<Volume>,
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

/// A claim of devices of a pod: one that stands by itself, or one that a template makes
/// for the pod, whose name is in the status of the pod.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "a claim of a pod with `name`")]
pub(super) struct PodClaim {
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub resource_claim_name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "a container")]
pub(super) struct Container {
    #[serde(deserialize_with = "or_default")]
    pub resources: Requests,
    #[serde(deserialize_with = "or_default")]
    pub restart_policy: String,
    #[serde(deserialize_with = "or_default")]
    ports: Parts<Port>,
}

impl Container {
    /// Whether it listens on a port of its node, of which each node has one.
    pub(super) fn has_host_port(&self) -> bool {
        self.ports.0.iter().any(|port| port.host_port != 0)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "a port of a container")]
struct Port {
    /// Zero for none.
    #[serde(deserialize_with = "or_default")]
    host_port: i64,
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
    #[serde(deserialize_with = "or_default")]
    pub resource_claim_statuses: Parts<PodClaim>,
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
pub(super) type DeviceClaimObject = Body<DeviceClaimSpec, DeviceClaimStatus>;

#[derive(Debug)]
pub(super) enum Object {
    Node(Box<NodeObject>),
    Pod(Box<PodObject>),
    /// Something that makes pods and may itself be made by something: its kind.
    Maker(&'static str, Metadata),
    Slice(SliceObject),
    DeviceClaim(DeviceClaimObject),
    Namespace(Metadata),
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
#[serde(rename_all = "camelCase", expecting = "what `kubectl get -o json` prints, an object")]
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
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
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
            ("", "Namespace") => Object::Namespace(metadata),
            ("", kind) if kind.ends_with("List") => {
                return Err(format!("a {kind} in a list cannot be read"));
            }
            ("apps", "ReplicaSet") => Object::Maker("ReplicaSet", metadata),
            ("batch", "Job") => Object::Maker("Job", metadata),
            ("resource.k8s.io", "ResourceSlice") => {
                Object::Slice(Body { metadata, spec: part("spec", self.spec)?, status: () })
            }
            ("resource.k8s.io", "ResourceClaim") => Object::DeviceClaim(Body {
                metadata,
                spec: part("spec", self.spec)?,
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
        let place =
            if error.place.is_empty() { key.to_owned() } else { format!("{key}.{}", error.place) };
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
            let Metadata { next, remaining_item_count, .. } = wire.metadata;
            if !next.is_empty() || remaining_item_count != 0 {
                return Err(D::Error::custom("it is one page of a longer list"));
            }
            return Ok(Self(items.0));
        }
        let one = ObjectWire {
            api_version: wire.api_version,
            kind: wire.kind,
            metadata: wire.metadata,
            spec: wire.spec,
            status: wire.status,
        };
        one.object().map(|object| Self(vec![object])).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            [Object::Node(_), Object::Pod(_), Object::Other, Object::Other]
        ));
        let one =
            read(r#"{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "a"}}"#);
        assert!(matches!(one.as_slice(), [Object::Maker("ReplicaSet", _)]));
    }

    #[test]
    fn a_page_of_a_longer_list_and_a_list_in_a_list_are_refused() {
        let read = |text: &str| serde_json::from_str::<Document>(text);
        for last in
            [r#"{"resourceVersion": "7"}"#, r#"{"continue": "", "remainingItemCount": null}"#]
        {
            let text = format!(r#"{{"kind": "NodeList", "metadata": {last}, "items": []}}"#);
            assert!(read(&text).is_ok(), "{last}");
        }
        for more in [
            r#"{"continue": "abc", "remainingItemCount": 3}"#,
            r#"{"continue": "abc"}"#,
            r#"{"remainingItemCount": 3}"#,
        ] {
            let text = format!(r#"{{"kind": "NodeList", "metadata": {more}, "items": []}}"#);
            let error = read(&text).expect_err("one page").to_string();
            assert!(error.contains("one page of a longer list"), "{error}");
        }
        let text = r#"{"kind": "List", "items": [{"kind": "NodeList", "items": []}]}"#;
        let error = read(text).expect_err("nested").to_string();
        assert!(error.contains("a NodeList in a list cannot be read"), "{error}");
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
