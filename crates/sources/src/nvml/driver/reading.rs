//! One sample of one device: every metric on its own, each of them optional; counters of bytes
//! that may wrap as rates.

use super::activity::{ActivityMeter, Scope};
use super::calls::{self, Call, Probe};
use super::lists::{FineReader, ProcessUse, processes};
use super::raw;
use crate::domain::{GpuReading, MIB, ThrottleReasons};
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_PCIE_COUNT_RX_BYTES, NVML_FI_DEV_PCIE_COUNT_TX_BYTES,
};
use nvml_wrapper::{Device, Nvml};
use serde::Serialize;
use std::time::Duration;

/// Thousandths in a whole one.
pub(super) const MILLI: f64 = 1_000.0;

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
    let memory = memory(device, probe);
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

/// `[total, free, used]` bytes, by the newer call or else the older one.
pub(super) fn memory(device: &Device<'_>, probe: &mut Probe) -> Option<[u64; 3]> {
    let newer = probe.ask(calls::MEMORY, || {
        let memory = device.memory_info();
        memory.map(|memory| [memory.total, memory.free, memory.used])
    });
    newer.or_else(|| {
        probe.refusal(calls::MEMORY)?;
        probe.ask(calls::MEMORY_V1, || raw::memory_v1(device))
    })
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

/// A counter's reading: its value, and how wide it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Count {
    /// Starts again after 2^32 - 1.
    Narrow {
        /// Bytes.
        uint: u32,
    },
    /// Does not wrap in a lifetime.
    Wide(u64),
}

impl Count {
    /// The reading in a field; none of one that no counter can have.
    pub(super) fn of(value: &SampleValue) -> Option<Self> {
        match *value {
            SampleValue::U32(value) => Some(Self::Narrow { uint: value }),
            SampleValue::U64(value) => Some(Self::Wide(value)),
            SampleValue::I64(value) => u64::try_from(value).ok().map(Self::Wide),
            SampleValue::F64(_) => None,
        }
    }
}

/// The last reading of a counter.
#[derive(Debug, Default)]
pub(super) struct Counter {
    last: Option<(Duration, Count)>,
    /// Rates that were told.
    reported: u64,
    /// Readings without a rate, because the counter may have gone round.
    outrun: u64,
}

/// Bytes after which a narrow counter starts again.
pub(super) const ROUND_BYTES: f64 = u32::MAX as f64 + 1.0;

impl Counter {
    /// Bytes per second since the last reading. Absent for the first, for a
    /// counter that was set back, and for a narrow one that the link, at
    /// `most_bytes_per_second`, could have taken round once more than can be
    /// seen.
    pub(super) fn rate(
        &mut self,
        at: Duration,
        count: Count,
        most_bytes_per_second: Option<f64>,
    ) -> Option<f64> {
        let (before, last) = self.last.replace((at, count))?;
        let seconds = at.checked_sub(before)?.as_secs_f64();
        if seconds <= 0.0 {
            return None;
        }
        let bytes = match (last, count) {
            (Count::Wide(last), Count::Wide(count)) => count.checked_sub(last)?,
            (Count::Narrow { uint: last }, Count::Narrow { uint: count }) => {
                if most_bytes_per_second.is_none_or(|most| most * seconds >= ROUND_BYTES) {
                    self.outrun += 1;
                    return None;
                }
                u64::from(count.wrapping_sub(last))
            }
            _ => return None,
        };
        self.reported += 1;
        Some(bytes as f64 / seconds)
    }

    /// Whether most of its readings gave no rate because it may have gone round
    /// more often than can be seen.
    pub(super) fn is_outrun(&self) -> bool {
        self.outrun > self.reported
    }

    /// Forgets the last reading: what follows does not continue it.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_rate_is_bytes_over_the_time_between_two_readings() {
        let mut counter = Counter::default();
        assert_eq!(counter.rate(at(0), Count::Wide(5_000), None), None);
        // 3 000 bytes in 1.5 s.
        let rate = counter.rate(at(1_500), Count::Wide(8_000), None);
        assert_eq!(rate, Some(2_000.0));
        assert_eq!(counter.rate(at(1_500), Count::Wide(9_000), None), None);
    }

    #[test]
    fn a_counter_that_was_set_back_has_no_rate() {
        let mut counter = Counter::default();
        counter.rate(at(0), Count::Wide(8_000), None);
        assert_eq!(counter.rate(at(1_000), Count::Wide(100), None), None);
        let rate = counter.rate(at(2_000), Count::Wide(1_100), None);
        assert_eq!(rate, Some(1_000.0));
        counter.forget();
        assert_eq!(counter.rate(at(3_000), Count::Wide(2_000), None), None);
    }

    #[test]
    fn a_narrow_counter_wraps_when_the_link_cannot_have_gone_round_twice() {
        let last = Count::Narrow { uint: u32::MAX - 99 };
        let next = Count::Narrow { uint: 900 };
        let mut counter = Counter::default();
        counter.rate(at(0), last, Some(4e9));
        // 100 up to the wrap, 900 after it; 4 GB/s move less than 2^32 a second.
        assert_eq!(counter.rate(at(1_000), next, Some(4e9)), Some(1_000.0));
        for most in [Some(4.3e9), None] {
            let mut counter = Counter::default();
            counter.rate(at(0), last, most);
            assert_eq!(counter.rate(at(1_000), next, most), None, "{most:?}");
            assert!(counter.is_outrun());
            // The next sample came in time, and one of two is not most.
            counter.rate(at(1_100), next, Some(4e9));
            assert!(!counter.is_outrun());
        }
    }
}
