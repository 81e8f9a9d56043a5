//! From the rows of answers to series of GPUs.

use super::answer::{Labels, Row};
use super::ask::{Ask, Sizes, ends_all, in_pieces, warned};
use super::devices::{Machine, Slice, slice_of};
use super::metric_map::Quantity;
use super::plan::{Chunk, DeviceKey, Division, Request, Target};
use super::queries::{Form, Span, query};
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, Gathered, JoinedBy, Metric, SeriesSource, Statistic, Window,
};
use crate::usage::{Points, Series};
use crate::{DAY_SECONDS, Detail, HOUR_SECONDS, Readings, SourceError};
use std::collections::{BTreeMap, BTreeSet};

/// What is wanted, and by which period at least: verdict metrics on the full grid, the
/// rest by the hour or day, which costs a fraction of the points.
pub(super) const WANTED: [(Metric, Statistic, u32); 8] = [
    (Metric::GpuUtilization, Statistic::Average, 0),
    (Metric::GpuUtilization, Statistic::Maximum, 0),
    (Metric::GpuMemoryUsed, Statistic::Average, 0),
    (Metric::GpuMemoryUsed, Statistic::Maximum, 0),
    (Metric::GpuMemoryTotal, Statistic::Maximum, DAY_SECONDS),
    (Metric::GpuPowerDraw, Statistic::Average, HOUR_SECONDS),
    (Metric::GpuSmActivity, Statistic::Average, HOUR_SECONDS),
    (Metric::GpuTemperature, Statistic::Maximum, HOUR_SECONDS),
];
/// Values from here on mean that there is none: DCGM's blanks begin at 2147483632, and
/// one among the samples of an hour at one a second still makes a mean of 596,523. No
/// card has as many MiB, and none draws as many watts.
const BLANK_FROM: f64 = 500_000.0;
/// Values from here on are errors of an exporter: three blanks of 64 bits together, as a
/// percentage, are below 6e21.
const BLANK_BELOW: f64 = 1e22;
/// Percentages are rounded to this part of one.
const PART_OF_A_PERCENT: f64 = 1e6;
/// Values that tell how far apart samples are.
const FEWEST_VALUES: usize = 12;

/// What a value is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Gpu,
    Slice(Slice),
    /// A core, by the name of the metric.
    Core(String, u16),
}

/// The values of the rows of one part in one period.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Cell {
    pub(super) sum: f64,
    pub(super) rows: u32,
}

/// The parts of a GPU, each with a cell for each period.
pub(super) type Parts = BTreeMap<Part, Vec<Cell>>;

pub(super) type Grids<'a> = BTreeMap<DeviceKey<'a>, Parts>;

impl Cell {
    /// Adds a row. Several are of an exporter that was replaced under other labels in the
    /// period: their mean counts, or the largest maximum.
    fn add(&mut self, value: f64, statistic: Statistic) {
        if statistic == Statistic::Maximum && self.rows > 0 {
            self.sum = self.sum.max(value);
        } else {
            self.sum += value;
            self.rows += 1;
        }
    }

    fn value(self) -> Option<f64> {
        (self.rows > 0).then(|| self.sum / f64::from(self.rows))
    }
}

/// What reading a chunk has led to so far.
#[derive(Default)]
struct Reading {
    series: Vec<Series>,
    /// Failed calls, with the series that are missing for each.
    failed: Vec<(SourceError, usize)>,
    /// Seconds between the samples of GPUs that are sampled less than once an hour.
    sparse: Vec<u64>,
    /// MIG instances without utilization on cards that have some with it, and all of these.
    unmeasured: (usize, usize),
    sizes: Sizes,
}

/// Reads everything of a chunk, or what is asked for by [`Detail::Grid`]. A call that fails
/// leaves out what it was about.
pub(super) async fn read<A: Ask>(
    asker: &A,
    server: &str,
    chunk: &Chunk<'_>,
    (window, period_seconds): (Window, u32),
    detail: Detail,
) -> Gathered<Readings> {
    let mut reading = Reading::default();
    let wanted = WANTED.into_iter();
    for (metric, statistic, at_least) in
        wanted.filter(|(metric, ..)| detail != Detail::Grid || metric.is_on_grid())
    {
        let span = Span::of(window, period_seconds.max(at_least));
        let mut grids = Grids::new();
        for request in chunk.requests.iter().filter(|request| request.metric == metric) {
            reading.ask(asker, request, statistic, span, &mut grids).await;
        }
        for (device, parts) in grids {
            reading.add(chunk, device, &parts, (metric, statistic), (window, span));
        }
    }
    let gaps = reading.gaps(server, warned(asker, server));
    Gathered { value: Readings::Series(reading.series), gaps }
}

impl Reading {
    /// Asks for one statistic of a request.
    async fn ask<'a, A: Ask>(
        &mut self,
        asker: &A,
        request: &Request<'a>,
        statistic: Statistic,
        span: Span,
        grids: &mut Grids<'a>,
    ) {
        if let Some((error, _)) = self.failed.iter().find(|(error, _)| ends_all(error)).cloned() {
            self.failed.push((error, devices_of(request, request.hosts.keys()).len()));
            return;
        }
        for (form, hosts) in forms(request, statistic) {
            let failures = in_pieces(
                asker,
                (hosts.as_slice(), span),
                &mut self.sizes,
                |hosts| query(request, form, hosts, span.period_seconds),
                |rows| take(grids, request, rows, (statistic, span)),
            )
            .await;
            self.failed.extend(failures.into_iter().map(|failure| {
                let count = devices_of(request, failure.hosts).len();
                (failure.error, count)
            }));
        }
    }

    /// Adds the series of a metric of a GPU.
    fn add(
        &mut self,
        chunk: &Chunk<'_>,
        device: DeviceKey<'_>,
        parts: &Parts,
        what: (Metric, Statistic),
        (window, span): (Window, Span),
    ) {
        if what == (Metric::GpuUtilization, Statistic::Average)
            && let Some(division) = chunk.divisions.get(&device)
            && let Some((missing, all)) = unmeasured_slices(division, parts)
        {
            self.unmeasured.0 += missing;
            self.unmeasured.1 += all;
        }
        let Some(values) = values_of(chunk, device, parts, what, (window, span)) else { return };
        if what == (Metric::GpuUtilization, Statistic::Average) {
            self.sparse.extend(spacing(&values, span.period_seconds));
        }
        self.series.extend(series_of(chunk, device, values, what, (window, span)));
    }

    fn gaps(&mut self, server: &str, warned: Vec<Gap>) -> Vec<Gap> {
        let gap = |cause| Gap::of(GapSubject::Metrics, server, cause);
        let mut counts: Vec<(SourceError, usize)> = Vec::new();
        for (error, count) in self.failed.drain(..) {
            match counts.iter_mut().find(|(known, _)| *known == error) {
                Some((_, sum)) => *sum += count,
                None => counts.push((error, count)),
            }
        }
        let failed = counts.into_iter().map(|(error, count)| {
            gap(error.cause_of(CauseKind::SeriesNotRead, &count.to_string()))
        });
        let mut gaps: Vec<Gap> = failed.chain(warned).collect();
        if let (missing @ 1.., all) = self.unmeasured {
            let [missing, total] = [missing, all].map(|count| count.to_string());
            gaps.push(gap(Cause::of(CauseKind::SlicesUnmeasured, [&missing, &total])));
        }
        self.sparse.sort_unstable();
        if let Some(typical) = self.sparse.get(self.sparse.len() / 2) {
            let count = self.sparse.len().to_string();
            let apart = time_span(*typical);
            gaps.push(gap(Cause::of(CauseKind::SamplesSparse, [count.as_str(), &apart])));
        }
        gaps
    }
}

/// The values of a GPU in each period of a span, by those of its parts.
pub(super) fn values_of(
    chunk: &Chunk<'_>,
    device: DeviceKey<'_>,
    parts: &Parts,
    what: (Metric, Statistic),
    (window, span): (Window, Span),
) -> Option<Vec<Option<f64>>> {
    let (machine, division) = (chunk.machines.get(device.0)?, chunk.divisions.get(&device)?);
    let others = seconds_of_others(machine, window).div_euclid(i64::from(span.period_seconds));
    let adds_up = matches!(what.0, Metric::GpuUtilization | Metric::GpuMemoryUsed);
    if adds_up && unmeasured_slices(division, parts).is_some() {
        return None;
    }
    let mut values = combined(parts, division, what);
    let end = usize::try_from(others).unwrap_or(0).min(values.len());
    values[..end].fill(None);
    Some(values)
}

/// How many MIG instances have no value although others of their card have, and how
/// many there are: what some of them do says nothing about the card. `None` where none is
/// missing, and of a card that is not divided.
fn unmeasured_slices(division: &Division, parts: &Parts) -> Option<(usize, usize)> {
    let measured: BTreeSet<&str> = parts
        .iter()
        .filter(|(_, cells)| cells.iter().any(|cell| cell.rows > 0))
        .filter_map(|(part, _)| match part {
            Part::Slice(slice) => Some(slice.number.as_str()),
            Part::Gpu | Part::Core(..) => None,
        })
        .collect();
    if division.unseen.is_some() {
        return division.unseen;
    }
    let slices = division.slices.keys().map(|slice| slice.number.as_str());
    let slices: BTreeSet<&str> = slices.collect();
    let missing = slices.difference(&measured).count();
    (missing > 0 && !measured.is_empty()).then_some((missing, slices.len()))
}

/// How long in a window another machine had the name and the address of this one.
pub(super) fn seconds_of_others(machine: &Machine<'_>, window: Window) -> i64 {
    let first_seen = match machine.joined_by {
        JoinedBy::InstanceId => window.start,
        _ => machine.instance.first_seen(),
    };
    (first_seen.as_second() - window.start.as_second()).max(0)
}

/// The series of values; `None` where they say nothing.
pub(super) fn series_of(
    chunk: &Chunk<'_>,
    (id, gpu): DeviceKey<'_>,
    values: Vec<Option<f64>>,
    (metric, statistic): (Metric, Statistic),
    (window, span): (Window, Span),
) -> Option<Series> {
    let (points, rejected) = Points::regular(
        window.start,
        values.into_iter().map(|value| (value, 1)),
        (metric, statistic),
        window,
        span.period_seconds,
    );
    if points.is_empty() && rejected.total() == 0 {
        return None;
    }
    Some(Series {
        instance: id.clone(),
        gpu: Some(gpu),
        metric,
        statistic,
        source: SeriesSource::Prometheus,
        joined_by: chunk.machines.get(id)?.joined_by,
        points,
        rejected,
    })
}

/// The GPUs that answers about some hosts are of.
pub(super) fn devices_of<'a>(
    request: &Request<'a>,
    hosts: impl IntoIterator<Item = impl AsRef<str>>,
) -> BTreeSet<DeviceKey<'a>> {
    let targets = hosts.into_iter().filter_map(|host| request.hosts.get(host.as_ref()));
    targets.flat_map(|host| host.devices.values().map(|target| target.device)).collect()
}

/// Takes the rows of an answer into the grids of the GPUs that they are of.
pub(super) fn take<'a>(
    grids: &mut Grids<'a>,
    request: &Request<'a>,
    rows: Vec<Row>,
    (statistic, span): (Statistic, Span),
) {
    for row in rows {
        let Some((_, target)) = request.target_of(&row.labels) else { continue };
        let Some(part) = part_of(request, target, &row.labels) else { continue };
        let periods = usize::try_from(span.periods).unwrap_or(0);
        let parts = grids.entry(target.device).or_default();
        let cells = parts.entry(part).or_insert_with(|| vec![Cell::default(); periods]);
        for (instant, value) in row.points {
            let value = value * request.mapped.scale;
            if (BLANK_FROM..BLANK_BELOW).contains(&value) {
                continue;
            }
            // Cleaning counts what is infinite, and no unit needs this much.
            let value = if value >= BLANK_BELOW { f64::INFINITY } else { value };
            let place = span.place(instant);
            if let Some(cell) = place.and_then(|place| cells.get_mut(place)) {
                cell.add(value, statistic);
            }
        }
    }
}

/// What a row is of, if that is asked for.
pub(super) fn part_of(request: &Request<'_>, target: &Target<'_>, labels: &Labels) -> Option<Part> {
    match (slice_of(&request.mapped, labels), target.core) {
        (Some(slice), None) => target.slices.then_some(Part::Slice(slice)),
        (_, Some(core)) => Some(Part::Core(request.mapped.name.clone(), core)),
        (None, None) => target.whole.then_some(Part::Gpu),
    }
}

/// The values of a GPU by those of its parts. While a card is divided, what is published
/// of the whole card does not count: that is between the first and the last value of any
/// slice.
fn combined(parts: &Parts, division: &Division, what: (Metric, Statistic)) -> Vec<Option<f64>> {
    let whole = parts.get(&Part::Gpu);
    let of_parts: Vec<(&Part, &Vec<Cell>)> =
        parts.iter().filter(|(part, _)| **part != Part::Gpu).collect();
    let periods = parts.values().map(Vec::len).max().unwrap_or(0);
    let present = |place: usize| -> Vec<(&Part, f64)> {
        let values =
            of_parts.iter().filter_map(|(part, cells)| Some((*part, cells.get(place)?.value()?)));
        values.collect()
    };
    let is_divided = |place: &usize| !present(*place).is_empty();
    let first = (0..periods).find(is_divided);
    let last = (0..periods).rfind(is_divided);
    let divided = first.zip(last).map(|(first, last)| first..=last);
    let spans = spans(&of_parts);
    let (metric, _) = what;
    let value = |place: usize| {
        if divided.as_ref().is_some_and(|all| all.contains(&place)) {
            let is_silent = |(cells, span): &(&Vec<Cell>, (usize, usize))| {
                is_silent(cells, *span, &spans, place)
            };
            if metric == Metric::GpuUtilization && spans.iter().any(is_silent) {
                return None;
            }
            of_slices_or_cores(&present(place), division, what)
        } else {
            whole?.get(place)?.value()
        }
    };
    let rounded = |value: f64| if metric.is_percent() { rounded(value) } else { value };
    (0..periods).map(|place| value(place).map(rounded)).collect()
}

/// Without what is left of a ratio of 1, such as 100.00000000000001.
pub(super) fn rounded(percent: f64) -> f64 {
    (percent * PART_OF_A_PERCENT).round() / PART_OF_A_PERCENT
}

/// The slices with a value, with the places of their first and their last.
fn spans<'c>(parts: &[(&Part, &'c Vec<Cell>)]) -> Vec<(&'c Vec<Cell>, (usize, usize))> {
    let slices = parts.iter().filter(|(part, _)| matches!(part, Part::Slice(_)));
    let spanned = slices.filter_map(|(_, cells)| {
        let first = cells.iter().position(|cell| cell.rows > 0)?;
        Some((*cells, (first, cells.iter().rposition(|cell| cell.rows > 0)?)))
    });
    spanned.collect()
}

/// Whether a slice reports nothing where it is still there: it began, and no other has begun
/// since it ended, as when a card is divided anew. What the rest of the card does then says
/// nothing about all of it.
fn is_silent(
    cells: &[Cell],
    (first, last): (usize, usize),
    spans: &[(&Vec<Cell>, (usize, usize))],
    place: usize,
) -> bool {
    let is_missing = cells.get(place).is_none_or(|cell| cell.rows == 0);
    let mut begun = spans.iter().map(|(_, (begin, _))| *begin);
    let is_replaced = begun.any(|begin| first < begin && last <= begin && begin <= place);
    first <= place && is_missing && !is_replaced
}

/// The value of a GPU in a period by those of its slices or its cores.
///
/// Slices take part in the utilization of the card by their compute slices; of several
/// maxima that need not have been at the same time, the sum is the most that there can
/// have been. Cores are alike, and those that nothing runs on are not published, so that
/// they take part by their mean. Memory adds up.
fn of_slices_or_cores(
    values: &[(&Part, f64)],
    division: &Division,
    (metric, statistic): (Metric, Statistic),
) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let compute = |part: &Part| match part {
        Part::Slice(slice) => division.slices.get(slice).copied().flatten(),
        Part::Gpu | Part::Core(..) => None,
    };
    let sum: u32 = values.iter().filter_map(|(part, _)| compute(part)).map(u32::from).sum();
    if sum > u32::from(division.card_slices) {
        // The card was divided in another way within the period: more slices than it has
        // are of two times.
        return None;
    }
    if metric == Metric::GpuMemoryUsed {
        return Some(values.iter().map(|(_, value)| value).sum());
    }
    let card = f64::from(division.card_slices);
    let of_slices: Vec<f64> = values
        .iter()
        .filter_map(|(part, value)| Some(value * f64::from(compute(part)?) / card))
        .collect();
    let of_cores = values.iter().map(|(_, value)| *value);
    if !of_slices.is_empty() {
        Some(of_slices.iter().sum())
    } else if statistic == Statistic::Maximum {
        of_cores.reduce(f64::max)
    } else {
        Some(of_cores.sum::<f64>() / values.len() as f64)
    }
}

/// Seconds between the samples of a GPU, where they are usually more than an hour apart: up to
/// that, a sample stands for the time until the next.
fn spacing(values: &[Option<f64>], period_seconds: u32) -> Option<u64> {
    let places = values.iter().zip(0_u64..);
    let filled: Vec<u64> = places.filter_map(|(value, place)| value.map(|_| place)).collect();
    if filled.len() < FEWEST_VALUES {
        return None;
    }
    let mut distances: Vec<u64> = filled.windows(2).map(|pair| pair[1] - pair[0]).collect();
    distances.sort_unstable();
    let typical = *distances.get(distances.len() / 2)?;
    let seconds = typical * u64::from(period_seconds);
    (typical > 1 && seconds > u64::from(HOUR_SECONDS)).then_some(seconds)
}

/// A time span such as `10m 00s`.
fn time_span(seconds: u64) -> String {
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let seconds = seconds % 60;
    match hours {
        0 => format!("{minutes}m {seconds:02}s"),
        _ => format!("{hours}h {minutes:02}m {seconds:02}s"),
    }
}

/// Which hosts are asked for in which form.
pub(super) fn forms<'r>(
    request: &'r Request<'_>,
    statistic: Statistic,
) -> Vec<(Form, Vec<&'r str>)> {
    let hosts = request.hosts.keys().map(String::as_str);
    if statistic == Statistic::Maximum {
        let form = if request.rest.is_empty() { Form::Maximum } else { Form::Sum };
        return vec![(form, hosts.collect())];
    }
    // Power is repeated as it is, whoever shares the GPU.
    let has_parts =
        |host: &str| request.mapped.quantity != Quantity::Power && request.hosts[host].has_parts;
    let (shared, own): (Vec<&str>, Vec<&str>) = hosts.partition(|host| has_parts(host));
    [(Form::Mean, own), (Form::LargestMean, shared)]
        .into_iter()
        .filter(|(_, hosts)| !hosts.is_empty())
        .collect()
}

#[cfg(test)]
#[path = "readings_tests.rs"]
mod tests;
