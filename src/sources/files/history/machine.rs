//! What is kept is kept of a machine, and of what was asked of it.

use crate::domain::ResourceId;

/// A machine, and what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeptMachine {
    pub account: String,
    pub region: String,
    pub instance: ResourceId,
    /// Names the series that were asked for: other series are another name.
    pub asked: String,
    /// The grid of utilization, power and CPU.
    pub period_seconds: u32,
}
