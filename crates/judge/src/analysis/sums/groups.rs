//! Chargeback: what workloads cost by account, tag and the like, and how much of
//! that did useful work. Every amount is in whole cents before it is added, so
//! that rows sum to the total to the cent.

use super::ledger::{CostSplit, apportioned, entries_of};
use super::showback::{ClaimKey, GroupRow, GroupTable, Showback};
use super::totals::plus;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Action, Clusters, Currency, Money, named_key};
use crate::savings::UnusedCommitment;
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::collections::BTreeMap;

named_key! {
    /// What workloads are grouped by.
    GroupKey {
        Account = "account",
        Region = "region",
        /// The instance type.
        Type = "type",
        /// What it does.
        Kind = "kind",
        /// Its class; stopped ones apart.
        Class = "class",
        /// How its hours are paid for.
        PurchaseOption = "purchase-option",
        /// The GPU model.
        Gpu = "gpu",
    }
    /// The value of a tag of each of its instances.
    Tag = "tag"
}

impl GroupKey {
    /// Its value for a workload; absent when it has none.
    fn value(&self, audited: &AuditedWorkload) -> Option<String> {
        let workload = &audited.workload;
        let key = &workload.key;
        match self {
            // That of a node that only its cluster shows is not known.
            Self::Account => Some(key.account.clone()).filter(|account| !account.is_empty()),
            Self::Region => Some(key.region.clone()),
            Self::Type => Some(key.instance_type.clone()),
            Self::Kind => Some(workload.kind.name().to_owned()),
            Self::Class if !key.running => Some("stopped".to_owned()),
            Self::Class => Some(audited.verdict.classification.name().to_owned()),
            Self::PurchaseOption => Some(key.purchase_option.name().to_owned()),
            Self::Gpu => Some(workload.shape.as_ref()?.gpu.as_ref()?.model.name().to_owned()),
            Self::Tag(name) => workload.tags.get(name).cloned(),
        }
    }
}

/// Sums of some workloads. Money is absent when none of them is priced in the
/// currency of the audit's sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupSums {
    pub workloads: u64,
    pub instances: u64,
    /// GPUs of running instances.
    pub gpus: u64,
    /// Workloads whose cost is in no sum: without a price, or in another currency.
    pub unpriced_workloads: u64,
    /// Cost per month: the sum of the four below.
    pub monthly_cost: Option<Money>,
    /// Of it, cost times mean GPU utilization.
    pub useful_cost: Option<Money>,
    /// Of it, the rest of what was measured.
    pub idle_cost: Option<Money>,
    /// Of it, that of instances of which too little is known.
    pub unmeasured_cost: Option<Money>,
    /// Of it, that of stopped instances: volumes and addresses.
    pub stopped_cost: Option<Money>,
    pub monthly_savings: Option<Money>,
    /// Of that, what is certain.
    pub monthly_waste: Option<Money>,
}

impl GroupSums {
    /// What is left of the cost per month after the plan.
    pub fn planned_monthly_cost(&self) -> Option<Money> {
        self.monthly_cost?.checked_sub(self.monthly_savings?).ok()
    }

    /// What is paid for and does not run is idle, and belongs to no workload.
    fn add_unused(&mut self, row: &UnusedCommitment, cost: Money) {
        let split = CostSplit { idle: cost, ..CostSplit::nothing(cost) };
        let saved =
            [sum(&row.actions, Action::monthly_savings), sum(&row.actions, Action::certain)];
        self.add_money(cost, split, saved);
    }

    /// Adds machines of a workload with their part of its cost and of what the plan saves.
    fn add(&mut self, part: &Part<'_>) {
        self.workloads += 1;
        self.instances += part.instances;
        self.gpus += part.gpus;
        match part.cost {
            Some(cost) => {
                self.add_money(cost, CostSplit::of(part.one, cost), [part.saved, part.wasted]);
            }
            None => self.unpriced_workloads += 1,
        }
    }

    /// Adds a cost with its parts, and what of it is saved and is waste.
    fn add_money(&mut self, cost: Money, split: CostSplit, [saved, wasted]: [Decimal; 2]) {
        let money = |amount| Money::new(amount, cost.currency());
        for (sum, part) in [
            (&mut self.monthly_cost, cost),
            (&mut self.useful_cost, split.useful),
            (&mut self.idle_cost, split.idle),
            (&mut self.unmeasured_cost, split.unmeasured),
            (&mut self.stopped_cost, split.idle_storage),
            (&mut self.monthly_savings, money(saved)),
            (&mut self.monthly_waste, money(wasted)),
        ] {
            *sum = plus(*sum, Some(part));
        }
    }
}

/// What an amount of some actions comes to.
fn sum(actions: &[Action], amount: fn(&Action) -> Money) -> Decimal {
    actions.iter().map(|action| amount(action).amount()).sum()
}

/// Machines of a workload that belong to one row.
struct Part<'a> {
    one: &'a AuditedWorkload,
    instances: u64,
    /// Those of running instances.
    gpus: u64,
    cost: Option<Money>,
    saved: Decimal,
    wasted: Decimal,
}

impl<'a> Part<'a> {
    /// A workload by the values of its machines: most have the same, and then it is whole.
    fn all_of(
        audited: &'a AuditedWorkload,
        keys: &[GroupKey],
        currency: Currency,
    ) -> BTreeMap<Vec<Option<String>>, Self> {
        let mut parts: BTreeMap<Vec<Option<String>>, Self> = BTreeMap::new();
        let number = audited.workload.instances.len().max(1) as u64;
        for entry in entries_of(audited) {
            let value = |key: &GroupKey| match key {
                GroupKey::Tag(name) => entry.tag(name).map(str::to_owned),
                key => key.value(audited),
            };
            let part = parts.entry(keys.iter().map(value).collect());
            let part = part.or_insert(Self {
                one: audited,
                instances: 0,
                gpus: 0,
                cost: None,
                saved: Decimal::ZERO,
                wasted: Decimal::ZERO,
            });
            part.instances += 1;
            part.gpus += audited.workload.running_gpus() / number;
            part.cost = plus(part.cost, entry.monthly.filter(|cost| cost.currency() == currency));
        }
        let weights: Vec<Decimal> =
            parts.values().map(|part| part.cost.map_or(Decimal::ZERO, Money::amount)).collect();
        let saved = apportioned(sum(&audited.actions, Action::monthly_savings), &weights);
        let wasted = apportioned(sum(&audited.actions, Action::certain), &weights);
        for ((part, saved), wasted) in parts.values_mut().zip(saved).zip(wasted) {
            (part.saved, part.wasted) = (saved, wasted);
        }
        parts
    }
}

/// The workloads of an audit by some keys.
pub type Groups = GroupTable<(), GroupSums>;

impl Groups {
    pub fn of(audit: &Audit, keys: &[GroupKey]) -> Self {
        let mut sums: BTreeMap<Vec<Option<String>>, GroupSums> = BTreeMap::new();
        let mut total = GroupSums::default();
        for audited in &audit.workloads {
            for (values, part) in Part::all_of(audited, keys, audit.totals.currency) {
                total.add(&part);
                sums.entry(values).or_default().add(&part);
            }
        }
        // A workload of several rows is one.
        let is_summed = |audited: &&AuditedWorkload| {
            let cost = audited.workload.monthly_cost();
            cost.is_some_and(|cost| cost.currency() == audit.totals.currency)
        };
        total.workloads = audit.workloads.len() as u64;
        let summed = audit.workloads.iter().filter(is_summed).count() as u64;
        total.unpriced_workloads = total.workloads - summed;
        for row in &audit.unused {
            let cost = row.monthly_cost;
            let Some(cost) = cost.filter(|cost| cost.currency() == audit.totals.currency) else {
                continue;
            };
            let value = |key: &GroupKey| match key {
                GroupKey::Account => row.account.clone(),
                GroupKey::Region => row.region.clone(),
                GroupKey::Type => row.instance_type.clone(),
                GroupKey::Tag(name) => row.tags.get(name).cloned(),
                _ => None,
            };
            sums.entry(keys.iter().map(value).collect()).or_default().add_unused(row, cost);
            total.add_unused(row, cost);
        }
        let rows = sums.into_iter().map(|(values, sums)| GroupRow { part: (), values, sums });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|row| Reverse(row.sums.monthly_cost.map(Money::amount)));
        let keys = keys.iter().map(ToString::to_string).collect();
        Self { as_of: audit.as_of, keys, rows, total }
    }
}

/// Keys of one sort: a node may be shared by pods of many namespaces, and a workload may
/// have several nodes, so the two do not combine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupingKeys {
    Workloads(Vec<GroupKey>),
    Claims(Vec<ClaimKey>),
}

impl GroupingKeys {
    /// Tags and labels that they name.
    pub fn tags(&self) -> Vec<&str> {
        match self {
            Self::Workloads(keys) => keys.iter().filter_map(GroupKey::open).collect(),
            Self::Claims(keys) => keys.iter().filter_map(ClaimKey::open).collect(),
        }
    }
}

/// An audit by some keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grouping {
    Workloads(Groups),
    Claims(Showback),
}

impl Grouping {
    pub fn of(audit: &Audit, clusters: &Clusters, keys: &GroupingKeys) -> Self {
        match keys {
            GroupingKeys::Workloads(keys) => Self::Workloads(Groups::of(audit, keys)),
            GroupingKeys::Claims(keys) => Self::Claims(Showback::of(audit, clusters, keys)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        for name in [
            "account", "region", "type", "kind", "class", "purchase-option", "gpu", "tag:team",
            "tag:aws:autoscaling:groupName",
        ] {
            let key = GroupKey::from_name(name).expect("a key");
            assert_eq!(key.to_string(), name);
        }
        for name in ["", "tag", "tag:", "team", "Region"] {
            assert_eq!(GroupKey::from_name(name), None, "{name}");
        }
    }
}
