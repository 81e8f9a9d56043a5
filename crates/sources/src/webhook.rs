//! Sends a document to a webhook: the only request of this program that asks nothing.
//!
//! The URL of a webhook is a password: whoever knows it can write there. It is in no message.

use super::again::{Failed, RetryPolicy, seconds_of, tried};
use super::error::chain;
use super::secrets::Secrets;
use super::tls::{connector, is_loopback};
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::TlsContext;
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::HttpError;
use aws_smithy_types::body::SdkBody;
use http::Uri;
use http_body_util::{BodyExt, Limited};
use std::time::Duration;
use thiserror::Error;

const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read: services say in a word what is wrong.
const MOST_WORDS: usize = 4 << 10;
const USER_AGENT: &str = concat!("gpucost/", env!("CARGO_PKG_VERSION"));

/// How long a message may take.
#[derive(Debug, Clone, Copy)]
pub struct WebhookOptions {
    /// For one try, from the connection to the last byte of the answer.
    pub timeout: Duration,
    /// Before the second try; each further pause is twice as long.
    pub first_pause: Duration,
}

impl Default for WebhookOptions {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), first_pause: Duration::from_secs(1) }
    }
}

/// Why a message did not arrive. Nothing of the URL but its host is in the words.
#[derive(Debug, Error)]
pub enum WebhookError {
    #[error("the URL of the webhook is invalid: {0}")]
    Invalid(&'static str),
    /// It may have arrived all the same, and is not sent again.
    #[error("{host} did not answer within {seconds} seconds")]
    Late { host: String, seconds: u64 },
    #[error("{host} cannot be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("{host} refused the message: HTTP {status}{said}")]
    Refused {
        host: String,
        status: u16,
        /// In words of the server, after a colon and a blank; empty where it has none.
        said: String,
    },
}

/// Where messages are sent to.
pub struct Webhook {
    url: String,
    host: String,
    connector: Connector,
    secrets: Secrets,
    options: WebhookOptions,
}

impl Webhook {
    /// A webhook by its URL. Nothing is sent yet.
    ///
    /// # Errors
    /// When the URL is none, or others could read on the way what is sent there.
    pub fn new(url: &str, options: WebhookOptions) -> Result<Self, WebhookError> {
        let url = url.trim();
        let invalid = WebhookError::Invalid;
        let uri: Uri = url.parse().map_err(|_| invalid("it cannot be read"))?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(invalid("it does not begin with https://"));
        };
        if authority.as_str().contains('@') {
            return Err(invalid("it has a user name or a password"));
        }
        let host = authority.host().to_owned();
        let is_loopback = is_loopback(&host);
        match scheme {
            "https" => {}
            "http" if is_loopback => {}
            "http" => return Err(invalid("http:// can be read on the way: use https://")),
            _ => return Err(invalid("it does not begin with https://")),
        }
        let mut secrets = Secrets::default();
        secrets.add(url);
        let rest = uri.path_and_query().map_or("", |rest| rest.as_str());
        secrets.add(rest.trim_matches('/'));
        for part in rest.split(['/', '?', '&', '=']) {
            secrets.add(part);
        }
        let proxy = if is_loopback { ProxyConfig::disabled() } else { ProxyConfig::from_env() };
        let connector = connector(CONNECT_WITHIN, proxy, TlsContext::default());
        let webhook = Self { url: url.to_owned(), host, connector, secrets, options };
        // Whatever else a URL cannot be.
        webhook.request("").map_err(|_| invalid("it cannot be read"))?;
        Ok(webhook)
    }

    /// The host, which may be shown.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Posts a JSON document, again where that can help; how many tries it took. A server that
    /// fails after it has taken a message may get it twice.
    ///
    /// # Errors
    /// When no try succeeded.
    pub async fn post(&self, json: &str) -> Result<u32, WebhookError> {
        let attempt = async || self.tried(json).await;
        tried(self.options.first_pause, attempt).await.map(|((), tries)| tries)
    }

    async fn tried(&self, json: &str) -> Result<(), Failed<WebhookError>> {
        tokio::time::timeout(self.options.timeout, self.exchange(json)).await.unwrap_or_else(|_| {
            let error = WebhookError::Late {
                host: self.host.clone(),
                seconds: self.options.timeout.as_secs(),
            };
            Err(Failed { error, again: RetryPolicy::Never })
        })
    }

    async fn exchange(&self, json: &str) -> Result<(), Failed<WebhookError>> {
        let request = self.request(json).map_err(|_| Failed {
            error: WebhookError::Invalid("it cannot be read"),
            again: RetryPolicy::Never,
        })?;
        let response = self.connector.call(request).await.map_err(|error| Failed {
            error: WebhookError::Unreachable {
                host: self.host.clone(),
                why: self.secrets.blank(&chain(&error)),
            },
            again: RetryPolicy::Soon,
        })?;
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Ok(());
        }
        let wait = response.headers().get("retry-after").and_then(seconds_of);
        let body = Limited::new(response.into_body(), MOST_WORDS);
        // What cannot be read says nothing.
        let words = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let words = self.secrets.blank(&String::from_utf8_lossy(&words));
        let said = match (status, words.trim()) {
            (300..400, _) => ": it redirects, which is not followed".to_owned(),
            (_, "") => String::new(),
            (_, words) => format!(": {words}"),
        };
        Err(Failed {
            error: WebhookError::Refused { host: self.host.clone(), status, said },
            again: match status {
                429 => RetryPolicy::Later(wait),
                500.. => RetryPolicy::Soon,
                _ => RetryPolicy::Never,
            },
        })
    }

    fn request(&self, json: &str) -> Result<HttpRequest, HttpError> {
        let mut request = HttpRequest::new(SdkBody::from(json));
        request.set_method("POST")?;
        request.set_uri(self.url.as_str())?;
        let headers = request.headers_mut();
        headers.try_insert("user-agent", USER_AGENT)?;
        headers.try_insert("content-type", "application/json")?;
        Ok(request)
    }
}
