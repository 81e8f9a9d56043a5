//! `gpucost profile`: what a run says, in a sentence, a table and JSON.

mod blocks;
mod html;
mod json;
mod markdown;
mod openmetrics;
mod spot;
mod table;
mod words;
mod work;

pub use html::profile_html;
pub use json::profile_json;
pub use markdown::profile_markdown;
pub use openmetrics::profile_openmetrics;
pub use table::profile_table;
pub use words::{alert_line, elapsed_words};

use crate::analysis::{Candidate, RunCost, RunWork};
use crate::domain::{Gap, Risk};
use crate::profiling::RunProfile;

/// A run with its price, ready to be printed.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileReport {
    pub profile: RunProfile,
    /// What it cost; absent when the host has no known price, which is a gap.
    pub cost: Option<RunCost>,
    /// What it did; absent where nothing was counted.
    pub work: Option<RunWork>,
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
