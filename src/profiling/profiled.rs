//! A whole file of samples as an audit needs it: points per period, and the few
//! figures of the host and the run that points do not tell.

use super::periods::whole_utilization;
use super::{Cadence, OutsideSamples, PeriodPoints, Periods};
use crate::domain::{GpuSample, RunEnd, RunFacts, Sample, SampleCounts, Window};
use crate::usage::{Scale, Sketch};
use jiff::{SignedDuration, Timestamp};

/// A run of samples, reduced to the grid of an estate.
#[derive(Debug, Clone, PartialEq)]
pub struct Profiled {
    pub facts: RunFacts,
    /// When it ended: without a proper end, at the last sample.
    pub end: Timestamp,
    /// Whether it covers a command from its start to its success.
    pub covers_a_command: bool,
    pub samples: u64,
    /// Samples that the window holds.
    pub inside: SampleCounts,
    /// Samples that the window does not hold.
    pub outside: OutsideSamples,
    /// GPU readings by period.
    pub points: Vec<PeriodPoints>,
    /// Mean over the samples of the mean over all GPUs, percent.
    pub gpu_mean_percent: Option<f64>,
    /// 95th percentile of the host's CPU, percent.
    pub cpu_p95_percent: Option<f64>,
    /// 95th percentile of the host's memory in use, within a part in 2,048 of it.
    pub memory_p95_mib: Option<f64>,
}

/// Reduces samples as they come.
#[derive(Debug)]
pub struct Reducer {
    facts: RunFacts,
    periods: Periods,
    cadence: Cadence,
    samples: u64,
    last_seconds: f64,
    gpu_sum: f64,
    gpu_samples: u64,
    cpu: Sketch,
    memory: Sketch,
}

impl Reducer {
    /// No samples yet of a run, for the grid of a window.
    pub fn new(facts: RunFacts, window: Window, period_seconds: u32) -> Self {
        Self {
            periods: Periods::new(&facts, window, period_seconds),
            cadence: Cadence::new(&facts, None),
            facts,
            samples: 0,
            last_seconds: 0.0,
            gpu_sum: 0.0,
            gpu_samples: 0,
            cpu: Sketch::new(Scale::Percent),
            memory: Sketch::new(Scale::Mebibytes),
        }
    }

    /// Takes a sample. It counts where the steady clock puts it after the start of
    /// the run: the other one may be set at any time.
    pub fn add(&mut self, sample: &Sample) {
        self.samples += 1;
        self.last_seconds = self.last_seconds.max(sample.at_seconds);
        if !self.periods.add(after(self.facts.started, sample.at_seconds), &sample.gpus) {
            return;
        }
        self.cadence.sampled(sample);
        if let Some(mean) = self.mean(&sample.gpus) {
            self.gpu_sum += mean;
            self.gpu_samples += 1;
        }
        let host = &sample.host;
        self.cpu.add(host.cpu_percent.filter(|percent| *percent <= 100.0));
        self.memory.add(host.memory_used_mib);
    }

    /// Mean over the whole GPUs of one sample; absent when fewer than half of them
    /// reported.
    fn mean(&self, gpus: &[GpuSample]) -> Option<f64> {
        let (mut sum, mut reported, mut total) = (0.0, 0_u32, 0_u32);
        for percent in whole_utilization(&self.facts.gpus, gpus) {
            total += 1;
            sum += percent.unwrap_or(0.0);
            reported += u32::from(percent.is_some());
        }
        (reported > 0 && reported * 2 >= total).then(|| sum / f64::from(reported))
    }

    /// What it comes to. `end` is absent of a run that was cut short.
    pub fn finish(mut self, end: Option<&RunEnd>) -> Profiled {
        let outside = self.periods.outside;
        if outside.after == 0 {
            self.cadence.ended(end);
        }
        let pace = self.cadence.pace();
        let seconds =
            end.map_or(self.last_seconds, |end| end.elapsed_seconds.max(self.last_seconds));
        Profiled {
            end: after(self.facts.started, seconds),
            covers_a_command: self.facts.covers_a_command(end),
            samples: self.samples,
            inside: SampleCounts {
                reported: self.gpu_samples,
                taken: pace.taken,
                missed: pace.missed.unwrap_or(0),
            },
            outside,
            points: self.periods.points(),
            gpu_mean_percent: (self.gpu_samples > 0)
                .then(|| self.gpu_sum / self.gpu_samples as f64),
            cpu_p95_percent: self.cpu.quantile(0.95),
            memory_p95_mib: self.memory.quantile(0.95),
            facts: self.facts,
        }
    }
}

/// An instant so many seconds after another; the other itself for what no clock
/// says.
pub(super) fn after(start: Timestamp, seconds: f64) -> Timestamp {
    let offset = SignedDuration::try_from_secs_f64(seconds).ok();
    offset.and_then(|offset| start.checked_add(offset).ok()).unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_an_end_ends_at_its_last_sample() {
        let start: Timestamp = "2026-10-31T00:00:00Z".parse().expect("a time");
        let facts = RunFacts {
            started: start,
            interval_seconds: None,
            ..crate::profiling::scenes::facts(Vec::new())
        };
        let window = Window { start, end: "2026-11-01T00:00:00Z".parse().expect("a time") };
        let mut reducer = Reducer::new(facts, window, 300);
        reducer.add(&crate::profiling::scenes::sample(90.0, Vec::new()));
        let profile = reducer.finish(None);
        assert_eq!(profile.end.as_second() - start.as_second(), 90);
        assert!(!profile.covers_a_command);
        assert_eq!(profile.gpu_mean_percent, None);
        assert_eq!(profile.samples, 1);
    }
}
