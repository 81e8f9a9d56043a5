//! Tables in Parquet: texts and numbers under plain names, a group of rows at a time.

use super::columns::{Kind, ROWS_OF_A_GROUP, Schema, TableError, unread};
use super::seal::Seal;
use crate::sources::files::shared::parquet_pages::{CheckedPages, footer_bytes, spread};
use crate::sources::store::Store;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
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

/// Bytes of a column in a group of rows, unpacked: a group of the longest texts has 17 MB.
const MOST_BYTES: usize = 32 << 20;
/// The same, packed: page by page, gzip unpacks to at most about a thousand times as much.
const MOST_PACKED_BYTES: usize = 4 << 20;

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

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;

#[cfg(test)]
mod page_tests {
    use super::*;
    use parquet::column::page::PageMetadata;
    use parquet::errors::Result;

    struct Given(std::vec::IntoIter<Page>);

    impl Iterator for Given {
        type Item = Result<Page>;

        fn next(&mut self) -> Option<Result<Page>> {
            self.0.next().map(Ok)
        }
    }

    impl PageReader for Given {
        fn get_next_page(&mut self) -> Result<Option<Page>> {
            Ok(self.0.next())
        }

        fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
            Ok(None)
        }

        fn skip_next_page(&mut self) -> Result<()> {
            Ok(())
        }
    }

    fn dictionary(bytes: usize, num_values: u32, encoding: Encoding) -> Page {
        Page::DictionaryPage { buf: vec![0; bytes].into(), num_values, encoding, is_sorted: false }
    }

    /// How many pages of a column of ten rows are read until one is refused.
    fn read(pages: Vec<Page>) -> usize {
        let pages = bounded(Box::new(Given(pages.into_iter())), 10);
        pages.take_while(|page| page.is_ok()).count()
    }

    #[test]
    fn a_page_of_more_values_than_rows_is_refused() {
        let of = |values| read(vec![dictionary(8, values, Encoding::PLAIN)]);
        assert_eq!((of(10), of(11), of(u32::MAX)), (1, 0, 0));
    }

    #[test]
    fn an_encoding_with_lengths_of_its_own_is_refused() {
        let of = |encoding| read(vec![dictionary(8, 1, encoding)]);
        assert_eq!(of(Encoding::PLAIN_DICTIONARY), 1);
        assert_eq!(of(Encoding::DELTA_LENGTH_BYTE_ARRAY), 0);
    }

    #[test]
    fn pages_of_a_column_are_bounded_together() {
        let of = |sizes: &[usize]| {
            let pages = sizes.iter().map(|size| dictionary(*size, 1, Encoding::PLAIN));
            read(pages.collect())
        };
        // 16 MiB + 16 MiB are the 32 MiB of a column.
        assert_eq!(of(&[16 << 20, 16 << 20]), 2);
        assert_eq!(of(&[16 << 20, 16 << 20, 1]), 2);
        assert_eq!(of(&[(32 << 20) + 1]), 0);
    }
}
