//! What could be done about one workload, before a plan chooses.

use super::{Commitment, Rightsizing, Scheduling, Sharing};
use crate::domain::Action;

/// What could be done about one workload, each alternative on its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offers {
    /// Stop it.
    pub stop: Option<Action>,
    /// Release what stands while it is stopped.
    pub release: Option<Action>,
    /// Switch it off in the hours that it does not use.
    pub schedule: Option<Scheduling>,
    /// Move to a smaller type with the same GPU model.
    pub rightsize: Option<Rightsizing>,
    /// Put its tenants together on fewer cards.
    pub share: Option<Sharing>,
    /// Buy ahead.
    pub commit: Option<Commitment>,
    /// Whether it is used too little and yet nothing less would do, at any risk.
    pub nothing_less_would_do: bool,
}
