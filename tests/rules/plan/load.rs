//! What instances did, as curves that can be added and scaled.

use gpucost::domain::{
    Instance, InstanceState, JoinedBy, Metric, ResourceId, SeriesSource, Statistic, Window,
};
use gpucost::usage::{Estate, Points, Series};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

/// So many of the newest points may be missing while an instance runs.
const LATE_PERIODS: u32 = 3;

/// Of which GPU, what, and how readings became one value.
pub type Key = (Option<u16>, Metric, Statistic);

/// One series on its grid.
#[derive(Debug, Clone)]
pub struct Curve {
    pub period_seconds: u32,
    pub values: BTreeMap<u32, f64>,
    source: SeriesSource,
    joined_by: JoinedBy,
}

/// The sum of curves on one grid, in every period in which any of them has a
/// value.
pub fn sum<'a>(curves: impl Iterator<Item = &'a Curve>) -> Curve {
    let mut sum: Option<Curve> = None;
    for curve in curves {
        match &mut sum {
            None => sum = Some(curve.clone()),
            Some(sum) => {
                assert_eq!(sum.period_seconds, curve.period_seconds);
                for (index, value) in &curve.values {
                    *sum.values.entry(*index).or_insert(0.0) += value;
                }
            }
        }
    }
    sum.expect("at least one curve")
}

/// The largest of curves on one grid, in every period in which any of them has a value.
pub fn largest<'a>(curves: impl Iterator<Item = &'a Curve>) -> Curve {
    curves
        .cloned()
        .reduce(|mut most, curve| {
            for (index, value) in curve.values {
                let own = most.values.entry(index).or_insert(value);
                *own = own.max(value);
            }
            most
        })
        .expect("at least one curve")
}

/// A curve by a factor.
pub fn scaled(curve: &Curve, factor: f64) -> Curve {
    let mut curve = curve.clone();
    curve.values.values_mut().for_each(|value| *value *= factor);
    curve
}

/// All curves of one instance.
#[derive(Debug, Clone, Default)]
pub struct Load(BTreeMap<Key, Curve>);

impl Load {
    /// Work that takes so many times as long: every stretch in which it runs goes on as
    /// in its last period until the next begins. A schedule leaves on whole hours;
    /// without one a part of a period that is left over is added to the next stretch.
    pub fn stretch(&mut self, slowdown: f64, is_scheduled: bool) {
        if slowdown <= 1.0 {
            return;
        }
        let cpu = (None, Metric::CpuUtilization, Statistic::Average);
        let Some(curve) = self.0.get(&cpu) else { return };
        let per_hour = (3_600 / curve.period_seconds).max(1);
        let ran: Vec<u32> = curve.values.keys().copied().collect();
        let mut added: BTreeMap<u32, u32> = BTreeMap::new();
        let mut left_over = 0.0;
        for run in ran.chunk_by(|left, right| left + 1 == *right) {
            let (length, last) = (run.len() as f64, run[run.len() - 1]);
            let longer = if is_scheduled {
                let hours = length * slowdown / f64::from(per_hour);
                (hours - 1e-9).ceil() * f64::from(per_hour)
            } else {
                length * slowdown + left_over
            };
            left_over = longer.fract();
            let more = (longer as u32).saturating_sub(run.len() as u32);
            for index in last + 1..=last + more {
                if !curve.values.contains_key(&index) {
                    added.insert(index, last);
                }
            }
        }
        for curve in self.0.values_mut() {
            for (index, from) in &added {
                if let Some(value) = curve.values.get(from).copied() {
                    curve.values.entry(*index).or_insert(value);
                }
            }
        }
    }
}

impl Deref for Load {
    type Target = BTreeMap<Key, Curve>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Load {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Load {
    /// The sums over all GPUs, under no GPU.
    pub fn merged<'a>(loads: impl Iterator<Item = &'a Self>) -> Self {
        let mut curves: BTreeMap<Key, Vec<&Curve>> = BTreeMap::new();
        for load in loads {
            for ((gpu, metric, statistic), curve) in &load.0 {
                if gpu.is_some() {
                    let key = (None, *metric, *statistic);
                    curves.entry(key).or_default().push(curve);
                }
            }
        }
        let sums = curves.into_iter().map(|(key, curves)| (key, sum(curves.into_iter())));
        Self(sums.collect())
    }

    /// How many of some instances ran, by period.
    pub fn running(loads: &[Self]) -> BTreeMap<u32, usize> {
        let cpu = (None, Metric::CpuUtilization, Statistic::Average);
        let curves = loads.iter().filter_map(|load| load.0.get(&cpu));
        let mut running = BTreeMap::new();
        for index in curves.flat_map(|curve| curve.values.keys()) {
            *running.entry(*index).or_insert(0) += 1;
        }
        running
    }

    /// Leaves the periods in which more than `rank` instances ran before, with the share of
    /// the work that falls to one of those that run now: at most `count` of them.
    pub fn run_in_turn(&mut self, rank: usize, count: usize, running: &BTreeMap<u32, usize>) {
        for ((_, metric, _), curve) in &mut self.0 {
            let is_shared = [Metric::CpuUtilization, Metric::GpuUtilization].contains(metric);
            curve.values.retain(|index, value| {
                let before = running.get(index).copied().unwrap_or(0);
                if is_shared && before > 0 {
                    *value *= count as f64 / before.min(count) as f64;
                }
                before > rank
            });
        }
    }

    /// What was measured of instance and not of a GPU.
    pub fn of_the_instance(&self) -> Self {
        let own = self.0.iter().filter(|((gpu, _, _), _)| gpu.is_none());
        Self(own.map(|(key, curve)| (*key, curve.clone())).collect())
    }

    /// What was measured of a GPU.
    pub fn of_gpu(&self, index: u16) -> impl Iterator<Item = (Key, &Curve)> {
        self.0
            .iter()
            .filter(move |((gpu, _, _), _)| *gpu == Some(index))
            .map(|(key, curve)| (*key, curve))
    }
}

/// An instance with what it did.
#[derive(Debug, Clone)]
pub struct Machine {
    pub instance: Instance,
    pub load: Load,
}

impl Machine {
    /// Of an estate.
    pub fn of(estate: &Estate, id: &ResourceId) -> Self {
        let mut instances = estate.instances.iter();
        let instance =
            instances.find(|known| known.id == *id).expect("it is in the estate").clone();
        let mut series: Vec<&Series> =
            estate.metrics.iter().filter(|series| series.instance == *id).collect();
        // Of two series of the same thing the first source counts.
        series.sort_by_key(|candidate| candidate.source);
        let mut load = Load::default();
        for own in series {
            load.entry((own.gpu, own.metric, own.statistic)).or_insert_with(|| Curve {
                period_seconds: own.points.period_seconds(),
                values: own.points.iter().collect(),
                source: own.source,
                joined_by: own.joined_by,
            });
        }
        let mut machine = Self { instance, load };
        machine.prove_running(estate.window);
        machine
    }

    /// A CPU point in every period in which it ran, as GPU points prove too: a plan
    /// changes hours, and what it leaves of them is to be seen.
    fn prove_running(&mut self, window: Window) {
        let proofs = self.load.iter().filter(|((_, metric, statistic), _)| {
            let metrics = [Metric::CpuUtilization, Metric::GpuUtilization];
            metrics.contains(metric) && *statistic == Statistic::Average
        });
        let mut ran: BTreeSet<u32> =
            proofs.flat_map(|(_, curve)| curve.values.keys().copied()).collect();
        let cpu = (None, Metric::CpuUtilization, Statistic::Average);
        let Some(curve) = self.load.get_mut(&cpu).filter(|curve| !curve.values.is_empty()) else {
            return;
        };
        // The newest points may still be on their way.
        let length = (window.seconds() / i64::from(curve.period_seconds)) as u32;
        let newest = ran.last().copied().unwrap_or(0);
        if self.instance.state.is_running() && newest + 1 + LATE_PERIODS >= length {
            ran.extend(newest..length);
        }
        let mean = curve.values.values().sum::<f64>() / curve.values.len() as f64;
        for period in ran {
            curve.values.entry(period).or_insert(mean);
        }
    }

    /// Whether CPU points tell when it ran.
    pub fn proves_running(&self) -> bool {
        let cpu = (None, Metric::CpuUtilization, Statistic::Average);
        self.load.get(&cpu).is_some_and(|curve| !curve.values.is_empty())
    }

    /// Stopped since an instant, and known from as early as before.
    pub fn stop_at(&mut self, since: Timestamp) {
        let time = since.strftime("%Y-%m-%d %H:%M:%S GMT");
        let instance = &mut self.instance;
        instance.attached_time = Some(instance.first_seen());
        instance.state = InstanceState::Stopped;
        instance.state_transition_reason = Some(format!("User initiated ({time})"));
    }

    /// Is up now where it ran to the end of the window, and stopped since then where not.
    pub fn settle(&mut self, window: Window) {
        let cpu = (None, Metric::CpuUtilization, Statistic::Average);
        let Some(curve) = self.load.get(&cpu) else { return };
        let Some(newest) = curve.values.keys().next_back() else { return };
        let ran_until = i64::from(newest + 1) * i64::from(curve.period_seconds);
        let until = window.start + SignedDuration::from_secs(ran_until);
        if until < window.end {
            self.stop_at(until);
        } else {
            self.instance.state = InstanceState::Running;
            self.instance.state_transition_reason = None;
        }
    }

    /// The instance and its series; no percentage is above 100.
    pub fn into_series(self, window: Window) -> (Instance, Vec<Series>) {
        let id = self.instance.id.clone();
        let series = self.load.0.into_iter().map(|((gpu, metric, statistic), curve)| {
            let most = if metric.is_percent() { 100.0 } else { f64::MAX };
            let raw = curve.values.iter().map(|(index, value)| {
                let seconds = i64::from(*index) * i64::from(curve.period_seconds);
                let time = window.start + SignedDuration::from_secs(seconds);
                (time, value.min(most))
            });
            let (points, rejected) =
                Points::clean(raw, (metric, statistic), window, curve.period_seconds);
            Series {
                instance: id.clone(),
                gpu,
                metric,
                statistic,
                source: curve.source,
                joined_by: curve.joined_by,
                points,
                rejected,
            }
        });
        let series = series.collect();
        (self.instance, series)
    }
}
