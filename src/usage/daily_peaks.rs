//! The largest value of each day.

use super::Points;
use super::series::widen;
use crate::domain::DAY_SECONDS;

/// The largest value of each day of UTC, counted from the Unix epoch, ascending.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DailyPeaks(Vec<(i64, f64)>);

impl DailyPeaks {
    pub(super) fn of(points: &Points) -> Self {
        let start = points.start().as_second();
        let period = i64::from(points.period_seconds().max(1));
        let day_of = |place: u32| (start + i64::from(place) * period).div_euclid(DAY_SECONDS);
        let mut peaks = Self::default();
        for (first, count, values) in points.runs() {
            // One value stands for all of its run.
            if let [value] = values {
                let days = day_of(first)..=day_of(first + count - 1);
                days.for_each(|day| peaks.add(day, widen(*value)));
            } else {
                let places = (first..).zip(values);
                places.for_each(|(place, value)| peaks.add(day_of(place), widen(*value)));
            }
        }
        peaks
    }

    pub(super) fn of_day(day: i64, largest: f64) -> Self {
        Self(vec![(day, largest)])
    }

    fn add(&mut self, day: i64, value: f64) {
        match self.0.last_mut() {
            Some((known, largest)) if *known == day => *largest = largest.max(value),
            _ => self.0.push((day, value)),
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let mut peaks = [self.0.as_slice(), &other.0].concat();
        peaks.sort_unstable_by_key(|(day, _)| *day);
        self.0.clear();
        peaks.into_iter().for_each(|(day, value)| self.add(day, value));
    }

    pub(super) fn days(&self) -> &[(i64, f64)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Metric, Statistic, Window};
    use jiff::SignedDuration;

    #[test]
    fn each_day_has_its_largest_value_in_any_order_of_parts() {
        let start = "2026-11-01T12:00:00Z".parse().expect("a time");
        let end = start + SignedDuration::from_hours(36);
        let window = Window { start, end };
        // Twelve hours of the first day, and 24 of the second.
        let of = |hours: std::ops::Range<i64>, value: fn(i64) -> f64| {
            let raw = hours.map(|hour| (start + SignedDuration::from_hours(hour), value(hour)));
            let key = (Metric::GpuMemoryUsed, Statistic::Maximum);
            DailyPeaks::of(&Points::clean(raw, key, window, 3_600).0)
        };
        let first = start.as_second().div_euclid(DAY_SECONDS);
        let rising = of(0..36, |hour| 100.0 + hour as f64);
        assert_eq!(rising.days(), [(first, 111.0), (first + 1, 135.0)]);
        let flat = of(0..36, |_| 7.0);
        assert_eq!(flat.days(), [(first, 7.0), (first + 1, 7.0)]);
        let mut parts = of(20..36, |hour| 100.0 + hour as f64);
        parts.merge(&of(0..20, |hour| 100.0 + hour as f64));
        assert_eq!(parts, rising);
    }
}
