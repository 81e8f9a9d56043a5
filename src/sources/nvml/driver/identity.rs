//! What does not change about a GPU or MIG instance.

use super::calls;
use super::probe::Probe;
use super::raw;
use crate::domain::{GpuIdentity, MIB, MigSlot, pcie_bytes_per_second};
use nvml_wrapper::Device;

/// Milliwatts in a watt.
const MILLI: f64 = 1_000.0;

pub(super) fn of_gpu(index: u16, device: &Device<'_>, probe: &mut Probe) -> GpuIdentity {
    let mig_mode =
        probe.ask(calls::MIG_MODE, || device.mig_mode().map(|mode| [mode.current, mode.pending]));
    GpuIdentity {
        is_mig_enabled: mig_mode.map(|[current, _]| current == 1),
        ..common(index, device, probe)
    }
}

/// Identity of a MIG device, which is the one at `slot` of the GPU at `index`.
pub(super) fn of_mig(index: u16, slot: u16, device: &Device<'_>, probe: &mut Probe) -> GpuIdentity {
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
