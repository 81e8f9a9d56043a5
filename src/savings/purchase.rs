//! Commitments for a pool: who is in it, hour by hour, and what of it pays.

use super::offers::{Alternatives, ScheduledHours, Stage, TermOffer, Terms};
use super::pool::INSTANCE;
use super::{ConcurrentUsage, Fewer, MemberHours, PoolRates, allocate, instances, pooled_hours};
use crate::domain::{CommitmentPool, HourlyRate, Money, PriceKey, ResourceId};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurchaseShare {
    /// The workload's id.
    pub id: String,
    /// Its place among the workloads that the plan was made of.
    pub workload: usize,
    /// Its instances that are in the pool.
    pub instances: u32,
    /// Those among them that were not there in all hours of the window.
    pub young: u32,
    /// What they cost on demand per month before the purchase, unrounded.
    pub monthly: Decimal,
    /// What of the saving is its own, in cents.
    pub monthly_savings: Money,
}

/// Commitments bought together for instances that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Purchase {
    /// The on-demand price that they replace.
    pub key: PriceKey,
    /// The account that has to buy them; absent where accounts share what they buy.
    pub account: Option<String>,
    /// What is bought.
    pub term: TermOffer,
    pub count: u32,
    /// The on-demand rate of one instance.
    pub on_demand_hourly: HourlyRate,
    /// The usage that it was sized by: what the pool runs after all other actions.
    pub usage: ConcurrentUsage,
    /// Whose it is.
    pub shares: Vec<PurchaseShare>,
    /// Saved per month, in cents; the sum of its parts.
    pub monthly_savings: Money,
    /// Hours for which every instance was observed that it was sized by.
    pub evidence_hours: usize,
    /// What would stop whoever signs it.
    pub caveats: Vec<String>,
    /// What is to be done before it is bought.
    pub steps: Vec<String>,
}

impl Purchase {
    /// What is bought, and in which account, such as `standard reserved instance, 1 year,
    /// no-upfront, in account 111122223333`.
    pub fn what(&self) -> String {
        match &self.account {
            Some(account) => format!("{}, in account {account}", self.term.name),
            None => self.term.name.clone(),
        }
    }

    /// What all of it costs per month, used or not, in cents.
    pub fn monthly_fee(&self, hours_per_month: Decimal) -> Money {
        let hours = hours_per_month * Decimal::from(self.count);
        self.term.effective_hourly.times_hours(hours).rounded()
    }
}

/// An instance of a pool on its way out of the plan.
#[derive(Debug, Clone)]
pub(super) struct Pooled {
    pub id: ResourceId,
    pub pool: CommitmentPool,
    pub hours: MemberHours,
    pub hourly: HourlyRate,
    /// What is left of its cost per month, unrounded.
    pub monthly: Decimal,
    /// Whole years that it goes on running, by its tag; absent without one.
    pub most_years: Option<u8>,
}

/// One of a pool and the workload that it is from.
#[derive(Clone, Copy)]
pub(super) struct PoolMember<'a> {
    /// The workload's place in the plan.
    pub workload: usize,
    /// The workload's id.
    pub id: &'a str,
    /// What is left of the workload's cost, in cents.
    pub left: Decimal,
    pub member: &'a Pooled,
}

/// The instances that commitments may cover, as they run at the end.
pub(super) fn pooled(
    workload: &Alternatives,
    stage: &Stage,
    schedule: Option<&ScheduledHours>,
    slowdown: f64,
    fewer: Option<&Fewer>,
) -> Vec<Pooled> {
    workload
        .committable
        .iter()
        .filter_map(|one| {
            let member = stage.members.get(one.place)?;
            let mut seen: Arc<[u64]> = match schedule {
                Some(schedule) => masked(&one.seen, &schedule.on).into(),
                None if slowdown > 1.0 => stretched(&one.seen, slowdown).into(),
                None => Arc::clone(&one.seen),
            };
            let mut most = INSTANCE;
            if let Some(fewer) = fewer {
                let begins = fewer.by_hour.len().saturating_sub(seen.len());
                let hours = Arc::make_mut(&mut seen).iter_mut();
                for (ran, share) in hours.zip(&fewer.by_hour[begins..]) {
                    *ran = part(*ran, *share);
                }
                most = part(most, fewer.share);
            }
            Some(Pooled {
                id: one.id.clone(),
                pool: one.pool.with_type(&stage.instance_type),
                hours: MemberHours { seen, most },
                hourly: member.hourly,
                monthly: member.monthly,
                most_years: one.most_years,
            })
        })
        .collect()
}

fn part(amount: u64, share: Decimal) -> u64 {
    let part = (Decimal::from(amount) * share).round();
    part.to_u64().unwrap_or(u64::MAX)
}

/// The hours that a schedule leaves on, in which it runs whether it ran today or not:
/// slower work takes hours that it was not observed in. Hours end together.
fn masked(seen: &[u64], on: &[bool]) -> Vec<u64> {
    let offset = on.len().saturating_sub(seen.len());
    let mut last = 0;
    seen.iter()
        .enumerate()
        .map(|(hour, ran)| {
            let is_on = on.get(hour + offset).copied().unwrap_or(true);
            last = if is_on { last.max(*ran) } else { 0 };
            match (is_on, *ran) {
                (false, _) => 0,
                (true, 0) => last,
                (true, ran) => ran,
            }
        })
        .collect()
}

/// Hours of work that takes longer: every stretch of them goes on, whole hours at a
/// time, until the next begins.
fn stretched(seen: &[u64], slowdown: f64) -> Vec<u64> {
    let mut longer = seen.to_vec();
    let mut hour = 0;
    while hour < seen.len() {
        let length = seen[hour..].iter().take_while(|ran| **ran > 0).count();
        if length == 0 {
            hour += 1;
            continue;
        }
        let end = hour + length;
        let last = seen[end - 1];
        let more = (length as f64 * slowdown).ceil() as usize - length;
        for later in longer.iter_mut().skip(end).take(more) {
            if *later == 0 {
                *later = last;
            }
        }
        hour = end;
    }
    longer
}

/// What an hour of work would cost under a commitment for every instance, which
/// is paid in the hours in which it rests too. `None` when it never runs.
pub(super) fn committed_rate(
    term: &TermOffer,
    pooled: &[Pooled],
    stage: &Stage,
    terms: &Terms<'_>,
) -> Option<Decimal> {
    let members: Vec<MemberHours> = pooled.iter().map(|one| one.hours.clone()).collect();
    let worked: u64 = pooled_hours(&members, terms.window_hours).iter().sum();
    let paid = Decimal::from(terms.window_hours) * Decimal::from(stage.count);
    (term.effective_hourly.amount() * paid).checked_div(instances(worked))
}

/// The commitment that saves most on what a pool's instances still run on demand. An
/// instance that ends by its tag is in no term that ends later.
pub(super) fn purchase(
    pool: &CommitmentPool,
    members: &[PoolMember<'_>],
    terms: &Terms<'_>,
) -> Option<Purchase> {
    let years: BTreeSet<u8> = terms.sold(pool).filter_map(TermOffer::years).collect();
    let offers = years.into_iter().filter_map(|years| {
        let runs_on =
            |one: &&PoolMember<'_>| one.member.most_years.is_none_or(|most| most >= years);
        let lasting: Vec<PoolMember<'_>> = members.iter().filter(runs_on).copied().collect();
        purchase_for(years, pool, &lasting, terms)
    });
    // Of equals the shorter one.
    offers.reduce(|best, next| {
        if next.monthly_savings.amount() > best.monthly_savings.amount() {
            next
        } else {
            best
        }
    })
}

/// The same for terms of so many years: its fees are paid, and the hours above it cost what
/// they cost today.
fn purchase_for(
    years: u8,
    pool: &CommitmentPool,
    members: &[PoolMember<'_>],
    terms: &Terms<'_>,
) -> Option<Purchase> {
    let on_demand = members.first()?.member.hourly;
    let hours: Vec<MemberHours> = members.iter().map(|one| one.member.hours.clone()).collect();
    let usage = ConcurrentUsage::of(&pooled_hours(&hours, terms.window_hours));
    let month = terms.hours_per_month;
    let today: Decimal = members.iter().map(|one| one.member.monthly).sum();
    let (term, count, saving) = terms
        .sold(pool)
        .filter(|term| term.years() == Some(years))
        .filter_map(|term| {
            let rates = PoolRates::new(on_demand, term.effective_hourly).ok()?;
            let count = rates.best_count(&usage);
            let fees = term.effective_hourly.amount() * Decimal::from(count) * month;
            // No more hours are replaced than today's cost holds.
            let saving = rates.monthly_savings(&usage, count, month).amount();
            Some((term, count, saving.min(today - fees)))
        })
        // Of equals the first, in the order of preference.
        .reduce(|best, next| if next.2 > best.2 { next } else { best })?;
    let currency = on_demand.currency();
    let monthly_savings = Money::new(saving, currency).rounded();
    if count == 0 || monthly_savings.amount() <= Decimal::ZERO {
        return None;
    }
    let mut shares: BTreeMap<usize, PurchaseShare> = BTreeMap::new();
    for one in members {
        let share = shares.entry(one.workload).or_insert_with(|| PurchaseShare {
            id: one.id.to_owned(),
            workload: one.workload,
            instances: 0,
            young: 0,
            monthly: Decimal::ZERO,
            monthly_savings: Money::zero(currency),
        });
        share.instances += 1;
        share.young += u32::from(one.member.hours.seen.len() < terms.window_hours);
        share.monthly += one.member.monthly;
    }
    let mut shares: Vec<PurchaseShare> = shares.into_values().collect();
    let left: BTreeMap<usize, Decimal> =
        members.iter().map(|one| (one.workload, one.left)).collect();
    let weights: Vec<Decimal> = shares
        .iter()
        .map(|share| share.monthly.min(left[&share.workload]))
        .collect();
    for (share, part) in shares.iter_mut().zip(allocate(monthly_savings, &weights)) {
        share.monthly_savings = part;
    }
    shares.retain(|share| !share.monthly_savings.amount().is_zero());
    Some(Purchase {
        key: pool.key.clone(),
        account: pool.account.clone(),
        term: term.clone(),
        count,
        on_demand_hourly: on_demand,
        usage,
        shares,
        monthly_savings,
        evidence_hours: hours.iter().map(|one| one.seen.len()).min().unwrap_or(0),
        caveats: Vec::new(),
        steps: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_work_goes_on_until_the_next_begins() {
        assert_eq!(stretched(&[0, 1, 0, 0], 1.5), [0, 1, 1, 0]);
        assert_eq!(stretched(&[1, 1, 0, 1], 1.2), [1, 1, 1, 1]);
        assert_eq!(stretched(&[1, 0, 0, 0], 1.0), [1, 0, 0, 0]);
    }
}
