//! A cluster, read list by list: without its nodes there is nothing, and every other list
//! that cannot be read is a gap.

use super::super::cluster::{PLACE, PodList, found};
use super::super::failure::OpenError;
use super::super::objects::Object;
use super::super::options::KubernetesOptions;
use super::super::rbac::{
    DEVICE_CLAIMS, JOBS, NAMESPACES, NODES, PODS, REPLICA_SETS, RESOURCES, Resource, SLICES,
};
use super::super::reading::Reading;
use super::client::ApiServer;
use super::config::{Target, address_of_credentials};
use super::lists::{JSON, list};
use super::refusal::Refusal;
use crate::domain::{CauseKind, Gap, GapSubject};
use crate::sources::SourceError;

/// The version of every group that has one only.
const V1: &str = "v1";
const NOT_FOUND: u16 = 404;

/// A cluster that can be asked.
pub struct LiveCluster {
    target: Target,
    options: KubernetesOptions,
}

impl LiveCluster {
    /// Finds out which cluster is asked, and by whom. Nothing is sent yet, and no plugin
    /// is run.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used.
    pub fn open(options: KubernetesOptions) -> Result<Self, OpenError> {
        let target = Target::of(&options)?;
        Ok(Self { target, options })
    }

    /// The URL to which a token or a password goes with every call; `None` where none is
    /// sent.
    pub fn credentials_url(&self) -> Option<String> {
        address_of_credentials(&self.target.config)
    }

    /// Lists what the cluster has. `progress` is reported what is going on.
    ///
    /// # Errors
    /// When the server cannot be reached, or its nodes cannot be listed.
    pub async fn read(self, progress: &dyn Fn(&str)) -> Result<Reading, SourceError> {
        progress("credentials of the Kubernetes cluster");
        let server = ApiServer::connect(self.target, &self.options).await?;
        progress("Kubernetes nodes");
        let nodes = list(&server, &NODES, V1).await;
        let mut objects = nodes.map_err(|refusal| refusal.error)?;
        let mut gaps = Vec::new();
        progress("Kubernetes pods");
        let pods = match list(&server, &PODS, V1).await {
            Ok(pods) => {
                objects.extend(pods);
                PodList::Whole
            }
            Err(refusal) => {
                let fallback = "what is requested of each node is unknown";
                gaps.push(gap(GapSubject::Pods, &refusal, fallback));
                PodList::Absent
            }
        };
        progress("owners of Kubernetes pods");
        let unknown = "owners beyond these are unknown";
        for (resource, fallback) in [
            (NAMESPACES, "labels of namespaces are unknown"),
            (REPLICA_SETS, unknown),
            (JOBS, unknown),
        ] {
            match list(&server, &resource, V1).await {
                Ok(owners) => objects.extend(owners),
                Err(refusal) => {
                    gaps.push(gap(GapSubject::Owners, &refusal, fallback));
                }
            }
        }
        progress("devices of the Kubernetes cluster");
        match devices(&server).await {
            Ok(devices) => objects.extend(devices),
            Err(refusal) => {
                let fallback = "what is requested of nodes with resource claims is unknown";
                gaps.push(gap(GapSubject::Devices, &refusal, fallback));
            }
        }
        let mut cluster = found(objects, pods);
        cluster.gaps.extend(gaps);
        Ok(Reading { found: cluster, usage: server.usage() })
    }
}

impl LiveCluster {
    /// Asks for one object of each list: what came of it, by action, in order.
    ///
    /// # Errors
    /// When the server cannot be asked at all.
    pub async fn permissions(
        self,
    ) -> Result<Vec<(&'static str, Result<(), SourceError>)>, SourceError> {
        let server = ApiServer::connect(self.target, &self.options).await?;
        let mut answers = Vec::with_capacity(RESOURCES.len());
        for resource in RESOURCES {
            answers.push((resource.action, may_list(&server, resource).await));
        }
        Ok(answers)
    }
}

/// Whether a resource may be listed. A server that has no version of it has none to list.
async fn may_list(server: &ApiServer, resource: &Resource) -> Result<(), SourceError> {
    for version in resource.versions {
        let path = format!("{}?limit=1", resource.path(version));
        match server.get(resource.action, &path, JSON).await {
            Err(refusal) if refusal.has_status(NOT_FOUND) => {}
            answer => return answer.map(drop).map_err(|refusal| refusal.error),
        }
    }
    Ok(())
}

/// Devices that are allocated one by one, and who holds them; none of a server that has
/// no version of their API.
async fn devices(server: &ApiServer) -> Result<Vec<Object>, Refusal> {
    for version in SLICES.versions {
        let mut objects = match list(server, &SLICES, version).await {
            Err(refusal) if refusal.has_status(NOT_FOUND) => continue,
            listed => listed?,
        };
        objects.extend(list(server, &DEVICE_CLAIMS, version).await?);
        return Ok(objects);
    }
    Ok(Vec::new())
}

fn gap(subject: GapSubject, refusal: &Refusal, fallback: &str) -> Gap {
    let cause = refusal.error.cause_of(CauseKind::CallFailed, fallback);
    Gap::of(subject, PLACE, cause)
}
