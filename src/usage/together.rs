//! How far the GPUs of one machine are busy together.

use super::Timeline;
use super::histogram::Histogram;

/// Percentages in hundredths of a point, as sums that are the same in any order.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    count: u128,
    sum: u128,
    squares: u128,
}

impl Moments {
    pub(super) fn of(percents: &Histogram) -> Self {
        let mut moments = Self::default();
        for (hundredths, count) in percents.counts() {
            moments.add(hundredths.into(), count.into());
        }
        moments
    }

    fn add(&mut self, value: u128, times: u128) {
        self.count += times;
        self.sum += value * times;
        self.squares += value * value * times;
    }

    /// Zero of nothing.
    fn variance(self) -> f64 {
        let count = (self.count * self.count).max(1) as f64;
        (self.count * self.squares - self.sum * self.sum) as f64 / count
    }
}

/// Mean correlation of each two GPUs, weighted by how much they vary: what the variance of the
/// sum of all has above the sum of their variances, over the most that it could have,
/// `(Var(Σ) − ΣVar) / ((Σσ)² − ΣVar)`. `None` of fewer than two that vary.
pub(super) fn correlation(timeline: &Timeline, gpus: &[Moments]) -> Option<f64> {
    let mut together = Moments::default();
    let complete = timeline
        .slots
        .iter()
        .filter(|slot| slot.reported as usize == gpus.len());
    complete.for_each(|slot| together.add(slot.sum.into(), 1));
    let alone: f64 = gpus.iter().map(|gpu| gpu.variance()).sum();
    let deviations: f64 = gpus.iter().map(|gpu| gpu.variance().sqrt()).sum();
    let most = deviations * deviations - alone;
    (most > alone * 1e-9 && together.count > 0)
        .then(|| ((together.variance() - alone) / most).clamp(-1.0, 1.0))
}
