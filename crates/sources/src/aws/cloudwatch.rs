//! CloudWatch of a region as a source of metrics: at once, by the hour, or for the
//! stretches of a window that are not kept.

use super::meter::metric_cost_usd;
use super::metric_plan::{batches, in_detail, plan_metrics};
use super::metrics::{FIVE_MINUTES_KEPT, Fetched, MetricQuery, MetricValues, discover, fetch};
use super::session::RegionClients;
use crate::catalog::known_shape;
use crate::domain::{FailureKind, Fnv, GapSubject, Gathered, Instance, ResourceId, Window};
use crate::usage::{Points, Series};
use crate::{
    Answer, ByTheHour, Detail, HOUR_SECONDS, Known, MetricCalls, MetricRequest, MetricSource,
    Readings, are_whole,
};
use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

pub(super) struct CloudWatch {
    pub(super) clients: RegionClients,
    /// The namespace that the agent publishes under.
    pub(super) agent_namespace: String,
}

impl CloudWatch {
    async fn calls<'a>(&'a self, ask: MetricRequest<'a>) -> Gathered<MetricCalls<'a>> {
        let mut gaps = Vec::new();
        let discovered = match discover(&self.clients, &self.agent_namespace).await {
            Ok(found) => found,
            Err(error) => {
                gaps.push(error.gap(GapSubject::Metrics, &self.clients.region, ""));
                if error.kind != FailureKind::Denied {
                    return Gathered { value: MetricCalls::default(), gaps };
                }
                // CPU needs no discovery: it still proves how long each ran.
                Vec::new()
            }
        };
        let MetricRequest { instances, shapes, window, detail, known, .. } = ask;
        let period_seconds = match detail {
            Detail::Hours => HOUR_SECONDS,
            Detail::Full | Detail::Grid => ask.period_seconds,
        };
        let visible = |instance: &Instance| {
            known_shape(shapes, &instance.instance_type)
                .and_then(|shape| shape.gpu.as_ref())
                .map(|offer| offer.share.visible_devices())
        };
        let Gathered { value: queries, gaps: unusable } = plan_metrics(
            instances, window, visible, &discovered, &self.agent_namespace, period_seconds,
        );
        gaps.extend(unusable);
        let queries = in_detail(queries, detail);
        let value = match known {
            Some(known) => self.missing(runs(queries, instances, known), instances),
            None => {
                let series = queries.len();
                // What a call needs is taken once it is made: most of them wait.
                let calls = batches(queries, instances, window).into_iter().map(|batch| {
                    async move {
                        match detail {
                            Detail::Hours => self.read_hours(batch, window).boxed_local().await,
                            _ => self.read(batch, window).boxed_local().await,
                        }
                    }
                    .boxed_local()
                });
                MetricCalls {
                    series,
                    cost_usd: metric_cost_usd(series as u64),
                    calls: calls.collect(),
                }
            }
        };
        Gathered { value, gaps }
    }

    /// The calls for what is missing. A series that is asked for in two runs is paid twice.
    fn missing<'a>(&'a self, runs: Vec<Run>, instances: &[Instance]) -> MetricCalls<'a> {
        let series: usize = runs.iter().map(|run| run.queries.len()).sum();
        let mut calls = Vec::new();
        for Run { stretches, queries } in runs {
            for batch in batches(queries, instances, whole(&stretches)) {
                let stretches = stretches.clone();
                let call = async move { self.read_stretches(batch, stretches).boxed_local().await };
                calls.push(call.boxed_local());
            }
        }
        MetricCalls { series, cost_usd: metric_cost_usd(series as u64), calls }
    }

    async fn read_stretches(
        &self,
        batch: Vec<MetricQuery>,
        stretches: Vec<Window>,
    ) -> Gathered<Readings> {
        let Gathered { value: found, gaps } = fetch(&self.clients, &batch, whole(&stretches)).await;
        let failed = found.failed.keys().filter_map(|place| batch.get(*place));
        let unread = failed.map(|query| query.instance.clone()).collect();
        let values = cut(&found.values, &stretches).into_iter();
        let series = |(stretch, values)| (stretch, to_series(&batch, values, stretch));
        let stretches = stretches.into_iter().zip(values).map(series).collect();
        Gathered { value: Readings::Stretches { stretches, unread }, gaps }
    }

    async fn read(&self, batch: Vec<MetricQuery>, window: Window) -> Gathered<Readings> {
        let Gathered { value: found, gaps } = fetch(&self.clients, &batch, window).await;
        Gathered { value: Readings::Series(to_series(&batch, found.values, window)), gaps }
    }

    /// What cannot be read by the hour is no gap: it is asked for again, in full.
    async fn read_hours(&self, batch: Vec<MetricQuery>, window: Window) -> Gathered<Readings> {
        let fetched = fetch(&self.clients, &batch, window).await.value;
        Gathered::whole(hours(batch, fetched, window))
    }
}

impl MetricSource for CloudWatch {
    fn period_seconds(&self, lookback: SignedDuration) -> u32 {
        if lookback <= FIVE_MINUTES_KEPT { 300 } else { HOUR_SECONDS }
    }

    fn by_the_hour(&self, _: u64) -> ByTheHour {
        ByTheHour::Possible
    }

    fn plan<'a>(&'a self, ask: MetricRequest<'a>) -> Answer<'a, Gathered<MetricCalls<'a>>> {
        self.calls(ask).boxed_local()
    }
}

/// The series of hours, and the machines of which they are not whole.
fn hours(batch: Vec<MetricQuery>, fetched: Fetched, window: Window) -> Readings {
    let mut partial = BTreeSet::new();
    let (mut queries, mut measured) = (Vec::new(), Vec::new());
    for (place, (query, raw)) in batch.into_iter().zip(fetched.values).enumerate() {
        if fetched.failed.contains_key(&place) {
            partial.insert(query.instance);
        } else if !query.counts_readings {
            queries.push(query);
            measured.push(raw);
        } else if !are_whole(&raw, window) {
            partial.insert(query.instance);
        }
    }
    Readings::Hours { series: to_series(&queries, measured, window), partial }
}

/// Cleaned as they come: raw points weigh four times as much.
fn to_series(queries: &[MetricQuery], values: Vec<MetricValues>, window: Window) -> Vec<Series> {
    queries
        .iter()
        .zip(values)
        .filter_map(|(query, raw)| {
            let (points, rejected) =
                Points::clean(raw, (query.metric, query.statistic), window, query.period_seconds);
            // A series without any point says nothing; one whose points were
            // all bad is worth a gap.
            let is_empty = points.is_empty() && rejected.total() == 0;
            (!is_empty).then(|| Series {
                instance: query.instance.clone(),
                gpu: query.gpu,
                metric: query.metric,
                statistic: query.statistic,
                source: query.source,
                joined_by: query.joined_by,
                points,
                rejected,
            })
        })
        .collect()
}

/// Queries for the same time.
#[derive(Debug, PartialEq)]
struct Run {
    /// What is answered apart, ascending; each begins where the one before it ends.
    stretches: Vec<Window>,
    queries: Vec<MetricQuery>,
}

/// Queries by the time of which it is not known what they would answer.
fn runs(queries: Vec<MetricQuery>, fleet: &[Instance], known: &dyn Known) -> Vec<Run> {
    let mut by_instance: BTreeMap<ResourceId, Vec<MetricQuery>> = BTreeMap::new();
    for query in queries {
        by_instance.entry(query.instance.clone()).or_default().push(query);
    }
    let mut runs: BTreeMap<(Timestamp, Timestamp), Run> = BTreeMap::new();
    for instance in fleet {
        let Some(own) = by_instance.remove(&instance.id) else { continue };
        let missing = known.missing(instance, &name_of(&own));
        for stretches in missing.chunk_by(|stretch, next| stretch.end == next.start) {
            let window = whole(stretches);
            let run = runs
                .entry((window.start, window.end))
                .or_insert_with(|| Run { stretches: stretches.to_vec(), queries: Vec::new() });
            run.queries.extend(own.iter().cloned());
        }
    }
    runs.into_values().collect()
}

/// From the beginning of the first to the end of the last.
fn whole(stretches: &[Window]) -> Window {
    let ends = stretches.first().zip(stretches.last());
    ends.map_or(Window { start: Timestamp::MIN, end: Timestamp::MIN }, |(first, last)| Window {
        start: first.start,
        end: last.end,
    })
}

/// A name for what is asked of a machine: other series, dimensions, statistics or periods have
/// another one.
fn name_of(queries: &[MetricQuery]) -> String {
    let mut name = Fnv::default();
    for query in queries {
        name.add(&query.namespace);
        name.add(query.name);
        name.add(query.statistic.name());
        name.add(query.metric.name());
        name.add(&format!("{:?} {}", query.gpu, query.period_seconds));
        for (key, value) in query.dimensions.iter() {
            name.add(key);
            name.add(value);
        }
    }
    name.hex()
}

/// The values of each query in each stretch. What is before the first or after the last counts
/// as theirs, and is dropped with a reason where it is cleaned.
fn cut(values: &[MetricValues], stretches: &[Window]) -> Vec<Vec<MetricValues>> {
    let last = stretches.len().saturating_sub(1);
    stretches
        .iter()
        .enumerate()
        .map(|(place, stretch)| {
            let is_own = |time: Timestamp| {
                (place == 0 || time >= stretch.start) && (place == last || time < stretch.end)
            };
            let of_stretch = values
                .iter()
                .map(|points| points.iter().copied().filter(|(time, _)| is_own(*time)).collect());
            of_stretch.collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{JoinedBy, Metric, SeriesSource, Statistic};
    use std::cell::RefCell;
    use std::sync::Arc;

    fn minutes(minutes: i64) -> Window {
        Window {
            start: Timestamp::from_second(0).expect("in range"),
            end: Timestamp::from_second(minutes * 60).expect("in range"),
        }
    }

    fn query(instance: &str) -> MetricQuery {
        MetricQuery {
            instance: ResourceId::named(instance),
            gpu: Some(0),
            metric: Metric::GpuUtilization,
            statistic: Statistic::Average,
            counts_readings: false,
            period_seconds: 300,
            namespace: "".into(),
            name: "",
            dimensions: Arc::default(),
            source: SeriesSource::CloudWatchAgent,
            joined_by: JoinedBy::InstanceId,
        }
    }

    #[test]
    fn hours_of_a_query_that_failed_are_asked_for_again() {
        let counted = |instance| MetricQuery { counts_readings: true, ..query(instance) };
        let batch = vec![
            query("i-1"),
            counted("i-1"),
            query("i-2"),
            counted("i-2"),
            query("i-3"),
            counted("i-3"),
        ];
        let at = Timestamp::from_second(0).expect("in range");
        let (seven, sixty) = (vec![(at, 7.0)], vec![(at, 60.0)]);
        let fetched = Fetched {
            values: vec![seven.clone(), sixty.clone(), Vec::new(), sixty, seven, Vec::new()],
            failed: BTreeMap::from([
                (2, "InternalError".to_owned()),
                (5, "InternalError".to_owned()),
            ]),
        };
        let Readings::Hours { series, partial } = hours(batch, fetched, minutes(60)) else {
            panic!("not hours");
        };
        let measured: Vec<&str> =
            series.iter().map(|each_series| each_series.instance.as_str()).collect();
        assert_eq!(measured, ["i-1", "i-3"]);
        let again: Vec<&str> = partial.iter().map(ResourceId::as_str).collect();
        assert_eq!(again, ["i-2", "i-3"]);
    }

    #[test]
    fn series_without_points_are_dropped_and_bad_ones_kept_for_their_gap() {
        let window = minutes(50);
        let query = query("i-1");
        let queries = [query.clone(), query.clone(), query];
        let at = Timestamp::from_second(300).expect("in range");
        let values = vec![vec![], vec![(at, -1.0)], vec![(at, 7.0)]];
        let series = to_series(&queries, values, window);
        let figures: Vec<(usize, u64)> =
            series.iter().map(|s| (s.points.len(), s.rejected.negative)).collect();
        assert_eq!(figures, [(0, 1), (1, 0)]);
    }

    fn at(day: i64) -> Timestamp {
        Timestamp::from_second(day * 86_400).expect("in range")
    }

    fn stretch(start: i64, end: i64) -> Window {
        Window { start: at(start), end: at(end) }
    }

    /// A query of the instance itself.
    fn period_query(instance: &str, period_seconds: u32) -> MetricQuery {
        let dimensions = BTreeMap::from([("InstanceId".to_owned(), instance.to_owned())]);
        let dimensions = Arc::new(dimensions);
        MetricQuery { gpu: None, period_seconds, dimensions, ..query(instance) }
    }

    /// Knows the second of three days of `i-old`, and nothing of others.
    #[derive(Debug, Default)]
    struct SecondDay(RefCell<Vec<String>>);

    impl Known for SecondDay {
        fn missing(&self, machine: &Instance, asked: &str) -> Vec<Window> {
            self.0.borrow_mut().push(asked.to_owned());
            let stretches = [stretch(1, 2), stretch(2, 3), stretch(3, 4)];
            let is_old = machine.id.as_str() == "i-old";
            let missing = stretches.into_iter().enumerate();
            missing
                .filter(|(place, _)| !(is_old && *place == 1))
                .map(|(_, stretch)| stretch)
                .collect()
        }
    }

    #[test]
    fn each_machine_is_asked_for_what_is_missing_of_it() {
        let instances = ["i-new", "i-old", "i-gone"].map(|id| Instance::sample(id, "", at(0)));
        let queries = vec![
            period_query("i-old", 300),
            period_query("i-old", 3_600),
            period_query("i-new", 300),
        ];
        let known = SecondDay::default();
        let runs = runs(queries, &instances, &known);
        let asked: Vec<(Window, usize, Vec<String>)> = runs
            .iter()
            .map(|run| {
                let names = run.queries.iter().map(|query| query.instance.to_string());
                (whole(&run.stretches), run.stretches.len(), names.collect())
            })
            .collect();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            asked,
            [
                (stretch(1, 2), 1, names(&["i-old", "i-old"])),
                (stretch(1, 4), 3, names(&["i-new"])),
                (stretch(3, 4), 1, names(&["i-old", "i-old"])),
            ]
        );
        assert_eq!(known.0.borrow().len(), 2, "each machine is planned once");
    }

    #[test]
    fn what_is_asked_otherwise_has_another_name() {
        let one = name_of(&[period_query("i-1", 300)]);
        assert_eq!(one, name_of(&[period_query("i-1", 300)]));
        let maximum = MetricQuery { statistic: Statistic::Maximum, ..period_query("i-1", 300) };
        for other in [
            vec![],
            vec![period_query("i-2", 300)],
            vec![period_query("i-1", 3_600)],
            vec![maximum],
            vec![period_query("i-1", 300), period_query("i-1", 300)],
        ] {
            assert_ne!(one, name_of(&other));
        }
    }

    #[test]
    fn every_value_is_in_one_stretch() {
        let points = [0, 1, 2, 3, 4].map(|day| (at(day), day as f64));
        let stretches = [stretch(1, 2), stretch(2, 3), stretch(3, 4)];
        let cut = cut(&[points.to_vec()], &stretches);
        let values: Vec<Vec<f64>> = cut
            .iter()
            .map(|queries| queries[0].iter().map(|(_, value)| *value).collect())
            .collect();
        assert_eq!(values, [vec![0.0, 1.0], vec![2.0], vec![3.0, 4.0]]);
    }
}
