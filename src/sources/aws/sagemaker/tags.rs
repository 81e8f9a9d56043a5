//! Tags of everything that SageMaker runs, in one list for a region: its own lists have none.

use super::listed::rows;
use crate::domain::Instance;
use crate::sources::Outcome;
use crate::sources::aws::pages::Pages;
use crate::sources::aws::session::RegionClients;
use crate::sources::aws::signed::{Protocol, Service};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(in crate::sources::aws) const TAGGING: Service = Service {
    signing_name: "tagging",
    host_prefix: "tagging",
    protocol: Protocol::Json("ResourceGroupsTaggingAPI_20170126"),
    id: "tag",
};

/// What runs on instances. Jobs and models, of which there may be thousands, are not asked
/// for.
const TYPES: [&str; 4] =
    ["sagemaker:app", "sagemaker:cluster", "sagemaker:endpoint", "sagemaker:notebook-instance"];
/// Resources on a page, the most that the list gives.
const ON_A_PAGE: u32 = 100;
/// Resources of a region that are read.
const MOST_RESOURCES: usize = 100_000;

/// Tags by the end of an ARN in lower case, such as `endpoint/chat`: ARNs write names so.
pub(super) type TagsByArn = BTreeMap<String, BTreeMap<String, String>>;

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Mapping {
    #[serde(rename = "ResourceARN")]
    arn: String,
    #[serde(rename = "Tags")]
    tags: Option<Vec<Tag>>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Tag {
    key: String,
    value: String,
}

/// Tags of the machines of a region.
///
/// # Errors
/// When they cannot be listed.
pub(super) async fn tags(clients: &RegionClients) -> Outcome<TagsByArn> {
    let RegionClients { session, region, .. } = clients;
    let action = "tag:GetResources";
    let mut by_arn = TagsByArn::new();
    let mut pages = Pages::of(action).with_room(MOST_RESOURCES);
    loop {
        let mut body = json!({ "ResourceTypeFilters": TYPES, "ResourcesPerPage": ON_A_PAGE });
        if let Some(token) = pages.token() {
            body["PaginationToken"] = token.into();
        }
        let mut page: Value = session.ask(&TAGGING, region, "GetResources", &body).await?;
        let found_here: Vec<Mapping> = rows(action, &mut page, "ResourceTagMappingList")?;
        pages.take(found_here.len())?;
        for Mapping { arn, tags } in found_here {
            let tags = tags.into_iter().flatten().map(|tag| (tag.key, tag.value)).collect();
            if let Some(end) = end_of(&arn) {
                by_arn.insert(end, tags);
            }
        }
        if !pages.follow(page.get("PaginationToken").and_then(Value::as_str))? {
            return Ok(by_arn);
        }
    }
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
