//! Calls that wait while a service throttles: for as long as the deadline allows,
//! and not in silence.

use super::error::Failed;
use super::session::{Patience, Session};
use crate::domain::FailureKind;
use crate::sources::Outcome;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use std::error::Error;
use std::time::{Duration, Instant};

/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

impl Patience {
    /// How long throttling is still waited out.
    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

impl Session {
    /// Pauses before the next attempt of a call that failed, no longer than throttling is
    /// waited out. Answers whether there is to be one: a service that throttles is not asked
    /// again after the deadline, while a fault may pass at any time.
    pub(super) async fn paused(&self, pause: Duration, failed: FailureKind) -> bool {
        if failed != FailureKind::Throttled {
            tokio::time::sleep(pause).await;
            return true;
        }
        let left = self.patience.left();
        tokio::time::sleep(pause.min(left)).await;
        !left.is_zero()
    }

    /// Sends a request of an action; where the service throttles it, again and again
    /// until the deadline, and once more where the credentials had expired and can be
    /// renewed.
    ///
    /// # Errors
    /// When it fails in another way, or the deadline has passed.
    pub(super) async fn patient<T, E, F>(
        &self,
        action: &'static str,
        send: impl Fn() -> F,
    ) -> Outcome<T>
    where
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + Error + 'static,
    {
        self.attempted(action, send).await.map_err(|failed| failed.error)
    }

    /// The same, with the answer where it could not be read.
    pub(super) async fn attempted<T, E, F>(
        &self,
        action: &'static str,
        send: impl Fn() -> F,
    ) -> Result<T, Failed>
    where
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + Error + 'static,
    {
        self.persistent(action, move || {
            let sent = send();
            async move { sent.await.map_err(|error| Failed::of(action, &error, &self.secrets())) }
        })
        .await
    }

    /// The same of any call that says how it failed.
    pub(super) async fn persistent<T, F>(
        &self,
        action: &'static str,
        call: impl Fn() -> F,
    ) -> Result<T, Failed>
    where
        F: Future<Output = Result<T, Failed>>,
    {
        let mut pause = FIRST_PAUSE;
        let mut is_renewed = false;
        loop {
            let failed = match call().await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            if failed.error.kind == FailureKind::ExpiredCredentials && !is_renewed && self.renew() {
                is_renewed = true;
                self.meter.is_again(action);
                continue;
            }
            let left = self.patience.left();
            if failed.error.kind != FailureKind::Throttled || left.is_zero() {
                return Err(failed);
            }
            let text = format!("{action} is throttled; waiting for up to {} s", left.as_secs());
            tracing::debug!("{text}");
            self.patience.notice.set(Some(text));
            tokio::time::sleep(pause.min(left)).await;
            self.patience.notice.set(None);
            self.meter.is_again(action);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
