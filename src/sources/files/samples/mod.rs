//! Samples of GPU hosts in files: our own as JSON lines or CSV, and logs of
//! `nvidia-smi` that people already have.

#[cfg(test)]
mod arbitrary;
mod csv_form;
mod error;
mod input;
mod json_form;
mod log;
#[cfg(test)]
mod properties;
mod unread;
mod wire;
mod writer;

pub use error::SamplesError;
pub use log::ReadOptions;
pub use wire::SAMPLES_VERSION;
pub use writer::SampleWriter;

#[cfg(test)]
pub(super) use error::LOG_COLUMNS;
pub(super) use error::quoted;
pub(super) use input::{Input, Line, Lines, cells};
pub(super) use json_form::place;
pub(super) use log::{Log, OpenLog};
pub(super) use unread::Told;

use super::nvidia_smi;
use crate::domain::{Gap, RunEnd, RunFacts, Sample};
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
