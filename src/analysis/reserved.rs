//! What a fleet should commit to on today's usage, pool by pool, and how well
//! that which it has bought is used.

use super::pool_options::{family_pools, reserved_pool};
use super::workloads::{self, PaidHours};
use crate::catalog::Prices;
use crate::domain::{
    CapacityReservation, CommitmentTerm, Estate, Gap, Instalments, InstanceId, Money, Policy,
    PriceKey, PriceQuote, PurchaseOption, Window, Workload,
};
use crate::rules;
use crate::rules::commitment_findings;
use crate::savings::{
    CommitmentUse, ConcurrentUsage, Coverage, InstanceCoverage, UsedInstance, added_up, coverage,
    used_instances,
};
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

const HOUR_SECONDS: i64 = 3_600;

/// A commitment that is sold to a pool, at the amount that suits it best.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolOption {
    /// Length and payment.
    pub term: CommitmentTerm,
    /// Every price that it rests on: one of a reserved instance, one for each
    /// type of a savings plan.
    pub quotes: Vec<PriceQuote>,
    /// Effective rate over on-demand rate, 0–1: the share of the hours from which
    /// on one pays. Of a plan, that of its type with the largest discount.
    pub break_even_utilization: Decimal,
    /// How many instances, or how many dollars an hour; zero when none pays.
    pub amount: Decimal,
    /// Effective price per hour of all of it.
    pub hourly: Money,
    /// How all of it is paid.
    pub paid: Instalments,
    /// The first month of the term in which the on-demand hours that it replaces
    /// have cost as much; absent when there is none.
    pub break_even_month: Option<u32>,
    /// Saved per month, in cents.
    pub monthly_savings: Money,
    /// What it costs over the term, used or not, in cents.
    pub committed: Money,
    /// What it loses over the term when usage halves from month 7 on, in cents;
    /// zero when it saves even so.
    pub downside: Money,
    /// Share of the hours in which all of it is used, 0–1; absent when none is
    /// bought.
    pub full_use_share: Option<Decimal>,
}

/// Instances that one reserved instance may cover.
#[derive(Debug, Clone, PartialEq)]
pub struct ReservedPool {
    /// Region, type, platform and tenancy, on demand.
    pub key: PriceKey,
    /// The on-demand price.
    pub on_demand: PriceQuote,
    /// Instances that ran at once and that no commitment covers.
    pub usage: ConcurrentUsage,
    /// Whether regional reserved instances of it cover other sizes too.
    pub covers_other_sizes: bool,
    /// Every term and payment that is sold, shortest first, least upfront first.
    pub options: Vec<PoolOption>,
    /// An hour in a Capacity Block, for comparison.
    pub capacity_block: Option<PriceQuote>,
}

/// Instances that one EC2 Instance Savings Plan may cover.
#[derive(Debug, Clone, PartialEq)]
pub struct FamilyPool {
    /// The region.
    pub region: String,
    /// The family, such as `p4d`.
    pub family: String,
    /// Its types, ascending.
    pub instance_types: Vec<String>,
    /// Hours that were looked at.
    pub hours: u64,
    /// The most that it cost on demand in an hour.
    pub on_demand_peak: Money,
    /// What it cost on demand in an hour, in the mean.
    pub on_demand_mean: Money,
    /// Every term and payment with a known rate, shortest first, least upfront
    /// first.
    pub options: Vec<PoolOption>,
}

/// The option that saves the most a month; of equals the shorter one, then the
/// one with less upfront. None when none pays.
pub fn best_option(options: &[PoolOption]) -> Option<usize> {
    let saves = |index: &usize| options[*index].monthly_savings.amount();
    (0..options.len())
        .filter(|index| saves(index) > Decimal::ZERO)
        .min_by_key(|index| std::cmp::Reverse(saves(index)))
}

/// How well a capacity reservation is used.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityUse {
    /// The reservation.
    pub reservation: CapacityReservation,
    /// What its free room costs a month, in cents; absent when it has none, is
    /// paid for ahead, or has no price.
    pub unused_monthly: Option<Money>,
}

/// What a fleet should commit to, and what it has committed to.
#[derive(Debug, Clone, PartialEq)]
pub struct ReservedFleet {
    /// The instant it describes.
    pub as_of: Timestamp,
    /// The window of the usage.
    pub window: Window,
    /// Instances in scope.
    pub instances: usize,
    /// By what the best option saves, most first; then by key.
    pub reserved: Vec<ReservedPool>,
    /// By what the best option saves, most first; then by region and family.
    pub families: Vec<FamilyPool>,
    /// What is committed to, in the order of application.
    pub commitments: Vec<CommitmentUse>,
    /// Capacity reservations that have not ended, by id.
    pub capacity: Vec<CapacityUse>,
    /// What could not be seen, in order.
    pub gaps: Vec<Gap>,
}

impl ReservedFleet {
    /// Every price that a figure rests on.
    pub fn quotes(&self) -> impl Iterator<Item = &PriceQuote> {
        let reserved = self.reserved.iter().flat_map(|pool| {
            let sold = pool.options.iter().flat_map(|option| &option.quotes);
            sold.chain([&pool.on_demand]).chain(&pool.capacity_block)
        });
        let families = self.families.iter().flat_map(|pool| &pool.options);
        reserved.chain(families.flat_map(|option| &option.quotes))
    }

    /// The oldest day on which a price behind a figure was seen.
    pub fn oldest_seen_on(&self) -> Option<Date> {
        self.quotes().map(|quote| quote.seen_on).min()
    }
}

/// Sizes the commitments of a fleet on today's usage.
pub fn assess_commitments(estate: &Estate, policy: &Policy) -> ReservedFleet {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    // As EC2 bills them: what is covered is taken off hour by hour below.
    let (workloads, _, mut gaps) = workloads::group(estate, &prices, policy, &PaidHours::new());
    gaps.extend(estate.gaps.iter().cloned());
    let used = used_instances(estate, &prices);
    let covered = coverage(
        &used,
        &estate.commitments,
        estate.window,
        estate.as_of,
        policy,
    );
    let usage = pooled(
        &workloads,
        &used,
        &covered,
        estate.window,
        estate.as_of,
        policy,
        &mut gaps,
    );
    let mut reserved: Vec<ReservedPool> = usage
        .iter()
        .filter_map(|(key, hourly)| reserved_pool(key, hourly, &prices, policy))
        .collect();
    reserved.sort_by_cached_key(|pool| (least_first(&pool.options), pool.key.clone()));
    let mut families = family_pools(&usage, &prices, policy, &mut gaps);
    families.sort_by_cached_key(|pool| {
        (
            least_first(&pool.options),
            pool.region.clone(),
            pool.family.clone(),
        )
    });
    let capacity = capacity(estate, &covered, &prices, policy);
    gaps.sort();
    gaps.dedup();
    ReservedFleet {
        as_of: estate.as_of,
        window: estate.window,
        instances: workloads.iter().map(|one| one.instances.len()).sum(),
        reserved,
        families,
        commitments: covered.commitments,
        capacity,
        gaps,
    }
}

fn least_first(options: &[PoolOption]) -> std::cmp::Reverse<Option<Decimal>> {
    let best = best_option(options).map(|index| options[index].monthly_savings.amount());
    std::cmp::Reverse(best)
}

/// Instances of each pool that ran in each hour and that nothing covers, in the hours
/// in which all of the pool were seen.
fn pooled(
    workloads: &[Workload],
    used: &[UsedInstance],
    covered: &Coverage,
    window: Window,
    as_of: Timestamp,
    policy: &Policy,
    gaps: &mut Vec<Gap>,
) -> BTreeMap<PriceKey, Vec<u32>> {
    let instances = used.iter().zip(&covered.instances);
    let by_id: BTreeMap<&InstanceId, (&UsedInstance, &InstanceCoverage)> = instances
        .map(|(used, covered)| (&used.id, (used, covered)))
        .collect();
    let mut pools: BTreeMap<PriceKey, Vec<Vec<Decimal>>> = BTreeMap::new();
    for workload in workloads {
        let on_demand = workload.key.purchase_option == PurchaseOption::OnDemand;
        if !workload.key.running || !on_demand || workload.ignored.is_some() {
            continue;
        }
        // What computes nothing is stopped: committing to it would keep the waste.
        if rules::classify(workload, policy, as_of).is_idle() {
            continue;
        }
        if let Some(unpriced) = &workload.unpriced {
            gaps.push(unpriced.gap(&workload.id()));
            continue;
        }
        let needed = (policy.commit_min_days * 24.0).max(1.0);
        if (workload.activity.len() as f64) < needed {
            gaps.push(Gap::new(
                "usage",
                workload.id(),
                format!(
                    "seen for {} whole hours of the {needed:.0} that a commitment is sized on",
                    workload.activity.len()
                ),
                "ask again when it has run longer, or lower `commit_min_days` of the policy",
            ));
            continue;
        }
        let pool = pools.entry(workload.price_key.clone()).or_default();
        pool.push(uncovered(workload, &by_id, window));
    }
    let whole = |running: Decimal| running.floor().to_u32().unwrap_or(u32::MAX);
    let added_up = |members: Vec<Vec<Decimal>>| {
        let members: Vec<&[Decimal]> = members.iter().map(Vec::as_slice).collect();
        added_up(&members).into_iter().map(whole).collect()
    };
    pools
        .into_iter()
        .map(|(key, members)| (key, added_up(members)))
        .collect()
}

/// Instances of a workload that ran in each hour, less those that were covered.
/// Where the window does not begin with an hour, each hour is netted with the
/// one of the commitments that it begins in.
fn uncovered(
    workload: &Workload,
    by_id: &BTreeMap<&InstanceId, (&UsedInstance, &InstanceCoverage)>,
    window: Window,
) -> Vec<Decimal> {
    let own: Vec<_> = workload
        .instances
        .iter()
        .filter_map(|id| by_id.get(id))
        .filter(|(_, covered)| !covered.parts.is_empty())
        .collect();
    let covered_in = |hour: usize| -> Decimal {
        own.iter()
            .map(|(used, covered)| {
                let ran = Decimal::from(u8::from(used.running.get(hour) == Some(&true)));
                // What nobody covered is open as a whole.
                ran - covered.uncovered.get(hour).copied().unwrap_or(ran)
            })
            .sum()
    };
    let begins = window.start.as_second();
    workload
        .activity
        .hours()
        .zip(workload.activity.instances())
        .map(|(hour, running)| {
            let index = (hour.start.as_second() - begins).max(0) / HOUR_SECONDS;
            (Decimal::from(running) - covered_in(index as usize)).max(Decimal::ZERO)
        })
        .collect()
}

/// The capacity reservations that have not ended, with what their free room
/// costs by the rule that finds it.
fn capacity(
    estate: &Estate,
    covered: &Coverage,
    prices: &Prices<'_>,
    policy: &Policy,
) -> Vec<CapacityUse> {
    let all = &estate.commitments.capacity_reservations;
    let findings = commitment_findings(all, covered, prices, policy, estate.as_of);
    all.iter()
        .filter(|one| one.end.is_none_or(|end| end > estate.as_of))
        .map(|one| CapacityUse {
            unused_monthly: findings
                .iter()
                .find(|finding| finding.workload() == one.id)
                .and_then(|finding| finding.monthly_savings),
            reservation: one.clone(),
        })
        .collect()
}
