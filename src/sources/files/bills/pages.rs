//! Pages of a column as they were before they were packed. They are unpacked here and not by
//! the reader of Parquet, which takes as much memory as a page says that it needs.

use crate::sources::files::shared::parquet_pages::CheckedPages;
use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

/// Bytes of a page: most writers end one after 1 MiB.
const MOST_BYTES: usize = 128 << 20;
/// Values of a page, as many as of a group of rows that is one page.
const MOST_VALUES: usize = 1 << 24;

/// Whether columns that are packed this way are read. Zstandard would take a library in C.
pub(super) fn is_read(compression: Compression) -> bool {
    matches!(compression, Compression::UNCOMPRESSED | Compression::GZIP(_) | Compression::SNAPPY)
}

/// The pages of a column of a group of rows.
///
/// # Errors
/// When the file says of the column what cannot be.
pub(super) fn unpacked_pages(
    file: &Arc<File>,
    column: &ColumnChunkMetaData,
    rows: usize,
    file_bytes: u64,
) -> Result<Box<dyn PageReader>> {
    check_place(column, file_bytes)?;
    let packing = column.compression();
    if !is_read(packing) {
        return Err(refused(NOT_READ));
    }
    // What is not packed is handed over as it is.
    let packed =
        column.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
    let inner = SerializedPageReader::new(Arc::clone(file), &packed, rows, None)?;
    let pages = CheckedPages::new(Box::new(inner), move |page| unpacked(packing, page));
    Ok(Box::new(pages))
}

const NOT_READ: &str = "it is packed in a way that is not read";

fn unpack(packing: Compression, bytes: &[u8]) -> Result<Vec<u8>> {
    // A page without values may be packed to nothing.
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    match packing {
        Compression::UNCOMPRESSED => Ok(bytes.to_vec()),
        Compression::GZIP(_) => {
            let mut unpacked = Vec::new();
            MultiGzDecoder::new(bytes).take(MOST_BYTES as u64 + 1).read_to_end(&mut unpacked)?;
            within(unpacked.len())?;
            Ok(unpacked)
        }
        Compression::SNAPPY => {
            let length = snap::raw::decompress_len(bytes).map_err(damaged)?;
            within(length)?;
            snap::raw::Decoder::new().decompress_vec(bytes).map_err(damaged)
        }
        _ => Err(refused(NOT_READ)),
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

fn damaged(error: snap::Error) -> ParquetError {
    refused(error.to_string())
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
