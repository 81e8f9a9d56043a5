//! Bills as comma-separated values, row by row.

use super::error::Problem;
use super::fields::Read as Line;
use super::fields::{Cell, Row};
use super::form::{BillOptions, Reading};
use crate::domain::BillForm;
use crate::sources::files::shared::bounded::short_rows;
use std::cell;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::rc::Rc;

/// What is done with each row.
pub(super) type Each<'a> = &'a mut dyn FnMut(Line) -> ControlFlow<()>;

/// Reads rows until there are no more, or `each` has enough. Gives the form, and how many
/// rows there were.
pub(super) fn read(
    text: impl Read,
    options: &BillOptions,
    each: Each<'_>,
) -> Result<(BillForm, u64), Problem> {
    let ending = Ending::default();
    let (text, row_end) = short_rows(Watched(text, ending.clone()));
    let mut reader = csv::ReaderBuilder::new().buffer_capacity(1 << 16).from_reader(text);
    let header = reader.headers().map_err(|error| problem(error, 0))?;
    let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    let reading = Reading::new(&header, options).map_err(Problem::Form)?;
    let mut record = csv::StringRecord::new();
    let mut rows = 0;
    while reader.read_record(&mut record).map_err(|error| problem(error, rows + 1))? {
        rows += 1;
        row_end.passed();
        let line = reading.line(&Texts(&record)).map_err(|message| Problem::Row(rows, message))?;
        if each(line).is_break() {
            return Ok((reading.form, rows));
        }
    }
    if ending.is_cut() {
        let message = "it ends inside of quotes: the file is not whole".to_owned();
        return Err(Problem::Row(rows, message));
    }
    Ok((reading.form, rows))
}

/// Whether a text ended inside of quotes, which the reader of rows takes for their end: it has
/// an odd number of quotes, and its last row no end.
#[derive(Debug, Clone, Default)]
struct Ending(Rc<cell::Cell<(bool, u8)>>);

impl Ending {
    fn is_cut(&self) -> bool {
        let (is_odd, last) = self.0.get();
        is_odd && last != b'\n'
    }
}

/// A text whose ending is watched.
struct Watched<R>(R, Ending);

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.0.read(out)?;
        let (is_odd, last) = self.1.0.get();
        let read = out.get(..bytes).unwrap_or_default();
        let quotes = read.iter().filter(|byte| **byte == b'"').count();
        self.1.0.set((is_odd ^ (quotes % 2 == 1), read.last().copied().unwrap_or(last)));
        Ok(bytes)
    }
}

struct Texts<'a>(&'a csv::StringRecord);

impl Row for Texts<'_> {
    fn cell(&self, column: usize) -> Result<Cell<'_>, String> {
        Ok(self.0.get(column).map_or(Cell::Absent, Cell::Text))
    }
}

/// What is wrong at a row, counted from one; the header is 0.
fn problem(error: csv::Error, row: u64) -> Problem {
    let words = error.to_string();
    let message = match error.into_kind() {
        csv::ErrorKind::Io(error) => return Problem::Io(error),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells instead of {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "it is not UTF-8 text".to_owned(),
        _ => words,
    };
    match row {
        0 => Problem::Form(message),
        row => Problem::Row(row, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[u8]) -> Result<u64, Problem> {
        let options = BillOptions::default();
        let mut each = |_| ControlFlow::Continue(());
        read(text, &options, &mut each).map(|(_, rows)| rows)
    }

    const HEADER: &str = "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency,Tags\r\n";

    #[test]
    fn rows_may_hold_line_ends_in_quotes() {
        let text = format!("{HEADER}Usage,1,1,USD,\"a\nb\"\r\nTax,2,2,USD,\r\n");
        assert_eq!(rows(text.as_bytes()).ok(), Some(2));
    }

    #[test]
    fn every_invalid_row_is_named() {
        for (row, place, says) in [
            ("Usage,1,1,USD\r\n", 1, "4 cells instead of 5"),
            ("Usage,1,1,USD,\r\nUsage,x,1,USD,\r\n", 2, "`x` in `BilledCost`"),
            ("Usage,1,1,,\r\n", 1, "does not say its currency"),
        ] {
            let text = format!("{HEADER}{row}");
            let error = rows(text.as_bytes()).expect_err("invalid");
            let Problem::Row(at, message) = error else {
                panic!("{error:?}");
            };
            assert_eq!(at, place, "{message}");
            assert!(message.contains(says), "{message}");
        }
        let mut bytes = format!("{HEADER}Usage,1,1,USD,").into_bytes();
        bytes.push(0xff);
        assert!(matches!(rows(&bytes), Err(Problem::Row(1, _))));
        assert!(matches!(rows(b""), Err(Problem::Form(_))));
        assert!(matches!(rows(b"a,b\n1,2\n"), Err(Problem::Form(_))));
    }

    #[test]
    fn a_file_that_was_cut_in_its_last_cell_is_refused() {
        let whole =
            format!("{HEADER}Usage,1,1,USD,\"{{a: \"\"b\"\"}}\"\r\nTax,2,2,USD,\"{{}}\"\r\n");
        assert_eq!(rows(whole.as_bytes()).ok(), Some(2));
        let end = whole.len();
        // Without the end of the last row it is whole; before it, the quote is open.
        assert_eq!(rows(&whole.as_bytes()[..end - 2]).ok(), Some(2));
        for cut in [3, 4, 5] {
            let error = rows(&whole.as_bytes()[..end - cut]).expect_err("cut");
            let Problem::Row(row, message) = error else {
                panic!("{error:?}");
            };
            assert_eq!((row, message.starts_with("it ends inside of quotes")), (2, true));
        }
    }

    #[test]
    fn a_row_without_an_end_is_refused() {
        let endless = HEADER.as_bytes().chain(io::repeat(b'x'));
        let options = BillOptions::default();
        let mut each = |_| ControlFlow::Continue(());
        let error = read(endless, &options, &mut each).expect_err("too long");
        assert!(matches!(error, Problem::Io(error) if error.to_string().contains("8 MiB")));
    }
}
