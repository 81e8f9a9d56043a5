//! Purchases as the promises that they are, in words.

use super::text::{counted_figure, money, percent};
use crate::savings::{Promise, Purchase};
use rust_decimal::prelude::ToPrimitive;

/// What a purchase asks for and gives, after its count, type and term.
pub(in crate::report) fn promise_words(purchase: &Purchase, promise: &Promise) -> String {
    format!(
        "{} at once and {} per month, used or not; saves {} per month; pays from {} of the \
         hours on; {} of evidence",
        money(promise.upfront),
        money(promise.monthly),
        money(purchase.monthly_savings),
        break_even(promise),
        evidence(promise),
    )
}

/// The share of the hours from which on it pays.
pub(in crate::report) fn break_even(promise: &Promise) -> String {
    percent(promise.break_even_percent.to_f64().unwrap_or_default())
}

pub(in crate::report) fn evidence(promise: &Promise) -> String {
    counted_figure(promise.evidence_days, "day", "days")
}
