//! `gpucost rightsize`: every type that workloads could move to.

mod csv;
pub(super) mod json;
mod table;

pub use self::csv::rightsize_csv;
pub use self::json::rightsize_json;
pub use self::table::rightsize_table;

use crate::analysis::Sizing;
use crate::domain::{Gap, Risk};

/// Workloads with every type that they could move to.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizings {
    pub accepted: Risk,
    /// The workloads, in order of the audit.
    pub workloads: Vec<Sizing>,
    pub gaps: Vec<Gap>,
}
