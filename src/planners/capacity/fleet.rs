//! GPUs as instances in zones.

use super::CapacityError;

/// Zones that a fleet may be in.
pub const MOST_ZONES: u32 = 100;

/// Where instances are, and what they outlast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zones {
    /// Availability zones with the same number of instances each, 1 to [`MOST_ZONES`].
    pub count: u32,
    /// How many of them may be lost at the same time: the others serve the planned rate.
    pub survive: u32,
}

impl Zones {
    pub(super) fn check(self) -> Result<(), CapacityError> {
        if self.count > self.survive {
            Ok(())
        } else {
            Err(CapacityError::NoZoneLeft { zones: self.count, survive: self.survive })
        }
    }

    /// Zones that are left.
    pub fn left(self) -> u32 {
        self.count.saturating_sub(self.survive).max(1)
    }
}

/// What is rented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fleet {
    pub gpus_per_instance: u64,
    /// Needed GPUs over the zones that are left, rounded up.
    pub gpus_per_zone: u64,
    /// Whole instances that have them.
    pub instances_per_zone: u64,
    /// In all zones.
    pub instances: u64,
    /// On all instances.
    pub gpus: u64,
}

impl Fleet {
    /// The fewest instances, as many in each zone, whose GPUs are enough when zones are lost.
    pub(super) fn of(gpus: u64, zones: Zones, gpus_per_instance: u64) -> Self {
        let gpus_per_instance = gpus_per_instance.max(1);
        let gpus_per_zone = gpus.div_ceil(u64::from(zones.left()));
        let instances_per_zone = gpus_per_zone.div_ceil(gpus_per_instance);
        let instances = instances_per_zone * u64::from(zones.count);
        Self {
            gpus_per_instance,
            gpus_per_zone,
            instances_per_zone,
            instances,
            gpus: instances * gpus_per_instance,
        }
    }
}
