//! CloudWatch of a region as a source of metrics: at once, by the hour, or for the
//! stretches of a window that are not kept.

use super::meter::metric_cost_usd;
use super::metric_plan::{batches, in_detail, plan_metrics};
use super::metrics::{FIVE_MINUTES_KEPT, Fetched, MetricQuery, MetricValues, discover, fetch};
use super::session::RegionClients;
use super::stretches::{Run, cut, runs, whole};
use crate::catalog::known_shape;
use crate::domain::{FailureKind, GapSubject, Gathered, Instance, Window};
use crate::sources::whole_hours::are_whole;
use crate::sources::{
    Answer, ByTheHour, Detail, HOUR_SECONDS, MetricCalls, MetricRequest, MetricSource, Readings,
};
use crate::usage::{Points, Series};
use futures_util::FutureExt;
use jiff::SignedDuration;
use std::collections::BTreeSet;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{JoinedBy, Metric, ResourceId, SeriesSource, Statistic};
    use jiff::Timestamp;
    use std::collections::BTreeMap;
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
}
