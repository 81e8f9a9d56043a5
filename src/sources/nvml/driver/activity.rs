//! Counters of the multiprocessors (GPM), on Hopper and newer.

use super::calls::{self, Call};
use super::probe::{Probe, Refusal};
use crate::domain::{Activity, MIB};
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::gpm_metrics_get;
use nvml_wrapper::{Device, GpmSample, Nvml};
use std::time::Duration;

/// Two samples must be further apart than this.
const LEAST_APART: Duration = Duration::from_millis(100);

/// What is asked about two samples.
const METRICS: [(Call, GpmMetricId); 9] = [
    (calls::GPM_GRAPHICS, GpmMetricId::GraphicsUtil),
    (calls::GPM_SM, GpmMetricId::SmUtil),
    (calls::GPM_OCCUPANCY, GpmMetricId::SmOccupancy),
    (calls::GPM_TENSOR, GpmMetricId::AnyTensorUtil),
    (calls::GPM_DRAM, GpmMetricId::DramBwUtil),
    (calls::GPM_PCIE_SENT, GpmMetricId::PcieTxPerSec),
    (calls::GPM_PCIE_RECEIVED, GpmMetricId::PcieRxPerSec),
    (calls::GPM_NVLINK_SENT, GpmMetricId::NvlinkTotalTxPerSec),
    (calls::GPM_NVLINK_RECEIVED, GpmMetricId::NvlinkTotalRxPerSec),
];

/// Whose counters are read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scope<'a> {
    /// Those of a whole GPU.
    Gpu(&'a Device<'static>),
    /// Those of a GPU instance of this GPU.
    Instance(&'a Device<'static>, u32),
}

impl Scope<'_> {
    fn gpu(&self) -> &Device<'static> {
        match self {
            Self::Gpu(gpu) | Self::Instance(gpu, _) => gpu,
        }
    }

    fn sample(&self) -> Result<GpmSample<'static>, NvmlError> {
        match self {
            Self::Gpu(gpu) => gpu.gpm_sample(),
            Self::Instance(gpu, id) => gpu.gpm_mig_sample(*id),
        }
    }
}

/// The last sample of one device.
#[derive(Debug, Default)]
pub(super) struct ActivityMeter {
    last: Option<(Duration, GpmSample<'static>)>,
}

impl ActivityMeter {
    /// What happened since the last sample. Absent where there are no such
    /// counters, the first time, and too soon after the last.
    pub(super) fn read(
        &mut self,
        at: Duration,
        nvml: &'static Nvml,
        scope: Scope<'_>,
        probe: &mut Probe,
    ) -> Option<Activity> {
        if !probe.may_ask(calls::GPM_SAMPLE) {
            return None;
        }
        if let Some((before, _)) = &self.last
            && at.saturating_sub(*before) <= LEAST_APART
        {
            return None;
        }
        let sample = match scope.sample() {
            Ok(sample) => sample,
            Err(error) => {
                self.last = None;
                probe.heard::<()>(calls::GPM_SAMPLE, Err(error));
                return None;
            }
        };
        let last = self.last.take();
        let activity = last.and_then(|(_, last)| between(nvml, &last, &sample, probe));
        self.last = Some((at, sample));
        activity
    }

    /// Forgets the last sample: what follows does not continue it.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }
}

/// Asks whether a device has the counters at all, so that nothing is sampled
/// where there are none.
pub(super) fn find_out(scope: Scope<'_>, probe: &mut Probe) {
    match probe.ask(calls::GPM_SUPPORT, || scope.gpu().gpm_support()) {
        Some(true) => {}
        Some(false) => {
            probe.refuse(calls::GPM_SUPPORT, Refusal::NotSupported);
            probe.refuse(calls::GPM_SAMPLE, Refusal::NotSupported);
        }
        None => {
            let refusal = probe.refusal(calls::GPM_SUPPORT);
            probe.refuse(calls::GPM_SAMPLE, refusal.unwrap_or(Refusal::NotSupported));
        }
    }
}

fn between(
    nvml: &'static Nvml,
    first: &GpmSample<'static>,
    second: &GpmSample<'static>,
    probe: &mut Probe,
) -> Option<Activity> {
    if !probe.may_ask(calls::GPM_METRICS) {
        return None;
    }
    let results = match gpm_metrics_get(nvml, first, second, &METRICS.map(|(_, id)| id)) {
        Ok(results) => results,
        Err(error) => {
            probe.heard::<()>(calls::GPM_METRICS, Err(error));
            return None;
        }
    };
    let mut values = [None; METRICS.len()];
    for (((call, _), result), value) in METRICS.iter().zip(results).zip(&mut values) {
        let result = result.map(|metric| metric.value);
        // Samples that span a clock change or a reset give NaN or less than nothing.
        *value = probe.heard(*call, result).filter(|value| value.is_finite() && *value >= 0.0);
    }
    let [graphics, sm, occupancy, tensor, dram, pcie_out, pcie_in, link_out, link_in] = values;
    let bytes = |mib: Option<f64>| mib.map(|mib| mib * MIB);
    Some(Activity {
        graphics_percent: graphics,
        sm_percent: sm,
        occupancy_percent: occupancy,
        tensor_percent: tensor,
        dram_percent: dram,
        pcie_sent_bytes_per_second: bytes(pcie_out),
        pcie_received_bytes_per_second: bytes(pcie_in),
        nvlink_sent_bytes_per_second: bytes(link_out),
        nvlink_received_bytes_per_second: bytes(link_in),
    })
}
