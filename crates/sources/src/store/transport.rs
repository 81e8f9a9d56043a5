//! Requests of the S3 client over the HTTP and TLS of every other client, with an end to each
//! answer and without credentials in what a refusal says; and the credentials that they are signed
//! with: those of the usual places of AWS, or of a profile.

use crate::aws::{Access, Credentials};
use crate::secrets::Secrets;
use async_trait::async_trait;
use aws_smithy_runtime_api::client::http::{HttpConnector as _, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest as SdkRequest;
use aws_smithy_types::body::SdkBody;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Limited};
use object_store::aws::AwsCredential;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::{ClientOptions, CredentialProvider};
use roxmltree::Document;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Bytes of an answer that is held whole: a page of a listing with the longest names has half.
const MOST_BYTES: usize = 16 << 20;
/// One attempt of a request without a body, up to the head of its answer.
const ATTEMPT_WITHIN: Duration = Duration::from_secs(30);
/// What a body adds to that: a second for each of so many bytes.
pub(super) const BYTES_A_SECOND: usize = 256 << 10;
/// Credentials that end sooner are read anew.
const LEAST_LEFT: Duration = Duration::from_secs(300);

/// What requests were signed with so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Signed(Arc<Mutex<Secrets>>);

impl Signed {
    pub(super) fn held(&self) -> MutexGuard<'_, Secrets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection to S3.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    connector: SharedHttpConnector,
    signed: Signed,
}

impl Transport {
    pub(super) fn new(connector: SharedHttpConnector, signed: Signed) -> Self {
        Self { connector, signed }
    }

    async fn sent(&self, request: HttpRequest) -> Result<Response<SdkBody>, HttpError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let seconds = u64::try_from(body.len() / BYTES_A_SECOND).unwrap_or(u64::MAX);
        let within = ATTEMPT_WITHIN.saturating_add(Duration::from_secs(seconds));
        let request = Request::from_parts(parts, SdkBody::from(body));
        let request = SdkRequest::try_from(request)
            .map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        // Every request may be sent again: an object is the same however often it is created.
        let answer = tokio::time::timeout(within, self.connector.call(request))
            .await
            .map_err(|late| HttpError::new(HttpErrorKind::Request, late))?
            .map_err(|error| HttpError::new(HttpErrorKind::Request, error))?;
        answer.try_into_http1x().map_err(|error| HttpError::new(HttpErrorKind::Decode, error))
    }

    /// What a refusal says, in one line without credentials.
    fn refusal(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        let words = Document::parse(&text).ok().and_then(|document| {
            let word = |name: &str| {
                let mut nodes = document.descendants();
                let node = nodes.find(|node| node.tag_name().name() == name);
                node.and_then(|node| node.text().map(str::to_owned))
            };
            let (code, message) = (word("Code")?, word("Message").unwrap_or_default());
            Some(format!("{code}: {message}"))
        });
        self.signed.held().blank(&words.unwrap_or_default())
    }
}

#[async_trait]
impl HttpService for Transport {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        // A listing has a query; an object is read part by part by who asked for it, and no
        // further than it should be.
        let is_object = request.method() == Method::GET && request.uri().query().is_none();
        let (parts, body) = self.sent(request).await?.into_parts();
        let interrupted = |error| HttpError::new_boxed(HttpErrorKind::Interrupted, error);
        if is_object && parts.status.is_success() {
            let body = HttpResponseBody::new(body.map_err(interrupted));
            return Ok(Response::from_parts(parts, body));
        }
        let body = Limited::new(body, MOST_BYTES).collect();
        let body = tokio::time::timeout(ATTEMPT_WITHIN, body)
            .await
            .map_err(|late| HttpError::new(HttpErrorKind::Request, late))?
            .map_err(interrupted)?
            .to_bytes();
        let body = if parts.status.is_success() {
            HttpResponseBody::from(body)
        } else {
            HttpResponseBody::from(self.refusal(&body))
        };
        Ok(Response::from_parts(parts, body))
    }
}

impl HttpConnector for Transport {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

/// Credentials, which are read again when they end.
pub(super) struct Keys {
    access: Access,
    signed: Signed,
    held: Mutex<Option<Credentials>>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}

impl Keys {
    pub(super) fn new(access: Access, signed: Signed) -> Self {
        Self { access, signed, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Option<Credentials>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether credentials are still good for a while.
fn lasts(credentials: &Credentials, now: SystemTime) -> bool {
    let end = credentials.expiry();
    end.is_none_or(|end| end.duration_since(now).is_ok_and(|left| left > LEAST_LEFT))
}

#[async_trait]
impl CredentialProvider for Keys {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let held = self.held().clone();
        let credentials = match held.filter(|held| lasts(held, SystemTime::now())) {
            Some(credentials) => credentials,
            None => {
                let read = self.access.credentials().await;
                let read = read.map_err(|error| object_store::Error::Generic {
                    store: "S3",
                    source: Box::new(error),
                })?;
                *self.held() = Some(read.clone());
                read
            }
        };
        let token = credentials.session_token();
        let mut secrets = self.signed.held();
        secrets.add(credentials.secret_access_key());
        secrets.add(token.unwrap_or_default());
        Ok(Arc::new(AwsCredential {
            key_id: credentials.access_key_id().to_owned(),
            secret_key: credentials.secret_access_key().to_owned(),
            token: token.map(str::to_owned),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::aws_connector;

    #[test]
    fn a_refusal_says_its_code_and_its_words_and_no_secret() {
        let signed = Signed::default();
        signed.held().add("a-session-token-of-tests");
        let connector = SharedHttpConnector::new(aws_connector(Duration::from_secs(1)));
        let transport = Transport::new(connector, signed);
        let of = |body: &str| transport.refusal(body.as_bytes());
        let xml = |message: &str| {
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code>\
                 <Message>{message}</Message><AWSAccessKeyId>AKIAIOSFODNN7EXAMPLE\
                 </AWSAccessKeyId></Error>"
            )
        };
        assert_eq!(of(&xml("Access Denied")), "AccessDenied: Access Denied");
        assert_eq!(
            of(&xml("refused a-session-token-of-tests")),
            "AccessDenied: refused (not shown)"
        );
        assert_eq!(of(&xml("bad X-Amz-Security-Token: abc")), "AccessDenied: bad (not shown)");
        assert_eq!(of("<html>"), "");
    }

    #[test]
    fn credentials_are_read_anew_before_they_end() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let of = |end: Option<SystemTime>| Credentials::new("a", "b", None, end, "tests");
        assert!(lasts(&of(None), now));
        for (seconds, expected) in [(3_600, true), (301, true), (300, false), (0, false)] {
            let end = now + Duration::from_secs(seconds);
            assert_eq!(lasts(&of(Some(end)), now), expected, "{seconds}");
        }
        assert!(!lasts(&of(Some(now - Duration::from_secs(1))), now));
    }
}
