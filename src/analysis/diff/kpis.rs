//! Key figures and costs of units of work, before and now.

use crate::domain::{Kpi, KpiValue, Money, PastAudit, PastUnitCost};
use std::collections::BTreeMap;

/// A key figure before and now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KpiDelta {
    pub kpi: Kpi,
    /// Before; absent when it was not known.
    pub old: Option<KpiValue>,
    /// Now; absent when it is not known.
    pub new: Option<KpiValue>,
}

impl KpiDelta {
    /// Now less before; absent when either is unknown, and in two currencies.
    pub fn change(&self) -> Option<KpiValue> {
        self.new?.minus(self.old?)
    }

    pub fn is_changed(&self) -> bool {
        self.old != self.new
    }
}

/// What units of work cost before and now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitCostDelta<'a> {
    /// As it is named now, or was before.
    pub one: &'a PastUnitCost,
    pub old: Option<Money>,
    pub new: Option<Money>,
}

impl UnitCostDelta<'_> {
    /// Now less before; absent when either is unknown, and in two currencies.
    pub fn change(&self) -> Option<Money> {
        self.new?.checked_sub(self.old?).ok()
    }
}

/// Every key figure, in order.
pub(super) fn kpi_deltas(old: &PastAudit, new: &PastAudit) -> Vec<KpiDelta> {
    let of_one = |kpi: &Kpi| KpiDelta {
        kpi: *kpi,
        old: old.kpis.get(kpi).copied(),
        new: new.kpis.get(kpi).copied(),
    };
    Kpi::ALL.iter().map(of_one).collect()
}

/// What was counted on either side, by name and unit.
pub(super) fn unit_deltas<'a>(old: &'a PastAudit, new: &'a PastAudit) -> Vec<UnitCostDelta<'a>> {
    let mut deltas: BTreeMap<(&str, &str), UnitCostDelta<'a>> = BTreeMap::new();
    for (audit, is_new) in [(old, false), (new, true)] {
        for unit_cost in &audit.unit_costs {
            let key = (unit_cost.name.as_str(), unit_cost.unit.as_str());
            let nothing = UnitCostDelta { one: unit_cost, old: None, new: None };
            let delta = deltas.entry(key).or_insert(nothing);
            if is_new {
                (delta.one, delta.new) = (unit_cost, unit_cost.price);
            } else {
                delta.old = unit_cost.price;
            }
        }
    }
    deltas.into_values().collect()
}
