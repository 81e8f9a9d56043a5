//! Running the calls: regions side by side, and inside a region what does not
//! wait for each other. One denied region or interface is a gap; nothing at
//! all is an error.

use super::plan::{MetricsPlan, batches, plan_metrics};
use crate::catalog::{bundled_quote, same_gpu_types};
use crate::domain::{
    Estate, EstateSource, Gap, GpuOffer, Instance, InstanceShape, OperatingSystem, PaymentOption,
    Points, PriceBook, PriceOption, PurchaseOption, Series, StorageResource, Window,
};
use crate::sources::aws::{
    self, AwsError, AwsOptions, MetricQuery, MetricValues, RegionClients, Session, WantedPrices,
};
use futures_util::StreamExt;
use futures_util::stream;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// Regions at once.
const REGIONS_AT_ONCE: usize = 8;
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
        "asking for {metrics} metrics would cost about USD {cost_usd}, more than the accepted {accepted_usd}"
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
struct Region {
    clients: RegionClients,
    instances: Vec<Instance>,
    shapes: BTreeMap<String, InstanceShape>,
    plan: MetricsPlan,
    gaps: Vec<Gap>,
}

/// Gathers an estate from an AWS account. `progress` is told what is going on.
///
/// # Errors
/// When there are no usable credentials, no region could be read, or the calls
/// would cost more than accepted.
pub async fn gather(
    options: &GatherOptions,
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
    let names = region_names(&session, options, &mut gaps).await?;

    progress(&format!("instances in {} regions", names.len()));
    let mut regions = inventories(&session, &names, &mut gaps).await?;
    progress("shapes and metrics");
    regions = stream::iter(regions)
        .map(|region| discovered(region, options, period_seconds))
        .buffered(REGIONS_AT_ONCE)
        .collect()
        .await;
    check_cost(&regions, options)?;

    let queries: usize = regions.iter().map(|region| region.plan.queries.len()).sum();
    progress(&format!("{queries} metrics and prices"));
    let read_on = options.as_of.to_zoned(jiff::tz::TimeZone::UTC).date();
    let (measured, priced) = tokio::join!(
        metrics(&regions, window),
        prices(&session, &regions, options, window, read_on)
    );
    let (series, metric_gaps) = measured;
    let (mut book, price_gaps) = priced;
    gaps.extend(metric_gaps);
    gaps.extend(price_gaps);
    let mut instances = Vec::new();
    let mut shapes = BTreeMap::new();
    for region in regions {
        gaps.extend(region.gaps);
        gaps.extend(region.plan.gaps);
        instances.extend(region.instances);
        shapes.extend(region.shapes);
    }
    add_bundled_prices(&mut book, &instances, &shapes);
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
        shapes,
        metrics: series,
        prices: book,
        gaps,
        api: session.usage(),
    })
}

async fn region_names(
    session: &Session,
    options: &GatherOptions,
    gaps: &mut Vec<Gap>,
) -> Result<Vec<String>, AwsError> {
    if let Some(regions) = &options.regions {
        let unique: BTreeSet<String> = regions.iter().cloned().collect();
        return Ok(unique.into_iter().collect());
    }
    match session.enabled_regions().await {
        Ok(regions) => Ok(regions),
        Err(error) if error.kind == aws::ErrorKind::Denied => {
            let home = session.home_region().to_owned();
            gaps.push(Gap::new(
                "regions",
                "account",
                format!("{error}; only {home} is audited"),
                format!("{}, or name them with `--region`", error.hint()),
            ));
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
                aws::standing_resources(&clients, &mut found).await;
                regions.push(Region {
                    clients,
                    instances: found.instances,
                    shapes: BTreeMap::new(),
                    plan: MetricsPlan::default(),
                    gaps: found.gaps,
                });
            }
            Err(error) => {
                gaps.push(Gap::new(
                    "region",
                    &clients.region,
                    error.to_string(),
                    error.hint(),
                ));
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
async fn discovered(mut region: Region, options: &GatherOptions, period_seconds: u32) -> Region {
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
        Err(error) => region.gaps.push(Gap::new(
            "instance types",
            &place,
            format!("{error}; the bundled catalog is used"),
            error.hint(),
        )),
    }
    match metrics {
        None => region.gaps.push(Gap::new(
            "metrics",
            &place,
            "not asked for",
            "run without `--metrics-source none`",
        )),
        Some(found) => {
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    let gap = Gap::new("metrics", &place, error.to_string(), error.hint());
                    region.gaps.push(gap);
                    if error.kind != aws::ErrorKind::Denied {
                        return region;
                    }
                    // CPU needs no discovery: it still tells how long each ran.
                    Vec::new()
                }
            };
            let visible = |instance: &Instance| {
                offer(&region.shapes, &instance.instance_type)
                    .map(|offer| offer.share.visible_devices())
            };
            region.plan = plan_metrics(
                &region.instances,
                visible,
                &found,
                &options.agent_namespace,
                period_seconds,
            );
        }
    }
    region
}

fn offer<'a>(
    shapes: &'a BTreeMap<String, InstanceShape>,
    instance_type: &str,
) -> Option<&'a GpuOffer> {
    shapes
        .get(instance_type)
        .or_else(|| crate::catalog::shape(instance_type))?
        .gpu
        .as_ref()
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

async fn metrics(regions: &[Region], window: Window) -> (Vec<Series>, Vec<Gap>) {
    let calls = regions.iter().flat_map(|region| {
        batches(region.plan.queries.clone(), &region.instances, window)
            .into_iter()
            .map(move |batch| (&region.clients, batch))
    });
    let answers: Vec<_> = stream::iter(calls)
        .map(|(clients, batch)| async move {
            // Cleaned as it comes: raw points weigh four times as much.
            let answer = aws::fetch(clients, &batch, window).await;
            let series = answer.map(|values| to_series(&batch, values, window));
            (clients.region.clone(), batch.len(), series)
        })
        .buffered(BATCHES_AT_ONCE)
        .collect()
        .await;
    let mut series = Vec::new();
    let mut gaps = Vec::new();
    for (region, asked, answer) in answers {
        match answer {
            Ok(found) => series.extend(found),
            Err(error) => gaps.push(Gap::new(
                "metrics",
                region,
                format!("{error}; {asked} series are missing"),
                error.hint(),
            )),
        }
    }
    (series, gaps)
}

fn to_series(queries: &[MetricQuery], values: Vec<MetricValues>, window: Window) -> Vec<Series> {
    queries
        .iter()
        .zip(values)
        .filter_map(|(query, raw)| {
            let (points, rejected) = Points::clean(raw, query.metric, window, query.period_seconds);
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

async fn prices(
    session: &Session,
    regions: &[Region],
    options: &GatherOptions,
    window: Window,
    read_on: Date,
) -> (PriceBook, Vec<Gap>) {
    if options.offline {
        return (PriceBook::default(), Vec::new());
    }
    let answers: Vec<_> = stream::iter(regions)
        .filter(|region| std::future::ready(!region.instances.is_empty()))
        .map(|region| region_prices(session, region, window, read_on))
        .buffered(REGIONS_AT_ONCE)
        .collect()
        .await;
    let mut book = PriceBook::default();
    let mut gaps = Vec::new();
    for (prices, region_gaps) in answers {
        for (key, quote) in prices.iter() {
            book.insert(key.clone(), quote.clone());
        }
        for (region, resource, quote) in prices.iter_storage() {
            book.insert_storage(region, resource, quote.clone());
        }
        gaps.extend(region_gaps);
    }
    (book, gaps)
}

async fn region_prices(
    session: &Session,
    region: &Region,
    window: Window,
    read_on: Date,
) -> (PriceBook, Vec<Gap>) {
    let mut book = PriceBook::default();
    let mut gaps = Vec::new();
    let place = &region.clients.region;
    for wanted in wanted_prices(region) {
        match aws::on_demand_prices(session, &wanted, read_on).await {
            Ok(found) => {
                let found_types: BTreeSet<String> = found
                    .iter()
                    .map(|(key, _)| key.instance_type.clone())
                    .collect();
                for (key, quote) in found {
                    book.insert(key, quote);
                }
                let missing = missing_types(region, &wanted, &found_types);
                if !missing.is_empty() {
                    gaps.push(Gap::new(
                        "live price",
                        place,
                        format!(
                            "the price list has none for {}; the bundled book is used where it \
                             has one",
                            missing.join(", ")
                        ),
                        "the type may be sold by Capacity Block only",
                    ));
                }
            }
            Err(error) => gaps.push(Gap::new(
                "live prices",
                place,
                format!("{error}; the bundled book is used where it has a price"),
                error.hint(),
            )),
        }
    }
    for (operating_system, types) in spot_types(region) {
        match aws::spot_prices(&region.clients, operating_system, &types, window).await {
            Ok(found) => {
                for (key, quote) in found {
                    book.insert(key, quote);
                }
            }
            Err(error) => gaps.push(Gap::new(
                "spot prices",
                place,
                format!("{error}; the bundled average is used where there is one"),
                error.hint(),
            )),
        }
    }
    let resources = standing_resources(region);
    if !resources.is_empty() {
        match aws::storage_prices(session, place, &resources).await {
            Ok(found) => {
                for (resource, quote) in found {
                    book.insert_storage(place, resource, quote);
                }
            }
            Err(error) => gaps.push(Gap::new(
                "storage prices",
                place,
                error.to_string(),
                error.hint(),
            )),
        }
    }
    (book, gaps)
}

/// Types in use and the ones they could move to, by system and tenancy.
fn wanted_prices(region: &Region) -> Vec<WantedPrices> {
    let mut wanted: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for instance in &region.instances {
        let types = wanted
            .entry((instance.operating_system, instance.tenancy))
            .or_default();
        types.insert(instance.instance_type.clone());
        if let Some(offer) = offer(&region.shapes, &instance.instance_type) {
            types.extend(same_gpu_types(offer).map(|shape| shape.instance_type.clone()));
        }
    }
    wanted
        .into_iter()
        .map(|((operating_system, tenancy), types)| WantedPrices {
            region: region.clients.region.clone(),
            operating_system,
            tenancy,
            instance_types: types.into_iter().collect(),
        })
        .collect()
}

/// Types that run on demand and that the price list did not know.
fn missing_types(region: &Region, wanted: &WantedPrices, found: &BTreeSet<String>) -> Vec<String> {
    let in_use: BTreeSet<&String> = region
        .instances
        .iter()
        .filter(|instance| {
            instance.state.is_running()
                && instance.operating_system == wanted.operating_system
                && instance.tenancy == wanted.tenancy
                && instance.purchase_option() == PurchaseOption::OnDemand
        })
        .map(|instance| &instance.instance_type)
        .collect();
    in_use
        .into_iter()
        .filter(|name| !found.contains(*name))
        .cloned()
        .collect()
}

fn spot_types(region: &Region) -> BTreeMap<OperatingSystem, Vec<String>> {
    let mut types: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for instance in &region.instances {
        if instance.state.is_running() && instance.purchase_option() == PurchaseOption::Spot {
            types
                .entry(instance.operating_system)
                .or_default()
                .insert(instance.instance_type.clone());
        }
    }
    types
        .into_iter()
        .map(|(key, types)| (key, types.into_iter().collect()))
        .collect()
}

/// What stopped instances still pay for in the region.
fn standing_resources(region: &Region) -> Vec<StorageResource> {
    let stopped = || region.instances.iter().filter(|i| !i.state.is_running());
    let mut resources: BTreeSet<StorageResource> = stopped()
        .flat_map(|instance| &instance.volumes)
        .filter_map(|volume| StorageResource::from_name(volume.volume_type.as_deref()?))
        .collect();
    if stopped().any(|instance| !instance.addresses.is_empty()) {
        resources.insert(StorageResource::PublicIpv4);
    }
    resources.into_iter().collect()
}

/// Copies the bundled prices that figures may rest on into the estate, so that
/// a recorded one gives the same answer under a later book.
fn add_bundled_prices(
    book: &mut PriceBook,
    instances: &[Instance],
    shapes: &BTreeMap<String, InstanceShape>,
) {
    for instance in instances {
        let Some(key) = crate::analysis::price_key(instance) else {
            continue;
        };
        let on_demand = key.with_option(PriceOption::OnDemand);
        let one_year = key.with_option(PriceOption::Reserved {
            term_years: 1,
            payment: PaymentOption::NoUpfront,
        });
        let mut keys = vec![key.in_zone(None), on_demand.clone(), one_year];
        if let Some(offer) = offer(shapes, &instance.instance_type) {
            keys.extend(
                same_gpu_types(offer).map(|shape| on_demand.with_type(&shape.instance_type)),
            );
        }
        for key in keys {
            if let Some(quote) = bundled_quote(&key) {
                book.insert(key, quote);
            }
        }
    }
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
