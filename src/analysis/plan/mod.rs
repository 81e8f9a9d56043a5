//! One plan out of what could be done about each workload, with what the account has
//! bought already.

mod choices;
mod machines;
mod owned;
mod planning;

pub use self::choices::Choices;
pub(super) use self::machines::machine_facts;
pub(super) use self::owned::{EstateCommitments, unknown_rate};
pub(super) use self::planning::{Offers, Planned, Planner, rejected_kinds};
