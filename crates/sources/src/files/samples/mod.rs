//! Samples of GPU hosts in files: our own as JSON lines or CSV, and logs of
//! `nvidia-smi` that people already have.

mod csv_form;
mod error;
mod input;
mod json_form;
#[cfg(test)]
mod properties;
mod unread;

pub use error::SamplesError;
pub use input::ReadOptions;
pub use json_form::SAMPLES_VERSION;

#[cfg(test)]
pub(super) use error::LOG_COLUMNS;
pub(super) use error::quoted;
pub(super) use input::{Input, Line, Lines, Log, OpenLog, cells, place};
pub(super) use unread::Told;

use super::{OwnFile, nvidia_smi};
use crate::domain::{Gap, RunEnd, RunFacts, Sample};
use json_form::{EndWire, HeaderWire, SampleWire, json_line};
use std::io::{self, Write};
use std::path::Path;
use unread::Unread;

/// Lines that are evaluated to tell what a file is.
const MOST_SNIFFED: usize = 100;

/// What a file of samples is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleFormat {
    /// A header, one line a sample, and a last line with the end.
    JsonLines,
    /// One row per GPU and sample. It cannot say that or how a run ended, so it
    /// reads back without an end.
    Csv,
}

impl SampleFormat {
    /// The format that a file is named for: `.csv`, `.jsonl` or `.ndjson`;
    /// `None` for another name.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            _ => None,
        }
    }
}

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
        let line = if self.rows.is_none() { json_line(&EndWire { end })? } else { String::new() };
        self.put(&line)
    }
}

/// The samples of a file, in order.
pub struct SampleReader {
    facts: RunFacts,
    log: Box<dyn Log>,
    place: String,
    unread: Unread,
    is_done: bool,
}

impl std::fmt::Debug for SampleReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SampleReader").field("facts", self.facts()).finish_non_exhaustive()
    }
}

impl SampleReader {
    /// What the samples were taken on, as far as the file tells.
    pub fn facts(&self) -> &RunFacts {
        &self.facts
    }

    /// How the run ended; known after the last sample, and absent where the file
    /// does not tell: when the sampler was killed, and in every CSV.
    pub fn end(&self) -> Option<&RunEnd> {
        self.log.end()
    }

    /// What the file does not tell or what in it could not be read; complete
    /// after the last sample.
    pub fn gaps(&self) -> Vec<Gap> {
        self.log.gaps()
    }

    /// How gaps name the file.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Figures that no sample reported a GPU; complete after the last sample.
    pub fn unread(&self) -> Vec<Gap> {
        self.unread.gaps(&self.facts().gpus, |figure| self.log.may_tell(figure), &self.place)
    }
}

impl Iterator for SampleReader {
    type Item = Result<Sample, SamplesError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let next = self.log.next_sample().transpose();
        match &next {
            Some(Ok(sample)) => self.unread.add(sample),
            _ => self.is_done = true,
        }
        next
    }
}

/// Opens a file of samples of any known kind: our JSON lines and CSV, the CSV of
/// `nvidia-smi --query-gpu`, the XML of `nvidia-smi -q -x`; plain or gzip, in
/// UTF-8 or UTF-16. A log of `nvidia-smi` is read twice: for its GPUs, and for
/// what they did.
///
/// # Errors
/// When it cannot be read, is none of these, a newer program wrote it, or when
/// it leaves unsaid what `options` must then say.
pub fn open_samples(path: &Path, options: &ReadOptions) -> Result<SampleReader, SamplesError> {
    let input = Input::open(path).map_err(|source| SamplesError::io(path, source))?;
    open_input(input, options)
}

pub(super) fn open_input(
    input: Input,
    options: &ReadOptions,
) -> Result<SampleReader, SamplesError> {
    let place = place(input.path());
    let (facts, log) = open_log(input, options)?;
    Ok(SampleReader { facts, log, place, unread: Unread::default(), is_done: false })
}

/// The log in a file by what its first lines are. A log of `nvidia-smi` may begin with
/// warnings, and one without header is like any other table.
fn open_log(input: Input, options: &ReadOptions) -> Result<OpenLog, SamplesError> {
    let mut lines = input.lines()?;
    let mut first = None;
    for _ in 0..MOST_SNIFFED {
        let Some(line) = lines.next_line()? else { break };
        let text = line.text.trim();
        if text.is_empty() {
            continue;
        }
        if first.is_none() {
            if text.starts_with('{') && text.contains("\"samples_version\"") {
                return json_form::open(&input);
            }
            if csv_form::is_header(text) {
                return csv_form::open(&input);
            }
            first = Some(quoted(text));
        }
        if nvidia_smi::is_xml(text) {
            return nvidia_smi::open_xml(input, options);
        }
    }
    match first {
        Some(says) if !says.starts_with(['{', '<']) => nvidia_smi::open_csv(input, options),
        says => Err(SamplesError::unknown(input.path(), says.as_deref())),
    }
}
