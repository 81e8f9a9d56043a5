//! Asking again on the grid, where hours do not tell enough.

use super::measured::{Measured, Planned, measured, planned};
use super::places::Place;
use crate::domain::{Instance, ResourceId};
use crate::sources::files::{Recorder, Replaced};
use crate::sources::{Detail, MetricRequest, MetricServer, MetricSource};
use crate::usage::{Estate, Usages};
use std::collections::BTreeSet;

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
