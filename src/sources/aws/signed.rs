//! Calls of services that have no SDK crate here: a JSON document or a form in a signed
//! POST, in the protocols that AWS calls `awsJson1_0`, `awsJson1_1`, `awsQuery` and
//! `restJson1`. Retries, time limits and the bound of an answer are those of the other clients.

use super::error::{Failed, NOT_IN_POLICY, TIMED_OUT, UNREADABLE, kind_of_code};
use super::pages::{Paging, Part, listed};
use super::partition::dns_suffix;
use super::policy::known_action;
use super::query;
use super::session::{RegionClients, Session};
use crate::domain::FailureKind;
use crate::sources::again::{RetryPolicy, seconds_of};
use crate::sources::error::chain;
use crate::sources::secrets::Secrets;
use crate::sources::sigv4::{Header, Post};
use crate::sources::{Outcome, SourceError};
use aws_sdk_ec2::config::Credentials;
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use http_body_util::{BodyExt, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::error::Error;
use std::time::{Duration, SystemTime};

/// The first pause between the tries of one call; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// One attempt, to the last byte of its answer.
const ATTEMPT_WITHIN: Duration = Duration::from_secs(20);
/// The largest page of these services has a thousandth of it.
const MOST_BYTES_OF_AN_ANSWER: usize = 64 << 20;

/// How a service reads requests and writes answers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Protocol {
    /// JSON 1.1, with where the target header begins, such as `AWSOrganizationsV20161128`.
    Json(&'static str),
    /// The same in JSON 1.0.
    Json10(&'static str),
    /// A form that is answered in XML, with the version of the interface.
    Query(&'static str),
    /// JSON at a path that names the operation, with how paths begin, such as `v1/`.
    Rest(&'static str),
}

impl Protocol {
    fn content_type(self) -> &'static str {
        match self {
            Self::Json(_) => "application/x-amz-json-1.1",
            Self::Json10(_) => "application/x-amz-json-1.0",
            Self::Query(_) => "application/x-www-form-urlencoded; charset=utf-8",
            Self::Rest(_) => "application/json",
        }
    }

    /// The header that names the operation, where the body does not.
    fn target(self, operation: &str) -> Option<String> {
        match self {
            Self::Json(prefix) | Self::Json10(prefix) => Some(format!("{prefix}.{operation}")),
            Self::Query(_) | Self::Rest(_) => None,
        }
    }

    /// The path of the operation behind the host, where it has one.
    fn path(self, operation: &str) -> String {
        match self {
            Self::Rest(prefix) => format!("{prefix}{}", operation.to_ascii_lowercase()),
            Self::Json(_) | Self::Json10(_) | Self::Query(_) => String::new(),
        }
    }

    /// The body that names the operation and its fields.
    fn form(self, operation: &str, fields: &[(String, String)]) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("Action", operation);
        if let Self::Query(version) = self {
            form.append_pair("Version", version);
        }
        for (name, value) in fields {
            form.append_pair(name, value);
        }
        form.finish()
    }
}

/// A service by what its requests carry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Service {
    pub signing_name: &'static str,
    /// The first part of its host, such as `organizations`.
    pub host_prefix: &'static str,
    pub protocol: Protocol,
    /// The prefix of its actions in policies, under which its calls are counted.
    pub id: &'static str,
    pub paging: Paging,
}

impl Service {
    /// The action of an operation.
    ///
    /// # Errors
    /// When none of the policies allows it.
    fn action(&self, operation: &str) -> Outcome<&'static str> {
        known_action(self.id, operation).ok_or_else(|| SourceError {
            action: None,
            kind: FailureKind::Unsupported,
            code: NOT_IN_POLICY.to_owned(),
            said: format!("{}:{operation}", self.id),
            cause: None,
        })
    }
}

/// Parts of answers of services, by how these write the names of fields.
macro_rules! answers {
    ($case:literal: $($item:item)*) => {$(
        #[derive(Debug, Clone, PartialEq, Deserialize)]
        #[serde(rename_all = $case)]
        $item
    )*};
}
pub(super) use answers;

/// What one call sends each time.
struct Call<'a> {
    service: &'a Service,
    action: &'static str,
    region: &'a str,
    url: String,
    target: Option<String>,
    body: String,
}

impl Call<'_> {
    /// The headers that a service reads a request by.
    fn headers(&self) -> Vec<Header> {
        let content_type = self.service.protocol.content_type().to_owned();
        let target = self.target.iter().cloned();
        let target = target.map(|target| ("x-amz-target", target));
        std::iter::once(("content-type", content_type)).chain(target).collect()
    }
}

/// An attempt without an answer, and whether there is to be another.
type Missed = (Box<Failed>, RetryPolicy);

impl RegionClients {
    /// Asks a service in the region with a JSON document. Only an action of the policies is
    /// sent.
    ///
    /// # Errors
    /// When the service refuses or does not answer, or the answer cannot be read.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        service: &Service,
        operation: &str,
        body: &Value,
    ) -> Outcome<T> {
        let (action, answer) = self.answer(service, operation, body.to_string()).await?;
        serde_json::from_slice(&answer)
            .map_err(|error| self.session.unreadable(action, &error.to_string()))
    }

    /// Asks a service in the region for everything in a list. `read` takes a page apart.
    ///
    /// # Errors
    /// When a page cannot be asked for or read, or there is more than can be.
    pub(super) async fn ask_list<P: DeserializeOwned, T>(
        &self,
        service: &Service,
        operation: &str,
        body: Value,
        read: impl Fn(&'static str, P) -> Outcome<Part<T>>,
    ) -> Outcome<Vec<T>> {
        let ask = async |body: Value| self.ask::<P>(service, operation, &body).await;
        listed(service.action(operation)?, &service.paging, body, ask, read).await
    }

    /// Asks a service in the region with the fields of a form, and answers its XML. Only an
    /// action of the policies is sent.
    ///
    /// # Errors
    /// When the service refuses or does not answer, or the answer is not text.
    pub(super) async fn ask_form(
        &self,
        service: &Service,
        operation: &str,
        fields: &[(String, String)],
    ) -> Outcome<String> {
        let body = service.protocol.form(operation, fields);
        let (action, answer) = self.answer(service, operation, body).await?;
        String::from_utf8(answer)
            .map_err(|error| self.session.unreadable(action, &error.to_string()))
    }

    /// The action of an operation, and what the service answers to it.
    async fn answer(
        &self,
        service: &Service,
        operation: &str,
        body: String,
    ) -> Outcome<(&'static str, Vec<u8>)> {
        let Self { session, region, .. } = self;
        let action = service.action(operation)?;
        let url = session.url_of(service, region, operation);
        let target = service.protocol.target(operation);
        let call = Call { service, action, region, url, target, body };
        let answer = session.persistent(action, || session.tried(&call)).await;
        Ok((action, answer.map_err(|failed| failed.error)?))
    }
}

impl Session {
    /// An answer that is not what the service documents.
    pub(super) fn unreadable(&self, action: &'static str, why: &str) -> SourceError {
        SourceError::own(
            action,
            FailureKind::Unsupported,
            UNREADABLE,
            self.meter.secrets().blank(why),
        )
    }

    /// The endpoint that the configuration names, else that of AWS.
    fn url_of(&self, service: &Service, region: &str, operation: &str) -> String {
        let path = service.protocol.path(operation);
        match self.endpoint_url() {
            Some(url) => format!("{}/{path}", url.trim_end_matches('/')),
            None => {
                format!("https://{}.{region}.{}/{path}", service.host_prefix, dns_suffix(region))
            }
        }
    }

    /// One call with its attempts.
    async fn tried(&self, call: &Call<'_>) -> Result<Vec<u8>, Failed> {
        self.limiter.acquire(call.action, call.region).await;
        self.meter.called(call.action);
        let mut tries = 1;
        loop {
            let (failed, again) = match self.once(call).await {
                Ok(answer) => return Ok(answer),
                Err(missed) => missed,
            };
            match again.pause(tries, FIRST_PAUSE) {
                Some(pause) if self.paused(pause, failed.error.kind).await => tries += 1,
                _ => return Err(*failed),
            }
        }
    }

    async fn once(&self, call: &Call<'_>) -> Result<Vec<u8>, Missed> {
        self.meter.attempted();
        let missed = |error, again| -> Missed { (Box::new(Failed { error, unread: None }), again) };
        let credentials =
            self.credentials().await.map_err(|error| missed(error, RetryPolicy::Never))?;
        self.meter.keep_secret(credentials.session_token().unwrap_or_default());
        let failure = |kind, code: &str, why: &str, again| {
            missed(
                SourceError::own(call.action, kind, code, self.meter.secrets().blank(why)),
                again,
            )
        };
        // Whatever may pass is tried as often as the SDK's standard mode tries here.
        let passing = RetryPolicy::Later(None);
        let request = request(call, &credentials, SystemTime::now()).map_err(|error| {
            failure(FailureKind::InvalidSettings, "", &error.to_string(), RetryPolicy::Never)
        })?;
        let connector = self.connector();
        let broken = |why: &str| failure(FailureKind::Unreachable, "", why, passing);
        let exchange = async {
            let answer = connector.call(request).await;
            let response = answer.map_err(|error| broken(&chain(&error)))?;
            let status = response.status();
            let headers = response.headers();
            let error_type = headers.get("x-amzn-errortype").map(str::to_owned);
            let wait = headers.get("retry-after").and_then(seconds_of);
            let body = Limited::new(response.into_body(), MOST_BYTES_OF_AN_ANSWER);
            let body = body.collect().await.map_err(|error| broken(&chain(&*error)))?;
            Ok::<_, Missed>((status, error_type, wait, body.to_bytes().to_vec()))
        };
        let (status, error_type, wait, body) = tokio::time::timeout(ATTEMPT_WITHIN, exchange)
            .await
            .unwrap_or_else(|_| Err(failure(FailureKind::Unreachable, TIMED_OUT, "", passing)))?;
        if status.is_success() {
            return Ok(body);
        }
        let failed = refusal(call.action, status, error_type, body, &self.meter.secrets());
        let may_pass = status.as_u16() >= 500 || failed.error.kind == FailureKind::Throttled;
        let again = if may_pass { RetryPolicy::Later(wait) } else { RetryPolicy::Never };
        Err((Box::new(failed), again))
    }
}

/// What a service says of a call that it does not carry out.
fn refusal(
    action: &'static str,
    status: StatusCode,
    error_type: Option<String>,
    body: Vec<u8>,
    secrets: &Secrets,
) -> Failed {
    let said: Option<Value> = serde_json::from_slice(&body).ok();
    let text = |key: &str| Some(said.as_ref()?.get(key)?.as_str()?.to_owned());
    let named = error_type.or_else(|| text("__type")).map(|code| {
        let words = text("message").or_else(|| text("Message"));
        (code_of(&code).to_owned(), words)
    });
    if let Some((code, words)) = named.or_else(|| query::refusal(&body)) {
        let words = secrets.blank(words.as_deref().unwrap_or("no message"));
        return Failed {
            error: SourceError::own(action, kind_of_code(&code), &secrets.blank(&code), words),
            unread: None,
        };
    }
    let kind = match status.as_u16() {
        429 => FailureKind::Throttled,
        500.. => FailureKind::Other,
        _ => FailureKind::Unsupported,
    };
    Failed::unread(action, kind, &HttpResponse::new(status, SdkBody::from(body)), secrets)
}

/// The code of an error without what services write around it: a namespace before it, and
/// an address behind it.
fn code_of(text: &str) -> &str {
    let name = text.rsplit_once('#').map_or(text, |(_, name)| name);
    name.split_once(':').map_or(name, |(name, _)| name)
}

/// A request that is signed at a time.
fn request(
    call: &Call<'_>,
    credentials: &Credentials,
    at: SystemTime,
) -> Result<HttpRequest, Box<dyn Error + Send + Sync>> {
    let mut request = HttpRequest::new(SdkBody::from(call.body.as_str()));
    request.set_method("POST")?;
    request.set_uri(call.url.as_str())?;
    let headers = request.headers_mut();
    for (name, value) in call.headers().into_iter().chain(signature(call, credentials, at)?) {
        headers.try_insert(name, value)?;
    }
    Ok(request)
}

/// The headers that sign a call.
fn signature(
    call: &Call<'_>,
    credentials: &Credentials,
    at: SystemTime,
) -> Result<Vec<Header>, Box<dyn Error + Send + Sync>> {
    let owned = call.headers();
    let headers = owned.iter().map(|(name, value)| (*name, value.as_str()));
    let headers: Vec<(&str, &str)> = headers.collect();
    let post = Post {
        service: call.service.signing_name,
        region: call.region,
        url: &call.url,
        headers: &headers,
        body: &call.body,
    };
    post.signature(credentials, at)
}

#[cfg(test)]
#[path = "signed_tests.rs"]
mod tests;
