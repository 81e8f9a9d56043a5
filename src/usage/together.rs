//! How far the GPUs of one machine are busy together.

use super::Timeline;
use super::histogram::Histogram;
use super::hour_means::HourSums;

/// Hours that two GPUs must have in common, so that something is said of them.
const FEWEST_HOURS: usize = 24;

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
    let complete = timeline.slots.iter().filter(|slot| slot.reported as usize == gpus.len());
    complete.for_each(|slot| together.add(slot.sum.into(), 1));
    let alone: f64 = gpus.iter().map(|gpu| gpu.variance()).sum();
    let deviations: f64 = gpus.iter().map(|gpu| gpu.variance().sqrt()).sum();
    let most = deviations * deviations - alone;
    (most > alone * 1e-9 && together.count > 0)
        .then(|| ((together.variance() - alone) / most).clamp(-1.0, 1.0))
}

/// The largest correlation of the hourly means of any two GPUs: two of several may work as one
/// beside others. `None` where an hour of too many is unknown, and where fewer than two vary.
pub(super) fn of_pairs(gpus: &[&HourSums]) -> Option<f64> {
    let spans = || gpus.iter().map(|gpu| gpu.span());
    let from = spans().map(|(from, _)| from).min()?;
    let until = spans().map(|(_, until)| until).max()?;
    let length = usize::try_from(until - from).ok()?;
    let hours: Vec<Vec<Option<f64>>> = gpus.iter().map(|gpu| gpu.means(from, length, 1)).collect();
    let mut largest: Option<f64> = None;
    for (place, left) in hours.iter().enumerate() {
        for right in &hours[..place] {
            let shared = left.iter().zip(right).filter_map(|(own, other)| own.zip(*other));
            largest = largest.into_iter().chain(pearson(shared.collect())).reduce(f64::max);
        }
    }
    largest
}

/// `None` of too few pairs, and where one of both does not vary.
fn pearson(pairs: Vec<(f64, f64)>) -> Option<f64> {
    if pairs.len() < FEWEST_HOURS {
        return None;
    }
    let count = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (left_mean, right_mean) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let (mut both, mut left, mut right) = (0.0, 0.0, 0.0);
    for (own, other) in &pairs {
        let (own, other) = (own - left_mean, other - right_mean);
        both += own * other;
        left += own * own;
        right += other * other;
    }
    let most = (left * right).sqrt();
    (most > 1e-9).then(|| (both / most).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_alike_is_1_and_what_moves_against_it_minus_1() {
        let rising =
            |factor: f64| (0..24).map(move |hour| (f64::from(hour), factor * f64::from(hour)));
        assert_eq!(pearson(rising(2.0).collect()), Some(1.0));
        assert_eq!(pearson(rising(-1.0).collect()), Some(-1.0));
        assert_eq!(pearson(rising(0.0).collect()), None, "one of them is constant");
        assert_eq!(pearson(rising(1.0).take(23).collect()), None);
    }
}
