use super::*;
use crate::domain::{GpuOffer, GpuShare, Instance};
use crate::usage::{distribution, lab};
use jiff::Timestamp;
use proptest::prelude::*;

const PERIOD: u32 = 300;
const PERIODS: u32 = 48;

fn at(period: u32) -> Timestamp {
    Timestamp::from_second(i64::from(period) * i64::from(PERIOD)).expect("in range")
}

fn window() -> Window {
    Window { start: at(0), end: at(PERIODS) }
}

fn instance() -> Instance {
    Instance::sample("i-1", "", at(0))
}

type Key = (Metric, Option<u16>, Statistic);
type Values = Vec<Option<u16>>;

fn series((metric, gpu, statistic): Key, values: &Values, keep: impl Fn(u32) -> bool) -> Series {
    let values = (0..).zip(values).map(|(period, value)| {
        let value = value.filter(|_| keep(period));
        // Bytes are whole, and so add up without rounding.
        let unit = if statistic == Statistic::Sum { 1.0 } else { 100.0 };
        (value.map(|hundredths| f64::from(hundredths) / unit), 1)
    });
    let what = (metric, statistic);
    let (points, rejected) = Points::regular(at(0), values, what, window(), PERIOD);
    Series {
        instance: ResourceId::named("i-1"),
        gpu,
        metric,
        statistic,
        source: SeriesSource::Generated,
        joined_by: JoinedBy::InstanceId,
        points,
        rejected,
    }
}

const KEYS: [Key; 10] = [
    (Metric::GpuUtilization, Some(0), Statistic::Average),
    (Metric::GpuUtilization, Some(0), Statistic::Maximum),
    (Metric::GpuUtilization, Some(1), Statistic::Average),
    (Metric::GpuUtilization, Some(1), Statistic::Maximum),
    (Metric::GpuMemoryUsed, Some(0), Statistic::Average),
    (Metric::GpuMemoryUsed, Some(0), Statistic::Maximum),
    (Metric::GpuEncoderSessions, Some(1), Statistic::Maximum),
    (Metric::CpuUtilization, None, Statistic::Average),
    (Metric::NetworkIn, None, Statistic::Sum),
    (Metric::NetworkOut, None, Statistic::Sum),
];

fn figures(usage: &Usage) -> String {
    let offer = GpuOffer {
        model: crate::domain::GpuModel::A10g,
        share: GpuShare::Whole(2),
        vram_mib: Some(24_576),
    };
    let grid = (window(), PERIOD);
    format!("{:?}", usage.measure(&instance(), Some(&offer), grid))
}

fn values() -> impl Strategy<Value = Vec<Values>> {
    let value = prop_oneof![Just(None), Just(Some(0)), (0..=10_000_u16).prop_map(Some)];
    let key_values = prop::collection::vec(value, PERIODS as usize);
    prop::collection::vec(key_values, KEYS.len())
}

proptest! {
    /// Two halves of a window, cut at an hour, and the whole of it.
    #[test]
    fn what_was_seen_at_different_times_adds_up(values in values(), hour in 0..4_u32) {
        let cut = hour * 12;
        let part = |keep: fn(u32, u32) -> bool| {
            let keyed = KEYS.iter().zip(&values);
            let records: Vec<Series> =
                keyed.map(|(key, values)| series(*key, values, |at| keep(at, cut))).collect();
            Usage::of(&records, window(), PERIOD)
        };
        let mut both = part(|period, cut| period < cut);
        both.merge(&part(|period, cut| period >= cut), PERIODS as usize);
        prop_assert!(figures(&both) == figures(&part(|_, _| true)));
    }

    /// What is forgotten leaves what the other series amount to, and what is read again
    /// instead of it amounts to all of them.
    #[test]
    fn what_is_forgotten_can_be_read_again(
        values in values(), with in prop::collection::vec(any::<bool>(), KEYS.len()),
    ) {
        let added = |keep: &dyn Fn(Metric) -> bool, places: &dyn Fn(usize) -> bool| {
            let mut builder = UsageBuilder::new(window(), PERIOD);
            for (place, (key, values)) in KEYS.iter().zip(&values).enumerate() {
                if places(place) && keep(key.0) {
                    builder.add(&series(*key, values, |_| true));
                }
            }
            builder.finish()
        };
        let asked = |place: usize| with[place];
        let whole = added(&|_| true, &asked);
        let mut usage = whole.clone();
        usage.forget_grid(|_| false);
        prop_assert!(usage == whole);
        usage.forget_grid(|_| true);
        prop_assert!(usage == added(&|metric| !metric.is_on_grid(), &asked));
        usage.merge(added(&|metric| metric.is_on_grid(), &asked), window(), PERIOD);
        let instance = ResourceId::named("i-1");
        prop_assert!(figures(usage.of(&instance)) == figures(whole.of(&instance)));
    }

    #[test]
    fn the_order_of_series_does_not_matter(
        values in values(), order in Just((0..KEYS.len()).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let of = |order: &[usize]| {
            let records: Vec<Series> =
                order.iter().map(|place| series(KEYS[*place], &values[*place], |_| true)).collect();
            figures(&Usage::of(&records, window(), PERIOD))
        };
        let given: Vec<usize> = (0..KEYS.len()).collect();
        prop_assert!(of(&order) == of(&given));
    }

    /// Percentiles of a GPU, and of the mean over both, by sorting all values.
    #[test]
    fn hundredths_have_the_figures_of_all_values(values in values()) {
        let records: Vec<Series> =
            KEYS.iter().zip(&values).map(|(key, values)| series(*key, values, |_| true)).collect();
        let usage = Usage::of(&records, window(), PERIOD);
        let percent = |hundredths: u16| f64::from(hundredths) / 100.0;
        let (usage, _) = usage.measure(&instance(), None, (window(), PERIOD));
        let close = |figures: Option<crate::domain::Distribution>, values: Vec<f64>| {
            let exact = distribution(values);
            assert_eq!(figures.is_some(), exact.is_some());
            for (figures, exact) in figures.into_iter().zip(exact) {
                let pairs = [
                    (figures.mean, exact.mean), (figures.p50, exact.p50), (figures.p95, exact.p95),
                    (figures.p99, exact.p99), (figures.max, exact.max),
                ];
                for (value, exact) in pairs {
                    assert!((value - exact).abs() < 1e-9, "{value} {exact}");
                }
            }
        };
        let of_gpu = |place: usize| values[place].iter().flatten().map(|reading| percent(*reading));
        close(usage.gpus.iter().find(|gpu| gpu.index == 0).and_then(|gpu| gpu.utilization),
            of_gpu(0).collect());
        let means = values[0].iter().zip(&values[2]).filter_map(|pair| {
            let both: Vec<f64> = [pair.0, pair.1].into_iter().flatten().map(|reading| percent(*reading)).collect();
            (!both.is_empty()).then(|| both.iter().sum::<f64>() / both.len() as f64)
        });
        close(usage.summary.map(|summary| summary.distribution), means.collect());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Five days cut at each midnight, and in one. The window begins inside an hour.
    #[test]
    fn days_add_up_to_the_last_bit(seed in any::<u64>()) {
        let (answers, window) = (lab::answers(seed), lab::window());
        let stretches = lab::stretches().into_iter();
        let parts = stretches.map(|stretch| (stretch, lab::usages(&answers, stretch)));
        let joined = Usages::joined(parts.collect(), window, lab::PERIOD);
        let whole = lab::usages(&answers, window);
        let id = ResourceId::named("i-1");
        prop_assert!(lab::figures(joined.of(&id)) == lab::figures(whole.of(&id)));
    }
}

#[test]
fn a_session_that_began_on_the_hour_marks_that_hour_wherever_the_window_begins() {
    // From 20 minutes past: the first whole hour begins 40 minutes later, which is period 8.
    let window = Window { start: at(4), end: at(PERIODS) };
    let (points, rejected) = Points::clean(
        [(at(12), 2.0), (at(24), 0.0)],
        (Metric::GpuEncoderSessions, Statistic::Maximum),
        window,
        3_600,
    );
    let session =
        Series { points, rejected, ..series(KEYS[6], &vec![None; PERIODS as usize], |_| true) };
    let usage = Usage::of([&session], window, PERIOD);
    let encodes: Vec<u32> = usage.encodes.values().collect();
    let expected: Vec<u32> =
        (4..PERIODS).map(|period| u32::from((12..24).contains(&period))).collect();
    assert_eq!(encodes, expected);
}

#[test]
fn the_busiest_hour_is_one_of_the_clock() {
    // 30 GiB in the ten minutes before an hour, and 30 GiB in the ten minutes after it, are
    // 30 × 2^30 × 8 / 600 s / 1e9 = 0.4294967296 Gbit/s in either.
    const HALF: f64 = 15.0 * 1_073_741_824.0;
    let window = Window { start: at(4), end: at(PERIODS) };
    let what = (Metric::NetworkIn, Statistic::Sum);
    let raw = (10..14).map(|period| (at(period), HALF));
    let (points, rejected) = Points::clean(raw, what, window, PERIOD);
    let traffic =
        Series { points, rejected, ..series(KEYS[8], &vec![None; PERIODS as usize], |_| true) };
    let usage = Usage::of([&traffic], window, PERIOD);
    let received = &usage.amounts[&KEYS[8]];
    assert_eq!(received.sum, Some(64_424_509_440));
    assert!((received.max.expect("it was measured") - 0.429_496_729_6).abs() < 1e-12);
}

#[test]
fn a_better_source_counts_in_any_order() {
    let flat = |hundredths: u16| vec![Some(hundredths); PERIODS as usize];
    let key = KEYS[0];
    let worse = series(key, &flat(9_000), |_| true);
    let better =
        Series { source: SeriesSource::CloudWatchAgent, ..series(key, &flat(1_000), |_| true) };
    for records in [[&worse, &better], [&better, &worse]] {
        let usage = Usage::of(records, window(), PERIOD);
        assert_eq!(usage.signal(), Some((Signal::GpuUtilization, SeriesSource::CloudWatchAgent)));
        let (usage, _) = usage.measure(&instance(), None, (window(), PERIOD));
        let mean = |figures: Option<crate::domain::Distribution>| {
            figures.map(|distribution| distribution.mean)
        };
        assert_eq!(mean(usage.gpus[0].utilization), Some(10.0));
        assert_eq!(
            mean(usage.summary.map(|summary| summary.distribution)),
            Some(10.0),
            "the grid is that of the better source"
        );
    }
}

#[test]
fn an_hourly_session_marks_its_whole_hour() {
    let (points, rejected) = Points::regular(
        at(0),
        [(Some(0.0), 1), (Some(2.0), 1)],
        (Metric::GpuEncoderSessions, Statistic::Maximum),
        window(),
        3_600,
    );
    let session =
        Series { points, rejected, ..series(KEYS[6], &vec![None; PERIODS as usize], |_| true) };
    let busy = series(KEYS[2], &vec![Some(0); PERIODS as usize], |_| true);
    let usage = Usage::of([&session, &busy], window(), PERIOD);
    let (_, timeline) = usage.measure(&instance(), None, (window(), PERIOD));
    let encodes: Vec<bool> = timeline.slots.iter().map(|slot| slot.encodes).collect();
    let expected: Vec<bool> = (0..PERIODS).map(|period| (12..24).contains(&period)).collect();
    assert_eq!(encodes, expected);
}

#[test]
fn an_hour_stands_for_each_of_its_periods() {
    let hourly = |(metric, gpu, statistic): Key, values: [Option<f64>; 4]| {
        let values = values.map(|value| (value, 1));
        let what = (metric, statistic);
        let (points, rejected) = Points::regular(at(0), values, what, window(), 3_600);
        Series { points, rejected, ..series((metric, gpu, statistic), &Vec::new(), |_| true) }
    };
    let cpu = (Metric::CpuUtilization, None, Statistic::Maximum);
    let records = [
        hourly(KEYS[0], [Some(10.0), Some(30.0), None, Some(50.0)]),
        hourly(KEYS[1], [Some(20.0), Some(90.0), None, Some(60.0)]),
        hourly(KEYS[7], [Some(5.0); 4]),
        hourly(cpu, [Some(9.0), Some(70.0), Some(8.0), Some(7.0)]),
    ];
    let usage = Usage::of(&records, window(), PERIOD);
    let (usage, timeline) = usage.measure(&instance(), None, (window(), PERIOD));
    // It ran for four hours, of which three have utilization: (10 + 30 + 50) / 3.
    assert_eq!(usage.running.running_seconds, 4 * 3_600);
    let summary = usage.summary.expect("it was measured");
    assert_eq!(summary.distribution.mean, 30.0);
    assert_eq!((summary.n_samples, summary.expected_samples), (3, 4));
    assert_eq!((summary.period_seconds, summary.max), (3_600, 90.0));
    assert_eq!(timeline.means().count(), 36, "the grid stays as fine");
    let samples = usage.gpus[0].samples;
    assert_eq!((samples.count, samples.expected), (3, 4));
    assert_eq!(usage.cpu_max, Some(70.0));

    // What was read by five minutes of another instance leaves the sum as coarse.
    let fine = series(KEYS[0], &vec![Some(4_000); PERIODS as usize], |_| true);
    let fine = Usage::of([&fine], window(), PERIOD);
    let (_, other) = fine.measure(&instance(), None, (window(), PERIOD));
    let mut sum = timeline;
    sum.add(&other);
    let summary = sum.summary(Signal::GpuUtilization, SeriesSource::Generated);
    assert_eq!(summary.map(|figures| figures.period_seconds), Some(3_600));
}

/// A series with a value in every so many periods, from one on.
fn every(key: Key, (first, step): (u32, u32), hundredths: u16) -> Series {
    let values = (0..PERIODS).map(|period| {
        let is_sampled = period >= first && (period - first).is_multiple_of(step);
        is_sampled.then_some(hundredths)
    });
    series(key, &values.collect(), |_| true)
}

#[test]
fn each_series_has_its_own_cadence() {
    // Four hours: a CPU every five minutes, a GPU every 15 and another every ten.
    let records = [
        every(KEYS[7], (0, 1), 500),
        every(KEYS[0], (0, 3), 1_000),
        every(KEYS[1], (0, 3), 2_000),
        every(KEYS[2], (0, 2), 9_000),
    ];
    let usage = Usage::of(&records, window(), PERIOD);
    let (usage, timeline) = usage.measure(&instance(), None, (window(), PERIOD));
    assert_eq!(usage.running.running_seconds, 4 * 3_600);
    let samples: Vec<_> = usage.gpus.iter().map(|gpu| gpu.samples).collect();
    assert_eq!((samples[0].count, samples[0].expected, samples[0].period_seconds), (16, 16, 900));
    assert_eq!((samples[1].count, samples[1].expected, samples[1].period_seconds), (24, 24, 600));
    // The mean over both in every period: (10 + 90) / 2.
    let means: Vec<f64> = timeline.means().map(|(_, mean)| mean).collect();
    assert_eq!(means, vec![50.0; PERIODS as usize]);
    let summary = usage.summary.expect("it was measured");
    assert_eq!((summary.n_samples, summary.expected_samples), (16, 16));
}

#[test]
fn running_time_follows_the_cadence_of_the_cpu() {
    let seconds = |records: &[Series]| {
        let usage = Usage::of(records, window(), PERIOD);
        let (usage, _) = usage.measure(&instance(), None, (window(), PERIOD));
        (usage.running.running_seconds, usage.cpu_samples.map(|samples| samples.coverage()))
    };
    // By the hour, from half past on: the sample before the window stands for its first half
    // hour.
    assert_eq!(seconds(&[every(KEYS[7], (6, 12), 500)]), (4 * 3_600, Some(1.0)));
    // A hole of an hour, of which nothing is known: nothing ran.
    let holes = |period: u32| !(15..27).contains(&period);
    let values: Values = (0..PERIODS).map(|period| (period % 3 == 0).then_some(500)).collect();
    assert_eq!(seconds(&[series(KEYS[7], &values, holes)]), (3 * 3_600, Some(1.0)));
    // A GPU that is sampled by the hour proves no hour in which the CPU says that it stopped:
    // the CPU ran for the first 100 minutes, and the sample after that proves its period.
    let stopped = series(KEYS[7], &vec![Some(500); PERIODS as usize], |period| period < 20);
    assert_eq!(seconds(&[stopped, every(KEYS[0], (0, 12), 0)]).0, 100 * 60 + 2 * 300);
}

#[test]
fn records_of_one_series_are_one_in_any_order() {
    let values: Values = (0..PERIODS).map(|period| Some(period as u16 * 100)).collect();
    let part = |keep: fn(u32) -> bool| series(KEYS[0], &values, keep);
    let parts = [part(|at| at % 3 == 0), part(|at| at % 3 == 1), part(|at| at % 3 == 2)];
    let whole = figures(&Usage::of(&[part(|_| true)], window(), PERIOD));
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let records = order.map(|place: usize| &parts[place]);
        assert_eq!(figures(&Usage::of(records, window(), PERIOD)), whole);
    }
    // Records that do not stand side by side are told.
    let mut builder = UsageBuilder::new(window(), PERIOD);
    builder.add(&parts[0]);
    assert!(!builder.has(&parts[1]));
    let other = Series { instance: ResourceId::named("i-2"), ..parts[1].clone() };
    builder.add(&other);
    assert!(builder.has(&parts[1]));
}
