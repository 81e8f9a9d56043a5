//! `--format csv`: the rows of the first table, or a document's own keys in one row.

use crate::report::doc::columns::{column, flat_heads, flat_row, flattened};
use crate::report::doc::json::{millionths, rounded};
use crate::report::doc::{CsvRows, Doc, Head, Table, Value};
use crate::report::shared::text::{rounded as decimals, spreadsheet_safe};
use rust_decimal::Decimal;

/// A document as CSV; what is absent is an empty cell.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn doc_csv(doc: &Doc) -> Result<String, csv::Error> {
    let record = &doc.record;
    let most = match doc.csv {
        CsvRows::Record => return lines(&record.heads, std::slice::from_ref(&record.values)),
        CsvRows::Named => {
            let tables: Vec<Table> = doc.data_tables().map(named).collect();
            return together(&tables.iter().collect::<Vec<_>>());
        }
        CsvRows::Tables(most) => most,
    };
    match doc.data_tables().take(most).collect::<Vec<_>>().as_slice() {
        [] => Ok(String::new()),
        [table] => lines(&table.columns, &table.rows),
        tables => together(tables),
    }
}

/// A table with its key before the values of each row.
fn named(table: &Table) -> Table {
    let mut named = table.clone();
    named.columns.insert(0, column("table", ""));
    for row in &mut named.rows {
        row.insert(0, Value::text(table.key));
    }
    named
}

/// The rows of tables under the columns of all of them.
fn together(tables: &[&Table]) -> Result<String, csv::Error> {
    let tables = tables.iter().map(|table| flattened(&table.columns, &table.rows));
    let tables: Vec<(Vec<Head>, Vec<Vec<Value>>)> = tables.collect();
    let mut header: Vec<&str> = Vec::new();
    for head in tables.iter().flat_map(|(heads, _)| heads) {
        if !header.contains(&head.path.as_ref()) {
            header.push(&head.path);
        }
    }
    let rows = tables.iter().flat_map(|(heads, rows)| {
        let places: Vec<Option<usize>> =
            header.iter().map(|path| heads.iter().position(|head| head.path == *path)).collect();
        rows.iter().map(move |row| {
            let cells =
                places.iter().map(|place| place.map_or(String::new(), |place| cell(&row[place])));
            cells.collect::<Vec<_>>()
        })
    });
    document(&header, rows)
}

fn lines(heads: &[Head], rows: &[Vec<Value>]) -> Result<String, csv::Error> {
    let header = flat_heads(heads);
    let header = header.iter().map(|head| head.path.as_ref());
    let rows = rows.iter().flat_map(|row| flat_row(heads, row));
    let cells = |row: Vec<Value>| row.into_iter().map(|value| cell(&value));
    document(header, rows.map(cells))
}

pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Absent | Value::Record(_) | Value::Rows(_) => String::new(),
        Value::Text(text) => spreadsheet_safe(text),
        Value::Texts(texts) => spreadsheet_safe(&texts.join("; ")),
        Value::List(values) => values.iter().map(cell).collect::<Vec<_>>().join("; "),
        Value::Signed(value) => cell(value),
        Value::Map(values) => {
            let pairs = values.iter().map(|(name, value)| match value {
                Value::Text(text) => format!("{name}={text}"),
                value => format!("{name}={}", cell(value)),
            });
            spreadsheet_safe(&pairs.collect::<Vec<_>>().join(";"))
        }
        Value::Time(at) => at.to_string(),
        Value::Date(day) => day.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Count(number) => number.to_string(),
        Value::Number(value, _) | Value::Seconds(value) | Value::Percent(value) => {
            format!("{value:.4}")
        }
        Value::Quantity(number) => rate(*number),
        Value::Millionths(value) => millionths(*value).to_string(),
        Value::Share(share) => rounded(*share).map_or(String::new(), |share| share.to_string()),
        Value::Money(amount) | Value::Whole(amount) => decimals(amount.amount(), 2),
        Value::Price(price) | Value::Rate(price, _) => rate(price.amount()),
    }
}

/// A header, then rows.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn document(
    header: impl IntoIterator<Item: AsRef<[u8]>>,
    rows: impl IntoIterator<Item: IntoIterator<Item: AsRef<[u8]>>>,
) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header)?;
    for row in rows {
        writer.write_record(row)?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A rate or a number of GPUs with as many decimals as it has, six at most.
pub fn rate(number: Decimal) -> String {
    number.round_dp(6).normalize().to_string()
}
