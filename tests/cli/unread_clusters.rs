//! A cluster of which a part was not read: what nothing tells is unknown, never zero.

use crate::cli::check::RECORDING_AGE;
use crate::cli::estates::one;
use crate::cli::world::World;
use gpucost::domain::{Gathered, Node};
use gpucost::sources::Found;
use gpucost::sources::kubernetes::read_kubectl;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::path::PathBuf;

const TIME: &str = "2026-10-20T08:00:00Z";

/// A machine with 8 H100, by its type. `offered` is what device plugins add.
pub fn node(name: &str, offered: &Value) -> Value {
    let mut capacity = json!({"cpu": "192", "memory": "2048Gi"});
    for (resource, amount) in offered.as_object().expect("resources") {
        capacity[resource] = amount.clone();
    }
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "creationTimestamp": TIME, "labels": {
            "node.kubernetes.io/instance-type": "p5.48xlarge",
            "topology.kubernetes.io/region": "us-east-1",
        }},
        "spec": {"providerID": format!("aws:///us-east-1a/i-{name}")},
        "status": {"capacity": capacity, "allocatable": capacity},
    })
}

pub fn pod(namespace: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": TIME},
        "spec": spec, "status": {"phase": "Running", "startTime": TIME},
    })
}

/// A pod of the system, which no recording of a whole cluster is without.
pub fn proxy(on: &str) -> Value {
    let spec = json!({"nodeName": on, "containers": [{}]});
    pod("kube-system", &format!("proxy-{on}"), &spec)
}

pub fn read(objects: &[Value]) -> Gathered<Found> {
    let world = World::new();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let path = PathBuf::from(world.file("cluster.json", list.to_string()));
    read_kubectl(&[path]).expect("a cluster")
}

pub fn reasons(gathered: &Gathered<Found>) -> Vec<String> {
    let gaps = gathered.gaps.iter();
    gaps.map(|gap| format!("{} of {}: {}", gap.what, gap.place, gap.reason)).collect()
}

/// A node by its name, and the devices of it that are requested.
fn requested<'a>(gathered: &'a Gathered<Found>, name: &str) -> (&'a Node, Option<Decimal>) {
    let clusters = &gathered.value.clusters;
    let node = clusters.nodes.iter().find(|node| node.name == name);
    let node = node.expect("it has devices");
    (node, node.funnel(&clusters.claims).requested)
}

/// Each of 8 pods with a device that is allocated by a claim: the pods, the claims, and
/// the list of the devices.
fn allocated() -> (Vec<Value>, Vec<Value>, Value) {
    let of_each = |number: usize| {
        let name = format!("train-{number}");
        let own = json!([{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]);
        let spec = json!({"nodeName": "a", "containers": [{}], "resourceClaims": own});
        let device = json!({
            "driver": "gpu.nvidia.com", "pool": "a", "device": format!("gpu-{number}"),
            "request": "gpu",
        });
        let claim = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": format!("{name}-gpu"), "namespace": "ml"},
            "status": {
                "allocation": {"devices": {"results": [device]}},
                "reservedFor": [{"resource": "pods", "name": name}],
            },
        });
        (pod("ml", &name, &spec), claim)
    };
    let (pods, claims) = (0..8).map(of_each).unzip();
    let devices: Vec<Value> = (0..8)
        .map(|number| {
            let id = json!({"string": format!("GPU-{number}")});
            json!({"name": format!("gpu-{number}"), "attributes": {"uuid": id}})
        })
        .collect();
    let slice = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
        "metadata": {"name": "a-gpu"},
        "spec": {
            "driver": "gpu.nvidia.com", "nodeName": "a", "devices": devices,
            "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
        },
    });
    (pods, claims, slice)
}

#[test]
fn devices_of_claims_that_were_not_read_are_not_free() {
    let (pods, claims, slice) = allocated();
    let plugin = json!({"nvidia.com/gpu": "8"});
    let mut objects = vec![node("a", &json!({})), node("b", &plugin)];
    objects.extend([proxy("a"), proxy("b")]);
    objects.extend(pods);

    let gathered = read(&objects);
    let (node, held) = requested(&gathered, "a");
    assert_eq!((held, node.pods, node.cpu_only_pods), (None, None, None));
    assert_eq!(node.cpu_millicores.requested, None);
    // No pod with such a claim runs on the other one.
    let (node, held) = requested(&gathered, "b");
    assert_eq!((held, node.pods), (Some(Decimal::ZERO), Some(1)));
    assert_eq!(
        reasons(&gathered),
        ["devices of cluster: 1 node has pods with resource claims that were not read: what \
             is requested there is unknown"]
    );
    assert!(gathered.gaps[0].hint.contains("resourceclaims.resource.k8s.io"));

    // One of eight is missing.
    let some = [&objects[..], &claims[1..], std::slice::from_ref(&slice)].concat();
    assert_eq!(requested(&read(&some), "a").1, None);
    let complete = [&objects[..], &claims[..], &[slice]].concat();
    let gathered = read(&complete);
    let (node, held) = requested(&gathered, "a");
    assert_eq!((held, node.pods), (Some(Decimal::from(8)), Some(9)));
    assert!(gathered.gaps.is_empty(), "{:?}", gathered.gaps);
}

#[test]
fn devices_that_no_slice_lists_are_not_free_where_they_are_used() {
    let (pods, claims, _) = allocated();
    let plugin = json!({"nvidia.com/gpu": "8"});
    let mut objects = vec![node("a", &json!({})), node("b", &plugin)];
    let web = pod("web", "page", &json!({"nodeName": "b", "containers": [{}]}));
    objects.extend([proxy("a"), proxy("b"), web]);
    objects.extend(claims);
    let with_pods = [&objects[..], &pods[..]].concat();
    // By their pool alone, and by the pods that use them too.
    for objects in [objects, with_pods] {
        let gathered = read(&objects);
        assert_eq!(requested(&gathered, "a").1, None);
        assert_eq!(requested(&gathered, "b").1, Some(Decimal::ZERO));
        let expected = "devices of cluster: 8 allocated devices are in no complete list of \
                        resource slices: what is requested of their nodes is unknown";
        assert_eq!(reasons(&gathered), [expected]);
    }
}

#[test]
fn pods_of_one_namespace_are_not_all_pods() {
    let plugin = json!({"nvidia.com/gpu": "8"});
    let own = pod("ml", "page", &json!({"nodeName": "a", "containers": [{}]}));
    // kubectl whose usual namespace is the system's, and one whose usual one is another.
    for alone in [proxy("a"), own.clone()] {
        let gathered = read(&[node("a", &plugin), alone]);
        assert_eq!(requested(&gathered, "a").1, None);
        let [gap] = gathered.gaps.as_slice() else {
            panic!("{:?}", gathered.gaps);
        };
        assert_eq!(gap.what.to_string(), "pods");
    }
    let gathered = read(&[node("a", &plugin), proxy("a"), own]);
    assert_eq!(requested(&gathered, "a").1, Some(Decimal::ZERO));
    assert!(gathered.gaps.is_empty(), "{:?}", gathered.gaps);
}

#[test]
fn a_pod_behind_a_gate_waits_for_no_device() {
    let waiting = |name: &str, more: &Value| {
        let container = json!({"resources": {"limits": {"nvidia.com/gpu": "2"}}});
        let mut spec = json!({"containers": [container], "schedulingGates": more});
        if name == "placed" {
            spec["nodeName"] = json!("a");
        }
        pod("ml", name, &spec)
    };
    let gate = json!([{"name": "kueue.x-k8s.io/admission"}]);
    let gathered = read(&[
        node("a", &json!({"nvidia.com/gpu": "8"})),
        proxy("a"),
        waiting("queued", &gate),
        waiting("ready", &json!([])),
        waiting("plain", &json!(null)),
        // No server writes this; what is on a node holds its devices.
        waiting("placed", &gate),
    ]);
    let claims = gathered.value.clusters.claims.iter();
    let mut holders: Vec<&str> = claims.filter_map(|claim| claim.holder.pod.as_deref()).collect();
    holders.sort_unstable();
    assert_eq!(holders, ["placed", "plain", "ready"]);
    assert_eq!(requested(&gathered, "a").1, Some(Decimal::TWO));
}

#[test]
fn requests_in_units_that_are_not_known_are_not_zero() {
    let asking = |on: &str, name: &str, limits: &Value| {
        let container = json!({"resources": {"limits": limits}});
        let spec = json!({"nodeName": on, "containers": [container]});
        pod("ml", name, &spec)
    };
    let plugin = json!({"nvidia.com/gpu": "8"});
    let objects = [
        node("a", &plugin),
        // Whole cards for virtual machines, none of which runs.
        node("b", &json!({"nvidia.com/GH100_H100_SXM5_80GB": "8"})),
        node("c", &json!({"nvidia.com/gpu": "8", "nvidia.com/hostdev": "4"})),
        proxy("a"),
        proxy("b"),
        proxy("c"),
        asking("a", "small", &json!({"nvidia.com/gpucores": "30", "nvidia.com/gpumem": "8000"})),
        asking("c", "wide", &json!({"nvidia.com/gpu": "3", "nvidia.com/hostdev": "1"})),
        // A zero asks for nothing.
        asking("c", "none", &json!({"nvidia.com/gpumem": "0"})),
    ];
    let gathered = read(&objects);
    for name in ["a", "b"] {
        let (node, held) = requested(&gathered, name);
        assert_eq!((held, node.pods, node.cpu_only_pods), (None, None, None));
    }
    let (node, held) = requested(&gathered, "c");
    assert_eq!((held, node.pods), (Some(Decimal::from(3)), Some(3)));
    let expected = "devices of cluster: on 2 nodes, resources of a GPU vendor are offered or \
                    requested that are not understood, such as \
                    nvidia.com/GH100_H100_SXM5_80GB, nvidia.com/gpucores, nvidia.com/gpumem: \
                    what is requested there is unknown";
    assert_eq!(reasons(&gathered), [expected]);
}

#[test]
fn no_rule_about_clusters_passes_without_their_lists() {
    let denied = |list: &str| {
        let details = json!([format!("kubernetes:{list}"), "denied", "HTTP 403", "Forbidden", ""]);
        json!({"kind": "call-failed", "details": details})
    };
    let gap = |what: &str, cause: &Value| {
        let mut gap = json!({"what": what, "where": "cluster", "reason": "not read", "hint": ""});
        if !cause.is_null() {
            gap["cause"] = cause.clone();
        }
        gap
    };
    let checked = |rule: &str, gap: &Value| {
        let world = World::new();
        world
            .file("gpucost-policy.toml", format!("[[forbid]]\nrule = \"{rule}\"\n{RECORDING_AGE}"));
        let mut estate = one();
        estate["gaps"] = json!([gap]);
        let path = world.estate("now.json", &estate);
        let outcome = world.run(&["check", "--from", &path]);
        (outcome.code, format!("{}{}", outcome.stdout, outcome.stderr))
    };
    let gaps = [
        gap("devices", &denied("resourceclaims.resource.k8s.io")),
        gap("pods", &denied("pods")),
        gap("devices", &json!({"kind": "devices-not-listed", "details": ["2"]})),
        gap("devices", &json!({"kind": "claims-not-read", "details": ["1"]})),
        gap("pods", &json!({"kind": "pods-not-recorded", "details": []})),
        gap(
            "devices",
            &json!({"kind": "resources-foreign", "details": ["1", "nvidia.com/gpumem"]}),
        ),
        gap("devices", &json!(null)),
    ];
    let rules = [
        "cpu-only-pods-on-gpu-node", "fragmented-gpus", "idle-claim", "oversized-claim",
        "pending-gpu-pods", "stranded-host", "unallocated-gpus",
    ];
    for gap in &gaps {
        for rule in rules {
            let (code, said) = checked(rule, gap);
            assert_eq!(code, 3, "{rule}, {gap}: {said}");
        }
        // It has nothing to do with what pods hold.
        let (code, said) = checked("idle-gpu", gap);
        assert_eq!(code, 0, "{gap}: {said}");
    }
    // Who made the pods decides no finding.
    let owners = gap("owners of pods", &denied("jobs.batch"));
    let (code, said) = checked("idle-claim", &owners);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn no_budget_passes_without_a_cluster() {
    let cause = json!({
        "kind": "call-failed",
        "details": ["kubernetes:nodes", "denied", "HTTP 403", "Forbidden", "they are omitted"],
    });
    let mut estate = one();
    estate["gaps"] = json!([
        {"what": "nodes", "where": "cluster", "reason": "not read", "hint": "", "cause": cause},
    ]);
    // The only machine is in us-east-1 and costs 734.38.
    for policy in [
        "[[budget]]\nmonthly_limit = 1000\n",
        "[[budget]]\nregion = \"us-east-1\"\nmonthly_limit = 1000\n",
        "[[forbid]]\nrule = \"idle-gpu\"\n",
    ] {
        let world = World::new();
        world.file("gpucost-policy.toml", format!("{policy}{RECORDING_AGE}"));
        let path = world.estate("now.json", &estate);
        let outcome = world.run(&["check", "--from", &path, "--format", "json"]);
        assert_eq!(outcome.code, 3, "{policy}: {}", outcome.stderr);
        let missing = outcome.json()["missing_data"][0].clone();
        assert_eq!((&missing["what"], &missing["where"]), (&json!("nodes"), &json!("cluster")));
    }
}
