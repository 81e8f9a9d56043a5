//! Read-only towards the cluster: what is asked is what the role allows, no more and no
//! less.

use std::collections::BTreeSet;

use gpucost::sources::kubernetes::{ACTIONS, RESOURCES, cluster_role};

use super::fleet::objects;
use super::run::Lab;
use super::server::ApiServer;

/// Group and plural of each rule, as the text of the role states them.
fn allowed(role: &str) -> BTreeSet<(String, String)> {
    let of = |line: &str, key: &str| -> Option<Vec<String>> {
        let list = line.trim_start_matches([' ', '-']).strip_prefix(key)?;
        let names = list.trim().strip_prefix('[')?.strip_suffix(']')?;
        let names = names.split(", ").map(|name| name.trim_matches('"'));
        Some(names.map(str::to_owned).collect())
    };
    let (mut allowed, mut groups) = (BTreeSet::new(), Vec::new());
    for line in role.lines() {
        if let Some(named_groups) = of(line, "apiGroups:") {
            groups = named_groups;
        }
        for name in of(line, "resources:").unwrap_or_default() {
            allowed.extend(groups.iter().map(|group| (group.clone(), name.clone())));
        }
        if let Some(verbs) = of(line, "verbs:") {
            assert_eq!(verbs, ["list"], "{role}");
        }
    }
    allowed
}

#[test]
fn what_is_asked_is_what_the_role_allows() {
    let server = ApiServer::start(&objects(), 100);
    let run = Lab::of(&server).read("inventory", &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut asked = BTreeSet::new();
    for listed in server.listed() {
        assert_eq!(listed.method, "GET");
        let parts: Vec<&str> = listed.path.trim_start_matches('/').split('/').collect();
        let (group, name) = match parts.as_slice() {
            ["api", _, name] => ("", *name),
            ["apis", group, _, name] => (*group, *name),
            _ => panic!("{} is not a list of all namespaces", listed.path),
        };
        asked.insert((group.to_owned(), name.to_owned()));
        let limit = listed.query.iter().find(|(key, _)| key == "limit");
        assert_eq!(limit.map(|(_, value)| value.as_str()), Some("500"));
    }
    assert_eq!(asked, allowed(&cluster_role()));
}

#[test]
fn errors_name_what_the_role_allows() {
    let mut named: Vec<String> = vec!["kubernetes:connect".to_owned()];
    for resource in RESOURCES {
        let dot = if resource.group.is_empty() { "" } else { "." };
        named.push(format!("kubernetes:{}{dot}{}", resource.name, resource.group));
        assert!(resource.path("v1").ends_with(&format!("/v1/{}", resource.name)));
    }
    assert_eq!(ACTIONS, named);
}

#[test]
fn the_role_is_the_one_that_is_documented() {
    assert_eq!(
        cluster_role(),
        "# Bind it to the service account, user or group that runs gpucost:\n\
         #   kubectl create clusterrolebinding gpucost-read-only \
         --clusterrole=gpucost-read-only \\\n\
         #       --serviceaccount=NAMESPACE:NAME\n\
         apiVersion: rbac.authorization.k8s.io/v1\n\
         kind: ClusterRole\n\
         metadata:\n  name: gpucost-read-only\n\
         rules:\n  - apiGroups: [\"\"]\n    resources: [\"nodes\", \"pods\", \"namespaces\"]\n    verbs: [\"list\"]\n  \
         - apiGroups: [\"apps\"]\n    resources: [\"replicasets\"]\n    verbs: [\"list\"]\n  \
         - apiGroups: [\"batch\"]\n    resources: [\"jobs\"]\n    verbs: [\"list\"]\n  \
         - apiGroups: [\"resource.k8s.io\"]\n    resources: [\"resourceslices\", \
         \"resourceclaims\"]\n    verbs: [\"list\"]\n"
    );
    let page = std::fs::read_to_string(crate::support::source::root().join("docs/kubernetes.md"));
    let page = page.expect("a page");
    let (_, rest) = page.split_once("```yaml\n").expect("the role");
    let (documented, _) = rest.split_once("```").expect("its end");
    assert_eq!(documented, cluster_role());
}
