//! Objects of Kubernetes as its API writes them: the fields that are read, whatever else
//! an object has.

use super::devices::{DeviceClaimSpec, DeviceClaimStatus, SliceSpec};
use super::placement::{Affinity, SpreadConstraint, Taint, Toleration, Volume};
use super::values::{Amounts, Parts, Quantity, Time, wire};
use crate::files::{AtMost, InvalidJson, read_json};
use serde::de::{DeserializeOwned, Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// Bytes of one text: objects have up to a megabyte, of which a text may be nearly all.
pub(super) const LONGEST_TEXT: usize = 2 << 20;
/// Objects of one list.
pub(super) const MOST_OBJECTS: usize = 1_000_000;

wire! {
    struct Metadata = "the metadata of an object" {
        [name: String]
        namespace: String,
        labels: BTreeMap<String, String>,
        annotations: Annotations,
        creation_timestamp: Option<Time>,
        owner_references: Parts<OwnerReference>,
        /// Of a page of a list, where the next one begins; empty on the last page.
        #[serde(rename = "continue")]
        next: String,
        /// Of a page of a list, how many objects follow it.
        remaining_item_count: i64,
    }

    struct Annotations = "annotations as an object" {
        #[serde(rename = "cluster.x-k8s.io/cluster-name")]
        cluster_name: Option<String>,
        /// Set on what a cluster shows of a static pod.
        #[serde(rename = "kubernetes.io/config.mirror")]
        static_pod: Option<String>,
        /// `false` keeps the cluster autoscaler from moving a pod.
        #[serde(rename = "cluster-autoscaler.kubernetes.io/safe-to-evict")]
        safe_to_evict: Option<String>,
        /// `true` keeps Karpenter from moving a pod.
        #[serde(rename = "karpenter.sh/do-not-disrupt")]
        do_not_disrupt: Option<String>,
    }

    struct OwnerReference = "an owner with `kind` and `name`" {
        [kind: String, name: String]
        controller: bool,
    }

    struct NodeSpec = "the spec of a node" {
        #[serde(rename = "providerID")]
        provider_id: String,
        unschedulable: bool,
        taints: Parts<Taint>,
    }

    struct NodeStatus = "the status of a node" {
        capacity: Amounts,
        allocatable: Amounts,
        conditions: Parts<Condition>,
    }

    struct Condition = "a condition with `type` and `status`" {
        [
            #[serde(rename = "type")]
            kind: String,
            status: String,
        ]
    }

    struct PodSpec = "the spec of a pod" {
        node_name: String,
        containers: Parts<Container>,
        init_containers: Parts<Container>,
        /// Devices that are allocated one by one.
        resource_claims: Parts<PodClaim>,
        /// Labels that its node must have.
        node_selector: BTreeMap<String, String>,
        affinity: Affinity,
        tolerations: Parts<Toleration>,
        topology_spread_constraints: Parts<SpreadConstraint>,
        volumes: Parts<Volume>,
        /// What keeps the pod from its scheduler, such as a queue.
        scheduling_gates: Parts<IgnoredAny>,
        /// What the pod takes beside its containers.
        overhead: Amounts,
        /// CPU and memory of all containers together, where the pod states them.
        resources: Requests,
    }

    /// A claim of devices of a pod: one that stands by itself, or one that a template makes
    /// for the pod, whose name is in the status of the pod.
    struct PodClaim = "a claim of a pod with `name`" {
        [name: String]
        resource_claim_name: String,
    }

    struct Container = "a container" {
        resources: Requests,
        restart_policy: String,
        ports: Parts<Port>,
    }

    struct Port = "a port of a container" {
        /// Zero for none.
        host_port: i64,
    }

    struct Requests = "resources with `requests` and `limits`" {
        requests: Amounts,
        limits: Amounts,
    }

    struct PodStatus = "the status of a pod" {
        phase: String,
        start_time: Option<Time>,
        resource_claim_statuses: Parts<PodClaim>,
    }
}

impl Container {
    /// Whether it listens on a port of its node, of which each node has one.
    pub(super) fn has_host_port(&self) -> bool {
        self.ports.0.iter().any(|port| port.host_port != 0)
    }
}

impl Requests {
    /// What is requested; a limit alone is a request as well.
    pub(super) fn get(&self, resource: &str) -> Option<Quantity> {
        self.requests.get(resource).or_else(|| self.limits.get(resource)).copied()
    }
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

/// The text of a part of an object.
type Part = Option<Box<RawValue>>;

/// An object, or where items of a type are expected a list of them. Its kind may stand behind
/// what its form depends on.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object of Kubernetes")]
struct ObjectWire<I> {
    #[serde(default)]
    api_version: String,
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    spec: Part,
    status: Part,
    items: Option<I>,
}

impl<I> ObjectWire<I> {
    fn object<E: Error>(self) -> Result<Object, E> {
        // The group before the version of an API; empty of the core API.
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        object((group, &self.kind), self.metadata, (self.spec, self.status)).map_err(E::custom)
    }
}

/// An object of a list that states the kind of all of them.
#[cfg(feature = "kubernetes")]
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object of Kubernetes")]
pub(super) struct Item {
    #[serde(default)]
    metadata: Metadata,
    spec: Part,
    status: Part,
}

#[cfg(feature = "kubernetes")]
impl Item {
    /// # Errors
    /// Why it is not an object of its kind.
    pub(super) fn object(self, group: &str, kind: &str) -> Result<Object, String> {
        object((group, kind), self.metadata, (self.spec, self.status))
    }
}

/// An object by the group and the kind of it.
fn object(
    (group, kind): (&str, &str),
    metadata: Metadata,
    (spec, status): (Part, Part),
) -> Result<Object, String> {
    Ok(match (group, kind) {
        ("", "Node") => Object::Node(Box::new(body(metadata, (spec, status))?)),
        ("", "Pod") => Object::Pod(Box::new(body(metadata, (spec, status))?)),
        ("", "Namespace") => Object::Namespace(metadata),
        ("", kind) if kind.ends_with("List") => {
            return Err(format!("a {kind} in a list cannot be read"));
        }
        ("apps", "ReplicaSet") => Object::Maker("ReplicaSet", metadata),
        ("batch", "Job") => Object::Maker("Job", metadata),
        ("resource.k8s.io", "ResourceSlice") => {
            Object::Slice(Body { metadata, spec: part("spec", spec)?, status: () })
        }
        ("resource.k8s.io", "ResourceClaim") => {
            Object::DeviceClaim(body(metadata, (spec, status))?)
        }
        _ => Object::Other,
    })
}

fn body<S, T>(metadata: Metadata, (spec, status): (Part, Part)) -> Result<Body<S, T>, String>
where
    S: Default + DeserializeOwned,
    T: Default + DeserializeOwned,
{
    Ok(Body { metadata, spec: part("spec", spec)?, status: part("status", status)? })
}

/// A part of an object, whose form depends on its kind.
fn part<T: Default + DeserializeOwned>(key: &str, raw: Part) -> Result<T, String> {
    let Some(raw) = raw else { return Ok(T::default()) };
    let text = raw.get();
    read_json(text.as_bytes(), text.len(), PhantomData::<T>).map_err(|error| {
        let place =
            if error.place.is_empty() { key.to_owned() } else { format!("{key}.{}", error.place) };
        match error.source {
            InvalidJson::Value(invalid) => format!("{}, at `{place}`", invalid.words),
            // It was read as JSON before, which numbers out of range and halves of
            // surrogate pairs pass.
            InvalidJson::Text(_) => format!("invalid number or string at `{place}`"),
        }
    })
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ObjectWire::<IgnoredAny>::deserialize(deserializer)?.object()
    }
}

/// What one file holds.
#[derive(Debug)]
pub(super) struct Document(pub Vec<Object>);

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = ObjectWire::<AtMost<Object, MOST_OBJECTS>>::deserialize(deserializer)?;
        let Metadata { next, remaining_item_count, .. } = &wire.metadata;
        match wire.items {
            Some(_) if !next.is_empty() || *remaining_item_count != 0 => {
                Err(D::Error::custom("it is one page of a longer list"))
            }
            Some(items) => Ok(Self(items.0)),
            None => wire.object().map(|object| Self(vec![object])),
        }
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
            r#"{"continue": "abc", "remainingItemCount": 3}"#, r#"{"continue": "abc"}"#,
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
