//! Samples as JSON lines: a header, one line a sample, the end.

use super::wire::{EndWire, HeaderWire, SampleWire, VersionWire};
use super::{Input, Line, Lines, Log, SAMPLES_VERSION, SamplesError};
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

pub(super) fn header_line(facts: &RunFacts) -> io::Result<String> {
    json_line(&HeaderWire::of(facts))
}

pub(super) fn sample_line(sample: &Sample) -> io::Result<String> {
    json_line(&SampleWire::of(sample))
}

pub(super) fn end_line(end: &RunEnd) -> io::Result<String> {
    json_line(&EndWire::of(end))
}

/// A file of JSON lines that is read.
pub(super) struct JsonLog {
    path: PathBuf,
    lines: Lines,
    facts: RunFacts,
    end: Option<RunEnd>,
    last_at_seconds: f64,
    torn_line: Option<u64>,
}

impl JsonLog {
    pub(super) fn open(input: &Input) -> Result<Self, SamplesError> {
        let path = input.path().to_owned();
        let mut lines = input.lines()?;
        let (facts, line) = loop {
            match lines.next_line()? {
                Some(line) if line.text.trim().is_empty() => {}
                Some(line) => break (header(&path, &line)?, line),
                None => return Err(SamplesError::unknown(&path, None)),
            }
        };
        if facts.gpus.is_empty() {
            return Err(SamplesError::line(&path, line.number, "the header lists no GPUs"));
        }
        Ok(Self { path, lines, facts, end: None, last_at_seconds: 0.0, torn_line: None })
    }

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
        let expected = self.facts.gpus.len();
        if sample.gpus.len() != expected {
            let message =
                format!("{} instead of {expected}", counted(sample.gpus.len(), "GPU", "GPUs"));
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
    fn facts(&self) -> &RunFacts {
        &self.facts
    }

    fn next_sample(&mut self) -> Option<Result<Sample, SamplesError>> {
        loop {
            let line = match self.lines.next_line() {
                Ok(line) => line?,
                Err(error) => return Some(Err(error)),
            };
            if line.text.trim().is_empty() {
                continue;
            }
            match self.read(&line) {
                Ok(Some(sample)) => return Some(Ok(sample)),
                Ok(None) => {}
                // The sampler was killed while it wrote this line.
                Err(_) if !line.is_whole => {
                    self.torn_line = Some(line.number);
                    return None;
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn end(&self) -> Option<&RunEnd> {
        self.end.as_ref()
    }

    fn gaps(&self) -> Vec<Gap> {
        torn_gap(&self.path, self.torn_line, self.lines.is_cut()).into_iter().collect()
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
