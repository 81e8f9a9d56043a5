//! Columns: where a value stands in every format, declared in one line.

use super::value::Value;
use crate::domain::Money;
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Which formats show a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// All of them. Where the width of a terminal ends, columns above 0 are dropped, the
    /// highest number first.
    Narrow(u8),
    /// All but narrow tables, Markdown and messages.
    Wide,
    /// JSON, CSV and workbooks.
    Data,
    /// JSON: what CSV and workbooks have in another form.
    Json,
    /// CSV and workbooks: what JSON has in another form.
    Flat,
    /// Terminals, Markdown and HTML: what data has in other columns.
    Screen,
    /// The same, dropped as [`Self::Narrow`] is; not there where no row has a value.
    Spare(u8),
    /// The same, below its row on terminals: a sentence about it.
    Below,
    /// The same, after its title.
    Titled,
}

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Its values say it.
    Inferred,
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    Texts,
    /// Texts of which some may be absent.
    List,
    Time,
    Date,
    Flag,
    Count,
    /// One of these numbers.
    CountOf(&'static [u64]),
    Number,
    /// From 0 to this.
    NumberTo(u64),
    /// A number that is never below 0.
    Measured,
    /// Of GPUs or other units.
    Quantity,
    Percent,
    Share,
    Money,
    /// An amount of at least zero.
    Cost,
    Price,
    /// Values with a name each, which the data states.
    Map(Box<Kind>),
    Record(Vec<Head>),
    Rows(Vec<Head>),
}

impl Kind {
    /// The type of its values in JSON; absent where values say it.
    pub(super) fn json_type(&self) -> Option<&'static str> {
        Some(match self {
            Self::Inferred => return None,
            Self::Text | Self::Word(_) | Self::Time | Self::Date => "string",
            Self::Texts | Self::List | Self::Rows(_) => "array",
            Self::Flag => "boolean",
            Self::Count | Self::CountOf(_) => "integer",
            Self::Record(_) | Self::Map(_) => "object",
            _ => "number",
        })
    }
}

/// What is said of a column once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The key in JSON, with its unit last; a dot stands before a key of a nested object. In CSV
    /// the parts are joined by `_`. A bar stands before the name in CSV where that is another one.
    pub path: Cow<'static, str>,
    /// The title on screens; empty for data alone.
    pub title: Cow<'static, str>,
    pub level: Level,
    pub kind: Kind,
    /// Whether a value may be absent.
    pub is_optional: bool,
    /// What it means, with its unit and its range, for schemas and pages.
    pub meaning: &'static str,
}

impl Head {
    /// The key in JSON.
    pub(super) fn key(&self) -> &str {
        self.path.split_once('|').map_or(&self.path, |(key, _)| key)
    }

    /// The name in CSV and workbooks.
    fn name(&self) -> String {
        match self.path.split_once('|') {
            Some((_, name)) => name.to_owned(),
            None => self.path.replace('.', "_"),
        }
    }

    /// Whether JSON, CSV or workbooks have it.
    pub(super) fn is_data(&self) -> bool {
        self.is_json() || self.is_flat()
    }

    /// Whether JSON has it.
    pub(super) fn is_json(&self) -> bool {
        matches!(self.level, Level::Narrow(_) | Level::Wide | Level::Data | Level::Json)
    }

    /// Whether a screen may have it.
    pub(super) fn is_on_screen(&self, is_wide: bool) -> bool {
        match self.level {
            Level::Wide => is_wide,
            Level::Data | Level::Json | Level::Flat => false,
            _ => true,
        }
    }

    /// Whether CSV and workbooks have it: of what is nested, only what screens show.
    fn is_flat(&self) -> bool {
        match self.level {
            Level::Narrow(_) | Level::Wide | Level::Flat => true,
            Level::Data => self.below().is_none(),
            _ => false,
        }
    }

    fn below(&self) -> Option<&[Self]> {
        if let Kind::Rows(heads) | Kind::Record(heads) = &self.kind { Some(heads) } else { None }
    }
}

/// Rows for formats that have nothing below a cell: a row for each of those that are nested in
/// one, beside what stands around them.
pub(super) fn flattened(heads: &[Head], rows: &[Vec<Value>]) -> (Vec<Head>, Vec<Vec<Value>>) {
    (flat_heads(heads), flat_rows(heads, rows))
}

pub(super) fn flat_heads(heads: &[Head]) -> Vec<Head> {
    // What stands alone needs no name to be told apart.
    let is_alone = heads.len() == 1;
    let heads = heads.iter().filter(|head| head.is_flat()).flat_map(|head| {
        let path = head.name();
        let Some(below) = head.below() else {
            return vec![Head { path: Cow::Owned(path), ..head.clone() }];
        };
        let mut below = flat_heads(below);
        // A row has one of several rows: the names of those stand for themselves, unless those
        // around them have one of the names.
        let is_taken = |nested: &Head| heads.iter().any(|head| head.path == nested.path);
        let prefix = match head.kind {
            Kind::Record(_) => (!is_alone).then_some(path.as_str()),
            _ if below.iter().any(is_taken) => path.strip_suffix('s').or(Some(&path)),
            _ => None,
        };
        if let Some(prefix) = prefix {
            for column in &mut below {
                column.path = Cow::Owned(format!("{prefix}_{}", column.path));
            }
        }
        below
    });
    heads.collect()
}

fn flat_rows(heads: &[Head], rows: &[Vec<Value>]) -> Vec<Vec<Value>> {
    rows.iter().flat_map(|row| flat_row(heads, row)).collect()
}

/// The lines of a row: the product of those of its parts.
pub(super) fn flat_row(heads: &[Head], row: &[Value]) -> Vec<Vec<Value>> {
    let mut lines = vec![Vec::new()];
    for (head, value) in heads.iter().zip(row).filter(|(head, _)| head.is_flat()) {
        let parts = match (head.below(), value) {
            (Some(below), Value::Rows(rows)) if !rows.is_empty() => flat_rows(below, rows),
            (Some(below), Value::Record(values)) => flat_row(below, values),
            (Some(below), _) => vec![vec![Value::Absent; flat_heads(below).len()]],
            (None, _) => vec![vec![value.clone()]],
        };
        lines = lines
            .iter()
            .flat_map(|line| parts.iter().map(|part| [line.as_slice(), part].concat()))
            .collect();
    }
    lines
}

/// A column of rows of one type.
pub(in crate::report) struct Column<R> {
    pub head: Head,
    pub value: fn(&R) -> Value,
}

/// A column of every format.
pub(in crate::report) const fn column(path: &'static str, title: &'static str) -> Head {
    head(path, title, Level::Narrow(0))
}

const fn head(path: &'static str, title: &'static str, level: Level) -> Head {
    Head {
        path: Cow::Borrowed(path),
        title: Cow::Borrowed(title),
        level,
        kind: Kind::Inferred,
        is_optional: true,
        meaning: "",
    }
}

/// A number of any type as what a value holds; absent where it is none.
pub(in crate::report) trait Figure<T> {
    fn figure(self) -> Option<T>;
}

impl<T, N: Figure<T>> Figure<T> for Option<N> {
    fn figure(self) -> Option<T> {
        self?.figure()
    }
}

macro_rules! integers {
    ($($number:ty)*) => {$(
        impl Figure<u64> for $number {
            fn figure(self) -> Option<u64> {
                u64::try_from(self).ok()
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 usize i32 i64);

impl Figure<f64> for f64 {
    fn figure(self) -> Option<f64> {
        Some(self)
    }
}

impl Figure<f64> for Decimal {
    fn figure(self) -> Option<f64> {
        self.to_f64()
    }
}

/// What columns of each kind hold and how a cell becomes a value, a row for each: its name in
/// `columns!`, the constructor of its values, which takes what it needs or an option of it, and
/// the kind.
macro_rules! cells {
    ($($name:ident: $make:ident($value:ident: $type:ty) => $kind:expr, $cell:expr;)*) => {
        impl Value {
            $(pub(in crate::report) fn $make($value: $type) -> Self { $cell })*
        }

        pub(in crate::report) mod cells {
            use crate::domain::Money;
            use crate::report::doc::Value;
            use crate::report::doc::columns::Figure;
            use jiff::Timestamp;
            use jiff::civil::Date;
            use rust_decimal::Decimal;
            use std::collections::BTreeMap;

            $(pub(in crate::report) fn $name($value: $type) -> Value { Value::$make($value) })*
        }

        pub(in crate::report) mod kinds {
            use super::Kind;
            $(pub(in crate::report) fn $name() -> Kind { $kind })*
        }
    };
}
cells! {
    any: make_any(value: Value) => Kind::Inferred, value;
    text: make_text(text: impl Into<Option<String>>) => Kind::Text, Self::of(text.into(), Self::Text);
    texts: make_texts(texts: impl Into<Option<Vec<String>>>) => Kind::Texts, Self::of(texts.into(), Self::Texts);
    list: make_list(values: Vec<Value>) => Kind::List, Self::List(values);
    time: make_time(at: impl Into<Option<Timestamp>>) => Kind::Time, Self::of(at.into(), Self::Time);
    date: make_date(day: impl Into<Option<Date>>) => Kind::Date, Self::of(day.into(), Self::Date);
    flag: make_flag(flag: impl Into<Option<bool>>) => Kind::Flag, Self::of(flag.into(), Self::Flag);
    count: make_count(number: impl Figure<u64>) => Kind::Count, Self::of(number.figure(), Self::Count);
    number: make_decimal(number: impl Figure<f64>) => Kind::Number, Self::make_number(number, 1);
    fraction: make_fraction(number: impl Figure<f64>) => Kind::NumberTo(1), Self::make_number(number, 1);
    seconds: make_seconds(seconds: impl Into<Option<f64>>) => Kind::Measured, Self::of(seconds.into(), Self::Seconds);
    quantity: make_quantity(number: impl Into<Option<Decimal>>) => Kind::Quantity, Self::of(number.into(), Self::Quantity);
    cell: make_cell(value: Value) => Kind::Number, value;
    pairs: make_pairs(pairs: &BTreeMap<String, String>) => Kind::Map(Box::new(Kind::Text)), Self::make_map(pairs.iter().map(|(name, text)| (name.clone(), Self::text(text))));
    millionths: make_millionths(number: impl Into<Option<f64>>) => Kind::Number, Self::of(number.into(), Self::Millionths);
    percent: make_percent(percent: impl Figure<f64>) => Kind::Percent, Self::of(percent.figure(), Self::Percent);
    utilization: make_utilization(percent: impl Figure<f64>) => Kind::NumberTo(100), Self::make_percent(percent);
    share: make_share(share: impl Into<Option<Decimal>>) => Kind::Share, Self::of(share.into(), Self::Share);
    money: make_money(amount: impl Into<Option<Money>>) => Kind::Money, Self::of(amount.into(), Self::Money);
    whole: make_whole(amount: impl Into<Option<Money>>) => Kind::Money, Self::of(amount.into(), Self::Whole);
    cost: make_cost(amount: impl Into<Option<Money>>) => Kind::Cost, Self::make_money(amount);
    price: make_price(price: impl Into<Option<Money>>) => Kind::Price, Self::of(price.into(), Self::Price);
}

impl Value {
    pub(in crate::report) fn make_word(word: impl Into<Option<&'static str>>) -> Self {
        Self::of(word.into(), Self::text)
    }

    pub(in crate::report) fn make_map(values: impl IntoIterator<Item = (String, Self)>) -> Self {
        Self::Map(values.into_iter().collect())
    }

    /// Of which screens show so many decimals.
    pub(in crate::report) fn make_number(number: impl Figure<f64>, decimals: usize) -> Self {
        Self::of(number.figure(), |number| Self::Number(number, decimals))
    }

    /// Of which screens show so many decimals.
    pub(in crate::report) fn make_rate(price: impl Into<Option<Money>>, decimals: u32) -> Self {
        Self::of(price.into(), |price| Self::Rate(price, decimals))
    }

    pub(in crate::report) fn make_rows<R>(
        columns: &[Column<R>],
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        Self::Rows(rows.into_iter().map(|row| values(columns, &row)).collect())
    }

    pub(in crate::report) fn make_record<R>(
        columns: &[Column<R>],
        row: impl Into<Option<R>>,
    ) -> Self {
        Self::of(row.into(), |row: R| Self::Record(values(columns, &row)))
    }
}

/// What columns say of a row.
pub(in crate::report) fn values<R>(columns: &[Column<R>], row: &R) -> Vec<Value> {
    columns.iter().map(|column| (column.value)(row)).collect()
}

/// The heads of columns.
pub(in crate::report) fn heads<R>(columns: Vec<Column<R>>) -> Vec<Head> {
    columns.into_iter().map(|column| column.head).collect()
}

/// Declares functions that return columns, a line each: what it holds, its path, its title,
/// its level, its value, and what it means unless that is plain. `opt` stands before what may be
/// absent; a word names all its words, a number or a price may name the decimals that screens
/// show, and rows and records name the function of their columns. A `cell` is a number of a unit
/// that its row decides, and `any` is whatever is not nested; both are given as a `Value`. A
/// `measured` number is never below zero.
macro_rules! columns {
    ($($(#[$doc:meta])* $vis:vis fn $name:ident $(<$life:lifetime>)? ($row:ident: $type:ty) {
        $( $kind:ident $($sub:ident)? $([$of:expr])? $path:literal, $title:literal, $level:expr, $value:expr $(, $meaning:literal)?; )*
    })+) => {$(
        $(#[$doc])*
        #[allow(unused_variables, reason = "a value may be the same for every row")]
        $vis fn $name $(<$life>)? () -> Vec<$crate::report::doc::Column<$type>> {
            #[allow(unused_imports, reason = "a table need not have every level")]
            use $crate::report::doc::Level::*;
            vec![$( $crate::report::doc::Column {
                head: $crate::report::doc::Head {
                    path: std::borrow::Cow::Borrowed($path),
                    title: std::borrow::Cow::Borrowed($title),
                    level: $level,
                    kind: columns!(@kind $kind $($sub)? $([$of])?),
                    is_optional: columns!(@optional $kind $($sub)?),
                    meaning: concat!($($meaning)?),
                },
                value: |$row: &$type| columns!(@value $kind $($sub)? $([$of])?, $value),
            } ),*]
        }
    )+};
    (@optional opt $kind:ident) => { true };
    (@optional $kind:ident) => { false };
    (@kind opt $($rest:tt)+) => { columns!(@kind $($rest)+) };
    (@kind word [$of:expr]) => { $crate::report::doc::Kind::Word($of) };
    (@kind count [$of:expr]) => { $crate::report::doc::Kind::CountOf($of) };
    (@kind percent [$of:expr]) => { $crate::report::doc::Kind::NumberTo($of) };
    (@kind measured [$of:expr]) => { $crate::report::doc::Kind::Measured };
    (@kind map [$of:expr]) => { $crate::report::doc::Kind::Map(Box::new($of)) };
    (@kind rows [$of:expr]) => { $crate::report::doc::Kind::Rows($crate::report::doc::heads($of())) };
    (@kind record [$of:expr]) => { $crate::report::doc::Kind::Record($crate::report::doc::heads($of())) };
    (@kind $kind:ident $([$of:expr])?) => { $crate::report::doc::kinds::$kind() };
    (@value opt rows [$of:expr], $value:expr) => {
        $crate::report::doc::Value::of($value, |rows| $crate::report::doc::Value::make_rows(&$of(), rows))
    };
    (@value opt $kind:ident $($rest:tt)+) => { columns!(@value $kind $($rest)+) };
    (@value word [$of:expr], $value:expr) => { $crate::report::doc::Value::make_word($value) };
    (@value map [$of:expr], $value:expr) => { $crate::report::doc::Value::make_map($value) };
    (@value number [$of:expr], $value:expr) => { $crate::report::doc::Value::make_number($value, $of) };
    (@value measured [$of:expr], $value:expr) => { $crate::report::doc::Value::make_number($value, $of) };
    (@value price [$of:expr], $value:expr) => { $crate::report::doc::Value::make_rate($value, $of) };
    (@value rows [$of:expr], $value:expr) => { $crate::report::doc::Value::make_rows(&$of(), $value) };
    (@value record [$of:expr], $value:expr) => { $crate::report::doc::Value::make_record(&$of(), $value) };
    (@value $kind:ident $([$of:expr])?, $value:expr) => { $crate::report::doc::cells::$kind($value) };
}
pub(in crate::report) use columns;
