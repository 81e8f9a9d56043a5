//! Mutations that know a format: most keep a document one that is read, and change
//! what it says; some break it.

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// Words that mean something somewhere, or are hard to print.
const DICTIONARY: &[&str] = &[
    "", "0", "-1", "1e999", "NaN", "null", "us-east-1", "p5.48xlarge", "g5.xlarge",
    "2026-11-01T00:00:00Z", "9999-12-31T23:59:59Z", "-009999-01-01T00:00:00Z",
    "79228162514264337593543950335", "0.0000000000000000000000000001", "=cmd|' /C calc'!A0",
    "::stop-commands::x", "##[error]", "<script>alert(1)</script>", "\u{1b}[2J", "\u{202e}",
    "../../etc/passwd", "a\nb", "production", "training", "gpucost:workload",
];

/// One case in so many is broken without regard to its format.
const BROKEN_ONE_IN: u32 = 5;

/// A JSON document.
pub fn document(start: &[u8], random: &mut Rng) -> Vec<u8> {
    if random.u32(..BROKEN_ONE_IN) == 0 {
        return bytes(start, random);
    }
    let mut value: Value = serde_json::from_slice(start).expect("the corpus is JSON");
    for _ in 0..random.usize(1..=2) {
        let leaves = leaves(&value);
        change(&mut value, &leaves, random);
    }
    value.to_string().into_bytes()
}

/// Lines of which each is a JSON document.
pub fn json_lines(start: &[u8], random: &mut Rng) -> Vec<u8> {
    if random.u32(..BROKEN_ONE_IN) == 0 {
        return bytes(start, random);
    }
    let text = String::from_utf8(start.to_vec()).expect("the corpus is UTF-8");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // The first line says what the others are.
    let line = random.usize(1..lines.len());
    let mut value: Value = serde_json::from_str(&lines[line]).expect("JSON");
    let leaves = leaves(&value);
    change(&mut value, &leaves, random);
    lines[line] = value.to_string();
    lines.join("\n").into_bytes()
}

/// Text in lines: CSV, XML, TOML.
pub fn lines(start: &[u8], random: &mut Rng) -> Vec<u8> {
    if random.u32(..BROKEN_ONE_IN) == 0 {
        return bytes(start, random);
    }
    let text = String::from_utf8(start.to_vec()).expect("the corpus is UTF-8");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..random.usize(1..=3) {
        let at = random.usize(..lines.len());
        match random.u32(..10) {
            0 if lines.len() > 2 => {
                lines.remove(at);
            }
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let other = random.usize(..lines.len());
                lines.swap(at, other);
            }
            _ => lines[at] = other_number(&lines[at], random),
        }
    }
    (lines.join("\n") + "\n").into_bytes()
}

/// Text in lines whose order matters: other numbers, and nothing else.
pub fn numbers(start: &[u8], random: &mut Rng) -> Vec<u8> {
    if random.u32(..BROKEN_ONE_IN) == 0 {
        return bytes(start, random);
    }
    let text = String::from_utf8(start.to_vec()).expect("the corpus is UTF-8");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..random.usize(1..=3) {
        let at = random.usize(..lines.len());
        lines[at] = other_number(&lines[at], random);
    }
    (lines.join("\n") + "\n").into_bytes()
}

/// The line with another number in place of one of its numbers.
fn other_number(line: &str, random: &mut Rng) -> String {
    let digits: Vec<(usize, char)> =
        line.char_indices().filter(|(_, c)| c.is_ascii_digit()).collect();
    let Some((at, _)) = random.choice(&digits) else { return line.to_owned() };
    let mut changed = line.to_owned();
    changed.replace_range(*at..at + 1, &random.u32(..10).to_string());
    changed
}

/// Any bytes: flipped, cut, doubled, with words in between.
fn bytes(start: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut bytes = start.to_vec();
    for _ in 0..random.usize(1..=8) {
        if bytes.is_empty() {
            break;
        }
        let at = random.usize(..bytes.len());
        match random.u32(..5) {
            0 => bytes[at] = random.u8(..),
            1 => bytes.truncate(at),
            2 => {
                let word = DICTIONARY[random.usize(..DICTIONARY.len())];
                bytes.splice(at..at, word.bytes());
            }
            3 => {
                let end = (at + random.usize(..64)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                bytes.remove(at);
            }
        }
    }
    bytes
}

/// The texts and numbers of a document by the key that they stand under.
fn leaves(value: &Value) -> Vec<(String, Value)> {
    fn collect(key: &str, value: &Value, found: &mut Vec<(String, Value)>) {
        match value {
            Value::Array(all) => all.iter().for_each(|one| collect(key, one, found)),
            Value::Object(map) => map.iter().for_each(|(key, one)| collect(key, one, found)),
            leaf => found.push((key.to_owned(), leaf.clone())),
        }
    }
    let mut found = Vec::new();
    collect("", value, &mut found);
    found
}

/// Changes one place of a document.
fn change(value: &mut Value, leaves: &[(String, Value)], random: &mut Rng) {
    let places = places(value);
    let place = random.usize(..places);
    let mut at = 0;
    visit("", value, place, &mut at, &mut |key, value| {
        mutate(key, value, leaves, random);
    });
}

fn places(value: &Value) -> usize {
    1 + match value {
        Value::Array(all) => all.iter().map(places).sum(),
        Value::Object(map) => map.values().map(places).sum(),
        _ => 0,
    }
}

fn visit(
    key: &str,
    value: &mut Value,
    place: usize,
    at: &mut usize,
    act: &mut dyn FnMut(&str, &mut Value),
) {
    let is_here = *at == place;
    *at += 1;
    if is_here {
        act(key, value);
        return;
    }
    match value {
        Value::Array(all) => all.iter_mut().for_each(|one| visit(key, one, place, at, act)),
        Value::Object(map) => map.iter_mut().for_each(|(key, one)| visit(key, one, place, at, act)),
        _ => {}
    }
}

fn mutate(key: &str, value: &mut Value, leaves: &[(String, Value)], random: &mut Rng) {
    match value {
        Value::Array(all) => list(all, random),
        Value::Object(map) => object(map, random),
        leaf => scalar(key, leaf, leaves, random),
    }
}

fn list(all: &mut Vec<Value>, random: &mut Rng) {
    if all.is_empty() {
        return;
    }
    let at = random.usize(..all.len());
    match random.u32(..4) {
        0 => {
            all.remove(at);
        }
        1 => all.insert(at, all[at].clone()),
        2 => all.reverse(),
        _ => {
            let other = random.usize(..all.len());
            all.swap(at, other);
        }
    }
}

fn object(map: &mut Map<String, Value>, random: &mut Rng) {
    let keys: Vec<String> = map.keys().cloned().collect();
    let Some(key) = random.choice(&keys) else { return };
    // A key that is missing or unknown is refused, as a rule: seldom.
    match random.u32(..12) {
        0 => {
            map.remove(key);
        }
        1 => {
            let word = DICTIONARY[random.usize(..DICTIONARY.len())];
            map.insert(word.to_owned(), json!(word));
        }
        _ => {
            if let Some(value) = map.get_mut(key) {
                mutate(key, value, &[], random);
            }
        }
    }
}

fn scalar(key: &str, leaf: &mut Value, leaves: &[(String, Value)], random: &mut Rng) {
    if random.u32(..12) == 0 {
        let word = DICTIONARY[random.usize(..DICTIONARY.len())];
        *leaf = random
            .choice([json!(word), json!(null), json!(-1), json!(1e300), json!(true), json!([])])
            .unwrap_or_default();
        return;
    }
    match leaf {
        Value::Number(number) => {
            *leaf = match number.as_u64() {
                Some(whole) => json!(random.u64(..=whole.saturating_mul(2).max(1))),
                None => json!(number.as_f64().unwrap_or(1.0) * random.f64() * 2.0),
            };
        }
        Value::Bool(known) => *leaf = json!(!*known),
        _ => {
            // What stands under the same key elsewhere has the right form.
            let same: Vec<&Value> =
                leaves.iter().filter(|(other, _)| other == key).map(|(_, value)| value).collect();
            if let Some(other) = random.choice(&same) {
                *leaf = (*other).clone();
            }
        }
    }
}
