//! A cluster that is asked, list by list: without its nodes there is nothing, and every other
//! list that cannot be read is a gap.

mod client;
mod config;
mod lists;
mod plugin;
mod refusal;

use super::KubernetesOptions;
use super::Reading;
use super::cluster::{PLACE, PodList, found};
use super::failure::OpenError;
use super::objects::Object;
use super::rbac::{
    DEVICE_CLAIMS, JOBS, NAMESPACES, NODES, PODS, REPLICA_SETS, RESOURCES, Resource, SLICES,
};
use crate::Outcome;
use crate::domain::GapSubject;
use crate::error::or_gap;
use client::ApiServer;
use config::{Target, address_of_credentials};
use lists::{JSON, list};
use refusal::has_status;

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
        Ok(Self { target: Target::of(&options)?, options })
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
    pub async fn read(self, progress: &dyn Fn(&str)) -> Outcome<Reading> {
        progress("credentials of the Kubernetes cluster");
        let server = ApiServer::connect(self.target, &self.options).await?;
        progress("Kubernetes nodes");
        let mut objects = list(&server, &NODES, V1).await?;
        let mut gaps = Vec::new();
        let mut add = |listed, subject, fallback| {
            objects.extend(or_gap(listed, subject, PLACE, fallback).leave_gaps(&mut gaps));
        };
        progress("Kubernetes pods");
        let listed = list(&server, &PODS, V1).await;
        let pods = if listed.is_ok() { PodList::Whole } else { PodList::Absent };
        add(listed, GapSubject::Pods, "what is requested of each node is unknown");
        progress("owners of Kubernetes pods");
        let unknown = "owners beyond these are unknown";
        for (resource, fallback) in [
            (NAMESPACES, "labels of namespaces are unknown"),
            (REPLICA_SETS, unknown),
            (JOBS, unknown),
        ] {
            add(list(&server, &resource, V1).await, GapSubject::Owners, fallback);
        }
        progress("devices of the Kubernetes cluster");
        let fallback = "what is requested of nodes with resource claims is unknown";
        add(devices(&server).await, GapSubject::Devices, fallback);
        let mut cluster = found(objects, pods);
        cluster.gaps.extend(gaps);
        Ok(Reading { found: cluster, usage: server.usage() })
    }

    /// Asks for one object of each list: what came of it, by action, in order.
    ///
    /// # Errors
    /// When the server cannot be asked at all.
    pub async fn permissions(self) -> Outcome<Vec<(&'static str, Outcome<()>)>> {
        let server = ApiServer::connect(self.target, &self.options).await?;
        let mut answers = Vec::with_capacity(RESOURCES.len());
        for resource in RESOURCES {
            answers.push((resource.action, may_list(&server, resource).await));
        }
        Ok(answers)
    }
}

/// Whether a resource may be listed. A server that has no version of it has none to list.
async fn may_list(server: &ApiServer, resource: &Resource) -> Outcome<()> {
    for version in resource.versions {
        let path = format!("{}?limit=1", resource.path(version));
        match server.get(resource.action, &path, JSON).await {
            Err(error) if has_status(&error, NOT_FOUND) => {}
            answer => return answer.map(drop),
        }
    }
    Ok(())
}

/// Devices that are allocated one by one, and who holds them; none of a server that has
/// no version of their API.
async fn devices(server: &ApiServer) -> Outcome<Vec<Object>> {
    for version in SLICES.versions {
        let mut objects = match list(server, &SLICES, version).await {
            Err(error) if has_status(&error, NOT_FOUND) => continue,
            listed => listed?,
        };
        objects.extend(list(server, &DEVICE_CLAIMS, version).await?);
        return Ok(objects);
    }
    Ok(Vec::new())
}
