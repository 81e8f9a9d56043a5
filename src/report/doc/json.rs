//! `--format json`: tables are lists under their keys.

use super::parts::{gaps_table, lists, parts, record};
use super::{Doc, Head, Kind, Table, Value};
use crate::report::SCHEMA_VERSION;
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
        let record = record(doc);
        let (heads, rows): (Vec<Head>, Vec<Value>) = doc.data_tables().map(Table::field).unzip();
        let mut fields = Fields::of(&record.heads, &record.values);
        let mut extras = Fields::of(&doc.extras.heads, &doc.extras.values);
        extras.0.retain(|(_, _, value)| !value.is_empty());
        fields.0.extend(extras.0);
        fields.0.extend(Fields::of(&heads, &rows).0);
        fields.write(&mut map)?;
        // Every answer has these; another document, those that say something.
        let is_said = |is_empty: bool| doc.is_answer() || !is_empty;
        for (head, rows) in parts(doc).iter().map(Table::field) {
            if is_said(rows.is_empty()) {
                map.serialize_entry(&head.path, &Cell(&head, &rows))?;
            }
        }
        for (key, _, texts) in lists(doc) {
            if is_said(texts.is_empty()) {
                map.serialize_entry(key, texts)?;
            }
        }
        if let Some(gaps) = &doc.gaps {
            let (head, rows) = gaps_table(gaps).field();
            map.serialize_entry(&head.path, &Cell(&head, &rows))?;
        }
        map.end()
    }
}

struct View<'a>(&'a Value);

impl Serialize for View<'_> {
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
    share.round_dp_with_strategy(4, RoundingStrategy::MidpointAwayFromZero).to_f64()
}

/// Values with their heads and what is left of their paths.
struct Fields<'a>(Vec<(&'a str, &'a Head, &'a Value)>);

impl<'a> Fields<'a> {
    fn of(heads: &'a [Head], values: &'a [Value]) -> Self {
        let fields = heads.iter().zip(values).filter(|(head, _)| head.is_json());
        Self(fields.map(|(head, value)| (head.key(), head, value)).collect())
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
                Some((path.strip_prefix(first)?.strip_prefix('.')?, *head, *value))
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
            (Kind::Rows(heads), Value::Rows(rows)) => {
                serializer.collect_seq(rows.iter().map(|row| Fields::of(heads, row)))
            }
            (_, value) => View(value).serialize(serializer),
        }
    }
}
