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
    let all = &data.containers;
    let of_cluster = |all: &[(String, String, Value)]| -> Vec<Value> {
        let own = all.iter().filter(|(place, cluster, _)| {
            place == region && request["cluster"].as_str() == Some(cluster.as_str())
        });
        own.map(|(_, _, one)| one.clone()).collect()
    };
    let of_region = |all: &[(String, Value)]| -> Vec<Value> {
        let own = all.iter().filter(|(place, _)| place == region);
        own.map(|(_, one)| one.clone()).collect()
    };
    let arns = |all: Vec<Value>, key: &str| -> Vec<Value> {
        all.into_iter().map(|one| one[key].clone()).collect()
    };
    let answer = match operation {
        "ListClusters" => {
            let own = all.instances.iter().filter(|(place, ..)| place == region);
            let mut names: Vec<&str> = own.map(|(_, cluster, _)| cluster.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            let names = names.into_iter().map(Value::from).collect();
            page(data, &request, names, "clusterArns", &[])?
        }
        "ListContainerInstances" => {
            let found = arns(of_cluster(&all.instances), "containerInstanceArn");
            page(data, &request, found, "containerInstanceArns", &["cluster"])?
        }
        "ListTasks" => {
            let mut found = of_cluster(&all.tasks);
            found.retain(|one| one["containerInstanceArn"] == request["containerInstance"]);
            found.retain(|one| one["desiredStatus"] == "RUNNING");
            let found = arns(found, "taskArn");
            page(
                data,
                &request,
                found,
                "taskArns",
                &["cluster", "containerInstance"],
            )?
        }
        "DescribeContainerInstances" => described(
            &request,
            of_cluster(&all.instances),
            ("containerInstances", "containerInstanceArn"),
        )?,
        "DescribeTasks" => described(&request, of_cluster(&all.tasks), ("tasks", "taskArn"))?,
        "DescribeComputeEnvironments" => {
            let found = of_region(&all.environments);
            page(data, &request, found, "computeEnvironments", &[])?
        }
        "DescribeJobQueues" => page(data, &request, of_region(&all.queues), "jobQueues", &[])?,
        _ => return Err(refuse("not imitated")),
    };
    Ok(answer.to_string().into_bytes())
}

fn page(
    data: &Data,
    request: &Value,
    all: Vec<Value>,
    key: &str,
    filters: &[&str],
) -> Result<Value, ApiError> {
    let given = request.as_object().ok_or_else(|| refuse("not an object"))?;
    let is_known = |name: &str| ["maxResults", "nextToken"].contains(&name);
    if given
        .keys()
        .any(|name| !is_known(name) && !filters.contains(&name.as_str()))
    {
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
    if skip + limit < all.len() {
        answer["nextToken"] = (skip + limit).to_string().into();
    }
    let rows: Vec<Value> = all.into_iter().skip(skip).take(limit).collect();
    answer[key] = rows.into();
    Ok(answer)
}

/// What is described under a key, by ARNs under the same key of the request.
fn described(
    request: &Value,
    all: Vec<Value>,
    (key, arn): (&str, &str),
) -> Result<Value, ApiError> {
    let wanted = request[key].as_array().ok_or_else(|| refuse("no list"))?;
    if wanted.is_empty() || wanted.len() > AT_ONCE {
        return Err(refuse("not 1 to 100 of them"));
    }
    let is_there = |name: &&Value| all.iter().any(|one| one[arn] == **name);
    let missing = wanted.iter().filter(|name| !is_there(name));
    let failures: Vec<Value> = missing
        .map(|name| json!({ "arn": name, "reason": "MISSING" }))
        .collect();
    let found: Vec<&Value> = all
        .iter()
        .filter(|one| wanted.contains(&one[arn]))
        .collect();
    let mut answer = json!({ "failures": failures });
    answer[key] = json!(found);
    Ok(answer)
}
