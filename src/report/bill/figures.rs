//! Figures of a bill.

use crate::billing::Tally;
use crate::domain::{Currency, Money};
use crate::report::answer::Figure;
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

    pub(super) fn of(self, amount: Option<Decimal>) -> Figure {
        Figure::of(amount, |amount| Figure::Money(self.money(amount)))
    }

    pub(super) fn sum(self, tally: &Tally) -> Figure {
        self.of(tally.sum())
    }

    pub(super) fn price(self, amount: Option<Decimal>) -> Figure {
        Figure::of(amount, |amount| Figure::Price(self.money(amount)))
    }

    pub(super) fn code(self) -> Figure {
        Figure::text(self.0.code())
    }
}

pub(super) fn percentage(percent: Decimal) -> Option<Figure> {
    percent.to_f64().map(Figure::Percent)
}

pub(super) fn percent(percent: Option<Decimal>) -> Figure {
    percent.and_then(percentage).unwrap_or(Figure::Absent)
}

/// Hours, to the hundredth of one.
pub(super) fn hours(hours: Option<Decimal>) -> Figure {
    let hours = hours.and_then(|hours| hours.to_f64());
    Figure::of(hours, |hours| Figure::Number(hours, 2))
}

pub(super) fn text(text: Option<&str>) -> Figure {
    Figure::of(text, Figure::text)
}
