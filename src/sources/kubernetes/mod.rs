//! Clusters of Kubernetes: the machines that they run on, and the pods that hold the
//! devices of these. A machine that a cloud shows as well is one and the same: its id says
//! which.
//!
//! A cluster is read from files of kubectl, or live. The client that asks it is built with
//! the feature `kubernetes`; without it, opening a cluster is an error that says so.

mod cluster;
mod devices;
mod dra;
mod failure;
mod holders;
mod kubectl;
#[cfg(feature = "kubernetes")]
mod live;
mod nodes;
mod objects;
mod placement;
mod pods;
mod rbac;
mod resources;
mod unclear;
mod values;

#[cfg(not(feature = "kubernetes"))]
pub use failure::LiveCluster;
pub use failure::{OpenError, is_known_code};
pub use kubectl::{KubectlError, read_kubectl};
#[cfg(feature = "kubernetes")]
pub use live::LiveCluster;
pub use rbac::{ACTIONS, RESOURCES, Resource, cluster_role};

use crate::domain::{ApiUsage, Clusters, EstateSource, Gathered, Instance, Managed};
use crate::sources::{Account, Connection, Found};
use futures_util::FutureExt;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// How a live cluster is reached.
#[derive(Debug, Clone)]
pub struct KubernetesOptions {
    /// The context; the current one of the kubeconfig where it is absent.
    pub context: Option<String>,
    /// Files of the kubeconfig. The first that states something wins, and one that does
    /// not exist is skipped. Without any, the service account of the pod is used.
    pub kubeconfig: Vec<PathBuf>,
    /// Whether a credential plugin may ask the user, and speak on stderr.
    pub is_interactive: bool,
    /// For one call, from the connection to the last byte of the answer.
    pub timeout: Duration,
    /// For all calls together, with credentials and pauses.
    pub deadline: Duration,
    /// Before a call is made again; each further pause is twice as long.
    pub first_pause: Duration,
}

impl Default for KubernetesOptions {
    fn default() -> Self {
        Self {
            context: None,
            kubeconfig: Vec::new(),
            is_interactive: false,
            timeout: Duration::from_secs(60),
            deadline: Duration::from_secs(300),
            first_pause: Duration::from_millis(500),
        }
    }
}

/// What reading a live cluster gives.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    pub found: Gathered<Found>,
    /// The calls that it took.
    pub usage: ApiUsage,
}

/// A cluster as a place that was read already, with a connection for each region of its
/// machines. Whose account a machine is in, the machine says.
pub fn account(reading: Reading) -> Account {
    let Reading { found: cluster, usage } = reading;
    let Gathered { value, gaps } = cluster;
    let mut regions: BTreeMap<String, Vec<Instance>> = BTreeMap::new();
    for instance in value.instances {
        regions.entry(instance.region.clone()).or_default().push(instance);
    }
    if regions.is_empty() {
        // What is missing is said all the same.
        regions.insert(String::new(), Vec::new());
    }
    // What waits, and what is missing, is of no region; it is reported once.
    let mut of_none = Some((value.clusters.claims.clone(), gaps));
    let connections = regions.into_iter().map(|(region, instances)| {
        let machines: BTreeSet<_> = instances.iter().map(|instance| &instance.id).collect();
        let nodes = value.clusters.nodes.iter();
        let nodes = nodes.filter(|node| machines.contains(&node.machine)).cloned().collect();
        let claims = value.clusters.claims.iter();
        let claims =
            claims.filter(|claim| claim.machine.as_ref().is_some_and(|id| machines.contains(id)));
        let mut claims: Vec<_> = claims.cloned().collect();
        let (all_claims, gaps) = of_none.take().unwrap_or_default();
        claims.extend(all_claims.into_iter().filter(|claim| claim.machine.is_none()));
        let of_region = Found {
            shapes: value.shapes.clone(),
            clusters: Clusters { nodes, claims, uses: Vec::new() },
            instances,
            scaling_groups: Vec::new(),
            managed: Managed::default(),
        };
        let read_before = Gathered { value: of_region, gaps };
        Connection {
            provider: None,
            region,
            inventory: Box::new(move || std::future::ready(Ok(read_before.clone())).boxed_local()),
            metrics: Vec::new(),
            jobs: None,
            prices: None,
            commitments: None,
        }
    });
    Account {
        connections: connections.collect(),
        id: String::new(),
        source: EstateSource::Kubernetes,
        commitments: None,
        opinions: None,
        meter: Box::new(move || usage.clone()),
    }
}
