//! The figures that the demo promises, worked out here from the series alone.

use super::{DEMO, named};
use gpucost::domain::{Instance, Metric, Statistic};
use std::collections::BTreeSet;

const PERIODS: usize = 4032;
const PERIODS_PER_HOUR: u32 = 12;

/// The points of one series as (period, value); none where there is no series.
fn points(
    instance: &Instance,
    gpu: Option<u16>,
    metric: Metric,
    statistic: Statistic,
) -> Vec<(u32, f64)> {
    let mut matching = DEMO.metrics.iter().filter(|series| {
        series.instance == instance.id
            && (series.gpu, series.metric, series.statistic) == (gpu, metric, statistic)
    });
    let series = matching.next();
    assert!(matching.next().is_none(), "{metric}");
    series.map_or(Vec::new(), |series| series.points.iter().collect())
}

fn averages(instance: &Instance, gpu: u16) -> Vec<f64> {
    let pairs = points(instance, Some(gpu), Metric::GpuUtilization, Statistic::Average);
    pairs.into_iter().map(|(_, value)| value).collect()
}

fn maxima(instance: &Instance, gpu: u16, metric: Metric) -> Vec<f64> {
    let pairs = points(instance, Some(gpu), metric, Statistic::Maximum);
    pairs.into_iter().map(|(_, value)| value).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The value that 95% of the values do not exceed: the nearest rank, which is
/// never below the interpolated percentile by more than one step of the data.
fn p95(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() * 95).div_ceil(100);
    values[rank - 1]
}

/// Every GPU's averages of some instances with `gpus` each.
fn fleet_averages(instances: &[&Instance], gpus: u16) -> Vec<Vec<f64>> {
    instances.iter().flat_map(|instance| (0..gpus).map(|gpu| averages(instance, gpu))).collect()
}

#[test]
fn experiments_use_the_first_of_four_gpus() {
    let instances = named("experiment-");
    assert_eq!(instances.len(), 8);
    let series = fleet_averages(&instances, 4);
    let fleet_mean = mean(&series.concat());
    assert!((15.0..=18.0).contains(&fleet_mean), "{fleet_mean}");
    for instance in instances {
        let first = averages(instance, 0);
        let runs: Vec<f64> = first.iter().copied().filter(|value| *value > 0.0).collect();
        assert!(runs.len() < first.len(), "there are gaps between runs");
        assert!(runs.iter().all(|value| (60.0..=95.0).contains(value)));
        let peak_mib = largest(&maxima(instance, 0, Metric::GpuMemoryUsed));
        assert!(peak_mib <= 13.0 * 1024.0 && peak_mib * 1.2 <= 16_160.0);
        for gpu in 1..4 {
            assert_eq!(largest(&averages(instance, gpu)), 0.0);
            assert_eq!(largest(&maxima(instance, gpu, Metric::GpuUtilization)), 0.0);
            assert_eq!(largest(&maxima(instance, gpu, Metric::GpuMemoryUsed)), 3.0);
        }
        let cpu = points(instance, None, Metric::CpuUtilization, Statistic::Average);
        let cpu_p95 = p95(cpu.into_iter().map(|(_, value)| value).collect());
        assert!(cpu_p95 * 1.2 / 100.0 * 32.0 <= 8.0, "CPU p95 {cpu_p95}");
    }
}

#[test]
fn serving_works_around_the_clock_at_a_fifth() {
    let instances = named("chat-serving");
    assert_eq!(instances.len(), 5);
    let series = fleet_averages(&instances, 8);
    assert_eq!(series.len(), 40);
    let fleet_mean = mean(&series.concat());
    assert!((19.0..=21.0).contains(&fleet_mean), "{fleet_mean}");
    let busiest_p95 = series.iter().cloned().map(p95).fold(0.0, f64::max);
    assert!(busiest_p95 <= 33.0, "{busiest_p95}");
    assert!(series.concat().iter().all(|value| *value > 0.0), "never at rest");

    let mut peaks = (f64::INFINITY, f64::NEG_INFINITY);
    let mut maximum = f64::NEG_INFINITY;
    for instance in &instances {
        for gpu in 0..8 {
            let peak_mib = largest(&maxima(instance, gpu, Metric::GpuMemoryUsed));
            peaks = (peaks.0.min(peak_mib), peaks.1.max(peak_mib));
            let highest = maxima(instance, gpu, Metric::GpuUtilization);
            let pairs = averages(instance, gpu);
            assert!(highest.iter().zip(&pairs).all(|(high, mean)| high > mean));
            maximum = maximum.max(largest(&highest));
        }
    }
    assert!(peaks.0 >= 10.0 * 1024.0 && peaks.1 <= 16_384.0, "{peaks:?}");
    assert!(maximum < 85.0, "{maximum}");
}

#[test]
fn serving_is_quieter_at_night_and_at_weekends() {
    let (mut night, mut day, mut weekend, mut weekdays) = (vec![], vec![], vec![], vec![]);
    for instance in named("chat-serving") {
        for (period, value) in points(instance, Some(0), Metric::GpuUtilization, Statistic::Average)
        {
            let hour = period / PERIODS_PER_HOUR % 24;
            // The window begins on a Sunday.
            let is_weekend = matches!(period / PERIODS_PER_HOUR / 24 % 7, 0 | 6);
            if is_weekend { &mut weekend } else { &mut weekdays }.push(value);
            match hour {
                5..=8 => night.push(value),
                16..=19 => day.push(value),
                _ => {}
            }
        }
    }
    assert!(mean(&day) > 1.5 * mean(&night));
    assert!(mean(&weekdays) > 1.1 * mean(&weekend));
}

#[test]
fn evaluation_works_the_same_eight_hours_each_week() {
    let instances = named("nightly-eval");
    assert_eq!(instances.len(), 5);
    for instance in instances {
        let mut active_hours = BTreeSet::new();
        for gpu in 0..4 {
            let high = points(instance, Some(gpu), Metric::GpuUtilization, Statistic::Maximum);
            let low = points(instance, Some(gpu), Metric::GpuUtilization, Statistic::Average);
            let working: Vec<f64> =
                low.iter().map(|(_, value)| *value).filter(|v| *v > 0.0).collect();
            assert!((78.0..=82.0).contains(&mean(&working)), "{}", mean(&working));
            for ((period, maximum), (_, average)) in high.iter().zip(&low) {
                assert_eq!(*maximum > 0.0, *average > 0.0);
                if *maximum > 0.0 {
                    active_hours.insert(period / PERIODS_PER_HOUR);
                }
            }
            let peak_mib = largest(&maxima(instance, gpu, Metric::GpuMemoryUsed));
            assert!(peak_mib > 16.0 * 1024.0 && peak_mib <= 18.0 * 1024.0);
        }
        assert_eq!(active_hours.len(), 16, "of 336 hours");
        let first: BTreeSet<u32> = active_hours.range(..168).copied().collect();
        let second: BTreeSet<u32> = active_hours.range(168..).map(|hour| hour - 168).collect();
        assert_eq!(first.len(), 8);
        assert_eq!(first, second);
    }
}

#[test]
fn idle_boxes_compute_nothing() {
    for (name, gpus, memory_mib) in [("notebook-", 1, 14_336.0), ("llm-poc-old", 4, 3.0)] {
        for instance in named(name) {
            for gpu in 0..gpus {
                assert_eq!(largest(&averages(instance, gpu)), 0.0);
                assert_eq!(largest(&maxima(instance, gpu, Metric::GpuUtilization)), 0.0);
                let peak_mib = largest(&maxima(instance, gpu, Metric::GpuMemoryUsed));
                assert_eq!(peak_mib, memory_mib);
            }
        }
    }
}

#[test]
fn unmeasured_gpus_stand_beside_a_busy_cpu_and_stopped_ones_beside_nothing() {
    let metrics_of = |name: &str| {
        let instance = named(name)[0];
        let own = DEMO.metrics.iter().filter(|s| s.instance == instance.id);
        own.map(|series| series.metric).collect::<Vec<_>>()
    };
    assert_eq!(
        metrics_of("video-captioning"),
        [Metric::CpuUtilization, Metric::CpuUtilization, Metric::NetworkIn, Metric::NetworkOut],
        "no GPU"
    );
    let cpu: Vec<f64> =
        points(named("video-captioning")[0], None, Metric::CpuUtilization, Statistic::Average)
            .into_iter()
            .map(|(_, value)| value)
            .collect();
    assert!(mean(&cpu) > 60.0);
    assert_eq!(metrics_of("speech-prototype"), vec![]);
}

#[test]
fn healthy_training_uses_four_fifths_without_saturating() {
    let instance = named("foundation-pretraining")[0];
    let series = fleet_averages(&[instance], 8);
    let overall_mean = mean(&series.concat());
    assert!((79.0..=81.0).contains(&overall_mean), "{overall_mean}");
    let busiest_p95 = series.iter().cloned().map(p95).fold(0.0, f64::max);
    assert!(busiest_p95 <= 95.0, "{busiest_p95}");
    // The GPUs of one instance share their outages, so samples line up.
    let mut hours = vec![Vec::new(); 336];
    for gpu in 0..8 {
        for (period, value) in
            points(instance, Some(gpu), Metric::GpuUtilization, Statistic::Average)
        {
            hours[(period / PERIODS_PER_HOUR) as usize].push(value);
        }
        let peak_mib = largest(&maxima(instance, gpu, Metric::GpuMemoryUsed));
        assert!((30.0 * 1024.0..=36.0 * 1024.0).contains(&peak_mib));
    }
    let saturated = hours.iter().filter(|hour| mean(hour) > 95.0).count();
    assert!(saturated <= 336 / 20, "{saturated} hours above 95%");
}

#[test]
fn gaps_are_small_and_cpu_points_complete() {
    let mut coverages = Vec::new();
    for series in &DEMO.metrics {
        assert_eq!(series.rejected.total(), 0);
        let count = series.points.len();
        match series.metric {
            Metric::CpuUtilization => assert_eq!(count, PERIODS),
            Metric::GpuUtilization | Metric::GpuMemoryUsed => {
                coverages.push(count as f64 / PERIODS as f64);
            }
            Metric::GpuMemoryTotal => assert_eq!(count, 14),
            Metric::GpuPowerDraw
            | Metric::GpuTemperature
            | Metric::NetworkIn
            | Metric::NetworkOut => assert_eq!(count, 336),
            other => panic!("{other} is not part of the demo"),
        }
    }
    let lowest = coverages.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(lowest >= 0.97 && largest(&coverages) < 1.0);
    let running = DEMO.instances.iter().filter(|i| i.state.is_running());
    let proved = DEMO.metrics.iter().filter(|s| s.metric == Metric::CpuUtilization);
    // An average and a maximum each.
    assert_eq!(running.count() * 2, proved.count());
}
