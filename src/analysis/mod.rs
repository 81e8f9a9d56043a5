//! From an estate to an audit: groups instances into workloads, judges each,
//! weighs what could be done, and adds up. Pure, synchronous and clockless.

mod breakdown;
mod charges;
mod comparison;
mod diff;
pub mod gate;
mod groups;
mod inventory;
mod kinds;
mod owned;
mod pairing;
mod past;
mod planned_prices;
mod planning;
mod pool_options;
mod profiled;
mod question;
mod reserved;
mod run_cost;
mod sizing;
mod split;
mod spot;
mod standing;
mod terraform;
mod totals;
mod workloads;

pub use breakdown::{CostPart, Dimension, cost_by, prevailing_tags};
pub use charges::{Charge, ChargeKind, charges};
pub use comparison::{AWS, Offer, OfferedGpus, compare};
pub use diff::{AuditDiff, ChangedField, Delta, Ending, GoneFinding, PlanOutcome, WorkloadChange};
pub use groups::{GroupKey, GroupRow, GroupSums, Groups};
pub use inventory::{ListedInstance, Listing, list_instances};
pub use kinds::{is_restartable, is_vocabulary, kind_of_name};
pub use past::{PastAudit, PastFinding, PastTotals, PastWorkload};
pub use question::{
    GpuFilter, Question, SortBy, UnknownName, nearest_names, providers, unknown_names,
};
pub use reserved::{
    CapacityUse, FamilyPool, PoolOption, ReservedFleet, ReservedPool, assess_commitments,
    best_option,
};
pub use run_cost::{PricedHost, RunCost, instance_cost};
pub use sizing::{Candidate, Sized, Sizing};
pub use split::CostSplit;
pub use spot::{
    AssessedWorkload, SpotAssessment, SpotJob, SpotReport, ZonePrice, assess_fleet, assess_type,
};
pub use terraform::{PlannedChange, PlannedRow, PlannedSide, PlannedTotals, price_plan};
pub use totals::{ClassTotals, Funnel, PriceUse, Totals};
pub use workloads::{instance_shape, price_key};

use self::owned::{Owned, alternatives_of_paid, unweighed};
use self::planning::Planner;
use crate::catalog::Prices;
use crate::domain::{
    Action, ActionKind, ApiUsage, Classification, Confidence, Estate, EstateSource, Finding, Gap,
    Money, Policy, PurchaseOption, Risk, Verdict, WeekUsage, Window, Workload,
};
use crate::rules::{self, Silence, Subject};
use crate::savings::{
    Alternatives, Offers, Purchase, nothing_less_would_do, off_in_unused_hours,
    one_year_no_upfront, rightsizing, share,
};
use jiff::Timestamp;

/// One workload with its verdict and its part of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditedWorkload {
    /// The workload.
    pub workload: Workload,
    /// Its verdict.
    pub verdict: Verdict,
    /// What could be done about it, each alternative on its own.
    pub offers: Offers,
    /// What the plan chose from.
    pub alternatives: Alternatives,
    /// What the plan does with it: at most one action of each kind, each on what
    /// the one before left, so that no dollar is counted twice.
    pub actions: Vec<Action>,
    /// Rules that lacked data about it.
    pub silent: Vec<Silence>,
}

impl AuditedWorkload {
    /// Per month after the plan; absent when it is unpriced.
    pub fn planned_monthly_cost(&self) -> Option<Money> {
        let cost = self.workload.monthly_cost()?;
        self.actions.iter().try_fold(cost, |rest, action| {
            rest.checked_sub(action.monthly_savings()).ok()
        })
    }

    /// Whether an action ends money that is certain to end: measured idleness
    /// and orphaned things.
    pub fn is_waste(&self, action: &Action) -> bool {
        match action.kind() {
            ActionKind::Release => true,
            ActionKind::Stop => self.verdict.confidence == Some(Confidence::Measured),
            _ => false,
        }
    }
}

/// Everything that an audit says.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// The instant it describes.
    pub as_of: Timestamp,
    /// The window of the metrics.
    pub window: Window,
    /// Where the estate was gathered.
    pub source: EstateSource,
    /// Accounts in scope.
    pub accounts: Vec<String>,
    /// Regions in scope.
    pub regions: Vec<String>,
    /// By cost, dearest first, unpriced last, then by id.
    pub workloads: Vec<AuditedWorkload>,
    /// By saving, largest first, unknown last, then by severity and id.
    pub findings: Vec<Finding>,
    /// What could not be seen, in order.
    pub gaps: Vec<Gap>,
    /// The commitments that the plan buys, by what they cover.
    pub purchases: Vec<Purchase>,
    /// Sums.
    pub totals: Totals,
    /// How far the GPUs are used.
    pub funnel: Funnel,
    /// How much they are used by hour of the week.
    pub week: WeekUsage,
    /// The prices that figures rest on.
    pub prices: PriceUse,
    /// What the gathering cost.
    pub api: ApiUsage,
}

/// Audits an estate.
pub fn audit(estate: &Estate, policy: &Policy, accepted: Risk) -> Audit {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let owned = Owned::of(estate, &prices, policy);
    let (workloads, week, mut gaps) =
        workloads::group(estate, &prices, policy, &owned.paid_hours());
    gaps.extend(estate.gaps.iter().cloned());

    let mut judged = Vec::with_capacity(workloads.len());
    let mut findings = Vec::new();
    let mut silences = Vec::with_capacity(workloads.len());
    let mut price_use = PriceUse::default();
    let planner = Planner {
        prices: &prices,
        policy,
        accepted,
    };
    let mut alternatives = Vec::with_capacity(workloads.len());
    for workload in workloads {
        let verdict = judge(&workload, policy, estate.as_of);
        let is_paid_ahead = workload.sunk().is_some();
        let weighing = Weighing {
            prices: &prices,
            policy,
            accepted,
            as_of: estate.as_of,
        };
        let mut offers = if is_paid_ahead {
            Offers {
                stop: stop(&workload, &verdict),
                ..Offers::default()
            }
        } else {
            weighing.offers(&workload, &verdict)
        };
        offers.nothing_less_would_do = weighing.nothing_less(&workload, &verdict, &offers);
        price_use.record(&workload, &offers);
        if workload.ignored.is_none() {
            let (fired, silent) = rules::run(&Subject {
                workload: &workload,
                verdict: &verdict,
                offers: &offers,
                policy,
                as_of: estate.as_of,
            });
            findings.extend(fired);
            gaps.extend(unpriced_gap(&workload, &silent));
            gaps.extend(silent.iter().map(Silence::gap));
            silences.push(silent);
        } else {
            gaps.extend(unpriced_gap(&workload, &[]));
            silences.push(Vec::new());
        }
        gaps.extend(unweighed(&workload, &offers));
        alternatives.push(if is_paid_ahead {
            alternatives_of_paid(&workload, &offers)
        } else {
            planner.alternatives(&workload, &verdict, &offers, &mut price_use)
        });
        judged.push((workload, verdict, offers));
    }
    let plan = planner.plan(&alternatives, &mut price_use);
    let mut audited: Vec<AuditedWorkload> = judged
        .into_iter()
        .zip(alternatives)
        .zip(plan.actions)
        .zip(silences)
        .map(
            |((((workload, verdict, offers), alternatives), actions), silent)| AuditedWorkload {
                workload,
                verdict,
                offers,
                alternatives,
                actions,
                silent,
            },
        )
        .collect();
    findings.extend(owned.findings(&mut price_use));

    let totals = Totals::of(&audited, &mut gaps);
    sort(&mut audited, &mut findings, &mut gaps);
    Audit {
        as_of: estate.as_of,
        window: estate.window,
        source: estate.source,
        accounts: estate.accounts.clone(),
        regions: estate.regions.clone(),
        funnel: Funnel::of(&audited),
        week,
        workloads: audited,
        purchases: plan.purchases,
        findings,
        gaps,
        totals,
        prices: price_use,
        api: estate.api.clone(),
    }
}

/// The gap of a workload without a price, unless a rule that it silenced has
/// said so already.
fn unpriced_gap(workload: &Workload, silent: &[Silence]) -> Option<Gap> {
    let gap = workload.unpriced.as_ref()?.gap(&workload.id());
    let is_said = silent.iter().any(|said| said.lack.what == gap.what);
    (!is_said).then_some(gap)
}

fn judge(workload: &Workload, policy: &Policy, as_of: Timestamp) -> Verdict {
    if workload.key.running {
        return rules::classify(workload, policy, as_of);
    }
    Verdict {
        classification: Classification::InsufficientData,
        state: None,
        confidence: None,
        reason: "stopped".to_owned(),
        idle_power_percent: None,
    }
}

/// What alternatives are weighed by.
struct Weighing<'a> {
    prices: &'a Prices<'a>,
    policy: &'a Policy,
    accepted: Risk,
    as_of: Timestamp,
}

impl Weighing<'_> {
    /// What could be done about a workload, each alternative on its own.
    fn offers(&self, workload: &Workload, verdict: &Verdict) -> Offers {
        let works = matches!(
            verdict.classification,
            Classification::Underutilized | Classification::WellUtilized
        );
        let on_demand = workload.key.purchase_option == PurchaseOption::OnDemand;
        let long_enough = workload.is_known_for_hours(self.policy.commit_min_days * 24.0);
        Offers {
            stop: stop(workload, verdict),
            release: self.release(workload),
            rightsize: if verdict.is_shrinkable() {
                rightsizing(workload, self.prices, self.policy, self.accepted)
            } else {
                None
            },
            schedule: off_in_unused_hours(workload, verdict, self.policy).ok(),
            share: share(workload, verdict, self.policy, self.accepted).ok(),
            // What is overprovisioned shrinks first; a commitment would fix it.
            commit: if works && on_demand && long_enough {
                one_year_no_upfront(workload, self.prices, self.policy)
            } else {
                None
            },
            nothing_less_would_do: false,
        }
    }

    /// Whether no lever for what is used too little saves, at this risk or another.
    fn nothing_less(&self, workload: &Workload, verdict: &Verdict, offers: &Offers) -> bool {
        let is_offered =
            offers.rightsize.is_some() || offers.schedule.is_some() || offers.share.is_some();
        verdict.is_shrinkable()
            && workload.ignored.is_none()
            && !is_offered
            && nothing_less_would_do(workload, verdict, self.prices, self.policy)
    }

    /// Ends what stands while a workload is stopped, unless it stopped so lately
    /// that it may be started again.
    fn release(&self, workload: &Workload) -> Option<Action> {
        let lately = workload.stopped_within(self.policy.idle_grace(), self.as_of);
        if workload.key.running || lately {
            return None;
        }
        let standing = &workload.standing;
        let mut detail = standing.priced.join("; ");
        if !standing.unpriced.is_empty() {
            let unpriced = standing.unpriced.join(", ");
            detail.push_str(&format!("; unpriced and not counted: {unpriced}"));
        }
        let monthly = standing.monthly?;
        Action::saving(
            ActionKind::Release,
            None,
            detail,
            monthly,
            monthly,
            Risk::Low,
        )
    }
}

/// Stops what computes nothing. Power alone never justifies it.
fn stop(workload: &Workload, verdict: &Verdict) -> Option<Action> {
    let cost = workload.cost.as_ref()?;
    if !verdict.is_idle() || verdict.idle_power_percent.is_some() {
        return None;
    }
    let mut detail = "stop: nothing computes on it; volumes stay and keep their price".to_owned();
    let mut ends = cost.compute_monthly;
    if let Some(sunk) = cost.sunk() {
        detail.push_str(&format!(
            ", and {} a month are paid ahead by {}",
            sunk.monthly.amount(),
            sunk.in_words()
        ));
        ends = ends.checked_sub(sunk.monthly).ok()?;
    }
    Action::saving(
        ActionKind::Stop,
        None,
        detail,
        ends,
        cost.compute_monthly,
        Risk::Low,
    )
}

/// The stated total orders.
fn sort(workloads: &mut [AuditedWorkload], findings: &mut [Finding], gaps: &mut Vec<Gap>) {
    workloads.sort_by_cached_key(|audited| {
        let cost = audited.workload.monthly_cost().map(Money::amount);
        (std::cmp::Reverse(cost), audited.workload.id())
    });
    findings.sort_by_cached_key(|finding| {
        let savings = finding.monthly_savings.map(Money::amount);
        (
            std::cmp::Reverse(savings),
            std::cmp::Reverse(finding.severity),
            finding.id(),
        )
    });
    gaps.sort();
    gaps.dedup();
}
