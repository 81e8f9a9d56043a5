//! What tables hold: columns of texts and numbers under plain names.

use jiff::civil::Date;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// Rows that are held at once while a table is written or read.
pub(super) const ROWS_OF_A_GROUP: usize = 1 << 16;
/// Bytes of a name.
const MOST_TEXT_BYTES: usize = 256;
/// Bytes of any other text: the tags of a workload.
const MOST_LONG_TEXT_BYTES: usize = 1 << 16;
/// Digits of a decimal, before and after its point.
const PRECISION: i32 = 18;
/// Those after it.
pub(super) const SCALE: u32 = 6;
/// The same of an amount of a bill.
const AMOUNT_PRECISION: i32 = 38;
pub(super) const AMOUNT_SCALE: u32 = 12;
/// Bytes of one.
const AMOUNT_BYTES: i32 = 16;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text that is always there, at most 256 bytes of it.
    Text,
    /// The same with at most 64 KiB.
    LongText,
    /// Text that may be absent.
    OptionalText,
    /// A whole number, which may be absent.
    Whole,
    /// A double, which may be absent.
    Real,
    /// A number with six decimals, which may be absent.
    Decimal,
    /// A day, which may be absent.
    Day,
    /// A number with twelve decimals, which may be absent.
    Amount,
}

impl Kind {
    /// How it is stored, and what that means.
    fn stored(self) -> (Physical, Option<LogicalType>) {
        let decimal = |scale: u32, precision| Some(LogicalType::decimal(scale as i32, precision));
        match self {
            Self::Text | Self::LongText | Self::OptionalText => {
                (Physical::BYTE_ARRAY, Some(LogicalType::String))
            }
            Self::Whole => (Physical::INT64, None),
            Self::Real => (Physical::DOUBLE, None),
            Self::Decimal => (Physical::INT64, decimal(SCALE, PRECISION)),
            Self::Day => (Physical::INT32, Some(LogicalType::Date)),
            Self::Amount => {
                (Physical::FIXED_LEN_BYTE_ARRAY, decimal(AMOUNT_SCALE, AMOUNT_PRECISION))
            }
        }
    }

    pub(super) fn is_required(self) -> bool {
        matches!(self, Self::Text | Self::LongText)
    }

    /// Bytes of a text.
    pub(super) fn most_bytes(self) -> usize {
        match self {
            Self::LongText => MOST_LONG_TEXT_BYTES,
            _ => MOST_TEXT_BYTES,
        }
    }

    fn field(self, name: &str) -> Result<Type, ParquetError> {
        let (physical, logical) = self.stored();
        let repetition =
            if self.is_required() { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        let mut field = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        if let Some(LogicalType::Decimal(decimal)) = &logical {
            field = field.with_precision(decimal.precision).with_scale(decimal.scale);
        }
        if self == Self::Amount {
            field = field.with_length(AMOUNT_BYTES);
        }
        field.with_logical_type(logical).build()
    }

    fn is_of(self, column: &ColumnDescriptor) -> bool {
        self.is_like(column) && column.max_def_level() == i16::from(!self.is_required())
    }

    /// Whether a column of another writer holds this: a value may be absent in any of them.
    fn is_like(self, column: &ColumnDescriptor) -> bool {
        let (physical, logical) = self.stored();
        // A number is not a decimal because of its bytes, nor a date.
        let is_alike = matches!(logical, None | Some(LogicalType::String))
            || column.logical_type_ref() == logical.as_ref();
        is_alike
            && column.physical_type() == physical
            && column.max_def_level() <= 1
            && column.max_rep_level() == 0
    }
}

/// A table and its columns, in order.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) name: &'static str,
    pub(super) columns: &'static [(&'static str, Kind)],
    /// Rows that are read, whoever wrote them.
    pub(super) most_rows: usize,
}

impl Schema {
    /// How a file describes it.
    pub(super) fn message(&self) -> Result<Arc<Type>, ParquetError> {
        let fields = self.columns.iter().map(|(name, kind)| kind.field(name).map(Arc::new));
        let fields: Vec<Arc<Type>> = fields.collect::<Result<_, _>>()?;
        Type::group_type_builder(self.name).with_fields(fields).build().map(Arc::new)
    }

    /// Whether a file has these columns.
    pub(super) fn is_of(&self, found: &SchemaDescriptor) -> bool {
        self.has(found, Kind::is_of)
    }

    /// Whether a file of another writer has them.
    pub(super) fn is_like(&self, found: &SchemaDescriptor) -> bool {
        self.has(found, Kind::is_like)
    }

    fn has(&self, schema: &SchemaDescriptor, is_of: fn(Kind, &ColumnDescriptor) -> bool) -> bool {
        let mut columns = self.columns.iter().enumerate();
        schema.num_columns() == self.columns.len()
            && columns.all(|(place, (name, kind))| {
                let column = schema.column(place);
                column.name() == *name && is_of(*kind, &column)
            })
    }
}

/// One value of a row, which may be absent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(Option<ByteArray>),
    /// A whole number, or a decimal in millionths.
    Whole(Option<i64>),
    Real(Option<f64>),
    /// Days since 1970.
    Day(Option<i32>),
    /// In units of the last of its twelve decimals.
    Amount(Option<i128>),
}

/// The first day that is a number, which is zero.
pub(super) const EPOCH: Date = Date::constant(1970, 1, 1);

impl Cell {
    /// A name.
    ///
    /// # Errors
    /// When it is longer than a name may be.
    pub(super) fn text(text: &str) -> Result<Self, TableError> {
        Self::within(Some(text), Kind::Text)
    }

    /// A name that may be absent.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub(super) fn optional(text: Option<&str>) -> Result<Self, TableError> {
        Self::within(text, Kind::OptionalText)
    }

    /// Any other text.
    ///
    /// # Errors
    /// When it is longer than one may be.
    pub(super) fn long(text: &str) -> Result<Self, TableError> {
        Self::within(Some(text), Kind::LongText)
    }

    fn within(text: Option<&str>, kind: Kind) -> Result<Self, TableError> {
        if text.is_some_and(|text| text.len() > kind.most_bytes()) {
            return Err(TableError::Large);
        }
        Ok(Self::Text(text.map(ByteArray::from)))
    }

    /// # Errors
    /// When it has more digits than are kept.
    pub(super) fn decimal(number: impl Into<Option<Decimal>>) -> Result<Self, TableError> {
        /// The first number with a digit too many.
        const LIMIT: i64 = 1_000_000_000_000_000_000;
        let Some(number) = number.into() else { return Ok(Self::Whole(None)) };
        let scaled = number.round_dp(SCALE).checked_mul(Decimal::from(1_000_000));
        let scaled = scaled.and_then(|scaled| scaled.to_i64());
        let scaled = scaled.filter(|scaled| (-LIMIT + 1..LIMIT).contains(scaled));
        Ok(Self::Whole(Some(scaled.ok_or(TableError::Value)?)))
    }

    /// # Errors
    /// Never for a day of the calendar.
    pub(super) fn day(day: impl Into<Option<Date>>) -> Result<Self, TableError> {
        let days = day.into().map(|day| day.duration_since(EPOCH).as_hours() / 24);
        let days = days.map(|days| i32::try_from(days).map_err(|_| TableError::Value));
        Ok(Self::Day(days.transpose()?))
    }
}

/// Declares a table and what makes the cells of a row of it, with a line for each column: its
/// name, its kind, and its cell. What cells share is made first.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $schema:ident = $name:literal, $most_rows:expr;
        $(#[$cells_doc:meta])*
        fn $cells:ident($($arg:ident: $type:ty),+) { $($shared:tt)* }
        $($column:literal $kind:ident $cell:expr;)+
    ) => {
        $(#[$doc])*
        pub(in crate::files::history) const $schema: Schema = Schema {
            name: $name,
            columns: &[$(($column, Kind::$kind)),+],
            most_rows: $most_rows,
        };

        $(#[$cells_doc])*
        pub(in crate::files::history) fn $cells(
            $($arg: $type),+
        ) -> Result<[Cell; [$($column),+].len()], TableError> {
            $($shared)*
            Ok([$($cell),+])
        }
    };
}
pub(super) use table;

/// Why a table cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum TableError {
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    #[error("its columns are not those of this version")]
    Columns,
    #[error("it has a value that gpucost does not write")]
    Value,
    /// More rows, a longer text, or more bytes or instances than are held in memory.
    #[error("it is larger than gpucost keeps")]
    Large,
    #[error("it has an instance twice, or one that usage_asked of the day does not roll up")]
    NotRolledUp,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What is wrong with a table that was read.
pub(super) fn unread(error: TableError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}
