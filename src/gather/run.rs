//! Running the calls: regions side by side, and inside a region what does not
//! wait for each other. One denied region or interface is a gap; nothing at
//! all is an error.

use super::plan::{MetricsPlan, batches, plan_metrics};
use super::prices::{add_known_prices, prices, prices_not_asked_for};
use crate::catalog::known_shape;
use crate::domain::{
    Cause, CauseKind, Commitments, EstateSource, FailureKind, Gap, GapSubject, Instance,
    InstanceShape, PriceBook, Window,
};
use crate::sources::aws::{
    self, AwsError, AwsOptions, MetricQuery, MetricValues, RegionClients, Session,
};
use crate::sources::files::Recorder;
use crate::usage::{Estate, Points, Series, UsageBuilder, Usages};
use futures_util::StreamExt;
use futures_util::stream;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// Regions at once.
pub(super) const REGIONS_AT_ONCE: usize = 8;
/// GetMetricData calls at once.
const BATCHES_AT_ONCE: usize = 4;
/// Up to this far back CloudWatch keeps periods of five minutes.
const FIVE_MINUTES_KEPT: SignedDuration = SignedDuration::from_hours(63 * 24);

/// What to gather.
#[derive(Debug, Clone)]
pub struct GatherOptions {
    /// How to reach AWS.
    pub aws: AwsOptions,
    /// The regions; `None` for every one that the account has enabled.
    pub regions: Option<Vec<String>>,
    /// The end of the window.
    pub as_of: Timestamp,
    /// Its length.
    pub lookback: SignedDuration,
    /// Whether to ask CloudWatch at all.
    pub metrics: bool,
    /// The namespace that the CloudWatch agent publishes under.
    pub agent_namespace: String,
    /// Whether to take bundled prices without asking.
    pub offline: bool,
    /// Highest accepted price of the calls, in USD.
    pub max_api_cost_usd: Option<Decimal>,
    /// Prices of the user's cache that are not older than the bundled ones, for
    /// what the account does not answer.
    pub cache: PriceBook,
}

/// Why there is no estate.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// A call that everything depends on failed.
    #[error(transparent)]
    Aws(#[from] AwsError),
    /// Not one region could be read.
    #[error("no region could be read ({regions} tried)")]
    EveryRegion {
        /// How many were tried.
        regions: usize,
        /// Why the first one failed.
        #[source]
        first: AwsError,
    },
    /// The calls would cost more than accepted.
    #[error(
        "requesting {metrics} metrics would cost about USD {cost_usd}, more than the limit \
         of {accepted_usd}"
    )]
    TooExpensive {
        /// Metrics in the plan.
        metrics: usize,
        /// Their estimated price.
        cost_usd: Decimal,
        /// The limit.
        accepted_usd: Decimal,
    },
    /// The window is out of range.
    #[error("the window is out of range")]
    Window(#[source] jiff::Error),
}

/// One region on its way through the phases.
pub(super) struct Region {
    pub(super) clients: RegionClients,
    pub(super) instances: Vec<Instance>,
    pub(super) shapes: BTreeMap<String, InstanceShape>,
    plan: MetricsPlan,
    gaps: Vec<Gap>,
}

/// Gathers an estate from an AWS account. Series are reduced as they arrive; with their
/// points they go to a recorder, where one is given. `progress` is reported what is going
/// on.
///
/// # Errors
/// When there are no usable credentials, no region could be read, or the calls
/// would cost more than accepted.
pub async fn gather(
    options: &GatherOptions,
    recorder: Option<&mut Recorder>,
    progress: &dyn Fn(&str),
) -> Result<Estate, GatherError> {
    let period_seconds = if options.lookback <= FIVE_MINUTES_KEPT {
        300
    } else {
        3_600
    };
    let window = Window::before(options.as_of, options.lookback, period_seconds)
        .map_err(GatherError::Window)?;
    progress("credentials");
    let session = Session::connect(&options.aws).await?;
    let identity = session.identity().await?;
    let mut gaps = Vec::new();
    let names = region_names(&session, options.regions.as_deref(), &mut gaps).await?;

    progress(&format!("instances in {} regions", names.len()));
    let mut regions = inventories(&session, &names, &mut gaps).await?;
    progress("shapes and metrics");
    regions = stream::iter(regions)
        .map(|region| discovered(region, options, window, period_seconds))
        .buffered(REGIONS_AT_ONCE)
        .collect()
        .await;
    check_cost(&regions, options)?;

    let queries: usize = regions.iter().map(|region| region.plan.queries.len()).sum();
    progress(&format!("{queries} metrics and prices"));
    let read_on = options.as_of.to_zoned(jiff::tz::TimeZone::UTC).date();
    let (measured, priced, (commitments, commitment_gaps)) = tokio::join!(
        metrics(&regions, (window, period_seconds), recorder),
        prices(&session, &regions, options, window, read_on),
        commitments(&session, &regions, &identity.account)
    );
    let (usage, metric_gaps) = measured;
    let (mut book, price_gaps) = priced;
    gaps.extend(metric_gaps);
    gaps.extend(price_gaps);
    gaps.extend(commitment_gaps);
    let mut instances = Vec::new();
    let mut shapes = BTreeMap::new();
    for region in regions {
        gaps.extend(region.gaps);
        gaps.extend(region.plan.gaps);
        instances.extend(region.instances);
        shapes.extend(region.shapes);
    }
    add_known_prices(&mut book, &options.cache, &instances);
    if options.offline {
        gaps.extend(prices_not_asked_for(&book, &instances));
    }
    instances.sort_by(|left, right| left.id.cmp(&right.id));
    gaps.sort();
    gaps.dedup();
    let mut accounts: BTreeSet<String> = instances
        .iter()
        .map(|instance| instance.account.clone())
        .collect();
    accounts.insert(identity.account);
    Ok(Estate {
        as_of: options.as_of,
        window,
        source: EstateSource::Aws,
        accounts: accounts.into_iter().collect(),
        regions: names,
        period_seconds,
        instances,
        tag_filters: Vec::new(),
        out_of_scope: Vec::new(),
        shapes,
        usage,
        metrics: Vec::new(),
        profiles: Vec::new(),
        prices: book,
        commitments,
        gaps,
        api: session.usage(),
    })
}

pub(super) async fn region_names(
    session: &Session,
    asked: Option<&[String]>,
    gaps: &mut Vec<Gap>,
) -> Result<Vec<String>, AwsError> {
    if let Some(regions) = asked {
        let unique: BTreeSet<String> = regions.iter().cloned().collect();
        return Ok(unique.into_iter().collect());
    }
    match session.enabled_regions().await {
        Ok(regions) => Ok(regions),
        Err(error) if error.kind == FailureKind::Denied => {
            let home = session.home_region().to_owned();
            let cause = error.cause_of(CauseKind::RegionsNotListed, &home);
            gaps.push(Gap::of(GapSubject::Regions, "account", cause));
            Ok(vec![home])
        }
        Err(error) => Err(error),
    }
}

async fn inventories(
    session: &Session,
    names: &[String],
    gaps: &mut Vec<Gap>,
) -> Result<Vec<Region>, GatherError> {
    let answers: Vec<_> = stream::iter(names)
        .map(|name| async {
            let clients = session.in_region(name);
            let found = aws::inventory(&clients).await;
            (clients, found)
        })
        .buffered(REGIONS_AT_ONCE)
        .collect()
        .await;
    let mut regions = Vec::new();
    let mut first_error = None;
    for (clients, answer) in answers {
        match answer {
            Ok(mut found) => {
                aws::idle_storage_resources(&clients, &mut found).await;
                regions.push(Region {
                    clients,
                    instances: found.instances,
                    shapes: BTreeMap::new(),
                    plan: MetricsPlan::default(),
                    gaps: found.gaps,
                });
            }
            Err(error) => {
                let cause = error.cause_of(CauseKind::CallFailed, "");
                gaps.push(Gap::of(GapSubject::Region, &clients.region, cause));
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(first) if regions.is_empty() => Err(GatherError::EveryRegion {
            regions: names.len(),
            first,
        }),
        _ => Ok(regions),
    }
}

/// Adds shapes and the plan of metric queries to a region.
async fn discovered(
    mut region: Region,
    options: &GatherOptions,
    window: Window,
    period_seconds: u32,
) -> Region {
    if region.instances.is_empty() {
        return region;
    }
    let types: BTreeSet<String> = region
        .instances
        .iter()
        .map(|instance| instance.instance_type.clone())
        .collect();
    let types: Vec<String> = types.into_iter().collect();
    let (shapes, metrics) = tokio::join!(aws::shapes(&region.clients, &types), async {
        if options.metrics {
            Some(aws::discover(&region.clients, &options.agent_namespace).await)
        } else {
            None
        }
    });
    let place = region.clients.region.clone();
    match shapes {
        Ok(shapes) => {
            region.shapes = shapes
                .into_iter()
                .map(|shape| (shape.instance_type.clone(), shape))
                .collect();
        }
        Err(error) => {
            let cause = error.cause_of(CauseKind::CallFailed, "the bundled catalog is used");
            region
                .gaps
                .push(Gap::of(GapSubject::InstanceTypes, &place, cause));
        }
    }
    match metrics {
        None => {
            let cause = Cause::of(CauseKind::MetricsNotAsked, []);
            region
                .gaps
                .push(Gap::of(GapSubject::Metrics, &place, cause));
        }
        Some(found) => {
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    let cause = error.cause_of(CauseKind::CallFailed, "");
                    region
                        .gaps
                        .push(Gap::of(GapSubject::Metrics, &place, cause));
                    if error.kind != FailureKind::Denied {
                        return region;
                    }
                    // CPU needs no discovery: it still tells how long each ran.
                    Vec::new()
                }
            };
            let visible = |instance: &Instance| {
                known_shape(&region.shapes, &instance.instance_type)
                    .and_then(|shape| shape.gpu.as_ref())
                    .map(|offer| offer.share.visible_devices())
            };
            region.plan = plan_metrics(
                &region.instances,
                window,
                visible,
                &found,
                &options.agent_namespace,
                period_seconds,
            );
        }
    }
    region
}

fn check_cost(regions: &[Region], options: &GatherOptions) -> Result<(), GatherError> {
    let metrics: usize = regions.iter().map(|region| region.plan.queries.len()).sum();
    let cost_usd = aws::metric_cost_usd(metrics as u64);
    match options.max_api_cost_usd {
        Some(accepted_usd) if cost_usd > accepted_usd => Err(GatherError::TooExpensive {
            metrics,
            cost_usd,
            accepted_usd,
        }),
        _ => Ok(()),
    }
}

async fn metrics(
    regions: &[Region],
    (window, period_seconds): (Window, u32),
    mut recorder: Option<&mut Recorder>,
) -> (Usages, Vec<Gap>) {
    let calls = regions.iter().flat_map(|region| {
        batches(region.plan.queries.clone(), &region.instances, window)
            .into_iter()
            .map(move |batch| (&region.clients, batch))
    });
    let mut answers = stream::iter(calls)
        .map(|(clients, batch)| async move {
            // Cleaned as it comes: raw points weigh four times as much.
            let answer = aws::fetch(clients, &batch, window).await;
            let series = answer.map(|values| to_series(&batch, values, window));
            (clients.region.clone(), batch.len(), series)
        })
        .buffered(BATCHES_AT_ONCE);
    let mut usage = UsageBuilder::new(window, period_seconds);
    let mut gaps = Vec::new();
    while let Some((region, asked, answer)) = answers.next().await {
        match answer {
            Ok(found) => {
                for series in found {
                    usage.add(&series);
                    if let Some(recorder) = &mut recorder {
                        recorder.add(&series);
                    }
                }
            }
            Err(error) => {
                let cause = error.cause_of(CauseKind::SeriesNotRead, &asked.to_string());
                gaps.push(Gap::of(GapSubject::Metrics, region, cause));
            }
        }
    }
    (usage.finish(), gaps)
}

/// What the account committed to in every region, those without instances
/// included: what nobody uses is the most worth knowing.
async fn commitments(
    session: &Session,
    regions: &[Region],
    account: &str,
) -> (Commitments, Vec<Gap>) {
    let asked = regions
        .iter()
        .any(|region| aws::has_savings_plans(&region.clients.region));
    let of_regions = stream::iter(regions)
        .map(|region| aws::region_commitments(&region.clients, account))
        .buffered(REGIONS_AT_ONCE)
        .collect::<Vec<_>>();
    let (of_regions, plans) = tokio::join!(of_regions, async {
        if asked {
            Some(aws::savings_plans(session).await)
        } else {
            None
        }
    });
    let mut all = Commitments::default();
    let mut gaps = Vec::new();
    for (found, unread) in of_regions.into_iter().chain(plans) {
        all.add(found);
        gaps.extend(unread);
    }
    (all, gaps)
}

fn to_series(queries: &[MetricQuery], values: Vec<MetricValues>, window: Window) -> Vec<Series> {
    queries
        .iter()
        .zip(values)
        .filter_map(|(query, raw)| {
            let (points, rejected) = Points::clean(
                raw,
                (query.metric, query.statistic),
                window,
                query.period_seconds,
            );
            // A series without any point is no series; one whose points were
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
    use crate::domain::Metric;

    #[test]
    fn series_without_points_are_dropped_and_bad_ones_kept_for_their_gap() {
        let window = Window {
            start: Timestamp::from_second(0).expect("in range"),
            end: Timestamp::from_second(3_000).expect("in range"),
        };
        let query = MetricQuery {
            instance: crate::domain::InstanceId::new("i-1"),
            gpu: Some(0),
            metric: Metric::GpuUtilization,
            statistic: crate::domain::Statistic::Average,
            period_seconds: 300,
            namespace: String::new(),
            name: "",
            dimensions: BTreeMap::new(),
            source: crate::domain::SeriesSource::CloudWatchAgent,
            joined_by: crate::domain::JoinedBy::InstanceId,
        };
        let queries = [query.clone(), query.clone(), query];
        let at = Timestamp::from_second(300).expect("in range");
        let values = vec![vec![], vec![(at, -1.0)], vec![(at, 7.0)]];
        let series = to_series(&queries, values, window);
        let figures: Vec<(usize, u64)> = series
            .iter()
            .map(|s| (s.points.len(), s.rejected.negative))
            .collect();
        assert_eq!(figures, [(0, 1), (1, 0)]);
    }
}
