//! Amazon ECS: which tasks hold which GPUs of which instances. A container instance is the
//! node of its EC2 instance, and a task holds GPUs as a pod does.

mod claims;

use super::answers::{CAMEL_CASE, answers};
use super::service::{Protocol, Service};
use super::session::RegionClients;
use crate::domain::{Clusters, GapSubject, Gathered, Instance, Provider, ResourceId};
use crate::{Outcome, SourceError};
use claims::{ContainerInstance, Host, Task, joined, last_of};
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const ECS: Service = Service {
    signing_name: "ecs",
    sdk_id: "ECS",
    host: "ecs.{region}",
    protocol: Protocol::Json("AmazonEC2ContainerServiceV20141113"),
    id: "ecs",
    paging: CAMEL_CASE,
};

/// What one call describes, at most.
const AT_ONCE: usize = 100;

answers! { "camelCase":
    struct ContainerInstances {
        #[serde(default)]
        container_instances: Vec<ContainerInstance>,
        #[serde(default)]
        failures: Vec<Failure>,
    }

    struct Tasks {
        #[serde(default)]
        tasks: Vec<Task>,
        #[serde(default)]
        failures: Vec<Failure>,
    }

    struct Failure {
        arn: Option<String>,
        reason: Option<String>,
    }
}

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
    let listed = clients.ask_list(&ECS, "ListClusters", "clusterArns", json!({})).await;
    let names: Vec<String> = listed.unwrap_or_else(|error| {
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
    let wanted = json!({ "cluster": cluster });
    let listed: Vec<String> =
        clients.ask_list(&ECS, "ListContainerInstances", "containerInstanceArns", wanted).await?;
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
    let wanted = json!({ "cluster": host.cluster, "containerInstance": host.arn });
    let listed: Vec<String> = clients.ask_list(&ECS, "ListTasks", "taskArns", wanted).await?;
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

/// Everything that was asked for is described, or has ended since it was listed and holds
/// nothing.
///
/// # Errors
/// What is neither, or why it could not be described.
fn described<'a>(
    asked: &'a [String],
    found: impl Iterator<Item = &'a str>,
    failures: &'a [Failure],
) -> Result<(), String> {
    let mut known: BTreeSet<&str> = found.map(last_of).collect();
    for failure in failures {
        match failure.reason.as_deref() {
            Some("MISSING") => known.extend(failure.arn.as_deref().map(last_of)),
            other => return Err(other.unwrap_or("no reason").to_owned()),
        }
    }
    match asked.iter().find(|arn| !known.contains(last_of(arn))) {
        Some(arn) => Err(format!("{arn} is not described")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const HOST: &str = "arn:aws:ecs:us-east-1:111122223333:container-instance/serving/";

    fn failures(rows: Value) -> Vec<Failure> {
        serde_json::from_value(rows).expect("failures")
    }

    #[test]
    fn what_was_asked_for_is_described_or_gone() {
        let asked = ["a", "b"].map(|id| format!("{HOST}{id}"));
        let of = |ids: &[&str], rows: Value| {
            let arns: Vec<String> = ids.iter().map(|id| format!("{HOST}{id}")).collect();
            described(&asked, arns.iter().map(String::as_str), &failures(rows))
        };
        let gone = |arn: &str| json!([{ "arn": arn, "reason": "MISSING" }]);
        assert_eq!(of(&["b", "a"], json!([])), Ok(()));
        assert_eq!(of(&["a"], gone(&format!("{HOST}b"))), Ok(()));
        // An ARN of the older form, without the cluster.
        let old = "arn:aws:ecs:us-east-1:111122223333:container-instance/b";
        assert_eq!(of(&["a"], gone(old)), Ok(()));
        let omitted = Err(format!("{HOST}b is not described"));
        assert_eq!(of(&["a"], json!([])), omitted);
        // Another one is gone, and one of which it is not known which.
        assert_eq!(of(&["a"], gone(&format!("{HOST}c"))), omitted);
        assert_eq!(of(&["a"], json!([{ "reason": "MISSING" }])), omitted);
        let failed = |words: &str| Err(words.to_owned());
        let rows = json!([{ "arn": format!("{HOST}b"), "reason": "INACTIVE" }]);
        assert_eq!(of(&["a"], rows), failed("INACTIVE"));
        let rows = json!([{ "arn": format!("{HOST}b") }]);
        assert_eq!(of(&["a", "b"], rows), failed("no reason"));
    }
}
