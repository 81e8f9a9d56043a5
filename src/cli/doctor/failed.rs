//! The check of what could not be used.

use crate::domain::{FailureKind, safe};
use crate::report::{Check, CheckArea, CheckStatus};
use crate::sources::SourceError;

/// What could not be used, in the words of what refused it.
pub(super) fn failed(area: CheckArea, name: &str, error: &SourceError) -> Check {
    let status = match error.kind {
        FailureKind::NoCredentials => CheckStatus::Missing,
        FailureKind::Denied
        | FailureKind::RejectedCredentials
        | FailureKind::ExpiredCredentials => CheckStatus::Denied,
        _ => CheckStatus::Failed,
    };
    let said = error.to_string();
    // The action is the name already.
    let said = said.strip_prefix(&format!("{name}: ")).unwrap_or(&said);
    Check::not(area, name, status, safe(said), error.hint())
}
