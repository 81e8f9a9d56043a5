//! Writing samples as they come.

use super::{SampleFormat, csv_form, json_form};
use crate::profiling::{RunEnd, RunFacts, Sample};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// A file of samples that grows by one look at a time, each handed to the
/// system at once, so that a kill loses at most the one being written.
#[derive(Debug)]
pub struct SampleWriter {
    file: File,
    form: Form,
}

#[derive(Debug)]
enum Form {
    JsonLines,
    Csv(csv_form::Rows),
}

impl SampleWriter {
    /// Makes the file, or empties the one that is there, and writes what the
    /// samples are taken on.
    ///
    /// # Errors
    /// When its name ends in none of the extensions of [`SampleFormat::of`], or
    /// it cannot be written.
    pub fn create(path: &Path, facts: &RunFacts) -> io::Result<Self> {
        let form = match SampleFormat::of(path) {
            Some(SampleFormat::JsonLines) => Form::JsonLines,
            Some(SampleFormat::Csv) => Form::Csv(csv_form::Rows::of(facts)),
            None => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "samples are written to a file named *.jsonl or *.csv",
                ));
            }
        };
        let start = match &form {
            Form::JsonLines => json_form::header_line(facts)?,
            Form::Csv(_) => csv_form::header_line(),
        };
        let mut file = File::create(path)?;
        file.write_all(start.as_bytes())?;
        Ok(Self { file, form })
    }

    /// Writes one look.
    ///
    /// # Errors
    /// When it cannot be written, as on a full disk. Part of it may then be in
    /// the file, so the writer is of no more use; reading tolerates that end.
    pub fn write(&mut self, sample: &Sample) -> io::Result<()> {
        let text = match &self.form {
            Form::JsonLines => json_form::sample_line(sample)?,
            Form::Csv(rows) => rows.of_sample(sample)?,
        };
        self.file.write_all(text.as_bytes())
    }

    /// Writes how the run ended, where the format has a place for it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self, end: &RunEnd) -> io::Result<()> {
        if matches!(self.form, Form::JsonLines) {
            let line = json_form::end_line(end)?;
            self.file.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}
