//! Instances grouped into workloads: what each does, costs and uses, and which of its members
//! behave alike. Grouping is for reading, and every member is judged by itself.

mod grouping;
mod kinds;
mod prices;
mod profiled;

pub use self::grouping::instance_shape;
pub(super) use self::grouping::{Grouped, group};
pub(super) use self::kinds::KIND_TAG;
pub use self::kinds::{is_vocabulary, kind_of_name};
pub(super) use self::prices::{PaidHours, block_hours, block_price, has_ended, idle_storage_costs};

use crate::domain::{
    HourlyActivity, InstanceUsage, Member, Part, Policy, SeriesSource, Signal, UsageState,
    UtilizationSummary, Verdict, Window, Workload,
};
use crate::rules;
use crate::usage::Timeline;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Figures over the GPUs of some instances. Utilization outranks power: where some
/// deliver only power, they count as running and unmeasured.
#[derive(Debug)]
struct PartSum {
    /// The window, and the seconds of its periods.
    grid: (Window, u32),
    by_signal: BTreeMap<Option<Signal>, Timeline>,
    best: Option<(Signal, SeriesSource)>,
    first_seen: Option<Timestamp>,
    instances: usize,
    /// Of the instance that was added last, by itself.
    last: Option<UtilizationSummary>,
    /// Largest of any instance by itself.
    maximum_p99: Option<f64>,
}

impl PartSum {
    pub fn new(grid: (Window, u32)) -> Self {
        Self {
            grid,
            by_signal: BTreeMap::new(),
            best: None,
            first_seen: None,
            instances: 0,
            last: None,
            maximum_p99: None,
        }
    }

    /// Adds what was measured of an instance, with its timeline.
    pub fn add(&mut self, timeline: &Timeline, measured: &InstanceUsage, first_seen: Timestamp) {
        let signal = measured.signal;
        let sum = self.by_signal.entry(signal.map(|(signal, _)| signal));
        sum.or_insert_with(|| Timeline::new(self.grid.0, self.grid.1)).add(timeline);
        self.best = self.best.into_iter().chain(signal).min();
        self.first_seen = self.first_seen.into_iter().chain([first_seen]).min();
        let own = measured.summary.as_ref().and_then(|summary| summary.maximum_p99);
        self.maximum_p99 = self.maximum_p99.into_iter().chain(own).reduce(f64::max);
        self.last.clone_from(&measured.summary);
        self.instances += 1;
    }

    pub fn is_of_utilization(&self) -> bool {
        self.best.is_some_and(|(signal, _)| signal == Signal::GpuUtilization)
    }

    /// The sum over all of them.
    pub fn timeline(&self) -> Timeline {
        let best = self.best.map(|(signal, _)| signal);
        let mut sum = Timeline::new(self.grid.0, self.grid.1);
        for (signal, timeline) in &self.by_signal {
            if best.is_some() && *signal == best {
                sum.add(timeline);
            } else {
                sum.add_running_only(timeline);
            }
        }
        sum
    }

    pub fn figures(&self) -> (Option<UtilizationSummary>, HourlyActivity) {
        let sum = self.timeline();
        let utilization = match self.instances {
            1 => self.last.clone(),
            _ => self.best.and_then(|(signal, source)| sum.summary(signal, source)),
        };
        let signal = self.best.map(|(signal, _)| signal);
        (utilization, sum.activity(signal, self.first_seen.unwrap_or(self.grid.0.end)))
    }
}

/// The sums of each part of a group.
#[derive(Debug)]
struct PartSums {
    grid: (Window, u32),
    /// By [`Member::rest`].
    by_rest: BTreeMap<Option<UsageState>, PartSum>,
}

impl PartSums {
    pub fn new(grid: (Window, u32)) -> Self {
        Self { grid, by_rest: BTreeMap::new() }
    }

    /// The sum of the members that a state keeps from work.
    pub fn of(&mut self, rest: Option<UsageState>) -> &mut PartSum {
        self.by_rest.entry(rest).or_insert_with(|| PartSum::new(self.grid))
    }

    /// The parts, those that rest first. A group of one part is that part.
    pub fn parts(
        &self,
        whole: &Arc<Workload>,
        verdict: &Verdict,
        policy: &Policy,
        as_of: Timestamp,
    ) -> Vec<Part> {
        let has_ignored = whole.members.iter().any(|member| member.ignored.is_some());
        if !whole.key.running || (self.by_rest.len() == 1 && !has_ignored) {
            // A member is idle by itself; the profile of a group judges all of it.
            let idle = verdict.rest().filter(|_| self.by_rest.len() == 1);
            let is_judged = whole.members.iter().any(|member| member.ignored.is_none());
            let workload = self.with_own_p99(idle, verdict, Arc::clone(whole));
            let part = Part { idle, workload, verdict: verdict.clone() };
            return is_judged.then_some(part).into_iter().collect();
        }
        let mut parts: Vec<Part> = self
            .by_rest
            .iter()
            .filter_map(|(idle, sum)| {
                let (utilization, activity) = sum.figures();
                let keep = |member: &Member| member.ignored.is_none() && member.rest() == *idle;
                let part = whole.part(keep, utilization, activity)?;
                let mut verdict = rules::classify(part.measured(), policy, as_of);
                let members = part.members.iter();
                let busy: Option<Vec<f64>> =
                    members.clone().map(|member| member.busy_cpu_percent).collect();
                verdict.busy_cpu_percent = busy.into_iter().flatten().reduce(f64::min);
                let states = members.clone().filter_map(|member| member.state);
                if let Some(state) = idle.or(verdict.busy_cpu_percent.and_then(|_| states.max())) {
                    verdict.state = Some(state);
                    verdict.confidence = members.filter_map(|member| member.confidence).min();
                }
                Some(Part {
                    idle: *idle,
                    workload: self.with_own_p99(*idle, &verdict, Arc::new(part)),
                    verdict,
                })
            })
            .collect();
        parts.sort_by_key(|part| (part.idle.is_none(), part.idle));
        parts
    }

    /// Idleness is reported of each member: of several, the busiest one counts.
    fn with_own_p99(
        &self,
        rest: Option<UsageState>,
        verdict: &Verdict,
        mut part: Arc<Workload>,
    ) -> Arc<Workload> {
        let rests = verdict.state.is_some_and(UsageState::rests);
        let own = self.by_rest.get(&rest).filter(|_| rests);
        let own = own.and_then(|sum| sum.maximum_p99);
        let is_another = |summary: &UtilizationSummary| summary.maximum_p99 != own;
        if own.is_some()
            && part.utilization.as_ref().is_some_and(is_another)
            && let Some(summary) = &mut Arc::make_mut(&mut part).utilization
        {
            summary.maximum_p99 = own;
        }
        part
    }
}
