//! What is said of a cluster that cannot be read, in part or at all.

use std::time::Duration;

use gpucost::domain::FailureKind;
use gpucost::sources::SourceError;
use gpucost::sources::kubernetes::{KubernetesOptions, LiveCluster, Reading};
use serde_json::json;

use super::fleet::{NODES, PODS, objects};
use super::run::{Lab, list_gaps};
use super::server::{ApiServer, Fault, kubeconfig};
use crate::prometheus::servers::free_port;

const PAGE: usize = 100;
const ALWAYS: usize = usize::MAX;
const NODE_PAGES: u64 = NODES.div_ceil(PAGE) as u64;
const POD_PAGES: u64 = PODS.div_ceil(PAGE) as u64;

/// Reads a cluster with little patience.
async fn read(lab: &Lab) -> Result<Reading, SourceError> {
    let options = KubernetesOptions {
        kubeconfig: vec![lab.kubeconfig().to_owned()],
        timeout: Duration::from_secs(20),
        first_pause: Duration::from_millis(1),
        ..KubernetesOptions::default()
    };
    read_with(options).await
}

async fn read_with(options: KubernetesOptions) -> Result<Reading, SourceError> {
    let cluster = LiveCluster::open(options).map_err(|error| error.to_string());
    let cluster = cluster.expect("a kubeconfig");
    cluster.read(&|_: &str| {}).await
}

/// What is missing, and why, in short.
fn missing(reading: &Reading) -> Vec<(String, String)> {
    let gaps = reading.found.gaps.iter();
    gaps.map(|gap| (gap.what.to_string(), gap.reason.clone())).collect()
}

fn calls(reading: &Reading, resource: &str) -> u64 {
    let action = format!("kubernetes:{resource}");
    let calls = reading.usage.by_operation.get(&action);
    calls.copied().unwrap_or_default()
}

#[tokio::test]
async fn a_list_that_expired_begins_again() {
    let server = ApiServer::start(&objects(), PAGE);
    let whole = read(&Lab::of(&server)).await.expect("a cluster");
    server.inject("pods", 1, 1, Fault::Expired);
    let again = read(&Lab::of(&server)).await.expect("a cluster");
    assert_eq!(again.found, whole.found);
    assert_eq!(calls(&whole, "pods"), POD_PAGES);
    // A page, the one that failed, and all of them.
    assert_eq!(calls(&again, "pods"), 2 + POD_PAGES);
    assert_eq!(again.usage.retries, 0);
}

#[tokio::test]
async fn a_list_that_always_expires_is_a_gap() {
    let server = ApiServer::start(&objects(), PAGE);
    server.inject("pods", 1, ALWAYS, Fault::Expired);
    let reading = read(&Lab::of(&server)).await.expect("nodes");
    let why = "kubernetes:pods: HTTP 410: Expired; what is requested of each node is unknown";
    assert_eq!(missing(&reading), [("pods".to_owned(), why.to_owned())]);
    // A page, and three that failed.
    assert_eq!(calls(&reading, "pods"), 4);
    for node in &reading.found.value.clusters.nodes {
        assert_eq!(node.pods, None, "{}", node.name);
    }
}

#[tokio::test]
async fn a_server_that_is_busy_is_asked_again() {
    let server = ApiServer::start(&objects(), PAGE);
    server.inject("nodes", 0, 2, Fault::Throttled(0));
    server.inject("pods", 3, 2, Fault::Unavailable);
    let reading = read(&Lab::of(&server)).await.expect("a cluster");
    assert!(reading.found.gaps.is_empty(), "{:?}", reading.found.gaps);
    assert_eq!(reading.usage.retries, 4);
    assert_eq!(calls(&reading, "nodes"), NODE_PAGES);

    server.inject("nodes", 0, ALWAYS, Fault::Throttled(0));
    let error = read(&Lab::of(&server)).await.expect_err("no nodes");
    assert_eq!(error.kind, FailureKind::Throttled);
    // A pause of an hour is not waited for.
    let server = ApiServer::start(&objects(), PAGE);
    server.inject("nodes", 0, ALWAYS, Fault::Throttled(3_600));
    let error = read(&Lab::of(&server)).await.expect_err("no nodes");
    assert_eq!(error.kind, FailureKind::Throttled);
    assert_eq!(server.listed().len(), 1);
}

#[tokio::test]
async fn each_kind_of_unreadable_answer_has_its_own_error() {
    for (fault, kind, code) in [
        (
            Fault::Truncated,
            FailureKind::Unsupported,
            "the response is not in the format of the Kubernetes API",
        ),
        (Fault::Page, FailureKind::WrongAddress, "the response is not from a Kubernetes API"),
        (Fault::Endless, FailureKind::TooLarge, "the response is larger than what is read at once"),
        (Fault::NotFound, FailureKind::WrongAddress, "HTTP 404"),
        (Fault::Unavailable, FailureKind::Unreachable, "HTTP 503"),
    ] {
        let server = ApiServer::start(&objects(), PAGE);
        server.inject("nodes", 0, ALWAYS, fault);
        let error = read(&Lab::of(&server)).await.expect_err("no nodes");
        assert_eq!((error.kind, error.code.as_str()), (kind, code), "{fault:?}");
        assert_eq!(error.action, Some("kubernetes:nodes"));
    }
}

#[tokio::test]
async fn a_slow_server_is_not_waited_for_beyond_the_limit() {
    let server = ApiServer::start(&objects(), PAGE);
    server.inject("nodes", 0, 1, Fault::Slow(Duration::from_secs(60)));
    let lab = Lab::of(&server);
    let options = KubernetesOptions {
        kubeconfig: vec![lab.kubeconfig().to_owned()],
        timeout: Duration::from_millis(300),
        ..KubernetesOptions::default()
    };
    let error = read_with(options).await.expect_err("no nodes");
    assert_eq!(error.kind, FailureKind::Unreachable);
    assert_eq!(error.code, "no response within the time limit");
}

#[tokio::test]
async fn a_server_without_the_api_of_devices_has_no_gap() {
    let of_nodes = |object: &serde_json::Value| {
        let kind = object["kind"].as_str().expect("text");
        !kind.starts_with("Resource")
    };
    let kept: Vec<_> = objects().into_iter().filter(of_nodes).collect();
    let server = ApiServer::start(&kept, PAGE);
    server.inject("resourceslices", 0, ALWAYS, Fault::NotFound);
    let reading = read(&Lab::of(&server)).await.expect("a cluster");
    assert!(reading.found.gaps.is_empty(), "{:?}", reading.found.gaps);
    // The older versions of the group are other paths, which this server does not have.
    assert_eq!(calls(&reading, "resourceslices.resource.k8s.io"), 3);
    assert_eq!(calls(&reading, "resourceclaims.resource.k8s.io"), 0);
}

#[test]
fn a_right_that_is_missing_is_a_gap_that_names_it() {
    for (resource, name, what, fallback) in [
        ("pods", "pods", "pods", "what is requested of each node is unknown"),
        ("namespaces", "namespaces", "owners of pods", "labels of namespaces are unknown"),
        ("replicasets", "replicasets.apps", "owners of pods", "owners beyond these are unknown"),
        ("jobs", "jobs.batch", "owners of pods", "owners beyond these are unknown"),
        (
            "resourceslices", "resourceslices.resource.k8s.io", "devices",
            "what is requested of nodes with resource claims is unknown",
        ),
        (
            "resourceclaims", "resourceclaims.resource.k8s.io", "devices",
            "what is requested of nodes with resource claims is unknown",
        ),
    ] {
        let server = ApiServer::start(&objects(), 500);
        server.inject(resource, 0, ALWAYS, Fault::Forbidden);
        let document = Lab::of(&server).read("inventory", &[]).json();
        let why = format!("kubernetes:{name}: HTTP 403: Forbidden; {fallback}");
        let hint = format!(
            "allow the verb `list` on {name}; `gpucost setup kubernetes` prints the full role"
        );
        let expected = [(what, why.as_str(), hint.as_str())];
        assert_eq!(list_gaps(&document), expected, "{resource}");
        let of_gpus = |key: &str| {
            let nodes = document["nodes"].as_array().expect("a list");
            nodes.iter().all(|node| node["gpus"][key].is_null())
        };
        let is_unknown = resource == "pods";
        assert_eq!(
            (of_gpus("requested"), of_gpus("free"), of_gpus("allocatable")),
            (is_unknown, is_unknown, false),
            "{resource}"
        );
    }
}

#[test]
fn an_owner_that_cannot_be_listed_is_the_last_one() {
    let server = ApiServer::start(&objects(), 500);
    server.inject("replicasets", 0, ALWAYS, Fault::Forbidden);
    let document = Lab::of(&server).read("inventory", &[]).json();
    let claims = document["claims"].as_array().expect("a list");
    let served = claims.iter().find(|claim| claim["pod"] == "serve-17");
    assert_eq!(
        served.expect("it holds devices")["owner"],
        json!({"kind": "ReplicaSet", "name": "serve-1-7d9f"})
    );
    let strict = Lab::of(&server).read("inventory", &["--strict"]);
    assert_eq!(strict.code, 3, "{}", strict.stderr);
}

#[test]
fn without_nodes_there_is_no_document() {
    let server = ApiServer::start(&objects(), 500);
    server.inject("nodes", 0, ALWAYS, Fault::Forbidden);
    let run = Lab::of(&server).read("inventory", &[]);
    assert_eq!(
        run.error(1),
        "error: kubernetes:nodes: HTTP 403: Forbidden\n\
         hint: allow the verb `list` on nodes; `gpucost setup kubernetes` prints the full role\n"
    );
    let server = ApiServer::start(&objects(), 500);
    server.inject("nodes", 0, ALWAYS, Fault::Unauthorized);
    let run = Lab::of(&server).read("inventory", &[]);
    let said = run.error(1);
    assert!(
        said.starts_with("error: kubernetes:nodes: HTTP 401\nhint: sign in to the cluster again"),
        "{said}"
    );
    // No process listens there.
    let url = format!("http://127.0.0.1:{}", free_port());
    let run = Lab::with(&kubeconfig(&url, &json!({}))).read("inventory", &[]);
    let said = run.error(1);
    assert!(said.starts_with("error: kubernetes:nodes: the connection failed: "), "{said}");
    assert!(said.contains("refused"), "{said}");
}

#[test]
fn settings_that_cannot_be_used_are_the_users_own_error() {
    let lab = Lab::with(&json!({}));
    assert!(
        lab.read("inventory", &[])
            .error(2)
            .starts_with("error: the kubeconfig has no current context\n")
    );
    std::fs::write(lab.kubeconfig(), "token: [hunter2").expect("writable");
    let run = lab.read("inventory", &[]);
    let said = run.error(2);
    assert!(said.contains("is not a valid kubeconfig\nhint: "), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
    std::fs::remove_file(lab.kubeconfig()).expect("our own file");
    let run = lab.read("inventory", &[]);
    let said = run.error(2);
    assert!(said.starts_with("error: no kubeconfig was found at "), "{said}");
}
