//! Rules about what a single GPU reports of itself: a danger, and never a dollar.

use super::{RuleMeta, Subject};
use crate::domain::{
    Comparator, Confidence, Evidence, Finding, FindingKind, GpuUsage, Recommendation, after_number,
    counted, decimals_apart,
};

/// A figure of a GPU beside the limit that it must not exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reading {
    pub observed: f64,
    pub threshold: f64,
}

/// What a rule says of the GPUs that exceed their limit.
pub(super) struct DeviceAlert {
    /// What is wrong with them, before their number.
    pub title: &'static str,
    /// What the figure is, for the title and the evidence.
    pub figure: &'static str,
    /// Where figure and limit are from.
    pub origin: &'static str,
    pub comparator: Comparator,
    pub unit: &'static str,
    pub action: &'static str,
    pub steps: &'static [&'static str],
}

impl DeviceAlert {
    /// The finding about the GPUs whose reading exceeds its limit, with that of the worst.
    pub(super) fn finding(
        &self,
        meta: &RuleMeta,
        subject: &Subject<'_>,
        reading: impl Fn(&GpuUsage) -> Option<Reading>,
    ) -> Option<Finding> {
        let is_over = |measured: &Reading| match self.comparator {
            Comparator::AtLeast => measured.observed >= measured.threshold,
            _ => measured.observed > measured.threshold,
        };
        let readings = subject.workload.gpus().filter_map(reading);
        let over: Vec<Reading> = readings.filter(is_over).collect();
        let number = over.len();
        let worst =
            over.into_iter().max_by(|left, right| left.observed.total_cmp(&right.observed))?;
        let is_whole = [worst.observed, worst.threshold].iter().all(|figure| figure.fract() == 0.0);
        let decimals = if is_whole { 0 } else { decimals_apart(worst.observed, worst.threshold) };
        let beside = (self.comparator, worst.threshold);
        let decisive = Evidence::fact(self.figure, self.origin, worst.observed, beside, self.unit);
        Some(Finding {
            confidence: subject.verdict.confidence.unwrap_or(Confidence::Derived),
            kind: FindingKind::Risk,
            title: format!(
                "{}: {number} of {} of {}, {} {:.decimals$}{}",
                self.title,
                counted(subject.workload.gpus().count(), "GPU", "GPUs"),
                subject.members(),
                self.figure,
                worst.observed,
                after_number(self.unit)
            ),
            recommendation: Recommendation {
                action: self.action.to_owned(),
                steps: self.steps.iter().map(|step| (*step).to_owned()).collect(),
                ..Recommendation::default()
            },
            ..subject.finding(meta, decisive, [])
        })
    }
}

/// Whether a rule about single GPUs has anything to read, of GPUs that do something.
pub(super) fn applies(subject: &Subject<'_>) -> bool {
    subject.workload.key.running
        && !subject.verdict.is_idle()
        && !subject.is_judged_by_power()
        && subject.has_gpu_metrics()
}
