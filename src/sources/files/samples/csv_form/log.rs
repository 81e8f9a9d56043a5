//! Reading a file of rows, one sample of a time.

use super::super::json_form::torn_gap;
use super::super::{Input, Line, Lines, Log, OpenLog, SamplesError, cells, place, quoted};
use super::rows::{Names, Row, columns};
use crate::domain::{Cause, CauseKind, Gap, GapSubject, GpuIdentity, RunFacts, Sample};
use std::path::{Path, PathBuf};

/// Which GPU of the host, and which slice of it.
type Slot = (u16, Option<u16>);

/// A sample as far as its rows have come.
struct MeterReading {
    sample: Sample,
    slots: Vec<Slot>,
    line: u64,
}

impl MeterReading {
    fn of(names: &Names, line: &Line) -> Result<Self, String> {
        let row = Row::of(names, &line.text)?;
        Ok(Self { sample: row.sample()?, slots: vec![row.slot()?], line: line.number })
    }
}

/// A file of CSV that is read.
struct CsvLog {
    path: PathBuf,
    lines: Lines,
    names: Names,
    slots: Vec<Slot>,
    next: Option<MeterReading>,
    torn_line: Option<u64>,
    last_at_seconds: f64,
    unknown: Vec<String>,
}

/// The lines after the header, and the header.
fn after_header(input: &Input) -> Result<(Lines, Vec<String>), SamplesError> {
    let mut lines = input.lines()?;
    let header = lines.next_text_line()?.map_or_else(Vec::new, |line| cells(&line.text));
    let trimmed = header.iter().map(|name| name.trim().to_owned()).collect();
    Ok((lines, trimmed))
}

pub(in crate::sources::files::samples) fn open(input: &Input) -> Result<OpenLog, SamplesError> {
    let path = input.path().to_owned();
    let (mut lines, header) = after_header(input)?;
    let names: Names = header.iter().cloned().zip(0..).collect();
    if names.len() != header.len() {
        return Err(SamplesError::line(&path, 1, "duplicate column"));
    }
    let facts = first_sample(&mut lines, &path, &names)?;
    let known: Vec<String> = columns().collect();
    let unknown = header.iter().filter(|name| !known.contains(name));
    let slot = |gpu: &GpuIdentity| (gpu.index, gpu.mig.as_ref().map(|slot| slot.index));
    let mut log = CsvLog {
        lines: after_header(input)?.0,
        names,
        slots: facts.gpus.iter().map(slot).collect(),
        next: None,
        torn_line: None,
        last_at_seconds: 0.0,
        unknown: unknown.map(|name| quoted(name)).collect(),
        path,
    };
    log.next = log.next_row()?;
    Ok((facts, Box::new(log)))
}

impl CsvLog {
    /// The next row, as a sample of one GPU.
    fn next_row(&mut self) -> Result<Option<MeterReading>, SamplesError> {
        let Some(line) = self.lines.next_text_line()? else { return Ok(None) };
        // The sampler was killed while it wrote this line; whether its last figure
        // is whole cannot be seen.
        if !line.is_whole {
            self.torn_line = Some(line.number);
            return Ok(None);
        }
        MeterReading::of(&self.names, &line)
            .map(Some)
            .map_err(|message| SamplesError::line(&self.path, line.number, message))
    }
}

/// What the rows of the first sample say of the run and its GPUs.
fn first_sample(lines: &mut Lines, path: &Path, names: &Names) -> Result<RunFacts, SamplesError> {
    let mut kept: Option<(f64, RunFacts)> = None;
    while let Some(line) = lines.next_text_line()? {
        let read = Row::of(names, &line.text).and_then(|row| {
            let at = row.sample()?.at_seconds;
            Ok((at, row.facts()?, row.identity()?))
        });
        if !line.is_whole {
            break;
        }
        let (at, facts, identity) =
            read.map_err(|message| SamplesError::line(path, line.number, message))?;
        let (first, facts) = kept.get_or_insert((at, facts));
        if *first != at {
            break;
        }
        facts.gpus.push(identity);
    }
    kept.map(|(_, facts)| facts).ok_or_else(|| SamplesError::empty(path, None))
}

impl Log for CsvLog {
    fn next_sample(&mut self) -> Result<Option<Sample>, SamplesError> {
        let Some(mut sample) = self.next.take() else { return Ok(None) };
        while let Some(row) = self.next_row()? {
            if row.sample.at_seconds != sample.sample.at_seconds {
                self.next = Some(row);
                break;
            }
            sample.sample.gpus.extend(row.sample.gpus);
            sample.slots.extend(row.slots);
        }
        let invalid = |message| Err(SamplesError::line(&self.path, sample.line, message));
        if sample.slots != self.slots {
            let is_cut = self.next.is_none() && self.slots.starts_with(&sample.slots);
            if is_cut {
                self.torn_line.get_or_insert(sample.line);
                return Ok(None);
            }
            return invalid(
                "this sample does not have the GPUs of the first sample in the same order",
            );
        }
        if sample.sample.at_seconds < self.last_at_seconds {
            return invalid("`elapsed_seconds` decreases here: a second run begins");
        }
        self.last_at_seconds = sample.sample.at_seconds;
        Ok(Some(sample.sample))
    }

    fn gaps(&self) -> Vec<Gap> {
        let mut gaps: Vec<Gap> =
            torn_gap(&self.path, self.torn_line, self.lines.is_cut).into_iter().collect();
        if !self.unknown.is_empty() {
            let cause = Cause::of(CauseKind::ForeignColumns, [&self.unknown.join(", ")]);
            gaps.push(Gap::of(GapSubject::Columns, place(&self.path), cause));
        }
        gaps
    }
}
