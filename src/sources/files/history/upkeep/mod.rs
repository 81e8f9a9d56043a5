//! Checking the files of a history.

mod claims;
mod kinds;
mod verify;

#[cfg(test)]
mod tests;
