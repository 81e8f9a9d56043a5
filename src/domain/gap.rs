//! What could not be seen. A gap is a value that travels with the result, not
//! an error.

use super::{Cause, CauseKind};

/// Something the audit did not see, why, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// What is missing, such as `GPU metrics`.
    pub what: String,
    /// Where: a region, an instance, a workload.
    pub place: String,
    /// Why it is missing.
    pub reason: String,
    /// What to do about it.
    pub hint: String,
    /// What the reason and the hint are made of; absent where they are text of
    /// their own.
    pub cause: Option<Box<Cause>>,
}

impl Gap {
    /// A gap.
    pub fn new(
        what: impl Into<String>,
        place: impl Into<String>,
        reason: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            what: what.into(),
            place: place.into(),
            reason: reason.into(),
            hint: hint.into(),
            cause: None,
        }
    }

    /// Whether the inventory may lack an instance: a region, the list of regions or an
    /// instance could not be read. One that is known and left out, because it is on its way
    /// out or came later, is not lacking.
    pub fn hides_instances(&self) -> bool {
        hides_instances(&self.what, self.cause.as_ref().map(|cause| cause.kind()))
    }

    /// A gap of a cause.
    pub fn of(what: impl Into<String>, place: impl Into<String>, cause: Cause) -> Self {
        Self {
            cause: Some(Box::new(cause.clone())),
            ..Self::new(what, place, cause.to_string(), cause.hint())
        }
    }
}

/// The same of a gap's subject and cause. Without a cause, which earlier recordings do not
/// state, an instance counts as not read.
pub fn hides_instances(what: &str, cause: Option<CauseKind>) -> bool {
    let is_known = matches!(
        cause,
        Some(CauseKind::InstanceLater | CauseKind::InstanceEnding)
    );
    match what {
        "region" | "regions" => true,
        "instance" => !is_known,
        _ => false,
    }
}
