//! A bill as it is kept: what each resource cost in each hour.

use super::{Currency, LineKind, PurchaseOption};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What a payer is billed for a month. Both are exported, and change, by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonthlyBill {
    /// The first day of the month.
    pub month: Date,
    /// Empty where the bill names none.
    pub payer: String,
    pub rows: BTreeMap<ResourceHour, HourSums>,
}

/// How a bill compares with what was kept of its month and payer last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BillKept {
    /// It is the same, and was not kept again.
    Known,
    /// It is the first, or has as much or more.
    New,
    /// It takes the place of a larger one, as a part of a month would.
    Smaller,
}

/// Lines of a resource that begin in the same hour. Texts that the bill does not state are
/// empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceHour {
    pub account: String,
    pub region: String,
    pub resource: String,
    /// When the hour begins, seconds since 1970; absent of lines without a time.
    pub hour: Option<i64>,
    pub kind: LineKind,
    pub purchase_option: Option<PurchaseOption>,
    pub instance_type: String,
    /// From the beginning of the lines to their end, seconds.
    pub seconds: Option<i64>,
    /// Whether the quantity is in hours; others are not kept.
    pub is_in_hours: bool,
    pub currency: Currency,
}

/// What these lines add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HourSums {
    pub lines: u64,
    pub quantity: StatedSum,
    pub list: StatedSum,
    pub contracted: StatedSum,
    pub effective: StatedSum,
    pub billed: StatedSum,
}

/// A sum over the lines that state an amount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatedSum {
    /// Absent where no line does.
    pub sum: Option<Decimal>,
    pub lines: u64,
}

impl StatedSum {
    /// Adds the amount of a line, if it states one.
    pub fn add(&mut self, amount: Option<Decimal>) {
        if let Some(amount) = amount {
            self.sum = Some(self.sum.unwrap_or_default() + amount);
            self.lines += 1;
        }
    }
}
