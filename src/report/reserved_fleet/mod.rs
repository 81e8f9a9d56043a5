//! `gpucost reserved` of a fleet: every pool with what is sold to it.

mod csv;
mod json;
mod table;

pub use self::csv::reserved_fleet_csv;
pub use self::json::reserved_fleet_json;
pub use self::table::reserved_fleet_table;

use crate::savings::ConcurrentUsage;
use rust_decimal::Decimal;

/// Numbers of instances with the share of the hours in which at least as many
/// ran, those of the same share together.
fn concurrency(usage: &ConcurrentUsage) -> Vec<(u32, u32, Decimal)> {
    let mut steps: Vec<(u32, u32, Decimal)> = Vec::new();
    for k in 1..=usage.peak() {
        let hours = usage.hours_with_at_least(k);
        let ran = hours
            .checked_div(Decimal::from(usage.hours()))
            .unwrap_or_default();
        match steps.last_mut() {
            Some((_, to, same)) if *same == ran => *to = k,
            _ => steps.push((k, k, ran)),
        }
    }
    steps
}
