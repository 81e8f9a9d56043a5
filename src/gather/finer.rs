//! Asking again on the grid, where hours do not tell enough.

use super::measured::{Measured, Planned, measured, planned};
use super::places::Place;
use crate::domain::{Instance, ResourceId};
use crate::sources::files::{Recorder, Replaced};
use crate::sources::{Detail, MetricAsk};
use crate::usage::{Estate, Usages};
use std::collections::BTreeSet;

/// Which machines to ask for on the grid: of an estate that was measured by the hour, and
/// of the machines in it of which an hour is not whole. Beside them the usage of the estate,
/// which is most of its memory and is held once.
pub type Refine<'a> = &'a dyn Fn(Estate, &BTreeSet<ResourceId>) -> (BTreeSet<ResourceId>, Usages);

/// A region with the machines in it that are measured.
pub(super) type Home<'a> = (&'a Place<'a>, BTreeSet<ResourceId>);

/// Completes an estate that was measured by the hour with finer answers, in the place of the
/// hours that do not tell enough.
pub(super) async fn complete(
    estate: &mut Estate,
    homes: &[Home<'_>],
    partial: &BTreeSet<ResourceId>,
    refine: Refine<'_>,
    mut recorder: Option<&mut Recorder>,
    progress: &dyn Fn(&str),
) {
    let (window, period_seconds) = (estate.window, estate.period_seconds);
    let usage = std::mem::take(&mut estate.usage);
    let by_hours = Estate {
        usage,
        ..estate.clone()
    };
    let (fine, usage) = refine(by_hours, partial);
    estate.usage = usage;
    progress(&format!("{} instances in finer detail", fine.len()));
    estate
        .usage
        .retain(|id| !(fine.contains(id) && partial.contains(id)));
    estate.usage.forget_grid(|id| fine.contains(id));
    if let Some(recorder) = &mut recorder {
        for id in &fine {
            let what = if partial.contains(id) {
                Replaced::Everything
            } else {
                Replaced::Grid
            };
            recorder.replace(id, what);
        }
    }
    let asks = asks(estate, homes, &fine, partial);
    let shapes = &estate.shapes;
    let questions = asks.iter().flat_map(|(place, detail, instances)| {
        let ask = MetricAsk {
            instances,
            shapes,
            window,
            period_seconds,
            detail: *detail,
        };
        let sources = place.connection.metrics.iter();
        sources.map(move |source| (Some(*place), source.as_ref(), ask))
    });
    let mut gaps = Vec::new();
    let mut plans: Vec<Planned<'_>> = planned(questions, &mut gaps).await;
    // Both details of a region are asked for in the same turns.
    plans.dedup_by(|later, kept| kept.takes_over(later));
    let found = measured(plans, (window, period_seconds), recorder).await;
    gaps.extend(found.gaps);
    let Measured { usage, uses, .. } = found.value;
    estate.usage.merge(usage, window, period_seconds);
    estate.clusters.uses.extend(uses);
    estate.clusters.sort();
    estate.gaps.extend(gaps);
    estate.gaps.sort();
    estate.gaps.dedup();
}

/// What to ask in each region: of machines whose hours are not whole everything, of the
/// others what is read period by period.
fn asks<'a>(
    estate: &Estate,
    homes: &[Home<'a>],
    fine: &BTreeSet<ResourceId>,
    partial: &BTreeSet<ResourceId>,
) -> Vec<(&'a Place<'a>, Detail, Vec<Instance>)> {
    let mut asks = Vec::new();
    for (place, own) in homes {
        for (detail, is_partial) in [(Detail::Full, true), (Detail::Grid, false)] {
            let instances = estate.instances.iter().filter(|one| {
                own.contains(&one.id)
                    && fine.contains(&one.id)
                    && partial.contains(&one.id) == is_partial
            });
            let instances: Vec<Instance> = instances.cloned().collect();
            if !instances.is_empty() {
                asks.push((*place, detail, instances));
            }
        }
    }
    asks
}
