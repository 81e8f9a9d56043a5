//! What could be done about one workload, before a plan chooses.

use super::{Commitment, Rightsizing, Scheduling, Sharing};
use crate::domain::{Action, InstanceId, Member};
use std::fmt;

/// Names listed before the rest is counted.
const MOST_NAMED: usize = 20;

/// Ending members that compute nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// The action; absent where no saving may be counted.
    pub action: Option<Action>,
    /// The members whose stop saves, ascending by id.
    pub members: Vec<InstanceId>,
    /// What would stop an engineer, the gravest first.
    pub caveats: Vec<String>,
}

/// Members by name, the first of many.
pub struct NamedMembers<'a>(pub &'a [&'a Member]);

impl fmt::Display for NamedMembers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, member) in self.0.iter().take(MOST_NAMED).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{}", member.id)?;
        }
        match self.0.len().saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// What could be done about one workload, each alternative on its own. A stop is about
/// its idle members, everything else about those that work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offers {
    /// Stop what computes nothing.
    pub stop: Option<Stop>,
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

impl Offers {
    /// The stop, where it saves.
    pub fn stopping(&self) -> Option<&Action> {
        self.stop.as_ref()?.action.as_ref()
    }
}
