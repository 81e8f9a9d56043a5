//! What ECS answers, as far as it is read.

use serde::Deserialize;
use std::collections::BTreeSet;

/// What resources of the kind are called.
pub(super) const GPU: &str = "GPU";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerInstances {
    #[serde(default)]
    pub container_instances: Vec<ContainerInstance>,
    #[serde(default)]
    pub failures: Vec<Failure>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerInstance {
    pub container_instance_arn: String,
    /// Of Systems Manager where it is a machine outside of AWS.
    pub ec2_instance_id: Option<String>,
    pub capacity_provider_name: Option<String>,
    pub status: Option<String>,
    pub agent_connected: Option<bool>,
    #[serde(default)]
    pub registered_resources: Vec<Resource>,
    /// Those among them that no task holds.
    #[serde(default)]
    pub remaining_resources: Vec<Resource>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource {
    name: Option<String>,
    integer_value: Option<i64>,
    /// IDs of devices.
    #[serde(default)]
    string_set_value: Vec<String>,
}

/// The IDs of the GPUs among resources.
pub(super) fn gpus(resources: &[Resource]) -> BTreeSet<String> {
    let own = resources
        .iter()
        .filter(|one| one.name.as_deref() == Some(GPU));
    own.flat_map(|one| one.string_set_value.iter().cloned())
        .collect()
}

/// A resource that is an amount, such as `CPU`.
pub(super) fn amount(resources: &[Resource], name: &str) -> Option<u64> {
    let mut all = resources.iter();
    let found = all.find(|one| one.name.as_deref() == Some(name))?;
    u64::try_from(found.integer_value?).ok()
}

#[derive(Debug, Deserialize)]
pub(super) struct Tasks {
    #[serde(default)]
    pub tasks: Vec<Task>,
    #[serde(default)]
    pub failures: Vec<Failure>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task {
    pub task_arn: String,
    /// `service:NAME` of a service, else `family:NAME` unless it was started with another.
    pub group: Option<String>,
    pub task_definition_arn: Option<String>,
    pub last_status: Option<String>,
    pub created_at: Option<f64>,
    pub started_at: Option<f64>,
    #[serde(default)]
    pub containers: Vec<Container>,
}

impl Task {
    /// The IDs of the GPUs that its containers hold, each once.
    pub fn gpus(&self) -> BTreeSet<&str> {
        let has_ended = self.last_status.as_deref() == Some("STOPPED");
        let containers = self.containers.iter().filter(|_| !has_ended);
        let ids = containers.flat_map(|one| &one.gpu_ids);
        ids.map(String::as_str).collect()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Container {
    #[serde(default)]
    gpu_ids: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Failure {
    reason: Option<String>,
}

impl Failure {
    /// Why something was not described that is there.
    pub fn unless_gone(&self) -> Option<&str> {
        match self.reason.as_deref() {
            Some("MISSING") => None,
            other => Some(other.unwrap_or("no reason")),
        }
    }
}
