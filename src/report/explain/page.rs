//! Lines of a derivation.

use crate::domain::{InstanceCost, PriceKey, PriceQuote};
use crate::report::shared::text::{fit, safe, wrap};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// A derivation, line by line.
pub(super) struct Page {
    text: String,
    /// Columns of a line.
    width: usize,
}

impl Page {
    /// An empty one with lines of so many columns.
    pub(super) fn new(width: usize) -> Self {
        Self {
            text: String::new(),
            width,
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// A heading, with an empty line before it.
    pub(super) fn heading(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&fit(text, self.width));
        self.text.push('\n');
    }

    /// A line below a heading.
    pub(super) fn line(&mut self, text: &str) {
        self.indented(2, text);
    }

    /// A line that a line rests on.
    pub(super) fn note(&mut self, text: &str) {
        self.indented(6, text);
    }

    /// A row of a table below a heading; its last cell is wrapped.
    pub(super) fn row(&mut self, start: &str, last: &str) {
        let columns = 2 + start.len();
        let lines = wrap(last, self.width.saturating_sub(columns));
        let first = lines.first().map_or("", String::as_str);
        self.text.push_str(format!("  {start}{first}").trim_end());
        self.text.push('\n');
        for line in lines.iter().skip(1) {
            self.text.push_str(&format!("{:columns$}{line}\n", ""));
        }
    }

    fn indented(&mut self, columns: usize, text: &str) {
        let lines = wrap(&safe(text), self.width.saturating_sub(columns + 2));
        for (index, line) in lines.iter().enumerate() {
            let indent = if index == 0 { columns } else { columns + 2 };
            self.text.push_str(&format!("{:indent$}{line}\n", ""));
        }
    }

    /// Rate times hours, one line for all instances that are alike, each with its
    /// price. Gives the sum, unrounded.
    pub(super) fn rates(&mut self, rows: &Rates<'_>, put: fn(&mut Self, &str)) -> Decimal {
        let mut sum = Decimal::ZERO;
        for ((key, rate, hours), (instances, quote)) in &rows.0 {
            let amount = rate * hours * Decimal::from(*instances);
            sum += amount;
            put(
                self,
                &format!(
                    "{instances} × {}/h × {} h = {} per month",
                    rate.normalize(),
                    figure(*hours, 10),
                    figure(amount, 6)
                ),
            );
            put(self, &price(key, quote));
        }
        sum
    }
}

/// Instances by price, rate and hours in a month, with how many they are.
pub(super) struct Rates<'a>(BTreeMap<(&'a PriceKey, Decimal, Decimal), (u32, &'a PriceQuote)>);

impl<'a> Rates<'a> {
    pub(super) fn of(rows: impl Iterator<Item = (&'a PriceKey, &'a PriceQuote, Decimal)>) -> Self {
        let mut groups = BTreeMap::new();
        for (key, quote, hours) in rows {
            let row = groups.entry((key, quote.rate.amount(), hours));
            row.or_insert((0, quote)).0 += 1;
        }
        Self(groups)
    }

    /// Instances that nothing is committed for.
    pub(super) fn of_today(instances: &'a [InstanceCost]) -> Self {
        Self::of(
            instances
                .iter()
                .filter(|one| one.committed.is_none())
                .map(|one| (&one.key, &one.quote, one.monthly_hours)),
        )
    }
}

/// Where a price comes from and when it took effect.
pub(super) fn price(key: &PriceKey, quote: &PriceQuote) -> String {
    format!(
        "{key}: {}, {} of {}, {}",
        quote.origin, quote.source, quote.effective_date, quote.basis
    )
}

/// An exact number to at most so many decimals.
pub(super) fn figure(value: Decimal, decimals: u32) -> String {
    value.round_dp(decimals).normalize().to_string()
}

/// A share as a percentage.
pub(super) fn share(value: Decimal) -> String {
    format!("{}%", figure(value * Decimal::ONE_HUNDRED, 4))
}
