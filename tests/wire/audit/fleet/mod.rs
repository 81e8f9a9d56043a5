//! A fleet of 62 instances in three regions, audited once; the tests read
//! what came out.
//!
//! Nothing here asks the crate for a figure: prices, verdicts and sums in
//! [`expected`] and [`sums`] were worked out by hand from the roster, the
//! signals and the prices that are put into the endpoint.

mod calls;
mod expected;
mod gathering;
mod price_list;
mod recorded;
mod roster;
mod sums;
mod verdicts;
