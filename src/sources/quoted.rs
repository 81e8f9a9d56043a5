//! What the price lists of AWS have in common, whatever their form.

use crate::domain::{
    CommitmentTerm, HourlyRate, Instalments, PaymentOption, PriceBasis, PriceKey, PriceOrigin,
    PriceQuote,
};
use jiff::civil::Date;

/// A price of a key.
pub type Quoted = (PriceKey, PriceQuote);

/// A price that AWS states, with when it began to hold and when it was read.
pub(super) fn observed(
    rate: HourlyRate,
    instalments: Option<Instalments>,
    (effective_date, seen_on): (Date, Date),
    source: &str,
) -> PriceQuote {
    PriceQuote {
        rate,
        instalments,
        origin: PriceOrigin::Api,
        basis: PriceBasis::Observed,
        effective_date,
        seen_on,
        source: source.to_owned(),
    }
}

/// A term by its length, such as `3yr`, and how it is paid.
pub(super) fn commitment_term(length: &str, payment: &str) -> Option<CommitmentTerm> {
    let years = match length {
        "1yr" => 1,
        "3yr" => 3,
        _ => return None,
    };
    Some(CommitmentTerm { years, payment: payment_option(payment)? })
}

pub(super) fn payment_option(name: &str) -> Option<PaymentOption> {
    match name {
        "No Upfront" => Some(PaymentOption::NoUpfront),
        "Partial Upfront" => Some(PaymentOption::PartialUpfront),
        "All Upfront" => Some(PaymentOption::AllUpfront),
        _ => None,
    }
}
