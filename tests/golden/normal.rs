//! The normal form of an output: what two programs print is equal where its values are.

use flate2::read::DeflateDecoder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;

/// FNV-1a with 64 bits.
pub fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// JSON by value, a workbook by its cells, and other text as it is; without the version.
pub fn normal(output: &[u8]) -> String {
    if output.starts_with(b"PK\x03\x04") {
        return cells(output);
    }
    let text = String::from_utf8_lossy(output).replace(env!("CARGO_PKG_VERSION"), "VERSION");
    match serde_json::from_str(&text) {
        Ok(document @ (Value::Object(_) | Value::Array(_))) => {
            serde_json::to_string_pretty(&sorted(document)).expect("JSON")
        }
        _ => text,
    }
}

/// Keys in order, and whole numbers without a fraction.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> = fields.into_iter().collect();
            let fields = fields.into_iter().map(|(key, value)| (key, sorted(value)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => Value::from(whole as i64),
            _ => Value::Number(number),
        },
        other => other,
    }
}

/// Sheets and strings of a workbook, a line for each row and string.
fn cells(workbook: &[u8]) -> String {
    let mut text = String::new();
    for (name, content) in unzipped(workbook) {
        if name.starts_with("xl/worksheets/sheet") || name == "xl/sharedStrings.xml" {
            let content = String::from_utf8_lossy(&content);
            let lines = content.replace("<row", "\n<row").replace("<si>", "\n<si>");
            text.push_str(&format!("{name}\n{lines}\n"));
        }
    }
    text
}

/// The files of an archive with their names, by its central directory.
fn unzipped(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let short = |at: usize| usize::from(u16::from_le_bytes([archive[at], archive[at + 1]]));
    let long = |at: usize| short(at) | (short(at + 2) << 16);
    let end = archive.len() - 22;
    assert!(archive[end..].starts_with(b"PK\x05\x06"), "a comment");
    let mut entry = long(end + 16);
    let mut files = Vec::new();
    for _ in 0..short(end + 10) {
        let name = &archive[entry + 46..entry + 46 + short(entry + 28)];
        let local = long(entry + 42);
        let start = local + 30 + short(local + 26) + short(local + 28);
        let packed = &archive[start..start + long(entry + 20)];
        let mut content = Vec::new();
        if short(entry + 10) == 0 {
            content.extend_from_slice(packed);
        } else {
            let mut reader = DeflateDecoder::new(packed);
            reader.read_to_end(&mut content).expect("packed data");
        }
        files.push((String::from_utf8_lossy(name).into_owned(), content));
        entry += 46 + short(entry + 28) + short(entry + 30) + short(entry + 32);
    }
    files
}

#[test]
fn values_are_compared_and_not_their_form() {
    // Test vectors by Noll.
    assert_eq!(hash(""), "cbf29ce484222325");
    assert_eq!(hash("foobar"), "85944171f73967e8");
    let form = |text: &str| normal(text.as_bytes());
    assert_eq!(form(r#"{"b":1.0,"a":[]}"#), form(r#"{"a": [], "b": 1}"#));
    assert_ne!(form(r#"{"a":[1,2]}"#), form(r#"{"a":[2,1]}"#));
    assert_ne!(form(r#"{"a":null}"#), form("{}"));
}
