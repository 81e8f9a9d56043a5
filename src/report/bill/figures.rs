//! Figures of a bill.

use crate::billing::Tally;
use crate::domain::{Currency, Money};
use crate::report::doc::Value;
use crate::report::shared::text::money;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// Amounts of a bill in one currency.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amounts(pub(super) Currency);

impl Amounts {
    fn money(self, amount: Decimal) -> Money {
        Money::new(amount, self.0)
    }

    pub(super) fn text(self, amount: Decimal) -> String {
        money(self.money(amount))
    }

    /// A sum in a sentence, which says where it leaves something out.
    pub(super) fn words(self, tally: &Tally) -> String {
        match (tally.sum(), tally.absent()) {
            (Some(sum), 0) => self.text(sum),
            (Some(sum), _) => format!("at least {}", self.text(sum)),
            (None, 0) => self.text(Decimal::ZERO),
            (None, _) => "an unknown amount".to_owned(),
        }
    }

    pub(super) fn of(self, amount: Option<Decimal>) -> Value {
        Value::of(amount, |amount| Value::Money(self.money(amount)))
    }

    pub(super) fn sum(self, tally: &Tally) -> Value {
        self.of(tally.sum())
    }

    pub(super) fn price(self, amount: Option<Decimal>) -> Value {
        Value::of(amount, |amount| Value::Price(self.money(amount)))
    }

    pub(super) fn code(self) -> Value {
        Value::text(self.0.code())
    }
}

pub(super) fn percentage(percent: Decimal) -> Option<Value> {
    percent.to_f64().map(Value::Percent)
}

pub(super) fn percent(percent: Option<Decimal>) -> Value {
    percent.and_then(percentage).unwrap_or(Value::Absent)
}

/// Hours, to the hundredth of one.
pub(super) fn hours(hours: Option<Decimal>) -> Value {
    let hours = hours.and_then(|hours| hours.to_f64());
    Value::of(hours, |hours| Value::Number(hours, 2))
}

pub(super) fn text(text: Option<&str>) -> Value {
    Value::of(text, Value::text)
}
