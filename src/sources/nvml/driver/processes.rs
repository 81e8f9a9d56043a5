//! Who holds a GPU.

use super::calls::{self, Call};
use super::probe::{Probe, Refusal};
use crate::domain::GpuProcess;
use nvml_wrapper::Device;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
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
