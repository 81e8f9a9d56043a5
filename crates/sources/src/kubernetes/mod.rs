//! Clusters of Kubernetes: the machines that they run on, and the pods that hold the
//! devices of these. A machine that a cloud shows as well is one and the same: its id says
//! which.
//!
//! A cluster is read from files with what `kubectl get … -o json` printed, which is the way for those
//! that this program cannot reach, or live. The client that asks it is built with
//! the feature `kubernetes`; without it, opening a cluster is an error that says so.

mod cluster;
mod devices;
mod dra;
mod failure;
mod holders;
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
#[cfg(feature = "kubernetes")]
pub use live::LiveCluster;
pub use rbac::{ACTIONS, RESOURCES, Resource, cluster_role};

use crate::domain::{ApiUsage, Clusters, EstateSource, Gathered, Instance, shown};
use crate::files::{InvalidJson, at, read_json_file};
use crate::{Account, Connection, Found};
use cluster::{PodList, found};
use futures_util::FutureExt;
use objects::{Document, LONGEST_TEXT, Object};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
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

/// Why a file with what kubectl printed could not be used.
#[derive(Debug, thiserror::Error)]
pub enum KubectlError {
    /// It could not be opened or read.
    #[error("cannot read the output of kubectl in {}", shown(path))]
    Io { path: PathBuf, source: io::Error },
    /// It is not JSON, ends early, or an object in it is not as it must be.
    #[error("invalid output of `kubectl get -o json` in {}{}", shown(path), at(place))]
    Invalid {
        path: PathBuf,
        /// The keys that lead there; empty of none.
        place: String,
        /// What is wrong.
        source: InvalidJson,
    },
    /// None of the files has a node.
    #[error("no Kubernetes node in {}", shown(path))]
    NoNodes {
        /// The first of them.
        path: PathBuf,
    },
}

/// Reads what `kubectl get … -o json` printed about one cluster.
///
/// # Errors
/// When a file cannot be read or is something else, or none has a node.
pub fn read_kubectl(paths: &[PathBuf]) -> Result<Gathered<Found>, KubectlError> {
    let mut listed = Vec::new();
    for path in paths {
        listed.extend(objects_of(path)?);
    }
    let has_node = listed.iter().any(|object| matches!(object, Object::Node(_)));
    match paths.first() {
        Some(path) if !has_node => Err(KubectlError::NoNodes { path: path.clone() }),
        _ => Ok(found(listed, PodList::Recorded)),
    }
}

fn objects_of(path: &Path) -> Result<Vec<Object>, KubectlError> {
    let unreadable = |source| KubectlError::Io { path: path.to_owned(), source };
    let read = read_json_file(path, LONGEST_TEXT, PhantomData::<Document>);
    match read.map_err(unreadable)? {
        Ok(document) => Ok(document.0),
        Err(error) => Err(match error.source {
            InvalidJson::Text(source) if source.is_io() => unreadable(source.into()),
            source => KubectlError::Invalid { path: path.to_owned(), place: error.place, source },
        }),
    }
}

/// A cluster as a place that was read already, with a connection for each region of its
/// machines. Whose account a machine is in, the machine says.
pub fn account(reading: Reading) -> Account {
    let Reading { found: Gathered { value, gaps }, usage } = reading;
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
            ..Found::default()
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
