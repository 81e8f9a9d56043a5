//! `--format json`: sheets are lists under their keys.

use super::{Answer, Figure, Given, Missing, Printed, Sheet, Step};
use crate::report::SCHEMA_VERSION;
use crate::report::shared::text::{json_document, json_figure, json_money, json_rate};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// An answer as JSON.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn answer_json(answer: &Answer) -> Result<String, serde_json::Error> {
    json_document(&Document(answer))
}

struct Document<'a>(&'a Answer);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let answer = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema_version", SCHEMA_VERSION)?;
        map.serialize_entry("planner", answer.planner)?;
        map.serialize_entry("headline", &answer.headline)?;
        map.serialize_entry("currency", &currency(answer))?;
        map.serialize_entry("given", &All(&answer.given))?;
        map.serialize_entry("steps", &All(&answer.steps))?;
        for sheet in &answer.sheets {
            map.serialize_entry(sheet.key, &Rows(sheet))?;
        }
        map.serialize_entry("caveats", &answer.caveats)?;
        map.serialize_entry("missing", &All(&answer.missing))?;
        map.serialize_entry("files", &All(&answer.files))?;
        map.serialize_entry("next", &answer.next)?;
        map.end()
    }
}

/// The currency of the amounts; absent where none is in it, or more than one.
fn currency(answer: &Answer) -> Option<&'static str> {
    let given = answer.given.iter().map(|one| &one.value);
    let steps = answer.steps.iter().map(|one| &one.result);
    let cells = answer.sheets.iter().flat_map(|sheet| &sheet.rows).flatten();
    let mut codes = given.chain(steps).chain(cells).filter_map(|one| match one {
        Figure::Money(amount) | Figure::Price(amount) => Some(amount.currency().code()),
        _ => None,
    });
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

impl Serialize for View<'_, Figure> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Figure::Absent => serializer.serialize_none(),
            Figure::Text(text) => serializer.serialize_str(text),
            Figure::Time(at) => serializer.collect_str(at),
            Figure::Date(day) => serializer.collect_str(day),
            Figure::Flag(flag) => serializer.serialize_bool(*flag),
            Figure::Count(number) => serializer.serialize_u64(*number),
            Figure::Number(value, _) | Figure::Percent(value) => {
                json_figure(*value).serialize(serializer)
            }
            Figure::Money(amount) => json_money(*amount).serialize(serializer),
            Figure::Price(price) => json_rate(price.amount()).serialize(serializer),
        }
    }
}

struct Rows<'a>(&'a Sheet);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sheet = self.0;
        serializer.collect_seq(sheet.rows.iter().map(|row| OneRow { sheet, row }))
    }
}

struct OneRow<'a> {
    sheet: &'a Sheet,
    row: &'a [Figure],
}

impl Serialize for OneRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys = self.sheet.columns.iter().map(|column| column.key);
        serializer.collect_map(keys.zip(self.row.iter().map(View)))
    }
}
