//! Why a run ended early: an error, its causes, and what to do.

use crate::names::safe;
use datafusion::error::DataFusionError;
use std::error::Error;
use std::fmt::Display;

/// What a process ends with, as gpucost does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Files, a network, or this program.
    Unexpected = 1,
    /// Flags, and archives that are not what they are said to be.
    Input = 2,
    Interrupted = 130,
}

#[derive(Debug)]
pub struct Failure {
    code: Code,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
}

pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    fn new(code: Code, message: impl Display) -> Self {
        Self { code, message: message.to_string(), causes: Vec::new(), hint: None }
    }

    pub fn input(message: impl Display) -> Self {
        Self::new(Code::Input, message)
    }

    pub fn unexpected(message: impl Display) -> Self {
        Self::new(Code::Unexpected, message)
    }

    pub fn interrupted() -> Self {
        Self::new(Code::Interrupted, "interrupted")
    }

    /// Adds an error, and what that error is caused by.
    #[must_use]
    pub fn caused_by(mut self, error: &dyn Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let text = error.to_string();
            // Many errors repeat the text of their cause.
            if !self.causes.iter().any(|cause| cause.contains(&text)) {
                self.causes.push(text);
            }
            next = error.source();
        }
        self
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn code(&self) -> Code {
        self.code
    }

    /// `error:`, `caused by:` and `hint:`, a line for each.
    pub fn text(&self) -> String {
        let mut text = format!("error: {}\n", line(&self.message));
        for cause in &self.causes {
            text.push_str(&format!("  caused by: {}\n", line(cause)));
        }
        if let Some(hint) = &self.hint {
            text.push_str(&format!("hint: {}\n", line(hint)));
        }
        text
    }
}

/// Messages quote names from outside: what comes after a line feed is indented, so that no
/// line passes itself off as one of ours.
fn line(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| safe(line.trim())).collect();
    lines.join("\n    ")
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        let root = error.find_root();
        let failure = Self::unexpected("the statement failed").caused_by(root);
        // What reaches the limit on disk is an error of Arrow, and only its text names the limit.
        let is_limit = matches!(root, DataFusionError::ResourcesExhausted(_))
            || root.to_string().contains("max_temp_directory_size");
        if is_limit {
            return failure.with_hint(
                "raise `--memory` or `--work-limit`, or add up fewer days at a time with `--days`",
            );
        }
        failure
    }
}

impl From<datafusion::parquet::errors::ParquetError> for Failure {
    fn from(error: datafusion::parquet::errors::ParquetError) -> Self {
        Self::unexpected("a table cannot be written").caused_by(&error)
    }
}

impl From<datafusion::arrow::error::ArrowError> for Failure {
    fn from(error: datafusion::arrow::error::ArrowError) -> Self {
        Self::unexpected("the result of a statement cannot be read").caused_by(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_its_cause_and_what_to_do_line_by_line() {
        let cause = std::io::Error::other("no\nerror: fine");
        let failure =
            Failure::input("cannot read a\u{1b}b").caused_by(&cause).with_hint("leave it out");
        assert_eq!(
            failure.text(),
            "error: cannot read a\\u{1b}b\n  caused by: no\n    error: fine\nhint: leave it out\n"
        );
        assert_eq!(failure.code() as u8, 2);
    }
}
