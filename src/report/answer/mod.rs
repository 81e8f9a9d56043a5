//! What a planner answers, in one form for all of them, so that each format is written
//! once: what it was given, how its figures follow, rows to compare, what to be careful
//! with, files to apply, and what to type next.

mod csv;
mod json;
mod markdown;
mod slack;
mod table;
mod workbook;

pub use csv::answer_csv;
pub(in crate::report) use csv::sheet_csv;
pub use json::answer_json;
pub use markdown::answer_markdown;
pub use slack::answer_slack;
pub use table::answer_table;
pub(in crate::report) use table::shown;
pub(in crate::report) use workbook::{Line, LineValue, Page, Workbook};

use crate::domain::Money;
use jiff::Timestamp;
use jiff::civil::Date;

/// An answer. Text in it may hold names from outside: each format makes them safe.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The command that was asked, such as `fit`.
    pub planner: &'static str,
    /// The answer in one sentence.
    pub headline: String,
    /// What the figures rest on.
    pub given: Vec<Given>,
    /// How they follow, in order.
    pub steps: Vec<Step>,
    /// The first is what CSV has.
    pub sheets: Vec<Sheet>,
    /// What somebody who acts on it must know, the gravest first.
    pub caveats: Vec<String>,
    /// What was not known.
    pub missing: Vec<Missing>,
    /// Configuration to apply; nothing of it was applied.
    pub files: Vec<Printed>,
    /// Commands that go on from here.
    pub next: Vec<String>,
}

/// One thing that figures rest on.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// Name in JSON, with its unit last.
    pub key: &'static str,
    /// Name in tables, with its unit.
    pub name: &'static str,
    pub value: Figure,
    /// Where it is from: a flag, a measurement with its samples, a page with its date.
    pub source: String,
}

/// One line of arithmetic.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub name: String,
    /// The arithmetic with its figures, such as `500 / 200 = 2.5, rounded up`.
    pub arithmetic: String,
    pub result: Figure,
}

/// Rows to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Name in JSON.
    pub key: &'static str,
    /// Heading in tables.
    pub title: String,
    /// What a row is, for one and for many.
    pub noun: (&'static str, &'static str),
    pub columns: Vec<Column>,
    /// In order; each has a figure for each column.
    pub rows: Vec<Vec<Figure>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name in JSON and CSV, with its unit last.
    pub key: &'static str,
    /// Name in tables.
    pub title: &'static str,
    /// Whether only wide tables show it.
    pub is_detail: bool,
}

/// A column of every format.
pub(in crate::report) const fn column(key: &'static str, title: &'static str) -> Column {
    Column {
        key,
        title,
        is_detail: false,
    }
}

/// A column of wide tables, JSON and CSV.
pub(in crate::report) const fn detail(key: &'static str, title: &'static str) -> Column {
    Column {
        key,
        title,
        is_detail: true,
    }
}

/// What a cell holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// Not known, which is not zero.
    Absent,
    Text(String),
    /// In UTC; tables show it to the minute.
    Time(Timestamp),
    Date(Date),
    Flag(bool),
    Count(u64),
    /// A measured or computed number with as many decimals as tables show.
    Number(f64, usize),
    /// 0–100, with one decimal.
    Percent(f64),
    /// An amount, rounded to cents.
    Money(Money),
    /// A price of a small unit, such as an hour or a million tokens: up to six decimals.
    Price(Money),
}

impl Figure {
    pub(in crate::report) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The figure of what may be absent.
    pub(in crate::report) fn of<T>(value: Option<T>, figure: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Absent, figure)
    }

    fn is_words(&self) -> bool {
        matches!(
            self,
            Self::Text(_) | Self::Time(_) | Self::Date(_) | Self::Flag(_)
        )
    }
}

/// Something that was not known, and how to measure it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub what: String,
    /// What to run or to set, in words that work when typed.
    pub remedy: String,
}

/// A file that is printed and not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// Its name, such as `nodepool.yaml`.
    pub name: String,
    /// What it is for, and how to apply it.
    pub purpose: String,
    pub text: String,
}

#[cfg(test)]
mod tests;
