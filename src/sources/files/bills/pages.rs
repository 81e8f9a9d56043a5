//! Pages of a column as they were before they were packed. They are unpacked here and not by
//! the reader of Parquet, which takes as much memory as a page says that it needs.

use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
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

#[derive(Debug, Clone, Copy)]
enum Packing {
    None,
    Gzip,
    Snappy,
}

impl Packing {
    fn of(compression: Compression) -> Option<Self> {
        match compression {
            Compression::UNCOMPRESSED => Some(Self::None),
            Compression::GZIP(_) => Some(Self::Gzip),
            Compression::SNAPPY => Some(Self::Snappy),
            _ => None,
        }
    }
}

/// Whether columns that are packed this way are read. Zstandard would take a library in C.
pub(super) fn is_read(compression: Compression) -> bool {
    Packing::of(compression).is_some()
}

/// The pages of a column of a group of rows.
pub(super) struct UnpackedPages {
    inner: SerializedPageReader<File>,
    packing: Packing,
}

impl UnpackedPages {
    /// # Errors
    /// When the file says of the column what cannot be.
    pub(super) fn new(
        file: &Arc<File>,
        column: &ColumnChunkMetaData,
        rows: usize,
        file_bytes: u64,
    ) -> Result<Self> {
        check_place(column, file_bytes)?;
        let packing = Packing::of(column.compression());
        let packing = packing.ok_or_else(|| refused("it is packed in a way that is not read"))?;
        // What is not packed is handed over as it is.
        let packed = column.clone().into_builder();
        let packed = packed.set_compression(Compression::UNCOMPRESSED).build()?;
        Ok(Self {
            inner: SerializedPageReader::new(Arc::clone(file), &packed, rows, None)?,
            packing,
        })
    }

    fn unpack(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        // A page without values may be packed to nothing.
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        match self.packing {
            Packing::None => Ok(bytes.to_vec()),
            Packing::Gzip => {
                let mut unpacked = Vec::new();
                let most = MOST_BYTES as u64 + 1;
                MultiGzDecoder::new(bytes).take(most).read_to_end(&mut unpacked)?;
                within(unpacked.len())?;
                Ok(unpacked)
            }
            Packing::Snappy => {
                let length = snap::raw::decompress_len(bytes).map_err(damaged)?;
                within(length)?;
                let mut decoder = snap::raw::Decoder::new();
                decoder.decompress_vec(bytes).map_err(damaged)
            }
        }
    }

    fn unpacked(&self, page: Page) -> Result<Page> {
        check_values(&page)?;
        if matches!(self.packing, Packing::None) {
            within(page.buffer().len())?;
            return Ok(page);
        }
        Ok(match page {
            Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                statistics,
            } => Page::DataPage {
                buf: self.unpack(&buf)?.into(),
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                statistics,
            },
            Page::DictionaryPage { buf, num_values, encoding, is_sorted } => Page::DictionaryPage {
                buf: self.unpack(&buf)?.into(),
                num_values,
                encoding,
                is_sorted,
            },
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls,
                num_rows,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                statistics,
            } => {
                // Levels come first, and are not packed.
                let levels = def_levels_byte_len as usize + rep_levels_byte_len as usize;
                let (levels, values) = buf
                    .split_at_checked(levels)
                    .ok_or_else(|| refused("a page is shorter than its levels"))?;
                let mut whole = levels.to_vec();
                if is_compressed {
                    whole.extend(self.unpack(values)?);
                } else {
                    whole.extend_from_slice(values);
                }
                Page::DataPageV2 {
                    buf: whole.into(),
                    num_values,
                    encoding,
                    num_nulls,
                    num_rows,
                    def_levels_byte_len,
                    rep_levels_byte_len,
                    is_compressed: false,
                    statistics,
                }
            }
        })
    }
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
    let end = start.zip(length);
    let end = end.and_then(|(start, length)| start.checked_add(length));
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

impl Iterator for UnpackedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for UnpackedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        let page = page.map(|page| self.unpacked(page)).transpose()?;
        if let Some(Page::DictionaryPage { buf, num_values, .. }) = &page {
            // Each value takes a byte at least, and all of them are held.
            if usize::try_from(*num_values).is_ok_and(|values| values > buf.len()) {
                return Err(refused("a dictionary of it has more values than bytes"));
            }
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.inner.at_record_boundary()
    }
}
