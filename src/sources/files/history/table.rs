//! Tables in Parquet: texts and numbers under plain names, a group of rows at a time.

use super::columns::{Kind, ROWS_OF_A_GROUP, Schema, TableError, unread};
use super::pages::{MOST_BYTES, MOST_PACKED_BYTES, bounded};
use super::seal::Seal;
use crate::sources::files::shared::parquet_pages::{footer_bytes, spread};
use crate::sources::store::Store;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::ByteArray;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;
use std::fs::File;
use std::io;

/// Bytes that describe the groups of a table: a day of 100,000 GPUs has a tenth.
const MOST_FOOTER_BYTES: u32 = 16 << 20;

/// Columns of a group of rows that was read.
enum Cells {
    Text(Vec<Option<ByteArray>>),
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Day(Vec<Option<i32>>),
}

/// One row that was read, whose columns go by their places.
pub(super) struct Row<'a> {
    schema: &'a Schema,
    columns: &'a [Cells],
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
            Some(Cells::Text(texts)) => match &texts[self.place] {
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
            Some(Cells::Whole(numbers)) => numbers[self.place]
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

    pub(super) fn real(&self, column: usize) -> Result<Option<f64>, TableError> {
        match self.columns.get(column) {
            Some(Cells::Real(numbers)) => Ok(numbers[self.place]),
            _ => Err(TableError::Value),
        }
    }

    /// The days since 1970, where there is a day.
    pub(super) fn days(&self, column: usize) -> Result<Option<i32>, TableError> {
        match self.columns.get(column) {
            Some(Cells::Day(days)) => Ok(days[self.place]),
            _ => Err(TableError::Value),
        }
    }
}

/// Reads a table row by row.
///
/// # Errors
/// When it is not of this schema, or a row is refused.
pub(super) fn read_table(
    file: File,
    schema: &Schema,
    each: &mut dyn FnMut(&Row<'_>) -> Result<(), TableError>,
) -> Result<(), TableError> {
    read(file, schema, Schema::is_of, each)
}

/// The same of a table in a store, which is as it was written.
///
/// # Errors
/// Also when it has another length or checksum, or cannot be opened.
pub(super) async fn read_sealed(
    store: &dyn Store,
    (name, seal): (&str, Seal),
    schema: &Schema,
    each: &mut dyn FnMut(&Row<'_>) -> Result<(), TableError>,
) -> io::Result<()> {
    let file = seal.open(store, name).await?;
    read_table(file, schema, each).map_err(unread)
}

/// The same of a table that something else wrote.
///
/// # Errors
/// When it does not have the columns of this schema, or a row is refused.
pub(super) fn read_table_of_others(
    file: File,
    schema: &Schema,
    each: &mut dyn FnMut(&Row<'_>) -> Result<(), TableError>,
) -> Result<(), TableError> {
    read(file, schema, Schema::is_like, each)
}

fn read(
    mut file: File,
    schema: &Schema,
    is_of: fn(&Schema, &SchemaDescriptor) -> bool,
    each: &mut dyn FnMut(&Row<'_>) -> Result<(), TableError>,
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
            let column = described.column_descr_ptr();
            let is_required = column.max_def_level() == 0;
            columns.push(cells(get_column_reader(column, pages), rows, is_required)?);
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
    if is_within(column.uncompressed_size(), MOST_BYTES)
        && is_within(column.compressed_size(), MOST_PACKED_BYTES)
    {
        Ok(())
    } else {
        Err(TableError::Large)
    }
}

fn cells(reader: ColumnReader, rows: usize, is_required: bool) -> Result<Cells, TableError> {
    macro_rules! read {
        ($reader:ident) => {{
            let (mut values, mut levels) = (Vec::new(), Vec::new());
            $reader.read_records(rows, (!is_required).then_some(&mut levels), None, &mut values)?;
            // Where one must be there, it is there everywhere.
            let cells: Vec<_> = if is_required {
                values.into_iter().map(Some).collect()
            } else {
                spread(values, &levels)
            };
            if cells.len() != rows {
                return Err(TableError::Large);
            }
            cells
        }};
    }
    Ok(match reader {
        ColumnReader::ByteArrayColumnReader(mut reader) => Cells::Text(read!(reader)),
        ColumnReader::Int64ColumnReader(mut reader) => Cells::Whole(read!(reader)),
        ColumnReader::DoubleColumnReader(mut reader) => Cells::Real(read!(reader)),
        ColumnReader::Int32ColumnReader(mut reader) => Cells::Day(read!(reader)),
        _ => return Err(TableError::Columns),
    })
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
