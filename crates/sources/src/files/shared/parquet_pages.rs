//! Tables in Parquet whose sizes are checked first: what a file states is what its reader takes
//! memory for.

use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// What a table in Parquet begins and ends with.
pub(in crate::files) const MARK: [u8; 4] = *b"PAR1";

/// The bytes that describe a table, which its last eight bytes state before its mark; `None` of
/// a file without the mark, or of fewer bytes than the least.
pub(in crate::files) fn footer_bytes(file: &mut File, least: u64) -> io::Result<Option<u32>> {
    let mut end = [0; 8];
    if file.metadata()?.len() >= least {
        file.seek(SeekFrom::End(-8))?;
        file.read_exact(&mut end)?;
        file.rewind()?;
    }
    let [first, second, third, fourth, mark @ ..] = end;
    Ok((mark == MARK).then(|| u32::from_le_bytes([first, second, third, fourth])))
}

/// Pages of a column, each as a check leaves it.
pub(in crate::files) struct CheckedPages<F> {
    inner: Box<dyn PageReader>,
    check: F,
}

impl<F: FnMut(Page) -> Result<Page> + Send> CheckedPages<F> {
    pub(in crate::files) fn new(inner: Box<dyn PageReader>, check: F) -> Self {
        Self { inner, check }
    }
}

impl<F: FnMut(Page) -> Result<Page> + Send> Iterator for CheckedPages<F> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl<F: FnMut(Page) -> Result<Page> + Send> PageReader for CheckedPages<F> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.inner.get_next_page()?.map(&mut self.check).transpose()
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

/// The next values of a column that is no list, one for each of so many rows where one is there.
///
/// # Errors
/// When there are fewer.
pub(in crate::files) fn values_of<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
) -> Result<Vec<Option<T::T>>> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    let mut values = values.into_iter();
    let values: Vec<_> = if levels.is_empty() {
        // Every one is there.
        values.map(Some).collect()
    } else {
        // One that is there has a level above zero.
        levels.iter().map(|level| if *level > 0 { values.next() } else { None }).collect()
    };
    if values.len() != rows {
        let message = "a column has fewer values than rows";
        return Err(ParquetError::General(message.to_owned()));
    }
    Ok(values)
}
