//! `gpucost history`: what recorded audits add up to, and `gpucost history digest`, its digest.

mod digest;
mod trend;

pub use digest::digest_answer;
pub use trend::history_answer;

#[cfg(test)]
mod tests;
