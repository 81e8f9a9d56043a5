//! One plan out of what could be done about each workload, with what the account has
//! bought already.

mod alternatives;
mod owned;
mod planning;
mod stopping;

pub(super) use self::alternatives::unknown_rate;
pub(super) use self::owned::{Owned, unweighed};
pub(super) use self::planning::{Planned, Planner};
