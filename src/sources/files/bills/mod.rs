//! What was really paid: the Cost and Usage Reports of AWS, and FOCUS of any provider, as
//! CSV, gzip-compressed CSV or Parquet. The format is detected by what a file holds, never by
//! its name. Rows are handed over one by one, so that a bill may be of any length.

mod alike;
mod csv_table;
mod cur;
mod error;
mod fields;
mod focus;
mod folder;
mod form;
mod line;
mod pages;
mod parquet_table;
mod parquet_values;
#[cfg(test)]
mod tests;
mod usage;
mod values;

pub use error::BillError;
pub use form::{BillForm, BillOptions};

use crate::domain::BillLine;
use crate::sources::files::shared::bounded::Bounded;
use alike::{Lines, Seen};
use error::Problem;
use flate2::read::MultiGzDecoder;
use folder::files_of;
use line::Read as Row;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Bytes of text of a file, unpacked.
const MOST_TEXT_BYTES: u64 = 64 << 30;
/// What Windows puts before a text in UTF-8.
const TEXT_MARK: &[u8] = "\u{feff}".as_bytes();
const GZIP_MARK: &[u8] = &[0x1f, 0x8b];
const ZIP_MARK: &[u8] = b"PK\x03\x04";
const ZSTD_MARK: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A file of a bill that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillFile {
    pub path: PathBuf,
    pub form: BillForm,
    pub rows: u64,
}

/// What was read of a bill beside its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BillFiles {
    /// In order of reading.
    pub files: Vec<BillFile>,
    /// Files of earlier readings of a billing period, which were left out.
    pub superseded: u64,
    /// Rows in currencies that gpucost has no amounts in, by code; left out.
    pub other_currencies: BTreeMap<String, u64>,
    /// Rows whose times are no times. Their amounts count, and no hour has them.
    pub untimed: u64,
    /// Rows that gpucost itself has estimated, in an export of an audit.
    pub estimates: u64,
    /// Payers that files of more than one format have lines of.
    pub in_two_forms: BTreeSet<String>,
}

/// Reads a bill: files and folders, which together are one. `each` gets every line until it
/// has enough.
///
/// # Errors
/// When a file cannot be read, is not a bill, has an invalid row, or has the same lines as
/// another one; when a folder has several readings of a billing period, and nothing says which
/// is the latest.
pub fn read_bill(
    paths: &[PathBuf],
    options: &BillOptions,
    each: &mut dyn FnMut(BillLine) -> ControlFlow<()>,
) -> Result<BillFiles, BillError> {
    let found = files_of(paths)?;
    let mut read = BillFiles {
        superseded: found.superseded,
        ..BillFiles::default()
    };
    let mut forms_of: BTreeMap<String, BTreeSet<BillForm>> = BTreeMap::new();
    let mut has_enough = false;
    let mut seen = Seen::default();
    for path in found.read {
        let mut of_file = BTreeSet::new();
        let mut lines = Lines::default();
        let mut take = |row: Row| match row {
            Row::Line {
                line,
                is_timed,
                is_estimate,
            } => {
                read.untimed += u64::from(!is_timed);
                read.estimates += u64::from(is_estimate);
                if let Some(payer) = &line.payer
                    && !of_file.contains(payer)
                {
                    of_file.insert(payer.clone());
                }
                lines.add(&line);
                let next = each(*line);
                has_enough |= next.is_break();
                next
            }
            Row::OtherCurrency(code) => {
                *read.other_currencies.entry(code).or_insert(0) += 1;
                ControlFlow::Continue(())
            }
        };
        let done = read_file(&path, options, &mut take);
        let (form, rows) = done.map_err(|problem| problem.at(&path))?;
        seen.add(&path, &lines)?;
        for payer in of_file {
            forms_of.entry(payer).or_default().insert(form);
        }
        read.files.push(BillFile { path, form, rows });
        if has_enough {
            break;
        }
    }
    let several = forms_of.into_iter().filter(|(_, forms)| forms.len() > 1);
    read.in_two_forms = several.map(|(payer, _)| payer).collect();
    Ok(read)
}

/// Opens a file of a bill.
fn open(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

fn read_file(
    path: &Path,
    options: &BillOptions,
    each: csv_table::Each<'_>,
) -> Result<(BillForm, u64), Problem> {
    let mut file = BufReader::with_capacity(1 << 16, open(path)?);
    let start = file.fill_buf()?;
    if start.starts_with(&parquet_table::MARK) {
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
    let mut text = BufReader::with_capacity(1 << 16, Bounded::new(text, MOST_TEXT_BYTES));
    let is_marked = text.fill_buf()?.starts_with(TEXT_MARK);
    text.consume(if is_marked { TEXT_MARK.len() } else { 0 });
    csv_table::read(text, options, each)
}
