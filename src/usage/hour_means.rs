//! How far a GPU was used in every hour.

use super::Points;
use super::histogram::hundredths;
use super::packed::Column;
use crate::domain::HOUR_SECONDS;

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
        let mut ends = points.runs().map(|(first, count, _)| (first, first + count - 1));
        let (first, last) = ends.next()?;
        let last = ends.last().map_or(last, |(_, last)| last);
        let from = hour_of(first);
        // A sample of several hours stands for each of them.
        let spanned = (period / HOUR_SECONDS).max(1);
        let each = period.min(HOUR_SECONDS) as u32;
        let length = (hour_of(last) - from + spanned) as usize;
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
