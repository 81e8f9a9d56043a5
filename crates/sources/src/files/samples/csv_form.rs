//! Samples as CSV: one row per GPU and sample, every row with all that it needs to
//! be read by itself. What is absent is an empty cell; lists are JSON in a cell.

use super::input::{Input, Lines, Log, OpenLog, cells, place};
use super::json_form::{
    ACTIVITY_COLUMNS, FigureColumn, GPU_COLUMNS, HOST_COLUMNS, fine, fine_wire, json_line,
};
use super::{SamplesError, quoted};
use crate::domain::{
    Activity, Cause, CauseKind, Gap, GapSubject, GpuIdentity, GpuReading, GpuSample, HostReading,
    Loss, MigSlot, RunFacts, Sample, ThrottleReasons, spreadsheet_safe,
};
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;
use std::io;
use std::str::FromStr;

/// A column that every row of a run or of a GPU has the same cell of: its name, and the cell.
type SameColumn<T> = (&'static str, fn(&T) -> String);

/// Columns that say when and where.
const RUN: &[SameColumn<RunFacts>] = &[
    ("started", |run| run.started.to_string()),
    ("interval_seconds", |run| shown(run.interval_seconds)),
    ("is_command", |run| run.is_command.to_string()),
    ("hostname", |run| text(run.hostname.as_deref())),
    ("instance_id", |run| text(run.instance_id.as_deref())),
    ("instance_type", |run| text(run.instance_type.as_deref())),
    ("region", |run| text(run.region.as_deref())),
    ("driver_version", |run| text(run.driver_version.as_deref())),
];
/// Columns that say which GPU.
const GPU: &[SameColumn<GpuIdentity>] = &[
    ("gpu_index", |gpu| gpu.index.to_string()),
    ("mig_index", |gpu| shown(gpu.mig.as_ref().map(|slot| slot.index))),
    ("mig_gpu_instance", |gpu| shown(gpu.mig.as_ref().and_then(|slot| slot.gpu_instance))),
    ("mig_compute_instance", |gpu| shown(gpu.mig.as_ref().and_then(|slot| slot.compute_instance))),
    ("mig_profile", |gpu| text(gpu.mig.as_ref().and_then(|slot| slot.profile.as_deref()))),
    ("uuid", |gpu| text(gpu.uuid.as_deref())),
    ("name", |gpu| text(gpu.name.as_deref())),
    ("gpu_vram_total_mib", |gpu| shown(gpu.vram_total_mib)),
    ("power_limit_w", |gpu| shown(gpu.power_limit_w)),
    ("power_default_limit_w", |gpu| shown(gpu.power_default_limit_w)),
    ("pcie_max_bytes_per_second", |gpu| shown(gpu.pcie_max_bytes_per_second)),
    ("is_mig_enabled", |gpu| shown(gpu.is_mig_enabled)),
];
/// Columns of a reading beside its figures.
const BESIDE: &[&str] = &["lost", "throttle", "processes", "fine", "xids"];
/// Columns without which a row says nothing.
const REQUIRED: &[&str] = &["time", "elapsed_seconds", "gpu_index"];

/// What the columns of counters and of the host begin with.
const ACTIVITY: &str = "activity_";
const HOST: &str = "host_";

fn prefixed<T>(prefix: &str, columns: &[FigureColumn<T>]) -> impl Iterator<Item = String> {
    columns.iter().map(move |(name, ..)| format!("{prefix}{name}"))
}

/// The columns, in order.
fn columns() -> impl Iterator<Item = String> {
    ["time", "elapsed_seconds"]
        .into_iter()
        .chain(RUN.iter().map(|(name, _)| *name))
        .chain(GPU.iter().map(|(name, _)| *name))
        .chain(GPU_COLUMNS.iter().map(|(name, ..)| *name))
        .chain(BESIDE.iter().copied())
        .map(str::to_owned)
        .chain(prefixed(ACTIVITY, ACTIVITY_COLUMNS))
        .chain(std::iter::once("host_cores".to_owned()))
        .chain(prefixed(HOST, HOST_COLUMNS))
}

pub(super) fn header_line() -> String {
    let names: Vec<String> = columns().collect();
    format!("{}\n", names.join(","))
}

/// Whether a first line is the header of such a file.
pub(super) fn is_header(line: &str) -> bool {
    let names = cells(line);
    REQUIRED.iter().all(|wanted: &&str| names.iter().any(|name| name.trim() == *wanted))
}

/// One row, by the names of its columns.
struct Row<'a> {
    names: &'a Names,
    cells: Vec<String>,
}

/// Where each column is.
type Names = HashMap<String, usize>;

impl<'a> Row<'a> {
    /// The row on a line.
    fn of(names: &'a Names, line: &str) -> Result<Self, String> {
        let cells = cells(line);
        if cells.len() == names.len() {
            Ok(Self { names, cells })
        } else {
            Err(format!("{} cells instead of {}", cells.len(), names.len()))
        }
    }

    fn get(&self, column: &str) -> Option<&str> {
        let cell = self.cells.get(*self.names.get(column)?)?.as_str();
        (!cell.is_empty()).then_some(cell)
    }

    fn text(&self, column: &str) -> Option<String> {
        let cell = self.get(column)?;
        Some(cell.strip_prefix('\'').unwrap_or(cell).to_owned())
    }

    fn value<T: FromStr>(&self, column: &str) -> Result<Option<T>, String> {
        let Some(cell) = self.get(column) else { return Ok(None) };
        let value = cell.trim().parse();
        value.map(Some).map_err(|_| format!("`{column}` has an invalid value"))
    }

    fn required<T: FromStr>(&self, column: &str) -> Result<T, String> {
        self.value(column)?.ok_or_else(|| format!("`{column}` is empty"))
    }

    fn figure(&self, column: &str) -> Result<Option<f64>, String> {
        match self.value::<f64>(column)? {
            Some(value) if !value.is_finite() => Err(format!("`{column}` is not a number")),
            value => Ok(value),
        }
    }

    fn list<T: serde::de::DeserializeOwned>(&self, column: &str) -> Result<Option<T>, String> {
        let list = self.get(column).map(serde_json::from_str).transpose();
        list.map_err(|error| format!("`{column}` is invalid: {error}"))
    }

    fn figures<T>(
        &self,
        columns: &[FigureColumn<T>],
        into: &mut T,
        prefix: &str,
    ) -> Result<bool, String> {
        let mut has_any = false;
        for ((_, _, set), name) in columns.iter().zip(prefixed(prefix, columns)) {
            let value = self.figure(&name)?;
            has_any |= value.is_some();
            set(into, value);
        }
        Ok(has_any)
    }

    fn facts(&self) -> Result<RunFacts, String> {
        let at_seconds = self.at_seconds()?;
        let now = self.time()?;
        let started = match self.get("started") {
            Some(cell) => time("started", cell)?,
            None => SignedDuration::try_from_secs_f64(at_seconds)
                .ok()
                .and_then(|elapsed| now.checked_sub(elapsed).ok())
                .unwrap_or(now),
        };
        Ok(RunFacts {
            started,
            interval_seconds: self.figure("interval_seconds")?,
            hostname: self.text("hostname"),
            instance_id: self.text("instance_id"),
            instance_type: self.text("instance_type"),
            region: self.text("region"),
            driver_version: self.text("driver_version"),
            is_command: self.value("is_command")?.unwrap_or(false),
            gpus: Vec::new(),
        })
    }

    fn at_seconds(&self) -> Result<f64, String> {
        let at = self.required::<f64>("elapsed_seconds")?;
        if at.is_finite() && at >= 0.0 {
            Ok(at)
        } else {
            Err("`elapsed_seconds` is not a number of seconds".to_owned())
        }
    }

    fn identity(&self) -> Result<GpuIdentity, String> {
        let mig = match self.value("mig_index")? {
            Some(index) => Some(MigSlot {
                index,
                gpu_instance: self.value("mig_gpu_instance")?,
                compute_instance: self.value("mig_compute_instance")?,
                profile: self.text("mig_profile"),
            }),
            None => None,
        };
        Ok(GpuIdentity {
            index: self.required("gpu_index")?,
            mig,
            uuid: self.text("uuid"),
            name: self.text("name"),
            vram_total_mib: self.figure("gpu_vram_total_mib")?,
            power_limit_w: self.figure("power_limit_w")?,
            power_default_limit_w: self.figure("power_default_limit_w")?,
            pcie_max_bytes_per_second: self.figure("pcie_max_bytes_per_second")?,
            is_mig_enabled: self.value("is_mig_enabled")?,
        })
    }

    /// Which GPU of the host, and which slice of it.
    fn slot(&self) -> Result<(u16, Option<u16>), String> {
        Ok((self.required("gpu_index")?, self.value("mig_index")?))
    }

    fn time(&self) -> Result<Timestamp, String> {
        time("time", self.get("time").unwrap_or_default())
    }

    /// A sample with this GPU alone.
    fn sample(&self) -> Result<Sample, String> {
        Ok(Sample {
            at_seconds: self.at_seconds()?,
            time: self.time()?,
            gpus: vec![self.gpu()?],
            host: self.host()?,
        })
    }

    fn gpu(&self) -> Result<GpuSample, String> {
        let xids = self.list("xids")?.unwrap_or_default();
        if let Some(reason) = self.text("lost") {
            return Ok(GpuSample::Lost(Loss { reason, xids }));
        }
        let mut reading = GpuReading::default();
        self.figures(GPU_COLUMNS, &mut reading, "")?;
        reading.throttle = self.value("throttle")?.map(ThrottleReasons);
        reading.processes = self.list("processes")?;
        reading.fine = fine(self.list("fine")?.unwrap_or_default());
        reading.xids = xids;
        let mut activity = Activity::default();
        if self.figures(ACTIVITY_COLUMNS, &mut activity, ACTIVITY)? {
            reading.activity = Some(activity);
        }
        Ok(GpuSample::Read(Box::new(reading)))
    }

    fn host(&self) -> Result<HostReading, String> {
        let mut host = HostReading { cores: self.value("host_cores")?, ..HostReading::default() };
        self.figures(HOST_COLUMNS, &mut host, HOST)?;
        Ok(host)
    }
}

fn time(key: &str, text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| format!("`{key}` is not a time such as 2026-11-21T10:00:00Z"))
}

/// Which GPU of the host, and which slice of it.
type Slot = (u16, Option<u16>);

/// A sample as far as its rows have come.
struct MeterReading {
    sample: Sample,
    slots: Vec<Slot>,
    line: u64,
}

/// A file of CSV that is read.
struct CsvLog {
    lines: Lines,
    names: Names,
    slots: Vec<Slot>,
    next: Option<MeterReading>,
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

pub(super) fn open(input: &Input) -> Result<OpenLog, SamplesError> {
    let (mut lines, header) = after_header(input)?;
    let names: Names = header.iter().cloned().zip(0..).collect();
    if names.len() != header.len() {
        return Err(lines.invalid(1, "duplicate column"));
    }
    let facts = first_sample(&mut lines, &names)?;
    let known: Vec<String> = columns().collect();
    let unknown = header.iter().filter(|name| !known.contains(name));
    let slot = |gpu: &GpuIdentity| (gpu.index, gpu.mig.as_ref().map(|slot| slot.index));
    let mut log = CsvLog {
        lines: after_header(input)?.0,
        names,
        slots: facts.gpus.iter().map(slot).collect(),
        next: None,
        last_at_seconds: 0.0,
        unknown: unknown.map(|name| quoted(name)).collect(),
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
            self.lines.torn_line = Some(line.number);
            return Ok(None);
        }
        let read = Row::of(&self.names, &line.text).and_then(|row| {
            Ok(MeterReading { sample: row.sample()?, slots: vec![row.slot()?], line: line.number })
        });
        read.map(Some).map_err(|message| self.lines.invalid(line.number, message))
    }
}

/// What the rows of the first sample say of the run and its GPUs.
fn first_sample(lines: &mut Lines, names: &Names) -> Result<RunFacts, SamplesError> {
    let mut kept: Option<(f64, RunFacts)> = None;
    while let Some(line) = lines.next_text_line()? {
        let read = Row::of(names, &line.text).and_then(|row| {
            let at = row.sample()?.at_seconds;
            Ok((at, row.facts()?, row.identity()?))
        });
        if !line.is_whole {
            break;
        }
        let (at, facts, identity) = read.map_err(|message| lines.invalid(line.number, message))?;
        let (first, facts) = kept.get_or_insert((at, facts));
        if *first != at {
            break;
        }
        facts.gpus.push(identity);
    }
    kept.map(|(_, facts)| facts).ok_or_else(|| SamplesError::empty(&lines.path, None))
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
        if sample.slots != self.slots {
            let is_cut = self.next.is_none() && self.slots.starts_with(&sample.slots);
            if is_cut {
                self.lines.torn_line.get_or_insert(sample.line);
                return Ok(None);
            }
            let message =
                "this sample does not have the GPUs of the first sample in the same order";
            return Err(self.lines.invalid(sample.line, message));
        }
        if sample.sample.at_seconds < self.last_at_seconds {
            let message = "`elapsed_seconds` decreases here: a second run begins";
            return Err(self.lines.invalid(sample.line, message));
        }
        self.last_at_seconds = sample.sample.at_seconds;
        Ok(Some(sample.sample))
    }

    fn gaps(&self) -> Vec<Gap> {
        let mut gaps: Vec<Gap> = self.lines.torn_gap().into_iter().collect();
        if !self.unknown.is_empty() {
            let cause = Cause::of(CauseKind::ForeignColumns, [&self.unknown.join(", ")]);
            gaps.push(Gap::of(GapSubject::Columns, place(&self.lines.path), cause));
        }
        gaps
    }
}

/// Text as a cell. An apostrophe that is there already is doubled, so that the
/// one that disarms a formula can be distinguished from it.
fn text(value: Option<&str>) -> String {
    let Some(value) = value else { return String::new() };
    let safe = spreadsheet_safe(value);
    let cell = if value.starts_with('\'') { format!("'{safe}") } else { safe };
    quoted_cell(&cell)
}

fn quoted_cell(cell: &str) -> String {
    let edge = |c: Option<char>| c.is_some_and(char::is_whitespace);
    let is_plain = !cell.contains([',', '"', '\n', '\r'])
        && !edge(cell.chars().next())
        && !edge(cell.chars().next_back());
    if is_plain { cell.to_owned() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn figures<'a, T>(
    columns: &'a [FigureColumn<T>],
    from: Option<&'a T>,
) -> impl Iterator<Item = String> + 'a {
    columns
        .iter()
        .map(move |(_, get, _)| shown(from.and_then(get).filter(|value| value.is_finite())))
}

fn json(value: Option<impl serde::Serialize>) -> io::Result<String> {
    let line = value.map(|value| json_line(&value)).transpose()?;
    Ok(line.map_or_else(String::new, |line| quoted_cell(line.trim_end())))
}

/// What stands in every row, and what stands in every row of one GPU.
#[derive(Debug)]
pub(super) struct Rows {
    run: String,
    gpus: Vec<String>,
}

impl Rows {
    pub(super) fn of(facts: &RunFacts) -> Self {
        let run: Vec<String> = RUN.iter().map(|(_, cell)| cell(facts)).collect();
        let gpu = |gpu: &GpuIdentity| {
            let cells: Vec<String> = GPU.iter().map(|(_, cell)| cell(gpu)).collect();
            cells.join(",")
        };
        Self { run: run.join(","), gpus: facts.gpus.iter().map(gpu).collect() }
    }

    pub(super) fn of_sample(&self, sample: &Sample) -> io::Result<String> {
        let mut host = vec![shown(sample.host.cores)];
        host.extend(figures(HOST_COLUMNS, Some(&sample.host)));
        let host = host.join(",");
        let mut rows = String::new();
        for (gpu, identity) in sample.gpus.iter().zip(&self.gpus) {
            let (time, at, run) = (sample.time, sample.at_seconds, &self.run);
            let reading = reading_cells(gpu)?.join(",");
            rows.push_str(&format!("{time},{at},{run},{identity},{reading},{host}\n"));
        }
        Ok(rows)
    }
}

fn reading_cells(gpu: &GpuSample) -> io::Result<Vec<String>> {
    let reading = gpu.reading();
    let lost = match gpu {
        GpuSample::Lost(loss) => Some(loss.reason.as_str()),
        GpuSample::Read(_) => None,
    };
    let throttle = reading.and_then(|reading| reading.throttle).map(|bits| bits.0);
    let processes = reading.and_then(|reading| reading.processes.as_ref());
    let fine = reading.map(|reading| fine_wire(&reading.fine));
    let xids = Some(gpu.xids()).filter(|xids| !xids.is_empty());
    let activity = reading.and_then(|reading| reading.activity.as_ref());
    let mut cells: Vec<String> = figures(GPU_COLUMNS, reading).collect();
    cells.extend([text(lost), shown(throttle), json(processes)?]);
    cells.extend([json(fine.filter(|fine| !fine.is_empty()))?, json(xids)?]);
    cells.extend(figures(ACTIVITY_COLUMNS, activity));
    Ok(cells)
}
