//! The JSON schema of a document, by its columns.

use super::json::{gaps_table, lists, parts, record};
use super::{Doc, Head, Kind, Table};
use crate::report::SCHEMA_VERSION;
use crate::report::shared::text::json_document;
use serde_json::{Value as Json, json};

/// An instant of RFC 3339.
const INSTANT: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$";

/// Types of a value that is not nested.
const ANY: [&str; 4] = ["string", "number", "boolean", "null"];

/// The forms of a document as one schema of `docs/schema`: each has all its tables, also those
/// without a row. `about` says what the document is.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn doc_schema(name: &str, about: &str, forms: &[Doc]) -> Result<String, serde_json::Error> {
    let title = format!("gpucost {} --format json", name.replace('-', " "));
    let mut schemas: Vec<Json> = forms.iter().map(form).collect();
    let body = match schemas.as_mut_slice() {
        [form] => form.take(),
        _ => json!({ "type": "object", "anyOf": schemas }),
    };
    schema_document(name, &title, about, body)
}

/// A schema of `docs/schema`. `about` says what it is of.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn schema_document(
    name: &str,
    title: &str,
    about: &str,
    body: Json,
) -> Result<String, serde_json::Error> {
    let mut document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:gpucost:schema:{name}:1"),
        "title": title,
        "description": about,
    });
    if let (Json::Object(document), Json::Object(body)) = (&mut document, body) {
        document.extend(body);
    }
    json_document(&document)
}

fn form(doc: &Doc) -> Json {
    let mut form = object(&record(doc).heads);
    add(&mut form, "schema_version", json!({ "const": SCHEMA_VERSION }), true);
    if let Json::Object(extras) = object(&doc.extras.heads)["properties"].take() {
        for (key, schema) in extras {
            add(&mut form, &key, schema, false);
        }
    }
    for table in doc.data_tables() {
        let (place, key) = place(&mut form, table.key);
        add(place, key, rows(table), !table.is_optional);
    }
    if doc.gaps.is_some() {
        let mut gaps =
            rows(&Table { title: "What could not be read.".to_owned(), ..gaps_table(&[]) });
        // The cause was added within a schema version.
        if let Some(required) = gaps["items"]["required"].as_array_mut() {
            required.pop();
        }
        add(&mut form, "gaps", gaps, true);
    }
    for part in parts(doc) {
        add(&mut form, part.key, rows(&part), doc.is_answer());
    }
    for (key, what, _) in lists(doc) {
        let texts = json!({ "type": "array", "items": { "type": "string" }, "description": what });
        add(&mut form, key, texts, doc.is_answer());
    }
    if doc.is_answer() {
        let cell = json!({ "type": ANY });
        form["additionalProperties"] = json!({
            "type": "array",
            "description": "Rows to compare; all rows of a list have the same keys.",
            "items": { "type": "object", "additionalProperties": cell },
        });
    }
    form
}

fn rows(table: &Table) -> Json {
    json!({ "type": "array", "items": object(&table.columns), "description": table.title })
}

/// The schema of an object with these keys.
fn object(heads: &[Head]) -> Json {
    let mut schema = json!({ "type": "object", "properties": {}, "required": [] });
    for head in heads.iter().filter(|head| head.is_json()) {
        let (place, key) = place(&mut schema, head.key());
        add(place, key, value(head), true);
    }
    schema
}

/// The object that a path leads to, made where there is none yet, and its key there.
fn place<'a, 'b>(mut object: &'a mut Json, path: &'b str) -> (&'a mut Json, &'b str) {
    let mut rest = path;
    while let Some((part, below)) = rest.split_once('.') {
        if object["properties"].get(part).is_none() {
            let empty = json!({ "type": ["object", "null"], "properties": {}, "required": [] });
            add(object, part, empty, true);
        }
        object = &mut object["properties"][part];
        rest = below;
    }
    (object, rest)
}

fn add(object: &mut Json, key: &str, schema: Json, is_required: bool) {
    object["properties"][key] = schema;
    if is_required && let Some(required) = object["required"].as_array_mut() {
        required.push(key.into());
    }
}

fn value(head: &Head) -> Json {
    let mut schema = match &head.kind {
        Kind::Inferred => json!({ "type": ANY }),
        Kind::Record(heads) => object(heads),
        Kind::Rows(heads) => json!({ "items": object(heads) }),
        Kind::Texts => json!({ "items": { "type": "string" } }),
        Kind::List => json!({ "items": { "type": ["string", "null"] } }),
        Kind::Map(kind) => {
            let of = Head {
                kind: kind.as_ref().clone(),
                is_optional: true,
                meaning: "",
                ..head.clone()
            };
            json!({ "additionalProperties": value(&of) })
        }
        Kind::Word(words) => {
            let absent = head.is_optional.then_some(Json::Null);
            json!({ "enum": words.iter().map(|word| Json::from(*word)).chain(absent).collect::<Vec<_>>() })
        }
        Kind::Count | Kind::Measured | Kind::Quantity | Kind::Share | Kind::Cost | Kind::Price => {
            json!({ "minimum": 0 })
        }
        Kind::NumberTo(most) => json!({ "minimum": 0, "maximum": most }),
        Kind::CountOf(numbers) => json!({ "enum": numbers }),
        Kind::Date => json!({ "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" }),
        Kind::Time => json!({ "format": "date-time", "pattern": INSTANT }),
        Kind::Text | Kind::Flag | Kind::Number | Kind::Percent | Kind::Money => json!({}),
    };
    if let Some(name) = head.kind.json_type() {
        schema["type"] = if head.is_optional { json!([name, "null"]) } else { json!(name) };
    }
    if !head.meaning.is_empty() {
        schema["description"] = head.meaning.into();
    }
    schema
}
