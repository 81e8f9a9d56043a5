//! What one GPU did, metric by metric.

use super::Points;
use super::cadence::Cadence;
use super::counted::Counted;
use super::daily_peaks::DailyPeaks;
use super::histogram::{Histogram, Scale, hundredths, percent};
use super::hour_means::HourSums;
use super::kept::StoredFigures;
use super::power::Power;
use super::series::widen;
use super::sm_activity::SmActivity;
use super::statistics::quantile;
use super::together::Moments;
use crate::domain::{
    ACTIVE_PERCENT, DAY_SECONDS, Distribution, GpuDay, GpuUsage, Maxima, Metric,
    NEARLY_FULL_VRAM_PERCENT, ResourceId, Samples, Statistic, VramSummary,
};

/// Averages of utilization.
#[derive(Debug, Clone, PartialEq)]
struct Averages {
    counted: Counted,
    percents: Histogram,
    /// By day of UTC, ascending.
    daily: Vec<Daily>,
}

/// The averages of one day of UTC, in hundredths of a percent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Daily {
    /// Days since the epoch.
    day: i64,
    count: u64,
    sum: u64,
    largest: u16,
}

impl Daily {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.largest = self.largest.max(other.largest);
    }

    /// `None` of a day that is too far from the epoch.
    fn figures(&self) -> Option<GpuDay> {
        // The mean is at most the largest, which fits.
        let mean = (self.sum + self.count / 2).checked_div(self.count)?;
        Some(GpuDay {
            day: i32::try_from(self.day).ok()?,
            mean: u16::try_from(mean).ok()?,
            largest: self.largest,
        })
    }
}

/// Maxima of utilization.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Peaks {
    counted: Counted,
    largest_percent: f64,
    active: u64,
    /// When the periods of the first and of the last begin, seconds since the epoch.
    first: i64,
    last: i64,
}

/// Encoder sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sessions {
    /// Absent where days were recorded, of which the largest number alone is kept.
    counted: Option<Counted>,
    most: f64,
}

/// Memory in use.
#[derive(Debug, Clone, PartialEq)]
struct Memory {
    counted: Counted,
    /// Of averages alone.
    mebibytes: Histogram,
    smallest_mib: f64,
    largest_mib: f64,
    daily: DailyPeaks,
}

/// What one GPU did, as far as it was measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DeviceUsage {
    averages: Option<Averages>,
    peaks: Option<Peaks>,
    memory: Option<Memory>,
    memory_peaks: Option<Memory>,
    memory_total_mib: Option<f64>,
    power: Option<Power>,
    sm: Option<SmActivity>,
    temperature_max_c: Option<f64>,
    encoder: Option<Sessions>,
    /// Its averages by hour; absent of days that were read by their figures.
    hours: Option<HourSums>,
}

/// The counts of a series by step of a scale; `scratch` is of zeros before and after.
pub(super) fn counts(points: &Points, scale: Scale, scratch: &mut Vec<u32>) -> Histogram {
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

impl Averages {
    fn of(points: &Points, scratch: &mut Vec<u32>) -> Self {
        let start = points.start().as_second();
        let period = i64::from(points.period_seconds().max(1));
        let day_of = |index: i64| (start + index * period).div_euclid(DAY_SECONDS);
        // The first place on the grid that begins on a later day.
        let end_of = |day: i64| ((day + 1) * DAY_SECONDS - start + period - 1) / period;
        let mut daily: Vec<Daily> = Vec::new();
        for (first, count, values) in points.runs() {
            let (mut index, end) = (i64::from(first), i64::from(first) + i64::from(count));
            while index < end {
                let day = day_of(index);
                let until = end_of(day).min(end);
                let part = if values.len() == 1 {
                    values
                } else {
                    let place = |index: i64| (index - i64::from(first)) as usize;
                    &values[place(index)..place(until)]
                };
                let count = (until - index) as u64;
                // One value stands for all of its run.
                let each = if values.len() == 1 { count } else { 1 };
                let own = part.iter().map(|value| hundredths(f64::from(*value)));
                let today = Daily {
                    day,
                    count,
                    sum: own.clone().map(u64::from).sum::<u64>() * each,
                    largest: own.max().unwrap_or_default(),
                };
                match daily.last_mut() {
                    Some(known) if known.day == day => known.add(&today),
                    _ => daily.push(today),
                }
                index = until;
            }
        }
        Self {
            counted: Counted::of(points),
            percents: counts(points, Scale::Percent, scratch),
            daily,
        }
    }

    /// The larger of the 99.5th percentile and the median of the daily maxima.
    fn demand_peak(&self) -> Option<f64> {
        let [high] = self.percents.quantiles(Scale::Percent, [0.995])?;
        let mut daily: Vec<f64> = self.daily.iter().map(|day| percent(day.largest)).collect();
        daily.sort_unstable_by(f64::total_cmp);
        Some(high.max(quantile(&daily, 0.5)?))
    }

    fn kept(&self) -> StoredFigures {
        StoredFigures { counts: self.percents.counts().collect(), ..self.counted.kept() }
    }

    /// Averages of a day, counted from the epoch.
    fn of_kept(kept: &StoredFigures, day: i64) -> Option<Self> {
        let (largest, _) = kept.counts.last()?;
        let counts =
            || kept.counts.iter().map(|(step, count)| (u64::from(*step), u64::from(*count)));
        Some(Self {
            counted: kept.counted()?,
            percents: kept.histogram(Scale::Percent)?,
            daily: vec![Daily {
                day,
                count: counts().map(|(_, count)| count).sum(),
                sum: counts().map(|(step, count)| step * count).sum(),
                largest: *largest,
            }],
        })
    }

    fn merge(&mut self, other: &Self) {
        self.counted.merge(other.counted);
        self.percents = self.percents.merge(&other.percents);
        self.daily.extend(&other.daily);
        self.daily.sort_unstable_by_key(|day| day.day);
        self.daily.dedup_by(|next, kept| {
            let is_same = next.day == kept.day;
            if is_same {
                kept.add(next);
            }
            is_same
        });
    }
}

/// The figures of percentages; `None` of none.
pub(super) fn figures(percents: &Histogram) -> Option<Distribution> {
    let [p50, p95, p99] = percents.quantiles(Scale::Percent, [0.50, 0.95, 0.99])?;
    Some(Distribution {
        mean: percents.mean_percent()?,
        p50,
        p95,
        p99,
        max: percents.max(Scale::Percent)?,
    })
}

impl Peaks {
    fn of(points: &Points) -> Option<Self> {
        let mut active = 0;
        for (_, count, values) in points.runs() {
            let each = if values.len() == 1 { count } else { 1 };
            let works = |value: &&f32| f64::from(**value) >= ACTIVE_PERCENT;
            active += values.iter().filter(works).count() as u64 * u64::from(each);
        }
        let mut ends = points.runs().map(|(first, count, _)| (first, first + count - 1));
        let (first, last) = ends.next()?;
        let last = ends.last().map_or(last, |(_, last)| last);
        let begin = |place: u32| {
            points.start().as_second() + i64::from(place) * i64::from(points.period_seconds())
        };
        Some(Self {
            counted: Counted::of(points),
            largest_percent: extreme(points, f32::max)?,
            active,
            first: begin(first),
            last: begin(last),
        })
    }

    fn kept(&self) -> StoredFigures {
        StoredFigures {
            max: Some(self.largest_percent),
            active: Some(self.active),
            first: Some(self.first),
            last: Some(self.last),
            ..self.counted.kept()
        }
    }

    fn of_kept(kept: &StoredFigures) -> Option<Self> {
        Some(Self {
            counted: kept.counted()?,
            largest_percent: kept.max?,
            active: kept.active?,
            first: kept.first?,
            last: kept.last?,
        })
    }

    fn merge(&mut self, other: &Self) {
        self.counted.merge(other.counted);
        self.largest_percent = self.largest_percent.max(other.largest_percent);
        self.active += other.active;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }

    fn figures(self, running_seconds: i64, cadence: Cadence) -> Maxima {
        let period = self.counted.seconds(cadence);
        Maxima {
            largest: self.largest_percent,
            active_seconds: self.active * u64::from(period),
            observed_seconds: self.last - self.first + i64::from(period),
            samples: self.counted.over(running_seconds, cadence),
        }
    }
}

impl Memory {
    fn of(points: &Points, mebibytes: Histogram) -> Option<Self> {
        Some(Self {
            counted: Counted::of(points),
            mebibytes,
            smallest_mib: extreme(points, f32::min)?,
            largest_mib: extreme(points, f32::max)?,
            daily: DailyPeaks::of(points),
        })
    }

    /// Time in points above a share of a card.
    fn seconds_above(&self, mib: f64, cadence: Cadence) -> u64 {
        let counts = self.mebibytes.counts();
        let above = counts.filter(|(step, _)| Scale::Mebibytes.value(*step) > mib);
        let count: u64 = above.map(|(_, count)| u64::from(count)).sum();
        count * u64::from(self.counted.seconds(cadence))
    }

    fn p95_mib(&self) -> Option<f64> {
        let [p95] = self.mebibytes.quantiles(Scale::Mebibytes, [0.95])?;
        Some(p95.clamp(self.smallest_mib, self.largest_mib))
    }

    /// Whether it is what an engine took ahead of a card, by averages where there are any.
    fn is_reserved(&self, averages: Option<&Self>, card_mib: f64) -> bool {
        let from = VramSummary::in_use_from_mib(card_mib);
        let least = averages.and_then(|sampled| sampled.mebibytes.low(Scale::Mebibytes, from));
        VramSummary::says_reserved(least.unwrap_or(self.smallest_mib), self.largest_mib, card_mib)
    }

    fn kept(&self) -> StoredFigures {
        StoredFigures {
            counts: self.mebibytes.counts().collect(),
            min: Some(self.smallest_mib),
            max: Some(self.largest_mib),
            ..self.counted.kept()
        }
    }

    /// Memory of a day, counted from the epoch.
    fn of_kept(kept: &StoredFigures, mebibytes: Histogram, day: i64) -> Option<Self> {
        let (smallest_mib, largest_mib) = (kept.min?, kept.max?);
        (smallest_mib <= largest_mib).then_some(Self {
            counted: kept.counted()?,
            mebibytes,
            smallest_mib,
            largest_mib,
            daily: DailyPeaks::of_day(day, largest_mib),
        })
    }

    fn merge(&mut self, other: &Self) {
        self.counted.merge(other.counted);
        self.mebibytes = self.mebibytes.merge(&other.mebibytes);
        self.smallest_mib = self.smallest_mib.min(other.smallest_mib);
        self.largest_mib = self.largest_mib.max(other.largest_mib);
        self.daily.merge(&other.daily);
    }
}

/// Merges what both have, and takes what one has.
fn join<T: Clone>(mine: &mut Option<T>, theirs: Option<&T>, merge: impl Fn(&mut T, &T)) {
    match (mine.as_mut(), theirs) {
        (Some(mine), Some(theirs)) => merge(mine, theirs),
        (None, theirs) => *mine = theirs.cloned(),
        (Some(_), None) => {}
    }
}

impl DeviceUsage {
    /// Takes the points of one metric in place of what was known of it.
    pub(super) fn take(
        &mut self,
        metric: Metric,
        statistic: Statistic,
        points: &Points,
        scratch: &mut Vec<u32>,
    ) {
        let (average, maximum) = (Statistic::Average, Statistic::Maximum);
        match metric {
            Metric::GpuUtilization if statistic == average => {
                self.averages = Some(Averages::of(points, scratch));
                self.hours = HourSums::of(points);
            }
            Metric::GpuUtilization if statistic == maximum => self.peaks = Peaks::of(points),
            Metric::GpuMemoryUsed if statistic == average => {
                self.memory = Memory::of(points, counts(points, Scale::Mebibytes, scratch));
            }
            Metric::GpuMemoryUsed if statistic == maximum => {
                self.memory_peaks = Memory::of(points, Histogram::default());
            }
            Metric::GpuMemoryTotal if statistic == maximum => {
                self.memory_total_mib = extreme(points, f32::max);
            }
            Metric::GpuPowerDraw if statistic == average => {
                let watts = counts(points, Scale::Mebibytes, scratch);
                self.power = Some(Power::of(points, watts));
            }
            Metric::GpuSmActivity if statistic == average => {
                let percents = counts(points, Scale::Percent, scratch);
                self.sm = Some(SmActivity::of(points, percents));
            }
            Metric::GpuTemperature if statistic == maximum => {
                self.temperature_max_c = extreme(points, f32::max);
            }
            Metric::GpuEncoderSessions if statistic == maximum => {
                let counted = Some(Counted::of(points));
                self.encoder = extreme(points, f32::max).map(|most| Sessions { counted, most });
            }
            _ => {}
        }
    }

    /// Forgets what it took of [`Metric::GpuUtilization`].
    pub(super) fn forget_utilization(&mut self) {
        (self.averages, self.peaks, self.hours) = (None, None, None);
    }

    /// Forgets what it took of a metric.
    pub(super) fn forget(&mut self, metric: Metric) {
        match metric {
            Metric::GpuUtilization => self.forget_utilization(),
            Metric::GpuMemoryUsed => (self.memory, self.memory_peaks) = (None, None),
            Metric::GpuMemoryTotal => self.memory_total_mib = None,
            Metric::GpuPowerDraw => self.power = None,
            Metric::GpuSmActivity => self.sm = None,
            Metric::GpuTemperature => self.temperature_max_c = None,
            Metric::GpuEncoderSessions => self.encoder = None,
            _ => {}
        }
    }

    /// What it knows of one of its series.
    pub(super) fn kept(&self, metric: Metric, statistic: Statistic) -> StoredFigures {
        let largest = |max: Option<f64>| StoredFigures { max, ..StoredFigures::default() };
        let figures = match (metric, statistic) {
            (Metric::GpuUtilization, Statistic::Average) => {
                self.averages.as_ref().map(Averages::kept)
            }
            (Metric::GpuUtilization, Statistic::Maximum) => self.peaks.as_ref().map(Peaks::kept),
            (Metric::GpuMemoryUsed, Statistic::Average) => self.memory.as_ref().map(Memory::kept),
            (Metric::GpuMemoryUsed, Statistic::Maximum) => {
                self.memory_peaks.as_ref().map(Memory::kept)
            }
            (Metric::GpuMemoryTotal, Statistic::Maximum) => Some(largest(self.memory_total_mib)),
            (Metric::GpuPowerDraw, Statistic::Average) => self.power.as_ref().map(Power::kept),
            (Metric::GpuSmActivity, Statistic::Average) => self.sm.as_ref().map(SmActivity::kept),
            (Metric::GpuTemperature, Statistic::Maximum) => Some(largest(self.temperature_max_c)),
            (Metric::GpuEncoderSessions, Statistic::Maximum) => {
                Some(largest(self.encoder.map(|encoder| encoder.most)))
            }
            _ => None,
        };
        figures.unwrap_or_default()
    }

    /// Takes what was kept of one of its series on a day, counted from the epoch; `None` if a
    /// figure is missing.
    pub(super) fn take_kept(
        &mut self,
        metric: Metric,
        statistic: Statistic,
        kept: &StoredFigures,
        day: i64,
    ) -> Option<()> {
        match (metric, statistic) {
            (Metric::GpuUtilization, Statistic::Average) => {
                self.averages = Some(Averages::of_kept(kept, day)?);
            }
            (Metric::GpuUtilization, Statistic::Maximum) => {
                self.peaks = Some(Peaks::of_kept(kept)?);
            }
            (Metric::GpuMemoryUsed, Statistic::Average) => {
                let mebibytes = kept.histogram(Scale::Mebibytes)?;
                self.memory = Some(Memory::of_kept(kept, mebibytes, day)?);
            }
            (Metric::GpuMemoryUsed, Statistic::Maximum) => {
                self.memory_peaks = Some(Memory::of_kept(kept, Histogram::default(), day)?);
            }
            (Metric::GpuMemoryTotal, Statistic::Maximum) => {
                self.memory_total_mib = Some(kept.max?);
            }
            (Metric::GpuPowerDraw, Statistic::Average) => {
                self.power = Some(Power::of_kept(kept)?);
            }
            (Metric::GpuSmActivity, Statistic::Average) => {
                self.sm = Some(SmActivity::of_kept(kept)?);
            }
            (Metric::GpuTemperature, Statistic::Maximum) => {
                self.temperature_max_c = Some(kept.max?);
            }
            (Metric::GpuEncoderSessions, Statistic::Maximum) => {
                self.encoder = Some(Sessions { counted: None, most: kept.max? });
            }
            _ => {}
        }
        Some(())
    }

    /// Adds what was measured of the same GPU at other times.
    pub(super) fn merge(&mut self, other: &Self) {
        let larger = |mine: &mut f64, theirs: &f64| *mine = mine.max(*theirs);
        join(&mut self.averages, other.averages.as_ref(), Averages::merge);
        join(&mut self.peaks, other.peaks.as_ref(), Peaks::merge);
        join(&mut self.hours, other.hours.as_ref(), HourSums::merge);
        join(&mut self.memory, other.memory.as_ref(), Memory::merge);
        join(&mut self.memory_peaks, other.memory_peaks.as_ref(), Memory::merge);
        join(&mut self.memory_total_mib, other.memory_total_mib.as_ref(), larger);
        join(&mut self.power, other.power.as_ref(), Power::merge);
        join(&mut self.sm, other.sm.as_ref(), SmActivity::merge);
        join(&mut self.temperature_max_c, other.temperature_max_c.as_ref(), larger);
        join(&mut self.encoder, other.encoder.as_ref(), |mine: &mut Sessions, theirs| {
            mine.counted = mine.counted.zip(theirs.counted).map(|(mut mine, theirs)| {
                mine.merge(theirs);
                mine
            });
            mine.most = mine.most.max(theirs.most);
        });
    }

    /// What its averages vary by; absent without any.
    pub(super) fn moments(&self) -> Option<Moments> {
        let percents = &self.averages.as_ref()?.percents;
        (!percents.is_empty()).then(|| Moments::of(percents))
    }

    pub(super) fn hour_sums(&self) -> Option<&HourSums> {
        self.hours.as_ref()
    }

    /// Its figures over a running time, on a card of a known size, by how often each metric was
    /// sampled.
    pub(super) fn figures(
        &self,
        (instance, index): (&ResourceId, u16),
        card_mib: Option<f64>,
        running_seconds: i64,
        mut cadence: impl FnMut(Metric, Statistic) -> Cadence,
    ) -> GpuUsage {
        let averages = self.averages.as_ref();
        let (memory, of_memory) = match &self.memory_peaks {
            Some(peaks) => (Some(peaks), Statistic::Maximum),
            None => (self.memory.as_ref(), Statistic::Average),
        };
        let total_mib = self.memory_total_mib.or(card_mib);
        let of_averages = cadence(Metric::GpuUtilization, Statistic::Average);
        let of_maxima = cadence(Metric::GpuUtilization, Statistic::Maximum);
        let of_memory = cadence(Metric::GpuMemoryUsed, of_memory);
        let of_memory_averages = cadence(Metric::GpuMemoryUsed, Statistic::Average);
        let of_power = cadence(Metric::GpuPowerDraw, Statistic::Average);
        let of_sm = cadence(Metric::GpuSmActivity, Statistic::Average);
        let of_sessions = cadence(Metric::GpuEncoderSessions, Statistic::Maximum);
        let (power, sm) = (self.power.as_ref(), self.sm.as_ref());
        GpuUsage {
            instance: instance.clone(),
            index,
            samples: averages.map_or(Samples::default(), |sampled| {
                sampled.counted.over(running_seconds, of_averages)
            }),
            utilization: averages.and_then(|sampled| figures(&sampled.percents)),
            contradiction: None,
            demand_peak: averages.and_then(Averages::demand_peak),
            maxima: self.peaks.map(|peaks| peaks.figures(running_seconds, of_maxima)),
            vram: memory.map(|memory| VramSummary {
                peak_mib: memory.largest_mib,
                p95_mib: self.memory.as_ref().and_then(Memory::p95_mib),
                samples: memory.counted.over(running_seconds, of_memory),
                total_mib,
                is_reserved: total_mib
                    .is_some_and(|total| memory.is_reserved(self.memory.as_ref(), total)),
            }),
            vram_nearly_full_seconds: self.memory.as_ref().zip(total_mib).map(|(memory, total)| {
                memory.seconds_above(total * NEARLY_FULL_VRAM_PERCENT / 100.0, of_memory_averages)
            }),
            vram_days: memory.map_or_else(Vec::new, |memory| memory.daily.days().to_vec()),
            power: power.and_then(|power| power.figures(running_seconds, of_power)),
            sm: sm.and_then(|sm| sm.figures(running_seconds, of_sm)),
            temperature_max_c: self.temperature_max_c,
            encoder_sessions_max: self.encoder.map(|encoder| encoder.most),
            encoder_samples: self
                .encoder
                .and_then(|encoder| Some(encoder.counted?.over(running_seconds, of_sessions))),
            days: averages
                .map(|sampled| sampled.daily.iter().filter_map(Daily::figures).collect())
                .unwrap_or_default(),
        }
    }
}
