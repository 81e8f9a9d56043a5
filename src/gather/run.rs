//! Running the calls: regions side by side, and inside a region what does not
//! wait for each other. One denied region or interface is a gap; nothing at
//! all is an error.

use super::prices::{add_known_prices, price_ask, prices_not_asked_for};
use crate::domain::{
    ApiUsage, Cause, CauseKind, Commitments, EstateSource, Gap, GapSubject, Gathered, PriceBook,
    Window,
};
use crate::sources::files::Recorder;
use crate::sources::{Account, Connection, Found, MetricAsk, MetricCalls, Readings, SourceError};
use crate::usage::{Estate, UsageBuilder, Usages};
use futures_util::StreamExt;
use futures_util::stream;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const REGIONS_AT_ONCE: usize = 8;
/// Calls for metrics at once.
const CALLS_AT_ONCE: usize = 4;
/// The grid where nothing is measured.
const USUAL_PERIOD_SECONDS: u32 = 300;

#[derive(Debug, Clone)]
pub struct GatherOptions {
    /// The end of the window.
    pub as_of: Timestamp,
    /// Its length.
    pub lookback: SignedDuration,
    /// Whether to ask how things are used at all.
    pub metrics: bool,
    /// Whether to take bundled prices without asking.
    pub offline: bool,
    /// Highest accepted price of the calls, in USD.
    pub max_api_cost_usd: Option<Decimal>,
    /// Prices of the user's cache that are not older than the bundled ones, for
    /// what nobody answers.
    pub cache: PriceBook,
}

#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// A call that everything depends on failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Not one region could be read.
    #[error("no region could be read ({regions} tried)")]
    EveryRegion {
        /// How many were tried.
        regions: usize,
        /// Why the first one failed.
        #[source]
        first: SourceError,
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

/// One region that was read.
struct Region<'a> {
    connection: &'a Connection,
    found: Found,
}

/// Gathers an estate from accounts of any provider. Series are reduced as they arrive;
/// with their points they go to a recorder, where one is given. `progress` is reported
/// what is going on.
///
/// # Errors
/// When no region could be read, or the calls would cost more than accepted.
pub async fn gather(
    accounts: &[Account],
    options: &GatherOptions,
    recorder: Option<&mut Recorder>,
    progress: &dyn Fn(&str),
) -> Result<Estate, GatherError> {
    let connections: Vec<&Connection> = accounts
        .iter()
        .flat_map(|account| &account.connections)
        .collect();
    let sources = connections.iter().flat_map(|one| &one.metrics);
    let periods = sources.map(|source| source.period_seconds(options.lookback));
    let period_seconds = periods.max().unwrap_or(USUAL_PERIOD_SECONDS);
    let window = Window::before(options.as_of, options.lookback, period_seconds)
        .map_err(GatherError::Window)?;
    let mut gaps = Vec::new();

    progress(&format!("instances in {} regions", connections.len()));
    let regions = inventories(&connections, &mut gaps).await?;
    progress("shapes and metrics");
    let planned = planned(&regions, options, (window, period_seconds), &mut gaps).await;
    check_cost(&planned, options)?;

    let series: usize = planned.iter().map(|plan| plan.series).sum();
    progress(&format!("{series} metrics and prices"));
    let (measured, priced, committed) = tokio::join!(
        metrics(planned, (window, period_seconds), recorder),
        prices(&regions, options, window),
        commitments(accounts, &regions)
    );
    let mut book = priced.value;
    gaps.extend(measured.gaps);
    gaps.extend(priced.gaps);
    gaps.extend(committed.gaps);
    let mut instances = Vec::new();
    let mut shapes = BTreeMap::new();
    for Region { found, .. } in regions {
        instances.extend(found.instances);
        shapes.extend(found.shapes);
    }
    add_known_prices(&mut book, &options.cache, &instances);
    if options.offline {
        gaps.extend(prices_not_asked_for(&book, &instances));
    }
    instances.sort_by(|left, right| left.id.cmp(&right.id));
    gaps.sort();
    gaps.dedup();
    let of_instances = instances.iter().map(|instance| &instance.account);
    let ids: BTreeSet<String> = accounts
        .iter()
        .map(|account| &account.id)
        .chain(of_instances)
        .cloned()
        .collect();
    let names: BTreeSet<String> = connections.iter().map(|one| one.region.clone()).collect();
    let mut api = ApiUsage::default();
    for account in accounts {
        api.add((account.meter)());
    }
    Ok(Estate {
        as_of: options.as_of,
        window,
        source: accounts
            .first()
            .map_or(EstateSource::Estate, |account| account.source),
        accounts: ids.into_iter().collect(),
        regions: names.into_iter().collect(),
        period_seconds,
        instances,
        tag_filters: Vec::new(),
        out_of_scope: Vec::new(),
        shapes,
        usage: measured.value,
        metrics: Vec::new(),
        profiles: Vec::new(),
        prices: book,
        commitments: committed.value,
        gaps,
        api,
    })
}

async fn inventories<'a>(
    connections: &[&'a Connection],
    gaps: &mut Vec<Gap>,
) -> Result<Vec<Region<'a>>, GatherError> {
    let answers: Vec<_> = stream::iter(connections)
        .map(|connection| async { (*connection, connection.inventory.resources().await) })
        .buffered(REGIONS_AT_ONCE)
        .collect()
        .await;
    let mut regions = Vec::new();
    let mut first_error = None;
    for (connection, answer) in answers {
        match answer {
            Ok(found) => {
                gaps.extend(found.gaps);
                regions.push(Region {
                    connection,
                    found: found.value,
                });
            }
            Err(error) => {
                let cause = error.cause_of(CauseKind::CallFailed, "");
                gaps.push(Gap::of(GapSubject::Region, &connection.region, cause));
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(first) if regions.is_empty() => Err(GatherError::EveryRegion {
            regions: connections.len(),
            first,
        }),
        _ => Ok(regions),
    }
}

/// The calls that tell how the machines of each region were used.
async fn planned<'a>(
    regions: &'a [Region<'_>],
    options: &GatherOptions,
    (window, period_seconds): (Window, u32),
    gaps: &mut Vec<Gap>,
) -> Vec<MetricCalls<'a>> {
    let read = regions.iter().filter(|one| !one.found.instances.is_empty());
    if !options.metrics {
        gaps.extend(read.map(|region| {
            let cause = Cause::of(CauseKind::MetricsNotAsked, []);
            Gap::of(GapSubject::Metrics, &region.connection.region, cause)
        }));
        return Vec::new();
    }
    let asks = read.flat_map(|region| {
        let ask = MetricAsk {
            found: &region.found,
            window,
            period_seconds,
        };
        let sources = region.connection.metrics.iter();
        sources.map(move |source| source.plan(ask))
    });
    let answers: Vec<_> = stream::iter(asks).buffered(REGIONS_AT_ONCE).collect().await;
    let mut planned = Vec::with_capacity(answers.len());
    for answer in answers {
        gaps.extend(answer.gaps);
        planned.push(answer.value);
    }
    planned
}

fn check_cost(planned: &[MetricCalls<'_>], options: &GatherOptions) -> Result<(), GatherError> {
    let cost_usd: Decimal = planned.iter().map(|plan| plan.cost_usd).sum();
    match options.max_api_cost_usd {
        Some(accepted_usd) if cost_usd > accepted_usd => Err(GatherError::TooExpensive {
            metrics: planned.iter().map(|plan| plan.series).sum(),
            cost_usd,
            accepted_usd,
        }),
        _ => Ok(()),
    }
}

/// Makes the calls, and lets their points go.
async fn metrics(
    planned: Vec<MetricCalls<'_>>,
    (window, period_seconds): (Window, u32),
    mut recorder: Option<&mut Recorder>,
) -> Gathered<Usages> {
    let calls = planned.into_iter().flat_map(|plan| plan.calls);
    let mut answers = stream::iter(calls).buffered(CALLS_AT_ONCE);
    let mut usage = UsageBuilder::new(window, period_seconds);
    let mut aggregated = Usages::default();
    let mut gaps = Vec::new();
    while let Some(answer) = answers.next().await {
        gaps.extend(answer.gaps);
        match answer.value {
            Readings::Series(found) => {
                for series in found {
                    usage.add(&series);
                    if let Some(recorder) = &mut recorder {
                        recorder.add(&series);
                    }
                }
            }
            Readings::Usage(found) => aggregated.merge(found, window, period_seconds),
        }
    }
    let mut value = usage.finish();
    value.merge(aggregated, window, period_seconds);
    Gathered { value, gaps }
}

/// Prices of every region's types; what could not be read becomes gaps.
async fn prices(
    regions: &[Region<'_>],
    options: &GatherOptions,
    window: Window,
) -> Gathered<PriceBook> {
    let mut all = Gathered::<PriceBook>::default();
    if options.offline {
        return all;
    }
    let read_on = options.as_of.to_zoned(jiff::tz::TimeZone::UTC).date();
    let asks: Vec<_> = regions
        .iter()
        .filter(|region| !region.found.instances.is_empty())
        .filter_map(|region| {
            let source = region.connection.prices.as_ref()?;
            let place = &region.connection.region;
            Some((source, price_ask(place, &region.found, window, read_on)))
        })
        .collect();
    let mut answers = stream::iter(&asks)
        .map(|(source, ask)| source.quotes(ask))
        .buffered(REGIONS_AT_ONCE);
    while let Some(answer) = answers.next().await {
        all.value.add(&answer.value);
        all.gaps.extend(answer.gaps);
    }
    all
}

/// What the accounts committed to in every region, those without instances
/// included: what nobody uses is the most worth knowing.
async fn commitments(accounts: &[Account], regions: &[Region<'_>]) -> Gathered<Commitments> {
    let of_regions = regions
        .iter()
        .filter_map(|one| one.connection.commitments.as_ref());
    let of_accounts = accounts.iter().filter_map(|one| one.commitments.as_ref());
    let of_regions = stream::iter(of_regions)
        .map(|source| source.commitments())
        .buffered(REGIONS_AT_ONCE);
    let of_accounts = stream::iter(of_accounts)
        .map(|source| source.commitments())
        .buffered(REGIONS_AT_ONCE);
    let (of_regions, of_accounts) = tokio::join!(
        of_regions.collect::<Vec<_>>(),
        of_accounts.collect::<Vec<_>>()
    );
    let mut all = Gathered::<Commitments>::default();
    for found in of_regions.into_iter().chain(of_accounts) {
        all.value.add(found.value);
        all.gaps.extend(found.gaps);
    }
    all
}
