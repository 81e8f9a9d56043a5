//! Figures with six decimals, which is how they are kept.

use crate::domain::{Currency, DatedPrice, HourlyRate, Money, PriceQuote};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;

/// Decimals that are kept.
const DECIMALS: u32 = 6;

pub(super) fn kept(number: Decimal) -> Decimal {
    number.round_dp(DECIMALS).normalize()
}

pub(super) fn kept_money(amount: Decimal, currency: Currency) -> Money {
    Money::new(kept(amount), currency)
}

/// A share of something as it was measured, 0–1.
pub(super) fn share(part: f64, whole: u64) -> Decimal {
    let share = Decimal::from_f64(part / whole as f64).unwrap_or_default();
    share.clamp(Decimal::ZERO, Decimal::ONE)
}

/// Seconds in hours, unrounded.
pub(super) fn hours(seconds: u64) -> Decimal {
    Decimal::from(seconds) / Decimal::from(3_600)
}

/// A price of a list as it is kept.
pub(super) fn dated(quote: &PriceQuote) -> Option<DatedPrice> {
    let rate = quote.rate;
    Some(DatedPrice {
        hourly: HourlyRate::new(kept(rate.amount()), rate.currency())?,
        effective_date: Some(quote.effective_date),
        seen_on: quote.seen_on,
        origin: quote.origin,
    })
}
