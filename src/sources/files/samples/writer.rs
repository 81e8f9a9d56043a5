//! Writing samples as they come.

use super::json_form::json_line;
use super::wire::{EndWire, HeaderWire, SampleWire};
use super::{SampleFormat, csv_form};
use crate::domain::{RunEnd, RunFacts, Sample};
use crate::sources::files::OwnFile;
use std::io::{self, Write};
use std::path::Path;

/// A file of samples that grows by one sample of a time, each handed to the
/// system at once, so that a kill loses at most the one being written.
#[derive(Debug)]
pub struct SampleWriter {
    file: OwnFile,
    /// What is in every row of a CSV; absent for JSON lines.
    rows: Option<csv_form::Rows>,
    /// What the file begins with, until it is written.
    start: String,
}

impl SampleWriter {
    /// Opens the file. It stays empty until the first sample is written,
    /// together with what the samples are taken on.
    ///
    /// # Errors
    /// When its name ends in none of the extensions of [`SampleFormat::of`],
    /// another process writes to it ([`io::ErrorKind::ResourceBusy`]), it holds
    /// something ([`io::ErrorKind::AlreadyExists`]), or it cannot be opened.
    pub fn create(path: &Path, facts: &RunFacts) -> io::Result<Self> {
        let (rows, start) = match SampleFormat::of(path) {
            Some(SampleFormat::JsonLines) => (None, json_line(&HeaderWire::of(facts))?),
            Some(SampleFormat::Csv) => (Some(csv_form::Rows::of(facts)), csv_form::header_line()),
            None => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "the sample file name must end in .jsonl or .csv",
                ));
            }
        };
        Ok(Self { file: OwnFile::open(path)?, rows, start })
    }

    /// Writes one sample.
    ///
    /// # Errors
    /// When it cannot be written, as on a full disk. Part of it may then be in
    /// the file, so the writer is of no more use; reading tolerates that end.
    pub fn write(&mut self, sample: &Sample) -> io::Result<()> {
        let text = match &self.rows {
            None => json_line(&SampleWire::of(sample))?,
            Some(rows) => rows.of_sample(sample)?,
        };
        self.put(&text)
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        let whole = std::mem::take(&mut self.start) + text;
        self.file.write_all(whole.as_bytes())
    }

    /// Writes how the run ended, where the format has a place for it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self, end: &RunEnd) -> io::Result<()> {
        let line = if self.rows.is_none() { json_line(&EndWire::of(end))? } else { String::new() };
        self.put(&line)
    }
}
