//! Questions without an answer.

use super::Objective;

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CapacityError {
    #[error("{what} is {value}: expected a number above zero")]
    NotAboveZero { what: &'static str, value: f64 },
    #[error("{in_flight:.0} requests in flight at the same time: at most {most} are evaluated")]
    TooMany { in_flight: f64, most: u64 },
    /// No number of GPUs holds the objective.
    #[error(
        "p{percentile} of {objective_seconds} s cannot be met by any number of GPUs: a request \
         takes {floor_seconds:.6} s at p{percentile} without any wait"
    )]
    BelowFloor { percentile: f64, objective_seconds: f64, floor_seconds: f64 },
    #[error("the recorded requests are at one instant, so that they have no rate")]
    NoRate,
    #[error("a recorded request does not state the work that its time follows from")]
    NoWork,
    #[error("no GPU of {0} was busy, so that its throughput is not known")]
    NeverBusy(String),
    #[error("{survive} of {zones} zones lost leaves no zone")]
    NoZoneLeft { zones: u32, survive: u32 },
}

impl CapacityError {
    pub(super) fn below_floor(objective: Objective, floor_seconds: f64) -> Self {
        Self::BelowFloor {
            percentile: objective.percentile,
            objective_seconds: objective.seconds,
            floor_seconds,
        }
    }
}
