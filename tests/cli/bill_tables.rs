//! Bills as tables in Parquet: what clouds write, from what the fixtures have as CSV.

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use rust_decimal::Decimal;
use std::sync::Arc;

/// How amounts are stored.
#[derive(Clone, Copy)]
pub enum Amounts {
    Doubles,
    /// Whole numbers of billionths.
    Decimals,
}

/// Rows of a group: bills have several groups.
const ROWS_OF_A_GROUP: usize = 7;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Amount,
    Time,
    Tags,
}

fn kind(name: &str) -> Kind {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if name == "resource_tags" {
        Kind::Tags
    } else if ends(&["usage_start_date", "usage_end_date", "PeriodStart", "PeriodEnd"]) {
        Kind::Time
    } else if ends(&["_cost", "_amount", "_fee", "_period", "_to_date", "_commitment", "_usage"])
        || ends(&["Cost", "Quantity"])
    {
        Kind::Amount
    } else {
        Kind::Text
    }
}

/// A CSV file as Parquet.
pub fn as_parquet(text: &str, amounts: Amounts, compression: Compression) -> Vec<u8> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> =
        reader.headers().expect("a header").iter().map(str::to_owned).collect();
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    let fields: Vec<String> = header.iter().map(|name| field(name, amounts)).collect();
    let schema = format!("message bill {{ {} }}", fields.join(" "));
    let schema = parse_message_type(&schema).expect("a schema");
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))
        .expect("a table");
    for rows in rows.chunks(ROWS_OF_A_GROUP) {
        let mut group = file.next_row_group().expect("a group");
        let mut next = |write: &mut dyn FnMut(&mut SerializedColumnWriter<'_>)| {
            let mut column = group.next_column().expect("no error").expect("a column");
            write(&mut column);
            column.close().expect("it is whole");
        };
        for (place, name) in header.iter().enumerate() {
            let cells: Vec<&str> = rows.iter().map(|row| &row[place]).collect();
            match kind(name) {
                Kind::Tags => {
                    let entries: Vec<Option<(String, String)>> =
                        cells.iter().map(|cell| entry(cell)).collect();
                    next(&mut |column| map(column, &entries, |(key, _)| key, [1, 2]));
                    next(&mut |column| map(column, &entries, |(_, value)| value, [1, 3]));
                }
                of => next(&mut |column| values(column, &cells, of, amounts)),
            }
        }
        group.close().expect("a whole group");
    }
    file.into_inner().expect("a file")
}

fn field(name: &str, amounts: Amounts) -> String {
    match (kind(name), amounts) {
        (Kind::Text, _) => format!("OPTIONAL BYTE_ARRAY {name} (UTF8);"),
        (Kind::Time, _) => format!("OPTIONAL INT64 {name} (TIMESTAMP_MILLIS);"),
        (Kind::Amount, Amounts::Doubles) => format!("OPTIONAL DOUBLE {name};"),
        (Kind::Amount, Amounts::Decimals) => format!("OPTIONAL INT64 {name} (DECIMAL(18,9));"),
        (Kind::Tags, _) => format!(
            "OPTIONAL group {name} (MAP) {{ REPEATED group key_value {{ \
             REQUIRED BYTE_ARRAY key (UTF8); OPTIONAL BYTE_ARRAY value (UTF8); }} }}"
        ),
    }
}

/// The only tag of a row, if it has one.
fn entry(cell: &str) -> Option<(String, String)> {
    let tags: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(cell).expect("JSON");
    let (key, value) = tags.into_iter().next()?;
    Some((key, value.as_str().expect("text").to_owned()))
}

/// A side of the entries of a map, with the levels of an empty map and of an entry.
fn map(
    column: &mut SerializedColumnWriter<'_>,
    entries: &[Option<(String, String)>],
    side: fn(&(String, String)) -> &String,
    [empty, whole]: [i16; 2],
) {
    let texts: Vec<ByteArray> =
        entries.iter().flatten().map(|entry| ByteArray::from(side(entry).as_str())).collect();
    let level = |entry: &Option<_>| if entry.is_some() { whole } else { empty };
    let levels: Vec<i16> = entries.iter().map(level).collect();
    let starts: Vec<i16> = vec![0; entries.len()];
    column
        .typed::<ByteArrayType>()
        .write_batch(texts.as_slice(), Some(levels.as_slice()), Some(starts.as_slice()))
        .expect("it fits");
}

fn values(column: &mut SerializedColumnWriter<'_>, cells: &[&str], kind: Kind, amounts: Amounts) {
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(!cell.is_empty())).collect();
    let stated = cells.iter().filter(|cell| !cell.is_empty());
    let levels = Some(levels.as_slice());
    let written = match (kind, amounts) {
        (Kind::Amount, Amounts::Doubles) => {
            let numbers: Vec<f64> = stated.map(|cell| cell.parse().expect("a number")).collect();
            let writer = column.typed::<DoubleType>();
            writer.write_batch(numbers.as_slice(), levels, None)
        }
        (Kind::Amount, Amounts::Decimals) => {
            let billionths = |cell: &&str| -> i64 {
                let number: Decimal = cell.parse().expect("a number");
                let whole = number * Decimal::from(1_000_000_000);
                assert!(whole.fract().is_zero(), "{cell}");
                whole.trunc().to_string().parse().expect("in range")
            };
            let numbers: Vec<i64> = stated.map(billionths).collect();
            column.typed::<Int64Type>().write_batch(numbers.as_slice(), levels, None)
        }
        (Kind::Time, _) => {
            let millis = |cell: &&str| -> i64 {
                let text = cell.replace(' ', "T");
                let text = format!("{}Z", text.trim_end_matches('Z'));
                let at: jiff::Timestamp = text.parse().expect("a time");
                at.as_millisecond()
            };
            let times: Vec<i64> = stated.map(millis).collect();
            column.typed::<Int64Type>().write_batch(times.as_slice(), levels, None)
        }
        (Kind::Text | Kind::Tags, _) => {
            let texts: Vec<ByteArray> = stated.map(|cell| ByteArray::from(*cell)).collect();
            column.typed::<ByteArrayType>().write_batch(texts.as_slice(), levels, None)
        }
    };
    written.expect("it fits");
}
