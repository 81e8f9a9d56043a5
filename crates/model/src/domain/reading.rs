//! One sample of the GPUs of a host. Whatever a driver does not tell is absent:
//! unsupported is never 0.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Bytes in a MiB.
pub const MIB: f64 = 1_048_576.0;

/// What a GPU did since the last sample, from counters of its multiprocessors
/// (GPM on Hopper and newer). Percent of what the hardware can do.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Activity {
    /// Time that the graphics or compute engine was busy.
    pub graphics_percent: Option<f64>,
    /// Time that a multiprocessor had at least one warp, mean over all.
    pub sm_percent: Option<f64>,
    /// Resident warps, of those that fit.
    pub occupancy_percent: Option<f64>,
    /// Time that the tensor pipe was busy.
    pub tensor_percent: Option<f64>,
    /// Time that the memory moved data; about 80 is all that works in practice.
    pub dram_percent: Option<f64>,
    pub pcie_sent_bytes_per_second: Option<f64>,
    pub pcie_received_bytes_per_second: Option<f64>,
    pub nvlink_sent_bytes_per_second: Option<f64>,
    pub nvlink_received_bytes_per_second: Option<f64>,
}

/// Why the clocks of a GPU are below what they could be: NVML's bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThrottleReasons(pub u64);

impl ThrottleReasons {
    /// Bit 0: nothing runs, so the clocks rest.
    pub const GPU_IDLE: u64 = 1;
    /// Bit 2: held at the power limit by software.
    pub const SW_POWER_CAP: u64 = 1 << 2;

    /// Bits and the words for them, from `nvml.h`.
    const NAMES: [(u64, &'static str); 9] = [
        (Self::GPU_IDLE, "idle"),
        (1 << 1, "applications clocks setting"),
        (Self::SW_POWER_CAP, "power cap"),
        (1 << 3, "hardware slowdown"),
        (1 << 4, "sync boost"),
        (1 << 5, "software thermal slowdown"),
        (1 << 6, "hardware thermal slowdown"),
        (1 << 7, "hardware power brake"),
        (1 << 8, "display clock setting"),
    ];

    /// Whether a bit is set.
    pub fn has(self, bit: u64) -> bool {
        self.0 & bit != 0
    }

    /// Each bit that has a name, by itself, in order of the bits.
    pub fn known() -> impl Iterator<Item = Self> {
        Self::NAMES.iter().map(|(bit, _)| Self(*bit))
    }

    /// The words for the bits that are set, in order of the bits.
    pub fn names(self) -> Vec<&'static str> {
        Self::NAMES.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, name)| *name).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuProcess {
    pub pid: u32,
    /// Name of its program; absent when it was gone before it could be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Memory that it holds, in MiB; absent where the driver does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vram_mib: Option<u64>,
    /// Time that it kept multiprocessors busy since the last sample, percent; absent where
    /// the driver does not say, and in files of samples.
    #[serde(skip)]
    pub sm_percent: Option<u32>,
    /// Whether it belongs to the command that runs under the sampler.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_command: bool,
}

/// A reading that the driver took by itself, between two samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FineSample {
    /// The driver's clock, in microseconds; only differences mean anything.
    pub at_microseconds: u64,
    /// Share of time that a kernel ran.
    pub utilization_percent: f64,
}

/// One sample of one GPU or MIG instance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GpuReading {
    /// Share of the driver's window (1/6 to 1 s) in which a kernel ran.
    pub utilization_percent: Option<f64>,
    /// Share of that window in which memory was read or written; not how full
    /// it is.
    pub memory_utilization_percent: Option<f64>,
    pub vram_used_mib: Option<f64>,
    /// Memory of the card or slice.
    pub vram_total_mib: Option<f64>,
    pub power_w: Option<f64>,
    /// Energy since the driver was loaded, in joules.
    pub energy_j: Option<f64>,
    pub temperature_c: Option<f64>,
    /// Clock of the multiprocessors.
    pub sm_clock_mhz: Option<f64>,
    pub memory_clock_mhz: Option<f64>,
    pub throttle: Option<ThrottleReasons>,
    /// Sent over PCIe since the last sample.
    pub pcie_sent_bytes_per_second: Option<f64>,
    /// Received over PCIe since the last sample.
    pub pcie_received_bytes_per_second: Option<f64>,
    /// Share of time that the video encoder worked.
    pub encoder_percent: Option<f64>,
    /// Share of time that the video decoder worked.
    pub decoder_percent: Option<f64>,
    /// Who holds it; absent where the driver does not report it, which is not the same as none.
    pub processes: Option<Vec<GpuProcess>>,
    /// Counters of the multiprocessors, where there are any.
    pub activity: Option<Activity>,
    /// What the driver recorded since the last sample, by time; empty where it
    /// does not.
    pub fine: Vec<FineSample>,
    /// XID errors since the last sample, in order.
    pub xids: Vec<u64>,
}

/// A sample of a GPU that did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Why, in the driver's words.
    pub reason: String,
    /// XID errors that it reported as it went, in order.
    pub xids: Vec<u64>,
}

impl Loss {
    /// A loss without errors.
    pub fn of(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), xids: Vec::new() }
    }
}

/// What became of reading one GPU.
#[derive(Debug, Clone, PartialEq)]
pub enum GpuSample {
    /// It answered.
    Read(Box<GpuReading>),
    /// It no longer answers.
    Lost(Loss),
}

impl GpuSample {
    /// A GPU that no longer answers and reported no error.
    pub fn lost(reason: impl Into<String>) -> Self {
        Self::Lost(Loss::of(reason))
    }

    /// XID errors since the last sample, in order.
    pub fn xids(&self) -> &[u64] {
        match self {
            Self::Read(reading) => &reading.xids,
            Self::Lost(loss) => &loss.xids,
        }
    }

    /// The reading, of a GPU that answered.
    pub fn reading(&self) -> Option<&GpuReading> {
        match self {
            Self::Read(reading) => Some(reading),
            Self::Lost(_) => None,
        }
    }
}

/// One sample of the host, over the time since the last one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HostReading {
    /// Logical CPUs.
    pub cores: Option<u32>,
    /// Mean over all CPUs of the time that they worked, percent.
    pub cpu_percent: Option<f64>,
    pub busiest_core_percent: Option<f64>,
    /// Time that a CPU had nothing to do but wait for a disk, percent.
    pub io_wait_percent: Option<f64>,
    /// Time that some task waited for a CPU (pressure stall), percent.
    pub cpu_pressure_percent: Option<f64>,
    /// Time that some task waited for a disk (pressure stall), percent.
    pub io_pressure_percent: Option<f64>,
    /// Time that some task waited for memory (pressure stall), percent.
    pub memory_pressure_percent: Option<f64>,
    /// Memory in use: all but what could be had at once.
    pub memory_used_mib: Option<f64>,
    pub memory_total_mib: Option<f64>,
    pub network_received_bytes_per_second: Option<f64>,
    pub network_sent_bytes_per_second: Option<f64>,
    pub disk_read_bytes_per_second: Option<f64>,
    pub disk_written_bytes_per_second: Option<f64>,
}

/// One sample of everything.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Seconds since the run began, on a clock that no one can set.
    pub at_seconds: f64,
    /// The wall clock, which may jump.
    pub time: Timestamp,
    /// The GPUs, in the order of [`super::RunFacts::gpus`].
    pub gpus: Vec<GpuSample>,
    pub host: HostReading,
}
