//! What-ifs of the playbook: each answers a question that an estate alone does not hold,
//! from figures by hand, a profile or measured usage. Pure arithmetic: what a figure rests
//! on is in its input, and every candidate that is refused has its reason. Nothing here is
//! part of the plan of an audit.

use crate::domain::{HourlyRate, named_enum};

/// Why a planner has no result, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NoResult {
    message: String,
    pub hint: String,
}

/// A planner without a result: why in words, then what to do about it.
macro_rules! no_result {
    ($message:literal $(, $value:expr)*; $hint:literal $(, $part:expr)*) => {
        $crate::planners::NoResult {
            message: format!($message $(, $value)*),
            hint: format!($hint $(, $part)*),
        }
    };
}

/// Ends a function where a planner has no result, a row for each condition: why in words, then
/// what to do about it.
macro_rules! refuse {
    ($($condition:expr => $message:literal $(, $value:expr)*; $hint:literal $(, $part:expr)*;)+) => {$(
        if $condition {
            return Err(no_result!($message $(, $value)*; $hint $(, $part)*));
        }
    )+};
}

pub mod autoscale;
pub mod batching;
pub mod capacity;
pub mod model;
pub mod rent_or_buy;
pub mod roofline;
pub mod schedule;
pub mod select;
pub mod serving;
pub mod share;

named_enum! {
    /// How a rented machine is paid for.
    Paying {
        /// By the hour, while it runs.
        OnDemand = "on-demand",
        /// By the hour, and interrupted when the provider wants it back.
        Spot = "spot",
        /// Committed for a year without upfront: every hour, used or not.
        Reserved1yr = "reserved-1yr",
        /// The same for three years.
        Reserved3yr = "reserved-3yr",
    }
}

impl Paying {
    /// Whether hours in which the machine is stopped cost as well.
    pub fn is_committed(self) -> bool {
        matches!(self, Self::Reserved1yr | Self::Reserved3yr)
    }
}

/// What the work runs on today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Today {
    /// The workload.
    pub name: String,
    pub instance_type: String,
    pub instances: u32,
    /// Of one instance as it is paid; absent where that has no price.
    pub rate: Option<HourlyRate>,
    /// Whether commitments pay of it, which cost as much when it ends.
    pub is_committed: bool,
}
