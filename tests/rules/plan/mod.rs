//! The plan carried out, and the estate audited again.

pub mod apply;
mod choices;
mod compared;
mod load;
mod reaudit;
mod targets;
