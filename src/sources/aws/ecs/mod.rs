//! Amazon ECS: which tasks hold which GPUs of which instances. A container instance is the
//! node of its EC2 instance, and a task holds GPUs as a pod does.

mod claims;
mod listed;

use super::pages::{CAMEL_CASE, Part};
use super::session::RegionClients;
use super::signed::{Protocol, Service};
use crate::domain::{Clusters, GapSubject, Gathered, Instance, Provider, ResourceId};
use crate::sources::{Outcome, SourceError};
use claims::{Host, joined};
use listed::{ContainerInstance, ContainerInstances, Task, Tasks, described, page_of};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) const ECS: Service = Service {
    signing_name: "ecs",
    host_prefix: "ecs",
    protocol: Protocol::Json("AmazonEC2ContainerServiceV20141113"),
    id: "ecs",
    paging: CAMEL_CASE,
};

/// What one call describes, at most.
const AT_ONCE: usize = 100;

/// The instances that run, by the ids that ECS names them by.
type Running<'a> = BTreeMap<&'a str, &'a ResourceId>;

/// What ECS knows of instances of a region. Without any that runs, nothing is asked. What
/// cannot be read is a gap: a node without its tasks, or no node.
pub(super) async fn claimed(clients: &RegionClients, instances: &[Instance]) -> Gathered<Clusters> {
    let running = instances.iter().filter(|instance| instance.state.is_running());
    let running: Running<'_> = running
        .filter(|instance| instance.id.provider() == Provider::Aws)
        .map(|instance| (instance.id.native(), &instance.id))
        .collect();
    if running.is_empty() {
        return Gathered::default();
    }
    let mut gaps = Vec::new();
    let mut miss = |error: SourceError, instead: &str| {
        gaps.push(error.gap(GapSubject::Tasks, &clients.region, instead));
    };
    let mut hosts = Vec::new();
    let read = |action, page: Value| names(clients, "clusterArns", action, &page);
    let listed = clients.ask_list(&ECS, "ListClusters", json!({}), read).await;
    let names = listed.unwrap_or_else(|error| {
        miss(error, "they are omitted");
        Vec::new()
    });
    for cluster in &names {
        match hosts_of(clients, cluster, &running).await {
            Ok(found) => hosts.extend(found),
            Err(error) => miss(error, "they are omitted"),
        }
    }
    for host in &mut hosts {
        match tasks_of(clients, host).await {
            Ok(tasks) => host.add(tasks),
            Err(error) => miss(error, "what is requested of each node is unknown"),
        }
    }
    Gathered { value: joined(hosts), gaps }
}

/// The container instances of a cluster that are some instances and have GPUs.
async fn hosts_of(
    clients: &RegionClients,
    cluster: &str,
    running: &Running<'_>,
) -> Outcome<Vec<Host>> {
    let read = |action, page: Value| names(clients, "containerInstanceArns", action, &page);
    let wanted = json!({ "cluster": cluster });
    let listed = clients.ask_list(&ECS, "ListContainerInstances", wanted, read).await?;
    let mut hosts = Vec::new();
    for some in listed.chunks(AT_ONCE) {
        let body = json!({ "cluster": cluster, "containerInstances": some });
        let answer: ContainerInstances =
            clients.ask(&ECS, "DescribeContainerInstances", &body).await?;
        let arns = answer.container_instances.iter();
        let arns = arns.map(|instance| instance.container_instance_arn.as_str());
        described(some, arns, &answer.failures)
            .map_err(|why| clients.session.unreadable("ecs:DescribeContainerInstances", &why))?;
        let instances = answer.container_instances.into_iter();
        hosts.extend(instances.filter_map(|instance: ContainerInstance| {
            let machine = running.get(instance.ec2_instance_id.as_deref()?)?;
            Host::of(instance, cluster, machine)
        }));
    }
    Ok(hosts)
}

/// The tasks of a container instance that are to run.
async fn tasks_of(clients: &RegionClients, host: &Host) -> Outcome<Vec<Task>> {
    let read = |action, page: Value| names(clients, "taskArns", action, &page);
    let wanted = json!({ "cluster": host.cluster, "containerInstance": host.arn });
    let listed = clients.ask_list(&ECS, "ListTasks", wanted, read).await?;
    let mut tasks = Vec::new();
    for some in listed.chunks(AT_ONCE) {
        let body = json!({ "cluster": host.cluster, "tasks": some });
        let answer: Tasks = clients.ask(&ECS, "DescribeTasks", &body).await?;
        described(some, answer.tasks.iter().map(|task| task.task_arn.as_str()), &answer.failures)
            .map_err(|why| clients.session.unreadable("ecs:DescribeTasks", &why))?;
        tasks.extend(answer.tasks);
    }
    Ok(tasks)
}

/// The names that a page of an action has under a key.
///
/// # Errors
/// When it cannot be read.
fn names(
    clients: &RegionClients,
    key: &str,
    action: &'static str,
    page: &Value,
) -> Outcome<Part<String>> {
    page_of(page, key).map_err(|why| clients.session.unreadable(action, &why))
}
