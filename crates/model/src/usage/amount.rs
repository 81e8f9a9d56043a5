//! What the points of one series amount to.

use super::grid::Cadence;
use super::histogram::{Histogram, Scale, hundredths, percent};
use super::kept::StoredFigures;
use super::series::{SeriesKey, widen};
use super::statistics::quantile;
use super::together::HourSums;
use super::{Points, Series};
use crate::domain::{
    ACTIVE_PERCENT, DAY_SECONDS, GpuDay, HOUR_SECONDS, Maxima, Metric, PowerSummary, Samples,
    SmSummary, Statistic, VramSummary,
};
use std::collections::BTreeMap;

/// Milliwatts in a watt: power is added up in whole ones, so that it adds up in any order.
const MILLIWATTS: f64 = 1_000.0;
/// Files have power by the hour.
const KEPT_POWER_SECONDS: u32 = 3_600;

/// What the points of one series amount to; figures that its metric has not are absent. What was
/// measured at different times adds up.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Amount {
    /// Absent of sessions where days were recorded, of which the largest number alone is kept.
    pub(super) counted: Option<Counted>,
    /// Hundredths of a percent, MiB, or whole watts on the scale of MiB, which is exact below
    /// 2,048; of power empty where a file has its sum alone.
    pub(super) steps: Histogram,
    pub(super) min: Option<f64>,
    /// The largest value; of traffic the Gbit/s of the busiest hour.
    pub(super) max: Option<f64>,
    /// Milliwatts or bytes.
    pub(super) sum: Option<u64>,
    /// Maxima at which a GPU was active.
    active: Option<u64>,
    /// When the periods of the first and of the last maximum begin, seconds since the epoch.
    first: Option<i64>,
    last: Option<i64>,
    /// Averages of utilization, and memory, by day of UTC, ascending.
    pub(super) daily: Vec<Day>,
    /// Averages by hour; absent of days that were read by their figures.
    pub(super) hours: Option<Box<HourSums>>,
}

/// Whether more is known of a series than its periods.
pub(super) fn amounts_to_figures((metric, gpu, statistic): SeriesKey) -> bool {
    match (metric, statistic) {
        (
            Metric::GpuUtilization | Metric::GpuMemoryUsed,
            Statistic::Average | Statistic::Maximum,
        )
        | (Metric::GpuPowerDraw | Metric::GpuSmActivity, Statistic::Average)
        | (Metric::GpuMemoryTotal | Metric::GpuTemperature, Statistic::Maximum)
        | (Metric::GpuEncoderSessions, Statistic::Maximum) => gpu.is_some(),
        (Metric::CpuUtilization, Statistic::Average | Statistic::Maximum)
        | (Metric::NetworkIn | Metric::NetworkOut, Statistic::Sum) => gpu.is_none(),
        _ => false,
    }
}

impl Amount {
    /// That of a series with points; `scratch` is of zeros before and after.
    pub(super) fn of(series: &Series, scratch: &mut Vec<u32>) -> Self {
        let (points, none) = (&series.points, Self::default());
        let counted = Some(Counted::of(points));
        let (min, max) = (|| extreme(points, f32::min), || extreme(points, f32::max));
        match series.metric {
            Metric::GpuUtilization if series.statistic == Statistic::Average => Self {
                counted,
                steps: counts(points, Scale::Percent, scratch),
                daily: days(points, Day::of_percents),
                hours: HourSums::of(points).map(Box::new),
                ..none
            },
            Metric::GpuUtilization => {
                let (first, last) = points.ends().unzip();
                Self { counted, max: max(), active: Some(active(points)), first, last, ..none }
            }
            Metric::GpuMemoryUsed => {
                let steps = match series.statistic {
                    Statistic::Average => counts(points, Scale::Mebibytes, scratch),
                    _ => Histogram::default(),
                };
                let daily = days(points, Day::of_memory);
                Self { counted, steps, min: min(), max: max(), daily, ..none }
            }
            Metric::GpuPowerDraw => Self {
                counted,
                steps: counts(points, Scale::Mebibytes, scratch),
                sum: Some(whole_sum(points.values().map(|watts| watts * MILLIWATTS))),
                ..none
            },
            Metric::GpuSmActivity | Metric::CpuUtilization => {
                Self { counted, steps: counts(points, Scale::Percent, scratch), ..none }
            }
            Metric::GpuEncoderSessions => Self { counted, max: max(), ..none },
            Metric::NetworkIn | Metric::NetworkOut => {
                let sum = Some(whole_sum(points.values()));
                Self { counted, sum, max: busiest_hour_gbps(points), ..none }
            }
            _ => Self { max: max(), ..none },
        }
    }

    /// Figures that a file can keep.
    pub(super) fn kept(&self, metric: Metric) -> StoredFigures {
        let counted = self.counted.filter(|_| metric != Metric::GpuEncoderSessions);
        let of_any_period = counted.filter(|_| metric != Metric::GpuPowerDraw);
        StoredFigures {
            count: counted.map(|counted| counted.count),
            period_seconds: of_any_period.map(|counted| counted.period_seconds),
            counts: self.steps.counts().collect(),
            min: self.min,
            max: self.max,
            sum: self.sum,
            active: self.active,
            first: self.first,
            last: self.last,
        }
    }

    /// By what was kept of a day, counted from the epoch; `None` if a figure is missing, or no
    /// series can have it.
    pub(super) fn of_kept(
        (metric, statistic): (Metric, Statistic),
        kept: &StoredFigures,
        day: i64,
    ) -> Option<Self> {
        let none = Self::default();
        let counted = || Counted::of_kept(kept);
        let percents = || kept.histogram(Scale::Percent);
        Some(match metric {
            Metric::GpuUtilization if statistic == Statistic::Average => {
                let steps = percents()?;
                let counts =
                    || steps.counts().map(|(step, count)| (u64::from(step), u64::from(count)));
                let (count, sum) =
                    (steps.len(), counts().map(|(step, count)| step * count).sum::<u64>());
                let largest = counts().last().map(|(step, _)| step)? as f64;
                let daily = vec![Day { day, count, sum, largest }];
                Self { counted: Some(counted()?), steps, daily, ..none }
            }
            Metric::GpuUtilization => Self {
                counted: Some(counted()?),
                max: Some(kept.max?),
                active: Some(kept.active?),
                first: Some(kept.first?),
                last: Some(kept.last?),
                ..none
            },
            Metric::GpuMemoryUsed => {
                let steps = match statistic {
                    Statistic::Average => kept.histogram(Scale::Mebibytes)?,
                    _ => Histogram::default(),
                };
                let (counted, min, max) = (Some(counted()?), kept.min?, kept.max?);
                let daily = vec![Day { day, count: 0, sum: 0, largest: max }];
                let is_sound = min <= max;
                let amount = Self { counted, steps, min: Some(min), max: Some(max), daily, ..none };
                return is_sound.then_some(amount);
            }
            Metric::GpuPowerDraw => {
                let steps = match kept.counts.as_slice() {
                    [] => Histogram::default(),
                    _ => kept.histogram(Scale::Mebibytes)?,
                };
                let counted = Counted { count: kept.count?, period_seconds: KEPT_POWER_SECONDS };
                Self { counted: Some(counted), steps, sum: Some(kept.sum?), ..none }
            }
            Metric::GpuSmActivity | Metric::CpuUtilization => {
                Self { counted: Some(counted()?), steps: percents()?, ..none }
            }
            Metric::NetworkIn | Metric::NetworkOut => {
                let (sum, max) = (Some(kept.sum?), Some(kept.max?));
                Self { counted: Some(counted()?), sum, max, ..none }
            }
            _ => Self { max: Some(kept.max?), ..none },
        })
    }

    /// Adds what was measured at other times.
    pub(super) fn merge(&mut self, other: &Self) {
        let both = self.counted.zip(other.counted);
        self.counted = both.map(|(own, others)| own.plus(others));
        // Percentiles of a part of the time are none of all of it.
        self.steps = if self.steps.is_empty() || other.steps.is_empty() {
            Histogram::default()
        } else {
            self.steps.merge(&other.steps)
        };
        self.min = self.min.into_iter().chain(other.min).reduce(f64::min);
        self.max = self.max.into_iter().chain(other.max).reduce(f64::max);
        self.sum = self.sum.into_iter().chain(other.sum).reduce(u64::saturating_add);
        self.active = self.active.into_iter().chain(other.active).reduce(u64::saturating_add);
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.max(other.last);
        self.daily.extend(&other.daily);
        self.daily.sort_unstable_by_key(|day| day.day);
        self.daily.dedup_by(|next, kept| {
            let is_same = next.day == kept.day;
            if is_same {
                kept.add(next);
            }
            is_same
        });
        match (&mut self.hours, &other.hours) {
            (Some(own), Some(others)) => own.merge(others),
            (None, others) => self.hours.clone_from(others),
            (Some(_), None) => {}
        }
    }

    /// How many of the samples of a running time there are.
    pub(super) fn samples(&self, running_seconds: i64, cadence: Cadence) -> Option<Samples> {
        Some(self.counted?.over(running_seconds, cadence))
    }

    /// Of averages, the larger of the 99.5th percentile and the median of the daily maxima.
    pub(super) fn demand_peak(&self) -> Option<f64> {
        let [high] = self.steps.quantiles(Scale::Percent, [0.995])?;
        let mut daily: Vec<f64> =
            self.daily.iter().map(|day| percent(day.largest as u16)).collect();
        daily.sort_unstable_by(f64::total_cmp);
        Some(high.max(quantile(&daily, 0.5)?))
    }

    pub(super) fn maxima(&self, running_seconds: i64, cadence: Cadence) -> Option<Maxima> {
        let period = self.counted?.seconds(cadence);
        Some(Maxima {
            largest: self.max?,
            active_seconds: self.active? * u64::from(period),
            observed_seconds: self.last? - self.first? + i64::from(period),
            samples: self.samples(running_seconds, cadence)?,
        })
    }

    /// Time in averages of memory above a share of a card.
    pub(super) fn seconds_above(&self, mib: f64, cadence: Cadence) -> Option<u64> {
        let counts = self.steps.counts();
        let above = counts.filter(|(step, _)| Scale::Mebibytes.value(*step) > mib);
        let count: u64 = above.map(|(_, count)| u64::from(count)).sum();
        Some(count * u64::from(self.counted?.seconds(cadence)))
    }

    /// 95th percentile of memory.
    pub(super) fn p95_mib(&self) -> Option<f64> {
        let [p95] = self.steps.quantiles(Scale::Mebibytes, [0.95])?;
        Some(p95.clamp(self.min?, self.max?))
    }

    /// Whether memory is what an engine took ahead of a card, by averages where there are any.
    pub(super) fn is_reserved(&self, averages: Option<&Self>, card_mib: f64) -> bool {
        let from = VramSummary::in_use_from_mib(card_mib);
        let least = averages.and_then(|sampled| sampled.steps.low(Scale::Mebibytes, from));
        least
            .or(self.min)
            .zip(self.max)
            .is_some_and(|(least, most)| VramSummary::says_reserved(least, most, card_mib))
    }

    pub(super) fn power(&self, running_seconds: i64, cadence: Cadence) -> Option<PowerSummary> {
        let count = self.counted?.count;
        let p95 = self.steps.quantiles(Scale::Mebibytes, [0.95]);
        let sum = self.sum.filter(|_| count > 0)?;
        Some(PowerSummary {
            mean_w: sum as f64 / count as f64 / MILLIWATTS,
            p95_w: p95.map(|[p95]| p95),
            samples: self.samples(running_seconds, cadence)?,
        })
    }

    pub(super) fn sm(&self, running_seconds: i64, cadence: Cadence) -> Option<SmSummary> {
        let [p95_percent] = self.steps.quantiles(Scale::Percent, [0.95])?;
        Some(SmSummary { p95_percent, samples: self.samples(running_seconds, cadence)? })
    }
}

/// How many samples a metric has, and what time each stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) count: u64,
    pub(super) period_seconds: u32,
}

impl Counted {
    fn of(points: &Points) -> Self {
        Self { count: points.len() as u64, period_seconds: points.period_seconds() }
    }

    fn of_kept(kept: &StoredFigures) -> Option<Self> {
        Some(Self { count: kept.count?, period_seconds: kept.period_seconds? })
    }

    fn plus(self, other: Self) -> Self {
        Self { count: self.count + other.count, ..self }
    }

    pub(super) fn over(self, running_seconds: i64, cadence: Cadence) -> Samples {
        Samples {
            outage: cadence.outage,
            ..Samples::over(self.count, running_seconds, self.seconds(cadence))
        }
    }

    /// What a sample stands for.
    pub(super) fn seconds(self, cadence: Cadence) -> u32 {
        self.period_seconds.saturating_mul(cadence.step)
    }

    pub(super) fn days(self, cadence: Cadence) -> f64 {
        self.count as f64 * f64::from(self.seconds(cadence)) / DAY_SECONDS as f64
    }
}

/// The counts of a series by step of a scale; `scratch` is of zeros before and after.
fn counts(points: &Points, scale: Scale, scratch: &mut Vec<u32>) -> Histogram {
    let (mut lowest, mut highest) = (usize::MAX, 0);
    for (_, count, values) in points.runs() {
        // One value stands for all of its run.
        let each = if values.len() == 1 { count } else { 1 };
        for value in values {
            let bin = usize::from(scale.bin(f64::from(*value)));
            if bin >= scratch.len() {
                scratch.resize(bin + 1, 0);
            }
            scratch[bin] += each;
            (lowest, highest) = (lowest.min(bin), highest.max(bin));
        }
    }
    let Some(seen) = scratch.get_mut(lowest..=highest) else { return Histogram::default() };
    let filled = seen.iter_mut().zip(lowest..).filter(|(count, _)| **count > 0);
    Histogram::of(filled.map(|(count, bin)| (bin as u16, std::mem::take(count))))
}

/// The value of points that is picked of any two; `None` of none.
fn extreme(points: &Points, pick: fn(f32, f32) -> f32) -> Option<f64> {
    let values = points.runs().flat_map(|(_, _, values)| values);
    values.copied().reduce(pick).map(widen)
}

/// Points at which a GPU was active.
fn active(points: &Points) -> u64 {
    let active = points.runs().map(|(_, count, values)| {
        let each = if values.len() == 1 { count } else { 1 };
        let works = |value: &&f32| f64::from(**value) >= ACTIVE_PERCENT;
        values.iter().filter(works).count() as u64 * u64::from(each)
    });
    active.sum()
}

/// A sum of values, each rounded to a whole one.
fn whole_sum(values: impl Iterator<Item = f64>) -> u64 {
    values.fold(0, |sum: u64, value| sum.saturating_add(value.round() as u64))
}

/// Hours are those of UTC.
fn busiest_hour_gbps(points: &Points) -> Option<f64> {
    let period = i64::from(points.period_seconds().max(1));
    let start = points.start().as_second();
    let mut hours: BTreeMap<i64, (f64, i64)> = BTreeMap::new();
    for (index, bytes) in points.iter() {
        let hour = (start + i64::from(index) * period).div_euclid(HOUR_SECONDS);
        let (sum, seconds) = hours.entry(hour).or_default();
        *sum += bytes;
        *seconds += period;
    }
    let rates = hours.values().map(|(bytes, seconds)| bytes * 8.0 / *seconds as f64 / 1e9);
    rates.reduce(f64::max)
}

/// What one day of UTC amounts to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Day {
    /// Days since the epoch.
    pub(super) day: i64,
    /// Points, and their sum in hundredths of a percent; 0 of memory.
    count: u64,
    sum: u64,
    /// Hundredths of a percent, or MiB.
    pub(super) largest: f64,
}

impl Day {
    /// Of percentages, each of which stands for so many points.
    fn of_percents(day: i64, percents: &[f32], each: u64) -> Self {
        let own = percents.iter().map(|value| hundredths(f64::from(*value)));
        Self {
            day,
            count: percents.len() as u64 * each,
            sum: own.clone().map(u64::from).sum::<u64>() * each,
            largest: own.max().map_or(0.0, f64::from),
        }
    }

    fn of_memory(day: i64, mebibytes: &[f32], _: u64) -> Self {
        let largest = mebibytes.iter().copied().reduce(f32::max).map_or(0.0, widen);
        Self { day, count: 0, sum: 0, largest }
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.largest = self.largest.max(other.largest);
    }

    /// `None` of a day that is too far from the epoch.
    pub(super) fn figures(&self) -> Option<GpuDay> {
        // The mean is at most the largest, which fits.
        let mean = (self.sum + self.count / 2).checked_div(self.count)?;
        Some(GpuDay {
            day: i32::try_from(self.day).ok()?,
            mean: u16::try_from(mean).ok()?,
            largest: self.largest as u16,
        })
    }
}

/// Each day of UTC of points, ascending.
fn days(points: &Points, of: fn(i64, &[f32], u64) -> Day) -> Vec<Day> {
    let start = points.start().as_second();
    let period = i64::from(points.period_seconds().max(1));
    let day_of = |index: i64| (start + index * period).div_euclid(DAY_SECONDS);
    // The first place on the grid that begins on a later day.
    let end_of = |day: i64| ((day + 1) * DAY_SECONDS - start + period - 1) / period;
    let mut days: Vec<Day> = Vec::new();
    for (first, count, values) in points.runs() {
        let (mut index, end) = (i64::from(first), i64::from(first) + i64::from(count));
        while index < end {
            let day = day_of(index);
            let until = end_of(day).min(end);
            let place = |index: i64| (index - i64::from(first)) as usize;
            let today = match values {
                // One value stands for all of its run.
                [_] => of(day, values, (until - index) as u64),
                _ => of(day, &values[place(index)..place(until)], 1),
            };
            match days.last_mut() {
                Some(known) if known.day == day => known.add(&today),
                _ => days.push(today),
            }
            index = until;
        }
    }
    days
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Window;
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
            let daily = days(&Points::clean(raw, key, window, 3_600).0, Day::of_memory);
            Amount { daily, ..Amount::default() }
        };
        let largest = |amount: &Amount| -> Vec<(i64, f64)> {
            amount.daily.iter().map(|day| (day.day, day.largest)).collect()
        };
        let first = start.as_second().div_euclid(DAY_SECONDS);
        let rising = of(0..36, |hour| 100.0 + hour as f64);
        assert_eq!(largest(&rising), [(first, 111.0), (first + 1, 135.0)]);
        let flat = of(0..36, |_| 7.0);
        assert_eq!(largest(&flat), [(first, 7.0), (first + 1, 7.0)]);
        let mut parts = of(20..36, |hour| 100.0 + hour as f64);
        parts.merge(&of(0..20, |hour| 100.0 + hour as f64));
        assert_eq!(parts, rising);
    }

    const POWER: (Metric, Statistic) = (Metric::GpuPowerDraw, Statistic::Average);

    fn of(watts: &[u16]) -> Amount {
        let mut bins: Vec<(u16, u32)> = Vec::new();
        for level in watts {
            bins.push((*level, 1));
        }
        Amount {
            counted: Some(Counted {
                count: watts.len() as u64,
                period_seconds: KEPT_POWER_SECONDS,
            }),
            sum: Some(whole_sum(watts.iter().map(|level| f64::from(*level) * MILLIWATTS))),
            steps: Histogram::of(bins),
            ..Amount::default()
        }
    }

    #[test]
    fn parts_have_the_percentiles_of_the_whole_and_a_bare_sum_has_none() {
        let mut parts = of(&[60, 61]);
        parts.merge(&of(&[62, 300]));
        assert_eq!(parts, of(&[60, 61, 62, 300]));
        let figures = parts.power(4 * 3_600, Cadence::EVERY_PERIOD).expect("four readings");
        assert_eq!(figures.mean_w, 483.0 / 4.0);
        // Rank 0.95 × 3 = 2.85: 62 + 0.85 × 238.
        assert_eq!(figures.p95_w.map(|watts| (watts * 10.0).round()), Some(2_643.0));
        let bare = StoredFigures { counts: Vec::new(), ..parts.kept(Metric::GpuPowerDraw) };
        let bare = Amount::of_kept(POWER, &bare, 0).expect("count and sum");
        assert_eq!(
            bare.power(4 * 3_600, Cadence::EVERY_PERIOD).map(|power| power.p95_w),
            Some(None)
        );
        parts.merge(&bare);
        assert_eq!(
            parts.power(8 * 3_600, Cadence::EVERY_PERIOD).and_then(|power| power.p95_w),
            None
        );
        assert_eq!(
            Amount::of_kept(POWER, &of(&[60, 61]).kept(Metric::GpuPowerDraw), 0),
            Some(of(&[60, 61]))
        );
    }

    /// Power by its sum alone.
    fn sum_of(watts: &[f64]) -> Amount {
        let sum = whole_sum(watts.iter().map(|watts| watts * MILLIWATTS));
        Amount { sum: Some(sum), ..of(&vec![0; watts.len()]) }
    }

    fn count_and_sum(power: &Amount) -> (Option<u64>, Option<u64>) {
        (power.counted.map(|counted| counted.count), power.sum)
    }

    #[test]
    fn parts_add_up_to_the_whole_in_any_order() {
        // As doubles, 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1.
        let whole = sum_of(&[0.1, 0.2, 0.3]);
        let mut parts = sum_of(&[0.3, 0.2]);
        parts.merge(&sum_of(&[0.1]));
        assert_eq!(count_and_sum(&parts), count_and_sum(&whole));
        assert_eq!(count_and_sum(&whole), (Some(3), Some(600)));
        let mean = |power: &Amount| Some(power.power(3_600, Cadence::EVERY_PERIOD)?.mean_w);
        assert_eq!(mean(&whole), Some(0.2));
        assert_eq!(mean(&sum_of(&[])), None);
    }

    #[test]
    fn what_is_larger_than_the_largest_is_the_largest() {
        let huge = f64::from(f32::MAX) / MILLIWATTS;
        let mut largest = sum_of(&[huge, 1.0]);
        assert_eq!(largest.sum, Some(u64::MAX));
        let same = largest.clone();
        largest.merge(&same);
        assert_eq!(count_and_sum(&largest), (Some(4), Some(u64::MAX)));
    }
}
