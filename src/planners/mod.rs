//! What-ifs of the playbook: each answers a question that an estate alone does not hold,
//! from figures by hand, a profile or measured usage. Pure arithmetic: what a figure rests
//! on is in its input, and every candidate that is refused has its reason. Nothing here is
//! part of the plan of an audit.

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
pub mod curve;
pub mod model;
pub mod paying;
pub mod rent_or_buy;
pub mod roofline;
pub mod schedule;
pub mod select;
pub mod serving;
pub mod share;
