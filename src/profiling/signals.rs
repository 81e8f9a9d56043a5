//! What the diagnosis reads: means of one GPU over the steady phase.

use super::phases::PhaseKind;
use super::windows::{GpuWindow, HostWindow, Window, Windows};
use crate::domain::GpuIdentity;

/// Signals of one GPU or MIG instance, in percent unless the name says else.
/// Absent is what was not read, or less often than a diagnosis needs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Signals {
    /// Samples that reported how busy it was, over the whole run.
    pub(super) readings: u32,
    /// Readings below 1%, over the whole run.
    pub(super) idle_share: Option<f64>,
    /// Peak of memory over the whole run.
    pub(super) vram_peak: Option<f64>,
    /// Time that it worked.
    pub(super) busy: Option<f64>,
    pub(super) low_share: Option<f64>,
    pub(super) high_share: Option<f64>,
    /// How often readings went from low to high.
    pub(super) rises: Option<f64>,
    /// Seconds from one rise to the next, on average.
    pub(super) rise_period_seconds: Option<f64>,
    pub(super) memory_utilization: Option<f64>,
    /// Power as a share of the limit.
    pub(super) power: Option<f64>,
    /// Whether power was read and no limit to compare it with.
    pub(super) lacks_power_limit: bool,
    pub(super) power_capped: Option<f64>,
    pub(super) sm: Option<f64>,
    pub(super) occupancy: Option<f64>,
    pub(super) tensor: Option<f64>,
    pub(super) dram: Option<f64>,
    pub(super) pcie: Option<f64>,
    pub(super) host_cpu: Option<f64>,
    pub(super) busiest_core: Option<f64>,
    pub(super) io_wait: Option<f64>,
    pub(super) io_pressure: Option<f64>,
}

impl Signals {
    /// Signals of the GPU at a place, from the windows that are steady, or from
    /// all where none is.
    pub(super) fn of(
        windows: &Windows,
        kinds: &[PhaseKind],
        row: usize,
        identity: &GpuIdentity,
        vram_peak: Option<f64>,
    ) -> Self {
        let has_steady = kinds.contains(&PhaseKind::Steady);
        let is_steady = |kind: &PhaseKind| !has_steady || *kind == PhaseKind::Steady;
        let steady = windows.list.iter().zip(kinds).filter(|(_, kind)| is_steady(kind));
        let steady: Vec<&Window> = steady.map(|(window, _)| window).collect();
        let whole = total(windows.list.iter(), row);
        let gpu = total(steady.iter().copied(), row);
        let mut host = HostWindow::default();
        for window in &steady {
            host.merge(&window.host);
        }
        let seconds = steady.len() as f64 * windows.length_seconds;
        let rises = (gpu.swings.readings > 0).then(|| f64::from(gpu.swings.rises));
        let power_limit = identity.power_default_limit_w.or(identity.power_limit_w);
        Self {
            readings: whole.busy.count,
            idle_share: whole.swings.share_percent(whole.swings.idle),
            vram_peak,
            busy: gpu.busy.value(),
            low_share: gpu.swings.share_percent(gpu.swings.low),
            high_share: gpu.swings.share_percent(gpu.swings.high),
            rises,
            rise_period_seconds: rises.filter(|rises| *rises > 0.0).map(|rises| seconds / rises),
            memory_utilization: gpu.memory_utilization.of_enough(),
            power: part(gpu.power_w.of_enough(), power_limit),
            lacks_power_limit: gpu.power_w.of_enough().is_some() && power_limit.is_none(),
            power_capped: gpu.power_capped.of_enough(),
            sm: gpu.sm.of_enough(),
            occupancy: gpu.occupancy.of_enough(),
            tensor: gpu.tensor.of_enough(),
            dram: gpu.dram.of_enough(),
            pcie: part(gpu.pcie_bytes_per_second.of_enough(), identity.pcie_max_bytes_per_second),
            host_cpu: host.cpu.of_enough(),
            busiest_core: host.busiest_core.of_enough(),
            io_wait: host.io_wait.of_enough(),
            io_pressure: host.io_pressure.of_enough(),
        }
    }
}

fn total<'a>(windows: impl Iterator<Item = &'a Window>, row: usize) -> GpuWindow {
    let mut total = GpuWindow::default();
    for gpu in windows.filter_map(|window| window.gpus.get(row)) {
        total.merge(gpu);
    }
    total
}

/// A value as a percentage of what is at most possible.
pub(super) fn part(value: Option<f64>, most: Option<f64>) -> Option<f64> {
    Some(value? / most.filter(|most| *most > 0.0)? * 100.0)
}
