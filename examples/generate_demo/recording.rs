//! From behaviour to series, as the CloudWatch agent and EC2 would deliver
//! them: with outages of the agent, and with power and temperature that follow
//! the work.

use super::behaviour::{GpuUse, InstanceUse, Traffic};
use super::chance::Chance;
use gpucost::domain::{JoinedBy, Metric, ResourceId, SeriesSource, Statistic, Window};
use gpucost::usage::{Points, Series};
use jiff::Timestamp;

/// The largest CPU of a period is its average rounded up to a multiple of this, percent.
const CPU_STEP_PERCENT: f64 = 4.0;
/// Length of a period of utilization, memory in use and CPU.
pub const PERIOD_SECONDS: u32 = 300;
/// Periods in an hour.
pub const PERIODS_PER_HOUR: usize = 12;
/// Periods in a day.
pub const PERIODS_PER_DAY: usize = 24 * PERIODS_PER_HOUR;
/// Periods in the window of a fortnight.
pub const PERIODS: usize = 14 * PERIODS_PER_DAY;
/// Hours in the window.
pub const HOURS: usize = PERIODS / PERIODS_PER_HOUR;

const HOUR_SECONDS: u32 = 3600;
const DAY_SECONDS: u32 = 86_400;
/// Memory above which a process is on the GPU and keeps its clocks up.
const PROCESS_MIB: f64 = 100.0;

/// A card, as far as its series depend on it.
#[derive(Debug, Clone, Copy)]
pub struct Card {
    /// Memory as the driver reports it.
    pub total_mib: f64,
    /// Draw with the driver loaded and no process.
    pub idle_w: f64,
    /// Draw with a process that computes nothing.
    pub held_w: f64,
    /// Draw at full utilization.
    pub full_w: f64,
}

/// One instance's series in the making.
struct Recorder<'a> {
    instance: &'a ResourceId,
    window: Window,
    series: Vec<Series>,
}

/// What identifies a series of an instance.
#[derive(Clone, Copy)]
struct Label {
    gpu: Option<u16>,
    metric: Metric,
    statistic: Statistic,
    source: SeriesSource,
}

impl Recorder<'_> {
    fn push(
        &mut self,
        label: Label,
        period_seconds: u32,
        values: impl Iterator<Item = Option<f64>>,
    ) {
        let start_second = self.window.start.as_second();
        let raw = (0_i64..).zip(values).filter_map(|(index, value)| {
            let second = start_second + index * i64::from(period_seconds);
            let instant = Timestamp::from_second(second).expect("inside the window");
            Some((instant, value?))
        });
        let (points, rejected) =
            Points::clean(raw, (label.metric, label.statistic), self.window, period_seconds);
        self.series.push(Series {
            instance: self.instance.clone(),
            gpu: label.gpu,
            metric: label.metric,
            statistic: label.statistic,
            source: label.source,
            joined_by: JoinedBy::InstanceId,
            points,
            rejected,
        });
    }

    fn gpu(
        &mut self,
        index: u16,
        usage: &GpuUse,
        card: Card,
        reported: &[bool],
        chance: &mut Chance,
    ) {
        let label = |metric, statistic| Label {
            gpu: Some(index),
            metric,
            statistic,
            source: SeriesSource::CloudWatchAgent,
        };
        let by_period = [
            (label(Metric::GpuUtilization, Statistic::Average), &usage.average_percent),
            (label(Metric::GpuUtilization, Statistic::Maximum), &usage.maximum_percent),
            (label(Metric::GpuMemoryUsed, Statistic::Average), &usage.average_memory_mib),
            (label(Metric::GpuMemoryUsed, Statistic::Maximum), &usage.maximum_memory_mib),
        ];
        for (label, values) in by_period {
            let values = values.iter().zip(reported);
            let values = values.map(|(value, reported)| reported.then_some(*value));
            self.push(label, PERIOD_SECONDS, values);
        }
        let days = PERIODS / PERIODS_PER_DAY;
        self.push(
            label(Metric::GpuMemoryTotal, Statistic::Maximum),
            DAY_SECONDS,
            std::iter::repeat_n(Some(card.total_mib), days),
        );
        let power_w = hourly_power_w(usage, card, chance);
        self.push(
            label(Metric::GpuPowerDraw, Statistic::Average),
            HOUR_SECONDS,
            power_w.iter().copied().map(Some),
        );
        // Air at 27 °C, and some forty degrees more at full draw.
        let celsius = power_w.iter().map(|watts| {
            let warming = 44.0 * watts / card.full_w;
            Some((27.0 + warming).round() + f64::from(chance.between(0, 1)))
        });
        self.push(label(Metric::GpuTemperature, Statistic::Maximum), HOUR_SECONDS, celsius);
    }

    /// EC2 counts bytes without an agent, and so without its outages.
    fn traffic(&mut self, traffic: &Traffic) {
        let by_direction = [
            (Metric::NetworkIn, &traffic.received_bytes),
            (Metric::NetworkOut, &traffic.sent_bytes),
        ];
        for (metric, bytes) in by_direction {
            self.push(
                Label { gpu: None, metric, statistic: Statistic::Sum, source: SeriesSource::Ec2 },
                HOUR_SECONDS,
                bytes.iter().copied().map(Some),
            );
        }
    }
}

/// Draw of each hour: between the card's rest and its full draw in proportion
/// to utilization.
fn hourly_power_w(usage: &GpuUse, card: Card, chance: &mut Chance) -> Vec<f64> {
    let hours = usage.average_percent.chunks(PERIODS_PER_HOUR);
    let memory = usage.average_memory_mib.chunks(PERIODS_PER_HOUR);
    hours
        .zip(memory)
        .map(|(percents, memory_mib)| {
            let busy = percents.iter().sum::<f64>() / percents.len() as f64 / 100.0;
            let is_held = memory_mib.iter().any(|mib| *mib > PROCESS_MIB);
            let rest_w = if is_held { card.held_w } else { card.idle_w };
            let watts = rest_w + (card.full_w - rest_w) * busy;
            let reach_w = if busy > 0.0 { 4 } else { 1 };
            watts.round() + f64::from(chance.spread(reach_w))
        })
        .collect()
}

/// The longest outage of the agent on most instances.
pub const LONGEST_OUTAGE_PERIODS: i32 = 4;

/// Which periods the agent reported: all but five short outages, at most some
/// 0.3%.
fn reported(chance: &mut Chance, longest_outage_periods: i32) -> Vec<bool> {
    let mut reported = vec![true; PERIODS];
    for _ in 0..5 {
        let start = chance.between(0, PERIODS as i32 - 5) as usize;
        let length = chance.between(1, longest_outage_periods) as usize;
        reported[start..start + length].fill(false);
    }
    reported
}

/// Every series of one instance. EC2's CPU metric knows no outage: its points
/// prove that the instance ran all the time.
pub fn record(
    instance: &ResourceId,
    usage: &InstanceUse,
    card: Card,
    longest_outage_periods: i32,
    window: Window,
    chance: &mut Chance,
) -> Vec<Series> {
    let reported = reported(chance, longest_outage_periods);
    let mut recorder = Recorder { instance, window, series: Vec::new() };
    let averages = &usage.cpu_percent;
    let maxima =
        averages.iter().map(|percent| (percent / CPU_STEP_PERCENT).ceil() * CPU_STEP_PERCENT);
    let statistics =
        [(Statistic::Average, averages.clone()), (Statistic::Maximum, maxima.collect())];
    for (statistic, percents) in statistics {
        let metric = Metric::CpuUtilization;
        let label = Label { gpu: None, metric, statistic, source: SeriesSource::Ec2 };
        recorder.push(label, PERIOD_SECONDS, percents.into_iter().map(Some));
    }
    for (index, gpu) in (0_u16..).zip(&usage.gpus) {
        recorder.gpu(index, gpu, card, &reported, chance);
    }
    recorder.traffic(&usage.traffic);
    recorder.series
}
