//! ECS and Batch. moto registers container instances without GPUs, and starts no instances for
//! a compute environment.
//!
//! Imitated: lists page by page, descriptions of at most 100, failures of what is not there.
//! What a test puts is what the services describe, unchanged.
//!
//! Not imitated: filters beside the cluster and the container instance, which are refused.

use serde_json::{Value, json};

use super::Data;
use super::error::ApiError;

/// Results per page and names per description, at most.
const AT_ONCE: usize = 100;

/// What the services describe, each with its region.
#[derive(Default)]
pub struct Containers {
    /// With the ARN of the cluster.
    pub instances: Vec<(String, String, Value)>,
    pub tasks: Vec<(String, String, Value)>,
    pub environments: Vec<(String, Value)>,
    pub queues: Vec<(String, Value)>,
}

fn refuse(words: &str) -> ApiError {
    ApiError::new(400, "InvalidParameterException", words)
}

/// The ARN of a cluster.
pub fn cluster_arn(region: &str, name: &str) -> String {
    format!("arn:aws:ecs:{region}:111122223333:cluster/{name}")
}

/// Answers an operation, or refuses it.
pub fn answer(
    data: &Data,
    operation: &str,
    region: &str,
    body: &[u8],
) -> Result<Vec<u8>, ApiError> {
    let request: Value = serde_json::from_slice(body).map_err(|_| refuse("not JSON"))?;
    let containers = &data.containers;
    let of_cluster = |rows: &[(String, String, Value)]| -> Vec<Value> {
        let own = rows.iter().filter(|(place, cluster, _)| {
            place == region && request["cluster"].as_str() == Some(cluster.as_str())
        });
        own.map(|(_, _, description)| description.clone()).collect()
    };
    let of_region = |rows: &[(String, Value)]| -> Vec<Value> {
        let own = rows.iter().filter(|(place, _)| place == region);
        own.map(|(_, description)| description.clone()).collect()
    };
    let arns = |descriptions: Vec<Value>, key: &str| -> Vec<Value> {
        descriptions.into_iter().map(|description| description[key].clone()).collect()
    };
    let answer = match operation {
        "ListClusters" => {
            let own = containers.instances.iter().filter(|(place, ..)| place == region);
            let mut names: Vec<&str> = own.map(|(_, cluster, _)| cluster.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            let names = names.into_iter().map(Value::from).collect();
            page(data, &request, names, "clusterArns", &[])?
        }
        "ListContainerInstances" => {
            let instance_arns = arns(of_cluster(&containers.instances), "containerInstanceArn");
            page(data, &request, instance_arns, "containerInstanceArns", &["cluster"])?
        }
        "ListTasks" => {
            let mut tasks = of_cluster(&containers.tasks);
            tasks.retain(|task| task["containerInstanceArn"] == request["containerInstance"]);
            tasks.retain(|task| task["desiredStatus"] == "RUNNING");
            let task_arns = arns(tasks, "taskArn");
            page(data, &request, task_arns, "taskArns", &["cluster", "containerInstance"])?
        }
        "DescribeContainerInstances" => described(
            &request,
            of_cluster(&containers.instances),
            ("containerInstances", "containerInstanceArn"),
        )?,
        "DescribeTasks" => {
            described(&request, of_cluster(&containers.tasks), ("tasks", "taskArn"))?
        }
        "DescribeComputeEnvironments" => {
            let environments = of_region(&containers.environments);
            page(data, &request, environments, "computeEnvironments", &[])?
        }
        "DescribeJobQueues" => {
            page(data, &request, of_region(&containers.queues), "jobQueues", &[])?
        }
        _ => return Err(refuse("not imitated")),
    };
    Ok(answer.to_string().into_bytes())
}

fn page(
    data: &Data,
    request: &Value,
    items: Vec<Value>,
    key: &str,
    filters: &[&str],
) -> Result<Value, ApiError> {
    let given = request.as_object().ok_or_else(|| refuse("not an object"))?;
    let is_known = |name: &str| ["maxResults", "nextToken"].contains(&name);
    if given.keys().any(|name| !is_known(name) && !filters.contains(&name.as_str())) {
        return Err(refuse("not imitated"));
    }
    let accepted = request["maxResults"].as_u64().unwrap_or(AT_ONCE as u64) as usize;
    if !(1..=AT_ONCE).contains(&accepted) {
        return Err(refuse("maxResults is not 1 to 100"));
    }
    let skip: usize = match request["nextToken"].as_str() {
        Some(token) => token.parse().map_err(|_| refuse("not a token"))?,
        None => 0,
    };
    let limit = data.page(accepted);
    let mut answer = json!({});
    if skip + limit < items.len() {
        answer["nextToken"] = (skip + limit).to_string().into();
    }
    let rows: Vec<Value> = items.into_iter().skip(skip).take(limit).collect();
    answer[key] = rows.into();
    Ok(answer)
}

/// What is described under a key, by ARNs under the same key of the request.
fn described(
    request: &Value,
    items: Vec<Value>,
    (key, arn): (&str, &str),
) -> Result<Value, ApiError> {
    let wanted = request[key].as_array().ok_or_else(|| refuse("no list"))?;
    if wanted.is_empty() || wanted.len() > AT_ONCE {
        return Err(refuse("not 1 to 100 of them"));
    }
    let is_there = |name: &&Value| items.iter().any(|item| item[arn] == **name);
    let missing = wanted.iter().filter(|name| !is_there(name));
    let failures: Vec<Value> =
        missing.map(|name| json!({ "arn": name, "reason": "MISSING" })).collect();
    let described_items: Vec<&Value> =
        items.iter().filter(|item| wanted.contains(&item[arn])).collect();
    let mut answer = json!({ "failures": failures });
    answer[key] = json!(described_items);
    Ok(answer)
}
