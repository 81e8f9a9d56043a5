//! What a fleet cost on each day of the window that was over.

use super::facts::DayFacts;
use super::rows::Rows;
use crate::analysis::Audit;
use crate::domain::{CostKind, Money, WorkloadDay};
use jiff::civil::Date;
use rust_decimal::Decimal;

/// What the instances of an audit cost on one day of UTC, in the currency of its totals: the
/// amounts that a history keeps. Instances that ended before the audit are in no day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayCost {
    pub day: Date,
    /// All of it, in cents; absent where something cost and no amount is known.
    pub cost: Option<Money>,
    /// What of it was for what did not run: idle storage and unused commitments.
    pub unused: Money,
    /// Rows without an amount, or with one in another currency.
    pub unknown_rows: u64,
}

/// What each day cost of which there are facts, ascending.
pub fn day_costs(audit: &Audit, facts: &DayFacts, hours_per_month: Decimal) -> Vec<DayCost> {
    let rows = Rows { audit, facts, hours_per_month, run_id: "" };
    // One day at a time: rows name everything that they are about.
    let days = facts.days().iter();
    days.map(|day| sum_of(audit, *day, &rows.of(&[*day]))).collect()
}

fn sum_of(audit: &Audit, day: Date, rows: &[WorkloadDay]) -> DayCost {
    let currency = audit.totals.currency;
    let (mut cost, mut unused) = (Decimal::ZERO, Decimal::ZERO);
    let mut unknown_rows = 0;
    for row in rows {
        let amount = row.effective.filter(|amount| amount.currency() == currency);
        let Some(amount) = amount else {
            unknown_rows += 1;
            continue;
        };
        cost += amount.amount();
        if row.kind != CostKind::Compute {
            unused += amount.amount();
        }
    }
    let is_known = rows.is_empty() || unknown_rows < rows.len() as u64;
    let money = |amount| Money::new(amount, currency).rounded();
    DayCost { day, cost: is_known.then(|| money(cost)), unused: money(unused), unknown_rows }
}
