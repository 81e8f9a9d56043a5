//! Series on their way into an estate file, on disk: their points are not held.

use super::write::series_wire;
use crate::domain::InstanceId;
use crate::usage::{Estate, Series};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};

/// Takes series as they arrive and keeps them in a nameless file, which is gone with
/// the process.
#[derive(Debug)]
pub struct Recorder {
    lines: io::Result<GzEncoder<BufWriter<File>>>,
}

/// Series that were recorded.
#[derive(Debug)]
pub struct Recording(File);

/// A line: the instance and the rest of the series as JSON, and whether it shows when
/// the instance ran.
struct Line<'a> {
    instance: &'a str,
    shows_running: bool,
    rest: &'a str,
}

impl Default for Recorder {
    fn default() -> Self {
        let file = tempfile::tempfile();
        Self {
            lines: file.map(|file| GzEncoder::new(BufWriter::new(file), Compression::fast())),
        }
    }
}

impl Recorder {
    /// Keeps a series. A failure is told at the end.
    pub fn add(&mut self, series: &Series) {
        if let Ok(lines) = &mut self.lines
            && let Err(error) = write_line(lines, series)
        {
            self.lines = Err(error);
        }
    }

    /// What was recorded.
    ///
    /// # Errors
    /// When the file could not be made or written.
    pub fn finish(self) -> io::Result<Recording> {
        let file = self.lines?.finish()?.into_inner();
        Ok(Recording(file.map_err(io::IntoInnerError::into_error)?))
    }
}

fn write_line(out: &mut impl Write, series: &Series) -> io::Result<()> {
    let json = serde_json::to_string(&series_wire(series))?;
    let instance = serde_json::to_string(series.instance.as_str())?;
    // The instance is the first key of a series.
    let rest = json.strip_prefix(&format!("{{\"instance\":{instance},"));
    let shows = u8::from(series.shows_running());
    writeln!(out, "{instance}\t{shows}\t{}", rest.unwrap_or_default())
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (instance, rest) = line.split_once('\t')?;
        let (shows, rest) = rest.split_once('\t')?;
        Some(Self {
            instance,
            shows_running: shows == "1",
            rest,
        })
    }
}

impl Recording {
    /// What belongs to an estate, in order: the series of its instances, and of those
    /// beside it when they ran. `name` tells under which id an instance is known in it.
    ///
    /// # Errors
    /// When it cannot be read; so of each series.
    pub(super) fn series_of<'a>(
        &'a self,
        estate: &'a Estate,
        name: &'a dyn Fn(InstanceId) -> InstanceId,
    ) -> io::Result<impl Iterator<Item = io::Result<Box<RawValue>>> + 'a> {
        let inside: BTreeSet<&InstanceId> = estate.instances.iter().map(|one| &one.id).collect();
        let beside: BTreeSet<&InstanceId> = estate.out_of_scope.iter().map(|one| &one.id).collect();
        let mut file = &self.0;
        file.seek(SeekFrom::Start(0))?;
        let lines = BufReader::new(GzDecoder::new(BufReader::new(file))).lines();
        Ok(lines.filter_map(move |line| {
            let series = line.and_then(|line| {
                let Some(line) = Line::of(&line) else {
                    return Ok(None);
                };
                let id = name(InstanceId::new(serde_json::from_str::<String>(
                    line.instance,
                )?));
                if !inside.contains(&id) && !(beside.contains(&id) && line.shows_running) {
                    return Ok(None);
                }
                let instance = serde_json::to_string(id.as_str())?;
                let series = format!("{{\"instance\":{instance},{}", line.rest);
                Ok(Some(RawValue::from_string(series)?))
            });
            series.transpose()
        }))
    }
}
