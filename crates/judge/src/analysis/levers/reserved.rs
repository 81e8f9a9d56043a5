//! What a fleet may commit to, pool by pool, on what its plan leaves, on today's usage or with
//! growth, and how well that which it has bought is used.

use super::pool_options::{FamilyPool, PoolOption, ReservedPool, family_pools, reserved_pool};
use crate::analysis::plan::{EstateCommitments, unknown_rate};
use crate::analysis::workloads::Grouped;
use crate::analysis::{Audit, PriceUse};
use crate::catalog::Prices;
use crate::domain::{
    CapacityReservation, Cause, CauseKind, CommitmentPool, Gap, GapSubject, HOUR_SECONDS, Member,
    Money, Policy, PriceQuote, PurchaseOption, ResourceId, Window, Workload,
};
use crate::savings::{
    CommitmentUse, ExistingCommitments, GrownPurchase, InstanceCoverage, MemberHours, PoolHours,
    PoolRates, ScopeChange, UnusedCommitment, grown_purchase, pooled_hours,
};
use crate::usage::Estate;
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Of the terms that are sold.
const LONGEST_TERM_YEARS: u8 = 3;

/// How well a capacity reservation is used.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityUse {
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
    /// Whether the pools are those of today's usage, and not what a plan leaves of it.
    pub is_today: bool,
    /// Instances in scope.
    pub instances: usize,
    /// By what the best option saves, most first; then by key and account.
    pub reserved: Vec<ReservedPool>,
    /// By what the best option saves, most first; then by region, family and account.
    pub families: Vec<FamilyPool>,
    /// Reservations that the plan changes the scope of; none for today's usage.
    pub scope_changes: Vec<ScopeChange>,
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

/// Every commitment that is sold for what the plan of an audit leaves, with those that it
/// buys.
pub fn planned_commitments(audit: &Audit, estate: &Estate, policy: &Policy) -> ReservedFleet {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let mut gaps = audit.gaps.clone();
    let (mut reserved, mut families) = pools(&audit.pools, &prices, policy, &mut gaps);
    for purchase in &audit.purchases {
        reserved.iter_mut().for_each(|pool| pool.take(purchase, policy));
        families.iter_mut().for_each(|pool| pool.take(purchase));
    }
    gaps.sort();
    gaps.dedup();
    ReservedFleet {
        as_of: audit.as_of,
        window: audit.window,
        is_today: false,
        instances: audit.totals.instances as usize,
        reserved,
        families,
        scope_changes: audit.scope_changes.clone(),
        commitments: audit.commitments.clone(),
        capacity: capacity(estate, &audit.unused),
        gaps,
    }
}

/// What is sold to each pool, by what the best option saves, most first.
fn pools(
    usage: &BTreeMap<CommitmentPool, PoolHours>,
    prices: &Prices<'_>,
    policy: &Policy,
    gaps: &mut Vec<Gap>,
) -> (Vec<ReservedPool>, Vec<FamilyPool>) {
    let reserved = usage.iter();
    let mut reserved: Vec<ReservedPool> =
        reserved.filter_map(|(pool, hours)| reserved_pool(pool, hours, prices, policy)).collect();
    reserved.sort_by_cached_key(|pool| {
        (least_first(&pool.options), pool.key.clone(), pool.account.clone())
    });
    let mut families = family_pools(usage, prices, policy, gaps);
    families.sort_by_cached_key(|pool| {
        (least_first(&pool.options), pool.region.clone(), pool.family.clone(), pool.account.clone())
    });
    (reserved, families)
}

/// Sizes the commitments of a fleet on today's usage, whatever is idle or could be moved of
/// it: it advises nothing.
pub fn assess_commitments(estate: &Estate, policy: &Policy) -> ReservedFleet {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    // As EC2 bills them: what is covered is taken off hour by hour below.
    let measured = estate.measured();
    let (groups, _, mut gaps, owned) =
        EstateCommitments::beside_groups((estate, &measured), &prices, policy);
    gaps.extend(estate.gaps.iter().cloned());
    let covered = owned.coverage().instances.iter();
    let covered = covered.map(|instance| (&instance.id, instance)).collect();
    let fleet = Fleet { bought: owned.bought(), covered, window: estate.window, policy };
    let usage = fleet.pooled(&groups, &mut gaps);
    let (reserved, families) = pools(&usage, &prices, policy, &mut gaps);
    let capacity = capacity(estate, &owned.unused(&mut PriceUse::default()));
    gaps.sort();
    gaps.dedup();
    ReservedFleet {
        as_of: estate.as_of,
        window: estate.window,
        is_today: true,
        instances: groups.iter().map(|group| group.workload.instances.len()).sum(),
        reserved,
        families,
        scope_changes: Vec::new(),
        commitments: owned.coverage().commitments.clone(),
        capacity,
        gaps,
    }
}

/// By what the option that pays best saves a month, most first; last where none pays.
fn least_first(options: &[PoolOption]) -> std::cmp::Reverse<Option<Decimal>> {
    let saved = options.iter().map(|option| option.monthly_savings.amount());
    std::cmp::Reverse(saved.filter(|saved| *saved > Decimal::ZERO).max())
}

/// The fleet, instance by instance.
struct Fleet<'a> {
    bought: ExistingCommitments<'a>,
    covered: BTreeMap<&'a ResourceId, &'a InstanceCoverage>,
    window: Window,
    policy: &'a Policy,
}

impl Fleet<'_> {
    /// Instances of each pool that ran in each hour of the window and that nothing
    /// covers. Each is pooled by its own system and tenancy; what is idle is stopped, and
    /// committing to it would keep the waste.
    fn pooled(
        &self,
        groups: &[Grouped],
        gaps: &mut Vec<Gap>,
    ) -> BTreeMap<CommitmentPool, PoolHours> {
        let mut pools: BTreeMap<CommitmentPool, BTreeMap<&ResourceId, (MemberHours, u8)>> =
            BTreeMap::new();
        for group in groups {
            let workload = &group.workload;
            let on_demand = workload.key.purchase_option == PurchaseOption::OnDemand;
            if !workload.key.running || !on_demand || workload.ignored.is_some() {
                continue;
            }
            if let Some(unpriced) = &workload.unpriced {
                gaps.push(unpriced.gap(&workload.id()));
                continue;
            }
            let mut short = 0;
            for (member, usage) in workload.members.iter().zip(&workload.usage) {
                if member.is_idle() || member.ignored.is_some() {
                    continue;
                }
                let pool = self.bought.pool(workload, member.price_key.clone());
                if let Some(plan) = self.bought.plan_of_unknown_rate(&pool) {
                    gaps.push(unknown_rate(&plan.id, &member.price_key.instance_type, workload));
                    continue;
                }
                let is_seen = !member.activity.is_empty();
                if !is_seen || usage.running.observed_days() < self.policy.commit_min_days {
                    short += 1;
                    continue;
                }
                let years = member.until.map_or(u8::MAX, |until| until.years);
                let pooled = pools.entry(pool).or_default();
                pooled.insert(&member.id, (MemberHours::of(self.uncovered(member)), years));
            }
            if short > 0 {
                gaps.push(self.too_short(workload, short));
            }
        }
        let begins = self.window.start.as_second();
        let first_hour = (begins + HOUR_SECONDS - 1).div_euclid(HOUR_SECONDS) * HOUR_SECONDS;
        let hours = (self.window.end.as_second() - first_hour).max(0) / HOUR_SECONDS;
        let pools = pools.into_iter().map(|(pool, members)| {
            let lasting = |years: u8| {
                let members = members.values().filter(move |(_, most)| *most >= years);
                let members: Vec<MemberHours> = members.map(|(own, _)| own.clone()).collect();
                pooled_hours(&members, hours as usize)
            };
            let ends = members.values().any(|(_, most)| *most < LONGEST_TERM_YEARS);
            let longer = ends.then(|| lasting(LONGEST_TERM_YEARS));
            (pool, PoolHours { one_year: lasting(1), longer })
        });
        pools.collect()
    }

    fn too_short(&self, workload: &Workload, short: usize) -> Gap {
        let least = workload.members.iter().map(|member| member.activity.len()).min().unwrap_or(0);
        let needed = self.policy.commit_min_days * 24.0;
        let cause = Cause::of(
            CauseKind::UsageShort,
            [
                &short.to_string(),
                &workload.members.len().to_string(),
                &least.to_string(),
                &format!("{needed:.0}"),
            ],
        );
        Gap::of(GapSubject::Usage, workload.id(), cause)
    }

    /// How much of each hour an instance ran and nothing covered, in billionths, since it was
    /// first seen.
    fn uncovered(&self, member: &Member) -> Vec<u64> {
        let covered = self.covered.get(&member.id);
        match covered.filter(|covered| !covered.parts.is_empty()) {
            Some(covered) => {
                let unseen = covered.uncovered.len().saturating_sub(member.activity.len());
                covered.uncovered[unseen..].to_vec()
            }
            None => member.activity.instances().collect(),
        }
    }
}

/// The capacity reservations that have not ended, with what their free room costs.
fn capacity(estate: &Estate, unused: &[UnusedCommitment]) -> Vec<CapacityUse> {
    let reservations = &estate.commitments.capacity_reservations;
    reservations
        .iter()
        .filter(|reservation| reservation.end.is_none_or(|end| end > estate.as_of))
        .map(|reservation| CapacityUse {
            unused_monthly: unused
                .iter()
                .find(|row| row.id == reservation.id)
                .and_then(|row| row.monthly_cost)
                .filter(|cost| !cost.amount().is_zero()),
            reservation: reservation.clone(),
        })
        .collect()
}

/// A pool with what pays over each term if its usage grows.
#[derive(Debug, Clone, PartialEq)]
pub struct GrownPool<'a> {
    pub pool: &'a ReservedPool,
    /// What is sold to it, with its purchase, in the order of the pool.
    pub purchases: Vec<(&'a PoolOption, GrownPurchase)>,
}

/// The pools in their order, with the terms of which anything pays, today or with growth: a
/// share of the usage every month, 0.03 for 3%.
pub fn grown_pools(pools: &[ReservedPool], growth: Decimal) -> Vec<GrownPool<'_>> {
    let of_pool = |pool| {
        let grown = grown_pool(pool, growth);
        (!grown.purchases.is_empty()).then_some(grown)
    };
    pools.iter().filter_map(of_pool).collect()
}

fn grown_pool(pool: &ReservedPool, growth: Decimal) -> GrownPool<'_> {
    let purchases = pool.options.iter().filter_map(|option| {
        let quote = option.quotes.first()?;
        let rates = PoolRates::new(pool.on_demand.rate, quote.rate).ok()?;
        let grown = grown_purchase(&rates, pool.usage_for(option.term), growth, option.term)?;
        (grown.count_today + grown.count_grown > 0).then_some((option, grown))
    });
    GrownPool { pool, purchases: purchases.collect() }
}
