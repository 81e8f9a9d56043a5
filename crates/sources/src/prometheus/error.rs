//! Failures of calls, sorted by what a user can do about them and by what may help.

use super::answer::Unread;
use super::auth::Prover;
use super::request::{
    CERTIFICATE_WANTED, CONNECT, FOREIGN, INCOMPLETE, MALFORMED, NOT_CONNECTED, PAST_DEADLINE,
    TIMED_OUT, TOO_LARGE, shown,
};
use super::transport::{NotReceived, Reply};
use crate::again::{self, RetryPolicy, seconds_of};
use crate::domain::FailureKind;
use crate::error::{STATUS, SourceError, chain};
use serde_json::Value;
use std::error::Error;

/// A try that failed.
pub(super) type Failed = again::Failed<SourceError>;

/// Whether a query failed because it asks for more than the server, or this program,
/// takes at once: with less it may succeed.
pub fn is_too_large(error: &SourceError) -> bool {
    error.kind == FailureKind::TooLarge
}

/// A failure before the first call.
pub(super) fn invalid(words: &str, why: &str) -> SourceError {
    SourceError::own(CONNECT, FailureKind::InvalidSettings, words, why.to_owned())
}

/// An answer that is not what was asked for.
pub(super) fn malformed(action: &'static str, why: &str) -> SourceError {
    SourceError::own(action, FailureKind::Unsupported, MALFORMED, why.to_owned())
}

/// No answer before the deadline of all calls: the server has too much to do.
pub(super) fn past_deadline(action: &'static str) -> SourceError {
    SourceError::own(action, FailureKind::Throttled, PAST_DEADLINE, String::new())
}

impl Failed {
    /// A failure that another try would repeat.
    pub(super) fn for_good(error: SourceError) -> Self {
        Self { error, again: RetryPolicy::Never }
    }

    /// No answer, and why.
    pub(super) fn without_reply(action: &'static str, why: &NotReceived, prover: &Prover) -> Self {
        let (words, again, said) = match why {
            NotReceived::Late => (TIMED_OUT, RetryPolicy::Never, String::new()),
            NotReceived::Connection(error) => {
                let cause = error.source().map_or_else(String::new, chain);
                if CERTIFICATE_ALERTS.iter().any(|alert| cause.contains(alert)) {
                    let (kind, said) = (FailureKind::RejectedCredentials, prover.clean(&cause));
                    let error = SourceError::own(action, kind, CERTIFICATE_WANTED, said);
                    return Self::for_good(error);
                }
                (NOT_CONNECTED, RetryPolicy::Soon, cause)
            }
            NotReceived::Broken(error) => (INCOMPLETE, RetryPolicy::Soon, chain(&**error)),
        };
        let said = prover.clean(&said);
        Self { error: SourceError::own(action, FailureKind::Unreachable, words, said), again }
    }

    /// An answer that says that the call failed.
    pub(super) fn refused(action: &'static str, reply: &Reply, prover: &Prover) -> Self {
        // `error` and `errorType` of Prometheus, or the `message` of other services.
        let document: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let error = &document["error"];
        let places = [error, &error["message"], &document["message"], &document["Message"]];
        let known = places.into_iter().find_map(Value::as_str);
        let whole = String::from_utf8_lossy(&reply.body);
        let of_prometheus = document["errorType"].as_str().unwrap_or_default();
        let (kind, again) = sorted(reply, of_prometheus, known.unwrap_or(&whole));
        let said = match (&reply.location, known) {
            (Some(location), _) if (300..400).contains(&reply.status) => {
                prover.clean(&format!("redirects to {}", shown(location)))
            }
            (_, Some(said)) => prover.clean(said),
            (_, None) => start_of(&whole, prover),
        };
        let code = format!("{STATUS}{}", reply.status);
        Self { error: SourceError::own(action, kind, &code, said), again }
    }

    /// An answer that cannot be read, or that says in its body that the call failed.
    pub(super) fn unread(
        action: &'static str,
        why: Unread,
        reply: &Reply,
        prover: &Prover,
    ) -> Self {
        let (kind, words, said) = match why {
            Unread::Refused => return Self::refused(action, reply, prover),
            Unread::TooManySeries => return Self::cut(action),
            Unread::Foreign => {
                // Secrets are found in more than what is shown.
                const READ: usize = 64 << 10;
                let start = &reply.body[..reply.body.len().min(READ)];
                let start = start_of(&String::from_utf8_lossy(start), prover);
                (FailureKind::WrongAddress, FOREIGN, start)
            }
            Unread::Malformed(why) => (FailureKind::Unsupported, MALFORMED, prover.clean(&why)),
        };
        Self::for_good(SourceError::own(action, kind, words, said))
    }

    /// An answer with more bytes or series than are read.
    pub(super) fn cut(action: &'static str) -> Self {
        Self::for_good(SourceError::own(action, FailureKind::TooLarge, TOO_LARGE, String::new()))
    }
}

/// Alerts of servers that a client has no certificate for: of TLS 1.3, and of Go's TLS 1.2.
const CERTIFICATE_ALERTS: [&str; 2] = ["alert: CertificateRequired", "alert: BadCertificate"];

/// What can be done about a call that a server refused, by its kind of error, such as
/// `execution`, and by what it said.
fn sorted(reply: &Reply, error: &str, said: &str) -> (FailureKind, RetryPolicy) {
    let said = said.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let wait = reply.retry_after.as_deref().and_then(seconds_of);
    match reply.status {
        401 | 403 if says(&["expired"]) => (FailureKind::ExpiredCredentials, RetryPolicy::Never),
        401 => (FailureKind::RejectedCredentials, RetryPolicy::Never),
        403 => (FailureKind::Denied, RetryPolicy::Never),
        429 => (FailureKind::Throttled, RetryPolicy::Later(wait)),
        300..400 | 404 | 405 => (FailureKind::WrongAddress, RetryPolicy::Never),
        _ if says(BUSY) => (FailureKind::Throttled, RetryPolicy::Later(wait)),
        413 => (FailureKind::TooLarge, RetryPolicy::Never),
        _ if error == "timeout" || says(LARGE) => (FailureKind::TooLarge, RetryPolicy::Never),
        400 if says(&["unsupported path"]) => (FailureKind::WrongAddress, RetryPolicy::Never),
        502..=504 => (FailureKind::Unreachable, RetryPolicy::Soon),
        500.. => (FailureKind::Other, RetryPolicy::Soon),
        _ => (FailureKind::Other, RetryPolicy::Never),
    }
}

/// How servers say that they have too much to do, in lower case.
const BUSY: &[&str] = &[
    // VictoriaMetrics.
    "concurrent",                    // Mimir and Cortex.
    "too many outstanding requests", // AWS.
    "rate exceeded", "throttl",
];

/// How servers say that a query is too large for a limit of theirs, in lower case.
const LARGE: &[&str] = &[
    // Prometheus, Thanos.
    "too many samples", "maximum resolution of", "timed out", "deadline exceeded",
    "exceeded series limit", "exceeded chunks limit", "exceeded samples limit",
    "exceeded bytes limit", // VictoriaMetrics names the flag.
    "-search.max", "too many points", "timeout exceeded",
    // Mimir and Cortex, and so Amazon's service.
    "err-mimir-max-", "max number of", "maximum number of", "chunks size limit", "data size limit",
    "time range exceeds the limit",
    // Amazon's limit of the cost of a query, by the name of what is counted and of the
    // parameter; how the message continues is not documented.
    "samples processed", "max_samples_processed",
];

/// How a text begins that is not in a known format; empty where it is empty.
fn start_of(text: &str, prover: &Prover) -> String {
    const SHOWN: usize = 60;
    let clean = prover.clean(text);
    if clean.is_empty() {
        return clean;
    }
    let start: String = clean.chars().take(SHOWN).collect();
    format!("begins with `{start}`")
}
