//! A log of `nvidia-smi -q -x`, one sample of a time. Its documents are cut out of it one at a
//! time: its loop mode writes one after the other.

use super::super::samples::{Input, Lines, Log, OpenLog, ReadOptions, SamplesError, Told, place};
use super::device::{self, MeterReading};
use super::samples::{Roster, clock, clock_gaps, facts, sample};
use super::tally::Tally;
use super::time::LogClock;
use crate::domain::{Gap, Sample};
use std::path::PathBuf;

struct XmlLog {
    input: Input,
    options: ReadOptions,
    documents: Documents,
    roster: Roster,
    clock: LogClock,
}

pub(in crate::sources::files) fn open(
    input: Input,
    options: &ReadOptions,
) -> Result<OpenLog, SamplesError> {
    let mut documents = Documents::of(&input)?;
    let mut roster = Roster::default();
    let mut driver_version = None;
    let mut first = None;
    while let Some((line, sample)) = next_sample(&mut documents)? {
        let invalid = |message: &str| SamplesError::line(input.path(), line, message);
        if sample.time.is_none() && options.interval.is_none() {
            let message = "the document has no timestamp such as `Fri Aug  4 11:44:30 2023`";
            return Err(invalid(message));
        }
        for entry in &sample.entries {
            roster.add(&entry.gpu).map_err(|message| invalid(&message))?;
        }
        driver_version = driver_version.or(sample.driver_version);
        first.get_or_insert(sample.time);
    }
    let (Some(first), 1..) = (first, roster.len()) else {
        return Err(SamplesError::empty(input.path(), documents.tally.first_junk()));
    };
    roster.sort();
    let facts = facts(clock(options).at(first).1, None, driver_version, &roster);
    let documents = Documents::of(&input)?;
    let log = XmlLog { documents, clock: clock(options), options: options.clone(), input, roster };
    Ok((facts, Box::new(log)))
}

/// The next document that can be read and has a GPU, and the line that it begins
/// on.
fn next_sample(documents: &mut Documents) -> Result<Option<(u64, MeterReading)>, SamplesError> {
    while let Some(document) = documents.next_document()? {
        match device::sample(&document.text, &mut documents.tally) {
            Ok(sample) if !sample.entries.is_empty() => return Ok(Some((document.line, sample))),
            Ok(_) => documents.tally.add_junk(document.line, "a document without GPUs"),
            Err(message) => documents.tally.add_junk(document.line, &message),
        }
    }
    Ok(None)
}

impl Log for XmlLog {
    fn next_sample(&mut self) -> Result<Option<Sample>, SamplesError> {
        let Some((_, document)) = next_sample(&mut self.documents)? else { return Ok(None) };
        let at = self.clock.at(document.time);
        let mut slots = vec![None; self.roster.len()];
        for entry in document.entries {
            // One that the first reading did not see came since.
            if let Some(position) = self.roster.position(&entry.gpu) {
                slots[position] = Some(entry.sample);
            }
        }
        Ok(Some(sample(slots, at)))
    }

    fn may_tell(&self, figure: Told) -> bool {
        !matches!(figure, Told::Energy | Told::Activity)
    }

    fn gaps(&self) -> Vec<Gap> {
        let place = place(self.input.path());
        let mut gaps = clock_gaps(&self.clock, &self.options, &place);
        gaps.extend(self.documents.tally.gaps(&place));
        gaps
    }
}

const START: &str = "<nvidia_smi_log";
const END: &str = "</nvidia_smi_log>";
/// Bytes that one document may have.
const MOST_BYTES: usize = 64 << 20;

/// Whether a line shows that a log is XML.
pub(in crate::sources::files) fn is_xml(line: &str) -> bool {
    line.contains(START) || line.contains("<!DOCTYPE nvidia_smi_log")
}

/// One document, and the line that it begins on.
pub(super) struct Document {
    pub line: u64,
    pub text: String,
}

/// The documents of a log.
pub(super) struct Documents {
    path: PathBuf,
    lines: Lines,
    rest: String,
    last_line: u64,
    pub tally: Tally,
}

impl Documents {
    pub(super) fn of(input: &Input) -> Result<Self, SamplesError> {
        Ok(Self {
            path: input.path().to_owned(),
            lines: input.lines()?,
            rest: String::new(),
            last_line: 0,
            tally: Tally::default(),
        })
    }

    /// What is left of a line, or the next one.
    fn next_text(&mut self) -> Result<Option<String>, SamplesError> {
        if !self.rest.is_empty() {
            return Ok(Some(std::mem::take(&mut self.rest)));
        }
        Ok(self.lines.next_line()?.map(|line| {
            self.last_line = line.number;
            line.text
        }))
    }

    /// The next whole document. What lies between is counted, unless it is what
    /// XML begins with; so is a document that another one cuts short.
    pub(super) fn next_document(&mut self) -> Result<Option<Document>, SamplesError> {
        let mut open: Option<Document> = None;
        loop {
            let Some(text) = self.next_text()? else {
                if let Some(document) = open {
                    self.tally.set_torn(document.line);
                } else if self.lines.is_cut {
                    self.tally.set_torn(self.last_line.max(1));
                }
                return Ok(None);
            };
            if let Some(at) = text.find(START) {
                if let Some(cut) = open.take() {
                    self.tally.add_junk(cut.line, &cut.text);
                }
                self.skip(&text[..at]);
                open = Some(Document { line: self.last_line, text: String::new() });
                self.grow(&mut open, &text[at..])?;
            } else if open.is_some() {
                self.grow(&mut open, &text)?;
            } else {
                self.skip(&text);
            }
            if let Some(document) = open.take_if(|document| document.text.ends_with(END)) {
                return Ok(Some(document));
            }
        }
    }

    /// Adds to a document up to its end; the rest is for the next one. The list
    /// of clocks that a GPU could run at is most of a document, and not needed.
    fn grow(&mut self, open: &mut Option<Document>, text: &str) -> Result<(), SamplesError> {
        let Some(document) = open else { return Ok(()) };
        let own = match text.find(END) {
            Some(at) => {
                let (own, rest) = text.split_at(at + END.len());
                rest.clone_into(&mut self.rest);
                own
            }
            None => text,
        };
        let trimmed = own.trim();
        let is_list = trimmed.starts_with("<supported_graphics_clock>")
            && trimmed.ends_with("</supported_graphics_clock>");
        if !is_list {
            document.text.push_str(own);
        }
        if own.len() == text.len() && !own.ends_with(END) {
            document.text.push('\n');
        }
        if document.text.len() > MOST_BYTES {
            let message = "a document larger than 64 MiB begins here";
            return Err(SamplesError::line(&self.path, document.line, message));
        }
        Ok(())
    }

    fn skip(&mut self, text: &str) {
        let text = text.trim();
        let is_of_xml = text.starts_with("<?xml") || text.starts_with("<!");
        if !text.is_empty() && !is_of_xml {
            self.tally.add_junk(self.last_line.max(1), text);
        }
    }
}
