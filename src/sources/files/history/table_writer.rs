//! Tables that are written in Parquet, a group of rows at a time.

use super::columns::{Cell, Kind, ROWS_OF_A_GROUP, Schema, TableError, unread};
use parquet::basic::{Compression, GzipLevel};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use std::io;
use std::sync::Arc;

/// Bytes of long texts in a group: even where they do not pack, a column is one that is read.
const MOST_TEXT_BYTES: usize = 3 << 20;

/// Values of a column that are there, with a level for each row that says whether one is.
struct Values<T> {
    values: Vec<T>,
    levels: Vec<i16>,
}

impl<T> Values<T> {
    const NONE: Self = Self { values: Vec::new(), levels: Vec::new() };

    fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    /// Writes all of them, and forgets them.
    fn write<D: DataType<T = T>>(
        &mut self,
        column: &mut SerializedColumnWriter<'_>,
        is_required: bool,
    ) -> Result<(), ParquetError> {
        let levels = (!is_required).then_some(self.levels.as_slice());
        column.typed::<D>().write_batch(self.values.as_slice(), levels, None)?;
        self.values.clear();
        self.levels.clear();
        Ok(())
    }
}

/// Columns of some rows that are not written yet.
enum Column {
    Text(Values<ByteArray>),
    Whole(Values<i64>),
    Real(Values<f64>),
    Day(Values<i32>),
    Amount(Values<FixedLenByteArray>),
}

impl Column {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Text | Kind::LongText | Kind::OptionalText => Self::Text(Values::NONE),
            Kind::Whole | Kind::Decimal => Self::Whole(Values::NONE),
            Kind::Real => Self::Real(Values::NONE),
            Kind::Day => Self::Day(Values::NONE),
            Kind::Amount => Self::Amount(Values::NONE),
        }
    }

    fn push(&mut self, cell: Cell) -> Result<(), ParquetError> {
        match (self, cell) {
            (Self::Text(values), Cell::Text(text)) => values.push(Some(text)),
            (Self::Text(values), Cell::OptionalText(text)) => values.push(text),
            (Self::Whole(values), Cell::Whole(number) | Cell::Decimal(number)) => {
                values.push(number);
            }
            (Self::Real(values), Cell::Real(number)) => values.push(number),
            (Self::Day(values), Cell::Day(day)) => values.push(day),
            (Self::Amount(values), Cell::Amount(number)) => {
                let bytes = number.map(|number| number.to_be_bytes().to_vec());
                values.push(bytes.map(FixedLenByteArray::from));
            }
            _ => return Err(ParquetError::General("a cell of another kind".to_owned())),
        }
        Ok(())
    }

    fn write(
        &mut self,
        column: &mut SerializedColumnWriter<'_>,
        is_required: bool,
    ) -> Result<(), ParquetError> {
        match self {
            Self::Text(values) => values.write::<ByteArrayType>(column, is_required),
            Self::Whole(values) => values.write::<Int64Type>(column, is_required),
            Self::Real(values) => values.write::<DoubleType>(column, is_required),
            Self::Day(values) => values.write::<Int32Type>(column, is_required),
            Self::Amount(values) => values.write::<FixedLenByteArrayType>(column, is_required),
        }
    }
}

/// A table that is written, in memory.
pub(super) struct TableWriter {
    file: SerializedFileWriter<Vec<u8>>,
    schema: &'static Schema,
    columns: Vec<Column>,
    rows: usize,
    text_bytes: usize,
}

impl TableWriter {
    pub(super) fn new(schema: &'static Schema) -> Result<Self, ParquetError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_created_by(concat!("gpucost ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let message = schema.message()?;
        Ok(Self {
            file: SerializedFileWriter::new(Vec::new(), message, Arc::new(properties))?,
            schema,
            columns: schema.columns.iter().map(|(_, kind)| Column::of(*kind)).collect(),
            rows: 0,
            text_bytes: 0,
        })
    }

    /// Adds a row with a cell for each column.
    pub(super) fn push(&mut self, row: impl IntoIterator<Item = Cell>) -> Result<(), ParquetError> {
        let kinds = self.schema.columns.iter().map(|(_, kind)| kind);
        for ((column, kind), cell) in self.columns.iter_mut().zip(kinds).zip(row) {
            if let (Kind::LongText, Cell::Text(text)) = (kind, &cell) {
                self.text_bytes += text.len();
            }
            column.push(cell)?;
        }
        self.rows += 1;
        if self.rows == ROWS_OF_A_GROUP || self.text_bytes >= MOST_TEXT_BYTES {
            self.write_group()?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for (values, (_, kind)) in self.columns.iter_mut().zip(self.schema.columns) {
            let Some(mut column) = group.next_column()? else {
                return Err(ParquetError::General("a column too many".to_owned()));
            };
            values.write(&mut column, kind.is_required())?;
            column.close()?;
        }
        group.close()?;
        self.rows = 0;
        self.text_bytes = 0;
        Ok(())
    }

    /// The whole file.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, ParquetError> {
        self.write_group()?;
        self.file.into_inner()
    }
}

/// A whole table of some rows.
///
/// # Errors
/// When a row has no cells, or the table cannot be written.
pub(super) fn write_table<C: IntoIterator<Item = Cell>>(
    schema: &'static Schema,
    rows: impl Iterator<Item = Result<C, TableError>>,
) -> io::Result<Vec<u8>> {
    let mut table = TableWriter::new(schema).map_err(io::Error::other)?;
    for row in rows {
        table.push(row.map_err(unread)?).map_err(io::Error::other)?;
    }
    table.finish().map_err(io::Error::other)
}
