//! The plan carried out, and the estate audited again.

mod apply;
mod load;
mod reaudit;
