//! Partial truth.

use super::Gap;

/// What was found, with what could not be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gathered<T> {
    /// What was found.
    pub value: T,
    /// What could not be.
    pub gaps: Vec<Gap>,
}

impl<T> Gathered<T> {
    /// All of it.
    pub fn whole(value: T) -> Self {
        Self {
            value,
            gaps: Vec::new(),
        }
    }
}
