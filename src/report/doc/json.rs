//! `--format json`: tables are lists under their keys; and what documents of every command have in
//! common, by its columns.

use crate::domain::{Currency, Gap};
use crate::report::SCHEMA_VERSION;
use crate::report::doc::{
    Doc, Given, Head, Kind, Missing, Printed, Record, Step, Table, Value, tables,
};
use crate::report::shared::text::{json_document, json_figure, json_money, json_rate};
use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// A document as JSON.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn doc_json(doc: &Doc) -> Result<String, serde_json::Error> {
    json_document(&Document(doc))
}

struct Document<'a>(&'a Doc);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let doc = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema_version", SCHEMA_VERSION)?;
        let record = record(doc);
        let mut fields = Fields::of(&record.heads, &record.values);
        let mut extras = Fields::of(&doc.extras.heads, &doc.extras.values);
        extras.0.retain(|(_, cell)| !cell.is_empty());
        fields.0.extend(extras.0);
        fields.0.extend(doc.data_tables().map(|table| (table.key, Cell::of_rows(table))));
        fields.write(&mut map)?;
        // Every answer has these; another document, those that say something.
        let is_said = |is_empty: bool| doc.is_answer() || !is_empty;
        for table in &parts(doc) {
            if is_said(table.rows.is_empty()) {
                map.serialize_entry(table.key, &Cell::of_rows(table))?;
            }
        }
        for (key, _, texts) in lists(doc) {
            if is_said(texts.is_empty()) {
                map.serialize_entry(key, texts)?;
            }
        }
        if let Some(gaps) = &doc.gaps {
            let table = gaps_table(gaps);
            map.serialize_entry(table.key, &Cell::of_rows(&table))?;
        }
        map.end()
    }
}

/// Six decimals of a number.
pub(super) fn millionths(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// A share has four decimals, half away from zero.
pub(super) fn rounded(share: Decimal) -> Option<f64> {
    share.round_dp_with_strategy(4, RoundingStrategy::MidpointAwayFromZero).to_f64()
}

/// Values with their heads and what is left of their paths.
struct Fields<'a>(Vec<(&'a str, Cell<'a>)>);

impl<'a> Fields<'a> {
    fn of(heads: &'a [Head], values: &'a [Value]) -> Self {
        let fields = heads.iter().zip(values).filter(|(head, _)| head.is_json());
        Self(fields.map(|(head, value)| (head.key(), Cell::Value(&head.kind, value))).collect())
    }

    /// Adds each to a map; those with a common first part of their paths are an object, which is
    /// absent where all of it is.
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let mut written: Vec<&str> = Vec::new();
        for (path, cell) in &self.0 {
            let Some((first, _)) = path.split_once('.') else {
                map.serialize_entry(*path, cell)?;
                continue;
            };
            if written.contains(&first) {
                continue;
            }
            written.push(first);
            let parts = self.0.iter().filter_map(|(path, cell)| {
                Some((path.strip_prefix(first)?.strip_prefix('.')?, *cell))
            });
            let parts = Self(parts.collect());
            let is_absent = parts.0.iter().all(|(_, cell)| cell.is_absent());
            map.serialize_entry(first, &(!is_absent).then_some(parts))?;
        }
        Ok(())
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&mut map)?;
        map.end()
    }
}

#[derive(Clone, Copy)]
enum Cell<'a> {
    /// A value of a column of some kind.
    Value(&'a Kind, &'a Value),
    Rows(&'a [Head], &'a [Vec<Value>]),
}

impl<'a> Cell<'a> {
    fn of_rows(table: &'a Table) -> Self {
        Self::Rows(&table.columns, &table.rows)
    }

    fn is_absent(self) -> bool {
        matches!(self, Self::Value(_, Value::Absent))
    }

    fn is_empty(self) -> bool {
        match self {
            Self::Value(_, value) => value.is_empty(),
            Self::Rows(_, rows) => rows.is_empty(),
        }
    }
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plain = |value| Cell::Value(&Kind::Inferred, value);
        let (kind, value) = match self {
            Self::Value(kind, value) => (kind, value),
            Self::Rows(heads, rows) => {
                return serializer.collect_seq(rows.iter().map(|row| Fields::of(heads, row)));
            }
        };
        match (kind, value) {
            (Kind::Record(heads), Value::Record(values)) => {
                Fields::of(heads, values).serialize(serializer)
            }
            (Kind::Rows(heads), Value::Rows(rows)) => Cell::Rows(heads, rows).serialize(serializer),
            (_, Value::Absent | Value::Record(_) | Value::Rows(_)) => serializer.serialize_none(),
            (_, Value::Text(text)) => serializer.serialize_str(text),
            (_, Value::Texts(texts)) => serializer.collect_seq(texts),
            (_, Value::Time(at)) => serializer.collect_str(at),
            (_, Value::Date(day)) => serializer.collect_str(day),
            (_, Value::Flag(flag)) => serializer.serialize_bool(*flag),
            (_, Value::Count(number)) => serializer.serialize_u64(*number),
            (_, Value::Signed(value)) => plain(value).serialize(serializer),
            (_, Value::List(values)) => serializer.collect_seq(values.iter().map(plain)),
            (_, Value::Map(values)) => {
                serializer.collect_map(values.iter().map(|(name, value)| (name, plain(value))))
            }
            // As many decimals as screens show, and at least four.
            (_, Value::Number(value, decimals @ 5..)) => {
                let scale = 10_f64.powi(i32::try_from(*decimals).unwrap_or(i32::MAX));
                ((value * scale).round() / scale).serialize(serializer)
            }
            (_, Value::Number(value, _) | Value::Seconds(value) | Value::Percent(value)) => {
                json_figure(*value).serialize(serializer)
            }
            (_, Value::Millionths(value)) => millionths(*value).serialize(serializer),
            (_, Value::Quantity(number)) => json_rate(*number).serialize(serializer),
            (_, Value::Share(share)) => rounded(*share).serialize(serializer),
            (_, Value::Money(amount) | Value::Whole(amount)) => {
                json_money(*amount).serialize(serializer)
            }
            (_, Value::Price(price) | Value::Rate(price, _)) => {
                json_rate(price.amount()).serialize(serializer)
            }
        }
    }
}

/// The commands whose documents are answers.
const ANSWERS: &[&str] = &[
    "autoscale", "bill", "capacity", "history", "history digest", "kpi", "place", "rent-or-buy",
    "reserved", "select", "share",
];

columns! {
    fn answer(doc: Doc) {
        word[ANSWERS] "planner", "", Data, doc.name, "The command that was asked.";
        text "headline", "", Data, doc.headline.clone(), "The answer in one sentence.";
        opt word[Currency::NAMES] "currency", "", Data, currency(doc), "Of all amounts; null where there are none, or where they are in several.";
    }

    fn given<'a>(fact: &'a Given) {
        text "key", "", Data, fact.key.to_owned(), "What it is, with its unit last.";
        any "value", "", Data, fact.value.clone(), "null where it is not known.";
        text "source", "", Data, fact.source.clone(), "Where it is from: a flag, a measurement, a page with its date.";
    }

    fn step<'a>(step: &'a Step) {
        text "name", "", Data, step.name.clone(), "";
        text "arithmetic", "", Data, step.arithmetic.clone(), "With its figures, such as 500 / 200 = 2.5, rounded up.";
        any "result", "", Data, step.result.clone(), "null where it is not known.";
    }

    fn missing<'a>(missing: &'a Missing) {
        text "what", "", Data, missing.what.clone(), "What was not known.";
        text "remedy", "", Data, missing.remedy.clone(), "What to run or to set.";
    }

    fn file<'a>(file: &'a Printed) {
        text "name", "", Data, file.name.clone(), "Such as nodepool.yaml.";
        text "purpose", "", Data, file.purpose.clone(), "What it is for, and how to apply it.";
        text "text", "", Data, file.text.clone(), "Its content.";
    }

    /// What could not be read.
    pub(in crate::report) fn gap_columns<'a>(gap: &'a Gap) {
        text "what", "", Data, gap.what.to_string(), "";
        text "where", "", Data, gap.place.clone(), "";
        text "reason", "", Data, gap.reason.clone(), "";
        text "hint", "", Data, gap.hint.clone(), "";
        opt text "cause", "", Data, gap.cause.as_ref().map(|cause| cause.kind().name().to_owned()), "The name of its cause; null where an estate states its reason in its own words.";
    }
}

/// What could not be read, for programs.
pub(in crate::report) fn gaps_table(list: &[Gap]) -> Table {
    Table::of("gaps", "GAPS", ("gap", "gaps"), gap_columns(), list)
}

/// The keys of the document itself.
pub(super) fn record(doc: &Doc) -> Cow<'_, Record> {
    if doc.is_answer() { Cow::Owned(Record::of(answer(), doc)) } else { Cow::Borrowed(&doc.record) }
}

/// The parts of a document that are rows; the titles are for schemas.
pub(super) fn parts(doc: &Doc) -> [Table; 4] {
    let noun = ("row", "rows");
    tables! {
        "given", "What the figures rest on.", noun, given(), &doc.given;
        "steps", "How the figures follow, in order.", noun, step(), &doc.steps;
        "missing", "What was not known, and how to measure it.", noun, missing(), &doc.missing;
        "files", "Configuration to apply; none of it was applied.", noun, file(), &doc.files;
    }
}

/// The parts that are texts, with what they mean.
pub(super) fn lists(doc: &Doc) -> [(&'static str, &'static str, &[String]); 2] {
    [
        (
            "caveats",
            "What somebody who acts on it must know, the most serious first.",
            &doc.caveats,
        ),
        ("next", "Commands that go on from here.", &doc.next),
    ]
}

/// The currency of the amounts; absent where none is in it, or more than one.
fn currency(doc: &Doc) -> Option<&'static str> {
    let given = doc.given.iter().map(|input| &input.value);
    let steps = doc.steps.iter().map(|step| &step.result);
    let cells = doc.tables.iter().flat_map(|table| &table.rows).flatten();
    let amounts = given.chain(steps).chain(cells).filter_map(Value::amount);
    let mut codes = amounts.map(|amount| amount.currency().code());
    let first = codes.next()?;
    codes.all(|code| code == first).then_some(first)
}
