//! Random series of a machine over five days, for tests of what adds up.

use super::{Points, Series, Timeline, Usage, UsageBuilder, Usages};
use crate::domain::{
    DAY_SECONDS, GpuModel, GpuOffer, GpuShare, HOUR_SECONDS, Instance, InstanceUsage, JoinedBy,
    Metric, Outage, ResourceId, SeriesSource, Statistic, Window,
};
use fastrand::Rng;
use jiff::Timestamp;

pub const PERIOD: u32 = 300;

/// 2026-11-01T10:20:00Z: inside an hour, so that neither the first hour of the window nor its
/// last is whole.
const START: i64 = 1_793_528_400;

const HOUR: i64 = HOUR_SECONDS;
const FINE: i64 = 300;

/// What is asked of a machine with two GPUs: the metric, the GPU, the statistic, and the
/// seconds of a period.
const ASKED: [(Metric, Option<u16>, Statistic, i64); 19] = {
    use Metric::*;
    use Statistic::*;
    [
        (GpuUtilization, Some(0), Average, FINE),
        (GpuUtilization, Some(0), Maximum, FINE),
        (GpuUtilization, Some(1), Average, FINE),
        (GpuUtilization, Some(1), Maximum, FINE),
        (GpuMemoryUsed, Some(0), Average, FINE),
        (GpuMemoryUsed, Some(0), Maximum, FINE),
        (GpuMemoryUsed, Some(1), Average, FINE),
        (GpuMemoryTotal, Some(0), Maximum, DAY_SECONDS),
        (GpuPowerDraw, Some(0), Average, HOUR),
        (GpuPowerDraw, Some(1), Average, HOUR),
        (GpuTemperature, Some(0), Maximum, HOUR),
        (GpuEncoderSessions, Some(1), Maximum, HOUR),
        (GpuSmActivity, Some(0), Average, HOUR),
        (GpuPowerUtilization, None, Average, FINE),
        (GpuPowerUtilization, None, Maximum, FINE),
        (CpuUtilization, None, Average, FINE),
        (CpuUtilization, None, Maximum, FINE),
        (NetworkIn, None, Sum, HOUR),
        (NetworkOut, None, Sum, HOUR),
    ]
};

/// Points of a series as a cloud answers them.
pub type Answer = Vec<(Timestamp, f64)>;

pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("in range")
}

/// Five days, which are not those of UTC.
pub fn window() -> Window {
    Window { start: at(START), end: at(START + 5 * DAY_SECONDS) }
}

/// The window, cut at each midnight of UTC.
pub fn stretches() -> Vec<Window> {
    let Window { start, end } = window();
    let first = START - START.rem_euclid(DAY_SECONDS);
    let midnights = (1..=5).map(|day| at(first + day * DAY_SECONDS));
    let mut cuts = vec![start];
    cuts.extend(midnights.filter(|midnight| *midnight < end));
    cuts.push(end);
    let pairs = cuts.windows(2);
    pairs.map(|pair| Window { start: pair[0], end: pair[1] }).collect()
}

/// Answers for the window, one for each of [`ASKED`], with holes, days without any point, and points that are invalid or
/// come twice.
pub fn answers(seed: u64) -> Vec<Answer> {
    let mut rng = Rng::with_seed(seed);
    let each = ASKED.iter();
    each.map(|(metric, _, _, period)| of_series(*metric, *period, &mut rng)).collect()
}

fn of_series(metric: Metric, period: i64, rng: &mut Rng) -> Answer {
    let mut points = Vec::new();
    if rng.u8(..) < 20 {
        return points;
    }
    // A period that has begun before the window is answered as well.
    let first = START - START.rem_euclid(period);
    let silent = rng.i64(0..12);
    let mut second = first;
    while second < START + 5 * DAY_SECONDS {
        let steps = rng.i64(1..40);
        let level = value(metric, rng);
        let kind = rng.u8(0..10);
        for _ in 0..steps {
            let day = second.div_euclid(DAY_SECONDS) - START.div_euclid(DAY_SECONDS);
            let point = match kind {
                0 => None,
                1 => Some(value(metric, rng)),
                2 => Some(-1.0),
                3 => Some(f64::NAN),
                4 => Some(150.0),
                _ => Some(level),
            };
            if let Some(point) =
                point.filter(|_| day != silent && second < window().end.as_second())
            {
                points.push((at(second), point));
                if rng.u8(..) == 0 {
                    points.push((at(second), level));
                }
            }
            second += period;
        }
    }
    points
}

fn value(metric: Metric, rng: &mut Rng) -> f64 {
    match metric {
        _ if rng.u8(..) < 60 => 0.0,
        Metric::GpuMemoryUsed | Metric::GpuMemoryTotal => f64::from(rng.u32(0..81_920)) / 3.0,
        Metric::GpuPowerDraw => rng.f64() * 700.0,
        Metric::NetworkIn | Metric::NetworkOut => (rng.f64() * 1e14).round(),
        Metric::GpuEncoderSessions => f64::from(rng.u8(0..4)),
        _ => f64::from(rng.u16(0..=10_000)) / 100.0,
    }
}

/// The series of a stretch.
pub fn series(answers: &[Answer], stretch: Window) -> Vec<Series> {
    let each = ASKED.iter().zip(answers);
    let series = each.map(|((metric, gpu, statistic, period), points)| {
        let inside = |time: Timestamp| stretch.start <= time && time < stretch.end;
        let raw = points.iter().copied().filter(|(time, _)| inside(*time));
        let what = (*metric, *statistic);
        let (points, rejected) = Points::clean(raw, what, stretch, *period as u32);
        Series {
            instance: ResourceId::named("i-1"),
            gpu: *gpu,
            metric: *metric,
            statistic: *statistic,
            source: match metric {
                Metric::CpuUtilization
                | Metric::GpuPowerUtilization
                | Metric::NetworkIn
                | Metric::NetworkOut => SeriesSource::Ec2,
                _ => SeriesSource::CloudWatchAgent,
            },
            joined_by: JoinedBy::InstanceId,
            points,
            rejected,
        }
    });
    series.filter(|series| !series.points.is_empty() || series.rejected.total() > 0).collect()
}

/// What they amount to.
pub fn usages(answers: &[Answer], stretch: Window) -> Usages {
    let mut builder = UsageBuilder::new(stretch, PERIOD);
    for record in series(answers, stretch) {
        builder.add(&record);
    }
    builder.finish()
}

/// Every figure of a usage, to the last bit.
pub fn figures(usage: &Usage) -> String {
    format!("{:?}", measured(usage))
}

/// The same but for when each GPU and the network were not sampled.
pub fn figures_but_outages(usage: &Usage) -> String {
    let (mut figures, timeline) = measured(usage);
    // Nor are the hours of each GPU kept of a day.
    figures.pairs_correlation = None;
    if let Some(maxima) = &mut figures.cpu_max_samples {
        maxima.outage = Outage::default();
    }
    for gpu in &mut figures.gpus {
        // Nor is how often its encoder was sampled.
        gpu.encoder_samples = None;
        gpu.samples.outage = Outage::default();
        let maxima = gpu.maxima.as_mut().map(|summary| &mut summary.samples);
        let vram = gpu.vram.as_mut().map(|summary| &mut summary.samples);
        for samples in maxima.into_iter().chain(vram) {
            samples.outage = Outage::default();
        }
    }
    if let Some(network) = &mut figures.network {
        network.samples.outage = Outage::default();
    }
    format!("{:?}", (figures, timeline))
}

fn measured(usage: &Usage) -> (InstanceUsage, Timeline) {
    let offer =
        GpuOffer { model: GpuModel::A10g, share: GpuShare::Whole(2), vram_mib: Some(24_576) };
    let instance = Instance::sample("i-1", "", at(START));
    usage.measure(&instance, Some(&offer), (window(), PERIOD))
}
