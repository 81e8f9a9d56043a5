//! What the parts of an audit cost today and after the plan.

use super::totals::plus;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::Money;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// What to tell the parts of an audit apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension<'a> {
    /// The class of what runs; what is stopped is a part of its own.
    Class,
    InstanceType,
    Region,
    /// The value of a tag that all instances of a workload share.
    Tag(&'a str),
}

impl Dimension<'_> {
    pub(super) fn label(self, audited: &AuditedWorkload) -> Option<&str> {
        let workload = &audited.workload;
        match self {
            Self::Class if workload.key.running => Some(audited.verdict.classification.name()),
            Self::Class => Some("stopped"),
            Self::InstanceType => Some(&workload.key.instance_type),
            Self::Region => Some(&workload.key.region),
            Self::Tag(key) => workload.tags.get(key).map(String::as_str),
        }
    }
}

/// A part of an audit. Money is in the currency of the totals; workloads without a
/// price or in another currency are in the counts alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CostPart {
    /// What it is; absent for workloads without the tag.
    pub label: Option<String>,
    pub workloads: u64,
    pub instances: u64,
    /// Today's cost per month; absent when nothing in it is priced.
    pub monthly_cost: Option<Money>,
    pub planned_monthly_cost: Option<Money>,
}

/// The parts of an audit, most expensive first, then by label. Their costs add up to the
/// totals to the cent.
pub fn cost_by(audit: &Audit, dimension: Dimension<'_>) -> Vec<CostPart> {
    let mut parts: BTreeMap<Option<&str>, CostPart> = BTreeMap::new();
    for audited in &audit.workloads {
        let label = dimension.label(audited);
        let part = parts.entry(label).or_default();
        let in_sums = |amount: &Money| amount.currency() == audit.totals.currency;
        part.label = label.map(str::to_owned);
        part.workloads += 1;
        part.instances += audited.workload.instances.len() as u64;
        let cost = audited.workload.monthly_cost().filter(in_sums);
        part.monthly_cost = plus(part.monthly_cost, cost);
        let planned = audited.planned_monthly_cost().filter(in_sums);
        part.planned_monthly_cost = plus(part.planned_monthly_cost, planned);
    }
    let mut parts: Vec<CostPart> = parts.into_values().collect();
    // The labels ascend already, and sorting keeps the order of equals.
    parts.sort_by_key(|part| std::cmp::Reverse(part.monthly_cost.map(Money::amount)));
    parts
}

/// The tags that most of the cost carries, at most so many: of several, the ones
/// with fewer values first, then by name. Names and the tags of AWS and of this
/// program group nothing.
pub fn prevailing_tags(audit: &Audit, most: usize) -> Vec<&str> {
    let mut found: BTreeMap<&str, (Decimal, BTreeSet<&str>)> = BTreeMap::new();
    for audited in &audit.workloads {
        let in_sums = |amount: &Money| amount.currency() == audit.totals.currency;
        let cost = audited.workload.monthly_cost().filter(in_sums);
        for (key, value) in &audited.workload.tags {
            if key == "Name" || key.starts_with("aws:") || key.starts_with("gpucost:") {
                continue;
            }
            let (sum, values) = found.entry(key).or_default();
            *sum += cost.map_or(Decimal::ZERO, Money::amount);
            values.insert(value);
        }
    }
    // The keys ascend already, and sorting keeps the order of equals.
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, (sum, values))| (std::cmp::Reverse(*sum), values.len()));
    found.into_iter().map(|(key, _)| key).take(most).collect()
}

impl AuditedWorkload {
    /// What its part of the plan saves per month, zero without an action; absent
    /// when it is unpriced.
    pub fn planned_monthly_savings(&self) -> Option<Money> {
        let cost = self.workload.monthly_cost()?;
        cost.checked_sub(self.planned_monthly_cost()?).ok()
    }
}
