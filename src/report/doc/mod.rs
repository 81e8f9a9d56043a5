//! What a command shows, declared once for every format. A renderer a format: each shows every
//! document, and makes text from outside safe.

#[macro_use]
mod columns;
pub(in crate::report) mod csv;
mod html;
mod json;
mod markdown;
mod plot;
mod schema;
mod slack;
mod table;
mod value;
mod workbook;

pub(in crate::report) use columns::{Column, cells, column, columns, heads, kinds, values};
pub use columns::{Head, Kind, Level};
pub use csv::doc_csv;
pub use html::doc_html;
pub use json::doc_json;
pub(in crate::report) use json::{gap_columns, gaps_table};
pub use markdown::doc_markdown;
pub(in crate::report) use plot::{Bar, MOST_BARS};
pub use plot::{Plot, PlotKind};
pub(in crate::report) use schema::doc_schema;
pub use schema::schema_document;
pub use slack::doc_slack;
pub use table::doc_table;
pub(in crate::report) use value::shown;
pub use value::{Value, elapsed_words};
pub use workbook::doc_xlsx;

use crate::domain::{Gap, Money};
use crate::report::shared::gaps::{alike, places};
use crate::report::shared::view::sum;
use std::borrow::Cow;

/// A document. Text in it may hold names from outside: each format makes them safe.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Doc {
    /// The command, such as `reserved`.
    pub name: &'static str,
    /// What it says, in one sentence.
    pub headline: String,
    /// What it is about, a line each; screens only.
    pub about: Vec<String>,
    /// Keys of the document itself. A planner's answer has none: what its figures rest on is in
    /// `given`.
    pub record: Record,
    /// Further keys, of which JSON has those that have a value.
    pub extras: Record,
    pub csv: CsvRows,
    /// What the figures rest on.
    pub given: Vec<Given>,
    /// How they follow, in order.
    pub steps: Vec<Step>,
    pub tables: Vec<Table>,
    /// What screens show instead of `tables`, where those are for programs; empty where screens
    /// show the same.
    pub screens: Vec<Table>,
    /// Pictures of a page.
    pub plots: Vec<Plot>,
    /// What somebody who acts on it must know, the gravest first.
    pub caveats: Vec<String>,
    /// What was not known.
    pub missing: Vec<Missing>,
    /// What could not be read; absent where nothing is read that could be missing.
    pub gaps: Option<Vec<Gap>>,
    /// Configuration to apply; nothing of it was applied.
    pub files: Vec<Printed>,
    /// Commands that go on from here.
    pub next: Vec<String>,
    /// What it comes to, in one sentence at the end; screens only.
    pub closing: String,
}

impl Doc {
    /// The form of documents for their schema: their own keys, and tables without a row.
    pub(in crate::report) fn form(record: Record, tables: impl Into<Vec<Table>>) -> Self {
        Self { record, tables: tables.into(), ..Self::default() }
    }

    /// The form of documents that say what could not be read.
    pub(in crate::report) fn form_with_gaps(record: Record, tables: impl Into<Vec<Table>>) -> Self {
        Self { gaps: Some(Vec::new()), ..Self::form(record, tables) }
    }

    /// What to know besides the tables, in lists of sentences below their titles.
    fn remarks(&self) -> [(&'static str, Vec<String>); 3] {
        let missing = self.missing.iter().map(|gap| format!("{}: {}", gap.what, gap.remedy));
        let gaps = alike(self.gaps.as_deref().unwrap_or_default(), false);
        let gaps = gaps.iter().filter_map(|group| {
            let Gap { what, reason, hint, .. } = group.first()?;
            Some(format!("{what} of {}: {reason}; {hint}", places(group)))
        });
        [
            ("Caveats", self.caveats.clone()),
            ("Missing data", missing.collect()),
            ("Data gaps", gaps.collect()),
        ]
    }

    /// Whether it is a planner's answer.
    fn is_answer(&self) -> bool {
        self.record.heads.is_empty()
    }

    /// The tables that JSON, CSV and workbooks have.
    fn data_tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().filter(|table| table.is_data())
    }

    /// The tables that screens show: a planner says what it has none of.
    fn said(&self) -> impl Iterator<Item = &Table> {
        let is_empty = |table: &Table| table.rows.is_empty() && table.notes.is_empty();
        let tables = match self.screens.as_slice() {
            [] => &self.tables,
            screens => screens,
        };
        tables.iter().filter(move |table| self.is_answer() || !is_empty(table))
    }
}

/// What CSV has a row for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsvRows {
    /// So many of the first tables, under the columns of all of them.
    Tables(usize),
    /// All tables likewise, each row behind the key of its table.
    Named,
    /// The record, in one row.
    Record,
}

impl Default for CsvRows {
    fn default() -> Self {
        Self::Tables(1)
    }
}

/// Values with a name each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    pub heads: Vec<Head>,
    pub values: Vec<Value>,
}

impl Record {
    /// The heads of a record alone, for its schema.
    pub(in crate::report) fn heads<R>(columns: Vec<Column<R>>) -> Self {
        Self { heads: heads(columns), values: Vec::new() }
    }

    /// The record with the keys of another one behind its own.
    pub(in crate::report) fn and(mut self, other: Self) -> Self {
        self.heads.extend(other.heads);
        self.values.extend(other.values);
        self
    }

    /// The record of what `columns` say of a row.
    pub(in crate::report) fn of<R>(columns: Vec<Column<R>>, row: &R) -> Self {
        Self { values: values(&columns, row), heads: heads(columns) }
    }
}

/// One thing that figures rest on.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// Name in JSON, with its unit last.
    pub key: &'static str,
    /// Name in tables, with its unit.
    pub name: &'static str,
    pub value: Value,
    /// Where it is from: a flag, a measurement with its samples, a page with its date.
    pub source: String,
}

/// One line of arithmetic.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub name: String,
    /// The arithmetic with its figures, such as `500 / 200 = 2.5, rounded up`.
    pub arithmetic: String,
    pub result: Value,
}

/// Rows to compare.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Name in JSON; a dot stands before a key of a nested object.
    pub key: &'static str,
    /// Heading on screens.
    pub title: String,
    /// What a row is, for one and for many.
    pub noun: (&'static str, &'static str),
    pub columns: Vec<Head>,
    /// In order; each has a value for each column.
    pub rows: Vec<Vec<Value>>,
    /// The paths of flat amounts that add up: workbooks have their sum, and screens that of the
    /// first where they hide rows.
    pub summed: &'static [&'static str],
    /// Rows that a screen shows before it counts the rest; absent for as many as are usual.
    pub most: Option<usize>,
    /// What to know below the rows; screens only.
    pub notes: Vec<String>,
    /// Whether a document that has no row for it is without its key, too.
    pub is_optional: bool,
    /// Whether Markdown shows it only when somebody opens it.
    pub is_folded: bool,
}

impl Table {
    /// A table of what `columns` say of each row.
    pub(in crate::report) fn of<R>(
        key: &'static str,
        title: impl Into<String>,
        noun: (&'static str, &'static str),
        columns: Vec<Column<R>>,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        let rows = rows.into_iter().map(|row| values(&columns, &row));
        Self {
            key,
            title: title.into(),
            noun,
            rows: rows.collect(),
            columns: heads(columns),
            ..Self::default()
        }
    }

    /// The table with some columns in wide tables and data alone, unless they say something.
    pub(in crate::report) fn wide_unless(mut self, is_said: bool, paths: &[&str]) -> Self {
        for head in &mut self.columns {
            if !is_said && paths.contains(&&*head.path) {
                head.level = Level::Wide;
            }
        }
        self
    }

    /// The table with the columns of another one of the same rows behind its own.
    pub(in crate::report) fn and(mut self, other: Self) -> Self {
        self.columns.extend(other.columns);
        for (row, cells) in self.rows.iter_mut().zip(other.rows) {
            row.extend(cells);
        }
        self
    }

    /// Whether it is more than a table for screens, whose columns are all of
    /// [`Level::Screen`].
    fn is_data(&self) -> bool {
        self.columns.iter().any(Head::is_data)
    }

    /// The table with the columns of its records beside its own, for screens.
    fn spread(&self, is_wide: bool) -> Cow<'_, Self> {
        let record = |head: &Head| match &head.kind {
            Kind::Record(heads) if head.is_on_screen(is_wide) => Some(heads.clone()),
            _ => None,
        };
        if !self.columns.iter().any(|head| record(head).is_some()) {
            return Cow::Borrowed(self);
        }
        let mut spread =
            Self { columns: Vec::new(), rows: vec![Vec::new(); self.rows.len()], ..self.clone() };
        for (place, head) in self.columns.iter().enumerate() {
            let heads = record(head);
            for (cells, row) in spread.rows.iter_mut().zip(&self.rows) {
                match (&heads, &row[place]) {
                    (Some(_), Value::Record(values)) => cells.extend_from_slice(values),
                    (Some(heads), _) => cells.extend(vec![Value::Absent; heads.len()]),
                    (None, value) => cells.push(value.clone()),
                }
            }
            spread.columns.extend(heads.unwrap_or_else(|| vec![head.clone()]));
        }
        Cow::Owned(spread)
    }

    /// The columns that a screen has, with their places.
    fn on_screen(&self, is_wide: bool) -> Vec<(usize, &Head)> {
        let is_known = |place: usize| {
            self.rows.iter().filter_map(|row| row.get(place)).any(|value| *value != Value::Absent)
        };
        let columns = self.columns.iter().enumerate().filter(|(place, head)| {
            let is_spare = match head.level {
                Level::Spare(_) => true,
                Level::Screen | Level::Below | Level::Titled => !self.rows.is_empty(),
                _ => false,
            };
            head.is_on_screen(is_wide) && (!is_spare || is_known(*place))
        });
        columns.collect()
    }

    /// What the rows behind the first ones add up to; absent where nothing is summed, and where
    /// currencies meet.
    fn worth_behind(&self, shown: usize) -> Option<Money> {
        let key = self.summed.first()?;
        let place = self.columns.iter().position(|head| head.path == *key)?;
        sum(self.rows.get(shown..)?.iter().map(|row| match row.get(place) {
            Some(Value::Money(amount) | Value::Whole(amount)) => Some(*amount),
            _ => None,
        }))
    }

    /// Tables without records and rows inside of rows, for screens: where a row has some, the table is a
    /// heading alone, and each row a table below it with what the row says as its title.
    fn screens(&self, is_wide: bool) -> Vec<Cow<'_, Self>> {
        let is_shown = |head: &Head| head.is_on_screen(is_wide);
        let is_nested = |head: &Head| matches!(head.kind, Kind::Rows(_)) && is_shown(head);
        let table = self.spread(is_wide);
        if !table.columns.iter().any(is_nested) {
            return vec![table];
        }
        let part = |title: &str, columns: &[Head], rows: &[Vec<Value>]| Self {
            key: self.key,
            title: title.to_owned(),
            noun: self.noun,
            columns: columns.to_vec(),
            rows: rows.to_vec(),
            ..Self::default()
        };
        let mut tables = vec![part(&self.title, &[], &[])];
        for row in &table.rows {
            let cells = || table.columns.iter().zip(row).filter(|(head, _)| is_shown(head));
            let said = cells().filter(|(head, value)| {
                !is_nested(head) && !matches!(value, Value::Absent | Value::Texts(_))
            });
            let said = said.map(|(head, value)| match value.is_words() {
                true => shown(value),
                false => format!("{} {}", shown(value), head.title),
            });
            let title = said.collect::<Vec<_>>().join(", ");
            let notes = cells().filter_map(|(_, value)| match value {
                Value::Texts(texts) => Some(texts.clone()),
                _ => None,
            });
            let nested = cells().filter_map(|(head, value)| match (&head.kind, value) {
                (Kind::Rows(heads), Value::Rows(rows)) => Some(part(&title, heads, rows)),
                _ => None,
            });
            let first = tables.len();
            tables.extend(nested);
            if let Some(table) = tables[first..].last_mut() {
                table.notes = notes.flatten().collect();
            }
        }
        if let Some(table) = tables.last_mut() {
            table.notes.extend(self.notes.iter().cloned());
        }
        tables.into_iter().map(Cow::Owned).collect()
    }

    /// Whether a column holds figures, which are aligned right.
    fn is_figures(&self, place: usize) -> bool {
        match self.columns[place].kind {
            Kind::Inferred => {
                let mut known = self.rows.iter().filter_map(|row| row.get(place));
                known.any(|value| *value != Value::Absent && !value.is_words())
            }
            ref kind => kind.json_type().is_some_and(|name| ["integer", "number"].contains(&name)),
        }
    }
}

/// Tables, a row each: key, title, noun, columns and rows, then fields that are not as usual.
macro_rules! tables {
    ($($key:literal, $title:expr, $noun:expr, $columns:expr, $rows:expr $(, $field:ident: $value:expr)*;)*) => {
        [$($crate::report::doc::Table {
            $($field: $value,)*
            ..$crate::report::doc::Table::of($key, $title, $noun, $columns, $rows)
        }),*]
    };
}
pub(in crate::report) use tables;

/// Something that was not known, and how to measure it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub what: String,
    /// What to run or to set, in words that work when typed.
    pub remedy: String,
}

/// A list, a line an item: behind `if` where it holds, behind `for` one for each, and behind `..`
/// those of another list.
macro_rules! rows {
    (@add $list:ident;) => {};
    (@add $list:ident; if $condition:expr => $row:expr; $($rest:tt)*) => {
        $list.extend($condition.then(|| $row));
        rows!(@add $list; $($rest)*);
    };
    (@add $list:ident; for $item:pat_param in $items:expr => $row:expr; $($rest:tt)*) => {
        $list.extend(IntoIterator::into_iter($items).map(|$item| $row));
        rows!(@add $list; $($rest)*);
    };
    (@add $list:ident; .. $items:expr; $($rest:tt)*) => {
        $list.extend($items);
        rows!(@add $list; $($rest)*);
    };
    (@add $list:ident; $row:expr; $($rest:tt)*) => {
        $list.extend([$row]);
        rows!(@add $list; $($rest)*);
    };
    ($($rows:tt)*) => {{
        let mut list = Vec::new();
        rows!(@add list; $($rows)*);
        list
    }};
}
pub(in crate::report) use rows;

/// A file that is printed and not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// Its name, such as `nodepool.yaml`.
    pub name: String,
    /// What it is for, and how to apply it.
    pub purpose: String,
    pub text: String,
}

/// A constructor from the fields of a type in their order.
macro_rules! constructors {
    ($($type:ident($($field:ident: $from:ty),*);)*) => {$(
        impl $type {
            pub(in crate::report) fn new($($field: $from),*) -> Self {
                Self { $($field: $field.into()),* }
            }
        }
    )*};
}
constructors! {
    Given(key: &'static str, name: &'static str, value: Value, source: impl Into<String>);
    Step(name: impl Into<String>, arithmetic: impl Into<String>, result: Value);
    Missing(what: impl Into<String>, remedy: impl Into<String>);
    Printed(name: impl Into<String>, purpose: impl Into<String>, text: String);
}

#[cfg(test)]
mod tests;
