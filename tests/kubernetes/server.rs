//! An API server on this host: it lists what it is given, page by page, with the
//! discovery that kubectl needs, and fails where a test says so.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use hyper::{Method, Request, Response};
use rustls::ServerConfig;
use serde_json::{Value, json};

use crate::support::http::{Reply, Server, Unanswered};

/// Who asks, unless a plugin says otherwise.
pub const TOKEN: &str = "gpucost-kubernetes-token-that-must-not-be-printed";

/// Every kind that is served: group, version, plural, kind, and whether it is in
/// namespaces.
const SERVED: [(&str, &str, &str, &str, bool); 7] = [
    ("", "v1", "nodes", "Node", false),
    ("", "v1", "pods", "Pod", true),
    ("", "v1", "namespaces", "Namespace", false),
    ("apps", "v1", "replicasets", "ReplicaSet", true),
    ("batch", "v1", "jobs", "Job", true),
    ("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", false),
    ("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true),
];

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// The user has no right to list.
    Forbidden,
    /// The same, in words that repeat the request.
    Echo,
    /// The server does not know the user.
    Unauthorized,
    /// The server has dropped the list of which a page is asked.
    Expired,
    /// Too many requests, and for how many seconds.
    Throttled(u64),
    Unavailable,
    /// The resource does not exist.
    NotFound,
    Slow(Duration),
    /// The answer ends within its JSON.
    Truncated,
    /// A page for people.
    Page,
    /// The answer goes on for ever.
    Endless,
}

struct Injected {
    resource: String,
    /// Requests that go well before.
    skip: usize,
    /// Requests that fail.
    times: usize,
    fault: Fault,
}

/// A request for a list as it arrived.
#[derive(Debug, Clone)]
pub struct Listed {
    pub method: String,
    pub path: String,
    pub query: Vec<(String, String)>,
}

#[derive(Default)]
struct Control {
    faults: Vec<Injected>,
    listed: Vec<Listed>,
}

struct State {
    /// By plural.
    objects: BTreeMap<&'static str, Vec<Value>>,
    /// Objects of the largest page.
    page: usize,
    /// What clients must have; absent where anybody may ask.
    token: Option<String>,
    control: Mutex<Control>,
}

impl State {
    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server that answers until it is dropped.
pub struct ApiServer {
    state: Arc<State>,
    server: Server,
    has_tls: bool,
}

impl ApiServer {
    /// Serves objects, on pages of at most so many.
    pub fn start(objects: &[Value], page: usize) -> Self {
        Self::with_token(objects, page, TOKEN)
    }

    /// The same for clients with a token.
    pub fn with_token(objects: &[Value], page: usize, token: &str) -> Self {
        Self::serve(objects, page, Some(token), None)
    }

    /// The same with TLS.
    pub fn with_tls(objects: &[Value], token: Option<&str>, tls: ServerConfig) -> Self {
        Self::serve(objects, 500, token, Some(Arc::new(tls)))
    }

    /// The same for anybody: kubectl sends no token to a server without TLS.
    pub fn open(objects: &[Value], page: usize) -> Self {
        Self::serve(objects, page, None, None)
    }

    fn serve(
        objects: &[Value],
        page: usize,
        token: Option<&str>,
        tls: Option<Arc<ServerConfig>>,
    ) -> Self {
        let of_kind = |kind: &str| -> Vec<Value> {
            let own = objects.iter().filter(|object| object["kind"] == kind);
            own.cloned().collect()
        };
        let objects = SERVED.map(|(_, _, name, kind, _)| (name, of_kind(kind)));
        let state = Arc::new(State {
            objects: BTreeMap::from(objects),
            page,
            token: token.map(str::to_owned),
            control: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        let has_tls = tls.is_some();
        let server = Server::start(tls, move |request| answered(Arc::clone(&shared), request));
        Self { state, server, has_tls }
    }

    pub fn url(&self) -> String {
        let scheme = if self.has_tls { "https" } else { "http" };
        format!("{scheme}://{}", self.server.address())
    }

    /// Lets requests for a resource fail: after some that go well, so many.
    pub fn inject(&self, resource: &str, skip: usize, times: usize, fault: Fault) {
        self.state.control().faults.push(Injected {
            resource: resource.to_owned(),
            skip,
            times,
            fault,
        });
    }

    /// Every request for a list so far.
    pub fn listed(&self) -> Vec<Listed> {
        self.state.control().listed.clone()
    }

    /// A kubeconfig for the server, of a user with the token.
    pub fn kubeconfig(&self) -> Value {
        let token = self.state.token.as_deref().unwrap_or(TOKEN);
        kubeconfig(&self.url(), &json!({ "token": token }))
    }
}

/// A kubeconfig with one context, `lab`. JSON is YAML.
pub fn kubeconfig(url: &str, user: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": {"server": url}}],
        "users": [{"name": "auditor", "user": user}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "auditor"}}],
    })
}

async fn answered(state: Arc<State>, request: Request<Incoming>) -> Result<Reply, Unanswered> {
    Ok(answer(&state, &request).await)
}

async fn answer(state: &State, request: &Request<Incoming>) -> Reply {
    let path = request.uri().path();
    if let Some(document) = discovered(path) {
        return reply(200, &document);
    }
    let served = SERVED.iter().find(|(group, version, name, ..)| {
        let base = base_of(group, version);
        path == format!("{base}/{name}")
    });
    let Some((group, version, name, kind, _)) = served.copied() else {
        return status(404, "NotFound", "the server could not find the requested resource");
    };
    let header = |name: HeaderName| {
        let value = request.headers().get(name);
        let text = value.and_then(|value| value.to_str().ok());
        text.unwrap_or_default()
    };
    let query = request.uri().query().unwrap_or_default();
    // Some clients begin with an empty pair.
    let query = form_urlencoded::parse(query.as_bytes()).into_owned();
    let query: Vec<(String, String)> = query.filter(|(key, _)| !key.is_empty()).collect();
    let fault = {
        let mut control = state.control();
        control.listed.push(Listed {
            method: request.method().to_string(),
            path: path.to_owned(),
            query: query.clone(),
        });
        take(&mut control.faults, name)
    };
    if request.method() != Method::GET {
        return status(405, "MethodNotAllowed", "this server is only read");
    }
    let wanted = state.token.as_ref().map(|token| format!("Bearer {token}"));
    if wanted.is_some_and(|wanted| header(AUTHORIZATION) != wanted) {
        return status(401, "Unauthorized", "Unauthorized");
    }
    match fault {
        None => {}
        Some(Fault::Forbidden) => {
            let words = format!(
                "{name}.{group} is forbidden: User \"auditor\" cannot list resource \"{name}\" in \
                 API group \"{group}\" at the cluster scope"
            );
            return status(403, "Forbidden", &words.replace(". is", " is"));
        }
        Some(Fault::Echo) => {
            let words = format!("refused: {}", header(AUTHORIZATION));
            return status(403, "Forbidden", &words);
        }
        Some(Fault::Unauthorized) => return status(401, "Unauthorized", "Unauthorized"),
        Some(Fault::Expired) => {
            return status(410, "Expired", "The provided continue parameter is too old");
        }
        Some(Fault::Throttled(seconds)) => {
            let mut reply = status(429, "TooManyRequests", "too many requests");
            reply.headers_mut().insert(RETRY_AFTER, seconds.into());
            return reply;
        }
        Some(Fault::Unavailable) => return status(503, "ServiceUnavailable", "starting"),
        Some(Fault::NotFound) => return status(404, "NotFound", "no such resource"),
        Some(Fault::Slow(delay)) => tokio::time::sleep(delay).await,
        Some(Fault::Truncated) => return text(200, "{\"kind\": \"PodList\", \"items\": [{"),
        Some(Fault::Page) => return text(200, "<html><body>Sign in</body></html>"),
        Some(Fault::Endless) => return endless(),
    }
    let is_metadata = header(ACCEPT).contains("as=PartialObjectMetadataList");
    page(state, (group, version, name, kind), &query, is_metadata)
}

fn take(faults: &mut [Injected], resource: &str) -> Option<Fault> {
    let mut own = faults.iter_mut().filter(|fault| fault.resource == resource && fault.times > 0);
    let next = own.next()?;
    if next.skip > 0 {
        next.skip -= 1;
        return None;
    }
    next.times -= 1;
    Some(next.fault)
}

fn base_of(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// One page, as a server writes it: items without their kind.
fn page(
    state: &State,
    (group, version, name, kind): (&str, &str, &str, &str),
    query: &[(String, String)],
    is_metadata: bool,
) -> Reply {
    let parameter = |name: &str| {
        let pair = query.iter().find(|(key, _)| key == name);
        pair.map(|(_, value)| value.as_str())
    };
    let Some(excluded) = excluded_phases(parameter("fieldSelector").unwrap_or_default()) else {
        return status(400, "BadRequest", "field label not supported");
    };
    let kept = |object: &&Value| {
        let phase = object["status"]["phase"].as_str().unwrap_or_default();
        !excluded.contains(&phase)
    };
    let matching: Vec<&Value> = state.objects[name].iter().filter(kept).collect();
    let from = match parameter("continue").map(str::parse::<usize>) {
        None => 0,
        Some(Ok(from)) => from,
        Some(Err(_)) => return status(400, "BadRequest", "continue key is not valid"),
    };
    let limit: Option<usize> = parameter("limit").and_then(|limit| limit.parse().ok());
    let limit = limit.filter(|limit| *limit > 0);
    // Without a limit everything is sent at once.
    let to = limit.map_or(matching.len(), |limit| from + limit.min(state.page));
    let to = to.min(matching.len());
    let items = matching[from.min(to)..to].iter().map(|object| {
        let mut item = (*object).clone();
        let fields = item.as_object_mut().expect("an object");
        if is_metadata {
            fields.retain(|key, _| key == "metadata");
        } else {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        item
    });
    let items: Vec<Value> = items.collect();
    let mut metadata = json!({"resourceVersion": "1000"});
    if to < matching.len() {
        metadata["continue"] = json!(to.to_string());
        metadata["remainingItemCount"] = json!(matching.len() - to);
    }
    let (kind, version) = if is_metadata {
        let kind = "PartialObjectMetadataList".to_owned();
        (kind, "meta.k8s.io/v1".to_owned())
    } else {
        (format!("{kind}List"), api_version(group, version))
    };
    let list = json!({
        "kind": kind, "apiVersion": version, "metadata": metadata, "items": items,
    });
    reply(200, &list)
}

/// The phases that a selector excludes; `None` where it selects by something else.
fn excluded_phases(selector: &str) -> Option<Vec<&str>> {
    let parts = selector.split(',').filter(|part| !part.is_empty());
    parts.map(|part| part.strip_prefix("status.phase!=")).collect()
}

/// What there is to list, as kubectl asks before it lists.
fn discovered(path: &str) -> Option<Value> {
    let groups = ["apps", "batch", "resource.k8s.io"];
    match path {
        "/version" => {
            return Some(json!({
                "major": "1", "minor": "34", "gitVersion": "v1.34.0", "gitCommit": "0",
                "gitTreeState": "clean", "buildDate": "2026-01-01T00:00:00Z",
                "goVersion": "go1.24", "compiler": "gc", "platform": "linux/amd64",
            }));
        }
        "/api" => {
            return Some(json!({
                "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [],
            }));
        }
        "/apis" => {
            let groups = groups.map(|name| {
                let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
                json!({"name": name, "versions": [version], "preferredVersion": version})
            });
            return Some(json!({
                "kind": "APIGroupList", "apiVersion": "v1", "groups": groups,
            }));
        }
        _ => {}
    }
    let of_path: Vec<_> =
        SERVED.iter().filter(|(group, version, ..)| path == base_of(group, version)).collect();
    let (group, version, ..) = of_path.first()?;
    let resources: Vec<Value> = of_path
        .iter()
        .map(|(_, _, name, kind, is_namespaced)| {
            json!({
                "name": name, "singularName": kind.to_lowercase(), "kind": kind,
                "namespaced": is_namespaced, "verbs": ["get", "list"],
            })
        })
        .collect();
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": api_version(group, version), "resources": resources,
    }))
}

fn status(code: u16, reason: &str, message: &str) -> Reply {
    let document = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    reply(code, &document)
}

fn reply(code: u16, document: &Value) -> Reply {
    let mut reply = text(code, &document.to_string());
    let json = "application/json".parse().expect("a valid header");
    reply.headers_mut().insert(CONTENT_TYPE, json);
    reply
}

fn text(code: u16, body: &str) -> Reply {
    let body = Full::from(Bytes::copy_from_slice(body.as_bytes()));
    let mut reply = Response::new(body.boxed());
    *reply.status_mut() = code.try_into().expect("a valid status");
    reply
}

fn endless() -> Reply {
    const CHUNK: &[u8] = &[b' '; 1 << 16];
    let frames = futures_util::stream::repeat_with(|| Ok(Frame::data(Bytes::from_static(CHUNK))));
    Response::new(StreamBody::new(frames).boxed())
}
