//! Bills as comma-separated values, row by row.

use super::error::Problem;
use super::fields::{Cell, Row};
use super::form::{BillForm, BillOptions, Reading};
use super::line::Read as Line;
use crate::sources::files::shared::rows::ShortRows;
use std::io::Read;
use std::ops::ControlFlow;

/// What is done with each row.
pub(super) type Each<'a> = &'a mut dyn FnMut(Line) -> ControlFlow<()>;

/// Reads rows until there are no more, or `each` has enough. Gives the form, and how many
/// rows there were.
pub(super) fn read(
    text: impl Read,
    options: &BillOptions,
    each: Each<'_>,
) -> Result<(BillForm, u64), Problem> {
    let (text, row_end) = ShortRows::new(text);
    let mut reader = csv::ReaderBuilder::new()
        .buffer_capacity(1 << 16)
        .from_reader(text);
    let header = reader.headers().map_err(|error| problem(error, 0))?;
    let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    let reading = Reading::new(&header, options).map_err(Problem::Form)?;
    let mut record = csv::StringRecord::new();
    let mut rows = 0;
    while reader
        .read_record(&mut record)
        .map_err(|error| problem(error, rows + 1))?
    {
        rows += 1;
        row_end.passed();
        let line = reading.line(&Texts(&record));
        let line = line.map_err(|message| Problem::Row(rows, message))?;
        if each(line).is_break() {
            break;
        }
    }
    Ok((reading.form, rows))
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
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("{len} cells instead of {expected_len}"),
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
    use std::io;

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
            (
                "Usage,1,1,USD,\r\nUsage,x,1,USD,\r\n",
                2,
                "`x` in `BilledCost`",
            ),
            ("Usage,1,1,,\r\n", 1, "does not say its currency"),
        ] {
            let text = format!("{HEADER}{row}");
            let error = rows(text.as_bytes()).expect_err("invalid");
            let Problem::Row(found, message) = error else {
                panic!("{error:?}");
            };
            assert_eq!(found, place, "{message}");
            assert!(message.contains(says), "{message}");
        }
        let mut bytes = format!("{HEADER}Usage,1,1,USD,").into_bytes();
        bytes.push(0xff);
        assert!(matches!(rows(&bytes), Err(Problem::Row(1, _))));
        assert!(matches!(rows(b""), Err(Problem::Form(_))));
        assert!(matches!(rows(b"a,b\n1,2\n"), Err(Problem::Form(_))));
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
