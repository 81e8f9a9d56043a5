//! Failures of calls, sorted by what a user can do about them and by what may help. What
//! a plugin printed, and what a file with credentials says, is in no message.

use super::super::failure::{
    FOREIGN, INCOMPLETE, INVALID_CLUSTER, INVALID_USER, NO_TOKEN, NOT_CONNECTED, TIMED_OUT,
    TOO_LARGE,
};
use super::super::rbac::CONNECT;
use crate::SourceError;
use crate::again::{Failed, RetryPolicy};
use crate::domain::FailureKind;
use crate::error::{STATUS, chain};
use crate::secrets::Secrets;
use http_body_util::LengthLimitError;
use kube::client::AuthError;
use kube::config::KubeconfigError;
use serde_json::Value;
use std::error::Error;
use std::time::Duration;

/// Reasons of the API that are repeated. What else a server says is not: it may echo the
/// request, whose token can be one that a plugin or a file gave.
const REASONS: [&str; 14] = [
    "AlreadyExists", "BadRequest", "Conflict", "Expired", "Forbidden", "Gone", "InternalError",
    "Invalid", "MethodNotAllowed", "NotAcceptable", "NotFound", "ServiceUnavailable", "Timeout",
    "TooManyRequests",
];

/// A try that failed.
pub(super) type Refusal = Failed<SourceError>;

impl Refusal {
    /// A failure without an answer that says so.
    fn own(
        action: &'static str,
        kind: FailureKind,
        words: &str,
        said: String,
        again: RetryPolicy,
    ) -> Self {
        Self { error: SourceError::own(action, kind, words, said), again }
    }

    pub(super) fn late(action: &'static str) -> Self {
        Self::own(action, FailureKind::Unreachable, TIMED_OUT, String::new(), RetryPolicy::Never)
    }

    /// No answer, and why.
    pub(super) fn without_answer(
        action: &'static str,
        error: &kube::Error,
        secrets: &Secrets,
    ) -> Self {
        if let kube::Error::Auth(error) = error {
            let error = SourceError { action: Some(action), ..credentials(error) };
            return Self { error, again: RetryPolicy::Never };
        }
        // The outermost words say only which part of the client reports it.
        let outer = error.source();
        let cause = outer.and_then(|wrapped| wrapped.source()).or(outer);
        let said = secrets.blank(&cause.map_or_else(String::new, chain));
        Self::own(action, FailureKind::Unreachable, NOT_CONNECTED, said, RetryPolicy::Soon)
    }

    /// An answer whose body could not be read to its end.
    pub(super) fn cut_off(action: &'static str, error: &(dyn Error + 'static)) -> Self {
        if error.is::<LengthLimitError>() {
            let kind = FailureKind::TooLarge;
            return Self::own(action, kind, TOO_LARGE, String::new(), RetryPolicy::Never);
        }
        Self::own(action, FailureKind::Unreachable, INCOMPLETE, String::new(), RetryPolicy::Soon)
    }

    /// An answer that says that the call failed.
    pub(super) fn of(
        action: &'static str,
        status: u16,
        retry_after: Option<Duration>,
        body: &[u8],
    ) -> Self {
        let document: Value = serde_json::from_slice(body).unwrap_or_default();
        let known = REASONS.into_iter().find(|known| Some(*known) == document["reason"].as_str());
        let (kind, again) = match status {
            401 => (FailureKind::RejectedCredentials, RetryPolicy::Never),
            403 => (FailureKind::Denied, RetryPolicy::Never),
            429 => (FailureKind::Throttled, RetryPolicy::Later(retry_after)),
            300..=399 | 404 | 405 => (FailureKind::WrongAddress, RetryPolicy::Never),
            502..=504 => (FailureKind::Unreachable, RetryPolicy::Soon),
            500.. => (FailureKind::Other, RetryPolicy::Soon),
            _ => (FailureKind::Other, RetryPolicy::Never),
        };
        Self::own(action, kind, &code_of(status), known.unwrap_or_default().to_owned(), again)
    }
}

/// An answer of something else than an API server.
pub(super) fn foreign(action: &'static str) -> SourceError {
    SourceError::own(action, FailureKind::WrongAddress, FOREIGN, String::new())
}

/// Whether an answer had a status.
pub(super) fn has_status(error: &SourceError, status: u16) -> bool {
    error.code == code_of(status)
}

fn code_of(status: u16) -> String {
    format!("{STATUS}{status}")
}

/// Why a client could not be made.
pub(super) fn not_made(error: &kube::Error) -> SourceError {
    let invalid = |words: &str, said: String| {
        SourceError::own(CONNECT, FailureKind::InvalidSettings, words, said)
    };
    match error {
        kube::Error::Auth(error) => credentials(error),
        kube::Error::InferKubeconfig(error) => invalid(INVALID_USER, words_of(error)),
        kube::Error::ProxyProtocolUnsupported { .. }
        | kube::Error::ProxyProtocolDisabled { .. } => {
            invalid(INVALID_CLUSTER, "the proxy is of a kind that is not supported".to_owned())
        }
        kube::Error::RustlsTls(_) => invalid(
            INVALID_CLUSTER,
            "its certificates, or those of the system, cannot be read".to_owned(),
        ),
        _ => invalid(INVALID_USER, String::new()),
    }
}

/// Why there are no credentials, where a user has no plugin.
fn credentials(error: &AuthError) -> SourceError {
    match error {
        AuthError::ReadTokenFile(error, path) => SourceError::own(
            CONNECT,
            FailureKind::NoCredentials,
            NO_TOKEN,
            format!("{}: {error}", path.display()),
        ),
        _ => SourceError::own(CONNECT, FailureKind::InvalidSettings, INVALID_USER, String::new()),
    }
}

/// What is wrong with a kubeconfig, without what it says.
pub(super) fn words_of(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::LoadCertificateAuthority(_)
        | KubeconfigError::LoadClientCertificate(_)
        | KubeconfigError::LoadClientKey(_)
        | KubeconfigError::LoadClusterOfContext(_)
        | KubeconfigError::MissingClusterUrl
        | KubeconfigError::ParseClusterUrl(_)
        | KubeconfigError::ParseNoProxy(_)
        | KubeconfigError::ParseProxyUrl(_) => Secrets::default().blank(&error.to_string()),
        KubeconfigError::ParseCertificates(_) => {
            "its certificates are not in the PEM format".to_owned()
        }
        _ => "it cannot be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_sorted_by_what_helps() {
        let of = |status, wait| {
            let body = br#"{"kind": "Status", "reason": "Expired", "message": "hunter2"}"#;
            Refusal::of("kubernetes:nodes", status, wait, body)
        };
        let wait = Some(Duration::from_secs(7));
        for (status, kind, again) in [
            (401, FailureKind::RejectedCredentials, RetryPolicy::Never),
            (403, FailureKind::Denied, RetryPolicy::Never),
            (404, FailureKind::WrongAddress, RetryPolicy::Never),
            (410, FailureKind::Other, RetryPolicy::Never),
            (429, FailureKind::Throttled, RetryPolicy::Later(wait)),
            (500, FailureKind::Other, RetryPolicy::Soon),
            (503, FailureKind::Unreachable, RetryPolicy::Soon),
        ] {
            let refusal = of(status, wait);
            assert_eq!((refusal.error.kind, refusal.again), (kind, again), "{status}");
            assert_eq!(refusal.error.said, "Expired", "{status}");
            assert_eq!(refusal.error.code, format!("HTTP {status}"));
        }
    }

    #[test]
    fn a_refusal_repeats_no_word_of_the_server_but_a_known_reason() {
        for body in [
            r#"{"reason": "hunter2", "message": "hunter2", "details": {"name": "hunter2"}}"#,
            r#"{"reason": ["Forbidden"]}"#,
            "hunter2",
        ] {
            let refusal = Refusal::of("kubernetes:pods", 403, None, body.as_bytes());
            assert_eq!(refusal.error.to_string(), "kubernetes:pods: HTTP 403", "{body}");
        }
    }
}
