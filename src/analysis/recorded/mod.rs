//! What is kept of an audit for later: what each workload cost on each day that was over, what
//! the plan advised, and what the run could see.

mod actions;
mod amounts;
mod facts;
mod parts;
mod rows;
mod run;

pub use facts::DayFacts;
pub use run::KeptAudit;
