//! Reading with an end: how much a document may hold before it is refused, so that
//! no file, however it was made, fills the memory.

use super::invalid_json::InvalidJson;
use super::typed_json::{Lost, Typed};
pub(in crate::sources) use crate::domain::AtMost;
pub(in crate::sources::files) use crate::domain::at_most;
use serde::de::DeserializeSeed;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

/// Bytes of text in any document, unpacked: an estate of 10,000 instances has half.
pub(super) const MOST_BYTES: u64 = 4 << 30;
/// Bytes of a report that is read as a whole.
pub(in crate::sources::files) const MOST_REPORT_BYTES: u64 = 256 << 20;
/// Bytes of a file that somebody writes by hand.
const MOST_WRITTEN_BYTES: u64 = 64 << 20;

/// An input with more than is read.
pub(in crate::sources::files) fn too_large(
    what: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// A text whose bytes are checked as they are read.
struct Checked<R, F> {
    inner: R,
    check: F,
}

impl<R: Read, F: FnMut(&[u8]) -> io::Result<()>> Read for Checked<R, F> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(out)?;
        (self.check)(&out[..bytes])?;
        Ok(bytes)
    }
}

fn checked<R: Read>(inner: R, check: impl FnMut(&[u8]) -> io::Result<()>) -> impl Read {
    Checked { inner, check }
}

/// A text of at most so many bytes, which ends with an error where it is longer.
pub(in crate::sources) fn bounded<R: Read>(inner: R, most: u64) -> impl Read {
    let mut read = 0;
    checked(inner, move |bytes| {
        read += bytes.len() as u64;
        if read > most {
            return Err(too_large(format!("it is larger than {}", size(most))));
        }
        Ok(())
    })
}

fn size(bytes: u64) -> String {
    const GIB: u64 = 1 << 30;
    if bytes >= GIB { format!("{} GiB", bytes / GIB) } else { format!("{} MiB", bytes >> 20) }
}

/// All of a file that somebody writes by hand: settings, a policy, prices.
///
/// # Errors
/// When it cannot be read, or is larger than any such file.
pub(crate) fn read_written(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bounded(File::open(path)?, MOST_WRITTEN_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// Also when it is not UTF-8.
pub(crate) fn read_written_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_written(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

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

const BUFFER_BYTES: usize = 1 << 16;

/// JSON for a parser, with numbers and texts of at most so many bytes.
pub(in crate::sources::files) fn json_text<R: Read>(inner: R, most: usize) -> impl Read {
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
                return Err(too_large(format!(
                    "a list in it is longer than {}",
                    size(LONGEST_LIST as u64)
                )));
            }
        }
        Ok(())
    }
}

/// What a JSON document is wrong about, and where.
#[derive(Debug)]
pub(in crate::sources) struct JsonError {
    /// The keys that lead there, such as `instances[3].id`; empty at the top.
    pub place: String,
    pub source: InvalidJson,
}

/// Reads a JSON document of which one text or number has at most so many bytes.
///
/// # Errors
/// With the place, where it is not JSON or not what the seed reads.
pub(in crate::sources) fn read_json<'de, S: DeserializeSeed<'de>>(
    input: impl Read,
    longest: usize,
    seed: S,
) -> Result<S::Value, JsonError> {
    let mut document = serde_json::Deserializer::from_reader(json_text(input, longest));
    let mut track = serde_path_to_error::Track::new();
    let lost = Lost::default();
    let typed = Typed::new(&mut document, &lost);
    let read = seed.deserialize(serde_path_to_error::Deserializer::new(typed, &mut track));
    let read = match read {
        Ok(value) => document.end().map(|()| value).map_err(InvalidJson::Text),
        Err(fault) => Err(fault.into()),
    };
    read.map_err(|source| {
        let place = track.path().to_string();
        JsonError { place: if place == "." { String::new() } else { place }, source }
    })
}

/// Bytes of a row. Those of real files have a few thousand.
const MOST_ROW_BYTES: usize = 8 << 20;

/// Where rows end, which only their reader knows.
#[derive(Debug, Clone, Default)]
pub(in crate::sources) struct RowEnd(Rc<Cell<usize>>);

impl RowEnd {
    /// A whole row was read.
    pub(in crate::sources) fn passed(&self) {
        self.0.set(0);
    }
}

/// A text of which no row is longer than a row may be.
pub(in crate::sources) fn short_rows<R: Read>(inner: R) -> (impl Read, RowEnd) {
    let end = RowEnd::default();
    let since_row = end.clone();
    let text = checked(inner, move |bytes| {
        since_row.0.set(since_row.0.get() + bytes.len());
        if since_row.0.get() > MOST_ROW_BYTES {
            let most = MOST_ROW_BYTES >> 20;
            return Err(too_large(format!("a row of it is longer than {most} MiB")));
        }
        Ok(())
    });
    (text, end)
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn an_input_without_an_end_ends() {
        let endless = std::io::repeat(b' ');
        let error =
            bounded(endless, 1 << 20).read_to_end(&mut Vec::new()).expect_err("it has no end");
        assert_eq!(error.to_string(), "it is larger than 1 MiB");
        let mut whole = Vec::new();
        let exact: &[u8] = &[b'x'; 8];
        assert_eq!(bounded(exact, 8).read_to_end(&mut whole).ok(), Some(8));
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
    fn a_wrong_value_is_named_in_words_of_json() {
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
            ("7", "found the number `7`, expected an object with `id`"),
            ("{}", "the key `id` is missing"),
            ("{\"id\": 7}", "found the number `7`, expected a quoted string"),
            ("{\"id\": -1.5}", "found the number `-1.5`, expected a quoted string"),
            ("{\"id\": {}}", "found an object, expected a quoted string"),
            ("{\"id\": null}", "found null, expected a quoted string"),
            ("{\"count\": 70000}", "found the number `70000`, expected an integer from 0 to 65535"),
            (
                "{\"count\": \"a map, expected u64 at line 1\"}",
                "found the string \"a map, expected u64 at line 1\", expected an integer from 0 \
                 to 65535",
            ),
            ("{\"tags\": [1]}", "found a list, expected an object"),
            ("{\"tags\": {\"a\": true}}", "found `true`, expected a quoted string"),
            ("{\"a\": 1}", "unknown key `a`; expected `id`, `count`, `tags`, `one`"),
            ("{\"id\": \"a\", \"id\": \"b\"}", "duplicate key `id`"),
            ("{\"one\": 7}", "found the number `7`, expected an object with `kind`"),
            ("{\"one\": {}}", "the key `kind` is missing"),
            ("{\"one\": {\"kind\": 0}}", "found the number `0`, expected a quoted string"),
            ("{\"one\": {\"kind\": \"a\"}}", "unknown kind `a`; expected `One`"),
        ] {
            let error = read_json(text.as_bytes(), 100, PhantomData::<Outer>).expect_err("wrong");
            let InvalidJson::Value(error) = error.source else {
                panic!("{text} is JSON");
            };
            assert_eq!(error.words(), words, "{text}");
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
