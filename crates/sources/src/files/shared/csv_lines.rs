//! Rows, columns and times of CSV files that somebody writes by hand, and their lines in
//! messages.

use super::bounded::read_written;
use crate::domain::{plain_name, shown};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Why a file of rows could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// The file could not be opened or read.
    #[error("cannot read {what}{}", shown(path))]
    Io {
        /// What stands before the path, with a blank; empty where the path says it all.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{}:{line}: {message}", shown(path))]
    Line {
        path: PathBuf,
        /// The line, counted from one.
        line: u64,
        message: String,
    },
}

/// What is invalid on a line, counted from one.
pub(in crate::files) type InvalidLine = (u64, String);

/// Reads a file of rows; `what` stands before its path in a message.
///
/// # Errors
/// When it cannot be read, or with the first line that is invalid.
pub(in crate::files) fn read_rows<T>(
    what: &'static str,
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, InvalidLine>,
) -> Result<T, RowsError> {
    let bytes = read_written(path).map_err(|source| RowsError::Io {
        what,
        path: path.to_owned(),
        source,
    })?;
    parse_rows(path, &bytes, parse)
}

/// The same of a file that was read.
///
/// # Errors
/// With the first line that is invalid.
pub(in crate::files) fn parse_rows<T>(
    path: &Path,
    bytes: &[u8],
    parse: impl FnOnce(&str) -> Result<T, InvalidLine>,
) -> Result<T, RowsError> {
    let parsed = text_of(bytes).and_then(parse);
    parsed.map_err(|(line, message)| RowsError::Line { path: path.to_owned(), line, message })
}

/// The rows of a text, in its order. `columns` reads the header, and `row` a record with its
/// line and the rows above it.
///
/// # Errors
/// With the first line that is invalid.
pub(in crate::files) fn rows<C, T>(
    text: &str,
    columns: impl FnOnce(&csv::StringRecord) -> Result<C, String>,
    mut row: impl FnMut(&C, &csv::StringRecord, u64, &[T]) -> Result<T, String>,
) -> Result<Vec<T>, InvalidLine> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| invalid(&error, text))?;
    let columns = columns(header).map_err(|message| (1, message))?;
    let mut rows = Vec::new();
    let mut lines = Lines::of(text);
    for record in reader.records() {
        let record = record.map_err(|error| invalid(&error, text))?;
        let line = lines.at(record.position());
        let next = row(&columns, &record, line, &rows).map_err(|message| (line, message))?;
        rows.push(next);
    }
    Ok(rows)
}

/// The same of a text with a row at least, and at most so many; `row` reads a record with the
/// row above it.
///
/// # Errors
/// With the first line that is invalid.
pub(in crate::files) fn some_rows<C, T>(
    text: &str,
    (most, noun): (usize, &str),
    columns: impl FnOnce(&csv::StringRecord) -> Result<C, String>,
    mut row: impl FnMut(&C, &csv::StringRecord, Option<&T>) -> Result<T, String>,
) -> Result<Vec<T>, InvalidLine> {
    let rows = rows(text, columns, |columns, record, _, above: &[T]| {
        if above.len() == most {
            return Err(format!("more than {most} {noun}"));
        }
        row(columns, record, above.last())
    })?;
    if rows.is_empty() { Err(none(noun)) } else { Ok(rows) }
}

/// What is invalid of a file without rows.
pub(in crate::files) fn none(noun: &str) -> InvalidLine {
    (1, format!("it has no {noun} below its header"))
}

/// # Errors
/// With the line of the first byte that is not UTF-8.
fn text_of(bytes: &[u8]) -> Result<&str, InvalidLine> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        (line, "it is not UTF-8 text".to_owned())
    })
}

/// Characters of a cell that a message quotes.
const QUOTED: usize = 80;

/// A cell as a message quotes it: a file may be one cell.
pub(in crate::files) fn quoted(cell: &str) -> String {
    let mut shown: String = cell.chars().take(QUOTED).collect();
    if shown.len() < cell.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// The value of a cell, of those that are valid.
///
/// # Errors
/// When the cell is not what is expected.
pub(in crate::files) fn parsed<T: FromStr>(
    cell: &str,
    is_valid: impl FnOnce(&T) -> bool,
    expected: impl fmt::Display,
) -> Result<T, String> {
    let value = cell.parse().ok().filter(is_valid);
    value.ok_or_else(|| format!("{} is not {expected}", quoted(cell)))
}

/// Lines of a text by its records, in their order: each is counted from the one before it.
struct Lines<'a> {
    text: &'a str,
    /// Bytes whose line ends are counted.
    counted: usize,
    line: u64,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, counted: 0, line: 1 }
    }

    /// The line of a record as an editor counts. The reader's own count is that of
    /// the line end before it, and of empty lines before that.
    fn at(&mut self, position: Option<&csv::Position>) -> u64 {
        let bytes = self.text.as_bytes();
        let read = position.and_then(|position| usize::try_from(position.byte()).ok());
        let read = read.unwrap_or(0).clamp(self.counted, bytes.len());
        let skipped = bytes[read..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let passed = bytes[self.counted..read + skipped].iter();
        self.line += passed.filter(|byte| **byte == b'\n').count() as u64;
        self.counted = read + skipped;
        self.line
    }
}

/// An error of the reader with its line.
fn invalid(error: &csv::Error, text: &str) -> InvalidLine {
    let line = Lines::of(text).at(error.position());
    let message = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells instead of {expected_len}")
        }
        _ => error.to_string(),
    };
    (line, message)
}

/// The one column of some names, without case, blanks and dashes; the first name is for people.
///
/// # Errors
/// Where none or several have one of the names.
pub(in crate::files) fn column(
    header: &csv::StringRecord,
    names: &[&str],
) -> Result<usize, String> {
    let is_one = |name: &str| names.contains(&plain_name(name).as_str());
    let mut columns = header.iter().enumerate().filter(|(_, name)| is_one(name));
    let Some((place, first)) = columns.next() else {
        return Err(format!("no column `{}`", names[0]));
    };
    match columns.next() {
        None => Ok(place),
        Some((_, second)) => {
            Err(format!("the columns {} and {} mean the same", quoted(first), quoted(second)))
        }
    }
}

/// What is invalid about a cell that [`instant`] does not read.
pub(in crate::files) fn not_an_instant(cell: &str) -> String {
    let cell = quoted(cell);
    format!("{cell} is not a time such as 2026-11-01T00:00:00Z or Unix seconds")
}

/// What is invalid about a time that does not follow the one of the row above.
pub(in crate::files) fn not_after(cell: &str) -> String {
    format!("the time {} is not after the one above it", quoted(cell))
}

/// Checks that a header has known columns alone, each once, and the needed ones.
///
/// # Errors
/// With the first column that is unknown, there twice, or missing.
pub(in crate::files) fn check_columns(
    header: &csv::StringRecord,
    known: &[&str],
    needed: &[&str],
) -> Result<(), String> {
    if let Some(unknown) = header.iter().find(|name| !known.contains(name)) {
        let unknown = quoted(unknown);
        return Err(format!("unknown column {unknown}; known columns: {}", known.join(", ")));
    }
    let times = |name: &str| header.iter().filter(|column| *column == name).count();
    if let Some(twice) = known.iter().find(|name| times(name) > 1) {
        return Err(format!("column `{twice}` is a duplicate"));
    }
    match needed.iter().find(|name| times(name) == 0) {
        Some(missing) => Err(format!("missing column `{missing}`")),
        None => Ok(()),
    }
}

/// A record by the names of its columns.
#[derive(Clone, Copy)]
pub(in crate::files) struct Cells<'a> {
    pub header: &'a csv::StringRecord,
    pub record: &'a csv::StringRecord,
}

impl<'a> Cells<'a> {
    /// A cell; absent where it is empty or the column is missing.
    pub fn get(&self, column: &str) -> Option<&'a str> {
        let place = self.header.iter().position(|name| name == column)?;
        self.record.get(place).filter(|cell| !cell.is_empty())
    }

    /// # Errors
    /// When the cell is absent.
    pub fn required(&self, column: &str) -> Result<&'a str, String> {
        self.get(column).ok_or_else(|| format!("`{column}` is empty"))
    }
}

/// RFC 3339, a date and a time in UTC, or whole Unix seconds.
pub(in crate::files) fn instant(cell: &str) -> Option<Timestamp> {
    if let Ok(seconds) = cell.parse::<i64>() {
        return Timestamp::from_second(seconds).ok();
    }
    if let Ok(at) = cell.parse() {
        return Some(at);
    }
    let local: DateTime = cell.parse().ok()?;
    Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_an_editor() {
        let text = "a,b\r\n\r\n1,2\r\n\n\n\"x\ny\",3\n4,5";
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let records: Vec<csv::StringRecord> =
            reader.records().map(|record| record.expect("a record")).collect();
        let mut lines = Lines::of(text);
        let counted: Vec<u64> = records.iter().map(|record| lines.at(record.position())).collect();
        // The third record has two lines.
        assert_eq!(counted, [3, 6, 8]);
        let one_by_one = records.iter().map(|record| Lines::of(text).at(record.position()));
        assert_eq!(one_by_one.collect::<Vec<u64>>(), counted);
        assert_eq!(Lines::of("").at(None), 1);
    }

    #[test]
    fn long_cells_are_cut() {
        assert_eq!(quoted("soon"), "`soon`");
        let long = quoted(&"模".repeat(81));
        assert_eq!(long, format!("`{}…`", "模".repeat(80)));
        assert_eq!(quoted(&"x".repeat(80)).len(), 82);
    }
}
