//! A GPU or MIG instance over the samples: what does not change about it, and how it is read,
//! lost, and found again.

use super::activity::{self, Scope};
use super::calls::{self, Probe, reason_of};
use super::lists::Events;
use super::raw;
use super::reading::{MILLI, Meters, memory, read};
use crate::domain::{
    GpuIdentity, GpuReading, GpuSample, Loss, MIB, MigSlot, pcie_bytes_per_second,
};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use std::time::Duration;

/// How long a device that was lost is left alone: asking a broken one may take
/// long, and it seldom comes back.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct Absence {
    reason: String,
    retry_at: Duration,
}

/// A GPU or MIG instance; without a device by default.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) identity: GpuIdentity,
    pub(super) probe: Probe,
    pub(super) device: Option<Device<'static>>,
    /// The GPU that a MIG device is a part of.
    parent: Option<Device<'static>>,
    pub(super) meters: Meters,
    events: Events,
    absence: Option<Absence>,
}

impl Row {
    /// A GPU that cannot be had.
    pub(super) fn lost(index: u16, error: &NvmlError, is_recorded: bool) -> Self {
        let identity = GpuIdentity { index, ..GpuIdentity::default() };
        let absence = Absence { reason: reason_of(error), retry_at: RETRY_AFTER };
        Self { absence: Some(absence), identity, probe: Probe::new(is_recorded), ..Self::default() }
    }

    /// A GPU, with everything asked that is asked once.
    pub(super) fn of_gpu(
        index: u16,
        device: Device<'static>,
        nvml: &'static Nvml,
        is_recorded: bool,
    ) -> Self {
        let mut probe = Probe::new(is_recorded);
        let identity = identity_of_gpu(index, &device, &mut probe);
        let events = Events::of(nvml, &device, &mut probe);
        Self { events, identity, probe, ..Self::default() }.begun(device)
    }

    /// The MIG instance at `slot` of the GPU at `index`.
    pub(super) fn of_mig(
        index: u16,
        slot: u16,
        device: Device<'static>,
        is_recorded: bool,
    ) -> Self {
        let mut probe = Probe::new(is_recorded);
        let identity = identity_of_mig(index, slot, &device, &mut probe);
        let parent = device.mig_parent_device().ok();
        Self { parent, identity, probe, ..Self::default() }.begun(device)
    }

    fn begun(mut self, device: Device<'static>) -> Self {
        // The driver's samples from before the run belong to no sample.
        self.meters.fine.take(&device, &mut self.probe);
        self.device = Some(device);
        if let Some(scope) = scope(&self.identity, &self.device, &self.parent) {
            activity::find_out(scope, &mut self.probe);
        }
        self
    }

    /// Without asking it: the whole driver does not answer.
    pub(super) fn lose(&mut self, loss: Loss, retry_at: Duration) -> GpuSample {
        self.meters.forget();
        self.absence = Some(Absence { reason: loss.reason.clone(), retry_at });
        GpuSample::Lost(loss)
    }

    pub(super) fn sample(&mut self, at: Duration, nvml: &'static Nvml) -> GpuSample {
        if let Some(absence) = &self.absence {
            if at < absence.retry_at {
                return GpuSample::lost(&absence.reason);
            }
            let reason = absence.reason.clone();
            if self.find_again(nvml).is_err() {
                return self.lose(Loss::of(reason), at + RETRY_AFTER);
            }
        }
        self.probe.begin();
        let xids = self.events.take(&mut self.probe);
        let Some(device) = &self.device else {
            let reason = "the GPU is no longer available".to_owned();
            return self.lose(Loss { reason, xids }, at + RETRY_AFTER);
        };
        let scope = scope(&self.identity, &self.device, &self.parent);
        let most = self.identity.pcie_max_bytes_per_second;
        let reading = read(device, &mut self.probe, &mut self.meters, (at, nvml), scope, most);
        if let Some(reason) = self.probe.loss() {
            // Lost as before: what it reported as it went is still the reason.
            let before = self.absence.as_ref().map(|absence| absence.reason.as_str());
            let reason = match before.filter(|before| before.starts_with(reason)) {
                Some(before) if xids.is_empty() => before.to_owned(),
                _ => with_xids(reason, &xids),
            };
            return self.lose(Loss { reason, xids }, at + RETRY_AFTER);
        }
        self.absence = None;
        GpuSample::Read(Box::new(GpuReading { xids, ..reading }))
    }

    /// Gets new handles; the old ones may be stale.
    fn find_again(&mut self, nvml: &'static Nvml) -> Result<(), NvmlError> {
        let device = match (&self.identity.uuid, &self.identity.mig) {
            (Some(uuid), _) => nvml.device_by_uuid(uuid.as_str())?,
            (None, None) => nvml.device_by_index(u32::from(self.identity.index))?,
            (None, Some(mig)) => nvml
                .device_by_index(u32::from(self.identity.index))?
                .mig_device_by_index(u32::from(mig.index))?,
        };
        if self.identity.mig.is_some() {
            self.parent = device.mig_parent_device().ok();
        } else {
            self.events = Events::default();
            self.events = Events::of(nvml, &device, &mut self.probe);
        }
        self.device = Some(device);
        Ok(())
    }
}

/// Whose multiprocessor counters belong to a device. Those of a MIG device are
/// its GPU instance's, asked of the GPU.
fn scope<'a>(
    identity: &GpuIdentity,
    device: &'a Option<Device<'static>>,
    parent: &'a Option<Device<'static>>,
) -> Option<Scope<'a>> {
    Some(match &identity.mig {
        None => Scope { gpu: device.as_ref()?, instance: None },
        Some(mig) => Scope { gpu: parent.as_ref()?, instance: Some(mig.gpu_instance?) },
    })
}

/// A reason with the XID errors that came with it: what a GPU reports as it
/// goes is the best there is to know about it.
fn with_xids(reason: &str, xids: &[u64]) -> String {
    if xids.is_empty() {
        return reason.to_owned();
    }
    format!("{reason} (XID {})", xids.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
}

fn identity_of_gpu(index: u16, device: &Device<'_>, probe: &mut Probe) -> GpuIdentity {
    let mig_mode =
        probe.ask(calls::MIG_MODE, || device.mig_mode().map(|mode| [mode.current, mode.pending]));
    GpuIdentity {
        is_mig_enabled: mig_mode.map(|[current, _]| current == 1),
        ..common(index, device, probe)
    }
}

/// Identity of a MIG device, which is the one at `slot` of the GPU at `index`.
fn identity_of_mig(index: u16, slot: u16, device: &Device<'_>, probe: &mut Probe) -> GpuIdentity {
    let common = common(index, device, probe);
    let mig = MigSlot {
        index: slot,
        gpu_instance: probe.ask(calls::GPU_INSTANCE, || raw::gpu_instance(device)),
        compute_instance: probe.ask(calls::COMPUTE_INSTANCE, || raw::compute_instance(device)),
        profile: common.name.as_deref().and_then(profile_in),
    };
    GpuIdentity { mig: Some(mig), ..common }
}

fn common(index: u16, device: &Device<'_>, probe: &mut Probe) -> GpuIdentity {
    let watts = |milliwatts: u32| f64::from(milliwatts) / MILLI;
    let generation = probe.ask(calls::PCIE_GENERATION, || device.max_pcie_link_gen());
    let lanes = probe.ask(calls::PCIE_LANES, || device.max_pcie_link_width());
    let memory = memory(device, probe);
    GpuIdentity {
        index,
        uuid: probe.ask(calls::UUID, || device.uuid()),
        name: probe.ask(calls::NAME, || device.name()),
        vram_total_mib: memory.map(|[total, ..]| total as f64 / MIB),
        power_limit_w: probe.ask(calls::POWER_LIMIT, || device.enforced_power_limit()).map(watts),
        power_default_limit_w: probe
            .ask(calls::POWER_DEFAULT_LIMIT, || device.power_management_limit_default())
            .map(watts),
        pcie_max_bytes_per_second: generation
            .zip(lanes)
            .and_then(|(generation, lanes)| pcie_bytes_per_second(generation, lanes.into())),
        ..GpuIdentity::default()
    }
}

/// The profile at the end of a MIG device's name, such as `1g.5gb` in `NVIDIA
/// A100-SXM4-40GB MIG 1g.5gb`.
fn profile_in(name: &str) -> Option<String> {
    let (_, profile) = name.split_once(" MIG ")?;
    Some(profile.trim().to_owned()).filter(|profile| !profile.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_what_follows_mig_in_the_name() {
        let name = "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb";
        assert_eq!(profile_in(name).as_deref(), Some("1c.3g.20gb"));
        assert_eq!(profile_in("NVIDIA A100-SXM4-40GB"), None);
    }
}
