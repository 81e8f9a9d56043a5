//! What was really paid: the Cost and Usage Reports of AWS, and FOCUS of any provider, as
//! CSV, gzip-compressed CSV or Parquet. The format is detected by what a file holds, never by
//! its name. Rows are handed over one by one, so that a bill may be of any length.

mod alike;
mod bucket;
mod csv_table;
mod cur;
mod error;
mod fields;
mod focus;
mod folder;
mod form;
mod pages;
mod parquet_table;
mod parquet_values;
#[cfg(test)]
mod tests;
mod usage;
mod values;

pub use bucket::read_bill_of;
pub use error::BillError;
pub use form::BillOptions;

use crate::domain::{BillFile, BillFiles, BillForm, BillLine};
use crate::sources::files::shared::bounded::bounded;
use crate::sources::files::shared::parquet_pages::MARK;
use alike::{Lines, Seen};
use error::Problem;
use fields::Read as Row;
use flate2::read::MultiGzDecoder;
use folder::files_of;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Bytes of text of a file, unpacked.
const MOST_TEXT_BYTES: u64 = 64 << 30;
/// What Windows puts before a text in UTF-8.
const TEXT_MARK: &[u8] = "\u{feff}".as_bytes();
const GZIP_MARK: &[u8] = &[0x1f, 0x8b];
const ZIP_MARK: &[u8] = b"PK\x03\x04";
const ZSTD_MARK: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Takes a line; breaks when it has enough.
type Take<'a> = &'a mut dyn FnMut(BillLine) -> ControlFlow<()>;

/// Reads a bill: files and folders, which together are one. `each` gets every line until it
/// has enough.
///
/// # Errors
/// When a file cannot be read, is not a bill, has an invalid row, or has the same lines or hours
/// of instances as another one; when a folder has several readings of a billing period, and nothing says which
/// is the latest.
pub fn read_bill(
    paths: &[PathBuf],
    options: &BillOptions,
    each: Take<'_>,
) -> Result<BillFiles, BillError> {
    let files = files_of(paths)?;
    let mut reader = Reader::new(options, each, files.superseded);
    for path in files.read {
        let file = File::open(&path).map_err(|source| unread(&path, source))?;
        if reader.take(path, file)?.is_break() {
            break;
        }
    }
    Ok(reader.finish())
}

fn unread(path: &Path, source: io::Error) -> BillError {
    BillError::Io { path: path.to_owned(), source }
}

/// Reads the files of a bill one after the other.
struct Reader<'a> {
    options: &'a BillOptions,
    each: Take<'a>,
    read: BillFiles,
    forms_of: BTreeMap<String, BTreeSet<BillForm>>,
    seen: Seen,
}

impl<'a> Reader<'a> {
    fn new(options: &'a BillOptions, each: Take<'a>, superseded: u64) -> Self {
        Self {
            options,
            each,
            read: BillFiles { superseded, ..BillFiles::default() },
            forms_of: BTreeMap::new(),
            seen: Seen::default(),
        }
    }

    /// Reads a file. Breaks when there are enough lines.
    fn take(&mut self, path: PathBuf, file: File) -> Result<ControlFlow<()>, BillError> {
        let mut of_file = BTreeSet::new();
        let mut lines = Lines::default();
        let mut flow = ControlFlow::Continue(());
        let (each, read) = (&mut self.each, &mut self.read);
        let mut take = |row: Row| match row {
            Row::Line { line, is_timed, is_estimate } => {
                read.untimed += u64::from(!is_timed);
                read.estimates += u64::from(is_estimate);
                if let Some(payer) = &line.payer
                    && !of_file.contains(payer)
                {
                    of_file.insert(payer.clone());
                }
                lines.add(&line);
                let next = each(*line);
                if next.is_break() {
                    flow = next;
                }
                next
            }
            Row::OtherCurrency(code) => {
                *read.other_currencies.entry(code).or_insert(0) += 1;
                ControlFlow::Continue(())
            }
        };
        let done = read_file(file, self.options, &mut take);
        let (form, rows) = done.map_err(|problem| problem.at(&path))?;
        self.seen.add(&path, form, lines)?;
        for payer in of_file {
            self.forms_of.entry(payer).or_default().insert(form);
        }
        self.read.files.push(BillFile { path, form, rows });
        Ok(flow)
    }

    fn finish(mut self) -> BillFiles {
        let several = self.forms_of.into_iter().filter(|(_, forms)| forms.len() > 1);
        self.read.in_two_forms = several.map(|(payer, _)| payer).collect();
        self.read
    }
}

fn read_file(
    file: File,
    options: &BillOptions,
    each: csv_table::Each<'_>,
) -> Result<(BillForm, u64), Problem> {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let start = file.fill_buf()?;
    if start.starts_with(&MARK) {
        let mut file = file.into_inner();
        file.rewind()?;
        return parquet_table::read(file, options, each);
    }
    if start.starts_with(ZIP_MARK) {
        return Err(Problem::Form("it is a ZIP archive; unpack it".to_owned()));
    }
    if start.starts_with(ZSTD_MARK) {
        let message = "it is packed with Zstandard; unpack it, or pack it with gzip";
        return Err(Problem::Form(message.to_owned()));
    }
    let text: Box<dyn Read> = if start.starts_with(GZIP_MARK) {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut text = BufReader::with_capacity(1 << 16, bounded(text, MOST_TEXT_BYTES));
    let is_marked = text.fill_buf()?.starts_with(TEXT_MARK);
    text.consume(if is_marked { TEXT_MARK.len() } else { 0 });
    csv_table::read(text, options, each)
}
