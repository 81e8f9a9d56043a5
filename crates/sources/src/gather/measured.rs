//! Asking how machines were used, and reducing the answers: points are let go as they arrive.
//! Where hours do not tell enough, machines are asked for again on the grid.

use super::{PLACES_AT_ONCE, Place};
use crate::domain::{DeviceUse, Gap, Gathered, Instance, ResourceId, WORK, Window, WorkUnit};
use crate::files::{Recorder, Replaced};
use crate::usage::{Estate, UsageBuilder, Usages};
use crate::{Detail, MetricCalls, MetricRequest, MetricServer, MetricSource, Readings};
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::Semaphore;

/// Calls for metrics at once in a region of an account, whose quota they share.
const CALLS_AT_ONCE: usize = 4;
/// The same in all of them: each answer is held in memory until its turn.
const MOST_CALLS_AT_ONCE: usize = 32;

/// The window, and the period of its grid in seconds.
pub(super) type Grid = (Window, u32);

/// What a source is asked, and about which region; absent for what a server is asked.
pub(super) type Question<'a> = (Option<&'a Place<'a>>, &'a dyn MetricSource, MetricRequest<'a>);

/// Calls that tell how machines were used, and of which region; absent for those of a
/// server.
pub(super) struct Planned<'a> {
    place: Option<&'a Place<'a>>,
    source: &'a dyn MetricSource,
    pub made: MetricCalls<'a>,
}

impl Planned<'_> {
    /// Takes over the calls of another plan if both are of one region, whose quota they
    /// share, or of one server. Returns whether they are.
    pub(super) fn takes_over(&mut self, other: &mut Self) -> bool {
        let is_same = match (self.place, other.place) {
            (Some(own), Some(others)) => std::ptr::eq(own, others),
            (None, None) => std::ptr::addr_eq(self.source, other.source),
            _ => false,
        };
        if is_same {
            self.made.series += other.made.series;
            self.made.cost_usd += other.made.cost_usd;
            self.made.calls.append(&mut other.made.calls);
        }
        is_same
    }
}

/// The calls that answer questions, in their order.
pub(super) async fn planned<'a>(
    questions: impl Iterator<Item = Question<'a>>,
    gaps: &mut Vec<Gap>,
) -> Vec<Planned<'a>> {
    let plans = questions
        .map(|(place, source, ask)| async move { (place, source, source.plan(ask).await) });
    let answers: Vec<_> = stream::iter(plans).buffered(PLACES_AT_ONCE).collect().await;
    let mut planned = Vec::with_capacity(answers.len());
    for (place, source, answer) in answers {
        gaps.extend(named(place, answer.gaps));
        planned.push(Planned { place, source, made: answer.value });
    }
    planned
}

fn named(place: Option<&Place<'_>>, gaps: Vec<Gap>) -> Vec<Gap> {
    match place {
        Some(place) => place.named(gaps),
        None => gaps,
    }
}

/// What calls for metrics answered.
#[derive(Default)]
pub(super) struct Measured {
    pub usage: Usages,
    /// Machines of which hours do not tell what the grid would.
    pub partial: BTreeSet<ResourceId>,
    /// How pods used devices, in any order.
    pub uses: Vec<DeviceUse>,
    /// Apart from all others, what is missing of what is known already, by time.
    pub missing: Missing,
}

/// What was missing of what is known already.
#[derive(Default)]
pub(super) struct Missing {
    /// Usage on the grid of each stretch, in order of time.
    pub stretches: Vec<(Window, Usages)>,
    /// Machines of which not everything could be read.
    pub unread: BTreeSet<ResourceId>,
}

/// Makes the calls, and lets their points go.
pub(super) async fn measured(
    planned: Vec<Planned<'_>>,
    grid: Grid,
    mut recorder: Option<&mut Recorder>,
) -> Gathered<Measured> {
    let turns: Vec<Semaphore> = planned.iter().map(|_| Semaphore::new(CALLS_AT_ONCE)).collect();
    let at_once = (planned.len() * CALLS_AT_ONCE).clamp(1, MOST_CALLS_AT_ONCE);
    let plans = planned.into_iter().zip(&turns);
    let mut plans: Vec<_> =
        plans.map(|(plan, turns)| (plan.place, turns, plan.made.calls.into_iter())).collect();
    // A few of every region by turns, so that none waits for the end of another: each call in its
    // turn among those of its region.
    let mut calls = Vec::new();
    while !plans.is_empty() {
        plans.retain_mut(|(place, turns, rest)| {
            let next = rest.by_ref().take(CALLS_AT_ONCE);
            let (place, turns) = (*place, *turns);
            calls.extend(next.map(|call| async move {
                // It is never closed.
                let _turn = turns.acquire().await;
                let Gathered { value, gaps } = call.await;
                Gathered { value, gaps: named(place, gaps) }
            }));
            !rest.as_slice().is_empty()
        });
    }
    let number = Some(calls.len() as u64);
    let _work = WORK.begin("calls for metrics".to_owned(), number, WorkUnit::Things);
    let mut answers = stream::iter(calls).buffered(at_once);
    let mut sums = Sums::new(grid);
    let mut gaps = Vec::new();
    while let Some(answer) = answers.next().await {
        WORK.advance(1);
        sums.add(answer.leave_gaps(&mut gaps), recorder.as_deref_mut());
    }
    Gathered { value: sums.finish(), gaps }
}

/// What answers amount to so far.
struct Sums {
    grid: Grid,
    usage: UsageBuilder,
    /// By their beginning.
    stretches: BTreeMap<Timestamp, (Window, UsageBuilder)>,
    /// Everything else, and the usage that came added up.
    measured: Measured,
}

impl Sums {
    fn new(grid: Grid) -> Self {
        Self {
            grid,
            usage: UsageBuilder::new(grid.0, grid.1),
            stretches: BTreeMap::new(),
            measured: Measured::default(),
        }
    }

    fn add(&mut self, readings: Readings, recorder: Option<&mut Recorder>) {
        match readings {
            Readings::Series(series) => {
                series.iter().for_each(|each_series| self.usage.add(each_series));
                if let Some(recorder) = recorder {
                    series.iter().for_each(|each_series| recorder.add(each_series));
                }
            }
            Readings::Hours { series, partial } => {
                self.measured.partial.extend(partial);
                series.iter().for_each(|each_series| self.usage.add(each_series));
                if let Some(recorder) = recorder {
                    series.iter().for_each(|each_series| recorder.add_for_now(each_series));
                }
            }
            Readings::Stretches { stretches, unread } => {
                self.measured.missing.unread.extend(unread);
                for (stretch, series) in stretches {
                    let period_seconds = self.grid.1;
                    let sum = self.stretches.entry(stretch.start);
                    let new = || (stretch, UsageBuilder::new(stretch, period_seconds));
                    let (_, sum) = sum.or_insert_with(new);
                    series.iter().for_each(|each_series| sum.add(each_series));
                }
            }
            Readings::Usage(found) => {
                let (window, period_seconds) = self.grid;
                self.measured.usage.merge(found, window, period_seconds);
            }
            Readings::Uses(found) => self.measured.uses.extend(found),
        }
    }

    fn finish(self) -> Measured {
        let (window, period_seconds) = self.grid;
        let mut measured = self.measured;
        let aggregated = std::mem::replace(&mut measured.usage, self.usage.finish());
        measured.usage.merge(aggregated, window, period_seconds);
        let stretches = self.stretches.into_values();
        measured.missing.stretches =
            stretches.map(|(stretch, sum)| (stretch, sum.finish())).collect();
        measured
    }
}

/// Which machines to ask for on the grid: of an estate that was measured by the hour, and
/// of the machines in it of which an hour is not whole. Beside them the usage of the estate,
/// which is most of its memory and is held once.
pub type Refine<'a> = &'a dyn Fn(Estate, &BTreeSet<ResourceId>) -> (BTreeSet<ResourceId>, Usages);

/// A region with the machines in it that are measured.
pub(super) type Home<'a> = (&'a Place<'a>, BTreeSet<ResourceId>);

/// Completes an estate that was measured by the hour with finer answers, in the place of the
/// hours that do not suffice, from regions and from servers.
pub(super) async fn complete(
    estate: &mut Estate,
    (homes, servers): (&[Home<'_>], &[MetricServer]),
    partial: &BTreeSet<ResourceId>,
    refine: Refine<'_>,
    mut recorder: Option<&mut Recorder>,
    progress: &dyn Fn(&str),
) {
    let (window, period_seconds) = (estate.window, estate.period_seconds);
    let usage = std::mem::take(&mut estate.usage);
    let (fine, usage) = refine(Estate { usage, ..estate.clone() }, partial);
    estate.usage = usage;
    progress(&format!("{} instances in finer detail", fine.len()));
    let is_replaced = |id: &ResourceId| fine.contains(id) && partial.contains(id);
    estate.usage.retain(|id| !is_replaced(id));
    estate.usage.forget_grid(|id| fine.contains(id));
    estate.clusters.uses.retain(|used| !is_replaced(&used.machine));
    if let Some(recorder) = &mut recorder {
        for id in &fine {
            let what = if partial.contains(id) { Replaced::Everything } else { Replaced::Grid };
            recorder.replace(id, what);
        }
    }
    let again = again(estate, (homes, servers), &fine, partial);
    let (fleet, shapes) = (estate.instances.as_slice(), &estate.shapes);
    let mig_instances = &estate.clusters.mig_instances();
    let questions = again.iter().flat_map(|again| {
        let ask = MetricRequest {
            fleet,
            instances: &again.instances,
            shapes,
            mig_instances,
            window,
            period_seconds,
            detail: again.detail,
            known: None,
        };
        again.sources.iter().map(move |source| (again.place, *source, ask))
    });
    let mut gaps = Vec::new();
    let mut plans: Vec<Planned<'_>> = planned(questions, &mut gaps).await;
    // Both details of a region, or of a server, are asked for in the same turns.
    plans.dedup_by(|later, kept| kept.takes_over(later));
    let answer = measured(plans, (window, period_seconds), recorder).await;
    let Measured { usage, uses, .. } = answer.leave_gaps(&mut gaps);
    estate.usage.merge(usage, window, period_seconds);
    estate.clusters.uses.extend(uses);
    estate.clusters.sort();
    estate.gaps.extend(gaps);
    estate.gaps.sort();
    estate.gaps.dedup();
}

/// Who is asked again, and about which machines.
struct RepeatedQuery<'a> {
    /// The region that the sources are of; absent for a server.
    place: Option<&'a Place<'a>>,
    sources: Vec<&'a dyn MetricSource>,
    detail: Detail,
    instances: Vec<Instance>,
}

/// What to ask in each region and of each server: of machines whose hours are not whole
/// everything, of the others what is read period by period.
fn again<'a>(
    estate: &Estate,
    (homes, servers): (&[Home<'a>], &'a [MetricServer]),
    fine: &BTreeSet<ResourceId>,
    partial: &BTreeSet<ResourceId>,
) -> Vec<RepeatedQuery<'a>> {
    let of_homes = homes.iter().map(|(place, own)| {
        let sources = place.connection.metrics.iter();
        let sources: Vec<&'a dyn MetricSource> = sources.map(|source| source.as_ref()).collect();
        (Some(*place), sources, Some(own))
    });
    let of_servers = servers.iter().map(|server| {
        let sources: Vec<&'a dyn MetricSource> = vec![server.metrics.as_ref()];
        (None, sources, None)
    });
    let mut queries = Vec::new();
    for (place, sources, own) in of_homes.chain(of_servers) {
        for (detail, is_partial) in [(Detail::Full, true), (Detail::Grid, false)] {
            let instances = estate.instances.iter().filter(|instance| {
                own.is_none_or(|own| own.contains(&instance.id))
                    && fine.contains(&instance.id)
                    && partial.contains(&instance.id) == is_partial
            });
            let instances: Vec<Instance> = instances.cloned().collect();
            if !instances.is_empty() {
                queries.push(RepeatedQuery { place, sources: sources.clone(), detail, instances });
            }
        }
    }
    queries
}
