//! Numbers of flags.

use rust_decimal::Decimal;

/// A number that is not below zero.
pub(super) fn not_negative(text: &str) -> Result<Decimal, String> {
    text.parse()
        .ok()
        .filter(|number: &Decimal| *number >= Decimal::ZERO && *number <= MOST_STATED)
        .ok_or_else(|| "expected a number of zero or more, such as 12.5".to_owned())
}

/// A number above zero.
pub(super) fn positive(text: &str) -> Result<Decimal, String> {
    not_negative(text)
        .ok()
        .filter(|number| !number.is_zero())
        .ok_or_else(|| "expected a number above zero, such as 12.5".to_owned())
}

/// The largest number that a planner takes from a flag.
const MOST_STATED: Decimal = Decimal::from_parts(1_000_000_000, 0, 0, false, 0);
