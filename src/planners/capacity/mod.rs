//! How many GPUs a service needs: requests a second against what a GPU serves, with an
//! objective for latency, zones that may be lost, and what it costs by type.

mod counts;
mod load;
mod queue;
mod replay;
mod terms;
#[cfg(test)]
mod tests;
mod types;

pub use counts::{PeakOf, RequestCounts};
pub use load::{Demand, Latency, Load, MOST_IN_FLIGHT, Need, Service};
pub use queue::Queue;
pub use replay::{Recording, WorkOf};
pub use terms::{
    CapacityError, Fleet, MOST_ZONES, Objective, ServiceTimes, Throughput, ThroughputBasis,
    Utilized, Zones,
};
pub use types::{Candidate, Fits, FleetCost, Types};

/// The question, with all that its answer rests on.
#[derive(Debug, Clone)]
pub struct CapacityQuestion<'a> {
    pub service: Service<'a>,
    pub basis: ThroughputBasis,
    /// Whether how busy a GPU may be was stated, and not the policy's.
    pub is_target_stated: bool,
    /// The file of recorded arrivals; absent without.
    pub arrivals_file: Option<String>,
    /// The counts that the rate is from; absent without.
    pub counts: Option<&'a RequestCounts>,
    /// The types that it may run on; absent where none is named.
    pub types: Option<Types<'a>>,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Capacity<'a> {
    pub question: CapacityQuestion<'a>,
    /// On the GPU whose throughput is known.
    pub need: Need,
    /// What is rented where an instance has one GPU.
    pub fleet: Fleet,
    /// Types that do: cheapest first by the month, those without a price last, then by
    /// name. After them those that do not, by name. Empty without types.
    pub candidates: Vec<Candidate>,
}

/// Answers a question.
///
/// # Errors
/// When its figures are invalid, or when no number of the GPUs whose throughput is known
/// holds the objective.
pub fn capacity(question: CapacityQuestion<'_>) -> Result<Capacity<'_>, CapacityError> {
    let service = question.service;
    service.zones.check()?;
    let need = service.load.need(1.0)?;
    let candidates = match &question.types {
        Some(types) => types.candidates(&service, need),
        None => Vec::new(),
    };
    Ok(Capacity { need, fleet: Fleet::of(need.gpus, service.zones, 1), candidates, question })
}
