//! What is kept of an audit for later: what each workload cost on each day that was over, what
//! the plan advised, and what the run could see.

mod actions;
mod amounts;
mod daily;
mod expectation;
mod facts;
mod hours;
mod parts;
mod rows;
mod run;

pub use daily::{DayCost, day_costs};
pub use expectation::{RecordedExpectation, TooManyHours};
pub use facts::DayFacts;
pub use run::StoredAudit;
