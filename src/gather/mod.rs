//! Gathering: which calls for which scope, and running them with bounded
//! concurrency. Partial truth travels with its gaps.

mod plan;
mod prices;
mod refresh;
mod run;

pub use plan::{MetricsPlan, batches, plan_metrics};
pub use refresh::{RefreshOptions, refresh_prices};
pub use run::{GatherError, GatherOptions, gather};
