//! Gathering: which calls for which scope, and running them with bounded
//! concurrency. Partial truth travels with its gaps.

mod days;
mod finer;
mod machines;
mod measured;
mod places;
mod prices;
mod public_refresh;
mod quotes;
mod refresh;
mod rolled_up;
mod run;

pub use finer::Refine;
pub use machines::add_cluster;
pub use public_refresh::{PublicRefresh, refresh_public_prices};
pub use refresh::{RefreshOptions, refresh_prices};
pub use rolled_up::{OtherPeriods, add_rollups};
pub use run::{GatherError, GatherOptions, gather};
