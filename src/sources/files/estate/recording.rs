//! Series on their way into an estate file, on disk: their points are not held.

use super::wire::{Cell, SeriesWire};
use crate::domain::ResourceId;
use crate::sources::files::shared::same_fields;
use crate::usage::{Estate, Points, Series};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// Takes series as they arrive and keeps them in a nameless file, which is gone with
/// the process.
#[derive(Debug)]
pub struct Recorder {
    lines: io::Result<GzEncoder<BufWriter<File>>>,
    replaced: BTreeMap<ResourceId, Replaced>,
}

#[derive(Debug)]
pub struct Recording {
    file: File,
    replaced: BTreeMap<ResourceId, Replaced>,
}

/// What of an instance does not count of the series that were kept for the time being.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Replaced {
    /// Those that are read period by period.
    Grid,
    Everything,
}

/// What a line begins with: which series takes its place.
const LASTS: char = '-';
const LASTS_UNLESS_EVERYTHING: char = 'e';
const LASTS_UNLESS_GRID: char = 'g';

/// Why series could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot write metrics to a temporary file in {}", crate::domain::shown(folder))]
pub struct RecordingError {
    folder: PathBuf,
    pub source: io::Error,
}

impl Default for Recorder {
    fn default() -> Self {
        let file = tempfile::tempfile();
        Self {
            lines: file.map(|file| GzEncoder::new(BufWriter::new(file), Compression::fast())),
            replaced: BTreeMap::new(),
        }
    }
}

impl Recorder {
    /// Keeps a series. A failure is reported at the end.
    pub fn add(&mut self, series: &Series) {
        self.write(series, LASTS);
    }

    /// Keeps a series unless [`Recorder::replace`] says later that it does not count.
    pub fn add_for_now(&mut self, series: &Series) {
        let lasts =
            if series.metric.is_on_grid() { LASTS_UNLESS_GRID } else { LASTS_UNLESS_EVERYTHING };
        self.write(series, lasts);
    }

    /// What does not count of the series of an instance that were kept for now.
    pub fn replace(&mut self, instance: &ResourceId, what: Replaced) {
        self.replaced.insert(instance.clone(), what);
    }

    fn write(&mut self, series: &Series, lasts: char) {
        if let Ok(lines) = &mut self.lines
            && let Err(error) = write_line(lines, series, lasts)
        {
            self.lines = Err(error);
        }
    }

    /// What was recorded.
    ///
    /// # Errors
    /// When the file could not be made or written.
    pub fn finish(self) -> Result<Recording, RecordingError> {
        self.whole().map_err(|source| RecordingError { folder: tempfile::env::temp_dir(), source })
    }

    fn whole(self) -> io::Result<Recording> {
        let file = self.lines?.finish()?.into_inner();
        Ok(Recording {
            file: file.map_err(io::IntoInnerError::into_error)?,
            replaced: self.replaced,
        })
    }
}

/// Writes a line: whether it may be replaced, the instance as JSON, whether the series shows when
/// that ran, and the rest of the series.
fn write_line(out: &mut impl Write, series: &Series, lasts: char) -> io::Result<()> {
    let json = serde_json::to_string(&series_wire(series))?;
    let instance = serde_json::to_string(series.instance.as_str())?;
    // The instance is the first key of a series.
    let rest = json.strip_prefix(&format!("{{\"instance\":{instance},"));
    let shows = u8::from(series.shows_running());
    let rest = rest.unwrap_or_default();
    writeln!(out, "{lasts}\t{instance}\t{shows}\t{rest}")
}

impl Recording {
    /// Whether a series of an instance, by the id that it was recorded under, counts.
    fn counts(&self, lasts: &str, instance: &ResourceId) -> bool {
        match self.replaced.get(instance) {
            None => true,
            Some(Replaced::Grid) => !lasts.contains(LASTS_UNLESS_GRID),
            Some(Replaced::Everything) => lasts.contains(LASTS),
        }
    }

    /// What belongs to an estate, in order: the series of its instances, and of those
    /// beside it when they ran. `name` tells under which id an instance is known in it.
    ///
    /// # Errors
    /// When it cannot be read; so of each series.
    pub(super) fn series_of<'a>(
        &'a self,
        estate: &'a Estate,
        name: &'a dyn Fn(ResourceId) -> ResourceId,
    ) -> io::Result<impl Iterator<Item = io::Result<Box<RawValue>>> + 'a> {
        let inside: BTreeSet<&ResourceId> =
            estate.instances.iter().map(|instance| &instance.id).collect();
        let beside: BTreeSet<&ResourceId> =
            estate.out_of_scope.iter().map(|instance| &instance.id).collect();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))?;
        Ok(BufReader::new(GzDecoder::new(BufReader::new(file))).lines().filter_map(move |line| {
            let series = line.and_then(|line| {
                let parts: Vec<&str> = line.splitn(4, '\t').collect();
                let [lasts, instance, shows_running, rest] = parts[..] else { return Ok(None) };
                let recorded = serde_json::from_str::<String>(instance)?;
                let recorded = ResourceId::named(recorded);
                if !self.counts(lasts, &recorded) {
                    return Ok(None);
                }
                let id = name(recorded);
                let belongs = inside.contains(&id) || beside.contains(&id) && shows_running == "1";
                if !belongs {
                    return Ok(None);
                }
                let instance = serde_json::to_string(id.as_str())?;
                Ok(Some(RawValue::from_string(format!("{{\"instance\":{instance},{rest}"))?))
            });
            series.transpose()
        }))
    }
}

pub(super) fn series_wire(series: &Series) -> SeriesWire {
    same_fields!(series => SeriesWire {
        gpu, metric, statistic, source, joined_by;
        instance: series.instance.clone(),
        rejected: (series.rejected.total() > 0).then_some(series.rejected),
        period_seconds: series.points.period_seconds(),
        start: Some(series.points.start()),
        timestamps: None,
        values: cells(&series.points),
    })
}

/// Repetitions shorter than this are written out: `[0,2]` is longer than `0,0`.
const SHORTEST_REPETITION: u32 = 3;

fn cells(points: &Points) -> Vec<Cell> {
    let mut runs: Vec<Cell> = Vec::new();
    let mut push = |value: Option<f64>, times: u32| match runs.last_mut() {
        Some(last) if last.value == value => last.times += times,
        _ if times > 0 => runs.push(Cell { value, times }),
        _ => {}
    };
    let mut next = 0;
    for (index, value) in points.iter() {
        push(None, index - next);
        push(Some(value), 1);
        next = index + 1;
    }
    runs.into_iter()
        .flat_map(|run| {
            let (times, copies) =
                if run.times < SHORTEST_REPETITION { (1, run.times) } else { (run.times, 1) };
            std::iter::repeat_n(Cell { value: run.value, times }, copies as usize)
        })
        .collect()
}
