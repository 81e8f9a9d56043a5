//! Tags of everything that SageMaker runs, in one list for a region: its own lists have none.

use super::listed::{MOST_LISTED, rows};
use crate::domain::Instance;
use crate::sources::Outcome;
use crate::sources::aws::pages::Paging;
use crate::sources::aws::session::RegionClients;
use crate::sources::aws::signed::{Protocol, Service, answers};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(in crate::sources::aws) const TAGGING: Service = Service {
    signing_name: "tagging",
    host_prefix: "tagging",
    protocol: Protocol::Json("ResourceGroupsTaggingAPI_20170126"),
    id: "tag",
    paging: Paging {
        size_key: "ResourcesPerPage",
        size: 100,
        token_key: "PaginationToken",
        most: MOST_LISTED,
    },
};

/// What runs on instances. Jobs and models, of which there may be thousands, are not asked
/// for.
const TYPES: [&str; 4] =
    ["sagemaker:app", "sagemaker:cluster", "sagemaker:endpoint", "sagemaker:notebook-instance"];

/// Tags by the end of an ARN in lower case, such as `endpoint/chat`: ARNs write names so.
pub(super) type TagsByArn = BTreeMap<String, BTreeMap<String, String>>;

answers! { "PascalCase":
    struct Mapping {
        #[serde(rename = "ResourceARN")]
        arn: String,
        tags: Option<Vec<Tag>>,
    }

    struct Tag {
        key: String,
        value: String,
    }
}

/// Tags of the machines of a region.
///
/// # Errors
/// When they cannot be listed.
pub(super) async fn tags(clients: &RegionClients) -> Outcome<TagsByArn> {
    let wanted = json!({ "ResourceTypeFilters": TYPES });
    let read = |action, page: Value| rows(&TAGGING.paging, action, page, "ResourceTagMappingList");
    let mappings: Vec<Mapping> = clients.ask_list(&TAGGING, "GetResources", wanted, read).await?;
    let by_arn = mappings.into_iter().filter_map(|Mapping { arn, tags }| {
        let tags = tags.into_iter().flatten().map(|tag| (tag.key, tag.value)).collect();
        Some((end_of(&arn)?, tags))
    });
    Ok(by_arn.collect())
}

/// What an ARN has after the account, in lower case.
pub(super) fn end_of(arn: &str) -> Option<String> {
    Some(arn.splitn(6, ':').nth(5)?.to_lowercase())
}

/// Gives machines the tags of what they belong to. `clusters` has the end of the ARN of
/// each cluster by its name, because the former has an id.
pub(super) fn apply(
    instances: &mut [Instance],
    tags: &TagsByArn,
    clusters: &BTreeMap<String, String>,
) {
    for instance in instances {
        let end = match instance.id.native().split('/').collect::<Vec<_>>().as_slice() {
            ["endpoint", name, ..] => format!("endpoint/{name}").to_lowercase(),
            ["notebook", name] => format!("notebook-instance/{name}").to_lowercase(),
            ["app", rest @ ..] => format!("app/{}", rest.join("/")).to_lowercase(),
            ["cluster", name, ..] => match clusters.get(*name) {
                Some(end) => end.clone(),
                None => continue,
            },
            _ => continue,
        };
        if let Some(own) = tags.get(&end) {
            instance.tags.clone_from(own);
        }
    }
}
