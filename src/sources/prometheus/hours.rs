//! Everything of a chunk by the hour: the server works out means, maxima and counts, and
//! answers a twelfth of the values.
//!
//! An hour has the maximum of its periods, and their mean where their samples are spread
//! evenly, which the counts show. Of a GPU that is made up of parts it has neither: parts
//! come and go within an hour, and need not peak together.

use super::ask::{Ask, Sizes, ends_all, in_pieces, warned};
use super::metric_map::MappedMetric;
use super::plan::{Chunk, DeviceKey, Request};
use super::queries::{Form, Span, query};
use super::readings::{
    Cell, Grids, Part, WANTED, devices_of, forms, seconds_of_others, series_of, take, values_of,
};
use crate::domain::{Gathered, Metric, ResourceId, Statistic, Window};
use crate::sources::are_whole;
use crate::sources::{HOUR_SECONDS, Readings};
use jiff::SignedDuration;
use std::collections::BTreeSet;

/// What reading a chunk has led to so far.
#[derive(Default)]
struct Reading {
    /// Machines of which hours do not show what the grid would, or were not answered.
    partial: BTreeSet<ResourceId>,
    sizes: Sizes,
    /// Whether the next call would fail as one before it.
    has_ended: bool,
}

/// Reads everything of a chunk by the hour, and which machines have to be asked for again in
/// full: those of which hours do not show enough, and those that a call failed for.
pub(super) async fn read_hours<A: Ask>(
    asker: &A,
    server: &str,
    chunk: &Chunk<'_>,
    window: Window,
) -> Gathered<Readings> {
    let mut reading = Reading { partial: made_of_parts(chunk), ..Reading::default() };
    let chunk = without(chunk, &reading.partial);
    let mut series = Vec::new();
    for (metric, statistic, at_least) in WANTED {
        let span = Span::of(window, HOUR_SECONDS.max(at_least));
        let mut grids = Grids::new();
        let of_metric = || chunk.requests.iter().filter(move |request| request.metric == metric);
        for request in of_metric() {
            for (form, hosts) in forms(request, statistic) {
                let asked = (form, hosts.as_slice());
                reading.ask(asker, request, asked, (statistic, span), &mut grids).await;
            }
        }
        let decides = metric.is_on_grid() || metric == Metric::GpuMemoryUsed;
        if decides && statistic == Statistic::Average {
            let mut counts = Grids::new();
            for request in of_metric() {
                let request = unscaled(request);
                let hosts: Vec<&str> = request.hosts.keys().map(String::as_str).collect();
                let asked = (Form::Count, hosts.as_slice());
                reading.ask(asker, &request, asked, (statistic, span), &mut counts).await;
            }
            reading.partial.extend(not_whole(&chunk, (&grids, &counts), window));
        }
        let what = (metric, statistic);
        series.extend(grids.iter().filter_map(|(device, parts)| {
            let values = values_of(&chunk, *device, parts, what, (window, span))?;
            series_of(&chunk, *device, values, what, (window, span))
        }));
    }
    let partial = reading.partial;
    Gathered { value: Readings::Hours { series, partial }, gaps: warned(asker, server) }
}

impl Reading {
    /// Asks for some hosts of a request in a form.
    async fn ask<'a, A: Ask>(
        &mut self,
        asker: &A,
        request: &Request<'a>,
        (form, hosts): (Form, &[&str]),
        (statistic, span): (Statistic, Span),
        grids: &mut Grids<'a>,
    ) {
        if self.has_ended {
            self.partial.extend(machines(request, hosts));
            return;
        }
        let failures = in_pieces(
            asker,
            (hosts, span),
            &mut self.sizes,
            |hosts| query(request, form, hosts, span.period_seconds),
            |rows| take(grids, request, rows, (statistic, span)),
        )
        .await;
        for failure in failures {
            self.has_ended |= ends_all(&failure.error);
            self.partial.extend(machines(request, failure.hosts));
        }
    }
}

/// The machines of some hosts of a request.
fn machines(
    request: &Request<'_>,
    hosts: impl IntoIterator<Item = impl AsRef<str>>,
) -> impl Iterator<Item = ResourceId> {
    devices_of(request, hosts).into_iter().map(|(id, _)| id.clone())
}

/// The machines with a GPU that is divided, is made up of cores, or has rows of the pods that
/// share it.
fn made_of_parts(chunk: &Chunk<'_>) -> BTreeSet<ResourceId> {
    let targets = chunk
        .requests
        .iter()
        .flat_map(|request| request.hosts.values())
        .flat_map(|host| host.devices.values().map(move |target| (host.has_parts, target)));
    let divided =
        targets.filter(|(has_parts, target)| *has_parts || target.slices || target.core.is_some());
    divided.map(|(_, target)| target.device.0.clone()).collect()
}

/// A chunk that asks nothing about some machines.
fn without<'a>(chunk: &Chunk<'a>, skipped: &BTreeSet<ResourceId>) -> Chunk<'a> {
    let mut chunk = chunk.clone();
    for request in &mut chunk.requests {
        request.hosts.retain(|_, host| {
            let mut targets = host.devices.values();
            !targets.any(|target| skipped.contains(target.device.0))
        });
    }
    chunk.requests.retain(|request| !request.hosts.is_empty());
    chunk
}

/// A request whose answers are not in the unit of its metric.
fn unscaled<'a>(request: &Request<'a>) -> Request<'a> {
    Request { mapped: MappedMetric { scale: 1.0, ..request.mapped.clone() }, ..request.clone() }
}

/// The machines of which an hour may have a period without a sample, or has a value of
/// several rows, or samples of another machine that had the name before.
fn not_whole<'a>(
    chunk: &Chunk<'a>,
    (values, counts): (&Grids<'a>, &Grids<'a>),
    window: Window,
) -> BTreeSet<ResourceId> {
    let devices: BTreeSet<DeviceKey<'a>> = values.keys().chain(counts.keys()).copied().collect();
    let open = devices.into_iter().filter(|device| {
        let (Some(values), Some(counts), Some(machine)) =
            (of_gpu(values, *device), of_gpu(counts, *device), chunk.machines.get(device.0))
        else {
            return true;
        };
        let others = seconds_of_others(machine, window);
        others % i64::from(HOUR_SECONDS) != 0 || !is_whole(values, counts, window)
    });
    open.map(|(id, _)| id.clone()).collect()
}

fn of_gpu<'g, 'a>(grids: &'g Grids<'a>, device: DeviceKey<'a>) -> Option<&'g [Cell]> {
    Some(grids.get(&device)?.get(&Part::Gpu)?.as_slice())
}

/// Whether each hour with samples has one value and some samples in each of its periods.
fn is_whole(values: &[Cell], counts: &[Cell], window: Window) -> bool {
    let mut hours = Vec::new();
    for (hour, (value, count)) in (0_i64..).zip(values.iter().zip(counts)) {
        match (value.rows, count.rows) {
            (0, 0) => {}
            (1, 1) => {
                let after = SignedDuration::from_hours(hour);
                hours.push((window.start.checked_add(after).unwrap_or(window.end), count.sum));
            }
            _ => return false,
        }
    }
    are_whole(&hours, window)
}

#[cfg(test)]
#[path = "hours_tests.rs"]
mod tests;
