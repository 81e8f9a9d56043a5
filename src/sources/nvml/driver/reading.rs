//! One sample of one device: every metric on its own, each of them optional.

use super::activity::{ActivityMeter, Scope};
use super::calls::{self, Call};
use super::counter::{Count, Counter};
use super::fine::FineReader;
use super::identity;
use super::probe::Probe;
use super::processes::{ProcessUse, processes};
use crate::domain::{GpuReading, MIB, ThrottleReasons};
use nvml_wrapper::Device;
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_PCIE_COUNT_RX_BYTES, NVML_FI_DEV_PCIE_COUNT_TX_BYTES,
};
use std::time::Duration;

const MILLI: f64 = 1_000.0;

/// What one sample leaves for the next.
#[derive(Debug, Default)]
pub(super) struct Meters {
    pub(super) pcie_sent: Counter,
    pub(super) pcie_received: Counter,
    pub(super) activity: ActivityMeter,
    pub(super) fine: FineReader,
    pub(super) processes: ProcessUse,
}

impl Meters {
    /// Whether the link may move more between two samples than its counters hold.
    pub(super) fn is_pcie_outrun(&self) -> bool {
        self.pcie_sent.is_outrun() || self.pcie_received.is_outrun()
    }

    /// Forgets what the next sample would continue. The driver's own samples
    /// carry their time, so that they go on.
    pub(super) fn forget(&mut self) {
        self.pcie_sent.forget();
        self.pcie_received.forget();
        self.activity.forget();
    }
}

/// Reads all that a device tells, but for XID errors. `scope` is whose multiprocessor counters
/// belong to it, if any's, and `most` what its PCIe link carries at most, in bytes per second.
pub(super) fn read(
    device: &Device<'_>,
    probe: &mut Probe,
    meters: &mut Meters,
    (at, nvml): (Duration, &'static Nvml),
    scope: Option<Scope<'_>>,
    most: Option<f64>,
) -> GpuReading {
    let utilization = probe.ask(calls::UTILIZATION, || {
        let rates = device.utilization_rates();
        rates.map(|rates| [rates.gpu, rates.memory])
    });
    let memory = identity::memory(device, probe);
    let activity = scope.and_then(|scope| meters.activity.read(at, nvml, scope, probe));
    let mut reading = GpuReading {
        utilization_percent: utilization.map(|[gpu, _]| f64::from(gpu)),
        memory_utilization_percent: utilization.map(|[_, memory]| f64::from(memory)),
        vram_used_mib: memory.map(|[_, _, used]| used as f64 / MIB),
        vram_total_mib: memory.map(|[total, ..]| total as f64 / MIB),
        power_w: ask_u32(probe, calls::POWER, || device.power_usage()).map(|mw| mw / MILLI),
        energy_j: probe
            .ask(calls::ENERGY, || device.total_energy_consumption())
            .map(|millijoules| millijoules as f64 / MILLI),
        temperature_c: ask_u32(probe, calls::TEMPERATURE, || {
            device.temperature(TemperatureSensor::Gpu)
        }),
        sm_clock_mhz: ask_u32(probe, calls::SM_CLOCK, || device.clock_info(Clock::SM)),
        memory_clock_mhz: ask_u32(probe, calls::MEMORY_CLOCK, || device.clock_info(Clock::Memory)),
        throttle: probe
            .ask(calls::THROTTLE, || device.current_throttle_reasons().map(|bits| bits.bits()))
            .map(ThrottleReasons),
        encoder_percent: ask_u32(probe, calls::ENCODER, || {
            device.encoder_utilization().map(|encoder| encoder.utilization)
        }),
        decoder_percent: ask_u32(probe, calls::DECODER, || {
            device.decoder_utilization().map(|decoder| decoder.utilization)
        }),
        processes: processes(device, probe, &mut meters.processes),
        pcie_sent_bytes_per_second: activity.and_then(|seen| seen.pcie_sent_bytes_per_second),
        pcie_received_bytes_per_second: activity
            .and_then(|seen| seen.pcie_received_bytes_per_second),
        activity,
        fine: meters.fine.take(device, probe),
        xids: Vec::new(),
    };
    // The counters of the multiprocessors are the better ones: they do not wrap.
    let is_left_to_counters = match activity {
        Some(seen) => seen.pcie_sent_bytes_per_second.is_none(),
        None => !probe.may_ask(calls::GPM_SAMPLE),
    };
    if is_left_to_counters {
        reading.pcie_sent_bytes_per_second = probe
            .ask(calls::PCIE_SENT, || field(device, NVML_FI_DEV_PCIE_COUNT_TX_BYTES))
            .and_then(|count| meters.pcie_sent.rate(at, count, most));
        reading.pcie_received_bytes_per_second = probe
            .ask(calls::PCIE_RECEIVED, || field(device, NVML_FI_DEV_PCIE_COUNT_RX_BYTES))
            .and_then(|count| meters.pcie_received.rate(at, count, most));
    }
    reading
}

fn ask_u32(
    probe: &mut Probe,
    call: Call,
    answer: impl FnOnce() -> Result<u32, NvmlError>,
) -> Option<f64> {
    probe.ask(call, answer).map(f64::from)
}

/// A counter among the field values. The usual call for PCIe traffic waits
/// 20 ms; this one does not. Drivers answer `invalid argument` for a field that
/// they do not know.
fn field(device: &Device<'_>, id: u32) -> Result<Count, NvmlError> {
    let values = device.field_values_for(&[FieldId(id)])?;
    match values.into_iter().next().ok_or(NvmlError::NoData)??.value {
        Ok(value) => Count::of(&value).ok_or(NvmlError::NotSupported),
        Err(NvmlError::InvalidArg) => Err(NvmlError::NotSupported),
        Err(error) => Err(error),
    }
}
