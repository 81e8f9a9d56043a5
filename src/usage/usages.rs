//! How each instance of a fleet was used, from its series one after another.

use super::device::{Counted, DeviceUsage, counts};
use super::grid::{Grid, OpenGrid};
use super::histogram::{Histogram, Scale, hundredths};
use super::packed::Column;
use super::timeline::Slot;
use super::{Points, Series};
use crate::domain::{
    JoinedBy, Metric, Rejected, ResourceId, SeriesSource, Signal, Statistic, Window,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

const HOUR_SECONDS: u32 = 3_600;

/// What tells one series of an instance from another.
type SeriesKey = (Metric, Option<u16>, Statistic);

/// A series that was added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Added {
    pub(super) is_empty: bool,
    pub(super) source: SeriesSource,
    pub(super) joined_by: JoinedBy,
    pub(super) rejected: Rejected,
}

/// CPU of an instance: in which periods it has a sample, and its percentages.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CpuUse {
    pub(super) counted: Counted,
    pub(super) percents: Histogram,
    /// 1 in each period with a sample.
    sampled: Column,
}

/// One direction of the traffic of an instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Traffic {
    pub(super) counted: Counted,
    pub(super) bytes: f64,
    pub(super) busiest_hour_gbps: f64,
}

/// How one instance was used. Two of the same instance at different times add up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    pub(super) added: BTreeMap<SeriesKey, Added>,
    grids: BTreeMap<(Signal, SeriesSource), Grid>,
    /// Grids of sources that measured what a better one measured too.
    outranked: BTreeSet<(Signal, SeriesSource)>,
    pub(super) gpus: BTreeMap<u16, DeviceUsage>,
    pub(super) cpu: Option<CpuUse>,
    /// 1 in each period in which a GPU encoded.
    encodes: Column,
    /// Largest maximum of CPU, where maxima were asked for.
    pub(super) cpu_peak: Option<f64>,
    pub(super) received: Option<Traffic>,
    pub(super) sent: Option<Traffic>,
}

/// How each instance of a fleet was used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usages(BTreeMap<ResourceId, Usage>);

/// Reduces series to [`Usages`], in any order; those of one instance side by side are
/// the fastest. Of two series of the same thing the first in order of source counts,
/// and one without points last.
#[derive(Debug)]
pub struct UsageBuilder {
    periods: usize,
    period_seconds: u32,
    done: Usages,
    open: Option<(ResourceId, OpenUsage)>,
    scratch: Vec<u32>,
}

#[derive(Debug, Default)]
struct OpenUsage {
    usage: Usage,
    grids: BTreeMap<(Signal, SeriesSource), OpenGrid>,
    encodes: Vec<bool>,
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
        self.0
            .retain(|instance, usage| !(usage.added.is_empty() && of(instance)));
    }

    /// Keeps of some instances no more than when they ran.
    pub fn keep_running(&mut self, of: impl Fn(&ResourceId) -> bool) {
        for (_, usage) in self.0.iter_mut().filter(|(instance, _)| of(instance)) {
            usage.gpus.clear();
            (usage.received, usage.sent) = (None, None);
        }
    }

    pub fn rename(&mut self, mut name: impl FnMut(ResourceId) -> ResourceId) {
        let all = std::mem::take(&mut self.0).into_iter();
        self.0 = all.map(|(id, usage)| (name(id), usage)).collect();
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
            periods: periods(window, period_seconds),
            period_seconds: period_seconds.max(1),
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
            self.open = Some((series.instance.clone(), known.open(self.periods)));
        }
        if let Some((_, open)) = &mut self.open {
            open.add(series, self.periods, self.period_seconds, &mut self.scratch);
        }
    }

    /// What the series amounted to.
    pub fn finish(mut self) -> Usages {
        self.close();
        self.done
    }

    fn close(&mut self) {
        if let Some((instance, open)) = self.open.take() {
            self.done.0.insert(instance, open.close());
        }
    }
}

impl OpenUsage {
    fn add(&mut self, series: &Series, periods: usize, period: u32, scratch: &mut Vec<u32>) {
        let (metric, statistic, points) = (series.metric, series.statistic, &series.points);
        let added = Added {
            is_empty: points.is_empty(),
            source: series.source,
            joined_by: series.joined_by,
            rejected: series.rejected,
        };
        let signal = match metric {
            Metric::GpuUtilization => Some(Signal::GpuUtilization),
            Metric::GpuPowerUtilization => Some(Signal::GpuPowerUtilization),
            _ => None,
        };
        if let Some(gpu) = series.gpu {
            self.usage.gpus.entry(gpu).or_default();
        }
        let key = (metric, series.gpu, statistic);
        if let Some(known) = self.usage.added.get(&key).copied() {
            let rank = |one: Added| (one.is_empty, one.source);
            if !known.is_empty && !added.is_empty && known.source != added.source {
                let worse = known.source.max(added.source);
                self.usage
                    .outranked
                    .extend(signal.map(|signal| (signal, worse)));
            }
            if rank(added) >= rank(known) {
                return;
            }
        }
        self.usage.added.insert(key, added);
        if added.is_empty {
            return;
        }
        if let Some(signal) = signal {
            let grid = (signal, series.source);
            let grid = self
                .grids
                .entry(grid)
                .or_insert_with(|| OpenGrid::new(periods));
            grid.names_gpus |= series.gpu.is_some();
            let step = step(points, period);
            grid.step = grid.step.max(step);
            add_points(&mut grid.slots, series, step);
        }
        if let Some(gpu) = series.gpu.and_then(|gpu| self.usage.gpus.get_mut(&gpu)) {
            gpu.take(metric, statistic, points, scratch);
        }
        match (metric, statistic) {
            (Metric::GpuEncoderSessions, Statistic::Maximum) => {
                self.encodes.resize(periods, false);
                mark_sessions(&mut self.encodes, points, period);
            }
            (Metric::CpuUtilization, Statistic::Average) => {
                self.usage.cpu = Some(CpuUse {
                    counted: Counted::of(points),
                    percents: counts(points, Scale::Percent, scratch),
                    sampled: sampled(points, periods, step(points, period)),
                });
            }
            (Metric::CpuUtilization, Statistic::Maximum) => {
                self.usage.cpu_peak = points.values().reduce(f64::max);
            }
            (Metric::NetworkIn, Statistic::Sum) => self.usage.received = Traffic::of(points),
            (Metric::NetworkOut, Statistic::Sum) => self.usage.sent = Traffic::of(points),
            _ => {}
        }
    }

    fn close(mut self) -> Usage {
        let outranked = &self.usage.outranked;
        let grids = self
            .grids
            .iter()
            .filter(|(grid, _)| !outranked.contains(grid));
        self.usage.grids = grids.map(|(grid, open)| (*grid, open.pack())).collect();
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
        if step == 1 {
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

/// Marks the periods in which a GPU encoded; a sample may stand for several.
fn mark_sessions(encodes: &mut [bool], points: &Points, period_seconds: u32) {
    let own = u64::from(points.period_seconds());
    let place = |index: u64| (index * own / u64::from(period_seconds)) as usize;
    for (index, _) in points.iter().filter(|(_, sessions)| *sessions > 0.0) {
        let from = place(u64::from(index)).min(encodes.len());
        let to = place(u64::from(index) + 1).max(from + 1).min(encodes.len());
        encodes[from..to].fill(true);
    }
}

/// 1 in each period with a point.
fn sampled(points: &Points, periods: usize, step: u32) -> Column {
    let mut sampled = vec![0; periods];
    for (first, count, _) in points.runs() {
        sampled[stretch(first, count, step, periods)].fill(1);
    }
    Column::of(sampled)
}

impl Traffic {
    fn of(points: &Points) -> Option<Self> {
        let period = f64::from(points.period_seconds().max(1));
        let per_hour = (HOUR_SECONDS / points.period_seconds().max(1)).max(1);
        let mut hours: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for (index, bytes) in points.iter() {
            let (sum, seconds) = hours.entry(index / per_hour).or_default();
            *sum += bytes;
            *seconds += period;
        }
        let rates = hours
            .values()
            .map(|(bytes, seconds)| bytes * 8.0 / seconds / 1e9);
        Some(Self {
            counted: Counted::of(points),
            bytes: points.values().sum(),
            busiest_hour_gbps: rates.reduce(f64::max)?,
        })
    }

    fn merge(&mut self, other: Self) {
        self.counted.merge(other.counted);
        self.bytes += other.bytes;
        self.busiest_hour_gbps = self.busiest_hour_gbps.max(other.busiest_hour_gbps);
    }
}

impl Usage {
    /// Usage of series in any order.
    pub(super) fn of<'a>(
        series: impl IntoIterator<Item = &'a Series>,
        window: Window,
        period_seconds: u32,
    ) -> Self {
        let periods = periods(window, period_seconds);
        let mut open = OpenUsage::default();
        let mut scratch = Vec::new();
        for one in series {
            open.add(one, periods, period_seconds.max(1), &mut scratch);
        }
        open.close()
    }

    fn open(self, periods: usize) -> OpenUsage {
        let grids = self.grids.iter().map(|(key, grid)| {
            let mut open = OpenGrid::new(periods);
            open.add(grid);
            (*key, open)
        });
        OpenUsage {
            grids: grids.collect(),
            encodes: self.encodes.values().map(|encodes| encodes == 1).collect(),
            usage: self,
        }
    }

    /// Adds what was measured of the same instance at other times.
    fn merge(&mut self, other: &Self, periods: usize) {
        let mut open = std::mem::take(self).open(periods);
        for (key, grid) in &other.grids {
            let mine = open
                .grids
                .entry(*key)
                .or_insert_with(|| OpenGrid::new(periods));
            mine.add(grid);
        }
        if other.encodes.values().next().is_some() {
            open.encodes.resize(periods, false);
        }
        for (mine, theirs) in open.encodes.iter_mut().zip(other.encodes.values()) {
            *mine |= theirs == 1;
        }
        *self = open.close();
        self.outranked.extend(&other.outranked);
        for (key, added) in &other.added {
            let known = self.added.entry(*key).or_insert(Added {
                rejected: Rejected::default(),
                ..*added
            });
            known.is_empty &= added.is_empty;
            known.rejected = known.rejected.plus(added.rejected);
        }
        for (gpu, device) in &other.gpus {
            self.gpus.entry(*gpu).or_default().merge(device);
        }
        match (&mut self.cpu, &other.cpu) {
            (Some(mine), Some(theirs)) => {
                mine.counted.merge(theirs.counted);
                mine.percents = mine.percents.merge(&theirs.percents);
                let both = mine.sampled.values().zip(theirs.sampled.values());
                mine.sampled = Column::of(both.map(|(mine, theirs)| mine | theirs));
            }
            (None, theirs) => self.cpu.clone_from(theirs),
            (Some(_), None) => {}
        }
        let peaks = self.cpu_peak.into_iter().chain(other.cpu_peak);
        self.cpu_peak = peaks.reduce(f64::max);
        let pairs = [
            (&mut self.received, other.received),
            (&mut self.sent, other.sent),
        ];
        for (mine, theirs) in pairs {
            match (mine.as_mut(), theirs) {
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                (None, theirs) => *mine = theirs,
                (Some(_), None) => {}
            }
        }
    }

    fn forget_grid(&mut self) {
        self.added.retain(|(metric, ..), _| !metric.is_on_grid());
        self.grids.clear();
        self.outranked.clear();
        (self.cpu, self.cpu_peak) = (None, None);
        let added = &self.added;
        self.gpus.retain(|index, gpu| {
            gpu.forget_utilization();
            added.keys().any(|(_, of, _)| *of == Some(*index))
        });
    }

    /// The signal that it is judged on, with its best source; `None` when no average of
    /// any GPU signal arrived.
    pub(super) fn signal(&self) -> Option<(Signal, SeriesSource)> {
        [
            (Metric::GpuUtilization, Signal::GpuUtilization),
            (Metric::GpuPowerUtilization, Signal::GpuPowerUtilization),
        ]
        .into_iter()
        .find_map(|(metric, signal)| {
            let from = (metric, None, Statistic::Average);
            let own = self
                .added
                .range(from..)
                .take_while(|((one, ..), _)| *one == metric);
            let averages = own.filter(|((_, _, statistic), added)| {
                *statistic == Statistic::Average && !added.is_empty
            });
            let source = averages.map(|(_, added)| added.source).min()?;
            Some((signal, source))
        })
    }

    /// How many periods of the grid a sample of a signal stands for, at most.
    pub(super) fn step(&self, signal: Signal) -> u32 {
        let own = self.grids.iter().filter(|((one, _), _)| *one == signal);
        own.map(|(_, grid)| grid.step()).max().unwrap_or(1)
    }

    /// A signal over all GPUs of an instance whose guest sees so many of them.
    pub(super) fn grid(&self, signal: Signal, visible: u32, periods: usize) -> Vec<Slot> {
        let mut sum = OpenGrid::new(periods);
        for ((_, _), grid) in self.grids.iter().filter(|((own, _), _)| *own == signal) {
            sum.add(grid);
        }
        let mut slots = sum.into_slots(visible);
        for (slot, encodes) in slots.iter_mut().zip(self.encodes.values()) {
            slot.encodes = encodes == 1;
        }
        slots
    }

    /// The periods with a CPU sample.
    pub(super) fn cpu_sampled(&self) -> impl Iterator<Item = bool> + '_ {
        let cpu = self.cpu.iter();
        cpu.flat_map(|cpu| cpu.sampled.values())
            .map(|sampled| sampled == 1)
    }
}

#[cfg(test)]
#[path = "usages_tests.rs"]
mod tests;
