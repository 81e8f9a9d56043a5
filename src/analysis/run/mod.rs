//! A profiled run: what it cost, and whether its GPUs are those of a type.

mod cost;
mod seen_gpus;
mod spot;

pub use self::cost::{PricedHost, RunCost, instance_cost};
pub use self::seen_gpus::{contradictions, unnamed_gpus};
pub use self::spot::{CheckpointAdvice, LostWork, SpotOutcome};
