//! `--format xlsx`: tables as a workbook with typed cells, and totals as formulas over them.

use super::columns::flattened;
use super::json::rounded;
use super::{Doc, Table, Value};
use crate::domain::{Currency, Money};
use crate::report::shared::text::safe;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use rust_xlsxwriter::utility::{column_number_to_name, row_col_to_cell};
use rust_xlsxwriter::{
    DocProperties, Format, FormatBorder, Formula, Workbook, Worksheet, XlsxError,
};
use std::collections::{BTreeMap, BTreeSet};

/// The most UTF-16 units that a cell holds.
const LONGEST_CELL: usize = 32_767;
/// The widest column, in characters.
const WIDEST_COLUMN: usize = 60;
/// Room for the button of a filter, and for amounts.
const NARROWEST_COLUMN: usize = 12;

/// The column that names the currency of the amounts of a row.
const CURRENCY: &str = "currency";

/// Formats of amounts, and of numbers with decimals.
const CENTS: &str = "#,##0.00";
const DECIMALS: &str = "0.00##";

/// The sheet of what a document says of itself.
const FIRST: &str = "document";

/// A document as the bytes of a workbook: a page of its own keys, then one for each table.
/// `created` is written into it.
///
/// # Errors
/// When a table has more rows than the format holds.
pub fn doc_xlsx(doc: &Doc, created: Timestamp) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    let created = created.to_zoned(TimeZone::UTC).datetime();
    workbook.set_properties(&DocProperties::new().set_creation_datetime(&created));
    let (heads, mut rows) = flattened(&doc.record.heads, std::slice::from_ref(&doc.record.values));
    let record = heads.iter().zip(rows.pop().unwrap_or_default());
    let record = record.map(|(head, value)| (head.path.to_string(), value, head.meaning));
    let given = doc.given.iter();
    let given =
        given.map(|input| (input.key.to_owned(), input.value.clone(), input.source.as_str()));
    let headline = ("headline".to_owned(), Value::text(&doc.headline), "");
    let lines: Vec<(String, Value, &str)> =
        std::iter::once(headline).chain(record).chain(given).collect();
    workbook.push_worksheet(first_sheet(&lines)?);
    for table in doc.data_tables() {
        let (columns, rows) = flattened(&table.columns, &table.rows);
        workbook.push_worksheet(sheet(&Table { columns, rows, ..table.clone() })?);
    }
    workbook.save_to_buffer()
}

/// Cells with a format of numbers.
fn numbers(format: &str) -> Format {
    Format::new().set_num_format(format)
}

/// A figure as a number with its format; absent where it is none that a sheet holds.
fn number(figure: &Value) -> Option<(f64, &'static str)> {
    Some(match figure {
        Value::Count(count) => (*count as f64, "#,##0"),
        Value::Share(share) => (rounded(*share)?, DECIMALS),
        Value::Quantity(number) => (number.round_dp(6).to_f64()?, DECIMALS),
        Value::Money(amount) | Value::Whole(amount) => (amount.rounded().amount().to_f64()?, CENTS),
        Value::Price(price) | Value::Rate(price, _) => {
            (price.amount().round_dp(6).to_f64()?, "#,##0.00####")
        }
        Value::Number(value, _)
        | Value::Seconds(value)
        | Value::Millionths(value)
        | Value::Percent(value) => (Some(*value).filter(|value| value.is_finite())?, DECIMALS),
        _ => return None,
    })
}

/// A sheet of a flat table: a header that stays in sight, rows with a filter, and a line of
/// totals for each currency.
fn sheet(table: &Table) -> Result<Worksheet, XlsxError> {
    let mut sheet = Worksheet::new();
    sheet.set_name(table.key)?;
    let heading = Format::new().set_bold();
    let Table { columns, rows, .. } = table;
    for (col, column) in (0..).zip(columns) {
        sheet.write_string_with_format(0, col, column.path.as_ref(), &heading)?;
    }
    for (row, cells) in (1..).zip(rows) {
        for (col, cell) in (0..).zip(cells) {
            write(&mut sheet, (row, col), cell)?;
        }
    }
    let last_col = u16::try_from(columns.len().saturating_sub(1)).unwrap_or(u16::MAX);
    sheet.autofilter(0, 0, rows_of(table), last_col)?;
    sheet.set_freeze_panes(1, 0)?;
    set_widths(&mut sheet, table)?;
    write_totals(&mut sheet, table)?;
    Ok(sheet)
}

/// A sheet of lines with a name, a value, its currency and a note.
fn first_sheet(lines: &[(String, Value, &str)]) -> Result<Worksheet, XlsxError> {
    let mut sheet = Worksheet::new();
    sheet.set_name(FIRST)?;
    for (col, (title, width)) in
        (0..).zip([("figure", 34), ("value", 22), (CURRENCY, 10), ("note", 70)])
    {
        sheet.write_string_with_format(0, col, title, &Format::new().set_bold())?;
        sheet.set_column_width(col, width)?;
    }
    for (row, (name, value, note)) in (1..).zip(lines) {
        sheet.write_string(row, 0, name)?;
        write(&mut sheet, (row, 1), value)?;
        if let Some(amount) = value.amount() {
            sheet.write_string(row, 2, amount.currency().code())?;
        }
        sheet.write_string(row, 3, cell_text(note))?;
    }
    sheet.set_freeze_panes(1, 0)?;
    Ok(sheet)
}

fn write(sheet: &mut Worksheet, (row, col): (u32, u16), figure: &Value) -> Result<(), XlsxError> {
    match figure {
        Value::Absent | Value::Record(_) | Value::Rows(_) => return Ok(()),
        Value::Signed(value) => return write(sheet, (row, col), value),
        // Never a formula, whatever it begins with.
        Value::Text(text) => sheet.write_string(row, col, cell_text(text)),
        Value::Texts(texts) => sheet.write_string(row, col, cell_text(&texts.join("; "))),
        Value::List(_) | Value::Map(_) => {
            sheet.write_string(row, col, cell_text(&super::csv::cell(figure)))
        }
        Value::Flag(flag) => sheet.write_boolean(row, col, *flag),
        Value::Time(at) => {
            let at = at.to_zoned(TimeZone::UTC).datetime();
            sheet.write_datetime_with_format(row, col, at, &numbers("yyyy-mm-dd hh:mm"))
        }
        Value::Date(day) => {
            sheet.write_datetime_with_format(row, col, *day, &numbers("yyyy-mm-dd"))
        }
        figure => match number(figure) {
            Some((number, format)) => {
                sheet.write_number_with_format(row, col, number, &numbers(format))
            }
            None => return Ok(()),
        },
    }
    .map(|_| ())
}

/// A line for each currency in which the table has an amount that adds up.
fn write_totals(sheet: &mut Worksheet, table: &Table) -> Result<(), XlsxError> {
    let keys = table.columns.iter().map(|column| column.path.as_ref());
    let columns: BTreeMap<&str, u16> = keys.zip(0..).collect();
    let Some(named) = columns.get(CURRENCY) else { return Ok(()) };
    let summed = table.summed.iter();
    let summed: Vec<u16> = summed.filter_map(|key| columns.get(key).copied()).collect();
    let amounts = |col: u16| {
        table.rows.iter().filter_map(move |row| match row.get(usize::from(col)) {
            Some(Value::Money(amount)) => Some(amount.rounded()),
            _ => None,
        })
    };
    let summed_amounts = summed.iter().flat_map(|col| amounts(*col));
    let currencies: BTreeSet<Currency> = summed_amounts.map(Money::currency).collect();
    let total = Format::new().set_bold().set_border_top(FormatBorder::Thin);
    let total_money = total.clone().set_num_format(CENTS);
    let last = rows_of(table);
    // A line is left free, so that a filter does not take a total for a row.
    for (row, currency) in (last + 2..).zip(currencies) {
        sheet.write_string_with_format(row, 0, "Total", &total)?;
        sheet.write_string_with_format(row, *named, currency.code(), &total)?;
        let name = column_number_to_name;
        let criteria = format!("${0}$2:${0}${1}", name(*named), last + 1);
        let wanted = row_col_to_cell(row, *named);
        for col in &summed {
            let own = amounts(*col).filter(|amount| amount.currency() == currency);
            let amount: Decimal = own.map(Money::amount).sum();
            let range = format!("{0}2:{0}{1}", name(*col), last + 1);
            // With its result, for readers that do not compute.
            let formula = Formula::new(format!("=SUMIF({criteria},{wanted},{range})"))
                .set_result(amount.normalize().to_string());
            sheet.write_formula_with_format(row, *col, formula, &total_money)?;
        }
    }
    Ok(())
}

/// How many rows a table has, which is also the place of the last one under the header.
fn rows_of(table: &Table) -> u32 {
    u32::try_from(table.rows.len()).unwrap_or(u32::MAX)
}

/// Text for a cell: what could drive a terminal is escaped, and what no cell holds is cut.
fn cell_text(text: &str) -> String {
    let mut shown = safe(text);
    // The writer takes text of this form for markup of its own.
    if shown.starts_with("<r>") && shown.ends_with("</r>") {
        shown.insert(0, ' ');
    }
    if shown.encode_utf16().count() <= LONGEST_CELL {
        return shown;
    }
    let mut cut = String::new();
    let mut units = 0;
    for c in shown.chars() {
        units += c.len_utf16();
        if units >= LONGEST_CELL {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// Columns as wide as what they hold, within bounds.
fn set_widths(sheet: &mut Worksheet, rows: &Table) -> Result<(), XlsxError> {
    for (place, column) in rows.columns.iter().enumerate() {
        let texts = rows.rows.iter().map(|row| match row.get(place) {
            Some(Value::Text(text)) => text.chars().count(),
            Some(Value::Time(_)) => 16,
            _ => 0,
        });
        let longest = texts.max().unwrap_or(0).max(column.path.len() + 2);
        let width = longest.clamp(NARROWEST_COLUMN, WIDEST_COLUMN);
        sheet.set_column_width(u16::try_from(place).unwrap_or(u16::MAX), width as f64)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fits_a_cell_and_is_none_of_the_writers_markup() {
        assert_eq!(cell_text("=cmd|' /C calc'!A0"), "=cmd|' /C calc'!A0");
        assert_eq!(cell_text("a\u{1b}b"), "a\\u{1b}b");
        assert_eq!(cell_text("<r><t>x</t></r>"), " <r><t>x</t></r>");
        let whole = "x".repeat(LONGEST_CELL);
        assert_eq!(cell_text(&whole), whole);
        // Each of these is two units: 16,383 of them and the mark of the cut are 32,767.
        let cut = cell_text(&"👩".repeat(20_000));
        assert_eq!(cut.encode_utf16().count(), LONGEST_CELL);
        assert!(cut.ends_with("👩…"));
    }
}
