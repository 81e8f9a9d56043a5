use super::*;
use crate::domain::InstanceState;
use jiff::Timestamp;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("in range")
}

fn instance(id: &str, dns: &str) -> Instance {
    Instance {
        private_dns_name: Some(dns.to_owned()),
        ..Instance::sample(id, "g5.12xlarge", at(0))
    }
}

fn found(metric: Metric, dimensions: &[(&str, &str)]) -> DiscoveredMetric {
    DiscoveredMetric {
        metric,
        dimensions: Arc::new(
            dimensions
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        ),
    }
}

fn window() -> Window {
    Window { start: at(86_400), end: at(2 * 86_400) }
}

fn plan(
    instances: &[Instance],
    gpus: u16,
    discovered: &[DiscoveredMetric],
) -> Gathered<Vec<MetricQuery>> {
    let visible = |_: &Instance| Some(gpus);
    plan_metrics(instances, window(), visible, discovered, "CWAgent", 300)
}

/// Queries for average utilization, as (instance, GPU, number of dimensions).
fn utilization(plan: &Gathered<Vec<MetricQuery>>) -> Vec<(String, Option<u16>, usize)> {
    plan.value
        .iter()
        .filter(|q| q.metric == Metric::GpuUtilization && q.statistic == Statistic::Average)
        .map(|q| (q.instance.to_string(), q.gpu, q.dimensions.len()))
        .collect()
}

#[test]
fn the_same_gpu_is_asked_for_once_and_roll_ups_never() {
    let instances = [instance("i-1", "ip-10-0-0-1.ec2.internal")];
    let discovered = [
        found(Metric::GpuUtilization, &[("InstanceId", "i-1")]),
        found(Metric::GpuUtilization, &[("InstanceId", "i-1"), ("index", "0")]),
        found(
            Metric::GpuUtilization,
            &[("InstanceId", "i-1"), ("index", "0"), ("name", "NVIDIA A10G"), ("host", "h")],
        ),
        found(Metric::GpuUtilization, &[("host", "ip-10-0-0-1"), ("index", "0")]),
        found(Metric::GpuUtilization, &[("AutoScalingGroupName", "a")]),
        found(Metric::GpuUtilization, &[("InstanceId", "i-gone"), ("index", "0")]),
    ];
    let plan = plan(&instances, 4, &discovered);
    assert_eq!(utilization(&plan), [("i-1".to_owned(), Some(0), 4)]);
    assert_eq!(plan.gaps, []);
}

#[test]
fn a_host_is_matched_by_its_name_unless_two_share_it() {
    let instances = [
        instance("i-1", "ip-10-0-0-1.ec2.internal"),
        instance("i-2", "ip-10-0-0-2.eu-west-1.compute.internal"),
        instance("i-3", "ip-10-0-0-3.ec2.internal"),
        instance("i-4", "ip-10-0-0-3.ec2.internal"),
    ];
    let discovered = [
        found(Metric::GpuUtilization, &[("host", "IP-10-0-0-1"), ("index", "0")]),
        found(
            Metric::GpuUtilization,
            &[("host", "ip-10-0-0-2.eu-west-1.compute.internal"), ("index", "1")],
        ),
        found(Metric::GpuUtilization, &[("host", "ip-10-0-0-3"), ("index", "0")]),
    ];
    let plan = plan(&instances, 4, &discovered);
    assert_eq!(
        utilization(&plan),
        [("i-1".to_owned(), Some(0), 2), ("i-2".to_owned(), Some(1), 2)]
    );
    assert!(
        plan.value
            .iter()
            .filter(|q| q.metric == Metric::GpuUtilization)
            .all(|q| q.joined_by == JoinedBy::Hostname)
    );
}

#[test]
fn a_series_without_index_is_the_only_gpu_or_a_gap() {
    let instances = [instance("i-1", "a")];
    let discovered = [found(Metric::GpuUtilization, &[("InstanceId", "i-1")])];
    let single = plan(&instances, 1, &discovered);
    assert_eq!(utilization(&single), [("i-1".to_owned(), Some(0), 1)]);
    let several = plan(&instances, 4, &discovered);
    assert_eq!(utilization(&several), []);
    assert_eq!(several.gaps.len(), 1);
}

#[test]
fn series_of_a_former_type_are_left_behind() {
    let instances = [instance("i-1", "a")];
    let discovered = [
        found(
            Metric::GpuUtilization,
            &[("InstanceId", "i-1"), ("index", "0"), ("InstanceType", "g5.48xlarge"), ("x", "y")],
        ),
        found(
            Metric::GpuUtilization,
            &[("InstanceId", "i-1"), ("index", "0"), ("InstanceType", "g5.12xlarge")],
        ),
    ];
    assert_eq!(utilization(&plan(&instances, 4, &discovered)), [("i-1".to_owned(), Some(0), 3)]);
}

#[test]
fn who_stopped_before_the_window_is_not_asked_for() {
    // The window is the second of January 1970.
    let stopped = |id: &str, reason: Option<&str>| Instance {
        state: InstanceState::Stopped,
        state_transition_reason: reason.map(str::to_owned),
        ..instance(id, id)
    };
    let instances = [
        instance("i-runs", "a"),
        stopped("i-before", Some("User initiated (1970-01-01 23:59:59 GMT)")),
        stopped("i-within", Some("User initiated (1970-01-02 08:00:00 GMT)")),
        stopped("i-unknown", None),
    ];
    let asked: Vec<String> =
        plan(&instances, 1, &[]).value.iter().map(|query| query.instance.to_string()).collect();
    let mut distinct = asked.clone();
    distinct.dedup();
    assert_eq!(distinct, ["i-runs", "i-within", "i-unknown"]);
}

#[test]
fn power_is_asked_for_only_without_utilization() {
    let instances = [instance("i-1", "a"), instance("i-2", "b")];
    let discovered = [
        found(Metric::GpuUtilization, &[("InstanceId", "i-1"), ("index", "0")]),
        found(Metric::GpuPowerUtilization, &[("InstanceId", "i-1")]),
        found(Metric::GpuPowerUtilization, &[("InstanceId", "i-2")]),
        found(Metric::GpuPowerUtilization, &[("InstanceId", "i-2"), ("GpuId", "0")]),
    ];
    let plan = plan(&instances, 4, &discovered);
    let power: Vec<_> = plan
        .value
        .iter()
        .filter(|q| q.metric == Metric::GpuPowerUtilization)
        .map(|q| (q.instance.as_str(), q.gpu, q.statistic))
        .collect();
    assert_eq!(power, [("i-2", None, Statistic::Average), ("i-2", None, Statistic::Maximum)]);
}

#[test]
fn batches_respect_both_limits() {
    let instances = [instance("i-1", "a")];
    let query = |period_seconds| MetricQuery {
        instance: ResourceId::named("i-1"),
        gpu: None,
        metric: Metric::CpuUtilization,
        statistic: Statistic::Average,
        counts_readings: false,
        period_seconds,
        namespace: "".into(),
        name: "",
        dimensions: Arc::default(),
        source: SeriesSource::Ec2,
        joined_by: JoinedBy::InstanceId,
    };
    let fortnight = Window { start: at(86_400), end: at(15 * 86_400) };
    // 14 days of 300 s are 4,032 points and one for the border: 24 fit a page.
    let sizes = |number, period| {
        let queries = vec![query(period); number];
        batches(queries, &instances, fortnight).iter().map(Vec::len).collect::<Vec<_>>()
    };
    assert_eq!(sizes(60, 300), [24, 24, 12]);
    assert_eq!(sizes(1_001, 86_400), [500, 500, 1]);
    assert_eq!(sizes(0, 300), [0; 0]);
}

/// Data points of a plan over a fortnight, as the quota counts them: by period, whether
/// there are any or not.
fn points(gpus: u16, detail: Detail) -> i64 {
    let fortnight = Window { start: at(86_400), end: at(15 * 86_400) };
    let discovered: Vec<DiscoveredMetric> = (0..gpus)
        .flat_map(|gpu| {
            let index = gpu.to_string();
            let dimensions = [("InstanceId", "i-1"), ("index", index.as_str())];
            [Metric::GpuUtilization, Metric::GpuMemoryUsed].map(|metric| found(metric, &dimensions))
        })
        .collect();
    let period_seconds = if detail == Detail::Hours { 3_600 } else { 300 };
    let instances = [instance("i-1", "a")];
    let plan =
        plan_metrics(&instances, fortnight, |_| Some(gpus), &discovered, "CWAgent", period_seconds);
    let queries = in_detail(plan.value, detail);
    let points = queries.iter().map(|query| fortnight.seconds() / i64::from(query.period_seconds));
    points.sum()
}

#[test]
fn hours_are_a_fifth_of_the_points() {
    let one = |detail| points(1, detail);
    // Average and maximum of CPU, utilization and memory: six series of 4,032.
    // Traffic in both directions, power, temperature, encoder: five of 336. Size: 14 days.
    assert_eq!(one(Detail::Full), 6 * 4_032 + 5 * 336 + 14);
    // CPU, utilization and memory have three series each, with the number of readings.
    assert_eq!(one(Detail::Hours), 14 * 336 + 14);
    assert_eq!(one(Detail::Grid), 4 * 4_032);
    let eight = |detail| points(8, detail);
    assert_eq!(eight(Detail::Full), 2 * 4_032 + 2 * 336 + 8 * (4 * 4_032 + 3 * 336 + 14));
    assert_eq!(eight(Detail::Hours), 5 * 336 + 8 * (9 * 336 + 14));
    assert_eq!(eight(Detail::Grid), 2 * 4_032 + 8 * 2 * 4_032);
    let share = |part: i64, gpus| part as f64 / points(gpus, Detail::Full) as f64;
    // 4,718 of 25,886 and 25,984 of 145,936 points.
    assert!((share(one(Detail::Hours), 1) - 0.1823).abs() < 1e-4);
    assert!((share(eight(Detail::Hours), 8) - 0.1781).abs() < 1e-4);
}
