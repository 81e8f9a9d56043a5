//! The hours of a workload on a day, apart by how they were paid for.

use super::facts::{DayFacts, InstanceDays, hours, share};
use crate::domain::{
    CommittedPart, Currency, DAY_SECONDS, InstanceCost, Member, NAME_TAG, PriceOption,
    PurchaseOption, Workload,
};
use crate::usage::DayLoad;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

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
        let Some(own) = facts.of_instance(&member.id) else { continue };
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
pub(super) fn own_tags(member: &Member) -> BTreeMap<String, String> {
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
pub(super) fn first_day_after(end: Timestamp) -> Option<Date> {
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
