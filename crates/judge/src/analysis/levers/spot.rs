//! The spot market for every workload, or for one type: prices by zone, what
//! interruptions cost, what is saved, and who may go there.

use crate::analysis::plan::EstateCommitments;
use crate::analysis::{Audit, AuditedWorkload};
use crate::catalog::{Prices, bundled_interruption_band};
use crate::domain::{
    ActionKind, Gap, InterruptionBand, Money, Policy, PriceKey, PriceOption, PriceQuote,
    PurchaseOption, Risk, SpotHistory, Workload, WorkloadKind,
};
use crate::savings::{
    Checkpointing, Ineligible, SkipReason, SpotCase, SpotFigures, is_launchable, nodes_of_job,
    spot_figures, spot_offer, spot_price,
};
use crate::usage::Estate;
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::sync::Arc;

/// What a job is, apart from its type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpotJob {
    pub kind: WorkloadKind,
    /// Whether somebody declared that it may be interrupted and restarted.
    pub restartable: bool,
    /// Instances that stop together.
    pub nodes: u32,
    pub checkpointing: Checkpointing,
    pub accepted: Risk,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ZonePrice {
    pub zone: String,
    /// Its time-weighted mean.
    pub quote: PriceQuote,
    /// What it did over the window, where the history was gathered.
    pub history: Option<SpotHistory>,
}

/// Spot for one job on one type in one region.
#[derive(Debug, Clone, PartialEq)]
pub struct SpotAssessment {
    /// Whose it is; absent for a type alone.
    pub workload: Option<Arc<Workload>>,
    /// What the prices are of.
    pub key: PriceKey,
    pub instances: usize,
    pub job: SpotJob,
    pub on_demand: Option<PriceQuote>,
    /// Prices by zone, ascending; empty where only one for the region is known.
    pub zones: Vec<ZonePrice>,
    /// How often instances of the type were interrupted, and when that was seen.
    pub band: Option<(InterruptionBand, Date)>,
    /// The arithmetic; absent without both prices.
    pub figures: Option<SpotFigures>,
    /// What the price alone saves a month; negative when spot is more expensive.
    pub naive_monthly_savings: Option<Money>,
    /// What is left of it after interruptions.
    pub effective_monthly_savings: Option<Money>,
    /// The risk of moving it, or why it does not move.
    pub eligibility: Result<Risk, String>,
    /// What would stop an engineer, of what the plan moves.
    pub caveats: Vec<String>,
}

impl SpotAssessment {
    /// Compute of its workload per month; absent when it is unpriced or not running.
    pub fn monthly_cost(&self) -> Option<Money> {
        Some(self.workload.as_ref()?.cost.as_ref()?.compute_monthly)
    }

    /// The days on which the prices were seen.
    pub fn seen_on(&self) -> impl Iterator<Item = Date> {
        let spot = self.figures.iter().map(|figures| figures.spot.seen_on);
        self.on_demand.iter().map(|quote| quote.seen_on).chain(spot)
    }
}

/// Spot for every workload of an estate.
#[derive(Debug, Clone, PartialEq)]
pub struct SpotReport {
    /// The instant it describes.
    pub as_of: Timestamp,
    /// Whether it is about today's fleet, and not about what a plan leaves of it.
    pub is_today: bool,
    /// By effective saving, largest first; those that may not move after them, by
    /// cost; then by id.
    pub assessments: Vec<SpotAssessment>,
    /// What could not be seen, in order.
    pub gaps: Vec<Gap>,
}

impl SpotReport {
    /// The oldest day on which a price behind a figure was seen.
    pub fn oldest_seen_on(&self) -> Option<Date> {
        self.assessments.iter().flat_map(SpotAssessment::seen_on).min()
    }
}

/// What the spot market is judged by.
#[derive(Clone, Copy)]
struct Market<'a> {
    prices: &'a Prices<'a>,
    policy: &'a Policy,
}

/// Spot for one type, by prices alone: the job runs all hours of a month.
pub fn assess_type(
    key: &PriceKey,
    job: SpotJob,
    prices: &Prices<'_>,
    policy: &Policy,
) -> SpotAssessment {
    let hours = policy.hours_per_month * Decimal::from(job.nodes);
    assess(key, job, (job.nodes as usize, hours), Market { prices, policy })
}

/// Spot for every workload as the plan of an audit leaves it. What moves, and what that
/// saves, is what the plan says.
pub fn planned_spot(audit: &Audit, estate: &Estate, policy: &Policy) -> SpotReport {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let market = Market { prices: &prices, policy };
    let assessments = audit.workloads.iter();
    let mut assessments: Vec<SpotAssessment> =
        assessments.map(|audited| planned(audited, audit.accepted, market)).collect();
    sort(&mut assessments);
    SpotReport { as_of: audit.as_of, is_today: false, assessments, gaps: audit.gaps.clone() }
}

fn planned(audited: &AuditedWorkload, accepted: Risk, market: Market<'_>) -> SpotAssessment {
    let workload = &audited.workload;
    let job =
        |count: usize| job(workload, count, Checkpointing::default(), accepted, market.policy);
    let Some(stage) = audited.alternatives.left_by(&audited.actions) else {
        let mut assessment = assess_workload(workload, job(workload.instances.len()), market);
        assessment.naive_monthly_savings = None;
        assessment.effective_monthly_savings = None;
        assessment.eligibility = Err(not_to_be_moved(workload).unwrap_or_else(|| stays(audited)));
        return assessment;
    };
    let count = stage.count as usize;
    let hours = stage.monthly().checked_div(stage.per_instance());
    let key = workload.price_key.with_type(&stage.instance_type);
    let mut assessment = assess(&key, job(count), (count, hours.unwrap_or_default()), market);
    assessment.workload = Some(Arc::clone(workload));
    let mut actions = audited.actions.iter();
    let Some(action) = actions.find(|action| action.kind() == ActionKind::Spot) else {
        let reason = not_to_be_moved(workload)
            .or(assessment.eligibility.err())
            .unwrap_or_else(|| stays(audited));
        assessment.eligibility = Err(reason);
        return assessment;
    };
    let mut markets = audited.proposals.spot().into_iter().flatten();
    if let Some((_, offer)) = markets.find(|(name, _)| **name == stage.instance_type) {
        assessment.figures = Some(offer.figures.clone());
    }
    assessment.effective_monthly_savings = Some(action.monthly_savings());
    assessment.eligibility = Ok(action.risk());
    assessment.caveats = action.caveats().to_vec();
    assessment
}

/// Why the plan leaves what could move where it is.
fn stays(audited: &AuditedWorkload) -> String {
    match audited.skipped.get(&ActionKind::Spot) {
        Some(SkipReason::Risk(risk)) => format!("it needs `--risk {risk}`"),
        Some(SkipReason::Instead(kind)) => {
            format!("the plan takes {kind} instead, which costs less")
        }
        Some(SkipReason::SavesNothing) => "it saves nothing after the other actions".to_owned(),
        Some(SkipReason::Rejected) => "the policy rejects it".to_owned(),
        Some(SkipReason::Target) => "less risky actions reach the target".to_owned(),
        None => match audited.actions.first() {
            Some(action) => format!("the plan leaves nothing to move: {}", action.kind()),
            None => "the plan leaves it as it is".to_owned(),
        },
    }
}

/// What a workload is as a job, on so many instances.
fn job(
    workload: &Workload,
    count: usize,
    checkpointing: Checkpointing,
    accepted: Risk,
    policy: &Policy,
) -> SpotJob {
    let kind = workload.declared_kind();
    SpotJob {
        kind,
        restartable: workload.restartable,
        nodes: nodes_of_job(kind, count, workload.runs_on_one_gpu(policy)),
        checkpointing,
        accepted,
    }
}

/// Those that move by effective saving, largest first; the others after them, by cost; then
/// by id.
fn sort(assessments: &mut [SpotAssessment]) {
    assessments.sort_by_cached_key(|assessment| {
        let amount = |money: Option<Money>| std::cmp::Reverse(money.map(Money::amount));
        let workload = assessment.workload.as_ref();
        (
            amount(assessment.effective_monthly_savings.filter(|_| assessment.eligibility.is_ok())),
            amount(assessment.monthly_cost()),
            workload.map(|workload| workload.id()),
        )
    });
}

/// Spot for every workload of an estate as it runs today.
pub fn assess_fleet(
    estate: &Estate,
    policy: &Policy,
    accepted: Risk,
    checkpointing: Checkpointing,
) -> SpotReport {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let (workloads, mut gaps, _) = EstateCommitments::groups(estate, &prices, policy);
    gaps.extend(estate.gaps.iter().cloned());
    let mut assessments: Vec<SpotAssessment> = workloads
        .iter()
        .map(|group| {
            let workload = &group.workload;
            let count = workload.instances.len();
            let job = job(workload, count, checkpointing, accepted, policy);
            assess_workload(workload, job, Market { prices: &prices, policy })
        })
        .collect();
    sort(&mut assessments);
    gaps.sort();
    gaps.dedup();
    SpotReport { as_of: estate.as_of, is_today: true, assessments, gaps }
}

fn assess_workload(workload: &Arc<Workload>, job: SpotJob, market: Market<'_>) -> SpotAssessment {
    // Instance hours of a month at today's running time.
    let hours = workload.cost.iter().flat_map(|cost| &cost.instances);
    let hours: Decimal = hours.map(|instance| instance.monthly_hours).sum();
    let key = &workload.price_key;
    let mut assessment = assess(key, job, (workload.instances.len(), hours), market);
    if workload.cost.is_none() {
        assessment.naive_monthly_savings = None;
        assessment.effective_monthly_savings = None;
    }
    if let Some(reason) = not_to_be_moved(workload) {
        assessment.eligibility = Err(reason);
    }
    assessment.workload = Some(Arc::clone(workload));
    assessment
}

/// What of a workload, beyond its kind, stands against moving it.
fn not_to_be_moved(workload: &Workload) -> Option<String> {
    if let Some(reason) = &workload.ignored {
        return Some(format!("ignored by tag: {reason}"));
    }
    if !workload.key.running {
        return Some("stopped".to_owned());
    }
    match workload.key.purchase_option {
        PurchaseOption::OnDemand => {
            workload.unpriced.as_ref().map(|unpriced| unpriced.cause.to_string())
        }
        PurchaseOption::Spot => Some("already on spot".to_owned()),
        ahead => Some(format!("billed as {ahead}")),
    }
}

fn assess(
    key: &PriceKey,
    job: SpotJob,
    (instances, hours): (usize, Decimal),
    Market { prices, policy }: Market<'_>,
) -> SpotAssessment {
    let on_demand = prices.get(&key.with_option(PriceOption::OnDemand));
    let spot_key = key.with_option(PriceOption::Spot);
    let band = bundled_interruption_band(&spot_key);
    let case = on_demand.as_ref().map(|quote| SpotCase {
        on_demand: quote.rate,
        spot: spot_price(prices, &spot_key),
        is_launchable: is_launchable(&spot_key),
        band: band.map(|(band, _)| band),
        nodes: job.nodes,
        kind: job.kind,
        restartable: job.restartable,
        accepted: job.accepted,
        checkpointing: job.checkpointing,
        least_interruptions_per_day: policy.spot_interruptions_per_day,
    });
    let figures = case.as_ref().ok().and_then(|case| spot_figures(case).ok());
    let eligibility = match &case {
        Ok(case) => spot_offer(case).map(|offer| offer.risk).map_err(|reason| match reason {
            Ineligible::NoSpotPrice => format!("no price for {spot_key}"),
            reason => reason.to_string(),
        }),
        Err(missing) => Err(missing.to_string()),
    };
    SpotAssessment {
        workload: None,
        instances,
        job,
        zones: zones(prices, &spot_key),
        band,
        naive_monthly_savings: figures.as_ref().map(|figures| figures.naive_savings(hours)),
        effective_monthly_savings: figures
            .as_ref()
            .and_then(|figures| figures.effective_savings(hours)),
        on_demand: on_demand.ok(),
        figures,
        eligibility,
        caveats: Vec::new(),
        key: spot_key,
    }
}

fn zones(prices: &Prices<'_>, key: &PriceKey) -> Vec<ZonePrice> {
    let zone = |(key, quote): (PriceKey, PriceQuote)| {
        Some(ZonePrice { history: prices.spot_history(&key).cloned(), zone: key.zone?, quote })
    };
    prices.by_zone(key).into_iter().filter_map(zone).collect()
}
