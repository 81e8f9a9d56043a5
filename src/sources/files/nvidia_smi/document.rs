//! The documents of `nvidia-smi -q -x`, cut out of a log one at a time: its loop
//! mode writes one after the other.

use super::super::samples::{Input, Lines, SamplesError};
use super::tally::Tally;
use std::path::PathBuf;

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
        let lines = input.lines();
        Ok(Self {
            path: input.path().to_owned(),
            lines: lines.map_err(|source| SamplesError::io(input.path(), source))?,
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
        let line = self.lines.next_line();
        let line = line.map_err(|source| SamplesError::io(&self.path, source))?;
        Ok(line.map(|line| {
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
                } else if self.lines.is_cut() {
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
        let Some(document) = open else {
            return Ok(());
        };
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
