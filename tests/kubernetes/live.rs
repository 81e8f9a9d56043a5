//! What a cluster amounts to that is asked, and what that takes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fleet::{CLAIMS, NODES, PODS, TOTALS, WAITING, objects};
use super::run::{Lab, list_gaps};
use super::server::ApiServer;

/// Small enough for every long list to have several pages.
const PAGE: usize = 100;

/// Nodes of each type, with the sums of their devices in millionths.
fn sums(document: &Value) -> BTreeMap<String, (usize, [i64; 4])> {
    let rows = |key: &str| document[key].as_array().expect("a list").clone();
    let types: BTreeMap<String, String> = rows("instances")
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().expect("text").to_owned();
            (text("id"), text("instance_type"))
        })
        .collect();
    let mut sums: BTreeMap<String, (usize, [i64; 4])> = BTreeMap::new();
    for node in rows("nodes") {
        let machine = node["instance"].as_str().expect("an id");
        let (nodes, devices) = sums.entry(types[machine].clone()).or_default();
        *nodes += 1;
        for (sum, key) in devices.iter_mut().zip(["physical", "allocatable", "requested", "free"]) {
            *sum += millionths(node["gpus"][key].as_f64().expect("known"));
        }
    }
    sums
}

fn millionths(devices: f64) -> i64 {
    (devices * 1e6).round() as i64
}

#[test]
fn a_cluster_that_is_asked_adds_up() {
    let server = ApiServer::start(&objects(), PAGE);
    let lab = Lab::of(&server);
    let document = lab.read("inventory", &[]).json();
    let expected: BTreeMap<String, (usize, [i64; 4])> = TOTALS
        .iter()
        .map(|total| {
            let devices = total.devices.map(millionths);
            (total.instance_type.to_owned(), (total.nodes, devices))
        })
        .collect();
    assert_eq!(sums(&document), expected);
    assert!(list_gaps(&document).is_empty(), "{:?}", document["gaps"]);

    let claims = document["claims"].as_array().expect("a list");
    assert_eq!(claims.len(), CLAIMS);
    let waiting = claims.iter().filter(|claim| claim["state"] == "pending");
    assert_eq!(waiting.count(), WAITING);
    let owner_of = |pod: &str| {
        let claim = claims.iter().find(|claim| claim["pod"] == pod);
        claim.expect("it holds devices")["owner"].clone()
    };
    for (pod, kind, name) in [
        ("serve-17", "Deployment", "serve-1"),
        ("job-29", "CronJob", "nightly"),
        ("notebook-79-5", "StatefulSet", "notebook-79"),
        ("simulate-9", "RayCluster", "ray"),
    ] {
        assert_eq!(owner_of(pod), json!({"kind": kind, "name": name}), "{pod}");
    }
    let nodes = document["nodes"].as_array().expect("a list");
    let first = nodes.iter().find(|node| node["name"] == "p4d-0");
    let first = first.expect("a node");
    // The agent, the server and the job; 100 millicores and 32 cores.
    assert_eq!(first["pods"], 3);
    assert_eq!(first["cpu_millicores"]["requested"], 32_100);
}

#[test]
fn every_page_is_one_call_and_none_is_in_vain() {
    let server = ApiServer::start(&objects(), PAGE);
    let lab = Lab::of(&server);
    let audit = lab.read("audit", &[]).json();
    let pages = |objects: usize| objects.div_ceil(PAGE);
    let expected = json!({
        "kubernetes:nodes": pages(NODES),
        "kubernetes:pods": pages(PODS),
        "kubernetes:namespaces": 1,
        "kubernetes:replicasets.apps": 1,
        "kubernetes:jobs.batch": 1,
        "kubernetes:resourceslices.resource.k8s.io": 1,
        "kubernetes:resourceclaims.resource.k8s.io": 1,
    });
    assert_eq!(audit["api"]["by_operation"], expected);
    // 3 + 11 + 5.
    assert_eq!(audit["api"]["calls"], 19);
    assert_eq!(audit["api"]["retries"], 0);
    assert_eq!(server.listed().len(), 19);
    assert_eq!(audit["scope"]["source"], "kubernetes");
    // In pages of 500, as the program asks, it is 1 + 3 + 5.
    let server = ApiServer::start(&objects(), 500);
    let audit = Lab::of(&server).read("audit", &[]).json();
    assert_eq!(audit["api"]["calls"], 9);
}

#[test]
fn files_of_the_same_objects_give_the_same_inventory() {
    let fleet = objects();
    let server = ApiServer::start(&fleet, PAGE);
    let lab = Lab::of(&server);
    let file = lab.folder().join("objects.json");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": fleet});
    std::fs::write(&file, list.to_string()).expect("a writable folder");
    let file = file.to_str().expect("UTF-8");
    let as_of = super::fleet::AS_OF;
    for format in ["json", "wide", "csv"] {
        let asked = ["inventory", "--as-of", as_of, "--format", format];
        let live = lab.run(&[&asked[..], &["--kubernetes"]].concat());
        let recorded = lab.run(&[&asked[..], &["--from-kubectl", file]].concat());
        assert_eq!(live.code, 0, "{}", live.stderr);
        assert_eq!(live.stdout, recorded.stdout, "{format}");
        assert_eq!(live.stderr, recorded.stderr, "{format}");
    }
}

#[test]
fn what_was_read_live_is_saved_and_narrowed_like_files() {
    let server = ApiServer::start(&objects(), PAGE);
    let lab = Lab::of(&server);
    let live = lab.read("inventory", &["--save", "saved.json"]).json();
    let saved = ["inventory", "--from", "saved.json", "--format", "json"];
    assert_eq!(lab.run(&saved).json(), live);
    // The ten machines on premises are in no region of AWS.
    let narrowed = lab.read("inventory", &["--region", "us-east-1"]).json();
    assert_eq!(narrowed["instances"].as_array().map(Vec::len), Some(220));
    let tagged = lab.read("inventory", &["--tag", "team=research"]).json();
    assert_eq!(tagged["instances"].as_array().map(Vec::len), Some(80));
}

#[test]
fn a_context_can_be_named() {
    let server = ApiServer::start(&objects(), 500);
    let mut config = server.kubeconfig();
    config["current-context"] = json!("elsewhere");
    let lab = Lab::with(&config);
    let document = lab.read("inventory", &["--context", "lab"]).json();
    assert_eq!(document["nodes"].as_array().map(Vec::len), Some(230));
    let refused = lab.read("inventory", &[]);
    assert_eq!(
        refused.error(2),
        "error: the kubeconfig has no context `elsewhere`\n\
         hint: pass `--context NAME`, with one of: lab\n"
    );
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let lab = Lab::with(&json!({}));
    for arguments in [
        &["inventory", "--kubernetes", "--demo"][..],
        &["inventory", "--kubernetes", "--from", "a.json"],
        &["inventory", "--kubernetes", "--from-kubectl", "a.json"],
        &["inventory", "--context", "lab"],
        &["inventory", "--with-aws"],
    ] {
        let run = lab.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
    }
}
