//! Where profiled runs stand in for metrics that a cloud lacks, and where they do
//! not. Adding a run changes the workload of its own instance at most, and never
//! when that ran or what it costs.

use crate::domain::{
    Classification, GpuOffer, Instance, InstanceUsage, Policy, ProfileBasis, ProfiledRun,
    ResourceId, SeriesSource, Signal, UtilizationSummary, Window, Workload, counted, floored,
};
use crate::profiling::shortfall;
use crate::rules;
use crate::usage::{Estate, Series, Timeline, Usages};
use std::collections::BTreeMap;

/// The runs of an estate by instance.
pub(super) struct Profiles<'a> {
    estate: &'a Estate,
    policy: &'a Policy,
    measured: &'a Usages,
    runs: BTreeMap<&'a ResourceId, Vec<&'a ProfiledRun>>,
    series: BTreeMap<&'a ResourceId, Vec<&'a Series>>,
}

/// What complete runs say about a workload.
struct ProfileEvaluation {
    usage: Vec<InstanceUsage>,
    summary: UtilizationSummary,
    basis: ProfileBasis,
}

impl<'a> Profiles<'a> {
    pub fn new(estate: &'a Estate, usage: &'a Usages, policy: &'a Policy) -> Self {
        let mut runs: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for run in &estate.profiles {
            runs.entry(&run.instance).or_default().push(run);
        }
        let mut series: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let of_runs = |metric: &&Series| metric.source == SeriesSource::Profile;
        for metric in estate.metrics.iter().filter(of_runs) {
            series.entry(&metric.instance).or_default().push(metric);
        }
        Self { estate, policy, measured: usage, runs, series }
    }

    fn grid(&self) -> (Window, u32) {
        (self.estate.window, self.estate.period_seconds)
    }

    /// Readings of the runs of an instance.
    fn series_of(&self, instance: &Instance) -> &[&'a Series] {
        self.series.get(&instance.id).map_or(&[][..], Vec::as_slice)
    }

    /// When an instance ran, as far as others than its runs tell.
    pub fn timeline(&self, instance: &Instance) -> Timeline {
        self.measured.of(&instance.id).timeline(instance, None, self.grid()).0
    }

    /// The runs of an instance that the window holds.
    fn in_window(&self, instance: &Instance) -> impl Iterator<Item = &'a ProfiledRun> {
        let (window, period) = (self.estate.window, self.estate.period_seconds);
        let runs = self.runs.get(&instance.id).into_iter().flatten().copied();
        runs.filter(move |run| run.is_inside(window, period))
    }

    /// Those among them that may be judged: of a complete command, with as many
    /// samples as `gpucost profile` needs for a verdict of its own.
    fn complete(&self, instance: &Instance) -> Vec<&'a ProfiledRun> {
        self.in_window(instance)
            .filter(|run| run.covers_a_command && self.shortfall(run).is_none())
            .collect()
    }

    /// Why the samples of a run are too few.
    fn shortfall(&self, run: &ProfiledRun) -> Option<String> {
        match run.samples {
            Some(samples) => shortfall(samples, self.policy),
            None => Some("the recording does not report its number of samples".to_owned()),
        }
    }

    /// Measures an instance. What the cloud's sources measured counts; profiled
    /// runs take its place where they are enough for a verdict and it is not.
    pub fn measure(
        &self,
        instance: &Instance,
        offer: Option<&GpuOffer>,
    ) -> (InstanceUsage, Timeline) {
        let usage = self.measured.of(&instance.id);
        let mut measured = usage.measure(instance, offer, self.grid());
        let of_runs = self.series_of(instance);
        if !of_runs.is_empty() && !self.is_enough(&measured.0, true) {
            let (usage, timeline) = &measured;
            let profiled = usage.by_profile(timeline, instance, offer, of_runs);
            if self.is_enough(&profiled.0, false) {
                measured = profiled;
            }
        }
        self.add_host(&mut measured.0, instance);
        measured
    }

    /// Whether an instance by itself delivers enough for a verdict. Power of the
    /// cloud gives way to utilization that does.
    fn is_enough(&self, usage: &InstanceUsage, is_cloud: bool) -> bool {
        let summary = usage.summary.as_ref();
        summary.is_some_and(|summary| {
            summary.suffices(self.policy) && (!is_cloud || summary.signal == Signal::GpuUtilization)
        })
    }

    /// CPU and memory of the host, as far as no other source tells: of runs that may
    /// be judged, and of all where the verdict rests on all of them.
    fn add_host(&self, usage: &mut InstanceUsage, instance: &Instance) {
        let rests_on_all = matches!(usage.signal, Some((_, SeriesSource::Profile)));
        let runs: Vec<&ProfiledRun> =
            if rests_on_all { self.in_window(instance).collect() } else { self.complete(instance) };
        let largest = |figure: fn(&ProfiledRun) -> Option<f64>| {
            runs.iter().filter_map(|run| figure(run)).reduce(f64::max)
        };
        usage.memory_p95_mib = largest(|run| run.memory_p95_mib);
        if usage.cpu_p95.is_none() {
            usage.cpu_p95 = largest(|run| run.cpu_p95_percent);
            usage.cpu_samples = None;
            usage.cpu_is_of_runs = usage.cpu_p95.is_some();
        }
    }

    /// Judges a running workload over complete runs where everything else is too
    /// little, or says why its runs are too little as well.
    pub fn stand_in(&self, workload: &mut Workload, instances: &[&Instance]) {
        let has_runs = instances.iter().any(|instance| self.runs.contains_key(&instance.id));
        if !has_runs || !workload.key.running {
            return;
        }
        let verdict = rules::classify(workload.measured(), self.policy, self.estate.as_of);
        if verdict.classification != Classification::InsufficientData {
            return;
        }
        match self.judged(workload, instances) {
            Ok(judged) => {
                workload.usage = judged.usage;
                workload.utilization = Some(judged.summary);
                workload.profile = Some(judged.basis);
            }
            Err(reason) => workload.profile = Some(ProfileBasis::NotEnough(reason)),
        }
    }

    fn judged(
        &self,
        workload: &Workload,
        instances: &[&Instance],
    ) -> Result<ProfileEvaluation, String> {
        let (window, period) = self.grid();
        let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
        self.ask_runs(instances)?;
        let mut sum = Timeline::new(window, period);
        let mut usage = Vec::with_capacity(instances.len());
        let mut all_runs = Vec::new();
        for (instance, known) in instances.iter().zip(&workload.usage) {
            let runs = self.complete(instance);
            let of_runs = self.series_of(instance);
            let (mut measured, timeline) =
                known.over_runs(instance, offer, of_runs, &runs, (window, period));
            let visible = offer.map_or(1, |offer| usize::from(offer.share.visible_devices()));
            if !measured.sees_every_gpu(visible, &timeline) {
                return Err(format!(
                    "the profile of {} does not contain utilization for all {visible} GPUs",
                    instance.id
                ));
            }
            sum.add(&timeline);
            if let Some(summary) = &mut measured.summary {
                self.narrow(summary, &runs);
            }
            usage.push(measured);
            all_runs.extend(runs);
        }
        let mut summary = sum
            .summary(Signal::GpuUtilization, SeriesSource::Profile)
            .ok_or("its profile contains no GPU utilization")?;
        if summary.coverage() < self.policy.min_coverage {
            return Err(format!(
                "its profile has samples for {}% of its duration",
                floored(summary.coverage() * 100.0, 0)
            ));
        }
        self.narrow(&mut summary, &all_runs);
        let seconds: f64 = all_runs.iter().map(|run| run.seconds()).sum();
        Ok(ProfileEvaluation {
            usage,
            summary,
            basis: ProfileBasis::Judged {
                runs: u32::try_from(all_runs.len()).unwrap_or(u32::MAX),
                hours: seconds / 3600.0,
            },
        })
    }

    /// Whether every instance has a complete run.
    ///
    /// # Errors
    /// With what is wrong with the runs of the first that has none.
    fn ask_runs(&self, instances: &[&Instance]) -> Result<(), String> {
        let lacking = |instance: &&&Instance| self.complete(instance).is_empty();
        let without = instances.iter().filter(lacking).count();
        let profiled = |instance: &&&Instance| self.runs.contains_key(&instance.id);
        let Some(first) = instances.iter().filter(lacking).find(profiled) else {
            return if without == 0 {
                Ok(())
            } else {
                Err(format!(
                    "{without} of {} without a profile of a complete command",
                    counted(instances.len(), "instance", "instances")
                ))
            };
        };
        let mut runs = self.runs.get(&first.id).into_iter().flatten();
        let few = |run: &ProfiledRun| run.covers_a_command.then(|| self.shortfall(run))?;
        let few = self.in_window(first).find_map(few);
        Err(if let Some(few) = few {
            format!("the profile of {}: {few}", first.id)
        } else if runs.any(|run| run.covers_a_command) {
            format!("the profile of {} is outside the window", first.id)
        } else {
            format!(
                "the profile of {} does not cover a command from start to successful exit",
                first.id
            )
        })
    }

    /// From the window to the span of the runs, with the mean that their samples had:
    /// a short run fills its first and last period in part.
    fn narrow(&self, summary: &mut UtilizationSummary, runs: &[&ProfiledRun]) {
        let span = &mut summary.window;
        if let Some(start) = runs.iter().map(|run| run.start).min() {
            span.start = start;
        }
        if let Some(end) = runs.iter().map(|run| run.end).max() {
            span.end = end;
        }
        // A run does not show when a workload is idle otherwise.
        summary.idle_share = None;
        let weighed: Option<Vec<(f64, f64)>> =
            runs.iter().map(|run| Some((run.gpu_mean_percent?, run.seconds()))).collect();
        let Some(weighed) = weighed else { return };
        let seconds: f64 = weighed.iter().map(|(_, seconds)| seconds).sum();
        if seconds > 0.0 {
            let sum: f64 = weighed.iter().map(|(mean, seconds)| mean * seconds).sum();
            summary.distribution.mean = sum / seconds;
        }
    }
}
