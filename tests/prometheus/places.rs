//! The same machines by EC2, a cluster and a metric server at once: each is one and is paid
//! for once, and where one of the three says nothing that is a gap and never a figure.

use super::expected::LAUNCHED_AT;
use super::fleet::machines;
use super::proof::{Places, proof};
use crate::wire::audit::command::Run;
use crate::wire::fleet::Launched;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What `kubectl` prints of a cluster that the machines are the nodes of. A pod on each holds
/// all of its devices; pods of the system run, if they were recorded.
pub fn cluster(launched: &BTreeMap<&str, Launched>, has_system_pods: bool) -> Value {
    let mut items = Vec::new();
    for host in machines() {
        let machine = &launched[host.name];
        let (node, id) = (&machine.private_dns_name, &machine.instance_id);
        let gpus = devices(host.instance_type).to_string();
        items.push(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": node, "creationTimestamp": LAUNCHED_AT,
                "labels": {
                    "node.kubernetes.io/instance-type": host.instance_type,
                    "topology.kubernetes.io/region": "us-east-1",
                },
            },
            "spec": {"providerID": format!("aws:///us-east-1a/{id}")},
            "status": {
                "capacity": {"nvidia.com/gpu": gpus},
                "allocatable": {"nvidia.com/gpu": gpus},
            },
        }));
        items.push(pod("search", &format!("on-{}", host.name), node, &gpus));
    }
    if has_system_pods {
        items.push(pod("kube-system", "dns", "elsewhere", "0"));
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

fn devices(instance_type: &str) -> u32 {
    match instance_type {
        "g5.xlarge" => 1,
        "g5.12xlarge" => 4,
        "p4d.24xlarge" => 8,
        other => panic!("{other} is of no machine"),
    }
}

fn pod(namespace: &str, name: &str, node: &str, gpus: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": namespace, "creationTimestamp": LAUNCHED_AT,
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "main", "resources": {"requests": {"nvidia.com/gpu": gpus}}}],
        },
        "status": {"phase": "Running"},
    })
}

/// What an audit says of each machine: class, state, cost and mean utilization.
type Figures = BTreeMap<String, [Value; 4]>;

fn figures(report: &Value) -> Figures {
    let workloads = report["workloads"].as_array().expect("a list");
    let figures: Figures = workloads
        .iter()
        .map(|workload| {
            let own = workload["instances"].as_array().expect("a list");
            let [id] = own.as_slice() else {
                panic!("{own:?} is not one machine");
            };
            let of = |key: &str| workload[key].clone();
            let mean = workload["utilization"]["mean"].clone();
            let id = id.as_str().expect("an id").to_owned();
            let values = [of("classification"), of("state"), of("monthly_cost"), mean];
            (id, values)
        })
        .collect();
    assert_eq!(figures.len(), workloads.len(), "no machine twice");
    figures
}

fn whole(run: &Run) -> (Value, Figures) {
    let report = run.json(0);
    let figures = figures(&report);
    (report, figures)
}

/// Gaps as what, where and cause.
fn gaps(report: &Value) -> Vec<[&str; 3]> {
    let gaps = report["gaps"].as_array().expect("a list").iter();
    gaps.map(|gap| ["what", "where", "cause"].map(|key| gap[key].as_str().unwrap_or_default()))
        .collect()
}

fn with_places() -> Option<(&'static Places, Value, Figures)> {
    let proof = proof()?;
    // By EC2 and the server, without the cluster.
    let (report, figures) = whole(&proof.by_victoria_metrics);
    Some((&proof.places, report, figures))
}

#[test]
fn a_machine_that_three_places_show_is_paid_for_once() {
    let Some((places, expected_report, expected)) = with_places() else { return };
    let (report, actual) = whole(&places.all);
    assert_eq!(actual, expected);
    for field in ["instances", "gpus", "monthly_cost", "by_classification"] {
        let apart = [&report, &expected_report].map(|document| &document["summary"][field]);
        assert_eq!(apart[0], apart[1], "{field}");
    }
    let at_all =
        [&report, &expected_report].map(|document| document["plan"]["monthly_savings"].clone());
    assert_eq!(at_all[0], at_all[1]);
}

#[test]
fn without_ec2_a_cluster_and_a_server_say_the_same_of_what_they_know() {
    let Some((places, _, expected)) = with_places() else { return };
    let (report, actual) = whole(&places.without_ec2);
    assert_eq!(actual, expected);
    let region = ["region", "us-east-1", "call-failed"];
    assert!(gaps(&report).contains(&region), "{}", report["gaps"]);
}

#[test]
fn without_a_server_costs_stay_and_nothing_is_measured() {
    let Some((places, _, expected)) = with_places() else { return };
    let (report, actual) = whole(&places.without_server);
    assert!(actual.keys().eq(expected.keys()));
    for (id, [class, _, cost, mean]) in &actual {
        assert_eq!(class, "insufficient-data", "{id}");
        assert_eq!((cost, mean), (&expected[id][2], &Value::Null), "{id}");
    }
    assert!(
        gaps(&report).iter().any(|[_, place, _]| *place == places.absent),
        "{}",
        report["gaps"]
    );
}

#[test]
fn without_pods_machines_stay_what_they_are() {
    let Some((places, _, expected)) = with_places() else { return };
    let (report, actual) = whole(&places.without_pods);
    assert_eq!(actual, expected);
    let pods = ["pods", "cluster", "pods-not-recorded"];
    assert!(gaps(&report).contains(&pods), "{}", report["gaps"]);
}
