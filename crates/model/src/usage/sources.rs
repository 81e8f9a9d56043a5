//! Usage of one source beside that of another, which says what the first one does not, and
//! profiled runs in place of what a cloud measures.

use super::histogram::Column;
use super::measure::measure_series;
use super::usages::{Usage, Usages};
use super::{Points, Series, Timeline};
use crate::domain::{
    GpuOffer, GpuUsage, Instance, InstanceUsage, Metric, ProfiledRun, Signal, Window,
};
use std::collections::BTreeSet;

impl Usages {
    /// Takes of others what nothing is known of: each metric of an instance without a valid
    /// point here. Both are on the grid of the window.
    pub fn fill(&mut self, others: Self, window: Window, period_seconds: u32) {
        let mut missing = Self::default();
        for (instance, mut other) in others.0 {
            other.forget(&self.of(&instance).measured_metrics());
            if let Some(own) = self.0.get_mut(&instance) {
                own.take_names(&other);
            }
            missing.insert(instance, other);
        }
        self.merge(missing, window, period_seconds);
    }
}

impl Usage {
    fn measured_metrics(&self) -> BTreeSet<Metric> {
        let measured = self.added.iter().filter(|(_, added)| !added.is_empty);
        measured.map(|((metric, ..), _)| *metric).collect()
    }

    /// Forgets metrics, as if their series had never been added.
    fn forget(&mut self, metrics: &BTreeSet<Metric>) {
        self.added.retain(|(metric, ..), _| !metrics.contains(metric));
        self.places.retain(|(metric, ..), _| !metrics.contains(metric));
        self.amounts.retain(|(metric, ..), _| !metrics.contains(metric));
        for metric in metrics {
            match metric {
                Metric::GpuUtilization => self.forget_signal(Signal::GpuUtilization),
                Metric::GpuPowerUtilization => self.forget_signal(Signal::GpuPowerUtilization),
                Metric::GpuEncoderSessions => self.encodes = Column::default(),
                _ => {}
            }
        }
        let added = &self.added;
        self.gpus.retain(|index| added.keys().any(|(_, gpu, _)| *gpu == Some(*index)));
    }

    fn forget_signal(&mut self, signal: Signal) {
        self.grids.retain(|(own, ..), _| *own != signal);
        self.outranked.retain(|(own, _)| *own != signal);
    }

    /// Names who measured a series that has no valid point here.
    fn take_names(&mut self, other: &Self) {
        for (key, own) in self.added.iter_mut().filter(|(_, own)| own.is_empty) {
            if let Some(theirs) = other.added.get(key).filter(|theirs| !theirs.is_empty) {
                (own.source, own.joined_by) = (theirs.source, theirs.joined_by);
            }
        }
    }
}

impl InstanceUsage {
    /// The same instance with the GPU readings of profiled runs in place of its
    /// own. When it ran, and so what it costs, stays as it was: a run never
    /// proves a running time.
    pub fn by_profile(
        &self,
        timeline: &Timeline,
        instance: &Instance,
        offer: Option<&GpuOffer>,
        series: &[&Series],
    ) -> (Self, Timeline) {
        let grid = (timeline.window, timeline.period_seconds);
        let (profiled, mut profile_timeline) = measure_series(instance, offer, series, grid);
        profile_timeline.run_as(timeline);
        (self.with_gpus_of(profiled, &profile_timeline), profile_timeline)
    }

    /// The same instance over some of its profiled runs alone. Figures of a GPU
    /// that were larger at another time stay as large: what it once needed, it
    /// may need again.
    pub fn over_runs(
        &self,
        instance: &Instance,
        offer: Option<&GpuOffer>,
        series: &[&Series],
        runs: &[&ProfiledRun],
        grid: (Window, u32),
    ) -> (Self, Timeline) {
        let spans: Vec<(u32, u32)> = runs.iter().map(|run| run.periods(grid.0, grid.1)).collect();
        let is_of_run = |index: u32| spans.iter().any(|(from, to)| (*from..=*to).contains(&index));
        let kept: Vec<Series> = series
            .iter()
            .map(|record| Series { points: record.points.kept(is_of_run), ..(*record).clone() })
            .collect();
        let kept: Vec<&Series> = kept.iter().collect();
        let (profiled, mut timeline) = measure_series(instance, offer, &kept, grid);
        let visible = offer.map_or(profiled.gpus.len().max(1) as u32, |offer| {
            u32::from(offer.share.visible_devices())
        });
        timeline.run_in(|index| is_of_run(index as u32), visible);
        let whole = measure_series(instance, offer, series, grid).0;
        let mut usage = self.with_gpus_of(profiled, &timeline);
        let expected = timeline.ran().filter(|ran| *ran).count() as u64;
        usage.expect_samples(expected);
        usage.keep_larger(&whole.gpus);
        (usage, timeline)
    }

    fn with_gpus_of(&self, profiled: Self, timeline: &Timeline) -> Self {
        let signal = profiled.signal;
        let mut merged = Self {
            signal,
            summary: signal.and_then(|(signal, source)| timeline.summary(signal, source)),
            gpus: profiled.gpus,
            gpus_correlation: profiled.gpus_correlation,
            pairs_correlation: profiled.pairs_correlation,
            joined_by_hostname: self.joined_by_hostname || profiled.joined_by_hostname,
            rejected: self.rejected.plus(profiled.rejected),
            ..self.clone()
        };
        merged.keep_larger(&self.gpus);
        merged
    }

    /// Says how many samples of each GPU its runs should have brought.
    fn expect_samples(&mut self, expected: u64) {
        for gpu in &mut self.gpus {
            gpu.samples.expected = expected;
            if let Some(maxima) = &mut gpu.maxima {
                maxima.samples.expected = expected;
            }
            if let Some(vram) = &mut gpu.vram {
                vram.samples.expected = expected;
            }
        }
    }

    /// Takes the larger peak of memory, and the activity of a GPU that these
    /// figures did not see working.
    fn keep_larger(&mut self, others: &[GpuUsage]) {
        for other in others {
            let Some(gpu) = self.gpus.iter_mut().find(|gpu| gpu.index == other.index) else {
                self.gpus.push(other.clone());
                self.gpus.sort_by_key(|gpu| gpu.index);
                continue;
            };
            if let (Some(mine), Some(theirs)) = (&mut gpu.vram, other.vram) {
                mine.peak_mib = mine.peak_mib.max(theirs.peak_mib);
            } else if gpu.vram.is_none() {
                gpu.vram = other.vram;
            }
            if gpu.is_active() != Some(true) && other.is_active() == Some(true) {
                gpu.utilization = other.utilization;
                gpu.samples = other.samples;
                gpu.demand_peak = other.demand_peak;
                gpu.maxima = other.maxima;
                gpu.days.clone_from(&other.days);
            }
            let sessions = [gpu.encoder_sessions_max, other.encoder_sessions_max];
            gpu.encoder_sessions_max = sessions.into_iter().flatten().reduce(f64::max);
        }
    }

    /// Whether each of the GPUs of a type delivered its utilization in half of the
    /// periods of a timeline in which the instance ran.
    pub fn sees_every_gpu(&self, visible_gpus: usize, timeline: &Timeline) -> bool {
        let expected = timeline.ran().filter(|ran| *ran).count() as u64;
        let seen = self.gpus.iter().filter(|gpu| {
            gpu.utilization.is_some() && gpu.samples.count > 0 && gpu.samples.count * 2 >= expected
        });
        self.signal.is_some_and(|(signal, _)| signal == Signal::GpuUtilization)
            && seen.count() >= visible_gpus.max(1)
    }
}

impl Timeline {
    /// Takes over when another timeline ran.
    fn run_as(&mut self, other: &Self) {
        for (slot, other) in self.slots.iter_mut().zip(&other.slots) {
            (slot.gpus, slot.instances) = (other.gpus, other.instances);
        }
        self.clamp_maxima();
    }
}

impl Points {
    /// The points whose place on the grid passes a test.
    fn kept(&self, passes: impl Fn(u32) -> bool) -> Self {
        let grid = Window { start: self.start(), end: self.start() };
        let mut kept = Self::empty(grid, self.period_seconds());
        for (index, value) in self.iter().filter(|(index, _)| passes(*index)) {
            kept.push(index, value as f32);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ResourceId;
    use crate::usage::lab;
    use proptest::prelude::*;

    /// What remains of series, of metrics that a condition chooses.
    fn of(answers: &[lab::Answer], is_asked: impl Fn(Metric) -> bool) -> Usages {
        let mut builder = crate::usage::UsageBuilder::new(lab::window(), lab::PERIOD);
        let series = lab::series(answers, lab::window());
        series
            .iter()
            .filter(|record| is_asked(record.metric))
            .for_each(|record| builder.add(record));
        builder.finish()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Metrics are dealt to two sources, one of which also measured some of the other's in
        /// another way; all of them together are what one source would have measured.
        #[test]
        fn what_is_known_stays_and_the_rest_is_filled(seed in any::<u64>(), own in any::<u32>()) {
            let answers = lab::answers(seed);
            let is_own = |metric: Metric| own & (1 << (metric as u32)) != 0;
            let mut known = of(&answers, is_own);
            let id = ResourceId::named("i-1");
            let measured = known.of(&id).measured_metrics();
            // Another machine's points under the same names, where the first one has points.
            let other = lab::answers(seed ^ 1);
            let mut others = of(&answers, |metric| !is_own(metric));
            let noise = of(&other, |metric| measured.contains(&metric));
            others.merge(noise, lab::window(), lab::PERIOD);
            known.fill(others, lab::window(), lab::PERIOD);
            let whole = lab::usages(&answers, lab::window());
            prop_assert!(lab::figures(known.of(&id)) == lab::figures(whole.of(&id)));
        }
    }

    #[test]
    fn a_machine_without_usage_takes_all_of_it() {
        let answers = lab::answers(7);
        let whole = lab::usages(&answers, lab::window());
        let mut none = Usages::default();
        none.fill(whole.clone(), lab::window(), lab::PERIOD);
        assert_eq!(none, whole);
    }
}
