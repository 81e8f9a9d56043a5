//! Tables in Parquet: texts and numbers under plain names, written and read a group of rows at a
//! time.

use super::columns::{Cell, Kind, ROWS_OF_A_GROUP, Schema, TableError, unread};
use super::layout::Seal;
use crate::files::shared::parquet_pages::{CheckedPages, footer_bytes, values_of};
use crate::store::Store;
use parquet::basic::{Compression, Encoding, GzipLevel};
use parquet::column::page::{Page, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::SchemaDescriptor;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Bytes that describe the groups of a table: a day of 100,000 GPUs has a tenth.
const MOST_FOOTER_BYTES: u32 = 16 << 20;
/// Bytes of a column in a group of rows, unpacked: a group of the longest texts has 17 MB.
const MOST_BYTES: usize = 32 << 20;
/// The same, packed: page by page, gzip unpacks to at most about a thousand times as much.
const MOST_PACKED_BYTES: usize = 4 << 20;
/// Bytes of long texts in a group that is written: even where they do not pack, a column is one
/// that is read.
const MOST_TEXT_BYTES: usize = 3 << 20;

/// Values of a column in a group of rows.
enum Values {
    Text(Vec<Option<ByteArray>>),
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Day(Vec<Option<i32>>),
    Amount(Vec<Option<FixedLenByteArray>>),
}

impl Values {
    fn none(kind: Kind) -> Self {
        match kind {
            Kind::Text | Kind::LongText | Kind::OptionalText => Self::Text(Vec::new()),
            Kind::Whole | Kind::Decimal => Self::Whole(Vec::new()),
            Kind::Real => Self::Real(Vec::new()),
            Kind::Day => Self::Day(Vec::new()),
            Kind::Amount => Self::Amount(Vec::new()),
        }
    }

    fn read(reader: ColumnReader, rows: usize) -> Result<Self, TableError> {
        Ok(match reader {
            ColumnReader::ByteArrayColumnReader(mut texts) => {
                Self::Text(values_of(&mut texts, rows)?)
            }
            ColumnReader::Int64ColumnReader(mut numbers) => {
                Self::Whole(values_of(&mut numbers, rows)?)
            }
            ColumnReader::DoubleColumnReader(mut numbers) => {
                Self::Real(values_of(&mut numbers, rows)?)
            }
            ColumnReader::Int32ColumnReader(mut days) => Self::Day(values_of(&mut days, rows)?),
            _ => return Err(TableError::Columns),
        })
    }

    fn push(&mut self, cell: Cell) -> ParquetResult<()> {
        match (self, cell) {
            (Self::Text(values), Cell::Text(text)) => values.push(text),
            (Self::Whole(values), Cell::Whole(number)) => values.push(number),
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

    /// Writes all of them, and forgets them.
    fn write(
        &mut self,
        column: &mut SerializedColumnWriter<'_>,
        is_required: bool,
    ) -> ParquetResult<()> {
        match self {
            Self::Text(values) => write::<ByteArrayType>(values, column, is_required),
            Self::Whole(values) => write::<Int64Type>(values, column, is_required),
            Self::Real(values) => write::<DoubleType>(values, column, is_required),
            Self::Day(values) => write::<Int32Type>(values, column, is_required),
            Self::Amount(values) => write::<FixedLenByteArrayType>(values, column, is_required),
        }
    }
}

fn write<D: DataType>(
    values: &mut Vec<Option<D::T>>,
    column: &mut SerializedColumnWriter<'_>,
    is_required: bool,
) -> ParquetResult<()> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let there: Vec<D::T> = values.drain(..).flatten().collect();
    let levels = (!is_required).then_some(levels.as_slice());
    column.typed::<D>().write_batch(&there, levels, None)?;
    Ok(())
}

/// One row that was read, whose columns go by their places.
pub(super) struct Row<'a> {
    schema: &'a Schema,
    columns: &'a [Values],
    place: usize,
}

impl Row<'_> {
    /// A text that is always there.
    ///
    /// # Errors
    /// When it is not there or not UTF-8, or longer than such texts are: a page stores it once
    /// for many rows.
    pub(super) fn text(&self, column: usize) -> Result<&str, TableError> {
        self.optional_text(column)?.ok_or(TableError::Value)
    }

    /// A text that is there or not.
    ///
    /// # Errors
    /// When it is not UTF-8, or longer than such texts are.
    pub(super) fn optional_text(&self, column: usize) -> Result<Option<&str>, TableError> {
        let kind = self.schema.columns.get(column).map(|(_, kind)| *kind);
        let most = kind.unwrap_or(Kind::Text).most_bytes();
        match self.columns.get(column) {
            Some(Values::Text(texts)) => match &texts[self.place] {
                Some(text) if text.len() > most => Err(TableError::Large),
                Some(text) => Ok(Some(text.as_utf8()?)),
                None => Ok(None),
            },
            _ => Err(TableError::Value),
        }
    }

    /// A whole number that is there or not; of a decimal its millionths.
    ///
    /// # Errors
    /// When it is out of range.
    pub(super) fn whole<T: TryFrom<i64>>(&self, column: usize) -> Result<Option<T>, TableError> {
        match self.columns.get(column) {
            Some(Values::Whole(numbers)) => numbers[self.place]
                .map(|number| T::try_from(number).map_err(|_| TableError::Value))
                .transpose(),
            _ => Err(TableError::Value),
        }
    }

    /// A whole number that is there.
    ///
    /// # Errors
    /// When it is not, or out of range.
    pub(super) fn some<T: TryFrom<i64>>(&self, column: usize) -> Result<T, TableError> {
        self.whole(column)?.ok_or(TableError::Value)
    }

    /// What a name stands for that is there or not.
    ///
    /// # Errors
    /// When nothing has the name.
    pub(super) fn optional_named<T>(
        &self,
        column: usize,
        of: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, TableError> {
        let name = self.optional_text(column)?;
        name.map(|name| of(name).ok_or(TableError::Value)).transpose()
    }

    /// What a name stands for that is always there.
    ///
    /// # Errors
    /// When it is not, or nothing has the name.
    pub(super) fn named<T>(
        &self,
        column: usize,
        of: impl Fn(&str) -> Option<T>,
    ) -> Result<T, TableError> {
        self.optional_named(column, of)?.ok_or(TableError::Value)
    }

    pub(super) fn real(&self, column: usize) -> Result<Option<f64>, TableError> {
        match self.columns.get(column) {
            Some(Values::Real(numbers)) => Ok(numbers[self.place]),
            _ => Err(TableError::Value),
        }
    }

    /// The days since 1970, where there is a day.
    pub(super) fn days(&self, column: usize) -> Result<Option<i32>, TableError> {
        match self.columns.get(column) {
            Some(Values::Day(days)) => Ok(days[self.place]),
            _ => Err(TableError::Value),
        }
    }
}

/// Takes a row, or refuses it.
pub(super) type Each<'a> = &'a mut dyn FnMut(&Row<'_>) -> Result<(), TableError>;

/// Reads a table of gpucost row by row.
///
/// # Errors
/// When it is not of this schema, or a row is refused.
pub(super) fn read_table(file: File, schema: &Schema, each: Each<'_>) -> Result<(), TableError> {
    read_rows(file, schema, Schema::is_of, each)
}

/// The same of a table in a store, which is as it was written.
///
/// # Errors
/// Also when it has another length or checksum, or cannot be opened.
pub(super) async fn read_sealed(
    store: &dyn Store,
    (name, seal): (&str, Seal),
    schema: &Schema,
    each: Each<'_>,
) -> io::Result<()> {
    read_table(seal.open(store, name).await?, schema, each).map_err(unread)
}

/// Reads a table that has the columns of a schema, as whoever wrote it has them.
///
/// # Errors
/// When it does not have them, or a row is refused.
pub(super) fn read_rows(
    mut file: File,
    schema: &Schema,
    is_of: fn(&Schema, &SchemaDescriptor) -> bool,
    each: Each<'_>,
) -> Result<(), TableError> {
    // What is not a table at all is left to who reads it.
    if footer_bytes(&mut file, 8)?.is_some_and(|bytes| bytes > MOST_FOOTER_BYTES) {
        return Err(TableError::Large);
    }
    let reader = SerializedFileReader::new(file)?;
    if !is_of(schema, reader.metadata().file_metadata().schema_descr()) {
        return Err(TableError::Columns);
    }
    let mut room = schema.most_rows;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).map_err(|_| TableError::Large)?;
        if rows > ROWS_OF_A_GROUP {
            return Err(TableError::Large);
        }
        room = room.checked_sub(rows).ok_or(TableError::Large)?;
        let mut columns = Vec::with_capacity(schema.columns.len());
        for place in 0..schema.columns.len() {
            let described = group.metadata().column(place);
            check_size(described)?;
            let pages = bounded(group.get_column_page_reader(place)?, rows);
            let reader = get_column_reader(described.column_descr_ptr(), pages);
            columns.push(Values::read(reader, rows)?);
        }
        for place in 0..rows {
            each(&Row { schema, columns: &columns, place })?;
        }
    }
    Ok(())
}

/// # Errors
/// When a column of a group is larger than any that is written here.
fn check_size(column: &ColumnChunkMetaData) -> Result<(), TableError> {
    let is_within = |bytes: i64, most: usize| usize::try_from(bytes).is_ok_and(|it| it <= most);
    let is_small = is_within(column.uncompressed_size(), MOST_BYTES)
        && is_within(column.compressed_size(), MOST_PACKED_BYTES);
    if is_small { Ok(()) } else { Err(TableError::Large) }
}

/// Pages of a column of some rows, bounded whoever wrote them: the sizes that a page states are
/// what a decoder takes memory for. One is refused that is larger than any that is written here,
/// or of an encoding that is not written here and has lengths of its own.
fn bounded(inner: Box<dyn PageReader>, rows: usize) -> Box<dyn PageReader> {
    // Bytes that may still come.
    let mut room = MOST_BYTES;
    Box::new(CheckedPages::new(inner, move |page: Page| {
        let is_known = matches!(
            page.encoding(),
            Encoding::PLAIN | Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY
        );
        let values = usize::try_from(page.num_values()).unwrap_or(usize::MAX);
        let left = room.checked_sub(page.buffer().len());
        room = left.filter(|_| is_known && values <= rows).ok_or_else(|| {
            ParquetError::General("it has a page that gpucost does not write".to_owned())
        })?;
        Ok(page)
    }))
}

/// A table that is written, in memory.
pub(super) struct TableWriter {
    file: SerializedFileWriter<Vec<u8>>,
    schema: &'static Schema,
    columns: Vec<Values>,
    rows: usize,
    text_bytes: usize,
}

impl TableWriter {
    pub(super) fn new(schema: &'static Schema) -> ParquetResult<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_created_by(concat!("gpucost ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let message = schema.message()?;
        Ok(Self {
            file: SerializedFileWriter::new(Vec::new(), message, Arc::new(properties))?,
            schema,
            columns: schema.columns.iter().map(|(_, kind)| Values::none(*kind)).collect(),
            rows: 0,
            text_bytes: 0,
        })
    }

    /// Adds a row with a cell for each column.
    pub(super) fn push(&mut self, row: impl IntoIterator<Item = Cell>) -> ParquetResult<()> {
        let kinds = self.schema.columns.iter().map(|(_, kind)| kind);
        for ((column, kind), cell) in self.columns.iter_mut().zip(kinds).zip(row) {
            if let (Kind::LongText, Cell::Text(Some(text))) = (kind, &cell) {
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

    fn write_group(&mut self) -> ParquetResult<()> {
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
    pub(super) fn finish(mut self) -> ParquetResult<Vec<u8>> {
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

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
