//! A log of `nvidia-smi -q -x`, one sample of a time.

use super::super::samples::{Input, Log, ReadOptions, SamplesError, Told, place};
use super::device::{self, MeterReading};
use super::document::Documents;
use super::samples::{Roster, clock, clock_gaps, sample};
use super::time::LogClock;
use crate::domain::{Gap, RunEnd, RunFacts, Sample};

pub(in crate::sources::files) struct XmlLog {
    input: Input,
    options: ReadOptions,
    documents: Documents,
    roster: Roster,
    clock: LogClock,
    facts: RunFacts,
}

impl XmlLog {
    pub(in crate::sources::files) fn open(
        input: Input,
        options: &ReadOptions,
    ) -> Result<Self, SamplesError> {
        let mut documents = Documents::of(&input)?;
        let mut roster = Roster::default();
        let mut driver_version = None;
        let mut first = None;
        while let Some((line, sample)) = next_sample(&mut documents)? {
            if sample.time.is_none() && options.interval.is_none() {
                let message = "the document has no timestamp such as `Fri Aug  4 11:44:30 2023`";
                return Err(SamplesError::line(input.path(), line, message));
            }
            for entry in &sample.entries {
                roster
                    .add(&entry.gpu)
                    .map_err(|message| SamplesError::line(input.path(), line, message))?;
            }
            driver_version = driver_version.or(sample.driver_version);
            first.get_or_insert(sample.time);
        }
        let (Some(first), 1..) = (first, roster.len()) else {
            return Err(SamplesError::Empty {
                path: input.path().to_owned(),
                says: documents.tally.first_junk(),
            });
        };
        roster.sort();
        let facts = RunFacts {
            started: clock(options).at(first).1,
            interval_seconds: None,
            hostname: None,
            instance_id: None,
            instance_type: None,
            region: None,
            driver_version,
            is_command: false,
            gpus: roster.identities(),
        };
        Ok(Self {
            documents: Documents::of(&input)?,
            clock: clock(options),
            options: options.clone(),
            input,
            roster,
            facts,
        })
    }
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
    fn facts(&self) -> &RunFacts {
        &self.facts
    }

    fn next_sample(&mut self) -> Option<Result<Sample, SamplesError>> {
        let (_, document) = match next_sample(&mut self.documents) {
            Ok(next) => next?,
            Err(error) => return Some(Err(error)),
        };
        let at = self.clock.at(document.time);
        let mut slots = vec![None; self.roster.len()];
        for entry in document.entries {
            // One that the first reading did not see came since.
            if let Some(position) = self.roster.position(&entry.gpu) {
                slots[position] = Some(entry.sample);
            }
        }
        Some(Ok(sample(slots, at)))
    }

    fn end(&self) -> Option<&RunEnd> {
        None
    }

    fn may_tell(&self, figure: Told) -> bool {
        !matches!(figure, Told::Energy | Told::Activity)
    }

    fn gaps(&self) -> Vec<Gap> {
        let mut gaps = clock_gaps(&self.clock, &self.options, self.input.path());
        gaps.extend(self.documents.tally.gaps(&place(self.input.path())));
        gaps
    }
}
