//! A run with its price.

use crate::analysis::{Candidate, Mfu, RunCost, RunWork};
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
    pub(super) fn best(&self) -> Option<&Candidate> {
        self.cost.as_ref()?.sizing.as_ref().ok()?.accepted().next()
    }

    /// Model FLOPs utilization, or why it is unknown; absent where nothing states what a step
    /// computes.
    pub(super) fn mfu(&self) -> Option<Result<&Mfu, &String>> {
        Some(self.work.as_ref()?.mfu.as_ref()?.as_ref())
    }

    /// A figure of the pace: a log of another program does not say when a sample was due.
    pub(super) fn paced<T>(&self, figure: T) -> Option<T> {
        self.profile.facts.interval_seconds.map(|_| figure)
    }
}
