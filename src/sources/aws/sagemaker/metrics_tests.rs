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
