//! What a fleet costs per month, entry by entry, each with whose it is, and which part of a cost
//! did useful work. Every sum of money is one of entries: the headline of all, a budget of those
//! in its scope, a chargeback by their values.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Classification, Member, Money, Signal};
use crate::savings::UnusedCommitment;
use rust_decimal::prelude::FromPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};
use std::cmp::Reverse;

/// What an entry is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EntrySubject<'a> {
    /// A machine of a workload: its hours, or what stands while it is stopped.
    Member(&'a AuditedWorkload, &'a Member),
    /// Room or a fee that nothing uses.
    Unused(&'a UnusedCommitment),
}

/// One amount of money.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry<'a> {
    pub subject: EntrySubject<'a>,
    /// Per month, in cents; absent without a price.
    pub monthly: Option<Money>,
}

impl<'a> Entry<'a> {
    /// The id of its workload, or its own.
    pub fn id(&self) -> String {
        match self.subject {
            EntrySubject::Member(audited, _) => audited.workload.id(),
            EntrySubject::Unused(row) => row.id.clone(),
        }
    }

    /// The account that it belongs to; absent where that is not known.
    pub fn account(&self) -> Option<&'a str> {
        match self.subject {
            EntrySubject::Member(audited, _) => Some(audited.workload.key.account.as_str()),
            EntrySubject::Unused(row) => row.account.as_deref(),
        }
    }

    /// The region; absent for what holds everywhere.
    pub fn region(&self) -> Option<&'a str> {
        match self.subject {
            EntrySubject::Member(audited, _) => Some(audited.workload.key.region.as_str()),
            EntrySubject::Unused(row) => row.region.as_deref(),
        }
    }

    /// Its own value of a tag, whatever the others of its workload say.
    pub fn tag(&self, key: &str) -> Option<&'a str> {
        let value = match self.subject {
            EntrySubject::Member(audited, member) => {
                member.own_tags.get(key).or_else(|| audited.workload.tags.get(key))
            }
            EntrySubject::Unused(row) => row.tags.get(key),
        };
        value.map(String::as_str)
    }
}

/// The entries of a workload, one for each of its machines in their order.
pub fn entries_of(audited: &AuditedWorkload) -> impl Iterator<Item = Entry<'_>> {
    let workload = &audited.workload;
    let monthly: Vec<Option<Money>> = match (&workload.cost, workload.idle_storage.monthly) {
        (Some(cost), _) if workload.key.running => {
            cost.instances.iter().map(|instance| Some(instance.monthly())).collect()
        }
        (_, Some(storage)) if !workload.key.running => {
            let shares = apportioned(storage.amount(), &workload.idle_storage.by_instance);
            shares.into_iter().map(|amount| Some(Money::new(amount, storage.currency()))).collect()
        }
        _ => vec![None; workload.members.len()],
    };
    workload.members.iter().zip(monthly).map(move |(member, monthly)| Entry {
        subject: EntrySubject::Member(audited, member),
        monthly,
    })
}

/// Every entry of an audit.
pub fn ledger(audit: &Audit) -> impl Iterator<Item = Entry<'_>> {
    let unused = audit
        .unused
        .iter()
        .map(|row| Entry { subject: EntrySubject::Unused(row), monthly: row.monthly_cost });
    audit.workloads.iter().flat_map(entries_of).chain(unused)
}

/// Divides whole cents by weights whose sum is positive. Each part is rounded down, and
/// the cents that are left go to the parts that lost most by that, earlier ones first.
pub(super) fn apportioned(total: Decimal, weights: &[Decimal]) -> Vec<Decimal> {
    let cent = Decimal::new(1, 2);
    let sum: Decimal = weights.iter().sum();
    let parts: Vec<(Decimal, Decimal)> = weights
        .iter()
        .map(|weight| {
            let exact = total * weight.checked_div(sum).unwrap_or_default();
            let cents = exact.round_dp_with_strategy(2, RoundingStrategy::ToZero);
            (cents, exact - cents)
        })
        .collect();
    let mut amounts: Vec<Decimal> = parts.iter().map(|(cents, _)| *cents).collect();
    let mut places: Vec<usize> = (0..parts.len()).collect();
    places.sort_by_key(|place| Reverse(parts[*place].1));
    let mut left = total - amounts.iter().sum::<Decimal>();
    for place in places {
        if left < cent {
            break;
        }
        amounts[place] += cent;
        left -= cent;
    }
    amounts
}

/// A cost by what it paid for; the parts sum to it to the cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostSplit {
    /// Times mean GPU utilization.
    pub useful: Money,
    /// The rest of what was measured.
    pub idle: Money,
    /// Of running instances of which too little is known.
    pub unmeasured: Money,
    /// Of stopped instances: volumes and addresses.
    pub idle_storage: Money,
}

impl CostSplit {
    /// Splits a cost of a workload, in whole cents, as its own is split. The mean
    /// GPU utilization counts, of the instances that reported it, and only when
    /// that is enough for a verdict: power is not utilization.
    pub fn of(audited: &AuditedWorkload, cost: Money) -> Self {
        if !audited.workload.key.running {
            return Self::of_storage(cost);
        }
        Self::by_use(cost, mean_share(audited).zip(measured_share(audited)))
    }

    pub(super) fn nothing(cost: Money) -> Self {
        let zero = Money::zero(cost.currency());
        Self { useful: zero, idle: zero, unmeasured: zero, idle_storage: zero }
    }

    /// What stands while nothing runs.
    pub(super) fn of_storage(cost: Money) -> Self {
        Self { idle_storage: cost, ..Self::nothing(cost) }
    }

    /// Splits a cost, in whole cents, by the mean utilization of what was measured and the
    /// share of it that was, both 0–1; all of it is unmeasured where they are not known.
    pub(super) fn by_use(cost: Money, mean_and_measured: Option<(Decimal, Decimal)>) -> Self {
        let nothing = Self::nothing(cost);
        let part = |share: Decimal| Money::new(cost.amount() * share, cost.currency()).rounded();
        let Some((mean, measured)) = mean_and_measured else {
            return Self { unmeasured: cost, ..nothing };
        };
        let less = |part: Money| Money::new(cost.amount() - part.amount(), cost.currency());
        let unmeasured = part(Decimal::ONE - measured);
        let judged = less(unmeasured);
        let useful = Money::new(judged.amount() * mean, cost.currency()).rounded();
        Self {
            useful,
            idle: Money::new(judged.amount() - useful.amount(), cost.currency()),
            unmeasured,
            ..nothing
        }
    }
}

/// Mean GPU utilization, 0–1; absent when it is not known well enough.
fn mean_share(audited: &AuditedWorkload) -> Option<Decimal> {
    if audited.verdict.classification == Classification::InsufficientData {
        return None;
    }
    let summary = audited.workload.utilization.as_ref()?;
    if summary.signal != Signal::GpuUtilization {
        return None;
    }
    share_of_percent(summary.distribution.mean)
}

/// A percentage as a share, 0–1; absent for what is not a number.
pub(super) fn share_of_percent(percent: f64) -> Option<Decimal> {
    Some(Decimal::from_f64(percent / 100.0)?.clamp(Decimal::ZERO, Decimal::ONE))
}

/// The share of its cost that instances with a GPU signal have, 0–1; absent when
/// that is nothing.
fn measured_share(audited: &AuditedWorkload) -> Option<Decimal> {
    let workload = &audited.workload;
    let costs = &workload.cost.as_ref()?.instances;
    let monthly = |index: usize| {
        costs.get(index).map_or(Decimal::ZERO, |instance| instance.monthly().amount())
    };
    let total: Decimal = (0..costs.len()).map(monthly).sum();
    let usage = workload.usage.iter().enumerate();
    let measured = usage.filter(|(_, usage)| usage.signal.is_some());
    let measured: Decimal = measured.map(|(index, _)| monthly(index)).sum();
    measured.checked_div(total).filter(|share| *share > Decimal::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimals(texts: &[&str]) -> Vec<Decimal> {
        let read = |text: &&str| text.parse().expect("a decimal");
        texts.iter().map(read).collect()
    }

    #[test]
    fn cents_go_to_the_largest_remainders() {
        for (total, weights, parts) in [
            // 3.333… each: all lose alike, so the first gets the cent.
            ("10.00", &["1", "1", "1"][..], &["3.34", "3.33", "3.33"][..]),
            // 0.14, 0.29 and 0.57 cents: the last one loses most.
            ("0.01", &["1", "2", "4"], &["0.00", "0.00", "0.01"]),
            // 42.857…, 14.285… and 42.857…: 0.7, 0.6 and 0.7 cents are lost.
            ("100.00", &["3", "1", "3"], &["42.86", "14.28", "42.86"]),
            ("734.38", &["0.25"], &["734.38"]),
            ("0.00", &["1", "2"], &["0.00", "0.00"]),
            ("5.00", &["0", "0.5"], &["0.00", "5.00"]),
        ] {
            let amounts = apportioned(total.parse().expect("a decimal"), &decimals(weights));
            assert_eq!(amounts, decimals(parts), "{total} by {weights:?}");
        }
    }
}
