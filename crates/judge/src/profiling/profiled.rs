//! A whole file of samples as an audit needs it: points per period, the few figures of the host
//! and the run that points do not tell, and how many GPUs were busy, minute by minute.

use super::periods::whole_utilization;
use super::{Cadence, OutsideSamples, PeriodPoints, Periods};
use crate::domain::{GpuSample, RunEnd, RunFacts, Sample, SampleCounts, Window};
use crate::usage::{Scale, Sketch};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;

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

const SECONDS_OF_MINUTE: i64 = 60;

/// Busy GPUs of the minutes of a run, from its samples, in memory that its length bounds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BusyGpus {
    /// Sum and number of samples by the Unix second at which a minute begins.
    minutes: BTreeMap<i64, (f64, u32)>,
}

impl BusyGpus {
    /// Takes a sample; one in which a whole GPU did not report its utilization says nothing.
    pub fn add(&mut self, facts: &RunFacts, sample: &Sample) {
        let Some(busy) = busy(facts, sample) else { return };
        let at = after(facts.started, sample.at_seconds).as_second();
        let minute = self.minutes.entry(at - at.rem_euclid(SECONDS_OF_MINUTE)).or_default();
        minute.0 += busy;
        minute.1 += 1;
    }

    /// The mean of each minute that has one, in order.
    pub fn minutes(&self) -> Vec<(Timestamp, f64)> {
        let means = self.minutes.iter().filter_map(|(second, (sum, count))| {
            Some((Timestamp::from_second(*second).ok()?, sum / f64::from(*count)))
        });
        means.collect()
    }
}

/// Utilization of the whole GPUs of a sample, added up, in GPUs.
fn busy(facts: &RunFacts, sample: &Sample) -> Option<f64> {
    let mut whole = whole_utilization(&facts.gpus, &sample.gpus).peekable();
    whole.peek()?;
    whole.map(|percent| Some(percent? / 100.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::GpuReading;
    use crate::profiling::lab::{facts, gpu, read, sample};

    #[test]
    fn a_run_without_an_end_ends_at_its_last_sample() {
        let start: Timestamp = "2026-10-31T00:00:00Z".parse().expect("a time");
        let facts = RunFacts {
            started: start,
            interval_seconds: None,
            ..crate::profiling::lab::facts(Vec::new())
        };
        let window = Window { start, end: "2026-11-01T00:00:00Z".parse().expect("a time") };
        let mut reducer = Reducer::new(facts, window, 300);
        reducer.add(&crate::profiling::lab::sample(90.0, Vec::new()));
        let profile = reducer.finish(None);
        assert_eq!(profile.end.as_second() - start.as_second(), 90);
        assert!(!profile.covers_a_command);
        assert_eq!(profile.gpu_mean_percent, None);
        assert_eq!(profile.samples, 1);
    }

    /// Two GPUs at 50% and 100% are 1.5, at 50% and 0% 0.5: 1.0 on average in the first minute.
    /// Where one of them did not report, nothing is known.
    #[test]
    fn a_minute_has_the_mean_of_what_all_gpus_report() {
        let facts = facts(vec![gpu(0), gpu(1)]);
        let mut busy = BusyGpus::default();
        for (at_seconds, percents) in [
            (0.0, [Some(50.0), Some(100.0)]),
            (30.0, [Some(50.0), Some(0.0)]),
            (60.0, [Some(50.0), None]),
            (120.0, [Some(100.0), Some(100.0)]),
        ] {
            let reading = |utilization_percent| {
                read(GpuReading { utilization_percent, ..GpuReading::default() })
            };
            busy.add(&facts, &sample(at_seconds, percents.map(reading).into()));
        }
        let minutes: Vec<(i64, f64)> =
            busy.minutes().iter().map(|(at, gpus)| (at.as_second(), *gpus)).collect();
        assert_eq!(minutes, [(0, 1.0), (120, 2.0)]);
    }
}
