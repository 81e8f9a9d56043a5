//! Who holds devices: pods with what made them, with the labels of their namespaces, and
//! with what moving them to another node of the same kind takes.

use super::nodes::kind_of_node;
use super::objects::{Container, DeviceClaimObject, Metadata, NodeObject, PodObject, PodSpec};
use super::placement::Taint;
use super::pods::{self, Makers};
use super::resources::Labels;
use crate::domain::{Holder, Owner, Placement};
use std::collections::BTreeMap;

/// Pool and type of a node.
type Kind<'a> = (Option<&'a str>, Option<&'a str>);

pub(super) struct Holders<'a> {
    makers: &'a Makers,
    /// Labels of namespaces by name.
    namespaces: &'a BTreeMap<String, Labels>,
    nodes: &'a BTreeMap<String, NodeObject>,
    /// Nodes that pods can be placed on.
    peers: BTreeMap<Kind<'a>, Vec<&'a NodeObject>>,
    /// Whether every node of a kind admits what asks for the same, in the words of that.
    admitted: BTreeMap<(Kind<'a>, String), bool>,
}

impl<'a> Holders<'a> {
    pub(super) fn of(
        makers: &'a Makers,
        namespaces: &'a BTreeMap<String, Labels>,
        nodes: &'a BTreeMap<String, NodeObject>,
    ) -> Self {
        let mut peers: BTreeMap<Kind<'a>, Vec<&'a NodeObject>> = BTreeMap::new();
        for node in nodes.values().filter(|node| !node.spec.unschedulable) {
            peers.entry(kind_of_node(&node.metadata.labels)).or_default().push(node);
        }
        Self { makers, namespaces, nodes, peers, admitted: BTreeMap::new() }
    }

    pub(super) fn pod(&mut self, pod: &PodObject) -> Holder {
        let (cpu_millicores, memory_bytes) = pods::host_requests(&pod.spec);
        let volumes = &pod.spec.volumes.0;
        Holder {
            namespace: pod.metadata.namespace.clone(),
            pod: Some(pod.metadata.name.clone()),
            owner: self.makers.owner_of(&pod.metadata),
            labels: self.labels(&pod.metadata),
            placement: Some(Placement {
                cpu_millicores,
                memory_mib: memory_bytes.div_ceil(1 << 20),
                is_bound: self.is_bound(pod),
                has_local_data: volumes.iter().any(|volume| volume.is_local()),
            }),
        }
    }

    /// What a claim holds that no known pod uses; `pod` is the name of one that is not known.
    pub(super) fn claim(&self, claim: &DeviceClaimObject, pod: Option<&str>) -> Holder {
        let metadata = &claim.metadata;
        Holder {
            namespace: metadata.namespace.clone(),
            pod: pod.map(str::to_owned),
            owner: Some(Owner { kind: "ResourceClaim".to_owned(), name: metadata.name.clone() }),
            labels: self.labels(metadata),
            placement: None,
        }
    }

    /// Own labels, and where there are none those that people gave the namespace.
    fn labels(&self, metadata: &Metadata) -> Labels {
        let mut labels = metadata.labels.clone();
        let beside = self.namespaces.get(&metadata.namespace);
        for (key, value) in beside.into_iter().flatten().filter(|(key, _)| is_given(key)) {
            labels.entry(key.clone()).or_insert_with(|| value.clone());
        }
        labels
    }

    /// Whether something keeps a pod where it is, or from a node of the same kind.
    fn is_bound(&mut self, pod: &PodObject) -> bool {
        let (spec, annotations) = (&pod.spec, &pod.metadata.annotations);
        let is_kept = annotations.safe_to_evict.as_deref() == Some("false")
            || annotations.do_not_disrupt.as_deref() == Some("true")
            || spec.affinity.is_of_pods()
            || has_host_port(spec)
            || spec.topology_spread_constraints.0.iter().any(|constraint| constraint.is_required());
        let Some(node) = self.nodes.get(&spec.node_name).filter(|_| !is_kept) else {
            return is_kept;
        };
        let kind = kind_of_node(&node.metadata.labels);
        let asked = format!("{:?} {:?} {:?}", spec.node_selector, spec.affinity, spec.tolerations);
        let peers = self.peers.get(&kind);
        let is_admitted = self.admitted.entry((kind, asked)).or_insert_with(|| {
            let mut peers = peers.into_iter().flatten();
            peers.all(|peer| admits(peer, spec))
        });
        !*is_admitted
    }
}

/// Whether a pod listens on a port of its node: another node may have given that away.
fn has_host_port(spec: &PodSpec) -> bool {
    let mut all_containers = spec.containers.0.iter().chain(&spec.init_containers.0);
    all_containers.any(Container::has_host_port)
}

/// Whether a node meets what a pod asks of it, and the pod what the node asks.
fn admits(node: &NodeObject, spec: &PodSpec) -> bool {
    let labels = &node.metadata.labels;
    let mut selected = spec.node_selector.iter();
    let is_tolerated =
        |taint: &Taint| spec.tolerations.0.iter().any(|toleration| toleration.tolerates(taint));
    let mut taints = node.spec.taints.0.iter().filter(|taint| taint.is_lasting());
    selected.all(|(key, value)| labels.get(key) == Some(value))
        && spec.affinity.admits(&node.metadata.name, labels)
        && taints.all(is_tolerated)
}

/// Whether a label of a namespace may say whose it is: the domains of Kubernetes are not
/// for that.
fn is_given(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let is_of = |suffix: &str| {
        let before = domain.strip_suffix(suffix);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    !is_of("kubernetes.io") && !is_of("k8s.io")
}

#[cfg(test)]
mod tests {
    use super::super::objects::{Document, Object};
    use super::*;
    use serde_json::{Value, json};

    /// The holder of a pod with some spec on `a`, beside `b` of the same pool.
    fn held(pod: &Value, b: &Value) -> Holder {
        let node = |name: &str, more: &Value| {
            let mut node = json!({
                "kind": "Node", "spec": {"taints": more["taints"]},
                "metadata": {"name": name, "labels": {"agentpool": "gpu", "zone": "a"}},
            });
            if let Some(zone) = more.get("zone") {
                node["metadata"]["labels"]["zone"] = zone.clone();
            }
            if let Some(cordoned) = more.get("unschedulable") {
                node["spec"]["unschedulable"] = cordoned.clone();
            }
            node
        };
        let mut pod = pod.clone();
        pod["kind"] = json!("Pod");
        pod["spec"]["nodeName"] = json!("a");
        pod["metadata"]["name"] = json!("p");
        pod["metadata"]["namespace"] = json!("search");
        let list = json!({"kind": "List", "items": [node("a", &json!({})), node("b", b), pod]});
        let Document(objects) = serde_json::from_str(&list.to_string()).expect("objects");
        let (mut nodes, mut pods) = (BTreeMap::new(), Vec::new());
        for object in objects {
            match object {
                Object::Node(node) => {
                    nodes.insert(node.metadata.name.clone(), *node);
                }
                Object::Pod(pod) => pods.push(*pod),
                other => panic!("{other:?}"),
            }
        }
        let own = [
            ("team", "ranking"),
            ("cost", "7"),
            ("kubernetes.io/metadata.name", "search"),
            ("pod-security.kubernetes.io/enforce", "privileged"),
            ("example.com/kubernetes.io", "x"),
        ];
        let own = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let namespaces = BTreeMap::from([("search".to_owned(), Labels::from(own))]);
        let makers = Makers::default();
        let mut holders = Holders::of(&makers, &namespaces, &nodes);
        holders.pod(&pods[0])
    }

    #[test]
    fn labels_of_a_namespace_stand_in_for_those_that_a_pod_has_not() {
        let labels = json!({"team": "platform", "app": "web"});
        let holder = held(&json!({"metadata": {"labels": labels}}), &json!({}));
        let pairs: Vec<(&str, &str)> =
            holder.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let expected = [
            ("app", "web"),
            ("cost", "7"),
            ("example.com/kubernetes.io", "x"),
            ("team", "platform"),
        ];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn a_pod_moves_only_where_every_node_of_its_kind_admits_it() {
        let tainted = json!({"taints": [{"key": "team", "value": "x", "effect": "NoSchedule"}]});
        let other_zone = json!({"zone": "b"});
        let cordoned = json!({"zone": "b", "unschedulable": true});
        let plain = json!({"spec": {}});
        let in_zone = json!({"spec": {"nodeSelector": {"zone": "a"}}});
        let tolerant = json!({"spec": {"tolerations": [{"key": "team", "operator": "Exists"}]}});
        let kept = |key: &str, value: &str| json!({"metadata": {"annotations": {key: value}}});
        let spread = json!({"spec": {"topologySpreadConstraints":
            [{"whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}]}});
        let even = json!({"spec": {"topologySpreadConstraints":
            [{"whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 1}]}});
        let apart = json!({"spec": {"affinity": {"podAntiAffinity":
            {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}}});
        let listening = |part: &str, port: Value| json!({"spec": {part: [{"ports": [port]}]}});
        let on_node = json!({"containerPort": 8000, "hostPort": 8000});
        let alike = json!({});
        for (pod, peer, is_bound) in [
            (&plain, &alike, false),
            (&plain, &tainted, true),
            (&tolerant, &tainted, false),
            (&in_zone, &alike, false),
            (&in_zone, &other_zone, true),
            // No pod is placed there anyway.
            (&in_zone, &cordoned, false),
            (&kept("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"), &alike, true),
            (&kept("cluster-autoscaler.kubernetes.io/safe-to-evict", "true"), &alike, false),
            (&kept("karpenter.sh/do-not-disrupt", "true"), &alike, true),
            (&spread, &alike, true),
            (&even, &alike, false),
            (&apart, &alike, true),
            // Of its node, of its node by a sidecar, and of its own.
            (&listening("containers", on_node.clone()), &alike, true),
            (&listening("initContainers", on_node), &alike, true),
            (&listening("containers", json!({"containerPort": 8000})), &alike, false),
        ] {
            let placement = held(pod, peer).placement.expect("it is known");
            assert_eq!(placement.is_bound, is_bound, "{pod} beside {peer}");
        }
    }

    #[test]
    fn what_a_move_takes_is_in_the_units_of_nodes() {
        let container = json!({"resources": {"requests": {"cpu": "1500m", "memory": "1000Ki"}}});
        let disk = json!([{"name": "scratch", "emptyDir": {}}]);
        let pod = json!({"spec": {"containers": [container], "volumes": disk}});
        let expected = Placement {
            cpu_millicores: 1_500,
            // 1,000 KiB, rounded up.
            memory_mib: 1,
            is_bound: false,
            has_local_data: true,
        };
        assert_eq!(held(&pod, &json!({})).placement, Some(expected));
    }
}
