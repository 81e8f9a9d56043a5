//! Bills in Parquet: some rows of the columns that are read at a time. Pages are unpacked here and
//! not by the reader of Parquet, which takes as much memory as a page says that it needs.

use super::Problem;
use super::fields::{Cell, Row};
use super::parquet_values::{Meaning, Values, meaning_of, pairs, values};
use super::table::{BillOptions, Each, Reading};
use crate::domain::BillForm;
use crate::files::shared::parquet_pages::{CheckedPages, footer_bytes};
use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::SchemaDescriptor;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::result;
use std::sync::Arc;

/// Rows that are held at once.
const ROWS_AT_ONCE: usize = 4_096;
/// Bytes that describe a table.
const MOST_FOOTER_BYTES: u32 = 64 << 20;
/// Bytes of a page: most writers end one after 1 MiB.
const MOST_BYTES: usize = 128 << 20;
/// Values of a page, as many as of a group of rows that is one page.
const MOST_VALUES: usize = 1 << 24;

/// A column that can be read, by its leaves or by their readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column<L> {
    Values(L, Meaning),
    /// Keys, and their values.
    Map(L, L),
}

/// Reads rows until there are no more, or `each` has enough. Gives the form, and how many
/// rows there were.
pub(super) fn read_parquet(
    mut file: File,
    options: &BillOptions,
    each: Each<'_>,
) -> result::Result<(BillForm, u64), Problem> {
    let file_bytes = check_ends(&mut file)?;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).map_err(damaged)?;
    let (header, mut columns) = columns(metadata.file_metadata().schema_descr());
    let reading = Reading::new(&header, options).map_err(Problem::Form)?;
    let read = reading.columns();
    for (place, column) in columns.iter_mut().enumerate() {
        *column = column.filter(|_| read.contains(&place));
    }
    check_packing(&metadata, &columns)?;
    let file = Arc::new(file);
    let mut rows = 0;
    for group in metadata.row_groups() {
        let left = usize::try_from(group.num_rows());
        let mut left = left.map_err(|_| Problem::Damaged("it has less than no rows".to_owned()))?;
        let open = |leaf: usize| opened((&file, file_bytes), group, leaf, left);
        let readers =
            columns.iter().map(|column| column.map(|column| column.open(open)).transpose());
        let mut readers: Vec<_> = readers.collect::<Result<_>>().map_err(damaged)?;
        while left > 0 {
            let held = left.min(ROWS_AT_ONCE);
            left -= held;
            let next = readers.iter_mut().map(|reader| {
                reader.as_mut().map(|reader| reader.next(held, &reading)).transpose()
            });
            let columns: Vec<Option<Values>> = next.collect::<Result<_>>().map_err(damaged)?;
            for row in 0..held {
                rows += 1;
                let charge = reading.charge(&OneRow { columns: &columns, row });
                let charge = charge.map_err(|message| Problem::Row(rows, message))?;
                if each(charge).is_break() {
                    return Ok((reading.form, rows));
                }
            }
        }
    }
    Ok((reading.form, rows))
}

fn damaged(error: ParquetError) -> Problem {
    Problem::Damaged(error.to_string())
}

impl Column<usize> {
    fn open(self, open: impl Fn(usize) -> Result<ColumnReader>) -> Result<Column<ColumnReader>> {
        Ok(match self {
            Self::Values(leaf, meaning) => Column::Values(open(leaf)?, meaning),
            Self::Map(keys, values) => Column::Map(open(keys)?, open(values)?),
        })
    }
}

impl Column<ColumnReader> {
    /// The next rows.
    fn next(&mut self, rows: usize, reading: &Reading<'_>) -> Result<Values> {
        match self {
            Self::Values(reader, meaning) => values(reader, rows, *meaning),
            Self::Map(keys, values) => {
                pairs((keys, values), rows, |key| reading.tags.is_asked(key))
            }
        }
    }
}

struct OneRow<'a> {
    columns: &'a [Option<Values>],
    row: usize,
}

impl Row for OneRow<'_> {
    fn cell(&self, column: usize) -> result::Result<Cell<'_>, String> {
        match self.columns.get(column) {
            Some(Some(values)) => values.cell(self.row),
            _ => Ok(Cell::Absent),
        }
    }
}

/// Gives the length of the file.
///
/// # Errors
/// When the file ends early, or describes more than any bill has.
fn check_ends(file: &mut File) -> result::Result<u64, Problem> {
    let Some(bytes) = footer_bytes(file, 12)? else {
        return Err(Problem::Damaged("it ends early".to_owned()));
    };
    if bytes > MOST_FOOTER_BYTES {
        let most = MOST_FOOTER_BYTES >> 20;
        return Err(Problem::Damaged(format!("what describes it has more than {most} MiB")));
    }
    Ok(file.metadata()?.len())
}

/// The columns with their names, in order of their first leaf; `None` for lists and records, which
/// bills have none of that is read.
fn columns(schema: &SchemaDescriptor) -> (Vec<String>, Vec<Option<Column<usize>>>) {
    let mut by_root: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for leaf in 0..schema.num_columns() {
        by_root.entry(schema.get_column_root_idx(leaf)).or_default().push(leaf);
    }
    let column = |leaf: usize| schema.column(leaf);
    let is_of_map = |leaf: usize, name: &str| {
        let column = column(leaf);
        column.name() == name
            && column.max_rep_level() == 1
            && meaning_of(&column) == Some(Meaning::Text)
    };
    let place = |leaves: &[usize]| match *leaves {
        [leaf] if column(leaf).path().parts().len() == 1 && column(leaf).max_rep_level() == 0 => {
            Some(Column::Values(leaf, meaning_of(&column(leaf))?))
        }
        [keys, values] if is_of_map(keys, "key") && is_of_map(values, "value") => {
            Some(Column::Map(keys, values))
        }
        _ => None,
    };
    let name = |leaves: &[usize]| {
        let first = leaves.first().map(|leaf| column(*leaf));
        first.and_then(|column| column.path().parts().first().cloned()).unwrap_or_default()
    };
    by_root.values().map(|leaves| (name(leaves), place(leaves))).unzip()
}

/// # Errors
/// When a column that is read is packed in a way that is not: Zstandard would take a library in C.
fn check_packing(
    metadata: &ParquetMetaData,
    columns: &[Option<Column<usize>>],
) -> result::Result<(), Problem> {
    let leaves = columns.iter().flatten().flat_map(|column| match *column {
        Column::Values(leaf, _) => vec![leaf],
        Column::Map(keys, values) => vec![keys, values],
    });
    let leaves: Vec<usize> = leaves.collect();
    let is_read = |compression: &Compression| {
        use Compression::{GZIP, SNAPPY, UNCOMPRESSED};
        matches!(compression, UNCOMPRESSED | GZIP(_) | SNAPPY)
    };
    let unread = |group: &RowGroupMetaData| -> Option<Compression> {
        let chunks = leaves.iter().filter_map(|leaf| group.columns().get(*leaf));
        chunks.map(ColumnChunkMetaData::compression).find(|compression| !is_read(compression))
    };
    let Some(compression) = metadata.row_groups().iter().find_map(unread) else { return Ok(()) };
    let name = format!("{compression:?}");
    let name = name.split('(').next().unwrap_or_default();
    Err(Problem::Form(format!(
        "it is packed with {name}; Parquet is read unpacked, with Snappy and with gzip"
    )))
}

/// A column of a group of rows, whose pages are as they were before they were packed.
///
/// # Errors
/// When the file says of the column what cannot be.
fn opened(
    (file, file_bytes): (&Arc<File>, u64),
    group: &RowGroupMetaData,
    leaf: usize,
    rows: usize,
) -> Result<ColumnReader> {
    let column = group.columns().get(leaf).ok_or_else(|| refused("a column is missing"))?;
    check_place(column, file_bytes)?;
    let packing = column.compression();
    // What is not packed is handed over as it is.
    let packed =
        column.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
    let inner = SerializedPageReader::new(Arc::clone(file), &packed, rows, None)?;
    let pages: Box<dyn PageReader> =
        Box::new(CheckedPages::new(Box::new(inner), move |page| unpacked(packing, page)));
    Ok(get_column_reader(column.column_descr_ptr(), pages))
}

fn unpack(packing: Compression, bytes: &[u8]) -> Result<Vec<u8>> {
    // A page without values may be packed to nothing.
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let snappy = |error: snap::Error| refused(error.to_string());
    match packing {
        Compression::UNCOMPRESSED => Ok(bytes.to_vec()),
        Compression::GZIP(_) => {
            let mut unpacked = Vec::new();
            MultiGzDecoder::new(bytes).take(MOST_BYTES as u64 + 1).read_to_end(&mut unpacked)?;
            within(unpacked.len())?;
            Ok(unpacked)
        }
        Compression::SNAPPY => {
            within(snap::raw::decompress_len(bytes).map_err(snappy)?)?;
            snap::raw::Decoder::new().decompress_vec(bytes).map_err(snappy)
        }
        _ => Err(refused("it is packed in a way that is not read")),
    }
}

fn unpacked(packing: Compression, mut page: Page) -> Result<Page> {
    check_values(&page)?;
    match &mut page {
        page if packing == Compression::UNCOMPRESSED => within(page.buffer().len())?,
        Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => {
            *buf = unpack(packing, buf)?.into();
        }
        Page::DataPageV2 {
            buf, def_levels_byte_len, rep_levels_byte_len, is_compressed, ..
        } => {
            // Levels come first, and are not packed.
            let levels = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
            let (levels, values) = buf
                .split_at_checked(levels)
                .ok_or_else(|| refused("a page is shorter than its levels"))?;
            if *is_compressed {
                *buf = [levels, unpack(packing, values)?.as_slice()].concat().into();
            }
            *is_compressed = false;
        }
    }
    if let Page::DictionaryPage { buf, num_values, .. } = &page {
        // Each value takes a byte at least, and all of them are held.
        if usize::try_from(*num_values).is_ok_and(|values| values > buf.len()) {
            return Err(refused("a dictionary of it has more values than bytes"));
        }
    }
    Ok(page)
}

fn refused(message: impl Into<String>) -> ParquetError {
    ParquetError::General(message.into())
}

fn within(bytes: usize) -> Result<()> {
    if bytes > MOST_BYTES {
        return Err(refused(format!("a page of it unpacks to more than {} MiB", MOST_BYTES >> 20)));
    }
    Ok(())
}

/// # Errors
/// When a column is not inside its file: the reader panics at places below zero.
fn check_place(column: &ColumnChunkMetaData, file_bytes: u64) -> Result<()> {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let start = u64::try_from(start).ok();
    let length = u64::try_from(column.compressed_size()).ok();
    let end = start.zip(length).and_then(|(start, length)| start.checked_add(length));
    match end {
        Some(end) if end <= file_bytes => Ok(()),
        _ => Err(refused("a column of it is not inside the file")),
    }
}

/// # Errors
/// When a page has more values than a page has, or than its bytes can be, or an encoding that
/// writers of bills do not use and that has lengths of its own.
fn check_values(page: &Page) -> Result<()> {
    let is_known = matches!(
        page.encoding(),
        Encoding::PLAIN
            | Encoding::PLAIN_DICTIONARY
            | Encoding::RLE_DICTIONARY
            | Encoding::RLE
            | Encoding::DELTA_BINARY_PACKED
    );
    if !is_known {
        return Err(refused(format!("it has the encoding {:?}", page.encoding())));
    }
    if usize::try_from(page.num_values()).is_ok_and(|values| values <= MOST_VALUES) {
        return Ok(());
    }
    Err(refused("a page of it has more values than a page has"))
}
