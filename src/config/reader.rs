//! Reading TOML with places: errors at once, each with its line and what was meant.

use crate::domain::nearest_names;
use rust_decimal::Decimal;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a file may have of what begins a key, a value or a table: each of them takes up to 700
/// bytes of memory.
const MOST_PARTS: usize = 500_000;
/// Errors that are kept of one file.
const MOST_PROBLEMS: usize = 100;

/// One thing wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, counted from one.
    pub line: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

/// A text, and what is wrong in it so far.
pub(super) struct Reader<'a> {
    text: &'a str,
    /// Where its lines end, ascending.
    line_ends: Vec<usize>,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    /// Parses a whole file.
    ///
    /// # Errors
    /// With the line where it is not TOML, and when it has too many keys and values.
    pub(super) fn parse(text: &'a str) -> Result<(Self, Spanned<DeTable<'a>>), Vec<Problem>> {
        if text.bytes().filter(|byte| b".,=[{".contains(byte)).count() > MOST_PARTS {
            return Err(vec![Problem {
                line: 1,
                message: format!("more than {MOST_PARTS} keys and values"),
            }]);
        }
        let reader = Self {
            text,
            line_ends: text.match_indices('\n').map(|(end, _)| end).collect(),
            problems: Vec::new(),
        };
        let table = DeTable::parse(text).map_err(|error| {
            vec![Problem {
                line: error.span().map_or(1, |span| reader.line(&span)),
                message: error.message().to_owned(),
            }]
        })?;
        Ok((reader, table))
    }

    /// What was read, unless anything was wrong.
    ///
    /// # Errors
    /// With up to a hundred errors, in order of line.
    pub(super) fn end<T>(mut self, read: T) -> Result<T, Vec<Problem>> {
        if self.problems.is_empty() {
            return Ok(read);
        }
        self.problems.sort_by_key(|problem| problem.line);
        Err(self.problems)
    }

    /// The line of a place, counted from one.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        self.line_ends.partition_point(|end| *end < span.start) + 1
    }

    /// Notes an error.
    pub(super) fn problem(&mut self, span: Range<usize>, message: String) {
        self.at(self.line(&span), &message);
    }

    /// Notes that a value is not what was expected.
    pub(super) fn refuse<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        message: impl Into<String>,
    ) -> Option<T> {
        self.problem(value.span(), message.into());
        None
    }

    /// Notes an error in a line.
    pub(super) fn at(&mut self, line: usize, message: &str) {
        if !self.is_full() {
            self.problems.push(Problem { line, message: message.to_owned() });
        }
    }

    /// How many errors were noted.
    pub(super) fn errors(&self) -> usize {
        self.problems.len()
    }

    fn is_full(&self) -> bool {
        self.problems.len() >= MOST_PROBLEMS
    }

    /// Notes a key that nothing reads.
    pub(super) fn unknown(&mut self, span: Range<usize>, key: &str, known: &[&str]) {
        if self.is_full() {
            return;
        }
        let meant = did_you_mean(key, known.iter().copied());
        self.problem(span, format!("unknown key `{key}`{meant}; valid keys: {}", known.join(", ")));
    }

    /// A text that is not empty.
    pub(super) fn string(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Some(text.to_string()),
            _ => self.refuse(value, "expected a quoted string"),
        }
    }

    /// A number as it was written.
    pub(super) fn text_of_number(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        match value.get_ref() {
            DeValue::Integer(_) | DeValue::Float(_) => {
                Some(self.text[value.span()].replace('_', ""))
            }
            _ => self.refuse(value, "expected a number"),
        }
    }

    /// A number within bounds.
    pub(super) fn number(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        least: f64,
        most: f64,
    ) -> Option<f64> {
        let number: Option<f64> = self.text_of_number(value)?.parse().ok();
        let within = number.filter(|number| (least..=most).contains(number));
        within.or_else(|| self.refuse(value, format!("expected a number from {least} to {most}")))
    }

    /// An exact amount from zero.
    pub(super) fn decimal(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Decimal> {
        let amount: Option<Decimal> = self.text_of_number(value)?.parse().ok();
        let amount = amount.filter(|amount| !amount.is_sign_negative());
        amount.or_else(|| self.refuse(value, "expected an amount of zero or more"))
    }

    /// A value as it was written.
    pub(super) fn written(&self, value: &Spanned<DeValue<'_>>) -> &'a str {
        &self.text[value.span()]
    }
}

/// The nearest known names in brackets; nothing when none is near.
pub(super) fn did_you_mean<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    let nearest = nearest_names(name, known);
    if nearest.is_empty() {
        String::new()
    } else {
        format!(" (did you mean {}?)", nearest.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_errors_are_kept_each_with_its_line() {
        let text: String = (1..=1_000).map(|n| format!("[k{n}]\n")).collect();
        let (mut reader, table) = Reader::parse(&text).expect("TOML");
        for (key, _) in table.get_ref() {
            reader.unknown(key.span(), key.get_ref(), &["waste"]);
        }
        let problems = reader.end(()).expect_err("unknown keys");
        assert_eq!(problems.len(), 100);
        for problem in &problems {
            let key = format!("unknown key `k{}`", problem.line);
            assert!(problem.message.starts_with(&key), "{problem:?}");
        }
    }

    #[test]
    fn a_file_of_too_many_keys_is_refused_before_it_is_read() {
        for (part, times) in [(".a", MOST_PARTS + 1), ("[", MOST_PARTS + 1), ("{a=", 250_001)] {
            let problems = Reader::parse(&part.repeat(times)).err().expect("too many");
            assert_eq!(problems[0].message, "more than 500000 keys and values");
        }
    }
}
