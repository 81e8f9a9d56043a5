//! AWS errors, sorted by what a user can do about them.

use crate::domain::FailureKind;
use crate::error::{CauseLine, SourceError, chain, own_words};
use crate::secrets::Secrets;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use std::error::Error;

/// The lines of an error and of everything behind it, each once and without
/// credentials; `None` when it says nothing.
fn cause_lines(error: &(dyn Error + 'static)) -> Option<CauseLine> {
    let mut lines: Vec<String> = anyhow::Chain::new(error)
        .flat_map(|error| {
            let text = Secrets::default().blank(&error.to_string());
            text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
        })
        .filter(|line| !line.is_empty())
        .collect();
    lines.dedup();
    CauseLine::of(lines)
}

impl SourceError {
    /// No credentials could be loaded: from the usual places, or from a profile
    /// that was asked for by name.
    pub(super) fn no_credentials(
        profile: Option<&str>,
        why: Option<&(dyn Error + 'static)>,
    ) -> Self {
        let place = profile.map_or(String::new(), |name| format!(" in profile `{name}`"));
        Self {
            action: None,
            kind: FailureKind::NoCredentials,
            code: format!("no AWS credentials were found{place}"),
            said: String::new(),
            cause: why.and_then(cause_lines),
        }
    }

    /// Whoever should give credentials did not.
    pub(super) fn late_credentials(profile: Option<&str>) -> Self {
        let place = profile.map_or(String::new(), |name| format!(" of profile `{name}`"));
        Self {
            code: format!("the credentials{place} were not received within a minute"),
            ..Self::no_credentials(profile, None)
        }
    }
}

/// What a service says of a call that it does not carry out, as the SDK reads it.
pub(super) trait Refusal: ProvideErrorMetadata + Error + 'static {}

impl<E: ProvideErrorMetadata + Error + 'static> Refusal for E {}

/// Sorts an SDK error of an action; its words without what requests were signed with.
pub(super) fn sdk_error<E: Refusal>(
    action: &'static str,
    error: &SdkError<E, HttpResponse>,
    secrets: &Secrets,
) -> SourceError {
    let plain = |kind, code: &str, said: &str| {
        SourceError::own(action, kind, &secrets.blank(code), secrets.blank(said))
    };
    match error {
        SdkError::ServiceError(service) => {
            let metadata = service.err().meta();
            let kind = match (metadata.code(), service.raw().status().as_u16()) {
                (Some(code), _) => {
                    let said = metadata.message().unwrap_or("no message");
                    return plain(kind_of_code(code), code, said);
                }
                (None, 429) => FailureKind::Throttled,
                (None, _) => FailureKind::Other,
            };
            unread_by_sdk(action, kind, service.raw(), secrets)
        }
        SdkError::TimeoutError(_) => plain(FailureKind::Unreachable, TIMED_OUT, ""),
        SdkError::DispatchFailure(failure) => {
            let Some(cause) = failure.as_connector_error().map(|error| chain(error)) else {
                return plain(FailureKind::Unreachable, NOT_SENT, "");
            };
            let kind = if cause.to_ascii_lowercase().contains("credential") {
                FailureKind::NoCredentials
            } else {
                FailureKind::Unreachable
            };
            plain(kind, "", &cause)
        }
        SdkError::ResponseError(answer) => {
            unread_by_sdk(action, FailureKind::Unsupported, answer.raw(), secrets)
        }
        other => plain(FailureKind::Other, "", &chain(other)),
    }
}

fn unread_by_sdk(
    action: &'static str,
    kind: FailureKind,
    answer: &HttpResponse,
    secrets: &Secrets,
) -> SourceError {
    unread(action, kind, (answer.status().as_u16(), answer.body().bytes()), secrets)
}

/// An answer that is not in the service's format: its status and how it begins.
pub(super) fn unread(
    action: &'static str,
    kind: FailureKind,
    (status, body): (u16, Option<&[u8]>),
    secrets: &Secrets,
) -> SourceError {
    const SHOWN: usize = 60;
    let said = match body {
        // Whatever ended the answer early, there is none.
        None => format!("status {status}, incomplete response"),
        Some([]) => format!("status {status} without a body"),
        Some(body) => {
            // Words of a page of any size.
            let start = String::from_utf8_lossy(&body[..body.len().min(8 * SHOWN)]);
            let words: Vec<&str> = start.split_whitespace().collect();
            let start: String = secrets.blank(&words.join(" ")).chars().take(SHOWN).collect();
            format!("status {status}, begins with `{start}`")
        }
    };
    SourceError::own(action, kind, UNREADABLE, said)
}

own_words! {
    pub(super) TIMED_OUT = "no response within the time limit";
    NOT_SENT = "the request could not be sent";
    pub(super) UNREADABLE = "the response is not in the service's format";
    pub(super) REPEATED = "the service repeated a page token: response abandoned";
    pub(super) TOO_MANY = "more than 10000 pages: response abandoned";
    pub(super) TOO_MUCH = "more results than requested: response abandoned";
    pub(super) NOT_IN_POLICY = "the action is not in the policies that gpucost prints";
    pub(super) NO_CREDENTIALS_GIVEN = "the response has no credentials";
    pub(super) NO_RATES = "the region's partition has no savings plan rates";
    pub(super) NO_ENDPOINT = "the region's partition has no price list endpoint";
}

/// Codes of services that are of no sort, and name nobody.
const UNSORTED: &[&str] = &[
    "unknown error", "InternalError", "InternalFailure", "ServiceUnavailable",
    "ServiceUnavailableException", "InvalidParameterValue", "ValidationError",
    "ValidationException",
];

/// Whether a code names nobody: one that this program knows, or its own words.
pub fn is_known_code(code: &str) -> bool {
    kind_of_code(code) != FailureKind::Other || OWN.contains(&code) || UNSORTED.contains(&code)
}

pub(super) fn kind_of_code(code: &str) -> FailureKind {
    match code {
        "ExpiredToken" | "ExpiredTokenException" | "RequestExpired" => {
            FailureKind::ExpiredCredentials
        }
        "AuthFailure"
        | "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch"
        | "InvalidSignatureException"
        | "OptInRequired"
        | "MissingAuthenticationToken" => FailureKind::RejectedCredentials,
        "UnauthorizedOperation"
        | "AccessDenied"
        | "AccessDeniedException"
        | "NotAuthorized"
        | "Forbidden" => FailureKind::Denied,
        "RequestLimitExceeded"
        | "Throttling"
        | "ThrottlingException"
        | "ThrottledException"
        | "TooManyRequestsException" => FailureKind::Throttled,
        "InvalidAction" | "UnknownOperationException" => FailureKind::Unsupported,
        _ => FailureKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Says(&'static str, #[source] Option<Box<Says>>);

    #[test]
    fn causes_are_single_lines_each_once_and_without_keys() {
        let inner = Says("key AKIAIOSFODNN7EXAMPLE is bad", None);
        let same = Says("tried:\n    A: no\n\n    B: no", Some(Box::new(inner)));
        let outer = Says("B: no", Some(Box::new(same)));
        let error = SourceError::no_credentials(Some("audit"), Some(&outer));
        assert_eq!(error.to_string(), "no AWS credentials were found in profile `audit`");
        let causes: Vec<String> =
            anyhow::Chain::new(&error).skip(1).map(ToString::to_string).collect();
        assert_eq!(causes, ["B: no", "tried:", "A: no", "B: no", "key (access key) is bad"]);
    }

    #[test]
    fn codes_of_every_protocol_are_sorted() {
        assert_eq!(kind_of_code("UnauthorizedOperation"), FailureKind::Denied);
        assert_eq!(kind_of_code("AccessDeniedException"), FailureKind::Denied);
        assert_eq!(kind_of_code("RequestExpired"), FailureKind::ExpiredCredentials);
        assert_eq!(kind_of_code("RequestLimitExceeded"), FailureKind::Throttled);
        assert_eq!(kind_of_code("OptInRequired"), FailureKind::RejectedCredentials);
    }
}
