//! One plan out of what could be done about each workload, with what the account has
//! bought already.

mod owned;
mod planning;

pub(super) use self::owned::{EstateCommitments, machine_facts, unknown_rate};
pub use self::planning::Choices;
pub(super) use self::planning::{Offers, Planned, Planner, rejected_kinds};
