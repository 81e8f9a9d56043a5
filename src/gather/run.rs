//! Running the calls: regions side by side, and inside a region what does not
//! wait for each other. One denied region or interface is a gap; nothing at
//! all is an error.

use super::machines::join;
use super::places::{Place, of_account, places};
use super::prices::{add_known_prices, prices_not_asked_for};
use super::quotes::{Asked, quotes};
use crate::domain::{
    ApiUsage, Cause, CauseKind, Commitments, DeviceUse, EstateSource, Gap, GapSubject, Gathered,
    Instance, PriceBook, Window,
};
use crate::sources::files::Recorder;
use crate::sources::{
    Account, Answer, Found, MetricAsk, MetricCalls, MetricServer, Readings, SourceError,
};
use crate::usage::{Estate, UsageBuilder, Usages};
use futures_util::StreamExt;
use futures_util::stream;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::BTreeSet;
use std::ops::Range;
use tokio::sync::Semaphore;

/// Regions of accounts that are read side by side.
const PLACES_AT_ONCE: usize = 32;
/// Calls for metrics at once in a region of an account, whose quota they share.
const CALLS_AT_ONCE: usize = 4;
/// The same in all of them: each answer is held in memory until its turn.
const MOST_CALLS_AT_ONCE: usize = 32;
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

/// Regions that were read.
#[derive(Default)]
struct Fleet<'a> {
    /// What was found in all of them, region after region.
    found: Found,
    regions: Vec<(&'a Place<'a>, Range<usize>)>,
}

impl<'a> Fleet<'a> {
    fn add(&mut self, place: &'a Place<'a>, found: Found) {
        let first = self.found.instances.len();
        self.found.instances.extend(found.instances);
        self.found.shapes.extend(found.shapes);
        self.found.clusters.add(found.clusters);
        let range = first..self.found.instances.len();
        self.regions.push((place, range));
    }

    /// Each region that has instances, with these.
    fn inhabited(&self) -> impl Iterator<Item = (&'a Place<'a>, &[Instance])> {
        let regions = self.regions.iter();
        let all = regions.map(|(place, own)| (*place, &self.found.instances[own.clone()]));
        all.filter(|(_, instances)| !instances.is_empty())
    }
}

/// Gathers an estate from accounts of any provider, and from servers that tell how
/// machines of any account are used. Series are reduced as they arrive;
/// with their points they go to a recorder, where one is given. `progress` is reported
/// what is going on.
///
/// # Errors
/// When no region could be read, or the calls would cost more than accepted.
pub async fn gather(
    accounts: &[Account],
    servers: &[MetricServer],
    options: &GatherOptions,
    recorder: Option<&mut Recorder>,
    progress: &dyn Fn(&str),
) -> Result<Estate, GatherError> {
    let places = places(accounts);
    let of_regions = places.iter().flat_map(|one| &one.connection.metrics);
    let sources = of_regions.chain(servers.iter().map(|server| &server.metrics));
    let periods = sources.map(|source| source.period_seconds(options.lookback));
    let period_seconds = periods.max().unwrap_or(USUAL_PERIOD_SECONDS);
    let window = Window::before(options.as_of, options.lookback, period_seconds)
        .map_err(GatherError::Window)?;
    let mut gaps = Vec::new();

    progress(&format!("instances in {} regions", places.len()));
    let fleet = inventories(&places, &mut gaps).await?;
    progress("shapes and metrics");
    let grid = (window, period_seconds);
    let planned = planned(&fleet, servers, options, grid, &mut gaps).await;
    check_cost(&planned, options)?;

    let series: usize = planned.iter().map(|plan| plan.made.series).sum();
    progress(&format!("{series} metrics and prices"));
    let (measured, priced, committed) = tokio::join!(
        metrics(planned, grid, recorder),
        prices(&fleet, options, window),
        commitments(accounts, &fleet)
    );
    let mut book = priced.value;
    let (usage, uses) = measured.value;
    gaps.extend(measured.gaps);
    gaps.extend(priced.gaps);
    gaps.extend(committed.gaps);
    let Found {
        mut instances,
        shapes,
        mut clusters,
    } = fleet.found;
    add_known_prices(&mut book, &options.cache, &instances);
    if options.offline {
        gaps.extend(prices_not_asked_for(&book, &instances));
    }
    instances.sort_by(|left, right| left.id.cmp(&right.id));
    clusters.uses.extend(uses);
    clusters.sort();
    gaps.sort();
    gaps.dedup();
    let of_instances = instances.iter().map(|instance| &instance.account);
    let ids: BTreeSet<String> = accounts
        .iter()
        .map(|account| &account.id)
        .chain(of_instances)
        // The account of a machine that only its cluster shows is not known.
        .filter(|id| !id.is_empty())
        .cloned()
        .collect();
    let names = places.iter().map(|one| &one.connection.region);
    // A cluster of which no machine is known is in no region.
    let names = names.filter(|name| !name.is_empty()).cloned();
    let names: BTreeSet<String> = names.collect();
    let mut api = ApiUsage::default();
    let of_accounts = accounts.iter().map(|account| &account.meter);
    for meter in of_accounts.chain(servers.iter().map(|server| &server.meter)) {
        api.add(meter());
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
        usage,
        metrics: Vec::new(),
        profiles: Vec::new(),
        clusters,
        prices: book,
        commitments: committed.value,
        gaps,
        api,
    })
}

async fn inventories<'a>(
    places: &'a [Place<'a>],
    gaps: &mut Vec<Gap>,
) -> Result<Fleet<'a>, GatherError> {
    let answers: Vec<_> = stream::iter(places)
        .map(|place| async move { (place, place.connection.inventory.resources().await) })
        .buffered(PLACES_AT_ONCE)
        .collect()
        .await;
    let mut read = Vec::with_capacity(answers.len());
    let mut first_error = None;
    for (place, answer) in answers {
        match answer {
            Ok(found) => {
                gaps.extend(place.named(found.gaps));
                read.push((place, found.value));
            }
            Err(error) => {
                let cause = error.cause_of(CauseKind::CallFailed, "");
                gaps.push(Gap::of(GapSubject::Region, place.name.as_str(), cause));
                first_error.get_or_insert(error);
            }
        }
    }
    let regions = read.iter_mut();
    let regions = regions.map(|(place, found)| {
        let one = place.connection;
        ((one.provider, one.region.as_str()), found)
    });
    let mut regions: Vec<_> = regions.collect();
    gaps.extend(join(&mut regions));
    let mut fleet = Fleet::default();
    for (place, found) in read {
        fleet.add(place, found);
    }
    match first_error {
        Some(first) if fleet.regions.is_empty() => Err(GatherError::EveryRegion {
            regions: places.len(),
            first,
        }),
        _ => Ok(fleet),
    }
}

/// Calls that tell how machines were used, and of which region; absent for those of a
/// server.
struct Planned<'a> {
    place: Option<&'a Place<'a>>,
    made: MetricCalls<'a>,
}

/// The calls that tell how machines were used.
async fn planned<'a>(
    fleet: &'a Fleet<'_>,
    servers: &'a [MetricServer],
    options: &GatherOptions,
    (window, period_seconds): (Window, u32),
    gaps: &mut Vec<Gap>,
) -> Vec<Planned<'a>> {
    if !options.metrics {
        gaps.extend(fleet.inhabited().map(|(place, _)| {
            let cause = Cause::of(CauseKind::MetricsNotAsked, []);
            Gap::of(GapSubject::Metrics, place.name.as_str(), cause)
        }));
        return Vec::new();
    }
    let ask = |instances| MetricAsk {
        instances,
        shapes: &fleet.found.shapes,
        window,
        period_seconds,
    };
    let of_regions = fleet.inhabited().flat_map(|(place, instances)| {
        let sources = place.connection.metrics.iter();
        sources.map(move |source| (Some(place), source, ask(instances)))
    });
    let all = &fleet.found.instances;
    let of_fleet = servers.iter().filter(|_| !all.is_empty());
    let of_fleet = of_fleet.map(|server| (None, &server.metrics, ask(all)));
    let asks = of_regions.chain(of_fleet);
    let asks = asks.map(|(place, source, ask)| async move { (place, source.plan(ask).await) });
    let answers: Vec<_> = stream::iter(asks).buffered(PLACES_AT_ONCE).collect().await;
    let mut planned = Vec::with_capacity(answers.len());
    for (place, answer) in answers {
        gaps.extend(match place {
            Some(place) => place.named(answer.gaps),
            None => answer.gaps,
        });
        planned.push(Planned {
            place,
            made: answer.value,
        });
    }
    planned
}

fn check_cost(planned: &[Planned<'_>], options: &GatherOptions) -> Result<(), GatherError> {
    let cost_usd: Decimal = planned.iter().map(|plan| plan.made.cost_usd).sum();
    match options.max_api_cost_usd {
        Some(accepted_usd) if cost_usd > accepted_usd => Err(GatherError::TooExpensive {
            metrics: planned.iter().map(|plan| plan.made.series).sum(),
            cost_usd,
            accepted_usd,
        }),
        _ => Ok(()),
    }
}

/// A call in its turn among those of its region.
async fn in_turn(
    place: Option<&Place<'_>>,
    turns: &Semaphore,
    call: Answer<'_, Gathered<Readings>>,
) -> Gathered<Readings> {
    // It is never closed.
    let _turn = turns.acquire().await;
    let mut answer = call.await;
    if let Some(place) = place {
        answer.gaps = place.named(answer.gaps);
    }
    answer
}

/// Makes the calls, and lets their points go.
async fn metrics(
    planned: Vec<Planned<'_>>,
    (window, period_seconds): (Window, u32),
    mut recorder: Option<&mut Recorder>,
) -> Gathered<(Usages, Vec<DeviceUse>)> {
    let turns = planned.iter().map(|_| Semaphore::new(CALLS_AT_ONCE));
    let turns: Vec<Semaphore> = turns.collect();
    let at_once = (planned.len() * CALLS_AT_ONCE).clamp(1, MOST_CALLS_AT_ONCE);
    let plans = planned.into_iter().zip(&turns);
    let mut plans: Vec<_> = plans
        .map(|(plan, turns)| (plan.place, turns, plan.made.calls.into_iter()))
        .collect();
    // A few of every region by turns, so that none waits for the end of another.
    let mut calls = Vec::new();
    while !plans.is_empty() {
        plans.retain_mut(|(place, turns, rest)| {
            let next = rest.by_ref().take(CALLS_AT_ONCE);
            calls.extend(next.map(|call| in_turn(*place, turns, call)));
            !rest.as_slice().is_empty()
        });
    }
    let mut answers = stream::iter(calls).buffered(at_once);
    let mut usage = UsageBuilder::new(window, period_seconds);
    let mut aggregated = Usages::default();
    let mut uses = Vec::new();
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
            Readings::Uses(found) => uses.extend(found),
        }
    }
    let mut usage = usage.finish();
    usage.merge(aggregated, window, period_seconds);
    Gathered {
        value: (usage, uses),
        gaps,
    }
}

/// Prices of every region's types; what could not be read becomes gaps.
async fn prices(fleet: &Fleet<'_>, options: &GatherOptions, window: Window) -> Gathered<PriceBook> {
    if options.offline {
        return Gathered::default();
    }
    let read_on = options.as_of.to_zoned(jiff::tz::TimeZone::UTC).date();
    let asks = fleet.inhabited().filter_map(|(place, instances)| {
        Asked::of(place, instances, &fleet.found.shapes, (window, read_on))
    });
    quotes(asks.collect()).await
}

/// What the accounts committed to in every region, those without instances
/// included: what is not used is the most worth knowing.
async fn commitments(accounts: &[Account], fleet: &Fleet<'_>) -> Gathered<Commitments> {
    let regions = fleet.regions.iter();
    let of_regions = regions.filter_map(|(place, _)| {
        let source = place.connection.commitments.as_ref()?;
        Some(async move {
            let mut found = source.commitments().await;
            found.gaps = place.named(found.gaps);
            found
        })
    });
    let of_accounts = accounts.iter().filter_map(|account| {
        let source = account.commitments.as_ref()?;
        Some(async move {
            let mut found = source.commitments().await;
            found.gaps = of_account(account, accounts, found.gaps);
            found
        })
    });
    let of_regions = stream::iter(of_regions).buffered(PLACES_AT_ONCE);
    let of_accounts = stream::iter(of_accounts).buffered(PLACES_AT_ONCE);
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
