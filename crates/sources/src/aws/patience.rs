//! Calls that wait while a service throttles: for as long as the deadline allows,
//! and not in silence.

use super::answers::{Part, all_pages};
use super::error::{Refusal, sdk_error};
use super::session::{Patience, RegionClients, Session};
use crate::Outcome;
use crate::domain::FailureKind;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use std::time::{Duration, Instant};

/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// What the SDK makes of a call.
pub(super) type Sent<T, E> = Result<T, SdkError<E, HttpResponse>>;

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

    /// Makes a call of an action that says how it failed; where the service throttles it, again
    /// and again until the deadline, and once more where the credentials had expired and can be
    /// renewed.
    pub(super) async fn persistent<T, F: Future<Output = Outcome<T>>>(
        &self,
        action: &'static str,
        call: impl Fn() -> F,
    ) -> Outcome<T> {
        let mut pause = FIRST_PAUSE;
        let mut is_renewed = false;
        loop {
            let error = match call().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if error.kind == FailureKind::ExpiredCredentials && !is_renewed && self.renew() {
                is_renewed = true;
                self.meter.is_again(action);
                continue;
            }
            let left = self.patience.left();
            if error.kind != FailureKind::Throttled || left.is_zero() {
                return Err(error);
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

impl RegionClients {
    /// Sends a request of an action when its turn in the region has come, as
    /// [`Session::persistent`] does.
    ///
    /// # Errors
    /// When it fails in another way, or the deadline has passed.
    pub(super) async fn patient<T, E: Refusal, F: Future<Output = Sent<T, E>>>(
        &self,
        action: &'static str,
        send: impl Fn() -> F,
    ) -> Outcome<T> {
        let Session { limiter, meter, .. } = &self.session;
        limiter.acquire(action, &self.region).await;
        let call = || {
            let sent = send();
            async move { sent.await.map_err(|error| sdk_error(action, &error, &meter.secrets())) }
        };
        self.session.persistent(action, call).await
    }

    /// Everything on the pages of a request that takes the token of a page. `read` takes a page
    /// apart.
    ///
    /// # Errors
    /// When a page fails, or they do not end.
    pub(super) async fn paged<P, T, E: Refusal, F: Future<Output = Sent<P, E>>>(
        &self,
        action: &'static str,
        send: impl Fn(Option<String>) -> F,
        mut read: impl FnMut(P) -> Part<T>,
    ) -> Outcome<Vec<T>> {
        all_pages(action, usize::MAX, async |token| {
            Ok(read(self.patient(action, || send(token.clone())).await?))
        })
        .await
    }
}
