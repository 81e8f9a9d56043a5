//! How many GPUs a service needs: requests a second against what a GPU serves, with an
//! objective for latency, zones that may be lost, and what it costs by type.

mod counts;
mod error;
mod fleet;
mod load;
mod objective;
mod question;
mod queue;
mod replay;
#[cfg(test)]
mod tests;
mod throughput;
mod types;

pub use counts::{CountsError, PeakOf, RequestCounts};
pub use error::CapacityError;
pub use fleet::{Fleet, MOST_ZONES, Zones};
pub use load::{Demand, Latency, Load, MOST_IN_FLIGHT, Need, Service};
pub use objective::{Objective, ServiceTimes};
pub use question::{Capacity, CapacityQuestion, capacity};
pub use queue::Queue;
pub use replay::{Recording, WorkOf};
pub use throughput::{Throughput, ThroughputBasis, Utilized};
pub use types::{Candidate, Fits, FleetCost, Refusal, Types};
