//! Gathering: which calls for which scope, and running them with bounded
//! concurrency. Partial truth travels with its gaps.

mod days;
mod finer;
mod jobs;
mod machines;
mod measured;
mod places;
mod prices;
mod quotes;
mod recorded;
mod refresh;
mod run;

pub use finer::Refine;
pub use recorded::add_cluster;
pub use refresh::{RefreshOptions, refresh_prices};
pub use run::{GatherError, GatherOptions, gather};
