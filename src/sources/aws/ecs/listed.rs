//! What ECS answers, as far as it is read.

use crate::sources::aws::pages::Part;
use crate::sources::aws::signed::answers;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// What resources of the kind are called.
pub(super) const GPU: &str = "GPU";

answers! { "camelCase":
    pub(super) struct ContainerInstances {
        #[serde(default)]
        pub container_instances: Vec<ContainerInstance>,
        #[serde(default)]
        pub failures: Vec<Failure>,
    }

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

    pub(super) struct Resource {
        name: Option<String>,
        integer_value: Option<i64>,
        /// IDs of devices.
        #[serde(default)]
        string_set_value: Vec<String>,
    }

    pub(super) struct Tasks {
        #[serde(default)]
        pub tasks: Vec<Task>,
        #[serde(default)]
        pub failures: Vec<Failure>,
    }

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

    pub(super) struct Failure {
        arn: Option<String>,
        reason: Option<String>,
    }

    pub(super) struct Container {
        #[serde(default)]
        gpu_ids: Vec<String>,
    }
}

/// The IDs of the GPUs among resources.
pub(super) fn gpus(resources: &[Resource]) -> BTreeSet<String> {
    let own = resources.iter().filter(|resource| resource.name.as_deref() == Some(GPU));
    own.flat_map(|resource| resource.string_set_value.iter().cloned()).collect()
}

/// A resource that is an amount, such as `CPU`.
pub(super) fn amount(resources: &[Resource], name: &str) -> Option<u64> {
    let mut listed = resources.iter();
    let resource = listed.find(|resource| resource.name.as_deref() == Some(name))?;
    u64::try_from(resource.integer_value?).ok()
}

impl Task {
    /// The IDs of the GPUs that its containers hold, each once.
    pub fn gpus(&self) -> BTreeSet<&str> {
        let has_ended = self.last_status.as_deref() == Some("STOPPED");
        let containers = self.containers.iter().filter(|_| !has_ended);
        containers.flat_map(|container| &container.gpu_ids).map(String::as_str).collect()
    }
}

/// What ends an ARN, which is the name or the ID alone.
pub(super) fn last_of(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or(arn)
}

/// Everything that was asked for is described, or has ended since it was listed and holds
/// nothing.
///
/// # Errors
/// What is neither, or why it could not be described.
pub(super) fn described<'a>(
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

/// The names that a page of a list has under a key, and the token of the page after it.
///
/// # Errors
/// When it is not a list of texts, which says nothing about what exists, or when it is not
/// known whether another page follows.
pub(super) fn page_of(page: &Value, key: &str) -> Result<Part<String>, String> {
    let rows = page.get(key).and_then(Value::as_array);
    let rows = rows.ok_or_else(|| format!("{key} is not a list"))?;
    let names: Option<Vec<String>> =
        rows.iter().map(|name| name.as_str().map(str::to_owned)).collect();
    let next = match page.get("nextToken") {
        None | Some(Value::Null) => None,
        Some(Value::String(token)) => Some(token.clone()),
        Some(_) => return Err("nextToken is not a text".to_owned()),
    };
    Ok((names.ok_or_else(|| format!("{key} has a name that is not a text"))?, next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    #[test]
    fn a_list_is_empty_only_if_it_says_so() {
        let of = |page: &Value| page_of(page, "clusterArns");
        assert_eq!(of(&json!({ "clusterArns": [] })), Ok((Vec::new(), None)));
        let page = json!({ "clusterArns": ["a", "b"], "nextToken": "t" });
        let names = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(of(&page), Ok((names, Some("t".to_owned()))));
        let page = json!({ "clusterArns": [], "nextToken": null });
        assert_eq!(of(&page), Ok((Vec::new(), None)));
        for (page, why) in [
            (json!({}), "clusterArns is not a list"),
            (json!([]), "clusterArns is not a list"),
            (json!({ "clusterArns": null }), "clusterArns is not a list"),
            (json!({ "clusterArns": ["a", 1] }), "clusterArns has a name that is not a text"),
            (json!({ "clusterArns": [], "nextToken": 1 }), "nextToken is not a text"),
        ] {
            assert_eq!(of(&page), Err(why.to_owned()), "{page}");
        }
    }
}
