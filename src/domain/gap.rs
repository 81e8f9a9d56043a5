//! What could not be seen. A gap is a value that travels with the result, not
//! an error.

use super::{Cause, CauseKind, GapSubject};

/// Something the audit did not see, why, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    pub what: GapSubject,
    /// Where: a region, an instance, a workload.
    pub place: String,
    pub reason: String,
    pub hint: String,
    /// What the reason and the hint are made of; absent only where a file has text of
    /// its own instead.
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
        Self {
            what,
            place: place.into(),
            reason: reason.into(),
            hint: hint.into(),
            cause: None,
        }
    }

    /// Whether an instance may be missing from the inventory: an account, a region, the list of regions,
    /// a cluster or an instance could not be read. One that is known and left out, because it is on its way
    /// out or came later, is not lacking.
    pub fn hides_instances(&self) -> bool {
        hides_instances(&self.what, self.cause.as_ref().map(|cause| cause.kind()))
    }
}

/// The same of a gap's subject and cause. Without a cause, which earlier recordings do not
/// state, an instance counts as not read.
pub fn hides_instances(what: &GapSubject, cause: Option<CauseKind>) -> bool {
    let is_known = matches!(
        cause,
        Some(CauseKind::InstanceLater | CauseKind::InstanceEnding | CauseKind::NodeRepeated)
    );
    match what {
        GapSubject::Account | GapSubject::Region | GapSubject::Regions | GapSubject::Nodes => true,
        GapSubject::Instance => !is_known,
        _ => false,
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
        for other in ["us-east-1", "account", "gcp/project/us-central1/vm", "a/b"] {
            assert_eq!(region_of(other), other);
        }
    }
}
