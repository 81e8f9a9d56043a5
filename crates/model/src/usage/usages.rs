//! How each instance of a fleet was used, from its series one after another.

use super::amount::{Amount, amounts_to_figures};
use super::grid::{Grid, OpenGrid, Slot};
use super::histogram::{Column, hundredths};
use super::records::joined;
use super::series::SeriesKey;
use super::{Points, Series};
use crate::domain::{
    JoinedBy, Metric, Rejected, ResourceId, SeriesSource, Signal, Statistic, Window,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// What was measured in one way, with the periods between two samples of it, as far as the
/// samples of a part of the window tell.
pub(super) type GridKey = (Signal, SeriesSource, u32);

/// A series that was added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Added {
    pub(super) is_empty: bool,
    pub(super) source: SeriesSource,
    pub(super) joined_by: JoinedBy,
    pub(super) rejected: Rejected,
}

/// How one instance was used. Two of the same instance at different times add up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    pub(super) added: BTreeMap<SeriesKey, Added>,
    pub(super) grids: BTreeMap<GridKey, Grid>,
    /// 1 in each period with a sample, of the series that facts are made of.
    pub(super) places: BTreeMap<SeriesKey, Column>,
    /// Grids of sources that measured what a better one measured too.
    pub(super) outranked: BTreeSet<(Signal, SeriesSource)>,
    /// The GPUs that any series is of.
    pub(super) gpus: BTreeSet<u16>,
    /// What each series amounts to of which more is known than its periods.
    pub(super) amounts: BTreeMap<SeriesKey, Amount>,
    /// 1 in each period in which a GPU encoded.
    pub(super) encodes: Column,
}

/// How each instance of a fleet was used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usages(pub(super) BTreeMap<ResourceId, Usage>);

/// Reduces series to [`Usages`], in any order; those of one instance side by side are
/// the fastest. Of two series of the same thing the first in order of source counts,
/// and one without points last. Records of one series of one source are one series if they
/// are added side by side with those of their instance; [`UsageBuilder::has`] tells where
/// that is not so.
#[derive(Debug)]
pub struct UsageBuilder {
    frame: Frame,
    done: Usages,
    open: Option<(ResourceId, OpenUsage)>,
    scratch: Vec<u32>,
}

/// The grid that usage is on.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// When it begins, in seconds since the epoch.
    start: i64,
    periods: usize,
    period_seconds: u32,
}

impl Frame {
    fn of(window: Window, period_seconds: u32) -> Self {
        Self {
            start: window.start.as_second(),
            periods: periods(window, period_seconds),
            period_seconds: period_seconds.max(1),
        }
    }
}

#[derive(Debug, Default)]
struct OpenUsage {
    usage: Usage,
    grids: BTreeMap<GridKey, OpenGrid>,
    places: BTreeMap<SeriesKey, Vec<bool>>,
    encodes: Vec<bool>,
    /// Not reduced yet, because more records of them may follow.
    records: BTreeMap<SeriesKey, Vec<Series>>,
}

impl Usages {
    /// How an instance was used; that of no series where there is none of it.
    pub fn of(&self, instance: &ResourceId) -> &Usage {
        static NONE: LazyLock<Usage> = LazyLock::new(Usage::default);
        self.0.get(instance).unwrap_or(&NONE)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The instances that have a series.
    pub fn instances(&self) -> impl Iterator<Item = &ResourceId> {
        self.0.keys()
    }

    /// Takes the usage of an instance in place of what was known of it.
    pub fn insert(&mut self, instance: ResourceId, usage: Usage) {
        self.0.insert(instance, usage);
    }

    /// Keeps the usage of some instances.
    pub fn retain(&mut self, keep: impl Fn(&ResourceId) -> bool) {
        self.0.retain(|instance, _| keep(instance));
    }

    /// Forgets of some instances what is read period by period, as if its series had never
    /// been added.
    pub fn forget_grid(&mut self, of: impl Fn(&ResourceId) -> bool) {
        for (_, usage) in self.0.iter_mut().filter(|(instance, _)| of(instance)) {
            usage.forget_grid();
        }
        self.0.retain(|instance, usage| !(usage.added.is_empty() && of(instance)));
    }

    /// Keeps of some instances no more than when they ran.
    pub fn keep_running(&mut self, of: impl Fn(&ResourceId) -> bool) {
        for (_, usage) in self.0.iter_mut().filter(|(instance, _)| of(instance)) {
            usage.gpus.clear();
            usage.amounts.retain(|(metric, ..), _| *metric == Metric::CpuUtilization);
            usage.places.retain(|(metric, ..), _| metric.is_on_grid());
        }
    }

    pub fn rename(&mut self, mut name: impl FnMut(ResourceId) -> ResourceId) {
        let usages = std::mem::take(&mut self.0).into_iter();
        self.0 = usages.map(|(id, usage)| (name(id), usage)).collect();
    }

    /// What was measured in stretches of a window that do not overlap, in order of time, as
    /// if it had been measured in one. Each stretch begins with a period of the window.
    pub fn joined(stretches: Vec<(Window, Self)>, window: Window, period_seconds: u32) -> Self {
        let mut parts: BTreeMap<ResourceId, Vec<(usize, Usage)>> = BTreeMap::new();
        for (stretch, usages) in stretches {
            let before = Window { start: window.start, end: stretch.start };
            let from = periods(before, period_seconds);
            for (instance, usage) in usages.0 {
                parts.entry(instance).or_default().push((from, usage));
            }
        }
        let periods = periods(window, period_seconds);
        let by_instance = parts.into_iter();
        Self(by_instance.map(|(id, parts)| (id, Usage::joined(&parts, periods))).collect())
    }

    /// Adds what was measured of other instances, or of the same at other times.
    pub fn merge(&mut self, other: Self, window: Window, period_seconds: u32) {
        for (instance, usage) in other.0 {
            match self.0.get_mut(&instance) {
                Some(known) => known.merge(&usage, periods(window, period_seconds)),
                None => {
                    self.0.insert(instance, usage);
                }
            }
        }
    }
}

fn periods(window: Window, period_seconds: u32) -> usize {
    window.seconds().max(0) as usize / period_seconds.max(1) as usize
}

impl UsageBuilder {
    /// No series yet, on the grid of a window.
    pub fn new(window: Window, period_seconds: u32) -> Self {
        Self::of(Usages::default(), window, period_seconds)
    }

    /// What is known, on the grid of a window.
    pub fn of(known: Usages, window: Window, period_seconds: u32) -> Self {
        Self {
            frame: Frame::of(window, period_seconds),
            done: known,
            open: None,
            scratch: Vec::new(),
        }
    }

    pub fn add(&mut self, series: &Series) {
        let is_open = self.open.as_ref();
        if is_open.is_none_or(|(instance, _)| *instance != series.instance) {
            self.close();
            let known = self.done.0.remove(&series.instance).unwrap_or_default();
            self.open = Some((series.instance.clone(), known.open(self.frame.periods)));
        }
        if let Some((_, open)) = &mut self.open {
            open.keep(series.clone());
        }
    }

    /// Whether a record of the same series was reduced before, so that this one cannot join it.
    pub fn has(&self, series: &Series) -> bool {
        let known = self.done.0.get(&series.instance);
        let known = known.and_then(|usage| usage.added.get(&series.key()));
        known.is_some_and(|known| !known.is_empty && known.source == series.source)
    }

    /// What the series amounted to.
    pub fn finish(mut self) -> Usages {
        self.close();
        self.done
    }

    fn close(&mut self) {
        if let Some((instance, mut open)) = self.open.take() {
            open.reduce(self.frame, &mut self.scratch);
            self.done.0.insert(instance, open.close());
        }
    }
}

impl OpenUsage {
    fn keep(&mut self, record: Series) {
        self.records.entry(record.key()).or_default().push(record);
    }

    /// Reduces the records that were added.
    fn reduce(&mut self, frame: Frame, scratch: &mut Vec<u32>) {
        for records in std::mem::take(&mut self.records).into_values() {
            let signal = records.first().and_then(|first| Signal::of(first.metric));
            let (Some(series), other_grids, outranked) = joined(records) else { continue };
            if let Some(signal) = signal {
                let outranked = outranked.into_iter().map(|source| (signal, source));
                self.usage.outranked.extend(outranked);
            }
            if self.add(&series, frame, scratch) && !other_grids.is_empty() {
                let mut others = Self::default();
                other_grids.into_iter().for_each(|record| others.keep(record));
                others.reduce(frame, scratch);
                self.take(0, &others.close(), frame.periods);
            }
        }
    }

    /// Adds a series, unless one that is known counts.
    fn add(&mut self, series: &Series, frame: Frame, scratch: &mut Vec<u32>) -> bool {
        let (periods, period) = (frame.periods, frame.period_seconds);
        let (metric, statistic, points) = (series.metric, series.statistic, &series.points);
        let added = Added {
            is_empty: points.is_empty(),
            source: series.source,
            joined_by: series.joined_by,
            rejected: series.rejected,
        };
        let signal = Signal::of(metric);
        if let Some(gpu) = series.gpu {
            self.usage.gpus.insert(gpu);
        }
        let key = series.key();
        if let Some(known) = self.usage.added.get(&key).copied() {
            let rank = |added_series: Added| (added_series.is_empty, added_series.source);
            if !known.is_empty && !added.is_empty && known.source != added.source {
                let worse = known.source.max(added.source);
                self.usage.outranked.extend(signal.map(|signal| (signal, worse)));
            }
            if rank(added) >= rank(known) {
                return false;
            }
        }
        self.usage.added.insert(key, added);
        if added.is_empty {
            return true;
        }
        if is_fact(metric) {
            let mut places = vec![false; periods];
            let stretches = points.runs().map(|(first, count, _)| (first, count));
            mark_samples(&mut places, series, frame, stretches);
            self.places.insert(key, places);
        }
        if let Some(signal) = signal {
            let grid = (signal, series.source, points.spacing(period));
            let grid = self.grids.entry(grid).or_insert_with(|| OpenGrid::new(periods));
            grid.names_gpus |= series.gpu.is_some();
            let step = step(points, period);
            grid.step = grid.step.max(step);
            add_points(&mut grid.slots, series, step);
        }
        if amounts_to_figures(key) {
            self.usage.amounts.insert(key, Amount::of(series, scratch));
        }
        if (metric, statistic) == (Metric::GpuEncoderSessions, Statistic::Maximum) {
            self.encodes.resize(periods, false);
            let encoding = points.iter().filter(|(_, sessions)| *sessions > 0.0);
            let encoding = encoding.map(|(index, _)| (index, 1));
            mark_samples(&mut self.encodes, series, frame, encoding);
        }
        true
    }

    fn close(mut self) -> Usage {
        let outranked = &self.usage.outranked;
        let grids = self
            .grids
            .iter()
            .filter(|((signal, source, _), _)| !outranked.contains(&(*signal, *source)));
        self.usage.grids = grids.map(|(grid, open)| (*grid, open.pack())).collect();
        let places = self.places.into_iter();
        self.usage.places = places
            .map(|(key, marks)| (key, Column::of(marks.into_iter().map(u32::from))))
            .collect();
        self.usage.encodes = Column::of(self.encodes.into_iter().map(u32::from));
        self.usage
    }
}

/// How many periods of a grid a point stands for.
fn step(points: &Points, period_seconds: u32) -> u32 {
    (points.period_seconds() / period_seconds.max(1)).max(1)
}

/// The periods of a grid that a stretch of points stands for.
fn stretch(first: u32, count: u32, step: u32, periods: usize) -> std::ops::Range<usize> {
    let place = |index: usize| index.saturating_mul(step as usize).min(periods);
    place(first as usize)..place(first as usize + count as usize)
}

/// Adds averages or maxima to the periods that they are of, each of which gets the value
/// of the point that stands for it.
fn add_points(slots: &mut [Slot], series: &Series, step: u32) {
    let length = slots.len();
    for (first, count, values) in series.points.runs() {
        let slots = slots[stretch(first, count, step, length)].iter_mut();
        let own = values.iter().map(|value| hundredths(f64::from(*value)));
        if step == 1 && values.len() == count as usize {
            add_values(slots.zip(own), series);
        } else if step == 1 {
            add_values(slots.zip(own.cycle()), series);
        } else {
            let each = own.cycle().take(count as usize);
            let each = each.flat_map(|value| std::iter::repeat_n(value, step as usize));
            add_values(slots.zip(each), series);
        }
    }
}

fn add_values<'a>(values: impl Iterator<Item = (&'a mut Slot, u16)>, series: &Series) {
    match series.statistic {
        Statistic::Average => values.for_each(|(slot, value)| slot.add_average(value)),
        Statistic::Maximum => values.for_each(|(slot, value)| {
            slot.add_maximum(value);
            slot.maxima += u32::from(series.gpu.is_some());
        }),
        Statistic::Sum => {}
    }
}

/// Whether a metric is a fact that actions rest on, of which is known when it was sampled.
pub(super) fn is_fact(metric: Metric) -> bool {
    metric.is_on_grid()
        || matches!(metric, Metric::GpuMemoryUsed | Metric::NetworkIn | Metric::NetworkOut)
}

/// Marks the periods of stretches of samples, each by its first sample and their number; one
/// may stand for several periods. Of metrics that are not on the grid, one that does begins at
/// its multiple since the epoch, wherever the grid begins.
fn mark_samples(
    marks: &mut [bool],
    series: &Series,
    frame: Frame,
    stretches: impl Iterator<Item = (u32, u32)>,
) {
    let points = &series.points;
    let (own, period) =
        (i64::from(points.period_seconds().max(1)), i64::from(frame.period_seconds));
    let start = points.start().as_second();
    let until_first =
        if own > period && !series.metric.is_on_grid() { (-start).rem_euclid(own) } else { 0 };
    let length = marks.len();
    let place = |index: i64| {
        let second = start + until_first + index * own - frame.start;
        usize::try_from(second.div_euclid(period)).map_or(0, |place| place.min(length))
    };
    for (first, count) in stretches {
        let end = i64::from(first) + i64::from(count);
        let from = place(i64::from(first));
        let to = place(end).max(place(end - 1) + 1).min(length);
        marks[from.min(to)..to].fill(true);
    }
}

impl OpenUsage {
    /// Adds what was measured of the same instance in other periods, the first of which is
    /// `from`.
    fn take(&mut self, from: usize, other: &Usage, periods: usize) {
        for (key, grid) in &other.grids {
            let mine = self.grids.entry(*key).or_insert_with(|| OpenGrid::new(periods));
            mine.add_from(from, grid);
        }
        let mark = |mine: &mut Vec<bool>, theirs: &Column| {
            if theirs.values().next().is_some() {
                mine.resize(periods, false);
            }
            for (mine, theirs) in mine.iter_mut().skip(from).zip(theirs.values()) {
                *mine |= theirs == 1;
            }
        };
        mark(&mut self.encodes, &other.encodes);
        for (key, theirs) in &other.places {
            mark(self.places.entry(*key).or_default(), theirs);
        }
        self.usage.take_figures(other);
    }
}

impl Usage {
    /// Usage of series in any order.
    pub(super) fn of<'a>(
        series: impl IntoIterator<Item = &'a Series>,
        window: Window,
        period_seconds: u32,
    ) -> Self {
        let frame = Frame::of(window, period_seconds);
        let mut open = OpenUsage::default();
        for record in series {
            open.keep(record.clone());
        }
        open.reduce(frame, &mut Vec::new());
        open.close()
    }

    fn open(self, periods: usize) -> OpenUsage {
        let grids = self.grids.iter().map(|(key, grid)| {
            let mut open = OpenGrid::new(periods);
            open.add_from(0, grid);
            (*key, open)
        });
        let marks = |column: &Column| column.values().map(|mark| mark == 1).collect();
        let places = self.places.iter();
        OpenUsage {
            grids: grids.collect(),
            places: places.map(|(key, column)| (*key, marks(column))).collect(),
            encodes: marks(&self.encodes),
            records: BTreeMap::new(),
            usage: self,
        }
    }

    /// The usage of parts, each with its first period, in order.
    fn joined(parts: &[(usize, Self)], periods: usize) -> Self {
        let mut open = OpenUsage::default();
        for (from, part) in parts {
            open.take(*from, part, periods);
        }
        let mut joined = open.close();
        let outranked = parts.iter().flat_map(|(_, part)| &part.outranked);
        joined.outranked.extend(outranked);
        joined
    }

    /// Adds what was measured of the same instance at other times.
    fn merge(&mut self, other: &Self, periods: usize) {
        let mut open = std::mem::take(self).open(periods);
        open.take(0, other, periods);
        *self = open.close();
        self.outranked.extend(&other.outranked);
    }

    /// Adds all but what is known period by period.
    fn take_figures(&mut self, other: &Self) {
        for (key, added) in &other.added {
            let known =
                self.added.entry(*key).or_insert(Added { rejected: Rejected::default(), ..*added });
            known.is_empty &= added.is_empty;
            known.rejected = known.rejected.plus(added.rejected);
        }
        self.gpus.extend(&other.gpus);
        for (key, theirs) in &other.amounts {
            match self.amounts.get_mut(key) {
                Some(mine) => mine.merge(theirs),
                None => {
                    self.amounts.insert(*key, theirs.clone());
                }
            }
        }
    }

    fn forget_grid(&mut self) {
        self.added.retain(|(metric, ..), _| !metric.is_on_grid());
        self.grids.clear();
        self.outranked.clear();
        self.amounts.retain(|(metric, ..), _| !metric.is_on_grid());
        self.places.retain(|(metric, ..), _| !metric.is_on_grid());
        let added = &self.added;
        self.gpus.retain(|index| added.keys().any(|(_, of, _)| *of == Some(*index)));
    }
}

#[cfg(test)]
#[path = "usages_tests.rs"]
mod tests;
