//! CloudWatch: which GPU series exist, and their values.

use super::pages::Pages;
use super::session::{RegionClients, timestamp};
use crate::domain::{JoinedBy, Metric, ResourceId, SeriesSource, Statistic, Window};
use crate::sources::SourceError;
use aws_sdk_cloudwatch::types::{
    Dimension, Metric as CloudWatchMetric, MetricDataQuery, MetricStat, ScanBy,
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

/// Which utilization, memory and power series exist in the region. The other
/// agent metrics come with the same dimensions as these.
///
/// # Errors
/// When CloudWatch refuses or does not answer.
pub async fn discover(
    clients: &RegionClients,
    agent_namespace: &str,
) -> Result<Vec<DiscoveredMetric>, SourceError> {
    let wanted = [
        (agent_namespace, Metric::GpuUtilization),
        (agent_namespace, Metric::GpuMemoryUsed),
        (EC2_NAMESPACE, Metric::GpuPowerUtilization),
    ];
    let mut found = Vec::new();
    // The agent publishes all metrics of a GPU under the same ones.
    let mut known: BTreeSet<Dimensions> = BTreeSet::new();
    for (namespace, metric) in wanted {
        let mut pages = Pages::of("cloudwatch:ListMetrics");
        loop {
            clients.cloudwatch_turn().await;
            let request = clients
                .cloudwatch
                .list_metrics()
                .namespace(namespace)
                .metric_name(cloudwatch_name(metric))
                .set_next_token(pages.token());
            let page = clients
                .session
                .patient("cloudwatch:ListMetrics", || request.clone().send())
                .await?;
            for listed in page.metrics() {
                let own = listed.dimensions().iter();
                let own = own.filter_map(|d| Some((d.name()?.to_owned(), d.value()?.to_owned())));
                let own: Dimensions = Arc::new(own.collect());
                let dimensions = match known.get(&own) {
                    Some(same) => Arc::clone(same),
                    None => {
                        known.insert(Arc::clone(&own));
                        own
                    }
                };
                found.push(DiscoveredMetric { metric, dimensions });
            }
            if !pages.follow(page.next_token())? {
                break;
            }
        }
    }
    Ok(found)
}

/// Values of up to 500 queries, in their order.
///
/// # Errors
/// When CloudWatch refuses or does not answer.
pub async fn fetch(
    clients: &RegionClients,
    queries: &[MetricQuery],
    window: Window,
) -> Result<Vec<MetricValues>, SourceError> {
    clients.metrics_asked(queries.len());
    let mut values: Vec<MetricValues> = vec![Vec::new(); queries.len()];
    let mut pages = Pages::of("cloudwatch:GetMetricData").with_room(most_points(queries, window));
    loop {
        clients.cloudwatch_turn().await;
        let asked = queries.iter().enumerate();
        let asked = asked.map(|(index, query)| data_query(index, query));
        let request = clients
            .cloudwatch
            .get_metric_data()
            .set_metric_data_queries(Some(asked.collect()))
            .start_time(DateTime::from_secs(window.start.as_second()))
            .end_time(DateTime::from_secs(window.end.as_second()))
            .scan_by(ScanBy::TimestampAscending)
            .set_next_token(pages.token());
        let page = clients
            .session
            .patient("cloudwatch:GetMetricData", || request.clone().send())
            .await?;
        for result in page.metric_data_results() {
            let index = result
                .id()
                .and_then(|id| id.strip_prefix('q'))
                .and_then(|number| number.parse::<usize>().ok());
            if let Some(series) = index.and_then(|index| values.get_mut(index)) {
                pages.take(result.timestamps().len())?;
                let points = result.timestamps().iter().zip(result.values());
                series.extend(points.filter_map(|(time, value)| Some((timestamp(time)?, *value))));
            }
        }
        if !pages.follow(page.next_token())? {
            return Ok(values);
        }
    }
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
