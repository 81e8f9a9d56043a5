//! Samples as JSON lines: a header, one line a sample, the end.

use super::wire::{EndWire, HeaderWire, SampleWire, VersionWire};
use super::{Input, Line, Lines, Log, OpenLog, SAMPLES_VERSION, SamplesError};
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, RunEnd, RunFacts, Sample, counted, is_unsafe,
};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};

/// One value as one line, with whatever could hurt a terminal escaped.
pub(super) fn json_line(value: &impl Serialize) -> io::Result<String> {
    let text = serde_json::to_string(value)?;
    let mut line = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if is_unsafe(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                line.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            line.push(c);
        }
    }
    line.push('\n');
    Ok(line)
}

/// A file of JSON lines that is read.
struct JsonLog {
    path: PathBuf,
    lines: Lines,
    /// GPUs that every sample has.
    gpus: usize,
    end: Option<RunEnd>,
    last_at_seconds: f64,
    torn_line: Option<u64>,
}

pub(super) fn open(input: &Input) -> Result<OpenLog, SamplesError> {
    let path = input.path().to_owned();
    let mut lines = input.lines()?;
    let Some(line) = lines.next_text_line()? else {
        return Err(SamplesError::unknown(&path, None));
    };
    let facts = header(&path, &line)?;
    let gpus = facts.gpus.len();
    if gpus == 0 {
        return Err(SamplesError::line(&path, line.number, "the header lists no GPUs"));
    }
    let log = JsonLog { path, lines, gpus, end: None, last_at_seconds: 0.0, torn_line: None };
    Ok((facts, Box::new(log)))
}

impl JsonLog {
    fn invalid(&self, line: &Line, message: impl std::fmt::Display) -> SamplesError {
        SamplesError::line(&self.path, line.number, message)
    }

    /// The sample on a line; `None` of the line with the end.
    fn read(&mut self, line: &Line) -> Result<Option<Sample>, SamplesError> {
        if self.end.is_some() {
            return Err(self.invalid(line, "unexpected line after the end of the run"));
        }
        let wire: SampleWire = match serde_json::from_str(&line.text) {
            Ok(wire) => wire,
            Err(error) => return self.read_end(line, &error),
        };
        let sample = wire.into_sample().map_err(|message| self.invalid(line, message))?;
        if sample.gpus.len() != self.gpus {
            let gpus = counted(sample.gpus.len(), "GPU", "GPUs");
            let message = format!("{gpus} instead of {}", self.gpus);
            return Err(self.invalid(line, message));
        }
        if sample.at_seconds < self.last_at_seconds {
            let message = format!(
                "`at_seconds` decreases from {} to {}",
                self.last_at_seconds, sample.at_seconds
            );
            return Err(self.invalid(line, message));
        }
        self.last_at_seconds = sample.at_seconds;
        Ok(Some(sample))
    }

    fn read_end(
        &mut self,
        line: &Line,
        error: &serde_json::Error,
    ) -> Result<Option<Sample>, SamplesError> {
        if let Ok(wire) = serde_json::from_str::<EndWire>(&line.text) {
            let end = wire.into_end().map_err(|message| self.invalid(line, message))?;
            if end.elapsed_seconds < self.last_at_seconds {
                return Err(self.invalid(line, "the run ends before its last sample"));
            }
            self.end = Some(end);
            return Ok(None);
        }
        if serde_json::from_str::<VersionWire>(&line.text).is_ok() {
            return Err(self.invalid(line, "a second run begins here"));
        }
        Err(self.invalid(line, format!("not a GPU sample: {error}")))
    }
}

fn header(path: &Path, line: &Line) -> Result<RunFacts, SamplesError> {
    if let Ok(version) = serde_json::from_str::<VersionWire>(&line.text)
        && version.samples_version != SAMPLES_VERSION
    {
        return Err(SamplesError::newer(path, &version.samples_version));
    }
    serde_json::from_str::<HeaderWire>(&line.text)
        .map_err(|error| format!("invalid header: {error}"))
        .and_then(HeaderWire::into_facts)
        .map_err(|message| SamplesError::line(path, line.number, message))
}

impl Log for JsonLog {
    fn next_sample(&mut self) -> Result<Option<Sample>, SamplesError> {
        while let Some(line) = self.lines.next_text_line()? {
            match self.read(&line) {
                Ok(None) => {}
                // The sampler was killed while it wrote this line.
                Err(_) if !line.is_whole => {
                    self.torn_line = Some(line.number);
                    break;
                }
                read => return read,
            }
        }
        Ok(None)
    }

    fn end(&self) -> Option<&RunEnd> {
        self.end.as_ref()
    }

    fn gaps(&self) -> Vec<Gap> {
        torn_gap(&self.path, self.torn_line, self.lines.is_cut).into_iter().collect()
    }
}

/// The gap of a file that stops in the middle of a line.
pub(super) fn torn_gap(path: &Path, line: Option<u64>, is_cut: bool) -> Option<Gap> {
    let cause = match line {
        Some(line) => Cause::of(CauseKind::LineTruncated, [&line.to_string()]),
        None if is_cut => Cause::of(CauseKind::FileTruncated, []),
        None => return None,
    };
    Some(Gap::of(GapSubject::LastSample, place(path), cause))
}

/// A file as gaps name it.
pub(in crate::sources::files) fn place(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
