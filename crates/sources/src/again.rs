//! When a call that failed is made again.

use std::fmt::Display;
use std::time::Duration;

/// Tries of a call that a server throttles, the first included.
const TRIES_WHEN_THROTTLED: u32 = 5;
/// Tries of a call that meets a fault which may pass.
const TRIES_WHEN_FAULTY: u32 = 3;
/// A server that wants a longer pause is not asked again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What may help a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryPolicy {
    Never,
    /// Another try, because the fault may pass.
    Soon,
    /// Another try when the server has time: after as long as it says.
    Later(Option<Duration>),
    /// Another try at once, with another token.
    Renewed,
}

impl RetryPolicy {
    /// How long to wait before the next try after some, which is at least one; `None` after
    /// the last one. Each pause is twice as long as the one before, unless the server says
    /// how long.
    pub(super) fn pause(self, tries: u32, first: Duration) -> Option<Duration> {
        let doubled = first.saturating_mul(1 << tries.saturating_sub(1).min(16));
        let (most, pause) = match self {
            Self::Never | Self::Renewed => return None,
            Self::Soon => (TRIES_WHEN_FAULTY, doubled.min(LONGEST_PAUSE)),
            Self::Later(None) => (TRIES_WHEN_THROTTLED, doubled.min(LONGEST_PAUSE)),
            Self::Later(Some(pause)) => (TRIES_WHEN_THROTTLED, pause),
        };
        (tries < most && pause <= LONGEST_PAUSE).then_some(pause)
    }
}

/// A try that failed, and what may help.
#[derive(Debug)]
pub(super) struct Failed<E> {
    pub error: E,
    pub again: RetryPolicy,
}

/// Makes a call until it succeeds or no further try can help, with pauses of which the first is
/// given. What it gives, and how many tries it took.
pub(super) async fn tried<T, E: Display>(
    first_pause: Duration,
    attempt: impl AsyncFn() -> Result<T, Failed<E>>,
) -> Result<(T, u32), E> {
    let wait = async |pause: Duration, error: &E| {
        sleep(pause, error).await;
        true
    };
    tried_while(first_pause, attempt, wait).await
}

/// The same, as long as `wait` answers that there is to be another try: it gets the pause before
/// that, and why the last one failed.
pub(super) async fn tried_while<T, E>(
    first_pause: Duration,
    attempt: impl AsyncFn() -> Result<T, Failed<E>>,
    wait: impl AsyncFn(Duration, &E) -> bool,
) -> Result<(T, u32), E> {
    let mut tries = 1;
    loop {
        let Failed { error, again } = match attempt().await {
            Ok(value) => return Ok((value, tries)),
            Err(failed) => failed,
        };
        match again.pause(tries, first_pause) {
            Some(pause) if wait(pause, &error).await => tries += 1,
            _ => return Err(error),
        }
    }
}

/// Waits before the next try, and not in silence.
pub(super) async fn sleep(pause: Duration, error: &impl Display) {
    tracing::debug!("{error}; again in {} ms", pause.as_millis());
    tokio::time::sleep(pause).await;
}

/// The time that a header `Retry-After` says, where it says seconds.
pub(super) fn seconds_of(header: &str) -> Option<Duration> {
    header.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pauses in seconds after each try, the first one of half a second.
    fn pauses(again: RetryPolicy) -> Vec<f64> {
        let first = Duration::from_millis(500);
        let pauses = (1..10).map_while(|tries| again.pause(tries, first));
        pauses.map(|pause| pause.as_secs_f64()).collect()
    }

    #[test]
    fn pauses_double_until_a_call_is_given_up() {
        assert_eq!(pauses(RetryPolicy::Soon), [0.5, 1.0]);
        assert_eq!(pauses(RetryPolicy::Later(None)), [0.5, 1.0, 2.0, 4.0]);
        assert!(pauses(RetryPolicy::Never).is_empty() && pauses(RetryPolicy::Renewed).is_empty());
        let long = Duration::from_secs(50);
        let pause = RetryPolicy::Later(None).pause(2, long);
        assert_eq!(pause, Some(Duration::from_secs(60)));
    }

    #[test]
    fn a_server_says_how_long_to_wait_but_not_longer_than_a_minute() {
        for (header, expected) in [("2", vec![2.0; 4]), (" 60 ", vec![60.0; 4]), ("61", Vec::new())]
        {
            let wait = seconds_of(header);
            assert!(wait.is_some(), "{header}");
            assert_eq!(pauses(RetryPolicy::Later(wait)), expected, "{header}");
        }
        assert_eq!(seconds_of("Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }
}
