//! Days, shares and signs in words.

use crate::domain::Money;
use crate::report::doc::Value;
use crate::trend::Span;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// A span as `2026-11-01 to 2026-11-30`, or its only day.
pub(super) fn days(span: Span) -> String {
    if span.first == span.last {
        span.first.to_string()
    } else {
        format!("{} to {}", span.first, span.last)
    }
}

/// Hours or units with so many decimals.
pub(super) fn number(value: Decimal, decimals: usize) -> Value {
    Value::of(value.to_f64(), |value| Value::Number(value, decimals))
}

pub(super) fn percent(value: Option<Decimal>) -> Value {
    let value = value.and_then(|value| value.to_f64());
    Value::of(value, Value::Percent)
}

/// An amount per GPU hour or unit, to four decimals.
pub(super) fn rate(amount: Option<Decimal>, of: impl Fn(Decimal) -> Money) -> Value {
    Value::of(amount, |amount| Value::Price(of(amount.round_dp(4))))
}
