//! CloudWatch: which GPU series exist, and their values.

use super::answers::all_pages;
use super::error::kind_of_code;
use super::session::{RegionClients, timestamp};
use crate::domain::{
    CauseKind, Gap, GapSubject, Gathered, JoinedBy, Metric, ResourceId, SeriesSource, Statistic,
    Window,
};
use crate::{Outcome, SourceError};
use aws_sdk_cloudwatch::types::{
    Dimension, Metric as CloudWatchMetric, MetricDataQuery, MetricDataResult, MetricStat, ScanBy,
    StatusCode,
};
use aws_smithy_types::DateTime;
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) const EC2_NAMESPACE: &str = "AWS/EC2";

/// Up to this far back CloudWatch keeps periods of five minutes.
pub(super) const FIVE_MINUTES_KEPT: SignedDuration = SignedDuration::from_hours(63 * 24);

/// What CloudWatch calls a metric: the agent's names for GPU metrics, EC2's for
/// those that it publishes itself.
pub fn cloudwatch_name(metric: Metric) -> &'static str {
    match metric {
        Metric::GpuUtilization => "nvidia_smi_utilization_gpu",
        Metric::GpuMemoryUsed => "nvidia_smi_memory_used",
        Metric::GpuMemoryTotal => "nvidia_smi_memory_total",
        Metric::GpuPowerDraw => "nvidia_smi_power_draw",
        Metric::GpuTemperature => "nvidia_smi_temperature_gpu",
        Metric::GpuEncoderSessions => "nvidia_smi_encoder_stats_session_count",
        Metric::GpuSmActivity => "DCGM_FI_PROF_SM_ACTIVE",
        Metric::GpuPowerUtilization => "GPUPowerUtilization",
        Metric::CpuUtilization => "CPUUtilization",
        Metric::NetworkIn => "NetworkIn",
        Metric::NetworkOut => "NetworkOut",
    }
}

/// Dimensions by name, shared by all series of a GPU.
pub type Dimensions = Arc<BTreeMap<String, String>>;

/// A series that exists in CloudWatch, whatever its dimensions are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredMetric {
    pub metric: Metric,
    pub dimensions: Dimensions,
}

/// One series to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricQuery {
    pub instance: ResourceId,
    /// The GPU's index on the host.
    pub gpu: Option<u16>,
    pub metric: Metric,
    /// How readings of a period become one value.
    pub statistic: Statistic,
    /// Whether the number of readings is asked for in place of their value.
    pub counts_readings: bool,
    pub period_seconds: u32,
    /// CloudWatch namespace.
    pub namespace: Arc<str>,
    /// CloudWatch name.
    pub name: &'static str,
    /// CloudWatch dimensions.
    pub dimensions: Dimensions,
    pub source: SeriesSource,
    /// How it was matched to the instance.
    pub joined_by: JoinedBy,
}

/// The raw points of a query, in any order, unchecked.
pub type MetricValues = Vec<(Timestamp, f64)>;

const GET_METRIC_DATA: &str = "cloudwatch:GetMetricData";

/// The status of a query that no page has answered.
const NOT_ANSWERED: &str = "not answered";

/// What CloudWatch answers to some queries.
#[derive(Debug)]
pub struct Fetched {
    /// In the order of the queries; empty of one that failed.
    pub values: Vec<MetricValues>,
    /// The status of each query whose values are not complete, by its place.
    pub failed: BTreeMap<usize, String>,
}

impl Fetched {
    /// No query is answered yet, which is not the same as answered without values.
    fn of(queries: usize) -> Self {
        let failed = (0..queries).map(|place| (place, NOT_ANSWERED.to_owned()));
        Self { values: vec![Vec::new(); queries], failed: failed.collect() }
    }

    /// Adds a page of a query. Its last status counts: a failure may pass with the next page,
    /// and `PartialData` promises a next page that has to come.
    fn add(&mut self, place: usize, result: &MetricDataResult) {
        let Some(series) = self.values.get_mut(place) else { return };
        match result.status_code() {
            None | Some(StatusCode::Complete) => self.failed.remove(&place),
            Some(status) => self.failed.insert(place, status.as_str().to_owned()),
        };
        let points = result.timestamps().iter().zip(result.values());
        series.extend(points.filter_map(|(time, value)| Some((timestamp(time)?, *value))));
    }

    /// Without the values of queries that failed: some of a series are not the series.
    fn finished(mut self) -> Self {
        for place in self.failed.keys() {
            if let Some(series) = self.values.get_mut(*place) {
                series.clear();
            }
        }
        self
    }

    /// One gap for each status, with the number of series that are missing.
    fn gaps(&self, region: &str) -> Vec<Gap> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for status in self.failed.values() {
            *counts.entry(status).or_default() += 1;
        }
        let gaps = counts.into_iter().map(|(status, count)| {
            let kind = kind_of_code(status);
            let error = SourceError::own(GET_METRIC_DATA, kind, status, String::new());
            let cause = error.cause_of(CauseKind::SeriesNotRead, &count.to_string());
            Gap::of(GapSubject::Metrics, region, cause)
        });
        gaps.collect()
    }
}

/// Which utilization, memory and power series exist in the region. The other
/// agent metrics come with the same dimensions as these.
///
/// # Errors
/// When CloudWatch refuses or does not answer.
pub async fn discover(
    clients: &RegionClients,
    agent_namespace: &str,
) -> Outcome<Vec<DiscoveredMetric>> {
    let wanted = [
        (agent_namespace, Metric::GpuUtilization),
        (agent_namespace, Metric::GpuMemoryUsed),
        (EC2_NAMESPACE, Metric::GpuPowerUtilization),
    ];
    let mut discovered = Vec::new();
    // The agent publishes all metrics of a GPU under the same ones.
    let mut known: BTreeSet<Dimensions> = BTreeSet::new();
    for (namespace, metric) in wanted {
        let send = |token| {
            clients
                .cloudwatch
                .list_metrics()
                .namespace(namespace)
                .metric_name(cloudwatch_name(metric))
                .set_next_token(token)
                .send()
        };
        let listed = clients.paged("cloudwatch:ListMetrics", send, |page| {
            let series = page.metrics().iter().map(|listed| {
                let own = listed.dimensions().iter();
                let own = own.filter_map(|d| Some((d.name()?.to_owned(), d.value()?.to_owned())));
                let own: Dimensions = Arc::new(own.collect());
                let dimensions = known.get(&own).map_or(own, Arc::clone);
                known.insert(Arc::clone(&dimensions));
                DiscoveredMetric { metric, dimensions }
            });
            (series.collect(), page.next_token)
        });
        discovered.extend(listed.await?);
    }
    Ok(discovered)
}

/// Values of up to 500 queries; those that are not answered are gaps.
pub async fn fetch(
    clients: &RegionClients,
    queries: &[MetricQuery],
    window: Window,
) -> Gathered<Fetched> {
    match fetched(clients, queries, window).await {
        Ok(value) => Gathered { gaps: value.gaps(&clients.region), value },
        Err(error) => {
            let cause = error.cause_of(CauseKind::SeriesNotRead, &queries.len().to_string());
            let gaps = vec![Gap::of(GapSubject::Metrics, &clients.region, cause)];
            Gathered { value: Fetched::of(queries.len()), gaps }
        }
    }
}

/// # Errors
/// When CloudWatch refuses or does not answer.
async fn fetched(
    clients: &RegionClients,
    queries: &[MetricQuery],
    window: Window,
) -> Outcome<Fetched> {
    clients.session.meter.metrics_asked(queries.len());
    let mut fetched = Fetched::of(queries.len());
    all_pages(GET_METRIC_DATA, most_points(queries, window), async |token| {
        let asked = queries.iter().enumerate().map(|(index, query)| data_query(index, query));
        let request = clients
            .cloudwatch
            .get_metric_data()
            .set_metric_data_queries(Some(asked.collect()))
            .start_time(DateTime::from_secs(window.start.as_second()))
            .end_time(DateTime::from_secs(window.end.as_second()))
            .scan_by(ScanBy::TimestampAscending)
            .set_next_token(token);
        let page = clients.patient(GET_METRIC_DATA, || request.clone().send()).await?;
        let mut points = 0;
        for result in page.metric_data_results() {
            let index = result
                .id()
                .and_then(|id| id.strip_prefix('q'))
                .and_then(|number| number.parse::<usize>().ok());
            if let Some(index) = index.filter(|index| *index < queries.len()) {
                points += result.timestamps().len();
                fetched.add(index, result);
            }
        }
        // They are taken in above, and counted here.
        Ok((vec![(); points], page.next_token))
    })
    .await?;
    Ok(fetched.finished())
}

/// Points that a window has for so many queries, with one more at either end of each.
fn most_points(queries: &[MetricQuery], window: Window) -> usize {
    let of = |query: &MetricQuery| window.seconds().max(0) / i64::from(query.period_seconds.max(1));
    let points: i64 = queries.iter().map(|query| of(query) + 2).sum();
    usize::try_from(points).unwrap_or(usize::MAX)
}

fn data_query(index: usize, query: &MetricQuery) -> MetricDataQuery {
    let dimensions = query
        .dimensions
        .iter()
        .map(|(name, value)| Dimension::builder().name(name).value(value).build())
        .collect();
    let statistic = match query.statistic {
        _ if query.counts_readings => "SampleCount",
        Statistic::Average => "Average",
        Statistic::Maximum => "Maximum",
        Statistic::Sum => "Sum",
    };
    MetricDataQuery::builder()
        .id(format!("q{index}"))
        .metric_stat(
            MetricStat::builder()
                .metric(
                    CloudWatchMetric::builder()
                        .namespace(&*query.namespace)
                        .metric_name(query.name)
                        .set_dimensions(Some(dimensions))
                        .build(),
                )
                .period(i32::try_from(query.period_seconds).unwrap_or(i32::MAX))
                .stat(statistic)
                .build(),
        )
        .return_data(true)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(status: Option<StatusCode>, seconds: &[i64]) -> MetricDataResult {
        let times = seconds.iter().map(|second| DateTime::from_secs(*second));
        MetricDataResult::builder()
            .set_status_code(status)
            .set_timestamps(Some(times.collect()))
            .set_values(Some(vec![7.0; seconds.len()]))
            .build()
    }

    #[test]
    fn a_query_without_its_last_page_is_a_gap_and_not_a_shorter_series() {
        let partial = || Some(StatusCode::PartialData);
        let mut fetched = Fetched::of(4);
        // Two pages, of which the second ends the series.
        fetched.add(0, &page(partial(), &[0, 300]));
        fetched.add(0, &page(Some(StatusCode::Complete), &[600]));
        // The second page does not come.
        fetched.add(1, &page(partial(), &[0, 300]));
        // Complete without any value: it was read. Query 3 is on no page.
        fetched.add(2, &page(Some(StatusCode::Complete), &[]));
        let fetched = fetched.finished();
        let points: Vec<usize> = fetched.values.iter().map(Vec::len).collect();
        assert_eq!(points, [3, 0, 0, 0]);
        let failed: Vec<(usize, &str)> =
            fetched.failed.iter().map(|(place, status)| (*place, status.as_str())).collect();
        assert_eq!(failed, [(1, "PartialData"), (3, "not answered")]);
        let gaps = fetched.gaps("eu-west-1");
        let reasons: Vec<&str> = gaps.iter().map(|gap| gap.reason.as_str()).collect();
        let expected = [
            "cloudwatch:GetMetricData: PartialData; 1 series are missing",
            "cloudwatch:GetMetricData: not answered; 1 series are missing",
        ];
        assert_eq!(reasons, expected);
    }

    #[test]
    fn a_query_that_fails_by_itself_is_a_gap_and_not_an_empty_series() {
        let mut fetched = Fetched::of(6);
        let complete = || Some(StatusCode::Complete);
        let failed = || Some(StatusCode::InternalError);
        fetched.add(0, &page(complete(), &[0, 300]));
        fetched.add(1, &page(None, &[0]));
        fetched.add(2, &page(failed(), &[0]));
        // The next page may have what the first one could not read.
        fetched.add(3, &page(failed(), &[]));
        fetched.add(3, &page(complete(), &[0, 300]));
        fetched.add(4, &page(Some(StatusCode::PartialData), &[0]));
        fetched.add(4, &page(failed(), &[300]));
        fetched.add(5, &page(Some(StatusCode::Forbidden), &[]));
        // Not asked for.
        fetched.add(6, &page(failed(), &[0]));
        let fetched = fetched.finished();
        let points: Vec<usize> = fetched.values.iter().map(Vec::len).collect();
        assert_eq!(points, [2, 1, 0, 2, 0, 0]);
        let failed: Vec<usize> = fetched.failed.keys().copied().collect();
        assert_eq!(failed, [2, 4, 5]);
        let gaps = fetched.gaps("eu-west-1");
        let gaps = gaps.iter().map(|gap| (gap.place.as_str(), gap.reason.as_str()));
        let expected = [
            ("eu-west-1", "cloudwatch:GetMetricData: Forbidden; 1 series are missing"),
            ("eu-west-1", "cloudwatch:GetMetricData: InternalError; 2 series are missing"),
        ];
        assert_eq!(gaps.collect::<Vec<_>>(), expected);
    }
}
