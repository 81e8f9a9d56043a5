//! How far a GPU was used in every hour, and how far the GPUs of one machine are busy together.

use super::histogram::{Column, Histogram, hundredths};
use super::{Points, Timeline};
use crate::domain::HOUR_SECONDS;

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
    /// `None` of nothing.
    pub(super) fn of(percents: &Histogram) -> Option<Self> {
        let mut moments = Self::default();
        for (hundredths, count) in percents.counts() {
            moments.add(hundredths.into(), count.into());
        }
        (moments.count > 0).then_some(moments)
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

/// Seconds of an hour that samples must stand for, so that its mean is known.
const LEAST_SECONDS: u32 = HOUR_SECONDS as u32 / 2;

/// The averages of one GPU by hour of UTC. Those of other times add up with them in any order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HourSums {
    /// The first hour, since the epoch.
    first: i64,
    /// For how many seconds of each hour there are samples.
    seconds: Column,
    /// Each sample in hundredths of a percent, times the seconds that it stands for.
    weighted: Column,
}

impl HourSums {
    /// `None` of no points.
    pub(super) fn of(points: &Points) -> Option<Self> {
        let period = i64::from(points.period_seconds().max(1));
        let start = points.start().as_second();
        let hour_of = |place: u32| (start + i64::from(place) * period).div_euclid(HOUR_SECONDS);
        let (first, last) = points.ends()?;
        let from = first.div_euclid(HOUR_SECONDS);
        // A sample of several hours stands for each of them.
        let spanned = (period / HOUR_SECONDS).max(1);
        let each = period.min(HOUR_SECONDS) as u32;
        let length = (last.div_euclid(HOUR_SECONDS) - from + spanned) as usize;
        let mut sums = vec![(0_u32, 0_u32); length];
        for (first, count, values) in points.runs() {
            for (place, value) in (first..first + count).zip(values.iter().cycle()) {
                let weighted = u32::from(hundredths(f64::from(*value))) * each;
                let hour = (hour_of(place) - from) as usize;
                for (seconds, sum) in sums.iter_mut().skip(hour).take(spanned as usize) {
                    *seconds += each;
                    *sum += weighted;
                }
            }
        }
        Some(Self::packed(from, &sums))
    }

    fn packed(first: i64, sums: &[(u32, u32)]) -> Self {
        Self {
            first,
            seconds: Column::of(sums.iter().map(|(seconds, _)| *seconds)),
            weighted: Column::of(sums.iter().map(|(_, weighted)| *weighted)),
        }
    }

    /// Hours since the epoch with their seconds and their weighted sums.
    fn hours(&self) -> impl Iterator<Item = (i64, (u32, u32))> + '_ {
        (self.first..).zip(self.seconds.values().zip(self.weighted.values()))
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let both = || self.hours().chain(other.hours()).map(|(hour, _)| hour);
        let (Some(first), Some(last)) = (both().min(), both().max()) else { return };
        let mut sums = vec![(0_u32, 0_u32); (last - first + 1) as usize];
        for (hour, (seconds, weighted)) in self.hours().chain(other.hours()) {
            let sum = &mut sums[(hour - first) as usize];
            *sum = (sum.0 + seconds, sum.1 + weighted);
        }
        *self = Self::packed(first, &sums);
    }

    /// From its first hour since the epoch to the one after its last.
    pub(super) fn span(&self) -> (i64, i64) {
        let length = self.hours().count();
        (self.first, self.first + length as i64)
    }

    /// The means of some hours, from one since the epoch on; absent where too little of an
    /// hour is known by samples each of which stands for so many periods.
    pub(super) fn means(&self, from: i64, length: usize, step: u32) -> Vec<Option<f64>> {
        let mut means = vec![None; length];
        for (hour, (seconds, weighted)) in self.hours() {
            let place = usize::try_from(hour - from).ok();
            let Some(mean) = place.and_then(|place| means.get_mut(place)) else { continue };
            let is_known = seconds * step >= LEAST_SECONDS;
            *mean = is_known.then(|| f64::from(weighted) / f64::from(seconds) / 100.0);
        }
        means
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Window;
    use jiff::Timestamp;
    use proptest::prelude::*;

    #[test]
    fn what_moves_alike_is_1_and_what_moves_against_it_minus_1() {
        let rising =
            |factor: f64| (0..24).map(move |hour| (f64::from(hour), factor * f64::from(hour)));
        assert_eq!(pearson(rising(2.0).collect()), Some(1.0));
        assert_eq!(pearson(rising(-1.0).collect()), Some(-1.0));
        assert_eq!(pearson(rising(0.0).collect()), None, "one of them is constant");
        assert_eq!(pearson(rising(1.0).take(23).collect()), None);
    }

    fn points(start: i64, period: u32, values: &[Option<f32>]) -> Points {
        let at = |second| Timestamp::from_second(second).expect("in range");
        let window =
            Window { start: at(start), end: at(start + i64::from(period) * values.len() as i64) };
        let mut points = Points::empty(window, period);
        for (index, value) in (0..).zip(values) {
            if let Some(value) = value {
                points.push(index, *value);
            }
        }
        points
    }

    #[test]
    fn an_hour_is_the_mean_of_what_is_known_of_at_least_half_of_it() {
        // By 20 minutes from 00:20 on: two of the first hour, three of the second, one of the
        // third, none of the fourth, and two of the fifth.
        let values = [
            Some(10.0),
            Some(20.0),
            Some(30.0),
            Some(60.0),
            Some(90.0),
            Some(50.0),
            None,
            None,
            None,
            None,
            None,
            None,
            Some(0.0),
            Some(1.0),
        ];
        let sums = HourSums::of(&points(1_200, 1_200, &values)).expect("points");
        // Place 12 begins at 1,200 + 12 × 1,200 = 15,600: the second third of the fifth hour.
        let expected = [Some(15.0), Some(60.0), None, None, Some(0.5)];
        assert_eq!(sums.means(0, 5, 1), expected);
        assert_eq!(sums.means(4, 1, 1), [Some(0.5)]);
        assert_eq!(sums.means(100, 2, 1), [None, None]);
        // A third of the third hour is known by one sample; it stands for all of the hour where
        // there is one an hour.
        assert_eq!(sums.means(2, 1, 3), [Some(50.0)]);
        assert_eq!(HourSums::of(&points(0, 300, &[None, None])), None);
    }

    #[test]
    fn a_sample_of_several_hours_stands_for_each() {
        let sums = HourSums::of(&points(7_200, 10_800, &[Some(40.0)])).expect("points");
        let means = sums.means(0, 6, 1);
        let expected = [None, None, Some(40.0), Some(40.0), Some(40.0), None];
        assert_eq!(means, expected);
    }

    proptest! {
        /// Wherever a series is cut, its parts add up to the whole, in either order.
        #[test]
        fn parts_add_up(
            values in proptest::collection::vec(proptest::option::of(0.0..100.0_f32), 2..80),
            cut in 0..80_usize,
            start in 0..20_i64,
        ) {
            let start = start * 300;
            let cut = cut.min(values.len());
            let whole = HourSums::of(&points(start, 300, &values));
            let left = HourSums::of(&points(start, 300, &values[..cut]));
            let right = HourSums::of(&points(start + cut as i64 * 300, 300, &values[cut..]));
            let sum = |first: &Option<HourSums>, second: &Option<HourSums>| match (first, second) {
                (Some(first), Some(second)) => {
                    let mut merged = first.clone();
                    merged.merge(second);
                    Some(merged)
                }
                (first, second) => first.clone().or_else(|| second.clone()),
            };
            prop_assert_eq!(&sum(&left, &right), &whole);
            prop_assert_eq!(&sum(&right, &left), &whole);
        }
    }
}
