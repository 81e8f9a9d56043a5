//! What a whole run says.

use super::{Alert, Diagnosis, GpuRanges, HostProfile, Pace, Phase, PowerFigures};
use crate::domain::{
    GpuIdentity, GpuProcess, RunEnd, RunFacts, ThrottleReasons, Verdict, named_enum,
};
use crate::usage::Figures;

named_enum! {
    /// Who took the readings behind the utilization of a GPU.
    UtilizationBasis {
        /// The driver, which samples between two samples.
        DriverSamples = "driver-samples",
        /// The samples themselves.
        Samples = "samples",
    }
}

/// Time for which clocks were held back for a reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThrottleTime {
    /// The reason: one bit.
    pub reason: ThrottleReasons,
    /// For how long, as far as samples tell.
    pub seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct XidEvent {
    /// When the sample came that found it, in seconds of the run.
    pub at_seconds: f64,
    /// NVIDIA's number of the error.
    pub xid: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LostGpu {
    /// First sample without an answer, in seconds of the run.
    pub at_seconds: f64,
    /// What the driver said.
    pub reason: String,
    /// Samples without an answer.
    pub samples: u64,
    /// Whether it answered again at the end.
    pub is_back: bool,
}

/// One GPU or MIG instance over the run. Absent is what the driver did not report.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuProfile {
    pub identity: GpuIdentity,
    /// Share of time that a kernel ran. Absent for MIG instances and GPUs in MIG
    /// mode: not available is not idle.
    pub utilization: Option<Figures>,
    /// Whose readings these are.
    pub utilization_basis: Option<UtilizationBasis>,
    /// Whether a kernel ever ran: p99 of at least 1%. Absent where it was not measured;
    /// for MIG instances from the counters of their multiprocessors.
    pub is_used: Option<bool>,
    /// Memory in use; `max` is the peak.
    pub vram_used_mib: Option<Figures>,
    /// Memory of the card or slice.
    pub vram_total_mib: Option<f64>,
    pub power: Option<PowerFigures>,
    /// Metrics of which mean and range are enough.
    pub ranges: GpuRanges,
    /// Reasons that held clocks back, in order of their bits; absent where the
    /// driver does not tell, empty when there were none.
    pub throttle: Option<Vec<ThrottleTime>>,
    /// Processes, each with the most memory that it held, in order of that, then of id; absent
    /// where the driver does not tell.
    pub processes: Option<Vec<GpuProcess>>,
    /// Whether there were more processes than are listed.
    pub has_more_processes: bool,
    /// The first XID errors in order of time.
    pub xids: Vec<XidEvent>,
    /// All XID errors, also those that are not listed.
    pub xid_count: u64,
    pub lost: Option<LostGpu>,
    /// What holds it back in the steady phase.
    pub diagnosis: Diagnosis,
    /// How much of it the run used, by the same thresholds as for the host.
    pub verdict: Verdict,
}

impl GpuProfile {
    /// Peak of memory as a share of the card or slice.
    pub fn vram_peak_percent(&self) -> Option<f64> {
        Some(self.vram_used_mib?.max / self.vram_total_mib.filter(|total| *total > 0.0)? * 100.0)
    }

    /// Whether this is a whole GPU, not a slice of one.
    pub fn is_whole(&self) -> bool {
        self.identity.mig.is_none()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunProfile {
    pub facts: RunFacts,
    pub end: RunEnd,
    /// How well the samples kept their times.
    pub pace: Pace,
    pub samples: u64,
    /// Mean over all GPUs at each sample, unused ones included; a sample counts when
    /// at least half of the GPUs reported. MIG instances are not among them.
    pub utilization: Option<Figures>,
    /// Samples that count, of those that were due, 0–1.
    pub coverage: f64,
    /// The GPUs, in the order of the facts.
    pub gpus: Vec<GpuProfile>,
    pub host: HostProfile,
    /// The run in phases, in order of time; they touch and cover it.
    pub phases: Vec<Phase>,
    /// What holds the used GPUs back in the steady phase; that of most of their
    /// work where they differ.
    pub diagnosis: Diagnosis,
    /// How much of the GPUs the whole run used. Its state is not judged.
    pub verdict: Verdict,
    /// Alerts in order of their beginning.
    pub alerts: Vec<Alert>,
}

impl RunProfile {
    /// Whole GPUs of the host.
    pub fn gpu_count(&self) -> usize {
        self.whole().count()
    }

    /// Whole GPUs on which a kernel ever ran; absent when one was not measured.
    pub fn gpus_used(&self) -> Option<usize> {
        let used: Option<Vec<bool>> = self.whole().map(|gpu| gpu.is_used).collect();
        Some(used?.into_iter().filter(|used| *used).count())
    }

    /// The whole GPUs.
    pub fn whole(&self) -> impl Iterator<Item = &GpuProfile> {
        self.gpus.iter().filter(|gpu| gpu.is_whole())
    }

    /// Mean utilization of the GPUs that were used; absent where none was.
    pub fn used_mean_percent(&self) -> Option<f64> {
        let used = self.whole().filter(|gpu| gpu.is_used == Some(true));
        let means: Vec<f64> = used.filter_map(|gpu| Some(gpu.utilization?.mean)).collect();
        crate::usage::mean(&means)
    }

    /// The GPU or MIG instance that held most memory.
    pub fn fullest(&self) -> Option<&GpuProfile> {
        let reported = self.gpus.iter().filter_map(|gpu| Some((gpu, gpu.vram_used_mib?.max)));
        reported.max_by(|(_, left), (_, right)| left.total_cmp(right)).map(|(gpu, _)| gpu)
    }

    /// Drawn by all whole GPUs, in joules; absent when one did not report it.
    pub fn energy_j(&self) -> Option<f64> {
        self.whole().next()?;
        self.whole().map(|gpu| gpu.power?.energy_j).sum()
    }
}
