//! How endpoints are used. SageMaker publishes the utilization of a variant as a sum over
//! the GPUs of an instance (up to 400% on four), as a mean over its instances, and as the
//! largest sum of any. What each GPU did does not follow from that, except where nothing ran.

use crate::aws::meter::metric_cost_usd;
use crate::aws::metrics::{FIVE_MINUTES_KEPT, MetricQuery, MetricValues, fetch};
use crate::aws::session::RegionClients;
use crate::catalog::known_shape;
use crate::domain::{
    AcceleratorKind, Cause, CauseKind, Gap, GapSubject, Gathered, Instance, InstanceShape,
    JoinedBy, Metric, ResourceId, SeriesSource, Statistic, Window,
};
use crate::usage::{Points, Series};
use crate::{Answer, MetricCalls, MetricRequest, MetricSource, Readings};
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
        // Values up to a limit, each times a factor.
        let mut sums: Vec<(_, _, _, &MetricValues, f64, Option<f64>)> = Vec::new();
        let (average, maximum) = (Statistic::Average, Statistic::Maximum);
        for gpu in named {
            sums.push((gpu, Metric::GpuUtilization, average, &mean, 1.0 / gpus, None));
            sums.push((gpu, Metric::GpuUtilization, maximum, &busiest, 1.0, self.most()));
            let Some(mib) = mib else { continue };
            // The sum bounds the memory of each of several, and is the memory of one.
            sums.push((gpu, Metric::GpuMemoryUsed, maximum, &fullest, mib, self.most()));
            if self.gpus == 1 {
                sums.push((gpu, Metric::GpuMemoryUsed, average, &memory, mib, None));
            }
        }
        let share = 1.0 / f64::from(self.vcpu.max(1));
        sums.push((None, Metric::CpuUtilization, average, &cpu, share, None));
        let mut series = Vec::new();
        for (gpu, metric, statistic, values, factor, limit) in sums {
            let raw = values.iter().map(|(time, value)| match limit {
                Some(most) if *value > most => (*time, most * factor),
                _ => (*time, *value * factor),
            });
            let (points, rejected) = Points::clean(raw, (metric, statistic), window, period);
            if points.is_empty() && rejected.total() == 0 {
                continue;
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
        }
        series
    }

    /// What a sum over several GPUs can say at most about one of them, percent.
    fn most(&self) -> Option<f64> {
        (self.gpus > 1).then_some(100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{GpuModel, GpuOffer, GpuShare, Provider};

    const PERIOD: u32 = 300;

    fn at(period: i64) -> Timestamp {
        Timestamp::from_second(period * i64::from(PERIOD)).expect("in range")
    }

    fn window() -> Window {
        Window { start: at(0), end: at(10) }
    }

    fn variant(gpus: u16, members: usize) -> Variant {
        let id = |index: usize| {
            let native = format!("endpoint/chat/main/{index}");
            ResourceId::new(Provider::SageMaker, "111122223333", "us-east-1", &native)
        };
        Variant {
            endpoint: "chat".to_owned(),
            name: "main".to_owned(),
            members: (0..members).map(id).collect(),
            gpus,
            vcpu: 48,
            vram_mib: Some(16_384),
            since: at(2),
        }
    }

    /// Ten periods at one value.
    fn flat(value: f64) -> MetricValues {
        (0..10).map(|period| (at(period), value)).collect()
    }

    /// Of the first member: GPU, metric, statistic, number of points and the first value.
    fn figures(series: &[Series]) -> Vec<(Option<u16>, Metric, Statistic, usize, f64)> {
        let first = &series.first().expect("there is one").instance;
        series
            .iter()
            .filter(|each_series| each_series.instance == *first)
            .map(|each_series| {
                let value = each_series.points.values().next().expect("there is a point");
                (
                    each_series.gpu,
                    each_series.metric,
                    each_series.statistic,
                    each_series.points.len(),
                    value,
                )
            })
            .collect()
    }

    #[test]
    fn a_sum_over_four_gpus_becomes_their_mean_and_nothing_of_one_of_them() {
        // 80% over four GPUs is 20% each in the mean; the busiest instance had 260% at once,
        // of which one GPU had at most 100%. CPU: 480% of 48 vCPUs is 10%.
        let values = vec![flat(80.0), flat(260.0), flat(200.0), flat(240.0), flat(480.0)];
        let series = variant(4, 3).series(values, window(), PERIOD);
        let (average, maximum) = (Statistic::Average, Statistic::Maximum);
        assert_eq!(
            figures(&series),
            [
                // Two periods are of an earlier configuration.
                (None, Metric::GpuUtilization, average, 8, 20.0),
                (None, Metric::GpuUtilization, maximum, 8, 100.0),
                (None, Metric::CpuUtilization, average, 8, 10.0),
            ]
        );
        // Every instance of the variant has them.
        assert_eq!(series.len(), 9);
        assert!(series.iter().all(|each_series| each_series.source == SeriesSource::SageMaker));
    }

    #[test]
    fn a_sum_of_zero_is_zero_on_every_gpu() {
        // 240% of memory at most is 100% at most of one: 16,384 MiB.
        let values = vec![flat(0.0), flat(0.0), flat(200.0), flat(240.0), flat(48.0)];
        let series = variant(2, 1).series(values, window(), PERIOD);
        let (average, maximum) = (Statistic::Average, Statistic::Maximum);
        let mut expected = Vec::new();
        for gpu in [Some(0), Some(1)] {
            expected.extend([
                (gpu, Metric::GpuUtilization, average, 8, 0.0),
                (gpu, Metric::GpuUtilization, maximum, 8, 0.0),
                (gpu, Metric::GpuMemoryUsed, maximum, 8, 16_384.0),
            ]);
        }
        expected.push((None, Metric::CpuUtilization, average, 8, 1.0));
        assert_eq!(figures(&series), expected);
        // One period of work, of which no GPU is known.
        let mut busiest = flat(0.0);
        busiest[5].1 = 3.0;
        let values = vec![flat(0.0), busiest, flat(0.0), flat(0.0), flat(0.0)];
        let series = variant(2, 1).series(values, window(), PERIOD);
        assert!(series.iter().all(|each_series| each_series.gpu.is_none()));
    }

    #[test]
    fn one_gpu_is_measured_itself() {
        // Half of 16,384 MiB; 101% cannot be.
        let mut mean = flat(30.0);
        mean[4].1 = 101.0;
        let values = vec![mean, flat(90.0), flat(25.0), flat(50.0), Vec::new()];
        let series = variant(1, 1).series(values, window(), PERIOD);
        let (average, maximum) = (Statistic::Average, Statistic::Maximum);
        assert_eq!(
            figures(&series),
            [
                (Some(0), Metric::GpuUtilization, average, 7, 30.0),
                (Some(0), Metric::GpuUtilization, maximum, 8, 90.0),
                (Some(0), Metric::GpuMemoryUsed, maximum, 8, 8_192.0),
                (Some(0), Metric::GpuMemoryUsed, average, 8, 4_096.0),
            ]
        );
        assert_eq!(series[0].rejected.over_100, 1);
    }

    fn instance(native: &str, instance_type: &str) -> Instance {
        Instance {
            id: ResourceId::new(Provider::SageMaker, "111122223333", "us-east-1", native),
            ..Instance::sample("i-1", instance_type, at(2))
        }
    }

    #[test]
    fn variants_are_asked_for_once_and_what_has_no_metric_is_a_gap() {
        let shape = InstanceShape {
            gpu: Some(GpuOffer {
                model: GpuModel::from_name("T4"),
                share: GpuShare::Whole(4),
                vram_mib: Some(16_384),
            }),
            ..crate::catalog::shape("g4dn.12xlarge").expect("in the catalog").clone()
        };
        let types = ["ml.g4dn.12xlarge-hosting", "ml.g4dn.12xlarge-notebook"];
        let shapes: BTreeMap<String, InstanceShape> =
            types.into_iter().map(|name| (name.to_owned(), shape.clone())).collect();
        let [hosting, notebook] = types;
        let instances = [
            instance("endpoint/chat/main/0", hosting),
            instance("endpoint/chat/main/1", hosting),
            instance("endpoint/mixed/main/0", hosting),
            instance("endpoint/mixed/main/1", "ml.g9.large-hosting"),
            instance("notebook/research", notebook),
        ];
        let Gathered { value, gaps } = variants(&instances, &shapes);
        assert_eq!(value, [variant(4, 2)]);
        let causes: Vec<(&str, CauseKind)> = gaps
            .iter()
            .filter_map(|gap| Some((gap.place.as_str(), gap.cause.as_ref()?.kind())))
            .collect();
        let place = "sagemaker/111122223333/us-east-1";
        let expected = [
            (format!("{place}/notebook/research"), CauseKind::NoMetricPublished),
            (format!("{place}/endpoint/chat/main/0"), CauseKind::SumsOnly),
            (format!("{place}/endpoint/mixed/main/0"), CauseKind::SumOfTypes),
        ];
        let expected: Vec<(&str, CauseKind)> =
            expected.iter().map(|(place, kind)| (place.as_str(), *kind)).collect();
        assert_eq!(causes, expected);
        assert_eq!(
            gaps[1].reason,
            "published as one sum over 4 GPUs of an instance, and as one mean over 2 instances: \
             each of them is evaluated with this mean"
        );
        let [only] = value.as_slice() else {
            panic!("{value:?}");
        };
        let asked: Vec<(&str, Statistic)> =
            only.queries(PERIOD).iter().map(|query| (query.name, query.statistic)).collect();
        let (average, maximum) = (Statistic::Average, Statistic::Maximum);
        assert_eq!(
            asked,
            [
                ("GPUUtilization", average),
                ("GPUUtilization", maximum),
                ("GPUMemoryUtilization", average),
                ("GPUMemoryUtilization", maximum),
                ("CPUUtilization", average),
            ]
        );
    }
}
