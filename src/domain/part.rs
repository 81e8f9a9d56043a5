//! Members of a workload apart by how they behave.

use super::{UsageState, Verdict, Workload};
use std::sync::Arc;

/// Members of a workload that behave alike, as a workload of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What keeps all of them from work; absent for those that work, or may, on their GPUs or
    /// on something else.
    pub idle: Option<UsageState>,
    /// The members with their cost and what was measured of them; shared with the whole
    /// where that has no other part.
    pub workload: Arc<Workload>,
    pub verdict: Verdict,
}
