//! What the screen and the status line show.

use crate::domain::{
    GpuIdentity, GpuModel, GpuProcess, GpuReading, GpuSample, HostReading, HourlyRate, Money,
    RunFacts, Sample, Verdict,
};
use jiff::Timestamp;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::collections::VecDeque;

/// Samples that a sparkline remembers.
const REMEMBERED: usize = 120;

/// The last shares of something, oldest first, in percent; absent where a sample
/// did not tell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History(VecDeque<Option<f64>>);

impl History {
    /// Adds the share of the newest sample, and forgets the oldest beyond 120.
    pub fn push(&mut self, percent: Option<f64>) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(percent);
    }

    /// The newest so many, oldest first.
    pub(super) fn newest(&self, count: usize) -> impl Iterator<Item = Option<f64>> {
        let skipped = self.0.len().saturating_sub(count);
        self.0.iter().skip(skipped).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// How a GPU works, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Works {
    /// The signal where that is not utilization.
    pub(super) signal: Option<&'static str>,
    /// At the last sample.
    pub(super) now: Option<f64>,
    /// Over the run.
    pub(super) mean: Option<f64>,
}

/// A row: a GPU or a MIG instance, as it stands now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveGpu {
    /// Its number, such as `0`, or `0.1` for a MIG instance.
    pub number: String,
    /// Model, or the profile of a MIG instance.
    pub name: Option<String>,
    /// Whether it is a MIG instance.
    pub is_slice: bool,
    /// Whether it is divided: it has no utilization of its own then.
    pub is_divided: bool,
    /// Why it no longer answers.
    pub lost: Option<String>,
    /// The last sample; nothing is known of a GPU that no longer answers.
    pub reading: GpuReading,
    /// Mean utilization of the run.
    pub mean_percent: Option<f64>,
    /// Mean SM activity of the run.
    pub sm_mean_percent: Option<f64>,
    /// Utilization of the last samples; SM activity where that stands in for it.
    pub utilization: History,
    /// Memory of the card or slice.
    pub vram_total_mib: Option<f64>,
    /// Most memory in use during the run.
    pub vram_peak_mib: Option<f64>,
    pub power_limit_w: Option<f64>,
    /// Power draw at the last samples, percent of the limit.
    pub power: History,
    pub xid_count: u64,
    /// A process that holds it, by name: one of the command's where there is one.
    pub program: Option<String>,
}

impl LiveGpu {
    /// A row before the first sample.
    pub fn new(identity: &GpuIdentity) -> Self {
        let (number, name) = match &identity.mig {
            Some(slot) => (
                format!("{}.{}", identity.index, slot.index),
                slot.profile.clone().or(identity.name.clone()),
            ),
            None => {
                let model = identity.name.as_deref().map(GpuModel::from_driver_name);
                (identity.index.to_string(), model.map(|model| model.name().to_owned()))
            }
        };
        Self {
            number,
            name,
            is_slice: identity.mig.is_some(),
            is_divided: identity.mig.is_none() && identity.is_mig_enabled == Some(true),
            vram_total_mib: identity.vram_total_mib,
            power_limit_w: identity.power_limit_w,
            ..Self::default()
        }
    }

    /// Takes in one sample; the mean is for its owner to set.
    pub fn sample(&mut self, sample: &GpuSample) {
        self.lost = match sample {
            GpuSample::Read(_) => None,
            GpuSample::Lost(loss) => Some(loss.reason.clone()),
        };
        self.xid_count += sample.xids().len() as u64;
        self.reading = sample.reading().cloned().unwrap_or_default();
        self.vram_total_mib = self.reading.vram_total_mib.or(self.vram_total_mib);
        if self.lost.is_none() {
            let held_by = self.processes().max_by_key(|process| {
                (process.is_of_command, process.name.is_some(), process.vram_mib)
            });
            self.program = held_by.and_then(|process| process.name.clone());
        }
        let used = self.reading.vram_used_mib;
        self.vram_peak_mib = used.into_iter().chain(self.vram_peak_mib).reduce(f64::max);
        self.utilization.push(self.works().now);
        self.power.push(share(self.reading.power_w, self.power_limit_w));
    }

    /// Activity of the multiprocessors at the last sample.
    pub(in crate::report) fn sm_percent(&self) -> Option<f64> {
        self.reading.activity?.sm_percent
    }

    /// Who holds it, as far as the driver says so.
    pub(super) fn processes(&self) -> impl Iterator<Item = &GpuProcess> {
        self.reading.processes.iter().flatten()
    }

    /// How it works: by its utilization, or, in MIG mode, where there is none, by
    /// what its multiprocessors do.
    pub(super) fn works(&self) -> Works {
        let has_utilization = !self.is_slice && !self.is_divided;
        let counted = self.sm_percent().or(self.sm_mean_percent).is_some();
        if has_utilization || !counted {
            return Works {
                signal: None,
                now: self.reading.utilization_percent,
                mean: self.mean_percent,
            };
        }
        Works { signal: Some("SM"), now: self.sm_percent(), mean: self.sm_mean_percent }
    }

    /// Memory in use, percent of all.
    pub(super) fn memory_percent(&self) -> Option<f64> {
        share(self.reading.vram_used_mib, self.vram_total_mib)
    }
}

fn share(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let (part, whole) = part.zip(whole)?;
    (whole > 0.0).then(|| part / whole * 100.0)
}

/// Everything that is shown while a run goes on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveView {
    pub hostname: Option<String>,
    pub instance_type: Option<String>,
    pub hourly_price: Option<HourlyRate>,
    /// The command that runs, as typed.
    pub command: Option<String>,
    pub elapsed_seconds: f64,
    /// The wall clock at the last sample; absent before the first.
    pub sampled_at: Option<Timestamp>,
    /// Seconds after which the run ends by itself.
    pub duration_seconds: Option<f64>,
    pub samples: u64,
    /// Samples that were due and not taken.
    pub missed_samples: u64,
    /// The rows, in the order of [`RunFacts::gpus`].
    pub gpus: Vec<LiveGpu>,
    /// The host at the last sample.
    pub host: HostReading,
    /// Mean utilization of the run over all GPUs.
    pub mean_percent: Option<f64>,
    /// The verdict so far; absent while it is too early for one.
    pub verdict: Option<Verdict>,
    /// What holds the GPUs back, in a sentence.
    pub diagnosis: Option<String>,
    /// Alerts in force, the most serious first.
    pub alerts: Vec<String>,
    /// What went wrong with the sampling itself, such as a full disk.
    pub notes: Vec<String>,
    /// The file that has what the command writes.
    pub output_file: Option<String>,
    /// The last lines that the command wrote there, oldest first.
    pub output: Vec<String>,
    pub color: bool,
}

impl LiveView {
    /// A view before the first sample.
    pub fn new(facts: &RunFacts, color: bool) -> Self {
        Self {
            hostname: facts.hostname.clone(),
            instance_type: facts.instance_type.clone(),
            gpus: facts.gpus.iter().map(LiveGpu::new).collect(),
            color,
            ..Self::default()
        }
    }

    /// Takes in one sample: all that is shown of now. Means, verdict and alerts are
    /// set by its owner.
    pub fn sample(&mut self, sample: &Sample) {
        self.elapsed_seconds = sample.at_seconds;
        self.sampled_at = Some(sample.time);
        self.samples += 1;
        self.host = sample.host;
        for (gpu, sample) in self.gpus.iter_mut().zip(&sample.gpus) {
            gpu.sample(sample);
        }
    }

    /// What the host cost since the run began, unrounded; absent without a price.
    pub(in crate::report) fn cost_so_far(&self) -> Option<Money> {
        Some(self.hourly_price?.times_hours(Decimal::from_f64(self.elapsed_seconds / 3_600.0)?))
    }
}
