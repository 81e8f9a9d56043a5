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
use crate::are_whole;
use crate::domain::{Gathered, Metric, ResourceId, Statistic, Window};
use crate::{HOUR_SECONDS, Readings};
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
mod tests {
    use super::*;
    use crate::Detail;
    use crate::domain::{FailureKind, Instance};
    use crate::prometheus::answer::Row;
    use crate::prometheus::devices::Discovery;
    use crate::prometheus::lab::{Server, at, before, days, failure, labels, machine, now};
    use crate::prometheus::labels::Hosts;
    use crate::prometheus::metric_map::MetricMap;
    use crate::prometheus::plan::plan;
    use crate::prometheus::readings::read;
    use crate::usage::Series;
    use jiff::Timestamp;
    use std::collections::BTreeMap;

    const START: i64 = 86_400;
    const END: i64 = START + 2 * 86_400;
    const GPU: &str = r#"hostname="ip-10-0-0-1",gpu="0""#;

    /// Second and percent.
    type Samples = Vec<(i64, f64)>;

    /// A sample in every half minute of the window, between 0 and 100.
    fn whole() -> Samples {
        let seconds = (START + 7..END).step_by(30);
        let percent = |second: i64| (second / 30 * 7_919 % 101) as f64;
        seconds.map(|second| (second, percent(second))).collect()
    }

    fn without(from: i64, to: i64) -> Samples {
        let mut samples = whole();
        samples.retain(|(second, _)| !(from..to).contains(second));
        samples
    }

    /// A server with samples of a GPU, and a hundred times as many MiB. It works figures out from
    /// the samples inside each range, and answers each row so often.
    fn server(samples: Samples, rows: usize) -> Server {
        let answers = move |query: &str, start: Timestamp, end: Timestamp| {
            let range = if query.contains("[1h]") { 3_600 } else { 300 };
            let scale = if query.contains("FB_USED") { 100.0 } else { 1.0 };
            let value = |end: i64| -> Option<f64> {
                let inside = samples.iter();
                let inside = inside.filter(|(second, _)| (end - range..end).contains(second));
                let inside: Vec<f64> = inside.map(|(_, percent)| percent * scale).collect();
                let count = inside.len() as f64;
                let value = if query.starts_with("max") {
                    inside.iter().copied().fold(0.0, f64::max)
                } else if query.contains("sum_over_time") {
                    inside.iter().sum::<f64>() / count
                } else {
                    count
                };
                (count > 0.0).then_some(value)
            };
            // Ranges are evaluated a millisecond before they end.
            let ends = (start.as_second() + 1..=end.as_second() + 1).step_by(range as usize);
            let points = ends.filter_map(|end| Some((before(end), value(end)?)));
            let row = Row { labels: labels(GPU), points: points.collect() };
            Ok(vec![row; rows])
        };
        Server::of(&[], Box::new(answers))
    }

    fn instance(instance_type: &str) -> [Instance; 1] {
        [machine("i-1", instance_type, "ip-10-0-0-1.ec2.internal")]
    }

    /// What to ask for a machine with series of utilization and memory.
    fn chunk<'a>(instances: &'a [Instance], text: &str) -> Chunk<'a> {
        let map = MetricMap::builtin();
        let mut discovery = Discovery::of(Hosts::of(instances, &[]));
        for name in ["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED"] {
            let place = map.rows.iter().position(|row| row.name == name);
            let place = place.expect("a metric of the map");
            discovery.take(place, &map.rows[place], &labels(text));
        }
        let grid = (days(2), HOUR_SECONDS);
        let planned = plan(&map, discovery, &BTreeMap::new(), grid, "prom");
        let mut chunks = planned.chunks.into_iter();
        chunks.next().expect("a chunk")
    }

    /// The series of hours, and whether the machine is partial. Nothing is a gap.
    fn by_hours(server: &Server, chunk: &Chunk<'_>) -> (Vec<Series>, bool) {
        let answer = now(read_hours(server, "prom", chunk, days(2)));
        assert_eq!(answer.gaps, []);
        let Readings::Hours { series, partial } = answer.value else {
            panic!("hours alone");
        };
        let ids: Vec<&str> = partial.iter().map(ResourceId::as_str).collect();
        assert!(ids.is_empty() || ids == ["i-1"], "{ids:?}");
        (series, !ids.is_empty())
    }

    #[test]
    fn an_hour_has_the_mean_and_the_maximum_of_its_periods() {
        let instances = instance("g5.xlarge");
        let chunk = chunk(&instances, GPU);
        let server = server(whole(), 1);
        let (hours, is_partial) = by_hours(&server, &chunk);
        assert!(!is_partial);
        let steps: Vec<u32> = server.asked.borrow().iter().map(|query| query.3).collect();
        // Mean, count and maximum, of utilization and of memory.
        assert_eq!(steps, [3_600; 6]);
        assert_eq!(
            server.queries()[1],
            r#"sum by (hostname, gpu) (count_over_time(DCGM_FI_DEV_GPU_UTIL{hostname=~"ip-10-0-0-1"}[1h]))"#
        );
        let grid = (days(2), 300);
        let answer = now(read(&server, "prom", &chunk, grid, Detail::Full));
        let Readings::Series(fine) = answer.value else {
            panic!("series alone");
        };
        assert_eq!((hours.len(), fine.len()), (4, 4));
        for (hours, fine) in hours.iter().zip(&fine) {
            let what = (hours.metric, hours.statistic);
            assert_eq!(what, (fine.metric, fine.statistic));
            let periods: Vec<f64> = fine.points.values().collect();
            let hours: Vec<f64> = hours.points.values().collect();
            assert_eq!((hours.len(), periods.len()), (48, 576), "{what:?}");
            for (value, own) in hours.iter().zip(periods.chunks(12)) {
                let expected = match what.1 {
                    Statistic::Maximum => own.iter().copied().fold(0.0, f64::max),
                    Statistic::Average | Statistic::Sum => own.iter().sum::<f64>() / 12.0,
                };
                // Points have single precision.
                assert!((value - expected).abs() < 0.01, "{what:?}: {value}");
            }
        }
    }

    #[test]
    fn a_machine_with_an_hour_that_is_not_whole_is_asked_for_again() {
        let hour = |number: i64| START + number * 3_600;
        let sparse = (START..END).step_by(600).map(|second| (second, 50.0));
        // 120 samples an hour.
        for (what, samples, expected) in [
            ("all", whole(), false),
            ("without two samples", without(hour(5), hour(5) + 60), false),
            ("without a period", without(hour(5) + 300, hour(5) + 600), true),
            ("without whole hours", without(hour(5), hour(9)), false),
            ("without the newest quarter", without(END - 900, END), false),
            ("without the newest half", without(END - 1_800, END), true),
            ("a sample in ten minutes", sparse.collect(), true),
            ("without a sample", Vec::new(), false),
        ] {
            let instances = instance("g5.xlarge");
            let (_, is_partial) = by_hours(&server(samples, 1), &chunk(&instances, GPU));
            assert_eq!(is_partial, expected, "{what}");
        }
    }

    #[test]
    fn several_rows_and_another_machine_before_make_an_hour_partial() {
        let instances = instance("g5.xlarge");
        let (_, is_partial) = by_hours(&server(whole(), 2), &chunk(&instances, GPU));
        assert!(is_partial, "two rows of one GPU");
        for (since, expected) in
            [(START - 10, false), (START + 3_600, false), (START + 1_800, true)]
        {
            let mut instances = instance("g5.xlarge");
            instances[0].attached_time = Some(at(since));
            let (series, is_partial) = by_hours(&server(whole(), 1), &chunk(&instances, GPU));
            assert_eq!(is_partial, expected, "{since}");
            let hours = if since < START + 3_600 { 48 } else { 47 };
            assert!(series.iter().all(|each_series| each_series.points.len() == hours), "{since}");
        }
    }

    #[test]
    fn parts_of_a_gpu_are_not_asked_for_by_the_hour() {
        for others in [r#"GPU_I_ID="2",GPU_I_PROFILE="3g.20gb""#, r#"vgpu="0""#] {
            let instances = instance("p4d.24xlarge");
            let chunk = chunk(&instances, &format!("{GPU},{others}"));
            let server = server(whole(), 1);
            assert_eq!(by_hours(&server, &chunk), (Vec::new(), true), "{others}");
            assert!(server.queries().is_empty(), "{others}");
        }
    }

    #[test]
    fn what_fails_is_asked_for_again_and_is_no_gap_yet() {
        let instances = instance("g5.xlarge");
        let chunk = chunk(&instances, GPU);
        for (kind, queries) in [(FailureKind::Denied, 1), (FailureKind::Other, 6)] {
            let answers = move |_: &str, _: Timestamp, _: Timestamp| Err(failure(kind));
            let server = Server::of(&[], Box::new(answers));
            assert_eq!(by_hours(&server, &chunk), (Vec::new(), true));
            assert_eq!(server.queries().len(), queries, "{kind}");
        }
    }
}
