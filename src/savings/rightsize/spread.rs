//! How the work of today's machines lies on machines of another type.

use crate::domain::{HourlyActivity, named_enum};
use crate::savings::Fewer;

named_enum! {
    /// How machines of a type take over the work.
    Spread {
        /// One machine in place of each.
        Kept = "kept",
        /// Replicas that answer for each other: as many as their load takes.
        Replicas = "replicas",
        /// Each GPU in use moves on its own, to whichever machine.
        Tenants = "tenants",
    }
}

/// How many machines, how the work lies on them, and how many of today's GPUs share one there.
pub(super) type Layout = (u32, Spread, u16);

impl Spread {
    /// What so many machines run of today's hours; `None` where each runs as long as the one
    /// that it replaces.
    pub fn hours(self, activity: &HourlyActivity, machines: (u32, u32)) -> Option<Fewer> {
        let (today, count) = machines;
        match self {
            Self::Kept => None,
            Self::Replicas if count < today => Fewer::at_most(activity, count),
            Self::Replicas | Self::Tenants => Fewer::together(activity, count),
        }
    }

    /// Whether each machine has one in its place.
    pub fn keeps_machines(self) -> bool {
        self == Self::Kept
    }
}
