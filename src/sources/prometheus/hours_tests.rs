use super::*;
use crate::domain::{FailureKind, Instance};
use crate::sources::Detail;
use crate::sources::prometheus::answer::Row;
use crate::sources::prometheus::devices::Discovery;
use crate::sources::prometheus::hosts::Hosts;
use crate::sources::prometheus::metric_map::MetricMap;
use crate::sources::prometheus::plan::plan;
use crate::sources::prometheus::readings::read;
use crate::sources::prometheus::scenes::{Server, at, before, days, failure, labels, machine, now};
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
    for (since, expected) in [(START - 10, false), (START + 3_600, false), (START + 1_800, true)] {
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
