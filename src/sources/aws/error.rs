//! AWS errors, sorted by what a user can do about them.

use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use std::error::Error;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// There are no credentials, or they cannot be loaded.
    NoCredentials,
    /// The credentials have expired.
    ExpiredCredentials,
    /// The credentials are refused.
    RejectedCredentials,
    /// The action is not allowed.
    Denied,
    /// The service throttles even after retries.
    Throttled,
    /// The endpoint cannot be reached or does not answer.
    Unreachable,
    /// The service or the endpoint does not know the call.
    Unsupported,
    /// Anything else.
    Other,
}

/// A failed call, or no call for want of credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", action.map_or(String::new(), |action| format!("{action}: ")))]
pub struct AwsError {
    /// The IAM action, such as `ec2:DescribeInstances`; absent before the first
    /// call.
    pub action: Option<&'static str>,
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// The service's code and words, without credentials.
    pub message: String,
    /// Why, where the message does not say it.
    #[source]
    pub cause: Option<Cause>,
}

/// Why something failed, in one line, and why that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}")]
pub struct Cause {
    line: String,
    #[source]
    next: Option<Box<Cause>>,
}

impl Cause {
    /// The lines of an error and of everything behind it, each once and without
    /// credentials; `None` when it says nothing.
    fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut lines: Vec<String> = anyhow::Chain::new(error)
            .flat_map(|error| {
                let text = without_credentials(&error.to_string());
                let lines = text.lines().map(|line| line.trim().to_owned());
                lines.collect::<Vec<_>>()
            })
            .filter(|line| !line.is_empty())
            .collect();
        lines.dedup();
        lines.into_iter().rev().fold(None, |next, line| {
            Some(Self {
                line,
                next: next.map(Box::new),
            })
        })
    }
}

impl AwsError {
    /// No credentials could be loaded: from the usual places, or from a profile
    /// that was asked for by name.
    pub(super) fn no_credentials(
        profile: Option<&str>,
        why: Option<&(dyn Error + 'static)>,
    ) -> Self {
        let place = profile.map_or(String::new(), |name| format!(" in profile `{name}`"));
        Self {
            action: None,
            kind: ErrorKind::NoCredentials,
            message: format!("no AWS credentials were found{place}"),
            cause: why.and_then(Cause::of),
        }
    }

    /// Sorts an SDK error of an action.
    pub(super) fn of<E, R>(action: &'static str, error: &SdkError<E, R>) -> Self
    where
        E: ProvideErrorMetadata + Error + 'static,
        R: std::fmt::Debug + 'static,
    {
        let (kind, message) = match error {
            SdkError::ServiceError(service) => {
                let metadata = service.err();
                let code = metadata.code().unwrap_or("unknown error");
                let words = metadata.message().unwrap_or("no message");
                (kind_of_code(code), format!("{code}: {words}"))
            }
            SdkError::TimeoutError(_) => (
                ErrorKind::Unreachable,
                "no answer within the time limit".to_owned(),
            ),
            SdkError::DispatchFailure(failure) => {
                let cause = failure.as_connector_error().map_or_else(
                    || "the request could not be sent".to_owned(),
                    |error| chain(error),
                );
                let kind = if cause.to_ascii_lowercase().contains("credential") {
                    ErrorKind::NoCredentials
                } else {
                    ErrorKind::Unreachable
                };
                (kind, cause)
            }
            SdkError::ResponseError(_) => (
                ErrorKind::Unsupported,
                "the answer is not in the service's format".to_owned(),
            ),
            other => (ErrorKind::Other, chain(other)),
        };
        Self {
            action: Some(action),
            kind,
            message: without_credentials(&message),
            cause: None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self.kind {
            ErrorKind::NoCredentials => {
                "set AWS_PROFILE or pass `--profile NAME`; `gpucost audit --demo` needs none"
                    .to_owned()
            }
            ErrorKind::ExpiredCredentials => {
                "sign in again (`aws sso login`, or refresh the session token)".to_owned()
            }
            ErrorKind::RejectedCredentials => {
                "check the keys, and that the region is enabled for the account".to_owned()
            }
            ErrorKind::Denied => {
                let allow = self
                    .action
                    .map_or(String::new(), |action| format!("allow {action}; "));
                format!("{allow}`gpucost iam-policy` prints the whole policy")
            }
            ErrorKind::Throttled => "run again later, or audit fewer regions at once".to_owned(),
            ErrorKind::Unreachable => {
                "check the network, the region's name and `--endpoint-url`".to_owned()
            }
            ErrorKind::Unsupported | ErrorKind::Other => "run again with -v for details".to_owned(),
        }
    }
}

fn kind_of_code(code: &str) -> ErrorKind {
    match code {
        "ExpiredToken" | "ExpiredTokenException" | "RequestExpired" => {
            ErrorKind::ExpiredCredentials
        }
        "AuthFailure"
        | "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch"
        | "InvalidSignatureException"
        | "OptInRequired"
        | "MissingAuthenticationToken" => ErrorKind::RejectedCredentials,
        "UnauthorizedOperation" | "AccessDenied" | "AccessDeniedException" | "NotAuthorized" => {
            ErrorKind::Denied
        }
        "RequestLimitExceeded"
        | "Throttling"
        | "ThrottlingException"
        | "ThrottledException"
        | "TooManyRequestsException" => ErrorKind::Throttled,
        "InvalidAction" | "UnknownOperationException" => ErrorKind::Unsupported,
        _ => ErrorKind::Other,
    }
}

/// Every cause, outermost first, each once.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut parts: Vec<String> = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if parts.last() != Some(&text) {
            parts.push(text);
        }
        cause = error.source();
    }
    parts.join(": ")
}

/// Blanks access key ids, which some services repeat in their messages.
fn without_credentials(text: &str) -> String {
    const PREFIXES: [&str; 2] = ["AKIA", "ASIA"];
    const LENGTH: usize = 20;
    let mut rest = text;
    let mut clean = String::with_capacity(text.len());
    while let Some(start) = PREFIXES.iter().filter_map(|prefix| rest.find(prefix)).min() {
        let key_length = rest[start..]
            .bytes()
            .take_while(u8::is_ascii_alphanumeric)
            .count();
        let end = start + key_length;
        clean.push_str(&rest[..start]);
        clean.push_str(if key_length >= LENGTH {
            "(access key)"
        } else {
            &rest[start..end]
        });
        rest = &rest[end..];
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_keys_never_reach_a_message() {
        assert_eq!(
            without_credentials("key AKIAIOSFODNN7EXAMPLE is not valid"),
            "key (access key) is not valid"
        );
        assert_eq!(without_credentials("an ASIAN region"), "an ASIAN region");
        assert_eq!(
            without_credentials("ASIAIOSFODNN7EXAMPLE,AKIAIOSFODNN7EXAMPLE"),
            "(access key),(access key)"
        );
    }

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Says(&'static str, #[source] Option<Box<Says>>);

    #[test]
    fn causes_are_single_lines_each_once_and_without_keys() {
        let inner = Says("key AKIAIOSFODNN7EXAMPLE is bad", None);
        let same = Says("tried:\n    A: no\n\n    B: no", Some(Box::new(inner)));
        let outer = Says("B: no", Some(Box::new(same)));
        let error = AwsError::no_credentials(Some("audit"), Some(&outer));
        assert_eq!(
            error.to_string(),
            "no AWS credentials were found in profile `audit`"
        );
        let causes: Vec<String> = anyhow::Chain::new(&error)
            .skip(1)
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            causes,
            [
                "B: no",
                "tried:",
                "A: no",
                "B: no",
                "key (access key) is bad"
            ]
        );
    }

    #[test]
    fn codes_of_every_protocol_are_sorted() {
        assert_eq!(kind_of_code("UnauthorizedOperation"), ErrorKind::Denied);
        assert_eq!(kind_of_code("AccessDeniedException"), ErrorKind::Denied);
        assert_eq!(
            kind_of_code("RequestExpired"),
            ErrorKind::ExpiredCredentials
        );
        assert_eq!(kind_of_code("RequestLimitExceeded"), ErrorKind::Throttled);
        assert_eq!(
            kind_of_code("OptInRequired"),
            ErrorKind::RejectedCredentials
        );
    }
}
