//! Counters of the multiprocessors (GPM), on Hopper and newer.

use super::calls::{self, Call, Probe, Refusal};
use crate::domain::{Activity, MIB};
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::gpm_metrics_get;
use nvml_wrapper::{Device, GpmSample, Nvml};
use std::time::Duration;

/// Two samples must be further apart than this.
const LEAST_APART: Duration = Duration::from_millis(100);

/// Where a metric goes.
type Place = fn(&mut Activity) -> &mut Option<f64>;

/// What is asked about two samples, what one of its unit is in ours, and where it goes.
const METRICS: [(Call, GpmMetricId, f64, Place); 9] = [
    (calls::GPM_GRAPHICS, GpmMetricId::GraphicsUtil, 1.0, |to| &mut to.graphics_percent),
    (calls::GPM_SM, GpmMetricId::SmUtil, 1.0, |to| &mut to.sm_percent),
    (calls::GPM_OCCUPANCY, GpmMetricId::SmOccupancy, 1.0, |to| &mut to.occupancy_percent),
    (calls::GPM_TENSOR, GpmMetricId::AnyTensorUtil, 1.0, |to| &mut to.tensor_percent),
    (calls::GPM_DRAM, GpmMetricId::DramBwUtil, 1.0, |to| &mut to.dram_percent),
    (calls::GPM_PCIE_SENT, GpmMetricId::PcieTxPerSec, MIB, |to| &mut to.pcie_sent_bytes_per_second),
    (calls::GPM_PCIE_RECEIVED, GpmMetricId::PcieRxPerSec, MIB, |to| {
        &mut to.pcie_received_bytes_per_second
    }),
    (calls::GPM_NVLINK_SENT, GpmMetricId::NvlinkTotalTxPerSec, MIB, |to| {
        &mut to.nvlink_sent_bytes_per_second
    }),
    (calls::GPM_NVLINK_RECEIVED, GpmMetricId::NvlinkTotalRxPerSec, MIB, |to| {
        &mut to.nvlink_received_bytes_per_second
    }),
];

/// Whose counters are read: those of a GPU, or of one of its GPU instances.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) gpu: &'a Device<'static>,
    pub(super) instance: Option<u32>,
}

impl Scope<'_> {
    fn sample(&self) -> Result<GpmSample<'static>, NvmlError> {
        match self.instance {
            None => self.gpu.gpm_sample(),
            Some(id) => self.gpu.gpm_mig_sample(id),
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
    match probe.ask(calls::GPM_SUPPORT, || scope.gpu.gpm_support()) {
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
    let results = match gpm_metrics_get(nvml, first, second, &METRICS.map(|(_, id, ..)| id)) {
        Ok(results) => results,
        Err(error) => {
            probe.heard::<()>(calls::GPM_METRICS, Err(error));
            return None;
        }
    };
    let mut activity = Activity::default();
    for ((call, _, scale, place), result) in METRICS.into_iter().zip(results) {
        let value = probe.heard(call, result.map(|metric| metric.value));
        // Samples that span a clock change or a reset give NaN or less than nothing.
        let valid = value.filter(|value| value.is_finite() && *value >= 0.0);
        *place(&mut activity) = valid.map(|value| value * scale);
    }
    Some(activity)
}
