//! Partial truth.

use super::Gap;

/// What was found, with what could not be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gathered<T> {
    pub value: T,
    pub gaps: Vec<Gap>,
}

impl<T> Gathered<T> {
    pub fn whole(value: T) -> Self {
        Self { value, gaps: Vec::new() }
    }

    /// The value, whose gaps are added to others.
    pub fn leave_gaps(self, gaps: &mut Vec<Gap>) -> T {
        gaps.extend(self.gaps);
        self.value
    }
}
