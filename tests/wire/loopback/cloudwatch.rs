//! CloudWatch over RPC v2 CBOR: `ListMetrics` and `GetMetricData`.
//!
//! Imitated: exact match of the dimension set, periods aligned to the epoch,
//! newest-first order unless asked otherwise, 500 metrics per list page, 500
//! queries per request, 100,800 points (or `MaxDatapoints`) per page. A page
//! lists every query that is not finished yet; those without their last
//! points say `PartialData`, and the next page goes on under the same id.
//!
//! Not imitated: expressions, percentiles, retention, the two-week horizon of
//! `ListMetrics`, `RecentlyActive`, the delay before a metric is listed.

use std::collections::BTreeSet;

use ciborium::Value;

use super::Data;
use super::cbor::{self, Members, Writer};
use super::error::ApiError;
use super::metrics::{MetricId, Statistic, Window};

/// Metrics per `ListMetrics` page.
const METRICS_PER_PAGE: usize = 500;
/// Queries per `GetMetricData` request.
const QUERIES_PER_REQUEST: usize = 500;
/// Points per `GetMetricData` page.
const POINTS_PER_PAGE: usize = 100_800;

/// Answers one call, or refuses it.
pub fn answer(
    data: &Data,
    operation: &str,
    region: &str,
    body: &[u8],
) -> Result<Vec<u8>, ApiError> {
    let request = cbor::decode(body)?;
    match operation {
        "ListMetrics" => list_metrics(data, region, &request),
        "GetMetricData" => get_metric_data(data, region, &request),
        other => Err(ApiError::invalid_action(&format!("cloudwatch:{other}"))),
    }
}

fn list_metrics(data: &Data, region: &str, request: &Value) -> Result<Vec<u8>, ApiError> {
    let filters: Vec<(&str, Option<&str>)> = request
        .items("Dimensions")
        .iter()
        .filter_map(|filter| Some((filter.text("Name")?, filter.text("Value"))))
        .collect();
    let wanted = |member: &str, value: &str| request.text(member).is_none_or(|name| name == value);
    let skip = match request.text("NextToken") {
        Some(token) => token.parse().map_err(|_| invalid_token())?,
        None => 0,
    };
    let mut metrics = data
        .metrics
        .ids()
        .filter(|id| id.region == region)
        .filter(|id| wanted("Namespace", &id.namespace) && wanted("MetricName", &id.name))
        .filter(|id| {
            filters.iter().all(|(name, value)| {
                id.dimensions
                    .iter()
                    .any(|(key, held)| key == name && value.is_none_or(|value| held == value))
            })
        })
        .skip(skip);
    let page: Vec<&MetricId> = metrics.by_ref().take(METRICS_PER_PAGE).collect();
    let more = metrics.next().is_some();

    let mut answer = Writer::default();
    answer.map(1 + usize::from(more));
    answer.text("Metrics");
    answer.array(page.len());
    for id in page {
        write_metric(&mut answer, id);
    }
    if more {
        answer.text("NextToken");
        answer.text(&(skip + METRICS_PER_PAGE).to_string());
    }
    Ok(answer.into_bytes())
}

fn write_metric(answer: &mut Writer, id: &MetricId) {
    answer.map(3);
    answer.text("Namespace");
    answer.text(&id.namespace);
    answer.text("MetricName");
    answer.text(&id.name);
    answer.text("Dimensions");
    answer.array(id.dimensions.len());
    for (name, value) in &id.dimensions {
        answer.map(2);
        answer.text("Name");
        answer.text(name);
        answer.text("Value");
        answer.text(value);
    }
}

/// A `MetricDataQuery` with a `MetricStat`.
struct Query<'a> {
    id: &'a str,
    label: &'a str,
    metric: MetricId,
    period: i64,
    statistic: Statistic,
}

impl<'a> Query<'a> {
    fn parse(query: &'a Value, region: &str) -> Result<Self, ApiError> {
        let id = query.text("Id").unwrap_or_default();
        let refuse = |what: &str| ApiError::validation(format!("query {id:?}: {what}"));
        let valid_id = id.starts_with(|first: char| first.is_ascii_lowercase())
            && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !valid_id {
            return Err(refuse("the Id must match ^[a-z][a-zA-Z0-9_]*$"));
        }
        let stat = query
            .member("MetricStat")
            .ok_or_else(|| refuse("only MetricStat queries are imitated"))?;
        let metric = stat.member("Metric").ok_or_else(|| refuse("no Metric"))?;
        let name = metric.text("MetricName").ok_or_else(|| refuse("no MetricName"))?;
        let dimensions = metric
            .items("Dimensions")
            .iter()
            .filter_map(|dimension| Some((dimension.text("Name")?, dimension.text("Value")?)));
        let namespace = metric.text("Namespace").ok_or_else(|| refuse("no Namespace"))?;
        let period = stat.integer("Period").unwrap_or_default();
        if !(matches!(period, 1 | 5 | 10 | 20 | 30) || (period > 0 && period % 60 == 0)) {
            return Err(refuse("the Period must be 1, 5, 10, 20, 30 or a multiple of 60"));
        }
        Ok(Self {
            id,
            label: query.text("Label").unwrap_or(name),
            metric: MetricId::new(region, namespace, name, dimensions),
            period,
            statistic: stat
                .text("Stat")
                .and_then(Statistic::parse)
                .ok_or_else(|| refuse("this Stat is not imitated"))?,
        })
    }
}

/// Where a page begins: that many points into that query.
struct Position {
    query: usize,
    point: usize,
}

impl Position {
    fn parse(token: &str) -> Option<Self> {
        let (query, point) = token.split_once(':')?;
        Some(Self { query: query.parse().ok()?, point: point.parse().ok()? })
    }
}

fn get_metric_data(data: &Data, region: &str, request: &Value) -> Result<Vec<u8>, ApiError> {
    let queries = request.items("MetricDataQueries");
    if queries.is_empty() || queries.len() > QUERIES_PER_REQUEST {
        return Err(ApiError::validation(format!(
            "MetricDataQueries has {} members, not 1 to {QUERIES_PER_REQUEST}",
            queries.len()
        )));
    }
    let queries =
        queries.iter().map(|query| Query::parse(query, region)).collect::<Result<Vec<_>, _>>()?;
    let ids: BTreeSet<&str> = queries.iter().map(|query| query.id).collect();
    if ids.len() < queries.len() {
        return Err(ApiError::validation("the Ids of the queries are not unique"));
    }
    let (Some(start), Some(end)) = (request.seconds("StartTime"), request.seconds("EndTime"))
    else {
        return Err(ApiError::validation("StartTime and EndTime are required"));
    };
    if start >= end {
        return Err(ApiError::validation("StartTime must be before EndTime"));
    }
    let mut budget = match request.integer("MaxDatapoints") {
        None => POINTS_PER_PAGE,
        Some(points) => usize::try_from(points)
            .ok()
            .filter(|points| (1..=POINTS_PER_PAGE).contains(points))
            .ok_or_else(|| ApiError::validation("MaxDatapoints must be 1 to 100800"))?,
    };
    let ascending = request.text("ScanBy") == Some("TimestampAscending");
    let from = match request.text("NextToken") {
        Some(token) => Position::parse(token).ok_or_else(invalid_token)?,
        None => Position { query: 0, point: 0 },
    };

    let mut answer = Writer::default();
    let mut results = Writer::default();
    let mut next = None;
    let unfinished = queries.get(from.query..).ok_or_else(invalid_token)?;
    for (position, query) in (from.query..).zip(unfinished) {
        let (mut points, mut complete) = (Vec::new(), false);
        if next.is_none() {
            let window = Window { start, end, period: query.period };
            points = data.metrics.statistics(&query.metric, window, query.statistic);
            if !ascending {
                points.reverse();
            }
            let done = if position == from.query { from.point } else { 0 };
            points.drain(..done.min(points.len()));
            complete = points.len() <= budget;
            points.truncate(budget);
            budget -= points.len();
            if !complete {
                next = Some(format!("{position}:{}", done + points.len()));
            }
        }
        let status = match data.unread_metrics.get(&query.metric.name) {
            Some(status) => {
                points.clear();
                *status
            }
            None if complete => "Complete",
            None => "PartialData",
        };
        write_result(&mut results, query, &points, status);
    }
    answer.map(2 + usize::from(next.is_some()));
    answer.text("Messages");
    answer.array(0);
    answer.text("MetricDataResults");
    answer.array(unfinished.len());
    answer.append(results);
    if let Some(token) = next {
        answer.text("NextToken");
        answer.text(&token);
    }
    Ok(answer.into_bytes())
}

fn write_result(results: &mut Writer, query: &Query<'_>, points: &[(i64, f64)], status: &str) {
    results.map(5);
    results.text("Id");
    results.text(query.id);
    results.text("Label");
    results.text(query.label);
    results.text("StatusCode");
    results.text(status);
    results.text("Timestamps");
    results.array(points.len());
    for &(time, _) in points {
        results.timestamp(time);
    }
    results.text("Values");
    results.array(points.len());
    for &(_, value) in points {
        results.float(value);
    }
}

fn invalid_token() -> ApiError {
    ApiError::new(400, "InvalidNextToken", "this NextToken was not given out here")
}
