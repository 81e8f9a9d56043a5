//! Units of work that the log of a run shows: lines that are written to it while it lasts.

use super::args::ProfileArgs;
use crate::cli::{Outcome, refusal};
use crate::domain::{UnitsDone, shown};
use crate::sources::files::{SampleFormat, count_lines_since};
use std::path::PathBuf;
use std::{fs, io};

/// Where units are counted, and by which texts.
#[derive(Debug)]
pub(super) struct UnitLog {
    path: PathBuf,
    /// Each unit with the text that its lines contain.
    units: Vec<(String, String)>,
    /// Bytes that the log has when the run begins.
    offset: u64,
}

impl UnitLog {
    /// By the flags; `None` without `--log`. What the log holds already is of an earlier run.
    ///
    /// # Errors
    /// When the log is a pipe or a folder, or the samples could not hold the count.
    pub(super) fn of(args: &ProfileArgs) -> Outcome<Option<Self>> {
        let Some(path) = args.log.clone() else { return Ok(None) };
        if args.samples.as_deref().and_then(SampleFormat::of) == Some(SampleFormat::Csv) {
            return Err(refusal!(
                "`--log-unit` is recorded at the end of samples in JSON lines, and CSV has no end";
                "pass `--samples` with a file name ending in .jsonl"));
        }
        let offset = match fs::metadata(&path) {
            Ok(data) if data.is_file() => data.len(),
            Ok(_) => {
                return Err(refusal!("`--log {}` is not a file", shown(&path);
                    "write the output of the command to a file, and name that"));
            }
            // The command creates it.
            Err(_) => 0,
        };
        Ok(Some(Self { path, units: args.log_unit.clone(), offset }))
    }

    /// What was done so far.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(super) fn count(&self) -> io::Result<Vec<UnitsDone>> {
        let counted = self.units.iter().map(|(unit, text)| {
            Ok(UnitsDone {
                unit: unit.clone(),
                count: count_lines_since(&self.path, self.offset, text)?,
            })
        });
        counted.collect()
    }
}
