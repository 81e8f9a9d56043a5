//! What is wrong in a JSON document, in words of JSON.

use serde::de::Unexpected;
use std::fmt;

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
#[derive(Debug)]
pub struct InvalidValue {
    /// What was found, where the words are what was expected in its place.
    found: Option<String>,
    words: String,
    /// Line and column, once the parser has added them.
    position: Option<(usize, usize)>,
}

impl InvalidValue {
    pub(super) fn other(words: String) -> Self {
        Self { found: None, words, position: None }
    }

    pub(super) fn mismatch(found: Unexpected<'_>, expected: String) -> Self {
        let shown = match found {
            Unexpected::Bool(value) => format!("`{value}`"),
            Unexpected::Unsigned(value) => format!("the number `{value}`"),
            Unexpected::Signed(value) => format!("the number `{value}`"),
            Unexpected::Float(value) => format!("the number `{value:?}`"),
            Unexpected::Str(value) => format!("the string {value:?}"),
            Unexpected::Unit => "null".to_owned(),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "an object".to_owned(),
            other => other.to_string(),
        };
        Self { found: Some(shown), words: expected, position: None }
    }

    pub(super) fn unknown(what: &str, name: &str, known: &[&str]) -> Self {
        let known = match known {
            [first, second] => format!("`{first}` or `{second}`"),
            all => format!("`{}`", all.join("`, `")),
        };
        Self::other(format!("unknown {what} `{name}`; expected {known}"))
    }

    pub(super) fn expecting(&mut self, words: &str) {
        if self.found.is_some() {
            words.clone_into(&mut self.words);
        }
    }

    pub(super) fn at(self, line: usize, column: usize) -> Self {
        Self { position: Some((line, column)), ..self }
    }

    /// Without line and column.
    pub(in crate::sources) fn words(&self) -> String {
        const LONGEST: usize = 500;
        let mut words = match &self.found {
            Some(found) => format!("found {found}, expected {}", self.words),
            None => self.words.clone(),
        };
        if let Some((end, _)) = words.char_indices().nth(LONGEST) {
            words.replace_range(end.., "…");
        }
        words
    }
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words())?;
        match self.position {
            Some((line, column)) => write!(f, " at line {line} column {column}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for InvalidValue {}

/// A place for the end of a message; nothing at the top.
pub(in crate::sources) fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" at `{place}`") }
}
