//! The plan carried out, and the estate audited again.

mod apply;
mod compared;
mod load;
mod reaudit;
