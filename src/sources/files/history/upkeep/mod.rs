//! Maintaining a history: checking its files, putting those of a month together, and removing
//! old ones.

mod claims;
mod compact;
mod kinds;
mod prune;
mod verify;

#[cfg(test)]
mod tests;
