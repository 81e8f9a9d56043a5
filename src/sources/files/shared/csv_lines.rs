//! Columns and times of CSV files, and their lines in messages.

use crate::domain::plain_name;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// What is invalid on a line, counted from one.
pub(in crate::sources::files) type InvalidLine = (u64, String);

/// # Errors
/// With the line of the first byte that is not UTF-8.
pub(in crate::sources::files) fn text_of(bytes: &[u8]) -> Result<&str, InvalidLine> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        (line, "it is not UTF-8 text".to_owned())
    })
}

/// Characters of a cell that a message quotes.
const QUOTED: usize = 80;

/// A cell as a message quotes it: a file may be one cell.
pub(in crate::sources::files) fn quoted(cell: &str) -> String {
    let mut shown: String = cell.chars().take(QUOTED).collect();
    if shown.len() < cell.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// Lines of a text by its records, in their order: each is counted from the one before it.
pub(in crate::sources::files) struct Lines<'a> {
    text: &'a str,
    /// Bytes whose line ends are counted.
    counted: usize,
    line: u64,
}

impl<'a> Lines<'a> {
    pub fn of(text: &'a str) -> Self {
        Self { text, counted: 0, line: 1 }
    }

    /// The line of a record as an editor counts. The reader's own count is that of
    /// the line end before it, and of empty lines before that.
    pub fn at(&mut self, position: Option<&csv::Position>) -> u64 {
        let bytes = self.text.as_bytes();
        let read = position.and_then(|position| usize::try_from(position.byte()).ok());
        let read = read.unwrap_or(0).clamp(self.counted, bytes.len());
        let rest = bytes[read..].iter();
        let skipped = rest.take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let passed = bytes[self.counted..read + skipped].iter();
        self.line += passed.filter(|byte| **byte == b'\n').count() as u64;
        self.counted = read + skipped;
        self.line
    }
}

/// The line of one record.
pub(in crate::sources::files) fn line_at(text: &str, position: Option<&csv::Position>) -> u64 {
    Lines::of(text).at(position)
}

/// An error of the reader with its line.
pub(in crate::sources::files) fn invalid(error: &csv::Error, text: &str) -> InvalidLine {
    let line = line_at(text, error.position());
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
pub(in crate::sources::files) fn column(
    header: &csv::StringRecord,
    names: &[&str],
) -> Result<usize, InvalidLine> {
    let is_one = |name: &str| names.contains(&plain_name(name).as_str());
    let mut columns = header.iter().enumerate().filter(|(_, name)| is_one(name));
    let Some((place, first)) = columns.next() else {
        return Err((1, format!("no column `{}`", names[0])));
    };
    match columns.next() {
        None => Ok(place),
        Some((_, second)) => {
            Err((1, format!("the columns {} and {} mean the same", quoted(first), quoted(second))))
        }
    }
}

/// RFC 3339, a date and a time in UTC, or whole Unix seconds.
pub(in crate::sources::files) fn instant(cell: &str) -> Option<Timestamp> {
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
        let one_by_one = records.iter().map(|record| line_at(text, record.position()));
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
