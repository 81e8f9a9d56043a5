//! How endpoints are used. SageMaker publishes the utilization of a variant as a sum over
//! the GPUs of an instance (up to 400% on four), as a mean over its instances, and as the
//! largest sum of any. What each GPU did does not follow from that, except where nothing ran.

use crate::catalog::known_shape;
use crate::domain::{
    AcceleratorKind, Cause, CauseKind, Gap, GapSubject, Gathered, Instance, InstanceShape,
    JoinedBy, Metric, ResourceId, SeriesSource, Statistic, Window,
};
use crate::sources::aws::meter::metric_cost_usd;
use crate::sources::aws::metrics::{FIVE_MINUTES_KEPT, MetricQuery, MetricValues, fetch};
use crate::sources::aws::session::RegionClients;
use crate::sources::{Answer, MetricCalls, MetricRequest, MetricSource, Readings};
use crate::usage::{Points, Series};
use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;

const NAMESPACE: &str = "/aws/sagemaker/Endpoints";

/// What is asked of each variant: the metric, what it becomes, and its statistic.
const ASKED: [(&str, Metric, Statistic); 5] = [
    ("GPUUtilization", Metric::GpuUtilization, Statistic::Average),
    ("GPUUtilization", Metric::GpuUtilization, Statistic::Maximum),
    ("GPUMemoryUtilization", Metric::GpuMemoryUsed, Statistic::Average),
    ("GPUMemoryUtilization", Metric::GpuMemoryUsed, Statistic::Maximum),
    ("CPUUtilization", Metric::CpuUtilization, Statistic::Average),
];

/// Variants in one call: their series of two weeks fit a page of 100,800 points.
const VARIANTS_AT_ONCE: usize = 5;

pub(super) struct VariantMetrics(pub RegionClients);

impl MetricSource for VariantMetrics {
    fn period_seconds(&self, lookback: SignedDuration) -> u32 {
        if lookback <= FIVE_MINUTES_KEPT { 300 } else { 3_600 }
    }

    fn plan<'a>(&'a self, ask: MetricRequest<'a>) -> Answer<'a, Gathered<MetricCalls<'a>>> {
        let Gathered { value, gaps } = variants(ask.instances, ask.shapes);
        let series = value.len() * ASKED.len();
        let calls = value
            .chunks(VARIANTS_AT_ONCE)
            .map(|some| self.read(some.to_vec(), ask.window, ask.period_seconds).boxed_local());
        let calls = MetricCalls {
            series,
            cost_usd: metric_cost_usd(series as u64),
            calls: calls.collect(),
        };
        std::future::ready(Gathered { value: calls, gaps }).boxed_local()
    }
}

impl VariantMetrics {
    async fn read(&self, some: Vec<Variant>, window: Window, period: u32) -> Gathered<Readings> {
        let queries: Vec<MetricQuery> =
            some.iter().flat_map(|variant| variant.queries(period)).collect();
        let Gathered { value: found, gaps } = fetch(&self.0, &queries, window).await;
        let mut values = found.values.into_iter();
        let series = some.iter().flat_map(|variant| {
            variant.series(values.by_ref().take(ASKED.len()).collect::<Vec<_>>(), window, period)
        });
        Gathered { value: Readings::Series(series.collect()), gaps }
    }
}

/// A variant of an endpoint, all of whose instances are of one type.
#[derive(Debug, Clone, PartialEq)]
struct Variant {
    endpoint: String,
    name: String,
    members: Vec<ResourceId>,
    gpus: u16,
    vcpu: u32,
    vram_mib: Option<u64>,
    /// What was measured before may be of another type.
    since: Timestamp,
}

/// The variants among instances. Of everything else no GPU metric exists, which is a gap.
fn variants(
    instances: &[Instance],
    shapes: &BTreeMap<String, InstanceShape>,
) -> Gathered<Vec<Variant>> {
    let mut gaps = Vec::new();
    let mut members: BTreeMap<(&str, &str), Vec<&Instance>> = BTreeMap::new();
    for instance in instances {
        let is_measured = known_shape(shapes, &instance.instance_type)
            .is_none_or(|shape| shape.accelerator == AcceleratorKind::Gpu);
        match instance.id.native().split('/').collect::<Vec<_>>().as_slice() {
            ["endpoint", endpoint, name, _] if is_measured => {
                members.entry((*endpoint, *name)).or_default().push(instance);
            }
            // A server of the Prometheus family may know them.
            ["cluster", ..] => {}
            _ => {
                let cause = Cause::of(CauseKind::NoMetricPublished, []);
                gaps.push(Gap::of(Metric::GpuUtilization, instance.id.as_str(), cause));
            }
        }
    }
    let mut variants = Vec::new();
    for ((endpoint, name), all) in members {
        let Some(first) = all.first() else { continue };
        let place = first.id.as_str();
        if all.iter().any(|member| member.instance_type != first.instance_type) {
            gaps.push(Gap::of(Metric::GpuUtilization, place, Cause::of(CauseKind::SumOfTypes, [])));
            continue;
        }
        // That a type is not known is a gap already.
        let Some((shape, offer)) = known_shape(shapes, &first.instance_type)
            .and_then(|shape| Some((shape, shape.gpu.as_ref()?)))
        else {
            continue;
        };
        let gpus = offer.share.visible_devices();
        if gpus > 1 || all.len() > 1 {
            let counts = [gpus.to_string(), all.len().to_string()];
            let cause = Cause::of(CauseKind::SumsOnly, counts.each_ref().map(String::as_str));
            gaps.push(Gap::of(GapSubject::UtilizationPerGpu, place, cause));
        }
        variants.push(Variant {
            endpoint: endpoint.to_owned(),
            name: name.to_owned(),
            members: all.iter().map(|member| member.id.clone()).collect(),
            gpus,
            vcpu: shape.vcpu,
            vram_mib: offer.vram_mib,
            since: first.launch_time,
        });
    }
    Gathered { value: variants, gaps }
}

impl Variant {
    fn queries(&self, period_seconds: u32) -> Vec<MetricQuery> {
        let Some(first) = self.members.first() else { return Vec::new() };
        let dimensions = Arc::new(BTreeMap::from([
            ("EndpointName".to_owned(), self.endpoint.clone()),
            ("VariantName".to_owned(), self.name.clone()),
        ]));
        let query = |(name, metric, statistic)| MetricQuery {
            instance: first.clone(),
            gpu: None,
            metric,
            statistic,
            period_seconds,
            namespace: NAMESPACE.into(),
            name,
            dimensions: Arc::clone(&dimensions),
            source: SeriesSource::SageMaker,
            joined_by: JoinedBy::InstanceId,
            counts_readings: false,
        };
        ASKED.into_iter().map(query).collect()
    }

    /// The series of every member, from the values of [`ASKED`] in its order.
    fn series(&self, values: Vec<MetricValues>, window: Window, period: u32) -> Vec<Series> {
        let of_type = |mut values: MetricValues| {
            values.retain(|(time, _)| *time >= self.since);
            values
        };
        let values: Vec<MetricValues> = values.into_iter().map(of_type).collect();
        let Ok([mean, busiest, memory, fullest, cpu]) = <[MetricValues; 5]>::try_from(values)
        else {
            return Vec::new();
        };
        let gpus = f64::from(self.gpus.max(1));
        // A sum of zero is zero on every GPU of every instance; any other sum says nothing
        // about one of several.
        let is_unused = !busiest.is_empty() && busiest.iter().all(|(_, sum)| *sum <= 0.0);
        let named: Vec<Option<u16>> = if self.gpus == 1 || is_unused {
            (0..self.gpus).map(Some).collect()
        } else {
            vec![None]
        };
        let mib = self.vram_mib.map(|mib| mib as f64 / 100.0);
        let mib = mib.filter(|_| named.iter().all(Option::is_some));
        let mut series = Vec::new();
        // Values up to a limit, each times a factor.
        let mut add =
            |gpu, metric, statistic, (values, factor, limit): (&MetricValues, f64, Option<f64>)| {
                let raw = values.iter().map(|(time, value)| match limit {
                    Some(most) if *value > most => (*time, most * factor),
                    _ => (*time, *value * factor),
                });
                let (points, rejected) = Points::clean(raw, (metric, statistic), window, period);
                if points.is_empty() && rejected.total() == 0 {
                    return;
                }
                series.extend(self.members.iter().map(|member| Series {
                    instance: member.clone(),
                    gpu,
                    metric,
                    statistic,
                    source: SeriesSource::SageMaker,
                    joined_by: JoinedBy::InstanceId,
                    points: points.clone(),
                    rejected,
                }));
            };
        let (average, maximum) = (Statistic::Average, Statistic::Maximum);
        for gpu in named {
            let utilization = Metric::GpuUtilization;
            add(gpu, utilization, average, (&mean, 1.0 / gpus, None));
            add(gpu, utilization, maximum, (&busiest, 1.0, self.most()));
            let Some(mib) = mib else { continue };
            let used = Metric::GpuMemoryUsed;
            // The sum bounds the memory of each of several, and is the memory of one.
            add(gpu, used, maximum, (&fullest, mib, self.most()));
            if self.gpus == 1 {
                add(gpu, used, average, (&memory, mib, None));
            }
        }
        let share = 1.0 / f64::from(self.vcpu.max(1));
        add(None, Metric::CpuUtilization, average, (&cpu, share, None));
        series
    }

    /// What a sum over several GPUs can say at most about one of them, percent.
    fn most(&self) -> Option<f64> {
        (self.gpus > 1).then_some(100.0)
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
