//! What could not be seen. A gap is a value that travels with the result, not
//! an error.

use super::{Cause, CauseKind, GapSubject, Hidden};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that could not be read, why, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a gap with `what`, `where`, `reason` and `hint`")]
pub struct Gap {
    pub what: GapSubject,
    /// Where: a region, an instance, a workload.
    #[serde(rename = "where")]
    pub place: String,
    /// Used as it is without a cause.
    pub reason: String,
    /// Used as it is without a cause.
    pub hint: String,
    /// What the reason and the hint are derived from; absent only where a file has text of
    /// its own instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<Cause>>,
}

impl Gap {
    /// A gap with a cause.
    pub fn of(what: impl Into<GapSubject>, place: impl Into<String>, cause: Cause) -> Self {
        Self {
            what: what.into(),
            place: place.into(),
            reason: cause.to_string(),
            hint: cause.hint(),
            cause: Some(Box::new(cause)),
        }
    }

    /// A gap of a file that has words instead of a cause, as earlier recordings do.
    pub fn in_words(
        what: GapSubject,
        place: impl Into<String>,
        reason: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { what, place: place.into(), reason: reason.into(), hint: hint.into(), cause: None }
    }

    /// What it keeps from view.
    pub fn hides(&self) -> Hidden {
        hidden(&self.what, self.cause.as_ref().map(|cause| cause.kind()))
    }
}

/// What a gap of a subject keeps from view. Without a cause, which earlier recordings do not
/// state, an instance counts as not read; one on its way out, or read twice, is known.
pub fn hidden(what: &GapSubject, cause: Option<CauseKind>) -> Hidden {
    match (what, cause) {
        (GapSubject::Instance, Some(CauseKind::InstanceEnding | CauseKind::NodeRepeated)) => {
            Hidden::Figures
        }
        _ => what.hides(),
    }
}

/// The region of a gap's place, which has its account before it where there are several;
/// any other place as it is.
pub fn region_of(place: &str) -> &str {
    match place.split_once('/') {
        Some((account, region))
            if !account.is_empty()
                && account.bytes().all(|byte| byte.is_ascii_digit())
                && !region.contains('/') =>
        {
            region
        }
        _ => place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_found_behind_its_account() {
        assert_eq!(region_of("111122223333/us-east-1"), "us-east-1");
        for place in ["us-east-1", "account", "gcp/project/us-central1/vm", "a/b"] {
            assert_eq!(region_of(place), place);
        }
    }
}
