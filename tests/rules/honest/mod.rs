//! What must hold for any fleet: mixed groups, reservations, capacity, plans of known and
//! unknown rate, holes in every metric, two accounts, two currencies. `GPUCOST_CASES` says
//! how many fleets each property draws.

mod carried_out;
pub mod draft;
mod facts;
mod grouping;
mod levels;
mod paid;
mod targets;

use proptest::prelude::ProptestConfig;

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(32)) }
}

/// How many fleets a property draws where nobody says another number.
pub fn cases(usual: u32) -> u32 {
    let asked = std::env::var("GPUCOST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}
