//! Lists of any length, page by page. A list that changes too much while it is read begins
//! again. The items of a page do not state their kind.

use super::super::failure::{ENDLESS, MALFORMED};
use super::super::objects::{Item, LONGEST_TEXT, MOST_OBJECTS, Metadata, Object};
use super::super::rbac::Resource;
use super::super::values::or_default;
use super::client::ApiServer;
use super::refusal::{foreign, has_status};
use crate::domain::FailureKind;
use crate::files::{AtMost, InvalidJson, at, read_json};
use crate::{Outcome, SourceError};
use form_urlencoded::Serializer;
use serde::Deserialize;
use std::marker::PhantomData;

/// Objects of a page, as kubectl asks for them.
const PAGE_OBJECTS: &str = "500";
/// Pages of a list: a million objects.
const MOST_PAGES: usize = 2_000;
/// How often a list is begun again.
const MOST_RESTARTS: usize = 2;
/// The status of a page whose list the server no longer has: after some minutes.
const GONE: u16 = 410;

pub(super) const JSON: &str = "application/json";
/// Names and owners alone, from servers that know how to leave the rest out.
const METADATA: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// Every object of a resource in all namespaces.
///
/// # Errors
/// When a page of it cannot be read: some of a list is not the list.
pub(super) async fn list(
    server: &ApiServer,
    resource: &Resource,
    version: &str,
) -> Outcome<Vec<Object>> {
    let mut restarts = 0;
    loop {
        match list_once(server, resource, version).await {
            Err(error) if has_status(&error, GONE) && restarts < MOST_RESTARTS => {
                tracing::debug!("{error}; from the beginning");
                restarts += 1;
            }
            listed => return listed,
        }
    }
}

async fn list_once(server: &ApiServer, resource: &Resource, version: &str) -> Outcome<Vec<Object>> {
    let action = resource.action;
    let accept = if resource.is_metadata_only { METADATA } else { JSON };
    let (mut objects, mut next) = (Vec::new(), String::new());
    for _ in 0..MOST_PAGES {
        let body = server.get(action, &path_of(resource, version, &next), accept).await?;
        let page = read_page(&body, resource)?;
        objects.extend(page.objects);
        if page.next.is_empty() {
            return Ok(objects);
        }
        if page.next == next {
            break;
        }
        next = page.next;
    }
    Err(SourceError::own(action, FailureKind::Unsupported, ENDLESS, String::new()))
}

fn path_of(resource: &Resource, version: &str, next: &str) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("limit", PAGE_OBJECTS);
    for (name, value) in [("fieldSelector", resource.field_selector), ("continue", next)] {
        if !value.is_empty() {
            query.append_pair(name, value);
        }
    }
    format!("{}?{}", resource.path(version), query.finish())
}

/// What a list is called of which names and owners were asked for.
const METADATA_LIST: &str = "PartialObjectMetadataList";

/// Objects, and where those that follow begin.
#[derive(Debug)]
struct Page {
    pub objects: Vec<Object>,
    /// Empty on the last page.
    pub next: String,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "a list of Kubernetes objects")]
struct ListWire {
    #[serde(default)]
    kind: String,
    #[serde(default, deserialize_with = "or_default")]
    metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    items: AtMost<Item, MOST_OBJECTS>,
}

/// Reads a page of the objects of a resource.
///
/// # Errors
/// When it is something else, or is not as it must be.
fn read_page(body: &[u8], resource: &Resource) -> Outcome<Page> {
    let Resource { action, group, kind, .. } = *resource;
    let malformed =
        |why: String| SourceError::own(action, FailureKind::Unsupported, MALFORMED, why);
    let list = read_json(body, LONGEST_TEXT, PhantomData::<ListWire>);
    let list = list.map_err(|error| match error.source {
        InvalidJson::Value(invalid) => malformed(format!("{}{}", invalid.words, at(&error.place))),
        InvalidJson::Text(_) if body.first() == Some(&b'{') => {
            malformed("it is not complete JSON".to_owned())
        }
        InvalidJson::Text(_) => foreign(action),
    })?;
    if list.kind != METADATA_LIST && list.kind.strip_suffix("List") != Some(kind) {
        return Err(foreign(action));
    }
    let items = list.items.0.into_iter().enumerate();
    let objects = items.map(|(place, item)| {
        let object = item.object(group, kind);
        object.map_err(|why| malformed(format!("{why}, of `items[{place}]`")))
    });
    Ok(Page { objects: objects.collect::<Result<_, _>>()?, next: list.metadata.next })
}

#[cfg(test)]
mod tests {
    use super::super::super::rbac::{DEVICE_CLAIMS, PODS, REPLICA_SETS};
    use super::*;

    #[test]
    fn a_page_is_asked_for_in_the_form_of_the_api() {
        assert_eq!(
            path_of(&PODS, "v1", ""),
            "/api/v1/pods?limit=500&fieldSelector=status.phase%21%3DSucceeded%2C\
             status.phase%21%3DFailed"
        );
        assert_eq!(
            path_of(&DEVICE_CLAIMS, "v1beta2", "a=b&c"),
            "/apis/resource.k8s.io/v1beta2/resourceclaims?limit=500&continue=a%3Db%26c"
        );
    }

    #[test]
    fn items_are_of_the_kind_of_their_list() {
        let body = br#"{"kind": "PodList", "apiVersion": "v1",
            "metadata": {"continue": "abc", "resourceVersion": "7"},
            "items": [{"metadata": {"name": "a", "namespace": "b"},
                       "spec": {"nodeName": "c"}, "status": {"phase": "Running"}}]}"#;
        let page = read_page(body, &PODS).expect("a page");
        assert_eq!(page.next, "abc");
        let [Object::Pod(pod)] = page.objects.as_slice() else {
            panic!("{:?}", page.objects);
        };
        assert_eq!((pod.metadata.name.as_str(), pod.spec.node_name.as_str()), ("a", "c"));
        let body = br#"{"kind": "PartialObjectMetadataList", "items": [
            {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
             "metadata": {"name": "a"}}], "metadata": {}}"#;
        let page = read_page(body, &REPLICA_SETS).expect("a page");
        assert_eq!(page.next, "");
        assert!(matches!(page.objects.as_slice(), [Object::Maker("ReplicaSet", _)]));
        let body = br#"{"kind": "PodList", "metadata": {}, "items": null}"#;
        assert!(read_page(body, &PODS).expect("a page").objects.is_empty());
    }

    #[test]
    fn other_answers_differ_from_lists_with_an_error() {
        let of = |text: &str| read_page(text.as_bytes(), &PODS).expect_err("no page");
        for text in ["<html></html>", "", "{\"kind\": \"NodeList\"}", "{}"] {
            assert_eq!(of(text), foreign(PODS.action), "{text}");
        }
        for (text, why) in [
            ("{\"kind\": \"PodL", "it is not complete JSON"),
            (
                "{\"kind\": \"PodList\", \"items\": 7}",
                "invalid type: integer `7`, expected a list at `items`",
            ),
            (
                "{\"kind\": \"PodList\", \"items\": [{\"spec\": {\"containers\": [{\"resources\": \
                 {\"requests\": {\"cpu\": \"many\"}}}]}}]}",
                "`many` is not a quantity such as 500m or 16Gi, at \
                 `spec.containers[0].resources.requests.cpu`, of `items[0]`",
            ),
        ] {
            assert_eq!(
                (of(text).code.as_str(), of(text).said.as_str()),
                (MALFORMED, why),
                "{text}"
            );
        }
    }
}
