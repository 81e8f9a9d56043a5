//! Calls of services that have no SDK crate here: a JSON document or a form in a signed
//! POST, in the protocols that AWS calls `awsJson1_0`, `awsJson1_1`, `awsQuery` and
//! `restJson1`. Retries, time limits and the bound of an answer are those of the other clients.

use super::access::dns_suffix;
use super::answers::{Paging, listed, xml_refusal};
use super::error::{Failed, NOT_IN_POLICY, TIMED_OUT, UNREADABLE, kind_of_code};
use super::policy::known_action;
use super::session::{RegionClients, Session};
use crate::again::{self, RetryPolicy, seconds_of, tried_while};
use crate::credentials::{Header, Post, Unsigned};
use crate::domain::FailureKind;
use crate::error::chain;
use crate::secrets::Secrets;
use crate::{Outcome, SourceError};
use aws_sdk_ec2::config::Credentials;
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use http_body_util::{BodyExt, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;
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
    /// The headers that a service reads a request by: one names the operation, where neither body
    /// nor path does.
    fn headers(self, operation: &str) -> Vec<Header> {
        let (content_type, target) = match self {
            Self::Json(prefix) => ("application/x-amz-json-1.1", Some(prefix)),
            Self::Json10(prefix) => ("application/x-amz-json-1.0", Some(prefix)),
            Self::Query(_) => ("application/x-www-form-urlencoded; charset=utf-8", None),
            Self::Rest(_) => ("application/json", None),
        };
        let target = target.map(|prefix| ("x-amz-target", format!("{prefix}.{operation}")));
        [("content-type", content_type.to_owned())].into_iter().chain(target).collect()
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

/// What one call sends each time.
struct Call<'a> {
    service: &'a Service,
    action: &'static str,
    region: &'a str,
    url: String,
    headers: Vec<Header>,
    body: String,
}

impl Call<'_> {
    /// The headers that sign it.
    fn signature(
        &self,
        credentials: &Credentials,
        at: SystemTime,
    ) -> Result<Vec<Header>, Unsigned> {
        let Self { service, region, url, body, .. } = self;
        let headers = self.headers.iter().map(|(name, value)| (*name, value.as_str()));
        let headers: Vec<(&str, &str)> = headers.collect();
        let post = Post { service: service.signing_name, region, url, headers: &headers, body };
        post.signature(credentials, at)
    }

    /// A request that is signed at a time.
    fn request(&self, credentials: &Credentials, at: SystemTime) -> Result<HttpRequest, Unsigned> {
        let mut request = HttpRequest::new(SdkBody::from(self.body.as_str()));
        request.set_method("POST")?;
        request.set_uri(self.url.as_str())?;
        let signature = self.signature(credentials, at)?;
        for (name, value) in self.headers.iter().cloned().chain(signature) {
            request.headers_mut().try_insert(name, value)?;
        }
        Ok(request)
    }
}

/// An attempt without an answer, and whether there is to be another.
type Missed = again::Failed<SourceError>;

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

    /// Asks a service in the region for everything in a list, which its pages have under a key.
    ///
    /// # Errors
    /// When a page cannot be asked for or read, or there is more than can be.
    pub(super) async fn ask_list<T: DeserializeOwned>(
        &self,
        service: &Service,
        operation: &str,
        key: &str,
        body: Value,
    ) -> Outcome<Vec<T>> {
        let ask = async |body: Value| self.ask::<Value>(service, operation, &body).await;
        listed((service.action(operation)?, key), &service.paging, body, ask).await
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
        let headers = service.protocol.headers(operation);
        let call = Call { service, action, region, url, headers, body };
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
        let attempt = async || self.once(call).await;
        let wait =
            async |pause: Duration, error: &SourceError| self.paused(pause, error.kind).await;
        let answer = tried_while(FIRST_PAUSE, attempt, wait).await;
        answer.map(|(body, _)| body).map_err(|error| Failed { error, unread: None })
    }

    async fn once(&self, call: &Call<'_>) -> Result<Vec<u8>, Missed> {
        self.meter.attempted();
        let never = |error| Missed { error, again: RetryPolicy::Never };
        let credentials = self.credentials().await.map_err(never)?;
        self.meter.keep_secret(credentials.session_token().unwrap_or_default());
        let failure = |kind, code: &str, why: &str| {
            SourceError::own(call.action, kind, code, self.meter.secrets().blank(why))
        };
        let request = call.request(&credentials, SystemTime::now()).map_err(|error| {
            never(failure(FailureKind::InvalidSettings, "", &error.to_string()))
        })?;
        // Whatever may pass is tried as often as the SDK's standard mode tries here.
        let broken = |code: &str, why: &str| Missed {
            error: failure(FailureKind::Unreachable, code, why),
            again: RetryPolicy::Later(None),
        };
        let connector = self.connector();
        let exchange = async {
            let answer = connector.call(request).await;
            let response = answer.map_err(|error| broken("", &chain(&error)))?;
            let status = response.status();
            let headers = response.headers();
            let error_type = headers.get("x-amzn-errortype").map(str::to_owned);
            let wait = headers.get("retry-after").and_then(seconds_of);
            let body = Limited::new(response.into_body(), MOST_BYTES_OF_AN_ANSWER);
            let body = body.collect().await.map_err(|error| broken("", &chain(&*error)))?;
            Ok::<_, Missed>((status, error_type, wait, body.to_bytes().to_vec()))
        };
        let (status, error_type, wait, body) = tokio::time::timeout(ATTEMPT_WITHIN, exchange)
            .await
            .unwrap_or_else(|_| Err(broken(TIMED_OUT, "")))?;
        if status.is_success() {
            return Ok(body);
        }
        let error = refusal(call.action, status, error_type, body, &self.meter.secrets());
        let may_pass = status.as_u16() >= 500 || error.kind == FailureKind::Throttled;
        let again = if may_pass { RetryPolicy::Later(wait) } else { RetryPolicy::Never };
        Err(Missed { error, again })
    }
}

/// What a service says of a call that it does not carry out.
fn refusal(
    action: &'static str,
    status: StatusCode,
    error_type: Option<String>,
    body: Vec<u8>,
    secrets: &Secrets,
) -> SourceError {
    let said: Option<Value> = serde_json::from_slice(&body).ok();
    let text = |key: &str| Some(said.as_ref()?.get(key)?.as_str()?.to_owned());
    let named = error_type.or_else(|| text("__type")).map(|code| {
        let words = text("message").or_else(|| text("Message"));
        (code_of(&code).to_owned(), words)
    });
    if let Some((code, words)) = named.or_else(|| xml_refusal(&body)) {
        let words = secrets.blank(words.as_deref().unwrap_or("no message"));
        return SourceError::own(action, kind_of_code(&code), &secrets.blank(&code), words);
    }
    let kind = match status.as_u16() {
        429 => FailureKind::Throttled,
        500.. => FailureKind::Other,
        _ => FailureKind::Unsupported,
    };
    Failed::unread(action, kind, &HttpResponse::new(status, SdkBody::from(body)), secrets).error
}

/// The code of an error without what services write around it: a namespace before it, and
/// an address behind it.
fn code_of(text: &str) -> &str {
    let name = text.rsplit_once('#').map_or(text, |(_, name)| name);
    name.split_once(':').map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::organization::ORGANIZATIONS as SERVICE;
    use crate::aws::scaling::AUTO_SCALING;

    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    const ACTION: &str = "organizations:ListAccounts";

    /// 2026-11-15T08:30:00Z
    fn at() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_731_400)
    }

    fn signed(token: Option<&str>, region: &str, url: &str, body: &str) -> Vec<Header> {
        let token = token.map(str::to_owned);
        let credentials = Credentials::new("AKIDEXAMPLE", SECRET, token, None, "tests");
        let call = Call {
            service: &SERVICE,
            action: ACTION,
            region,
            url: url.to_owned(),
            headers: SERVICE.protocol.headers("ListAccounts"),
            body: body.to_owned(),
        };
        let mut headers = call.signature(&credentials, at()).expect("it can be signed");
        headers.sort();
        headers
    }

    // The signatures of `botocore.auth.SigV4Auth` (botocore 1.44.5) with its clock set to that
    // time, on `AWSRequest("POST", URL, data=BODY, headers={"Content-Type": …,
    // "X-Amz-Target": …})`.
    #[test]
    fn a_call_has_the_signature_that_botocore_gives_it() {
        let expected = "AWS4-HMAC-SHA256 \
                        Credential=AKIDEXAMPLE/20261115/us-east-1/organizations/aws4_request, \
                        SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
                        Signature=\
                        bad1b55a11f1956ad555dc9f03b9b7c3010553f6dc358af3ec9d6acf39f90e7e";
        let expected =
            [("authorization", expected.to_owned()), ("x-amz-date", "20261115T083000Z".to_owned())];
        let url = "https://organizations.us-east-1.amazonaws.com/";
        let headers = signed(None, "us-east-1", url, r#"{"MaxResults":20}"#);
        assert_eq!(headers, expected);
    }

    #[test]
    fn a_session_token_is_sent_and_signed() {
        let expected = "AWS4-HMAC-SHA256 \
                        Credential=AKIDEXAMPLE/20261115/cn-northwest-1/organizations/aws4_request, \
                        SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, \
                        Signature=\
                        fffc10fc60c1a40ab26221330620daac58edf2143a9fada545d68cd819e54cba";
        let expected = [
            ("authorization", expected.to_owned()),
            ("x-amz-date", "20261115T083000Z".to_owned()),
            ("x-amz-security-token", "a-session-token".to_owned()),
        ];
        let url = "https://organizations.cn-northwest-1.amazonaws.com.cn/";
        let body = r#"{"MaxResults":20,"NextToken":"t"}"#;
        let headers = signed(Some("a-session-token"), "cn-northwest-1", url, body);
        assert_eq!(headers, expected);
    }

    #[test]
    fn a_form_is_signed_without_a_target() {
        let name = ("AutoScalingGroupNames.member.1".to_owned(), "a b".to_owned());
        let call = Call {
            service: &AUTO_SCALING,
            action: ACTION,
            region: "us-east-1",
            url: "https://autoscaling.us-east-1.amazonaws.com/".to_owned(),
            headers: AUTO_SCALING.protocol.headers("DescribeAutoScalingGroups"),
            body: AUTO_SCALING.protocol.form("DescribeAutoScalingGroups", &[name]),
        };
        let form = "Action=DescribeAutoScalingGroups&Version=2011-01-01\
                    &AutoScalingGroupNames.member.1=a+b";
        assert_eq!(call.body, form);
        let credentials = Credentials::new("AKIDEXAMPLE", SECRET, None, None, "tests");
        let mut headers = call.signature(&credentials, at()).expect("it can be signed");
        headers.sort();
        let expected = "AWS4-HMAC-SHA256 \
                        Credential=AKIDEXAMPLE/20261115/us-east-1/autoscaling/aws4_request, \
                        SignedHeaders=content-type;host;x-amz-date, \
                        Signature=\
                        63c4e0315dbf56f8d4ec03787d3e1f648129cfb62c04777c03b48d622ac1bc29";
        let expected =
            [("authorization", expected.to_owned()), ("x-amz-date", "20261115T083000Z".to_owned())];
        assert_eq!(headers, expected);
    }

    /// What a refusal amounts to: its kind, its code and its words.
    fn refused(status: u16, error_type: Option<&str>, body: &str) -> (FailureKind, String, String) {
        let status = StatusCode::try_from(status).expect("a status");
        let error_type = error_type.map(str::to_owned);
        let error =
            refusal(ACTION, status, error_type, body.as_bytes().to_vec(), &Secrets::default());
        assert_eq!(error.action, Some(ACTION));
        (error.kind, error.code, error.said)
    }

    #[test]
    fn refusals_are_sorted_by_their_code_wherever_it_stands() {
        let denied =
            r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no"}"#;
        let expected = (FailureKind::Denied, "AccessDeniedException".to_owned(), "no".to_owned());
        assert_eq!(refused(400, None, denied), expected);
        let header = Some("AccessDeniedException:http://internal.amazon.com/coral/");
        assert_eq!(refused(403, header, r#"{"message":"no"}"#), expected);
        let (kind, code, said) = refused(400, Some("TooManyRequestsException"), "");
        assert_eq!(kind, FailureKind::Throttled);
        assert_eq!((code.as_str(), said.as_str()), ("TooManyRequestsException", "no message"));
        let denied = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error>\
                      </ErrorResponse>";
        let expected = (FailureKind::Denied, "AccessDenied".to_owned(), "no".to_owned());
        assert_eq!(refused(403, None, denied), expected);
        let expired = r#"{"__type":"ExpiredTokenException"}"#;
        assert_eq!(refused(400, None, expired).0, FailureKind::ExpiredCredentials);
    }

    #[test]
    fn a_page_in_between_shows_how_it_begins() {
        let (kind, code, said) = refused(404, None, "<html>\n <p>down</p>");
        assert_eq!((kind, code.as_str()), (FailureKind::Unsupported, UNREADABLE));
        assert_eq!(said, "status 404, begins with `<html> <p>down</p>`");
        assert_eq!(refused(429, None, "").0, FailureKind::Throttled);
        assert_eq!(refused(503, None, "").0, FailureKind::Other);
    }
}
