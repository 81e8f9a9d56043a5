use std::collections::BTreeMap;

use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::error::ProvideErrorMetadata;
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{
    Dimension, DimensionFilter, Metric, MetricDataQuery, MetricStat, ScanBy, StatusCode,
};

use crate::wire::clients::cloudwatch;
use crate::wire::loopback::Loopback;

/// 2026-11-06 00:00:00 UTC, the beginning of an hour.
const START: i64 = 1_793_923_200;
const REGION: &str = "eu-west-1";

fn query(id: &str, metric: &Metric, period: i32, statistic: &str) -> MetricDataQuery {
    MetricDataQuery::builder()
        .id(id)
        .metric_stat(
            MetricStat::builder().metric(metric.clone()).period(period).stat(statistic).build(),
        )
        .build()
}

fn power(dimensions: &[(&str, &str)]) -> Metric {
    let dimensions = dimensions
        .iter()
        .map(|&(name, value)| Dimension::builder().name(name).value(value).build());
    Metric::builder()
        .namespace("AWS/EC2")
        .metric_name("GPUPowerUtilization")
        .set_dimensions(Some(dimensions.collect()))
        .build()
}

/// Datums around the boundary between two five-minute periods, put out of
/// order; the second period is incomplete and the third is empty.
fn endpoint() -> (Loopback, Client) {
    let loopback = Loopback::start(None);
    let later = [(START + 600, 9.0), (START + 300, 40.0), (START + 299, 30.0)];
    let earlier = [(START, 10.0), (START + 60, 20.0)];
    let dimensions = [("InstanceId", "i-1"), ("GpuId", "0")];
    for datums in [&later[..], &earlier[..]] {
        let datums = datums.iter().copied();
        loopback.put_metric(REGION, "AWS/EC2", "GPUPowerUtilization", &dimensions, datums);
    }
    let client = cloudwatch(&loopback.url(), REGION);
    (loopback, client)
}

#[tokio::test]
async fn statistics_are_taken_over_aligned_periods() {
    let (_loopback, client) = endpoint();
    // The order of dimensions does not matter, nor does a start or an end in
    // the middle of a period, except that the end cuts off what comes later.
    let metric = power(&[("GpuId", "0"), ("InstanceId", "i-1")]);
    let statistics = ["Average", "Maximum", "Minimum", "Sum", "SampleCount"];
    let queries = statistics
        .iter()
        .map(|statistic| query(&statistic.to_lowercase(), &metric, 300, statistic));
    let answer = client
        .get_metric_data()
        .set_metric_data_queries(Some(queries.collect()))
        .start_time(DateTime::from_secs(START + 60))
        .end_time(DateTime::from_secs(START + 600))
        .scan_by(ScanBy::TimestampAscending)
        .send()
        .await
        .expect("the queries are valid");

    let expected = [[20.0, 40.0], [30.0, 40.0], [10.0, 40.0], [60.0, 40.0], [3.0, 1.0]];
    let times = [START, START + 300].map(DateTime::from_secs);
    for (result, values) in answer.metric_data_results().iter().zip(expected) {
        assert_eq!(result.timestamps(), times);
        assert_eq!(result.values(), values, "{:?}", result.id());
        assert_eq!(result.label(), Some("GPUPowerUtilization"));
        assert_eq!(result.status_code(), Some(&StatusCode::Complete));
    }
    assert_eq!(answer.metric_data_results().len(), expected.len());
    assert_eq!(answer.next_token(), None);
}

#[tokio::test]
async fn newest_first_unless_asked_otherwise_and_nothing_for_other_dimensions() {
    let (_loopback, client) = endpoint();
    let answer = client
        .get_metric_data()
        .metric_data_queries(query(
            "exact",
            &power(&[("InstanceId", "i-1"), ("GpuId", "0")]),
            300,
            "Maximum",
        ))
        .metric_data_queries(query("subset", &power(&[("InstanceId", "i-1")]), 300, "Maximum"))
        .start_time(DateTime::from_secs(START))
        .end_time(DateTime::from_secs(START + 3600))
        .send()
        .await
        .expect("the queries are valid");
    let [exact, subset] = answer.metric_data_results() else {
        panic!("two results were asked for: {answer:?}");
    };
    assert_eq!(exact.values(), [9.0, 40.0, 30.0]);
    assert_eq!(subset.values(), [0.0; 0]);
    assert_eq!(subset.status_code(), Some(&StatusCode::Complete));
}

#[tokio::test]
async fn points_beyond_a_page_follow_under_the_same_id() {
    let loopback = Loopback::start(None);
    let hours = 14 * 24;
    let names: Vec<String> = (0..500).map(|gpu| format!("i-{gpu}")).collect();
    let mut queries = Vec::new();
    for (gpu, name) in (0_i64..).zip(&names) {
        let dimensions = [("InstanceId", name.as_str())];
        let datums = (0..hours).map(|hour| (START + 3600 * hour, (gpu * hours + hour) as f64));
        loopback.put_metric(REGION, "AWS/EC2", "GPUPowerUtilization", &dimensions, datums);
        queries.push(query(&format!("q{gpu}"), &power(&dimensions), 3600, "Average"));
    }
    let client = cloudwatch(&loopback.url(), REGION);
    let request = client
        .get_metric_data()
        .set_metric_data_queries(Some(queries))
        .start_time(DateTime::from_secs(START))
        .end_time(DateTime::from_secs(START + 3600 * hours))
        .scan_by(ScanBy::TimestampAscending);

    let first = request.clone().send().await.expect("the queries are valid");
    let token = first.next_token().expect("168,000 points are two pages");
    let second = request.clone().next_token(token).send().await.expect("the token was given out");
    assert_eq!(second.next_token(), None);

    let mut pages = Vec::new();
    let mut merged: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut status = BTreeMap::new();
    for page in [&first, &second] {
        let results = page.metric_data_results();
        pages.push(results.iter().map(|result| result.values().len()).sum::<usize>());
        for result in results {
            let id = result.id().expect("results carry their query's id");
            merged.entry(id.to_owned()).or_default().extend(result.values());
            status.insert(id.to_owned(), result.status_code().cloned());
        }
    }
    assert_eq!(pages, [100_800, 67_200]);
    for gpu in 0..500 {
        let id = format!("q{gpu}");
        let expected: Vec<f64> = (0..hours).map(|hour| (gpu * hours + hour) as f64).collect();
        assert_eq!(merged[&id], expected, "{id}");
        assert_eq!(status[&id], Some(StatusCode::Complete), "{id}");
    }
    assert_eq!(loopback.calls("cloudwatch", "GetMetricData"), 2);

    // A smaller page may end within a query.
    let small = request.max_datapoints(500).send().await.expect("the limit is valid");
    let sizes: Vec<(usize, Option<&StatusCode>)> = small
        .metric_data_results()
        .iter()
        .take(3)
        .map(|result| (result.values().len(), result.status_code()))
        .collect();
    let partial = Some(&StatusCode::PartialData);
    assert_eq!(sizes, [(336, Some(&StatusCode::Complete)), (164, partial), (0, partial)]);
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let (_loopback, client) = endpoint();
    let metric = power(&[]);
    let refused = async |queries: Vec<MetricDataQuery>, length: i64| {
        let error = client
            .get_metric_data()
            .set_metric_data_queries(Some(queries))
            .start_time(DateTime::from_secs(START))
            .end_time(DateTime::from_secs(START + length))
            .send()
            .await
            .expect_err("the request is invalid");
        error.code().map(str::to_owned)
    };
    let validation_error = Some("ValidationError".to_owned());
    let many = |count: usize| -> Vec<MetricDataQuery> {
        (0..count).map(|index| query(&format!("q{index}"), &metric, 300, "Average")).collect()
    };
    let single = |id: &str, period, statistic: &str| vec![query(id, &metric, period, statistic)];
    let same = || [many(1), many(1)].concat();
    assert_eq!(refused(many(501), 600).await, validation_error, "too many");
    assert_eq!(refused(many(0), 600).await, validation_error, "none");
    assert_eq!(refused(same(), 600).await, validation_error, "same Id");
    assert_eq!(refused(many(1), 0).await, validation_error, "no window");
    assert_eq!(refused(single("Q", 300, "Sum"), 600).await, validation_error, "Id");
    assert_eq!(refused(single("q", 45, "Sum"), 600).await, validation_error, "Period");
    assert_eq!(refused(single("q", 300, "p99"), 600).await, validation_error, "Stat");
}

#[tokio::test]
async fn metrics_are_listed_by_namespace_name_and_dimension() {
    let loopback = Loopback::start(None);
    for gpu in 0..1200 {
        let host = format!("ip-10-0-0-{gpu}");
        let dimensions = [("host", host.as_str()), ("index", "0")];
        let datum = [(START, 1.0)];
        loopback.put_metric(REGION, "CWAgent", "nvidia_smi_power_draw", &dimensions, datum);
    }
    let elsewhere = [("us-east-1", "CWAgent"), (REGION, "AWS/EC2")];
    for (region, namespace) in elsewhere {
        loopback.put_metric(region, namespace, "CPUUtilization", &[], [(START, 1.0)]);
    }
    let client = cloudwatch(&loopback.url(), REGION);
    let count = async |request: aws_sdk_cloudwatch::operation::list_metrics::builders::ListMetricsFluentBuilder| {
        let mut pages = request.into_paginator().send();
        let mut sizes = Vec::new();
        while let Some(page) = pages.next().await {
            sizes.push(page.expect("the filters are valid").metrics().len());
        }
        sizes
    };
    let request = client.list_metrics();
    assert_eq!(count(request.clone()).await, [500, 500, 201]);
    assert_eq!(count(request.clone().namespace("AWS/EC2")).await, [1]);
    assert_eq!(count(request.clone().metric_name("nope")).await, [0]);

    let index = DimensionFilter::builder().name("index").build();
    let host = DimensionFilter::builder().name("host").value("ip-10-0-0-7").build();
    assert_eq!(count(request.clone().dimensions(index.clone())).await, [500, 500, 200]);
    let page =
        request.dimensions(index).dimensions(host).send().await.expect("the filters are valid");
    let [metric] = page.metrics() else {
        panic!("one metric has this host: {page:?}");
    };
    assert_eq!(metric.metric_name(), Some("nvidia_smi_power_draw"));
    let dimensions: Vec<_> =
        metric.dimensions().iter().map(|dimension| (dimension.name(), dimension.value())).collect();
    let expected = [(Some("host"), Some("ip-10-0-0-7")), (Some("index"), Some("0"))];
    assert_eq!(dimensions, expected);
}
