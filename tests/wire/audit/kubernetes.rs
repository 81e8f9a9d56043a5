//! A cluster beside the account that its nodes run in: what both show counts once.

use std::fs;

use serde_json::{Value, json};

use super::account::Account;
use super::command::{Gpucost, Run};
#[cfg(feature = "kubernetes")]
use crate::kubernetes::server::{ApiServer, Fault as Denial};
use crate::wire::fleet::{Launch, launch};
use crate::wire::loopback::{Fault, Price, Target, Times};

/// A machine that nobody shows but the cluster.
const GONE: &str = "i-0fffffffffffffff1";

fn node(name: &str, id: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name, "creationTimestamp": "2026-09-01T00:00:00Z",
            "labels": {
                "node.kubernetes.io/instance-type": "g5.xlarge",
                "topology.kubernetes.io/region": "us-east-1",
                "karpenter.sh/capacity-type": "spot", "team": "search",
            },
        },
        "spec": {"providerID": format!("aws:///us-east-1a/{id}")},
        "status": {"capacity": {"nvidia.com/gpu": "1"}, "allocatable": {"nvidia.com/gpu": "1"}},
    })
}

fn listed(account: &Account, nodes: &[Value]) -> Run {
    let mut inventory = Gpucost::new(&["inventory", "--format", "json", "--region", "us-east-1"])
        .args(&["--from-kubectl", "nodes.json", "--with-aws"])
        .of(account);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": nodes});
    let path = inventory.folder().join("nodes.json");
    fs::write(path, list.to_string()).expect("a writable folder");
    inventory.run()
}

#[test]
fn a_machine_that_ec2_and_a_cluster_show_is_paid_for_once() {
    let Some(account) = Account::open() else { return };
    let plan = [Launch::on_demand("us-east-1a", "g5.xlarge")];
    let launched = launch(&account.loopback, &plan);
    let price = Price::linux("g5.xlarge", "us-east-1", "1.10");
    account.loopback.put_price(price);
    let id = launched[0].instance_id.as_str();
    let nodes = [node("gpu-1", id), node("gpu-2", GONE)];
    let document = listed(&account, &nodes).json(0);

    let instances = document["instances"].as_array().expect("a list");
    let [instance] = instances.as_slice() else {
        panic!("{instances:?}");
    };
    // EC2 knows whose it is and how it was bought; the node adds its labels.
    assert_eq!((&instance["id"], &instance["account"]), (&json!(id), &json!(account.number)));
    assert_eq!(instance["purchase_option"], "on-demand");
    assert_eq!(instance["hourly_cost"], 1.1);
    assert_eq!((&instance["name"], &instance["tags"]["team"]), (&json!("gpu-1"), &json!("search")));
    let of_instance = |gap: &&Value| gap["what"] == "instance";
    let gaps = document["gaps"].as_array().expect("a list");
    let gaps: Vec<&Value> = gaps.iter().filter(of_instance).collect();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!((&gaps[0]["where"], &gaps[0]["cause"]), (&json!(GONE), &json!("node-not-shown")));
    assert_eq!(document["nodes"].as_array().map(Vec::len), Some(2));

    // Without EC2, the nodes are all that is known, and the gap says why.
    let denied = Target::operation("ec2", "DescribeInstances");
    account.loopback.inject(denied, Fault::AccessDenied, Times::Always);
    let document = listed(&account, &nodes).json(0);
    let instances = document["instances"].as_array().expect("a list");
    let told: Vec<(&Value, &Value)> = instances
        .iter()
        .map(|instance| (&instance["account"], &instance["purchase_option"]))
        .collect();
    assert_eq!(told, [(&Value::Null, &json!("spot")), (&Value::Null, &json!("spot"))]);
    let regions = document["gaps"].as_array().expect("a list").iter();
    let regions: Vec<&Value> = regions.filter(|gap| gap["what"] == "region").collect();
    assert_eq!(regions.len(), 1, "{regions:?}");
}

/// A listing of the account and of a cluster that is asked.
#[cfg(feature = "kubernetes")]
fn listed_live(account: &Account, server: &ApiServer) -> Run {
    let mut inventory = Gpucost::new(&["inventory", "--format", "json", "--region", "us-east-1"])
        .args(&["--kubernetes", "--with-aws"])
        .of(account);
    // Where kubectl has it as well.
    let folder = inventory.folder().join(".kube");
    fs::create_dir(&folder).expect("a writable folder");
    let config = server.kubeconfig().to_string();
    fs::write(folder.join("config"), config).expect("a writable folder");
    inventory.run()
}

#[cfg(feature = "kubernetes")]
#[test]
fn a_cluster_that_is_asked_adds_its_labels_and_never_hides_the_account() {
    let Some(account) = Account::open() else { return };
    let plan = [Launch::on_demand("us-east-1a", "g5.xlarge")];
    let launched = launch(&account.loopback, &plan);
    let id = launched[0].instance_id.as_str();
    let server = ApiServer::start(&[node("gpu-1", id)], 500);
    let document = listed_live(&account, &server).json(0);
    let instances = document["instances"].as_array().expect("a list");
    let [instance] = instances.as_slice() else {
        panic!("{instances:?}");
    };
    assert_eq!(
        (&instance["id"], &instance["account"], &instance["name"]),
        (&json!(id), &json!(account.number), &json!("gpu-1"))
    );
    assert_eq!(document["nodes"].as_array().map(Vec::len), Some(1));

    server.inject("nodes", 0, usize::MAX, Denial::Forbidden);
    let document = listed_live(&account, &server).json(0);
    assert_eq!(document["instances"].as_array().map(Vec::len), Some(1));
    let gaps = document["gaps"].as_array().expect("a list").iter();
    let nodes: Vec<&Value> = gaps.filter(|gap| gap["what"] == "nodes").collect();
    let [cluster] = nodes.as_slice() else {
        panic!("{nodes:?}");
    };
    assert_eq!((&cluster["where"], &cluster["cause"]), (&json!("cluster"), &json!("call-failed")));
    let hint = cluster["hint"].as_str().expect("text");
    assert!(hint.contains("`gpucost setup kubernetes`"), "{hint}");
}
