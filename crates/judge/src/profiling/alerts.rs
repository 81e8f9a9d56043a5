//! Alerts of a run, evaluated sample by sample in constant memory.

use crate::domain::{NEARLY_FULL_VRAM_PERCENT, named_enum};
use std::collections::VecDeque;

const MINUTES: f64 = 60.0;
/// Utilization from which a GPU counts as at work for the occupancy (own).
pub(super) const WORKING_FROM_PERCENT: f64 = 50.0;
/// Parts of a sliding mean: its span is off by one part at most.
const PARTS: usize = 30;

named_enum! {
    /// What an alert is about.
    AlertKind {
        /// Mean over all GPUs below 40% for 30 minutes.
        Underused = "gpu-underused",
        /// Mean over all GPUs above 95% for an hour.
        Saturated = "gpu-saturated",
        /// Memory above 85% for 10 minutes.
        VramNearlyFull = "vram-nearly-full",
        /// Above 83 °C.
        Hot = "gpu-hot",
        /// Power above 90% of the limit.
        PowerNearLimit = "power-near-limit",
        /// SM occupancy below 50% over 10 minutes of work.
        LowOccupancy = "sm-occupancy-low",
        /// The driver reported an error.
        Xid = "xid",
        /// It no longer answers.
        Lost = "gpu-lost",
    }
}

impl AlertKind {
    /// The threshold, the unit of it and of values, and the seconds for which it must hold: as a
    /// mean over them, or at every sample.
    fn limits(self) -> (Option<f64>, &'static str, f64) {
        match self {
            Self::Underused => (Some(40.0), "%", 30.0 * MINUTES),
            Self::Saturated => (Some(95.0), "%", 60.0 * MINUTES),
            Self::VramNearlyFull => (Some(NEARLY_FULL_VRAM_PERCENT), "%", 10.0 * MINUTES),
            Self::Hot => (Some(83.0), "°C", 0.0),
            Self::PowerNearLimit => (Some(90.0), "%", 0.0),
            // One step of a training is not the training (own).
            Self::LowOccupancy => (Some(50.0), "%", 10.0 * MINUTES),
            Self::Xid => (None, "", 0.0),
            Self::Lost => (Some(0.0), "samples", 0.0),
        }
    }

    /// The threshold; absent for errors, any of which is one too many.
    pub fn threshold(self) -> Option<f64> {
        self.limits().0
    }

    /// Unit of threshold and value; empty for errors.
    pub fn unit(self) -> &'static str {
        self.limits().1
    }

    /// Seconds for which it must hold; 0 where one sample is enough.
    pub fn seconds(self) -> f64 {
        self.limits().2
    }

    fn is_lower_worse(self) -> bool {
        matches!(self, Self::Underused | Self::LowOccupancy)
    }

    /// Whether a value calls for the alert.
    fn is_crossed(self, value: f64) -> bool {
        match self.threshold() {
            None => true,
            Some(threshold) if self.is_lower_worse() => value < threshold,
            Some(threshold) => value > threshold,
        }
    }
}

/// An alert of a run: one for each kind and GPU, with all its episodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alert {
    pub kind: AlertKind,
    /// Place of the GPU among the facts; absent where it is about all of them.
    pub gpu: Option<usize>,
    /// When it first held, in seconds of the run: the beginning of the time for
    /// which it must hold.
    pub began_seconds: f64,
    /// When it last ceased to hold; absent while it holds. Errors never cease.
    pub ended_seconds: Option<f64>,
    /// How often it began; for errors, how many there were.
    pub episodes: u64,
    /// For how long it held in all episodes together.
    pub total_seconds: f64,
    /// The worst value: percent, degrees, samples in a row without an answer, or
    /// the number of the first error.
    pub worst: f64,
}

impl Alert {
    /// Whether it holds now, or held when the run ended.
    pub fn is_active(&self) -> bool {
        self.ended_seconds.is_none()
    }
}

/// The latest sample as alerts see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moment {
    /// Seconds of the run.
    pub(super) at_seconds: f64,
    /// Seconds since the sample before that this one stands for; `None` where samples
    /// are missing between them.
    pub(super) covered_seconds: Option<f64>,
}

/// A mean over the latest stretch of covered time, in a bounded number of parts.
#[derive(Debug, Clone, Default)]
struct SlidingMean {
    /// Sum of value × seconds, and seconds, oldest first.
    parts: VecDeque<(f64, f64)>,
}

impl SlidingMean {
    /// Adds a value; gives the mean once the whole span is covered.
    fn add(&mut self, value: f64, seconds: f64, span_seconds: f64) -> Option<f64> {
        let part_seconds = span_seconds / PARTS as f64;
        match self.parts.back_mut().filter(|(_, held)| *held < part_seconds) {
            Some((sum, held)) => {
                *sum += value * seconds;
                *held += seconds;
            }
            None => self.parts.push_back((value * seconds, seconds)),
        }
        let mut covered: f64 = self.parts.iter().map(|(_, seconds)| seconds).sum();
        while let Some((_, oldest)) = self.parts.front()
            && covered - oldest >= span_seconds
        {
            covered -= oldest;
            self.parts.pop_front();
        }
        let sum: f64 = self.parts.iter().map(|(sum, _)| sum).sum();
        // Sums of seconds such as 0.1 miss their total by a hair.
        (covered >= span_seconds - 1e-6).then(|| sum / covered)
    }
}

/// One kind of alert on one GPU, or on all.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    kind: AlertKind,
    gpu: Option<usize>,
    mean: SlidingMean,
    /// For how long it has held; absent where it did not at the last sample.
    held_seconds: Option<f64>,
    alert: Option<Alert>,
}

impl Watch {
    pub(super) fn new(kind: AlertKind, gpu: Option<usize>) -> Self {
        Self { kind, gpu, mean: SlidingMean::default(), held_seconds: None, alert: None }
    }

    /// Evaluates a value; absent where it was not read, which ends nothing by
    /// itself but covers no time.
    pub(super) fn see(&mut self, moment: Moment, value: Option<f64>) {
        if self.kind == AlertKind::Xid {
            return;
        }
        let (Some(seconds), Some(value)) = (moment.covered_seconds, value) else {
            self.break_off(moment.at_seconds, value);
            return;
        };
        let averaged = match self.kind {
            AlertKind::Underused | AlertKind::Saturated | AlertKind::LowOccupancy => {
                self.mean.add(value, seconds, self.kind.seconds())
            }
            _ => {
                let holds = self.kind.is_crossed(value);
                let held = holds.then(|| self.held_seconds.map_or(0.0, |held| held + seconds));
                self.held_seconds = held;
                held.is_none_or(|held| held >= self.kind.seconds() - 1e-6).then_some(value)
            }
        };
        if let Some(value) = averaged {
            self.judge(moment.at_seconds, seconds, value);
        }
    }

    /// Counts an error.
    pub(super) fn error(&mut self, at_seconds: f64, number: u64) {
        match &mut self.alert {
            Some(alert) => alert.episodes += 1,
            None => self.alert = Some(self.begun(at_seconds, number as f64)),
        }
    }

    fn begun(&self, began_seconds: f64, worst: f64) -> Alert {
        Alert {
            kind: self.kind,
            gpu: self.gpu,
            began_seconds,
            ended_seconds: None,
            episodes: 1,
            total_seconds: 0.0,
            worst,
        }
    }

    /// Time that was not sampled: what was counted so far no longer counts. A sample
    /// after it may be enough for an alert that needs no time.
    fn break_off(&mut self, at_seconds: f64, value: Option<f64>) {
        self.mean = SlidingMean::default();
        self.held_seconds = value.filter(|value| self.kind.is_crossed(*value)).map(|_| 0.0);
        match value {
            Some(value) if self.kind.seconds() <= 0.0 => self.judge(at_seconds, 0.0, value),
            // What began before is not known to have gone on.
            _ => self.end(at_seconds),
        }
    }

    fn end(&mut self, at_seconds: f64) {
        if let Some(alert) = &mut self.alert {
            alert.ended_seconds.get_or_insert(at_seconds);
        }
    }

    fn judge(&mut self, at_seconds: f64, seconds: f64, value: f64) {
        if !self.kind.is_crossed(value) {
            self.end(at_seconds);
            return;
        }
        // An alert that needs time began when that time began.
        let needed = self.kind.seconds();
        let is_lower_worse = self.kind.is_lower_worse();
        let Some(alert) = &mut self.alert else {
            let mut alert = self.begun((at_seconds - needed).max(0.0), value);
            alert.total_seconds = needed;
            self.alert = Some(alert);
            return;
        };
        alert.worst = if is_lower_worse { alert.worst.min(value) } else { alert.worst.max(value) };
        if alert.ended_seconds.take().is_some() {
            alert.episodes += 1;
            alert.total_seconds += needed;
        } else {
            alert.total_seconds += seconds;
        }
    }

    /// The alert, if it ever held.
    pub(super) fn alert(&self) -> Option<Alert> {
        self.alert
    }

    /// Bytes that it takes at most.
    pub(super) fn size_bytes(&self) -> usize {
        size_of::<Self>() + self.mean.parts.capacity() * size_of::<(f64, f64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The alert after samples one second apart, each with its value.
    fn after(kind: AlertKind, values: impl IntoIterator<Item = f64>) -> Option<Alert> {
        let mut watch = Watch::new(kind, None);
        let mut at_seconds = 0.0;
        for value in values {
            watch.see(moment(at_seconds, at_seconds > 0.0), Some(value));
            at_seconds += 1.0;
        }
        watch.alert()
    }

    fn moment(at_seconds: f64, is_covered: bool) -> Moment {
        Moment { at_seconds, covered_seconds: is_covered.then_some(1.0) }
    }

    fn times(value: f64, count: usize) -> impl Iterator<Item = f64> + Clone {
        std::iter::repeat_n(value, count)
    }

    #[test]
    fn a_mean_below_40_for_half_an_hour_is_underused() {
        // 1 801 samples cover 1 800 s.
        let alert = after(AlertKind::Underused, times(39.9, 1_801)).expect("it fires");
        assert_eq!((alert.began_seconds, alert.ended_seconds), (0.0, None));
        assert_eq!((alert.episodes, alert.total_seconds), (1, 1_800.0));
        assert_eq!(after(AlertKind::Underused, times(39.9, 1_800)), None, "a second is missing");
        assert_eq!(after(AlertKind::Underused, times(40.0, 4_000)), None, "40 is not below 40");
        // Single peaks do not hide a low mean: 10% of 100 and 90% of 20 make 28.
        let peaks = (0..1_801).map(|at| if at % 10 == 0 { 100.0 } else { 20.0 });
        let alert = after(AlertKind::Underused, peaks).expect("it fires");
        assert!((alert.worst - 28.0).abs() < 0.5, "{}", alert.worst);
    }

    #[test]
    fn it_ends_when_the_mean_recovers_and_begins_again() {
        let back = times(10.0, 1_801).chain(times(100.0, 1_801)).chain(times(10.0, 3_600));
        let alert = after(AlertKind::Underused, back.clone()).expect("it fires");
        assert_eq!((alert.episodes, alert.ended_seconds), (2, None));
        let recovered = after(AlertKind::Underused, back.take(3_602)).expect("it fires");
        // From 10 to 100 the sliding mean passes 40 a third of the way: at 600 s.
        let ended = recovered.ended_seconds.expect("it is over");
        assert!((2_400.0..=2_461.0).contains(&ended), "{ended}");
        assert!((recovered.total_seconds - ended).abs() < 61.0);
    }

    #[test]
    fn time_without_samples_does_not_count() {
        for kind in [AlertKind::Underused, AlertKind::VramNearlyFull] {
            let value = if kind == AlertKind::Underused { 1.0 } else { 99.0 };
            let mut watch = Watch::new(kind, None);
            let half = kind.seconds() as u32 / 2 + 10;
            for at in 0..half {
                watch.see(moment(f64::from(at), at > 0), Some(value));
            }
            for at in 0..half {
                watch.see(moment(9_000.0 + f64::from(at), at > 0), Some(value));
            }
            assert_eq!(watch.alert(), None, "{kind}");
            watch.see(moment(9_999.0, true), None);
            for at in 0..half {
                watch.see(moment(10_000.0 + f64::from(at), true), Some(value));
            }
            assert_eq!(watch.alert(), None, "{kind}: a sample without a value");
        }
    }

    #[test]
    fn a_gap_ends_what_held_before_it() {
        let mut watch = Watch::new(AlertKind::VramNearlyFull, Some(2));
        for at in 0..=600 {
            watch.see(moment(f64::from(at), at > 0), Some(90.0));
        }
        let alert = watch.alert().expect("it fires");
        assert_eq!((alert.gpu, alert.began_seconds, alert.is_active()), (Some(2), 0.0, true));
        watch.see(moment(5_000.0, false), Some(90.0));
        assert_eq!(watch.alert().expect("it fired").ended_seconds, Some(5_000.0));
    }

    #[test]
    fn memory_must_be_full_at_every_sample_of_ten_minutes() {
        let full = after(AlertKind::VramNearlyFull, times(85.1, 601)).expect("it fires");
        assert_eq!((full.began_seconds, full.total_seconds), (0.0, 600.0));
        assert_eq!(after(AlertKind::VramNearlyFull, times(85.1, 600)), None);
        assert_eq!(after(AlertKind::VramNearlyFull, times(85.0, 2_000)), None);
        let interrupted = times(99.0, 590).chain(times(80.0, 1)).chain(times(99.0, 590));
        assert_eq!(after(AlertKind::VramNearlyFull, interrupted), None);
    }

    #[test]
    fn saturated_takes_an_hour() {
        assert!(after(AlertKind::Saturated, times(95.1, 3_601)).is_some());
        assert_eq!(after(AlertKind::Saturated, times(95.1, 3_600)), None);
        assert_eq!(after(AlertKind::Saturated, times(95.0, 4_000)), None);
    }

    #[test]
    fn heat_and_power_need_one_sample_even_the_first() {
        for kind in [AlertKind::Hot, AlertKind::PowerNearLimit] {
            let threshold = kind.threshold().expect("it has one");
            let alert = after(kind, [threshold + 0.5]).expect("it fires");
            assert_eq!((alert.began_seconds, alert.total_seconds), (0.0, 0.0));
            assert_eq!(after(kind, times(threshold, 10)), None);
            let values = [20.0, threshold + 1.0, threshold + 3.0, 20.0, threshold + 2.0, 20.0];
            let alert = after(kind, values).expect("it fires");
            assert_eq!((alert.began_seconds, alert.ended_seconds), (1.0, Some(5.0)));
            assert_eq!((alert.episodes, alert.worst), (2, threshold + 3.0));
        }
    }

    #[test]
    fn errors_never_cease() {
        let mut watch = Watch::new(AlertKind::Xid, Some(0));
        watch.see(moment(0.0, false), None);
        watch.error(3.0, 79);
        watch.error(4.0, 31);
        watch.see(moment(9.0, false), None);
        let alert = watch.alert().expect("an error came");
        assert_eq!((alert.began_seconds, alert.ended_seconds), (3.0, None));
        assert_eq!((alert.episodes, alert.worst), (2, 79.0));
    }

    #[test]
    fn ten_samples_a_second_cover_the_same_time() {
        let mut watch = Watch::new(AlertKind::Underused, None);
        for at in 0..=18_000 {
            let covered_seconds = (at > 0).then_some(0.1);
            watch.see(Moment { at_seconds: f64::from(at) / 10.0, covered_seconds }, Some(3.0));
        }
        assert!(watch.alert().is_some(), "18 000 times 0.1 s are half an hour");
        assert!(watch.size_bytes() < 2_000, "{}", watch.size_bytes());
    }
}
