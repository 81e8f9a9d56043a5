//! Which part of a cost did useful work.

use crate::analysis::AuditedWorkload;
use crate::domain::{Classification, Money, Signal};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;

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
