//! CloudWatch as somebody else understands it: the same datums, put into
//! ministack over its own API and into the loopback endpoint, must give the
//! same statistics. This guards against a misreading that the endpoint and
//! its client, written by the same people, would share.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;

use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{
    Dimension, Metric, MetricDataQuery, MetricDatum, MetricStat, ScanBy,
};

use crate::wire::clients::cloudwatch;
use crate::wire::loopback::Loopback;
use crate::wire::process::Server;

const REGION: &str = "us-east-1";
const NAMESPACE: &str = "CWAgent";
const NAME: &str = "nvidia_smi_utilization_gpu";
const DIMENSIONS: [(&str, &str); 2] = [("InstanceId", "i-0123456789abcdef0"), ("index", "0")];

/// Starts ministack on a free port, on the loopback interface only.
fn ministack() -> Option<(Server, String)> {
    let program = Server::find("ministack", "GPUCOST_TEST_MINISTACK")?;
    // It cannot choose a port itself; nobody takes this one in between, unless
    // by bad luck.
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .expect("a loopback port is free");
    let mut command = Command::new(program);
    command
        .env("BIND_HOST", address.ip().to_string())
        .env("GATEWAY_PORT", address.port().to_string());
    let mut server = Server::start(command);
    server.wait_until(|_| TcpStream::connect(address).ok());
    Some((server, format!("http://{address}")))
}

/// Time and value of each point, oldest first.
type Points = Vec<(i64, f64)>;

async fn statistics(client: &Client, from: i64, to: i64) -> Vec<Points> {
    let dimensions = DIMENSIONS.map(dimension);
    let metric = Metric::builder()
        .namespace(NAMESPACE)
        .metric_name(NAME)
        .set_dimensions(Some(dimensions.into()))
        .build();
    let queries = ["Average", "Maximum", "Minimum", "Sum", "SampleCount"].map(|statistic| {
        let stat = MetricStat::builder().metric(metric.clone()).period(300).stat(statistic);
        MetricDataQuery::builder().id(statistic.to_lowercase()).metric_stat(stat.build()).build()
    });
    let answer = client
        .get_metric_data()
        .set_metric_data_queries(Some(queries.into()))
        .start_time(DateTime::from_secs(from))
        .end_time(DateTime::from_secs(to))
        .scan_by(ScanBy::TimestampAscending)
        .send()
        .await
        .expect("the queries are valid");
    let points = answer.metric_data_results().iter().map(|result| {
        let times = result.timestamps().iter().map(DateTime::secs);
        times.zip(result.values().iter().copied()).collect()
    });
    points.collect()
}

fn dimension((name, value): (&str, &str)) -> Dimension {
    Dimension::builder().name(name).value(value).build()
}

#[tokio::test]
async fn statistics_agree_with_ministack() {
    let Some((_server, url)) = ministack() else { return };
    // Two hours of minutes with a gap, beginning within a period, recent
    // enough for any implementation to accept.
    let now = DateTime::from(std::time::SystemTime::now()).secs();
    let from = now - now % 3600 - 7200;
    let datums: Points = (2..120)
        .filter(|minute| !(50..63).contains(minute))
        .map(|minute| (from + 60 * minute, (minute * 37 % 101) as f64 + 0.25))
        .collect();

    let loopback = Loopback::start(None);
    loopback.put_metric(REGION, NAMESPACE, NAME, &DIMENSIONS, datums.iter().copied());
    let ours = cloudwatch(&loopback.url(), REGION);
    let theirs = cloudwatch(&url, REGION);
    let put = datums.iter().map(|&(time, value)| {
        MetricDatum::builder()
            .metric_name(NAME)
            .set_dimensions(Some(DIMENSIONS.map(dimension).into()))
            .timestamp(DateTime::from_secs(time))
            .value(value)
            .build()
    });
    theirs
        .put_metric_data()
        .namespace(NAMESPACE)
        .set_metric_data(Some(put.collect()))
        .send()
        .await
        .expect("ministack takes the datums");

    let expected = statistics(&theirs, from, from + 7200).await;
    let periods = expected[0].len();
    assert_eq!(periods, 22, "24 periods, of which two are in the gap");
    assert_ne!(expected[0], expected[1], "average and maximum differ");
    assert_eq!(statistics(&ours, from, from + 7200).await, expected);
}
