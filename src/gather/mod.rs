//! Gathering: which calls for which scope, and running them with bounded
//! concurrency. Partial truth travels with its gaps.

mod plan;
mod prices;
mod run;

pub use plan::{MetricsPlan, batches, plan_metrics};
pub use run::{GatherError, GatherOptions, gather};
