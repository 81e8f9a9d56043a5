//! Looking after a history: checking its files, putting those of a month together, and removing
//! old ones.

mod claims;
mod compact;
mod kinds;
mod prune;
mod verify;

pub use compact::Compacted;
pub use prune::Pruned;
pub use verify::{FoundFile, Trouble, Verified};

#[cfg(test)]
mod tests;
