//! One page of a list as an API server sends it: its items do not state their kind.

use super::super::failure::MALFORMED;
use super::super::objects::{Item, MOST_OBJECTS, Metadata, Object};
use super::super::rbac::Resource;
use super::super::values::or_default;
use super::refusal::Refusal;
use crate::domain::FailureKind;
use crate::sources::again::RetryPolicy;
use crate::sources::files::{AtMost, InvalidJson, at, read_json};
use serde::Deserialize;
use std::marker::PhantomData;

/// Bytes of one text: objects have up to a megabyte, of which a text may be nearly all.
const LONGEST_TEXT: usize = 2 << 20;
/// What a list is called of which names and owners were asked for.
const METADATA_LIST: &str = "PartialObjectMetadataList";

/// Objects, and where those that follow begin.
#[derive(Debug)]
pub(super) struct Page {
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
pub(super) fn read_page(body: &[u8], resource: &Resource) -> Result<Page, Refusal> {
    let Resource { action, group, kind, .. } = *resource;
    let malformed = |why: String| {
        Refusal::own(action, FailureKind::Unsupported, MALFORMED, why, RetryPolicy::Never)
    };
    let list = read_json(body, LONGEST_TEXT, PhantomData::<ListWire>);
    let list = list.map_err(|error| match error.source {
        InvalidJson::Value(invalid) => malformed(format!("{}{}", invalid.words, at(&error.place))),
        InvalidJson::Text(_) if body.first() == Some(&b'{') => {
            malformed("it is not complete JSON".to_owned())
        }
        InvalidJson::Text(_) => Refusal::foreign(action),
    })?;
    if list.kind != METADATA_LIST && list.kind.strip_suffix("List") != Some(kind) {
        return Err(Refusal::foreign(action));
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
    use super::super::super::rbac::{PODS, REPLICA_SETS};
    use super::*;

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
        let of = |text: &str| read_page(text.as_bytes(), &PODS).expect_err("no page").error;
        for text in ["<html></html>", "", "{\"kind\": \"NodeList\"}", "{}"] {
            assert_eq!(of(text), Refusal::foreign(PODS.action).error, "{text}");
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
