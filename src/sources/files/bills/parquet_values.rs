//! Values of columns in Parquet, and what they mean.

use super::fields::Cell;
use super::values::{of_double, within};
use crate::sources::files::shared::parquet_pages::spread;
use jiff::{SignedDuration, Timestamp};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, Int96};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;
use rust_decimal::Decimal;

/// What the values of a column mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Text,
    Number,
    /// A whole number of parts, ten to this power of them.
    Decimal(u32),
    /// A time since 1970 in so many parts of a second.
    Time(i64),
    /// Days since 1970.
    Date,
}

/// What a leaf means; `None` where that is nothing that is read.
pub(super) fn meaning_of(column: &ColumnDescriptor) -> Option<Meaning> {
    let scale = |scale: i32| u32::try_from(scale).ok().filter(|scale| *scale <= 28);
    let per_second = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => 1_000,
        TimeUnit::MICROS => 1_000_000,
        TimeUnit::NANOS => 1_000_000_000,
    };
    match column.logical_type_ref() {
        Some(LogicalType::Decimal(decimal)) => return scale(decimal.scale).map(Meaning::Decimal),
        Some(LogicalType::Timestamp(time)) => return Some(Meaning::Time(per_second(&time.unit))),
        Some(LogicalType::Date) => return Some(Meaning::Date),
        _ => {}
    }
    match column.converted_type() {
        ConvertedType::DECIMAL => return scale(column.type_scale()).map(Meaning::Decimal),
        ConvertedType::TIMESTAMP_MILLIS => return Some(Meaning::Time(1_000)),
        ConvertedType::TIMESTAMP_MICROS => return Some(Meaning::Time(1_000_000)),
        ConvertedType::DATE => return Some(Meaning::Date),
        _ => {}
    }
    match column.physical_type() {
        Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => Some(Meaning::Text),
        Physical::DOUBLE | Physical::FLOAT | Physical::INT32 | Physical::INT64 => {
            Some(Meaning::Number)
        }
        // Spark's times.
        Physical::INT96 => Some(Meaning::Time(1_000)),
        Physical::BOOLEAN => None,
    }
}

/// Values of some rows.
#[derive(Debug)]
enum Stored {
    Bytes(Vec<Option<ByteArray>>),
    Whole(Vec<Option<i64>>),
    Double(Vec<Option<f64>>),
    Float(Vec<Option<f32>>),
    Pairs(Vec<Vec<(String, String)>>),
}

/// Values of some rows with their meaning.
#[derive(Debug)]
pub(super) struct Values {
    stored: Stored,
    meaning: Meaning,
}

impl Values {
    /// # Errors
    /// In words, when it is not UTF-8, not finite, or out of range.
    pub(super) fn cell(&self, row: usize) -> std::result::Result<Cell<'_>, String> {
        match (&self.stored, self.meaning) {
            (Stored::Bytes(texts), Meaning::Text) => stated(texts, row, NOT_TEXT, |bytes| {
                Some(Cell::Text(std::str::from_utf8(bytes.data()).ok()?))
            }),
            (Stored::Bytes(numbers), Meaning::Decimal(scale)) => {
                stated(numbers, row, TOO_LARGE, |bytes| {
                    number(decimal(whole_of(bytes.data())?, scale))
                })
            }
            (Stored::Whole(numbers), Meaning::Number) => {
                stated(numbers, row, TOO_LARGE, |whole| number(within(Decimal::from(*whole))))
            }
            (Stored::Whole(numbers), Meaning::Decimal(scale)) => {
                stated(numbers, row, TOO_LARGE, |whole| number(decimal(i128::from(*whole), scale)))
            }
            (Stored::Whole(numbers), Meaning::Time(parts)) => {
                stated(numbers, row, NO_TIME, |time| instant(*time, parts).map(Cell::Time))
            }
            (Stored::Whole(numbers), Meaning::Date) => stated(numbers, row, NO_TIME, |days| {
                Timestamp::from_second(days.checked_mul(86_400)?).ok().map(Cell::Time)
            }),
            // Writers without absent numbers write NaN.
            (Stored::Double(numbers), Meaning::Number) => {
                stated(numbers, row, TOO_LARGE, |double| {
                    if double.is_nan() { Some(Cell::Absent) } else { number(of_double(*double)) }
                })
            }
            (Stored::Float(numbers), Meaning::Number) => stated(numbers, row, TOO_LARGE, |float| {
                if float.is_nan() {
                    return Some(Cell::Absent);
                }
                // The shortest text of a float is not that of the double beside it.
                number(within(float.to_string().parse().ok()?))
            }),
            (Stored::Pairs(maps), _) => {
                Ok(maps.get(row).map_or(Cell::Absent, |pairs| Cell::Map(pairs)))
            }
            _ => Ok(Cell::Absent),
        }
    }
}

const NOT_TEXT: &str = "it is not UTF-8 text";
const TOO_LARGE: &str = "a number of it is not at most 10^10";
const NO_TIME: &str = "a time of it is out of range";

fn number<'a>(number: Option<Decimal>) -> Option<Cell<'a>> {
    number.map(Cell::Number)
}

/// A value that is there.
///
/// # Errors
/// In words, when it has no cell.
fn stated<'a, T>(
    values: &'a [Option<T>],
    row: usize,
    why: &str,
    cell: impl Fn(&'a T) -> Option<Cell<'a>>,
) -> std::result::Result<Cell<'a>, String> {
    match values.get(row) {
        Some(Some(value)) => cell(value).ok_or_else(|| why.to_owned()),
        _ => Ok(Cell::Absent),
    }
}

fn instant(number: i64, parts: i64) -> Option<Timestamp> {
    let (seconds, rest) = (number.div_euclid(parts), number.rem_euclid(parts));
    let nanoseconds = i32::try_from(rest * (1_000_000_000 / parts)).ok()?;
    Timestamp::from_duration(SignedDuration::new(seconds, nanoseconds)).ok()
}

/// A whole number in two's complement, highest byte first.
fn whole_of(bytes: &[u8]) -> Option<i128> {
    if bytes.is_empty() || bytes.len() > 16 {
        return None;
    }
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let mut whole = [if is_negative { 0xff } else { 0 }; 16];
    whole[16 - bytes.len()..].copy_from_slice(bytes);
    Some(i128::from_be_bytes(whole))
}

fn decimal(whole: i128, scale: u32) -> Option<Decimal> {
    within(Decimal::try_from_i128_with_scale(whole, scale).ok()?)
}

/// The next values of a column.
///
/// # Errors
/// When there are fewer than so many.
pub(super) fn values_of(
    reader: &mut ColumnReader,
    rows: usize,
    meaning: Meaning,
) -> Result<Values> {
    let mut levels = Vec::new();
    macro_rules! read {
        ($reader:ident) => {{
            let mut values = Vec::new();
            let (records, count, _) =
                $reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            check(records == rows)?;
            // Without levels, every value is there.
            if levels.is_empty() {
                check(count == rows)?;
                values.into_iter().map(Some).collect()
            } else {
                spread(values, &levels)
            }
        }};
    }
    let stored = match reader {
        ColumnReader::ByteArrayColumnReader(reader) => Stored::Bytes(read!(reader)),
        ColumnReader::DoubleColumnReader(reader) => Stored::Double(read!(reader)),
        ColumnReader::FloatColumnReader(reader) => Stored::Float(read!(reader)),
        ColumnReader::Int64ColumnReader(reader) => Stored::Whole(read!(reader)),
        ColumnReader::Int32ColumnReader(reader) => {
            let numbers: Vec<Option<i32>> = read!(reader);
            let numbers = numbers.into_iter();
            Stored::Whole(numbers.map(|number| number.map(i64::from)).collect())
        }
        ColumnReader::Int96ColumnReader(reader) => {
            let times: Vec<Option<Int96>> = read!(reader);
            let times = times.into_iter();
            Stored::Whole(times.map(|time| time.map(|time| time.to_millis())).collect())
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            let bytes: Vec<Option<FixedLenByteArray>> = read!(reader);
            let bytes = bytes.into_iter();
            Stored::Bytes(bytes.map(|bytes| bytes.map(ByteArray::from)).collect())
        }
        ColumnReader::BoolColumnReader(_) => {
            return Err(ParquetError::General("a column of another type".to_owned()));
        }
    };
    Ok(Values { stored, meaning })
}

fn check(is_whole: bool) -> Result<()> {
    if is_whole {
        return Ok(());
    }
    let message = "a column has fewer values than rows";
    Err(ParquetError::General(message.to_owned()))
}

/// The next entries of a map, of those keys that are wanted.
///
/// # Errors
/// When keys and values are not of the same entries, or there are fewer rows than so many.
pub(super) fn pairs(
    (keys, values): (&mut ColumnReader, &mut ColumnReader),
    rows: usize,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Values> {
    let (ColumnReader::ByteArrayColumnReader(keys), ColumnReader::ByteArrayColumnReader(values)) =
        (keys, values)
    else {
        return Err(ParquetError::General("a map of another type".to_owned()));
    };
    let read = |reader: &mut ColumnReaderImpl<ByteArrayType>| -> Result<Entries> {
        let mut entries = Entries::default();
        let (records, ..) = reader.read_records(
            rows,
            Some(&mut entries.levels),
            Some(&mut entries.starts),
            &mut entries.texts,
        )?;
        check(records == rows)?;
        Ok(entries)
    };
    let (keys, values) = (read(keys)?, read(values)?);
    check(keys.starts == values.starts && keys.levels.len() == keys.starts.len())?;
    check(values.levels.len() == values.starts.len())?;
    let starts: Vec<bool> = keys.starts.iter().map(|start| *start == 0).collect();
    let mut maps: Vec<Vec<(String, String)>> = Vec::with_capacity(rows);
    let entries = starts.into_iter().zip(keys.texts().zip(values.texts()));
    for (starts_row, (key, value)) in entries {
        if starts_row {
            maps.push(Vec::new());
        }
        let text = |bytes: &ByteArray| std::str::from_utf8(bytes.data()).map(str::to_owned);
        let (Some(key), Some(value), Some(map)) = (key, value, maps.last_mut()) else { continue };
        if let (Ok(key), Ok(value)) = (text(&key), text(&value))
            && is_wanted(&key)
        {
            map.push((key, value));
        }
    }
    check(maps.len() == rows)?;
    Ok(Values { stored: Stored::Pairs(maps), meaning: Meaning::Text })
}

/// Keys or values of maps: levels say which are there, and which begin a row.
#[derive(Default)]
struct Entries {
    levels: Vec<i16>,
    starts: Vec<i16>,
    texts: Vec<ByteArray>,
}

impl Entries {
    /// The text of each entry, absent where it has none.
    fn texts(self) -> impl Iterator<Item = Option<ByteArray>> {
        // What is there has the highest level of all.
        let highest = if self.texts.is_empty() {
            i16::MAX
        } else {
            self.levels.iter().copied().max().unwrap_or(i16::MAX)
        };
        let mut texts = self.texts.into_iter();
        self.levels.into_iter().map(move |level| if level == highest { texts.next() } else { None })
    }
}
