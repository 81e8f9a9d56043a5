//! Signs beside the GPU that an instance is in use. They find nothing: where the GPUs are
//! idle, they forbid a stop or weaken it.

use super::{GpuUsage, InstanceUsage, Policy, Samples};

/// CPU utilization below which a CPU is idle in every period, percent (AWS Compute Optimizer).
pub const IDLE_CPU_PERCENT: f64 = 5.0;
/// Traffic below which a network is idle, megabytes a day (AWS Compute Optimizer).
pub const IDLE_NETWORK_MB_PER_DAY: f64 = 5.0;

const BYTES_PER_MB: f64 = 1_000_000.0;

/// A sign that an instance with idle GPUs may be in use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UseSign {
    /// The largest CPU utilization, percent.
    Cpu(f64),
    /// Megabytes a day, both directions.
    Network(f64),
    /// What was measured in so small a share of the running time, 0–1.
    Unmeasured(Unmeasured, f64),
}

/// What may show work in the time in which it was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unmeasured {
    Gpu,
    Cpu,
    /// CPU was measured, but not its maxima: between two averages it may have worked.
    CpuMaximum,
    /// Traffic in both directions.
    Network,
    /// Encoder sessions, activity and power of a GPU, where those of a GPU are reported at all.
    Encoder,
    Sm,
    Power,
}

impl Unmeasured {
    /// What it is called, and what to do about it.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Gpu => ("GPU utilization", "check what runs there"),
            Self::Cpu => ("CPU", "check what runs there"),
            Self::CpuMaximum => ("maximum CPU", "check what runs there"),
            Self::Network => ("network traffic", "check what uses it"),
            Self::Encoder => ("the encoder of a GPU", "check what encodes"),
            Self::Sm => ("SM activity of a GPU", "check what runs there"),
            Self::Power => ("power of a GPU", "compare it with its idle draw"),
        }
    }
}

impl InstanceUsage {
    /// p95 of its CPU, where it is so high that the instance works, whatever its GPUs do.
    pub fn busy_cpu_percent(&self, policy: &Policy) -> Option<f64> {
        self.cpu_p95.filter(|p95| *p95 >= policy.works_cpu_percent)
    }

    /// Megabytes received and sent in a day.
    pub fn network_mb_per_day(&self) -> Option<f64> {
        Some(self.network_bytes_per_day? / BYTES_PER_MB)
    }

    /// What keeps a stop from being certain where its GPUs are idle, the gravest first: what was
    /// not measured may be worse than what was. An encoder at work is work of the GPU, and one
    /// that was not measured is not one: no video passes through an instance without traffic
    /// and without CPU.
    pub fn use_signs(&self, policy: &Policy) -> Vec<UseSign> {
        let unmeasured = |samples: Option<Samples>| {
            let coverage = samples.map_or(0.0, Samples::coverage);
            let has_hole = samples.is_some_and(|samples| samples.outage.forbids(policy));
            (coverage < policy.measured_coverage || has_hole).then_some(coverage)
        };
        let of_gpus = |samples: fn(&GpuUsage) -> Option<Samples>| {
            let own = || self.gpus.iter().map(samples);
            let coverage = own().filter_map(unmeasured).reduce(f64::min);
            coverage.filter(|_| own().any(|samples| samples.is_some()))
        };
        let cpu = unmeasured(self.cpu_samples);
        let missing = [
            (Unmeasured::Gpu, of_gpus(|gpu| Some(gpu.samples))),
            (Unmeasured::Cpu, cpu),
            (Unmeasured::CpuMaximum, unmeasured(self.cpu_max_samples).filter(|_| cpu.is_none())),
            (Unmeasured::Network, unmeasured(self.network.map(|network| network.samples))),
            (Unmeasured::Encoder, of_gpus(|gpu| gpu.encoder_samples)),
            (Unmeasured::Sm, of_gpus(|gpu| gpu.sm.map(|sm| sm.samples))),
            (Unmeasured::Power, of_gpus(|gpu| gpu.power.map(|power| power.samples))),
        ]
        .into_iter()
        .filter_map(|(what, coverage)| Some(UseSign::Unmeasured(what, coverage?)));
        missing.chain(self.measured_signs()).collect()
    }

    /// Those of them that were seen.
    pub fn measured_signs(&self) -> impl Iterator<Item = UseSign> + use<> {
        let cpu = self.cpu_max.filter(|max| *max >= IDLE_CPU_PERCENT);
        let network =
            self.network_mb_per_day().filter(|megabytes| *megabytes >= IDLE_NETWORK_MB_PER_DAY);
        [cpu.map(UseSign::Cpu), network.map(UseSign::Network)].into_iter().flatten()
    }
}
