//! What the diagnosis reads: means of one GPU over the steady phase; what may hold a GPU back,
//! and the signs by which it shows.

use super::phases::PhaseKind;
use super::windows::{GpuWindow, HostWindow, Window, Windows};
use crate::domain::{Comparator, GpuIdentity, after_number, decimals_apart, named_enum};
use crate::savings::Bound;

/// A signal as a rule judges it: its name and its unit, and what was observed.
pub(super) type Figure = (&'static str, &'static str, Option<f64>);

/// What signals are made from.
struct Sums<'a> {
    identity: &'a GpuIdentity,
    vram_peak: Option<f64>,
    /// The whole run.
    whole: GpuWindow,
    /// The steady phase of so many seconds.
    gpu: GpuWindow,
    host: HostWindow,
    seconds: f64,
}

impl Sums<'_> {
    fn rises(&self) -> Option<f64> {
        (self.gpu.swings.readings > 0).then(|| f64::from(self.gpu.swings.rises))
    }

    fn power_limit(&self) -> Option<f64> {
        self.identity.power_default_limit_w.or(self.identity.power_limit_w)
    }
}

/// Signals, each with its name in words, its unit, and how it is made.
macro_rules! signals {
    (|$sums:ident| $($(#[$doc:meta])* $signal:ident: $name:literal, $unit:literal, $value:expr;)*) => {
        /// Signals of one GPU or MIG instance, in percent unless the name says else.
        /// Absent is what was not read, or less often than a diagnosis needs.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub(super) struct Signals {
            /// Samples that reported how busy it was, over the whole run.
            pub(super) readings: u32,
            /// Whether power was read and no limit to compare it with.
            pub(super) lacks_power_limit: bool,
            $($(#[$doc])* pub(super) $signal: Option<f64>,)*
        }

        impl Signals {
            fn made_from($sums: &Sums<'_>) -> Self {
                Self {
                    readings: $sums.whole.busy.count,
                    lacks_power_limit: $sums.gpu.power_w.of_enough().is_some()
                        && $sums.power_limit().is_none(),
                    $($signal: $value,)*
                }
            }

            $(pub(super) fn $signal(&self) -> Figure {
                ($name, $unit, self.$signal)
            })*
        }
    };
}
signals! {
    |sums|
    /// Readings below 1%, over the whole run.
    idle_share: "readings below 1%", "%", sums.whole.swings.share_percent(sums.whole.swings.idle);
    /// Peak of memory over the whole run.
    vram_peak: "peak of memory in use", "%", sums.vram_peak;
    /// Time that it worked.
    busy: "GPU utilization", "%", sums.gpu.busy.value();
    low_share: "readings below 10%", "%", sums.gpu.swings.share_percent(sums.gpu.swings.low);
    high_share: "readings above 70%", "%", sums.gpu.swings.share_percent(sums.gpu.swings.high);
    /// How often readings went from low to high.
    rises: "rises from low to high", "times", sums.rises();
    /// Seconds from one rise to the next, on average.
    rise_period_seconds: "time between rises", "s", sums.rises().filter(|rises| *rises > 0.0).map(|rises| sums.seconds / rises);
    memory_utilization: "memory utilization", "%", sums.gpu.memory_utilization.of_enough();
    /// Power as a share of the limit.
    power: "power", "%", part(sums.gpu.power_w.of_enough(), sums.power_limit());
    power_capped: "samples at the power limit", "%", sums.gpu.power_capped.of_enough();
    sm: "SM activity", "%", sums.gpu.sm.of_enough();
    occupancy: "SM occupancy", "%", sums.gpu.occupancy.of_enough();
    tensor: "tensor activity", "%", sums.gpu.tensor.of_enough();
    dram: "memory activity", "%", sums.gpu.dram.of_enough();
    pcie: "PCIe link in use", "%", part(sums.gpu.pcie_bytes_per_second.of_enough(), sums.identity.pcie_max_bytes_per_second);
    host_cpu: "host CPU", "%", sums.host.cpu.of_enough();
    busiest_core: "busiest CPU core", "%", sums.host.busiest_core.of_enough();
    io_wait: "I/O wait", "%", sums.host.io_wait.of_enough();
    io_pressure: "I/O pressure", "%", sums.host.io_pressure.of_enough();
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
        Self::made_from(&Sums { identity, vram_peak, whole, gpu, host, seconds })
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

named_enum! {
    /// What holds a GPU back.
    Bottleneck {
        /// Nothing runs and no memory is held.
        Idle = "idle",
        /// Nothing runs and memory is held.
        Parked = "parked",
        /// Arithmetic: the best that can happen.
        Compute = "compute-bound",
        /// Its memory moves data as fast as it can.
        MemoryBandwidth = "memory-bandwidth-bound",
        /// The link to the host is full.
        Pcie = "pcie-bound",
        /// It waits for the host to bring data.
        Input = "input-starved",
        /// Many small kernels: batches are too small.
        Launch = "launch-bound",
        /// Nothing stands out, and it works.
        Healthy = "healthy",
        /// A signal is missing, or no rule holds.
        Unknown = "unknown",
    }
}

impl Bottleneck {
    /// Which figure of another GPU counts for this work.
    pub fn bound(self) -> Bound {
        match self {
            Self::Compute => Bound::Compute,
            Self::MemoryBandwidth => Bound::Bandwidth,
            _ => Bound::Unknown,
        }
    }
}

named_enum! {
    /// The signals that a diagnosis had.
    Tier {
        /// Counters of the multiprocessors (GPM, Hopper and newer).
        Counters = "counters",
        /// Utilization of GPU and memory, and power.
        Nvml = "nvml",
        /// Utilization, and little else.
        UtilizationOnly = "utilization-only",
    }
}

/// An observed figure beside the threshold that it was judged by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sign {
    /// What was observed, such as `GPU utilization`.
    pub figure: &'static str,
    pub observed: f64,
    pub comparator: Comparator,
    /// The threshold; `docs/diagnosis.md` says where it comes from.
    pub threshold: f64,
    /// Unit of both, such as `%`.
    pub unit: &'static str,
}

impl Sign {
    /// Whether it is on the stated side of its threshold.
    pub fn holds(&self) -> bool {
        match self.comparator {
            Comparator::LessThan => self.observed < self.threshold,
            Comparator::AtMost => self.observed <= self.threshold,
            Comparator::GreaterThan => self.observed > self.threshold,
            Comparator::AtLeast => self.observed >= self.threshold,
            Comparator::Equal => self.observed == self.threshold,
        }
    }

    /// The sign in words: `host CPU 96.0% (≥ 85%)`.
    pub fn words(&self) -> String {
        let Self { figure, observed, comparator, threshold, unit } = self;
        let decimals = decimals_apart(*observed, *threshold);
        let comparator = comparator.sign();
        let unit = after_number(unit);
        format!("{figure} {observed:.decimals$}{unit} ({comparator} {threshold}{unit})")
    }
}
