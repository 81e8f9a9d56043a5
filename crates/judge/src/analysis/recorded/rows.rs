//! What each workload, and each commitment that was not used, cost on a day, and what all of
//! them did; hours apart by how they were paid for.

use super::facts::{DayFacts, InstanceDays, hours, kept, kept_money, share};
use crate::analysis::sums::entries_of;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    CommittedPart, CostKind, CostSource, Currency, DAY_SECONDS, DatedPrice, InstanceCost, Member,
    Money, NAME_TAG, PriceOption, Provider, PurchaseOption, Workload, WorkloadDay,
};
use crate::savings::{CommitmentKind, UnusedCommitment};
use crate::usage::DayLoad;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Hours of a day of UTC.
pub(super) const HOURS_OF_A_DAY: Decimal = Decimal::from_parts(24, 0, 0, false, 0);

/// What the rows of a run share.
pub(super) struct Rows<'a> {
    pub audit: &'a Audit,
    pub facts: &'a DayFacts,
    pub hours_per_month: Decimal,
    pub run_id: &'a str,
}

/// Volumes and addresses of instances with the same tags.
#[derive(Default)]
struct Disks {
    instances: u64,
    /// When the first of the instances was seen.
    seen: Option<Timestamp>,
    monthly: Decimal,
}

impl Rows<'_> {
    /// The rows of some days: by day, and then in the order of the audit.
    pub(super) fn of(&self, days: &[Date]) -> Vec<WorkloadDay> {
        let mut rows = Vec::new();
        for day in days {
            for audited in &self.audit.workloads {
                rows.extend(self.compute(audited, *day));
                rows.extend(self.idle_storage(audited, *day));
            }
            rows.extend(self.audit.unused.iter().filter_map(|row| self.unused(row, *day)));
        }
        rows
    }

    fn compute(&self, audited: &AuditedWorkload, day: Date) -> Vec<WorkloadDay> {
        let workload = &audited.workload;
        let currency = currency_of(workload);
        let parts = of_day(workload, self.facts, day, currency);
        let price = self.price(workload, currency);
        let row = |(payer, sum): (Payer, Sum)| {
            let money = |amount: Option<Decimal>| Some(kept_money(amount?, currency));
            let number = |number: Option<Decimal>| number.map(kept);
            let mut tags = workload.tags.clone();
            tags.extend(payer.tags);
            WorkloadDay {
                tags,
                gpus_per_instance: number(gpus_per_instance(workload)),
                option: payer.option,
                commitment: payer.commitment,
                committed_until: payer.until,
                hours: kept(sum.hours),
                gpu_hours: number(sum.gpu_hours),
                list: money(sum.list),
                contracted: money(sum.contracted),
                effective: money(sum.effective),
                useful_gpu_hours: number(sum.useful_gpu_hours),
                idle_gpu_hours: number(sum.idle_gpu_hours),
                unmeasured_gpu_hours: number(sum.unmeasured_gpu_hours),
                price,
                ..self.bare(workload, day, CostKind::Compute)
            }
        };
        parts.into_iter().map(row).collect()
    }

    /// Volumes and addresses of what has ended, for the hours of the day in which it did not
    /// run, from when it was first seen, by the tags of their instances: what has a price, and
    /// what has none.
    fn idle_storage(&self, audited: &AuditedWorkload, day: Date) -> Vec<WorkloadDay> {
        let workload = &audited.workload;
        if workload.key.running {
            return Vec::new();
        }
        let mut by_tags: BTreeMap<BTreeMap<String, String>, Disks> = BTreeMap::new();
        for (member, entry) in workload.members.iter().zip(entries_of(audited)) {
            let disks = by_tags.entry(own_tags(member)).or_default();
            disks.instances += 1;
            disks.seen = disks.seen.into_iter().chain([member.first_seen]).min();
            disks.monthly += entry.monthly.map(Money::amount).unwrap_or_default();
        }
        let mut rows = Vec::new();
        for (own_tags, disks) in &by_tags {
            let storage = workload.idle_storage.monthly.filter(|_| !disks.monthly.is_zero());
            let priced = storage.map(|storage| Money::new(disks.monthly, storage.currency()));
            let unpriced = (!workload.idle_storage.unpriced.is_empty()).then_some(None);
            for monthly in priced.map(Some).into_iter().chain(unpriced) {
                rows.extend(self.idle_storage_at(workload, (own_tags, disks), day, monthly));
            }
        }
        rows
    }

    fn idle_storage_at(
        &self,
        workload: &Workload,
        (own_tags, disks): (&BTreeMap<String, String>, &Disks),
        day: Date,
        monthly: Option<Money>,
    ) -> Option<WorkloadDay> {
        let currency = monthly.map_or_else(|| currency_of(workload), Money::currency);
        let begin = day.to_zoned(TimeZone::UTC).ok()?.timestamp();
        let before = hours_between(begin, disks.seen?).clamp(Decimal::ZERO, HOURS_OF_A_DAY);
        let parts = of_day(workload, self.facts, day, currency);
        let own = parts.iter().filter(|(payer, _)| payer.tags == *own_tags);
        let ran: Decimal = own.map(|(_, sum)| sum.hours).sum();
        let ran = ran / Decimal::from(disks.instances);
        let hours = (HOURS_OF_A_DAY - before - ran).max(Decimal::ZERO);
        let effective = match monthly {
            Some(monthly) => Some(self.of_month(monthly, hours)?),
            None => None,
        };
        let mut tags = workload.tags.clone();
        tags.extend(own_tags.clone());
        (!hours.is_zero()).then(|| WorkloadDay {
            tags,
            hours: kept(hours),
            effective,
            ..self.bare(workload, day, CostKind::IdleStorage)
        })
    }

    /// What a commitment cost that was not used, on a day on which it was paid for.
    fn unused(&self, row: &UnusedCommitment, day: Date) -> Option<WorkloadDay> {
        let monthly = row.monthly_cost;
        let begin = day.to_zoned(TimeZone::UTC).ok()?.timestamp();
        // It is paid for in the last of the hours of the window.
        let from_end = hours_between(begin, self.audit.window.end);
        let paid = (row.hours - (from_end - HOURS_OF_A_DAY)).min(HOURS_OF_A_DAY);
        if paid <= Decimal::ZERO || monthly.is_some_and(|monthly| monthly.amount().is_zero()) {
            return None;
        }
        let commitment = CommitmentKind::from_name(row.kind);
        let option = match commitment {
            Some(kind) if kind.is_reserved() => PurchaseOption::Reserved,
            Some(_) => PurchaseOption::SavingsPlan,
            None => PurchaseOption::OnDemand,
        };
        Some(WorkloadDay {
            run_id: self.run_id.to_owned(),
            day,
            provider: Provider::Aws,
            account: row.account.clone().unwrap_or_default(),
            region: row.region.clone().unwrap_or_default(),
            workload: row.id.clone(),
            job: row.id.clone(),
            name: row.name.clone(),
            tags: row.tags.clone(),
            kind: CostKind::Unused,
            instance_type: String::new(),
            gpus_per_instance: None,
            option,
            commitment: Some(row.id.clone()),
            committed_until: row.committed_until.and_then(first_day_after),
            hours: kept(row.mean_room.unwrap_or(Decimal::ONE) * paid),
            gpu_hours: None,
            list: None,
            contracted: None,
            effective: match monthly {
                Some(monthly) => Some(self.of_month(monthly, paid)?),
                None => None,
            },
            useful_gpu_hours: None,
            idle_gpu_hours: None,
            unmeasured_gpu_hours: None,
            source: CostSource::Estimate,
            price: None,
        })
    }

    /// A row of a workload without any figure.
    fn bare(&self, workload: &Workload, day: Date, kind: CostKind) -> WorkloadDay {
        let key = &workload.key;
        WorkloadDay {
            run_id: self.run_id.to_owned(),
            day,
            provider: key.provider,
            account: key.account.clone(),
            region: key.region.clone(),
            workload: workload.id(),
            job: key.job(),
            name: workload.name.clone(),
            tags: workload.tags.clone(),
            kind,
            instance_type: key.instance_type.clone(),
            gpus_per_instance: None,
            option: PurchaseOption::OnDemand,
            commitment: None,
            committed_until: None,
            hours: Decimal::ZERO,
            gpu_hours: None,
            list: None,
            contracted: None,
            effective: None,
            useful_gpu_hours: None,
            idle_gpu_hours: None,
            unmeasured_gpu_hours: None,
            source: CostSource::Estimate,
            price: None,
        }
    }

    /// The public price of its instances, which are of one type in one region.
    fn price(&self, workload: &Workload, currency: Currency) -> Option<DatedPrice> {
        let mut members = workload.members.iter();
        let price = members.find_map(|member| self.facts.instances.get(&member.id)?.list);
        price.filter(|price| price.hourly.currency() == currency)
    }

    /// A part of what something costs in a month.
    fn of_month(&self, monthly: Money, hours: Decimal) -> Option<Money> {
        let amount = (monthly.amount() * hours).checked_div(self.hours_per_month)?;
        Some(kept_money(amount, monthly.currency()))
    }
}

/// The currency of everything that a workload costs.
pub(super) fn currency_of(workload: &Workload) -> Currency {
    let cost = workload.cost.as_ref().map(|cost| cost.hourly.currency());
    cost.unwrap_or_else(|| Currency::of_region(&workload.key.region))
}

/// Hours from one instant to another; below zero where the other is before.
fn hours_between(from: Timestamp, to: Timestamp) -> Decimal {
    Decimal::from(to.as_second() - from.as_second()) / Decimal::from(3_600)
}

/// What the instances of an audit cost on one day of UTC, in the currency of its totals: the
/// amounts that a history keeps. Instances that ended before the audit are in no day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayCost {
    pub day: Date,
    /// All of it, in cents; absent where something cost and no amount is known.
    pub cost: Option<Money>,
    /// What of it was for what did not run: idle storage and unused commitments.
    pub unused: Money,
    /// Rows without an amount, or with one in another currency.
    pub unknown_rows: u64,
}

/// What each day cost of which there are facts, ascending.
pub fn day_costs(audit: &Audit, facts: &DayFacts, hours_per_month: Decimal) -> Vec<DayCost> {
    let rows = Rows { audit, facts, hours_per_month, run_id: "" };
    // One day at a time: rows name everything that they are about.
    let days = facts.days.iter();
    days.map(|day| cost_of(audit, *day, &rows.of(&[*day]))).collect()
}

fn cost_of(audit: &Audit, day: Date, rows: &[WorkloadDay]) -> DayCost {
    let currency = audit.totals.currency;
    let (mut cost, mut unused) = (Decimal::ZERO, Decimal::ZERO);
    let mut unknown_rows = 0;
    for row in rows {
        let amount = row.effective.filter(|amount| amount.currency() == currency);
        let Some(amount) = amount else {
            unknown_rows += 1;
            continue;
        };
        cost += amount.amount();
        if row.kind != CostKind::Compute {
            unused += amount.amount();
        }
    }
    let is_known = rows.is_empty() || unknown_rows < rows.len() as u64;
    let money = |amount| Money::new(amount, currency).rounded();
    DayCost { day, cost: is_known.then(|| money(cost)), unused: money(unused), unknown_rows }
}

/// Who pays for some hours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Payer {
    pub option: PurchaseOption,
    /// The commitment.
    pub commitment: Option<String>,
    /// The first day after it.
    pub until: Option<Date>,
    /// Whose tags decide which budget it is of: those that not all of the workload share.
    pub tags: BTreeMap<String, String>,
}

/// What of the hours of an instance is paid for in one way.
struct Paid {
    payer: Payer,
    /// Of the hours, 0–1.
    share: Decimal,
    /// What that costs, spread over every hour; absent without a price.
    hourly: Option<Decimal>,
}

/// Some hours, unrounded. An amount that is not known of one of them is known of none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sum {
    pub hours: Decimal,
    pub gpu_hours: Option<Decimal>,
    pub list: Option<Decimal>,
    pub contracted: Option<Decimal>,
    pub effective: Option<Decimal>,
    pub useful_gpu_hours: Option<Decimal>,
    pub idle_gpu_hours: Option<Decimal>,
    pub unmeasured_gpu_hours: Option<Decimal>,
}

impl Sum {
    fn add(&mut self, other: &Self) {
        let both = |one: &mut Option<Decimal>, other: Option<Decimal>| {
            *one = one.zip(other).map(|(one, other)| one + other);
        };
        let any = |one: &mut Option<Decimal>, other: Option<Decimal>| {
            *one = match (*one, other) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            };
        };
        self.hours += other.hours;
        both(&mut self.gpu_hours, other.gpu_hours);
        both(&mut self.list, other.list);
        both(&mut self.contracted, other.contracted);
        both(&mut self.effective, other.effective);
        any(&mut self.useful_gpu_hours, other.useful_gpu_hours);
        any(&mut self.idle_gpu_hours, other.idle_gpu_hours);
        both(&mut self.unmeasured_gpu_hours, other.unmeasured_gpu_hours);
    }
}

/// The hours of a workload on a day by who paid, in order; none where it did not run.
pub(super) fn of_day(
    workload: &Workload,
    facts: &DayFacts,
    day: Date,
    currency: Currency,
) -> BTreeMap<Payer, Sum> {
    let gpus = gpus_per_instance(workload);
    let costs = workload.cost.as_ref().map(|cost| cost.instances.as_slice());
    let mut parts: BTreeMap<Payer, Sum> = BTreeMap::new();
    for (place, member) in workload.members.iter().enumerate() {
        let Some(own) = facts.instances.get(&member.id) else { continue };
        let Some(load) = own.days.get(&day).filter(|load| load.instance_seconds > 0) else {
            continue;
        };
        for mut paid in paid(costs.and_then(|costs| costs.get(place)), own) {
            paid.payer.tags = own_tags(member);
            let sum = sum_of(&paid, load, own, gpus, currency);
            match parts.get_mut(&paid.payer) {
                Some(known) => known.add(&sum),
                None => {
                    parts.insert(paid.payer, sum);
                }
            }
        }
    }
    parts
}

/// The tags of a member that not all of its workload share. A name is that of one instance.
fn own_tags(member: &Member) -> BTreeMap<String, String> {
    let own = member.own_tags.iter().filter(|(key, _)| key.as_str() != NAME_TAG);
    own.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// GPUs of one instance as a number; absent for an unknown type.
pub(super) fn gpus_per_instance(workload: &Workload) -> Option<Decimal> {
    Some(workload.shape.as_ref()?.gpu.as_ref()?.share.count())
}

/// How the hours of an instance are paid for; of one without a cost as EC2 says.
fn paid(cost: Option<&InstanceCost>, own: &InstanceDays) -> Vec<Paid> {
    let open = |option, share, rate: Option<Decimal>| Paid {
        payer: Payer { option, commitment: None, until: None, tags: BTreeMap::new() },
        share,
        hourly: rate.map(|rate| rate * share),
    };
    let Some(cost) = cost else {
        return vec![open(own.option, Decimal::ONE, own.open.map(|rate| rate.amount()))];
    };
    let option = match cost.key.option {
        PriceOption::Spot => PurchaseOption::Spot,
        PriceOption::CapacityBlock => PurchaseOption::CapacityBlock,
        _ => PurchaseOption::OnDemand,
    };
    let rate = Some(cost.quote.rate.amount());
    let Some(committed) = &cost.committed else { return vec![open(option, Decimal::ONE, rate)] };
    let covered = committed.parts.iter().map(|part| Paid {
        payer: payer_of(part),
        share: part.share,
        hourly: Some(part.hourly.amount()),
    });
    let rest = open(option, committed.uncovered_share, rate);
    covered.chain(Some(rest).filter(|rest| !rest.share.is_zero())).collect()
}

fn payer_of(part: &CommittedPart) -> Payer {
    Payer {
        option: part.option,
        commitment: Some(part.commitment.clone()),
        until: part.end.and_then(first_day_after),
        tags: BTreeMap::new(),
    }
}

/// The first day of UTC that begins at an instant or later.
fn first_day_after(end: Timestamp) -> Option<Date> {
    let date = end.to_zoned(TimeZone::UTC).date();
    if end.as_second().rem_euclid(DAY_SECONDS) == 0 && end.subsec_nanosecond() == 0 {
        Some(date)
    } else {
        date.tomorrow().ok()
    }
}

fn sum_of(
    paid: &Paid,
    load: &DayLoad,
    own: &InstanceDays,
    gpus: Option<Decimal>,
    currency: Currency,
) -> Sum {
    let ran_hours = hours(load.instance_seconds);
    let hours = ran_hours * paid.share;
    let gpu_hours = gpus.map(|gpus| hours * gpus);
    let seconds = load.gpu_seconds;
    // A fraction of a GPU is one that the guest sees: shares are those of what it sees.
    let of = |part: f64| Some(gpu_hours? * share(part, seconds));
    let is_measured = load.measured_gpu_seconds > 0;
    let measured = is_measured.then_some(load.measured_gpu_seconds as f64);
    let unmeasured =
        if let Some(measured) = measured { of(seconds as f64 - measured) } else { gpu_hours };
    let list = own.list.map(|price| price.hourly);
    let list = list.filter(|rate| rate.currency() == currency);
    let contracted = own.contracted.filter(|rate| rate.currency() == currency);
    Sum {
        hours,
        gpu_hours,
        list: list.map(|rate| rate.amount() * hours),
        contracted: contracted.map(|rate| rate.amount() * hours),
        effective: paid.hourly.map(|hourly| hourly * ran_hours),
        useful_gpu_hours: measured.and_then(|_| of(load.useful_gpu_seconds)),
        idle_gpu_hours: load.idle_gpu_seconds.and_then(|idle| of(idle as f64)),
        unmeasured_gpu_hours: unmeasured,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_that_ends_at_midnight_ends_with_the_day_before() {
        let of = |end: &str| first_day_after(end.parse().expect("a time"));
        let day = |day| Some(Date::constant(2026, 11, day));
        assert_eq!(of("2026-11-22T00:00:00Z"), day(22));
        assert_eq!(of("2026-11-22T00:00:00.5Z"), day(23));
        assert_eq!(of("2026-11-22T12:00:00Z"), day(23));
    }

    #[test]
    fn what_is_not_known_of_one_is_known_of_none_but_what_was_measured() {
        let sample = |number: i64, known: bool| {
            let number = Decimal::from(number);
            let known = known.then_some(number);
            Sum {
                hours: number,
                gpu_hours: Some(number),
                list: known,
                contracted: known,
                effective: known,
                useful_gpu_hours: known,
                idle_gpu_hours: known,
                unmeasured_gpu_hours: Some(number),
            }
        };
        let mut sum = sample(1, true);
        sum.add(&sample(2, false));
        assert_eq!((sum.hours, sum.gpu_hours), (3.into(), Some(3.into())));
        assert_eq!((sum.list, sum.contracted, sum.effective), (None, None, None));
        assert_eq!(sum.useful_gpu_hours, Some(Decimal::ONE));
        assert_eq!(sum.idle_gpu_hours, Some(Decimal::ONE));
        sum.add(&sample(4, true));
        assert_eq!((sum.list, sum.useful_gpu_hours), (None, Some(5.into())));
    }
}
