//! JSON with an end: no number, text or plain list fills the memory, and an error has its place.

use super::bounded::{BUFFER_BYTES, checked, open, too_large};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, Unexpected, Visitor};
use std::fmt;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Bytes of a list without objects: a million values of a series in full precision.
const LONGEST_LIST: usize = 32 << 20;

/// JSON on its way to the parser, without numbers, texts and plain lists of any
/// length: a parser holds one of them whole. Checked a buffer at a time.
#[derive(Default)]
struct JsonText {
    most: usize,
    /// Bytes of the number or text that is being read.
    length: usize,
    /// Bytes since an object began or ended.
    since_object: usize,
    in_text: bool,
    is_escaped: bool,
}

/// JSON for a parser, with numbers and texts of at most so many bytes.
pub(in crate::files) fn json_text<R: Read>(inner: R, most: usize) -> impl Read {
    let mut text = JsonText { most, ..JsonText::default() };
    BufReader::with_capacity(BUFFER_BYTES, checked(inner, move |bytes| text.follow(bytes)))
}

impl JsonText {
    /// Follows some bytes.
    ///
    /// # Errors
    /// When a number, text or list in them is too long.
    fn follow(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            self.since_object += 1;
            if self.in_text {
                self.length += 1;
                if self.is_escaped {
                    self.is_escaped = false;
                } else if *byte == b'\\' {
                    self.is_escaped = true;
                } else if *byte == b'"' {
                    self.in_text = false;
                    self.length = 0;
                }
            } else {
                match byte {
                    b',' | b':' | b'[' | b']' | b' ' | b'\t' | b'\n' | b'\r' => self.length = 0,
                    b'{' | b'}' => (self.length, self.since_object) = (0, 0),
                    b'"' => (self.length, self.in_text) = (0, true),
                    _ => self.length += 1,
                }
            }
            if self.length > self.most {
                return Err(too_large(format!(
                    "a string or number in it is longer than {} bytes",
                    self.most
                )));
            }
            if self.since_object > LONGEST_LIST {
                return Err(too_large("a list in it is longer than 32 MiB"));
            }
        }
        Ok(())
    }
}

/// What a JSON document is wrong about, and where.
#[derive(Debug)]
pub(crate) struct JsonError {
    /// The keys that lead there, such as `instances[3].id`; empty at the top.
    pub place: String,
    pub source: InvalidJson,
}

/// What is wrong in a JSON document.
#[derive(Debug, thiserror::Error)]
pub enum InvalidJson {
    /// It is not JSON, ends early, or cannot be read.
    #[error(transparent)]
    Text(serde_json::Error),
    /// It is JSON, and something in it is not as it must be.
    #[error(transparent)]
    Value(InvalidValue),
}

/// What is wrong in complete JSON.
#[derive(Debug, thiserror::Error)]
#[error("{words}{position}")]
pub struct InvalidValue {
    /// What was found and what was expected, without line and column.
    pub words: String,
    /// Line and column as they end a message; empty where the parser has not added them.
    position: String,
}

/// Characters of a message: a document may be one text.
const LONGEST_MESSAGE: usize = 500;

impl From<serde_json::Error> for InvalidJson {
    fn from(error: serde_json::Error) -> Self {
        if !error.is_data() {
            return Self::Text(error);
        }
        let mut words = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let own = words.strip_suffix(&position).map(str::len);
        let position = words.split_off(own.unwrap_or(words.len()));
        if let Some((end, _)) = words.char_indices().nth(LONGEST_MESSAGE) {
            words.replace_range(end.., "…");
        }
        Self::Value(InvalidValue { words, position })
    }
}

/// A place for the end of a message; nothing at the top.
pub(crate) fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" at `{place}`") }
}

/// Reads a JSON document of which one text or number has at most so many bytes.
///
/// # Errors
/// With the place, where it is not JSON or not what the seed reads.
pub(crate) fn read_json<'de, S: DeserializeSeed<'de>>(
    input: impl Read,
    longest: usize,
    seed: S,
) -> Result<S::Value, JsonError> {
    let mut document = serde_json::Deserializer::from_reader(json_text(input, longest));
    let mut track = serde_path_to_error::Track::new();
    let read = seed.deserialize(serde_path_to_error::Deserializer::new(&mut document, &mut track));
    read.and_then(|value| document.end().map(|()| value)).map_err(|error| {
        let place = track.path().to_string();
        JsonError { place: if place == "." { String::new() } else { place }, source: error.into() }
    })
}

/// Reads a JSON file, plain or gzip-compressed.
///
/// # Errors
/// Those of the file within those of JSON.
pub(crate) fn read_json_file<'de, S: DeserializeSeed<'de>>(
    path: &Path,
    longest: usize,
    seed: S,
) -> io::Result<Result<S::Value, JsonError>> {
    Ok(read_json(open(path)?, longest, seed))
}

/// A value as a text, or as a number.
pub(crate) struct TextOrNumber<T> {
    /// What it is, for messages.
    pub expected: &'static str,
    pub of_text: fn(&str) -> Option<T>,
    pub of_number: fn(f64) -> Option<T>,
}

impl<T> Visitor<'_> for TextOrNumber<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.of_text)(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        (self.of_number)(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }
}

/// For `deserialize_with`: reads what serde has buffered, as in a tagged enum.
///
/// # Errors
/// Those of the value, after the keys that lead to it.
pub(in crate::files) fn typed<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        match error.path().to_string().as_str() {
            "." => error.into_inner(),
            place => de::Error::custom(format_args!("`{place}`: {}", error.inner())),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AtMost;
    use serde_json::Value;
    use std::marker::PhantomData;

    fn read(text: &str, longest: usize) -> Result<Value, JsonError> {
        read_json(text.as_bytes(), longest, PhantomData::<Value>)
    }

    #[test]
    fn a_text_that_is_too_long_is_refused_and_others_are_not() {
        let longest = "x".repeat(20);
        let of = |text: &str| read(&format!("{{\"a\": [\"{text}\", 1]}}"), 21);
        assert!(of(&longest).is_ok());
        assert!(of(&"\\\"".repeat(10)).is_ok());
        for text in [format!("{longest}xx"), "\\\"".repeat(11)] {
            let InvalidJson::Text(error) = of(&text).expect_err("too long").source else {
                panic!("it is not read to its end");
            };
            assert!(error.is_io(), "{error}");
            assert!(error.to_string().contains("longer than 21 bytes"));
        }
        assert!(read(&"7".repeat(22), 21).is_err());
    }

    #[test]
    fn a_list_has_its_length() {
        let list = |text: &str| {
            read_json(text.as_bytes(), 9, PhantomData::<AtMost<u8, 2>>).map(|list| list.0)
        };
        assert_eq!(list("[1, 2]").ok(), Some(vec![1, 2]));
        let error = list("[1, 2, 3]").expect_err("one too many");
        assert!(error.source.to_string().starts_with("a list here has at most 2"));
    }

    #[test]
    fn a_wrong_value_is_named_in_words_of_serde() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields, expecting = "an object with `kind`")]
        #[allow(dead_code)]
        enum Tagged {
            One {
                id: String,
                count: Option<u16>,
                tags: Option<std::collections::BTreeMap<String, String>>,
            },
        }
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields, expecting = "an object with `id`")]
        #[allow(dead_code)]
        struct Outer {
            id: String,
            count: Option<u16>,
            tags: Option<std::collections::BTreeMap<String, String>>,
            one: Option<Tagged>,
        }
        for (text, words) in [
            ("7", "invalid type: integer `7`, expected an object with `id`"),
            ("{}", "missing field `id`"),
            ("{\"id\": 7}", "invalid type: integer `7`, expected a string"),
            ("{\"id\": -1.5}", "invalid type: floating point `-1.5`, expected a string"),
            ("{\"id\": {}}", "invalid type: map, expected a string"),
            ("{\"id\": null}", "invalid type: null, expected a string"),
            ("{\"count\": 70000}", "invalid value: integer `70000`, expected u16"),
            (
                "{\"count\": \"a map, expected u64 at line 1\"}",
                "invalid type: string \"a map, expected u64 at line 1\", expected u16",
            ),
            ("{\"tags\": [1]}", "invalid type: sequence, expected a map"),
            ("{\"tags\": {\"a\": true}}", "invalid type: boolean `true`, expected a string"),
            ("{\"a\": 1}", "unknown field `a`, expected one of `id`, `count`, `tags`, `one`"),
            ("{\"id\": \"a\", \"id\": \"b\"}", "duplicate field `id`"),
            ("{\"one\": 7}", "invalid type: integer `7`, expected an object with `kind`"),
            ("{\"one\": {}}", "missing field `kind`"),
            ("{\"one\": {\"kind\": 0}}", "invalid type: integer `0`, expected variant identifier"),
            ("{\"one\": {\"kind\": \"a\"}}", "unknown variant `a`, expected `One`"),
        ] {
            let error = read_json(text.as_bytes(), 100, PhantomData::<Outer>).expect_err("wrong");
            let InvalidJson::Value(error) = error.source else {
                panic!("{text} is JSON");
            };
            assert_eq!(error.words, words, "{text}");
            let whole = error.to_string();
            assert!(whole.starts_with(&format!("{words} at line 1 column ")), "{whole}");
        }
    }

    #[test]
    fn the_place_is_told_by_keys_and_indexes() {
        #[derive(Debug, serde::Deserialize)]
        struct Outer {
            #[allow(dead_code)]
            a: Vec<Inner>,
        }
        #[derive(Debug, serde::Deserialize)]
        struct Inner {
            #[allow(dead_code)]
            b: u8,
        }
        for (text, place) in [
            ("{\"a\": [{\"b\": 1}, {\"b\": \"x\"}]}", "a[1].b"),
            ("{\"a\": [{\"b\": 1}, {}]}", "a[1]"),
            ("{}", ""),
        ] {
            let error = read_json(text.as_bytes(), 9, PhantomData::<Outer>).expect_err("wrong");
            assert_eq!(error.place, place, "{text}");
        }
    }
}
