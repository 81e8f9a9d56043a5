//! Signs beside the GPU that an instance is in use. They find nothing: where the GPUs are
//! idle, they forbid a stop or weaken it.

use super::{InstanceUsage, Policy, Samples};

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
    /// CPU was measured in so small a share of the running time, 0–1.
    CpuUnmeasured(f64),
    /// CPU was, but not its maxima: between two averages it may have worked.
    CpuMaximumUnmeasured(f64),
    /// Traffic in both directions was, 0–1.
    NetworkUnmeasured(f64),
    /// Power of a GPU was, where that of a GPU is reported at all: it may contradict the idleness.
    PowerUnmeasured(f64),
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
        let power = || self.gpus.iter().map(|gpu| gpu.power.map(|power| power.samples));
        let reports_power = power().any(|samples| samples.is_some());
        let power_coverage = power().filter_map(unmeasured).reduce(f64::min);
        let missing = [
            unmeasured(self.cpu_samples)
                .map(UseSign::CpuUnmeasured)
                .or_else(|| unmeasured(self.cpu_max_samples).map(UseSign::CpuMaximumUnmeasured)),
            unmeasured(self.network.map(|network| network.samples)).map(UseSign::NetworkUnmeasured),
            power_coverage.filter(|_| reports_power).map(UseSign::PowerUnmeasured),
        ];
        missing.into_iter().flatten().chain(self.measured_signs()).collect()
    }

    /// Those of them that were seen.
    pub fn measured_signs(&self) -> impl Iterator<Item = UseSign> + use<> {
        let cpu = self.cpu_max.filter(|max| *max >= IDLE_CPU_PERCENT);
        let network =
            self.network_mb_per_day().filter(|megabytes| *megabytes >= IDLE_NETWORK_MB_PER_DAY);
        let signs = [cpu.map(UseSign::Cpu), network.map(UseSign::Network)];
        signs.into_iter().flatten()
    }
}
