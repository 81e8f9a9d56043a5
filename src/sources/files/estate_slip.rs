//! What is wrong in a complete estate, in words of the format, and where: by
//! the keys that lead there, such as `instances[3].addresses[0]`.

use std::io::{BufRead, BufReader, Read};

/// What is wrong in a complete estate.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Slip(String);

impl Slip {
    /// Puts the parser's words into those of somebody who writes JSON. What it
    /// does not know stays as it is.
    pub(super) fn of(text: &str) -> Self {
        Self(
            mismatch(text)
                .or_else(|| missing(text))
                .or_else(|| unknown(text))
                .unwrap_or_else(|| text.to_owned()),
        )
    }
}

/// `invalid type: map, expected u64 at line 1 column 2`.
fn mismatch(text: &str) -> Option<String> {
    let rest = text
        .strip_prefix("invalid type: ")
        .or_else(|| text.strip_prefix("invalid value: "))?;
    let (found, rest) = rest.rsplit_once(", expected ")?;
    let (expected, place) = rest.rsplit_once(" at line ")?;
    let found = match found.split_once(' ') {
        Some(("string", value)) => format!("the text {value}"),
        Some(("integer", value)) => format!("the number {value}"),
        Some(("floating", value)) => format!("the number {}", value.trim_start_matches("point ")),
        Some(("boolean", value)) => value.to_owned(),
        _ => match found {
            "map" => "an object".to_owned(),
            "sequence" => "a list".to_owned(),
            other => other.to_owned(),
        },
    };
    let expected = match expected {
        "a string" | "a borrowed string" | "a character" => "a text in quotes",
        "a sequence" => "a list",
        "a map" => "an object",
        "a boolean" => "true or false",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" => "a whole number of zero or more",
        "i64" => "a whole number",
        "f64" => "a number",
        other => other,
    };
    Some(format!(
        "found {found}, expected {expected} at line {place}"
    ))
}

/// ``missing field `id` at line 1 column 2``.
fn missing(text: &str) -> Option<String> {
    let rest = text.strip_prefix("missing field ")?;
    let (key, place) = rest.split_once(" at line ")?;
    Some(format!("the key {key} is missing at line {place}"))
}

/// ``unknown field `a`, expected one of `b`, `c` at line 1 column 2``, or the same
/// of a `variant`, which is what `kind` says.
fn unknown(text: &str) -> Option<String> {
    let (what, rest) = text
        .strip_prefix("unknown field ")
        .map(|rest| ("key", rest))
        .or_else(|| Some(("kind", text.strip_prefix("unknown variant ")?)))?;
    let (key, known) = rest.split_once(", expected ")?;
    let known = known.strip_prefix("one of ").unwrap_or(known);
    Some(format!("unknown {what} {key}; known are {known}"))
}

/// An open object or list.
enum Open {
    /// The key that was read last, if any, and whether the next text is one.
    Object {
        key: Option<String>,
        wants_key: bool,
    },
    /// The index of the present element.
    List(usize),
}

/// Follows a document byte by byte.
#[derive(Default)]
struct Walk {
    open: Vec<Open>,
    /// The text that is being read, with whether the last byte escapes the next.
    text: Option<(Vec<u8>, bool)>,
}

impl Walk {
    fn take(&mut self, byte: u8) {
        match &mut self.text {
            Some((text, escaped)) => {
                if *escaped {
                    *escaped = false;
                    text.push(byte);
                } else if byte == b'\\' {
                    *escaped = true;
                } else if byte == b'"' {
                    self.end_text();
                } else {
                    text.push(byte);
                }
            }
            None => self.take_structure(byte),
        }
    }

    fn end_text(&mut self) {
        let text = self.text.take().map_or(Vec::new(), |(text, _)| text);
        if let Some(Open::Object { key, wants_key }) = self.open.last_mut()
            && *wants_key
        {
            *key = Some(String::from_utf8_lossy(&text).into_owned());
            *wants_key = false;
        }
    }

    fn take_structure(&mut self, byte: u8) {
        match byte {
            b'"' => self.text = Some((Vec::new(), false)),
            b'{' => self.open.push(Open::Object {
                key: None,
                wants_key: true,
            }),
            b'[' => self.open.push(Open::List(0)),
            b'}' | b']' => {
                self.open.pop();
            }
            b',' => match self.open.last_mut() {
                Some(Open::Object { key, wants_key }) => {
                    *key = None;
                    *wants_key = true;
                }
                Some(Open::List(index)) => *index += 1,
                None => {}
            },
            _ => {}
        }
    }

    fn place(&self) -> String {
        let mut place = String::new();
        for open in &self.open {
            match open {
                Open::Object { key: Some(key), .. } => {
                    if !place.is_empty() {
                        place.push('.');
                    }
                    place.push_str(key);
                }
                Open::Object { key: None, .. } => {}
                Open::List(index) => place.push_str(&format!("[{index}]")),
            }
        }
        place
    }
}

/// The keys that lead to a line and column, both counted from one; empty at the
/// top, and when the document cannot be read again.
///
/// `is_after` tells that the error is about what ends there, such as an object
/// that lacks a key, and not about the value that begins or ends there: a
/// reader has looked one byte ahead by then.
pub(super) fn place_of(document: impl Read, line: usize, column: usize, is_after: bool) -> String {
    let mut walk = Walk::default();
    let lines = BufReader::new(document).split(b'\n');
    for (index, text) in lines.take(line).enumerate() {
        let Ok(text) = text else {
            return String::new();
        };
        let is_last = index + 1 == line;
        let bytes = match text.get(..column) {
            Some(before) if is_last => before,
            _ => &text,
        };
        let ahead = !is_after && bytes.last().is_some_and(|byte| b",]}[{".contains(byte));
        let until = bytes.len() - usize::from(is_last && ahead);
        bytes[..until].iter().for_each(|byte| walk.take(*byte));
    }
    walk.place()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_speaks_of_json() {
        for (text, words) in [
            (
                "invalid type: integer `7`, expected a string at line 1 column 2",
                "found the number `7`, expected a text in quotes at line 1 column 2",
            ),
            (
                "invalid value: integer `70000`, expected u16 at line 1 column 2",
                "found the number `70000`, expected a whole number from 0 to 65535 at line 1 column 2",
            ),
            (
                "invalid type: string \"a map, expected u64 at line 1\", expected u64 at line 3 column 4",
                "found the text \"a map, expected u64 at line 1\", expected a whole number of zero or more at line 3 column 4",
            ),
            (
                "invalid type: map, expected a sequence at line 1 column 2",
                "found an object, expected a list at line 1 column 2",
            ),
            (
                "missing field `id` at line 1 column 2",
                "the key `id` is missing at line 1 column 2",
            ),
            (
                "unknown field `a`, expected one of `b`, `c` at line 1 column 2",
                "unknown key `a`; known are `b`, `c` at line 1 column 2",
            ),
            (
                "unknown field `a`, expected `id` at line 1 column 2",
                "unknown key `a`; known are `id` at line 1 column 2",
            ),
            (
                "unknown variant `a`, expected `b` or `c` at line 1 column 2",
                "unknown kind `a`; known are `b` or `c` at line 1 column 2",
            ),
            ("i-1 stands twice", "i-1 stands twice"),
        ] {
            assert_eq!(Slip::of(text).to_string(), words);
        }
    }

    #[test]
    fn the_place_is_told_by_keys_and_indexes() {
        let text = "{\"a\": 1,\n \"b\": [{\"c\\\"\": \"x,]\"}, {\"d\": [1, 2]}]}";
        let place = |line, column, is_after| place_of(text.as_bytes(), line, column, is_after);
        assert_eq!(place(1, 7, false), "a");
        assert_eq!(place(1, 8, false), "a", "the comma was looked at only");
        assert_eq!(place(2, 20, false), "b[0].c\"");
        assert_eq!(place(2, 21, true), "b[0]", "the object has ended");
        assert_eq!(place(2, 33, false), "b[1].d[1]");
        assert_eq!(place(2, 99, true), "");
        assert_eq!(place(9, 1, false), "");
    }
}
