//! By the hour first: the same verdicts, findings and actions as of the full grid, on
//! random fleets and on every recorded estate.

use crate::rules::builder::{Machine, PERIODS, audited, estate};
use crate::rules::fixtures::{SITUATIONS, path, recorded_rule_ids, root};
use gpucost::analysis::{Audit, needs_fine_grid};
use gpucost::domain::{Metric, Policy, ResourceId, SeriesSource, Statistic, Window};
use gpucost::sources::files::{Keep, read_estate};
use gpucost::usage::{Estate, Points, Series};
use jiff::SignedDuration;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const HOUR_SECONDS: u32 = 3_600;
const PERIODS_AN_HOUR: usize = 12;

/// Whether hours of a series are asked for in place of its periods.
fn has_hours(series: &Series) -> bool {
    let is_asked = series.metric.is_on_grid() || series.metric == Metric::GpuMemoryUsed;
    is_asked && series.source != SeriesSource::Profile && series.points.period_seconds() == 300
}

/// A series hour by hour, from one reading a period: as CloudWatch adds them up.
fn by_hours(series: &Series, window: Window) -> Series {
    let mut hours: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (period, value) in series.points.iter() {
        let hour = period as usize / PERIODS_AN_HOUR;
        hours.entry(hour).or_default().push(value);
    }
    let raw = hours.iter().map(|(hour, values)| {
        let value = match series.statistic {
            Statistic::Average => values.iter().sum::<f64>() / values.len() as f64,
            Statistic::Maximum => values.iter().copied().fold(0.0, f64::max),
            Statistic::Sum => values.iter().sum(),
        };
        (window.start + SignedDuration::from_hours(*hour as i64), value)
    });
    let what = (series.metric, series.statistic);
    let (points, _) = Points::clean(raw, what, window, HOUR_SECONDS);
    Series { points, ..series.clone() }
}

/// Whether a period of any hour is without a reading; of the newest, three may be.
fn is_partial(series: &Series, window: Window) -> bool {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for (period, _) in series.points.iter() {
        *counts.entry(period as usize / PERIODS_AN_HOUR).or_default() += 1;
    }
    let newest = (window.seconds() / i64::from(HOUR_SECONDS)) as usize - 1;
    counts.iter().any(|(hour, count)| {
        let least = if *hour == newest { 9 } else { PERIODS_AN_HOUR };
        *count < least
    })
}

/// The same estate as it is read by the hour first, and the instances that are read again.
fn hour_first(full: &Estate) -> (Estate, BTreeSet<ResourceId>) {
    let window = full.window;
    let averages = full
        .metrics
        .iter()
        .filter(|series| has_hours(series) && series.statistic == Statistic::Average);
    let partial: BTreeSet<ResourceId> = averages
        .filter(|series| is_partial(series, window))
        .map(|series| series.instance.clone())
        .collect();
    let read = |fine: &dyn Fn(&Series) -> bool| Estate {
        metrics: full
            .metrics
            .iter()
            .map(|series| {
                let is_by_hours = has_hours(series) && !fine(series);
                if is_by_hours { by_hours(series, window) } else { series.clone() }
            })
            .collect(),
        ..full.clone()
    };
    let first = read(&|_: &Series| false);
    let fine = needs_fine_grid(&first, &Policy::default(), &partial);
    let second = read(&|series: &Series| {
        let is_again = fine.contains(&series.instance);
        is_again && (series.metric.is_on_grid() || partial.contains(&series.instance))
    });
    (second, fine)
}

/// What an audit decides, line by line.
fn decisions(audit: &Audit) -> Vec<String> {
    let mut lines: Vec<String> = audit
        .workloads
        .iter()
        .map(|workload| {
            let verdict = &workload.verdict;
            let states: Vec<_> =
                workload.workload.members.iter().map(|member| member.state).collect();
            let actions: Vec<String> = workload
                .actions
                .iter()
                .map(|action| {
                    let (kind, target) = (action.kind(), action.target());
                    format!("{kind:?} {target:?} {:?}", action.monthly_savings())
                })
                .collect();
            format!(
                "{}: {:?} {:?} {:?} {states:?} {:?} {actions:?}",
                workload.workload.id(),
                verdict.classification,
                verdict.state,
                verdict.confidence,
                workload.workload.monthly_cost(),
            )
        })
        .collect();
    lines.extend(audit.findings.iter().map(|finding| {
        let savings = finding.monthly_savings;
        format!("{} {} {savings:?}", finding.id(), finding.workload())
    }));
    lines.sort();
    lines
}

/// Types with their GPUs and the memory of each.
const TYPES: [(&str, u16, f64); 3] =
    [("g5.xlarge", 1, 23_028.0), ("g6e.2xlarge", 1, 46_068.0), ("g4dn.12xlarge", 4, 15_360.0)];

#[derive(Debug, Clone, Copy)]
enum Shape {
    Never,
    Flat,
    /// One period of an hour at the peak.
    Bursts,
    /// Eight hours of a day at the peak.
    Days,
    Noise,
    /// One period of the fortnight at the peak.
    Once,
}

#[derive(Debug, Clone, Copy)]
enum Holes {
    None,
    /// Every so many periods one is missing.
    Periods(u32),
    /// The nights of a week are missing, by whole hours.
    Nights,
    /// It began some periods into the window.
    Late(u32),
}

#[derive(Debug, Clone)]
struct Load {
    kind: usize,
    shapes: [Shape; 4],
    level: u32,
    peak: u32,
    /// How far a maximum is above its average; without any where there is none.
    above: Option<u32>,
    holes: Holes,
    vram_percent: Option<u32>,
    cpu: u32,
    tags: [Option<&'static str>; 2],
}

fn load() -> impl Strategy<Value = Load> {
    let shape = || {
        prop_oneof![
            4 => Just(Shape::Never),
            4 => Just(Shape::Flat),
            1 => Just(Shape::Bursts),
            1 => Just(Shape::Days),
            2 => Just(Shape::Noise),
            1 => Just(Shape::Once),
        ]
    };
    let holes = prop_oneof![
        6 => Just(Holes::None),
        1 => (2..40_u32).prop_map(Holes::Periods),
        1 => Just(Holes::Nights),
        1 => (1..3_000_u32).prop_map(Holes::Late),
    ];
    let border = prop_oneof![Just(24_u32), Just(25), Just(58), Just(61), Just(85), Just(95)];
    let level = prop_oneof![2 => 0..=100_u32, 1 => border, 2 => 64..=100_u32];
    (
        (0..TYPES.len(), [shape(), shape(), shape(), shape()]),
        (level, 0..=100_u32),
        prop::option::weighted(0.9, prop_oneof![2 => Just(0_u32), 1 => 0..=100_u32]),
        holes,
        prop::option::weighted(0.9, prop_oneof![3 => Just(0_u32), 1 => 3..7_u32, 2 => 0..=95_u32]),
        1..=100_u32,
        (
            prop_oneof![2 => Just(None), 1 => Just(Some("red"))],
            prop_oneof![3 => Just(None), 1 => Just(Some("serving")), 1 => Just(Some("batch"))],
        ),
    )
        .prop_map(|(what, (level, peak), above, holes, vram_percent, cpu, tags)| Load {
            kind: what.0,
            shapes: what.1,
            level,
            peak,
            above,
            holes,
            vram_percent,
            cpu,
            tags: [tags.0, tags.1],
        })
}

impl Load {
    fn average(&self, gpu: u16, period: u32) -> f64 {
        let (level, peak) = (f64::from(self.level), f64::from(self.peak));
        match self.shapes[usize::from(gpu)] {
            Shape::Never => 0.0,
            Shape::Flat => level,
            Shape::Bursts if period % 12 == 5 => peak,
            Shape::Days if period % 288 < 96 => peak,
            Shape::Once if period == 1_000 => peak,
            Shape::Bursts | Shape::Days | Shape::Once => 0.0,
            Shape::Noise => {
                let drawn = (period * 7_919 + u32::from(gpu) * 104_729) % 41;
                (level + f64::from(drawn) - 20.0).clamp(0.0, 100.0)
            }
        }
    }

    fn has(&self, period: u32) -> bool {
        // The newest hour is whole: three periods of it may be delivered later.
        period >= PERIODS - 12
            || match self.holes {
                Holes::None => true,
                Holes::Periods(every) => !period.is_multiple_of(every),
                Holes::Nights => period % 288 < 240 || period >= 7 * 288,
                Holes::Late(from) => period >= from,
            }
    }

    fn machine(&self, id: &str) -> Machine {
        let (instance_type, gpus, vram_mib) = TYPES[self.kind];
        let mut machine = Machine::new(id, instance_type)
            .cpu(|period| self.has(period).then_some(f64::from(self.cpu)));
        for (key, value) in ["gpucost:workload", "gpucost:kind"].into_iter().zip(self.tags) {
            if let Some(value) = value {
                machine = machine.tag(key, value);
            }
        }
        for gpu in 0..gpus {
            let (metric, own) = (Metric::GpuUtilization, Some(gpu));
            let average = |period| self.has(period).then(|| self.average(gpu, period));
            machine = machine.series(metric, Statistic::Average, own, average);
            if let Some(above) = self.above {
                // A GPU that never works has no maximum either.
                let maximum = |period| {
                    let average = average(period)?;
                    let above = if average > 0.0 { f64::from(above) } else { 0.0 };
                    Some((average + above).min(100.0))
                };
                machine = machine.series(metric, Statistic::Maximum, own, maximum);
            }
            if let Some(percent) = self.vram_percent {
                machine = machine.vram(gpu, vram_mib * f64::from(percent) / 100.0, vram_mib);
            }
        }
        machine
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn hours_first_decide_what_the_full_grid_decides(
        loads in prop::collection::vec(load(), 1..4),
    ) {
        let machines = loads.iter().enumerate();
        let full = estate(machines.map(|(index, drawn)| drawn.machine(&format!("i-{index}"))).collect());
        let (first, _) = hour_first(&full);
        prop_assert_eq!(decisions(&audited(&first)), decisions(&audited(&full)));
    }
}

#[test]
fn recorded_estates_are_decided_alike_by_the_hour_first() {
    let situations = recorded_rule_ids()
        .into_iter()
        .flat_map(|rule| SITUATIONS.map(|situation| path(rule, situation)));
    let demos = ["estate", "quarter-used", "mixed-fleet"]
        .map(|name| root().join(format!("fixtures/demo/{name}.json.gz")));
    let mut compared = 0;
    for path in situations.chain(demos) {
        let full = read_estate(&path, Keep::Points).unwrap_or_else(|error| panic!("{error:?}"));
        let hour = i64::from(HOUR_SECONDS);
        let is_on_hours =
            [full.window.start, full.window.end].iter().all(|end| end.as_second() % hour == 0);
        if full.period_seconds != 300 || !is_on_hours {
            continue;
        }
        let (first, _) = hour_first(&full);
        assert_eq!(decisions(&audited(&first)), decisions(&audited(&full)), "{}", path.display());
        compared += 1;
    }
    assert!(compared >= 20, "{compared} estates of five minutes");
}

/// One machine of a shape, and whether it is read again.
fn is_read_again(shape: Shape, level: u32, peak: u32) -> bool {
    let load = Load {
        kind: 0,
        shapes: [shape; 4],
        level,
        peak,
        above: Some(0),
        holes: Holes::None,
        vram_percent: Some(0),
        cpu: 20,
        tags: [None, None],
    };
    let (_, fine) = hour_first(&estate(vec![load.machine("i-0")]));
    !fine.is_empty()
}

#[test]
fn only_what_is_never_used_is_known_by_the_hour() {
    assert!(!is_read_again(Shape::Never, 0, 0));
    // Another type may do, however busy it is, which percentiles of five minutes size.
    assert!(is_read_again(Shape::Flat, 40, 0));
    assert!(is_read_again(Shape::Flat, 75, 0));
    assert!(is_read_again(Shape::Bursts, 0, 96));
    // A single period may end idleness.
    assert!(is_read_again(Shape::Once, 0, 50));
}

#[test]
fn a_typical_fleet_is_read_with_half_of_the_points() {
    // Of 20 machines with one GPU: nine never used, three used well, five with bursts and
    // three at 40%.
    let fleet = [
        (9, Shape::Never, 0, 0),
        (3, Shape::Flat, 75, 0),
        (5, Shape::Bursts, 0, 96),
        (3, Shape::Flat, 40, 0),
    ];
    let (mut full, mut first) = (0, 0);
    for (number, shape, level, peak) in fleet {
        let again = u32::from(is_read_again(shape, level, peak));
        // As the plan of the queries counts them: everything in periods, in hours, and
        // what is asked for a second time.
        full += number * 25_886;
        first += number * (4_718 + again * 16_128);
    }
    // 20 x 4,718 and 11 x 16,128 of 20 x 25,886 points: 52.5%.
    assert_eq!((first, full), (271_768, 517_720));
}
