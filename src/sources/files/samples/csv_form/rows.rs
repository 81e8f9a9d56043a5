//! The columns, reading one row, and writing the rows of a sample.

use super::super::cells;
use super::super::json_form::json_line;
use super::super::wire::{
    ACTIVITY_COLUMNS, FigureColumn, GPU_COLUMNS, HOST_COLUMNS, fine, fine_wire, time,
};
use crate::domain::{
    Activity, GpuIdentity, GpuReading, GpuSample, HostReading, Loss, MigSlot, RunFacts, Sample,
    ThrottleReasons, spreadsheet_safe,
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
pub(super) fn columns() -> impl Iterator<Item = String> {
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

pub(in crate::sources::files::samples) fn header_line() -> String {
    let names: Vec<String> = columns().collect();
    format!("{}\n", names.join(","))
}

/// Whether a first line is the header of such a file.
pub(in crate::sources::files::samples) fn is_header(line: &str) -> bool {
    let names = cells(line);
    REQUIRED.iter().all(|wanted: &&str| names.iter().any(|name| name.trim() == *wanted))
}

/// One row, by the names of its columns.
pub(super) struct Row<'a> {
    names: &'a Names,
    cells: Vec<String>,
}

/// Where each column is.
pub(super) type Names = HashMap<String, usize>;

impl<'a> Row<'a> {
    /// The row on a line.
    pub(super) fn of(names: &'a Names, line: &str) -> Result<Self, String> {
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

    pub(super) fn facts(&self) -> Result<RunFacts, String> {
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

    pub(super) fn identity(&self) -> Result<GpuIdentity, String> {
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
    pub(super) fn slot(&self) -> Result<(u16, Option<u16>), String> {
        Ok((self.required("gpu_index")?, self.value("mig_index")?))
    }

    fn time(&self) -> Result<Timestamp, String> {
        time("time", self.get("time").unwrap_or_default())
    }

    /// A sample with this GPU alone.
    pub(super) fn sample(&self) -> Result<Sample, String> {
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

/// Text as a cell. An apostrophe that is there already is doubled, so that the
/// one that disarms a formula can be distinguished from it.
fn text(value: Option<&str>) -> String {
    let Some(value) = value else { return String::new() };
    let safe = spreadsheet_safe(value);
    let cell = if value.starts_with('\'') { format!("'{safe}") } else { safe };
    quoted(&cell)
}

fn quoted(cell: &str) -> String {
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
    Ok(line.map_or_else(String::new, |line| quoted(line.trim_end())))
}

/// What stands in every row, and what stands in every row of one GPU.
#[derive(Debug)]
pub(in crate::sources::files::samples) struct Rows {
    run: String,
    gpus: Vec<String>,
}

impl Rows {
    pub(in crate::sources::files::samples) fn of(facts: &RunFacts) -> Self {
        let run: Vec<String> = RUN.iter().map(|(_, cell)| cell(facts)).collect();
        let gpu = |gpu: &GpuIdentity| {
            let cells: Vec<String> = GPU.iter().map(|(_, cell)| cell(gpu)).collect();
            cells.join(",")
        };
        Self { run: run.join(","), gpus: facts.gpus.iter().map(gpu).collect() }
    }

    pub(in crate::sources::files::samples) fn of_sample(
        &self,
        sample: &Sample,
    ) -> io::Result<String> {
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
