//! Gathering: which calls for which scope, and running them with bounded
//! concurrency. Partial truth travels with its gaps.

mod machines;
mod places;
mod prices;
mod quotes;
mod refresh;
mod run;

pub use refresh::{RefreshOptions, refresh_prices};
pub use run::{GatherError, GatherOptions, gather};
