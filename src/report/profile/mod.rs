//! `gpucost profile`: what a run says, in a sentence, a table and JSON.

mod json;
mod spot;
mod table;
mod words;

pub use json::profile_json;
pub use table::profile_table;
pub use words::{alert_line, elapsed_words};

use crate::analysis::{Candidate, RunCost, SpotOutcome};
use crate::domain::{Gap, Risk};
use crate::profiling::RunProfile;

/// A run with its price, ready to be printed.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileReport {
    pub profile: RunProfile,
    /// What it cost; absent when the host has no known price, which is a gap.
    pub cost: Option<RunCost>,
    /// What the spot guard found; absent where none watched.
    pub spot: Option<SpotOutcome>,
    /// Risk that was accepted of another type.
    pub accepted: Risk,
    pub gaps: Vec<Gap>,
}

impl ProfileReport {
    /// The cheapest type that would do.
    fn best(&self) -> Option<&Candidate> {
        self.cost.as_ref()?.sizing.as_ref().ok()?.accepted().next()
    }
}
