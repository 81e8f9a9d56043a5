//! Which CloudWatch series belong to which GPU, and how to ask for them in few
//! calls. Pure: discovery goes in, queries come out.

use super::metrics::{Dimensions, DiscoveredMetric, EC2_NAMESPACE, MetricQuery, cloudwatch_name};
use crate::domain::{
    Cause, CauseKind, Directory, Gap, Gathered, HostMatch, Instance, JoinedBy, MOST_GPUS, Metric,
    ResourceId, SeriesSource, Statistic, Window,
};
use crate::{DAY_SECONDS, Detail, HOUR_SECONDS};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Queries in one GetMetricData call.
const QUERIES_PER_CALL: usize = 500;
/// Data points that one page of GetMetricData holds.
const POINTS_PER_CALL: i64 = 100_800;

/// One way in which a series could belong to a GPU; the largest rank wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Published under the instance's present type: a resized instance leaves
    /// series of its former type behind.
    present_type: bool,
    /// Carries the instance id itself.
    by_instance_id: bool,
    /// More dimensions mean less rolled up.
    dimensions: usize,
    /// Any order, so that the choice does not depend on that of the answer.
    tie: Reverse<Dimensions>,
}

type SeriesKey = (ResourceId, Option<u16>, Metric);
type Chosen = BTreeMap<SeriesKey, (Rank, JoinedBy, Dimensions)>;

/// Plans the queries of one region's instances, by instance, but for those that stopped before
/// the window; the gaps are of series that exist and cannot be used. `visible_gpus` tells how many GPUs the guest of an instance sees, when its
/// type is known.
pub fn plan_metrics(
    instances: &[Instance],
    window: Window,
    visible_gpus: impl Fn(&Instance) -> Option<u16>,
    discovered: &[DiscoveredMetric],
    agent_namespace: &str,
    period_seconds: u32,
) -> Gathered<Vec<MetricQuery>> {
    let asked = instances.iter().filter(|instance| instance.may_have_run_after(window.start));
    let asked: Vec<&Instance> = asked.collect();
    let directory = Directory::of(asked.iter().copied());
    let mut plan = Gathered::<Vec<MetricQuery>>::default();
    let (of_ec2, of_agent): (Arc<str>, Arc<str>) = (EC2_NAMESPACE.into(), agent_namespace.into());
    let chosen = choose(discovered, &directory);
    for instance in asked {
        let series = resolve(instance, visible_gpus(instance), &chosen, &mut plan.gaps);
        let of_instance = BTreeMap::from([("InstanceId".to_owned(), instance.id.to_string())]);
        let own = MetricQuery {
            instance: instance.id.clone(),
            gpu: None,
            metric: Metric::CpuUtilization,
            statistic: Statistic::Average,
            counts_readings: false,
            period_seconds,
            namespace: Arc::clone(&of_ec2),
            name: cloudwatch_name(Metric::CpuUtilization),
            dimensions: Arc::new(of_instance),
            source: SeriesSource::Ec2,
            joined_by: JoinedBy::InstanceId,
        };
        plan.value.extend(queries(&own, OF_INSTANCE));
        let has_utilization =
            series.iter().any(|(_, metric, _, _)| *metric == Metric::GpuUtilization);
        for (gpu, metric, joined_by, dimensions) in series {
            let (wanted, namespace, source) = match metric {
                // Power says less than utilization and is asked for in its absence only.
                Metric::GpuPowerUtilization if has_utilization => continue,
                Metric::GpuPowerUtilization => (OF_POWER, &of_ec2, SeriesSource::Ec2),
                Metric::GpuUtilization => {
                    (OF_UTILIZATION, &of_agent, SeriesSource::CloudWatchAgent)
                }
                _ => (OF_MEMORY, &of_agent, SeriesSource::CloudWatchAgent),
            };
            let namespace = Arc::clone(namespace);
            let series =
                MetricQuery { gpu, joined_by, namespace, source, dimensions, ..own.clone() };
            plan.value.extend(queries(&series, wanted));
        }
    }
    plan
}

/// The instance that the dimensions of a series name.
fn find<'a>(
    directory: &Directory<'a>,
    dimensions: &BTreeMap<String, String>,
) -> Option<(&'a Instance, JoinedBy)> {
    if let Some(id) = dimensions.get("InstanceId") {
        return Some((directory.by_id(id)?, JoinedBy::InstanceId));
    }
    match directory.by_host(dimensions.get("host")?) {
        HostMatch::One(instance) => Some((instance, JoinedBy::Hostname)),
        HostMatch::Several | HostMatch::None => None,
    }
}

fn choose(discovered: &[DiscoveredMetric], directory: &Directory<'_>) -> Chosen {
    let mut chosen = Chosen::new();
    for series in discovered {
        let dimensions = &series.dimensions;
        let Some((instance, joined_by)) = find(directory, dimensions) else { continue };
        let index = match series.metric {
            Metric::GpuPowerUtilization => dimensions.get("GpuId"),
            _ => dimensions.get("index"),
        };
        let gpu = match index.map(|text| text.parse::<u16>()) {
            None => None,
            Some(Ok(index)) if index < MOST_GPUS => Some(index),
            Some(_) => continue,
        };
        let rank = Rank {
            present_type: dimensions
                .get("InstanceType")
                .is_none_or(|name| *name == instance.instance_type),
            by_instance_id: joined_by == JoinedBy::InstanceId,
            dimensions: dimensions.len(),
            tie: Reverse(dimensions.clone()),
        };
        let key = (instance.id.clone(), gpu, series.metric);
        if chosen.get(&key).is_none_or(|(known, _, _)| *known < rank) {
            chosen.insert(key, (rank, joined_by, dimensions.clone()));
        }
    }
    chosen
}

type ResolvedSeries = (Option<u16>, Metric, JoinedBy, Dimensions);

/// The series of one instance: per GPU where they exist; a series without an
/// index stands for the only GPU of a single-GPU instance, and is a roll-up
/// that would count twice everywhere else.
fn resolve(
    instance: &Instance,
    visible_gpus: Option<u16>,
    chosen: &Chosen,
    gaps: &mut Vec<Gap>,
) -> Vec<ResolvedSeries> {
    let mut resolved = Vec::new();
    for metric in [Metric::GpuUtilization, Metric::GpuMemoryUsed, Metric::GpuPowerUtilization] {
        let from = (instance.id.clone(), None, metric);
        let to = (instance.id.clone(), Some(u16::MAX), metric);
        let own = chosen.range(from..=to).filter(|((_, _, found), _)| *found == metric);
        let own = own.map(|((_, gpu, _), (_, joined_by, dimensions))| {
            (*gpu, metric, *joined_by, dimensions.clone())
        });
        let (mut rolled_up, per_gpu): (Vec<ResolvedSeries>, Vec<ResolvedSeries>) =
            own.partition(|(gpu, ..)| gpu.is_none());
        match rolled_up.pop() {
            Some(series) if metric == Metric::GpuPowerUtilization => resolved.push(series),
            Some((_, metric, joined_by, dimensions)) if per_gpu.is_empty() => {
                if visible_gpus == Some(1) {
                    resolved.push((Some(0), metric, joined_by, dimensions));
                } else {
                    let cause = Cause::of(CauseKind::OnlyRollUp, []);
                    gaps.push(Gap::of(metric, instance.id.as_str(), cause));
                }
            }
            _ => resolved.extend(per_gpu),
        }
    }
    resolved
}

/// What is asked for: the metric, its statistic, and its period in seconds; 0 for the grid.
type Wanted = &'static [(Metric, Statistic, u32)];

/// CPU proves that the instance ran and bounds a smaller type; both feed the
/// second oracle of idleness, which asks for the largest reading of CPU that an average hides.
/// Neither stands in for the GPU.
const OF_INSTANCE: Wanted = &[
    (Metric::CpuUtilization, Statistic::Average, 0),
    (Metric::CpuUtilization, Statistic::Maximum, 0),
    (Metric::NetworkIn, Statistic::Sum, HOUR_SECONDS),
    (Metric::NetworkOut, Statistic::Sum, HOUR_SECONDS),
];
const OF_POWER: Wanted = &[
    (Metric::GpuPowerUtilization, Statistic::Average, 0),
    (Metric::GpuPowerUtilization, Statistic::Maximum, 0),
];
const OF_UTILIZATION: Wanted = &[
    (Metric::GpuUtilization, Statistic::Average, 0),
    (Metric::GpuUtilization, Statistic::Maximum, 0),
];
/// Verdict metrics on the full grid, the rest by the hour or day, which costs a fraction of
/// the data points. The agent publishes all its metrics under the same dimensions, so memory
/// size, power, temperature and encoder ride on the memory series.
const OF_MEMORY: Wanted = &[
    (Metric::GpuMemoryUsed, Statistic::Average, 0),
    (Metric::GpuMemoryUsed, Statistic::Maximum, 0),
    (Metric::GpuMemoryTotal, Statistic::Maximum, DAY_SECONDS),
    (Metric::GpuPowerDraw, Statistic::Average, HOUR_SECONDS),
    (Metric::GpuTemperature, Statistic::Maximum, HOUR_SECONDS),
    (Metric::GpuEncoderSessions, Statistic::Maximum, HOUR_SECONDS),
];

/// The queries for what is asked of an instance or of one of its GPUs, from one on the grid.
fn queries(on_grid: &MetricQuery, wanted: Wanted) -> impl Iterator<Item = MetricQuery> {
    wanted.iter().map(move |(metric, statistic, period)| MetricQuery {
        metric: *metric,
        statistic: *statistic,
        period_seconds: if *period == 0 { on_grid.period_seconds } else { *period },
        name: cloudwatch_name(*metric),
        ..on_grid.clone()
    })
}

/// The queries of a detail, from all of them: of [`Detail::Hours`] on the grid of an hour,
/// of the others on that of the window.
pub fn in_detail(queries: Vec<MetricQuery>, detail: Detail) -> Vec<MetricQuery> {
    match detail {
        Detail::Full => queries,
        Detail::Grid => queries.into_iter().filter(|query| query.metric.is_on_grid()).collect(),
        Detail::Hours => queries.into_iter().flat_map(with_counts).collect(),
    }
}

/// A query beside what tells whether its hours are whole.
fn with_counts(query: MetricQuery) -> impl Iterator<Item = MetricQuery> {
    let decides = query.metric.is_on_grid() || query.metric == Metric::GpuMemoryUsed;
    let is_counted = decides && query.statistic == Statistic::Average;
    let counts = is_counted.then(|| MetricQuery { counts_readings: true, ..query.clone() });
    counts.into_iter().chain([query])
}

/// Splits queries so that each call fits one page: at most 500 queries and
/// 100,800 data points, counted from when the instance was first seen.
pub fn batches(
    queries: Vec<MetricQuery>,
    instances: &[Instance],
    window: Window,
) -> Vec<Vec<MetricQuery>> {
    let first_seen: BTreeMap<&ResourceId, _> =
        instances.iter().map(|instance| (&instance.id, instance.first_seen())).collect();
    let mut batches: Vec<Vec<MetricQuery>> = Vec::new();
    let mut points_left = 0;
    for query in queries {
        let from = first_seen.get(&query.instance).copied().unwrap_or(window.start);
        let points =
            window.starting_at(from).seconds() / i64::from(query.period_seconds.max(1)) + 1;
        match batches.last_mut() {
            Some(batch) if batch.len() < QUERIES_PER_CALL && points <= points_left => {
                points_left -= points;
                batch.push(query);
            }
            _ => {
                points_left = POINTS_PER_CALL - points;
                batches.push(vec![query]);
            }
        }
    }
    // All of them wait until the first are answered.
    batches.iter_mut().for_each(Vec::shrink_to_fit);
    batches
}

#[cfg(test)]
mod tests {
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
                &[
                    ("InstanceId", "i-1"),
                    ("index", "0"),
                    ("InstanceType", "g5.48xlarge"),
                    ("x", "y"),
                ],
            ),
            found(
                Metric::GpuUtilization,
                &[("InstanceId", "i-1"), ("index", "0"), ("InstanceType", "g5.12xlarge")],
            ),
        ];
        assert_eq!(
            utilization(&plan(&instances, 4, &discovered)),
            [("i-1".to_owned(), Some(0), 3)]
        );
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
                [Metric::GpuUtilization, Metric::GpuMemoryUsed]
                    .map(|metric| found(metric, &dimensions))
            })
            .collect();
        let period_seconds = if detail == Detail::Hours { 3_600 } else { 300 };
        let instances = [instance("i-1", "a")];
        let plan = plan_metrics(
            &instances,
            fortnight,
            |_| Some(gpus),
            &discovered,
            "CWAgent",
            period_seconds,
        );
        let queries = in_detail(plan.value, detail);
        let points =
            queries.iter().map(|query| fortnight.seconds() / i64::from(query.period_seconds));
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
}
