//! Numbers of flags.

use rust_decimal::Decimal;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A number within limits.
///
/// # Errors
/// What was expected.
pub(super) fn within<T: FromStr + PartialOrd>(
    text: &str,
    limits: RangeInclusive<T>,
    expected: &str,
) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| limits.contains(number));
    number.ok_or_else(|| expected.to_owned())
}

/// A number above zero and up to a limit.
///
/// # Errors
/// What was expected.
pub(super) fn above_zero<T: FromStr + PartialOrd + Default>(
    text: &str,
    most: T,
    expected: &str,
) -> Result<T, String> {
    let is_valid = |number: &T| *number > T::default() && *number <= most;
    let number = text.parse().ok().filter(is_valid);
    number.ok_or_else(|| expected.to_owned())
}

/// A number that is not below zero.
pub(super) fn not_negative(text: &str) -> Result<Decimal, String> {
    within(text, Decimal::ZERO..=MOST_STATED, "expected a number of zero or more, such as 12.5")
}

/// A number above zero.
pub(super) fn positive(text: &str) -> Result<Decimal, String> {
    above_zero(text, MOST_STATED, "expected a number above zero, such as 12.5")
}

/// The largest number that a planner takes from a flag.
const MOST_STATED: Decimal = Decimal::from_parts(1_000_000_000, 0, 0, false, 0);
