//! Time series as a metrics source delivered them, cleaned once at the door.

use super::mean;
use crate::domain::{
    HOUR_SECONDS, JoinedBy, Metric, Rejected, ResourceId, SeriesSource, Statistic, Window,
};
use jiff::Timestamp;

/// What tells one series of an instance from another.
pub(super) type SeriesKey = (Metric, Option<u16>, Statistic);

/// At most one in so many distances may be shorter than a cadence.
const SHORTER_IN: u32 = 8;

/// How many periods lie between two samples: the most frequent distance up to an hour, if it
/// is half or more of these and hardly any is shorter; else 1. Of ascending places on a grid.
pub(super) fn spacing(places: impl Iterator<Item = u32>, period_seconds: u32) -> u32 {
    let most = HOUR_SECONDS as u32 / period_seconds.max(1);
    let mut counts = vec![0_u32; most as usize + 1];
    let mut last: Option<u32> = None;
    for place in places {
        let distance = last.replace(place).map(|last| place - last);
        let count = distance.and_then(|distance| counts.get_mut(distance as usize));
        if let Some(count) = count {
            *count += 1;
        }
    }
    let total: u32 = counts.iter().sum();
    let is_usual = |distance: &u32| {
        let shorter: u32 = counts[1..*distance as usize].iter().sum();
        counts[*distance as usize] * 2 >= total && shorter * SHORTER_IN <= total
    };
    (1..=most).filter(|_| total > 0).find(is_usual).unwrap_or(1)
}

/// One value for several readings of a period; `None` of nothing.
fn one_of(statistic: Statistic, readings: &[f64]) -> Option<f64> {
    match statistic {
        Statistic::Average => mean(readings),
        Statistic::Maximum => readings.iter().copied().reduce(f64::max),
        Statistic::Sum => readings.iter().copied().reduce(|sum, next| sum + next),
    }
}

/// Whether a metric can have a value; counts one that it cannot so many times.
fn is_valid(metric: Metric, value: f64, times: u64, rejected: &mut Rejected) -> bool {
    let count = if !(value as f32).is_finite() {
        &mut rejected.not_a_number
    } else if value < 0.0 {
        &mut rejected.negative
    } else if metric.is_percent() && value > 100.0 {
        &mut rejected.over_100
    } else {
        return true;
    };
    *count += times;
    false
}

/// Points on a regular grid with gaps: ascending, at most one a period, all
/// inside the window, all valid. Stored as runs of single-precision values
/// (percentages and MiB fit it exactly enough) because a fleet has millions.
#[derive(Debug, Clone)]
pub struct Points {
    start: Timestamp,
    period_seconds: u32,
    /// How long after the beginning of its period each reading was taken; absent where they
    /// differ. It tells readings of one time in two records of a series.
    offset_seconds: Option<u32>,
    runs: Vec<Run>,
}

impl PartialEq for Points {
    fn eq(&self, other: &Self) -> bool {
        (self.start, self.period_seconds) == (other.start, other.period_seconds)
            && self.runs == other.runs
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Run {
    first: u32,
    count: u32,
    /// One for each point, or one for all.
    values: Vec<f32>,
}

impl Run {
    /// As many values as are worth a run of their own.
    const WORTH_A_RUN: u32 = 16;
    /// A longer one ends, so that what follows may be a run of one value.
    const LONGEST: usize = 4096;

    fn of(first: u32, value: f32) -> Self {
        Self { first, count: 1, values: vec![value] }
    }

    fn is_constant(&self) -> bool {
        self.values.len() == 1
    }

    /// Takes the next value, unless another run does better.
    fn take(&mut self, value: f32) -> bool {
        if self.is_constant()
            && self.values.first().map(|own| own.to_bits()) == Some(value.to_bits())
        {
            self.count += 1;
            return true;
        }
        if self.is_constant() && self.count >= Self::WORTH_A_RUN
            || self.values.len() >= Self::LONGEST
        {
            return false;
        }
        if let (true, Some(own)) = (self.is_constant(), self.values.first().copied()) {
            self.values.resize(self.count as usize, own);
        }
        self.values.push(value);
        self.count += 1;
        true
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        let of_one = self.is_constant().then(|| self.values.first().copied()).flatten();
        let repeated = of_one.map(|value| std::iter::repeat_n(value, self.count as usize));
        let own = if of_one.is_some() { &[][..] } else { &self.values };
        let values = repeated.into_iter().flatten().chain(own.iter().copied());
        values.map(widen)
    }
}

impl Points {
    /// No points, on the grid of a window.
    pub fn empty(window: Window, period_seconds: u32) -> Self {
        Self { start: window.start, period_seconds, offset_seconds: Some(0), runs: Vec::new() }
    }

    /// Cleans raw points in any order: drops what is not a number, negative, an
    /// impossible percentage, or in the future, and counts each; points before the
    /// window are left out silently. Several readings inside one period become one
    /// value by the statistic: the mean of averages, the largest of maxima, the sum
    /// of sums. Of readings with one and the same time the last wins.
    pub fn clean(
        raw: impl IntoIterator<Item = (Timestamp, f64)>,
        (metric, statistic): (Metric, Statistic),
        window: Window,
        period_seconds: u32,
    ) -> (Self, Rejected) {
        let mut rejected = Rejected::default();
        let mut kept: Vec<(Timestamp, f64)> = Vec::new();
        for (time, value) in raw {
            if time >= window.end {
                rejected.future += 1;
            } else if time >= window.start && is_valid(metric, value, 1, &mut rejected) {
                kept.push((time, value));
            }
        }
        // A stable sort keeps the order of arrival among duplicates.
        kept.sort_by_key(|(time, _)| *time);
        let period = i64::from(period_seconds.max(1));
        let since_start = |time: Timestamp| time.as_second() - window.start.as_second();
        let index = |time: Timestamp| u32::try_from(since_start(time) / period).unwrap_or(u32::MAX);
        let mut points = Self::empty(window, period_seconds);
        let mut offsets = kept.iter().map(|(time, _)| since_start(*time) % period);
        if let Some(first) = offsets.next() {
            let offset = u32::try_from(first).ok();
            points.offset_seconds = offset.filter(|_| offsets.all(|other| other == first));
        }
        for readings in kept.chunk_by(|(left, _), (right, _)| index(*left) == index(*right)) {
            let mut distinct: Vec<f64> = Vec::with_capacity(1);
            for same in readings.chunk_by(|(left, _), (right, _)| left == right) {
                rejected.duplicate += same.len() as u64 - 1;
                distinct.extend(same.last().map(|(_, value)| *value));
            }
            if let (Some((time, _)), Some(value)) = (readings.first(), one_of(statistic, &distinct))
            {
                points.push(index(*time), value as f32);
            }
        }
        (points, rejected)
    }

    /// Cleans values that follow each other period by period from an instant on, each
    /// with how often it is repeated; absent where there is none. As [`Points::clean`]
    /// of every one of them with its time.
    pub fn regular(
        from: Timestamp,
        values: impl IntoIterator<Item = (Option<f64>, u32)>,
        (metric, _): (Metric, Statistic),
        window: Window,
        period_seconds: u32,
    ) -> (Self, Rejected) {
        let period = i64::from(period_seconds.max(1));
        let mut rejected = Rejected::default();
        let mut points = Self::empty(window, period_seconds);
        let offset = from.as_second() - window.start.as_second();
        // Places of the grid, counted from the first value: the first one in the window
        // and the first one after it.
        let places = |seconds: i64| (seconds.max(0) + period - 1) / period;
        let (begins, ends) = (places(-offset), places(window.seconds() - offset));
        let place = offset.div_euclid(period);
        points.offset_seconds = u32::try_from(offset.rem_euclid(period)).ok();
        let mut next = 0;
        for (value, times) in values {
            let (first, last) = (next, next + i64::from(times));
            next = last;
            let Some(value) = value else { continue };
            rejected.future += (last - first.max(ends)).max(0) as u64;
            let (first, last) = (first.max(begins), last.min(ends));
            let inside = (last - first).max(0);
            if is_valid(metric, value, inside as u64, &mut rejected) && inside > 0 {
                let index = u32::try_from(place + first).unwrap_or(u32::MAX);
                points.push_repeated(index, value as f32, inside as u32);
            }
        }
        (points, rejected)
    }

    /// The points of several records of one series on one grid, in their order, as if they had
    /// been cleaned together, with how many repeat the time of a later one. Values of one
    /// period are combined by the statistic; of those with one and the same time the last
    /// wins.
    pub(super) fn joined(records: &[&Self], statistic: Statistic) -> Option<(Self, u64)> {
        let (first, others) = records.split_first()?;
        let grid = Window { start: first.start, end: first.start };
        let mut joined = Self::empty(grid, first.period_seconds);
        let is_same = |other: &&Self| other.offset_seconds == first.offset_seconds;
        joined.offset_seconds = first.offset_seconds.filter(|_| others.iter().all(is_same));
        let numbered = records.iter().enumerate();
        let mut numbered_readings: Vec<(u32, usize, f64)> = numbered
            .flat_map(|(record, series)| {
                series.iter().map(move |(index, value)| (index, record, value))
            })
            .collect();
        numbered_readings.sort_by_key(|(index, record, _)| (*index, *record));
        let mut repeated = 0;
        for readings in numbered_readings.chunk_by(|left, right| left.0 == right.0) {
            let offset =
                |record: usize| records.get(record).and_then(|points| points.offset_seconds);
            let is_last = |place: &usize| {
                let own = offset(readings[*place].1);
                let mut later = readings.iter().skip(place + 1);
                own.is_none() || !later.any(|(_, record, _)| offset(*record) == own)
            };
            let places = (0..readings.len()).filter(is_last);
            let mut values: Vec<f64> = places.map(|place| readings[place].2).collect();
            repeated += (readings.len() - values.len()) as u64;
            // In one order whatever that of the records is.
            values.sort_unstable_by(f64::total_cmp);
            if let (Some((index, ..)), Some(value)) = (readings.first(), one_of(statistic, &values))
            {
                joined.push(*index, value as f32);
            }
        }
        Some((joined, repeated))
    }

    /// Appends a value so many times, which is at least once.
    fn push_repeated(&mut self, index: u32, value: f32, times: u32) {
        self.push(index, value);
        match self.runs.last_mut() {
            Some(run) if run.is_constant() => run.count += times - 1,
            _ => (index + 1..index + times).for_each(|place| self.push(place, value)),
        }
    }

    /// Appends a value; indices must ascend.
    pub(super) fn push(&mut self, index: u32, value: f32) {
        let follows = |run: &&mut Run| run.first + run.count == index;
        let is_taken = self.runs.last_mut().filter(follows).is_some_and(|run| run.take(value));
        if !is_taken {
            self.runs.push(Run::of(index, value));
        }
    }

    /// First instant of the grid.
    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// Distance of two grid points.
    pub fn period_seconds(&self) -> u32 {
        self.period_seconds
    }

    pub fn len(&self) -> usize {
        self.runs.iter().map(|run| run.count as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Every point as (index on the grid, value), ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.runs.iter().flat_map(|run| (run.first..).zip(run.values()))
    }

    /// How many periods of a grid lie between two of them, where they are on that grid; 1 of
    /// those that stand for several of its periods anyway.
    pub(super) fn spacing(&self, period_seconds: u32) -> u32 {
        if self.period_seconds > period_seconds {
            return 1;
        }
        spacing(self.iter().map(|(index, _)| index), self.period_seconds)
    }

    /// Stretches of points as (index of the first, how many, their values), ascending;
    /// one value alone stands for each of its stretch.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u32, u32, &[f32])> {
        let runs = self.runs.iter();
        runs.map(|run| (run.first, run.count, run.values.as_slice()))
    }

    /// When the periods of the first and of the last point begin, seconds since the epoch.
    pub(super) fn ends(&self) -> Option<(i64, i64)> {
        let (first, last) = (self.runs.first()?, self.runs.last()?);
        let begin =
            |place: u32| self.start.as_second() + i64::from(place) * i64::from(self.period_seconds);
        Some((begin(first.first), begin(last.first + last.count - 1)))
    }

    /// Every value, ascending in time.
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.runs.iter().flat_map(Run::values)
    }
}

/// The double that a decimal reading such as 33.3 stood for: widening bit by
/// bit would read 33.29999923706055.
pub(super) fn widen(value: f32) -> f64 {
    let exact = f64::from(value);
    let rounded = (exact * 10_000.0).round() / 10_000.0;
    if rounded as f32 == value { rounded } else { exact }
}

/// One series of one GPU or instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub instance: ResourceId,
    /// The GPU's index on the host; absent for metrics of the instance.
    pub gpu: Option<u16>,
    pub metric: Metric,
    /// How readings became one value a period.
    pub statistic: Statistic,
    pub source: SeriesSource,
    /// How it was matched to the instance.
    pub joined_by: JoinedBy,
    pub points: Points,
    pub rejected: Rejected,
}

impl Series {
    /// What tells it from other series of its instance.
    pub(super) fn key(&self) -> SeriesKey {
        (self.metric, self.gpu, self.statistic)
    }

    /// Whether it shows when its instance ran.
    pub fn shows_running(&self) -> bool {
        let shows = [Metric::CpuUtilization, Metric::GpuUtilization, Metric::GpuPowerUtilization];
        self.statistic == Statistic::Average && shows.contains(&self.metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window() -> Window {
        Window {
            start: Timestamp::from_second(3_000).expect("in range"),
            end: Timestamp::from_second(6_000).expect("in range"),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    #[test]
    fn bad_points_are_dropped_and_counted() {
        let raw = vec![
            (at(3_900), 12.0),
            (at(3_000), 10.0),
            (at(3_300), f64::NAN),
            (at(3_600), -1.0),
            (at(4_200), 101.0),
            (at(3_900), 13.0),
            (at(6_000), 50.0),
            (at(2_999), 99.0),
        ];
        let (points, rejected) =
            Points::clean(raw, (Metric::GpuUtilization, Statistic::Average), window(), 300);
        assert_eq!(points.iter().collect::<Vec<_>>(), vec![(0, 10.0), (3, 13.0)]);
        assert_eq!(
            rejected,
            Rejected { not_a_number: 1, negative: 1, over_100: 1, duplicate: 1, future: 1 }
        );
    }

    #[test]
    fn readings_inside_a_period_are_combined_by_their_statistic() {
        // 3 000 to 3 299 is the first period. The reading at 3 060 came twice.
        let raw = [
            (at(3_240), 30.0),
            (at(3_000), 10.0),
            (at(3_060), 99.0),
            (at(3_060), 50.0),
            (at(3_300), 7.0),
        ];
        let of = |statistic| {
            let metric = Metric::GpuMemoryUsed;
            let (points, rejected) = Points::clean(raw, (metric, statistic), window(), 300);
            assert_eq!(rejected.duplicate, 1);
            points.values().collect::<Vec<_>>()
        };
        assert_eq!(of(Statistic::Average), [30.0, 7.0], "(10 + 50 + 30) / 3");
        assert_eq!(of(Statistic::Maximum), [50.0, 7.0]);
        assert_eq!(of(Statistic::Sum), [90.0, 7.0]);
    }

    #[test]
    fn a_value_that_repeats_takes_the_room_of_one() {
        let window = Window { start: at(0), end: at(300 * 10_000) };
        // Five values, then 5,000 of one, a hole, and 4,000 of another in front of two.
        let value = |index: u32| match index {
            0..5 => f64::from(index),
            5..=5_004 => 40.0,
            5_006..=9_005 => 7.0,
            _ => f64::from(index % 3),
        };
        let indexes = (0..9_008).filter(|index| *index != 5_005);
        let raw = indexes.clone().map(|index| (at(i64::from(index) * 300), value(index)));
        let metric = (Metric::GpuUtilization, Statistic::Average);
        let (points, _) = Points::clean(raw, metric, window, 300);
        let expected: Vec<(u32, f64)> = indexes.map(|index| (index, value(index))).collect();
        assert_eq!(points.iter().collect::<Vec<_>>(), expected);
        assert_eq!(points.len(), expected.len());
        assert_eq!(points.values().count(), expected.len());
        let held: usize = points.runs.iter().map(|run| run.values.len()).sum();
        assert!(held <= Run::LONGEST + 20, "{held}");
    }

    #[test]
    fn regular_values_are_cleaned_as_points_with_times() {
        // From 1,000 seconds before the window to 2,000 after it, off its grid.
        let cells = [
            (Some(5.0), 2),
            (Some(-1.0), 1),
            (Some(40.0), 30),
            (None, 1),
            (Some(101.0), 1),
            (Some(7.5), 2),
            (Some(f64::NAN), 1),
            (Some(8.0), 60),
        ];
        for (offset, period) in [(-1_000, 100), (-950, 100), (0, 100), (50, 60)] {
            let each = cells
                .iter()
                .flat_map(|(value, times)| std::iter::repeat_n(*value, *times as usize));
            let raw = (0..).zip(each).filter_map(|(index, value)| {
                Some((at(3_000 + offset + index * i64::from(period)), value?))
            });
            let what = (Metric::GpuUtilization, Statistic::Average);
            let (points, rejected) = Points::clean(raw, what, window(), period);
            let from = at(3_000 + offset);
            let (regular, dropped) = Points::regular(from, cells, what, window(), period);
            assert_eq!(
                regular.iter().collect::<Vec<_>>(),
                points.iter().collect::<Vec<_>>(),
                "{offset} {period}"
            );
            assert_eq!(dropped, rejected, "{offset} {period}");
        }
    }

    #[test]
    fn memory_may_exceed_one_hundred() {
        let (points, rejected) = Points::clean(
            [(at(3_000), 16_384.5)],
            (Metric::GpuMemoryUsed, Statistic::Maximum),
            window(),
            300,
        );
        assert_eq!(points.values().collect::<Vec<_>>(), vec![16_384.5]);
        assert_eq!(rejected.total(), 0);
    }

    #[test]
    fn decimal_readings_come_back_as_written() {
        let (points, _) = Points::clean(
            [(at(3_000), 33.3)],
            (Metric::GpuUtilization, Statistic::Average),
            window(),
            300,
        );
        assert_eq!(points.values().next(), Some(33.3));
    }

    #[test]
    fn the_most_frequent_distance_is_the_cadence() {
        let of = |places: &[u32]| spacing(places.iter().copied(), 300);
        assert_eq!(of(&[0, 1, 2, 3]), 1);
        assert_eq!(of(&[2, 5, 8, 11]), 3);
        // Holes of any length leave the cadence: three distances of 3, one of 6 and one of 50.
        assert_eq!(of(&[0, 3, 6, 12, 15, 65]), 3);
        // An hour is twelve periods; a day is no cadence.
        assert_eq!(of(&[0, 12, 24]), 12);
        assert_eq!(of(&[0, 288, 576]), 1);
        // None is half of them.
        assert_eq!(of(&[0, 2, 5, 9]), 1);
        assert_eq!(of(&[]), 1);
        assert_eq!(spacing([0, 2].into_iter(), 3_600), 1);
    }

    #[test]
    fn records_of_one_series_are_cleaned_as_one() {
        let what = (Metric::NetworkIn, Statistic::Sum);
        let clean = |raw: &[(i64, f64)]| {
            let raw = raw.iter().map(|(second, value)| (at(*second), *value));
            Points::clean(raw, what, window(), 300).0
        };
        let joined = |records: &[&Points], statistic| {
            let (points, repeated) = Points::joined(records, statistic).expect("records");
            (points.iter().collect::<Vec<_>>(), repeated)
        };
        // In turn, one period each.
        let (even, odd) =
            (clean(&[(3_000, 1.0), (3_600, 3.0)]), clean(&[(3_300, 2.0), (3_900, 4.0)]));
        let values = vec![(0, 1.0), (1, 2.0), (2, 3.0), (3, 4.0)];
        assert_eq!(joined(&[&even, &odd], Statistic::Sum), (values.clone(), 0));
        assert_eq!(joined(&[&odd, &even], Statistic::Sum), (values, 0));
        // A minute later in the same period: 1 + 5, the larger, and (1 + 5) / 2.
        let later = clean(&[(3_060, 5.0)]);
        for (statistic, value) in
            [(Statistic::Sum, 6.0), (Statistic::Maximum, 5.0), (Statistic::Average, 3.0)]
        {
            let expected = vec![(0, value), (2, 3.0)];
            assert_eq!(joined(&[&even, &later], statistic), (expected.clone(), 0));
            assert_eq!(joined(&[&later, &even], statistic), (expected, 0));
        }
        // Of one and the same time the last wins.
        let again = clean(&[(3_000, 7.0)]);
        let expected = vec![(0, 7.0), (2, 3.0)];
        assert_eq!(joined(&[&even, &again], Statistic::Sum), (expected, 1));
        let expected = vec![(0, 1.0), (2, 3.0)];
        assert_eq!(joined(&[&again, &even], Statistic::Sum), (expected, 1));
    }
}
