//! Usage of one source beside that of another, which says what the first one does not.

use super::packed::Column;
use super::usages::{Usage, Usages};
use crate::domain::{Metric, Signal, Window};
use std::collections::BTreeSet;

impl Usages {
    /// Takes of others what nothing is known of: each metric of an instance without a valid
    /// point here. Both are on the grid of the window.
    pub fn fill(&mut self, others: Self, window: Window, period_seconds: u32) {
        let mut missing = Self::default();
        for (instance, mut other) in others.into_each() {
            other.forget(&self.of(&instance).measured_metrics());
            self.change(&instance, |own| own.take_names(&other));
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
        for metric in metrics {
            match metric {
                Metric::GpuUtilization => self.forget_signal(Signal::GpuUtilization),
                Metric::GpuPowerUtilization => self.forget_signal(Signal::GpuPowerUtilization),
                Metric::CpuUtilization => (self.cpu, self.cpu_peak) = (None, None),
                Metric::GpuEncoderSessions => self.encodes = Column::default(),
                Metric::NetworkIn => self.received = None,
                Metric::NetworkOut => self.sent = None,
                _ => {}
            }
            for gpu in self.gpus.values_mut() {
                gpu.forget(*metric);
            }
        }
        let added = &self.added;
        self.gpus.retain(|index, _| added.keys().any(|(_, gpu, _)| *gpu == Some(*index)));
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
