//! Running the calls: regions side by side, and inside a region what does not
//! wait for each other. One denied region or interface is a gap; nothing at
//! all is an error.

use super::history::{Days, OtherPeriods, RolledUp, check};
use super::machines::{join, once};
use super::measured::{Grid, Home, Measured, Planned, Refine, complete, measured, planned};
use super::prices::{add_known_prices, job_price_ask, price_ask, prices_not_asked_for};
use super::quotes::{QuoteQuery, quotes};
use super::{PLACES_AT_ONCE, Place, of_account, places};
use crate::catalog::known_shape;
use crate::domain::{
    AwsAdvice, AwsOpinion, Cause, CauseKind, Commitments, EstateSource, Gap, GapSubject, Gathered,
    Instance, PriceBook, ResourceId, TrainingJob, Window,
};
use crate::files::{History, HistoryError, Recorder};
use crate::usage::Estate;
use crate::{
    Account, Answer, ByTheHour, Detail, Found, Known, MetricRequest, MetricServer, SourceError,
};
use futures_util::{FutureExt, StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

/// The grid where nothing is measured.
const USUAL_PERIOD_SECONDS: u32 = 300;
const HOUR_SECONDS: u32 = 3_600;
/// Regions of which jobs are listed side by side.
const REGIONS_OF_JOBS: usize = 8;

#[derive(Debug, Clone)]
pub struct GatherOptions {
    /// The end of the window.
    pub as_of: Timestamp,
    /// Its length.
    pub lookback: SignedDuration,
    /// Whether to ask how things are used at all.
    pub metrics: bool,
    /// Whether to ask for hours first where every source of metrics answers them, and not
    /// only where one of them needs it.
    pub hours_first: bool,
    /// Whether to take bundled prices without asking.
    pub offline: bool,
    /// Highest accepted price of the calls, in USD.
    pub max_api_cost_usd: Option<Decimal>,
    /// Prices of the user's cache that are not older than the bundled ones, for
    /// what nobody answers.
    pub cache: PriceBook,
    /// What is known of days that are over, which are not asked again; those that are asked
    /// are added to it. With it, nothing is read by the hour, and points are not recorded.
    pub history: Option<Rc<History>>,
    /// Roll-ups of an archive, which have what no service answers. With them, the window is from the
    /// first to the last of their days, and nothing is read by the hour.
    pub rollups: Option<Rc<History>>,
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
    /// Metrics are read in other periods than roll-ups have.
    #[error(transparent)]
    OtherPeriods(#[from] OtherPeriods),
    /// What is known of days that are over cannot be reached.
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// The grid to ask for, and what of it is known.
type What<'a> = (Grid, Option<&'a dyn Known>);

/// Regions that were read.
#[derive(Default)]
struct Fleet<'a> {
    /// What was found in all of them, region after region.
    found: Found,
    regions: Vec<(&'a Place<'a>, Range<usize>)>,
    mig_instances: BTreeMap<ResourceId, u32>,
}

impl<'a> Fleet<'a> {
    fn add(&mut self, place: &'a Place<'a>, of_place: Found) {
        let first = self.found.instances.len();
        self.found.instances.extend(of_place.instances);
        self.found.shapes.extend(of_place.shapes);
        self.found.clusters.add(of_place.clusters);
        self.mig_instances = self.found.clusters.mig_instances();
        self.found.scaling_groups.extend(of_place.scaling_groups);
        self.found.managed.add(of_place.managed);
        self.regions.push((place, first..self.found.instances.len()));
    }

    /// GPUs of everything that may have run in a window, as far as their types are known.
    fn gpus(&self, window: Window) -> u64 {
        let may_have_run = |instance: &&Instance| instance.may_have_run_after(window.start);
        let offers = self.found.instances.iter().filter(may_have_run).filter_map(|instance| {
            known_shape(&self.found.shapes, &instance.instance_type)?.gpu.as_ref()
        });
        offers.map(|offer| u64::from(offer.share.visible_devices())).sum()
    }

    /// Each region that has instances, with these.
    fn inhabited(&self) -> impl Iterator<Item = (&'a Place<'a>, &[Instance])> {
        let regions = self.regions.iter();
        let places = regions.map(|(place, own)| (*place, &self.found.instances[own.clone()]));
        places.filter(|(_, instances)| !instances.is_empty())
    }

    /// The same, with the instances by id.
    fn homes(&self) -> Vec<Home<'a>> {
        self.inhabited()
            .map(|(place, own)| (place, own.iter().map(|instance| instance.id.clone()).collect()))
            .collect()
    }
}

/// Gathers an estate from accounts of any provider, and from servers that tell how
/// machines of any account are used. Series are reduced as they arrive;
/// with their points they go to a recorder, where one is given. `progress` is reported
/// what is going on. Where `refine` is given, every source of metrics answers by the hour,
/// and the options want it or a source needs it, hours are asked for first, in a window of
/// whole hours, and the grid only of the machines that it names.
///
/// # Errors
/// When no region could be read, or the calls would cost more than accepted.
pub async fn gather(
    accounts: &[Account],
    servers: &[MetricServer],
    options: &GatherOptions,
    mut recorder: Option<&mut Recorder>,
    refine: Option<Refine<'_>>,
    progress: &dyn Fn(&str),
) -> Result<Estate, GatherError> {
    let places = places(accounts);
    let of_regions = places.iter().flat_map(|place| &place.connection.metrics);
    let sources: Vec<_> = of_regions.chain(servers.iter().map(|server| &server.metrics)).collect();
    let periods = sources.iter().map(|source| source.period_seconds(options.lookback));
    let asked_seconds = periods.max().filter(|_| options.metrics || options.rollups.is_none());
    let period_seconds = asked_seconds.unwrap_or(USUAL_PERIOD_SECONDS);
    let is_read = options.metrics && options.history.is_none() && options.rollups.is_none();
    let is_finer = is_read && period_seconds < HOUR_SECONDS && !sources.is_empty();
    let before = |whole_seconds| {
        Window::before(options.as_of, options.lookback, whole_seconds).map_err(GatherError::Window)
    };
    let mut window = before(period_seconds)?;
    let mut gaps = Vec::new();

    progress(&format!("instances in {} regions", places.len()));
    let fleet = inventories(&places, &mut gaps).await?;
    let rolled = match &options.rollups {
        Some(rollups) => {
            progress("roll-ups");
            let rolled = RolledUp::find(rollups, &fleet.found.instances, window).await;
            if let Some(covered) = rolled.window() {
                window = covered;
                check((window, period_seconds))?;
            }
            Some(rolled)
        }
        None => None,
    };
    let gpus = fleet.gpus(window);
    let wishes = sources.iter().map(|source| source.by_the_hour(gpus));
    let refine = refine.filter(|_| is_finer && come_first(wishes, options.hours_first));
    if refine.is_some() {
        window = before(HOUR_SECONDS)?;
    }
    progress("shapes and metrics");
    let grid = (window, period_seconds);
    let days = options.history.as_deref().map(|history| Days::new(history, grid));
    if let Some(days) = &days {
        days.prepare(&fleet.found.instances).await;
    }
    let what = (grid, days.as_ref().map(|days| days as &dyn Known));
    let (plans, refine) = accepted(&fleet, servers, options, (what, refine), &mut gaps).await?;

    let series: usize = plans.iter().map(|plan| plan.made.series).sum();
    progress(&format!("{series} metrics and prices"));
    let (answered, (jobs, priced), committed, advised) = tokio::join!(
        measured(plans, grid, recorder.as_deref_mut()),
        jobs_and_prices(&fleet, options, window),
        commitments(accounts, &fleet),
        opinions(accounts)
    );
    let homes = fleet.homes();
    let Measured { mut usage, partial, uses, missing } = answered.leave_gaps(&mut gaps);
    if let Some(days) = days {
        let complete = days.complete(missing).await.leave_gaps(&mut gaps);
        usage.merge(complete, window, period_seconds);
    }
    let (mut jobs, mut book) = (jobs.leave_gaps(&mut gaps), priced.leave_gaps(&mut gaps));
    let (commitments, advice) = (committed.leave_gaps(&mut gaps), advised.leave_gaps(&mut gaps));
    let Found { mut instances, shapes, mut clusters, mut scaling_groups, mut managed } =
        fleet.found;
    add_known_prices(&mut book, &options.cache, &instances);
    if options.offline {
        gaps.extend(prices_not_asked_for(&book, &instances));
    }
    instances.sort_by(|left, right| left.id.cmp(&right.id));
    TrainingJob::sort(&mut jobs);
    managed.sort();
    scaling_groups.sort_by(|left, right| left.key().cmp(&right.key()));
    clusters.uses.extend(uses);
    clusters.sort();
    gaps.sort();
    gaps.dedup();
    let opinions = AwsOpinion::all_of(&instances, advice);
    let mut estate = Estate {
        source: accounts.first().map_or(EstateSource::Estate, |account| account.source),
        accounts: account_ids(accounts, &instances),
        period_seconds,
        instances,
        scaling_groups,
        opinions,
        shapes,
        usage,
        clusters,
        managed,
        jobs,
        commitments,
        as_of: options.as_of,
        window,
        regions: region_names(&places),
        prices: book,
        gaps,
        ..Estate::default()
    };
    if let Some(refine) = refine {
        let asked = (homes.as_slice(), servers);
        complete(&mut estate, asked, &partial, refine, recorder, progress).await;
    }
    if let Some(rolled) = rolled {
        rolled.add_to(&mut estate).await;
    }
    let of_accounts = accounts.iter().map(|account| &account.meter);
    for meter in of_accounts.chain(servers.iter().map(|server| &server.meter)) {
        estate.api.add(meter());
    }
    Ok(estate)
}

/// Whether hours are asked for first: where all sources answer them, and it is wished for or
/// one of them needs it.
fn come_first(wishes: impl Iterator<Item = ByTheHour>, is_wished: bool) -> bool {
    let wishes: BTreeSet<ByTheHour> = wishes.collect();
    !wishes.contains(&ByTheHour::Never) && (is_wished || wishes.contains(&ByTheHour::Needed))
}

/// Every account that is read or that owns an instance, ascending.
fn account_ids(accounts: &[Account], instances: &[Instance]) -> Vec<String> {
    let of_instances = instances.iter().map(|instance| &instance.account);
    let ids: BTreeSet<String> = accounts
        .iter()
        .map(|account| &account.id)
        .chain(of_instances)
        // The account of a machine that only its cluster shows is not known.
        .filter(|id| !id.is_empty())
        .cloned()
        .collect();
    ids.into_iter().collect()
}

/// Every region, once, ascending.
fn region_names(places: &[Place<'_>]) -> Vec<String> {
    let names = places.iter().map(|place| &place.connection.region);
    // A cluster of which no machine is known is in no region.
    let names: BTreeSet<String> = names.filter(|name| !name.is_empty()).cloned().collect();
    names.into_iter().collect()
}

async fn inventories<'a>(
    places: &'a [Place<'a>],
    gaps: &mut Vec<Gap>,
) -> Result<Fleet<'a>, GatherError> {
    let answers: Vec<_> = stream::iter(places)
        .map(|place| async move { (place, (place.connection.inventory)().await) })
        .buffered(PLACES_AT_ONCE)
        .collect()
        .await;
    let mut read = Vec::with_capacity(answers.len());
    let mut first_error = None;
    for (place, answer) in answers {
        match answer {
            Ok(Gathered { value: mut found, gaps: own }) => {
                gaps.extend(place.named(own));
                gaps.extend(place.named(once(&mut found, &place.connection.region)));
                read.push((place, found));
            }
            Err(error) => {
                gaps.push(error.gap(GapSubject::Region, place.name.as_str(), ""));
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
        Some(first) if fleet.regions.is_empty() => {
            Err(GatherError::EveryRegion { regions: places.len(), first })
        }
        _ => Ok(fleet),
    }
}

/// The calls to make within the accepted cost: by the hour, with what chooses the machines
/// to ask again about, or in full.
async fn accepted<'a, 'r>(
    fleet: &'a Fleet<'_>,
    servers: &'a [MetricServer],
    options: &GatherOptions,
    (what, refine): (What<'a>, Option<Refine<'r>>),
    gaps: &mut Vec<Gap>,
) -> Result<(Vec<Planned<'a>>, Option<Refine<'r>>), GatherError> {
    let limit = options.max_api_cost_usd;
    if let Some(refine) = refine {
        let hours = asked(fleet, servers, options, (what, Detail::Hours), gaps).await;
        // At the worst, everything is asked for a second time.
        if limit.is_none_or(|limit| cost_usd(&hours) * Decimal::TWO <= limit) {
            return Ok((hours, Some(refine)));
        }
    }
    let full = asked(fleet, servers, options, (what, Detail::Full), gaps).await;
    let cost_usd = cost_usd(&full);
    match limit {
        Some(accepted_usd) if cost_usd > accepted_usd => Err(GatherError::TooExpensive {
            metrics: full.iter().map(|plan| plan.made.series).sum(),
            cost_usd,
            accepted_usd,
        }),
        _ => Ok((full, None)),
    }
}

/// The calls that tell how machines were used.
async fn asked<'a>(
    fleet: &'a Fleet<'_>,
    servers: &'a [MetricServer],
    options: &GatherOptions,
    (((window, period_seconds), known), detail): (What<'a>, Detail),
    gaps: &mut Vec<Gap>,
) -> Vec<Planned<'a>> {
    if !options.metrics {
        gaps.extend(fleet.inhabited().map(|(place, _)| {
            let cause = Cause::of(CauseKind::MetricsNotAsked, []);
            Gap::of(GapSubject::Metrics, place.name.as_str(), cause)
        }));
        return Vec::new();
    }
    let ask = |instances| MetricRequest {
        fleet: instances,
        instances,
        shapes: &fleet.found.shapes,
        mig_instances: &fleet.mig_instances,
        window,
        period_seconds,
        detail,
        known: known.filter(|_| detail == Detail::Full),
    };
    let of_regions = fleet.inhabited().flat_map(|(place, instances)| {
        let sources = place.connection.metrics.iter();
        sources.map(move |source| (Some(place), source.as_ref(), ask(instances)))
    });
    let instances = &fleet.found.instances;
    let of_fleet = servers.iter().filter(|_| !instances.is_empty());
    let of_fleet = of_fleet.map(|server| (None, server.metrics.as_ref(), ask(instances)));
    planned(of_regions.chain(of_fleet), gaps).await
}

fn cost_usd(planned: &[Planned<'_>]) -> Decimal {
    planned.iter().map(|plan| plan.made.cost_usd).sum()
}

/// A region with its jobs.
type RegionJobs<'a> = (&'a Place<'a>, Vec<TrainingJob>);

/// Training jobs of every region that changed in a window, and prices of their types and of those
/// of instances.
async fn jobs_and_prices(
    fleet: &Fleet<'_>,
    options: &GatherOptions,
    window: Window,
) -> (Gathered<Vec<TrainingJob>>, Gathered<PriceBook>) {
    let asked = fleet.regions.iter().filter_map(|(place, _)| {
        let source = place.connection.jobs.as_ref()?;
        Some(async move { (*place, source(window).await) })
    });
    let mut answers = stream::iter(asked).buffered(REGIONS_OF_JOBS);
    let (mut jobs, mut gaps) = (Vec::new(), Vec::new());
    while let Some((place, answer)) = answers.next().await {
        gaps.extend(place.named(answer.gaps));
        jobs.push((place, answer.value));
    }
    let priced = prices(fleet, &jobs, options, window).await;
    (Gathered { value: jobs.into_iter().flat_map(|(_, own)| own).collect(), gaps }, priced)
}

/// Prices of every region's types; what could not be read becomes gaps.
async fn prices(
    fleet: &Fleet<'_>,
    jobs: &[RegionJobs<'_>],
    options: &GatherOptions,
    window: Window,
) -> Gathered<PriceBook> {
    if options.offline {
        return Gathered::default();
    }
    let dates = (window, options.as_of.to_zoned(jiff::tz::TimeZone::UTC).date());
    let of_instances = fleet.inhabited().filter_map(|(place, instances)| {
        let region = &place.connection.region;
        QuoteQuery::of(place, price_ask(region, instances, &fleet.found.shapes, dates), instances)
    });
    let of_jobs = jobs.iter().filter_map(|(place, own)| {
        QuoteQuery::of(place, job_price_ask(&place.connection.region, own, dates)?, &[])
    });
    quotes(of_instances.chain(of_jobs).collect()).await
}

/// What providers advise, by account.
async fn opinions(accounts: &[Account]) -> Gathered<Vec<AwsAdvice>> {
    let asked = accounts.iter().filter_map(|account| {
        let answer = account.opinions.as_ref()?();
        Some(named(answer, move |gaps| of_account(account, accounts, gaps)))
    });
    let mut answers = stream::iter(asked).buffered(PLACES_AT_ONCE);
    let mut gathered = Gathered::<Vec<AwsAdvice>>::default();
    while let Some(found) = answers.next().await {
        gathered.value.extend(found.leave_gaps(&mut gathered.gaps));
    }
    gathered
}

/// An answer whose gaps are in other places.
async fn named<T>(
    answer: Answer<'_, Gathered<T>>,
    name: impl FnOnce(Vec<Gap>) -> Vec<Gap>,
) -> Gathered<T> {
    let Gathered { value, gaps } = answer.await;
    Gathered { value, gaps: name(gaps) }
}

/// What the accounts committed to in every region, those without instances
/// included: what is not used is the most worth knowing.
async fn commitments(accounts: &[Account], fleet: &Fleet<'_>) -> Gathered<Commitments> {
    let of_regions = fleet.regions.iter().filter_map(|(place, _)| {
        let answer = place.connection.commitments.as_ref()?();
        Some(named(answer, move |gaps| place.named(gaps)).boxed_local())
    });
    let of_accounts = accounts.iter().filter_map(|account| {
        let answer = account.commitments.as_ref()?();
        Some(named(answer, move |gaps| of_account(account, accounts, gaps)).boxed_local())
    });
    let mut answers = stream::iter(of_regions.chain(of_accounts)).buffered(PLACES_AT_ONCE);
    let mut gathered = Gathered::<Commitments>::default();
    while let Some(found) = answers.next().await {
        gathered.value.add(found.leave_gaps(&mut gathered.gaps));
    }
    gathered
}
