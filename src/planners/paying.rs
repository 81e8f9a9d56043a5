//! How rented machines are paid for.

use crate::domain::{HourlyRate, named_enum};

named_enum! {
    /// How a rented machine is paid for.
    Paying {
        /// By the hour, while it runs.
        OnDemand = "on-demand",
        /// By the hour, and interrupted when the provider wants it back.
        Spot = "spot",
        /// Committed for a year without upfront: every hour, used or not.
        Reserved1yr = "reserved-1yr",
        /// The same for three years.
        Reserved3yr = "reserved-3yr",
    }
}

impl Paying {
    /// Whether hours in which the machine is stopped cost as well.
    pub fn is_committed(self) -> bool {
        matches!(self, Self::Reserved1yr | Self::Reserved3yr)
    }
}

/// What the work runs on today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Today {
    /// The workload.
    pub name: String,
    pub instance_type: String,
    pub instances: u32,
    /// Of one instance as it is paid; absent where that has no price.
    pub rate: Option<HourlyRate>,
    /// Whether commitments pay of it, which cost as much when it ends.
    pub is_committed: bool,
}
