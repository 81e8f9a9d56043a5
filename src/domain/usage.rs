//! From series to the figures that verdicts are made of.

use super::{
    ACTIVE_PERCENT, Distribution, GpuOffer, Instance, InstanceId, JoinedBy, Metric, Points, Policy,
    Rejected, RunningTime, Samples, Series, SeriesSource, Signal, Statistic, Timeline,
    UtilizationSummary, Window, mean, quantile,
};
use std::collections::BTreeMap;

/// Share of its VRAM from which something is allocated on a GPU, percent: less
/// is what a driver takes for itself.
const ALLOCATED_VRAM_PERCENT: f64 = 5.0;

/// CloudWatch delivers a few minutes late: an instance that runs now and whose
/// newest CPU point is at most this many periods old ran until the end.
const DELIVERY_LAG_PERIODS: usize = 3;

/// VRAM figures, per GPU in MiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VramSummary {
    /// Largest maximum.
    pub peak_mib: f64,
    /// 95th percentile of averages; absent without averages.
    pub p95_mib: Option<f64>,
    /// Samples behind the peak.
    pub samples: Samples,
    /// Size of the card: as the driver reports it, else as the type offers it.
    pub total_mib: Option<f64>,
}

impl VramSummary {
    /// Peak as a percentage of the card; absent when its size is unknown.
    pub fn peak_percent(&self) -> Option<f64> {
        let total = self.total_mib.filter(|total| *total > 0.0)?;
        Some(self.peak_mib / total * 100.0)
    }
}

/// Maxima of the utilization of one GPU: what tells work that averages hide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Maxima {
    /// The largest, percent.
    pub largest: f64,
    /// Time in periods whose maximum reached 1%.
    pub active_seconds: u64,
    /// From the first sample to the end of the last one.
    pub observed_seconds: i64,
    /// How much was seen.
    pub samples: Samples,
}

/// Traffic of one instance, as far as both directions were measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkUse {
    /// Received in the busiest hour, Gbit/s.
    pub received_gbps: f64,
    /// Sent in the busiest hour, Gbit/s.
    pub sent_gbps: f64,
    /// How much was seen of the direction with fewer samples.
    pub samples: Samples,
}

impl NetworkUse {
    /// The busier direction in its busiest hour, Gbit/s.
    pub fn busiest_gbps(self) -> f64 {
        self.received_gbps.max(self.sent_gbps)
    }
}

/// One GPU of one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuUsage {
    /// The instance.
    pub instance: InstanceId,
    /// Index on the host.
    pub index: u16,
    /// Utilization from averages; absent when it was not measured.
    pub utilization: Option<Distribution>,
    /// Samples of it.
    pub samples: Samples,
    /// What a service must have room for, percent: the larger of the 99.5th
    /// percentile of the averages (as AWS Compute Optimizer) and the median of their
    /// daily maxima, so that an hour of every day counts.
    pub demand_peak: Option<f64>,
    /// Its maxima; absent when none was delivered.
    pub maxima: Option<Maxima>,
    /// Memory; absent when it was not measured.
    pub vram: Option<VramSummary>,
    /// Mean power draw in watts.
    pub power_mean_w: Option<f64>,
    /// Highest temperature in degrees Celsius.
    pub temperature_max_c: Option<f64>,
    /// Most encoder sessions at once; absent when they were not measured.
    pub encoder_sessions_max: Option<f64>,
}

impl GpuUsage {
    /// Whether it ever encoded: media work is work, though no kernel runs.
    pub fn encodes(&self) -> bool {
        self.encoder_sessions_max
            .is_some_and(|sessions| sessions > 0.0)
    }

    /// Whether it was ever active (p99 at or above 1%, or an encoder session);
    /// absent when it was not measured.
    pub fn is_active(&self) -> Option<bool> {
        if self.encodes() {
            return Some(true);
        }
        self.utilization
            .map(|utilization| utilization.p99 >= ACTIVE_PERCENT)
    }

    /// Whether it was seen working: by a maximum, or an average where there is none.
    /// Absent when it was not measured.
    pub fn works(&self) -> Option<bool> {
        if self.encodes() {
            return Some(true);
        }
        let largest = self.maxima.map(|maxima| maxima.largest);
        let largest = largest.or(self.utilization.map(|figures| figures.max));
        largest.map(|largest| largest >= ACTIVE_PERCENT)
    }

    /// Whether it is known never to have worked: its maximum stayed below 1% in every
    /// period, over as many days as idleness takes, with hardly a sample missing.
    pub fn is_never_used(&self, policy: &Policy) -> bool {
        let Some(maxima) = self.maxima.filter(|_| !self.encodes()) else {
            return false;
        };
        maxima.largest < ACTIVE_PERCENT
            && maxima.samples.coverage() >= policy.measured_coverage
            && policy.is_long_enough(maxima.observed_seconds, maxima.samples.period_seconds)
    }

    /// Hours in which it worked, where these are less than one in a hundred: it is
    /// rarely used. Absent for what is never used or used more.
    pub fn rarely_used_hours(&self) -> Option<f64> {
        let maxima = self.maxima?;
        let is_rare = self.is_active() == Some(false) && maxima.active_seconds > 0;
        is_rare.then(|| maxima.active_seconds as f64 / 3600.0)
    }

    /// Whether something was allocated on it: VRAM at or above 5%, or active.
    /// Absent when what was measured does not tell.
    pub fn is_allocated(&self) -> Option<bool> {
        let held = self
            .vram
            .and_then(|vram| vram.peak_percent())
            .map(|percent| percent >= ALLOCATED_VRAM_PERCENT);
        match (self.is_active(), held) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            (None, _) | (_, None) => None,
        }
    }
}

/// Everything measured about one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceUsage {
    /// The instance.
    pub instance: InstanceId,
    /// How long it ran.
    pub running: RunningTime,
    /// What was measured; absent when no GPU signal arrived.
    pub signal: Option<(Signal, SeriesSource)>,
    /// Over its GPUs; absent when no period counts.
    pub summary: Option<UtilizationSummary>,
    /// Per GPU, by index.
    pub gpus: Vec<GpuUsage>,
    /// 95th percentile of CPU utilization, percent.
    pub cpu_p95: Option<f64>,
    /// Samples behind that percentile; absent where profiled runs told it.
    pub cpu_samples: Option<Samples>,
    /// Largest average of CPU utilization over a period, percent.
    pub cpu_max: Option<f64>,
    /// 95th percentile of memory of the host in MiB; only profiled runs tell.
    pub memory_p95_mib: Option<f64>,
    /// Whether the percentile of its CPU is of profiled runs too.
    pub cpu_is_of_runs: bool,
    /// Bytes received and sent in a day, as far as both were measured.
    pub network_bytes_per_day: Option<f64>,
    /// Its traffic in the busiest hours; absent unless both directions were measured.
    pub network: Option<NetworkUse>,
    /// Whether any series was matched by hostname.
    pub joined_by_hostname: bool,
    /// Points dropped on reading, over all series.
    pub rejected: Rejected,
}

impl InstanceUsage {
    /// Measures an instance by its series, in any order; of two series of the
    /// same thing the first in order of source counts, and one without points last. `offer` is what its type
    /// offers; an unknown type is measured by the GPUs that report. The
    /// timeline is handed over apart, because only the sum over a workload is
    /// kept.
    pub fn measure(
        instance: &Instance,
        offer: Option<&GpuOffer>,
        series: &[&Series],
        window: Window,
        period_seconds: u32,
    ) -> (Self, Timeline) {
        let mut series = series.to_vec();
        series.sort_by_key(|s| {
            let is_empty = s.points.is_empty();
            (s.metric, s.gpu, s.statistic, is_empty, s.source)
        });
        series.dedup_by_key(|s| (s.metric, s.gpu, s.statistic));
        let series = series.as_slice();
        let signal = choose_signal(series);
        let indices = gpu_indices(series);
        let visible = offer.map_or(indices.len().max(1) as u32, |offer| {
            u32::from(offer.share.visible_devices())
        });
        let mut timeline = Timeline::new(window, period_seconds);
        if let Some((signal, _)) = signal {
            add_signal(&mut timeline, series, signal, visible);
        }
        let cpu = points_of(series, Metric::CpuUtilization, Statistic::Average).next();
        let running = mark_running(&mut timeline, instance, cpu, visible);
        let ran = running.running_seconds;
        let cpu_figures = cpu.and_then(|points| Distribution::of(points.values().collect()));
        let usage = Self {
            instance: instance.id.clone(),
            running,
            signal,
            summary: signal.and_then(|(signal, source)| timeline.summary(signal, source)),
            gpus: indices
                .into_iter()
                .map(|index| gpu_usage(instance, offer, series, index, ran))
                .collect(),
            cpu_p95: cpu_figures.map(|figures| figures.p95),
            cpu_samples: cpu.map(|points| samples(points, ran)),
            cpu_max: cpu_figures.map(|figures| figures.max),
            memory_p95_mib: None,
            cpu_is_of_runs: false,
            network_bytes_per_day: per_day(series, Metric::NetworkIn)
                .zip(per_day(series, Metric::NetworkOut))
                .map(|(received, sent)| received + sent),
            network: network_use(series, ran),
            joined_by_hostname: series.iter().any(|s| s.joined_by == JoinedBy::Hostname),
            rejected: series
                .iter()
                .fold(Rejected::default(), |sum, s| sum.plus(s.rejected)),
        };
        (usage, timeline)
    }

    /// Whether each of a number of GPUs delivered its own utilization in at
    /// least half of the periods in which the instance ran.
    pub fn measures_every_gpu(&self, visible_gpus: usize, period_seconds: u32) -> bool {
        let expected = self.running.running_seconds / i64::from(period_seconds.max(1));
        let measured = self
            .gpus
            .iter()
            .filter(|gpu| gpu.utilization.is_some() && gpu.samples.count as i64 * 2 >= expected)
            .count();
        measured >= visible_gpus.max(1)
    }
}

fn choose_signal(series: &[&Series]) -> Option<(Signal, SeriesSource)> {
    [
        (Metric::GpuUtilization, Signal::GpuUtilization),
        (Metric::GpuPowerUtilization, Signal::GpuPowerUtilization),
    ]
    .into_iter()
    .find_map(|(metric, signal)| {
        let found = series.iter().find(|s| {
            s.metric == metric && s.statistic == Statistic::Average && !s.points.is_empty()
        })?;
        Some((signal, found.source))
    })
}

fn points_of<'a>(
    series: &'a [&Series],
    metric: Metric,
    statistic: Statistic,
) -> impl Iterator<Item = &'a Points> {
    series
        .iter()
        .filter(move |s| s.metric == metric && s.statistic == statistic && !s.points.is_empty())
        .map(|s| &s.points)
}

/// What a metric of the instance sums up to in a day, over the periods with a
/// point.
fn per_day(series: &[&Series], metric: Metric) -> Option<f64> {
    let points = points_of(series, metric, Statistic::Sum).next()?;
    let days = points.len() as f64 * f64::from(points.period_seconds()) / 86_400.0;
    Some(points.values().sum::<f64>() / days)
}

fn add_signal(timeline: &mut Timeline, series: &[&Series], signal: Signal, visible: u32) {
    let metric = match signal {
        Signal::GpuUtilization => Metric::GpuUtilization,
        Signal::GpuPowerUtilization => Metric::GpuPowerUtilization,
    };
    // EC2's power metric without a GPU id speaks for every GPU of the instance.
    let whole_instance = series.iter().all(|s| s.metric != metric || s.gpu.is_none());
    for points in points_of(series, metric, Statistic::Average) {
        for (index, value) in points.iter() {
            if let Some(slot) = timeline.slots.get_mut(index as usize) {
                slot.add_average(value);
                if whole_instance && visible > 1 {
                    slot.sum_average = value * f64::from(visible);
                    slot.reported = visible;
                }
            }
        }
    }
    for one in series
        .iter()
        .filter(|s| s.metric == metric && s.statistic == Statistic::Maximum)
    {
        // One series for several GPUs does not say what each of them did.
        let speaks_for_a_gpu = one.gpu.is_some() || visible == 1;
        for (index, value) in one.points.iter() {
            if let Some(slot) = timeline.slots.get_mut(index as usize) {
                slot.add_maximum(value);
                slot.maxima += u32::from(speaks_for_a_gpu);
            }
        }
    }
    for points in points_of(series, Metric::GpuEncoderSessions, Statistic::Maximum) {
        for (index, _) in points.iter().filter(|(_, sessions)| *sessions > 0.0) {
            if let Some(slot) = timeline.slots.get_mut(index as usize) {
                slot.encodes = true;
            }
        }
    }
}

/// Marks the periods in which the instance ran: those with a CPU point or a
/// GPU sample; without any CPU point, since its launch.
fn mark_running(
    timeline: &mut Timeline,
    instance: &Instance,
    cpu: Option<&Points>,
    visible: u32,
) -> RunningTime {
    let window = timeline.window;
    let period = i64::from(timeline.period_seconds.max(1));
    let length = timeline.slots.len();
    let mut ran: Vec<bool> = timeline.slots.iter().map(|s| s.reported > 0).collect();
    let slot_at = |instant: jiff::Timestamp| {
        ((instant.as_second() - window.start.as_second()).max(0) / period) as usize
    };
    match cpu {
        Some(points) => {
            for (index, _) in points.iter() {
                if let Some(slot) = ran.get_mut(index as usize) {
                    *slot = true;
                }
            }
            let newest = ran.iter().rposition(|ran| *ran);
            if let Some(newest) = newest
                && instance.state.is_running()
                && newest + 1 + DELIVERY_LAG_PERIODS >= length
            {
                ran[newest..].fill(true);
            }
        }
        None if instance.state.is_running() => {
            let from = slot_at(instance.launch_time).min(length);
            ran[from..].fill(true);
        }
        // It ran from its last start until it stopped.
        None => {
            let from = slot_at(instance.launch_time).min(length);
            let until = instance.stopped_at().map_or(from, slot_at).min(length);
            if from < until {
                ran[from..until].fill(true);
            }
        }
    }
    for (running, ran) in timeline.running_gpus.iter_mut().zip(&ran) {
        *running = if *ran { visible } else { 0 };
    }
    for (running, ran) in timeline.running_instances.iter_mut().zip(&ran) {
        *running = u32::from(*ran);
    }
    // What is reported beyond the GPUs that ran must not stand in for those of
    // another instance.
    for (slot, running) in timeline.slots.iter_mut().zip(&timeline.running_gpus) {
        slot.maxima = slot.maxima.min(*running);
    }
    let observed = window.starting_at(instance.first_seen()).seconds();
    let running = match cpu {
        None if instance.state.is_running() && !ran.first().copied().unwrap_or(true) => {
            // Whole periods would round a launch inside one up.
            let before_launch = ran[..slot_at(instance.launch_time).min(length)]
                .iter()
                .filter(|ran| **ran)
                .count() as i64
                * period;
            before_launch + window.starting_at(instance.launch_time).seconds()
        }
        _ => ran.iter().filter(|ran| **ran).count() as i64 * period,
    };
    RunningTime {
        running_seconds: running.min(observed),
        observed_seconds: observed,
        proved: cpu.is_some(),
    }
}

fn gpu_indices(series: &[&Series]) -> Vec<u16> {
    let mut indices: Vec<u16> = series.iter().filter_map(|s| s.gpu).collect();
    indices.sort_unstable();
    indices.dedup();
    indices
}

fn samples(points: &Points, running_seconds: i64) -> Samples {
    Samples::over(
        points.len() as u64,
        running_seconds,
        points.period_seconds(),
    )
}

/// Traffic in the busiest hour of each direction.
fn network_use(series: &[&Series], running_seconds: i64) -> Option<NetworkUse> {
    let direction = |metric| points_of(series, metric, Statistic::Sum).next();
    let (received, sent) = (
        direction(Metric::NetworkIn)?,
        direction(Metric::NetworkOut)?,
    );
    let of = |points| samples(points, running_seconds);
    Some(NetworkUse {
        received_gbps: busiest_hour_gbps(received)?,
        sent_gbps: busiest_hour_gbps(sent)?,
        samples: of(received).poorer(of(sent)),
    })
}

/// The largest rate over the points of one hour, Gbit/s.
fn busiest_hour_gbps(points: &Points) -> Option<f64> {
    let period = f64::from(points.period_seconds().max(1));
    let per_hour = (3600 / points.period_seconds().max(1)).max(1);
    let mut hours: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for (index, bytes) in points.iter() {
        let (sum, seconds) = hours.entry(index / per_hour).or_default();
        *sum += bytes;
        *seconds += period;
    }
    hours
        .values()
        .map(|(bytes, seconds)| bytes * 8.0 / seconds / 1e9)
        .reduce(f64::max)
}

/// The larger of the 99.5th percentile of averages and the median of their daily
/// maxima, days of UTC.
fn demand_peak(points: &Points) -> Option<f64> {
    let mut values: Vec<f64> = points.values().collect();
    values.sort_by(f64::total_cmp);
    let start = points.start().as_second();
    let mut days: BTreeMap<i64, f64> = BTreeMap::new();
    for (index, value) in points.iter() {
        let second = start + i64::from(index) * i64::from(points.period_seconds());
        let largest = days.entry(second.div_euclid(86_400)).or_insert(value);
        *largest = largest.max(value);
    }
    let mut daily: Vec<f64> = days.into_values().collect();
    daily.sort_by(f64::total_cmp);
    Some(quantile(&values, 0.995)?.max(quantile(&daily, 0.5)?))
}

fn maxima(points: &Points, running_seconds: i64) -> Option<Maxima> {
    let active = points.values().filter(|value| *value >= ACTIVE_PERCENT);
    let first = points.iter().next()?.0;
    let last = points.iter().last()?.0;
    Some(Maxima {
        active_seconds: active.count() as u64 * u64::from(points.period_seconds()),
        observed_seconds: i64::from(last - first + 1) * i64::from(points.period_seconds()),
        largest: points.values().reduce(f64::max)?,
        samples: samples(points, running_seconds),
    })
}

fn gpu_usage(
    instance: &Instance,
    offer: Option<&GpuOffer>,
    series: &[&Series],
    index: u16,
    running_seconds: i64,
) -> GpuUsage {
    let points = |metric: Metric, statistic: Statistic| -> Option<&Points> {
        let found = series
            .iter()
            .find(|s| s.gpu == Some(index) && s.metric == metric && s.statistic == statistic)?;
        (!found.points.is_empty()).then_some(&found.points)
    };
    let values = |metric, statistic| -> Option<Vec<f64>> {
        points(metric, statistic).map(|points| points.values().collect())
    };
    let largest = |values: Vec<f64>| values.into_iter().reduce(f64::max);
    let averages = points(Metric::GpuUtilization, Statistic::Average);
    let memory_average = points(Metric::GpuMemoryUsed, Statistic::Average);
    let memory_maximum = points(Metric::GpuMemoryUsed, Statistic::Maximum);
    let memory = memory_maximum.or(memory_average);
    let memory_p95 = memory_average
        .and_then(|points| Distribution::of(points.values().collect()))
        .map(|memory| memory.p95);
    let peak = memory.and_then(|points| points.values().reduce(f64::max));
    let reported_total = values(Metric::GpuMemoryTotal, Statistic::Maximum).and_then(largest);
    GpuUsage {
        instance: instance.id.clone(),
        index,
        samples: averages.map_or(Samples::default(), |points| {
            samples(points, running_seconds)
        }),
        utilization: averages.and_then(|points| Distribution::of(points.values().collect())),
        demand_peak: averages.and_then(demand_peak),
        maxima: points(Metric::GpuUtilization, Statistic::Maximum)
            .and_then(|points| maxima(points, running_seconds)),
        vram: memory.zip(peak).map(|(points, peak_mib)| VramSummary {
            peak_mib,
            p95_mib: memory_p95,
            samples: samples(points, running_seconds),
            total_mib: reported_total.or_else(|| Some(offer?.vram_mib? as f64)),
        }),
        power_mean_w: values(Metric::GpuPowerDraw, Statistic::Average)
            .and_then(|values| mean(&values)),
        temperature_max_c: values(Metric::GpuTemperature, Statistic::Maximum).and_then(largest),
        encoder_sessions_max: values(Metric::GpuEncoderSessions, Statistic::Maximum)
            .and_then(largest),
    }
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
