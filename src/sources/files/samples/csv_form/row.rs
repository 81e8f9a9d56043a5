//! Reading one row.

use super::super::cells;
use super::super::wire::{ACTIVITY_COLUMNS, FigureColumn, GPU_COLUMNS, HOST_COLUMNS, fine, time};
use super::{activity_column, host_column};
use crate::domain::{
    Activity, GpuIdentity, GpuReading, GpuSample, HostReading, Loss, MigSlot, RunFacts, Sample,
    ThrottleReasons,
};
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;
use std::str::FromStr;

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
        let Some(cell) = self.get(column) else {
            return Ok(None);
        };
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
        name: impl Fn(&str) -> String,
    ) -> Result<bool, String> {
        let mut has_any = false;
        for (column, _, set) in columns {
            let value = self.figure(&name(column))?;
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
        self.figures(GPU_COLUMNS, &mut reading, str::to_owned)?;
        reading.throttle = self.value("throttle")?.map(ThrottleReasons);
        reading.processes = self.list("processes")?;
        reading.fine = fine(self.list("fine")?.unwrap_or_default());
        reading.xids = xids;
        let mut activity = Activity::default();
        if self.figures(ACTIVITY_COLUMNS, &mut activity, activity_column)? {
            reading.activity = Some(activity);
        }
        Ok(GpuSample::Read(Box::new(reading)))
    }

    fn host(&self) -> Result<HostReading, String> {
        let mut host = HostReading { cores: self.value("host_cores")?, ..HostReading::default() };
        self.figures(HOST_COLUMNS, &mut host, host_column)?;
        Ok(host)
    }
}
