//! What is listed of a live cluster, and the role that allows exactly these lists.

use std::fmt::Write;

/// Objects of one kind, of which a list is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// How the list is named in reports.
    pub action: &'static str,
    /// Empty for the core API.
    pub group: &'static str,
    /// Versions of the group that are understood, the first of which is asked for first.
    pub versions: &'static [&'static str],
    /// The plural that paths and roles have.
    pub name: &'static str,
    /// The kind of one object.
    pub kind: &'static str,
    /// Which objects are sent at all; empty for all.
    pub field_selector: &'static str,
    /// Whether names, labels and owners are enough.
    pub is_metadata_only: bool,
}

impl Resource {
    /// All objects of a kind, as a whole.
    const fn of(
        action: &'static str,
        group: &'static str,
        name: &'static str,
        kind: &'static str,
    ) -> Self {
        let versions = &["v1"];
        Self { action, group, versions, name, kind, field_selector: "", is_metadata_only: false }
    }
}

pub(super) const NODES: Resource = Resource::of("kubernetes:nodes", "", "nodes", "Node");

pub(super) const PODS: Resource = Resource {
    // The others hold nothing any more.
    field_selector: "status.phase!=Succeeded,status.phase!=Failed",
    ..Resource::of("kubernetes:pods", "", "pods", "Pod")
};

pub(super) const NAMESPACES: Resource = Resource {
    is_metadata_only: true,
    ..Resource::of("kubernetes:namespaces", "", "namespaces", "Namespace")
};

pub(super) const REPLICA_SETS: Resource = Resource {
    is_metadata_only: true,
    ..Resource::of("kubernetes:replicasets.apps", "apps", "replicasets", "ReplicaSet")
};

pub(super) const JOBS: Resource = Resource {
    is_metadata_only: true,
    ..Resource::of("kubernetes:jobs.batch", "batch", "jobs", "Job")
};

pub(super) const SLICES: Resource = Resource {
    action: "kubernetes:resourceslices.resource.k8s.io",
    group: "resource.k8s.io",
    versions: &["v1", "v1beta2", "v1beta1"],
    name: "resourceslices",
    kind: "ResourceSlice",
    ..NODES
};

pub(super) const DEVICE_CLAIMS: Resource = Resource {
    action: "kubernetes:resourceclaims.resource.k8s.io",
    name: "resourceclaims",
    kind: "ResourceClaim",
    ..SLICES
};

/// Every list that is asked for, in order.
pub const RESOURCES: &[Resource] =
    &[NODES, PODS, NAMESPACES, REPLICA_SETS, JOBS, SLICES, DEVICE_CLAIMS];

/// What fails before the first list.
pub(super) const CONNECT: &str = "kubernetes:connect";

/// Every action that a failure or a count of calls names.
pub const ACTIONS: &[&str] = &[
    CONNECT, NODES.action, PODS.action, NAMESPACES.action, REPLICA_SETS.action, JOBS.action,
    SLICES.action, DEVICE_CLAIMS.action,
];

impl Resource {
    /// Where the objects of all namespaces are listed.
    pub fn path(&self, version: &str) -> String {
        let Self { group, name, .. } = self;
        if group.is_empty() {
            format!("/api/{version}/{name}")
        } else {
            format!("/apis/{group}/{version}/{name}")
        }
    }
}

/// The role as YAML, ready to apply.
pub fn cluster_role() -> String {
    const NAME: &str = "gpucost-read-only";
    let mut text = format!(
        "# Bind it to the service account, user or group that runs gpucost:\n\
         #   kubectl create clusterrolebinding {NAME} --clusterrole={NAME} \\\n\
         #       --serviceaccount=NAMESPACE:NAME\n\
         apiVersion: rbac.authorization.k8s.io/v1\n\
         kind: ClusterRole\n\
         metadata:\n  name: {NAME}\n\
         rules:\n"
    );
    for of_group in RESOURCES.chunk_by(|resource, next| resource.group == next.group) {
        let names: Vec<String> =
            of_group.iter().map(|resource| format!("\"{}\"", resource.name)).collect();
        let group = of_group.first().map_or("", |resource| resource.group);
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "  - apiGroups: [\"{group}\"]\n    resources: [{}]\n    verbs: [\"list\"]\n",
            names.join(", ")
        );
    }
    text
}
