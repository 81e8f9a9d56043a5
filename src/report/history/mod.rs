//! `gpucost history`: what recorded audits add up to, and `gpucost history digest`, its digest.

mod digest;
mod forecast;
mod trend;

pub use digest::digest_answer;
pub use trend::history_answer;

use crate::trend::Span;

/// A span as `2026-11-01 to 2026-11-30`, or its only day.
fn days(span: Span) -> String {
    let Span { first, last } = span;
    if first == last { first.to_string() } else { format!("{first} to {last}") }
}

#[cfg(test)]
mod tests;
