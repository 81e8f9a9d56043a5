//! Servers of the Prometheus family, read-only: Prometheus, Thanos, Mimir, Cortex,
//! VictoriaMetrics, and the services of clouds that have the same HTTP API.

mod answer;
mod ask;
mod auth;
mod client;
#[cfg(test)]
mod client_tests;
mod devices;
mod error;
mod hours;
#[cfg(test)]
mod lab;
mod labels;
mod metric_map;
mod plan;
mod pods;
mod queries;
mod readings;
mod request;
#[cfg(test)]
mod tests;
mod transport;

pub use answer::{Labels, Row};
pub use auth::{Auth, Server};
pub use client::{Client, ClientOptions};
pub use error::is_too_large;
pub use metric_map::{Exporter, MappedMetric, MetricMap, Quantity};
pub use request::{ACTIONS, Destination, is_known_code};
pub use transport::ClientCertificate;

use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, Gathered, Instance, Metric, ResourceId, Window,
};
use crate::{
    Answer, ByTheHour, Detail, HOUR_SECONDS, MetricCalls, MetricRequest, MetricServer,
    MetricSource, Outcome, SourceError,
};
use ask::{Ask, each_series, ends_all, warned};
use devices::Discovery;
use futures_util::FutureExt;
use hours::read_hours;
use jiff::{SignedDuration, Timestamp};
use labels::Hosts;
use metric_map::{GPU_INFO, MIG_INFO, NODE_INFO};
use plan::{Chunk, Plan, plan};
use pods::{are_named, uses};
use readings::read;
use request::shown;
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use tokio::sync::Mutex;

/// As fine as CloudWatch's grid, so that rules see the same periods from any source.
const PERIOD_SECONDS: u32 = 300;
/// GPUs of a fleet whose grid is asked for at once. The engine of Prometheus holds two
/// samples for each of the 4,032 periods of 14 days, and its default of 50 million samples
/// is the grid of 6,200 GPUs. Larger fleets are asked for by the hour first, which is a
/// twelfth of the values.
const MOST_GPUS_ON_GRID: u64 = 6_000;

/// Connects to a server, without asking it anything yet.
///
/// # Errors
/// When the URL, a header or the file of authorities is invalid.
pub fn connect(server: Server, options: ClientOptions, map: MetricMap) -> Outcome<MetricServer> {
    let url = shown(&server.url);
    let name = url.split_once("://").map_or(url.as_str(), |(_, name)| name);
    let name = name.trim_end_matches('/').to_owned();
    let client = Rc::new(Client::new(server, options)?);
    let metrics = Box::new(Prometheus {
        client: Rc::clone(&client),
        server: name,
        map,
        listing: Mutex::default(),
    });
    Ok(MetricServer { metrics, meter: Box::new(move || client.usage()) })
}

/// How many series of GPU utilization a server has at an instant, of the metric of each
/// exporter that has the most.
///
/// # Errors
/// When the server is named wrongly, cannot be reached, or refuses.
pub async fn gpu_series(
    server: Server,
    options: ClientOptions,
    map: &MetricMap,
    at: Timestamp,
) -> Outcome<BTreeMap<Exporter, u64>> {
    let client = Client::new(server, options)?;
    let rows = map.rows.iter().filter(|row| row.quantity.metric() == Metric::GpuUtilization);
    let exporters: BTreeMap<&str, Exporter> = rows
        .map(|row| (row.name.as_str(), row.exporter))
        .filter(|(name, _)| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
        .collect();
    let names: Vec<&str> = exporters.keys().copied().collect();
    let query = format!("count by (__name__) ({{__name__=~\"{}\"}})", names.join("|"));
    let mut counts = BTreeMap::new();
    for (labels, number) in client.query(&query, at).await? {
        let name = labels.get("__name__").map(String::as_str);
        let exporter = name.and_then(|name| exporters.get(name));
        // A count, if the server is right.
        let number = Decimal::from_f64(number).and_then(|number| number.to_u64());
        if let (Some(exporter), Some(number)) = (exporter, number) {
            let most: &mut u64 = counts.entry(*exporter).or_default();
            *most = number.max(*most);
        }
    }
    Ok(counts)
}

/// One server. It speaks of machines of any account and region.
struct Prometheus {
    client: Rc<Client>,
    /// What gaps call it: its host, without credentials.
    server: String,
    map: MetricMap,
    /// Held while series are listed: the labels of a metric can be hundreds of MiB.
    listing: Mutex<()>,
}

impl Prometheus {
    async fn calls<'a>(&'a self, ask: MetricRequest<'a>) -> Gathered<MetricCalls<'a>> {
        let MetricRequest { window, detail, .. } = ask;
        let (client, server) = (&*self.client, self.server.as_str());
        let period_seconds = match detail {
            Detail::Hours => HOUR_SECONDS,
            Detail::Full | Detail::Grid => ask.period_seconds,
        };
        let grid = (window, period_seconds);
        let listing = self.listing.lock().await;
        let ask = MetricRequest { period_seconds, ..ask };
        let discovered = discover(client, server, &self.map, ask).await;
        drop(listing);
        let Gathered { value: plan, gaps } = discovered;
        let chunks: Vec<Rc<Chunk<'a>>> = plan.chunks.into_iter().map(Rc::new).collect();
        let of_pods: Vec<_> = chunks
            .iter()
            .filter(|chunk| detail != Detail::Grid && are_named(chunk))
            .cloned()
            .collect();
        // After everything else, because verdicts do not depend on it.
        let by_pod = of_pods.into_iter().map(move |chunk| {
            async move { uses(client, server, &chunk, window).await }.boxed_local()
        });
        let calls = chunks.into_iter().map(move |chunk| {
            async move {
                match detail {
                    Detail::Hours => read_hours(client, server, &chunk, window).await,
                    Detail::Full | Detail::Grid => read(client, server, &chunk, grid, detail).await,
                }
            }
            .boxed_local()
        });
        Gathered {
            value: MetricCalls {
                series: plan.series,
                // Amazon Managed Service for Prometheus bills the samples that queries
                // process, which nothing tells beforehand; its request parameter
                // `max_samples_processed_error_threshold` refuses more than a number of
                // them before they are billed.
                cost_usd: Decimal::ZERO,
                calls: calls.chain(by_pod).collect(),
            },
            gaps,
        }
    }
}

impl MetricSource for Prometheus {
    fn period_seconds(&self, _: SignedDuration) -> u32 {
        PERIOD_SECONDS
    }

    fn by_the_hour(&self, gpus: u64) -> ByTheHour {
        if gpus > MOST_GPUS_ON_GRID { ByTheHour::Needed } else { ByTheHour::Never }
    }

    fn plan<'a>(&'a self, ask: MetricRequest<'a>) -> Answer<'a, Gathered<MetricCalls<'a>>> {
        self.calls(ask).boxed_local()
    }
}

/// Finds out which series a server has of some machines of a fleet, and plans what to ask of
/// them. A server that does not answer has none, and says so in a gap.
async fn discover<'a, A: Ask>(
    asker: &A,
    server: &str,
    map: &MetricMap,
    ask: MetricRequest<'a>,
) -> Gathered<Plan<'a>> {
    let MetricRequest { fleet, instances, shapes, window, period_seconds, .. } = ask;
    let failed = |error: &SourceError| error.gap(GapSubject::Metrics, server, "");
    let mut gaps = Vec::new();
    let mut nodes = Vec::new();
    let answer = each_series(asker, NODE_INFO, window, |labels| nodes.push(labels.clone())).await;
    if let Err(error) = answer {
        gaps.push(failed(&error));
        if ends_all(&error) {
            return Gathered { value: Plan::default(), gaps };
        }
    }
    // Who stopped before the window has no series in it, and must not share a name with
    // one that has.
    let may_have_run = |instance: &&Instance| instance.may_have_run_after(window.start);
    let mut discovery = Discovery::of(Hosts::of(fleet.iter().filter(may_have_run), &nodes));
    discovery.mig_instances = Some(ask.mig_instances);
    if let Err(error) = take_all(asker, map, &mut discovery, window).await {
        gaps.push(failed(&error));
    }
    let is_silent = discovery.is_empty() && gaps.is_empty();
    let is_part = instances.len() < fleet.len();
    if is_part {
        let asked: BTreeSet<&ResourceId> = instances.iter().map(|instance| &instance.id).collect();
        discovery.machines.retain(|id, _| asked.contains(id));
    }
    let mut planned = plan(map, discovery, shapes, (window, period_seconds), server);
    if is_silent {
        let cause = Cause::of(CauseKind::NoGpuSeries, []);
        gaps.push(Gap::of(GapSubject::Metrics, server, cause));
    }
    gaps.extend(warned(asker, server));
    // Those of the whole fleet were reported when it was asked for.
    if !is_part {
        gaps.append(&mut planned.gaps);
    }
    Gathered { value: planned, gaps }
}

/// Takes every series that the map names; those that tell indices and profiles too. One
/// metric after another, because the labels of one can be hundreds of MiB.
///
/// # Errors
/// The first failure, after the rest was taken, unless the rest would fail in the same
/// way.
async fn take_all<A: Ask>(
    asker: &A,
    map: &MetricMap,
    discovery: &mut Discovery<'_>,
    window: Window,
) -> Outcome<()> {
    let mut answers = Vec::new();
    let gpus = |labels: &Labels| discovery.take_gpu_info(labels);
    answers.push(each_series(asker, GPU_INFO, window, gpus).await);
    let slices = |labels: &Labels| discovery.take_mig_info(labels);
    answers.push(each_series(asker, MIG_INFO, window, slices).await);
    for (row, metric) in map.rows.iter().enumerate() {
        if answers.iter().any(|answer| answer.as_ref().is_err_and(ends_all)) {
            break;
        }
        let series = |labels: &Labels| discovery.take(row, metric, labels);
        answers.push(each_series(asker, &metric.name, window, series).await);
    }
    answers.into_iter().collect()
}
