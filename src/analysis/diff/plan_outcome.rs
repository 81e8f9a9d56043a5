//! What became of the plan of an earlier audit.

use crate::domain::{Currency, Money, PastAudit, PastWorkload, PurchaseOption};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What became of the plan of the earlier audit, over the workloads that it
/// wanted to change and the unused room that it wanted to release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanOutcome {
    /// What the plan saved per month.
    pub planned: Money,
    /// What these cost less per month; a minus for more.
    pub saved: Money,
    /// What of them stopped since costs per month while stopped, which the plan
    /// leaves out: saved is net of it.
    pub storage_of_stopped: Money,
    /// What the plan set aside per month for work that is lost on spot, of what
    /// runs there now: no bill of the same hours shows it, so saved contains it.
    pub lost_work: Money,
    /// What the plan set aside per month for snapshots of volumes that were released since:
    /// no inventory shows them, so saved contains it.
    pub snapshots: Money,
}

impl PlanOutcome {
    /// What became of it; `now_of` has what each workload is now. Absent when nothing
    /// was planned that can be compared.
    pub(super) fn of(
        old: &PastAudit,
        new: &PastAudit,
        now_of: &BTreeMap<&str, &PastWorkload>,
    ) -> Option<Self> {
        let zero = Money::zero(old.totals.currency);
        let mut outcome = Self {
            planned: zero,
            saved: zero,
            storage_of_stopped: zero,
            lost_work: zero,
            snapshots: zero,
        };
        for before in &old.workloads {
            let sides = (before.monthly_cost, before.planned_monthly_cost);
            let Some((_, planned)) = promised(sides, old.totals.currency) else {
                continue;
            };
            let now = now_of.get(before.id.as_str()).copied();
            outcome.planned = outcome.planned.checked_add(planned).ok()?;
            let less = saved(before, now)?;
            outcome.saved = outcome.saved.checked_add(less).ok()?;
            let is_released = !less.amount().is_zero() && now.is_none_or(|now| !now.running);
            if let Some(snapshots) = before.snapshots.filter(|_| is_released) {
                outcome.snapshots = outcome.snapshots.checked_add(snapshots).ok()?;
            }
            if let Some(now) = now.filter(|now| before.running && !now.running) {
                outcome.storage_of_stopped =
                    outcome.storage_of_stopped.checked_add(now.monthly_cost?).ok()?;
            }
            let is_on_spot =
                now.is_some_and(|now| now.purchase_option == PurchaseOption::Spot.name());
            if let Some(lost_work) = before.lost_work.filter(|_| is_on_spot) {
                outcome.lost_work = outcome.lost_work.checked_add(lost_work).ok()?;
            }
        }
        for before in &old.unused {
            let sides = (before.monthly_cost, before.planned_monthly_cost);
            let Some((cost, planned)) = promised(sides, old.totals.currency) else {
                continue;
            };
            let now = new.unused.iter().find(|row| row.id == before.id);
            let left = now.map_or(Some(zero), |row| row.monthly_cost)?;
            outcome.planned = outcome.planned.checked_add(planned).ok()?;
            outcome.saved = outcome.saved.checked_add(cost.checked_sub(left).ok()?).ok()?;
        }
        (outcome.planned.amount() > Decimal::ZERO).then_some(outcome)
    }
}

/// A cost and what a plan promised of it; `None` where it promised nothing, where that was
/// not known, and where it is in another currency, which is in no sum of the audit either.
fn promised(
    (cost, planned): (Option<Money>, Option<Money>),
    currency: Currency,
) -> Option<(Money, Money)> {
    let cost = cost.filter(|cost| cost.currency() == currency)?;
    let promised = cost.checked_sub(planned?).ok()?;
    (promised.amount() > Decimal::ZERO).then_some((cost, promised))
}

/// What a workload costs less than before; nothing is left of one that is gone.
pub(super) fn saved(before: &PastWorkload, now: Option<&PastWorkload>) -> Option<Money> {
    let cost = before.monthly_cost?;
    match now {
        None => Some(cost),
        Some(now) => cost.checked_sub(now.monthly_cost?).ok(),
    }
}
