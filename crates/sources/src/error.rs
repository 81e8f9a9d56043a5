//! Errors of sources, sorted by what a user can do about them.

use crate::domain::{Cause, CauseKind, FailureKind, Gap, GapSubject, Gathered};
use std::error::Error;

/// A failed call, or no call for want of credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", parts(self))]
pub struct SourceError {
    /// What was asked, such as `ec2:DescribeInstances`; absent before the first call.
    pub action: Option<&'static str>,
    pub kind: FailureKind,
    /// The service's code, or this program's own words.
    pub code: String,
    /// The service's words, without credentials; empty where it says none.
    pub said: String,
    /// Why, where the rest does not say it.
    #[source]
    pub cause: Option<CauseLine>,
}

/// Before the number of a status, in a code.
pub(super) const STATUS: &str = "HTTP ";

/// Whether a code is a status.
pub(super) fn is_status(code: &str) -> bool {
    code.strip_prefix(STATUS).is_some_and(|number| number.parse::<u16>().is_ok())
}

/// Constants for a module's own words, and all of them.
macro_rules! own_words {
    ($($visibility:vis $name:ident = $words:literal;)*) => {
        $($visibility const $name: &str = $words;)*
        const OWN: &[&str] = &[$($name),*];
    };
}
pub(super) use own_words;

/// What a call comes to.
pub type Outcome<T> = Result<T, SourceError>;

fn parts(error: &SourceError) -> String {
    let parts = [error.action.unwrap_or_default(), &error.code, &error.said];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

/// Why something failed, in one line, and why that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}")]
pub struct CauseLine {
    line: String,
    #[source]
    next: Option<Box<CauseLine>>,
}

impl CauseLine {
    /// Lines, each the cause of the one before; `None` of none.
    pub(super) fn of(lines: Vec<String>) -> Option<Self> {
        lines
            .into_iter()
            .rev()
            .fold(None, |next, line| Some(Self { line, next: next.map(Box::new) }))
    }
}

/// Every cause, outermost first, each once.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut parts: Vec<String> = anyhow::Chain::new(error).map(ToString::to_string).collect();
    parts.dedup();
    parts.join(": ")
}

impl SourceError {
    /// A failure that no service reported.
    pub(super) fn own(action: &'static str, kind: FailureKind, words: &str, of: String) -> Self {
        Self { action: Some(action), kind, code: words.to_owned(), said: of, cause: None }
    }

    pub fn hint(&self) -> String {
        self.kind.hint(self.action.unwrap_or_default())
    }

    /// A gap's cause of one of the kinds that follow a failed call; the last detail is
    /// the kind's own.
    pub fn cause_of(&self, kind: CauseKind, last: &str) -> Cause {
        let action = self.action.unwrap_or_default();
        Cause::of(kind, [action, self.kind.name(), &self.code, &self.said, last])
    }

    /// The gap that a failed call leaves at a place, with what is done instead, if anything.
    pub fn gap(&self, what: impl Into<GapSubject>, place: impl Into<String>, instead: &str) -> Gap {
        Gap::of(what, place, self.cause_of(CauseKind::CallFailed, instead))
    }
}

/// What was read; nothing, and a gap, where the call failed.
pub(super) fn or_gap<T: Default>(
    answer: Outcome<T>,
    what: GapSubject,
    place: &str,
    instead: &str,
) -> Gathered<T> {
    answer.map_or_else(
        |error| Gathered { value: T::default(), gaps: vec![error.gap(what, place, instead)] },
        Gathered::whole,
    )
}
