//! What an audit adds up to: in total, by part of the fleet, by group, by pod, by charge; and from
//! list prices to the audited cost: what was negotiated, what the spot market and commitments take
//! off, and what is paid for beside the hours of instances.

mod charges;
mod groups;
mod ledger;
mod showback;
mod totals;

pub use self::charges::{
    Charge, ChargeKind, ChargePart, RunDays, UnusedCharge, charges, daily_charges,
    daily_unused_charges, unused_charges,
};
pub use self::groups::{GroupKey, GroupSums, Grouping, GroupingKeys, Groups};
pub use self::ledger::{CostSplit, Entry, EntrySubject, entries_of, ledger};
pub use self::showback::{ClaimKey, GroupRow, GroupTable, Showback, ShowbackPart, ShowbackSums};
pub use self::totals::{ClassTotals, Funnel, PriceUse, Totals};

use crate::analysis::expected::ListPrices;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Currency, HourlyRate, InstanceCost, Money, PriceOption, Workload, sums};
use crate::savings::UnusedCommitment;
use rust_decimal::Decimal;

/// The way from list prices to a cost, per month and in whole cents: `cost = list + unlisted −
/// discount − spot − commitments + idle_storage + unused`. A discount is below zero where what
/// is paid is above the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CostSteps {
    /// The hours of instances at the public price on demand.
    pub list: Decimal,
    /// Hours of instances of which no public price is known, at the price of the audit.
    pub unlisted: Decimal,
    /// What own prices and discounts on demand take off.
    pub discount: Decimal,
    /// What the spot market takes off.
    pub spot: Decimal,
    /// What reserved instances, savings plans and Capacity Blocks take off the hours that they
    /// pay for.
    pub commitments: Decimal,
    /// Volumes and addresses of what is stopped.
    pub idle_storage: Decimal,
    /// What is paid for and does not run.
    pub unused: Decimal,
    /// What the audit says that it costs.
    pub cost: Decimal,
}

sums! {
    CostSteps { list, unlisted, discount, spot, commitments, idle_storage, unused, cost }
}

impl CostSteps {
    /// The cost as it follows from the other figures.
    pub fn explained(&self) -> Decimal {
        self.list + self.unlisted - self.discount - self.spot - self.commitments
            + self.idle_storage
            + self.unused
    }
}

/// A workload, or what is paid for and does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconciledRow {
    pub id: String,
    pub name: String,
    /// Absent for what is paid for and does not run.
    pub account: Option<String>,
    /// Absent for what holds everywhere.
    pub region: Option<String>,
    /// Absent for what is paid for and does not run.
    pub instance_type: Option<String>,
    pub currency: Currency,
    pub steps: CostSteps,
}

/// The way from list prices to the cost of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconciliation {
    /// What is priced, in the order of the audit.
    pub rows: Vec<ReconciledRow>,
    /// The currency of the total, which is that of the audit.
    pub currency: Currency,
    /// The sum of the rows in that currency.
    pub total: CostSteps,
}

impl Reconciliation {
    /// Of an audit, with what the instances of its estate cost on demand.
    pub fn of(audit: &Audit, prices: &ListPrices) -> Self {
        let workloads = audit.workloads.iter();
        let workloads = workloads.filter_map(|audited| of_workload(audited, prices));
        let unused = audit.unused.iter().filter_map(of_unused);
        let rows: Vec<ReconciledRow> = workloads.chain(unused).collect();
        let currency = audit.totals.currency;
        let of_currency = rows.iter().filter(|row| row.currency == currency);
        let total = of_currency.map(|row| row.steps).sum();
        Self { rows, currency, total }
    }
}

fn of_workload(audited: &AuditedWorkload, prices: &ListPrices) -> Option<ReconciledRow> {
    let workload = &audited.workload;
    let cost = workload.monthly_cost()?;
    let mut steps = CostSteps { cost: cost.amount(), ..CostSteps::default() };
    if workload.key.running {
        add_instances(&mut steps, workload, prices);
    } else {
        steps.idle_storage = cost.amount();
    }
    Some(ReconciledRow {
        id: workload.id(),
        name: workload.name.clone(),
        account: Some(workload.key.account.clone()),
        region: Some(workload.key.region.clone()),
        instance_type: Some(workload.key.instance_type.clone()),
        currency: cost.currency(),
        steps,
    })
}

/// Each instance is rounded at each step, as its cost is, so that the steps add up to the cent.
fn add_instances(steps: &mut CostSteps, workload: &Workload, prices: &ListPrices) {
    let costs = workload.cost.iter().flat_map(|cost| &cost.instances);
    for (instance, id) in costs.zip(&workload.instances) {
        let price = prices.of_instance(id);
        let list = price.and_then(|price| Some(price.list.as_ref()?.rate));
        let list = monthly(instance, list);
        let quoted = instance.quote.rate.times_hours(instance.monthly_hours);
        let quoted = quoted.rounded().amount();
        let contracted = price.and_then(|price| price.contracted);
        let contracted = monthly(instance, contracted).unwrap_or(quoted);
        let before = if instance.key.option == PriceOption::Spot { quoted } else { contracted };
        match list {
            Some(list) => {
                steps.list += list;
                steps.discount += list - contracted;
            }
            None => steps.unlisted += contracted,
        }
        steps.spot += contracted - before;
        steps.commitments += before - instance.monthly().amount();
    }
}

/// A month of an instance at a price; absent without one in the currency of its cost.
fn monthly(instance: &InstanceCost, rate: Option<HourlyRate>) -> Option<Decimal> {
    let rate = rate.filter(|rate| rate.currency() == instance.hourly.currency())?;
    let month: Money = rate.times_hours(instance.monthly_hours);
    Some(month.rounded().amount())
}

fn of_unused(row: &UnusedCommitment) -> Option<ReconciledRow> {
    let cost = row.monthly_cost?;
    Some(ReconciledRow {
        id: row.id.clone(),
        name: row.name.clone(),
        account: row.account.clone(),
        region: row.region.clone(),
        instance_type: None,
        currency: cost.currency(),
        steps: CostSteps { unused: cost.amount(), cost: cost.amount(), ..CostSteps::default() },
    })
}
