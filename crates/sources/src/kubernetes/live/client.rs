//! Calls of an API server: bounded in time and bytes, counted, and made again where that
//! can help.

use super::super::KubernetesOptions;
use super::super::rbac::CONNECT;
use super::config::Target;
use super::plugin;
use super::refusal::{Refusal, foreign, not_made};
use crate::again::{RetryPolicy, seconds_of, sleep, tried_while};
use crate::domain::ApiUsage;
use crate::secrets::Secrets;
use crate::{Outcome, SourceError, count_call};
use http::header::{ACCEPT, RETRY_AFTER, USER_AGENT};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use std::cell::{Cell, RefCell};
use std::time::Duration;
use tokio::time::Instant;

/// Bytes of a page: 500 pods of which each is as large as an object may be have more, and
/// are refused.
const MOST_BYTES: usize = 64 << 20;
/// Bytes of all answers with data together: 50,000 pods of 10 KiB have half of it. Less is
/// kept of them than is read.
const MOST_BYTES_OF_CLUSTER: usize = 1 << 30;
/// Bytes that are read of an answer without data: what went wrong fits into fewer.
const MOST_WORDS: usize = 64 << 10;
const AGENT: &str = concat!("gpucost/", env!("CARGO_PKG_VERSION"));

/// One API server, which is only read.
pub(super) struct ApiServer {
    client: kube::Client,
    secrets: Secrets,
    timeout: Duration,
    first_pause: Duration,
    until: Instant,
    usage: RefCell<ApiUsage>,
    /// Bytes of the answers so far.
    received: Cell<usize>,
}

impl ApiServer {
    /// A client with credentials. A plugin that gives them is run now.
    ///
    /// # Errors
    /// When there are no credentials, or they cannot be used.
    pub(super) async fn connect(target: Target, options: &KubernetesOptions) -> Outcome<Self> {
        let until = Instant::now() + options.deadline;
        let Target { mut config, secrets } = target;
        plugin::run(&mut config.auth_info, until).await?;
        // Files of the user are waited for by a thread, which must not be this one.
        let made = tokio::task::spawn_blocking(move || kube::Client::try_from(config));
        let client = match tokio::time::timeout_at(until, made).await {
            Ok(Ok(Ok(client))) => client,
            Ok(Ok(Err(error))) => return Err(not_made(&error)),
            Ok(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            Err(_) => return Err(Refusal::late(CONNECT).error),
        };
        Ok(Self {
            client,
            secrets,
            timeout: options.timeout,
            first_pause: options.first_pause,
            until,
            usage: RefCell::default(),
            received: Cell::default(),
        })
    }

    /// Calls and further tries so far.
    pub(super) fn usage(&self) -> ApiUsage {
        self.usage.borrow().clone()
    }

    /// The body of an answer, of a call that only reads.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, and no further try can help.
    pub(super) async fn get(
        &self,
        action: &'static str,
        path: &str,
        accept: &str,
    ) -> Outcome<Vec<u8>> {
        count_call(&mut self.usage.borrow_mut(), action);
        let attempt = async || {
            let within = self.timeout.min(self.left());
            let exchange = tokio::time::timeout(within, self.exchange(action, path, accept));
            exchange.await.unwrap_or_else(|_| Err(Refusal::late(action)))
        };
        let wait = async |pause: Duration, error: &SourceError| {
            let is_in_time = pause < self.left();
            if is_in_time {
                sleep(pause, error).await;
                self.usage.borrow_mut().retries += 1;
            }
            is_in_time
        };
        tried_while(self.first_pause, attempt, wait).await.map(|(body, _)| body)
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    async fn exchange(
        &self,
        action: &'static str,
        path: &str,
        accept: &str,
    ) -> Result<Vec<u8>, Refusal> {
        let request = http::Request::get(path)
            .header(ACCEPT, accept)
            .header(USER_AGENT, AGENT)
            .body(Body::empty())
            .map_err(|_| Refusal { error: foreign(action), again: RetryPolicy::Never })?;
        let response = self
            .client
            .send(request)
            .await
            .map_err(|error| Refusal::without_answer(action, &error, &self.secrets))?;
        let status = response.status();
        let wait = response.headers().get(RETRY_AFTER);
        let wait = wait.and_then(|value| seconds_of(value.to_str().ok()?));
        let received = self.received.get();
        let most = if status.is_success() { most_bytes(received) } else { MOST_WORDS };
        let body = Limited::new(response.into_body(), most).collect().await;
        if status.is_success() {
            let body =
                Vec::from(body.map_err(|error| Refusal::cut_off(action, &*error))?.to_bytes());
            self.received.set(received.saturating_add(body.len()));
            return Ok(body);
        }
        // What an answer that is too long or cut says is not needed.
        let words = body.map(|body| body.to_bytes()).unwrap_or_default();
        Err(Refusal::of(action, status.as_u16(), wait, &words))
    }
}

/// Bytes that the next answer may have, after so many of those before.
fn most_bytes(received: usize) -> usize {
    MOST_BYTES_OF_CLUSTER.saturating_sub(received).min(MOST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_bounded_one_by_one_and_together() {
        // 64 MiB of a page, 1,024 MiB of a cluster.
        assert_eq!(most_bytes(0), 67_108_864);
        assert_eq!(most_bytes(1_006_632_960), 67_108_864);
        assert_eq!(most_bytes(1_006_632_961), 67_108_863);
        assert_eq!(most_bytes(1_073_741_824), 0);
        assert_eq!(most_bytes(usize::MAX), 0);
    }
}
