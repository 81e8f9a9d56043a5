//! Runs of the sampler made in code: one call a run, the same level throughout.

use crate::rules::builder::{A10G_MIB, Machine, PERIOD_SECONDS, as_of, estate, window};
use gpucost::domain::{GpuIdentity, GpuReading, GpuSample, HostReading, RunEnd, RunFacts, Sample};
use gpucost::usage::Estate;

use gpucost::profiling::{NamedProfile, Reducer, join_profiles};
use jiff::{SignedDuration, Timestamp};

/// Seconds between two samples of every run here.
const INTERVAL_SECONDS: u32 = 60;

/// A run to be made.
#[derive(Debug, Clone)]
pub struct Run {
    /// What it is taken on.
    pub facts: RunFacts,
    /// How it ends; `None` when it is cut short.
    pub end: Option<RunEnd>,
    seconds: u32,
    /// Utilization and memory of each GPU, whatever the time.
    gpus: Vec<(f64, f64)>,
    host: HostReading,
}

fn gpu(index: u16) -> GpuIdentity {
    GpuIdentity {
        index,
        mig: None,
        uuid: Some(format!("GPU-{index}")),
        name: Some("NVIDIA A10G".to_owned()),
        vram_total_mib: Some(A10G_MIB),
        power_limit_w: None,
        power_default_limit_w: None,
        pcie_max_bytes_per_second: None,
        is_mig_enabled: None,
    }
}

impl Run {
    /// A command that ran well on an instance, over a number of minutes, and ended
    /// so many hours before the audit.
    pub fn of(instance: &str, minutes: u32, ended_hours_ago: i64, gpus: &[(f64, f64)]) -> Self {
        let seconds = minutes * 60;
        let ended = as_of() - SignedDuration::from_hours(ended_hours_ago);
        Self {
            facts: RunFacts {
                started: ended - SignedDuration::from_secs(i64::from(seconds)),
                interval_seconds: Some(f64::from(INTERVAL_SECONDS)),
                hostname: None,
                instance_id: Some(instance.to_owned()),
                instance_type: None,
                region: None,
                driver_version: None,
                is_command: true,
                gpus: (0..gpus.len() as u16).map(gpu).collect(),
            },
            end: Some(RunEnd {
                elapsed_seconds: f64::from(seconds),
                exit_code: Some(0),
                spot: None,
                units: Vec::new(),
            }),
            seconds,
            gpus: gpus.to_vec(),
            host: HostReading::default(),
        }
    }

    /// Known by the name of its host alone.
    pub fn on_host(mut self, name: &str) -> Self {
        self.facts.instance_id = None;
        self.facts.hostname = Some(name.to_owned());
        self
    }

    /// With CPU and memory of the host.
    pub fn host(mut self, cpu_percent: f64, memory_used_mib: f64) -> Self {
        self.host.cpu_percent = Some(cpu_percent);
        self.host.memory_used_mib = Some(memory_used_mib);
        self
    }

    /// Sampled a sample a minute, each GPU at a level by second and index.
    pub fn sampled(self, named: &str, level: impl Fn(u32, usize) -> f64) -> NamedProfile {
        let mut reducer = Reducer::new(self.facts.clone(), window(), PERIOD_SECONDS);
        for second in (0..self.seconds).step_by(INTERVAL_SECONDS as usize) {
            let read = |(index, (_, memory)): (usize, &(f64, f64))| {
                GpuSample::Read(Box::new(GpuReading {
                    utilization_percent: Some(level(second, index)),
                    vram_used_mib: Some(*memory),
                    vram_total_mib: Some(A10G_MIB),
                    ..GpuReading::default()
                }))
            };
            reducer.add(&Sample {
                at_seconds: f64::from(second),
                // A clock that somebody set in the meantime changes nothing.
                time: Timestamp::UNIX_EPOCH,
                gpus: self.gpus.iter().enumerate().map(read).collect(),
                host: self.host,
            });
        }
        NamedProfile { name: named.to_owned(), profiled: reducer.finish(self.end.as_ref()) }
    }

    /// Sampled, under the name of its file.
    pub fn named(self, name: &str) -> NamedProfile {
        let levels: Vec<f64> = self.gpus.iter().map(|(percent, _)| *percent).collect();
        self.sampled(name, move |_, gpu| levels[gpu])
    }
}

/// Machines as an estate with runs joined into it.
pub fn joined(machines: Vec<Machine>, runs: Vec<Run>) -> Estate {
    let mut made = estate(machines);
    let named = runs.into_iter().enumerate();
    join_profiles(
        &mut made,
        named.map(|(index, run)| run.named(&format!("run-{index}.jsonl"))).collect(),
    );
    made
}
