//! What the driver answers as a list: who holds a GPU, its own samples of utilization, finer than
//! any sample, and XID errors.

use super::calls::{self, Call, Probe, Refusal};
use crate::domain::{FineSample, GpuProcess};
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enum_wrappers::device::Sampling;
use nvml_wrapper::enums::device::{SampleValue, UsedGpuMemory};
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::{Device, EventSet, Nvml};
use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;

/// A list of processes as traces hold it: `[pid, bytes]` each.
type Holders = Vec<(u32, Option<u64>)>;

fn list(
    probe: &mut Probe,
    call: Call,
    answer: impl FnOnce() -> Result<Vec<ProcessInfo>, NvmlError>,
) -> Option<Holders> {
    probe.ask(call, || match answer() {
        Ok(processes) => Ok(processes.iter().map(holder).collect()),
        // That is how some drivers say that there is none.
        Err(NvmlError::NotFound) => Ok(Holders::new()),
        Err(error) => Err(error),
    })
}

fn holder(process: &ProcessInfo) -> (u32, Option<u64>) {
    let bytes = match process.used_gpu_memory {
        UsedGpuMemory::Used(bytes) => Some(bytes),
        UsedGpuMemory::Unavailable => None,
    };
    (process.pid, bytes)
}

/// How far the driver's samples of the processes of one GPU were read.
#[derive(Debug, Default)]
pub(super) struct ProcessUse {
    last_microseconds: u64,
}

impl ProcessUse {
    /// Busy time of multiprocessors by process since the last time, percent.
    fn take(&mut self, device: &Device<'_>, probe: &mut Probe) -> BTreeMap<u32, u32> {
        let last = self.last_microseconds;
        let answer = probe.ask(calls::PROCESS_UTILIZATION, || {
            match device.process_utilization_stats(last) {
                Ok(samples) => Ok(samples
                    .iter()
                    .map(|sample| (sample.pid, sample.timestamp, sample.sm_util))
                    .collect::<Vec<_>>()),
                // Nothing is newer.
                Err(NvmlError::NotFound | NvmlError::NoData) => Ok(Vec::new()),
                Err(error) => Err(error),
            }
        });
        let mut samples = answer.unwrap_or_default();
        // Drivers fill a buffer that is not full with zeros.
        samples.retain(|(_, at, percent)| *at > last && *percent <= 100);
        samples.sort_by_key(|(_, at, _)| *at);
        if let Some((_, newest, _)) = samples.last() {
            self.last_microseconds = *newest;
        }
        // Of several of one process the newest stays.
        samples.into_iter().map(|(pid, _, percent)| (pid, percent)).collect()
    }
}

/// The processes on a device by id: with CUDA, with graphics, and those of an
/// MPS server. Absent when the driver tells none of these lists.
pub(super) fn processes(
    device: &Device<'_>,
    probe: &mut Probe,
    usage: &mut ProcessUse,
) -> Option<Vec<GpuProcess>> {
    let compute = list(probe, calls::COMPUTE, || device.running_compute_processes());
    let compute = compute.or_else(|| {
        let is_old = probe.refusal(calls::COMPUTE) == Some(Refusal::TooOld);
        is_old.then_some(())?;
        list(probe, calls::COMPUTE_V2, || device.running_compute_processes_v2())
    });
    let graphics = list(probe, calls::GRAPHICS, || device.running_graphics_processes());
    let shared = list(probe, calls::MPS, || device.mps_running_compute_processes());
    if compute.is_none() && graphics.is_none() && shared.is_none() {
        return None;
    }
    // One that is on two lists holds its memory once.
    let mut held: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    for (pid, bytes) in [compute, graphics, shared].into_iter().flatten().flatten() {
        let most = held.entry(pid).or_default();
        *most = (*most).max(bytes);
    }
    let busy = usage.take(device, probe);
    let processes = held.into_iter().map(|(pid, bytes)| GpuProcess {
        pid,
        // NVML gives ids only.
        name: None,
        vram_mib: bytes.map(|bytes| bytes / MIB),
        sm_percent: busy.get(&pid).copied(),
        is_of_command: false,
    });
    Some(processes.collect())
}

/// How far the driver's samples of one GPU were read.
#[derive(Debug, Default)]
pub(super) struct FineReader {
    last_microseconds: u64,
}

impl FineReader {
    /// What the driver took since the last time, by time. The buffer holds the
    /// last seconds or minutes, so the first time gives what came before.
    pub(super) fn take(&mut self, device: &Device<'_>, probe: &mut Probe) -> Vec<FineSample> {
        if !probe.may_ask(calls::SAMPLES) {
            return Vec::new();
        }
        let last = self.last_microseconds;
        let answer = match newer(device, last) {
            Err(NvmlError::NotFound | NvmlError::NoData) => {
                // Nothing newer, or the wall clock, which stamps samples, was set
                // back: then what is new has an old stamp until the clock has caught up.
                self.follow_the_clock(&newer(device, 0).unwrap_or_default());
                return Vec::new();
            }
            answer => answer,
        };
        let answer = probe.heard(calls::SAMPLES, answer).unwrap_or_default();
        self.follow_the_clock(&answer);
        // Drivers repeat samples that were taken already, and fill a buffer that
        // is not full yet with zeros.
        let mut samples: Vec<FineSample> = answer
            .into_iter()
            .filter(|(at, percent)| *at > last && (0.0..=100.0).contains(percent))
            .map(|(at_microseconds, utilization_percent)| FineSample {
                at_microseconds,
                utilization_percent,
            })
            .collect();
        samples.sort_by_key(|sample| sample.at_microseconds);
        samples.dedup_by_key(|sample| sample.at_microseconds);
        if let Some(newest) = samples.last() {
            self.last_microseconds = newest.at_microseconds;
        }
        samples
    }

    /// Reads on from the newest sample of the buffer where that is older than what
    /// was read before: the clock was set back.
    fn follow_the_clock(&mut self, buffer: &[(u64, f64)]) {
        if let Some(newest) = buffer.iter().map(|(at, _)| *at).filter(|at| *at > 0).max() {
            self.last_microseconds = self.last_microseconds.min(newest);
        }
    }
}

/// The samples of the buffer after an instant, as time and percentage; from 0 all of
/// them.
fn newer(device: &Device<'_>, microseconds: u64) -> Result<Vec<(u64, f64)>, NvmlError> {
    let samples = device.samples(Sampling::GpuUtilization, microseconds)?;
    Ok(samples.iter().map(|s| (s.timestamp, percent(&s.value))).collect())
}

fn percent(value: &SampleValue) -> f64 {
    match *value {
        SampleValue::F64(value) => value,
        SampleValue::U32(value) => f64::from(value),
        SampleValue::U64(value) => value as f64,
        SampleValue::I64(value) => value as f64,
    }
}

/// XID errors that one sample takes at most: a GPU that reports without end must
/// not keep the sampler.
const MOST_PER_LOOK: usize = 64;
/// What NVML says for an XID error that it does not know.
const UNKNOWN_XID: u64 = 999;

/// XID errors of one GPU. A set of its own for each GPU tells them apart, and a
/// GPU that refuses does not spoil it for the others.
#[derive(Debug, Default)]
pub(super) struct Events(Option<EventSet<'static>>);

impl Events {
    /// Asks to be told the XID errors of a GPU from now on.
    pub(super) fn of(nvml: &'static Nvml, device: &Device<'static>, probe: &mut Probe) -> Self {
        if !probe.may_ask(calls::REGISTER_EVENTS) {
            return Self::default();
        }
        let registered = nvml.create_event_set().and_then(|set| {
            device.register_events(EventTypes::CRITICAL_XID_ERROR, set).map_err(|e| e.error)
        });
        let (answer, set) = match registered {
            Ok(set) => (Ok(true), Some(set)),
            Err(error) => (Err(error), None),
        };
        probe.heard(calls::REGISTER_EVENTS, answer);
        Self(set)
    }

    /// What came since the last sample, in order; never waits.
    pub(super) fn take(&self, probe: &mut Probe) -> Vec<u64> {
        let mut xids = Vec::new();
        let Some(set) = &self.0 else { return xids };
        while xids.len() < MOST_PER_LOOK && probe.may_ask(calls::EVENTS) {
            match set.wait(0) {
                Ok(event) => xids.extend(event.event_data.map(|xid| match xid {
                    XidError::Value(xid) => xid,
                    XidError::Unknown => UNKNOWN_XID,
                })),
                Err(NvmlError::Timeout) => break,
                Err(error) => {
                    probe.heard::<()>(calls::EVENTS, Err(error));
                    break;
                }
            }
        }
        if !xids.is_empty() {
            probe.note(calls::EVENTS, &xids);
        }
        xids
    }
}
