//! Reading TOML with places: every error at once, each with its line and what was
//! meant.

use crate::domain::nearest_names;
use rust_decimal::Decimal;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One thing wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, counted from one.
    pub line: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

/// A text, and everything wrong in it so far.
pub(super) struct Reader<'a> {
    text: &'a str,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    /// Parses a whole file.
    ///
    /// # Errors
    /// With the line where it is not TOML.
    pub(super) fn parse(text: &'a str) -> Result<(Self, Spanned<DeTable<'a>>), Vec<Problem>> {
        let reader = Self {
            text,
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
    /// With every error, in order of line.
    pub(super) fn end<T>(mut self, read: T) -> Result<T, Vec<Problem>> {
        if self.problems.is_empty() {
            return Ok(read);
        }
        self.problems.sort_by_key(|problem| problem.line);
        Err(self.problems)
    }

    /// The line of a place, counted from one.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        self.text[..span.start.min(self.text.len())]
            .matches('\n')
            .count()
            + 1
    }

    /// Notes an error.
    pub(super) fn problem(&mut self, span: Range<usize>, message: String) {
        self.problems.push(Problem {
            line: self.line(&span),
            message,
        });
    }

    /// Notes an error in a line.
    pub(super) fn at(&mut self, line: usize, message: &str) {
        self.problems.push(Problem {
            line,
            message: message.to_owned(),
        });
    }

    /// Notes a key that nothing reads.
    pub(super) fn unknown(&mut self, span: Range<usize>, key: &str, known: &[&str]) {
        let meant = did_you_mean(key, known.iter().copied());
        self.problem(
            span,
            format!(
                "unknown key `{key}`{meant}; valid keys: {}",
                known.join(", ")
            ),
        );
    }

    /// A text that is not empty.
    pub(super) fn string(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Some(text.to_string()),
            _ => {
                self.problem(value.span(), "expected a quoted string".to_owned());
                None
            }
        }
    }

    /// A number as it was written.
    pub(super) fn text_of_number(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        match value.get_ref() {
            DeValue::Integer(_) | DeValue::Float(_) => {
                Some(self.text[value.span()].replace('_', ""))
            }
            _ => {
                self.problem(value.span(), "expected a number".to_owned());
                None
            }
        }
    }

    /// A number within bounds.
    pub(super) fn number(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        least: f64,
        most: f64,
    ) -> Option<f64> {
        let text = self.text_of_number(value)?;
        let number: Option<f64> = text.parse().ok();
        let within = number.filter(|number| (least..=most).contains(number));
        if within.is_none() {
            self.problem(
                value.span(),
                format!("expected a number from {least} to {most}"),
            );
        }
        within
    }

    /// An exact amount from zero.
    pub(super) fn decimal(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Decimal> {
        let text = self.text_of_number(value)?;
        let amount: Option<Decimal> = text.parse().ok();
        let amount = amount.filter(|amount| !amount.is_sign_negative());
        if amount.is_none() {
            self.problem(
                value.span(),
                "expected an amount of zero or more".to_owned(),
            );
        }
        amount
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
