//! What the hours of the window cost, apart by how they were paid for: an estimate
//! in the form of a bill.

use super::split::CostSplit;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Currency, InstanceCost, Money, PriceOption, PurchaseOption, ResourceId, Window, Workload,
};
use crate::savings::UnusedCommitment;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::collections::BTreeMap;

/// How hours were paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChargeKind {
    /// By the hour at a list or negotiated price.
    OnDemand,
    Spot,
    Reserved,
    SavingsPlan,
    CapacityBlock,
    /// Volumes and addresses of what is stopped; no hours of an instance.
    IdleStorage,
}

/// What some hours of a workload cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Charge<'a> {
    pub one: &'a AuditedWorkload,
    /// The instance; absent where it is all of the workload.
    pub instance: Option<&'a ResourceId>,
    /// The hours that it is about: those of the window, or of one of its days.
    pub period: Window,
    /// How they were paid for.
    pub part: ChargePart,
    /// Hours of instances; for what stands, those of the window.
    pub hours: Decimal,
    /// The hours at that price, in whole cents.
    pub list: Money,
    /// What they cost with commitments spread over the hours that they cover, in
    /// whole cents. These sum to the cost of the window.
    pub effective: Money,
    /// What of that is invoiced for the hours: nothing where a commitment paid.
    pub billed: Money,
    /// The effective cost by what it paid for.
    pub split: CostSplit,
    /// Mean GPU utilization of what was measured, 0–100.
    pub mean_percent: Option<Decimal>,
}

/// What is paid for in the window and does not run.
#[derive(Debug, Clone, PartialEq)]
pub struct UnusedCharge<'a> {
    pub one: &'a UnusedCommitment,
    /// The hours that it is about: those of the window, or of one of its days.
    pub period: Window,
    /// Hours of instances that there was room for; absent for what is not room.
    pub hours: Option<Decimal>,
    /// Its cost per month for the hours of the window, in whole cents.
    pub effective: Money,
    /// What of that is invoiced by the hour: nothing where a fee pays for it.
    pub billed: Money,
}

/// What the charges of one workload are apart by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChargePart {
    pub kind: ChargeKind,
    /// The commitment that paid for the hours.
    pub commitment: Option<String>,
    /// The availability zone, where a price of the spot market is of one.
    pub zone: Option<String>,
    /// Price of an hour without any commitment; absent for what stands.
    pub unit_price: Option<Decimal>,
}

/// Amounts before they are rounded.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Amounts {
    pub hours: Decimal,
    pub effective: Decimal,
}

/// The charges of every priced workload, in the order of the audit. Those of one
/// workload sum to its cost in the window, rounded to cents; the largest takes the
/// cent that rounding leaves. What stands while stopped is taken to stand for the
/// whole window.
pub fn charges(audit: &Audit, hours_per_month: Decimal) -> Vec<Charge<'_>> {
    let window_hours = Decimal::from(audit.window.seconds()) / Decimal::from(3_600);
    let charges = audit.workloads.iter().flat_map(|audited| {
        let parts = if audited.workload.key.running {
            running(&audited.workload)
        } else {
            idle_storage(&audited.workload, window_hours, hours_per_month)
        };
        let in_cents = |(currency, parts)| rounded((audited, audit.window), currency, parts);
        parts.map(in_cents).unwrap_or_default()
    });
    charges.collect()
}

/// The charges of all that is priced and does not run, in the order of the audit. With
/// [`charges`], these sum to the cost of the window.
pub fn unused_charges(audit: &Audit, hours_per_month: Decimal) -> Vec<UnusedCharge<'_>> {
    let unused = audit.unused.iter();
    unused.filter_map(|row| unused_charge((row, audit.window), hours_per_month)).collect()
}

fn unused_charge(
    (row, period): (&UnusedCommitment, Window),
    hours_per_month: Decimal,
) -> Option<UnusedCharge<'_>> {
    let monthly = row.monthly_cost?;
    let share = row.hours.checked_div(hours_per_month)?;
    let effective = Money::new(monthly.amount() * share, monthly.currency()).rounded();
    let hours = row.mean_room.map(|mean| mean * row.hours);
    (!effective.amount().is_zero()).then(|| UnusedCharge {
        one: row,
        period,
        hours,
        billed: if hours.is_some() { effective } else { Money::zero(effective.currency()) },
        effective,
    })
}

/// What of a charge is of one instance, which ran for some hours.
pub(super) fn amounts_of(charge: &Charge<'_>, instance: &InstanceCost, hours: Decimal) -> Amounts {
    let mut sum = Amounts::default();
    for (part, amounts) in of_instance(instance, hours) {
        if part == charge.part {
            sum.hours += amounts.hours;
            sum.effective += amounts.effective;
        }
    }
    sum
}

type Parts = (Currency, BTreeMap<ChargePart, Amounts>);

/// The hours that its instances ran; `None` without a price.
fn running(workload: &Workload) -> Option<Parts> {
    let cost = workload.cost.as_ref()?;
    let mut parts: BTreeMap<ChargePart, Amounts> = BTreeMap::new();
    for (instance, usage) in cost.instances.iter().zip(&workload.usage) {
        for (part, amounts) in of_instance(instance, usage.running.hours()) {
            let sum = parts.entry(part).or_default();
            sum.hours += amounts.hours;
            sum.effective += amounts.effective;
        }
    }
    parts.retain(|_, amounts| !amounts.hours.is_zero());
    Some((cost.hourly.currency(), parts))
}

fn of_instance(instance: &InstanceCost, hours: Decimal) -> Vec<(ChargePart, Amounts)> {
    let rate = instance.quote.rate.amount();
    let part = |kind, commitment| ChargePart {
        kind,
        commitment,
        zone: instance.key.zone.clone(),
        unit_price: Some(rate),
    };
    let open = if instance.key.option == PriceOption::Spot {
        ChargeKind::Spot
    } else {
        ChargeKind::OnDemand
    };
    let at_price = |share: Decimal| {
        (part(open, None), Amounts { hours: hours * share, effective: rate * hours * share })
    };
    let Some(paid) = &instance.committed else { return vec![at_price(Decimal::ONE)] };
    let covered = paid.parts.iter().map(|covered_part| {
        let kind = match covered_part.option {
            PurchaseOption::SavingsPlan => ChargeKind::SavingsPlan,
            PurchaseOption::CapacityBlock => ChargeKind::CapacityBlock,
            _ => ChargeKind::Reserved,
        };
        let amounts = Amounts {
            hours: hours * covered_part.share,
            // It is spread over every hour that the instance runs.
            effective: covered_part.hourly.amount() * hours,
        };
        (part(kind, Some(covered_part.commitment.clone())), amounts)
    });
    covered.chain([at_price(paid.uncovered_share)]).collect()
}

/// What stands while it is stopped; `None` without a price or anything that stands.
fn idle_storage(
    workload: &Workload,
    window_hours: Decimal,
    hours_per_month: Decimal,
) -> Option<Parts> {
    let monthly = workload.idle_storage.monthly?;
    let share = window_hours.checked_div(hours_per_month)?;
    let part = ChargePart {
        kind: ChargeKind::IdleStorage,
        commitment: None,
        zone: None,
        unit_price: None,
    };
    let amounts = Amounts { hours: window_hours, effective: monthly.amount() * share };
    (!monthly.amount().is_zero()).then(|| (monthly.currency(), BTreeMap::from([(part, amounts)])))
}

fn rounded(
    (audited, period): (&AuditedWorkload, Window),
    currency: Currency,
    parts: BTreeMap<ChargePart, Amounts>,
) -> Vec<Charge<'_>> {
    let cents = |amount: Decimal| Money::new(amount, currency).rounded();
    let exact: Decimal = parts.values().map(|part| part.effective).sum();
    let mut amounts: Vec<Decimal> =
        parts.values().map(|part| cents(part.effective).amount()).collect();
    let summary = audited.workload.utilization.as_ref();
    let mean_percent = summary.and_then(|summary| Decimal::from_f64(summary.distribution.mean));
    let left = cents(exact).amount() - amounts.iter().sum::<Decimal>();
    if let Some(largest) = amounts.iter_mut().max() {
        *largest += left;
    }
    let charges = parts.into_iter().zip(amounts).map(|((part, sums), effective)| {
        let effective = Money::new(effective, currency);
        let is_covered = part.commitment.is_some();
        let at_price = part.unit_price.map(|price| cents(price * sums.hours));
        Charge {
            one: audited,
            instance: None,
            period,
            part,
            hours: sums.hours,
            // Without a commitment both are one figure, also by a cent.
            list: at_price.filter(|_| is_covered).unwrap_or(effective),
            billed: if is_covered { Money::zero(currency) } else { effective },
            split: CostSplit::of(audited, effective),
            mean_percent,
            effective,
        }
    });
    charges.collect()
}
