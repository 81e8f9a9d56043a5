//! What a bill amounts to.

use super::amounts::{CostSums, Tally, share};
use super::comparison::Comparison;
use super::rates::DerivedRate;
use crate::domain::{
    BillLine, Currency, LineKind, Provider, PurchaseOption, Window, named_key, sums,
};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// A bill: sums in each of its currencies, which do not add up.
#[derive(Debug, Clone, PartialEq)]
pub struct Bill {
    pub lines: u64,
    /// From the first usage to the last; absent where no line has a time.
    pub period: Option<Window>,
    /// What its costs are grouped by.
    pub grouped_by: Option<BillKey>,
    /// In order of currency.
    pub currencies: Vec<CurrencyBill>,
}

/// The lines of a bill in one currency. Amounts are in that currency.
#[derive(Debug, Clone, PartialEq)]
pub struct CurrencyBill {
    pub currency: Currency,
    /// In order of kind.
    pub kinds: Vec<KindCost>,
    /// Instances with accelerators, the most expensive first.
    pub instances: Vec<InstanceCost>,
    /// The same by region and type.
    pub types: Vec<TypeCost>,
    /// Reserved capacity for such instances in which nothing ran.
    pub unused_reservations: Vec<InstanceCost>,
    pub commitments: Vec<CommitmentUse>,
    /// Pods and tasks with accelerators, the most expensive first.
    pub pods: Vec<PodCost>,
    pub divided: Divided,
    pub groups: Vec<GroupCost>,
    pub rates: Vec<DerivedRate>,
    pub savings: Savings,
    /// Effective costs that are rounded to whole units of the currency.
    pub rounded: Vec<RoundedCosts>,
    /// Lines that count and that no invoice has yet.
    pub uninvoiced: u64,
    /// Beside an audit; absent where none was given.
    pub comparison: Option<Comparison>,
}

impl CurrencyBill {
    /// Sums over every line that counts.
    pub fn total(&self) -> CostSums {
        let counting = self.kinds.iter().filter(|lines| lines.kind.counts());
        counting.map(|lines| lines.costs).sum()
    }

    /// Sums over instances with accelerators.
    pub fn of_instances(&self) -> CostSums {
        self.instances.iter().map(|instance| instance.parts.total()).sum()
    }

    /// Hours and costs of instances with accelerators by how they are paid for.
    pub fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        for type_cost in &self.types {
            parts.merge(&type_cost.parts);
        }
        parts
    }

    /// What of all commitments was used, and what was not.
    pub fn used_and_unused(&self) -> (Tally, Tally) {
        let commitments = || self.commitments.iter();
        let used = commitments().map(|commitment| commitment.used).sum();
        (used, commitments().map(|commitment| commitment.unused).sum())
    }

    /// The share of what is paid for commitments that something used, percent.
    pub fn utilization_percent(&self) -> Option<Decimal> {
        let (used, unused) = self.used_and_unused();
        utilization_percent(&used, &unused)
    }

    /// What of the effective cost has no value of the key that it is grouped by: of
    /// instances with accelerators, and of everything.
    pub fn unallocated(&self) -> (Tally, Tally) {
        let without = self.groups.iter().find(|group| group.value.is_none());
        without.map(|group| (group.instances, group.all)).unwrap_or_default()
    }
}

/// Lines of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindCost {
    pub kind: LineKind,
    pub lines: u64,
    pub costs: CostSums,
}

/// Hours and costs by how they are paid for; the option is absent where the bill does not
/// state it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts(pub(super) BTreeMap<Option<PurchaseOption>, Part>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    pub hours: Tally,
    pub costs: CostSums,
}

sums! { Part { hours, costs } }

impl Parts {
    pub(super) fn merge(&mut self, other: &Self) {
        for (option, part) in &other.0 {
            *self.0.entry(*option).or_default() += *part;
        }
    }

    pub fn options(&self) -> impl Iterator<Item = Option<PurchaseOption>> + '_ {
        self.0.keys().copied()
    }

    /// Hours that are paid for in a way.
    pub fn hours_of(&self, option: PurchaseOption) -> Option<Decimal> {
        self.0.get(&Some(option))?.hours.sum()
    }

    pub fn hours(&self) -> Tally {
        self.0.values().map(|part| part.hours).sum()
    }

    pub fn total(&self) -> CostSums {
        self.0.values().map(|part| part.costs).sum()
    }

    /// List price of the hours that commitments cover, and of all that they could cover: all
    /// but spot and Capacity Blocks. Absent unless every line states a list price.
    pub fn eligible(&self) -> Option<(Decimal, Decimal)> {
        let (mut covered, mut eligible) = (Decimal::ZERO, Decimal::ZERO);
        for (option, part) in &self.0 {
            let is_covered = match option {
                Some(PurchaseOption::Reserved | PurchaseOption::SavingsPlan) => true,
                Some(PurchaseOption::OnDemand) | None => false,
                Some(_) => continue,
            };
            let list = part.costs.list.whole()?;
            eligible += list;
            if is_covered {
                covered += list;
            }
        }
        Some((covered, eligible))
    }

    /// What is saved against the list price, percent of it; absent where something of it is paid
    /// for in lines of its own, as Capacity Blocks are.
    pub fn savings_percent(&self) -> Option<Decimal> {
        if self.0.contains_key(&Some(PurchaseOption::CapacityBlock)) {
            return None;
        }
        self.total().savings_percent()
    }

    /// The share of list price that commitments cover, percent.
    pub fn coverage_percent(&self) -> Option<Decimal> {
        let (covered, eligible) = self.eligible()?;
        share(covered, eligible)
    }
}

/// An instance with accelerators, or reserved capacity for some.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstanceCost {
    pub account: Option<String>,
    /// Its id; absent where the bill names no resource.
    pub id: Option<String>,
    pub region: Option<String>,
    pub instance_type: String,
    /// Accelerators of one; absent of a type that is newer than the catalog.
    pub gpus: Option<Decimal>,
    pub parts: Parts,
    /// Effective cost of its data transfer; absent where the bill has none of it.
    pub transfer: Option<Decimal>,
    /// Effective cost of its volumes; absent where it is not known which these are.
    pub volumes: Option<Decimal>,
    /// The same of its addresses.
    pub addresses: Option<Decimal>,
}

impl InstanceCost {
    pub fn gpu_hours(&self) -> Option<Decimal> {
        Some(self.gpus? * self.parts.hours().sum()?)
    }
}

/// Instances of a type in a region.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TypeCost {
    pub region: Option<String>,
    pub instance_type: String,
    pub gpus: Option<Decimal>,
    pub instances: u64,
    pub parts: Parts,
}

/// How a commitment was used, at effective cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitmentUse {
    pub id: String,
    /// Absent where no line says what it is.
    pub option: Option<PurchaseOption>,
    /// Types of instances with accelerators that it covers, or is for.
    pub types: BTreeSet<String>,
    pub used: Tally,
    /// Of that, by instances with accelerators.
    pub used_by_instances: Tally,
    pub unused: Tally,
    /// What was invoiced for it.
    pub fees: Tally,
}

impl CommitmentUse {
    /// The share of what is paid for that something used, percent; absent unless every line
    /// states it.
    pub fn utilization_percent(&self) -> Option<Decimal> {
        utilization_percent(&self.used, &self.unused)
    }
}

/// `used / (used + unused)`, percent; absent unless every line states its cost.
fn utilization_percent(used: &Tally, unused: &Tally) -> Option<Decimal> {
    if used.absent() + unused.absent() > 0 {
        return None;
    }
    let [used, unused] = [used, unused].map(|tally| tally.sum().unwrap_or_default());
    share(used, used + unused)
}

/// What a pod or a task has of instances.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodCost {
    pub cluster: Option<String>,
    pub namespace: Option<String>,
    pub name: Option<String>,
    /// Absent where it has no accelerator.
    pub accelerator_hours: Option<Decimal>,
    /// What it asked for or used, of accelerators.
    pub accelerators: Tally,
    /// The same of processors and memory.
    pub others: Tally,
    /// Its part of what stayed unused.
    pub unused: Tally,
}

impl PodCost {
    pub(super) fn has_accelerators(&self) -> bool {
        self.accelerator_hours.is_some() || self.accelerators.sum().is_some()
    }

    /// Everything that is divided up to it; absent where nothing is stated.
    pub fn total(&self) -> Option<Decimal> {
        let parts = [self.accelerators, self.others, self.unused];
        parts.iter().filter_map(Tally::sum).reduce(|sum, part| sum + part)
    }
}

/// Instances with accelerators that are divided among pods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Divided {
    /// What they cost as instances.
    pub cost: Tally,
    /// What pods have of that.
    pub allocated: Tally,
}

/// Effective cost of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupCost {
    /// The value of the key; absent of what has none.
    pub value: Option<String>,
    /// Hours of accelerators, where it is known how many an instance has.
    pub gpu_hours: Decimal,
    /// Of instances with accelerators.
    pub instances: Tally,
    pub all: Tally,
}

/// What is paid against list prices, over usage that states both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Savings {
    pub list: Decimal,
    pub effective: Decimal,
    /// What of commitments stayed unused.
    pub unused: Decimal,
    /// Lines of commitments that do not state it.
    pub unstated: u64,
}

impl Savings {
    /// The effective savings rate: `1 − (effective + unused) / list`, percent; absent where it is
    /// not known what of a commitment stayed unused.
    pub fn rate_percent(&self) -> Option<Decimal> {
        if self.unstated > 0 {
            return None;
        }
        share(self.list - self.effective - self.unused, self.list)
    }
}

/// Effective costs of a provider that are rounded, beside what was billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundedCosts {
    pub provider: Option<Provider>,
    pub lines: u64,
    pub billed: Decimal,
    pub effective: Decimal,
}

named_key! {
    /// What the costs of a bill are grouped by.
    BillKey {
        Account = "account",
        Region = "region",
        Service = "service",
        /// The instance type.
        Type = "type",
    }
    /// The value of a tag.
    Tag = "tag"
}

impl BillKey {
    /// Its value for a line; absent where it has none.
    pub(super) fn value(&self, line: &BillLine) -> Option<String> {
        match self {
            Self::Account => line.account.clone(),
            Self::Region => line.region.clone(),
            Self::Service => line.service.clone(),
            Self::Type => line.instance_type.clone(),
            Self::Tag(_) => line.tag.clone(),
        }
    }
}
