//! Figures of a bill.

use crate::billing::Tally;
use crate::domain::{Currency, Money};
use crate::report::shared::text::money;
use rust_decimal::Decimal;

/// Amounts of a bill in one currency.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amounts(pub(super) Currency);

impl Amounts {
    pub(super) fn text(self, amount: Decimal) -> String {
        money(Money::new(amount, self.0))
    }

    /// A sum in a sentence, which says where lines without an amount are missing in it.
    pub(super) fn words(self, tally: &Tally) -> String {
        match (tally.sum(), tally.absent()) {
            (Some(sum), 0) => self.text(sum),
            (Some(sum), _) => format!("at least {}", self.text(sum)),
            (None, 0) => self.text(Decimal::ZERO),
            (None, _) => "an unknown amount".to_owned(),
        }
    }
}
