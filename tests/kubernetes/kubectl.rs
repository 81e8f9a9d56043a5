//! kubectl as an independent reader: it takes the server of these tests for a cluster,
//! and what it prints is the same cluster.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::fleet::{AS_OF, NODES, objects};
use super::run::Lab;
use super::server::{ApiServer, Fault};
use crate::support::skip::skip;

/// Where `tests/run` unpacks what is not installed.
const UNPACKED: &str = "target/tools/kubectl/usr/bin";

/// kubectl with a kubeconfig; `None`, with the reason recorded, where there is none.
struct Kubectl<'a> {
    program: PathBuf,
    lab: &'a Lab,
}

impl<'a> Kubectl<'a> {
    fn find(lab: &'a Lab) -> Option<Self> {
        let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join(UNPACKED);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let binary = std::iter::once(unpacked)
            .chain(std::env::split_paths(&path))
            .map(|folder| folder.join("kubectl"))
            .find(|program| program.is_file());
        let Some(program) = binary else {
            skip(&format!("no kubectl in {UNPACKED} or in the PATH"));
            return None;
        };
        Some(Self { program, lab })
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(self.lab.kubeconfig())
            .args(arguments)
            .env_clear()
            .env("HOME", self.lab.folder())
            .stdin(Stdio::null())
            .output()
            .expect("kubectl starts")
    }

    /// What it prints.
    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Writes what it prints into a file of the lab.
    fn record(&self, file: &str, arguments: &[&str]) {
        let printed = self.printed(arguments);
        std::fs::write(self.lab.folder().join(file), printed).expect("a writable folder");
    }
}

#[test]
fn kubectl_lists_the_same_objects_page_by_page() {
    let fleet = objects();
    let server = ApiServer::open(&fleet, 1_000);
    let lab = Lab::of(&server);
    let Some(kubectl) = Kubectl::find(&lab) else { return };
    let printed = kubectl.printed(&["get", "nodes", "--chunk-size=50", "-o", "json"]);
    let list: Value = serde_json::from_str(&printed).expect("JSON");
    let items = list["items"].as_array().expect("a list");
    assert_eq!(items.len(), NODES);
    assert!(items.iter().all(|item| item["kind"] == "Node"));
    let asked = server.listed();
    let pages = asked.iter().filter(|request| request.path == "/api/v1/nodes");
    // 250 nodes in pages of 50.
    assert_eq!(pages.count(), 5);
    let of_all = ["get", "pods", "--all-namespaces", "-o", "name"];
    let printed = kubectl.printed(&of_all);
    let pods = fleet.iter().filter(|object| object["kind"] == "Pod").count();
    assert_eq!(printed.lines().count(), pods);

    server.inject("jobs", 0, usize::MAX, Fault::Forbidden);
    let refused = kubectl.run(&["get", "jobs.batch", "--all-namespaces"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success());
    assert!(said.contains("(Forbidden)"), "{said}");
}

#[test]
fn what_kubectl_records_is_the_cluster_that_is_asked() {
    let server = ApiServer::open(&objects(), 500);
    let lab = Lab::of(&server);
    let Some(kubectl) = Kubectl::find(&lab) else { return };
    // The commands of docs/kubernetes.md.
    let kinds = "nodes,pods,namespaces,replicasets.apps,jobs.batch";
    kubectl.record("cluster.json", &["get", kinds, "--all-namespaces", "-o", "json"]);
    let kinds = "resourceslices.resource.k8s.io,resourceclaims.resource.k8s.io";
    kubectl.record("devices.json", &["get", kinds, "--all-namespaces", "-o", "json"]);
    let asked = ["inventory", "--format", "json", "--as-of", AS_OF];
    let files = ["--from-kubectl", "cluster.json,devices.json"];
    let recorded = lab.run(&[&asked[..], &files].concat()).json();
    assert_eq!(recorded, lab.read("inventory", &[]).json());
}
