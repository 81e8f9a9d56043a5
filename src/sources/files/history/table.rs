//! Tables in Parquet: texts and numbers under plain names, a group of rows at a time.

use super::columns::{Kind, ROWS_OF_A_GROUP, Schema, TableError};
use super::pages::{BoundedPages, MOST_BYTES, MOST_PACKED_BYTES};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::ByteArray;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Bytes that describe the groups of a table: a day of 100,000 GPUs has a tenth.
const MOST_FOOTER_BYTES: u32 = 16 << 20;

/// Columns of a group of rows that was read.
enum Cells {
    Text(Vec<Option<ByteArray>>),
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Day(Vec<Option<i32>>),
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::Text(texts) => texts.len(),
            Self::Whole(numbers) => numbers.len(),
            Self::Real(numbers) => numbers.len(),
            Self::Day(days) => days.len(),
        }
    }
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
    check_footer(&mut file)?;
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
            let pages = BoundedPages::new(group.get_column_page_reader(place)?, rows);
            let column = described.column_descr_ptr();
            let is_required = column.max_def_level() == 0;
            let reader = get_column_reader(column, Box::new(pages));
            let cells = cells(reader, rows, is_required)?;
            if cells.len() != rows {
                return Err(TableError::Large);
            }
            columns.push(cells);
        }
        for place in 0..rows {
            each(&Row { schema, columns: &columns, place })?;
        }
    }
    Ok(())
}

/// The last eight bytes of a table are the length of what describes it, and a mark. What is not
/// a table at all is left to who reads it.
///
/// # Errors
/// When it describes more than any table that is written here has.
fn check_footer(file: &mut File) -> Result<(), TableError> {
    const MARK: [u8; 4] = *b"PAR1";
    let mut end = [0; 8];
    if file.metadata()?.len() >= 8 {
        file.seek(SeekFrom::End(-8))?;
        file.read_exact(&mut end)?;
        file.rewind()?;
    }
    let [first, second, third, fourth, mark @ ..] = end;
    let length = u32::from_le_bytes([first, second, third, fourth]);
    if mark == MARK && length > MOST_FOOTER_BYTES {
        return Err(TableError::Large);
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
    let mut levels: Vec<i16> = Vec::new();
    let of_levels = (!is_required).then_some(&mut levels);
    match reader {
        ColumnReader::ByteArrayColumnReader(mut reader) => {
            let mut texts = Vec::new();
            reader.read_records(rows, of_levels, None, &mut texts)?;
            Ok(Cells::Text(spread(texts, &levels, is_required)))
        }
        ColumnReader::Int64ColumnReader(mut reader) => {
            let mut numbers = Vec::new();
            reader.read_records(rows, of_levels, None, &mut numbers)?;
            Ok(Cells::Whole(spread(numbers, &levels, is_required)))
        }
        ColumnReader::DoubleColumnReader(mut reader) => {
            let mut numbers = Vec::new();
            reader.read_records(rows, of_levels, None, &mut numbers)?;
            Ok(Cells::Real(spread(numbers, &levels, is_required)))
        }
        ColumnReader::Int32ColumnReader(mut reader) => {
            let mut days = Vec::new();
            reader.read_records(rows, of_levels, None, &mut days)?;
            Ok(Cells::Day(spread(days, &levels, is_required)))
        }
        _ => Err(TableError::Columns),
    }
}

/// Values at the places where one is there; everywhere, where it must be.
fn spread<T>(values: Vec<T>, levels: &[i16], is_required: bool) -> Vec<Option<T>> {
    if is_required {
        return values.into_iter().map(Some).collect();
    }
    let mut values = values.into_iter();
    let each = levels.iter();
    each.map(|level| if *level > 0 { values.next() } else { None }).collect()
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
