//! Values of columns in Parquet, and what they mean.

use super::fields::Cell;
use super::values::{of_double, within};
use crate::files::shared::parquet_pages::values_of;
use jiff::{SignedDuration, Timestamp};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
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
pub(super) struct Values(Vec<Value>);

#[derive(Debug)]
enum Value {
    Absent,
    Text(ByteArray),
    Number(Decimal),
    Time(Timestamp),
    Map(Vec<(String, String)>),
    /// Why it has no cell.
    Invalid(&'static str),
}

impl Values {
    /// # Errors
    /// In words, when it is not UTF-8, not finite, or out of range.
    pub(super) fn cell(&self, row: usize) -> std::result::Result<Cell<'_>, String> {
        Ok(match self.0.get(row) {
            None | Some(Value::Absent) => Cell::Absent,
            Some(Value::Text(text)) => Cell::Text(
                std::str::from_utf8(text.data()).map_err(|_| "it is not UTF-8 text".to_owned())?,
            ),
            Some(Value::Number(number)) => Cell::Number(*number),
            Some(Value::Time(at)) => Cell::Time(*at),
            Some(Value::Map(pairs)) => Cell::Map(pairs),
            Some(Value::Invalid(why)) => return Err((*why).to_owned()),
        })
    }
}

impl Value {
    fn number(number: Option<Decimal>) -> Self {
        number.map_or(Self::Invalid("a number of it is not at most 10^10"), Self::Number)
    }

    fn time(at: Option<Timestamp>) -> Self {
        at.map_or(Self::Invalid("a time of it is out of range"), Self::Time)
    }

    fn of_bytes(bytes: ByteArray, meaning: Meaning) -> Self {
        match meaning {
            Meaning::Text => Self::Text(bytes),
            Meaning::Decimal(scale) => {
                Self::number(whole_of(bytes.data()).and_then(|whole| decimal(whole, scale)))
            }
            _ => Self::Absent,
        }
    }

    fn of_whole(whole: i64, meaning: Meaning) -> Self {
        match meaning {
            Meaning::Number => Self::number(within(Decimal::from(whole))),
            Meaning::Decimal(scale) => Self::number(decimal(i128::from(whole), scale)),
            Meaning::Time(parts) => Self::time(instant(whole, parts)),
            Meaning::Date => Self::time(instant(whole.saturating_mul(86_400), 1)),
            Meaning::Text => Self::Absent,
        }
    }

    fn of_double(double: f64, meaning: Meaning) -> Self {
        // Writers without absent numbers write NaN.
        if double.is_nan() || meaning != Meaning::Number {
            return Self::Absent;
        }
        Self::number(of_double(double))
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
pub(super) fn values(reader: &mut ColumnReader, rows: usize, meaning: Meaning) -> Result<Values> {
    fn read<T: DataType>(
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        of: impl Fn(T::T) -> Value,
    ) -> Result<Values> {
        let values = values_of(reader, rows)?.into_iter();
        Ok(Values(values.map(|value| value.map_or(Value::Absent, &of)).collect()))
    }
    let bytes = |bytes| Value::of_bytes(bytes, meaning);
    let whole = |whole| Value::of_whole(whole, meaning);
    let double = |double| Value::of_double(double, meaning);
    match reader {
        ColumnReader::ByteArrayColumnReader(reader) => read(reader, rows, bytes),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            read(reader, rows, |fixed| bytes(ByteArray::from(fixed)))
        }
        ColumnReader::Int64ColumnReader(reader) => read(reader, rows, whole),
        ColumnReader::Int32ColumnReader(reader) => {
            read(reader, rows, |number| whole(i64::from(number)))
        }
        ColumnReader::Int96ColumnReader(reader) => {
            read(reader, rows, |time| whole(time.to_millis()))
        }
        ColumnReader::DoubleColumnReader(reader) => read(reader, rows, double),
        // The shortest text of a float is not that of the double beside it.
        ColumnReader::FloatColumnReader(reader) => {
            read(reader, rows, |float| double(float.to_string().parse().unwrap_or(f64::INFINITY)))
        }
        ColumnReader::BoolColumnReader(_) => {
            Err(ParquetError::General("a column of another type".to_owned()))
        }
    }
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
    let ((starts, keys), (starts_of_values, values)) =
        (entries(keys, rows)?, entries(values, rows)?);
    check(starts == starts_of_values)?;
    let mut maps: Vec<Vec<(String, String)>> = Vec::with_capacity(rows);
    for (start, (key, value)) in starts.into_iter().zip(keys.into_iter().zip(values)) {
        if start == 0 {
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
    Ok(Values(maps.into_iter().map(Value::Map).collect()))
}

/// Keys or values of the next maps: of each entry a level that is zero where a row begins, and its
/// text, absent where it has none.
fn entries(reader: &mut ColumnReader, rows: usize) -> Result<(Vec<i16>, Vec<Option<ByteArray>>)> {
    let ColumnReader::ByteArrayColumnReader(reader) = reader else {
        return Err(ParquetError::General("a map of another type".to_owned()));
    };
    let (mut levels, mut starts, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    let (records, ..) =
        reader.read_records(rows, Some(&mut levels), Some(&mut starts), &mut texts)?;
    check(records == rows && levels.len() == starts.len())?;
    // What is there has the highest level of all.
    let highest = levels.iter().copied().max().filter(|_| !texts.is_empty()).unwrap_or(i16::MAX);
    let mut texts = texts.into_iter();
    let texts = levels.iter().map(|level| if *level == highest { texts.next() } else { None });
    Ok((starts, texts.collect()))
}
