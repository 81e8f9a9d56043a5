//! Lists of any length, page by page. A list that changes too much while it is read
//! begins again.

use super::super::failure::ENDLESS;
use super::super::objects::Object;
use super::super::rbac::Resource;
use super::client::ApiServer;
use super::page::read_page;
use super::refusal::Refusal;
use crate::domain::FailureKind;
use crate::sources::again::RetryPolicy;
use form_urlencoded::Serializer;

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
) -> Result<Vec<Object>, Refusal> {
    let mut restarts = 0;
    loop {
        match list_once(server, resource, version).await {
            Err(refusal) if refusal.has_status(GONE) && restarts < MOST_RESTARTS => {
                tracing::debug!("{}; from the beginning", refusal.error);
                restarts += 1;
            }
            listed => return listed,
        }
    }
}

async fn list_once(
    server: &ApiServer,
    resource: &Resource,
    version: &str,
) -> Result<Vec<Object>, Refusal> {
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
    Err(Refusal::own(action, FailureKind::Unsupported, ENDLESS, String::new(), RetryPolicy::Never))
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

#[cfg(test)]
mod tests {
    use super::super::super::rbac::{DEVICE_CLAIMS, PODS};
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
}
