//! Pods of a cluster from the output of kubectl: what they wait for, whose they are, and where
//! they could be as well.

use crate::cli::estates::one;
use crate::cli::unread_clusters::{node, pod, proxy, read, reasons};
use crate::cli::world::{Outcome, World};
use gpucost::domain::ClaimState;
use serde_json::{Value, json};
use std::path::Path;

const AS_OF: &str = "2026-11-01T00:00:00Z";

/// The findings of a rule about some objects.
fn findings(objects: &[Value], rule: &str) -> Vec<Value> {
    let world = World::new();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let path = world.file("cluster.json", list.to_string());
    let audit = ["audit", "--from-kubectl", &path, "--as-of", AS_OF, "--format", "json"];
    let report = world.run(&audit).json();
    let findings = report["findings"].as_array().expect("a list").iter();
    findings.filter(|finding| finding["rule"] == rule).cloned().collect()
}

/// A claim of devices that is not allocated, with one request.
fn claim(name: &str, request: &Value) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"devices": {"requests": [request]}},
    })
}

fn whole(count: u32) -> Value {
    json!({"name": "gpus", "exactly": {
        "deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": count,
    }})
}

/// A pod that waits for a claim by its name.
fn waiting(name: &str, claim: &str) -> Value {
    let own = json!([{"name": "gpu", "resourceClaimName": claim}]);
    pod("ml", name, &json!({"containers": [{}], "resourceClaims": own}))
}

/// A node whose eight devices a driver lists.
fn listed() -> Vec<Value> {
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
    let web = pod("web", "page", &json!({"nodeName": "a", "containers": [{}]}));
    vec![node("a", &json!({})), proxy("a"), web, slice]
}

#[test]
fn pods_that_wait_for_resource_claims_wait_for_their_devices() {
    let mut objects = listed();
    // Three devices for two pods that share them, and one for a pod of a template.
    objects.extend([claim("shared", &whole(3)), waiting("p-0", "shared")]);
    objects.push(waiting("p-1", "shared"));
    let mut made = pod(
        "ml",
        "q",
        &json!({
            "containers": [{}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
        }),
    );
    made["status"]["resourceClaimStatuses"] =
        json!([{"name": "gpu", "resourceClaimName": "q-gpu-x7"}]);
    objects.extend([made, claim("q-gpu-x7", &whole(1))]);
    let gathered = read(&objects);
    assert_eq!(reasons(&gathered), Vec::<String>::new());
    let claims = gathered.value.clusters.claims.iter();
    let mut rows: Vec<(&str, &str, u32)> = claims
        .map(|claim| {
            assert_eq!(claim.state, ClaimState::Pending);
            let pod = claim.holder.pod.as_deref().expect("a pod");
            (pod, claim.devices.resource.as_str(), claim.devices.count)
        })
        .collect();
    rows.sort_unstable();
    let expected = [("p-0", "gpu.nvidia.com", 3), ("q", "gpu.nvidia.com", 1)];
    assert_eq!(rows, expected);
    let pending = findings(&objects, "pending-gpu-pods");
    let [one] = pending.as_slice() else {
        panic!("one finding");
    };
    let title = one["title"].as_str().expect("text");
    // Eight are listed, and none is allocated.
    assert!(title.starts_with("2 pods wait for 4 GPUs"), "{title}");
    assert!(title.contains("free: 8 GPUs"), "{title}");
}

#[test]
fn what_a_claim_asks_for_in_words_that_are_not_understood_is_a_gap() {
    let mut objects = listed();
    let slice = json!({"name": "part", "exactly": {"deviceClassName": "mig.nvidia.com"}});
    objects.extend([claim("part", &slice), waiting("p", "part"), waiting("q", "none")]);
    let gathered = read(&objects);
    assert!(gathered.value.clusters.claims.is_empty());
    let expected = "devices of cluster: 2 pods wait for resource claims of unknown devices, of \
                    device classes such as mig.nvidia.com";
    assert_eq!(reasons(&gathered), [expected]);
    // A policy that forbids pods that wait does not pass.
    let world = World::new();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let path = world.file("cluster.json", list.to_string());
    for (rule, code) in [("pending-gpu-pods", 3), ("stranded-host", 0)] {
        let policy = format!("[[forbid]]\nrule = \"{rule}\"\n");
        world.file("gpucost-policy.toml", policy);
        let check = ["check", "--from-kubectl", &path, "--as-of", AS_OF];
        let outcome = world.run(&check);
        assert_eq!(outcome.code, code, "{rule}: {}", outcome.all());
    }
}

#[test]
fn a_label_of_the_namespace_is_that_of_pods_without_it() {
    let asking = |namespace: &str, name: &str, labels: Value| {
        let container = json!({"resources": {"limits": {"nvidia.com/gpu": "2"}}});
        let spec = json!({"nodeName": "a", "containers": [container]});
        let mut pod = pod(namespace, name, &spec);
        pod["metadata"]["labels"] = labels;
        pod
    };
    let namespace = |name: &str, team: &str| {
        let labels = json!({"team": team, "kubernetes.io/metadata.name": name});
        json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": labels},
        })
    };
    let objects = [
        node("a", &json!({"nvidia.com/gpu": "8"})),
        proxy("a"),
        namespace("ml", "research"),
        asking("ml", "p", json!({})),
        asking("ml", "q", json!({"team": "platform"})),
        asking("web", "r", json!({})),
    ];
    let world = World::new();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let path = world.file("cluster.json", list.to_string());
    let audit = ["audit", "--from-kubectl", &path, "--as-of", AS_OF];
    let by = ["--group-by", "label:team", "--format", "json"];
    let report = world.run(&[&audit[..], &by].concat()).json();
    let rows = report["showback"]["rows"].as_array().expect("a list");
    let held = rows.iter().filter(|row| row["part"] == "requested");
    let mut teams: Vec<String> = held.map(|row| row["values"]["label:team"].to_string()).collect();
    teams.sort();
    assert_eq!(teams, ["\"platform\"", "\"research\"", "null"]);
}

/// A pod of a Deployment with four GPUs on a node of 192 cores, with more in its spec.
fn ranker(on: &str, cpu: &str, more: &Value) -> Value {
    let requests = json!({"nvidia.com/gpu": "4", "cpu": cpu});
    let mut spec = json!({
        "nodeName": on, "containers": [{"resources": {"requests": requests}}],
    });
    for (key, value) in more.as_object().expect("a spec") {
        spec[key] = value.clone();
    }
    let mut pod = pod("ml", &format!("ranker-{on}"), &spec);
    let owner = json!({"kind": "Deployment", "name": "ranker", "controller": true});
    pod["metadata"]["ownerReferences"] = json!([owner]);
    pod
}

#[test]
fn nodes_are_repacked_only_if_cpu_memory_and_rules_for_placing_allow_it() {
    let plugin = json!({"nvidia.com/gpu": "8"});
    let fleet = |first: Value, second: Value| {
        let nodes = [node("a", &plugin), node("b", &plugin)];
        let mut objects = nodes.to_vec();
        objects.extend([proxy("a"), proxy("b"), first, second]);
        findings(&objects, "fragmented-gpus")
    };
    let none = json!({});
    let alike = |cpu| fleet(ranker("a", cpu, &none), ranker("b", cpu, &none));
    // 96 + 96 of 192 cores, and 97 + 97.
    let advice = alike("96");
    let [one] = advice.as_slice() else {
        panic!("one finding");
    };
    let title = one["title"].as_str().expect("text");
    assert!(title.ends_with("the pods of 2 nodes fit on 1"), "{title}");
    assert_eq!(alike("97"), Vec::<Value>::new());
    // Each is kept where it is.
    let here = |name: &str| json!({"nodeSelector": {"kubernetes.io/hostname": name}});
    let kept = fleet(ranker("a", "1", &here("a")), ranker("b", "1", &here("b")));
    assert_eq!(kept, Vec::<Value>::new());
    let disk = json!({"volumes": [{"name": "scratch", "emptyDir": {}}]});
    let advice = fleet(ranker("a", "1", &disk), ranker("b", "1", &disk));
    let [one] = advice.as_slice() else {
        panic!("one finding");
    };
    let caveats = one["recommendation"]["caveats"].to_string();
    assert!(caveats.contains("1 pod that moves keeps data"), "{caveats}");
}

/// What `explain` prints of an id in a situation of a rule, whose machines have other names
/// than their nodes.
fn explained(rule: &str, id: &str) -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
    let text = std::fs::read_to_string(path.join(rule).join("fires.json")).expect("a fixture");
    let mut estate: Value = serde_json::from_str(&text).expect("JSON");
    for instance in estate["instances"].as_array_mut().expect("a list") {
        instance["tags"] = json!({});
    }
    let world = World::new();
    let path = world.estate("estate.json", &estate);
    world.run(&["explain", id, "--from", &path])
}

#[test]
fn findings_about_a_cluster_go_by_node_by_pod_and_by_the_start_of_an_id() {
    let same = |rule: &str, id: &str, others: &[&str]| {
        let text = explained(rule, id);
        assert_eq!(text.code, 0, "{}", text.stderr);
        for other in others {
            let outcome = explained(rule, other);
            assert_eq!(outcome.stdout, text.stdout, "{other}: {}", outcome.stderr);
        }
    };
    let rule = "unallocated-gpus";
    let others = ["unallocated-gpus:gpu-1", "unallocated-gpus:i-", "unalloc"];
    same(rule, "unallocated-gpus:i-gpu-1", &others);
    // A node is its machine, and that is a workload.
    same(rule, "i-gpu-1", &["gpu-1"]);
    same(rule, "plan:i-gpu-1", &["plan:gpu-1"]);
    let others = ["search/notebook-0", "idle-claim:search/note"];
    same("idle-claim", "idle-claim:search/notebook-0", &others);
    let rule = "fragmented-gpus";
    let others = ["lab/train/p4d.24xlarge", "fragmented-gpus:lab"];
    same(rule, "fragmented-gpus:lab/train/p4d.24xlarge", &others);
    let several = explained(rule, "i-gpu");
    assert_eq!(
        several.all(),
        "exit code 2\n--- stdout\n--- stderr\nerror: `i-gpu` matches 2 ids\n\
         hint: use one of them: i-gpu-1, i-gpu-2\n"
    );
    let unknown = explained("idle-claim", "search/notebok-0");
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("idle-claim:search/notebook-0"), "{}", unknown.stderr);
}

#[test]
fn a_node_with_the_name_of_its_machine_is_found_where_names_are_masked() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
    let path = path.join("unallocated-gpus/fires.json");
    let text = std::fs::read_to_string(path).expect("a fixture");
    for (name, tags) in [
        ("gpu-1", json!({})),
        ("gpu-1", json!({"Name": "gpu-1"})),
        // A container instance of ECS is a node of its own id.
        ("i-gpu-1", json!({})),
    ] {
        let mut estate: Value = serde_json::from_str(&text).expect("JSON");
        estate["instances"][0]["tags"] = tags;
        estate["nodes"][0]["name"] = json!(name);
        let world = World::new();
        let path = world.estate("estate.json", &estate);
        let by = |id: &str| world.run(&["explain", id, "--from", &path, "--redact"]);
        let (node, machine) = (by(name), by("i-gpu-1"));
        assert_eq!(machine.code, 0, "{}", machine.stderr);
        assert_eq!(node.stdout, machine.stdout, "{}", node.stderr);
    }
}

#[test]
fn a_cluster_joins_a_recorded_estate_of_its_account() {
    let world = World::new();
    let account = world.estate("account.json", &one());
    let plugin = json!({"nvidia.com/gpu": "8"});
    let mut own = node("hall", &plugin);
    own["spec"] = json!({});
    own["metadata"]["labels"] = json!({"topology.kubernetes.io/region": "hall"});
    let web = pod("web", "page", &json!({"nodeName": "one", "containers": [{}]}));
    // One that the account has, one that it does not show, and one of another place.
    let nodes = [node("one", &plugin), node("gone", &plugin), own];
    let objects = [&nodes[..], &[proxy("one"), web]].concat();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let files = world.file("cluster.json", list.to_string());
    let inventory = ["inventory", "--from", &account, "--from-kubectl", &files];
    let json = ["--format", "json", "--save", &world.path("both.json")];
    let document = world.run(&[&inventory[..], &json].concat()).json();
    let rows = document["instances"].as_array().expect("a list");
    let shown: Vec<(&Value, &Value)> =
        rows.iter().map(|row| (&row["id"], &row["instance_type"])).collect();
    // The facts of the account are used, and a machine counts once.
    let ids = [json!("i-one"), json!("on-premises/on-premises/hall/hall")];
    let mut shown_ids: Vec<&Value> = shown.iter().map(|(id, _)| *id).collect();
    shown_ids.sort_by_key(|id| id.to_string());
    assert_eq!(shown_ids, [&ids[0], &ids[1]]);
    assert!(shown.contains(&(&ids[0], &json!("g5.xlarge"))), "{shown:?}");
    assert_eq!(document["nodes"].as_array().map(Vec::len), Some(3));
    let gaps = document["gaps"].as_array().expect("a list");
    let gone = gaps.iter().filter(|gap| gap["where"] == "i-gone");
    assert_eq!(gone.count(), 1, "{gaps:?}");
    // What was saved is the same, and has a cluster.
    let saved = world.path("both.json");
    let again = world.run(&["inventory", "--from", &saved, "--format", "json"]);
    assert_eq!(again.json(), document);
    let twice = world.run(&["inventory", "--from", &saved, "--from-kubectl", &files]);
    assert_eq!((twice.code, twice.stdout.as_str()), (2, ""));
    assert!(twice.stderr.contains("which has one already\nhint: "), "{}", twice.stderr);
    let live = world.run(&[&inventory[..], &["--with-aws"]].concat());
    assert_eq!(live.code, 2, "{}", live.stderr);
}
