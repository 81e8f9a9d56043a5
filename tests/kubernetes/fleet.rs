//! A cluster of 250 nodes from round numbers, and what they add up to.

use serde_json::{Value, json};

pub const AS_OF: &str = "2026-11-01T00:00:00Z";
const CREATED: &str = "2026-09-01T00:00:00Z";
const STARTED: &str = "2026-10-20T08:00:00Z";

const GPU: &str = "nvidia.com/gpu";
const MIG: &str = "nvidia.com/mig-1g.5gb";

/// Nodes of a type, and devices of all of them: physical, allocatable, requested, free.
pub struct Total {
    pub instance_type: &'static str,
    pub nodes: usize,
    pub devices: [f64; 4],
}

/// What the generator's numbers amount to, by hand:
///
/// - 80 `p4d.24xlarge` with 8 GPUs: 80 × 8 = 640, all of them offered. The 20 with MIG
///   offer 6 whole GPUs and 14 sevenths, which is 6 + 14/7 = 8. Requested: 4 by a server
///   on each of the 60 without MIG (240); 2 by a job on 30 of these (60); 3 by a pod with
///   a sidecar on 10 others of these (30): the sidecar's 1 and the preparation's 2 are
///   more than the sidecar's 1 and the container's 1; 7 sevenths on each of the 20 (20).
///   240 + 60 + 30 + 20 = 350.
/// - 80 `g5.12xlarge` with 4 GPUs: 320. Each offers 16 replicas, which is 4 GPUs; the 10
///   with an unhealthy GPU offer 12, which is 3: 70 × 4 + 10 × 3 = 310. Requested: 6
///   replicas on each, which is 1.5 GPUs: 120.
/// - 60 `g6.xlarge` with 1 GPU: 60, of which 45 are requested.
/// - 10 nodes on premises with 4 GPUs that a driver lists: 40. A claim on each holds 3: 30.
///
/// The 20 `m5.large` have no GPU. 50 pods that have succeeded asked for 8 GPUs each, and
/// hold none; 25 pods that wait ask for 8 GPUs each, on no node.
pub const TOTALS: [Total; 4] = [
    Total { instance_type: "4x-H100", nodes: 10, devices: [40.0, 40.0, 30.0, 10.0] },
    Total { instance_type: "g5.12xlarge", nodes: 80, devices: [320.0, 310.0, 120.0, 190.0] },
    Total { instance_type: "g6.xlarge", nodes: 60, devices: [60.0, 60.0, 45.0, 15.0] },
    Total { instance_type: "p4d.24xlarge", nodes: 80, devices: [640.0, 640.0, 350.0, 290.0] },
];

/// Nodes, with the 20 that have no GPU.
pub const NODES: usize = 250;
/// Pods that have not ended: 250 agents, 60 servers, 30 of jobs, 10 with a sidecar,
/// 20 × 7 of sevenths, 80 × 6 of replicas, 45 notebooks, 10 with claims, 25 that wait.
pub const PODS: usize = 1_050;
/// Pods that wait.
pub const WAITING: usize = 25;
/// What holds devices or waits for some: every pod but the 250 agents.
pub const CLAIMS: usize = PODS - NODES;

/// Every object, in an order that chance decides, the same each time.
pub fn objects() -> Vec<Value> {
    let mut fleet = Vec::new();
    for number in 0..80 {
        fleet.extend(p4d(number));
        fleet.extend(g5(number));
    }
    for number in 0..60 {
        fleet.extend(g6(number));
    }
    for number in 0..10 {
        fleet.extend(hall(number));
    }
    for number in 0..20 {
        let name = format!("cpu-{number}");
        fleet.push(node(&name, "m5.large", 2, &json!({}), &[], &[]));
        fleet.push(agent(&name));
    }
    for number in 0..6 {
        let owner =
            json!([{"kind": "Deployment", "name": format!("serve-{number}"), "controller": true}]);
        fleet.push(maker("apps/v1", "ReplicaSet", &format!("serve-{number}-7d9f"), &owner));
    }
    for number in 0..3 {
        let owner = json!([{"kind": "CronJob", "name": "nightly", "controller": true}]);
        fleet.push(maker("batch/v1", "Job", &format!("nightly-{number}"), &owner));
    }
    for number in 0..50 {
        let spec = json!({"nodeName": "p4d-0", "containers": [wanting(GPU, 8)]});
        fleet.push(pod("search", &format!("done-{number}"), "Succeeded", spec, None));
    }
    for number in 0..WAITING {
        let spec = json!({"containers": [wanting(GPU, 8)]});
        fleet.push(pod("search", &format!("large-{number}"), "Pending", spec, None));
    }
    fastrand::Rng::with_seed(20_261_101).shuffle(&mut fleet);
    fleet
}

fn p4d(number: usize) -> Vec<Value> {
    let name = format!("p4d-{number}");
    let is_divided = number >= 60;
    let mut labels = json!({
        "nvidia.com/gpu.count": "8", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB",
        "nvidia.com/gpu.memory": "40960", "team": "search",
    });
    let whole: &[(&str, u32)] = &[(GPU, 8)];
    let divided: &[(&str, u32)] = &[(GPU, 6), (MIG, 14)];
    let offered = if is_divided { divided } else { whole };
    if is_divided {
        labels["nvidia.com/mig.strategy"] = json!("mixed");
    }
    let mut list = vec![node(&name, "p4d.24xlarge", 96, &labels, offered, offered), agent(&name)];
    if is_divided {
        for part in 0..7 {
            let spec = json!({"nodeName": name, "containers": [wanting(MIG, 1)]});
            list.push(pod("serving", &format!("small-{number}-{part}"), "Running", spec, None));
        }
        return list;
    }
    let mut server = wanting(GPU, 4);
    server["resources"]["requests"] = json!({"cpu": "32", "memory": "256Gi"});
    let spec = json!({"nodeName": name, "containers": [server]});
    let owner = ("ReplicaSet", format!("serve-{}-7d9f", number / 10));
    list.push(pod("search", &format!("serve-{number}"), "Running", spec, Some(owner)));
    if number < 30 {
        let spec = json!({"nodeName": name, "containers": [wanting(GPU, 2)]});
        let owner = ("Job", format!("nightly-{}", number / 10));
        list.push(pod("search", &format!("job-{number}"), "Running", spec, Some(owner)));
    } else if number < 40 {
        let mut sidecar = wanting(GPU, 1);
        sidecar["restartPolicy"] = json!("Always");
        let spec = json!({
            "nodeName": name, "initContainers": [sidecar, wanting(GPU, 2)],
            "containers": [wanting(GPU, 1)],
        });
        list.push(pod("search", &format!("prepared-{number}"), "Running", spec, None));
    }
    list
}

fn g5(number: usize) -> Vec<Value> {
    let name = format!("g5-{number}");
    let labels = json!({
        "nvidia.com/gpu.count": "4", "nvidia.com/gpu.replicas": "4",
        "nvidia.com/gpu.sharing-strategy": "time-slicing",
        "nvidia.com/gpu.product": "NVIDIA-A10G-SHARED", "team": "research",
    });
    let healthy = if number < 10 { 12 } else { 16 };
    let mut list = vec![
        node(&name, "g5.12xlarge", 48, &labels, &[(GPU, 16)], &[(GPU, healthy)]),
        agent(&name),
    ];
    for part in 0..6 {
        let spec = json!({"nodeName": name, "containers": [wanting(GPU, 1)]});
        let owner = ("StatefulSet", format!("notebook-{number}"));
        list.push(pod(
            "research",
            &format!("notebook-{number}-{part}"),
            "Running",
            spec,
            Some(owner),
        ));
    }
    list
}

fn g6(number: usize) -> Vec<Value> {
    let name = format!("g6-{number}");
    let labels = json!({"karpenter.sh/capacity-type": "spot"});
    let mut list =
        vec![node(&name, "g6.xlarge", 4, &labels, &[(GPU, 1)], &[(GPU, 1)]), agent(&name)];
    if number < 45 {
        let spec = json!({"nodeName": name, "containers": [wanting(GPU, 1)]});
        list.push(pod("vision", &format!("infer-{number}"), "Running", spec, None));
    }
    list
}

/// A node of which a driver lists the devices and allocates them one by one.
fn hall(number: usize) -> Vec<Value> {
    let name = format!("hall-{number}");
    let machine = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "creationTimestamp": CREATED, "labels": {}},
        "spec": {},
        "status": {
            "capacity": {"cpu": "64", "memory": "512Gi"},
            "allocatable": {"cpu": "64", "memory": "512Gi"}, "conditions": ready(),
        },
    });
    let devices: Vec<Value> = (0..4)
        .map(|index| {
            json!({"name": format!("gpu-{index}"), "attributes": {
                "type": {"string": "gpu"}, "uuid": {"string": format!("GPU-{number}-{index}")},
                "productName": {"string": "NVIDIA H100 80GB HBM3"},
            }})
        })
        .collect();
    let slice = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
        "metadata": {"name": format!("{name}-gpu.nvidia.com")},
        "spec": {
            "driver": "gpu.nvidia.com", "nodeName": name, "devices": devices,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        },
    });
    let held: Vec<Value> = (0..3)
        .map(|index| {
            json!({
                "driver": "gpu.nvidia.com", "pool": name, "device": format!("gpu-{index}"),
                "request": "gpu",
            })
        })
        .collect();
    let holder = format!("simulate-{number}");
    let claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {
            "name": format!("{holder}-gpu"), "namespace": "physics", "creationTimestamp": STARTED,
        },
        "spec": {},
        "status": {
            "allocation": {"devices": {"results": held}},
            "reservedFor": [{"resource": "pods", "name": holder, "uid": "0"}],
        },
    });
    let spec = json!({"nodeName": name, "containers": [{"name": "main", "resources": {}}]});
    let agent = agent(&name);
    let pod = pod("physics", &holder, "Running", spec, Some(("RayCluster", "ray".to_owned())));
    vec![machine, slice, claim, pod, agent]
}

fn ready() -> Value {
    json!([{"type": "Ready", "status": "True"}])
}

/// A node on AWS with what it has and what it offers.
fn node(
    name: &str,
    instance_type: &str,
    cpu: u32,
    labels: &Value,
    capacity: &[(&str, u32)],
    allocatable: &[(&str, u32)],
) -> Value {
    let mut labels = labels.clone();
    labels["node.kubernetes.io/instance-type"] = json!(instance_type);
    labels["topology.kubernetes.io/region"] = json!("us-east-1");
    labels["topology.kubernetes.io/zone"] = json!("us-east-1a");
    let amounts = |devices: &[(&str, u32)]| {
        let mut amounts = json!({"cpu": cpu.to_string(), "memory": format!("{}Gi", 4 * cpu)});
        for (resource, count) in devices {
            amounts[*resource] = json!(count.to_string());
        }
        amounts
    };
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "creationTimestamp": CREATED, "labels": labels},
        "spec": {"providerID": format!("aws:///us-east-1a/{}", machine(name))},
        "status": {
            "capacity": amounts(capacity), "allocatable": amounts(allocatable),
            "conditions": ready(),
        },
    })
}

/// An id of EC2's form that the name alone decides: the same digits each time.
fn machine(name: &str) -> String {
    let digits = name.bytes().map(|byte| format!("{byte:02x}"));
    format!("i-{:0>17}", digits.collect::<String>())
}

/// What every node runs.
fn agent(node: &str) -> Value {
    let resources = json!({"requests": {"cpu": "100m", "memory": "128Mi"}});
    let spec = json!({
        "nodeName": node, "containers": [{"name": "main", "resources": resources}],
    });
    let owner = Some(("DaemonSet", "agent".to_owned()));
    pod("kube-system", &format!("agent-{node}"), "Running", spec, owner)
}

fn wanting(resource: &str, count: u32) -> Value {
    let mut limits = json!({});
    limits[resource] = json!(count.to_string());
    json!({"name": "main", "resources": {"limits": limits}})
}

fn pod(
    namespace: &str,
    name: &str,
    phase: &str,
    spec: Value,
    owner: Option<(&str, String)>,
) -> Value {
    let owners = owner.map(|(kind, name)| json!({"kind": kind, "name": name, "controller": true}));
    let owners: Vec<Value> = owners.into_iter().collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "namespace": namespace, "name": name, "creationTimestamp": STARTED,
            "ownerReferences": owners,
        },
        "spec": spec,
        "status": {"phase": phase, "startTime": STARTED},
    })
}

fn maker(api_version: &str, kind: &str, name: &str, owners: &Value) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {
            "namespace": "search", "name": name, "creationTimestamp": CREATED,
            "ownerReferences": owners,
        },
        "spec": {"template": {"spec": {"containers": [{"name": "main"}]}}},
    })
}
