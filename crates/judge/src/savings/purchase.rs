//! Commitments for a pool: who is in it, hour by hour, what of it pays, and what a purchase binds
//! whoever signs it to.

use super::calculator::BILLED_HOURS_PER_MONTH;
use super::coverage::{OpenPool, Slot};
use super::offers::{Alternatives, BilledMember, ScheduledHours, Stage, TermOffer, Terms};
use super::pool::{INSTANCE, cents};
use super::{ConcurrentUsage, Fewer, MemberHours, PoolRates, allocate, instances, pooled_hours};
use crate::domain::{CommitmentTerm, HourlyRate, Instalments, Money, PriceKey, PriceOption};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
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

/// A workload's part of a pool.
pub(super) struct PoolRow<'a> {
    /// The workload's place in the plan.
    pub workload: usize,
    /// The workload's id.
    pub id: &'a str,
    /// What is left of the workload's cost, in cents.
    pub left: Decimal,
    /// Its members that are in the pool.
    pub slots: Vec<&'a Slot>,
    /// What they cost on demand per month where nothing covers them, unrounded.
    pub monthly: Decimal,
}

/// How the members of a workload run at a stage: where each place of the stage leads, and what
/// no lever moves as it is.
pub(super) struct Course<'a> {
    pub stage: Option<&'a Stage>,
    pub schedule: Option<&'a ScheduledHours>,
    pub slowdown: f64,
    pub fewer: Option<&'a Fewer>,
    /// The longest term that may be bought, years; any where it is absent, and none where it is 0.
    pub most_years: Option<u8>,
}

/// The members of a workload that commitments may cover, as they run at a stage; those that a
/// stop ends only `with_ended`.
pub(super) fn slots(workload: &Alternatives, course: &Course<'_>, with_ended: bool) -> Vec<Slot> {
    let idle_hours = workload.schedule.as_ref().map(|offer| &offer.hours);
    let stays = |member: &&BilledMember| with_ended || !member.is_ended;
    let billed = workload.billed.iter().filter(stays);
    billed.filter_map(|member| slot(member, course, idle_hours)).collect()
}

/// Nothing is bought for hours that are idle, whether a schedule is taken or not.
fn slot(
    billed_member: &BilledMember,
    course: &Course<'_>,
    idle_hours: Option<&ScheduledHours>,
) -> Option<Slot> {
    let Some(place) = billed_member.place else {
        return Some(Slot {
            class: billed_member.class.clone(),
            hours: MemberHours { seen: Arc::clone(&billed_member.seen), most: INSTANCE },
            monthly: billed_member.monthly,
            open_share: billed_member.open_share(),
            hourly: billed_member.hourly,
            sized: None,
            working: None,
            most_years: None,
        });
    };
    let stage = course.stage?;
    let member = stage.members.get(place)?;
    let mut seen: Arc<[u64]> = match course.schedule {
        Some(schedule) => masked(&billed_member.seen, &schedule.on).into(),
        None if course.slowdown > 1.0 => stretched(&billed_member.seen, course.slowdown).into(),
        None => Arc::clone(&billed_member.seen),
    };
    let mut most = INSTANCE;
    if let Some(fewer) = course.fewer {
        let begins = fewer.by_hour.len().saturating_sub(seen.len());
        for (ran, share) in Arc::make_mut(&mut seen).iter_mut().zip(&fewer.by_hour[begins..]) {
            *ran = part(*ran, *share);
        }
        most = part(most, fewer.share);
    }
    let idle_hours = idle_hours.filter(|_| course.schedule.is_none());
    let sized: Arc<[u64]> = match idle_hours {
        Some(idle) => masked(&seen, &idle.on).into(),
        None => Arc::clone(&seen),
    };
    let working = worked(billed_member, course.slowdown).map(|worked| MemberHours {
        seen: (sized.iter().zip(&worked))
            .map(|(sized, worked)| if *worked > 0 { *sized } else { 0 })
            .collect(),
        most,
    });
    Some(Slot {
        class: billed_member.class.with_type(&stage.instance_type),
        hours: MemberHours { seen, most },
        monthly: member.monthly,
        open_share: billed_member.open_share(),
        hourly: member.hourly,
        sized: (billed_member.is_sized && course.most_years != Some(0))
            .then_some(MemberHours { seen: sized, most }),
        working,
        most_years: billed_member.most_years.into_iter().chain(course.most_years).min(),
    })
}

/// The hours of a member in which its GPUs did not rest, which are more where its work takes
/// longer; absent where they never rested.
fn worked(member: &BilledMember, slowdown: f64) -> Option<Vec<u64>> {
    if !member.rested.contains(&true) {
        return None;
    }
    let hours = member.seen.iter().zip(&*member.rested);
    let worked = hours.map(|(ran, rested)| if *rested { 0 } else { *ran });
    let worked: Vec<u64> = worked.collect();
    Some(if slowdown > 1.0 { stretched(&worked, slowdown) } else { worked })
}

fn part(amount: u64, share: Decimal) -> u64 {
    (Decimal::from(amount) * share).round().to_u64().unwrap_or(u64::MAX)
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
    slots: &[Slot],
    stage: &Stage,
    terms: &Terms<'_>,
) -> Option<Decimal> {
    let members: Vec<MemberHours> = slots.iter().filter_map(|slot| slot.sized.clone()).collect();
    let worked: u64 = pooled_hours(&members, terms.window_hours).iter().sum();
    let paid = Decimal::from(terms.window_hours) * Decimal::from(stage.count);
    (term.effective_hourly.amount() * paid).checked_div(instances(worked))
}

/// What is bought for a pool: the term, how many, and what they save per month, unrounded.
pub(super) type Bought<'a> = (&'a TermOffer, u32, Decimal);

/// What so many commitments save per month on what a pool runs, unrounded: their fees are paid, and
/// the hours above them cost what they cost today. No more hours are replaced than today's cost
/// holds.
pub(super) fn saved(
    open: &OpenPool,
    usage: &ConcurrentUsage,
    (term, count): (&TermOffer, u32),
    month: Decimal,
) -> Option<Decimal> {
    let rates = PoolRates::new(open.hourly, term.effective_hourly).ok()?;
    let fees = term.effective_hourly.amount() * Decimal::from(count) * month;
    Some(rates.monthly_savings(usage, count, month).amount().min(open.monthly - fees))
}

/// The commitment that saves most on what a pool runs and nothing covers, above zero, as many as
/// the hours at work justify too.
pub(super) fn best_purchase<'a>(open: &OpenPool, terms: &'a Terms<'_>) -> Option<Bought<'a>> {
    let usage = ConcurrentUsage::of(&open.hours);
    let working = open.working.as_deref().map(ConcurrentUsage::of);
    terms
        .sold(&open.pool)
        .filter(|term| open.years.is_none() || term.years() == open.years)
        .filter_map(|term| {
            let rates = PoolRates::new(open.hourly, term.effective_hourly).ok()?;
            let working = working.as_ref().map(|working| rates.best_count(working));
            let count = rates.best_count(&usage).min(working.unwrap_or(u32::MAX));
            Some((term, count, saved(open, &usage, (term, count), terms.hours_per_month)?))
        })
        // Of equals the first, in the order of preference.
        .reduce(|best, next| if next.2 > best.2 { next } else { best })
        .filter(|(_, count, saving)| *count > 0 && *saving > Decimal::ZERO)
}

/// What is bought for a pool, with the part of each workload: first of those that run for its
/// term, and of the others what is more than these cost.
pub(super) fn purchase(
    open: &OpenPool,
    (term, count, saving): Bought<'_>,
    rows: &[PoolRow<'_>],
) -> Option<Purchase> {
    let currency = open.hourly.currency();
    let holds = |row: &&PoolRow<'_>| row.slots.iter().any(|slot| open.holds(slot));
    let (lasting, ending): (Vec<&PoolRow<'_>>, Vec<_>) = rows.iter().partition(holds);
    let most =
        |rows: &[&PoolRow<'_>]| -> Decimal { rows.iter().map(|row| cents(row.monthly)).sum() };
    let own = Money::new(saving.min(most(&lasting)), currency).rounded();
    let rest = Money::new(saving - own.amount(), currency).rounded();
    let rest = Money::new(rest.amount().min(most(&ending)), currency);
    let split = |saving: Money, rows: &[&PoolRow<'_>]| {
        allocate(saving, &rows.iter().map(|row| row.monthly).collect::<Vec<_>>())
    };
    let parts = split(own, &lasting).into_iter().chain(split(rest, &ending));
    let shares = lasting.iter().chain(&ending).zip(parts).map(|(row, part)| {
        let slots = row.slots.iter();
        PurchaseShare {
            id: row.id.to_owned(),
            workload: row.workload,
            instances: row.slots.len() as u32,
            young: slots.filter(|slot| slot.hours.is_young(open.hours.len())).count() as u32,
            monthly: row.monthly,
            monthly_savings: part,
        }
    });
    let shares: Vec<PurchaseShare> =
        shares.filter(|share| !share.monthly_savings.amount().is_zero()).collect();
    let monthly_savings: Decimal = shares.iter().map(|share| share.monthly_savings.amount()).sum();
    let slots = lasting.iter().flat_map(|row| &row.slots).filter(|slot| open.holds(slot));
    let evidence = slots.map(|slot| slot.hours.seen.len()).min();
    (monthly_savings > Decimal::ZERO).then(|| Purchase {
        key: open.pool.key.clone(),
        account: open.pool.account.clone(),
        term: term.clone(),
        count,
        on_demand_hourly: open.hourly,
        usage: ConcurrentUsage::of(&open.hours),
        shares,
        monthly_savings: Money::new(monthly_savings, currency),
        evidence_hours: evidence.unwrap_or(0),
        caveats: Vec::new(),
        steps: Vec::new(),
    })
}

/// A purchase as the promise that it is, all its units together.
#[derive(Debug, Clone, PartialEq)]
pub struct Promise {
    /// `standard-reserved-instance` or `ec2-instance-savings-plan`.
    pub kind: &'static str,
    pub term: CommitmentTerm,
    /// Paid at once, in cents.
    pub upfront: Money,
    /// Paid in each month of 730 hours beside that, used or not, in cents.
    pub monthly: Money,
    /// Everything that is paid until the term ends, in cents.
    pub term_total: Money,
    /// Share of the hours from which on it pays, 0–100.
    pub break_even_percent: Decimal,
    /// Days for which every machine was observed that it was sized by.
    pub evidence_days: Decimal,
}

/// What each purchase is paid until its term ends, in cents and in their order.
pub fn term_totals(purchases: &[Purchase]) -> Vec<Money> {
    purchases.iter().filter_map(Purchase::promise).map(|promise| promise.term_total).collect()
}

impl Purchase {
    /// What it binds to; `None` for what has no term.
    pub fn promise(&self) -> Option<Promise> {
        let (kind, term) = match self.term.option {
            PriceOption::Reserved(term) => ("standard-reserved-instance", term),
            PriceOption::Ec2InstanceSavingsPlan(term) => ("ec2-instance-savings-plan", term),
            PriceOption::OnDemand
            | PriceOption::Spot
            | PriceOption::ComputeSavingsPlan(_)
            | PriceOption::CapacityBlock => return None,
        };
        let Instalments { upfront, hourly } = self.term.instalments;
        let currency = self.monthly_savings.currency();
        let of_all = |each: Decimal| {
            let total = each * Decimal::from(self.count);
            Money::new(total, currency).rounded()
        };
        let effective = self.term.effective_hourly.amount();
        Some(Promise {
            kind,
            term,
            upfront: of_all(upfront),
            monthly: of_all(hourly * Decimal::from(BILLED_HOURS_PER_MONTH)),
            term_total: of_all(upfront + hourly * Decimal::from(term.hours())),
            break_even_percent: Decimal::ONE_HUNDRED * effective / self.on_demand_hourly.amount(),
            evidence_days: Decimal::from(self.evidence_hours) / Decimal::from(24),
        })
    }
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
