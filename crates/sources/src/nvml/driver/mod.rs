//! The library itself: opening it, reading everything, and what a driver does not tell.

mod activity;
mod calls;
mod lists;
mod raw;
mod reading;
mod row;
mod trace;

use super::{NvmlError, Record};
use crate::GpuSource;
use crate::catalog::has_gpm;
use crate::domain::{Cause, CauseKind, DriverMetric, Gap, GpuIdentity, GpuSample, Loss};
use calls::{Refusal, reason_of, recorded_error};
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError as DriverError;
use reading::ROUND_BYTES;
use row::{RETRY_AFTER, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use trace::{Answers, Recorder};

/// The name under which the loader knows the library.
const LIBRARY: &str = "libnvidia-ml.so.1";

pub struct NvmlSource {
    nvml: &'static Nvml,
    driver_version: Option<String>,
    identities: Vec<GpuIdentity>,
    rows: Vec<Row>,
    recorder: Option<Recorder>,
    /// When to try again to reach a driver that went away.
    start_again_at: Duration,
}

impl NvmlSource {
    /// Loads the library, from `library` or where the system has it, and finds
    /// the GPUs. The library stays loaded until the process ends.
    ///
    /// # Errors
    ///
    /// [`NvmlError`]: there is no library, no driver, no permission or no GPU.
    /// A GPU that does not answer is not an error; it is a lost one.
    pub fn open(library: Option<&Path>, record: Option<Record>) -> Result<Self, NvmlError> {
        let library = library.unwrap_or_else(|| Path::new(LIBRARY));
        let nvml = Nvml::builder()
            .lib_path(library.as_os_str())
            .init()
            .map_err(|error| failure_of(library, error))?;
        // Handles, event sets and samples borrow the library, and all of them
        // live as long as the source, of which a process has one.
        let nvml: &'static Nvml = Box::leak(Box::new(nvml));
        let count = nvml.device_count().map_err(|error| failure_of(library, error))?;
        let driver_version = nvml.sys_driver_version().ok();
        let mut rows = find(nvml, count, record.is_some());
        if rows.is_empty() {
            return Err(NvmlError::NoGpus);
        }
        let recorder = record.map(|out| {
            let mut system = Answers::from([(calls::DEVICE_COUNT, count.into())]);
            if let Some(version) = &driver_version {
                system.insert(calls::DRIVER_VERSION, version.as_str().into());
            }
            Recorder::begin(out, system, first_answers(&mut rows))
        });
        Ok(Self {
            nvml,
            driver_version,
            identities: rows.iter().map(|row| row.identity.clone()).collect(),
            rows,
            recorder,
            start_again_at: Duration::ZERO,
        })
    }

    /// Why the trace ends before the run does, if it does.
    pub fn record_failure(&self) -> Option<&str> {
        self.recorder.as_ref().and_then(Recorder::failure)
    }

    /// Every device lost for the same reason. Now and then the driver is asked
    /// to start again.
    fn lose_all(&mut self, at: Duration, reason: &str) -> Vec<GpuSample> {
        if at >= self.start_again_at {
            self.start_again_at = at + RETRY_AFTER;
            // Whether it worked shows in the next sample.
            let _ = raw::start_again(self.nvml);
        }
        self.rows.iter_mut().map(|row| row.lose(Loss::of(reason), at)).collect()
    }
}

impl GpuSource for NvmlSource {
    fn identities(&self) -> &[GpuIdentity] {
        &self.identities
    }

    fn driver_version(&self) -> Option<&str> {
        self.driver_version.as_deref()
    }

    fn read(&mut self, at: Duration) -> Vec<GpuSample> {
        // The cheapest call there is tells whether the driver is still there.
        let count = self.nvml.device_count();
        let (samples, answer) = match count {
            Ok(count) => {
                (self.rows.iter_mut().map(|row| row.sample(at, self.nvml)).collect(), count.into())
            }
            Err(error) => (self.lose_all(at, &reason_of(&error)), recorded_error(error)),
        };
        if let Some(recorder) = &mut self.recorder {
            let system = Answers::from([(calls::DEVICE_COUNT, answer)]);
            let devices = self.rows.iter_mut().map(|row| row.probe.take_answers());
            recorder.sample(at, system, devices.collect());
        }
        samples
    }

    fn gaps(&self) -> Vec<Gap> {
        gaps(&self.rows, self.driver_version())
    }
}

/// The GPUs by index, each followed by its MIG instances.
fn find(nvml: &'static Nvml, count: u32, is_recorded: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for index in 0..u16::try_from(count).unwrap_or(u16::MAX) {
        let row = match nvml.device_by_index(u32::from(index)) {
            Ok(device) => Row::of_gpu(index, device, nvml, is_recorded),
            Err(error) => {
                let mut row = Row::lost(index, &error, is_recorded);
                row.probe.record(calls::HANDLE, recorded_error(error));
                row
            }
        };
        let instances = instances(&row, is_recorded);
        rows.push(row);
        rows.extend(instances);
    }
    rows
}

fn instances(gpu: &Row, is_recorded: bool) -> Vec<Row> {
    let Some(device) = &gpu.device else { return Vec::new() };
    if gpu.identity.is_mig_enabled != Some(true) {
        return Vec::new();
    }
    // The count is of places; those that are not taken answer `not found`.
    (0..u16::try_from(device.mig_device_count().unwrap_or(0)).unwrap_or(u16::MAX))
        .filter_map(|slot| {
            let instance = device.mig_device_by_index(u32::from(slot)).ok()?;
            Some(Row::of_mig(gpu.identity.index, slot, instance, is_recorded))
        })
        .collect()
}

fn first_answers(rows: &mut [Row]) -> Vec<(u16, Option<u16>, Answers)> {
    rows.iter_mut()
        .map(|row| {
            let slot = row.identity.mig.as_ref().map(|mig| mig.index);
            (row.identity.index, slot, row.probe.take_answers())
        })
        .collect()
}

fn failure_of(library: &Path, error: DriverError) -> NvmlError {
    match error {
        DriverError::LibloadingError(error) => {
            NvmlError::NoLibrary { library: library.to_owned(), cause: innermost(&error).into() }
        }
        DriverError::DriverNotLoaded | DriverError::LibraryNotFound => NvmlError::NoDriver,
        DriverError::LibRmVersionMismatch => NvmlError::VersionMismatch,
        DriverError::NoPermission | DriverError::OperatingSystem => NvmlError::NoPermission,
        DriverError::NotFound => NvmlError::NoGpus,
        error => NvmlError::Failed(error.to_string().into()),
    }
}

fn innermost(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

/// The metrics that no call tells of a GPU or of its MIG instances, once for
/// each model.
fn gaps(rows: &[Row], driver_version: Option<&str>) -> Vec<Gap> {
    let mut by_gpu: BTreeMap<u16, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        by_gpu.entry(row.identity.index).or_default().push(row);
    }
    let gaps: BTreeSet<Gap> =
        by_gpu.values().flat_map(|rows| of_gpu(rows, driver_version)).collect();
    gaps.into_iter().collect()
}

fn of_gpu(rows: &[&Row], driver_version: Option<&str>) -> Vec<Gap> {
    let Some(gpu) = rows.first() else { return Vec::new() };
    let is_reported = |metric: &DriverMetric| {
        let mut rows = rows.iter();
        rows.any(|row| row.probe.reported.contains(metric))
    };
    let is_divided = gpu.identity.is_mig_enabled == Some(true);
    let GpuIdentity { name, index, .. } = &gpu.identity;
    let place = name.clone().unwrap_or_else(|| format!("GPU {index}"));
    let driver = driver_version.map_or("the driver".to_owned(), |text| format!("driver {text}"));
    // Whether it is known to be older than the counters of the multiprocessors, so that no driver
    // tells them.
    let is_before_gpm = name.as_deref().and_then(has_gpm) == Some(false);
    let mut refusals = BTreeMap::new();
    for (metric, refusal) in rows.iter().flat_map(|row| row.probe.refusals()) {
        let first = refusals.entry(metric).or_insert(refusal);
        *first = (*first).min(refusal);
    }
    refusals
        .into_iter()
        .filter(|(metric, _)| !is_reported(metric))
        .map(|(metric, refusal)| {
            let has_none = metric == DriverMetric::Activity && is_before_gpm;
            let kind = kind(refusal, is_divided, has_none);
            Gap::of(metric, place.clone(), Cause::of(kind, [&driver]))
        })
        .chain(outrun(rows, &place))
        .collect()
}

/// The rates that a counter of 32 bits cannot tell at this interval.
fn outrun(rows: &[&Row], place: &str) -> Option<Gap> {
    let row = rows.iter().find(|row| row.meters.is_pcie_outrun())?;
    let cause = match row.identity.pcie_max_bytes_per_second {
        Some(most) => fast_enough(most).map_or_else(
            || Cause::of(CauseKind::CounterWrapsAlways, []),
            |milliseconds| Cause::of(CauseKind::CounterWraps, [&milliseconds.to_string()]),
        ),
        None => Cause::of(CauseKind::CounterWrapsPerhaps, []),
    };
    Some(Gap::of(DriverMetric::PcieTraffic, place, cause))
}

/// The interval in milliseconds in which a link moves less than the counter holds, with a
/// tenth left for samples that come late; absent where none is long enough.
fn fast_enough(most_bytes_per_second: f64) -> Option<f64> {
    let tens = (ROUND_BYTES / most_bytes_per_second * 0.9 * 100.0).floor();
    (tens >= 10.0).then_some(tens * 10.0)
}

/// Why a driver does not report a metric; `has_none` where no driver reports it of the GPU.
fn kind(refusal: Refusal, is_divided: bool, has_none: bool) -> CauseKind {
    match (refusal, has_none) {
        (Refusal::NotSupported, false) if is_divided => CauseKind::MetricHiddenByMig,
        (Refusal::NotSupported, true) if is_divided => CauseKind::CountersHiddenByMig,
        (Refusal::NotSupported, _) => CauseKind::MetricNotSupported,
        (Refusal::TooOld, false) => CauseKind::MetricOfNewerDriver,
        (Refusal::TooOld, true) => CauseKind::CountersOfNewerDriver,
        (Refusal::NoPermission, false) => CauseKind::MetricNotAllowed,
        (Refusal::NoPermission, true) => CauseKind::CountersNotAllowed,
    }
}
