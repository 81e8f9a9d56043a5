//! How many GPUs a service needs: requests a second against what a GPU serves, with an
//! objective for latency, zones that may be lost, and what it costs by type.

mod counts;
mod load;
mod replay;
#[cfg(test)]
mod tests;
mod types;

pub use counts::{PeakOf, RequestCounts};
pub use load::{Demand, Latency, Load, MOST_IN_FLIGHT, Need, Queue, Service};
pub use replay::{Recording, WorkOf};
pub use types::{
    Candidate, Capacity, CapacityQuestion, Fits, FleetCost, ThroughputBasis, Types, Utilized,
    capacity,
};

use super::NoResult;

/// How long GPUs work on requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceTimes {
    /// Exponentially distributed around their mean: many short ones and a few long ones.
    Exponential,
    /// All alike. Waits are taken from exponential service, which waits longer.
    Fixed,
}

/// How long a request may take from its arrival to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    pub seconds: f64,
    /// Percent of the requests that may take no longer, above 0 and below 100.
    pub percentile: f64,
}

impl Objective {
    /// Share of the requests that may take longer, 0–1.
    pub fn late_share(self) -> f64 {
        1.0 - self.percentile / 100.0
    }

    /// What the percentile of the time on a GPU alone comes to, however many GPUs there
    /// are: no objective below it can be met.
    fn floor_seconds(self, service_seconds: f64, times: ServiceTimes) -> f64 {
        match times {
            ServiceTimes::Exponential => -service_seconds * self.late_share().ln(),
            ServiceTimes::Fixed => service_seconds,
        }
    }
}

/// What one GPU does with one replica of the service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throughput {
    /// Requests that it works on at the same time, at least 1.
    pub batch: u32,
    /// Mean time that a request takes on it at that batch, in seconds.
    pub service_seconds: f64,
}

impl Throughput {
    /// From requests a second of a GPU.
    pub fn of_rate(per_second: f64, batch: u32) -> Self {
        Self { batch, service_seconds: f64::from(batch) / per_second }
    }

    /// Requests a second.
    pub fn per_second(self) -> f64 {
        f64::from(self.batch) / self.service_seconds
    }
}

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
    fn check(self) -> Result<(), NoResult> {
        let Self { count, survive } = self;
        refuse! {
            count <= survive => "{survive} of {count} zones lost leaves no zone"; "pass a `--survive-zones` below `--zones`, such as `--zones 3 --survive-zones 1`";
        }
        Ok(())
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
    fn of(gpus: u64, zones: Zones, gpus_per_instance: u64) -> Self {
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

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CapacityError {
    /// No number of GPUs holds the objective.
    #[error(
        "p{percentile} of {objective_seconds} s cannot be met by any number of GPUs: a request \
         takes {floor_seconds:.6} s at p{percentile} without any wait"
    )]
    BelowFloor { percentile: f64, objective_seconds: f64, floor_seconds: f64 },
    #[error(transparent)]
    Other(#[from] NoResult),
}
