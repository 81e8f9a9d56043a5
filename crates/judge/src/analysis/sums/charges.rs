//! What the hours of the window cost, apart by how they were paid for: an estimate in the form of
//! a bill. And the same by instance and day, divided so that every charge of the window is the sum
//! of its parts to the cent.

use super::ledger::{CostSplit, apportioned};
use crate::analysis::workloads::instance_shape;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Currency, Instance, InstanceCost, Money, PriceOption, PurchaseOption, ResourceId, Signal,
    Window, Workload,
};
use crate::savings::UnusedCommitment;
use crate::usage::{DayLoad, Estate};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
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
struct Amounts {
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
fn amounts_of(charge: &Charge<'_>, instance: &InstanceCost, hours: Decimal) -> Amounts {
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
fn idle_storage(workload: &Workload, hours: Decimal, hours_per_month: Decimal) -> Option<Parts> {
    let monthly = workload.idle_storage.monthly?;
    let share = hours.checked_div(hours_per_month)?;
    let part = ChargePart {
        kind: ChargeKind::IdleStorage,
        commitment: None,
        zone: None,
        unit_price: None,
    };
    let amounts = Amounts { hours, effective: monthly.amount() * share };
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

/// How each instance of an estate ran on each day of the window, those included of which the
/// window has a part.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunDays(BTreeMap<ResourceId, Vec<DayLoad>>);

impl RunDays {
    /// Of an estate that is about to be audited.
    pub fn of(estate: &Estate) -> Self {
        let usages = estate.measured();
        let grid = (estate.window, estate.period_seconds);
        let loads = |instance: &Instance| {
            let shape = instance_shape(estate, &instance.instance_type);
            let offer = shape.and_then(|shape| shape.gpu.as_ref());
            let (measured, timeline) = usages.of(&instance.id).measure(instance, offer, grid);
            let mut loads = timeline.every_day();
            // Power says when a GPU worked, and not how much of it was used.
            if !matches!(measured.signal, Some((Signal::GpuUtilization, _))) {
                for load in &mut loads {
                    load.measured_gpu_seconds = 0;
                }
            }
            (instance.id.clone(), loads)
        };
        Self(estate.instances.iter().map(loads).collect())
    }
}

/// A part of a charge, before its cents are divided.
struct Slice<'a> {
    instance: Option<&'a ResourceId>,
    period: Window,
    hours: Decimal,
    /// What they cost, unrounded.
    exact: Decimal,
    /// How the GPUs were used in them.
    load: Option<DayLoad>,
}

/// The charges of every priced workload by instance and day, in the order of the audit, then
/// by instance and day. Those of one charge of the window sum to it. Their use is that of the
/// day by itself. What stands while a workload is stopped is divided by day alone.
pub fn daily_charges<'a>(
    audit: &'a Audit,
    days: &RunDays,
    hours_per_month: Decimal,
) -> Vec<Charge<'a>> {
    let daily = charges(audit, hours_per_month).into_iter().flat_map(|charge| {
        let slices = match charge.part.kind {
            ChargeKind::IdleStorage => by_day(audit.window),
            _ => by_instance_and_day(&charge, days, audit.window),
        };
        divided(&charge, slices)
    });
    daily.collect()
}

/// What is paid for and does not run, by day: in the last of the hours of the window, as far
/// as it was paid for in them. Those of one charge of the window sum to it.
pub fn daily_unused_charges(audit: &Audit, hours_per_month: Decimal) -> Vec<UnusedCharge<'_>> {
    let daily = unused_charges(audit, hours_per_month).into_iter().flat_map(|charge| {
        let paid = |period: Window| {
            let after = hours_of(Window { start: period.end, end: audit.window.end });
            let hours = (charge.one.hours - after).min(hours_of(period));
            (hours > Decimal::ZERO).then_some((period, hours))
        };
        let periods: Vec<(Window, Decimal)> =
            days_of(audit.window).into_iter().filter_map(paid).collect();
        let hours: Vec<Decimal> = periods.iter().map(|(_, hours)| *hours).collect();
        let currency = charge.effective.currency();
        let amounts = apportioned(charge.effective.amount(), &hours);
        let is_billed = charge.hours.is_some();
        let of_day = |((period, hours), amount): ((Window, Decimal), Decimal)| {
            let effective = Money::new(amount, currency);
            UnusedCharge {
                one: charge.one,
                period,
                hours: charge.one.mean_room.map(|mean| mean * hours),
                billed: if is_billed { effective } else { Money::zero(currency) },
                effective,
            }
        };
        periods.into_iter().zip(amounts).map(of_day).collect::<Vec<_>>()
    });
    daily.collect()
}

fn by_day<'a>(window: Window) -> Vec<Slice<'a>> {
    let of_day = |period| Slice {
        instance: None,
        period,
        hours: hours_of(period),
        exact: hours_of(period),
        load: None,
    };
    days_of(window).into_iter().map(of_day).collect()
}

fn by_instance_and_day<'a>(charge: &Charge<'a>, days: &RunDays, window: Window) -> Vec<Slice<'a>> {
    let workload = &charge.one.workload;
    let costs = workload.cost.iter().flat_map(|cost| &cost.instances);
    let mut slices = Vec::new();
    for (cost, (usage, id)) in costs.zip(workload.usage.iter().zip(&workload.instances)) {
        let amounts = amounts_of(charge, cost, usage.running.hours());
        if amounts.hours.is_zero() {
            continue;
        }
        let loads = days.0.get(id).into_iter().flatten();
        let ran: Vec<&DayLoad> = loads.filter(|load| load.instance_seconds > 0).collect();
        let total: u64 = ran.iter().map(|load| load.instance_seconds).sum();
        let slice = |period, share: Decimal, load| Slice {
            instance: Some(id),
            period,
            hours: amounts.hours * share,
            exact: amounts.effective * share,
            load,
        };
        if ran.is_empty() {
            // Not known by day: no part of it may be lost.
            slices.push(slice(window, Decimal::ONE, None));
        }
        for load in ran {
            let share = Decimal::from(load.instance_seconds) / Decimal::from(total);
            slices.push(slice(part_of(load.day, window).unwrap_or(window), share, Some(*load)));
        }
    }
    slices
}

/// Divides the cents of a charge: the cost by what the slices cost, the list price by their
/// hours.
fn divided<'a>(charge: &Charge<'a>, slices: Vec<Slice<'a>>) -> Vec<Charge<'a>> {
    let currency = charge.effective.currency();
    let exact: Vec<Decimal> = slices.iter().map(|slice| slice.exact).collect();
    let hours: Vec<Decimal> = slices.iter().map(|slice| slice.hours).collect();
    let is_covered = charge.part.commitment.is_some();
    let effective = apportioned(charge.effective.amount(), &exact);
    let list =
        if is_covered { apportioned(charge.list.amount(), &hours) } else { effective.clone() };
    let of_slice = |(slice, (effective, list)): (Slice<'a>, (Decimal, Decimal))| {
        let effective = Money::new(effective, currency);
        let used = slice.load.as_ref().and_then(mean_and_measured);
        Charge {
            instance: slice.instance,
            period: slice.period,
            hours: slice.hours,
            list: Money::new(list, currency),
            billed: if is_covered { Money::zero(currency) } else { effective },
            split: if charge.part.kind == ChargeKind::IdleStorage {
                CostSplit::of_storage(effective)
            } else {
                CostSplit::by_use(effective, used)
            },
            mean_percent: used.map(|(mean, _)| mean * Decimal::ONE_HUNDRED),
            effective,
            ..charge.clone()
        }
    };
    slices.into_iter().zip(effective.into_iter().zip(list)).map(of_slice).collect()
}

/// Mean utilization of what was measured on a day, and how much of it was; both 0–1.
fn mean_and_measured(load: &DayLoad) -> Option<(Decimal, Decimal)> {
    let measured = load.measured_gpu_seconds;
    if measured == 0 || load.gpu_seconds == 0 {
        return None;
    }
    let mean = Decimal::from_f64(load.useful_gpu_seconds / measured as f64)?;
    let share = Decimal::from(measured) / Decimal::from(load.gpu_seconds);
    let within = |share: Decimal| share.clamp(Decimal::ZERO, Decimal::ONE);
    Some((within(mean), within(share)))
}

/// The days of UTC that a window touches, ascending, as far as they are in it.
fn days_of(window: Window) -> Vec<Window> {
    let first = window.start.to_zoned(TimeZone::UTC).date();
    let days = std::iter::successors(Some(first), |day| day.tomorrow().ok());
    days.map_while(|day| part_of(day, window)).collect()
}

/// What of a day of UTC is in a window.
fn part_of(day: Date, window: Window) -> Option<Window> {
    let midnight =
        |day: Date| -> Option<Timestamp> { Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp()) };
    let start = midnight(day)?.max(window.start);
    let end = midnight(day.tomorrow().ok()?)?.min(window.end);
    (start < end).then_some(Window { start, end })
}

fn hours_of(period: Window) -> Decimal {
    Decimal::from(period.seconds()) / Decimal::from(3_600)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: &str, end: &str) -> Window {
        Window { start: start.parse().expect("a time"), end: end.parse().expect("a time") }
    }

    #[test]
    fn a_window_is_the_sum_of_its_days() {
        let days = days_of(window("2026-11-19T18:00:00Z", "2026-11-21T06:30:00Z"));
        let expected = [
            window("2026-11-19T18:00:00Z", "2026-11-20T00:00:00Z"),
            window("2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"),
            window("2026-11-21T00:00:00Z", "2026-11-21T06:30:00Z"),
        ];
        assert_eq!(days, expected);
        let hours: Vec<Decimal> = days.into_iter().map(hours_of).collect();
        assert_eq!(hours, [6.into(), 24.into(), Decimal::new(65, 1)]);
        assert!(days_of(window("2026-11-19T18:00:00Z", "2026-11-19T18:00:00Z")).is_empty());
    }

    #[test]
    fn the_use_of_a_day_is_of_what_was_measured_on_it() {
        let load = |measured: u64, useful: f64| DayLoad {
            day: Date::constant(2026, 11, 20),
            instance_seconds: 100,
            gpu_seconds: 400,
            measured_gpu_seconds: measured,
            useful_gpu_seconds: useful,
            idle_gpu_seconds: None,
        };
        // 75 of 300 measured seconds, which are three quarters of 400.
        let expected = (Decimal::new(25, 2), Decimal::new(75, 2));
        assert_eq!(mean_and_measured(&load(300, 75.0)), Some(expected));
        assert_eq!(mean_and_measured(&load(0, 0.0)), None);
    }
}
