//! One lever at a time, for a fleet or for one type: other types, commitments, the spot
//! market.

mod pool_options;
mod reserved;
mod sizing;
mod spot;

pub use self::pool_options::{FamilyPool, PoolOption, ReservedPool, is_planned};
pub use self::reserved::{
    CapacityUse, GrownPool, ReservedFleet, assess_commitments, grown_pools, planned_commitments,
};
pub use self::sizing::{Candidate, Sized, Sizing};
pub use self::spot::{
    SpotAssessment, SpotJob, SpotReport, ZonePrice, assess_fleet, assess_type, planned_spot,
};
