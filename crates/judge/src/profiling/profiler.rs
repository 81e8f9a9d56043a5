//! A run, sample by sample, and the verdict on it. Memory does not grow with the number of
//! samples.

use super::alerts::{Moment, Watch};
use super::diagnosis::diagnose;
use super::figures::HostSoFar;
use super::gpu::GpuSoFar;
use super::pace::{GAP_AT_LEAST_SECONDS, GAP_INTERVALS};
use super::phases::Phases;
use super::signals::Signals;
use super::windows::{FEWEST_READINGS, SampleFigures, Windows};
use super::{Alert, AlertKind, Bottleneck, Diagnosis, Pace, RunProfile};
use crate::catalog::has_mig;
use crate::domain::{
    Classification, Confidence, Policy, RunEnd, RunFacts, Sample, SampleCounts, Verdict, counted,
    floored,
};
use crate::usage::{Scale, Sketch, Tally};
use std::cmp::Ordering;

/// The first two samples of a log whose interval is not known may be that far
/// apart, in seconds.
const GAP_UNKNOWN_SECONDS: f64 = 300.0;

/// Running figures of one GPU or MIG instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuStatus {
    /// Mean utilization; absent where it is not available.
    pub utilization_mean_percent: Option<f64>,
    /// Mean SM activity; absent where it is not counted.
    pub sm_mean_percent: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunStatus {
    /// Mean over all GPUs and samples; absent where it is not available.
    pub utilization_mean_percent: Option<f64>,
    /// The GPUs, in the order of the facts.
    pub gpus: Vec<GpuStatus>,
    /// The verdict, if the run ended now.
    pub verdict: Verdict,
    /// The diagnosis, if the run ended now.
    pub diagnosis: Diagnosis,
    /// Alerts that hold now.
    pub alerts: Vec<Alert>,
}

/// Takes samples of a host's GPUs and says what they mean.
#[derive(Debug, Clone)]
pub struct Profiler {
    facts: RunFacts,
    policy: Policy,
    samples: u64,
    last_at: Option<f64>,
    /// Seconds between samples that somebody states of a log that does not.
    stated_interval_seconds: Option<f64>,
    /// Seconds between samples, without gaps.
    spacing: Tally,
    gpus: Vec<GpuSoFar>,
    host: HostSoFar,
    utilization: Sketch,
    windows: Windows,
    watches: [Watch; 2],
}

/// Orders what is known by size, and after what is not.
fn known_first(left: Option<f64>, right: Option<f64>) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => left.total_cmp(&right),
        (left, right) => left.is_some().cmp(&right.is_some()),
    }
}

impl Profiler {
    /// The same for a log whose samples somebody states to be so many seconds apart; what
    /// a run tells itself outranks it.
    pub fn with_interval(self, stated_seconds: Option<f64>) -> Self {
        Self { stated_interval_seconds: stated_seconds, ..self }
    }

    /// A profiler of a host, which judges by a policy.
    pub fn new(facts: RunFacts, policy: &Policy) -> Self {
        let gpus = facts.gpus.iter().cloned().enumerate();
        Self {
            policy: policy.clone(),
            samples: 0,
            last_at: None,
            stated_interval_seconds: None,
            spacing: Tally::default(),
            gpus: gpus.map(|(place, identity)| GpuSoFar::new(place, identity)).collect(),
            host: HostSoFar::new(),
            utilization: Sketch::new(Scale::Percent),
            windows: Windows::new(facts.gpus.len(), facts.interval_seconds),
            watches: [
                Watch::new(AlertKind::Underused, None),
                Watch::new(AlertKind::Saturated, None),
            ],
            facts,
        }
    }

    /// Adds a sample. GPUs that the facts do not know are passed over.
    pub fn add(&mut self, sample: &Sample) {
        let moment = self.moment(sample.at_seconds);
        self.samples += 1;
        self.host.add(&sample.host);
        let gpus = self.gpus.iter_mut().zip(&sample.gpus);
        let figures: Vec<SampleFigures> =
            gpus.map(|(gpu, sample)| gpu.add(moment, sample)).collect();
        let utilization = self.mean_over_gpus(&figures);
        self.utilization.add(utilization);
        for watch in &mut self.watches {
            watch.see(moment, utilization);
        }
        self.windows.add(sample, &figures);
    }

    /// How much time a sample stands for.
    fn moment(&mut self, at_seconds: f64) -> Moment {
        let since_last = self.last_at.replace(at_seconds).map(|last| at_seconds - last);
        let reported = self.facts.interval_seconds.or(self.stated_interval_seconds);
        let longest = match reported.or(self.spacing.mean()) {
            Some(interval) => (interval * GAP_INTERVALS).max(GAP_AT_LEAST_SECONDS),
            None => GAP_UNKNOWN_SECONDS,
        };
        let covered_seconds = since_last.filter(|seconds| (0.0..=longest).contains(seconds));
        self.spacing.add(covered_seconds);
        Moment { at_seconds, covered_seconds }
    }

    /// The GPUs that are not slices of others.
    fn whole(&self) -> impl Iterator<Item = &GpuSoFar> {
        self.gpus.iter().filter(|gpu| gpu.identity.mig.is_none())
    }

    /// Mean over all GPUs, unused ones included; `None` unless at least half of
    /// them reported.
    fn mean_over_gpus(&self, samples: &[SampleFigures]) -> Option<f64> {
        let reported = self.gpus.iter().zip(samples).filter(|(gpu, _)| gpu.has_utilization());
        let reported: Vec<f64> = reported.filter_map(|(_, sample)| sample.busy_percent).collect();
        let enough = reported.len() * 2 >= self.whole().count();
        crate::usage::mean(&reported).filter(|_| enough)
    }

    /// How the run stands. Costs little: no more than a pass over a bounded
    /// number of windows.
    pub fn now(&self) -> RunStatus {
        let diagnoses = self.diagnoses(&self.last_at.map(|at| self.phases(at)).unwrap_or_default());
        let gpus = self.gpus.iter().map(|gpu| GpuStatus {
            utilization_mean_percent: gpu.utilization_mean(),
            sm_mean_percent: gpu.sm_mean(),
        });
        let mut alerts = self.alerts();
        alerts.retain(Alert::is_active);
        RunStatus {
            utilization_mean_percent: self.utilization.mean(),
            gpus: gpus.collect(),
            verdict: self.verdict(0),
            diagnosis: self.overall(&diagnoses),
            alerts,
        }
    }

    /// Everything that the run says.
    pub fn finish(self, end: RunEnd, pace: Pace) -> RunProfile {
        let phases = self.phases(end.elapsed_seconds);
        let diagnoses = self.diagnoses(&phases);
        // What cannot be known to be missing is not counted.
        let missed = pace.missed.unwrap_or(0);
        let coverage = self.samples_reported(missed).coverage();
        let diagnosis = self.overall(&diagnoses);
        let verdict = self.verdict(missed);
        let gpus = self.gpus.iter().zip(diagnoses).map(|(gpu, diagnosis)| {
            gpu.profile(diagnosis, self.verdict_of(gpu, missed), end.elapsed_seconds)
        });
        RunProfile {
            gpus: gpus.collect(),
            samples: self.samples,
            utilization: self.utilization.figures(),
            coverage,
            host: self.host.profile(),
            phases: phases.list,
            diagnosis,
            verdict,
            alerts: self.alerts(),
            facts: self.facts,
            end,
            pace,
        }
    }

    /// Samples, by whether they reported at least half of the GPUs.
    fn samples_reported(&self, missed: u64) -> SampleCounts {
        SampleCounts { reported: self.utilization.count(), taken: self.samples, missed }
    }

    fn verdict(&self, missed: u64) -> Verdict {
        if self.utilization.count() > 0 {
            let samples = self.samples_reported(missed);
            return judge(OF_THE_HOST, self.utilization.mean(), samples, &self.policy);
        }
        Verdict::insufficient(self.why_unmeasured().to_owned())
    }

    /// Why no sample counts.
    fn why_unmeasured(&self) -> &'static str {
        if self.gpus.is_empty() {
            "no GPU was found"
        } else if self.samples == 0 {
            "no sample was taken"
        } else if self.whole().any(|gpu| !gpu.has_utilization()) {
            "utilization of GPUs in MIG mode is not available; this does not mean idle"
        } else if self.whole().any(|gpu| gpu.samples() > 0) {
            "fewer than half of the GPUs reported utilization at any time"
        } else {
            "GPU utilization was not read"
        }
    }

    fn verdict_of(&self, gpu: &GpuSoFar, missed: u64) -> Verdict {
        if !gpu.has_utilization() {
            return Verdict::insufficient(
                "utilization in MIG mode is not available; this does not mean idle".to_owned(),
            );
        }
        let samples = SampleCounts { reported: gpu.samples(), taken: self.samples, missed };
        judge(OF_ONE_GPU, gpu.utilization_mean(), samples, &self.policy)
    }

    /// Phases by the GPUs in use; by MIG instances where no whole GPU tells.
    fn phases(&self, elapsed_seconds: f64) -> Phases {
        let rows = |is_whole: bool| -> Vec<usize> {
            let of_kind = |gpu: &GpuSoFar| gpu.identity.mig.is_none() == is_whole;
            let reported = self.gpus.iter().enumerate();
            let reported = reported.filter(|(_, gpu)| of_kind(gpu) && gpu.samples() > 0);
            let used = |gpu: &GpuSoFar| gpu.is_used() == Some(true);
            let any_used = reported.clone().any(|(_, gpu)| used(gpu));
            reported.filter(|(_, gpu)| !any_used || used(gpu)).map(|(row, _)| row).collect()
        };
        let whole = rows(true);
        let rows = if whole.is_empty() { rows(false) } else { whole };
        Phases::of(&self.windows, &rows, elapsed_seconds)
    }

    fn diagnoses(&self, phases: &Phases) -> Vec<Diagnosis> {
        let of_one = |(row, gpu): (usize, &GpuSoFar)| {
            let identity = &gpu.identity;
            let vram_peak = gpu.vram_peak_percent();
            let signals = Signals::of(&self.windows, &phases.kinds, row, identity, vram_peak);
            let divisible = identity.mig.is_none() && identity.name.as_deref().is_some_and(has_mig);
            diagnose(&signals, &self.policy, divisible)
        };
        self.gpus.iter().enumerate().map(of_one).collect()
    }

    /// The diagnosis that most of the work shares; without any work that of the
    /// GPU that holds most memory. A GPU with too few readings says nothing about
    /// the others.
    fn overall(&self, diagnoses: &[Diagnosis]) -> Diagnosis {
        let enough = Diagnosis::has_enough_readings;
        let any_enough = diagnoses.iter().any(enough);
        let rows = || {
            let rows = self.gpus.iter().zip(diagnoses);
            rows.filter(move |(_, diagnosis)| !any_enough || enough(diagnosis))
        };
        let of_class = |class: Bottleneck| -> f64 {
            let same = rows().filter(|(_, diagnosis)| diagnosis.bottleneck == class);
            same.filter_map(|(gpu, _)| gpu.work()).sum()
        };
        let used = || rows().filter(|(gpu, _)| gpu.is_used() == Some(true));
        let heaviest = used().max_by(|(a, left), (b, right)| {
            let by_class = of_class(left.bottleneck).total_cmp(&of_class(right.bottleneck));
            by_class.then_with(|| known_first(a.work(), b.work()))
        });
        let fullest = || {
            rows()
                .max_by(|(a, _), (b, _)| known_first(a.vram_peak_percent(), b.vram_peak_percent()))
        };
        match heaviest.or_else(fullest) {
            Some((_, diagnosis)) => diagnosis.clone(),
            None => Diagnosis::unknown(None, vec!["GPU utilization"], "no GPU was found"),
        }
    }

    /// All alerts so far, in order of their beginning.
    fn alerts(&self) -> Vec<Alert> {
        let of_all = self.watches.iter().filter_map(Watch::alert);
        let of_each = self.gpus.iter().flat_map(GpuSoFar::alerts);
        let mut alerts: Vec<Alert> = of_all.chain(of_each).collect();
        alerts.sort_by(|a, b| {
            let by_time = a.began_seconds.total_cmp(&b.began_seconds);
            by_time.then_with(|| (a.kind, a.gpu).cmp(&(b.kind, b.gpu)))
        });
        alerts
    }

    /// Bytes that all figures take together; they depend on the number of GPUs
    /// and not on the number of samples.
    pub fn size_bytes(&self) -> usize {
        let gpus: usize = self.gpus.iter().map(GpuSoFar::size_bytes).sum();
        let watches: usize = self.watches.iter().map(Watch::size_bytes).sum();
        gpus + watches
            + self.host.size_bytes()
            + self.utilization.size_bytes()
            + self.windows.size_bytes()
    }
}

/// What a sample that counts has reported.
const OF_THE_HOST: &str = "at least half of the GPUs";
const OF_ONE_GPU: &str = "this GPU";

/// Why so many samples of a host are too few for a verdict; `None` when they are enough.
pub fn shortfall(samples: SampleCounts, policy: &Policy) -> Option<String> {
    shortfall_of(OF_THE_HOST, samples, policy)
}

fn shortfall_of(what: &str, samples: SampleCounts, policy: &Policy) -> Option<String> {
    if samples.reported < u64::from(FEWEST_READINGS) {
        return Some(format!(
            "{} of the GPUs, {FEWEST_READINGS} needed",
            counted(samples.reported, "sample", "samples")
        ));
    }
    if samples.coverage() >= policy.min_coverage {
        return None;
    }
    let needed = policy.min_coverage * 100.0;
    let (SampleCounts { reported, taken, missed }, due) = (samples, samples.due());
    let percent = floored(samples.coverage() * 100.0, 1);
    Some(if reported == taken {
        format!("{taken} of {due} expected samples were taken ({percent}%), {needed:.0}% needed")
    } else if missed == 0 {
        format!("{percent}% of the samples reported {what}, {needed:.0}% needed")
    } else {
        format!(
            "{reported} of {due} expected samples reported {what} ({percent}%), {needed:.0}% \
             needed; {missed} were not taken"
        )
    })
}

/// Judges a mean utilization over samples that reported on the host or on one GPU. A run is
/// no fortnight, so its state is not judged.
fn judge(what: &str, mean: Option<f64>, samples: SampleCounts, policy: &Policy) -> Verdict {
    let Some(mean) = mean.filter(|_| samples.reported > 0) else {
        return Verdict::insufficient("GPU utilization was not read".to_owned());
    };
    if let Some(reason) = shortfall_of(what, samples, policy) {
        return Verdict::insufficient(reason);
    }
    let (classification, reason) = Classification::of_mean(mean, policy);
    let confidence = if samples.coverage() >= policy.measured_coverage {
        Confidence::Measured
    } else {
        Confidence::Derived
    };
    Verdict { classification, confidence: Some(confidence), ..Verdict::insufficient(reason) }
}

#[cfg(test)]
#[path = "profiler_tests.rs"]
mod tests;
