//! `--format csv`: the rows of the first sheet.

use super::{Answer, Figure, Sheet};
use crate::report::shared::csv;
use crate::report::shared::text::{spreadsheet_safe, yes_or_no};

/// The rows of the first sheet as CSV; what is absent is an empty cell.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn answer_csv(answer: &Answer) -> Result<String, ::csv::Error> {
    answer.sheets.first().map_or(Ok(String::new()), sheet_csv)
}

/// The rows of a sheet as CSV; what is absent is an empty cell.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub(in crate::report) fn sheet_csv(sheet: &Sheet) -> Result<String, ::csv::Error> {
    let header = sheet.columns.iter().map(|column| column.key);
    let rows = sheet.rows.iter().map(|row| row.iter().map(cell));
    csv::document(header, rows)
}

fn cell(figure: &Figure) -> String {
    match figure {
        Figure::Absent => String::new(),
        Figure::Text(text) => spreadsheet_safe(text),
        Figure::Time(at) => at.to_string(),
        Figure::Date(day) => day.to_string(),
        Figure::Flag(flag) => yes_or_no(*flag).to_owned(),
        Figure::Count(number) => number.to_string(),
        Figure::Number(value, _) | Figure::Percent(value) => csv::figure(Some(*value)),
        Figure::Money(amount) => csv::money(Some(*amount)),
        Figure::Price(price) => csv::rate(Some(price.amount())),
    }
}
