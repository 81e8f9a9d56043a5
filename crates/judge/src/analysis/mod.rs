//! From an estate to an audit: groups instances into workloads, judges each,
//! weighs what could be done, and adds up. Pure, synchronous and clockless.

mod audited;
mod demand;
mod diff;
mod expected;
mod fix;
mod gaps;
pub mod gate;
mod inventory;
mod job_places;
mod kpis;
mod levers;
mod past;
mod plan;
mod prices;
mod recorded;
mod resolution;
mod run;
mod sums;
mod target;
mod tenants;
mod terraform;
mod workloads;

pub use audited::AuditedWorkload;
pub use demand::{
    MeasuredService, NoDemand, NotMeasured, RunningWorkload, WorkloadDemand, measured_service,
    running_workload, workload_demand,
};
pub use diff::{
    AuditDiff, ChangedField, Delta, Ending, GoneFinding, KpiDelta, PlanOutcome, UnitCostDelta,
    UnusedChange, WorkloadChange,
};
pub use expected::{ExpectedBill, ListPrices, expected_bill};
pub use fix::{
    Fix, FixChoice, FixTarget, GROUP_RESOURCE, GroupFix, Lowered, MemberFix, ReservationFix,
    WorkloadFix, fixes,
};
pub use inventory::{
    ListedHost, ListedInstance, ListedJob, ListedNode, Listing, list_instances, machine_hours,
};
pub use job_places::{SeenJob, UnplacedJob, idle_hosts, job_need, seen_jobs};
pub use kpis::{
    CountedRun, GpuHours, GpuUse, JobCost, Kpis, RunKpis, UnitError, unit_costs, waits_for_work,
};
pub use levers::{
    Candidate, CapacityUse, FamilyPool, GrownPool, PoolOption, ReservedFleet, ReservedPool, Sized,
    Sizing, SpotAssessment, SpotJob, SpotReport, ZonePrice, assess_commitments, assess_fleet,
    assess_type, grown_pools, is_planned, planned_commitments, planned_spot,
};
pub use past::CommonScope;
pub use plan::Choices;
pub use prices::{
    AWS, GpuFilter, Offer, OfferedGpus, Question, Rentals, SortBy, UnknownName, compare, providers,
    rentals, select_types, sold_elsewhere, types_with_gpu, unknown_names,
};
pub use recorded::{DayCost, DayFacts, RecordedExpectation, StoredAudit, TooManyHours, day_costs};
pub use resolution::needs_fine_grid;
pub use run::{
    Mfu, PricedHost, RunCost, RunDiff, RunFigure, RunFigureKind, RunValue, RunVerdict, RunWork,
    STEPS, StepFacts, USUAL_NOISE_PERCENT, UnitWork, contradictions, instance_cost, unnamed_gpus,
};
pub use sums::{
    Charge, ChargeKind, ChargePart, ClaimKey, ClassTotals, CostSplit, CostSteps, Entry,
    EntrySubject, Funnel, GroupKey, GroupRow, GroupSums, GroupTable, Grouping, GroupingKeys,
    Groups, PriceUse, ReconciledRow, Reconciliation, RunDays, Showback, ShowbackPart, ShowbackSums,
    Totals, UnusedCharge, charges, daily_charges, daily_unused_charges, entries_of, ledger,
    unused_charges,
};
pub use tenants::{FoundTenant, FoundTenants, NoTenant, share_tenants};
pub use terraform::{PlannedChange, PlannedRow, PlannedSide, PlannedTotals, price_plan};
pub use workloads::{instance_shape, is_vocabulary, kind_of_name};

use self::gaps::QueriedSources;
use self::kpis::planned_utilization_percent;
use self::plan::{EstateCommitments, Offers, Planned, Planner, machine_facts};
use self::workloads::Grouped;
use crate::catalog::Prices;
use crate::domain::{
    Action, ActionKind, ApiUsage, CommitmentPool, Currency, EstateSource, Finding, Gap, Money,
    Policy, Provider, Risk, TagFilter, Window, Workload,
};
use crate::rules::{self, ClusterFacts, Silence, Subject};
use crate::savings::{
    CommitmentUse, HeldMachines, PoolHours, Purchase, SavingsTarget, ScopeChange, UnusedCommitment,
    allocate,
};
use crate::usage::{Estate, Usages, WeekUsage};
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::borrow::Cow;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// The instant it describes.
    pub as_of: Timestamp,
    /// The window of the metrics.
    pub window: Window,
    pub source: EstateSource,
    /// Accounts in scope.
    pub accounts: Vec<String>,
    /// Regions in scope.
    pub regions: Vec<String>,
    /// The tags by which its instances were selected; empty for all.
    pub tag_filters: Vec<TagFilter>,
    /// By cost, most expensive first, unpriced last, then by id.
    pub workloads: Vec<AuditedWorkload>,
    /// By saving, largest first, unknown last, then by severity and id.
    pub findings: Vec<Finding>,
    /// What could not be seen, in order.
    pub gaps: Vec<Gap>,
    /// The commitments that the plan buys, by what they cover.
    pub purchases: Vec<Purchase>,
    /// The reservations that cover a whole region before anything is bought.
    pub scope_changes: Vec<ScopeChange>,
    /// What all other actions leave to commit to.
    pub pools: BTreeMap<CommitmentPool, PoolHours>,
    pub accepted: Risk,
    /// The risk at which the plan was made: the accepted one, or a lower one whose plan
    /// costs less.
    pub plan_risk: Risk,
    /// What the plan was to save, where it is a part of one; absent for the whole plan.
    pub target: Option<SavingsTarget>,
    /// What is paid for and does not run.
    pub unused: Vec<UnusedCommitment>,
    /// How well each commitment is used, in the order of application.
    pub commitments: Vec<CommitmentUse>,
    pub totals: Totals,
    /// How far the GPUs are used.
    pub funnel: Funnel,
    /// How much they are used by hour of the week.
    pub week: WeekUsage,
    /// Its key figures.
    pub kpis: Kpis,
    /// Useful of the GPU hours of the measured instances after the plan, 0–100; absent where it
    /// leaves none of them, or nothing was measured.
    pub planned_utilization_percent: Option<f64>,
    /// The prices that figures rest on.
    pub prices: PriceUse,
    /// What the gathering cost.
    pub api: ApiUsage,
}

impl Audit {
    /// What commitments that are there save for workloads, by ID, which other actions free for them
    /// or a wider scope opens to them: their commitments beside what is listed as a purchase, and
    /// as a change of scope if these are listed too. With what is listed it is all that is saved.
    pub fn covered_by_existing(&self, lists_changes: bool) -> BTreeMap<String, Action> {
        let mut listed: BTreeMap<&str, Decimal> = BTreeMap::new();
        let mut total: BTreeMap<Currency, Decimal> = BTreeMap::new();
        let mut list = |id, saving: Money| *listed.entry(id).or_default() += saving.amount();
        for purchase in &self.purchases {
            let saving = purchase.monthly_savings;
            *total.entry(saving.currency()).or_default() -= saving.amount();
            purchase.shares.iter().for_each(|share| list(share.id.as_str(), share.monthly_savings));
        }
        for change in self.scope_changes.iter().filter(|_| lists_changes) {
            let saving = change.monthly_savings;
            *total.entry(saving.currency()).or_default() -= saving.amount();
            change.shares.iter().for_each(|(id, saving)| list(id.as_str(), *saving));
        }
        let mut rows: BTreeMap<Currency, Vec<(String, &Action, Decimal)>> = BTreeMap::new();
        for audited in &self.workloads {
            let mut actions = audited.actions.iter();
            let Some(action) = actions.find(|action| action.kind() == ActionKind::Commit) else {
                continue;
            };
            let (id, saving) = (audited.workload.id(), action.monthly_savings());
            *total.entry(saving.currency()).or_default() += saving.amount();
            let rest = saving.amount() - listed.get(id.as_str()).copied().unwrap_or_default();
            if rest > Decimal::ZERO {
                rows.entry(saving.currency()).or_default().push((id, action, rest));
            }
        }
        let mut covered = BTreeMap::new();
        for (currency, rows) in rows {
            let weights: Vec<Decimal> = rows.iter().map(|(.., rest)| *rest).collect();
            let saved = Money::new(total.get(&currency).copied().unwrap_or_default(), currency);
            let shares = rows.into_iter().zip(allocate(saved, &weights));
            let shares = shares.filter(|(_, share)| !share.amount().is_zero());
            covered.extend(
                shares.map(|((id, action, _), share)| (id, action.clone().saving_instead(share))),
            );
        }
        covered
    }
}

/// Audits an estate.
pub fn audit(estate: &Estate, policy: &Policy, accepted: Risk) -> Audit {
    audit_of(estate, (policy, accepted, false))
}

/// Audits an estate whose plan may be made again without some of its actions.
pub fn audit_to_choose(estate: &Estate, policy: &Policy, accepted: Risk) -> (Audit, Choices) {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let mut levels = BTreeMap::new();
    let audit =
        judge((estate, estate.measured()), &prices, (policy, accepted, false), Some(&mut levels));
    (audit, Choices::new(levels, policy.clone()))
}

/// Audits an estate for the types that its workloads could move to: at this level of risk
/// and at none below, with every type that was evaluated.
pub fn audit_types(estate: &Estate, policy: &Policy, accepted: Risk) -> Audit {
    audit_of(estate, (policy, accepted, true))
}

fn audit_of(estate: &Estate, (policy, accepted, keeps_types): (&Policy, Risk, bool)) -> Audit {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    judge((estate, estate.measured()), &prices, (policy, accepted, keeps_types), None)
}

/// Audits an estate that is not needed afterwards: how it was used is let go as soon as it is
/// judged, before anything is planned.
pub fn audit_once(mut estate: Estate, policy: &Policy, accepted: Risk) -> Audit {
    estate.reduce();
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let usage = Cow::Owned(std::mem::take(&mut estate.usage));
    judge((&estate, usage), &prices, (policy, accepted, false), None)
}

/// `kept` receives what the plan of each level of risk is chosen from.
fn judge(
    (estate, usage): (&Estate, Cow<'_, Usages>),
    prices: &Prices<'_>,
    (policy, accepted, keeps_types): (&Policy, Risk, bool),
    mut kept: Option<&mut BTreeMap<Risk, Offers>>,
) -> Audit {
    let (mut groups, week, mut gaps, owned) =
        EstateCommitments::beside_groups((estate, &usage), prices, policy);
    drop(usage);
    // Advice is about list prices, and the plan about what the fleet costs.
    let paid = owned.paid_hours();
    let mut billed: Vec<Option<Grouped>> = groups.iter().map(|group| group.paid(&paid)).collect();
    let costs: Vec<(Option<Money>, Vec<Decimal>)> = groups
        .iter()
        .zip(&billed)
        .map(|(group, billed)| {
            let workload = &billed.as_ref().unwrap_or(group).workload;
            let members = workload.cost.iter().flat_map(|cost| &cost.instances);
            let open = members.map(|member| {
                member.committed.as_ref().map_or(Decimal::ONE, |paid| paid.uncovered_share)
            });
            (workload.monthly_cost(), open.collect())
        })
        .collect();
    gaps.extend(estate.gaps.iter().cloned());

    let held = HeldMachines::of(&estate.clusters, estate.window.end, policy);

    // The plan at a level is the cheapest among those of that level and those below. What a
    // plan is chosen from is large, so one is held at a time, and a safer one is made again
    // in the rare case that it is the cheaper one.
    let mut planned = |risk: Risk| {
        let planner = Planner {
            prices,
            policy,
            owned: &owned,
            estate,
            accepted: risk,
            keeps_types,
            held: &held,
        };
        let planned = planner.plan(&groups, &costs);
        if let Some(kept) = &mut kept {
            kept.insert(risk, planned.offers.clone());
        }
        planned
    };
    let is_weighed = |risk: &&Risk| **risk == accepted || (**risk < accepted && !keeps_types);
    let mut levels = Risk::ALL.iter().filter(is_weighed);
    let lowest = levels.next().copied().unwrap_or(accepted);
    let Planned {
        risk: plan_risk,
        proposals,
        offers,
        plan,
        prices_used: mut price_use,
        gaps: plan_gaps,
    } = levels.fold(planned(lowest), |best, risk| {
        let (safer, saved) = (best.risk, best.saved());
        drop(best);
        let next = planned(*risk);
        if next.saved() >= saved {
            next
        } else {
            drop(next);
            planned(safer)
        }
    });
    gaps.extend(plan_gaps);
    for (group, billed) in groups.iter_mut().zip(&mut billed) {
        if let Some(billed) = billed.take() {
            *group = billed;
        }
    }

    let mut findings = Vec::new();
    let mut audited = Vec::with_capacity(groups.len());
    let of_workloads = groups.into_iter().zip(proposals);
    let of_workloads = of_workloads.zip(offers.alternatives);
    let chosen = plan.actions.into_iter().zip(plan.skipped);
    for (((group, group_proposals), alternatives), (actions, skipped)) in of_workloads.zip(chosen) {
        let mut silent = Vec::new();
        for (part, proposals) in group.parts.iter().zip(&group_proposals.by_part) {
            let (fired, lacking) = rules::run(&Subject {
                workload: &part.workload,
                group: &group.workload,
                verdict: &part.verdict,
                proposals,
                policy,
                held: &held,
                as_of: estate.as_of,
            });
            findings.extend(fired);
            silent.extend(lacking);
        }
        silent.dedup();
        gaps.extend(unpriced_gap(&group.workload, &silent));
        gaps.extend(silent.iter().map(Silence::gap));
        let Grouped { workload, verdict, parts, .. } = group;
        audited.push(AuditedWorkload {
            workload,
            verdict,
            parts,
            proposals: group_proposals.whole,
            alternatives,
            actions,
            skipped,
            silent,
        });
    }
    audited::with_cents_of_the_plan(&mut findings, &audited, &plan.purchases);
    findings.extend(owned.findings(&plan.scope_changes, &mut price_use));
    let cluster_facts = ClusterFacts {
        clusters: &estate.clusters,
        machines: machine_facts(&audited, &estate.clusters, &owned.bought()),
        policy,
        window: estate.window,
        as_of: estate.as_of,
    };
    findings.extend(rules::cluster_findings(&cluster_facts));
    gaps.extend(rules::cluster_silences(&cluster_facts).iter().map(Silence::gap));
    let unused = owned.unused(&mut price_use);

    let totals = Totals::of(&audited, &unused, &mut gaps);
    let kpis = Kpis::of(&audited, &estate.jobs, prices, policy, totals.currency);
    advise(&mut gaps, &mut audited, QueriedSources::of(&estate.api, estate.source));
    sort(&mut audited, &mut findings, &mut gaps);
    Audit {
        as_of: estate.as_of,
        window: estate.window,
        source: estate.source,
        accounts: estate.accounts.clone(),
        regions: estate.regions.clone(),
        tag_filters: estate.tag_filters.clone(),
        funnel: Funnel::of(&audited),
        week,
        kpis,
        planned_utilization_percent: planned_utilization_percent(&audited, policy),
        workloads: audited,
        purchases: plan.purchases,
        scope_changes: plan.scope_changes,
        pools: plan.pools,
        accepted,
        plan_risk,
        target: None,
        unused,
        commitments: owned.coverage().commitments.clone(),
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
    let is_said = silent.iter().any(|said| said.missing_data.what == gap.what);
    (!is_said).then_some(gap)
}

/// Says of each gap of a workload what helps where its machines are.
fn advise(gaps: &mut [Gap], workloads: &mut [AuditedWorkload], asked: QueriedSources) {
    let mut providers: BTreeMap<String, Provider> = BTreeMap::new();
    for AuditedWorkload { workload, silent, .. } in workloads {
        let provider = workload.key.provider;
        for silence in silent {
            gaps::advise(&mut silence.missing_data, provider, asked);
        }
        providers.insert(workload.id(), provider);
    }
    for gap in gaps {
        if let Some(provider) = providers.get(&gap.place) {
            gaps::advise(gap, *provider, asked);
        }
    }
}

/// The stated total orders.
fn sort(workloads: &mut [AuditedWorkload], findings: &mut [Finding], gaps: &mut Vec<Gap>) {
    workloads.sort_by_cached_key(|audited| {
        let cost = audited.workload.monthly_cost().map(Money::amount);
        (std::cmp::Reverse(cost), audited.workload.id())
    });
    findings.sort_by_cached_key(|finding| {
        let savings = finding.monthly_savings.map(Money::amount);
        (std::cmp::Reverse(savings), std::cmp::Reverse(finding.severity), finding.id())
    });
    gaps.sort();
    gaps.dedup();
}
