//! From samples of GPUs to points per period, as a cloud's metrics source would have
//! delivered them. What is kept is bounded by the window, however long a run is.

use crate::domain::{GpuIdentity, GpuReading, GpuSample, Metric, RunFacts, Statistic, Window};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// The value of a sample, and the largest that was seen since the last one.
type ValueAndPeak = Option<(f64, f64)>;

/// A metric, and what a reading has of it.
type MetricReader = (Metric, fn(&GpuReading) -> ValueAndPeak);

/// The metrics that a sample has.
const METRICS: [MetricReader; 6] = [
    (Metric::GpuUtilization, utilization),
    (Metric::GpuMemoryUsed, |reading| alone(reading.vram_used_mib)),
    (Metric::GpuMemoryTotal, |reading| alone(reading.vram_total_mib)),
    (Metric::GpuPowerDraw, |reading| alone(reading.power_w)),
    (Metric::GpuTemperature, |reading| alone(reading.temperature_c)),
    // An encoder at work has at least one session; how many is not known.
    (Metric::GpuEncoderSessions, |reading| {
        alone(reading.encoder_percent.map(|percent| if percent > 0.0 { 1.0 } else { 0.0 }))
    }),
];

/// A value of which nothing is known between two samples.
fn alone(value: Option<f64>) -> ValueAndPeak {
    value.filter(|value| value.is_finite() && *value >= 0.0).map(|value| (value, value))
}

/// What was read in one period.
#[derive(Debug, Clone, Copy)]
struct Bin {
    sum: f64,
    readings: u32,
    largest: f64,
}

/// Values of one metric of one GPU, each with the start of its period, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct PeriodPoints {
    /// Index of the GPU on its host.
    pub gpu: u16,
    pub metric: Metric,
    /// How readings became one value.
    pub statistic: Statistic,
    pub points: Vec<(Timestamp, f64)>,
}

/// Samples that a window does not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutsideSamples {
    /// Before it begins.
    pub before: u64,
    /// After its end.
    pub after: u64,
}

impl OutsideSamples {
    pub fn total(self) -> u64 {
        self.before + self.after
    }
}

/// Collects samples by period of a window. A MIG instance is left out: it is a part
/// of a GPU, and the utilization of a divided GPU is not available.
#[derive(Debug, Clone)]
pub struct Periods {
    window: Window,
    period_seconds: u32,
    /// For each row of a sample, its GPU and whether it is divided.
    rows: Vec<Option<(u16, bool)>>,
    bins: BTreeMap<(u16, Metric), BTreeMap<u32, Bin>>,
    /// Samples that the window does not hold.
    pub outside: OutsideSamples,
}

impl Periods {
    /// No samples yet of the GPUs of a run.
    pub fn new(facts: &RunFacts, window: Window, period_seconds: u32) -> Self {
        let row = |gpu: &GpuIdentity| {
            gpu.mig.is_none().then_some((gpu.index, gpu.is_mig_enabled == Some(true)))
        };
        Self {
            window,
            period_seconds: period_seconds.max(1),
            rows: facts.gpus.iter().map(row).collect(),
            bins: BTreeMap::new(),
            outside: OutsideSamples::default(),
        }
    }

    /// Takes a sample. Answers whether the window holds it.
    pub fn add(&mut self, time: Timestamp, gpus: &[GpuSample]) -> bool {
        if time < self.window.start {
            self.outside.before += 1;
            return false;
        }
        if time >= self.window.end {
            self.outside.after += 1;
            return false;
        }
        let offset = time.as_second() - self.window.start.as_second();
        let period = u32::try_from(offset / i64::from(self.period_seconds)).unwrap_or(u32::MAX);
        for (row, sample) in self.rows.iter().zip(gpus) {
            let (Some((gpu, is_divided)), Some(reading)) = (*row, sample.reading()) else {
                continue;
            };
            for (metric, value) in METRICS {
                if is_divided && metric == Metric::GpuUtilization {
                    continue;
                }
                let Some((average, largest)) = value(reading) else { continue };
                let bins = self.bins.entry((gpu, metric)).or_default();
                let bin = bins.entry(period).or_insert(Bin { sum: 0.0, readings: 0, largest });
                bin.sum += average;
                bin.readings += 1;
                bin.largest = bin.largest.max(largest);
            }
        }
        true
    }

    /// The points, by GPU, metric and statistic.
    pub fn points(&self) -> Vec<PeriodPoints> {
        let mut rows = Vec::new();
        for ((gpu, metric), bins) in &self.bins {
            let averages: fn(&Bin) -> f64 = |bin| bin.sum / f64::from(bin.readings);
            let maxima: fn(&Bin) -> f64 = |bin| bin.largest;
            for (statistic, figure) in
                [(Statistic::Average, averages), (Statistic::Maximum, maxima)]
            {
                let points = bins.iter().filter_map(|(period, bin)| {
                    let offset = i64::from(*period) * i64::from(self.period_seconds);
                    let second = self.window.start.as_second() + offset;
                    Some((Timestamp::from_second(second).ok()?, figure(bin)))
                });
                rows.push(PeriodPoints {
                    gpu: *gpu,
                    metric: *metric,
                    statistic,
                    points: points.collect(),
                });
            }
        }
        rows
    }
}

/// Utilization of each whole GPU of a sample; absent of one that did not report it, or is divided.
pub(super) fn whole_utilization(
    gpus: &[GpuIdentity],
    samples: &[GpuSample],
) -> impl Iterator<Item = Option<f64>> {
    gpus.iter().zip(samples).filter(|(gpu, _)| gpu.mig.is_none()).map(|(gpu, sample)| {
        let reading = sample.reading().filter(|_| gpu.is_mig_enabled != Some(true))?;
        Some(utilization(reading)?.0)
    })
}

/// Utilization as it was read, else from what the driver recorded, which also
/// knows the peaks between two samples. A percentage that cannot be is left out.
fn utilization(reading: &GpuReading) -> ValueAndPeak {
    let is_valid = |percent: &f64| (0.0..=100.0).contains(percent);
    let read = reading.utilization_percent.filter(is_valid);
    let (mut sum, mut count, mut largest) = (0.0, 0_u32, read);
    for percent in reading.fine.iter().map(|fine| fine.utilization_percent) {
        if is_valid(&percent) {
            sum += percent;
            count += 1;
            largest = Some(largest.map_or(percent, |known| known.max(percent)));
        }
    }
    Some((read.or_else(|| (count > 0).then(|| sum / f64::from(count)))?, largest?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::FineSample;
    use crate::profiling::lab::{self, read};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    fn identity(index: u16, is_mig_enabled: bool, slice: Option<u16>) -> GpuIdentity {
        let mig = slice.and_then(|index| lab::slice(index).mig);
        GpuIdentity { mig, is_mig_enabled: Some(is_mig_enabled), ..lab::gpu(index) }
    }

    fn periods(gpus: Vec<GpuIdentity>) -> Periods {
        let window = Window { start: at(3_000), end: at(4_500) };
        Periods::new(&lab::facts(gpus), window, 300)
    }

    fn busy(percent: f64) -> GpuSample {
        read(GpuReading { utilization_percent: Some(percent), ..GpuReading::default() })
    }

    fn values(
        rows: &[PeriodPoints],
        gpu: u16,
        metric: Metric,
        statistic: Statistic,
    ) -> Vec<(i64, f64)> {
        rows.iter()
            .filter(|row| (row.gpu, row.metric, row.statistic) == (gpu, metric, statistic))
            .flat_map(|row| &row.points)
            .map(|(time, value)| (time.as_second(), *value))
            .collect()
    }

    const BUSY: Metric = Metric::GpuUtilization;

    #[test]
    fn samples_of_a_period_become_their_mean_and_their_maximum() {
        let mut periods = periods(vec![identity(0, false, None), identity(1, false, None)]);
        let lost = || GpuSample::lost("fell off the bus");
        assert!(periods.add(at(3_000), &[busy(10.0), busy(0.0)]));
        assert!(periods.add(at(3_299), &[busy(40.0), lost()]));
        assert!(periods.add(at(3_300), &[busy(100.0), lost()]));
        assert!(periods.add(at(4_499), &[busy(7.0), lost()]));
        assert!(!periods.add(at(2_999), &[busy(99.0), lost()]));
        assert!(!periods.add(at(4_500), &[busy(99.0), lost()]));
        assert!(!periods.add(at(9_000), &[busy(99.0), lost()]));
        assert_eq!(periods.outside, OutsideSamples { before: 1, after: 2 });
        let points = periods.points();
        assert_eq!(
            values(&points, 0, BUSY, Statistic::Average),
            [(3_000, 25.0), (3_300, 100.0), (4_200, 7.0)]
        );
        assert_eq!(
            values(&points, 0, BUSY, Statistic::Maximum),
            [(3_000, 40.0), (3_300, 100.0), (4_200, 7.0)]
        );
        // Lost is not idle.
        assert_eq!(values(&points, 1, BUSY, Statistic::Average), [(3_000, 0.0)]);
    }

    #[test]
    fn what_a_driver_does_not_tell_has_no_points() {
        let mut periods = periods(vec![identity(0, false, None)]);
        let reading = GpuReading {
            utilization_percent: Some(f64::NAN),
            vram_used_mib: Some(512.0),
            power_w: Some(-1.0),
            encoder_percent: Some(0.5),
            ..GpuReading::default()
        };
        periods.add(at(3_000), &[GpuSample::Read(Box::new(reading))]);
        let points = periods.points();
        let metrics: Vec<Metric> = points.iter().map(|row| row.metric).collect();
        assert!(!metrics.contains(&BUSY) && !metrics.contains(&Metric::GpuPowerDraw));
        assert_eq!(values(&points, 0, Metric::GpuMemoryUsed, Statistic::Maximum), [(3_000, 512.0)]);
        // An encoder that works has a session.
        assert_eq!(
            values(&points, 0, Metric::GpuEncoderSessions, Statistic::Maximum),
            [(3_000, 1.0)]
        );
    }

    #[test]
    fn the_drivers_own_samples_know_the_peaks_between_samples() {
        let fine = [20.0, 80.0, 50.0]
            .map(|utilization_percent| FineSample { at_microseconds: 0, utilization_percent });
        let mut reading = GpuReading { fine: fine.to_vec(), ..GpuReading::default() };
        assert_eq!(utilization(&reading), Some((50.0, 80.0)));
        reading.utilization_percent = Some(30.0);
        assert_eq!(utilization(&reading), Some((30.0, 80.0)));
        assert_eq!(utilization(&GpuReading::default()), None);
    }

    #[test]
    fn a_divided_gpu_has_no_utilization_and_its_slices_no_rows() {
        let rows = vec![identity(0, true, None), identity(0, true, Some(0))];
        let mut periods = periods(rows);
        let reading = GpuReading {
            utilization_percent: Some(50.0),
            vram_used_mib: Some(100.0),
            ..GpuReading::default()
        };
        let sample = GpuSample::Read(Box::new(reading));
        periods.add(at(3_000), &[sample.clone(), sample]);
        let points = periods.points();
        assert!(points.iter().all(|row| row.metric == Metric::GpuMemoryUsed));
        assert_eq!(points.len(), 2);
    }

    #[test]
    fn what_is_kept_depends_on_the_window_alone() {
        let mut periods = periods(vec![identity(0, false, None)]);
        for sample in 0..200_000_i64 {
            periods.add(at(sample % 7_000), &[busy((sample % 101) as f64)]);
        }
        // Five periods of one metric, whatever the number of samples.
        let bins: usize = periods.bins.values().map(BTreeMap::len).sum();
        assert_eq!(bins, 5);
    }
}
