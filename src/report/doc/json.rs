//! `--format json`: tables are lists under their keys.

use super::{Doc, Given, Head, Kind, Missing, Printed, Record, Step, Table, Value};
use crate::report::SCHEMA_VERSION;
use crate::report::shared::gaps::GapView;
use crate::report::shared::text::{json_document, json_figure, json_money, json_rate};
use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

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
        if doc.is_answer() {
            map.serialize_entry("planner", doc.name)?;
            map.serialize_entry("headline", &doc.headline)?;
            map.serialize_entry("currency", &currency(doc))?;
        }
        let (heads, rows): (Vec<Head>, Vec<Value>) = doc.data_tables().map(Table::field).unzip();
        let mut fields = Fields::of(&doc.record.heads, &doc.record.values);
        let mut extras = Fields::of(&doc.extras.heads, &doc.extras.values);
        extras.0.retain(|(_, _, value)| !value.is_empty());
        fields.0.extend(extras.0);
        fields.0.extend(Fields::of(&heads, &rows).0);
        fields.write(&mut map)?;
        // Every answer has these; another document, those that say something.
        let is_said = |is_empty: bool| doc.is_answer() || !is_empty;
        if is_said(doc.given.is_empty()) {
            map.serialize_entry("given", &All(&doc.given))?;
        }
        if is_said(doc.steps.is_empty()) {
            map.serialize_entry("steps", &All(&doc.steps))?;
        }
        if is_said(doc.caveats.is_empty()) {
            map.serialize_entry("caveats", &doc.caveats)?;
        }
        if is_said(doc.missing.is_empty()) {
            map.serialize_entry("missing", &All(&doc.missing))?;
        }
        if let Some(gaps) = &doc.gaps {
            map.serialize_entry("gaps", &GapView::list(gaps))?;
        }
        if is_said(doc.files.is_empty()) {
            map.serialize_entry("files", &All(&doc.files))?;
        }
        if is_said(doc.next.is_empty()) {
            map.serialize_entry("next", &doc.next)?;
        }
        map.end()
    }
}

/// The currency of the amounts; absent where none is in it, or more than one.
fn currency(doc: &Doc) -> Option<&'static str> {
    let given = doc.given.iter().map(|one| &one.value);
    let steps = doc.steps.iter().map(|one| &one.result);
    let cells = doc.tables.iter().flat_map(|table| &table.rows).flatten();
    let amounts = given.chain(steps).chain(cells).filter_map(Value::amount);
    let mut codes = amounts.map(|amount| amount.currency().code());
    let first = codes.next()?;
    codes.all(|code| code == first).then_some(first)
}

struct All<'a, T>(&'a [T]);

impl<'a, T> Serialize for All<'a, T>
where
    View<'a, T>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(View))
    }
}

struct View<'a, T>(&'a T);

impl Serialize for View<'_, Given> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("key", self.0.key)?;
        map.serialize_entry("value", &View(&self.0.value))?;
        map.serialize_entry("source", &self.0.source)?;
        map.end()
    }
}

impl Serialize for View<'_, Step> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("name", &self.0.name)?;
        map.serialize_entry("arithmetic", &self.0.arithmetic)?;
        map.serialize_entry("result", &View(&self.0.result))?;
        map.end()
    }
}

impl Serialize for View<'_, Missing> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("what", &self.0.what)?;
        map.serialize_entry("remedy", &self.0.remedy)?;
        map.end()
    }
}

impl Serialize for View<'_, Printed> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("name", &self.0.name)?;
        map.serialize_entry("purpose", &self.0.purpose)?;
        map.serialize_entry("text", &self.0.text)?;
        map.end()
    }
}

impl Serialize for View<'_, Value> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            // Only a column with heads holds what is nested: see `Cell`.
            Value::Absent | Value::Record(_) | Value::Rows(_) => serializer.serialize_none(),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Texts(texts) => serializer.collect_seq(texts),
            Value::Time(at) => serializer.collect_str(at),
            Value::Date(day) => serializer.collect_str(day),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Count(number) => serializer.serialize_u64(*number),
            // As many decimals as screens show, and at least four.
            Value::Number(value, decimals @ 5..) => {
                let scale = 10_f64.powi(i32::try_from(*decimals).unwrap_or(i32::MAX));
                ((value * scale).round() / scale).serialize(serializer)
            }
            Value::Number(value, _) | Value::Seconds(value) | Value::Percent(value) => {
                json_figure(*value).serialize(serializer)
            }
            Value::Quantity(number) => json_rate(*number).serialize(serializer),
            Value::Signed(value) => View(value.as_ref()).serialize(serializer),
            Value::List(values) => serializer.collect_seq(values.iter().map(View)),
            Value::Map(values) => {
                serializer.collect_map(values.iter().map(|(name, value)| (name, View(value))))
            }
            Value::Millionths(value) => millionths(*value).serialize(serializer),
            Value::Share(share) => rounded(*share).serialize(serializer),
            Value::Money(amount) | Value::Whole(amount) => {
                json_money(*amount).serialize(serializer)
            }
            Value::Price(price) | Value::Rate(price, _) => {
                json_rate(price.amount()).serialize(serializer)
            }
        }
    }
}

/// Six decimals of a number.
pub(super) fn millionths(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// A share has four decimals, half away from zero.
pub(super) fn rounded(share: Decimal) -> Option<f64> {
    let strategy = RoundingStrategy::MidpointAwayFromZero;
    share.round_dp_with_strategy(4, strategy).to_f64()
}

/// Values with their heads and what is left of their paths.
struct Fields<'a>(Vec<(&'a str, &'a Head, &'a Value)>);

impl<'a> Fields<'a> {
    fn of(heads: &'a [Head], values: &'a [Value]) -> Self {
        let fields = heads.iter().zip(values);
        let fields = fields.filter(|(head, _)| head.is_json());
        Self(
            fields
                .map(|(head, value)| (head.key(), head, value))
                .collect(),
        )
    }

    /// Adds each to a map; those with a common first part of their paths are an object, which is
    /// absent where all of it is.
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let mut written: Vec<&str> = Vec::new();
        for (path, head, value) in &self.0 {
            let Some((first, _)) = path.split_once('.') else {
                map.serialize_entry(*path, &Cell(head, value))?;
                continue;
            };
            if written.contains(&first) {
                continue;
            }
            written.push(first);
            let parts = self.0.iter().filter_map(|(path, head, value)| {
                let rest = path.strip_prefix(first)?.strip_prefix('.')?;
                Some((rest, *head, *value))
            });
            let parts = Self(parts.collect());
            let is_absent = parts.0.iter().all(|(_, _, value)| **value == Value::Absent);
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

/// A value below its head.
struct Cell<'a>(&'a Head, &'a Value);

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (&self.0.kind, self.1) {
            (Kind::Record(heads), Value::Record(values)) => {
                Fields::of(heads, values).serialize(serializer)
            }
            (Kind::Rows(heads), Value::Rows(rows)) => Rows(heads, rows).serialize(serializer),
            (_, value) => View(value).serialize(serializer),
        }
    }
}

struct Rows<'a>(&'a [Head], &'a [Vec<Value>]);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.1.iter().map(|row| Fields::of(self.0, row)))
    }
}
