//! Compute environments of AWS Batch, which set the sizes of Auto Scaling groups.

use super::answers::{CAMEL_CASE, Paging, answers};
use super::service::{Protocol, Service};
use super::session::RegionClients;
use crate::SourceError;
use crate::domain::{BatchEnvironment, Gap, GapSubject, Instance, ScalingGroup};
use serde::Deserialize;
use serde_json::json;

pub(super) const BATCH: Service = Service {
    signing_name: "batch",
    sdk_id: "Batch",
    host: "batch.{region}",
    protocol: Protocol::Rest(|operation| format!("v1/{}", operation.to_ascii_lowercase())),
    id: "batch",
    paging: Paging { may_omit_list: true, ..CAMEL_CASE },
};

answers! { "camelCase":
    struct Environment {
        compute_environment_name: String,
        compute_environment_arn: String,
        /// Absent where it is not managed.
        compute_resources: Option<Resources>,
    }

    struct Resources {
        #[serde(rename = "type")]
        kind: Option<String>,
        minv_cpus: Option<u32>,
        desiredv_cpus: Option<u32>,
        #[serde(default)]
        instance_types: Vec<String>,
    }

    struct Queue {
        job_queue_name: String,
        state: Option<String>,
        #[serde(default)]
        compute_environment_order: Vec<Order>,
    }

    struct Order {
        /// Its ARN.
        compute_environment: Option<String>,
    }
}

impl Environment {
    /// Whether it set up a group with some members.
    fn made(&self, group: &ScalingGroup, members: &[&Instance]) -> bool {
        let own = self.compute_environment_name.as_str();
        let tagged = members.iter().find_map(|member| member.tags.get(BatchEnvironment::TAG));
        if let Some(name) = tagged {
            return name == own;
        }
        let (before, after) = BatchEnvironment::AROUND_NAME;
        let rest = group.name.strip_prefix(before);
        let rest = rest.and_then(|rest| rest.strip_prefix(own));
        rest.is_some_and(|rest| rest.starts_with(after))
    }

    /// Its settings; absent where it runs no instances of its own choice.
    fn settings(&self, queues: Option<&[Queue]>) -> Option<BatchEnvironment> {
        let resources = self.compute_resources.as_ref()?;
        let is_spot = match resources.kind.as_deref() {
            Some("EC2") => false,
            Some("SPOT") => true,
            _ => return None,
        };
        let queues = queues.map(|all| {
            let own = all.iter().filter(|queue| queue.feeds(self));
            let mut names: Vec<String> = own.map(|queue| queue.job_queue_name.clone()).collect();
            names.sort();
            names
        });
        Some(BatchEnvironment {
            name: self.compute_environment_name.clone(),
            min_vcpus: resources.minv_cpus?,
            desired_vcpus: resources.desiredv_cpus?,
            instance_types: resources.instance_types.clone(),
            is_spot,
            queues,
        })
    }
}

impl Queue {
    /// Whether it places jobs in an environment.
    fn feeds(&self, environment: &Environment) -> bool {
        let mut order = self.compute_environment_order.iter();
        let arn = Some(environment.compute_environment_arn.as_str());
        self.state.as_deref() != Some("DISABLED")
            && order.any(|entry| entry.compute_environment.as_deref() == arn)
    }
}

/// Adds the environments that set up some groups to these. Without a group, nothing is asked,
/// and without an environment of one, no queue.
pub(super) async fn attach_environments(
    clients: &RegionClients,
    instances: &[Instance],
    groups: &mut [ScalingGroup],
) -> Vec<Gap> {
    if groups.is_empty() {
        return Vec::new();
    }
    let gap = |error: SourceError| error.gap(GapSubject::BatchEnvironments, &clients.region, "");
    let listed = clients
        .ask_list(&BATCH, "DescribeComputeEnvironments", "computeEnvironments", json!({}))
        .await;
    let environments: Vec<Environment> = match listed {
        Ok(found) => found,
        Err(error) => return vec![gap(error)],
    };
    let makers: Vec<Option<&Environment>> =
        groups.iter().map(|group| maker(group, instances, &environments)).collect();
    if makers.iter().all(Option::is_none) {
        return Vec::new();
    }
    let listed = clients.ask_list(&BATCH, "DescribeJobQueues", "jobQueues", json!({})).await;
    let queues: Option<&[Queue]> = listed.as_deref().ok();
    for (group, environment) in groups.iter_mut().zip(makers) {
        group.batch = environment.and_then(|maker| maker.settings(queues));
    }
    listed.err().map(gap).into_iter().collect()
}

/// The environment that set up a group; of several whose names begin alike, the longest.
fn maker<'a>(
    group: &ScalingGroup,
    instances: &[Instance],
    environments: &'a [Environment],
) -> Option<&'a Environment> {
    let members: Vec<&Instance> = instances.iter().filter(|instance| group.has(instance)).collect();
    environments
        .iter()
        .filter(|environment| environment.made(group, &members))
        .max_by_key(|environment| environment.compute_environment_name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str, kind: &str) -> Environment {
        let text = json!({
            "computeEnvironmentName": name,
            "computeEnvironmentArn": format!("arn:{name}"),
            "type": "MANAGED", "state": "ENABLED", "containerOrchestrationType": "ECS",
            "computeResources": {
                "type": kind, "minvCpus": 16, "maxvCpus": 256, "desiredvCpus": 24,
                "instanceTypes": ["g5", "optimal"], "subnets": [], "instanceRole": "r",
            },
        });
        serde_json::from_value(text).expect("as botocore describes it")
    }

    fn group(name: &str) -> ScalingGroup {
        ScalingGroup { name: name.to_owned(), ..ScalingGroup::sample() }
    }

    #[test]
    fn a_group_belongs_to_the_environment_whose_whole_name_it_has() {
        let environments = ["train", "train-asg-x", "serve"].map(|name| environment(name, "EC2"));
        let made_by = |name: &str| {
            let owner = maker(&group(name), &[], &environments);
            owner.map(|environment| environment.compute_environment_name.as_str())
        };
        assert_eq!(made_by("AWSBatch-train-asg-640012bd"), Some("train"));
        assert_eq!(made_by("AWSBatch-train-asg-x-asg-1"), Some("train-asg-x"));
        assert_eq!(made_by("AWSBatch-training-asg-640012bd"), None);
        assert_eq!(made_by("train-asg-640012bd"), None);
    }

    #[test]
    fn settings_are_those_of_environments_with_instances() {
        let queues: Vec<Queue> = serde_json::from_value(json!([
            { "jobQueueName": "b", "state": "ENABLED", "priority": 1,
              "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "arn:train" }] },
            { "jobQueueName": "a", "state": "ENABLED",
              "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "arn:other" },
                                          { "order": 2, "computeEnvironment": "arn:train" }] },
            { "jobQueueName": "off", "state": "DISABLED",
              "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": "arn:train" }] },
        ]))
        .expect("as botocore describes it");
        let expected = BatchEnvironment {
            name: "train".to_owned(),
            min_vcpus: 16,
            desired_vcpus: 24,
            instance_types: vec!["g5".to_owned(), "optimal".to_owned()],
            is_spot: false,
            queues: Some(vec!["a".to_owned(), "b".to_owned()]),
        };
        let settings = environment("train", "EC2").settings(Some(&queues));
        assert_eq!(settings, Some(expected.clone()));
        let unread = BatchEnvironment { is_spot: true, queues: None, ..expected };
        assert_eq!(environment("train", "SPOT").settings(None), Some(unread));
        assert_eq!(environment("train", "FARGATE").settings(None), None);
        let unmanaged = Environment { compute_resources: None, ..environment("own", "EC2") };
        assert_eq!(unmanaged.settings(None), None);
    }
}
